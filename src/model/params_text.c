/* See params_text.h. Pure; any thread. */
#include "model/params_text.h"

#include <math.h>

void params_write_sampling(struct jw *w, const struct model_request *request,
                           struct dialect *dialect, double most)
{
    const struct model_params *params = request->params;
    if (!params)
        return;
    if (isfinite(params->temperature) && dialect_sends(dialect, SENDS_TEMPERATURE)) {
        jw_key(w, "temperature");
        jw_real(w, params->temperature > most ? most : params->temperature);
    }
    if (isfinite(params->top_p) && dialect_sends(dialect, SENDS_TOP_P)) {
        jw_key(w, "top_p");
        jw_real(w, params->top_p);
    }
}

void params_write_stop(struct jw *w, const struct model_request *request, struct dialect *dialect,
                       const char *name)
{
    const struct model_params *params = request->params;
    if (!params || params->stop.n == 0 || !dialect_sends(dialect, SENDS_STOP))
        return;
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < params->stop.n && i < PARAM_STOPS_MAX; i++)
        jw_str(w, params->stop.items[i]);
    jw_end_array(w);
}

const char *params_effort(const struct model_request *request, const struct dialect *dialect)
{
    if (!request->params)
        return NULL;
    /* A model that cannot reason does what is asked for: nothing is kept from it. */
    if ((dialect->tabled & (SENDS_EFFORT | SENDS_THINKING)) &&
        str_is(request->params->effort, "none"))
        return NULL;
    return dialect_effort(dialect, request->params->effort);
}

enum schema_fit params_schema(const struct model_request *request, const struct dialect *dialect)
{
    if ((dialect->left_out & SENDS_FORMAT) ||
        (request->tool_count > 0 && dialect->schema == SCHEMA_WITHOUT_TOOLS))
        return SCHEMA_UNFIT;
    return schema_strictable(request->schema);
}
