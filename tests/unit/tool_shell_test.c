/* The tool shell: commands, their output in words, what they changed, and jobs in the background. The walls are tested with the
 * sandbox; here programs run without. */
#include "base/utf8.h"
#include "unit/check.h"
#include "unit/program_fixture.h"

static void a_command_tells_its_exit_code_and_output(void **state)
{
    struct fixture *f = *state;
    const char *text = call_ok(f, "shell", "{\"command\":\"echo one; echo two >&2\"}");
    assert_contains(text, "exit code 0 after ");
    assert_contains(text, "\none\ntwo\n");
}

static void silence_is_told(void **state)
{
    assert_contains(call_ok(*state, "shell", "{\"command\":\"true\"}"), ", no output\n");
}

static void a_failing_command_is_an_error_with_its_code_and_output(void **state)
{
    struct fixture *f = *state;
    const char *text =
        call_error(f, "shell", "{\"command\":\"echo why; exit 3\"}", "Error: exit code 3");
    assert_contains(text, "\nwhy\n");
    call_error(f, "shell", "{\"command\":\"no-such-program-here\"}",
               "exit code 127 (no such command)");
}

static void a_signal_is_named(void **state)
{
    call_error(*state, "shell", "{\"command\":\"kill -SEGV $$\"}",
               "signal 11 (Segmentation fault)");
}

static void a_command_past_its_time_dies_with_all_of_its_processes(void **state)
{
    struct fixture *f = *state;
    const char *text = call_error(f, "shell",
                                  "{\"command\":\"echo begun; sleep 600 & echo $! > child; "
                                  "wait\",\"timeout_ms\":3000}",
                                  "stopped when its time of 3.0 s was over");
    assert_contains(text, "all of its processes were killed");
    assert_contains(text, "longer timeout_ms");
    assert_contains(text, "begun");
    assert_dies(f, "child");
}

static void an_agent_that_has_little_time_left_gives_a_command_less(void **state)
{
    struct fixture *f = *state;
    f->context.time_left_ms = 500;
    call_error(f, "shell", "{\"command\":\"sleep 600\"}", "Your own time is nearly over");
}

static void a_cancelled_command_is_killed(void **state)
{
    struct fixture *f = *state;
    atomic_store(&f->cancelled, true);
    call_error(f, "shell", "{\"command\":\"sleep 600\"}", "cancelled");
}

static void commands_start_in_the_working_directory(void **state)
{
    struct fixture *f = *state;
    put(f, "deep/here", "found\n");
    f->context.working_directory = STR("deep");
    assert_contains(call_ok(f, "shell", "{\"command\":\"cat here\"}"), "\nfound\n");
}

static void quotes_and_dollars_reach_the_shell_as_written(void **state)
{
    assert_contains(
        call_ok(*state, "shell", "{\"command\":\"a='x  y'; printf '%s|' \\\"$a\\\" '$b'\"}"),
        "x  y|$b|");
}

static void escape_sequences_and_bad_bytes_do_not_reach_the_model(void **state)
{
    struct fixture *f = *state;
    const char *text = call_ok(f, "shell",
                               "{\"command\":\"printf '\\\\033[31mred\\\\033[0m "
                               "\\\\033]0;title\\\\007end\\\\377 \\\\000!'\"}");
    assert_contains(text, "red end\xEF\xBF\xBD !");
    assert_lacks(text, "title");
    assert_null(strchr(text, '\033'));
}

static void a_line_that_a_terminal_would_have_overwritten_is_left_out(void **state)
{
    struct fixture *f = *state;
    const char *text = call_ok(
        f, "shell", "{\"command\":\"printf '10%%\\\\r50%%\\\\rdone\\\\r\\\\nnext\\\\r\\\\n'\"}");
    assert_contains(text, "\ndone\nnext\n");
    assert_lacks(text, "50%");
}

static void long_output_keeps_its_head_and_tail_and_says_so(void **state)
{
    struct fixture *f = *state;
    f->context.max_result = 4000;
    const char *text = call_ok(f, "shell", "{\"command\":\"echo first; seq 1 200000; echo last\"}");
    assert_contains(text, "\nfirst\n");
    assert_contains(text, "\nlast\n");
    assert_contains(text, "[truncated: ");
    assert_contains(text, "1288906 were printed");
    assert_true(strlen(text) <= 4000);
}

static void what_a_command_read_is_told(void **state)
{
    struct fixture *f = *state;
    put(f, "one.txt", "1\n");
    put(f, "deep/below/two.txt", "2\n");
    put(f, "never.txt", "3\n");
    put(f, "built/object.o", "4\n");
    put(f, ".gitignore", "built\n");
    call_ok(f, "shell",
            "{\"command\":\"cat one.txt deep/below/two.txt one.txt built/object.o; echo x > "
            "new.txt\"}");
    assert_int_equal(f->result.read_count, 2);
    check_str(f->result.files_read[0], "one.txt");
    check_str(f->result.files_read[1], "deep/below/two.txt");
}

