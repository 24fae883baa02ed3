/* Modes, permissions, tools, roles and lists: the tables of CONTRACT.md, walked. `unit-permission --print-docs` prints
 * docs/modes.md. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "check.h"
#include "core/contract/permission.h"
#include "core/contract/role.h"

static struct list list_of(struct arena *arena, const char *const *names)
{
    struct list list = {LIST_SET, NULL, 0};
    for (; *names; names++)
        list_add(arena, &list, str_from(*names));
    return list;
}

static void every_mode_gives_each_tool_the_permission_of_the_table(void **state)
{
    static const struct {
        const char *mode;
        const char *read, *write, *shell, *commit, *delegate, *ask_user, *other;
    } table[] = {
        {"safe", "allow", "ask_mode", "ask_mode", "ask_mode", "allow", "allow", "ask_mode"},
        {"normal", "allow", "ask_mode", "ask_mode", "ask_mode", "allow", "allow", "ask_mode"},
        {"auto", "allow", "allow", "ask_mode", "ask_mode", "allow", "allow", "ask_mode"},
        {"dangerous", "allow", "allow", "allow", "ask_mode", "allow", "allow", "ask_mode"},
        {"research", "allow", "deny", "ask_mode", "deny", "hidden", "allow", "ask_mode"},
        {"plan", "allow", "deny", "deny", "deny", "hidden", "allow", "deny"},
        {"review", "allow", "deny", "deny", "deny", "hidden", "allow", "deny"},
        {"ci", "allow", "deny", "deny", "deny", "hidden", "deny", "deny"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        enum mode mode;
        struct err err = ERR_INIT;
        assert_int_equal(mode_parse(str_from(table[i].mode), &mode, &err), 0);
        const char *cells[GROUP_COUNT] = {
            [GROUP_READ] = table[i].read,         [GROUP_WRITE] = table[i].write,
            [GROUP_SHELL] = table[i].shell,       [GROUP_COMMIT] = table[i].commit,
            [GROUP_DELEGATE] = table[i].delegate, [GROUP_ASK] = table[i].ask_user,
            [GROUP_OTHER] = table[i].other,
        };
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_string_equal(permission_text(mode_table[mode][group]), cells[group]);
    }
}

static void an_unknown_mode_is_refused_with_the_list_of_modes(void **state)
{
    enum mode mode = MODE_CI;
    struct err err = ERR_INIT;
    assert_int_equal(mode_parse(STR("yolo"), &mode, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.message, "safe auto dangerous research plan review ci"));
    assert_int_equal(mode_parse(STR_NONE, &mode, &err), -1);
    assert_int_equal(mode, MODE_CI);
}

static void modes_order_from_ci_to_dangerous(void **state)
{
    static const enum mode chain[] = {MODE_CI,   MODE_PLAN, MODE_RESEARCH,
                                      MODE_SAFE, MODE_AUTO, MODE_DANGEROUS};
    size_t n = sizeof chain / sizeof chain[0];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            assert_int_equal(mode_within(chain[i], chain[k]), i <= k);
    assert_true(mode_within(MODE_PLAN, MODE_REVIEW));
    assert_true(mode_within(MODE_REVIEW, MODE_PLAN));
}

/* CONTRACT.md, "Asking", row by row: what the call meets where a person is there, and where nobody is. */
enum inside {
    INSIDE,
    OUTSIDE
};                           /* in a tree of cadre's, behind all walls, without network; or not */
enum courage { SAFE, AUTO }; /* safe and research; auto and dangerous */

