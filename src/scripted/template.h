/* Templates in a script's texts: {{first_user}}, {{last}}, {{turn}}, {{index}} and {{match:N}}. Anything else
 * between braces stays as it is. */
#ifndef CADRE_SCRIPTED_TEMPLATE_H
#define CADRE_SCRIPTED_TEMPLATE_H

#include "base/buf.h"
#include "base/json.h"
#include "scripted/asked.h"
#include "scripted/script.h"

struct template_values {
    const struct asked *asked;
    const struct script_match *match;
    int64_t index; /* of a repeated call, from 0 */
};

void template_text(const struct template_values *values, struct str text, struct buf *out);
/* The JSON value with templates filled in inside its strings (not its keys). */
void template_json(const struct template_values *values, const struct js *value, struct jw *out);

#endif
