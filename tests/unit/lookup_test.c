/* Effects by agent and call: found among thousands, the latest first, and gone when they are taken out. */
#include "engine/lookup.h"

#include <stdio.h>

#include "check.h"

enum { MANY = 10000 };

struct thing {
    struct lookup_entry name;
    char id[16];
};

static void add(struct lookup *lookup, struct thing *thing, uint32_t agent_no, unsigned id)
{
    snprintf(thing->id, sizeof thing->id, "c%u_0", id);
    lookup_add(lookup, &thing->name, agent_no, str_from(thing->id));
}

static void an_empty_one_finds_nothing(void **state)
{
    struct lookup lookup = {0};
    struct thing thing = {0};
    assert_null(lookup_find(&lookup, 0, STR("c1_0")));
    lookup_remove(&lookup, &thing.name);
    assert_int_equal(lookup.count, 0);
    lookup_release(&lookup);
}

static void each_is_found_by_both_names(void **state)
{
    static struct thing things[MANY];
    struct lookup lookup = {0};
    for (unsigned i = 0; i < MANY; i++)
        add(&lookup, &things[i], i % 7, i);
    for (unsigned i = 0; i < MANY; i++) {
        assert_ptr_equal(lookup_find(&lookup, i % 7, str_from(things[i].id)), &things[i].name);
        assert_null(lookup_find(&lookup, i % 7 + 1, str_from(things[i].id)));
    }
    assert_true(lookup.bucket_count >= MANY); /* so that a bucket has one entry or two */
    for (unsigned i = 0; i < MANY; i += 2)
        lookup_remove(&lookup, &things[i].name);
    assert_int_equal(lookup.count, MANY / 2);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(lookup_find(&lookup, i % 7, str_from(things[i].id)) != NULL, i % 2);
    lookup_release(&lookup);
    assert_null(things[1].name.at);
}

static void of_equal_names_the_latest_is_found_also_when_the_table_has_grown(void **state)
{
    static struct thing things[MANY], first, second;
    struct lookup lookup = {0};
    add(&lookup, &first, 3, MANY);
    add(&lookup, &second, 3, MANY);
    for (unsigned i = 0; i < MANY; i++)
        add(&lookup, &things[i], 3, i);
    assert_ptr_equal(lookup_find(&lookup, 3, str_from(first.id)), &second.name);
    lookup_remove(&lookup, &second.name);
    lookup_remove(&lookup, &second.name); /* twice is fine */
    assert_ptr_equal(lookup_find(&lookup, 3, str_from(first.id)), &first.name);
    lookup_release(&lookup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_finds_nothing),
        cmocka_unit_test(each_is_found_by_both_names),
        cmocka_unit_test(of_equal_names_the_latest_is_found_also_when_the_table_has_grown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
