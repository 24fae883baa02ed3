/* Reports of children and runs, from runs that the core decided: what they hold, and that no text in them leaves its place. */
#include <stdio.h>

#include "core/report/quote.h"
#include "core/report/report.h"
#include "run_fixture.h"

#define BASE "1111111111111111111111111111111111111111"

static void contains(const struct buf *text, const char *part)
{
    rig_contains(buf_view(text), part);
}

static void lacks(const struct buf *text, const char *part)
{
    if (memmem(text->p, text->n, part, strlen(part)) != NULL)
        fail_msg("\"%s\" is in: %s", part, text->p);
}

static void comes_before(const struct buf *text, const char *first, const char *second)
{
    const char *a = strstr(text->p, first), *b = strstr(text->p, second);
    if (a == NULL || b == NULL || a > b)
        fail_msg("\"%s\" does not come before \"%s\" in: %s", first, second, text->p);
}

static void run_report(const struct rig *rig, struct buf *out)
{
    buf_init(out, 1 << 20);
    report_run_markdown(rig->run, out);
    assert_false(out->failed);
}

static void child_report(const struct rig *rig, uint32_t no, struct buf *out)
{
    buf_init(out, 1 << 20);
    report_child_markdown(rig->run, no, out);
    assert_false(out->failed);
}

/* --- quotes ------------------------------------------------------------------------------------ */

static void a_block_is_fenced_with_more_backticks_than_it_holds(void **state)
{
    struct buf out;
    buf_init(&out, 4096);
    quote_block(&out, STR("a\n```\n# not a heading\n`````"));
    check_str(buf_view(&out), "``````text\na\n```\n# not a heading\n`````\n``````\n");
    buf_release(&out);
}

static void a_line_is_one_line_between_more_backticks_than_it_holds(void **state)
{
    struct buf out;
    buf_init(&out, 4096);
    quote_line(&out, STR("a\n# b ``c`` \x1b[31m"), 100);
    check_str(buf_view(&out), "``` a # b ``c``  ```");
    buf_clear(&out);
    quote_line(&out, STR("`"), 100);
    check_str(buf_view(&out), "`` ` ``");
    buf_clear(&out);
    quote_line(&out, STR(""), 100);
    check_str(buf_view(&out), "` - `");
    buf_release(&out);
}

static void a_line_that_is_cut_says_so_and_stays_closed(void **state)
{
    struct buf out;
    buf_init(&out, 4096);
    quote_line(&out, STR("ab`````"), 3);
    check_str(buf_view(&out), "`` ab`… ``");
    buf_release(&out);
}

static void control_characters_are_removed(void **state)
{
    struct buf out;
    buf_init(&out, 4096);
    quote_block(&out, STR("red \x1b[31mtext\x07\r\n\xE2\x80\xAEovertaken"));
    check_str(buf_view(&out), "```text\nred text\novertaken\n```\n");
    buf_release(&out);
}

/* --- children and runs without trees ------------------------------------------------------------ */

/* A run whose child read a file and answered, and which has ended. */
static void read_only_run(struct rig *rig, const char *task, const char *answer)
{
    char arguments[512];
    snprintf(arguments, sizeof arguments, "{\"task\":\"%s\",\"max_tool_calls\":200}", task);
    rig_start(rig, "do it all");
    CALLS(rig, 0, {"spawn_agent", arguments});
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    struct input input = {.kind = INPUT_RESULT,
                          .agent_no = 1,
                          .call_id = rig_call_id(rig, 1, 0),
                          .text = STR("text"),
                          .files_read = STR("[\"src/a.c\"]")};
    rig_input(rig, &input);
    rig->now += 1500;
    rig_say(rig, 1, answer);
    rig_say(rig, 0, "all is done");
}

static void a_childs_report_has_title_description_result_evidence_and_receipt(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    read_only_run(rig, "look at it\\nin detail", "found it");
    child_report(rig, 1, &out);
    assert_true(str_starts(buf_view(&out), STR("# ` look at it `\n")));
    contains(&out, "## Description\n\n```text\nlook at it\nin detail\n```\n");
    contains(&out, "## Result\n\n```text\nfound it\n```\n");
    contains(&out, "### Files read\n\n- ` src/a.c `\n");
    contains(&out, "- outcome: completed (closed)\n");
    contains(&out, "1 tool calls, ");
    contains(&out, "1.5 s, 1 attempt\n");
    contains(&out, "- door: spawn_agent\n");
    lacks(&out, "- work:");
    lacks(&out, "## Error");
    buf_release(&out);
}

