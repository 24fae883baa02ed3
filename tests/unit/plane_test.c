/* The control plane on a real store: loaded as one snapshot, written through one door that lets nothing invalid, stale or
 * foreign pass. */
#include "engine/plane.h"
#include "store_place.h"

static const struct plane_ids IDS = {{"s1", 2}, {"ann", 3}, {"w1", 2}};

#define WRITER STR("profile:writer:v1")
#define PROFILE STR("{\"provider\":\"local\",\"model\":\"m\"}")
#define REGISTRY                                                                                   \
    STR("{\"version\":1,\"agents\":[{\"agentId\":\"@writer\",\"profileId\":"                       \
        "\"profile:writer:v1\",\"description\":\"Writes\"}]}")
#define PIN STR("{\"profileId\":\"profile:writer:v1\"}")

static void load(struct store_fixture *f, struct plane *plane)
{
    struct err err = ERR_INIT;
    check_ok(plane_load(plane, f->s, &IDS, &err), err);
}

/* Writes over what the plane knows; 0 or -1 with err. */
static int write_on(struct store_fixture *f, struct plane *plane, struct str type, struct str id,
                    uint64_t expected, struct str value, struct err *err)
{
    struct plane_change change = {type, id, expected, value, STR("ann"), NOW};
    struct problems problems;
    uint64_t version;
    problems_init(&problems, &plane->arena);
    return plane_write(plane, f->s, &change, &problems, &version, err);
}

static void write_ok(struct store_fixture *f, struct str type, struct str id, uint64_t expected,
                     struct str value)
{
    struct plane plane;
    struct err err = ERR_INIT;
    load(f, &plane);
    check_ok(write_on(f, &plane, type, id, expected, value, &err), err);
    plane_release(&plane);
}

/* What stands in the store whatever the plane makes of it. */
static void write_raw(struct store_fixture *f, struct str type, struct str id, struct str value)
{
    struct err err = ERR_INIT;
    uint64_t version;
    check_ok(f->s->ops->record_cas(f->s, type, id, 0, value, STR("x"), NOW, &version, &err), err);
}

static void fill(struct store_fixture *f)
{
    write_ok(f, RECORD_PROFILE, WRITER, 0, PROFILE);
    write_ok(f, RECORD_POLICY, REGISTRY_ID, 0, REGISTRY);
    write_ok(f, RECORD_POLICY, STR("profile-pin:user:ann"), 0, PIN);
    write_ok(f, RECORD_POLICY, STR("profile-pin:user:bob"), 0, PIN);
}

static void what_was_written_is_loaded_with_version_and_author(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct control control;
    struct err err = ERR_INIT;
    fill(f);
    load(f, &plane);
    assert_int_equal(plane.problems.found, 0);
    assert_int_equal(plane.registry.count, 1);
    assert_int_equal(plane.registry_version.version, 1);
    check_str(plane.registry_version.who, "ann");
    assert_int_equal(plane.profile_count, 1);
    check_str(plane.pins[PIN_USER].pin.profile_id, "profile:writer:v1");
    assert_null(plane.pins[PIN_SESSION].pin.profile_id.p);
    assert_int_equal(plane.pin_count, 2);
    check_ok(plane_control(&plane, &control, &err), err);
    assert_int_equal(control.pin_scope, PIN_USER);
    assert_int_equal(control.profile_count, 1);
    plane_release(&plane);
}

