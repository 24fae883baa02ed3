/* Profiles: their document, and what their model policy comes to under the settings of a process. Reads no store and
 * derives no contract. Pure; any thread. */
#include <stddef.h>

#include "base/path.h"
#include "core/contract/derive.h"
#include "core/contract/registry_fields.h"

#define PROFILE_PREFIX STR("profile:")
#define CONTEXT_WINDOW_MIN 1024 /* tokens: less holds no prompt and answer */
#define CONTEXT_WINDOW_MAX 1000000000
#define DIRECTORY_MAX 512 /* characters of a path */

bool profile_id_valid(struct str id)
{
    if (!str_starts(id, PROFILE_PREFIX) || id.n == PROFILE_PREFIX.n || id.n > PROFILE_ID_MAX)
        return false;
    for (size_t i = PROFILE_PREFIX.n; i < id.n; i++) {
        char c = id.p[i];
        bool known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
                     c == ':' || c == '-';
        if (!known)
            return false;
    }
    return true;
}

static bool is_inside(struct str path)
{
    struct arena arena;
    arena_init(&arena);
    bool inside = path_normal(&arena, path).p != NULL;
    arena_release(&arena);
    return inside;
}

#define AT(member) offsetof(struct agent_profile, member)
#define LINE(characters) 0, (characters), 0, NULL, NULL
#define NAMES 0, REGISTRY_ITEMS_MAX, REGISTRY_NAME_MAX, NULL, NULL
static const struct record_field profile_fields[] = {
    {"id", RECORD_LINE, RECORD_OPTIONAL, AT(id), 0, PROFILE_ID_MAX, 0, profile_id_valid,
     PROFILE_PATTERN},
    {"description", RECORD_LINE, RECORD_OPTIONAL, AT(description), LINE(REGISTRY_DESCRIPTION_MAX)},
    {"provider", RECORD_LINE, RECORD_REQUIRED, AT(provider), LINE(REGISTRY_NAME_MAX)},
    {"model", RECORD_LINE, RECORD_REQUIRED, AT(model), LINE(REGISTRY_NAME_MAX)},
    {"allowed_models", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(allowed_models), NAMES},
    {"allowed_skills", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(allowed_skills), NAMES},
    {"allowed_tools", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(allowed_tools), NAMES},
    {"context_window", RECORD_COUNT, RECORD_OPTIONAL, AT(context_window), CONTEXT_WINDOW_MIN,
     CONTEXT_WINDOW_MAX, 0, NULL, NULL},
    {"effort", RECORD_LINE, RECORD_OPTIONAL, AT(effort), 0, 16, 0, effort_known,
     "none, minimal, low, medium, high, xhigh or max"},
    {"temperature", RECORD_NUMBER, RECORD_OPTIONAL, AT(temperature), 0, 2, 0, NULL, NULL},
    {"top_p", RECORD_NUMBER, RECORD_OPTIONAL, AT(top_p), 0, 1, 0, NULL, NULL},
    {"stop", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(stop), 0, PARAM_STOPS_MAX,
     REGISTRY_NAME_MAX, NULL, NULL},
    {"seed", RECORD_COUNT, RECORD_OPTIONAL, AT(seed), 0, INT64_C(9007199254740991), 0, NULL, NULL},
    {"system_prompt", RECORD_TEXT, RECORD_OPTIONAL, AT(system_prompt), LINE(PROFILE_PROMPT_MAX)},
    {"output_schema", RECORD_SCHEMA, RECORD_OPTIONAL, AT(output_schema), LINE(0)},
    {"working_directory", RECORD_LINE, RECORD_OPTIONAL, AT(working_directory), 0, DIRECTORY_MAX, 0,
     is_inside, "the path of a directory inside the workspace, relative to it"},
    {0},
};
#undef AT

int agent_profile_parse(struct arena *arena, struct str id, const struct js *value,
                        struct agent_profile *out, struct problems *problems)
{
    size_t before = problems->found;
    struct agent_profile profile;
    record_fields_read(profile_fields, arena, value, "", &profile, problems);
    if (!id.p && js_kind(value) == JS_OBJECT && !js_get(value, "id"))
        problems_add(problems, "id", "missing");
    else if (id.p && profile.id.p && !str_eq(id, profile.id))
        problems_add(problems, "id", "must be %.*s, the record's own", STR_FMT(id));
    if (problems->found > before)
        return -1;
    if (id.p)
        profile.id = arena_copy(arena, id);
    *out = profile;
    return 0;
}

