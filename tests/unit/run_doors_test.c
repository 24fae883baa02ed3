/* fan_out, delegate_task and the roles, by the behaviour that the specifications name: who runs when, what the caller reads, what is
 * refused. What an agent does about children that it has is run_door_children_test.c. */
#include "run_fixture.h"

/* A root whose first reply makes this call. */
static void call_door(struct rig *rig, const char *door, const char *arguments)
{
    rig_open_doors(rig);
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {door, arguments});
}

static const struct event *answer(const struct rig *rig, uint32_t agent_no)
{
    return rig_last(rig, agent_no, EVENT_TOOL_FINISHED);
}

/* How many children work right now. */
static size_t at_work(const struct rig *rig)
{
    size_t n = 0;
    for (uint32_t no = 1; no < run_agent_count(rig->run); no++)
        n += rig_agent(rig, no)->phase == PHASE_ASKING;
    return n;
}

/* --- fan_out --------------------------------------------------------------------------------------- */

#define FOUR_TASKS                                                                                 \
    "\"tasks\":[{\"role\":\"researcher\",\"task\":\"one\"},{\"task\":\"two\"},{\"task\":"          \
    "\"three\"},{\"task\":\"four\"}]"

static struct js *fan_results(const struct rig *rig)
{
    struct err err = ERR_INIT;
    struct js *doc = js_parse(answer(rig, 0)->text, &err);
    if (doc == NULL)
        fail_msg("fan_out answered no JSON: %.*s", STR_FMT(answer(rig, 0)->text));
    return doc;
}

static const struct js *result_at(const struct js *doc, size_t i)
{
    return js_at(js_get(doc, "results"), i);
}

static void fan_out_runs_no_more_than_its_argument_at_once(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{" FOUR_TASKS ",\"max_concurrent\":2}");
    assert_int_equal(at_work(rig), 2);
    rig_say(rig, 2, "second");
    assert_int_equal(at_work(rig), 2);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 3);
    rig_say(rig, 1, "first");
    rig_say(rig, 3, "third");
    assert_int_equal(at_work(rig), 1);
    rig_say(rig, 4, "fourth");
    check_str(answer(rig, 0)->outcome, "ok");
}

static void the_argument_only_lowers_the_configured_limit(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 2;
    call_door(rig, "fan_out", "{" FOUR_TASKS ",\"max_concurrent\":50}");
    assert_int_equal(at_work(rig), 2);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 2);
    rig_say(rig, 1, "first");
    assert_int_equal(at_work(rig), 2);
}

static void without_an_argument_fan_out_runs_three_at_once(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{" FOUR_TASKS "}");
    assert_int_equal(at_work(rig), 3);
}

static void results_come_in_the_order_of_the_tasks(void **state)
{
    struct rig *rig = *state;
    static const char *const texts[] = {"first", "second", "third", "fourth"};
    call_door(rig, "fan_out", "{" FOUR_TASKS "}");
    rig_say(rig, 3, texts[2]);
    rig_say(rig, 4, texts[3]);
    rig_say(rig, 2, texts[1]);
    rig_say(rig, 1, texts[0]);
    struct js *doc = fan_results(rig);
    for (size_t i = 0; i < 4; i++)
        check_str(js_get_str(result_at(doc, i), "summary"), texts[i]);
    js_free(doc);
}

static void a_failure_in_fan_out_stops_no_other_task(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{" FOUR_TASKS ",\"max_concurrent\":1}");
    rig_say(rig, 1, "first");
    rig_fail(rig, 2, ERR_PROVIDER, "wrong key");
    rig_say(rig, 3, "third");
    rig_say(rig, 4, "fourth");
    struct js *doc = fan_results(rig);
    const struct js *failed = result_at(doc, 1);
    assert_false(js_bool(js_get(failed, "success"), true));
    check_str(js_get_str(failed, "summary"), "Task failed: wrong key");
    check_str(js_get_str(failed, "error"), "wrong key");
    assert_true(js_bool(js_get(result_at(doc, 3), "success"), false));
    assert_int_equal(js_get_int(doc, "succeeded", -1), 3);
    assert_int_equal(js_get_int(doc, "failed", -1), 1);
    js_free(doc);
    check_str(answer(rig, 0)->outcome, "ok");
}

