/* Marks: how the extras of a reply remember the order of its parts. `content` is an array; an entry is something to be echoed as it
 * is, a mark for so many bytes of the text ({"text":12}), or a mark for the next call. Pure; any thread. */
#ifndef CADRE_MODEL_MARKS_H
#define CADRE_MODEL_MARKS_H

#include "base/json.h"

/* Whether an entry is echoed: each API has its own kinds. */
typedef bool marks_echo(const struct js *entry);

/* Whether the marks stand for this very text, each ending between characters. */
bool marks_fit(const struct js *content, struct str text);
/* How many entries lead up to the last that says or calls something: no API takes thoughts that nothing follows. */
size_t marks_count(const struct js *content, size_t call_count, marks_echo *is_echo);

#endif
