/* The queue for slots: it is folded state, so what stands in it must not depend on when somebody looked. */
#include <stdlib.h>

#include "core/run/state.h"
#include "unit/check.h"

/* The agent whose turn it is, skipping who wants no slot any more; 0: nobody waits. */
static uint32_t next(const struct run *run)
{
    for (size_t i = 0; i < run->slot_count; i++) {
        const struct slot_wait *wait = &run->slot_queue[run->slot_head + i];
        if (slot_is_wanted(run, wait))
            return wait->agent_no;
    }
    return 0;
}

static void who_gave_up_its_place_stands_at_the_end_when_it_comes_again(void **state)
{
    struct agent one = {.no = 1}, two = {.no = 2};
    const struct agent *agents[] = {NULL, &one, &two};
    struct run run = {.agents = agents, .agent_count = 3};
    slot_enqueue(&run, &one, 10);
    slot_enqueue(&run, &two, 11);
    assert_int_equal(next(&run), 1);
    slot_release(&run, &one);
    assert_int_equal(next(&run), 2);
    slot_enqueue(&run, &one, 12);
    assert_int_equal(next(&run), 2);
    slot_take(&run, &two);
    assert_int_equal(next(&run), 1);
    slot_take(&run, &one);
    assert_int_equal(next(&run), 0);
    assert_int_equal(run.slots_held, 2);
    free(run.slot_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gave_up_its_place_stands_at_the_end_when_it_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
