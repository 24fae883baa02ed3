/* Tool arguments that are not quite JSON, read where there is only one way to read them. Pure.
 *
 * Repaired: nothing at all ({}), a code fence around the object, trailing commas, single quotes, the Python literals True,
 * False and None, unquoted keys, an object encoded twice (a JSON string that holds it), the call's own envelope
 * {"name": <the call's name>, "arguments": …}, and words after a complete object. Everything else is refused: text that
 * is cut off, a second object, unknown words, escapes that JSON does not know. */
#ifndef CADRE_MODEL_REPAIR_H
#define CADRE_MODEL_REPAIR_H

#include "base/buf.h"
#include "base/err.h"

#define REPAIR_MAX                                                                                 \
    ((size_t)64 << 10) /* bytes of text that is looked into; a valid object may be longer */

/* Appends the text of a JSON object to out, which is empty: a valid object as it came (without white space around it),
 * but for the envelope. -1 when the text is refused; out is then undefined. name: of the tool that is called. */
int repair_arguments(struct str name, struct str text, struct buf *out) NODISCARD;

/* The text without JSON's white space around it. */
struct str repair_trim(struct str text);

#endif
