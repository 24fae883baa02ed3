/* The lifecycle table as run_apply keeps it and as the projections show it: every legal edge is accepted, every other refused. */
#include "core/run/project.h"
#include "run_fixture.h"

static const struct {
    enum life_state from, to;
} promised[] = {
    {LIFE_CREATED, LIFE_RUNNING},
    {LIFE_CREATED, LIFE_FAILED},
    {LIFE_RUNNING, LIFE_WAITING_FOR_MERGE},
    {LIFE_RUNNING, LIFE_FAILED},
    {LIFE_WAITING_FOR_MERGE, LIFE_COMPLETED},
    {LIFE_WAITING_FOR_MERGE, LIFE_FAILED},
    {LIFE_COMPLETED, LIFE_CLOSED},
    {LIFE_FAILED, LIFE_CLOSED},
};

static bool is_promised(enum life_state from, enum life_state to)
{
    for (size_t i = 0; i < sizeof promised / sizeof promised[0]; i++) {
        if (promised[i].from == from && promised[i].to == to)
            return true;
    }
    return false;
}

/* The event that takes a child into a state. */
static const enum event_type into[LIFE_COUNT] = {
    [LIFE_CREATED] = EVENT_SUBAGENT_CREATED,
    [LIFE_RUNNING] = EVENT_SUBAGENT_STARTED,
    [LIFE_WAITING_FOR_MERGE] = EVENT_SUBAGENT_WAITING,
    [LIFE_COMPLETED] = EVENT_SUBAGENT_COMPLETED,
    [LIFE_FAILED] = EVENT_SUBAGENT_FAILED,
    [LIFE_CLOSED] = EVENT_SUBAGENT_CLOSED,
};

/* How a child that was created gets there. */
static const enum life_state ways[LIFE_COUNT][4] = {
    [LIFE_CREATED] = {LIFE_COUNT},
    [LIFE_RUNNING] = {LIFE_RUNNING, LIFE_COUNT},
    [LIFE_WAITING_FOR_MERGE] = {LIFE_RUNNING, LIFE_WAITING_FOR_MERGE, LIFE_COUNT},
    [LIFE_COMPLETED] = {LIFE_RUNNING, LIFE_WAITING_FOR_MERGE, LIFE_COMPLETED, LIFE_COUNT},
    [LIFE_FAILED] = {LIFE_RUNNING, LIFE_FAILED, LIFE_COUNT},
    [LIFE_CLOSED] = {LIFE_FAILED, LIFE_CLOSED, LIFE_COUNT},
};

static struct event next_event(const struct run *run, uint32_t agent_no, enum event_type type)
{
    struct event event;
    event_init(&event, type);
    event.seq = run_seq(run) + 1;
    event.cause_seq = 1;
    event.agent_no = agent_no;
    event.ts = RIG_START;
    event.outcome = type == EVENT_SUBAGENT_FAILED ? STR("error") : STR("completed");
    return event;
}

/* The rig's log up to the creation of child 1, folded. */
static struct run *with_a_child(struct rig *rig)
{
    struct run *run = run_new(STR(RIG_RUN));
    struct err err = ERR_INIT;
    if (rig->event_count == 0) {
        rig_start(rig, "do it");
        CALLS(rig, 0, SPAWN("x"));
    }
    for (size_t i = 0; i < rig->event_count; i++) {
        if (run_apply(run, rig->events[i], &err) != 0)
            fail_msg("%s", err.message);
        if (rig->events[i]->type == EVENT_SUBAGENT_CREATED)
            break;
    }
    assert_int_equal(run_agent_count(run), 2);
    return run;
}

static struct run *with_a_child_in(struct rig *rig, enum life_state state)
{
    struct run *run = with_a_child(rig);
    struct err err = ERR_INIT;
    for (size_t i = 0; ways[state][i] != LIFE_COUNT; i++) {
        struct event event = next_event(run, 1, into[ways[state][i]]);
        if (run_apply(run, &event, &err) != 0)
            fail_msg("%s", err.message);
    }
    assert_int_equal(run_agent(run, 1)->life, state);
    return run;
}

static void the_table_holds_the_promised_edges_and_no_others(void **state)
{
    assert_int_equal(lifecycle_edge_count, sizeof promised / sizeof promised[0]);
    for (int from = 0; from < LIFE_COUNT; from++) {
        for (int to = 0; to < LIFE_COUNT; to++)
            assert_int_equal(life_legal((enum life_state)from, (enum life_state)to),
                             is_promised((enum life_state)from, (enum life_state)to));
    }
}

