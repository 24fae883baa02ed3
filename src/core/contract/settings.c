/* The settings' defaults and their JSON: what run.started logs and resume reads. Absent keys
 * keep their default, so that old logs still read when a key is added; unknown keys are refused.
 * Reads no files: config/ does. Pure; any thread. */
#include "core/contract/settings.h"

#include <stddef.h>
#include <stdio.h>

#include "core/contract/fields.h"
#include "core/contract/money.h"
#include "core/contract/settings_roles.h"

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .allowed_models = LIST_NONE,
        .default_model = STR_NONE,
        .sub_agent_enabled = SWITCH_ON,
        .inherit_mode = SWITCH_ON,
        .max_depth = 2,
        .max_concurrent = 3,
        .delegate_concurrency = 1,
        .child = {15, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, CHILD_TIMEOUT_MS},
        .attempt_timeout_ms = ATTEMPT_TIMEOUT_MS,
        .max_wall_ms = 900000,
        .max_retries = 1,
        .gate = GATE_PARENT,
        .mode = MODE_SAFE,
        .warn_at = 20,
        .pause_at = 30,
        .hard_stop_at = 100,
        .root = {UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, NANO_PER_DOLLAR, 15 * 60 * 1000},
        .model_attempts = 4,
        .patience_ms = 600000,
        .question_timeout_ms = 600000,
        .available_tools = LIST_NONE,
        .network = STR("none"),
    };
    params_init(&settings->params);
}

struct str model_server_name(const struct model_settings *model)
{
    return model->provider.n > 0 ? model->provider : model->base_url;
}

int64_t model_output_most(const struct model_settings *model, const struct model_params *params)
{
    return params_reason(params) && model->effort_tokens > model->max_tokens ? model->effort_tokens
                                                                             : model->max_tokens;
}

const struct model_settings *settings_model(const struct settings *settings, struct str name)
{
    for (size_t i = 0; i < settings->model_count; i++)
        if (str_eq(settings->models[i].name, name))
            return &settings->models[i];
    return NULL;
}

const struct pool *settings_pool(const struct settings *settings, struct str name)
{
    for (size_t i = 0; name.n > 0 && i < settings->pool_count; i++)
        if (str_eq(settings->pools[i].name, name))
            return &settings->pools[i];
    return NULL;
}

/* Kinds that only settings have. Their rows have offset 0: the value is the whole struct. */

#define MODEL(member) offsetof(struct model_settings, member)
static const struct field model_fields[] = {
    {"name", &field_text, MODEL(name), NULL},
    {"provider", &field_text_or_null, MODEL(provider), NULL},
    {"model", &field_text, MODEL(model), NULL},
    {"api", &field_text_or_null, MODEL(api), NULL},
    {"base_url", &field_text_or_null, MODEL(base_url), NULL},
    {"api_key_env", &field_text_or_null, MODEL(api_key_env), NULL},
    {"max_tokens", &field_count, MODEL(max_tokens), NULL},
    {"max_context_tokens", &field_count, MODEL(max_context_tokens), NULL},
    {"price_in", &field_price, MODEL(price_in_nano), NULL},
    {"price_out", &field_price, MODEL(price_out_nano), NULL},
    {"price_cached", &field_price_if_known, MODEL(price_cached_nano), NULL},
    {"price_cache_write", &field_price_if_known, MODEL(price_cache_write_nano), NULL},
    {"text_tool_calls", &field_switch_if_on, MODEL(text_tool_calls), NULL},
    {"effort_tokens", &field_count_if_any, MODEL(effort_tokens), NULL},
    {"params", &field_params_pointer, MODEL(params), NULL},
    {0},
};
#undef MODEL

static void models_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_array(w);
    for (size_t i = 0; i < settings->model_count; i++)
        fields_print(model_fields, w, &settings->models[i]);
    jw_end_array(w);
}

