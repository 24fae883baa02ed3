/* Deriving contracts, by example: what the layers and clamps make of a request, and which texts
 * refuse one. The property that a child lies within its parent is derive_property_test's. */
#include "contract_fixture.h"

/* The root */

static void a_root_has_what_is_available_and_the_configured_budget(void **state)
{
    struct fixture *f = *state;
    f->settings.available_tools = LIST("read_file", "write", "spawn_agent");
    assert_int_equal(make_root(f), 0);
    assert_int_equal(f->root.agent.depth, 0);
    assert_int_equal(f->root.permissions.allowed_tools.n, 3);
    assert_true(has_tool(&f->root, "read"));
    assert_int_equal(f->root.execution.budget.tool_calls, 100);
    assert_int_equal(f->root.execution.budget.context_tokens, 32768);
    assert_int_equal(f->root.execution.budget.cost_nano, NANO_PER_DOLLAR);
    assert_int_equal(f->root.execution.budget.wall_ms, 900000);
    assert_int_equal(f->root.permissions.max_delegation_depth, 2);
    check_str(f->root.isolation.strategy, "shared");
    assert_int_equal(f->root.model.allowed_models.n, 3);
}

static void a_root_without_a_price_keeps_the_limit_for_models_that_have_one(void **state)
{
    struct fixture *f = *state;
    f->settings.default_model = STR("free");
    assert_int_equal(make_root(f), 0);
    assert_int_equal(f->root.execution.budget.cost_nano, f->settings.root.cost_nano);
}

static void where_no_allowed_model_has_a_price_there_is_no_cost_limit(void **state)
{
    struct fixture *f = *state;
    f->settings.default_model = STR("free");
    list_add(&f->arena, &f->settings.allowed_models, STR("free"));
    assert_int_equal(make_root(f), 0);
    assert_int_equal(f->root.execution.budget.cost_nano, UNLIMITED);
}

static void a_contract_does_not_depend_on_who_is_there_except_for_ask_user(void **state)
{
    struct fixture *f = *state;
    f->settings.mode = MODE_SAFE;
    assert_int_equal(make_root(f), 0);
    assert_int_equal(contract_permits(&f->root, STR("write"), &f->err), PERMIT_ASK_MODE);
    assert_int_equal(contract_permits(&f->root, STR("ask_user"), &f->err), PERMIT_ALLOW);
    f->facts.asker = ASKER_NOBODY;
    assert_int_equal(make_root(f), 0);
    assert_int_equal(contract_permits(&f->root, STR("write"), &f->err), PERMIT_ASK_MODE);
    assert_int_equal(contract_permits(&f->root, STR("ask_user"), &f->err), PERMIT_DENY);
    assert_false(has_tool(&f->root, "ask_user"));
}

static void a_read_only_root_has_no_doors_and_writes_nowhere(void **state)
{
    struct fixture *f = *state;
    static const enum mode modes[] = {MODE_PLAN, MODE_REVIEW, MODE_CI};
    for (size_t i = 0; i < 3; i++) {
        f->settings.mode = modes[i];
        assert_int_equal(make_root(f), 0);
        assert_false(has_tool(&f->root, "spawn_agent"));
        assert_int_equal(f->root.permissions.can_spawn_children, SPAWN_NEVER);
        assert_int_equal(f->root.permissions.write_paths.n, 0);
        assert_int_equal(f->root.permissions.write_paths.state, LIST_SET);
    }
}

static void switching_sub_agents_off_takes_their_doors(void **state)
{
    struct fixture *f = *state;
    f->settings.sub_agent_enabled = SWITCH_OFF;
    assert_int_equal(make_root(f), 0);
    assert_false(has_tool(&f->root, "spawn_agent"));
    assert_false(has_tool(&f->root, "delegate_task"));
    assert_false(has_tool(&f->root, "fan_out"));
    assert_true(has_tool(&f->root, "spawn"));
}

static void a_permission_in_config_overrides_a_cell(void **state)
{
    struct fixture *f = *state;
    f->settings.overrides = arena_alloc(&f->arena, 2 * sizeof *f->settings.overrides);
    f->settings.overrides[0].tool = STR("run_command");
    f->settings.overrides[0].permission = PERMIT_DENY;
    f->settings.overrides[1].tool = STR("git_commit");
    f->settings.overrides[1].permission = PERMIT_ALLOW;
    f->settings.override_count = 2;
    assert_int_equal(make_root(f), 0);
    assert_int_equal(contract_permits(&f->root, STR("shell"), &f->err), PERMIT_DENY);
    assert_int_equal(contract_permits(&f->root, STR("git_commit"), &f->err), PERMIT_ALLOW);
    /* The narrower mode of a child is not widened by what was configured for the root's. */
    f->request.mode = STR("research");
    derive_ok(f);
    assert_int_equal(contract_permits(&f->child, STR("git_commit"), &f->err), PERMIT_DENY);
}

