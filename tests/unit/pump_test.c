/* The pump between core and shell: what starts before the journal has answered, what waits for it, and what is never started. */
#include <stdlib.h>

#include "engine/pump.h"
#include "run_fixture.h"

struct shell {
    struct rig *rig; /* for its settings */
    struct pump *pump;
    struct memory_store log;
    enum urgency urgency; /* of the last batch */
    uint64_t last_seq;    /* appended, not yet durable */
    struct buf did;       /* "start 0 tool read; abort 1; " */
    int later;            /* how often the pump wanted to go on later */
    bool unsure;          /* nobody can tell whether the run is still ours */
};

static void on_append(void *user, struct pump *pump, struct batch *batch, enum urgency urgency)
{
    struct shell *shell = user;
    shell->urgency = urgency;
    shell->last_seq = batch->last_seq;
    memory_store_commit(&shell->log, batch);
}

static void on_start(void *user, struct pump *pump, const struct effect *effect)
{
    struct shell *shell = user;
    assert_true(effect->class == EFFECT_PURE || effect->seq <= pump_durable_seq(pump));
    buf_printf(&shell->did, "start %u %s%s%.*s; ", effect->agent_no, effect_kind_text(effect->kind),
               effect->tool.n > 0 ? " " : "", STR_FMT(effect->tool));
}

static void on_abort(void *user, struct pump *pump, uint32_t agent_no, struct str call_id)
{
    struct shell *shell = user;
    buf_printf(&shell->did, "abort %u; ", agent_no);
}

static void on_later(void *user, struct pump *pump)
{
    struct shell *shell = user;
    shell->later++;
}

static bool on_owns(void *user, struct pump *pump)
{
    struct shell *shell = user;
    return !shell->unsure;
}

static int setup(void **state)
{
    void *rig;
    struct shell *shell = calloc(1, sizeof *shell);
    if (shell == NULL || rig_setup(&rig) != 0)
        return -1;
    shell->rig = rig;
    buf_init(&shell->did, 1 << 16);
    memory_store_init(&shell->log);
    struct pump_ports ports = {on_append, on_start, on_abort, shell, on_later, on_owns};
    shell->pump = pump_new(run_new(STR(RIG_RUN)), 1, 0, &ports);
    *state = shell;
    return 0;
}

static int teardown(void **state)
{
    struct shell *shell = *state;
    void *rig = shell->rig;
    pump_free(shell->pump);
    memory_store_release(&shell->log);
    buf_release(&shell->did);
    free(shell);
    return rig_teardown(&rig);
}

static void give(struct shell *shell, struct input *input)
{
    struct err err = ERR_INIT;
    input->now = shell->rig->now;
    if (pump_input(shell->pump, input, &err) != 0)
        fail_msg("%s", err.message);
}

static void expect_did(struct shell *shell, const char *did)
{
    check_str(buf_view(&shell->did), did);
    buf_clear(&shell->did);
}

static void durable(struct shell *shell)
{
    pump_durable(shell->pump, shell->last_seq);
}

static void start(struct shell *shell)
{
    struct buf body;
    struct jw w;
    buf_init(&body, 1 << 20);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "workspace_path", "/project");
    jw_ktext(&w, "task", "do it");
    jw_key(&w, "settings");
    settings_print(&shell->rig->settings, &w);
    jw_end_object(&w);
    struct input input = {.kind = INPUT_INBOX,
                          .inbox_id = 1,
                          .message_kind = STR("start"),
                          .body = buf_view(&body),
                          .sender = STR("test")};
    give(shell, &input);
    buf_release(&body);
}

/* Answers the request that was started last with these calls. */
static void reply(struct shell *shell, uint32_t agent_no, struct tool_call *calls, size_t count)
{
    struct model_reply made = {
        .calls = calls, .call_count = count, .usage = USAGE_NONE, .first_token_ms = -1};
    struct input input = {.kind = INPUT_REPLY,
                          .agent_no = agent_no,
                          .call_id = run_agent(pump_run(shell->pump), agent_no)->request_id,
                          .reply = &made};
    give(shell, &input);
}

static struct tool_call read_call = {{"x", 1}, {"read", 4}, {"{\"path\":\"a\"}", 12}};
static struct tool_call write_call = {
    {"x", 1}, {"write", 5}, {"{\"path\":\"a\",\"content\":\"\"}", 25}};

static void prepared(struct shell *shell)
{
    struct input input = {.kind = INPUT_PREPARED,
                          .call_id = run_agent(pump_run(shell->pump), 0)->calls[0].call.id,
                          .path = STR("a"),
                          .before = STR("absent"),
                          .after = STR("00")};
    give(shell, &input);
}

