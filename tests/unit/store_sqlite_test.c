/* The store on SQLite: the promises of every store, then what the database itself refuses, the view for people, and
 * payloads as blobs. */
#include <stdio.h>

#include "core/run/lifecycle.h"
#include "store/handle.h"
#include "store_place.h"

static const char long_payload[] = "{\"pad\":\""
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
    HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
                                   "\"}";

/* A run with one short and one long event and a child: created, then one that is closed. */
static struct test_run filled(struct store_fixture *f)
{
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    struct id open_child = test_id(50), closed_child = test_id(51);
    struct row rows[] = {
        test_agent_insert(&open_child, "created"), test_agent_insert(&closed_child, "created"),
        test_agent_status(&closed_child, "failed"), test_agent_status(&closed_child, "closed")};
    assert_int_equal(test_append_rows(f->s, &run, rows, 4, &err), APPEND_DURABLE);
    struct event_row event = test_event(&run, 1, long_payload);
    struct append_batch batch = test_batch(&run, &event, 1);
    batch.inbox_ids = &run.start_message;
    batch.inbox_count = 1;
    f->s->ops->append(f->s, &batch, 1);
    assert_int_equal(batch.result, APPEND_DURABLE);
    uint64_t version;
    assert_int_equal(f->s->ops->record_cas(f->s, STR("t"), STR("i"), 0, STR("{}"), STR("me"), NOW,
                                           &version, &err),
                     0);
    return run;
}

/* A run with a child that is still open in its table, although the run has failed. */
static struct test_run ended(struct store_fixture *f)
{
    struct err err;
    struct test_run run = test_owned(f->s, 2);
    struct id child = test_id(60);
    struct row rows[] = {
        test_agent_insert(&child, "created"),
        {.kind = ROW_RUN_STATUS, .status = STR("failed"), .error = STR("no"), .finished_at = NOW}};
    assert_int_equal(test_append_rows(f->s, &run, rows, 2, &err), APPEND_DURABLE);
    return run;
}

static void the_row_of_an_ended_run_is_final(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = ended(f);
    struct row row = {.kind = ROW_RUN_STATUS, .status = STR("running"), .finished_at = -1};
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_REFUSED);
    assert_non_null(strstr(err.message, "the run has ended"));
}