static void fan_out_answers_with_the_fields_and_totals_of_the_specification(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{\"tasks\":[{\"role\":\"researcher\",\"task\":\"one\"},\"two\"]}");
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "fine");
    rig->now += 1500;
    rig_say(rig, 1, "found");
    rig->now += 1000;
    rig_say(rig, 2, "done");
    struct js *doc = fan_results(rig);
    const struct js *first = result_at(doc, 0);
    assert_true(js_bool(js_get(first, "success"), false));
    check_str(js_get_str(first, "role"), "researcher");
    check_str(js_get_str(first, "summary"), "found");
    check_str(js_get_str(js_get(first, "details"), "full_response"), "found");
    check_str(js_get_str(js_get(first, "details"), "task_id"), rig_agent(rig, 1)->task_id.p);
    assert_int_equal(js_get_int(first, "tool_calls_used", -1), 1);
    assert_true(js_get_int(first, "context_size", -1) > 0);
    assert_true(js_real(js_get(first, "duration_seconds"), 0) == 1.5);
    assert_int_equal(js_kind(js_get(first, "error")), JS_NULL);
    assert_int_equal(js_get_int(doc, "total_tool_calls", -1), 1);
    assert_true(js_real(js_get(doc, "total_duration_seconds"), 0) == 2.5);
    js_free(doc);
}

static void a_task_that_is_refused_is_one_failure_and_an_event(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out",
              "{\"tasks\":[{\"role\":\"pilot\",\"task\":\"one\"},7,{\"task\":\" \"},"
              "{\"task\":\"x\",\"max_tool_calls\":0},{\"task\":\"x\",\"max_tool_calls\":\"abc\"},"
              "{\"task\":\"fine\"}]}");
    static const char *const says[] = {"unknown role \"pilot\"",
                                       "a task must be an object, not a number",
                                       "task must not be empty", "maxToolCalls must be positive",
                                       "max_tool_calls must be a number, not a string"};
    assert_int_equal(rig_count(rig, EVENT_ITEM_REFUSED), 5);
    assert_int_equal(rig_last(rig, 0, EVENT_ITEM_REFUSED)->depth, 1);
    rig_say(rig, 1, "done");
    struct js *doc = fan_results(rig);
    for (size_t i = 0; i < 5; i++) {
        struct str summary = js_get_str(result_at(doc, i), "summary");
        assert_true(str_starts(summary, STR("Task failed: ")));
        rig_contains(summary, says[i]);
    }
    assert_true(js_bool(js_get(result_at(doc, 5), "success"), false));
    js_free(doc);
    check_str(answer(rig, 0)->outcome, "ok");
}

static void when_every_task_is_refused_the_call_is_an_error(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{\"tasks\":[{\"role\":\"pilot\",\"task\":\"one\"}]}");
    check_str(answer(rig, 0)->outcome, "error");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void many_long_results_are_cut_so_that_the_parent_can_read_them(void **state)
{
    struct rig *rig = *state;
    char text[30001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    call_door(rig, "fan_out", "{" FOUR_TASKS "}");
    for (uint32_t no = 1; no <= 4; no++)
        rig_say(rig, no, text);
    rig_contains(answer(rig, 0)->text, "(cut here; agent_result has all of it)");
    assert_true(answer(rig, 0)->text.n < 70000);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

/* --- delegate_task --------------------------------------------------------------------------------- */

#define TWO_SUBTASKS                                                                               \
    "{\"plan\":\"understand it\",\"subtasks\":[{\"task\":\"list files\"},"                         \
    "{\"task\":\"analyse\",\"depends_on\":0}]}"
#define THREE_FREE                                                                                 \
    "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"one\"},{\"task\":\"two\"},{\"task\":\"three\"}]}"

static void subtasks_run_one_after_the_other(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "delegate_task", THREE_FREE);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 1);
    rig_say(rig, 1, "found 5 files");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 2);
    rig_say(rig, 2, "uses JWT");
    rig_say(rig, 3, "done");
    struct str text = answer(rig, 0)->text;
    rig_contains(text, "## Subtask 1: one\nfound 5 files");
    rig_contains(text, "## Subtask 2: two\nuses JWT");
    rig_contains(text, "## Summary\n3 of 3 subtasks completed, 0 tool calls.");
    check_str(answer(rig, 0)->outcome, "ok");
}

