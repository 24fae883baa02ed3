/* Config: YAML files, the environment and flags become one `struct settings` (core) plus what only the shell needs.
 * Every key is one row of a table; a wrong key, type, value or reference stops the start with file:line:column, an
 * excerpt with a caret, and what was expected. Keys (secrets) are never read from files: only names of variables are. */
#ifndef CADRE_CONFIG_CONFIG_H
#define CADRE_CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "config/upward.h"
#include "core/contract/settings.h"

/* What the command line says; STR_NONE where it said nothing. */
struct config_flags {
    struct str config_file; /* --config */
    struct str api, base_url, model, provider, mode, store;
    struct str max_cost, timeout, max_concurrent; /* texts as typed: "2.50", "90s" or "5m", "8" */
    struct str effort;
};

struct config;

/* What is said to a project's file that widens (config->widenings): no; no, and go on as if there were none, for who needs nothing of
 * it; yes, for this start; yes, and do not ask again while the file stays as it is. */
enum config_consent { CONSENT_DENIED, CONSENT_WITHOUT_IT, CONSENT_ONCE, CONSENT_KEPT };
typedef enum config_consent config_consent_fn(void *user, const struct config *config);

/* How the environment is seen: config never calls getenv or opens HOME itself, so that tests bring their own. */
struct config_environment {
    const char *(*get)(void *user, const char *name); /* NULL: not set */
    void *user;
    struct str workspace;       /* absolute path of the current workspace */
    struct str here;            /* where the user stands: typed paths start there; empty: gone */
    config_consent_fn *consent; /* NULL: nobody can be asked */
    void *consent_user;
    struct config_mistakes
        *mistakes; /* where all are put (source.h); NULL: the first one is enough */
};

struct config_entries;

enum { CONFIG_HEADERS_MAX = 32 };

/* A header of requests. The value may hold $NAME, ${NAME} and $$: see config_header_expand. */
struct config_header {
    struct str name, value;
};

/* What llm.providers says of a server besides its address. */
struct provider_bounds {
    struct str name, base_url;
    int64_t max_concurrent, first_byte_ms, idle_ms, total_ms;
    struct config_header *headers;
    size_t header_count;
    struct str extra_body;   /* a JSON object for request bodies, or STR_NONE */
    struct list api_key_cmd; /* argv of a program that prints the key; absent: none */
    int64_t api_key_ttl_ms;
};

/* Members for request bodies of one model: the provider's, and the model's own over them. */
struct model_extra {
    struct str name, extra_body;
};

/* Where a model's window comes from. */
enum window_origin { WINDOW_DEFAULT, WINDOW_KNOWN, WINDOW_CONFIG, WINDOW_SERVER };

/* What config remembers of a model besides its settings. */
struct model_origin {
    enum window_origin window;
    bool output_set; /* max_tokens was configured */
};

/* What the operator says about confined commands. */
struct config_sandbox {
    struct {
        const char *name; /* of the switch: "namespaces" */
        bool off;
    } walls[3];
    struct str *environment; /* names of variables */
    size_t environment_count;
    struct str *shown; /* absolute paths */
    size_t shown_count;
    int64_t processes, memory_mb, file_mb, disk_mb, open_files; /* UNLIMITED: built in */
    struct str relay;                                           /* path of a socket, or empty */
    int64_t relay_port;
};

/* A project's cadre.yaml. */
struct config_project_file {
    struct str file; /* absolute, there or not */
    struct str text; /* STR_NONE: there is none, --config names it, or it was left out */
    size_t widens;   /* how many of entries->widenings are its own */
};

/* What commands reach by name, besides the names (access.*). */
struct config_access {
    struct str *private_hosts; /* host rules */
    size_t private_count;
    struct config_address {
        struct str host, address;
    } * addresses;
    size_t address_count;
    struct config_credential {
        struct str host;
        struct config_header header;
    } * credentials;
    size_t credential_count;
};

