/* Reasoning in Chat Completions, as servers beside OpenAI's own have it: what a scripted reply sends of it, and the check
 * that it came back unchanged. Pure: any thread. */
#ifndef CADRE_SCRIPTED_ECHO_H
#define CADRE_SCRIPTED_ECHO_H

#include "base/json.h"
#include "scripted/asked.h"

/* Fields of a script's `reasoning`, and of its `expects`. */
extern const struct field_table echo_sent_table, echo_expected_table;

/* Writes all members of `reasoning` (NULL: none) into the object that is open. */
void echo_write(struct jw *w, const struct js *reasoning);
/* Refuses the request unless its last assistant message, and its calls, have exactly what `expects` says. */
int echo_check(const struct asked *asked, const struct js *expects,
               struct refusal *refusal) NODISCARD;

#endif
