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
#include "core/run/message.h"

#define OPENAI_CALLS_MAX 128
#define OPENAI_ARGUMENTS_MAX ((size_t)16 << 20) /* bytes of one call's arguments */
#define OPENAI_LABEL_MAX ((size_t)256)          /* bytes of an id or a name */
#define OPENAI_UNPARSED_MAX                                                                        \
    ((size_t)64 << 10) /* bytes of raw text kept of arguments that are no JSON object */

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
/* The finished calls, in order of appearance, in the arena. Ids are unique within them; a missing
 * or repeated one becomes call_<n>. Arguments are the text of a JSON object: {} if none came; see
 * openai_decode.h for those that do not parse. OPENAI_CUT (the output limit was reached) drops the
 * last call if its arguments are incomplete. -1 with class RETRY when a call has no name. */
enum openai_ending { OPENAI_WHOLE, OPENAI_CUT };
int openai_calls_finish(const struct openai_calls *calls, enum openai_ending ending,
                        struct arena *arena, struct tool_call **list, size_t *count,
                        struct err *err) NODISCARD;

#endif