static const struct asking {
    const char *value;
    enum tool_group group;
    enum inside inside;
    enum agent_kind kind;
    enum courage courage;
    const char *person, *nobody;
} asking[] = {
    /* shell and test inside */
    {"ask_mode", GROUP_SHELL, INSIDE, AGENT_ROOT, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_SHELL, INSIDE, AGENT_ROOT, AUTO, "allow", "allow"},
    {"ask_mode", GROUP_SHELL, INSIDE, AGENT_CHILD, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_SHELL, INSIDE, AGENT_CHILD, AUTO, "allow", "allow"},
    /* changes inside */
    {"ask_mode", GROUP_WRITE, INSIDE, AGENT_ROOT, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_WRITE, INSIDE, AGENT_ROOT, AUTO, "ask", "deny"},
    {"ask_mode", GROUP_WRITE, INSIDE, AGENT_CHILD, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_WRITE, INSIDE, AGENT_CHILD, AUTO, "allow", "allow"},
    {"ask_mode", GROUP_COMMIT, INSIDE, AGENT_ROOT, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_COMMIT, INSIDE, AGENT_ROOT, AUTO, "ask", "deny"},
    {"ask_mode", GROUP_COMMIT, INSIDE, AGENT_CHILD, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_COMMIT, INSIDE, AGENT_CHILD, AUTO, "allow", "allow"},
    /* tools of MCP servers leave the walls wherever they are called */
    {"ask_mode", GROUP_OTHER, INSIDE, AGENT_ROOT, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_OTHER, INSIDE, AGENT_ROOT, AUTO, "ask", "deny"},
    {"ask_mode", GROUP_OTHER, INSIDE, AGENT_CHILD, SAFE, "ask", "deny"},
    {"ask_mode", GROUP_OTHER, INSIDE, AGENT_CHILD, AUTO, "ask", "deny"},
};

/* What CONTRACT.md says of a combination that has no row of its own: asked, else refused. */
static const char *expected_of(enum permission value, const struct call_facts *facts)
{
    bool inside =
        facts->place == PLACE_TREE && facts->walls == WALLS_UP && facts->network == NETWORK_NONE;
    bool bold = facts->mode == MODE_AUTO || facts->mode == MODE_DANGEROUS;
    bool nobody = facts->asker == ASKER_NOBODY;
    if (value == PERMIT_ALLOW)
        return "allow";
    if (value <= PERMIT_DENY)
        return "deny";
    for (size_t i = 0; inside && i < sizeof asking / sizeof asking[0]; i++) {
        const struct asking *row = &asking[i];
        if (strcmp(row->value, permission_text(value)) == 0 && row->group == facts->group &&
            row->kind == facts->kind && (row->courage == AUTO) == bold)
            return nobody ? row->nobody : row->person;
    }
    return nobody ? "deny" : "ask";
}

static void check_decision(enum permission value, const struct call_facts *facts)
{
    const char *expected = expected_of(value, facts);
    const char *got = permission_text(permission_decide(value, facts));
    if (strcmp(expected, got) != 0)
        fail_msg("%s, mode %s, group %d, %s, %s, walls %d, network %s, asker %s: %s, not %s",
                 permission_text(value), mode_text(facts->mode), facts->group,
                 facts->kind == AGENT_ROOT ? "root" : "child",
                 facts->place == PLACE_TREE ? "tree" : "in place", facts->walls,
                 facts->network == NETWORK_NONE ? "none" : "some", asker_text(facts->asker), got,
                 expected);
}

/* Counts up like the digits of a number; false: all combinations are through. */
static bool next_facts(struct call_facts *facts)
{
    int digits[] = {facts->kind,  (int)facts->mode,    (int)facts->group, facts->place,
                    facts->walls, (int)facts->network, (int)facts->asker};
    static const int bases[] = {AGENT_KIND_COUNT, MODE_COUNT,    GROUP_COUNT,       PLACE_COUNT,
                                WALLS_STATES,     NETWORK_COUNT, ASKER_TERMINAL + 1};
    size_t at = 0, n = sizeof digits / sizeof digits[0];
    while (at < n && ++digits[at] == bases[at])
        digits[at++] = 0;
    *facts = (struct call_facts){(enum agent_kind)digits[0], (enum mode)digits[1],
                                 (enum tool_group)digits[2], (enum call_place)digits[3],
                                 (enum call_walls)digits[4], (enum network)digits[5],
                                 (enum asker)digits[6]};
    return at < n;
}