static void delegate_concurrency_lets_free_subtasks_overlap(void **state)
{
    struct rig *rig = *state;
    rig->settings.delegate_concurrency = 2;
    call_door(rig, "delegate_task", THREE_FREE);
    assert_int_equal(at_work(rig), 2);
    rig_say(rig, 2, "second");
    assert_int_equal(at_work(rig), 2);
}

static void a_subtask_waits_for_the_one_that_it_depends_on(void **state)
{
    struct rig *rig = *state;
    rig->settings.delegate_concurrency = 5;
    call_door(rig, "delegate_task",
              "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"last\",\"depends_on\":1},"
              "{\"task\":\"first\"}]}");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CREATED)->objective,
              "first\n\nThis is part of a larger goal: p");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 1);
    rig_say(rig, 1, "done");
    assert_int_equal(rig_last(rig, 2, EVENT_SUBAGENT_CREATED)->item, 0);
}

static void the_result_of_a_prerequisite_stands_in_the_next_task(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "delegate_task", TWO_SUBTASKS);
    rig_say(rig, 1, "File list: a.ts, b.ts");
    rig_contains(rig_agent(rig, 2)->messages[1].text, "analyse");
    rig_contains(rig_agent(rig, 2)->messages[1].text, "File list: a.ts, b.ts");
}

static void a_subtask_that_depends_on_nothing_sees_no_other_result(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "delegate_task", THREE_FREE);
    rig_say(rig, 1, "SECRET");
    struct str text = rig_agent(rig, 2)->messages[1].text;
    assert_null(memmem(text.p, text.n, "SECRET", 6));
}

static void a_failed_subtask_stops_what_has_not_started(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "delegate_task", THREE_FREE);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 1);
    struct str text = answer(rig, 0)->text;
    rig_contains(text, "[ERROR] Sub-agent failed: wrong key");
    rig_contains(text, "## Subtask 3: three\nSkipped: an earlier subtask failed.");
    rig_contains(text, "0 of 3 subtasks completed, 0 tool calls; stopped on an error.");
    check_str(answer(rig, 0)->outcome, "error");
}

static void what_runs_beside_a_failed_subtask_goes_on_to_its_end(void **state)
{
    struct rig *rig = *state;
    rig->settings.delegate_concurrency = 2;
    call_door(rig, "delegate_task", THREE_FREE);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    assert_int_equal(at_work(rig), 1);
    rig_say(rig, 2, "second is done");
    rig_contains(answer(rig, 0)->text, "second is done");
    rig_contains(answer(rig, 0)->text, "1 of 3 subtasks completed");
}

static void a_subtask_that_spent_its_budget_is_no_failure(void **state)
{
    struct rig *rig = *state;
    rig->settings.child.tool_calls = 1;
    call_door(rig, "delegate_task", TWO_SUBTASKS);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "fine");
    rig_say(rig, 1, "as far as I came");
    rig_say(rig, 2, "done");
    rig_contains(answer(rig, 0)->text, "[BUDGET EXCEEDED] as far as I came");
    rig_contains(answer(rig, 0)->text, "2 of 2 subtasks completed");
}

/* --- effort ---------------------------------------------------------------------------------------- */