static void a_model_outside_the_allowed_ones_cannot_be_the_roots(void **state)
{
    struct fixture *f = *state;
    f->settings.allowed_models = LIST("large");
    assert_int_equal(make_root(f), -1);
    assert_int_equal(f->err.class, ERR_CONFIG);
    assert_non_null(strstr(f->err.message, "large"));
}

/* Defaults and validation (seed 002, tasks 1 and 2) */

static void a_child_has_the_default_budget(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.tool_calls, 15);
    assert_int_equal(f->child.execution.budget.context_tokens, 8192);
    assert_int_equal(f->child.execution.budget.tokens, UNLIMITED);
    assert_int_equal(f->child.execution.budget.cost_nano, NANO_PER_DOLLAR);
    assert_int_equal(f->child.execution.max_retries, 1);
    assert_int_equal(f->child.receipt.clamp_count, 0);
}

/* Time limits (CONTRACT.md, "timeouts"): what somebody set is a wall, what is built in is silence. */

static void check_times(const struct fixture *f, int64_t wall, int64_t idle, int64_t max,
                        int64_t attempt)
{
    assert_int_equal(f->child.execution.budget.wall_ms, wall);
    assert_int_equal(f->child.execution.idle_timeout_ms, idle);
    assert_int_equal(f->child.execution.max_wall_ms, max);
    assert_int_equal(f->child.execution.attempt_timeout_ms, attempt);
}

static void a_built_in_time_limit_measures_silence(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    check_times(f, UNLIMITED, 60000, 900000, UNLIMITED);
    assert_int_equal(contract_deadline_ms(&f->child), 900000);
    f->request.role = STR("executor");
    derive_ok(f);
    check_times(f, UNLIMITED, 300000, 900000, UNLIMITED);
}

static void a_time_limit_of_the_call_is_a_wall(void **state)
{
    struct fixture *f = *state;
    f->request.asked.wall_ms = 200000;
    derive_ok(f);
    /* Its attempts have no wall, so the built-in 90 s of an attempt measure silence. */
    check_times(f, 200000, 90000, 200000, UNLIMITED);
    f->request.role = STR("executor");
    derive_ok(f);
    check_times(f, 200000, 90000, 200000, UNLIMITED);
    f->request.attempt_timeout_ms = 8000;
    derive_ok(f);
    check_times(f, 200000, 0, 200000, 8000);
}

static void a_line_in_config_is_a_wall_even_with_the_built_in_value(void **state)
{
    struct fixture *f = *state;
    f->settings.child_timeout_set = SWITCH_ON;
    derive_ok(f);
    check_times(f, 60000, 90000, 60000, UNLIMITED);
    f->settings.attempt_timeout_set = SWITCH_ON;
    derive_ok(f);
    check_times(f, 60000, 0, 60000, 90000);
    /* The role's own limit is chosen before config's. */
    f->request.role = STR("executor");
    derive_ok(f);
    check_times(f, UNLIMITED, 300000, 900000, 90000);
}

static void a_silence_limit_of_config_replaces_the_built_in_one(void **state)
{
    struct fixture *f = *state;
    f->settings.idle_timeout_ms = 240000;
    derive_ok(f);
    check_times(f, UNLIMITED, 240000, 900000, UNLIMITED);
}

static void the_whole_is_bounded_by_what_the_parent_has_left(void **state)
{
    struct fixture *f = *state;
    f->facts.remaining_wall_ms = 20000;
    derive_ok(f);
    check_times(f, UNLIMITED, 60000, 20000, UNLIMITED);
    assert_int_equal(f->child.receipt.clamp_count, 0);
    f->facts.remaining_wall_ms = 0;
    derive_fails(f, ERR_BUDGET, "nothing is left of the parent's wall_ms");
}

static void the_prompt_tells_the_time_that_holds(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 20);
    derive_ok(f);
    contract_brief(&f->child, STR_NONE, &text);
    assert_non_null(
        strstr(arena_copy(&f->arena, buf_view(&text)).p, "You have at most 15 minutes."));
    buf_clear(&text);
    f->request.asked.wall_ms = 200000;
    derive_ok(f);
    contract_brief(&f->child, STR_NONE, &text);
    assert_non_null(strstr(arena_copy(&f->arena, buf_view(&text)).p, "You have 200 seconds."));
    buf_release(&text);
}

/* Room beside prompt and tools */

