/* Promises about control-plane records: changes under conditions, lists, history. Swapping by version is
 * store_list_promises' and store_process_promises'. */
#include <stdio.h>

#include "store_conformance.h"

static struct record_change change_of(const char *id, uint64_t expected, struct str value,
                                      const char *who)
{
    return (struct record_change){.type = STR("policy"),
                                  .id = str_from(id),
                                  .expected = expected,
                                  .value = value,
                                  .who = str_from(who),
                                  .now = NOW};
}

static uint64_t put(struct store *s, const char *id, uint64_t expected, struct str value,
                    const char *who)
{
    struct err err = ERR_INIT;
    uint64_t version;
    struct record_change change = change_of(id, expected, value, who);
    check_ok(s->ops->record_change(s, &change, &version, &err), err);
    return version;
}

static void a_conflict_says_who_wrote_the_present_version(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    uint64_t version, first = put(f->s, "a", 0, STR("{}"), "alice");
    uint64_t second = put(f->s, "a", first, STR("{}"), "bob");
    struct record_change late = change_of("a", first, STR("{\"x\":1}"), "carol");
    char text[32];
    check_class(f->s->ops->record_change(f->s, &late, &version, &err), err, ERR_RETRY);
    assert_int_equal(version, second);
    assert_non_null(strstr(err.message, "bob"));
    snprintf(text, sizeof text, "version %llu,", (unsigned long long)second);
    assert_non_null(strstr(err.message, text));
}

static void a_conflict_says_who_removed_the_record(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    uint64_t version, first = put(f->s, "a", 0, STR("{}"), "alice");
    put(f->s, "a", first, STR_NONE, "bob");
    struct record_change late = change_of("a", first, STR("{}"), "carol");
    check_class(f->s->ops->record_change(f->s, &late, &version, &err), err, ERR_RETRY);
    assert_int_equal(version, 0);
    assert_non_null(strstr(err.message, "removed by bob"));
}

static void a_change_whose_condition_does_not_hold_changes_nothing(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct buf value;
    uint64_t version, other = put(f->s, "other", 0, STR("{}"), "alice");
    struct record_condition conditions[] = {
        {STR("policy"), STR("other"), other},
        {STR("policy"), STR("third"), 0},
    };
    struct record_change change = change_of("a", 0, STR("{}"), "bob");
    change.conditions = conditions;
    change.condition_count = 2;
    put(f->s, "third", 0, STR("{}"), "dora");
    check_class(f->s->ops->record_change(f->s, &change, &version, &err), err, ERR_RETRY);
    assert_int_equal(version, 0);
    assert_non_null(strstr(err.message, "third"));
    assert_non_null(strstr(err.message, "dora"));
    buf_init(&value, 100);
    check_class(f->s->ops->record_get(f->s, STR("policy"), STR("a"), &value, &version, &err), err,
                ERR_NOT_FOUND);
    buf_release(&value);
    change.condition_count = 1;
    check_ok(f->s->ops->record_change(f->s, &change, &version, &err), err);
    put(f->s, "other", other, STR_NONE, "erik");
    change.expected = version;
    check_class(f->s->ops->record_change(f->s, &change, &version, &err), err, ERR_RETRY);
}

struct seen {
    char text[512];
    size_t stop_at, count;
};

static int see(void *user, const struct stored_record *record)
{
    struct seen *seen = user;
    size_t n = strlen(seen->text);
    snprintf(seen->text + n, sizeof seen->text - n, "%.*s/%.*s/%llu/%.*s/%.*s ",
             STR_FMT(record->type), STR_FMT(record->id), (unsigned long long)record->version,
             STR_FMT(record->value.p ? record->value : STR("-")), STR_FMT(record->who));
    assert_int_equal(record->at, NOW);
    return ++seen->count == seen->stop_at;
}

static void fill(struct store *s)
{
    struct err err = ERR_INIT;
    uint64_t version;
    uint64_t first = put(s, "b", 0, STR("1"), "alice");
    put(s, "a", 0, STR("2"), "bob");
    check_ok(s->ops->record_cas(s, STR("agent"), STR("z"), 0, STR("3"), STR("carol"), NOW, &version,
                                &err),
             err);
    put(s, "b", first, STR("4"), "dora");
    put(s, "a", 1, STR_NONE, "erik");
}

static void records_come_by_type_and_id_without_removed_ones(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct seen all = {0}, policies = {0}, none = {0};
    fill(f->s);
    put(f->s, "c", 0, STR("5"), "fred");
    check_ok(f->s->ops->records(f->s, STR_NONE, see, &all, &err), err);
    assert_string_equal(all.text, "agent/z/1/3/carol policy/b/2/4/dora policy/c/1/5/fred ");
    check_ok(f->s->ops->records(f->s, STR("policy"), see, &policies, &err), err);
    assert_string_equal(policies.text, "policy/b/2/4/dora policy/c/1/5/fred ");
    check_ok(f->s->ops->records(f->s, STR("profile"), see, &none, &err), err);
    assert_int_equal(none.count, 0);
}

static void history_holds_every_version_and_removal_newest_first(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct seen all = {0}, one = {0}, two = {0}, stopped = {.stop_at = 1};
    fill(f->s);
    check_ok(f->s->ops->record_history(f->s, STR_NONE, STR_NONE, 0, see, &all, &err), err);
    assert_string_equal(all.text, "policy/a/2/-/erik policy/b/2/4/dora agent/z/1/3/carol "
                                  "policy/a/1/2/bob policy/b/1/1/alice ");
    check_ok(f->s->ops->record_history(f->s, STR("policy"), STR("a"), 0, see, &one, &err), err);
    assert_string_equal(one.text, "policy/a/2/-/erik policy/a/1/2/bob ");
    check_ok(f->s->ops->record_history(f->s, STR_NONE, STR_NONE, 2, see, &two, &err), err);
    assert_int_equal(two.count, 2);
    check_ok(f->s->ops->record_history(f->s, STR_NONE, STR_NONE, 0, see, &stopped, &err), err);
    assert_int_equal(stopped.count, 1);
}

struct store_promises store_record_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(a_conflict_says_who_wrote_the_present_version),
        PROMISE(a_conflict_says_who_removed_the_record),
        PROMISE(a_change_whose_condition_does_not_hold_changes_nothing),
        PROMISE(records_come_by_type_and_id_without_removed_ones),
        PROMISE(history_holds_every_version_and_removal_newest_first),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