static void every_call_meets_what_the_contract_says_about_asking(void **state)
{
    for (int value = PERMIT_HIDDEN; value <= PERMIT_ALLOW; value++) {
        struct call_facts facts = {0};
        size_t combinations = 0;
        do {
            check_decision((enum permission)value, &facts);
            combinations++;
        } while (next_facts(&facts));
        assert_int_equal(combinations, 2 * MODE_COUNT * GROUP_COUNT * 2 * 2 * NETWORK_COUNT * 3);
    }
}

static void a_wider_value_never_meets_less(void **state)
{
    struct call_facts facts = {0};
    do {
        for (int value = PERMIT_HIDDEN; value < PERMIT_ALLOW; value++)
            assert_true(permission_decide((enum permission)value, &facts) <=
                        permission_decide((enum permission)(value + 1), &facts));
    } while (next_facts(&facts));
}

static void ask_user_is_for_a_root_on_a_terminal_alone(void **state)
{
    struct str tool = STR("ask_user");
    for (int value = PERMIT_ASK; value <= PERMIT_ALLOW; value++)
        for (int asker = ASKER_NOBODY; asker <= ASKER_TERMINAL; asker++) {
            enum permission root = asker == ASKER_TERMINAL ? PERMIT_ALLOW : PERMIT_DENY;
            assert_int_equal(
                permission_offered(tool, (enum permission)value, AGENT_ROOT, (enum asker)asker),
                root);
            assert_int_equal(
                permission_offered(tool, (enum permission)value, AGENT_CHILD, (enum asker)asker),
                PERMIT_DENY);
        }
    assert_int_equal(permission_offered(tool, PERMIT_DENY, AGENT_ROOT, ASKER_TERMINAL),
                     PERMIT_DENY);
}

static void every_other_tool_is_offered_as_its_value_says(void **state)
{
    for (int value = PERMIT_HIDDEN; value <= PERMIT_ALLOW; value++)
        for (int asker = ASKER_NOBODY; asker <= ASKER_TERMINAL; asker++)
            for (int kind = AGENT_ROOT; kind <= AGENT_CHILD; kind++)
                assert_int_equal(permission_offered(STR("shell"), (enum permission)value,
                                                    (enum agent_kind)kind, (enum asker)asker),
                                 value);
}

static void a_refusal_says_what_would_allow_the_call(void **state)
{
    struct buf text;
    struct call_facts facts = {.kind = AGENT_CHILD,
                               .mode = MODE_SAFE,
                               .group = GROUP_WRITE,
                               .place = PLACE_TREE,
                               .walls = WALLS_UP};
    buf_init(&text, 4096);
    permission_refusal(STR("write"), PERMIT_ASK_MODE, &facts, &text);
    assert_non_null(strstr(text.p, "--mode auto"));
    assert_non_null(strstr(text.p, "permissions: {write: allow}"));
    assert_non_null(strstr(text.p, "a terminal"));
    assert_non_null(strstr(text.p, "approvals: {via: inbox}"));
    /* Another mode does not change what was set by name, nor what leaves the walls. */
    buf_clear(&text);
    permission_refusal(STR("write"), PERMIT_ASK, &facts, &text);
    assert_null(strstr(text.p, "--mode"));
    buf_clear(&text);
    facts.group = GROUP_SHELL;
    facts.walls = WALLS_DOWN;
    permission_refusal(STR("shell"), PERMIT_ASK_MODE, &facts, &text);
    assert_null(strstr(text.p, "--mode"));
    buf_release(&text);
}

static void who_answers_is_read_as_it_is_written(void **state)
{
    for (int asker = ASKER_NOBODY; asker <= ASKER_TERMINAL; asker++)
        assert_int_equal(asker_parse(str_from(asker_text((enum asker)asker))), asker);
    assert_int_equal(asker_parse(STR("everybody")), ASKER_NOBODY);
    assert_int_equal(asker_parse(STR_NONE), ASKER_NOBODY);
}

