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
        {"safe", "allow", "ask", "ask", "ask", "allow", "allow", "ask"},
        {"normal", "allow", "ask", "ask", "ask", "allow", "allow", "ask"},
        {"auto", "allow", "allow", "ask", "ask", "allow", "allow", "ask"},
        {"dangerous", "allow", "allow", "allow", "ask", "allow", "allow", "ask"},
        {"research", "allow", "deny", "ask", "deny", "hidden", "allow", "ask"},
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

static enum permission shell_ask(enum mode mode, enum asker asker)
{
    return permission_effective(mode, tool_info_find(STR("shell")), STR("shell"), PERMIT_ASK,
                                asker);
}

static void a_child_is_never_asked_for(void **state)
{
    assert_int_equal(shell_ask(MODE_AUTO, ASKER_CHILD), PERMIT_ALLOW);
    assert_int_equal(shell_ask(MODE_DANGEROUS, ASKER_CHILD), PERMIT_ALLOW);
    assert_int_equal(shell_ask(MODE_SAFE, ASKER_CHILD), PERMIT_DENY);
    assert_int_equal(shell_ask(MODE_RESEARCH, ASKER_CHILD), PERMIT_DENY);
}

static void a_root_asks_only_on_a_terminal(void **state)
{
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        assert_int_equal(shell_ask((enum mode)mode, ASKER_ROOT_TERMINAL), PERMIT_ASK);
        assert_int_equal(shell_ask((enum mode)mode, ASKER_ROOT), PERMIT_DENY);
    }
}

static void ask_user_is_for_a_root_on_a_terminal_alone(void **state)
{
    const struct tool_info *info = tool_info_find(STR("ask_user"));
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int cell = PERMIT_DENY; cell <= PERMIT_ALLOW; cell++)
            for (int asker = ASKER_ROOT; asker <= ASKER_CHILD; asker++)
                assert_int_equal(permission_effective((enum mode)mode, info, STR("ask_user"),
                                                      (enum permission)cell, (enum asker)asker),
                                 PERMIT_DENY);
    assert_int_equal(
        permission_effective(MODE_SAFE, info, STR("ask_user"), PERMIT_ALLOW, ASKER_ROOT_TERMINAL),
        PERMIT_ALLOW);
}

static void nobody_is_asked_whether_a_question_may_be_asked(void **state)
{
    const struct tool_info *info = tool_info_find(STR("ask_user"));
    assert_int_equal(
        permission_effective(MODE_SAFE, info, STR("ask_user"), PERMIT_ASK, ASKER_ROOT_TERMINAL),
        PERMIT_ALLOW);
    assert_int_equal(
        permission_effective(MODE_CI, info, STR("ask_user"), PERMIT_DENY, ASKER_ROOT_TERMINAL),
        PERMIT_DENY);
}

static void denied_and_hidden_cells_stay_so_for_everybody(void **state)
{
    for (int asker = ASKER_ROOT_TERMINAL; asker <= ASKER_CHILD; asker++) {
        assert_int_equal(
            permission_effective(MODE_DANGEROUS, NULL, STR("x"), PERMIT_DENY, (enum asker)asker),
            PERMIT_DENY);
        assert_int_equal(
            permission_effective(MODE_DANGEROUS, NULL, STR("x"), PERMIT_HIDDEN, (enum asker)asker),
            PERMIT_HIDDEN);
    }
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
    "- `ask`: a root on a terminal asks its user. A root without one is denied. A child never "
    "asks: under `auto` and `dangerous` its `ask`\n"
    "  is `allow`, else `deny`. `ask_user` is for a root on a terminal alone.\n"
    "- A child's mode is its parent's or a narrower one, and none of its cells is wider than its "
    "parent's, whatever a model asks for.\n\n"
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
    "80 % of it.\n\n"
    "An agent that makes the same calls with the same arguments in four turns in a row is stopped, "
    "and says so.\n";

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
        cmocka_unit_test(a_child_is_never_asked_for),
        cmocka_unit_test(a_root_asks_only_on_a_terminal),
        cmocka_unit_test(ask_user_is_for_a_root_on_a_terminal_alone),
        cmocka_unit_test(nobody_is_asked_whether_a_question_may_be_asked),
        cmocka_unit_test(denied_and_hidden_cells_stay_so_for_everybody),
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
