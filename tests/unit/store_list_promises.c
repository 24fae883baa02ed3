/* Promises about runs, sub-agents, sessions and records. */
#include <ctype.h>
#include <stdio.h>

#include "store_conformance.h"

struct listed {
    char ids[8][ID_LENGTH + 1];
    size_t count, stop_after;
};

static int note_run(void *user, const struct stored_run *run)
{
    struct listed *listed = user;
    assert_true(listed->count < 8 && run->run_id.n == ID_LENGTH);
    memcpy(listed->ids[listed->count++], run->run_id.p, ID_LENGTH);
    return listed->stop_after != 0 && listed->count == listed->stop_after;
}

static struct row run_insert(void)
{
    return (struct row){.kind = ROW_RUN_INSERT,
                        .status = STR("running"),
                        .session_id = STR("session"),
                        .user_id = STR("user"),
                        .workspace_id = STR("workspace"),
                        .workspace_path = STR("/home/u/w"),
                        .task = STR("write a parser"),
                        .model = STR("model-1"),
                        .parent_run = STR("01HF7YAT00000000000000ROOT"),
                        .parent_seq = 7,
                        .started_at = NOW + 5,
                        .finished_at = -1,
                        .step_idx = -1};
}

static struct row run_status(const char *status)
{
    return (struct row){.kind = ROW_RUN_STATUS,
                        .status = str_from(status),
                        .step_idx = -1,
                        .started_at = -1,
                        .finished_at = -1,
                        .parent_seq = -1};
}

static void set_status(struct store *s, struct test_run *run, const char *status)
{
    struct err err;
    struct row row = run_status(status);
    assert_int_equal(test_append_rows(s, run, &row, 1, &err), APPEND_DURABLE);
}

static void runs_come_newest_first_and_by_status(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run runs[4];
    for (unsigned i = 0; i < 4; i++) {
        /* Ids that sort against the order of their making. */
        runs[i] = test_owned(f->s, 9 - i);
        set_status(f->s, &runs[i], i % 2 ? "completed" : "running");
    }
    struct listed all = {0}, done = {0}, limited = {0}, stopped = {.stop_after = 1};
    check_ok(f->s->ops->runs(f->s, STR_NONE, 0, NOW, note_run, &all, &err), err);
    assert_int_equal(all.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(all.ids[i], runs[3 - i].id.text);
    check_ok(f->s->ops->runs(f->s, STR("completed"), 0, NOW, note_run, &done, &err), err);
    assert_int_equal(done.count, 2);
    assert_string_equal(done.ids[0], runs[3].id.text);
    assert_string_equal(done.ids[1], runs[1].id.text);
    check_ok(f->s->ops->runs(f->s, STR_NONE, 3, NOW, note_run, &limited, &err), err);
    assert_int_equal(limited.count, 3);
    check_ok(f->s->ops->runs(f->s, STR_NONE, 0, NOW, note_run, &stopped, &err), err);
    assert_int_equal(stopped.count, 1);
}

static int described_run(void *user, const struct stored_run *run)
{
    check_str(run->status, "running");
    check_str(run->session_id, "session");
    check_str(run->user_id, "user");
    check_str(run->workspace_id, "workspace");
    check_str(run->workspace_path, "/home/u/w");
    check_str(run->task, "write a parser");
    check_str(run->model, "model-1");
    check_str(run->parent_run, "01HF7YAT00000000000000ROOT");
    check_str(run->owner, "tester");
    assert_null(run->error.p);
    assert_null(run->result_json.p);
    assert_int_equal(run->parent_seq, 7);
    assert_int_equal(run->started_at, NOW + 5);
    assert_int_equal(run->finished_at, -1);
    assert_int_equal(run->last_seq, 3);
    assert_int_equal(run->children, 2);
    assert_int_equal(run->children_open, 1);
    *(int *)user += 1;
    return 0;
}

static int ended_run(void *user, const struct stored_run *run)
{
    check_str(run->status, "failed");
    check_str(run->error, "out of budget");
    check_str(run->result_json, "{\"success\":false}");
    assert_int_equal(run->finished_at, NOW + 99);
    assert_null(run->owner.p);
    *(int *)user += 1;
    return 0;
}

static void a_run_shows_what_its_events_projected(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    int calls = 0;
    struct test_run run = test_owned(f->s, 1);
    struct id one = test_id(11), two = test_id(12);
    struct row first[] = {run_insert(), test_agent_insert(&one, "created"),
                          test_agent_insert(&two, "created")};
    struct row second[] = {test_agent_status(&one, "failed")};
    struct row third[] = {test_agent_status(&one, "closed")};
    assert_int_equal(test_append_rows(f->s, &run, first, 3, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &run, second, 1, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &run, third, 1, &err), APPEND_DURABLE);
    check_ok(f->s->ops->run(f->s, id_str(&run.id), NOW, described_run, &calls, &err), err);
    assert_int_equal(calls, 1);

    struct row end = run_status("failed");
    end.error = STR("out of budget");
    end.result_json = STR("{\"success\":false}");
    end.finished_at = NOW + 99;
    assert_int_equal(test_append_rows(f->s, &run, &end, 1, &err), APPEND_DURABLE);
    /* Later than the lease: nobody owns the run. */
    check_ok(f->s->ops->run(f->s, id_str(&run.id), NOW + TTL, ended_run, &calls, &err), err);
    assert_int_equal(calls, 2);
}

static void a_run_is_inserted_once(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    struct row row = run_insert();
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_REFUSED);
}

