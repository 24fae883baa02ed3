/* How a model is asked: effort and sampling. One struct serves config, profiles, doors, contracts and requests, so
 * that a parameter is added in one place. Pure; views belong to whoever filled the struct. */
#ifndef CADRE_CORE_CONTRACT_PARAMS_H
#define CADRE_CORE_CONTRACT_PARAMS_H

#include "core/contract/list.h"

#define PARAM_SEED_UNSET INT64_MIN
#define PARAM_STOPS_MAX 4 /* stop texts that every API takes */

struct model_params {
    struct str effort;         /* one of effort_names; STR_NONE: unset */
    double temperature, top_p; /* NaN: unset */
    int64_t seed;              /* PARAM_SEED_UNSET: unset */
    struct list stop;          /* absent: unset */
    int64_t max_output_tokens; /* of one answer; 0: unset */
};

/* "none", "minimal", "low", "medium", "high", "xhigh", "max", NULL: from least to most. */
extern const char *const effort_names[];
bool effort_known(struct str effort);

void params_init(struct model_params *params); /* nothing is set */
/* Each parameter that `upper` sets replaces that of `params`. Views are shared, not copied. */
void params_layer(struct model_params *params, const struct model_params *upper);

/* Whether the model is asked to reason, so that its answers need room for it. */
bool params_reason(const struct model_params *params);
bool params_are_unset(const struct model_params *params);

#endif
