/* Agents whose contract has outputs.schema: what they are told, how often they are corrected, and that no answer counts which does not
 * match. The matching itself is schema_test.c. */
#include "base/json.h"
#include "run_fixture.h"

#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"

static struct role_outputs of_reviewers[] = {{STR("reviewer"), STR(SCHEMA)}};

static void with_reviewers(struct rig *rig)
{
    rig->settings.role_outputs = of_reviewers;
    rig->settings.role_outputs_count = 1;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    rig_skip(rig);
}

/* A root whose first reply starts a reviewer, number 1, that must answer with {"n": integer}. */
static void review(struct rig *rig)
{
    with_reviewers(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\"}"});
}

static struct str told(const struct rig *rig, uint32_t agent_no)
{
    return rig_last(rig, agent_no, EVENT_AGENT_MESSAGE)->text;
}

static const struct event *failed(const struct rig *rig)
{
    return rig_last(rig, 1, EVENT_SUBAGENT_FAILED);
}

static void the_first_message_shows_the_schema(void **state)
{
    struct rig *rig = *state;
    review(rig);
    struct str prompt = rig_agent(rig, 1)->messages[1].text;
    rig_contains(prompt, "must be one JSON value that matches this JSON Schema");
    rig_contains(prompt, SCHEMA);
    check_str(rig_agent(rig, 1)->contract.outputs.schema, SCHEMA);
}

static void an_answer_that_matches_is_the_response(void **state)
{
    struct rig *rig = *state;
    review(rig);
    rig_say(rig, 1, " {\"n\": 3}\n");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_WAITING)->response, "{\"n\": 3}");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

static void one_fence_around_the_json_is_taken_off(void **state)
{
    static const char *const fenced[] = {"```json\n{\"n\":3}\n```", "```\n{\"n\":3}\n```\n",
                                         "```JSON {\"n\":3}```"};
    struct rig *rig = *state;
    with_reviewers(rig);
    for (size_t i = 0; i < sizeof fenced / sizeof fenced[0]; i++) {
        uint32_t no = run_agent_count(rig->run);
        CALLS(rig, 0, {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\"}"});
        rig_say(rig, no, fenced[i]);
        check_str(rig_agent(rig, no)->response, "{\"n\":3}");
    }
}

static void text_around_the_json_is_no_answer(void **state)
{
    static const char *const wrong[] = {"Here it is: {\"n\":3}", "```json\n{\"n\":3}\n``` done",
                                        "{\"n\":3} {\"n\":3}"};
    struct rig *rig = *state;
    with_reviewers(rig);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint32_t no = run_agent_count(rig->run);
        CALLS(rig, 0, {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\"}"});
        rig_say(rig, no, wrong[i]);
        rig_contains(told(rig, no), "- $: the message is not one JSON value");
        rig_say(rig, no, "{\"n\":3}");
        assert_int_equal(rig_agent(rig, no)->outcome, OUTCOME_COMPLETED);
    }
}

static void a_wrong_answer_is_corrected_twice_and_then_an_error(void **state)
{
    struct rig *rig = *state;
    review(rig);
    rig_say(rig, 1, "{\"n\":\"three\"}");
    rig_contains(told(rig, 1), "- $.n: expected integer, found string");
    rig_say(rig, 1, "{}");
    rig_contains(told(rig, 1), "- $.n: is missing");
    rig_skip(rig);
    rig_say(rig, 1, "{\"n\":null}");
    check_str(failed(rig)->outcome, "error");
    rig_contains(failed(rig)->error, "the answer does not match outputs.schema:\n- $.n: expected "
                                     "integer, found null");
    check_str(failed(rig)->response, "{\"n\":null}");
    assert_int_equal(rig_agent(rig, 1)->attempt, 0);
    assert_int_equal(rig_agent(rig, 1)->account.turns, 3);
    const struct event *finished = rig_last(rig, 0, EVENT_TOOL_FINISHED);
    check_str(finished->outcome, "error");
    rig_contains(finished->text, "[ERROR] Sub-agent failed: the answer does not match");
    rig_contains(finished->text, "What it had written so far: {\"n\":null}");
}

static void a_correction_that_helps_completes(void **state)
{
    struct rig *rig = *state;
    review(rig);
    rig_say(rig, 1, "no json");
    rig_say(rig, 1, "still none");
    rig_say(rig, 1, "{\"n\":7}");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
    check_str(rig_agent(rig, 1)->response, "{\"n\":7}");
}

static void work_between_wrong_answers_does_not_buy_more_corrections(void **state)
{
    struct rig *rig = *state;
    review(rig);
    for (int i = 0; i < 3; i++) {
        CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
        rig_result(rig, 1, 0, "text");
        rig_say(rig, 1, "no json");
    }
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_ERROR);
}

static void in_the_last_turn_a_mismatch_is_an_error_at_once(void **state)
{
    struct rig *rig = *state;
    with_reviewers(rig);
    CALLS(rig, 0,
          {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\",\"max_tool_calls\":1}"});
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "text");
    rig_contains(told(rig, 1), "Answer now with one JSON value that matches the schema");
    rig_say(rig, 1, "I am not done");
    check_str(failed(rig)->outcome, "error");
    rig_contains(
        failed(rig)->error,
        "the budget is used up: 1 tool call (max_tool_calls of its call); the answer does not "
        "match");
    check_str(failed(rig)->response, "I am not done");
}