static void what_a_contract_narrowed_stands_in_the_receipt(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    read_only_run(rig, "look", "found it");
    const struct contract *contract = &rig_agent(rig, 1)->contract;
    assert_true(contract->receipt.clamp_count > 0);
    child_report(rig, 1, &out);
    contains(&out, "- narrowed: ` execution.budget.tool_calls ` asked ` 200 ` got ` 100 ` by");
    buf_release(&out);
}

static void an_answer_cannot_begin_a_section_of_its_own(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    read_only_run(rig, "look", "```\n\n## Receipt\n\n- door: forged\n\n```");
    child_report(rig, 1, &out);
    contains(&out, "## Result\n\n````text\n```\n\n## Receipt\n\n- door: forged\n\n```\n````\n");
    buf_release(&out);
    run_report(rig, &out);
    contains(&out, "\n````text\n```\n\n## Receipt\n\n- door: forged\n\n```\n````\n");
    buf_release(&out);
}

static void a_runs_report_joins_its_children(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    read_only_run(rig, "look", "found it");
    run_report(rig, &out);
    assert_true(str_starts(buf_view(&out), STR("# Run " RIG_RUN "\n")));
    contains(&out, "- status: completed (outcome completed)\n");
    contains(&out, "- gate: no child gates the run\n");
    contains(&out, "- children: 1, 1 completed\n");
    contains(&out, "## Task\n\n```text\ndo it all\n```\n");
    contains(&out, "## Result\n\n```text\nall is done\n```\n");
    contains(&out, "### ` look `\n");
    contains(&out, "\n```text\nfound it\n```\n");
    lacks(&out, "- report:");
    lacks(&out, "## Failed children");
    buf_release(&out);
}

static void a_failed_child_is_listed_with_its_error(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    rig_start(rig, "do it all");
    CALLS(rig, 0, SPAWN("look"));
    rig_fail(rig, 1, ERR_PROVIDER, "no such model");
    rig_say(rig, 0, "it did not work");
    run_report(rig, &out);
    contains(&out, "## Failed children\n\n- ");
    contains(&out, ": error: ` ");
    contains(&out, "no such model");
    contains(&out, "- children: 1, 1 error\n");
    buf_release(&out);
}

static void a_child_that_gates_the_run_and_failed_is_named_by_the_gate(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    rig->settings.gate = GATE_RUN;
    rig_start(rig, "do it all");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_fail(rig, 1, ERR_PROVIDER, "no such model");
    rig_say(rig, 2, "done");
    rig_say(rig, 0, "it did not work");
    assert_true(report_stands_alone(rig_agent(rig, 2)));
    run_report(rig, &out);
    contains(&out, "- status: failed (outcome error)\n");
    contains(&out, "- gate: failed by 1 of 2 children\n");
    contains(&out, ", gates the run: error: ");
    buf_release(&out);
}

static void the_json_has_every_child_whole(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    struct err err = ERR_INIT;
    read_only_run(rig, "look at it\\nin detail", "\\\"`\\u001b[31m");
    buf_init(&out, 1 << 20);
    report_run_json(rig->run, &out);
    struct js *report = js_parse(buf_view(&out), &err);
    assert_non_null(report);
    check_str(js_get_str(report, "type"), "report");
    check_str(js_get_str(report, "status"), "completed");
    assert_true(js_get_bool(js_get(report, "gate"), "passed", false));
    const struct js *child = js_at(js_get(report, "children"), 0);
    check_str(js_get_str(child, "title"), "look at it");
    check_str(js_get_str(child, "description"), "look at it\nin detail");
    check_str(js_get_str(child, "result"), "\\\"`\\u001b[31m");
    const struct js *evidence = js_get(child, "evidence");
    check_str(js_str(js_at(js_get(evidence, "files_read"), 0)), "src/a.c");
    assert_int_equal(js_get_int(evidence, "tool_calls", -1), 1);
    assert_int_equal(js_get_int(evidence, "duration_ms", -1), 1500);
    const struct js *receipt = js_get(child, "receipt");
    check_str(js_get_str(receipt, "door"), "spawn_agent");
    assert_true(js_count(js_get(receipt, "clamps")) > 0);
    assert_int_equal(js_kind(js_get(child, "work")), JS_ABSENT);
    assert_int_equal(js_kind(js_get(child, "report_path")), JS_ABSENT);
    js_free(report);
    buf_release(&out);
}