static void the_database_itself_refuses(void **state)
{
    static const char *const statements[] = {
        "UPDATE events SET summary = 'x'",
        "UPDATE events SET payload_json = '{}' WHERE seq = 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 2",
        "REPLACE INTO events SELECT * FROM events WHERE seq = 1",
        "REPLACE INTO events (g, run_no, seq, agent_no, agent_prev, epoch, v, ts, type_no,"
        " cause_seq, summary, payload_json, hash) SELECT g, run_no, 3, 0, 0, 1, 1, 1, 1, 0, '',"
        " '{}', hash FROM events WHERE seq = 1",
        "INSERT INTO events (run_no, seq, agent_no, agent_prev, epoch, v, ts, type_no, cause_seq,"
        " summary, payload_json, hash) VALUES (1, 9, 0, 0, 1, 1, 1, 1, 0, '', '{}', x'00')",
        "UPDATE blobs SET bytes = x'00'",
        "REPLACE INTO blobs SELECT hash, x'00', 1 FROM blobs",
        "DELETE FROM blobs",
        "UPDATE event_types SET type = 'x'",
        "DELETE FROM event_types",
        "REPLACE INTO event_types SELECT type_no, 'x', 'x.y' FROM event_types",
        "REPLACE INTO event_types (category, type) SELECT category, type FROM event_types",
        "UPDATE agent_tails SET seq = 0",
        "UPDATE agent_tails SET agent_no = agent_no + 7",
        "DELETE FROM agent_tails",
        "REPLACE INTO agent_tails SELECT * FROM agent_tails",
        "REPLACE INTO runs SELECT * FROM runs",
        "UPDATE runs SET status = 'running' WHERE status = 'failed'",
        "UPDATE runs SET error = NULL WHERE status = 'failed'",
        "UPDATE sub_agents SET name = 'x' WHERE run_no = (SELECT run_no FROM runs WHERE status ="
        " 'failed')",
        "INSERT INTO sub_agents (run_no, agent_no, run_id, id, status, context_json)"
        " SELECT run_no, 9, 'r', 'i', 'created', '{}' FROM runs WHERE status = 'failed'",
        "DELETE FROM runs",
        "UPDATE runs SET id = '01HF7YAT00000000000000ROOT'",
        "DELETE FROM sub_agents",
        "REPLACE INTO sub_agents SELECT * FROM sub_agents WHERE status = 'created'",
        "UPDATE sub_agents SET context_json = '{}' WHERE status = 'created'",
        "UPDATE sub_agents SET id = 'x' WHERE status = 'created'",
        "UPDATE sub_agents SET parent_id = 'x' WHERE status = 'created'",
        "UPDATE sub_agents SET status = 'completed' WHERE status = 'created' AND run_no IN"
        " (SELECT run_no FROM runs WHERE status <> 'failed')",
        "UPDATE sub_agents SET status = 'closed' WHERE status = 'created' AND run_no IN"
        " (SELECT run_no FROM runs WHERE status <> 'failed')",
        "UPDATE sub_agents SET status = 'invented' WHERE status = 'created' AND run_no IN"
        " (SELECT run_no FROM runs WHERE status <> 'failed')",
        "UPDATE sub_agents SET error = 'x' WHERE status = 'closed'",
        "UPDATE sub_agents SET status = 'running' WHERE status = 'closed'",
        "INSERT INTO sub_agents (run_no, agent_no, run_id, id, status, context_json)"
        " VALUES (1, 9, 'r', 'i', 'running', '{}')",
        "UPDATE leases SET epoch = 0",
        "DELETE FROM leases",
        "UPDATE inbox SET consumed_seq = 2",
        "UPDATE inbox SET consumed_seq = NULL",
        "DELETE FROM inbox",
        "UPDATE records_history SET who = 'x'",
        "DELETE FROM records_history",
        "INSERT INTO lifecycle_edges VALUES ('created', 'closed')",
        "UPDATE lifecycle_edges SET to_status = 'closed'",
        "DELETE FROM lifecycle_edges",
    };
    struct store_fixture *f = *state;
    struct test_run run = filled(f);
    ended(f);
    sqlite3 *db = raw_open(f);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        int code = sqlite3_exec(db, statements[i], NULL, NULL, NULL);
        if (code != SQLITE_CONSTRAINT_TRIGGER)
            fail_msg("%s: code %d: %s", statements[i], code, sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    assert_int_equal(test_verify(f->s, &run.id), 2);
}

/* Its own handles run without triggers: what these would refuse cannot even be prepared there. */
static void a_handle_cannot_prepare_what_the_database_refuses(void **state)
{
    static const char *const statements[] = {
        "UPDATE events SET summary = 'x'",
        "DELETE FROM events",
        "UPDATE blobs SET bytes = x'00'",
        "DELETE FROM runs",
        "UPDATE runs SET id = 'x'",
        "UPDATE runs SET run_no = 2",
        "DELETE FROM sub_agents",
        "UPDATE sub_agents SET context_json = '{}'",
        "UPDATE sub_agents SET id = 'x'",
        "UPDATE sub_agents SET run_no = 1",
        "UPDATE sub_agents SET parent_id = 'x'",
        "DELETE FROM leases",
        "UPDATE inbox SET body = '{}'",
        "DELETE FROM inbox",
        "UPDATE records_history SET who = 'x'",
        "DELETE FROM records_history",
        "INSERT INTO lifecycle_edges VALUES ('created', 'closed')",
        "UPDATE lifecycle_edges SET to_status = 'closed'",
        "DELETE FROM lifecycle_edges",
        "DROP TRIGGER events_update",
        "ALTER TABLE events ADD COLUMN x",
        "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)",
        "ATTACH ':memory:' AS x",
    };
    struct store_fixture *f = *state;
    sqlite3 *db = sqlite_store_of(f->s)->db;
    sqlite3_stmt *stmt = NULL;
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        int code = sqlite3_prepare_v2(db, statements[i], -1, &stmt, NULL);
        if (code != SQLITE_AUTH)
            fail_msg("%s: code %d: %s", statements[i], code, sqlite3_errmsg(db));
        assert_null(stmt);
    }
}

/* REPLACE removes a row without asking any trigger on DELETE, and no authorizer sees it. */
static void no_statement_of_a_handle_replaces_a_row(void **state)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        if (strstr(statement_sql((enum statement)i), "REPLACE"))
            fail_msg("%s", statement_sql((enum statement)i));
    }
}

struct told {
    char name[96];
    enum guard_state state;
    size_t count;
};

static void note_guard(void *user, const char *guard, enum guard_state state)
{
    struct told *told = user;
    snprintf(told->name, sizeof told->name, "%s", guard);
    told->state = state;
    told->count++;
}

