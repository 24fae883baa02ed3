/* Messages API requests as bytes. Pure and byte-stable.
 *
 * The API wants what the conversation has not: system texts apart, roles that alternate, the results of calls in one
 * message and before its text. So a fragment is not a part of the body but lines, one per content block:
 *
 *     S{"type":"text",…}           for "system"
 *     R{"type":"tool_result",…}    for a user message, before all of its U
 *     U{"type":"text",…}           for a user message
 *     A{"type":…}                  for an assistant message
 *
 * A line holds no line break but its end, so that fragments can be appended one after the other. The body is put together
 * from whole lines: neighbours for the same role become one message, and no block is rendered again. */
#ifndef CADRE_MODEL_ANTHROPIC_RENDER_H
#define CADRE_MODEL_ANTHROPIC_RENDER_H

#include "base/buf.h"
#include "model/dialect.h"
#include "port/model.h"

#define ANTHROPIC_OUTPUT_TOKENS 4096 /* where a request names no limit: the API needs one */
#define ANTHROPIC_THINKING_MIN 1024  /* tokens; the API refuses a smaller budget */

/* Appends the lines of the group's messages: none for an assistant message without text and calls. */
void anthropic_render_group(const struct message_group *group, struct buf *out);
/* Appends the whole body: tools, system, messages, then the rest. At most four marks for the API's cache: on the last tool,
 * the last system text, and the last block of the last two user messages. */
void anthropic_render_body(const struct model_request *request, struct dialect *dialect,
                           struct buf *out);

#endif