void agent_profile_print(const struct agent_profile *profile, struct jw *w)
{
    record_fields_print(profile_fields, w, profile);
}

struct model_params agent_profile_params(const struct agent_profile *profile)
{
    struct model_params params;
    params_init(&params);
    params.effort = profile->effort;
    params.temperature = profile->temperature;
    params.top_p = profile->top_p;
    params.stop = profile->stop;
    if (profile->seed != UNLIMITED)
        params.seed = profile->seed;
    return params;
}

const struct agent_profile *agent_profile_find(const struct agent_profile *profiles, size_t count,
                                               struct str id)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(profiles[i].id, id))
            return &profiles[i];
    return NULL;
}

/* --- the model policy --------------------------------------------------------------------------------------- */

/* The provider's model by its own name, or by the settings' name for it, which wins: two entries may differ in limits. */
static const struct model_settings *model_of(const struct settings *settings, struct str provider,
                                             struct str model)
{
    const struct model_settings *found = NULL;
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_settings *candidate = &settings->models[i];
        if (!str_eq(candidate->provider, provider))
            continue;
        if (str_eq(candidate->name, model))
            return candidate;
        if (!found && str_eq(candidate->model, model))
            found = candidate;
    }
    return found;
}

static int model_missing(const struct agent_profile *profile, const struct settings *settings,
                         struct err *err)
{
    struct buf known;
    buf_init(&known, 512);
    for (size_t i = 0; i < settings->model_count && !known.failed; i++)
        if (list_has(&settings->allowed_models, settings->models[i].name))
            buf_printf(&known, "%s%.*s/%.*s", known.n > 0 ? ", " : "",
                       STR_FMT(settings->models[i].provider), STR_FMT(settings->models[i].name));
    err_set(err, ERR_CONFIG,
            "%.*s: model %.*s of provider %.*s is not in llm.models; there is: %.*s",
            STR_FMT(profile->id), STR_FMT(profile->model), STR_FMT(profile->provider),
            STR_FMT(known.n > 0 ? buf_view(&known) : STR("none")));
    buf_release(&known);
    return -1;
}

/* Adds what the settings have and allow. An entry is the settings' name of any model, or the profile's provider's own
 * name for one. */
static void allow_models(struct arena *arena, const struct agent_profile *profile,
                         const struct settings *settings, struct list *out)
{
    const struct list *entries = &profile->allowed_models;
    for (size_t i = 0; i < entries->n; i++) {
        const struct model_settings *model = settings_model(settings, entries->items[i]);
        if (!model)
            model = model_of(settings, profile->provider, entries->items[i]);
        if (model && list_has(&settings->allowed_models, model->name))
            list_add(arena, out, model->name);
    }
    for (size_t i = 0; entries->state == LIST_ABSENT && i < settings->model_count; i++)
        if (list_has(&settings->allowed_models, settings->models[i].name))
            list_add(arena, out, settings->models[i].name);
}

int agent_profile_models(struct arena *arena, const struct agent_profile *profile,
                         const struct settings *settings, struct profile_models *out,
                         struct err *err)
{
    const struct model_settings *model = model_of(settings, profile->provider, profile->model);
    if (!model)
        return model_missing(profile, settings, err);
    if (!list_has(&settings->allowed_models, model->name)) {
        char words[512];
        return err_set(err, ERR_DENIED,
                       "%.*s: model %.*s is not in llm.allowed_models; the allowed models are: %s",
                       STR_FMT(profile->id), STR_FMT(model->name),
                       list_words(&settings->allowed_models, words, sizeof words));
    }
    out->name = arena_copy(arena, model->name);
    out->allowed_models = LIST_NONE;
    list_add(arena, &out->allowed_models, model->name);
    allow_models(arena, profile, settings, &out->allowed_models);
    return 0;
}