static void an_invalid_value_leaves_value_and_version_as_they_were(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct buf before, after;
    struct err err = ERR_INIT;
    uint64_t version;
    static const struct {
        struct str type, id, value;
    } bad[] = {
        {{"policy", 6}, {"agent-registry:default", 22}, {"{\"version\":1,\"agents\":[{}]}", 27}},
        {{"policy", 6}, {"agent-registry:default", 22}, {"not json", 8}},
        {{"policy", 6}, {"profile-pin:user:ann", 20}, {"{\"profileId\":\"profile:gone\"}", 28}},
        {{"profile", 7}, {"profile:writer:v1", 17}, {"{\"provider\":\"p\"}", 16}},
    };
    fill(f);
    load(f, &plane);
    buf_init(&before, 1000);
    buf_init(&after, 1000);
    check_ok(f->s->ops->record_get(f->s, RECORD_POLICY, REGISTRY_ID, &before, &version, &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_class(write_on(f, &plane, bad[i].type, bad[i].id, 1, bad[i].value, &err), err,
                    ERR_USAGE);
    check_ok(f->s->ops->record_get(f->s, RECORD_POLICY, REGISTRY_ID, &after, &version, &err), err);
    check_str(buf_view(&after), before.p);
    assert_int_equal(version, 1);
    buf_release(&before);
    buf_release(&after);
    plane_release(&plane);
}

static void a_record_of_somebody_else_is_neither_written_nor_removed(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct err err = ERR_INIT;
    fill(f);
    write_raw(f, RECORD_POLICY, STR("llm:keys"), STR("{}"));
    load(f, &plane);
    check_class(write_on(f, &plane, RECORD_POLICY, STR("llm:keys"), 1, PIN, &err), err, ERR_USAGE);
    check_class(write_on(f, &plane, RECORD_POLICY, STR("llm:keys"), 1, STR_NONE, &err), err,
                ERR_USAGE);
    check_class(write_on(f, &plane, STR("model"), REGISTRY_ID, 0, REGISTRY, &err), err, ERR_USAGE);
    plane_release(&plane);
}

static void a_write_over_an_old_version_is_told_who_was_faster(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct err err = ERR_INIT;
    fill(f);
    load(f, &plane);
    write_ok(f, RECORD_POLICY, REGISTRY_ID, 1, REGISTRY);
    check_class(write_on(f, &plane, RECORD_POLICY, REGISTRY_ID, 1, REGISTRY, &err), err, ERR_RETRY);
    assert_non_null(strstr(err.message, "version 2, written by ann"));
    plane_release(&plane);
}

static void a_profile_that_goes_between_check_and_write_stops_the_write(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct err err = ERR_INIT;
    write_ok(f, RECORD_PROFILE, WRITER, 0, PROFILE);
    load(f, &plane);
    write_ok(f, RECORD_PROFILE, WRITER, 1, STR_NONE);
    check_class(write_on(f, &plane, RECORD_POLICY, REGISTRY_ID, 0, REGISTRY, &err), err, ERR_RETRY);
    check_class(write_on(f, &plane, RECORD_POLICY, STR("profile-pin:global"), 0, PIN, &err), err,
                ERR_RETRY);
    plane_release(&plane);
    load(f, &plane);
    assert_int_equal(plane.registry_version.version, 0);
    assert_int_equal(plane.pin_count, 0);
    plane_release(&plane);
}

static void a_profile_that_an_agent_has_cannot_be_removed(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane, before;
    struct err err = ERR_INIT;
    write_ok(f, RECORD_PROFILE, WRITER, 0, PROFILE);
    load(f, &before);
    write_ok(f, RECORD_POLICY, REGISTRY_ID, 0, REGISTRY);
    load(f, &plane);
    check_class(write_on(f, &plane, RECORD_PROFILE, WRITER, 1, STR_NONE, &err), err, ERR_USAGE);
    assert_non_null(strstr(err.message, "@writer"));
    /* Who has not seen the registration is stopped by it too. */
    check_class(write_on(f, &before, RECORD_PROFILE, WRITER, 1, STR_NONE, &err), err, ERR_RETRY);
    plane_release(&plane);
    plane_release(&before);
}

static void an_unpinned_scope_has_no_record_left_and_the_next_pin_counts(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    const struct agent_profile *profile;
    struct err err = ERR_INIT;
    fill(f);
    write_ok(f, RECORD_POLICY, STR("profile-pin:user:ann"), 1, STR_NONE);
    load(f, &plane);
    assert_null(plane.pins[PIN_USER].pin.profile_id.p);
    assert_int_equal(plane.pin_count, 1);
    check_ok(plane_pinned(&plane, &profile, &err), err);
    assert_null(profile);
    plane_release(&plane);
}

static void a_broken_record_is_reported_and_opens_nothing(void **state)
{
    struct store_fixture *f = *state;
    struct plane plane;
    struct control control;
    const struct agent_profile *profile;
    struct err err = ERR_INIT;
    write_ok(f, RECORD_PROFILE, WRITER, 0, PROFILE);
    write_ok(f, RECORD_POLICY, STR("profile-pin:global"), 0, PIN);
    write_raw(f, RECORD_PROFILE, STR("profile:broken"), STR("{\"provider\":1}"));
    write_raw(f, RECORD_POLICY, REGISTRY_ID, STR("{\"version\":3}"));
    write_raw(f, RECORD_POLICY, STR("profile-pin:session:s1"), STR("nonsense"));
    write_raw(f, RECORD_POLICY, STR("another:policy"), STR("nonsense"));
    load(f, &plane);
    assert_true(plane.problems.found >= 4);
    assert_int_equal(plane.registry.count, 0);
    assert_int_equal(plane.profile_count, 1);
    assert_int_equal(plane_control(&plane, &control, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    check_class(plane_pinned(&plane, &profile, &err), err, ERR_CONFIG);
    assert_non_null(strstr(err.message, "profile-pin:session:s1"));
    plane_release(&plane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(what_was_written_is_loaded_with_version_and_author),
        PROMISE(an_invalid_value_leaves_value_and_version_as_they_were),
        PROMISE(a_record_of_somebody_else_is_neither_written_nor_removed),
        PROMISE(a_write_over_an_old_version_is_told_who_was_faster),
        PROMISE(a_profile_that_goes_between_check_and_write_stops_the_write),
        PROMISE(a_profile_that_an_agent_has_cannot_be_removed),
        PROMISE(an_unpinned_scope_has_no_record_left_and_the_next_pin_counts),
        PROMISE(a_broken_record_is_reported_and_opens_nothing),
    };
    return place_run("plane", PLACE_OWN_TESTS, tests, sizeof tests / sizeof tests[0]);
}
