/* Effort and sampling: defaults, layers, JSON. Pure; any thread. */
#include "core/contract/params.h"

#include <math.h>
#include <stddef.h>

#include "core/contract/fields.h"

const char *const effort_names[] = {"none", "minimal", "low", "medium",
                                    "high", "xhigh",   "max", NULL};

bool effort_known(struct str effort)
{
    for (size_t i = 0; effort_names[i]; i++)
        if (str_is(effort, effort_names[i]))
            return true;
    return false;
}

void params_init(struct model_params *params)
{
    *params = (struct model_params){.effort = STR_NONE,
                                    .temperature = NAN,
                                    .top_p = NAN,
                                    .seed = PARAM_SEED_UNSET,
                                    .stop = LIST_NONE};
}

void params_layer(struct model_params *params, const struct model_params *upper)
{
    if (upper->effort.p)
        params->effort = upper->effort;
    if (isfinite(upper->temperature))
        params->temperature = upper->temperature;
    if (isfinite(upper->top_p))
        params->top_p = upper->top_p;
    if (upper->seed != PARAM_SEED_UNSET)
        params->seed = upper->seed;
    if (upper->stop.state == LIST_SET)
        params->stop = upper->stop;
    if (upper->max_output_tokens > 0)
        params->max_output_tokens = upper->max_output_tokens;
}

bool params_reason(const struct model_params *params)
{
    return params->effort.p && !str_is(params->effort, "none") &&
           !str_is(params->effort, "minimal");
}

bool params_are_unset(const struct model_params *params)
{
    return !params->effort.p && !isfinite(params->temperature) && !isfinite(params->top_p) &&
           params->seed == PARAM_SEED_UNSET && params->stop.state == LIST_ABSENT &&
           params->max_output_tokens == 0;
}

static void real_print(struct jw *w, const void *at)
{
    double value = *(const double *)at;
    if (isfinite(value))
        jw_real(w, value);
    else
        jw_null(w);
}

static int real_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                      struct err *err)
{
    enum js_kind kind = js_kind(value);
    if (kind != JS_NULL && kind != JS_INT && kind != JS_REAL)
        return err_set(err, ERR_CORRUPT, "%s: expected a number or null", where);
    *(double *)at = js_real(value, NAN);
    return 0;
}

static bool real_is_unset(const void *at)
{
    return !isfinite(*(const double *)at);
}

static void seed_print(struct jw *w, const void *at)
{
    jw_int(w, *(const int64_t *)at);
}

static int seed_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                      struct err *err)
{
    if (js_kind(value) != JS_INT)
        return err_set(err, ERR_CORRUPT, "%s: expected a whole number", where);
    *(int64_t *)at = js_int(value, PARAM_SEED_UNSET);
    return 0;
}

static bool seed_is_unset(const void *at)
{
    return *(const int64_t *)at == PARAM_SEED_UNSET;
}

static const struct field_kind real_or_null = {real_print, real_parse, NULL, NULL};
static const struct field_kind real_if_set = {real_print, real_parse, real_is_unset, NULL};
static const struct field_kind seed_if_set = {seed_print, seed_parse, seed_is_unset, NULL};

#define AT(member) offsetof(struct model_params, member)
const struct field params_fields[] = {
    {"temperature", &real_or_null, AT(temperature), NULL},
    {"effort", &field_text_or_null, AT(effort), NULL},
    {"top_p", &real_if_set, AT(top_p), NULL},
    {"seed", &seed_if_set, AT(seed), NULL},
    {"stop", &field_list_if_set, AT(stop), NULL},
    {"max_output_tokens", &field_count_if_any, AT(max_output_tokens), NULL},
    {0},
};
#undef AT

static void params_print(struct jw *w, const void *at)
{
    fields_print(params_fields, w, at);
}

static int params_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                        struct err *err)
{
    params_init(at);
    return fields_parse(params_fields, FIELDS_SOME, arena, value, where, at, err);
}

static bool params_absent(const void *at)
{
    return params_are_unset(at);
}

static void params_own(struct arena *arena, const void *like, void *at)
{
    fields_own(params_fields, arena, like, at);
}

const struct field_kind field_params_if_any = {params_print, params_parse, params_absent,
                                               params_own};

static void pointer_print(struct jw *w, const void *at)
{
    params_print(w, *(const struct model_params *const *)at);
}

static int pointer_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                         struct err *err)
{
    struct model_params *params = arena_alloc(arena, sizeof *params);
    *(const struct model_params **)at = params;
    return params_parse(arena, value, where, params, err);
}

static bool pointer_absent(const void *at)
{
    const struct model_params *params = *(const struct model_params *const *)at;
    return params == NULL || params_are_unset(params);
}

const struct field_kind field_params_pointer = {pointer_print, pointer_parse, pointer_absent, NULL};
