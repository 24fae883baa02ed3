/* From the calls that a decoder put together to calls that may run: unique ids, names, arguments that are always the
 * text of a JSON object. Pure. */
#ifndef CADRE_MODEL_CALLS_H
#define CADRE_MODEL_CALLS_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/run/message.h"

#define CALLS_MAX 16384         /* in one answer */
#define CALLS_IN_BLOCKS_MAX 128 /* where calls are blocks among others, which are looked through */
#define CALLS_FEW 32            /* up to so many are compared one by one, more are looked up */
#define CALL_ARGUMENTS_MAX ((size_t)16 << 20) /* bytes of one call's arguments */
#define CALL_LABEL_MAX ((size_t)256)          /* bytes of an id or a name */
#define CALL_UNPARSED_MAX                                                                          \
    ((size_t)64 << 10) /* bytes of raw text kept of arguments that are no JSON object */

/* A call as it came. */
struct call_draft {
    struct str id, name, arguments;
};

/* The finished calls, in order, in the arena. *count is the number of drafts and becomes that of the
 * calls. Ids are unique within them; a missing or repeated one becomes call_<n>. Arguments: {} if none came, repaired
 * where that needs no guess, see decoder.h for the rest. CALLS_CUT (the output limit was reached) drops the last call if
 * its arguments are incomplete. A call without a name is called CALL_UNNAMED. */
enum calls_ending { CALLS_WHOLE, CALLS_CUT };
void calls_finish(const struct call_draft *drafts, size_t *count, enum calls_ending ending,
                  struct arena *arena, struct tool_call **list);
/* The name of a draft: what the buf holds, or CALL_OVERLONG where it was too long for it. */
struct str calls_name(const struct buf *name);

#endif
