/* Chat Completions requests as bytes. Pure and byte-stable: equal input gives equal bytes, so that
 * what a provider has cached of a conversation's beginning stays valid. */
#ifndef CADRE_MODEL_OPENAI_RENDER_H
#define CADRE_MODEL_OPENAI_RENDER_H

#include "base/buf.h"
#include "model/dialect.h"
#include "port/model.h"

/* Appends the group as one message; a comma first, unless out is empty. Neighbours are joined, because templates of many
 * servers insist that roles alternate. A call's name is made acceptable (tool_name.h). Of the extras, what
 * openai_extras.h says comes back. */
void openai_render_group(const struct message_group *group, struct buf *out);
/* Appends the whole body; request->fragments stands between the brackets of "messages". */
void openai_render_body(const struct model_request *request, struct dialect *dialect,
                        struct buf *out);

#endif
