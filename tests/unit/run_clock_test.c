/* Clocks: deadlines stand still while an agent waits for a slot or its provider, and while it
 * only waits for children that do. */
#include "run_fixture.h"

#define WALL 60000

static void busy(struct rig *rig, uint32_t no, int64_t retry_after_ms)
{
    const struct model_failure failure = {.class = ERR_RETRY,
                                          .http_status = 429,
                                          .retry_after_ms = retry_after_ms,
                                          .message = STR("busy"),
                                          .usage = USAGE_NONE};
    rig_failure(rig, no, &failure);
}

static void a_child_that_waits_for_its_provider_does_not_use_up_its_time(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    rig->now += 20000;
    busy(rig, 1, 50000);
    assert_int_equal(agent_deadline(rig_agent(rig, 1), TIMER_WALL, rig->now), rig->now + 40000);
    rig_pass(rig, 50000);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    assert_int_equal(agent_deadline(rig_agent(rig, 1), TIMER_WALL, rig->now), rig->now + 40000);
    rig_pass(rig, 40000);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_TIMEOUT);
}

static void an_agent_that_only_waits_for_such_a_child_does_not_either(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 70000;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"), SPAWN("another"));
    rig->now += 10000;
    busy(rig, 1, 30000);
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_WALL], RIG_START + 70000);
    rig->now += 10000;
    busy(rig, 2, 50000); /* from here on nobody works */
    assert_int_equal(agent_deadline(rig_agent(rig, 0), TIMER_WALL, rig->now), rig->now + 50000);
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_WALL], 0);
    rig_pass(rig, 20000); /* the first one asks again */
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_WALL], rig->now + 50000);
}

static void a_parent_that_works_itself_uses_its_time(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.root.wall_ms = 30000;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn", "{\"task\":\"a job\"}"});
    rig_facts(rig, 0, 0, "[]");
    rig->now += 1000;
    busy(rig, 1, 50000);
    rig_pass(rig, 29000);
    assert_int_equal(rig_agent(rig, 0)->stopping, OUTCOME_TIMEOUT);
}

static void waiting_for_a_slot_again_does_not_count(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig->settings.max_concurrent = 1;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    CALLS(rig, 1, SPAWN("nested"));
    rig->now += 40000; /* two works; one waits for a child that waits for a slot */
    assert_int_equal(agent_deadline(rig_agent(rig, 1), TIMER_WALL, rig->now), rig->now + WALL);
    rig_say(rig, 2, "done");
    assert_int_equal(rig_agent(rig, 1)->timers[TIMER_WALL], rig->now + WALL);
}

static void a_crash_keeps_what_is_left_and_does_not_lengthen_a_pause(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    rig->now += 20000;
    busy(rig, 1, 50000);
    rig_crash(rig, 45000);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_BACKOFF);
    assert_int_equal(rig_agent(rig, 1)->timers[TIMER_BACKOFF], rig->now + 5000);
    assert_int_equal(agent_deadline(rig_agent(rig, 1), TIMER_WALL, rig->now), rig->now + 40000);
    rig_pass(rig, 5000);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_child_that_waits_for_its_provider_does_not_use_up_its_time),
        RIG_TEST(an_agent_that_only_waits_for_such_a_child_does_not_either),
        RIG_TEST(a_parent_that_works_itself_uses_its_time),
        RIG_TEST(waiting_for_a_slot_again_does_not_count),
        RIG_TEST(a_crash_keeps_what_is_left_and_does_not_lengthen_a_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