static void in_the_last_turn_an_answer_that_matches_counts(void **state)
{
    struct rig *rig = *state;
    with_reviewers(rig);
    CALLS(rig, 0,
          {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\",\"max_tool_calls\":1}"});
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "text");
    rig_say(rig, 1, "```json\n{\"n\":1}\n```");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_BUDGET_EXCEEDED);
    check_str(rig_agent(rig, 1)->response, "{\"n\":1}");
}

static void a_timeout_keeps_what_was_written(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig->settings.max_retries = 0;
    review(rig);
    rig_say(rig, 1, "no json");
    rig_pass(rig, 301000);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    check_str(failed(rig)->outcome, "timeout");
    check_str(failed(rig)->response, "no json");
}

static void a_new_attempt_has_its_corrections_anew(void **state)
{
    struct rig *rig = *state;
    review(rig);
    rig_say(rig, 1, "one");
    rig_say(rig, 1, "two");
    rig_pass(rig, 91000);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    rig_say(rig, 1, "one");
    rig_say(rig, 1, "two");
    rig_say(rig, 1, "{\"n\":1}");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

static void corrections_survive_a_crash(void **state)
{
    struct rig *rig = *state;
    review(rig);
    rig_say(rig, 1, "one");
    rig_say(rig, 1, "two");
    rig_crash(rig, 1000);
    rig_say(rig, 1, "three");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_ERROR);
}

static void a_profile_brings_its_schema(void **state)
{
    struct rig *rig = *state;
    const struct list none = {LIST_SET, NULL, 0};
    struct profile profile = {
        .name = STR("counter"), .bootstrap_files = none, .tools = none, .schema = STR(SCHEMA)};
    rig->settings.profiles = &profile;
    rig->settings.profile_count = 1;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn", "{\"task\":\"count\",\"profile\":\"counter\"}"});
    rig_facts(rig, 0, 0, "[]");
    check_str(rig_agent(rig, 1)->contract.outputs.schema, SCHEMA);
    rig_say(rig, 1, "no json");
    rig_contains(told(rig, 1), "is not one JSON value");
    rig->settings.profile_count = 0; /* it ends with this function */
}

static void a_schema_that_is_not_enforced_starts_no_child(void **state)
{
    struct rig *rig = *state;
    struct role_outputs patterned = {STR("reviewer"), STR("{\"pattern\":\"^a\"}")};
    rig->settings.role_outputs = &patterned;
    rig->settings.role_outputs_count = 1;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"count\",\"role\":\"reviewer\"}"});
    assert_int_equal(run_agent_count(rig->run), 1);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text,
                 "Error: outputs.schema: /pattern: the keyword \"pattern\" is not enforced");
    rig->settings.role_outputs_count = 0;
}

static void start_with(struct rig *rig, const char *schema)
{
    struct buf body;
    struct jw w;
    buf_init(&body, 1 << 20);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "task", "count");
    jw_ktext(&w, "workspace_path", "/w");
    jw_key(&w, "settings");
    settings_print(&rig->settings, &w);
    jw_kraw(&w, "output_schema", str_from(schema));
    jw_end_object(&w);
    rig_inbox(rig, "start", body.p);
    buf_release(&body);
}

static void a_root_with_a_schema_answers_with_json_too(void **state)
{
    struct rig *rig = *state;
    start_with(rig, SCHEMA);
    rig_contains(rig_agent(rig, 0)->messages[0].text, SCHEMA);
    rig_say(rig, 0, "done");
    rig_contains(told(rig, 0), "is not one JSON value");
    rig_say(rig, 0, "{\"n\":1}");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "{\"n\":1}");
}

static void a_root_that_never_matches_fails_the_run(void **state)
{
    struct rig *rig = *state;
    start_with(rig, SCHEMA);
    for (int i = 0; i < 3; i++)
        rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "done");
}

static void a_start_with_a_schema_that_is_not_enforced_fails(void **state)
{
    struct rig *rig = *state;
    start_with(rig, "true");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
                 "outputs.schema: expected a schema: an object of keywords");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(the_first_message_shows_the_schema),
        RIG_TEST(an_answer_that_matches_is_the_response),
        RIG_TEST(one_fence_around_the_json_is_taken_off),
        RIG_TEST(text_around_the_json_is_no_answer),
        RIG_TEST(a_wrong_answer_is_corrected_twice_and_then_an_error),
        RIG_TEST(a_correction_that_helps_completes),
        RIG_TEST(work_between_wrong_answers_does_not_buy_more_corrections),
        RIG_TEST(in_the_last_turn_a_mismatch_is_an_error_at_once),
        RIG_TEST(in_the_last_turn_an_answer_that_matches_counts),
        RIG_TEST(a_timeout_keeps_what_was_written),
        RIG_TEST(a_new_attempt_has_its_corrections_anew),
        RIG_TEST(corrections_survive_a_crash),
        RIG_TEST(a_profile_brings_its_schema),
        RIG_TEST(a_schema_that_is_not_enforced_starts_no_child),
        RIG_TEST(a_root_with_a_schema_answers_with_json_too),
        RIG_TEST(a_root_that_never_matches_fails_the_run),
        RIG_TEST(a_start_with_a_schema_that_is_not_enforced_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