static void aliases_are_normalised(void **state)
{
    static const char *const table[][2] = {
        {"read_file", "read"},          {"write_file", "write"},  {"edit_file", "edit"},
        {"list_files", "ls"},           {"list_dir", "ls"},       {"search_files", "grep"},
        {"find_files", "search"},       {"run_command", "shell"}, {"read", "read"},
        {"docs__query", "docs__query"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_str(tool_normal_name(str_from(table[i][0])), table[i][1]);
}

static void a_list_with_a_tool_and_its_alias_has_one_tool(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct list names = list_of(&arena, (const char *[]){"read_file", "read", "list_dir", NULL});
    struct list normal = tool_normal_list(&arena, &names);
    assert_int_equal(normal.n, 2);
    check_str(normal.items[0], "read");
    check_str(normal.items[1], "ls");
    assert_int_equal(tool_normal_list(&arena, &LIST_NONE).state, LIST_ABSENT);
    arena_release(&arena);
}

static void every_tool_of_the_design_is_in_the_table_once(void **state)
{
    static const char *const names[] = {
        "read",          "ls",          "grep",     "search",       "code_search", "overview",
        "docs_coverage", "plan_files",  "write",    "edit",         "multi_edit",  "delete",
        "shell",         "test",        "git",      "git_diff",     "git_commit",  "web_fetch",
        "web_search",    "ask_user",    "skill",    "spawn",        "spawn_await", "spawn_agent",
        "delegate_task", "fan_out",     "delegate", "agent_status", "agent_send",  "agent_cancel",
        "agent_result",  "agent_merge", "plan",
    };
    assert_int_equal(tool_info_count, sizeof names / sizeof names[0]);
    for (size_t i = 0; i < tool_info_count; i++) {
        const struct tool_info *info = tool_info_find(str_from(names[i]));
        assert_non_null(info);
        assert_string_equal(info->name, names[i]);
    }
}

static void kinds_and_classes_follow_the_groups(void **state)
{
    for (size_t i = 0; i < tool_info_count; i++) {
        const struct tool_info *info = &tool_infos[i];
        assert_int_equal(info->kind == TOOL_PREPARED, info->group == GROUP_WRITE);
        assert_int_equal(info->kind == TOOL_CORE, info->group == GROUP_DELEGATE);
        if (info->group == GROUP_WRITE || info->group == GROUP_SHELL || info->group == GROUP_COMMIT)
            assert_int_equal(info->class, EFFECT_OUTWARD);
    }
    assert_int_equal(tool_info_find(STR("web_fetch"))->class, EFFECT_OUTWARD);
    assert_int_equal(tool_info_find(STR("grep"))->class, EFFECT_PURE);
    assert_null(tool_info_find(STR("docs__query")));
    assert_null(tool_info_find(STR_NONE));
}

static void roles_have_the_numbers_of_the_seed(void **state)
{
    static const struct {
        const char *name;
        int64_t tool_calls, context_chars;
        const char *spawn_roles;
        int writes;
    } table[] = {
        {"researcher", 15, 50000, "", ROLE_READS},
        {"planner", 10, 30000, "", ROLE_READS},
        {"executor", 30, 80000, "reviewer", ROLE_WRITES},
        {"reviewer", 15, 50000, "", ROLE_READS},
        {"tester", 20, 50000, "reviewer", ROLE_WRITES_TESTS},
    };
    assert_int_equal(role_count, sizeof table / sizeof table[0]);
    for (size_t i = 0; i < role_count; i++) {
        const struct role *role = role_find(str_from(table[i].name));
        assert_non_null(role);
        assert_int_equal(role->tool_calls, table[i].tool_calls);
        assert_int_equal(role->context_chars, table[i].context_chars);
        assert_string_equal(role->spawn_roles, table[i].spawn_roles);
        assert_int_equal(role->writes, table[i].writes);
        assert_non_null(strstr(role->prompt, table[i].name));
    }
    assert_null(role_find(STR("Executor")));
    assert_null(role_find(STR_NONE));
}

static void every_tool_that_a_role_names_exists(void **state)
{
    for (size_t i = 0; i < role_count; i++) {
        const char *tools = role_table[i].tools;
        while (*tools) {
            size_t n = strcspn(tools, ",");
            assert_non_null(tool_info_find((struct str){tools, n}));
            tools += tools[n] ? n + 1 : n;
        }
    }
}

static void an_absent_list_has_everything_and_an_empty_one_nothing(void **state)
{
    struct list empty = {LIST_SET, NULL, 0};
    assert_true(list_has(&LIST_NONE, STR("x")));
    assert_false(list_has(&empty, STR("x")));
    assert_true(list_subset(&empty, &LIST_NONE));
    assert_true(list_subset(&LIST_NONE, &LIST_NONE));
    assert_false(list_subset(&LIST_NONE, &empty));
}

static void intersecting_keeps_the_first_order_and_drops_repeats(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct str items[] = {STR("c"), STR("a"), STR("c"), STR("b")};
    struct list a = {LIST_SET, items, 4};
    struct list b = list_of(&arena, (const char *[]){"a", "b", "c", NULL});
    struct list both = list_intersect(&arena, &a, &b);
    assert_int_equal(both.n, 3);
    check_str(both.items[0], "c");
    check_str(both.items[1], "a");
    check_str(both.items[2], "b");
    assert_int_equal(list_intersect(&arena, &LIST_NONE, &LIST_NONE).state, LIST_ABSENT);
    assert_int_equal(list_intersect(&arena, &LIST_NONE, &b).n, 3);
    struct list empty = {LIST_SET, NULL, 0};
    assert_int_equal(list_intersect(&arena, &a, &empty).n, 0);
    assert_int_equal(list_intersect(&arena, &a, &empty).state, LIST_SET);
    arena_release(&arena);
}

static void a_list_of_anything_but_strings_is_refused(void **state)
{
    static const char *const texts[] = {"\"read\"", "[1]", "[null]", "{}", "true"};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err err = ERR_INIT;
        struct list list;
        struct js *value = js_parse(str_from(texts[i]), &err);
        assert_int_equal(list_parse(&arena, value, "tools", &list, &err), -1);
        assert_int_equal(err.class, ERR_CORRUPT);
        assert_non_null(strstr(err.message, "tools"));
        js_free(value);
    }
    arena_release(&arena);
}

/* --- docs/modes.md ----------------------------------------------------------------------------------------- */

static const char *const group_heads[GROUP_COUNT] = {
    [GROUP_READ] = "reads, web, skill", [GROUP_WRITE] = "files",         [GROUP_SHELL] = "commands",
    [GROUP_COMMIT] = "commits",         [GROUP_DELEGATE] = "delegation", [GROUP_ASK] = "questions",
    [GROUP_OTHER] = "MCP, unknown",
};

static const char docs_head[] =
    "# Modes\n\n"
    "<!-- Generated from src/core/contract/permission.c by `unit-permission --print-docs`; the "
    "test suite compares. -->\n\n"
    "A mode says what an agent's tools may do. The default is `safe`, which is also called "
    "`normal`; `mode:` in the config or `--mode`\n"
    "chooses another.\n\n";

static const char docs_rules[] =
    "\n`permissions:` in the config overrides the cell of one tool, for the mode that the config "
    "chose:\n\n"
    "```yaml\n"
    "mode: auto\n"
    "permissions:\n"
    "  shell: allow\n"
    "  delete: deny\n"
    "```\n\n"
    "- `allow`: the call is made. `deny` and `hidden`: the model is not offered the tool; a call "
    "that it makes all the same is refused, with\n"
    "  the reason, and counts.\n"
    "- `ask_mode`: the mode asks. `ask`: somebody set it by name. What happens then is decided "
    "when "
    "the call is made: see \"Asking\".\n"
    "- `test` runs a command: what `permissions` takes from `shell` it takes from `test` too, "
    "unless `test` has an entry of its own.\n"
    "- `ask_user` is for a root on a terminal alone.\n"
    "- A child's mode is its parent's or a narrower one, and none of its cells is wider than its "
    "parent's, whatever a model asks for;\n"
    "  the order is `deny`, `ask`, `ask_mode`, `allow`.\n";

static const char docs_asking[] =
    "\n## Asking\n\n"
    "A call whose value is `ask` or `ask_mode` is asked for where a person is there, for a child "
    "as for the root, and else refused. Two\n"
    "things that a mode asks for are made without a question in `auto` and `dangerous`:\n\n";

static const char docs_rest[] =
    "\nSuch a tree: files of cadre's own (the agent's or an agent's above it, never yours), all "
    "walls of `sandbox` up, and `access.network:\n"
    "none`. In place: in your files, in a plain directory, with a wall that is off, with network, "
    "and every tool of an MCP server.\n\n"
    "- A person is there on a terminal. That is logged when a run starts, when it is resumed and "
    "with each question: a run that was\n"
    "  started without a terminal asks when it is resumed on one.\n"
    "- Without a person, `approvals: {via: inbox}` lets questions wait for `cadre approve RUN "
    "[CALL --shown HASH]`. After `approvals.timeout_ms` the run\n"
    "  is parked with exit code 75, and `cadre resume` puts the question again.\n"
    "- `sub_agent: {ask: deny}`: nobody is asked for a child. What would be asked is refused.\n"
    "- Questions queue up and name the agent. While one waits, its agent holds no slot and its "
    "deadlines stand still.\n"
    "- A refusal is never silent: results have `refused` with a count and the reasons, the run's "
    "last lines say how many calls were\n"
    "  refused and what would allow them, and a child that was refused something has no plain "
    "tick.\n"
    "- `cadre agents explain` and `cadre config check` say what a run that is started on the same "
    "terminal would meet.\n\n"
    "## The circuit breaker\n\n"
    "| `safety.circuit_breaker` | default | what happens at so many tool calls of the root |\n"
    "|---|---|---|\n"
    "| `warn_at` | 20 | it is told to wrap up, once |\n"
    "| `pause_at` | 30 | on a terminal its user is asked whether it goes on; without one, and "
    "after a no, it gets one last turn in which no call is executed |\n"
    "| `hard_stop_at` | 100 | one last turn in which no call is executed |\n\n"
    "The question is logged (`run.paused`, `run.unpaused`) and put again when the run is resumed "
    "after a crash. Children have no breaker:\n"
    "they have their budget of tool calls, which is never above `hard_stop_at`, and are warned at "
    "80 % of it. Whoever stops at a limit\n"
    "has an error that names it with its key: `the budget is used up: 30 tool calls "
    "(safety.circuit_breaker.pause_at)`.\n\n"
    "An agent that makes the same calls with the same arguments in four turns in a row is stopped, "
    "and says so.\n";

/* One cell of "Asking": what permission_decide says with a person, and without. */
static void print_met(struct buf *out, enum permission value, const struct call_facts *facts)
{
    struct call_facts alone = *facts;
    alone.asker = ASKER_NOBODY;
    enum permission person = permission_decide(value, facts);
    enum permission nobody = permission_decide(value, &alone);
    buf_text(out, person == PERMIT_ALLOW && nobody == PERMIT_ALLOW ? " allowed |"
                  : person == PERMIT_ASK && nobody == PERMIT_DENY  ? " asked, else refused |"
                                                                   : " ? |");
}

static void print_asking(struct buf *out)
{
    static const struct {
        const char *text;
        enum permission value;
        enum tool_group group;
        enum call_place place;
    } rows[] = {
        {"`ask`, set by name, wherever the call runs", PERMIT_ASK, GROUP_SHELL, PLACE_TREE},
        {"`ask_mode`, `shell` and `test` in such a tree", PERMIT_ASK_MODE, GROUP_SHELL, PLACE_TREE},
        {"`ask_mode`, writes and `git_commit` in such a tree", PERMIT_ASK_MODE, GROUP_COMMIT,
         PLACE_TREE},
        {"`ask_mode`, in place or leaving the walls", PERMIT_ASK_MODE, GROUP_SHELL,
         PLACE_USERS_FILES},
    };
    static const struct {
        enum agent_kind kind;
        enum mode mode;
    } columns[] = {{AGENT_ROOT, MODE_SAFE},
                   {AGENT_ROOT, MODE_AUTO},
                   {AGENT_CHILD, MODE_SAFE},
                   {AGENT_CHILD, MODE_AUTO}};
    buf_text(out, "| the value | root: `safe`, `research` | root: `auto`, `dangerous` | child: "
                  "`safe`, `research` | child: `auto`, `dangerous` |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf_printf(out, "| %s |", rows[i].text);
        for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
            struct call_facts facts = {columns[k].kind, columns[k].mode, rows[i].group,
                                       rows[i].place,   WALLS_UP,        NETWORK_NONE,
                                       ASKER_TERMINAL};
            print_met(out, rows[i].value, &facts);
        }
        buf_text(out, "\n");
    }
}

