/* ask_user: who may ask, what is asked, and that the answer is the call's result, once. */
#include <stdio.h>

#include "run_fixture.h"

#define COLOUR "{\"question\":\"Which colour?\",\"choices\":[\"red\",\"green\"]}"

static void start(struct rig *rig)
{
    list_add(&rig->arena, &rig->settings.available_tools, STR("ask_user"));
    rig_start(rig, "do it");
    rig_skip(rig);
}

static void start_on_a_terminal(struct rig *rig)
{
    rig->asker = ASKER_TERMINAL;
    start(rig);
}

static void ask(struct rig *rig)
{
    start_on_a_terminal(rig);
    CALLS(rig, 0, {"ask_user", COLOUR});
}

/* body: what stands behind the call's id. */
static void send(struct rig *rig, const char *kind, const char *body)
{
    char text[400];
    snprintf(text, sizeof text, "{\"agent_no\":0,\"call_id\":\"%.*s\"%s}",
             STR_FMT(rig_call_id(rig, 0, 0)), body);
    rig_inbox(rig, kind, text);
}

static void a_question_goes_to_the_person_when_it_is_logged(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_expect(rig, "0 model.replied, 0 tool.requested");
    rig_expect_effects(rig, "0 ask ask_user");
    const struct effect *effect = rig_effect(rig, 0, EFFECT_ASK);
    assert_int_equal(effect->class, EFFECT_OUTWARD);
    check_str(effect->arguments, COLOUR);
    rig_pass(rig, 1000);
    rig_expect_nothing(rig);
}

static void the_answer_is_the_result_of_the_call(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_skip(rig);
    send(rig, "answer", ",\"text\":\"neither\"");
    rig_expect(rig, "0 inbox.taken, 0 tool.finished, 0 model.requested");
    const struct event *finished = rig_last(rig, 0, EVENT_TOOL_FINISHED);
    check_str(finished->outcome, "ok");
    check_str(finished->text, "neither");
}

static void a_second_answer_changes_nothing(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    send(rig, "answer", ",\"text\":\"red\"");
    rig_skip(rig);
    send(rig, "answer", ",\"text\":\"green\"");
    rig_expect(rig, "0 inbox.taken");
    assert_int_equal(rig_count(rig, EVENT_TOOL_FINISHED), 1);
}

static void an_answer_to_no_call_of_this_run_changes_nothing(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_skip(rig);
    rig_inbox(rig, "answer", "{\"agent_no\":0,\"call_id\":\"c1_0\",\"text\":\"red\"}");
    rig_inbox(rig, "answer", "{\"agent_no\":7,\"call_id\":\"c1_0\",\"text\":\"red\"}");
    rig_inbox(rig, "answer", "[]");
    rig_expect(rig, "0 inbox.taken, 0 inbox.taken, 0 inbox.taken");
}

static void yes_and_no_answer_no_question_of_this_kind(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_skip(rig);
    send(rig, "approve", ",\"answer\":\"yes\"");
    send(rig, "approve", ",\"answer\":\"no\"");
    rig_expect(rig, "0 inbox.taken, 0 inbox.taken");
}

