/* Provider-neutral messages: what the log stores and what every API's renderer turns into its own shape.
 * Plain data; all views belong to whoever built the message (an agent's arena, a decoded reply). */
#ifndef CADRE_CORE_RUN_MESSAGE_H
#define CADRE_CORE_RUN_MESSAGE_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum message_role { MESSAGE_SYSTEM, MESSAGE_USER, MESSAGE_ASSISTANT, MESSAGE_TOOL };

/* One tool call of an assistant message. Ids are unique within an agent's history. */
struct tool_call {
    struct str id;
    struct str name;
    struct str arguments; /* text of a JSON object, always valid */
};

/* The id that a server gave to a call, for that server alone: every other provider gets an id derived from ours. Empty
 * where the server gave none, or one that the conversation has already. */
struct call_origin {
    struct str id, provider;
};

/* What stands in place of a name that did not come, or that is too long to be one. Such a call
 * is answered with an error. */
#define CALL_UNNAMED "(no name)"
#define CALL_OVERLONG "(name too long)"

enum tool_outcome { TOOL_OK, TOOL_ERROR };

struct message {
    enum message_role role;
    struct str text;         /* may be empty for an assistant message with calls */
    struct tool_call *calls; /* assistant only */
    size_t call_count;
    struct call_origin *origins; /* of the calls, one for each; NULL: no server gave them */
    struct str call_id;          /* tool only: the call that this answers */
    struct call_origin origin;   /* tool only: of that call */
    enum tool_outcome outcome;   /* tool only */
    struct str extras;           /* opaque JSON that the same API wants echoed, or STR_NONE */
};

/* Whether it is an answer with neither text nor calls: no server takes one. */
static inline bool message_says_nothing(const struct message *message)
{
    size_t i = 0;
    while (i < message->text.n && strchr(" \t\r\n\v\f", message->text.p[i]) &&
           message->text.p[i] != '\0')
        i++;
    return message->role == MESSAGE_ASSISTANT && message->call_count == 0 && i == message->text.n;
}

/* What a request cost, as the server reports it. -1: not reported. */
struct usage {
    int64_t input;  /* all input tokens, cached ones included */
    int64_t cached; /* of these, read from the provider's cache */
    int64_t cache_write;
    int64_t output; /* all output tokens, reasoning included */
    int64_t reasoning;
};
#define USAGE_NONE ((struct usage){-1, -1, -1, -1, -1})

/* A complete answer. */
struct model_reply {
    struct str text;
    struct tool_call *calls;
    size_t call_count;
    struct str finish; /* the provider's reason, as it came: "stop", "length", "tool_calls" … */
    enum {
        REPLY_WHOLE,
        REPLY_CUT
    } completeness; /* CUT: stopped by the output limit; its last call must not run */
    struct usage usage;
    struct str response_id;
    struct str model;       /* which model really answered */
    int64_t first_token_ms; /* from sending to the first byte of content; -1 unknown */
    struct str extras;
    struct str server_request; /* the server's id of this request, or STR_NONE */
    /* What was asked for and left out, because the server refused it: a line each, the same for all
     * answers. Or STR_NONE. */
    struct str notice;
};

/* UNSENT: the request never left this process, so it cost nothing. */
enum request_sent { REQUEST_SENT, REQUEST_UNSENT };

/* A failed request. class RETRY: may be asked again; PROVIDER: never; TIMEOUT; CANCELLED: aborted by us. */
struct model_failure {
    enum err_class class;
    int http_status;        /* 0: no answer */
    int64_t retry_after_ms; /* what the server asked for; -1 none */
    struct str message;     /* for a person: which server, what it said, what to do */
    struct str partial;     /* text that had arrived */
    struct usage usage;     /* what had been reported */
    enum request_sent sent; /* UNSENT with class RETRY: there was no connection */
    /* The status with which a provider says "too much" where it said so inside of an answer that had begun with 200; 0: it
     * did not. For the governor, not logged. */
    int load_status;
    /* What is wrong beyond the class. Logged as the event's `trouble`. */
    enum model_trouble {
        TROUBLE_NONE,
        TROUBLE_OVERFLOW, /* the request is longer than the window: see window */
        TROUBLE_FINAL, /* asking this server again in this run gives the same: 401, 403, 404, a certificate */
        TROUBLE_FILTERED, /* a content filter or a refusal of the model: the request is to blame, not the server */
    } trouble;
    int64_t window, needed;    /* tokens, where an overflow names them; < 1: not told */
    struct str server_request; /* the server's id of this request, or STR_NONE */
};

#endif