static void give_sizes(struct fixture *f, int64_t bytes)
{
    size_t n = tool_info_count;
    f->settings.tool_sizes = arena_alloc(&f->arena, n * sizeof *f->settings.tool_sizes);
    f->settings.tool_size_count = n;
    for (size_t i = 0; i < n; i++)
        f->settings.tool_sizes[i] = (struct tool_size){str_from(tool_infos[i].name), bytes};
}

static void a_default_context_has_room_for_three_times_its_fixed_part(void **state)
{
    struct fixture *f = *state;
    give_sizes(f, 30);
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 8192);
    give_sizes(f, 600);
    derive_ok(f);
    const struct list *allowed = &f->child.permissions.allowed_tools;
    int64_t tools = 0; /* those that the child is told of */
    for (size_t i = 0; i < allowed->n; i++)
        tools += tool_is_special(allowed->items[i]) ? 0 : 200;
    int64_t context = f->child.execution.budget.context_tokens;
    assert_true(context >= 3 * tools && context < 3 * (tools + 1000));
    give_sizes(f, 60000);
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 32768);
}

static void what_is_passed_on_has_room_beside_the_fixed_part(void **state)
{
    struct fixture *f = *state;
    give_sizes(f, 30);
    f->facts.passed_tokens = 5000;
    derive_ok(f);
    assert_true(f->child.execution.budget.context_tokens >= 15000);
    f->facts.passed_tokens = 22000; /* 64 KB */
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 32768);
}

static void what_is_passed_on_and_cannot_fit_is_refused_with_both_sizes(void **state)
{
    struct fixture *f = *state;
    give_sizes(f, 30);
    f->facts.passed_tokens = 29000;
    derive_fails(f, ERR_USAGE, "context and context_files take about 29000 tokens");
    derive_fails(f, ERR_USAGE, "request of this sub-agent may have 32768");
    f->facts.passed_tokens = 4900;
    f->request.asked.context_tokens = 5000;
    derive_fails(f, ERR_USAGE, "may have 5000");
}

static void a_roles_context_has_the_same_minimum(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("researcher");
    give_sizes(f, 1800);
    derive_ok(f);
    int64_t tools = 600 * (int64_t)f->child.permissions.allowed_tools.n;
    assert_true(f->child.execution.budget.context_tokens >= 3 * tools);
}

static void a_context_that_was_asked_for_stays_as_it_is(void **state)
{
    struct fixture *f = *state;
    give_sizes(f, 600);
    f->request.asked.context_tokens = 5000;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 5000);
    f->request.asked.context_tokens = ASK_NOTHING;
    f->settings.child.context_tokens = 6000;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 6000);
}

static void the_calls_numbers_win_over_defaults(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("executor");
    f->request.asked.tool_calls = 5;
    f->request.asked.wall_ms = 7000;
    f->request.max_retries = 4;
    f->request.attempt_timeout_ms = 6000;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.tool_calls, 5);
    assert_int_equal(f->child.execution.budget.wall_ms, 7000);
    assert_int_equal(f->child.execution.budget.context_tokens, 20000);
    assert_int_equal(f->child.execution.max_retries, 4);
    assert_int_equal(f->child.execution.attempt_timeout_ms, 6000);
}

static void tool_calls_are_clamped_to_the_hard_stop_with_a_record(void **state)
{
    struct fixture *f = *state;
    f->request.asked.tool_calls = 200;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.tool_calls, 100);
    const struct clamp *clamp = clamp_find(&f->child, "execution.budget.tool_calls", "config");
    assert_non_null(clamp);
    check_str(clamp->asked, "200");
    check_str(clamp->got, "100");
}

static void senseless_numbers_are_refused_verbatim(void **state)
{
    struct fixture *f = *state;
    struct {
        int64_t *field, value;
        const char *text;
    } rows[] = {
        {&f->request.asked.tool_calls, 0, "maxToolCalls must be positive"},
        {&f->request.asked.tool_calls, -1, "maxToolCalls must be positive"},
        {&f->request.asked.wall_ms, 4999, "timeoutMs must be at least 5000"},
        {&f->request.asked.tokens, -1, "tokens must be positive"},
        {&f->request.asked.cost_nano, -1, "cost_usd must be positive"},
        {&f->request.asked.context_tokens, 0, "maxTokens must be positive"},
        {&f->request.max_retries, -1, "max_retries must not be negative"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t before = *rows[i].field;
        *rows[i].field = rows[i].value;
        derive_fails(f, ERR_USAGE, rows[i].text);
        *rows[i].field = before;
    }
    derive_ok(f);
}

static void a_blank_task_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const tasks[] = {"", "  \n\t ", NULL};
    for (size_t i = 0; i < 3; i++) {
        f->request.task = str_from(tasks[i]);
        derive_fails(f, ERR_USAGE, "task must not be empty");
    }
}

