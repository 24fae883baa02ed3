/* The Responses API of the scripted model: requests checked as the real API checks them, answers and refusals in its shapes.
 * A request fills the same struct asked, so that the same script answers it. Nothing is stored: items that a request refers
 * to must stand in it. Pure: any thread. */
#ifndef CADRE_SCRIPTED_RESPONSES_H
#define CADRE_SCRIPTED_RESPONSES_H

#include "scripted/answer.h"
#include "scripted/asked.h"
#include "scripted/draft.h"

/* As asked_read. */
int responses_read(struct asked *asked, const struct script *script, struct str body,
                   struct refusal *refusal) NODISCARD;

/* The part of responses_read that fills everything but the tools (responses_input.c), after these. `instructions` may be
 * NULL. */
int responses_input(struct asked *asked, const struct js *instructions, const struct js *input,
                    struct refusal *refusal) NODISCARD;
/* Fields by their table; `path` is where the object stands ("input[3]"), "" for the request itself. */
int responses_fields(const struct js *object, const struct field_table *table, const char *path,
                     struct refusal *refusal) NODISCARD;
/* A name of a function at `path`: 1 to 64 of [a-zA-Z0-9_-]. */
int responses_name(struct str name, const char *path, struct refusal *refusal) NODISCARD;
/* Whether a model of this name reasons: those that the real API has from before do not. */
bool responses_reasons(struct str model);
/* What reasoning with this summary is sealed with. */
#define RESPONSES_SEAL_SIZE 40
void responses_seal(struct str summary, char out[RESPONSES_SEAL_SIZE]);

void responses_whole(struct answer *answer, const struct draft *draft, const struct asked *asked,
                     size_t chunks);
void responses_stream(struct answer *answer, const struct draft *draft, const struct asked *asked,
                      size_t chunks);

#endif