static void cancel(struct shell *shell)
{
    struct input input = {.kind = INPUT_INBOX,
                          .inbox_id = 2,
                          .message_kind = STR("cancel"),
                          .body = STR("{}"),
                          .sender = STR("test")};
    give(shell, &input);
}

static void a_model_is_not_asked_before_its_request_is_durable(void **state)
{
    struct shell *shell = *state;
    start(shell);
    expect_did(shell, "");
    assert_int_equal(pump_held(shell->pump), 1);
    pump_durable(shell->pump, shell->last_seq - 1);
    expect_did(shell, "");
    durable(shell);
    expect_did(shell, "start 0 model; ");
    assert_int_equal(pump_held(shell->pump), 0);
}

static void nothing_starts_while_something_that_ended_is_not_yet_dead(void **state)
{
    struct shell *shell = *state;
    start(shell);
    pump_pause(shell->pump);
    durable(shell);
    expect_did(shell, "");
    assert_int_equal(pump_held(shell->pump), 1);
    pump_go_on(shell->pump);
    expect_did(shell, "start 0 model; ");
}

static void a_read_starts_at_once_and_its_batch_may_ride_along(void **state)
{
    struct shell *shell = *state;
    start(shell);
    assert_int_equal(shell->urgency, APPEND_SOON);
    durable(shell);
    buf_clear(&shell->did);
    reply(shell, 0, &read_call, 1);
    expect_did(shell, "start 0 tool read; ");
    assert_int_equal(shell->urgency, APPEND_LAZY);
}

static void a_write_looks_at_once_and_acts_when_durable(void **state)
{
    struct shell *shell = *state;
    start(shell);
    durable(shell);
    buf_clear(&shell->did);
    reply(shell, 0, &write_call, 1);
    expect_did(shell, "start 0 prepare write; ");
    prepared(shell);
    expect_did(shell, "");
    assert_int_equal(shell->urgency, APPEND_SOON);
    durable(shell);
    expect_did(shell, "start 0 tool write; ");
}

static void held_effects_start_in_the_order_in_which_they_were_decided(void **state)
{
    struct shell *shell = *state;
    struct tool_call spawns[3];
    for (int i = 0; i < 3; i++)
        spawns[i] = (struct tool_call){STR("x"), STR("spawn_agent"), STR("{\"task\":\"x\"}")};
    start(shell);
    durable(shell);
    buf_clear(&shell->did);
    reply(shell, 0, spawns, 3);
    assert_int_equal(pump_held(shell->pump), 3);
    expect_did(shell, "");
    durable(shell);
    expect_did(shell, "start 1 model; start 2 model; start 3 model; ");
}

static void many_held_effects_start_in_slices_and_none_is_lost(void **state)
{
    enum { CHILDREN = 600, SLICE = 32 }; /* the core lets some hundred of them start at a time */
    struct shell *shell = *state;
    struct settings *settings = &shell->rig->settings;
    struct tool_call spawns[CHILDREN];
    for (int i = 0; i < CHILDREN; i++)
        spawns[i] = (struct tool_call){STR("x"), STR("spawn_agent"), STR("{\"task\":\"x\"}")};
    settings->max_concurrent = settings->warn_at = settings->pause_at = settings->hard_stop_at =
        10000;
    start(shell);
    durable(shell);
    reply(shell, 0, spawns, CHILDREN);
    while (run_deadline(pump_run(shell->pump)) <= shell->rig->now)
        give(shell, &(struct input){.kind = INPUT_TICK});
    assert_int_equal(pump_held(shell->pump), CHILDREN);
    durable(shell);
    size_t left = pump_held(shell->pump);
    assert_in_range(left, CHILDREN - SLICE,
                    CHILDREN - SLICE + 1); /* the root's own request counts */
    durable(shell);                        /* more that is durable starts no more before its turn */
    assert_int_equal(pump_held(shell->pump), left);
    assert_int_equal(shell->later, 1);
    for (; pump_held(shell->pump) > 0; shell->later--) {
        assert_int_equal(shell->later, 1);
        pump_continue(shell->pump);
    }
    assert_int_equal(shell->later, 0);
}

static void an_effect_that_was_started_is_aborted_by_the_shell(void **state)
{
    struct shell *shell = *state;
    start(shell);
    durable(shell);
    buf_clear(&shell->did);
    cancel(shell);
    expect_did(shell, "abort 0; ");
    assert_int_equal(run_state(pump_run(shell->pump)), RUN_RUNNING);
}

