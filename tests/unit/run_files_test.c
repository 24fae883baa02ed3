/* Much of everything: a child that changes thousands of files, and answers that the log cannot take. Memory follows the number of
 * files, what a model reads does not, and no answer is so long that the run is lost with it. */
#include "run_fixture.h"

#include <stdlib.h>

enum { MANY = 3000, LISTED = 200, TOLD = 20 };
#define TOO_LONG ((size_t)25 << 20) /* bytes, more than a fact may have */

static struct str many_files(struct arena *arena)
{
    struct buf out;
    struct jw w;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (int i = 0; i < MANY; i++)
        jw_str(&w, arena_printf(arena, "made/by/the/child/file-%05d.txt", i));
    jw_end_array(&w);
    struct str json = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return json;
}

static struct str long_text(struct rig *rig, char c)
{
    char *text = arena_alloc(&rig->arena, TOO_LONG);
    memset(text, c, TOO_LONG);
    return (struct str){text, TOO_LONG};
}

/* A child with a tree of its own that has answered, and whose merge brings these files. */
static void merge(struct rig *rig, struct str files)
{
    rig_open_doors(rig);
    rig->settings.isolate_children = SWITCH_ON;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("write"));
    rig_made(rig, 1);
    rig_say(rig, 1, "written");
    struct input input = {.kind = INPUT_MERGED,
                          .agent_no = 1,
                          .call_id = rig_effect(rig, 1, EFFECT_MERGE)->call_id,
                          .outcome = TOOL_OK,
                          .merge_strategy = STR("fast_forward"),
                          .text = STR("merged"),
                          .files_modified = files};
    rig_input(rig, &input);
}

static void the_memory_of_an_agent_follows_the_number_of_its_files(void **state)
{
    struct rig *rig = *state;
    merge(rig, many_files(&rig->arena));
    const struct agent *child = rig_agent(rig, 1);
    assert_int_equal(child->files_modified.n, MANY);
    check_str(child->files_modified.items[MANY - 1], "made/by/the/child/file-02999.txt");
    assert_true(child->arena.used < MANY * 128);
}

static void each_file_counts_once(void **state)
{
    struct rig *rig = *state;
    merge(rig, STR("[\"b\",\"a\",\"b\",\"\",\"a\"]"));
    const struct agent *child = rig_agent(rig, 1);
    assert_int_equal(child->files_modified.n, 2);
    check_str(child->files_modified.items[0], "b");
    check_str(child->files_modified.items[1], "a");
}

static void a_model_reads_a_few_names_a_count_and_where_the_rest_is(void **state)
{
    struct rig *rig = *state;
    merge(rig, many_files(&rig->arena));
    struct str told = rig_last(rig, 0, EVENT_TOOL_FINISHED)->text;
    assert_true(told.n < 2000);
    rig_contains(told, "file-00019.txt and 2980 more; the report lists all 3000");
    assert_null(strstr(told.p, "file-00020.txt"));
}

static void the_result_object_lists_the_first_files_and_says_how_many_there_are(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    merge(rig, many_files(&rig->arena));
    struct js *result = js_parse(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, &err);
    assert_int_equal(js_count(js_get(result, "files_modified")), LISTED);
    assert_int_equal(js_get_int(result, "files_modified_count", 0), MANY);
    assert_int_equal(js_kind(js_get(result, "files_read_count")), JS_ABSENT);
    check_str(js_get_str(result, "all_files"), "cadre show " RIG_RUN " --report --json");
    js_free(result);
}

static void short_lists_have_no_count(void **state)
{
    struct rig *rig = *state;
    merge(rig, STR("[\"a\"]"));
    struct str result = rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result;
    assert_null(strstr(result.p, "_count"));
    assert_null(strstr(result.p, "all_files"));
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "; modified: a)");
}

/* --- answers beyond the limit ------------------------------------------------------------------------------------------------ */

static void a_reply_that_the_log_cannot_take_is_an_error_of_that_agent(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("talk"));
    struct model_reply reply = {
        .text = long_text(rig, 'x'), .finish = STR("stop"), .usage = USAGE_NONE, .model = STR("m")};
    rig_reply(rig, 1, &reply);
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_ERROR);
    rig_contains(rig_last(rig, 1, EVENT_MODEL_FAILED)->error, "a log entry has at most");
    assert_int_equal(rig_count_of(rig, 1, EVENT_MODEL_REQUESTED), 1); /* not asked again */
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "Sub-agent failed: the model's");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void what_counts_is_the_size_of_the_text_as_it_is_printed(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    struct str text = long_text(rig, '\1');
    text.n /= 5; /* six bytes each when it is printed */
    struct model_reply reply = {
        .text = text, .finish = STR("stop"), .usage = USAGE_NONE, .model = STR("m")};
    rig_reply(rig, 0, &reply);
    assert_int_equal(run_state(rig->run), RUN_FAILED);
}

static void a_result_that_the_log_cannot_take_is_an_error_of_its_call(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"f\"}"}, {"read", "{\"path\":\"g\"}"});
    struct input input = {.kind = INPUT_RESULT,
                          .agent_no = 0,
                          .call_id = rig_call_id(rig, 0, 0),
                          .outcome = TOOL_OK,
                          .text = long_text(rig, 'x')};
    rig_input(rig, &input);
    const struct event *e = rig_last(rig, 0, EVENT_TOOL_FINISHED);
    check_str(e->outcome, "error");
    rig_contains(e->text, "Error: the result of this call has 26214400 bytes");
    rig_result(rig, 0, 1, "fine");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void a_merge_whose_lists_the_log_cannot_take_is_a_merge(void **state)
{
    struct rig *rig = *state;
    struct str files = long_text(rig, ' ');
    memcpy((char *)files.p, "[\"a\"", 4);
    ((char *)files.p)[files.n - 1] = ']';
    merge(rig, files);
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
    const struct event *e = rig_last(rig, 1, EVENT_WORKTREE_MERGED);
    check_str(e->merge_success, "true");
    rig_contains(e->merge_message, "are not logged");
    assert_int_equal(e->files_modified.n, 0);
}

static void a_message_that_the_log_cannot_take_is_taken_and_means_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    struct str body = long_text(rig, ' ');
    memcpy((char *)body.p, "{\"call_id\":\"c\",\"answer\":\"yes\"}", 30);
    struct input input = {.kind = INPUT_INBOX,
                          .inbox_id = ++rig->inbox_id,
                          .message_kind = STR("approve"),
                          .body = body,
                          .sender = STR("rig")};
    rig_input(rig, &input);
    check_str(rig_last(rig, 0, EVENT_INBOX_TAKEN)->body, "{\"$too_long\":26214400}");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(the_memory_of_an_agent_follows_the_number_of_its_files),
        RIG_TEST(each_file_counts_once),
        RIG_TEST(a_model_reads_a_few_names_a_count_and_where_the_rest_is),
        RIG_TEST(the_result_object_lists_the_first_files_and_says_how_many_there_are),
        RIG_TEST(short_lists_have_no_count),
        RIG_TEST(a_reply_that_the_log_cannot_take_is_an_error_of_that_agent),
        RIG_TEST(what_counts_is_the_size_of_the_text_as_it_is_printed),
        RIG_TEST(a_result_that_the_log_cannot_take_is_an_error_of_its_call),
        RIG_TEST(a_merge_whose_lists_the_log_cannot_take_is_a_merge),
        RIG_TEST(a_message_that_the_log_cannot_take_is_taken_and_means_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