static int models_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                        struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value);
    if (js_kind(value) != JS_ARRAY || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of at most %d models", where,
                       LIST_ITEMS_MAX);
    struct model_settings *models = arena_alloc(arena, n * sizeof *models);
    for (size_t i = 0; i < n; i++) {
        char path[FIELD_PATH_BYTES], key[32];
        snprintf(key, sizeof key, "%zu", i);
        field_path(path, where, key);
        models[i].price_cached_nano = models[i].price_cache_write_nano = UNLIMITED;
        if (fields_parse(model_fields, FIELDS_ALL, arena, js_at(value, i), path, &models[i], err))
            return -1;
    }
    settings->models = models;
    settings->model_count = n;
    return 0;
}

static void pools_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_array(w);
    for (size_t i = 0; i < settings->pool_count; i++) {
        jw_object(w);
        jw_kstr(w, "name", settings->pools[i].name);
        list_print(w, "models", &settings->pools[i].models);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static int pools_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                       struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value);
    if (js_kind(value) != JS_ARRAY || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of at most %d pools", where,
                       LIST_ITEMS_MAX);
    struct pool *pools = arena_alloc(arena, (n + 1) * sizeof *pools);
    for (size_t i = 0; i < n; i++) {
        const struct js *item = js_at(value, i);
        pools[i].name = arena_copy(arena, js_get_str(item, "name"));
        if (pools[i].name.n == 0)
            return err_set(err, ERR_CORRUPT, "%s: pool %zu has no name", where, i);
        if (list_parse(arena, js_get(item, "models"), where, &pools[i].models, err) != 0)
            return -1;
    }
    settings->pools = pools;
    settings->pool_count = n;
    return 0;
}

#define PROFILE(member) offsetof(struct profile, member)
static const struct field profile_fields[] = {
    {"name", &field_text, PROFILE(name), NULL},
    {"system_prompt", &field_text_or_null, PROFILE(system_prompt), NULL},
    {"system_prompt_file", &field_text_or_null, PROFILE(system_prompt_file), NULL},
    {"bootstrap_files", &field_list, PROFILE(bootstrap_files), NULL},
    {"tools", &field_list, PROFILE(tools), NULL},
    {"pool", &field_text_or_null, PROFILE(pool), NULL},
    {"schema", &field_json_if_any, PROFILE(schema), NULL},
    {"network", &field_text_if_any, PROFILE(network), NULL},
    {"working_directory", &field_text_if_any, PROFILE(working_directory), NULL},
    {"checks", &field_list_if_set, PROFILE(checks), NULL},
    {"params", &field_params_pointer, PROFILE(params), NULL},
    {0},
};
#undef PROFILE

static void profiles_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_array(w);
    for (size_t i = 0; i < settings->profile_count; i++)
        fields_print(profile_fields, w, &settings->profiles[i]);
    jw_end_array(w);
}

static int profiles_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                          struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value);
    if (js_kind(value) != JS_ARRAY || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of at most %d profiles", where,
                       LIST_ITEMS_MAX);
    struct profile *profiles = arena_alloc(arena, (n + 1) * sizeof *profiles);
    for (size_t i = 0; i < n; i++) {
        if (fields_parse(profile_fields, FIELDS_ALL, arena, js_at(value, i), where, &profiles[i],
                         err) != 0)
            return -1;
    }
    settings->profiles = profiles;
    settings->profile_count = n;
    return 0;
}

static bool profiles_are_none(const void *at)
{
    return ((const struct settings *)at)->profile_count == 0;
}

#define SKILL(member) offsetof(struct skill_listed, member)
static const struct field skill_fields[] = {
    {"name", &field_text, SKILL(name), NULL},
    {"description", &field_text, SKILL(description), NULL},
    {0},
};
#undef SKILL

static void skills_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_array(w);
    for (size_t i = 0; i < settings->skill_count; i++)
        fields_print(skill_fields, w, &settings->skills[i]);
    jw_end_array(w);
}

