/* Puts tool calls together from the pieces of a stream. Pure.
 *
 * Servers number and name the pieces in many ways. A piece belongs to the call with its id, else to
 * the latest call with its index, else to the latest call. It begins a new call where it brings an
 * unknown id and a name, or a name when the call it would belong to already had a piece in the same
 * chunk, is complete, or has another name. A name that comes alone behind a complete call begins one
 * when an object follows that is not the same once more. Doubt is resolved so that arguments end up
 * unparsable rather than that a call runs twice. */
#ifndef CADRE_MODEL_OPENAI_CALLS_H
#define CADRE_MODEL_OPENAI_CALLS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "model/calls.h"

#define OPENAI_CALL_EXTRA_MAX ((size_t)256 << 10) /* bytes of one call's extra_content */

struct openai_call; /* one call in the making */

/* One entry of a tool_calls array. */
struct openai_piece {
    struct str id, name;
    struct str arguments;   /* a part of their text; p == NULL: none */
    const struct js *value; /* a whole value where the API has its text; NULL: none */
    const struct js *extra; /* extra_content: opaque, wants to be echoed */
    int64_t index;
    bool has_index;
};

struct openai_calls {
    struct map by_id, by_index; /* of the calls, once there are many; value: place + 1 */
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
/* Bytes of arguments in such an array. */
size_t openai_calls_bytes(const struct js *array);
/* The same piece by piece: once for an array, then once for each of its entries. */
void openai_calls_chunk(struct openai_calls *calls);
int openai_calls_piece(struct openai_calls *calls, const struct openai_piece *came,
                       struct err *err) NODISCARD;
/* The calls so far, in order of appearance; the list is the arena's, its texts are views of the calls. */
size_t openai_calls_drafts(const struct openai_calls *calls, struct arena *arena,
                           struct call_draft **drafts);
/* The extra_content of the call at i, as JSON text; empty if it has none. A view of the calls. */
struct str openai_calls_extra(const struct openai_calls *calls, size_t i);

#endif
