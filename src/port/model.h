/* A model API: renders provider-neutral messages, sends a request, streams the answer. Runs on the loop thread;
 * never blocks. An implementation never throws a failure away: every started call ends in exactly one `done`,
 * never from inside start() or abort(). */
#ifndef CADRE_PORT_MODEL_H
#define CADRE_PORT_MODEL_H

#include "base/buf.h"
#include "core/contract/params.h"
#include "core/run/message.h"

struct model_client; /* one per process and API: connections, multi handles */
struct model_call;   /* one request in flight; owned by the client, invalid after done returned */

struct jw;

struct model_tool {
    struct str name, description, schema; /* schema: text of a JSON Schema object */
};

/* A place for the text of an offer's tools, so that it is made once for all who are offered the same. Whoever keeps the tools keeps
 * it, and forgets it with them. */
struct tools_memo {
    void (*writer)(struct jw *w,
                   const struct model_tool *tool); /* of the text; NULL: there is none */
    struct buf text;
};

/* What a request's fragments were rendered from, for ports that compare requests of different APIs and runs. */
struct model_conversation {
    const struct message *messages;
    size_t message_count;
    struct str workspace; /* its path stands in prompts; another copy has another one */
    int64_t turn; /* of the agent, from 1; the same when a request is tried again or summarised */
};

struct model_deadlines {
    int64_t connect_ms, first_byte_ms, idle_ms, total_ms; /* each > 0 */
};

struct model_request {
    struct str
        base_url; /* "http://127.0.0.1:8080/v1": the path that the API's own path is added to */
    struct str api_key; /* empty: send none. Never logged, never in an error */
    struct str model;
    struct str fragments; /* rendered messages, concatenated in order (see render) */
    const struct model_tool *tools;
    size_t tool_count;
    struct tools_memo *tools_memo; /* of exactly these tools; NULL: nowhere to keep their text */
    int64_t max_output_tokens;
    const struct model_params *params; /* until start returns; NULL: none is set */
    struct str
        schema; /* JSON Schema of the answer, where it has one; the server may be asked to keep to it */
    struct str
        provider; /* its name in the settings; what is learnt of a server is kept by it and the model */
    struct str cache_key; /* the same for all agents of a run: which requests share a prefix */
    struct str client_id; /* the same for all tries of one request */
    const struct str
        *headers; /* "Name: value", of the config, with secrets in them; until start returns */
    size_t header_count;
    struct str
        extra_body; /* a JSON object whose members are added to the body, over ours; or STR_NONE */
    /* IN_TEXT: calls that the model writes into its text count, too (text_calls.h). */
    enum { REQUEST_CALLS_STRUCTURED, REQUEST_CALLS_IN_TEXT } calls;
    /* MOVES_ON: another model can be asked instead. Where the provider wants to be left alone for seconds, it fails at once: RETRY, unsent. */
    enum { REQUEST_WAITS, REQUEST_MOVES_ON } at_a_pause;
    struct model_deadlines deadlines;
    /* Who asks, so that waiting is fair between runs and between the agents of a run. */
    struct str owner;
    uint32_t agent_no;
    const struct model_conversation *conversation; /* until start returns; NULL: not told */
};

struct model_callbacks {
    /* Text as it arrives, for display only. May be NULL. */
    void (*delta)(void *user, struct str text);
    /* The same for reasoning that the server shows. May be NULL. */
    void (*reasoning)(void *user, struct str text);
    /* Exactly one of reply and failure is not NULL; both live until done returns. */
    void (*done)(void *user, const struct model_reply *reply, const struct model_failure *failure);
    void *user;
    /* The request waits for the provider; reason: "429", "64 at once"; empty: it waits no longer, and
     * leaves. Also from inside start(). For display only: must not call the port. May be NULL. */
    void (*waiting)(void *user, struct str reason);
    /* Bytes of the answer came, whatever they are. A sign of life; must not call the port. May be NULL. */
    void (*progress)(void *user);
};

/* Neighbours that an API may want as one message: the same role, user or system. Answers between them that say nothing
 * (message_says_nothing) are left out by renderers. Any other message is alone. */
struct message_group {
    const struct message *messages;
    size_t count;
    struct str provider; /* who is asked: gets its own ids of calls back (call_id.h) */
};

struct model_ops {
    /* Appends the group's fragment. Pure and byte-stable. A fragment starts with its separator where the API needs one
     * between messages, except when out is empty, so that fragments can be appended one after the other. The
     * first message of a group always says something. */
    void (*render)(const struct message_group *group, struct buf *out);
    /* Everything in the request is copied or sent before start returns. -1 only when nothing was started. */
    int (*start)(struct model_client *client, const struct model_request *request,
                 const struct model_callbacks *callbacks, struct model_call **call,
                 struct err *err);
    /* Ends the call soon: done follows with a failure of class CANCELLED and the partial text. */
    void (*abort)(struct model_call *call);
    void (*free)(struct model_client *client); /* no call may be in flight */
};

struct model_port {
    const struct model_ops *ops;
    struct model_client *client;
};

#endif