static void an_oversized_request_is_refused(void **state)
{
    struct fixture *f = *state;
    static char long_text[9 << 20];
    memset(long_text, 'x', sizeof long_text);
    f->request.task = (struct str){long_text, sizeof long_text};
    derive_fails(f, ERR_USAGE, "task is longer than");
    f->request.task = STR("short");
    struct str owned[2] = {{long_text, sizeof long_text}, {long_text, sizeof long_text - 1}};
    f->request.ownership = (struct list){LIST_SET, owned, 2};
    derive_fails(f, ERR_USAGE, "longer than 4194304 bytes together");
}

static void the_third_generation_exceeds_the_depth(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    assert_int_equal(f->child.agent.depth, 1);
    struct contract grandchild, next;
    assert_int_equal(derive_from(f, &f->child, &grandchild), 0);
    assert_int_equal(grandchild.agent.depth, 2);
    assert_false(has_tool(&grandchild, "spawn_agent"));
    assert_false(has_tool(&grandchild, "agent_status"));
    assert_int_equal(grandchild.permissions.can_spawn_children, SPAWN_NEVER);
    assert_int_equal(derive_from(f, &grandchild, &next), -1);
    assert_string_equal(f->err.message, "Maximum sub-agent depth (2) exceeded");
}

/* Tools and doors */

static void spawn_gives_its_children_no_delegation_tools(void **state)
{
    struct fixture *f = *state;
    f->request.door = DOOR_SPAWN;
    f->request.allowed_tools = LIST("read", "spawn", "spawn_agent", "agent_cancel");
    derive_ok(f);
    assert_int_equal(f->child.permissions.allowed_tools.n, 1);
    assert_int_equal(f->child.permissions.can_spawn_children, SPAWN_NEVER);
    assert_int_equal(f->child.permissions.max_delegation_depth, 0);
    assert_non_null(clamp_find(&f->child, "permissions.allowed_tools", "door"));
    struct contract next;
    assert_int_equal(derive_from(f, &f->child, &next), -1);
    assert_int_equal(f->err.class, ERR_DENIED);
}

static void a_child_without_a_list_has_its_parents_tools_but_cannot_ask(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    assert_true(has_tool(&f->root, "ask_user"));
    assert_false(has_tool(&f->child, "ask_user"));
    assert_true(has_tool(&f->child, "spawn_agent"));
    assert_int_equal(f->child.permissions.allowed_tools.n, f->root.permissions.allowed_tools.n - 1);
    assert_int_equal(f->child.permissions.tool_mode_count, f->child.permissions.allowed_tools.n);
}

static void an_empty_list_means_no_tools(void **state)
{
    struct fixture *f = *state;
    f->request.allowed_tools = (struct list){LIST_SET, NULL, 0};
    derive_ok(f);
    assert_int_equal(f->child.permissions.allowed_tools.state, LIST_SET);
    assert_int_equal(f->child.permissions.allowed_tools.n, 0);
    assert_int_equal(contract_permits(&f->child, STR("read"), &f->err), PERMIT_DENY);
}

static void a_tool_that_the_parent_lacks_is_dropped_with_a_record(void **state)
{
    struct fixture *f = *state;
    f->request.allowed_tools = LIST("read", "spawn_agent");
    derive_ok(f);
    struct contract middle = f->child;
    f->request.allowed_tools = LIST("read_file", "write");
    assert_int_equal(derive_from(f, &middle, &f->child), 0);
    assert_int_equal(f->child.permissions.allowed_tools.n, 1);
    const struct clamp *clamp = clamp_find(&f->child, "permissions.allowed_tools", "parent");
    assert_non_null(clamp);
    check_str(clamp->asked, "[\"read\",\"write\"]");
    check_str(clamp->got, "[\"read\"]");
}

static void an_unknown_tool_is_refused_with_what_the_parent_has(void **state)
{
    struct fixture *f = *state;
    f->request.allowed_tools = LIST("read", "teleport");
    derive_fails(f, ERR_USAGE, "unknown tool \"teleport\"");
    assert_non_null(strstr(f->err.message, "multi_edit"));
}

static void a_door_that_the_parent_lacks_is_closed(void **state)
{
    struct fixture *f = *state;
    f->settings.available_tools = LIST("read", "spawn_agent");
    f->request.door = DOOR_FAN_OUT;
    derive_fails(f, ERR_DENIED, "fan_out");
}

/* Modes */

