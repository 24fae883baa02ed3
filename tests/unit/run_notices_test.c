/* core/run/notices: what a server refused is in the log once, however many answers tell it. */
#include <stdio.h>

#include "run_fixture.h"

/* The agent calls a tool, with these notices; what the log has of them. */
static struct str reply_with(struct rig *rig, uint32_t no, struct str notice)
{
    struct tool_call call = {STR("theirs"), STR("read"), STR("{\"path\":\"a\"}")};
    struct model_reply reply = {.calls = &call,
                                .call_count = 1,
                                .finish = STR("tool_calls"),
                                .usage = USAGE_NONE,
                                .first_token_ms = -1,
                                .notice = notice};
    struct input input = {.kind = INPUT_REPLY,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_MODEL)->call_id,
                          .reply = &reply};
    rig_input(rig, &input);
    struct str logged = rig_last(rig, no, EVENT_MODEL_REPLIED)->notice;
    rig_result(rig, no, 0, "fine");
    return logged;
}

static size_t told(const struct rig *rig)
{
    const struct str *notices;
    return run_notices(rig->run, &notices);
}

static void a_notice_is_logged_once_for_all_agents_and_owners(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    check_str(reply_with(rig, 0, STR("one")), "one");
    assert_null(reply_with(rig, 0, STR("one")).p);
    CALLS(rig, 0, SPAWN("a part"));
    check_str(reply_with(rig, 1, STR("one\ntwo")), "two");
    rig_crash(rig, 1000);
    assert_null(reply_with(rig, 1, STR("two\none")).p);
    const struct str *notices;
    assert_int_equal(run_notices(rig->run, &notices), 2);
    check_str(notices[0], "one");
    check_str(notices[1], "two");
}

static void there_are_at_most_so_many_notices_and_long_ones_are_left_out(void **state)
{
    struct rig *rig = *state;
    char text[5000];
    rig_start(rig, "do it");
    memset(text, 'x', sizeof text);
    assert_null(reply_with(rig, 0, (struct str){text, sizeof text}).p);
    int n = 0;
    for (int i = 0; i < RUN_NOTICES_MAX + 5; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "notice %d\n", i);
    reply_with(rig, 0, (struct str){text, (size_t)n});
    assert_int_equal(told(rig), RUN_NOTICES_MAX);
    assert_null(reply_with(rig, 0, STR("another")).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_notice_is_logged_once_for_all_agents_and_owners),
        RIG_TEST(there_are_at_most_so_many_notices_and_long_ones_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