static int skills_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                        struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value);
    if (js_kind(value) != JS_ARRAY || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of at most %d skills", where,
                       LIST_ITEMS_MAX);
    struct skill_listed *skills = arena_alloc(arena, (n + 1) * sizeof *skills);
    for (size_t i = 0; i < n; i++) {
        if (fields_parse(skill_fields, FIELDS_ALL, arena, js_at(value, i), where, &skills[i],
                         err) != 0)
            return -1;
    }
    settings->skills = skills;
    settings->skill_count = n;
    return 0;
}

static bool skills_are_none(const void *at)
{
    return ((const struct settings *)at)->skill_count == 0;
}

static void overrides_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->override_count; i++) {
        jw_key_str(w, settings->overrides[i].tool);
        jw_text(w, permission_text(settings->overrides[i].permission));
    }
    jw_end_object(w);
}

static int overrides_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                           struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected an object of tools and permissions", where);
    settings->overrides = arena_alloc(arena, n * sizeof *settings->overrides);
    struct str key;
    const struct js *member;
    for (void *i = js_next(value, NULL, &key, &member); i; i = js_next(value, i, &key, &member)) {
        settings->overrides[done].tool = arena_copy(arena, key);
        if (permission_parse(js_str(member), &settings->overrides[done].permission, err) != 0) {
            err->class = ERR_CORRUPT;
            return err_prefix(err, "%s.%.*s", where, (int)(key.n < 64 ? key.n : 64), key.p);
        }
        done++;
    }
    settings->override_count = done;
    return 0;
}

static int switch_parse(const struct js *value, const char *where, bool *on, struct err *err)
{
    if (js_kind(value) != JS_BOOL)
        return err_set(err, ERR_CORRUPT, "%s: expected true or false", where);
    *on = js_bool(value, false);
    return 0;
}

static void enabled_print(struct jw *w, const void *at)
{
    jw_bool(w, ((const struct settings *)at)->sub_agent_enabled == SWITCH_ON);
}

static int enabled_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                         struct err *err)
{
    bool on = false;
    if (switch_parse(value, where, &on, err) != 0)
        return -1;
    ((struct settings *)at)->sub_agent_enabled = on ? SWITCH_ON : SWITCH_OFF;
    return 0;
}

static void inherit_print(struct jw *w, const void *at)
{
    jw_bool(w, ((const struct settings *)at)->inherit_mode == SWITCH_ON);
}

static int inherit_parse(struct arena *arena, const struct js *value, const char *where, void *at,
                         struct err *err)
{
    bool on = false;
    if (switch_parse(value, where, &on, err) != 0)
        return -1;
    ((struct settings *)at)->inherit_mode = on ? SWITCH_ON : SWITCH_OFF;
    return 0;
}

static void gate_field_print(struct jw *w, const void *at)
{
    jw_text(w, gate_text(((const struct settings *)at)->gate));
}

static int gate_field_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    return gate_parse(value, where, &((struct settings *)at)->gate, err);
}

static void mode_field_print(struct jw *w, const void *at)
{
    jw_text(w, mode_text(((const struct settings *)at)->mode));
}

static int mode_field_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    if (mode_parse(js_str(value), &((struct settings *)at)->mode, err) == 0)
        return 0;
    err->class = ERR_CORRUPT;
    return err_prefix(err, "%s", where);
}

const char *gate_text(enum gate gate)
{
    return gate == GATE_RUN ? "run" : "parent";
}

int gate_parse(const struct js *value, const char *where, enum gate *gate, struct err *err)
{
    struct str text = js_str(value);
    if (!str_is(text, "run") && !str_is(text, "parent"))
        return err_set(err, ERR_CORRUPT, "%s: expected \"run\" or \"parent\"", where);
    *gate = str_is(text, "run") ? GATE_RUN : GATE_PARENT;
    return 0;
}