static void run_apply_takes_every_legal_edge_and_refuses_every_other(void **state)
{
    for (int from = 0; from < LIFE_COUNT; from++) {
        for (int to = 0; to < LIFE_COUNT; to++) {
            struct run *run = with_a_child_in(*state, (enum life_state)from);
            struct event event = next_event(run, 1, into[to]);
            struct err err = ERR_INIT;
            int result = run_apply(run, &event, &err);
            if ((result == 0) != is_promised((enum life_state)from, (enum life_state)to))
                fail_msg("%s to %s: %s", life_text((enum life_state)from),
                         life_text((enum life_state)to), result == 0 ? "taken" : err.message);
            if (result == 0)
                assert_int_equal(run_agent(run, 1)->life, to);
            else
                assert_int_equal(err.class, ERR_CORRUPT);
            run_free(run);
        }
    }
}

static void a_root_has_no_such_life(void **state)
{
    for (int to = LIFE_CREATED; to < LIFE_COUNT; to++) {
        struct run *run = with_a_child(*state);
        struct event event = next_event(run, 0, into[to]);
        struct err err = ERR_INIT;
        assert_int_equal(run_apply(run, &event, &err), -1);
        assert_int_equal(err.class, ERR_CORRUPT);
        run_free(run);
    }
}

static void every_edge_changes_exactly_one_row_to_its_new_status(void **state)
{
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof promised / sizeof promised[0]; i++) {
        struct run *run = with_a_child_in(rig, promised[i].from);
        struct event event = next_event(run, 1, into[promised[i].to]);
        struct row rows[PROJECT_MAX];
        struct err err = ERR_INIT;
        event.error = STR("broken");
        assert_int_equal(run_apply(run, &event, &err), 0);
        assert_int_equal(project(run, &event, rows), 1);
        assert_int_equal(rows[0].kind, ROW_AGENT_STATUS);
        check_str(rows[0].status, life_text(promised[i].to));
        assert_true(str_eq(rows[0].id, run_agent(run, 1)->id));
        assert_int_equal(rows[0].started_at, promised[i].to == LIFE_RUNNING ? RIG_START : -1);
        assert_int_equal(rows[0].finished_at, promised[i].to == LIFE_CLOSED ? RIG_START : -1);
        check_str(rows[0].error, promised[i].to == LIFE_FAILED ? "broken" : "");
        assert_null(rows[0].context_json.p); /* a contract is written once */
        run_free(run);
    }
}

static void a_new_child_is_one_inserted_row_with_its_contract(void **state)
{
    struct rig *rig = *state;
    struct run *run = with_a_child(rig);
    struct row rows[PROJECT_MAX];
    const struct event *created = rig_last(rig, 1, EVENT_SUBAGENT_CREATED);
    assert_int_equal(project(run, created, rows), 1);
    assert_int_equal(rows[0].kind, ROW_AGENT_INSERT);
    check_str(rows[0].status, "created");
    check_str(rows[0].parent_id, RIG_RUN);
    assert_int_equal(rows[0].step_idx, 1);
    assert_true(str_eq(rows[0].context_json, created->contract));
    run_free(run);
}

static void the_run_is_one_row_when_it_starts_and_when_it_ends(void **state)
{
    static const struct {
        enum event_type type;
        const char *status;
    } ends[] = {{EVENT_RUN_COMPLETED, "completed"},
                {EVENT_RUN_FAILED, "failed"},
                {EVENT_RUN_CANCELLED, "cancelled"}};
    struct rig *rig = *state;
    struct row rows[PROJECT_MAX];
    rig_start(rig, "do it");
    assert_int_equal(project(rig->run, rig_last(rig, 0, EVENT_RUN_STARTED), rows), 1);
    assert_int_equal(rows[0].kind, ROW_RUN_INSERT);
    check_str(rows[0].status, "running");
    check_str(rows[0].task, "do it");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct event event = next_event(rig->run, 0, ends[i].type);
        event.result = STR("{}");
        assert_int_equal(project(rig->run, &event, rows), 1);
        assert_int_equal(rows[0].kind, ROW_RUN_STATUS);
        check_str(rows[0].status, ends[i].status);
        check_str(rows[0].result_json, "{}");
        assert_int_equal(rows[0].finished_at, RIG_START);
    }
}

