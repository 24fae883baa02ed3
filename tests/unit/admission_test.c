/* engine/admission: effects start while their descriptors fit, and wait in order. */
#include "engine/admission.h"

#include <stdint.h>

#include "unit/check.h"

static struct admission room;
static struct admission_ticket tickets[8];

static void begin(size_t most)
{
    admission_init(&room, most);
    for (size_t i = 0; i < 8; i++)
        tickets[i] = (struct admission_ticket){.need = 0};
}

static void effects_start_while_they_fit(void **state)
{
    begin(50);
    assert_true(admission_enter(&room, &tickets[0], 24));
    assert_true(admission_enter(&room, &tickets[1], 24));
    assert_false(admission_enter(&room, &tickets[2], 24));
    assert_null(admission_next(&room));
    admission_leave(&room, &tickets[0]);
    assert_ptr_equal(admission_next(&room), &tickets[2]);
    assert_null(admission_next(&room));
    assert_int_equal(room.used, 48);
}

static void those_who_wait_start_in_order(void **state)
{
    begin(10);
    assert_true(admission_enter(&room, &tickets[0], 8));
    assert_false(admission_enter(&room, &tickets[1], 8));
    /* It would fit, and must not overtake: the one before it would wait for ever. */
    assert_false(admission_enter(&room, &tickets[2], 2));
    admission_leave(&room, &tickets[0]);
    assert_ptr_equal(admission_next(&room), &tickets[1]);
    assert_ptr_equal(admission_next(&room), &tickets[2]);
    assert_null(admission_next(&room));
}

static void a_need_above_all_there_is_starts_alone(void **state)
{
    begin(10);
    assert_true(admission_enter(&room, &tickets[0], 24));
    assert_false(admission_enter(&room, &tickets[1], 1));
    assert_false(admission_enter(&room, &tickets[2], 24));
    admission_leave(&room, &tickets[0]);
    assert_ptr_equal(admission_next(&room), &tickets[1]);
    assert_null(admission_next(&room));
    admission_leave(&room, &tickets[1]);
    assert_ptr_equal(admission_next(&room), &tickets[2]);
    admission_leave(&room, &tickets[2]);
    assert_int_equal(room.used, 0);
    assert_int_equal(room.inside, 0);
}

static void one_that_is_withdrawn_leaves_the_others_in_order(void **state)
{
    begin(8);
    assert_true(admission_enter(&room, &tickets[0], 8));
    for (size_t i = 1; i < 5; i++)
        assert_false(admission_enter(&room, &tickets[i], 8));
    admission_withdraw(&room, &tickets[2]);
    admission_withdraw(&room, &tickets[4]);
    assert_false(admission_enter(&room, &tickets[5], 8));
    admission_leave(&room, &tickets[2]); /* it was never inside */
    assert_int_equal(room.used, 8);
    static const size_t order[] = {0, 1, 3, 5};
    for (size_t i = 0; i + 1 < 4; i++) {
        admission_leave(&room, &tickets[order[i]]);
        assert_ptr_equal(admission_next(&room), &tickets[order[i + 1]]);
        assert_null(admission_next(&room));
    }
}

static void a_room_without_a_limit_lets_everybody_in(void **state)
{
    begin(DESCRIPTORS_ALL);
    for (size_t i = 0; i < 8; i++)
        assert_true(admission_enter(&room, &tickets[i], 1000));
}

/* Whatever the limit is, the shares together stay below it, as far as one effect of each kind leaves them a choice. */
static void shares_never_exceed_the_limit(void **state)
{
    const size_t connections = 10000;
    for (size_t limit = 1; limit < 40000; limit += limit < 2000 ? 1 : 37) {
        struct descriptor_shares shares = descriptors_share(limit, 9, connections);
        size_t connecting = shares.connections < 64 ? shares.connections : 64;
        assert_true(shares.brief >= DESCRIPTORS_BRIEF);
        assert_true(shares.work >= 1 && shares.connections >= 1);
        assert_true(shares.connections <= connections);
        if (limit >= 64) {
            assert_true(9 + shares.brief + shares.work + shares.scopes + shares.connections +
                            connecting <=
                        limit);
            assert_true(shares.work >= DESCRIPTORS_COMMAND);
        }
    }
}

static void a_limit_of_64_has_room_for_one_command_and_one_file_tool(void **state)
{
    struct descriptor_shares shares = descriptors_share(64, 9, 10000);
    assert_int_equal(shares.work, DESCRIPTORS_COMMAND);
    assert_int_equal(shares.brief, DESCRIPTORS_BRIEF);
    assert_int_equal(shares.scopes, 0);
    assert_int_equal(shares.connections, 4);
}

static void with_all_that_is_wanted_nothing_waits_that_has_a_thread(void **state)
{
    struct descriptor_shares shares = descriptors_share(descriptors_wanted(10000), 9, 10000);
    assert_int_equal(shares.connections, 10000);
    assert_true(shares.work >= 256 * (size_t)DESCRIPTORS_COMMAND);
    assert_true(shares.brief >= 4 * (size_t)DESCRIPTORS_BRIEF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_start_while_they_fit),
        cmocka_unit_test(those_who_wait_start_in_order),
        cmocka_unit_test(a_need_above_all_there_is_starts_alone),
        cmocka_unit_test(one_that_is_withdrawn_leaves_the_others_in_order),
        cmocka_unit_test(a_room_without_a_limit_lets_everybody_in),
        cmocka_unit_test(shares_never_exceed_the_limit),
        cmocka_unit_test(a_limit_of_64_has_room_for_one_command_and_one_file_tool),
        cmocka_unit_test(with_all_that_is_wanted_nothing_waits_that_has_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