static int queued_run(void *user, const struct stored_run *run)
{
    check_str(run->status, "queued");
    assert_int_equal(run->last_seq, 0);
    assert_int_equal(run->started_at, -1);
    assert_int_equal(run->parent_seq, -1);
    assert_int_equal(run->children, 0);
    assert_null(run->owner.p);
    *(int *)user += 1;
    return 0;
}

static void a_started_run_is_known_before_its_first_event(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    int calls = 0;
    struct test_run run = test_started(f->s, 1);
    check_ok(f->s->ops->run(f->s, id_str(&run.id), NOW, queued_run, &calls, &err), err);
    assert_int_equal(calls, 1);
}

static void an_unknown_run_is_not_found(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct listed listed = {0};
    struct id id = test_id(1);
    check_class(f->s->ops->run(f->s, id_str(&id), NOW, note_run, &listed, &err), err,
                ERR_NOT_FOUND);
    check_class(f->s->ops->run(f->s, STR("x"), NOW, note_run, &listed, &err), err, ERR_NOT_FOUND);
}

static void a_run_is_found_by_the_start_of_its_id_in_either_case(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct id found;
    struct test_run one = test_started(f->s, 0x10000000), two = test_started(f->s, 0xf0000000);
    char lower[ID_LENGTH + 1] = {0};
    for (size_t i = 0; i < ID_LENGTH; i++)
        lower[i] = (char)tolower((unsigned char)two.id.text[i]);
    check_ok(f->s->ops->run_find(f->s, id_str(&one.id), &found, &err), err);
    assert_string_equal(found.text, one.id.text);
    for (size_t n = 11; n <= ID_LENGTH; n++) {
        check_ok(f->s->ops->run_find(f->s, (struct str){lower, n}, &found, &err), err);
        assert_string_equal(found.text, two.id.text);
    }
}

static void a_prefix_of_several_or_no_runs_is_an_error(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct id found;
    struct test_run one = test_started(f->s, 1);
    test_started(f->s, 2);
    check_class(f->s->ops->run_find(f->s, (struct str){one.id.text, 5}, &found, &err), err,
                ERR_USAGE);
    check_class(f->s->ops->run_find(f->s, STR("7ZZZ"), &found, &err), err, ERR_NOT_FOUND);
    const struct str senseless[] = {STR(""), STR_NONE, STR("%"), STR("0_"),
                                    STR("000000000000000000000000000")};
    for (size_t i = 0; i < sizeof senseless / sizeof senseless[0]; i++)
        check_class(f->s->ops->run_find(f->s, senseless[i], &found, &err), err, ERR_USAGE);
}

struct agents_seen {
    struct id ids[4];
    size_t count;
};

static int note_agent(void *user, const struct stored_agent *agent)
{
    struct agents_seen *seen = user;
    assert_true(str_eq(agent->id, id_str(&seen->ids[seen->count])));
    check_str(agent->name, "writer");
    check_str(agent->parent_id, "01HF7YAT00000000000000ROOT");
    check_str(agent->context_json, "{\"contract_version\":1}");
    assert_int_equal(agent->step_idx, 2);
    if (seen->count == 1) {
        check_str(agent->status, "failed");
        check_str(agent->error, "no disk");
        check_str(agent->worktree_path, "/w/1");
        check_str(agent->branch_name, "cadre/r/1");
        check_str(agent->merge_status, "clean");
        assert_int_equal(agent->started_at, NOW + 1);
        assert_int_equal(agent->finished_at, NOW + 2);
    } else {
        check_str(agent->status, "created");
        assert_null(agent->error.p);
        assert_int_equal(agent->started_at, -1);
    }
    seen->count++;
    return 0;
}