static void a_held_request_that_is_stopped_never_starts_and_costs_nothing(void **state)
{
    struct shell *shell = *state;
    shell->rig->settings.root.tokens = 20000;
    start(shell);
    cancel(shell);
    assert_int_equal(run_state(pump_run(shell->pump)), RUN_CANCELLED);
    assert_int_equal(run_agent(pump_run(shell->pump), 0)->account.spent.tokens, 0);
    assert_int_equal(run_agent(pump_run(shell->pump), 0)->account.reserved.tokens, 0);
    assert_int_equal(pump_held(shell->pump), 0);
    durable(shell);
    expect_did(shell, "");
}

static void a_held_write_that_is_stopped_is_not_made(void **state)
{
    struct shell *shell = *state;
    start(shell);
    durable(shell);
    reply(shell, 0, &write_call, 1);
    prepared(shell);
    buf_clear(&shell->did);
    cancel(shell);
    durable(shell);
    expect_did(shell, "");
    assert_int_equal(run_state(pump_run(shell->pump)), RUN_CANCELLED);
}

static void the_others_stay_held_when_one_in_the_middle_is_stopped(void **state)
{
    struct shell *shell = *state;
    struct tool_call spawns[3];
    for (int i = 0; i < 3; i++)
        spawns[i] =
            (struct tool_call){STR("x"), STR("spawn_agent"),
                               i == 1 ? STR("{\"task\":\"x\",\"budget\":{\"timeout_ms\":5000}}")
                                      : STR("{\"task\":\"x\"}")};
    start(shell);
    durable(shell);
    buf_clear(&shell->did);
    reply(shell, 0, spawns, 3);
    shell->rig->now += 5000; /* the second child's time is over before the journal has answered */
    struct input tick = {.kind = INPUT_TICK};
    give(shell, &tick);
    assert_int_equal(pump_held(shell->pump), 2);
    durable(shell);
    expect_did(shell, "start 1 model; start 3 model; ");
}

/* It may have been made before a crash: only who looks can tell, and put it away. */
static void a_held_effect_on_a_tree_that_is_stopped_starts_and_is_aborted(void **state)
{
    struct shell *shell = *state;
    shell->rig->settings.isolate_root = SWITCH_ON;
    start(shell);
    durable(shell);
    buf_clear(&shell->did);
    reply(shell, 0, &write_call, 1);
    cancel(shell);
    assert_int_equal(pump_held(shell->pump), 1);
    assert_int_equal(run_state(pump_run(shell->pump)), RUN_RUNNING);
    durable(shell);
    expect_did(shell, "start 0 isolate; abort 0; ");
}

static void an_input_that_changes_nothing_appends_nothing(void **state)
{
    struct shell *shell = *state;
    start(shell);
    size_t batches = shell->log.count;
    struct input tick = {.kind = INPUT_TICK};
    give(shell, &tick);
    assert_int_equal(shell->log.count, batches);
}

static void what_is_durable_already_needs_no_wait(void **state)
{
    struct shell *shell = *state;
    start(shell);
    pump_durable(shell->pump, 1000); /* a journal may be asked about more than there is */
    buf_clear(&shell->did);
    reply(shell, 0, &write_call, 1);
    prepared(shell);
    expect_did(shell, "start 0 prepare write; start 0 tool write; ");
}

static void nothing_costly_or_outward_starts_while_ownership_is_not_certain(void **state)
{
    struct shell *shell = *state;
    shell->unsure = true;
    start(shell);
    durable(shell);
    expect_did(shell, "");
    assert_int_equal(pump_held(shell->pump), 1);
    shell->unsure = false;
    pump_continue(shell->pump);
    expect_did(shell, "start 0 model; ");
    /* What only reads starts all the same. */
    shell->unsure = true;
    reply(shell, 0, &read_call, 1);
    durable(shell);
    expect_did(shell, "start 0 tool read; ");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_costly_or_outward_starts_while_ownership_is_not_certain),
        TEST(a_model_is_not_asked_before_its_request_is_durable),
        TEST(nothing_starts_while_something_that_ended_is_not_yet_dead),
        TEST(a_read_starts_at_once_and_its_batch_may_ride_along),
        TEST(a_write_looks_at_once_and_acts_when_durable),
        TEST(held_effects_start_in_the_order_in_which_they_were_decided),
        TEST(many_held_effects_start_in_slices_and_none_is_lost),
        TEST(an_effect_that_was_started_is_aborted_by_the_shell),
        TEST(a_held_request_that_is_stopped_never_starts_and_costs_nothing),
        TEST(a_held_write_that_is_stopped_is_not_made),
        TEST(the_others_stay_held_when_one_in_the_middle_is_stopped),
        TEST(a_held_effect_on_a_tree_that_is_stopped_starts_and_is_aborted),
        TEST(an_input_that_changes_nothing_appends_nothing),
        TEST(what_is_durable_already_needs_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
