/* Responses API requests as bytes. Pure and byte-stable.
 *
 * What stands where depends on the whole conversation and on the model that is asked. So a fragment is not a part of the
 * body but lines:
 *
 *     S"…"                     a system text: "instructions" before all items, else an item
 *     I{"type":…}              an input item
 *     R<host> {"type":…}       a reasoning item, for this host only (responses_extras.h)
 *
 * A line holds no line break but its end, so that fragments can be appended one after the other. The body is put together
 * from whole lines; no item is rendered again. */
#ifndef CADRE_MODEL_RESPONSES_RENDER_H
#define CADRE_MODEL_RESPONSES_RENDER_H

#include "base/buf.h"
#include "model/dialect.h"
#include "port/model.h"

#define RESPONSES_OUTPUT_MIN 16 /* the API refuses a lower limit */

/* Appends the lines of the group's messages: none for an assistant message without text and calls. */
void responses_render_group(const struct message_group *group, struct buf *out);
/* Appends the whole body. */
void responses_render_body(const struct model_request *request, struct dialect *dialect,
                           struct buf *out);

#endif