static void agents_come_in_spawn_order_and_keep_what_is_not_set(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    struct agents_seen seen = {.ids = {test_id(33), test_id(22), test_id(11)}};
    struct id foreign = test_id(44);
    struct row rows[] = {test_agent_insert(&seen.ids[0], "created"),
                         test_agent_insert(&seen.ids[1], "created"),
                         test_agent_insert(&seen.ids[2], "created")};
    struct row alien = test_agent_insert(&foreign, "created");
    assert_int_equal(test_append_rows(f->s, &run, rows, 3, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &other, &alien, 1, &err), APPEND_DURABLE);
    struct row running = test_agent_status(&seen.ids[1], "running");
    running.worktree_path = STR("/w/1");
    running.branch_name = STR("cadre/r/1");
    running.started_at = NOW + 1;
    struct row failed = test_agent_status(&seen.ids[1], "failed");
    failed.error = STR("no disk");
    failed.merge_status = STR("clean");
    failed.finished_at = NOW + 2;
    struct row changes[] = {running, failed};
    assert_int_equal(test_append_rows(f->s, &run, changes, 2, &err), APPEND_DURABLE);
    check_ok(f->s->ops->agents(f->s, id_str(&run.id), note_agent, &seen, &err), err);
    assert_int_equal(seen.count, 3);
}

static void a_session_is_made_on_first_use(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    for (int i = 0; i < 2; i++)
        check_ok(f->s->ops->session_ensure(f->s, STR("s1"), STR("u"), STR("w"), NOW + i, &err),
                 err);
    check_class(f->s->ops->session_ensure(f->s, STR(""), STR("u"), STR("w"), NOW, &err), err,
                ERR_USAGE);
}

static int cas(struct store *s, uint64_t expected, struct str value, uint64_t *version,
               struct err *err)
{
    return s->ops->record_cas(s, STR("agent"), STR("@writer"), expected, value, STR("me"), NOW,
                              version, err);
}

static void a_record_is_swapped_only_at_the_expected_version(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    uint64_t first, second, version;
    struct buf value;
    check_ok(cas(f->s, 0, STR("{\"a\":1}"), &first, &err), err);
    check_class(cas(f->s, 0, STR("{}"), &version, &err), err, ERR_RETRY);
    assert_int_equal(version, first);
    check_ok(cas(f->s, first, STR("{\"a\":2}"), &second, &err), err);
    assert_true(second > first);
    check_class(cas(f->s, first, STR("{}"), &version, &err), err, ERR_RETRY);
    assert_int_equal(version, second);
    buf_init(&value, 1000);
    check_ok(f->s->ops->record_get(f->s, STR("agent"), STR("@writer"), &value, &version, &err),
             err);
    check_str(buf_view(&value), "{\"a\":2}");
    assert_int_equal(version, second);
    buf_release(&value);
}

static void a_removed_record_is_gone_and_its_versions_never_return(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    uint64_t first, removed, again, version;
    struct buf value;
    buf_init(&value, 1000);
    check_ok(cas(f->s, 0, STR("{}"), &first, &err), err);
    check_ok(cas(f->s, first, STR_NONE, &removed, &err), err);
    check_class(f->s->ops->record_get(f->s, STR("agent"), STR("@writer"), &value, &version, &err),
                err, ERR_NOT_FOUND);
    check_class(cas(f->s, first, STR("{}"), &version, &err), err, ERR_RETRY);
    assert_int_equal(version, 0);
    check_class(cas(f->s, 0, STR_NONE, &version, &err), err, ERR_NOT_FOUND);
    check_ok(cas(f->s, 0, STR("{}"), &again, &err), err);
    assert_true(again > first);
    check_class(f->s->ops->record_get(f->s, STR("agent"), STR("@other"), &value, &version, &err),
                err, ERR_NOT_FOUND);
    buf_release(&value);
}

static void a_healthy_store_checks_clean(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{}");
    check_ok(f->s->ops->check(f->s, &err), err);
}

struct store_promises store_list_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(runs_come_newest_first_and_by_status),
        PROMISE(a_run_shows_what_its_events_projected),
        PROMISE(a_run_is_inserted_once),
        PROMISE(a_started_run_is_known_before_its_first_event),
        PROMISE(an_unknown_run_is_not_found),
        PROMISE(a_run_is_found_by_the_start_of_its_id_in_either_case),
        PROMISE(a_prefix_of_several_or_no_runs_is_an_error),
        PROMISE(agents_come_in_spawn_order_and_keep_what_is_not_set),
        PROMISE(a_session_is_made_on_first_use),
        PROMISE(a_record_is_swapped_only_at_the_expected_version),
        PROMISE(a_removed_record_is_gone_and_its_versions_never_return),
        PROMISE(a_healthy_store_checks_clean),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
