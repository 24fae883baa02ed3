/* Asking for a summary: tools stay in the request, calls in its answer are not executed, and the
 * conversation goes on from the summary. */
#include "run_fixture.h"

#define BIG_BYTES 30000

/* The root reads until its conversation is so long that a summary is asked for. */
static void ask_for_summary(struct rig *rig)
{
    char *big = arena_alloc(&rig->arena, BIG_BYTES + 1);
    memset(big, 'x', BIG_BYTES);
    rig_start(rig, "do it");
    for (int i = 0; i < 9 && rig_agent(rig, 0)->compact_at == 0; i++) {
        struct str path = arena_printf(&rig->arena, "{\"path\":\"%d\"}", i);
        CALLS(rig, 0, {"read", path.p});
        rig_result(rig, 0, 0, big);
    }
    assert_true(rig_agent(rig, 0)->compact_at > 0);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "compact");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    rig_skip(rig);
}

static void a_summary_replaces_what_came_before(void **state)
{
    struct rig *rig = *state;
    ask_for_summary(rig);
    rig_say(rig, 0, "all was read");
    rig_expect(rig, "0 model.replied, 0 agent.compacted, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "offered");
    check_str(rig_agent(rig, 0)->messages[2].text, "Summary of your work so far:\nall was read");
}

static void a_call_in_its_place_is_not_executed_and_corrected_once(void **state)
{
    struct rig *rig = *state;
    ask_for_summary(rig);
    int64_t calls = rig_agent(rig, 0)->account.tool_calls;
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"}, {"write", "{}"});
    rig_expect(rig, "0 model.replied, 0 tool.finished, 0 tool.finished, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "not executed");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "compact");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, calls);
    rig_say(rig, 0, "all was read");
    rig_expect(rig, "0 model.replied, 0 agent.compacted, 0 model.requested");
    check_str(rig_agent(rig, 0)->messages[2].text, "Summary of your work so far:\nall was read");
}

static void a_second_call_leaves_the_earlier_work_out(void **state)
{
    struct rig *rig = *state;
    ask_for_summary(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    rig_skip(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    rig_expect(rig, "0 model.replied, 0 tool.finished, 0 agent.compacted, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_AGENT_COMPACTED)->outcome, "failed");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "loop");
}

static void a_long_text_beside_a_second_call_is_the_summary(void **state)
{
    struct rig *rig = *state;
    char text[400];
    struct tool_call call = {STR("x"), STR("read"), STR("{}")};
    memset(text, 's', sizeof text);
    struct model_reply reply = {.text = {text, sizeof text},
                                .calls = &call,
                                .call_count = 1,
                                .usage = USAGE_NONE,
                                .first_token_ms = -1};
    ask_for_summary(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    rig_reply(rig, 0, &reply);
    check_str(rig_last(rig, 0, EVENT_AGENT_COMPACTED)->outcome, "ok");
    rig_contains(rig_agent(rig, 0)->messages[2].text, "Summary of your work so far:\nssss");
}

static void calls_in_its_place_are_not_identical_turns(void **state)
{
    struct rig *rig = *state;
    ask_for_summary(rig);
    int64_t alike = rig_agent(rig, 0)->turns_alike;
    CALLS(rig, 0, {"read", "{\"path\":\"same\"}"});
    CALLS(rig, 0, {"read", "{\"path\":\"same\"}"});
    assert_int_equal(rig_agent(rig, 0)->turns_alike, alike);
}

static void a_crash_in_between_asks_for_the_summary_again(void **state)
{
    struct rig *rig = *state;
    ask_for_summary(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    rig_crash(rig, 1000);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "compact");
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    check_str(rig_last(rig, 0, EVENT_AGENT_COMPACTED)->outcome, "failed");
}

/* The tokens that are left pay for one request: it is the last turn, and its answer is not taken for a
 * summary. */
static void a_last_turn_takes_the_place_of_a_summary_that_cannot_be_paid(void **state)
{
    struct rig *rig = *state;
    struct model_reply reply = {.text = STR("looking"), .first_token_ms = -1};
    struct tool_call call = {STR("x"), STR("read"), STR("{\"path\":\"a\"}")};
    reply.calls = &call;
    reply.call_count = 1;
    rig->settings.root.tokens = 39000;
    rig_start(rig, "do it");
    for (int64_t used = 12000; used <= 36000; used += 12000) {
        reply.usage = (struct usage){used, -1, -1, 10, -1};
        call.arguments = arena_printf(&rig->arena, "{\"path\":\"%lld\"}", (long long)used);
        rig_reply(rig, 0, &reply);
        rig_skip(rig);
        rig_result(rig, 0, 0, "some text");
    }
    rig_expect(rig, "0 tool.finished, 0 budget.warned, 0 agent.message, 0 agent.message, "
                    "0 budget.refused, 0 agent.message, 0 model.requested, 0 budget.reserved");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "last_turn");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "loop");
    rig_say(rig, 0, "as far as I got");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "budget_exceeded");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "as far as I got");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_summary_replaces_what_came_before),
        RIG_TEST(a_call_in_its_place_is_not_executed_and_corrected_once),
        RIG_TEST(a_second_call_leaves_the_earlier_work_out),
        RIG_TEST(a_long_text_beside_a_second_call_is_the_summary),
        RIG_TEST(calls_in_its_place_are_not_identical_turns),
        RIG_TEST(a_crash_in_between_asks_for_the_summary_again),
        RIG_TEST(a_last_turn_takes_the_place_of_a_summary_that_cannot_be_paid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