struct config {
    struct arena arena;
    struct settings settings;
    struct str store_path;   /* absolute */
    struct str test_command; /* of tools.test, or empty */
    struct str test_origin;  /* where it is set: "FILE:3:5"; says when that is the project's file */
    struct checks_origin *checks_origins; /* of all checks that are set for children */
    size_t checks_origin_count;
    struct str
        model_source;  /* "flags", "config FILE", "OPENAI_API_KEY", "a server on port 11434" */
    struct str *files; /* that were read, in order */
    size_t file_count;
    struct config_entries *entries; /* what was set and where, and what of it widens (widen.h) */
    struct upward above; /* where instruction files count besides the workspace: the user's own
                            directory first, then those above the workspace */
    bool above_has_own;  /* the first of them is the user's own */
    struct config_project_file *projects; /* one for each directory of upward.h, in that order */
    size_t project_count;                 /* the last one is the workspace's */
    struct str trust_directory;           /* of trust.h; STR_NONE: the user has no home */
    struct provider_bounds *providers;    /* one for each of llm.providers */
    size_t provider_count;
    struct model_extra *extras; /* of models of llm.models that have some */
    size_t extra_count;
    struct model_origin *origins; /* one for each of settings.models */
    /* --provider names a local server and no model: whoever starts a run asks it; or STR_NONE. */
    struct str server_to_ask, server_name;
    struct config_sandbox sandbox;
    struct config_access access;
    enum asker unattended; /* approvals.via: who answers where nobody is at a terminal */
    struct {               /* tools.web_search, tools.web_fetch */
        struct str kind, url, api_key_env; /* empty where nothing is set */
        enum { PRIVATE_REFUSED, PRIVATE_ALLOWED } fetch;
    } web;
    struct str skills_directory; /* of the user; absolute, empty without a home */
    enum { SECRETS_MASKED, SECRETS_SHOWN } secrets;
};

/* Reads and checks everything; no network. When no model is named anywhere and no key is set, settings.model_count is 0
 * and the caller may look for a local server (see config_local_model). With environment->mistakes, all mistakes are
 * put there and err is the first of them. err.class is CONFIG or USAGE (flags). After an
 * error there is nothing to release. */
int config_load(const struct config_flags *flags, const struct config_environment *environment,
                struct config *config, struct err *err);
void config_release(struct config *config);
/* Adds a model served at base_url (found by asking a local server) as the default. */
int config_local_model(struct config *config, struct str base_url, struct str model,
                       struct err *err);
/* Whether nobody has told the window of settings.models[i], so that its server may be asked. */
bool config_window_missing(const struct config *config, size_t i);
/* The window that its server told. Refuses nothing: the caller has checked the number. */
void config_window_learn(struct config *config, size_t i, int64_t tokens);
/* "config", "built-in, 2026-11", "the server", "the default". */
const char *config_window_text(const struct config *config, const struct model_settings *model);
/* Appends the value with its variables replaced. NOT_FOUND: a variable is not set; CONFIG: what came of it
 * cannot stand in a header. */
int config_header_expand(const struct config_header *header,
                         const struct config_environment *environment, struct buf *out,
                         struct err *err) NODISCARD;
/* Every value of the environment that this config uses as a key or as a part of a header, in no order, some twice. */
typedef void config_secret_fn(void *user, struct str value);
void config_secrets(const struct config *config, const struct config_environment *environment,
                    config_secret_fn *take, void *user);
/* Where the model's prices come from: "built-in, 2026-10", "config", "not known". */
void config_price_origin(const struct model_settings *model, struct buf *out);
/* Makes every model answer from this recording (an absolute path); without any model, one that the recording calls `model`
 * becomes the default. */
int config_replay(struct config *config, struct str path, struct str model, struct err *err);
/* The whole effective config as YAML-like text with where each value came from, for `cadre config check`. */
void config_describe(const struct config *config, struct buf *out);

#endif
