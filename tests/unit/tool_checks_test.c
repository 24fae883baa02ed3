/* tool/checks: a contract's commands in order, what they showed, and that the first failure ends them. */
#include "base/json.h"
#include "unit/program_fixture.h"

static char evidence_text[65536];

static enum tool_checks check(struct fixture *f, const char *json)
{
    struct js *checks = parse(json);
    struct buf evidence;
    buf_init(&evidence, sizeof evidence_text - 1);
    enum tool_checks ended = tool_port.check(&f->context, checks, &f->result, &evidence);
    snprintf(evidence_text, sizeof evidence_text, "%.*s", STR_FMT(buf_view(&evidence)));
    js_free(parse(evidence_text));
    buf_release(&evidence);
    js_free(checks);
    return ended;
}

static void all_that_pass_are_recorded(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, "[\"true\",\"echo x > made\"]"), TOOL_CHECKS_PASSED);
    assert_contains(evidence_text,
                    "{\"check\":\"true\",\"passed\":true,\"end\":\"exit code 0 after ");
    assert_contains(evidence_text, "{\"check\":\"echo x > made\",\"passed\":true");
    assert_true(was_modified(f, "made"));
}

static void the_first_failure_ends_them_and_is_told_with_its_output(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(check(f, "[\"true\",\"echo why; exit 3\",\"touch later\"]"),
                     TOOL_CHECKS_FAILED);
    assert_int_equal(f->result.kind, RESULT_ERROR);
    assert_contains(f->result.text.p, "Error: the check \"echo why; exit 3\" failed: exit code 3");
    assert_contains(f->result.text.p, "\nwhy\n");
    assert_contains(evidence_text, "\"passed\":false");
    assert_contains(evidence_text, "\"output\":\"why\\n\"");
    assert_null(content_of(f, "later"));
}

static void what_cannot_be_confined_or_was_cancelled_was_not_run(void **state)
{
    struct fixture *f = *state;
    atomic_store(&f->cancelled, true);
    assert_int_equal(check(f, "[\"sleep 600\"]"), TOOL_CHECKS_NOT_RUN);
    atomic_store(&f->cancelled, false);
    program_services.sandbox = NULL;
    program_services.sandbox_problem = STR("no namespaces");
    assert_int_equal(check(f, "[\"touch made\"]"), TOOL_CHECKS_NOT_RUN);
    assert_contains(f->result.text.p, "no namespaces");
    assert_null(content_of(f, "made"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(all_that_pass_are_recorded),
        PROGRAM_TEST(the_first_failure_ends_them_and_is_told_with_its_output),
        PROGRAM_TEST(what_cannot_be_confined_or_was_cancelled_was_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