static void each_door_takes_an_effort_for_its_children(void **state)
{
    static const struct {
        const char *door, *arguments;
    } rows[] = {
        {"spawn_agent", "{\"task\":\"a\",\"effort\":\"high\"}"},
        {"fan_out", "{\"tasks\":[{\"task\":\"b\",\"effort\":\"high\"}]}"},
        {"delegate_task", "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"c\",\"effort\":\"high\"}]}"},
    };
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CALLS(rig, 0, {rows[i].door, rows[i].arguments});
        if (!str_is(rig_agent(rig, i + 1)->contract.model.params.effort, "high"))
            fail_msg("%s lost the effort", rows[i].door);
        rig_say(rig, i + 1, "done");
    }
    assert_null(rig_agent(rig, 0)->contract.model.params.effort.p);
}

/* --- bad input ------------------------------------------------------------------------------------- */

struct bad {
    const char *door, *arguments, *says;
};

#define SUBTASK(rest) "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"a\"}," rest "]}"

static const struct bad bad_calls[] = {
    {"fan_out", "{}", "tasks must be an array of {\"role\", \"task\"}, not nothing"},
    {"fan_out", "{\"tasks\":\"one\"}", "not a string"},
    {"fan_out", "{\"tasks\":[]}", "not an empty one"},
    {"fan_out", "{\"tasks\":[\"a\"],\"max_concurrent\":0}", "max_concurrent must be positive"},
    {"fan_out", "{\"tasks\":[\"a\"],\"max_concurrent\":-3}", "max_concurrent must be positive"},
    {"fan_out", "{\"tasks\":[\"a\"],\"max_concurrent\":\"abc\"}", "must be a number, not a string"},
    {"fan_out", "{\"tasks\":[\"a\"],\"max_concurrent\":1e300}", "max_concurrent is out of range"},
    {"fan_out", "{\"tasks\":[\"a\"],\"max_concurrent\":NaN}", "not a JSON object"},
    {"fan_out", "{\"tasks\":[\"a\"],\"limit\":1}", "unknown argument \"limit\""},
    {"fan_out", "{\"tasks\":[\"\xff\"]}", "not a JSON object"},
    {"delegate_task", "{}", "subtasks must be an array of {\"task\"}, not nothing"},
    {"delegate_task", "{\"plan\":7,\"subtasks\":[{\"task\":\"a\"}]}", "plan must be a string"},
    {"delegate_task", "{\"plan\":\"p\",\"subtasks\":[\"a\"]}", "subtasks[0] must be an object"},
    {"delegate_task", SUBTASK("{\"task\":\"\"}"), "subtasks[1]: task must not be empty"},
    {"delegate_task", SUBTASK("{\"task\":7}"), "subtasks[1]: task must be a string"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":1}"), "index of another subtask"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":-1}"), "index of another subtask"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":2}"), "index of another subtask"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":0.5}"), "must be a whole number"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":-0.5}"), "must be a whole number"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"depends_on\":\"the first\"}"), "must be a number"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"role\":\"tester\"}"), "unknown argument \"role\""},
    {"delegate_task",
     "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"a\",\"depends_on\":2},"
     "{\"task\":\"b\",\"depends_on\":0},{\"task\":\"c\",\"depends_on\":1}]}",
     "depends_on goes in a circle"},
    {"delegate_task",
     SUBTASK("{\"task\":\"b\"},{\"task\":\"c\"},{\"task\":\"d\"},{\"task\":\"e\"},"
             "{\"task\":\"f\"}"),
     "Maximum 5 subtasks"},
    {"spawn_agent", "{\"task\":\"x\",\"effort\":\"enormous\"}",
     "effort must be one of none, minimal, low"},
    {"delegate_task", SUBTASK("{\"task\":\"b\",\"effort\":7}"),
     "subtasks[1]: effort must be a string"},
    {"spawn_agent", "{\"task\":\"x\",\"role\":\"pilot\"}", "unknown role \"pilot\""},
    {"spawn_agent", "{\"task\":\"x\",\"allowed_tools\":[\"fly\"]}", "unknown tool \"fly\""},
    {"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":-1}", "maxToolCalls must be positive"},
};