static void auto_under_a_safe_parent_is_clamped(void **state)
{
    struct fixture *f = *state;
    f->settings.mode = MODE_SAFE;
    f->request.mode = STR("auto");
    derive_ok(f);
    assert_int_equal(f->child.permissions.mode, MODE_SAFE);
    assert_int_equal(contract_permits(&f->child, STR("write"), &f->err), PERMIT_ASK_MODE);
    const struct clamp *clamp = clamp_find(&f->child, "permissions.mode", "parent");
    assert_non_null(clamp);
    check_str(clamp->asked, "\"auto\"");
    check_str(clamp->got, "\"safe\"");
}

/* What config's `permissions` says, about one tool. */
static void override(struct fixture *f, const char *name, enum permission value)
{
    f->settings.overrides = arena_alloc(&f->arena, sizeof *f->settings.overrides);
    f->settings.overrides[0].tool = str_from(name);
    f->settings.overrides[0].permission = value;
    f->settings.override_count = 1;
}

static void a_child_has_the_value_of_the_mode_or_of_config_like_its_parent(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    assert_int_equal(contract_permits(&f->root, STR("shell"), &f->err), PERMIT_ASK_MODE);
    assert_int_equal(contract_permits(&f->child, STR("shell"), &f->err), PERMIT_ASK_MODE);
    override(f, "shell", PERMIT_ASK);
    derive_ok(f);
    assert_int_equal(contract_permits(&f->root, STR("shell"), &f->err), PERMIT_ASK);
    assert_int_equal(contract_permits(&f->child, STR("shell"), &f->err), PERMIT_ASK);
}

static void a_child_in_a_narrower_mode_keeps_an_ask_by_name(void **state)
{
    struct fixture *f = *state;
    f->settings.mode = MODE_DANGEROUS;
    override(f, "shell", PERMIT_ASK);
    f->request.mode = STR("safe");
    derive_ok(f);
    assert_int_equal(contract_permits(&f->child, STR("shell"), &f->err), PERMIT_ASK);
    assert_int_equal(contract_permits(&f->child, STR("write"), &f->err), PERMIT_ASK_MODE);
}

static void what_is_taken_from_shell_is_taken_from_test_unless_it_is_named(void **state)
{
    struct fixture *f = *state;
    override(f, "run_command", PERMIT_DENY);
    derive_ok(f);
    assert_false(has_tool(&f->root, "test"));
    assert_false(has_tool(&f->child, "test"));
    override(f, "shell", PERMIT_ASK);
    derive_ok(f);
    assert_int_equal(contract_permits(&f->root, STR("test"), &f->err), PERMIT_ASK);
    override(f, "shell", PERMIT_ALLOW);
    derive_ok(f);
    assert_int_equal(contract_permits(&f->root, STR("test"), &f->err), PERMIT_ASK_MODE);
    f->settings.overrides = arena_alloc(&f->arena, 2 * sizeof *f->settings.overrides);
    f->settings.overrides[0].tool = STR("shell");
    f->settings.overrides[0].permission = PERMIT_DENY;
    f->settings.overrides[1].tool = STR("test");
    f->settings.overrides[1].permission = PERMIT_ALLOW;
    f->settings.override_count = 2;
    derive_ok(f);
    assert_false(has_tool(&f->root, "shell"));
    assert_int_equal(contract_permits(&f->root, STR("test"), &f->err), PERMIT_ALLOW);
}

static void plan_mode_leaves_a_child_reads_only(void **state)
{
    struct fixture *f = *state;
    f->request.mode = STR("plan");
    f->request.write_paths = LIST("src");
    derive_ok(f);
    assert_false(has_tool(&f->child, "write"));
    assert_false(has_tool(&f->child, "shell"));
    assert_false(has_tool(&f->child, "spawn_agent"));
    assert_int_equal(f->child.permissions.write_paths.n, 0);
    assert_non_null(clamp_find(&f->child, "permissions.write_paths", "mode"));
}

static void without_inheritance_the_configured_mode_still_only_narrows(void **state)
{
    struct fixture *f = *state;
    f->request.mode = STR("safe");
    derive_ok(f);
    struct contract middle = f->child;
    f->settings.inherit_mode = SWITCH_OFF;
    f->request.mode = STR_NONE;
    assert_int_equal(derive_from(f, &middle, &f->child), 0);
    assert_int_equal(f->child.permissions.mode, MODE_SAFE);
}

static void
without_inheritance_a_child_works_in_safe_mode_unless_its_call_names_another(void **state)
{
    struct fixture *f = *state;
    f->settings.mode = MODE_AUTO;
    f->settings.inherit_mode = SWITCH_OFF;
    derive_ok(f);
    assert_int_equal(f->child.permissions.mode, MODE_SAFE);
    f->request.mode = STR("auto");
    derive_ok(f);
    assert_int_equal(f->child.permissions.mode, MODE_AUTO);
}