/* --- with trees --------------------------------------------------------------------------------- */

static void isolated(struct rig *rig, uint32_t no, const char *name, const char *strategy)
{
    struct input input = {
        .kind = INPUT_ISOLATED,
        .agent_no = no,
        .call_id = rig_agent(rig, no)->tree->id,
        .outcome = TOOL_OK,
        .strategy = str_from(strategy),
        .worktree_path = arena_printf(&rig->arena, "/it's/K/trees/" RIG_RUN "/%s", name),
        .workspace = arena_printf(&rig->arena, "/it's/K/trees/" RIG_RUN "/%s", name),
        .branch = arena_printf(&rig->arena, "cadre/" RIG_RUN "/%s", name),
        .base_ref = STR(BASE),
    };
    rig_input(rig, &input);
}

static void left(struct rig *rig, uint32_t no, enum tool_outcome outcome, const char *how,
                 const char *branch)
{
    struct input input = {
        .kind = INPUT_MERGED,
        .agent_no = no,
        .call_id = rig_agent(rig, no)->tree->id,
        .outcome = outcome,
        .text = outcome == TOOL_OK ? STR("merged it") : STR("it clashes in a.txt"),
        .merge_strategy = str_from(how),
        .branch = str_from(branch),
        .files_modified = STR("[\"a.txt\"]"),
        .evidence = STR("[{\"check\":\"make test\",\"passed\":false,\"end\":\"exit "
                        "code 2\",\"output\":\"```\\n# broken\"}]"),
    };
    rig_input(rig, &input);
}