static void what_lies_outside_the_read_paths_is_not_told(void **state)
{
    static const struct str paths[] = {STR("deep")};
    struct fixture *f = *state;
    put(f, "one.txt", "1\n");
    put(f, "deep/two.txt", "2\n");
    f->context.read_paths = paths;
    f->context.read_count = 1;
    call_ok(f, "shell", "{\"command\":\"cat one.txt deep/two.txt\"}");
    assert_int_equal(f->result.read_count, 1);
    check_str(f->result.files_read[0], "deep/two.txt");
}

static void output_of_wide_characters_is_cut_between_them(void **state)
{
    struct fixture *f = *state;
    for (size_t max = 700; max < 712; max++) {
        f->context.max_result = max;
        const char *text = call_ok(f, "shell", "{\"command\":\"yes €€€€€€€ | head -c 7000\"}");
        assert_int_equal(utf8_valid(str_from(text)), strlen(text));
    }
}

static void changed_files_are_told_and_counted(void **state)
{
    struct fixture *f = *state;
    put(f, "old", "one");
    put(f, "gone", "one");
    const char *text = call_ok(
        f, "shell", "{\"command\":\"echo x > made; echo x >> old; rm gone; cat old > /dev/null\"}");
    assert_contains(text, "[files: deleted gone, created made, modified old]");
    assert_int_equal(f->result.modified_count, 3);
    assert_true(was_modified(f, "made") && was_modified(f, "old") && was_modified(f, "gone"));
}

static void many_changed_files_are_counted_where_they_are_not_named(void **state)
{
    struct fixture *f = *state;
    const char *text =
        call_ok(f, "shell", "{\"command\":\"for i in $(seq 1 30); do echo x > f$i; done\"}");
    assert_contains(text, " and 18 more]");
    assert_int_equal(f->result.modified_count, 30);
}

static void a_failing_command_changed_files_too(void **state)
{
    struct fixture *f = *state;
    call_error(f, "shell", "{\"command\":\"echo x > made; exit 1\"}", "created made");
    assert_int_equal(f->result.modified_count, 1);
}

static char last_progress[256];
static int progress_count;

static void on_progress(void *user, struct str text)
{
    snprintf(last_progress, sizeof last_progress, "%.*s", STR_FMT(text));
    progress_count++;
}

static void what_is_printed_is_told_on_the_way(void **state)
{
    struct fixture *f = *state;
    f->context.progress = on_progress;
    call_ok(f, "shell",
            "{\"command\":\"printf 'compiling\\\\n\\\\033[1mlinking\\\\033[0m\\\\n\\\\n'\"}");
    assert_true(progress_count > 0);
    assert_string_equal(last_progress, "linking");
}

static void arguments_that_do_not_go_together_are_refused(void **state)
{
    struct fixture *f = *state;
    call_error(f, "shell", "{}", "give a command");
    call_error(f, "shell", "{\"command\":\"x\",\"job\":1}", "not both");
    call_error(f, "shell", "{\"command\":\"x\",\"wait_ms\":1}", "for a job");
    call_error(f, "shell", "{\"job\":1,\"background\":true}", "for a command");
    call_error(f, "shell", "{\"command\":\"a\\u0000b\"}", "zero byte");
    call_error(f, "shell", "{\"command\":\"x\",\"timeout_ms\":5}", "at least 100");
    call_error(f, "shell", "{\"command\":7}", "must be a string");
    call_error(f, "shell", "{\"cmd\":\"x\"}", "unknown argument \"cmd\"");
}

static void without_a_sandbox_nothing_runs_and_the_reason_is_told(void **state)
{
    struct fixture *f = *state;
    program_services.sandbox = NULL;
    program_services.sandbox_problem = STR("no namespaces");
    call_error(f, "shell", "{\"command\":\"echo x > made\"}", "cannot be confined: no namespaces");
    call_error(f, "shell", "{\"command\":\"echo x > made\",\"background\":true}", "no namespaces");
    assert_null(content_of(f, "made"));
}

/* --- in the background ---------------------------------------------------------------------------------------------------- */

static void a_job_is_looked_at_until_it_ends(void **state)
{
    struct fixture *f = *state;
    assert_contains(call_ok(f, "shell",
                            "{\"command\":\"echo one; while [ ! -e go ]; do sleep 0.02; done; echo "
                            "two; echo x > made\",\"background\":true}"),
                    "job 1 started");
    const char *text = "";
    for (int i = 0; i < 500 && strstr(text, "one") == NULL; i++)
        text = call_ok(f, "shell", "{\"job\":1,\"wait_ms\":20}");
    assert_contains(text, "job 1: running");
    assert_contains(text, "one");
    assert_int_equal(f->result.modified_count, 0);
    put(f, "go", "");
    text = call_ok(f, "shell", "{\"job\":1,\"wait_ms\":60000}");
    assert_contains(text, "job 1: exit code 0");
    assert_contains(text, "\ntwo\n");
    assert_lacks(text, "one");
    assert_true(was_modified(f, "made"));
    text = call_ok(f, "shell", "{\"job\":1}");
    assert_contains(text, "exit code 0");
    assert_contains(text, "no new output");
    assert_int_equal(f->result.modified_count, 0);
}

