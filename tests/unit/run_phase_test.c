/* The table of phases: where an agent can get from where, and that run_apply refuses everything else. */
#include "core/run/phase.h"
#include "run_fixture.h"

static void every_phase_is_reached_from_the_first(void **state)
{
    bool reached[PHASES] = {[PHASE_NEW] = true};
    for (int round = 0; round < PHASES; round++) {
        for (int from = 0; from < PHASES; from++) {
            for (int move = 0; reached[from] && move < MOVE_COUNT; move++) {
                enum phase to = phase_next((enum phase)from, (enum phase_move)move);
                if (to != (enum phase)PHASES)
                    reached[to] = true;
            }
        }
    }
    for (int phase = 0; phase < PHASES; phase++) {
        if (!reached[phase])
            fail_msg("nothing leads to phase %s", phase_text((enum phase)phase));
    }
}

static void every_phase_can_end(void **state)
{
    for (int phase = PHASE_NEW; phase < PHASE_DONE; phase++)
        assert_int_equal(phase_next((enum phase)phase, MOVE_ENDED), PHASE_DONE);
}

/* Only a child that is held goes on after its end: it is merged, or put away. */
static void what_has_ended_only_leaves(void **state)
{
    for (int move = 0; move < MOVE_COUNT; move++) {
        enum phase to = phase_next(PHASE_DONE, (enum phase_move)move);
        if (to != (enum phase)PHASES && to != PHASE_LEAVING)
            fail_msg("%s leads from the end to %s", phase_move_text((enum phase_move)move),
                     phase_text(to));
    }
}

/* A model is asked by whoever is ready, and answers whoever asked. */
static void only_who_is_ready_asks_and_only_who_asked_is_answered(void **state)
{
    for (int phase = 0; phase < PHASES; phase++) {
        bool asks = phase_next((enum phase)phase, MOVE_REQUESTED) != (enum phase)PHASES;
        bool answered = phase_next((enum phase)phase, MOVE_ANSWERED) != (enum phase)PHASES ||
                        phase_next((enum phase)phase, MOVE_CALLED) != (enum phase)PHASES ||
                        phase_next((enum phase)phase, MOVE_DELAYED) != (enum phase)PHASES;
        assert_int_equal(asks, phase == PHASE_READY);
        assert_int_equal(answered, phase == PHASE_ASKING);
    }
}

static void an_event_that_moves_nobody_is_corrupt(void **state)
{
    static const enum event_type types[] = {EVENT_MODEL_REQUESTED, EVENT_RUN_DIRECTED,
                                            EVENT_AGENT_CHECKED, EVENT_RUN_JOINING};
    struct rig *rig = *state;
    rig_start(rig, "do it");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct event event;
        struct err err = ERR_INIT;
        event_init(&event, types[i]);
        event.seq = run_seq(rig->folded) + 1;
        event.ts = rig->now;
        assert_int_equal(run_apply(rig->folded, &event, &err), -1);
        assert_int_equal(err.class, ERR_CORRUPT);
        assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_is_reached_from_the_first),
        cmocka_unit_test(every_phase_can_end),
        cmocka_unit_test(what_has_ended_only_leaves),
        cmocka_unit_test(only_who_is_ready_asks_and_only_who_asked_is_answered),
        RIG_TEST(an_event_that_moves_nobody_is_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