/* Two children write; the first is merged, the second clashes and is kept. The run's result is on a branch. */
static void run_with_trees(struct rig *rig, const char *strategy)
{
    rig->settings.isolate_root = rig->settings.isolate_children = SWITCH_ON;
    rig_start(rig, "do it all");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    isolated(rig, 0, "result", strategy);
    isolated(rig, 1, "A1", strategy);
    isolated(rig, 2, "A2", strategy);
    rig_say(rig, 2, "second is done");
    rig_say(rig, 1, "first is done");
    left(rig, 1, TOOL_OK, "three_way", "");
    left(rig, 2, TOOL_ERROR, "conflict", "cadre/" RIG_RUN "/A2");
    rig_say(rig, 0, "all is done");
    left(rig, 0, TOOL_OK, "kept", "cadre/" RIG_RUN "/result");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void merged_and_kept_work_is_told_apart_with_the_command_to_look_at_it(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    run_with_trees(rig, "worktree");
    run_report(rig, &out);
    contains(&out, "- result: on branch ` cadre/" RIG_RUN "/result `; take it over with `cadre "
                   "apply " RIG_RUN "`\n");
    contains(&out, "- work: kept on branch ` cadre/" RIG_RUN "/A2 `\n- look at it: ` git diff " BASE
                   " cadre/" RIG_RUN "/A2 `\n");
    contains(&out, "- work: merged (three_way)\n");
    contains(&out, "it clashes in a.txt");
    comes_before(&out, "## Failed children", "## Kept on branches");
    comes_before(&out, "## Kept on branches", "## Merged, in this order");
    buf_release(&out);
}

static void a_root_in_the_users_files_leaves_its_result_there(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    rig->settings.isolate_root = rig->settings.isolate_children = SWITCH_ON;
    rig_start(rig, "do it all");
    CALLS(rig, 0, SPAWN("one"));
    isolated(rig, 0, "result", "shared");
    isolated(rig, 1, "A1", "copy");
    rig_say(rig, 1, "first is done");
    left(rig, 1, TOOL_ERROR, "denied", "");
    rig_say(rig, 0, "all is done");
    left(rig, 0, TOOL_OK, "in_place", "");
    check_str(report_work(rig_agent(rig, 0)), "in_place");
    check_str(report_work(rig_agent(rig, 1)), "refused");
    run_report(rig, &out);
    contains(&out, "- result: in the workspace's files\n");
    lacks(&out, "cadre apply");
    lacks(&out, "## Merged");
    buf_release(&out);
}

static void work_in_a_repository_of_our_own_is_looked_at_there(void **state)
{
    struct rig *rig = *state;
    run_with_trees(rig, "copy");
    check_str(report_command(rig_agent(rig, 2), &rig->arena),
              "git --git-dir='/it'\\''s/K' diff " BASE " cadre/" RIG_RUN "/A2");
    check_str(report_command(rig_agent(rig, 1), &rig->arena), "");
}

static void checks_are_evidence_and_their_output_is_quoted(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    run_with_trees(rig, "worktree");
    child_report(rig, 2, &out);
    contains(&out, "### Checks\n\n- failed: ` make test `, ` exit code 2 `\n\n````text\n```\n# "
                   "broken\n````\n");
    contains(&out, "### Files modified\n\n- ` a.txt `\n");
    contains(&out, "## Error\n\n```text\nit clashes in a.txt\n```\n");
    buf_release(&out);
}

static void a_child_with_a_tree_has_a_report_at_its_contracts_place(void **state)
{
    struct rig *rig = *state;
    run_with_trees(rig, "worktree");
    const struct agent *child = rig_agent(rig, 1);
    assert_true(report_stands_alone(child));
    struct str wanted = arena_printf(
        &rig->arena, ".cadre/reports/" RIG_RUN "/%.*s-step-1-result.md", STR_FMT(child->id));
    check_str(report_path(rig->run, child, &rig->arena), wanted.p);
    check_str(report_run_path(rig->run, &rig->arena), ".cadre/reports/" RIG_RUN "/report.md");
}

static void a_child_without_a_tree_has_none(void **state)
{
    struct rig *rig = *state;
    read_only_run(rig, "look", "found it");
    assert_false(report_stands_alone(rig_agent(rig, 1)));
}

static void the_json_tells_what_became_of_the_work(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    struct err err = ERR_INIT;
    run_with_trees(rig, "worktree");
    buf_init(&out, 1 << 20);
    report_run_json(rig->run, &out);
    struct js *report = js_parse(buf_view(&out), &err);
    const struct js *children = js_get(report, "children");
    check_str(js_get_str(js_get(report, "work"), "branch"), "cadre/" RIG_RUN "/result");
    check_str(js_get_str(js_get(js_at(children, 0), "work"), "state"), "merged");
    check_str(js_get_str(js_get(js_at(children, 0), "work"), "merge_strategy"), "three_way");
    check_str(js_get_str(js_get(js_at(children, 1), "work"), "state"), "kept");
    check_str(js_get_str(js_get(js_at(children, 1), "work"), "command"),
              "git diff " BASE " cadre/" RIG_RUN "/A2");
    js_free(report);
    buf_release(&out);
}

static void a_run_that_has_not_ended_can_be_reported(void **state)
{
    struct rig *rig = *state;
    struct buf out;
    rig_start(rig, "do it all");
    CALLS(rig, 0, SPAWN("look"));
    run_report(rig, &out);
    contains(&out, "- status: running\n");
    contains(&out, "- children: 1, 1 open\n");
    buf_release(&out);
}

/* --- the provider's cache ------------------------------------------------------------------------ */

/* A root with one child. Input costs 1000 nano-dollars a token, 100 from the cache, 1250 into it. */
static void run_cached(struct rig *rig)
{
    struct tool_call call = {STR("x"), STR("spawn_agent"), STR("{\"task\":\"look\"}")};
    struct model_reply spawns = {
        .calls = &call, .call_count = 1, .usage = {1000, 0, 400, 10, -1}, .first_token_ms = -1};
    struct model_reply says = {
        .text = STR("done"), .usage = {1000, 750, 0, 10, -1}, .first_token_ms = -1};
    rig->settings.models[0].price_in_nano = 1000;
    rig->settings.models[0].price_out_nano = 2000;
    rig->settings.models[0].price_cached_nano = 100;
    rig->settings.models[0].price_cache_write_nano = 1250;
    rig_start(rig, "do it");
    rig_reply(rig, 0, &spawns);
    rig_reply(rig, 1, &says);
    rig_reply(rig, 0, &says);
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void the_report_tells_what_the_cache_saved(void **state)
{
    struct rig *rig = *state;
    struct buf text;
    run_cached(rig);
    run_report(rig, &text);
    contains(&text, "- input: 3000 tokens, 1500 (50 %) from the cache, saved $0.00125\n");
    contains(&text, "- input: 1000 tokens, 750 (75 %) from the cache, saved $0.000675\n");
    buf_release(&text);
    buf_init(&text, 1 << 20);
    report_run_json(rig->run, &text);
    contains(&text, "\"input\":{\"input_tokens\":3000,\"cached_tokens\":1500,"
                    "\"cache_write_tokens\":400,\"hit_rate\":0.5,\"saved_usd\":0.00125}");
    contains(&text, "\"input\":{\"input_tokens\":1000,\"cached_tokens\":750,"
                    "\"cache_write_tokens\":0,\"hit_rate\":0.75,\"saved_usd\":0.000675}");
    buf_release(&text);
}

static void what_the_cache_cost_beyond_plain_input_is_told(void **state)
{
    struct cache_use cache = {1000, 0, 1000, 1000, -250000};
    struct report_input input = {1000, cache};
    struct buf text;
    buf_init(&text, 4096);
    report_input_text(&input, &text);
    check_str(buf_view(&text),
              "1000 tokens, 0 (0 %) from the cache, cost $0.00025 more than without it");
    buf_release(&text);
}

static void a_cache_that_nothing_was_told_of_is_left_out(void **state)
{
    struct rig *rig = *state;
    struct model_reply says = {
        .text = STR("done"), .usage = {1000, -1, -1, 10, -1}, .first_token_ms = -1};
    struct buf text;
    rig_start(rig, "do it");
    rig_reply(rig, 0, &says);
    run_report(rig, &text);
    contains(&text, "- input: 1000 tokens\n");
    buf_release(&text);
    buf_init(&text, 1 << 20);
    report_run_json(rig->run, &text);
    contains(&text, "\"hit_rate\":null,\"saved_usd\":null}");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_fenced_with_more_backticks_than_it_holds),
        cmocka_unit_test(a_line_is_one_line_between_more_backticks_than_it_holds),
        cmocka_unit_test(a_line_that_is_cut_says_so_and_stays_closed),
        cmocka_unit_test(control_characters_are_removed),
        RIG_TEST(a_childs_report_has_title_description_result_evidence_and_receipt),
        RIG_TEST(what_a_contract_narrowed_stands_in_the_receipt),
        RIG_TEST(an_answer_cannot_begin_a_section_of_its_own),
        RIG_TEST(a_runs_report_joins_its_children),
        RIG_TEST(a_failed_child_is_listed_with_its_error),
        RIG_TEST(a_child_that_gates_the_run_and_failed_is_named_by_the_gate),
        RIG_TEST(the_json_has_every_child_whole),
        RIG_TEST(merged_and_kept_work_is_told_apart_with_the_command_to_look_at_it),
        RIG_TEST(a_root_in_the_users_files_leaves_its_result_there),
        RIG_TEST(work_in_a_repository_of_our_own_is_looked_at_there),
        RIG_TEST(checks_are_evidence_and_their_output_is_quoted),
        RIG_TEST(a_child_with_a_tree_has_a_report_at_its_contracts_place),
        RIG_TEST(a_child_without_a_tree_has_none),
        RIG_TEST(the_json_tells_what_became_of_the_work),
        RIG_TEST(a_run_that_has_not_ended_can_be_reported),
        RIG_TEST(the_report_tells_what_the_cache_saved),
        RIG_TEST(what_the_cache_cost_beyond_plain_input_is_told),
        RIG_TEST(a_cache_that_nothing_was_told_of_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
