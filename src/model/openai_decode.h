/* Turns the body of a Chat Completions answer into a reply or a failure. Pure: no clock, no I/O;
 * the bytes may come in any pieces and always give the same result.
 *
 * The body may be an event stream or one JSON document, whatever its content type says. A stream is
 * complete when a finish_reason or [DONE] came with an answer; anything less is a failure of class
 * RETRY.
 *
 * Arguments of a call are always the text of a JSON object. Where the model's text is none, they
 * are
 *     {"$unparsed": "<the model's text, at most 64 KB>"}
 * Such a call must not run: answer it with a tool error that says what is wrong with the text
 * (js_parse of it says), so that the model can send the call again. */
#ifndef CADRE_MODEL_OPENAI_DECODE_H
#define CADRE_MODEL_OPENAI_DECODE_H

#include "base/arena.h"
#include "core/run/message.h"
#include "model/openai_calls.h"
#include "model/openai_error.h"
#include "net/sse.h"

#define OPENAI_TEXT_MAX                                                                            \
    ((size_t)16 << 20) /* bytes of text, and of a body that is one JSON document */

enum openai_next {
    OPENAI_GO_ON,
    OPENAI_COMPLETE, /* [DONE] came: nothing that follows counts */
    OPENAI_FAILED,   /* the rest is not worth reading */
};

enum openai_closing {
    OPENAI_CLOSED, /* the body came to its end */
    OPENAI_BROKEN, /* the connection broke: what is unfinished does not count */
};

/* Everything here belongs to the decoder. */
struct openai_decoder {
    struct openai_server server; /* views of the caller's, who keeps them */
    void (*delta)(void *user, struct str text);
    void *user;
    enum { BODY_UNKNOWN, BODY_EVENTS, BODY_JSON, BODY_PAGE } body;
    struct sse sse;
    struct buf json;   /* a body that is one document */
    struct buf mended; /* a chunk that had to be mended before it parsed */
    struct buf text;
    struct openai_calls calls;
    struct buf finish, response_id, model;
    struct usage usage;
    bool has_answer;       /* a choice came */
    bool has_delta;        /* and its text or calls came in deltas */
    bool done;             /* [DONE] came, or the one document */
    enum err_class failed; /* NONE unless it failed; then the message */
    struct str message;
    struct arena arena;
};

/* delta gets text as it arrives and may be NULL. */
void openai_decoder_init(struct openai_decoder *decoder, struct openai_server server,
                         void (*delta)(void *user, struct str text), void *user);
void openai_decoder_release(struct openai_decoder *decoder);
/* Bytes of the body of an answer with status 2xx. */
enum openai_next openai_decoder_feed(struct openai_decoder *decoder, struct str bytes);
/* Whether text or a call has arrived. */
bool openai_decoder_started(const struct openai_decoder *decoder);
/* Once, at the end. True: reply is filled; false: failure is (http_status and retry_after_ms are
 * the caller's to set). Both refer to the decoder and live as long as it. first_token_ms is -1. */
bool openai_decoder_finish(struct openai_decoder *decoder, enum openai_closing closing,
                           struct model_reply *reply, struct model_failure *failure);

#endif