/* Answered with a reason, counted like any call, and no child is made: none is ever "unlimited". */
static void bad_arguments_are_refused_with_a_reason_and_counted(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    for (size_t i = 0; i < sizeof bad_calls / sizeof bad_calls[0]; i++) {
        CALLS(rig, 0, {bad_calls[i].door, bad_calls[i].arguments});
        assert_true(str_starts(answer(rig, 0)->text, STR("Error: ")));
        rig_contains(answer(rig, 0)->text, bad_calls[i].says);
        check_str(answer(rig, 0)->outcome, "error");
        assert_int_equal(rig_agent(rig, 0)->account.tool_calls, i + 1);
    }
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 0);
}

/* The rig gives all calls of a reply the same id, as some providers do. */
static void calls_with_one_id_are_answered_each_on_their_own(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"fan_out", "{\"tasks\":[\"one\"]}"}, {"fan_out", "{\"tasks\":[\"two\"]}"},
          {"fan_out", "{\"tasks\":[]}"});
    rig_say(rig, 2, "second");
    rig_say(rig, 1, "first");
    const struct agent *root = rig_agent(rig, 0);
    assert_int_equal(root->message_count, 6);
    rig_contains(root->messages[3].text, "\"summary\":\"first\"");
    rig_contains(root->messages[4].text, "\"summary\":\"second\"");
    rig_contains(root->messages[5].text, "not an empty one");
}

static void huge_arguments_are_refused(void **state)
{
    static const struct {
        const char *key;
        size_t bytes;
    } rows[] = {{"scope", 5000}, {"context", 70000}, {"role", 100000}, {"task", 1100000}};
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.models[0].max_context_tokens = 1000000; /* nothing is compacted in between */
    rig_start(rig, "do it");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf arguments;
        buf_init(&arguments, 2 << 20);
        buf_printf(&arguments, "{\"tasks\":[{%s\"%s\":\"",
                   strcmp(rows[i].key, "task") == 0 ? "" : "\"task\":\"x\",", rows[i].key);
        for (size_t n = 0; n < rows[i].bytes; n++)
            buf_char(&arguments, 'x');
        buf_text(&arguments, "\"}]}");
        CALLS(rig, 0, {"fan_out", arguments.p});
        rig_contains(answer(rig, 0)->text, "Task failed: ");
        assert_true(answer(rig, 0)->text.n < 2000);
        buf_release(&arguments);
    }
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 0);
}

/* --- nesting and slots ----------------------------------------------------------------------------- */

static void beyond_the_depth_every_door_is_refused_in_the_words_of_the_contract(void **state)
{
    static const char *const doors[] = {"fan_out", "delegate_task", "spawn_agent", "spawn"};
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{\"tasks\":[\"one\"]}");
    CALLS(rig, 1, {"delegate_task", "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"deeper\"}]}"});
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        CALLS(rig, 2, {doors[i], "{\"tasks\":[\"too deep\"],\"task\":\"x\"}"});
        check_str(answer(rig, 2)->text, "Error: Maximum sub-agent depth (2) exceeded");
        assert_int_equal(rig_last(rig, 2, EVENT_PERMISSION_DENIED)->depth, 2);
    }
    rig_say(rig, 2, "deep");
    rig_say(rig, 1, "less deep");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

