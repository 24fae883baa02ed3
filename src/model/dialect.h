/* What each server takes of a request beyond the conversation: names of parameters, efforts,
 * formats. One table says it by host and model family; what a server refused in this process is
 * learnt on top of that, by provider and model.
 *
 * Learning: an answer with status 400 or 422 that blames a parameter which was sent (culprit.h)
 * takes that parameter away from here on, or gives the output limit the name that the error asks for. The
 * output limit never vanishes. Pure; loop thread. */
#ifndef CADRE_MODEL_DIALECT_H
#define CADRE_MODEL_DIALECT_H

#include "base/map.h"
#include "model/body.h"
#include "model/wishes.h"
#include "port/model.h"

enum dialect_api { DIALECT_CHAT, DIALECT_RESPONSES, DIALECT_MESSAGES };

/* Parameters that a server may not take. Bits. */
enum dialect_param {
    SENDS_LIMIT = 1 << 0,
    SENDS_TEMPERATURE = 1 << 1,
    SENDS_TOP_P = 1 << 2,
    SENDS_SEED = 1 << 3,
    SENDS_STOP = 1 << 4,
    SENDS_USAGE_WISH = 1 << 5, /* stream_options */
    SENDS_EFFORT = 1 << 6,
    SENDS_SUMMARY = 1 << 7,  /* reasoning.summary */
    SENDS_SEALED = 1 << 8,   /* include: reasoning.encrypted_content */
    SENDS_THINKING = 1 << 9, /* Anthropic's thinking */
    SENDS_FORMAT = 1 << 10,  /* the answer's schema */
    SENDS_STRICT = 1 << 11,
    SENDS_CACHE_KEY = 1 << 12,
    SENDS_CACHE_MARKS = 1 << 13,
    SENDS_USER_AFTER_TOOL = 1 << 14, /* a message of the user right behind a tool's result */
    /* Reasoning of Chat Completions in the messages that it came with (openai_extras.h) */
    SENDS_ECHOED_CONTENT = 1 << 15, /* reasoning_content */
    SENDS_ECHOED_TEXT = 1 << 16,    /* reasoning */
    SENDS_ECHOED_DETAILS = 1 << 17, /* reasoning_details */
};
#define SENDS_ECHOES (SENDS_ECHOED_CONTENT | SENDS_ECHOED_TEXT | SENDS_ECHOED_DETAILS)

/* What was learnt of one provider and model. */
struct dialect_learnt {
    uint32_t refused;  /* parameters */
    uint32_t accepted; /* parameters that a successful request carried */
    const char *limit; /* the output limit's name; NULL: that of the table */
    int64_t most;      /* the highest output limit that the server takes; 0: not told */
    enum { THINKS_AS_TABLED, THINKS_ADAPTIVE } thinking;
    struct wishes wishes; /* what is told of it */
};

struct dialect {
    enum dialect_api api;
    uint32_t left_out;      /* parameters that are not sent */
    uint32_t tabled;        /* of these, what the table says and no server did */
    uint32_t sent;          /* parameters in the body; the renderer sets them */
    uint32_t withheld;      /* parameters that were wanted in it and are left out */
    const char *limit;      /* name of the output limit */
    int64_t output_limit;   /* its value, as it is sent; 0: none is */
    const char *key_header; /* what stands before the key; NULL: as the API has it */
    unsigned efforts;       /* bit i: effort_names[i] is known */
    enum { THINKING_BUDGET, THINKING_ADAPTIVE } thinking;
    enum { SCHEMA_WITHOUT_TOOLS, SCHEMA_WITH_TOOLS } schema; /* when a schema may be sent */
};

/* What was learnt in a process. Bounded: beyond DIALECTS_MAX pairs nothing more is kept. */
#define DIALECTS_MAX 4096
struct dialects {
    struct map known;
};
void dialects_init(struct dialects *dialects);
void dialects_release(struct dialects *dialects);
/* What is known of the request's provider and model; NULL when there is no room for more. */
struct dialect_learnt *dialects_of(struct dialects *dialects, const struct model_request *request);

/* The dialect for a request; learnt may be NULL. Views of the request are not kept. */
void dialect_resolve(enum dialect_api api, const struct model_request *request,
                     const struct dialect_learnt *learnt, struct dialect *dialect);
/* Whether the parameter, which is wanted, goes into the body; notes which it is. */
bool dialect_sends(struct dialect *dialect, enum dialect_param param);
/* The nearest effort that the model knows; NULL: none is set. Between two the greater one. */
const char *dialect_effort(const struct dialect *dialect, struct str effort);

/* Whether an error says that roles must alternate: in the words of Mistral's API, and of chat
 * templates. */
bool dialect_refuses_roles(struct str body);
/* Reads the body of an answer with status 400 or 422. Returns the parameters that it refuses, of
 * those that were sent and are not in `tried`, and remembers them; 0: nothing can be learnt. */
uint32_t dialect_learn(struct dialect_learnt *learnt, const struct dialect *dialect, uint32_t tried,
                       struct str body);
/* Appends the request's body as it is to be sent after `refused` was learnt. */
void dialect_rewrite(const struct dialect_learnt *learnt, const struct dialect *dialect,
                     uint32_t refused, struct str body, struct buf *out);

/* The parameters that a member of a body carries: what the config sets in extra_body is not ours
 * to change. */
uint32_t dialect_params_named(struct str member);

/* Version of a Claude model as major * 100 + minor ("claude-opus-4-7": 407); 0: not one. */
int dialect_claude(struct str model);

#endif
