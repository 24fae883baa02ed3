/* Chat Completions requests as bytes. Pure and byte-stable: equal input gives equal bytes, so that
 * what a provider has cached of a conversation's beginning stays valid. */
#ifndef CADRE_MODEL_OPENAI_RENDER_H
#define CADRE_MODEL_OPENAI_RENDER_H

#include "base/buf.h"
#include "port/model.h"

/* The field that limits the output. */
#define OPENAI_OUTPUT_LIMIT_FIELD "max_tokens"

/* Appends one message; a comma first, unless out is empty. A call's name is made acceptable
 * (tool_name.h). Of the extras, what openai_extras.h says comes back. */
void openai_render_message(const struct message *message, struct buf *out);
/* Appends the whole body; request->fragments stands between the brackets of "messages". */
void openai_render_body(const struct model_request *request, struct buf *out);

#endif