static void print_docs(struct buf *out)
{
    buf_text(out, docs_head);
    buf_text(out, "| mode |");
    for (int group = 0; group < GROUP_COUNT; group++)
        buf_printf(out, " %s |", group_heads[group]);
    buf_text(out, "\n|---|---|---|---|---|---|---|---|\n");
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        buf_printf(out, "| `%s` |", mode_text((enum mode)mode));
        for (int group = 0; group < GROUP_COUNT; group++)
            buf_printf(out, " %s |", permission_text(mode_table[mode][group]));
        buf_text(out, "\n");
    }
    buf_text(out, "\n| column | tools |\n|---|---|\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        buf_printf(out, "| %s |", group_heads[group]);
        for (size_t i = 0; i < tool_info_count; i++)
            if (tool_infos[i].group == (enum tool_group)group)
                buf_printf(out, " `%s`", tool_infos[i].name);
        buf_text(out, group == GROUP_OTHER ? " tools of MCP servers |\n" : " |\n");
    }
    buf_text(out, docs_rules);
    buf_text(out, docs_asking);
    print_asking(out);
    buf_text(out, docs_rest);
}

static void docs_modes_says_what_the_tables_say(void **state)
{
    const char *folder = getenv("CADRE_TESTS");
    char path[4096];
    struct buf made, stored;
    if (folder == NULL)
        fail_msg("CADRE_TESTS must name the tests folder (meson test sets it)");
    snprintf(path, sizeof path, "%s/../docs/modes.md", folder);
    buf_init(&made, 1 << 16);
    buf_init(&stored, 1 << 17);
    print_docs(&made);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        char *room = buf_reserve(&stored, 1 << 16);
        assert_non_null(room);
        stored.n += fread(room, 1, 1 << 16, file);
        fclose(file);
    }
    if (!str_eq(buf_view(&made), buf_view(&stored)))
        fail_msg("docs/modes.md is out of date: unit-permission --print-docs > docs/modes.md");
    buf_release(&made);
    buf_release(&stored);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_gives_each_tool_the_permission_of_the_table),
        cmocka_unit_test(an_unknown_mode_is_refused_with_the_list_of_modes),
        cmocka_unit_test(modes_order_from_ci_to_dangerous),
        cmocka_unit_test(every_call_meets_what_the_contract_says_about_asking),
        cmocka_unit_test(a_wider_value_never_meets_less),
        cmocka_unit_test(ask_user_is_for_a_root_on_a_terminal_alone),
        cmocka_unit_test(every_other_tool_is_offered_as_its_value_says),
        cmocka_unit_test(a_refusal_says_what_would_allow_the_call),
        cmocka_unit_test(who_answers_is_read_as_it_is_written),
        cmocka_unit_test(aliases_are_normalised),
        cmocka_unit_test(a_list_with_a_tool_and_its_alias_has_one_tool),
        cmocka_unit_test(every_tool_of_the_design_is_in_the_table_once),
        cmocka_unit_test(kinds_and_classes_follow_the_groups),
        cmocka_unit_test(roles_have_the_numbers_of_the_seed),
        cmocka_unit_test(every_tool_that_a_role_names_exists),
        cmocka_unit_test(an_absent_list_has_everything_and_an_empty_one_nothing),
        cmocka_unit_test(intersecting_keeps_the_first_order_and_drops_repeats),
        cmocka_unit_test(a_list_of_anything_but_strings_is_refused),
        cmocka_unit_test(docs_modes_says_what_the_tables_say),
    };
    if (argc > 1 && strcmp(argv[1], "--print-docs") == 0) {
        struct buf docs;
        buf_init(&docs, 1 << 16);
        print_docs(&docs);
        fwrite(docs.p, 1, docs.n, stdout);
        buf_release(&docs);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
