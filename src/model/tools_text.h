/* The tools of a request as JSON. Siblings are offered the same ones, so the text is made once and kept with the offer. */
#ifndef CADRE_MODEL_TOOLS_TEXT_H
#define CADRE_MODEL_TOOLS_TEXT_H

#include "base/json.h"
#include "port/model.h"

/* One tool as the API wants it. */
typedef void tool_write_fn(struct jw *w, const struct model_tool *tool);

/* The member "tools" with all tools of the request; nothing where it has none. */
void tools_write(struct jw *w, const struct model_request *request, tool_write_fn *write);

#endif