/* Each door awaits its children inside a child, with one slot in all. */
static void with_one_slot_every_door_makes_progress_inside_a_child(void **state)
{
    static const struct rig_call calls[] = {
        SPAWN("deeper"),
        {"fan_out", "{\"tasks\":[\"deeper\",\"deeper too\"]}"},
        {"delegate_task", "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"a\"},{\"task\":\"b\"}]}"},
    };
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    call_door(rig, "fan_out", "{\"tasks\":[\"one\"]}");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        uint32_t next = run_agent_count(rig->run);
        rig_calls(rig, 1, &calls[i], 1);
        while (rig_agent(rig, 1)->phase == PHASE_TOOLS) {
            assert_int_equal(at_work(rig), 1);
            rig_say(rig, next++, "answer");
        }
        assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    }
    rig_say(rig, 1, "all done");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void a_stopped_parent_starts_no_further_task(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    call_door(rig, "fan_out", "{" FOUR_TASKS "}");
    rig_inbox(rig, "cancel", "{}");
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 1);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 1);
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

/* --- crashes --------------------------------------------------------------------------------------- */

static void fan_out_goes_on_after_a_crash_where_it_was(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "fan_out", "{" FOUR_TASKS ",\"max_concurrent\":2}");
    rig_say(rig, 1, "first");
    rig_crash(rig, 5000);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 3);
    assert_int_equal(at_work(rig), 2);
    rig_say(rig, 3, "third");
    rig_crash(rig, 5000);
    rig_say(rig, 2, "second");
    rig_say(rig, 4, "fourth");
    struct js *doc = fan_results(rig);
    check_str(js_get_str(result_at(doc, 0), "summary"), "first");
    check_str(js_get_str(result_at(doc, 3), "summary"), "fourth");
    js_free(doc);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 4);
}

static void delegate_task_goes_on_after_a_crash_with_what_was_found(void **state)
{
    struct rig *rig = *state;
    call_door(rig, "delegate_task", TWO_SUBTASKS);
    rig_crash(rig, 5000);
    rig_say(rig, 1, "File list: a.ts");
    rig_crash(rig, 5000);
    rig_contains(rig_agent(rig, 2)->messages[1].text, "File list: a.ts");
    rig_say(rig, 2, "analysed");
    rig_contains(answer(rig, 0)->text, "2 of 2 subtasks completed");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 2);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(fan_out_runs_no_more_than_its_argument_at_once),
        RIG_TEST(the_argument_only_lowers_the_configured_limit),
        RIG_TEST(without_an_argument_fan_out_runs_three_at_once),
        RIG_TEST(results_come_in_the_order_of_the_tasks),
        RIG_TEST(a_failure_in_fan_out_stops_no_other_task),
        RIG_TEST(fan_out_answers_with_the_fields_and_totals_of_the_specification),
        RIG_TEST(a_task_that_is_refused_is_one_failure_and_an_event),
        RIG_TEST(when_every_task_is_refused_the_call_is_an_error),
        RIG_TEST(many_long_results_are_cut_so_that_the_parent_can_read_them),
        RIG_TEST(subtasks_run_one_after_the_other),
        RIG_TEST(delegate_concurrency_lets_free_subtasks_overlap),
        RIG_TEST(a_subtask_waits_for_the_one_that_it_depends_on),
        RIG_TEST(the_result_of_a_prerequisite_stands_in_the_next_task),
        RIG_TEST(a_subtask_that_depends_on_nothing_sees_no_other_result),
        RIG_TEST(a_failed_subtask_stops_what_has_not_started),
        RIG_TEST(what_runs_beside_a_failed_subtask_goes_on_to_its_end),
        RIG_TEST(a_subtask_that_spent_its_budget_is_no_failure),
        RIG_TEST(bad_arguments_are_refused_with_a_reason_and_counted),
        RIG_TEST(each_door_takes_an_effort_for_its_children),
        RIG_TEST(calls_with_one_id_are_answered_each_on_their_own),
        RIG_TEST(huge_arguments_are_refused),
        RIG_TEST(beyond_the_depth_every_door_is_refused_in_the_words_of_the_contract),
        RIG_TEST(with_one_slot_every_door_makes_progress_inside_a_child),
        RIG_TEST(a_stopped_parent_starts_no_further_task),
        RIG_TEST(fan_out_goes_on_after_a_crash_where_it_was),
        RIG_TEST(delegate_task_goes_on_after_a_crash_with_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
