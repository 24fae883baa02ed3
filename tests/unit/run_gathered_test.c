/* Files that are read for children: each text stands in the log once, and every child has it. */
#include "run_fixture.h"

#define LONG_BYTES 600

/* Facts with one file whose text is `letter`, many times. */
static const char *facts(struct rig *rig, const char *path, char letter, size_t bytes)
{
    char *text = arena_alloc(&rig->arena, bytes + 1);
    memset(text, letter, bytes);
    return arena_printf(&rig->arena, "[{\"path\":\"%s\",\"text\":\"%s\"}]", path, text).p;
}

/* The root starts a child that is given the file f. */
static void spawn(struct rig *rig, const char *files)
{
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"look\",\"context_files\":[\"f\"]}"});
    rig_facts(rig, 0, 0, files);
}

static void end_child(struct rig *rig, uint32_t no)
{
    rig_say(rig, no, "done");
}

static struct str task_of(const struct rig *rig, uint32_t no)
{
    return rig_agent(rig, no)->messages[1].text;
}

static void has_text(struct str task, char letter)
{
    size_t count = 0;
    for (size_t i = 0; i < task.n; i++)
        count += task.p[i] == letter;
    assert_true(str_starts(task, STR("look\n\n# Where you work\n")));
    rig_contains(task, "\n\nContext:\n--- f ---\n");
    assert_true(count >= LONG_BYTES);
}

static void a_file_that_the_log_has_is_named_and_every_child_gets_its_text(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    uint64_t first = rig_last(rig, 0, EVENT_FACTS_GATHERED)->seq;
    has_text(task_of(rig, 1), 'Z');
    end_child(rig, 1);
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    check_str(
        rig_last(rig, 0, EVENT_FACTS_GATHERED)->files,
        arena_printf(&rig->arena, "[{\"path\":\"f\",\"same\":%llu}]", (unsigned long long)first).p);
    has_text(task_of(rig, 2), 'Z');
}

static void events_behind_the_facts_do_not_repeat_the_text(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    const struct event *created = rig_last(rig, 1, EVENT_SUBAGENT_CREATED);
    const struct event *task = rig_last(rig, 1, EVENT_AGENT_MESSAGE);
    assert_int_equal(created->gathered, rig_last(rig, 0, EVENT_FACTS_GATHERED)->seq);
    assert_null(created->context.p);
    assert_null(memmem(task->text.p, task->text.n, "ZZZZ", 4));
    check_str(task->opening, "look");
}

static void a_file_that_changed_is_logged_again(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    end_child(rig, 1);
    spawn(rig, facts(rig, "f", 'Q', LONG_BYTES));
    rig_contains(rig_last(rig, 0, EVENT_FACTS_GATHERED)->files, "QQQQ");
    has_text(task_of(rig, 2), 'Q');
    end_child(rig, 2);
    spawn(rig, facts(rig, "f", 'Q', LONG_BYTES));
    rig_contains(rig_last(rig, 0, EVENT_FACTS_GATHERED)->files, "\"same\":");
    has_text(task_of(rig, 3), 'Q');
}

static void another_path_with_the_same_text_is_another_file(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    end_child(rig, 1);
    spawn(rig, facts(rig, "g", 'Z', LONG_BYTES));
    rig_contains(rig_last(rig, 0, EVENT_FACTS_GATHERED)->files, "ZZZZ");
}

static void a_short_text_is_simply_repeated(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', 20));
    rig_contains(rig_last(rig, 1, EVENT_AGENT_MESSAGE)->text, "--- f ---\nZZZZ");
    end_child(rig, 1);
    spawn(rig, facts(rig, "f", 'Z', 20));
    rig_contains(rig_last(rig, 0, EVENT_FACTS_GATHERED)->files, "ZZZZ");
}

static void a_later_attempt_and_a_new_owner_have_the_text_too(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    rig_crash(rig, 1000);
    has_text(task_of(rig, 1), 'Z');
    rig_break(rig, 1, "broken");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    has_text(task_of(rig, 1), 'Z');
}

static void a_log_that_names_an_event_without_the_text_does_not_fold(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    struct run *run = run_new(STR(RIG_RUN));
    int result = 0;
    for (size_t i = 0; result == 0 && i < rig->event_count; i++) {
        struct event event = *rig->events[i];
        if (event.type == EVENT_FACTS_GATHERED)
            event.files = STR("[{\"path\":\"f\",\"same\":2}]");
        result = run_apply(run, &event, &err);
    }
    assert_int_equal(result, -1);
    assert_int_equal(err.class, ERR_CORRUPT);
    run_free(run);
}

/* Before version 3 there was no brief: the task and its context were the whole message. */
static void a_task_in_an_older_log_has_no_brief(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    rig_start(rig, "do it");
    spawn(rig, facts(rig, "f", 'Z', LONG_BYTES));
    struct run *run = run_new(STR(RIG_RUN));
    for (size_t i = 0; i < rig->event_count; i++) {
        struct event event = *rig->events[i];
        event.version = 2;
        if (event.type == EVENT_AGENT_MESSAGE && event.opening.p != NULL)
            event.text = STR_NONE;
        if (event.type == EVENT_MODEL_REQUESTED)
            event.tools = STR("withheld");
        assert_int_equal(run_apply(run, &event, &err), 0);
    }
    assert_true(
        str_starts(run_agent(run, 1)->messages[1].text, STR("look\n\nContext:\n--- f ---\nZZZZ")));
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_task_in_an_older_log_has_no_brief),
        RIG_TEST(a_file_that_the_log_has_is_named_and_every_child_gets_its_text),
        RIG_TEST(events_behind_the_facts_do_not_repeat_the_text),
        RIG_TEST(a_file_that_changed_is_logged_again),
        RIG_TEST(another_path_with_the_same_text_is_another_file),
        RIG_TEST(a_short_text_is_simply_repeated),
        RIG_TEST(a_later_attempt_and_a_new_owner_have_the_text_too),
        RIG_TEST(a_log_that_names_an_event_without_the_text_does_not_fold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