static const struct field_kind models_kind = {models_print, models_parse, NULL, NULL};
static const struct field_kind pools_kind = {pools_print, pools_parse, NULL, NULL};
static const struct field_kind profiles_kind = {profiles_print, profiles_parse, profiles_are_none,
                                                NULL};
static void tool_sizes_print(struct jw *w, const void *at)
{
    const struct settings *settings = at;
    jw_object(w);
    for (size_t i = 0; i < settings->tool_size_count; i++) {
        jw_key_str(w, settings->tool_sizes[i].tool);
        jw_int(w, settings->tool_sizes[i].bytes);
    }
    jw_end_object(w);
}

static int tool_sizes_parse(struct arena *arena, const struct js *value, const char *where,
                            void *at, struct err *err)
{
    struct settings *settings = at;
    size_t n = js_count(value), done = 0;
    if (js_kind(value) != JS_OBJECT || n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: expected an object of at most %d tools", where,
                       LIST_ITEMS_MAX);
    settings->tool_sizes = arena_alloc(arena, (n + 1) * sizeof *settings->tool_sizes);
    struct str key;
    const struct js *member;
    for (void *i = js_next(value, NULL, &key, &member); i; i = js_next(value, i, &key, &member)) {
        if (js_int(member, -1) < 0)
            return err_set(err, ERR_CORRUPT, "%s.%.*s: expected a number of bytes", where,
                           (int)(key.n < 64 ? key.n : 64), key.p);
        settings->tool_sizes[done++] =
            (struct tool_size){arena_copy(arena, key), js_int(member, 0)};
    }
    settings->tool_size_count = done;
    return 0;
}

static bool tool_sizes_are_none(const void *at)
{
    return ((const struct settings *)at)->tool_size_count == 0;
}

static const struct field_kind tool_sizes_kind = {tool_sizes_print, tool_sizes_parse,
                                                  tool_sizes_are_none, NULL};
static const struct field_kind skills_kind = {skills_print, skills_parse, skills_are_none, NULL};
static const struct field_kind overrides_kind = {overrides_print, overrides_parse, NULL, NULL};
static const struct field_kind enabled_kind = {enabled_print, enabled_parse, NULL, NULL};
static const struct field_kind inherit_kind = {inherit_print, inherit_parse, NULL, NULL};
static const struct field_kind gate_kind = {gate_field_print, gate_field_parse, NULL, NULL};
static const struct field_kind mode_kind = {mode_field_print, mode_field_parse, NULL, NULL};

const struct field limits_fields[] = {
    {"tool_calls", &field_limit, offsetof(struct limits, tool_calls), NULL},
    {"turns", &field_limit, offsetof(struct limits, turns), NULL},
    {"context_tokens", &field_limit, offsetof(struct limits, context_tokens), NULL},
    {"tokens", &field_limit, offsetof(struct limits, tokens), NULL},
    {"cost_usd", &field_money, offsetof(struct limits, cost_nano), NULL},
    {"wall_ms", &field_limit, offsetof(struct limits, wall_ms), NULL},
    {0},
};

#define SETTING(member) offsetof(struct settings, member)
static const struct field sub_agent_fields[] = {
    {"enabled", &enabled_kind, 0, NULL},
    {"inherit_mode", &inherit_kind, 0, NULL},
    {"max_depth", &field_count, SETTING(max_depth), NULL},
    {"max_concurrent", &field_count, SETTING(max_concurrent), NULL},
    {"delegate_concurrency", &field_count, SETTING(delegate_concurrency), NULL},
    {"default_budget", NULL, SETTING(child), limits_fields},
    {"attempt_timeout_ms", &field_count, SETTING(attempt_timeout_ms), NULL},
    {"max_retries", &field_count, SETTING(max_retries), NULL},
    {"gate", &gate_kind, 0, NULL},
    {0},
};

static const struct field breaker_fields[] = {
    {"warn_at", &field_count, SETTING(warn_at), NULL},
    {"pause_at", &field_count, SETTING(pause_at), NULL},
    {"hard_stop_at", &field_count, SETTING(hard_stop_at), NULL},
    {0},
};