static void what_a_job_read_is_told_once(void **state)
{
    struct fixture *f = *state;
    put(f, "one.txt", "1\n");
    put(f, "two.txt", "2\n");
    call_ok(f, "shell",
            "{\"command\":\"cat one.txt; while [ ! -e go ]; do sleep 0.02; done; cat "
            "two.txt\",\"background\":true}");
    for (int i = 0; i < 500 && f->result.read_count == 0; i++)
        call_ok(f, "shell", "{\"job\":1,\"wait_ms\":20}");
    assert_int_equal(f->result.read_count, 1);
    check_str(f->result.files_read[0], "one.txt");
    put(f, "go", "");
    call_ok(f, "shell", "{\"job\":1,\"wait_ms\":60000}");
    assert_int_equal(f->result.read_count, 1);
    check_str(f->result.files_read[0], "two.txt");
    call_ok(f, "shell", "{\"job\":1}");
    assert_int_equal(f->result.read_count, 0);
}

static void a_job_that_fails_is_an_error_when_it_is_looked_at(void **state)
{
    struct fixture *f = *state;
    call_ok(f, "shell", "{\"command\":\"echo why; exit 4\",\"background\":true}");
    assert_contains(call_error(f, "shell", "{\"job\":1,\"wait_ms\":60000}", "job 1: exit code 4"),
                    "why");
}

static void a_job_past_its_time_is_killed(void **state)
{
    struct fixture *f = *state;
    call_ok(f, "shell",
            "{\"command\":\"echo $$ > pid; sleep 600\",\"background\":true,\"timeout_ms\":300}");
    call_error(f, "shell", "{\"job\":1,\"wait_ms\":60000}", "stopped when its time of 0.3 s");
    assert_dies(f, "pid");
}

static void stopping_a_job_kills_it(void **state)
{
    struct fixture *f = *state;
    call_ok(f, "shell", "{\"command\":\"echo $$ > pid; sleep 600\",\"background\":true}");
    assert_true(is_alive(f, "pid"));
    assert_contains(call_ok(f, "shell", "{\"job\":1,\"stop\":true}"), "job 1: stopped");
    assert_dies(f, "pid");
}

static void an_unknown_job_is_an_error(void **state)
{
    call_error(*state, "shell", "{\"job\":9}", "no job 9 of yours");
}

static void another_agent_running_in_the_tree_is_mentioned(void **state)
{
    struct fixture *f = *state;
    call_ok(f, "shell", "{\"command\":\"sleep 600\",\"background\":true}");
    assert_lacks(call_ok(f, "shell", "{\"command\":\"echo x > mine\"}"), "another agent");
    f->context.agent_no = 2;
    assert_contains(call_ok(f, "shell", "{\"command\":\"echo x > shared\"}"),
                    "another agent ran programs here meanwhile");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(a_command_tells_its_exit_code_and_output),
        PROGRAM_TEST(silence_is_told),
        PROGRAM_TEST(a_failing_command_is_an_error_with_its_code_and_output),
        PROGRAM_TEST(a_signal_is_named),
        PROGRAM_TEST(a_command_past_its_time_dies_with_all_of_its_processes),
        PROGRAM_TEST(an_agent_that_has_little_time_left_gives_a_command_less),
        PROGRAM_TEST(a_cancelled_command_is_killed),
        PROGRAM_TEST(commands_start_in_the_working_directory),
        PROGRAM_TEST(quotes_and_dollars_reach_the_shell_as_written),
        PROGRAM_TEST(escape_sequences_and_bad_bytes_do_not_reach_the_model),
        PROGRAM_TEST(a_line_that_a_terminal_would_have_overwritten_is_left_out),
        PROGRAM_TEST(long_output_keeps_its_head_and_tail_and_says_so),
        PROGRAM_TEST(what_a_command_read_is_told),
        PROGRAM_TEST(what_lies_outside_the_read_paths_is_not_told),
        PROGRAM_TEST(output_of_wide_characters_is_cut_between_them),
        PROGRAM_TEST(changed_files_are_told_and_counted),
        PROGRAM_TEST(many_changed_files_are_counted_where_they_are_not_named),
        PROGRAM_TEST(a_failing_command_changed_files_too),
        PROGRAM_TEST(what_is_printed_is_told_on_the_way),
        PROGRAM_TEST(arguments_that_do_not_go_together_are_refused),
        PROGRAM_TEST(without_a_sandbox_nothing_runs_and_the_reason_is_told),
        PROGRAM_TEST(a_job_is_looked_at_until_it_ends),
        PROGRAM_TEST(what_a_job_read_is_told_once),
        PROGRAM_TEST(a_job_that_fails_is_an_error_when_it_is_looked_at),
        PROGRAM_TEST(a_job_past_its_time_is_killed),
        PROGRAM_TEST(stopping_a_job_kills_it),
        PROGRAM_TEST(an_unknown_job_is_an_error),
        PROGRAM_TEST(another_agent_running_in_the_tree_is_mentioned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