static void skills_and_servers_that_were_asked_for_and_not_given_are_clamps(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    f->root.permissions.skills = LIST("pdf", "web");
    f->root.permissions.mcp_servers = LIST("docs");
    f->request.skills = LIST("pdf");
    f->request.skills_asked = LIST("skill:pdf", "web");
    f->request.mcp_servers = LIST("docs");
    f->request.servers_asked = LIST("docs", "mail");
    assert_int_equal(derive_from(f, &f->root, &f->child), 0);
    assert_non_null(clamp_find(&f->child, "permissions.skills", "profile"));
    assert_non_null(clamp_find(&f->child, "permissions.mcp_servers", "parent"));
    f->request.skills_asked = LIST("pdf");
    f->request.servers_asked = LIST_NONE;
    assert_int_equal(derive_from(f, &f->root, &f->child), 0);
    assert_null(clamp_find(&f->child, "permissions.skills", "profile"));
    assert_null(clamp_find(&f->child, "permissions.mcp_servers", "parent"));
}

/* Roles */

static void an_unknown_role_is_refused_with_the_roles(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("wizard");
    derive_fails(f, ERR_USAGE, "researcher, planner, executor, reviewer, tester");
}

static void a_roles_row_becomes_the_contract(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("researcher");
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.tool_calls, 15);
    assert_int_equal(f->child.execution.budget.context_tokens, 12500);
    assert_int_equal(f->child.execution.idle_timeout_ms, 300000);
    assert_int_equal(f->child.permissions.allowed_tools.n, 9);
    assert_int_equal(f->child.permissions.write_paths.n, 0);
    assert_int_equal(f->child.permissions.can_spawn_children, SPAWN_NEVER);
    check_str(f->child.agent.name, "researcher-3");
}

static void executors_and_testers_may_start_only_reviewers(void **state)
{
    struct fixture *f = *state;
    static const char *const roles[] = {"executor", "tester"};
    for (size_t i = 0; i < 2; i++) {
        f->request.role = str_from(roles[i]);
        derive_ok(f);
        struct contract middle = f->child;
        assert_int_equal(middle.permissions.can_spawn_children, SPAWN_MAY);
        assert_int_equal(middle.permissions.spawn_roles.n, 1);
        f->request.role = STR("executor");
        assert_int_equal(derive_from(f, &middle, &f->child), -1);
        assert_int_equal(f->err.class, ERR_DENIED);
        assert_non_null(strstr(f->err.message, "reviewer"));
        f->request.role = STR_NONE;
        assert_int_equal(derive_from(f, &middle, &f->child), -1);
        f->request.role = STR("reviewer");
        assert_int_equal(derive_from(f, &middle, &f->child), 0);
        assert_int_equal(f->child.permissions.write_paths.n, 0);
    }
}

static void a_leaf_role_gets_no_doors_even_when_asked(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("reviewer");
    f->request.allowed_tools = LIST("read", "spawn_agent");
    derive_ok(f);
    assert_int_equal(f->child.permissions.allowed_tools.n, 1);
    assert_non_null(clamp_find(&f->child, "permissions.allowed_tools", "role"));
}

static void a_roles_context_is_never_above_the_models_window(void **state)
{
    struct fixture *f = *state;
    f->models[0].max_context_tokens = 8000;
    f->request.role = STR("executor");
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.context_tokens, 8000);
    assert_non_null(clamp_find(&f->child, "execution.budget.context_tokens", "model"));
}

/* Models */

static void an_unset_model_is_the_parents_and_a_foreign_one_is_refused(void **state)
{
    struct fixture *f = *state;
    f->settings.allowed_models = LIST("small", "large");
    derive_ok(f);
    check_str(f->child.model.name, "small");
    assert_int_equal(f->child.model.params.max_output_tokens, 4096);
    f->request.model = STR("large");
    derive_ok(f);
    check_str(f->child.model.name, "large");
    f->request.model = STR("free");
    derive_fails(f, ERR_DENIED, "small, large");
    f->request.model = STR("nowhere");
    derive_fails(f, ERR_DENIED, "small, large");
}

static void a_cost_limit_needs_a_priced_model(void **state)
{
    struct fixture *f = *state;
    f->request.model = STR("free");
    f->request.asked.cost_nano = 1000;
    derive_fails(f, ERR_USAGE, "cost_usd needs a model with prices");
}

/* What is left */