static const struct field settings_fields[] = {
    {"models", &models_kind, 0, NULL},
    {"allowed_models", &field_list_or_null, SETTING(allowed_models), NULL},
    {"default_model", &field_text_or_null, SETTING(default_model), NULL},
    {"pools", &pools_kind, 0, NULL},
    {"default_pool", &field_text_or_null, SETTING(default_pool), NULL},
    {"params", &field_params_if_any, SETTING(params), NULL},
    {"sub_agent", NULL, 0, sub_agent_fields},
    {"mode", &mode_kind, 0, NULL},
    {"permissions", &overrides_kind, 0, NULL},
    {"circuit_breaker", NULL, 0, breaker_fields},
    {"root_budget", NULL, SETTING(root), limits_fields},
    {"model_attempts", &field_count, SETTING(model_attempts), NULL},
    {"patience_ms", &field_count, SETTING(patience_ms), NULL},
    {"children_refused", &field_switch_if_on, SETTING(children_refused), NULL},
    {"question_timeout_ms", &field_count, SETTING(question_timeout_ms), NULL},
    {"available_tools", &field_list_or_null, SETTING(available_tools), NULL},
    {"tool_sizes", &tool_sizes_kind, 0, NULL},
    {"spawn_enabled", &field_switch_if_on, SETTING(spawn_enabled), NULL},
    {"hold_children", &field_switch_if_on, SETTING(hold_children), NULL},
    {"profiles", &profiles_kind, 0, NULL},
    {"role_schemas", &role_outputs_kind, 0, NULL},
    {"test_directories", &field_list_if_any, SETTING(test_directories), NULL},
    {"checks", &role_checks_kind, 0, NULL},
    {"reuse_results", &field_switch_if_on, SETTING(reuse_results), NULL},
    {"idle_timeout_ms", &field_count_if_any, SETTING(idle_timeout_ms), NULL},
    {"child_timeout_set", &field_switch_if_on, SETTING(child_timeout_set), NULL},
    {"attempt_timeout_set", &field_switch_if_on, SETTING(attempt_timeout_set), NULL},
    {"max_wall_ms", &field_count, SETTING(max_wall_ms), NULL},
    {"isolate_children", &field_switch_if_on, SETTING(isolate_children), NULL},
    {"isolate_root", &field_switch_if_on, SETTING(isolate_root), NULL},
    {"refuse_dirty", &field_switch_if_on, SETTING(refuse_dirty), NULL},
    {"plan_enabled", &field_switch_if_on, SETTING(plan_enabled), NULL},
    {"plan_review", &field_switch_if_on, SETTING(plan_review), NULL},
    {"review_rounds", &field_count_if_any, SETTING(review_rounds), NULL},
    {"approval_timeout_ms", &field_count_if_any, SETTING(approval_timeout_ms), NULL},
    {"skills", &skills_kind, 0, NULL},
    {"network", &network_kind, 0, NULL},
    {"role_networks", &role_networks_kind, 0, NULL},
    {"role_params", &role_params_kind, 0, NULL},
    {0},
};
#undef SETTING

void settings_print(const struct settings *settings, struct jw *w)
{
    fields_print(settings_fields, w, settings);
}

int settings_parse(struct arena *arena, const struct js *value, struct settings *settings,
                   struct err *err)
{
    settings_init(settings);
    if (fields_parse(settings_fields, FIELDS_SOME, arena, value, "", settings, err) != 0)
        return err_prefix(err, "settings");
    return 0;
}

void limits_print(const struct limits *limits, struct jw *w, const char *key)
{
    if (key)
        jw_key(w, key);
    fields_print(limits_fields, w, limits);
}

int limits_parse(const struct js *value, const char *where, struct limits *limits, struct err *err)
{
    /* No field of limits needs memory. */
    return fields_parse(limits_fields, FIELDS_ALL, NULL, value, where, limits, err);
}
