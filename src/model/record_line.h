/* The format of a recording: one JSON object a line, one line for each model request that has ended.
 *
 *   {"v":1,"key":HEX,"agent":2,"turn":3,"workspace":PATH,"model":TEXT,"tools":HEX8,"messages":5,
 *    "prints":["u1a2b3c4d", …],"ms":812, "reply":{…} or "failure":{…}}
 *
 * key is over the request (record_key.h), prints tell its last messages apart (s, u, a, t: the role), ms is the time from
 * sending to the end. Texts that are JSON themselves (arguments, extras) are kept as strings, byte for byte. Pure. */
#ifndef CADRE_MODEL_RECORD_LINE_H
#define CADRE_MODEL_RECORD_LINE_H

#include "base/arena.h"
#include "base/json.h"
#include "model/record_key.h"

#define RECORD_LINE_MAX ((size_t)32 << 20) /* bytes of one line */

struct record_line {
    struct record_key key;
    uint32_t agent_no;
    int64_t turn;
    int64_t ms;
    struct str workspace;
    enum { RECORD_REPLY, RECORD_FAILURE } kind;
};

/* Exactly one of reply and failure is not NULL. Ends with a line break. */
void record_line_print(const struct record_line *line, const struct model_reply *reply,
                       const struct model_failure *failure, struct buf *out);
/* Everything in front of the answer, and that the answer can be read. Views live in the arena. CORRUPT. */
int record_line_parse(struct str text, struct arena *arena, struct record_line *line,
                      struct err *err) NODISCARD;
/* The answer alone: fills reply or failure, by the line's kind. */
int record_answer_parse(struct str text, struct arena *arena, struct model_reply *reply,
                        struct model_failure *failure, struct err *err) NODISCARD;

#endif
