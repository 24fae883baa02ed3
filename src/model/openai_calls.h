/* Puts tool calls together from the pieces of a stream. Pure.
 *
 * Servers number and name the pieces in many ways. A piece belongs to the call with its id, else to
 * the latest call with its index, else to the latest call. It begins a new call where it brings an
 * unknown id and a name, or a name when the call it would belong to already had a piece in the same
 * chunk, is complete, or has another name. Doubt is resolved so that arguments end up unparsable
 * rather than that a call runs twice. */
#ifndef CADRE_MODEL_OPENAI_CALLS_H
#define CADRE_MODEL_OPENAI_CALLS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "model/calls.h"

struct openai_call; /* one call in the making */

struct openai_calls {
    struct openai_call *items;
    size_t count, capacity;
    uint64_t chunk; /* number of the tool_calls array that is being read */
};

void openai_calls_init(struct openai_calls *calls);
void openai_calls_release(struct openai_calls *calls);
/* Reads one tool_calls array (or a single object; anything else is ignored). -1 with class RETRY
 * when a limit is passed. */
int openai_calls_read(struct openai_calls *calls, const struct js *array,
                      struct err *err) NODISCARD;
/* The calls so far, in order of appearance; the list is the arena's, its texts are views of the calls. */
size_t openai_calls_drafts(const struct openai_calls *calls, struct arena *arena,
                           struct call_draft **drafts);

#endif