static struct told broken_guards(struct store_fixture *f)
{
    struct told told = {.count = 0};
    struct err err = ERR_INIT;
    check_ok(f->s->ops->guards(f->s, note_guard, &told, &err), err);
    return told;
}

/* Each trigger of the file by itself: dropped, found by its name, and put back. */
static void each_guard_that_is_gone_is_named(void **state)
{
    struct store_fixture *f = *state;
    sqlite3 *db = raw_open(f);
    sqlite3_stmt *stmt = NULL;
    char sql[256], text[4096], expected[96];
    size_t triggers = 0;
    assert_int_equal(broken_guards(f).count, 0);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY"
                           " rowid LIMIT 1 OFFSET ?",
                           -1, &stmt, NULL),
        SQLITE_OK);
    check_raw(db, "SELECT count(*) > 30 FROM sqlite_schema WHERE type = 'trigger'", "1");
    for (;; triggers++) {
        /* One that is put back stands at the end: the first is always the next one. */
        sqlite3_bind_int(stmt, 1, 0);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        snprintf(expected, sizeof expected, "trigger %s", sqlite3_column_text(stmt, 0));
        snprintf(sql, sizeof sql, "DROP TRIGGER %s", sqlite3_column_text(stmt, 0));
        snprintf(text, sizeof text, "%s", sqlite3_column_text(stmt, 1));
        sqlite3_reset(stmt);
        if (triggers > 0 && strstr(expected, "events_update"))
            break;
        raw_run(db, sql);
        struct told told = broken_guards(f);
        assert_int_equal(told.count, 1);
        assert_string_equal(told.name, expected);
        assert_int_equal(told.state, GUARD_MISSING);
        raw_run(db, text);
        assert_int_equal(broken_guards(f).count, 0);
    }
    assert_true(triggers > 30);
    sqlite3_finalize(stmt);
    raw_run(db, "DROP TRIGGER events_update; CREATE TRIGGER events_update BEFORE UPDATE ON events"
                " BEGIN SELECT 1; END");
    struct told told = broken_guards(f);
    assert_string_equal(told.name, "trigger events_update");
    assert_int_equal(told.state, GUARD_CHANGED);
    raw_run(db, "CREATE TRIGGER evil AFTER INSERT ON events BEGIN SELECT 1; END");
    told = broken_guards(f);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.name, "trigger evil");
    assert_int_equal(told.state, GUARD_ADDED);
    raw_run(db, "DROP TRIGGER edges_insert;"
                "INSERT INTO lifecycle_edges VALUES ('created', 'closed')");
    assert_string_equal(broken_guards(f).name, "table lifecycle_edges");
    sqlite3_close(db);
}

static void the_edges_are_those_of_the_core(void **state)
{
    struct store_fixture *f = *state;
    sqlite3 *db = raw_open(f);
    char expected[16], sql[256];
    snprintf(expected, sizeof expected, "%zu", lifecycle_edge_count);
    check_raw(db, "SELECT count(*) FROM lifecycle_edges", expected);
    for (size_t i = 0; i < lifecycle_edge_count; i++) {
        snprintf(
            sql, sizeof sql,
            "SELECT count(*) FROM lifecycle_edges WHERE from_status = '%s' AND to_status = '%s'",
            lifecycle_edges[i].from, lifecycle_edges[i].to);
        check_raw(db, sql, "1");
    }
    sqlite3_close(db);
}

static void the_view_shows_text_ids_and_whole_payloads(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = filled(f);
    struct id child = test_id(50);
    struct hash hash;
    uint64_t seq;
    char hex[HASH_HEX + 1], sql[256];
    check_ok(f->s->ops->head(f->s, id_str(&run.id), &seq, &hash, &err), err);
    hash_hex(&hash, hex);
    sqlite3 *db = raw_open(f);
    check_raw(db, "SELECT group_concat(name) FROM pragma_table_info('event_log')",
              "run_id,seq,agent_id,ts,category,type,summary,payload_json,hash");
    check_raw(db, "SELECT run_id FROM event_log WHERE seq = 1", run.id.text);
    check_raw(db, "SELECT agent_id FROM event_log WHERE seq = 1", run.id.text);
    check_raw(db, "SELECT agent_id FROM event_log WHERE seq = 2", child.text);
    check_raw(db, "SELECT category || ' ' || type FROM event_log WHERE seq = 2",
              "tool tool.finished");
    check_raw(db, "SELECT payload_json FROM event_log WHERE seq = 1", "{}");
    check_raw(db, "SELECT payload_json FROM event_log WHERE seq = 2", long_payload);
    check_raw(db, "SELECT hash FROM event_log WHERE seq = 2", hex);
    /* One run is found through indexes: no table is scanned. */
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN SELECT * FROM event_log WHERE run_id = '%s'",
             run.id.text);
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);
        if (strncmp(step, "SCAN", 4) == 0)
            fail_msg("%s", step);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void a_long_payload_is_stored_once(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    for (int i = 0; i < 5; i++)
        test_append(f->s, &run, long_payload);
    sqlite3 *db = raw_open(f);
    check_raw(db, "SELECT count(*) FROM blobs", "1");
    check_raw(db, "SELECT size = length(bytes) FROM blobs", "1");
    check_raw(db, "SELECT count(*) FROM events WHERE payload_json IS NULL", "5");
    sqlite3_close(db);
}

