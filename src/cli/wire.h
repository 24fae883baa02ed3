/* Wiring: config, workspace, store, model APIs and tools put together for one command. The only
 * place, with main.c, that knows which adapters there are. Opened once per command; not for several
 * threads. */
#ifndef CADRE_CLI_WIRE_H
#define CADRE_CLI_WIRE_H

#include "cli/options.h"
#include "cli/workspace.h"
#include "config/config.h"
#include "engine/engine.h"
#include "port/fetch.h"

struct wire;

/* STORE: no model is needed, so keys in the environment are not looked at and cannot be wrong. */
enum wire_need { WIRE_STORE, WIRE_MODEL };

struct wire_request {
    enum wire_need need;
    struct config_flags flags;
    struct str workspace;       /* directory; STR_NONE: the current one */
    config_consent_fn *consent; /* to a project's file that widens; NULL: nobody can be asked */
    void *consent_user;
    struct config_mistakes *mistakes; /* of config_environment; NULL: the first one is enough */
};

/* The flags that a command's own table has, from what was typed. */
void wire_flags(const struct arguments *arguments, struct config_flags *flags);

/* Reads config; opens nothing else yet. Classes CONFIG and USAGE. */
int wire_open(const struct wire_request *request, struct wire **wire, struct err *err) NODISCARD;
void wire_close(struct wire *wire); /* NULL is fine */

const struct config *wire_config(const struct wire *wire);
/* What must not be shown; NULL: everything may. */
const struct masker *wire_masker(const struct wire *wire);
struct workspace *wire_workspace(struct wire *wire);
/* Makes a model that a local server has the default one. */
int wire_local_model(struct wire *wire, struct str base_url, struct str model,
                     struct err *err) NODISCARD;

/* Who hears of what is odd but no error, on the loop's thread or before it. NULL: nobody. */
typedef void wire_warning(void *user, struct str text);
void wire_listen(struct wire *wire, wire_warning *warning, void *user);
/* Work that wire_engine does while the store is opened. It may block for seconds. */
void wire_meanwhile(struct wire *wire, void (*work)(struct wire *wire));
/* Records every exchange of the next engine in a new file. */
int wire_record(struct wire *wire, struct str file, struct err *err) NODISCARD;
/* Makes every model answer from a recording. */
int wire_replay(struct wire *wire, struct str file, struct err *err) NODISCARD;
/* Reads the recordings of the config, so that what is wrong with them is said before a run starts. */
int wire_recordings(struct wire *wire, struct err *err) NODISCARD;

/* One more handle on the store, for this thread; end it with ops->close. */
int wire_store(struct wire *wire, struct store **store, struct err *err) NODISCARD;
/* The same for a command that only reads: NOT_FOUND where there is no store, and it may be read-only. */
int wire_store_reading(struct wire *wire, struct store **store, struct err *err) NODISCARD;
/* The run that was meant: a full id, a unique prefix, or "last". NOT_FOUND, USAGE (several). */
int wire_find_run(struct wire *wire, struct store *store, struct str typed, struct id *run_id,
                  struct err *err) NODISCARD;

/* Version control, with what it keeps beside this store; end it with wire_vcs_close. NOT_FOUND: there is no git. Blocking. */
struct vcs_port;
int wire_vcs(struct wire *wire, struct vcs_port **vcs, struct err *err) NODISCARD;
void wire_vcs_close(struct vcs_port *vcs); /* NULL is fine */

/* An engine on the loop with every adapter of this build. End it with wire_engine_free, which runs
 * the loop until all handles are closed. */
int wire_engine(struct wire *wire, uv_loop_t *loop, const struct engine_watch *watch,
                struct engine **engine, struct err *err) NODISCARD;
void wire_engine_free(struct wire *wire, struct engine *engine);

/* What llm.providers says of this server; NULL: nothing. */
const struct provider_bounds *wire_provider(const struct wire *wire, struct str name,
                                            struct str base_url);
/* A provider of the config or a preset, by name; class USAGE where there is none. */
struct provider_address;
int wire_provider_find(struct wire *wire, struct str name, struct provider_address *address,
                       struct err *err) NODISCARD;
/* A server that is named by its URL alone, with the key of its API where that is set. api STR_NONE: openai. */
int wire_url_address(struct wire *wire, struct str url, struct str api,
                     struct provider_address *address, struct err *err) NODISCARD;
/* The key for this server: what its helper prints, else the variable's value; empty where there is none. Blocking, at
 * most ten seconds. */
int wire_key(struct wire *wire, const struct provider_bounds *bounds, struct str variable,
             struct buf *key, struct err *err) NODISCARD;
/* Takes over the window that a model's server told. */
void wire_learn_window(struct wire *wire, size_t model, int64_t tokens);
/* HTTP exchanges with a server that a command looks at. Blocking. */
fetch_fn wire_fetch;

/* The scripted model of the demo, on a port of its own. */
struct scripted;
int wire_scripted_start(struct scripted **server, uint16_t *port, struct err *err) NODISCARD;
void wire_scripted_stop(struct scripted *server);

/* What the program was built with and runs with: one line "name version" each. */
void wire_versions(struct buf *out);

#endif