static void limits_are_clamped_to_what_the_parent_has_left(void **state)
{
    struct fixture *f = *state;
    f->request.asked.tokens = 50000;
    f->request.asked.cost_nano = 900000000;
    f->facts.remaining_tokens = 3000;
    f->facts.remaining_cost_nano = 250000000;
    f->facts.remaining_wall_ms = 20000;
    f->settings.child_timeout_set = SWITCH_ON;
    derive_ok(f);
    assert_int_equal(f->child.execution.budget.tokens, 3000);
    assert_int_equal(f->child.execution.budget.cost_nano, 250000000);
    assert_int_equal(f->child.execution.budget.wall_ms, 20000);
    check_str(clamp_find(&f->child, "execution.budget.cost_usd", "budget")->got, "0.25");
    check_str(clamp_find(&f->child, "execution.budget.wall_ms", "budget")->asked, "60000");
    assert_non_null(clamp_find(&f->child, "execution.budget.tokens", "budget"));
}

static void with_nothing_left_there_is_no_child(void **state)
{
    struct fixture *f = *state;
    f->facts.remaining_tokens = 0;
    derive_fails(f, ERR_BUDGET, "tokens");
    f->facts.remaining_tokens = UNLIMITED;
    f->facts.remaining_wall_ms = 0;
    derive_fails(f, ERR_BUDGET, "wall_ms");
}

/* Identity */

static void a_child_knows_its_parent_and_step(void **state)
{
    struct fixture *f = *state;
    f->request.task = STR("\n  Fix the login  \nand more");
    derive_ok(f);
    check_str(f->child.step.title, "Fix the login");
    check_str(f->child.step.description, "\n  Fix the login  \nand more");
    check_str(f->child.agent.id, "AGENT");
    check_str(f->child.agent.name, "agent-3");
    check_str(f->child.parent.run_id, "RUN");
    check_str(f->child.parent.agent_id, "ROOT");
    check_str(f->child.parent.goal_summary, "the goal");
    assert_int_equal(f->child.parent.step_idx, 3);
    assert_int_equal(f->child.isolation.integration_order, 3);
    assert_int_equal(f->child.receipt.prompt_hash.n, 64);
    assert_int_equal(f->child.receipt.door, DOOR_SPAWN_AGENT);
}

static void a_title_is_cut_at_120_characters(void **state)
{
    struct fixture *f = *state;
    char task[400];
    for (int i = 0; i < 130; i++)
        memcpy(task + 2 * i, "ä", 2);
    f->request.task = (struct str){task, 260};
    derive_ok(f);
    assert_int_equal(f->child.step.title.n, 240);
}

static void prompt_and_first_message_say_task_place_budget_and_style(void **state)
{
    struct fixture *f = *state;
    f->request.task = STR("Search for auth patterns");
    f->request.scope = STR("src/login");
    f->request.asked.tool_calls = 10;
    f->request.role = STR("reviewer");
    derive_ok(f);
    struct buf prompt;
    buf_init(&prompt, 65536);
    contract_prompt(&f->child, &f->request, f->facts.workspace_path, &prompt);
    assert_null(strstr(prompt.p, "Search for auth patterns"));
    buf_str(&prompt, f->request.task);
    contract_brief(&f->child, f->request.scope, &prompt);
    static const char *const words[] = {
        "Search for auth patterns", "/project", "src/login", "10 tool calls", "concise", "summary",
        "reviewer sub-agent"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(prompt.p, words[i]))
            fail_msg("the prompt lacks \"%s\"", words[i]);
    assert_null(strstr(prompt.p, "AGENTS.md"));
    assert_null(strstr(prompt.p, "the goal"));
    buf_release(&prompt);
}

/* Network */

static void the_network_is_what_config_says_and_never_more_below(void **state)
{
    struct fixture *f = *state;
    derive_ok(f);
    check_str(f->root.permissions.network, "none");
    f->settings.network = STR("relay");
    f->request.network = STR("full");
    derive_ok(f);
    check_str(f->root.permissions.network, "relay");
    check_str(f->child.permissions.network, "relay");
    const struct clamp *clamp = clamp_find(&f->child, "permissions.network", "parent");
    assert_non_null(clamp);
    check_str(clamp->asked, "\"full\"");
    check_str(clamp->got, "\"relay\"");
}

static void roles_and_profiles_narrow_the_network(void **state)
{
    struct fixture *f = *state;
    struct role_network of_testers = {STR("tester"), STR("none")};
    f->settings.network = STR("full");
    f->settings.role_networks = &of_testers;
    f->settings.role_network_count = 1;
    f->request.role = STR("executor");
    derive_ok(f);
    check_str(f->child.permissions.network, "full");
    f->request.role = STR("tester");
    derive_ok(f);
    check_str(f->child.permissions.network, "none");
    f->request.role = STR_NONE;
    f->request.network = STR("relay");
    derive_ok(f);
    check_str(f->child.permissions.network, "relay");
    assert_int_equal(f->child.receipt.clamp_count, 0);
    f->request.network = STR("everything");
    derive_fails(f, ERR_USAGE, "network must be none, relay, full or {allow: ");
}

