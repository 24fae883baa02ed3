/* tool/jobs: who may look at a job, how many there may be, and that none outlives its agent. */
#include "tool/jobs.h"

#include "base/mask.h"
#include "unit/program_fixture.h"

static struct jobs *jobs_of(struct fixture *f)
{
    return tool_memory_jobs(f->context.services->memory);
}

static int64_t start(struct fixture *f, const char *command)
{
    struct err err = ERR_INIT;
    int64_t number = 0;
    if (jobs_start(jobs_of(f), &f->context, str_from(command), 60000, &number, &err) != 0)
        fail_msg("%s", err.message);
    return number;
}

static void look(struct fixture *f, int64_t number, int64_t wait_ms, struct jobs_look *out)
{
    struct err err = ERR_INIT;
    if (jobs_look(jobs_of(f), &f->context, number, wait_ms, out, &err) != 0)
        fail_msg("%s", err.message);
}

static void assert_unknown(struct fixture *f, int64_t number)
{
    struct err err = ERR_INIT;
    struct jobs_look out;
    assert_int_equal(jobs_look(jobs_of(f), &f->context, number, 0, &out, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
}

static void a_job_belongs_to_its_agent_alone(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(start(f, "sleep 600"), 1);
    f->context.agent_no = 2;
    assert_unknown(f, 1);
    assert_int_equal(start(f, "sleep 600"), 1);
    f->context.run_id = STR("OTHER");
    assert_unknown(f, 1);
}

static void the_end_of_an_agent_kills_its_jobs_and_no_others(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    start(f, "echo $$ > one; sleep 600");
    start(f, "(sleep 600; true) & echo $! > two; wait");
    f->context.agent_no = 2;
    int64_t other = start(f, "echo $$ > other; sleep 600");
    assert_true(is_alive(f, "one") && is_alive(f, "two") && is_alive(f, "other"));
    assert_int_equal(tool_port.end_agent(&program_services, STR("RUN"), 1), REMAINS_DYING);
    tool_port.await_agent(&program_services, STR("RUN"), 1);
    assert_dies(f, "one");
    assert_dies(f, "two");
    assert_true(is_alive(f, "other"));
    look(f, other, 0, &out);
    assert_int_equal(out.state, JOB_RUNNING);
    jobs_look_release(&out);
    f->context.agent_no = 1;
    assert_unknown(f, 1);
    assert_int_equal(tool_port.end_agent(&program_services, STR("RUN"), 1), REMAINS_NOTHING);
}

static void the_end_of_a_run_kills_the_jobs_of_all_its_agents(void **state)
{
    struct fixture *f = *state;
    start(f, "echo $$ > one; sleep 600");
    f->context.agent_no = 2;
    start(f, "echo $$ > two; sleep 600");
    assert_true(is_alive(f, "one") && is_alive(f, "two"));
    assert_int_equal(tool_port.end_agent(&program_services, STR("OTHER"), TOOL_EVERY_AGENT),
                     REMAINS_NOTHING);
    assert_int_equal(tool_port.end_agent(&program_services, STR("RUN"), TOOL_EVERY_AGENT),
                     REMAINS_DYING);
    tool_port.await_agent(&program_services, STR("RUN"), TOOL_EVERY_AGENT);
    assert_dies(f, "one");
    assert_dies(f, "two");
}

static void the_end_of_the_memory_kills_every_job(void **state)
{
    struct fixture *f = *state;
    start(f, "echo $$ > one; sleep 600");
    assert_true(is_alive(f, "one"));
    tool_memory_free(program_services.memory);
    assert_dies(f, "one");
    program_services.memory = tool_memory_new();
}

static void too_many_at_once_are_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct jobs_look out;
    int64_t number;
    for (int i = 0; i < JOBS_RUNNING_MAX; i++)
        start(f, "sleep 600");
    assert_int_equal(jobs_start(jobs_of(f), &f->context, STR("true"), 1000, &number, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(jobs_stop(jobs_of(f), &f->context, 3, &out, &err), 0);
    assert_int_equal(out.outcome.end, SANDBOX_CANCELLED);
    jobs_look_release(&out);
    assert_int_equal(start(f, "true"), JOBS_RUNNING_MAX + 1);
}

static void the_oldest_that_ended_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    for (int i = 0; i < JOBS_KEPT_MAX + 1; i++) {
        look(f, start(f, "true"), 60000, &out);
        assert_int_equal(out.state, JOB_ENDED);
        jobs_look_release(&out);
    }
    assert_unknown(f, 1);
    look(f, 2, 0, &out);
    jobs_look_release(&out);
}

static void only_the_latest_output_is_kept(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    look(f, start(f, "seq 1 100000; echo last"), 60000, &out);
    assert_int_equal(out.state, JOB_ENDED);
    assert_int_equal(out.dropped + out.unread.n, 588895 + 5);
    assert_true(out.unread.n >= JOBS_UNREAD_MAX / 2 && out.unread.n <= 2 * JOBS_UNREAD_MAX);
    assert_string_equal(out.unread.p + out.unread.n - 12, "100000\nlast\n");
    assert_int_equal(strcspn(out.unread.p, "\n"), 5); /* begins with a whole line */
    jobs_look_release(&out);
}

/* A key comes in two pieces, with looks between them. */
static void half_a_secret_waits_for_the_next_look(void **state)
{
    static const uint8_t process_key[MASK_KEY_BYTES] = {1};
    struct fixture *f = *state;
    struct masker *masker = masker_new(process_key);
    struct jobs_look out = {.state = JOB_RUNNING};
    struct buf seen;
    masker_know(masker, "config", STR("correct-horse-battery"));
    program_services.masker = masker;
    buf_init(&seen, 4096);
    int64_t number = start(f, "printf 'first correct-hor'; while [ ! -e go ]; do sleep 0.01; done;"
                              "printf 'se-battery\\n'");
    while (seen.n < 6) {
        look(f, number, 10, &out);
        buf_str(&seen, buf_view(&out.unread));
        jobs_look_release(&out);
    }
    assert_string_equal(seen.p, "first ");
    put(f, "go", "");
    look(f, number, 60000, &out);
    assert_int_equal(out.state, JOB_ENDED);
    assert_string_equal(out.unread.p, "correct-horse-battery\n");
    jobs_look_release(&out);
    buf_release(&seen);
    program_services.masker = NULL;
    masker_free(masker);
}

static void a_wait_ends_with_its_call(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    int64_t number = start(f, "sleep 600");
    atomic_store(&f->cancelled, true);
    look(f, number, 600000, &out);
    assert_int_equal(out.state, JOB_RUNNING);
    jobs_look_release(&out);
}

static void what_cannot_be_confined_is_told_by_the_look(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    f->context.working_directory = STR("nowhere");
    look(f, start(f, "true"), 60000, &out);
    assert_int_equal(out.state, JOB_NOT_RUN);
    assert_contains(out.err.message, "nowhere is no directory");
    jobs_look_release(&out);
}

static void no_descriptor_is_left_behind(void **state)
{
    struct fixture *f = *state;
    struct jobs_look out;
    int first = dup(0);
    close(first);
    for (int i = 0; i < 5; i++) {
        look(f, start(f, "true"), 60000, &out);
        jobs_look_release(&out);
    }
    tool_port.end_agent(&program_services, STR("RUN"), 1);
    tool_port.await_agent(&program_services, STR("RUN"), 1);
    int after = dup(0);
    close(after);
    assert_int_equal(after, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(a_job_belongs_to_its_agent_alone),
        PROGRAM_TEST(the_end_of_an_agent_kills_its_jobs_and_no_others),
        PROGRAM_TEST(the_end_of_a_run_kills_the_jobs_of_all_its_agents),
        PROGRAM_TEST(the_end_of_the_memory_kills_every_job),
        PROGRAM_TEST(too_many_at_once_are_refused),
        PROGRAM_TEST(the_oldest_that_ended_is_forgotten),
        PROGRAM_TEST(only_the_latest_output_is_kept),
        PROGRAM_TEST(half_a_secret_waits_for_the_next_look),
        PROGRAM_TEST(a_wait_ends_with_its_call),
        PROGRAM_TEST(what_cannot_be_confined_is_told_by_the_look),
        PROGRAM_TEST(no_descriptor_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
