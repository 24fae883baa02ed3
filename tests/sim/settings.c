/* The settings of a simulated run, from its plan. Pure. */
#include <math.h>

#include "base/json.h"
#include "core/contract/registry.h"
#include "inside.h"

static void add_models(struct arena *arena, const struct world_plan *plan,
                       struct settings *settings)
{
    struct model_settings *models = arena_alloc(arena, 2 * sizeof *models);
    struct pool *pool = arena_alloc(arena, sizeof *pool);
    models[0] = (struct model_settings){.name = STR("m"),
                                        .provider = STR("p"),
                                        .model = STR("m"),
                                        .api = STR("openai"),
                                        .base_url = STR("http://x"),
                                        .api_key_env = STR(""),
                                        .max_tokens = 1000,
                                        .max_context_tokens = plan->window,
                                        .price_in_nano = -1,
                                        .price_out_nano = -1,
                                        .price_cached_nano = -1,
                                        .price_cache_write_nano = -1};
    models[1] = models[0];
    models[1].name = STR("n");
    models[1].max_tokens = 500;
    *pool = (struct pool){.name = STR("both")};
    list_add(arena, &pool->models, STR("m"));
    list_add(arena, &pool->models, STR("n"));
    settings->models = models;
    settings->model_count = 2;
    settings->pools = pool;
    settings->pool_count = 1;
    settings->default_model = STR("m");
    if (plan->seed % 3 == 1)
        settings->default_pool = pool->name;
}

static void add_profiles(struct arena *arena, struct settings *settings)
{
    struct profile *profiles = arena_alloc(arena, 3 * sizeof *profiles);
    const struct list none = {LIST_SET, NULL, 0};
    profiles[0] = (struct profile){.name = STR("reader"),
                                   .system_prompt = STR("Read."),
                                   .bootstrap_files = none,
                                   .tools = none};
    list_add(arena, &profiles[0].tools, STR("read"));
    profiles[1] = (struct profile){.name = STR("pooled"),
                                   .system_prompt_file = STR("f1"),
                                   .bootstrap_files = none,
                                   .tools = none,
                                   .pool = STR("both")};
    profiles[2] = profiles[0];
    profiles[2].name = STR("counter");
    profiles[2].schema = STR(SIM_SCHEMA);
    settings->profiles = profiles;
    settings->profile_count = 3;
}

static void add_roles(struct arena *arena, struct settings *settings)
{
    struct role_outputs *outputs = arena_alloc(arena, 2 * sizeof *outputs);
    outputs[0] = (struct role_outputs){STR("reviewer"), STR(SIM_SCHEMA)};
    outputs[1] = (struct role_outputs){STR("planner"), STR(SIM_SCHEMA)};
    settings->role_outputs = outputs;
    settings->role_outputs_count = 2;
}

/* Two agents: one that may only read, one that may choose between both models. */
static void print_control(struct arena *arena, struct jw *w)
{
    struct control control;
    control_init(&control);
    control.profiles = arena_alloc(arena, 2 * sizeof *control.profiles);
    control.profiles[0] = (struct agent_profile){.id = STR("profile:reader"),
                                                 .provider = STR("p"),
                                                 .model = STR("m"),
                                                 .context_window = UNLIMITED,
                                                 .temperature = NAN,
                                                 .top_p = NAN,
                                                 .seed = UNLIMITED};
    control.profiles[1] = control.profiles[0];
    control.profiles[1].id = STR("profile:maker");
    list_add(arena, &control.profiles[0].allowed_tools, STR("read"));
    list_add(arena, &control.profiles[1].allowed_tools, STR("read"));
    list_add(arena, &control.profiles[1].allowed_tools, STR("write"));
    list_add(arena, &control.profiles[1].allowed_models, STR("n"));
    control.profile_count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct registry_agent agent = {.agent_id = i == 0 ? STR("@reader") : STR("@maker"),
                                       .profile_id = control.profiles[i].id,
                                       .description = STR("one of two")};
        registry_set(arena, &control.registry, &agent);
    }
    control_print(&control, w);
}

static void set_limits(const struct world_plan *plan, struct settings *settings)
{
    settings->max_concurrent = plan->max_concurrent;
    settings->delegate_concurrency = plan->delegate_concurrency;
    settings->max_depth = plan->depth;
    settings->max_retries = plan->retries;
    settings->attempt_timeout_ms = plan->attempt_ms;
    settings->child.wall_ms = plan->child_ms;
    settings->root.tokens = plan->token_limit;
    settings->root.cost_nano = UNLIMITED;
    settings->root.wall_ms = plan->root_ms;
    settings->idle_timeout_ms = plan->idle_ms;
    settings->reuse_results = plan->results != RESULTS_ONCE ? SWITCH_ON : SWITCH_OFF;
    settings->isolate_children = plan->isolation != ISOLATED_NOBODY ? SWITCH_ON : SWITCH_OFF;
    settings->isolate_root = plan->isolation >= ISOLATED_ALL ? SWITCH_ON : SWITCH_OFF;
    settings->plan_enabled = SWITCH_ON;
    settings->plan_review = plan->depth % 2 == 0 ? SWITCH_ON : SWITCH_OFF;
    settings->review_rounds = 1;
    settings->approval_timeout_ms = 4000;
    settings->question_timeout_ms = 20000;
    if (plan->outages == OUTAGES_HAPPEN)
        settings->patience_ms = 20000;
    if (plan->watched == WATCHED_AT_A_TERMINAL)
        settings->pause_at = 4;
}

const char *watched_text(const struct world_plan *plan)
{
    return plan->watched == WATCHED_AT_A_TERMINAL ? "terminal"
           : plan->watched == WATCHED_BY_INBOX    ? "inbox"
                                                  : "nobody";
}

const char *walls_text(const struct world_plan *plan)
{
    return plan->walls == PLAN_WALLED ? "all" : "without seccomp";
}

struct str settings_of_plan(struct arena *arena, const struct world_plan *plan)
{
    static const char *const tools[] = {
        "read",         "ls",           "grep",         "write",         "edit",     "delete",
        "spawn",        "spawn_await",  "spawn_agent",  "delegate_task", "fan_out",  "agent_send",
        "agent_status", "agent_cancel", "agent_result", "agent_merge",   "delegate", "plan",
    };
    struct settings settings;
    struct buf out;
    struct jw j;
    settings_init(&settings);
    add_models(arena, plan, &settings);
    add_profiles(arena, &settings);
    add_roles(arena, &settings);
    set_limits(plan, &settings);
    settings.mode = plan->care == PLAN_CAREFUL ? MODE_SAFE : MODE_AUTO;
    settings.spawn_enabled = SWITCH_ON;
    settings.hold_children = plan->holding == CHILDREN_HELD ? SWITCH_ON : SWITCH_OFF;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        list_add(arena, &settings.available_tools, str_from(tools[i]));
    buf_init(&out, 1 << 20);
    jw_init(&j, &out);
    jw_object(&j);
    jw_ktext(&j, "session_id", "s");
    jw_ktext(&j, "user_id", "u");
    jw_ktext(&j, "workspace_id", "w");
    jw_ktext(&j, "workspace_path", "/w");
    jw_ktext(&j, "task", "simulate");
    jw_ktext(&j, "asker", watched_text(plan));
    jw_ktext(&j, "walls", walls_text(plan));
    jw_key(&j, "settings");
    settings_print(&settings, &j);
    jw_key(&j, "control");
    print_control(arena, &j);
    jw_end_object(&j);
    struct str body = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return body;
}