static void a_child_reaches_the_names_that_its_parent_does_and_no_others(void **state)
{
    struct fixture *f = *state;
    f->settings.network = STR("allow *.example.org registry.example");
    f->request.network = STR("allow *.com deep.example.org registry.example");
    derive_ok(f);
    check_str(f->root.permissions.network, "allow *.example.org registry.example");
    check_str(f->child.permissions.network, "allow deep.example.org registry.example");
    assert_non_null(clamp_find(&f->child, "permissions.network", "parent"));
    f->request.network = STR("relay"); /* nobody knows where that leads */
    derive_ok(f);
    check_str(f->child.permissions.network, "none");
    f->request.network = STR("allow 127.0.0.1");
    derive_fails(f, ERR_USAGE, "network must be none, relay, full or {allow: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_root_has_what_is_available_and_the_configured_budget),
        TEST(a_root_without_a_price_keeps_the_limit_for_models_that_have_one),
        TEST(where_no_allowed_model_has_a_price_there_is_no_cost_limit),
        TEST(a_contract_does_not_depend_on_who_is_there_except_for_ask_user),
        TEST(a_read_only_root_has_no_doors_and_writes_nowhere),
        TEST(switching_sub_agents_off_takes_their_doors),
        TEST(a_permission_in_config_overrides_a_cell),
        TEST(a_model_outside_the_allowed_ones_cannot_be_the_roots),
        TEST(a_child_has_the_default_budget),
        TEST(a_default_context_has_room_for_three_times_its_fixed_part),
        TEST(what_is_passed_on_has_room_beside_the_fixed_part),
        TEST(what_is_passed_on_and_cannot_fit_is_refused_with_both_sizes),
        TEST(a_roles_context_has_the_same_minimum),
        TEST(a_context_that_was_asked_for_stays_as_it_is),
        TEST(a_built_in_time_limit_measures_silence),
        TEST(a_time_limit_of_the_call_is_a_wall),
        TEST(a_line_in_config_is_a_wall_even_with_the_built_in_value),
        TEST(a_silence_limit_of_config_replaces_the_built_in_one),
        TEST(the_whole_is_bounded_by_what_the_parent_has_left),
        TEST(the_prompt_tells_the_time_that_holds),
        TEST(the_calls_numbers_win_over_defaults),
        TEST(tool_calls_are_clamped_to_the_hard_stop_with_a_record),
        TEST(senseless_numbers_are_refused_verbatim),
        TEST(a_blank_task_is_refused),
        TEST(an_oversized_request_is_refused),
        TEST(the_third_generation_exceeds_the_depth),
        TEST(spawn_gives_its_children_no_delegation_tools),
        TEST(a_child_without_a_list_has_its_parents_tools_but_cannot_ask),
        TEST(an_empty_list_means_no_tools),
        TEST(a_tool_that_the_parent_lacks_is_dropped_with_a_record),
        TEST(an_unknown_tool_is_refused_with_what_the_parent_has),
        TEST(a_door_that_the_parent_lacks_is_closed),
        TEST(auto_under_a_safe_parent_is_clamped),
        TEST(a_child_has_the_value_of_the_mode_or_of_config_like_its_parent),
        TEST(a_child_in_a_narrower_mode_keeps_an_ask_by_name),
        TEST(what_is_taken_from_shell_is_taken_from_test_unless_it_is_named),
        TEST(plan_mode_leaves_a_child_reads_only),
        TEST(without_inheritance_the_configured_mode_still_only_narrows),
        TEST(without_inheritance_a_child_works_in_safe_mode_unless_its_call_names_another),
        TEST(skills_and_servers_that_were_asked_for_and_not_given_are_clamps),
        TEST(an_unknown_role_is_refused_with_the_roles),
        TEST(a_roles_row_becomes_the_contract),
        TEST(executors_and_testers_may_start_only_reviewers),
        TEST(a_leaf_role_gets_no_doors_even_when_asked),
        TEST(a_roles_context_is_never_above_the_models_window),
        TEST(an_unset_model_is_the_parents_and_a_foreign_one_is_refused),
        TEST(a_cost_limit_needs_a_priced_model),
        TEST(limits_are_clamped_to_what_the_parent_has_left),
        TEST(with_nothing_left_there_is_no_child),
        TEST(a_child_knows_its_parent_and_step),
        TEST(a_title_is_cut_at_120_characters),
        TEST(prompt_and_first_message_say_task_place_budget_and_style),
        TEST(the_network_is_what_config_says_and_never_more_below),
        TEST(roles_and_profiles_narrow_the_network),
        TEST(a_child_reaches_the_names_that_its_parent_does_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
