/* Sampling and the answer's schema as JSON members, for OpenAI's two APIs and Anthropic's alike.
 * Pure; any thread. */
#ifndef CADRE_MODEL_PARAMS_TEXT_H
#define CADRE_MODEL_PARAMS_TEXT_H

#include "base/json.h"
#include "model/dialect.h"
#include "model/strictable.h"

/* temperature and top_p, each where it is set and the server takes it; a temperature above
 * `most` is sent as that. */
void params_write_sampling(struct jw *w, const struct model_request *request,
                           struct dialect *dialect, double most);
/* The stop texts under this name. */
void params_write_stop(struct jw *w, const struct model_request *request, struct dialect *dialect,
                       const char *name);
/* The effort to ask for, or NULL. */
const char *params_effort(const struct model_request *request, const struct dialect *dialect);
/* Whether the answer's schema goes into this body, and how. UNFIT: it does not. */
enum schema_fit params_schema(const struct model_request *request, const struct dialect *dialect);

#endif
