/* The script: models, a key, and rules in order, of which the first that matches answers. Loaded once and then read by
 * every serving thread; only the counters of failing rules change. docs/scripted-model.md is the format. */
#ifndef CADRE_SCRIPTED_SCRIPT_H
#define CADRE_SCRIPTED_SCRIPT_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "scripted/needles.h"

struct asked;

struct script_model {
    struct str id;
    int64_t window, max_output; /* tokens */
    const struct js *refuses;   /* names of parameters that it refuses; NULL: none */
};

enum script_drop { DROP_NEVER, DROP_BEFORE_HEADERS, DROP_MID_STREAM };
enum script_usage { USAGE_ESTIMATED, USAGE_GIVEN, USAGE_ABSENT };

/* Views point into the script's document. */
struct script_reply {
    struct str thinking, text, finish, error, retry_after, raw; /* STR_NONE where not given */
    int64_t text_repeat;                                        /* times the text is sent */
    const struct js *calls;     /* array of {name, arguments, repeat, extra_content}, or NULL */
    const struct js *reasoning; /* Chat Completions: members of the message, or NULL */
    int64_t delay_ms;           /* before the headers */
    int64_t chunk_delay_ms;     /* between two chunks of a stream */
    int64_t chunks;             /* that the text, and each call's arguments, are cut into */
    enum script_usage usage_kind;
    const struct js *usage; /* where given */
    int64_t status;         /* other than 200: a failure */
    enum script_drop drop;
    int64_t fail_times;              /* > 0: this reply serves only the rule's first requests … */
    const struct script_reply *then; /* … and this one the rest; NULL: later rules do */
};

#define SCRIPT_ANY_TURN (-1)

struct script_rule {
    struct str first_user, last, last_lacks, system, has_tool; /* STR_NONE: no condition */
    int64_t turn;
    pcre2_code *regex;        /* on first_user; NULL: no condition */
    const struct js *expects; /* what must have come back (echo.h); NULL: anything */
    struct script_reply reply;
    atomic_uint_fast64_t served; /* counted for rules with fail_times only */
    size_t next;                 /* the next rule with the same needle, as index + 1; 0: none */
};

struct script {
    struct js *document;
    struct arena arena;
    struct str api_key; /* STR_NONE: none is asked for */
    int64_t bytes_per_token;
    enum { SCRIPT_ROLES_FREE, SCRIPT_ROLES_ALTERNATE } roles; /* "template" */
    enum { SCRIPT_IDS_FREE, SCRIPT_IDS_MISTRAL } ids;         /* shape of ids of calls */
    struct script_model *models;
    size_t model_count;
    struct script_rule *rules;
    size_t rule_count;
    struct needles needles; /* of the rules that name a first_user */
    size_t *always;         /* indexes of the other rules, ascending */
    size_t always_count;
};

#define SCRIPT_GROUPS 10

struct script_match {
    size_t rule;
    const struct script_reply *reply;
    struct str groups[SCRIPT_GROUPS]; /* of first_user_regex; views into the asked */
    size_t group_count;
};

/* Errors are of class USAGE and say which rule. On -1 there is nothing to release. */
int script_load(struct script *script, struct str text, struct err *err) NODISCARD;
void script_release(struct script *script);
const struct script_model *script_model(const struct script *script, struct str id);
/* The reply of the first rule that matches; -1 when none does. Counts the request for its rule. */
int script_find(struct script *script, const struct asked *asked,
                struct script_match *match) NODISCARD;

#endif