static void a_parked_run_has_not_ended_and_a_resumed_one_runs(void **state)
{
    struct rig *rig = *state;
    struct row rows[PROJECT_MAX];
    rig_start(rig, "do it");
    struct event event = next_event(rig->run, 0, EVENT_RUN_PARKED);
    event.reason = STR("down");
    assert_int_equal(project(rig->run, &event, rows), 1);
    check_str(rows[0].status, "parked");
    check_str(rows[0].error, "down");
    assert_int_equal(rows[0].finished_at, -1);
    event = next_event(rig->run, 0, EVENT_RUN_RESUMED);
    assert_int_equal(project(rig->run, &event, rows), 1);
    check_str(rows[0].status, "running");
    assert_int_equal(rows[0].error.n, 0);
}

static void all_other_events_change_no_row(void **state)
{
    struct run *run = with_a_child(*state);
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event event = next_event(run, 1, (enum event_type)type);
        struct row rows[PROJECT_MAX];
        const char *text = event_type_text((enum event_type)type);
        bool changes = type == EVENT_RUN_STARTED || type == EVENT_RUN_COMPLETED ||
                       type == EVENT_RUN_PARKED || type == EVENT_RUN_RESUMED ||
                       type == EVENT_RUN_FAILED || type == EVENT_RUN_CANCELLED;
        for (int life = 0; life < LIFE_COUNT; life++)
            changes = changes || (int)into[life] == type;
        if (project(run, &event, rows) != (changes ? 1u : 0u))
            fail_msg("%s", text);
    }
    run_free(run);
}

/* --- the log as a whole ---------------------------------------------------------------------------- */

static void refused(struct run *run, const struct event *event)
{
    struct err err = ERR_INIT;
    assert_int_equal(run_apply(run, event, &err), -1);
    assert_int_equal(err.class, ERR_CORRUPT);
    assert_true(err.message[0] != '\0');
}

static void events_are_dense_and_of_known_agents(void **state)
{
    struct run *run = with_a_child(*state);
    struct event event = next_event(run, 1, EVENT_SUBAGENT_STARTED);
    event.seq++;
    refused(run, &event);
    event.seq -= 2;
    refused(run, &event);
    event = next_event(run, 2, EVENT_SUBAGENT_STARTED);
    refused(run, &event);
    run_free(run);
}

static void a_child_with_open_children_cannot_end(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"));
    CALLS(rig, 1, SPAWN("two"));
    struct event event = next_event(rig->run, 1, EVENT_SUBAGENT_FAILED);
    refused(rig->run, &event);
    event = next_event(rig->run, 0, EVENT_RUN_COMPLETED);
    refused(rig->run, &event);
}

static void a_sleep_is_the_runs_and_has_a_length(void **state)
{
    struct run *run = with_a_child(*state);
    struct err err = ERR_INIT;
    struct event event = next_event(run, 0, EVENT_RUN_SLEPT);
    refused(run, &event);
    event.slept_ms = -1;
    refused(run, &event);
    event.slept_ms = 1000;
    event.agent_no = 1;
    refused(run, &event);
    event.agent_no = 0;
    assert_int_equal(run_apply(run, &event, &err), 0);
    event = next_event(run, 0, EVENT_RUN_SLEPT);
    event.slept_ms = INT64_MAX; /* with the first, more than a number holds */
    refused(run, &event);
    run_free(run);
}

static void nothing_follows_the_end_of_a_run(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_say(rig, 0, "done");
    for (int type = 0; type < EVENT_TYPE_COUNT; type++) {
        struct event event = next_event(rig->run, 0, (enum event_type)type);
        if (type != EVENT_INBOX_TAKEN)
            refused(rig->run, &event);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_holds_the_promised_edges_and_no_others),
        RIG_TEST(run_apply_takes_every_legal_edge_and_refuses_every_other),
        RIG_TEST(a_root_has_no_such_life),
        RIG_TEST(every_edge_changes_exactly_one_row_to_its_new_status),
        RIG_TEST(a_new_child_is_one_inserted_row_with_its_contract),
        RIG_TEST(the_run_is_one_row_when_it_starts_and_when_it_ends),
        RIG_TEST(a_parked_run_has_not_ended_and_a_resumed_one_runs),
        RIG_TEST(all_other_events_change_no_row),
        RIG_TEST(events_are_dense_and_of_known_agents),
        RIG_TEST(a_child_with_open_children_cannot_end),
        RIG_TEST(a_sleep_is_the_runs_and_has_a_length),
        RIG_TEST(nothing_follows_the_end_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