static void words_do_not_permit_a_call(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_SAFE;
    start_on_a_terminal(rig);
    CALLS(rig, 0, {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    rig_expect_effects(rig, "0 ask write");
    rig_skip(rig);
    send(rig, "answer", ",\"text\":\"yes\"");
    rig_expect(rig, "0 inbox.taken");
}

static void without_a_text_the_model_is_told_that_nobody_answers(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_skip(rig);
    send(rig, "answer", "");
    rig_expect(rig, "0 inbox.taken, 0 tool.finished, 0 model.requested");
    const struct event *finished = rig_last(rig, 0, EVENT_TOOL_FINISHED);
    check_str(finished->outcome, "error");
    rig_contains(finished->text, "nobody can answer now");
}

static void an_empty_answer_is_an_answer(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    send(rig, "answer", ",\"text\":\"\"");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "(the person gave an empty answer)");
}

static void a_change_behind_the_question_waits_for_the_answer(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_AUTO;
    start_on_a_terminal(rig);
    CALLS(rig, 0, {"ask_user", COLOUR}, {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    rig_expect_effects(rig, "0 ask ask_user");
    rig_skip(rig);
    send(rig, "answer", ",\"text\":\"red\"");
    rig_expect(rig, "0 inbox.taken, 0 tool.finished, 0 tool.requested");
}

static void after_a_crash_it_is_asked_again_and_the_answer_is_good(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_skip(rig);
    rig_crash(rig, 5000);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 ask ask_user");
    rig_skip(rig);
    send(rig, "answer", ",\"text\":\"red\"");
    rig_expect(rig, "0 inbox.taken, 0 tool.finished, 0 model.requested");
}

static void a_stopped_root_waits_for_no_answer(void **state)
{
    struct rig *rig = *state;
    ask(rig);
    rig_inbox(rig, "cancel", "{}");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

static void without_a_terminal_it_is_not_offered_and_a_call_is_denied(void **state)
{
    struct rig *rig = *state;
    start(rig);
    assert_false(list_has(&rig_agent(rig, 0)->contract.permissions.allowed_tools, STR("ask_user")));
    CALLS(rig, 0, {"ask_user", COLOUR});
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 1);
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "error");
}

static void a_child_cannot_ask(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_AUTO;
    start_on_a_terminal(rig);
    CALLS(rig, 0, SPAWN("look"));
    assert_false(list_has(&rig_agent(rig, 1)->contract.permissions.allowed_tools, STR("ask_user")));
    CALLS(rig, 1, {"ask_user", COLOUR});
    assert_int_equal(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->depth, 1);
    rig_expect_effects(rig, "1 model, 1 model");
}

static void what_cannot_be_asked_is_refused_with_the_reason(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *arguments, *reason;
    } rows[] = {
        {"{}", "question must not be empty"},
        {"{\"question\":\"\"}", "question must not be empty"},
        {"{\"question\":7}", "question must be a string, not a number"},
        {"{\"question\":\"a\",\"answer\":\"b\"}", "unknown argument \"answer\""},
        {"{\"question\":\"a\",\"choices\":\"b\"}", "choices must be an array of strings"},
        {"{\"question\":\"a\",\"choices\":[1]}", "choices[0] must be a non-empty string"},
        {"{\"question\":\"a\",\"choices\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\","
         "\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\"]}",
         "choices may have at most 16 entries"},
    };
    start_on_a_terminal(rig);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CALLS(rig, 0, {"ask_user", rows[i].arguments});
        rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, rows[i].reason);
        rig_expect_effects(rig, "0 model");
    }
}

static void a_question_is_bounded(void **state)
{
    struct rig *rig = *state;
    char arguments[5000];
    start_on_a_terminal(rig);
    snprintf(arguments, sizeof arguments, "{\"question\":\"%04001d\"}", 0);
    CALLS(rig, 0, {"ask_user", arguments});
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "at most 4000 bytes");
    snprintf(arguments, sizeof arguments, "{\"question\":\"a\",\"choices\":[\"%0401d\"]}", 0);
    CALLS(rig, 0, {"ask_user", arguments});
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "choices[0] may have at most 400");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_question_goes_to_the_person_when_it_is_logged),
        RIG_TEST(the_answer_is_the_result_of_the_call),
        RIG_TEST(a_second_answer_changes_nothing),
        RIG_TEST(an_answer_to_no_call_of_this_run_changes_nothing),
        RIG_TEST(yes_and_no_answer_no_question_of_this_kind),
        RIG_TEST(words_do_not_permit_a_call),
        RIG_TEST(without_a_text_the_model_is_told_that_nobody_answers),
        RIG_TEST(an_empty_answer_is_an_answer),
        RIG_TEST(a_change_behind_the_question_waits_for_the_answer),
        RIG_TEST(after_a_crash_it_is_asked_again_and_the_answer_is_good),
        RIG_TEST(a_stopped_root_waits_for_no_answer),
        RIG_TEST(without_a_terminal_it_is_not_offered_and_a_call_is_denied),
        RIG_TEST(a_child_cannot_ask),
        RIG_TEST(what_cannot_be_asked_is_refused_with_the_reason),
        RIG_TEST(a_question_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
