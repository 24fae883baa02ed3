/* What the decoders of all model APIs share: the body of an answer in any pieces, a reply or a
 * failure out. Pure: no clock, no I/O; the same bytes give the same result, however they are
 * cut.
 *
 * The body may be an event stream or one JSON document, whatever its content type says. An
 * answer is complete when its end or its finish reason came; anything less is a failure of class
 * RETRY. One that a content filter stopped is a failure of class PROVIDER, and none of its calls
 * runs; so is one in which the model refused, with the refusal's words. Reasoning that the model
 * writes into its text is not part of the answer (thinking.h).
 *
 * Arguments of a call are always the text of a JSON object. Where the model's text is not one, and
 * cannot be repaired without guessing (repair.h), they are
 *     {"$unparsed": "<the model's text, at most 64 KB>"}
 * Such a call must not run: answer it with a tool error that says what is wrong with the text
 * (js_parse of it says), so that the model can send the call again. */
#ifndef CADRE_MODEL_DECODER_H
#define CADRE_MODEL_DECODER_H

#include "base/arena.h"
#include "core/run/message.h"
#include "model/calls.h"
#include "model/failure.h"
#include "model/mend.h"
#include "model/text_calls.h"
#include "model/thinking.h"
#include "model/trouble.h"
#include "net/sse.h"

#define DECODER_TEXT_MAX                                                                           \
    ((size_t)16 << 20) /* bytes of text, and of a body that is one JSON document */

enum decoder_next {
    DECODER_GO_ON,
    DECODER_COMPLETE, /* the stream said that it ends: nothing that follows counts */
    DECODER_FAILED,   /* the rest is not worth reading */
};

enum decoder_closing {
    DECODER_CLOSED, /* the body came to its end */
    DECODER_BROKEN, /* the connection broke: what is unfinished does not count */
};

/* How an event is read: in place where it has a usual shape, or always as a document. */
enum decoder_reading { DECODER_QUICK, DECODER_THOROUGH };

struct decoder;

/* What an API adds. Each gets the decoder that its own is built around. */
struct decoder_ops {
    const char *content; /* what a document without an answer lacks: "choices" */
    /* Reads the text of an event with the same effect as `read`, or THOROUGH without any effect. NULL: never. */
    enum decoder_reading (*quick)(struct decoder *decoder, struct str text);
    /* The object of one event, or the document. It is no error. */
    void (*read)(struct decoder *decoder, const struct js *root);
    /* The calls so far, in order, in the decoder's arena. */
    size_t (*drafts)(struct decoder *decoder, struct call_draft **drafts);
    /* What the API wants echoed, in the decoder's arena. NULL: nothing ever. */
    struct str (*extras)(struct decoder *decoder);
    enum {
        DECODER_NO_PLACES,
        DECODER_PLACES
    } places;                                 /* whether the extras name places in the text */
    void (*release)(struct decoder *decoder); /* its own parts only */
};

/* Everything here belongs to the decoder and its API's part. */
struct decoder {
    const struct decoder_ops *ops;
    struct model_server server; /* views of the caller's, who keeps them */
    void (*delta)(void *user, struct str text);
    void (*reasoning)(void *user,
                      struct str text); /* the caller may set it before the first byte */
    void *user;
    enum { BODY_UNKNOWN, BODY_EVENTS, BODY_JSON, BODY_PAGE } body;
    enum decoder_reading reading; /* THOROUGH: for tests that compare the two */
    struct sse sse;
    struct buf json;         /* a body that is one document */
    struct buf mended;       /* a chunk that had to be mended before it parsed */
    enum mend_halves halves; /* whether text and arguments may hold halves of characters */
    struct buf text;
    size_t shown;             /* bytes of it that are whole and went to `thinking` */
    struct thinking thinking; /* which part of the text is the answer */
    bool refused;             /* the model refused, and its text says so */
    struct buf finish, response_id, model;
    struct usage usage;
    uint64_t heard; /* pieces that came; what only keeps the connection open is none */
    struct {
        size_t left, spare;   /* bytes that may still come; spare: of calls and reasoning alone */
        size_t kept;          /* bytes of text that are kept when more came */
        bool limited, passed; /* passed: the rest was cut off */
        int64_t limit;        /* tokens, as it was sent */
    } output;
    size_t
        request_bytes; /* of the request; the caller may set it, so that absurd usage is known as such */
    struct {
        size_t count;     /* of data that is not a JSON object, skipped */
        struct str first; /* of them, as it may be shown; in the arena */
    } odd;
    bool has_answer;       /* a part of one came */
    bool has_call;         /* so did a part of a call */
    bool done;             /* the stream's end, or the one document, came */
    enum err_class failed; /* NONE unless it failed; then the message */
    struct str message;
    int load_status;         /* see struct model_failure */
    struct trouble trouble;  /* the same */
    struct text_tools tools; /* whose calls may be written as text; in the arena */
    struct arena arena;
};

/* delta gets text as it arrives and may be NULL. */
void decoder_init(struct decoder *decoder, const struct decoder_ops *ops,
                  struct model_server server, void (*delta)(void *user, struct str text),
                  void *user);
void decoder_release(struct decoder *decoder);
/* Calls of these tools count when they are written as text, too (text_calls.h). Copied. Before the first byte. */
void decoder_offer(struct decoder *decoder, const struct model_tool *tools, size_t count);
/* The output limit that was sent, in tokens. An answer far beyond it ends there, as cut by
 * length, with as much text as the limit allows. Before the first byte. */
void decoder_limit(struct decoder *decoder, int64_t tokens);
/* Bytes of the body of an answer with status 2xx. */
enum decoder_next decoder_feed(struct decoder *decoder, struct str bytes);
/* Whether text or a call has arrived. */
bool decoder_started(const struct decoder *decoder);
/* Whether the finish reason has come: what may follow is usage. */
bool decoder_is_ending(const struct decoder *decoder);
/* Once, at the end. True: reply is filled; false: failure is (http_status and retry_after_ms are
 * the caller's to set). Both refer to the decoder and live as long as it. first_token_ms is -1. */
bool decoder_finish(struct decoder *decoder, enum decoder_closing closing,
                    struct model_reply *reply, struct model_failure *failure);

/* --- for the APIs' parts ------------------------------------------------------------------------ */

/* The first failure counts. */
void decoder_fail(struct decoder *decoder, enum err_class class, const char *what);
/* After the class of an error was set: what its words say beyond it. An overflow or a filter is
 * never worth a repetition. */
void decoder_trouble(struct decoder *decoder, const struct js *root, struct str raw);
void decoder_text(struct decoder *decoder, struct str text);
/* Whether this many more bytes of a call or of reasoning are within the output limit; if not,
 * the answer ends here. */
bool decoder_allows(struct decoder *decoder, size_t bytes);
/* Reasoning that the server tells apart from text: for display. */
void decoder_reasoning(struct decoder *decoder, struct str text);
/* A finish reason; the last one counts. */
void decoder_finish_reason(struct decoder *decoder, struct str reason);
/* An id or a name: the first one counts; one that is too long is cut. */
void decoder_label(struct buf *label, const struct js *value);
void decoder_label_text(struct buf *label, struct str text);
/* A count of tokens, where it is one. */
void decoder_count(int64_t *count, const struct js *value);
void decoder_count_number(int64_t *count, int64_t number);

#endif
