/* One answer, built whole before its first byte is sent: a body, cut into pieces where it is a stream. The same
 * request always gets the same bytes, so a client that asks again after a crash sees the same reply. */
#ifndef CADRE_SCRIPTED_ANSWER_H
#define CADRE_SCRIPTED_ANSWER_H

#include "base/buf.h"
#include "scripted/asked.h"
#include "scripted/script.h"

#define ANSWER_NO_PIECE SIZE_MAX

struct answer {
    int status;
    enum { ANSWER_JSON, ANSWER_EVENTS } form;
    struct str retry_after; /* of the script; STR_NONE: no such header */
    struct buf body;
    size_t *ends; /* offset behind each piece */
    size_t piece_count, piece_capacity;
    size_t usage_piece; /* the piece that carries the usage, or ANSWER_NO_PIECE */
    int64_t prompt_tokens, completion_tokens; /* as reported */
    enum script_drop drop;
    int64_t delay_ms, piece_delay_ms;
};

void answer_init(struct answer *answer);
void answer_release(struct answer *answer);
/* Ends the current piece at the body's end. Nothing happens when it would be empty. */
void answer_mark(struct answer *answer);
/* The script's reply to this request. A reply that grows past the limit becomes a failure with status 500. */
void answer_build(struct answer *answer, const struct script *script, const struct asked *asked,
                  const struct script_match *match);
void answer_refusal(struct answer *answer, const struct refusal *refusal, enum asked_api api);

#endif