static int see_purged(void *user, const struct stored_event *event)
{
    if (event->row.seq == 2) {
        assert_null(event->row.payload.p);
        struct hash hash = hash_of(str_from(long_payload));
        assert_true(hash_eq(&hash, &event->payload_hash));
        ++*(int *)user;
    }
    return 0;
}

static void a_purged_payload_leaves_the_chain_valid(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    int seen = 0;
    struct test_run run = filled(f);
    sqlite3 *db = raw_open(f);
    raw_run(db, "DROP TRIGGER blobs_delete; DELETE FROM blobs");
    sqlite3_close(db);
    check_ok(
        f->s->ops->read(f->s, id_str(&run.id), 0, STORE_ALL_AGENTS, 0, see_purged, &seen, &err),
        err);
    assert_int_equal(seen, 1);
    assert_int_equal(test_verify(f->s, &run.id), 2);
    check_ok(f->s->ops->check(f->s, &err), err);
}

static int ignore_event(void *user, const struct stored_event *event)
{
    return 0;
}

static void an_exchanged_payload_is_corrupt(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct buf out;
    struct test_run run = filled(f);
    struct hash hash = hash_of(str_from(long_payload));
    sqlite3 *db = raw_open(f);
    raw_run(db, "DROP TRIGGER blobs_delete;"
                "CREATE TEMP TABLE kept AS SELECT hash FROM blobs; DELETE FROM blobs;"
                "INSERT INTO blobs SELECT hash, CAST('{\"ok\":true}' AS BLOB), 11 FROM kept");
    sqlite3_close(db);
    check_class(
        f->s->ops->read(f->s, id_str(&run.id), 0, STORE_ALL_AGENTS, 0, ignore_event, NULL, &err),
        err, ERR_CORRUPT);
    buf_init(&out, 10000);
    check_class(f->s->ops->blob_get(f->s, &hash, &out, &err), err, ERR_CORRUPT);
    buf_release(&out);
}

struct reentry {
    struct store_fixture *f;
    struct id run_id;
    struct err err;
    int result;
};

static int read_again(void *user, const struct stored_event *event)
{
    struct reentry *r = user;
    struct store *s = r->f->s;
    r->result =
        s->ops->read(s, id_str(&r->run_id), 0, STORE_ALL_AGENTS, 0, ignore_event, NULL, &r->err);
    return 0;
}

static void an_operation_entered_from_its_own_callback_is_a_bug(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = filled(f);
    struct reentry reentry = {.f = f, .run_id = run.id};
    check_ok(
        f->s->ops->read(f->s, id_str(&run.id), 0, STORE_ALL_AGENTS, 0, read_again, &reentry, &err),
        err);
    assert_int_equal(reentry.result, -1);
    assert_int_equal(reentry.err.class, ERR_BUG);
}

int main(void)
{
    const struct CMUnitTest own[] = {
        PROMISE(the_database_itself_refuses),
        PROMISE(a_handle_cannot_prepare_what_the_database_refuses),
        PROMISE(no_statement_of_a_handle_replaces_a_row),
        PROMISE(the_edges_are_those_of_the_core),
        PROMISE(the_row_of_an_ended_run_is_final),
        PROMISE(each_guard_that_is_gone_is_named),
        PROMISE(the_view_shows_text_ids_and_whole_payloads),
        PROMISE(a_long_payload_is_stored_once),
        PROMISE(a_purged_payload_leaves_the_chain_valid),
        PROMISE(an_exchanged_payload_is_corrupt),
        PROMISE(an_operation_entered_from_its_own_callback_is_a_bug),
    };
    return place_run("store_sqlite", PLACE_WITH_PROMISES, own, sizeof own / sizeof own[0]);
}
