/* The control plane: records with versions and their history, and sessions. A version never comes back, not
 * even after a record was removed, so that compare-and-swap cannot be fooled by an old one. */
#include <stdio.h>

#include "store/handle.h"

/* Who wrote a version, for messages. */
#define WRITER_MAX 128

/* *version 0 where there is no such record. value and who may be NULL. */
static int record_read(struct sqlite_store *s, struct str type, struct str id, struct buf *value,
                       uint64_t *version, char who[WRITER_MAX], struct err *err)
{
    struct call call;
    *version = 0;
    call_start(&call, s, STATEMENT_RECORD_GET);
    call_str(&call, type);
    call_str(&call, id);
    int row = call_step(&call, "reading a record", err);
    if (row == 1) {
        *version = (uint64_t)call_number(&call, 0);
        if (who)
            snprintf(who, WRITER_MAX, "%.*s", STR_FMT(call_text(&call, 2)));
        if (value) {
            buf_str(value, call_text(&call, 1));
            if (value->failed)
                row = err_set(err, ERR_USAGE,
                              "record %.*s %.*s is larger than the reader's %zu bytes",
                              STR_FMT(type), STR_FMT(id), value->max);
        }
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}

int sqlite_record_get(struct store *store, struct str type, struct str id, struct buf *value,
                      uint64_t *version, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    if (record_read(s, type, id, value, version, NULL, err) < 0)
        return -1;
    if (*version == 0)
        return err_set(err, ERR_NOT_FOUND, "no record %.*s %.*s", STR_FMT(type), STR_FMT(id));
    return 0;
}

/* The newest version in the history, of a removed record too; 0: there never was one. who may be NULL. */
static int last_version(struct sqlite_store *s, struct str type, struct str id, uint64_t *version,
                        char who[WRITER_MAX], struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RECORD_LAST_VERSION);
    call_str(&call, type);
    call_str(&call, id);
    int row = call_step(&call, "writing a record", err);
    *version = row == 1 ? (uint64_t)call_number(&call, 0) : 0;
    if (row == 1 && who)
        snprintf(who, WRITER_MAX, "%.*s", STR_FMT(call_text(&call, 1)));
    call_end(&call);
    return row < 0 ? -1 : 0;
}

static int version_write(struct sqlite_store *s, enum statement which,
                         const struct record_change *change, uint64_t version, struct err *err)
{
    struct call call;
    call_start(&call, s, which);
    call_str(&call, change->type);
    call_str(&call, change->id);
    call_int(&call, (int64_t)version);
    call_str(&call, change->value);
    call_str(&call, change->who);
    call_int(&call, change->now);
    return call_run(&call, "writing a record", err);
}

static int record_remove(struct sqlite_store *s, struct str type, struct str id, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RECORD_REMOVE);
    call_str(&call, type);
    call_str(&call, id);
    return call_run(&call, "removing a record", err);
}

/* 0 when the record has this version (0: is not there). Else RETRY, and who is to be asked about it. */
static int record_expect(struct sqlite_store *s, struct str type, struct str id, uint64_t expected,
                         uint64_t *version, struct err *err)
{
    char who[WRITER_MAX] = "";
    uint64_t last;
    if (record_read(s, type, id, NULL, version, who, err) < 0)
        return -1;
    if (*version == expected)
        return 0;
    if (*version > 0)
        return err_set(err, ERR_RETRY,
                       "%.*s %.*s has version %llu, written by %s; expected version %llu",
                       STR_FMT(type), STR_FMT(id), (unsigned long long)*version, who,
                       (unsigned long long)expected);
    if (last_version(s, type, id, &last, who, err) < 0)
        return -1;
    if (last == 0)
        return err_set(err, ERR_RETRY, "%.*s %.*s does not exist; expected version %llu",
                       STR_FMT(type), STR_FMT(id), (unsigned long long)expected);
    return err_set(err, ERR_RETRY,
                   "%.*s %.*s was removed by %s and has version 0; expected version %llu",
                   STR_FMT(type), STR_FMT(id), who, (unsigned long long)expected);
}

static int record_swap(struct sqlite_store *s, const struct record_change *change,
                       uint64_t *version, struct err *err)
{
    uint64_t last = 0, other;
    if (record_expect(s, change->type, change->id, change->expected, version, err) < 0)
        return -1;
    for (size_t i = 0; i < change->condition_count; i++) {
        const struct record_condition *condition = &change->conditions[i];
        if (record_expect(s, condition->type, condition->id, condition->version, &other, err) < 0)
            return -1;
    }
    if (!change->value.p && change->expected == 0)
        return err_set(err, ERR_NOT_FOUND, "no record %.*s %.*s", STR_FMT(change->type),
                       STR_FMT(change->id));
    if (last_version(s, change->type, change->id, &last, NULL, err) < 0 ||
        version_write(s, STATEMENT_RECORD_HISTORY, change, last + 1, err) < 0)
        return -1;
    *version = last + 1;
    if (!change->value.p)
        return record_remove(s, change->type, change->id, err);
    return version_write(s, STATEMENT_RECORD_SET, change, last + 1, err);
}

int sqlite_record_change(struct store *store, const struct record_change *change, uint64_t *version,
                         struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    *version = 0;
    if (transaction_write(s, err) < 0)
        return -1;
    if (record_swap(s, change, version, err) < 0) {
        transaction_rollback(s);
        return -1;
    }
    return transaction_commit(s, err);
}

int sqlite_record_cas(struct store *store, struct str type, struct str id, uint64_t expected,
                      struct str value, struct str who, int64_t now, uint64_t *version,
                      struct err *err)
{
    struct record_change change = {
        .type = type, .id = id, .expected = expected, .value = value, .who = who, .now = now};
    return sqlite_record_change(store, &change, version, err);
}

/* Hands the rows of a prepared call to fn; both statements have the same columns. */
static int records_walk(struct call *call, store_record_fn *fn, void *user, struct err *err)
{
    int row;
    while ((row = call_step(call, "reading records", err)) == 1) {
        struct stored_record record = {
            .type = call_text(call, 0),
            .id = call_text(call, 1),
            .version = (uint64_t)call_number(call, 2),
            .value = call_text(call, 3),
            .who = call_text(call, 4),
            .at = call_number(call, 5),
        };
        if (fn(user, &record) != 0)
            break;
    }
    call_end(call);
    return row < 0 ? -1 : 0;
}

int sqlite_records(struct store *store, struct str type, store_record_fn *fn, void *user,
                   struct err *err)
{
    struct call call;
    call_start(&call, sqlite_store_of(store), STATEMENT_RECORDS);
    call_str(&call, type);
    return records_walk(&call, fn, user, err);
}

int sqlite_record_history(struct store *store, struct str type, struct str id, size_t limit,
                          store_record_fn *fn, void *user, struct err *err)
{
    struct call call;
    call_start(&call, sqlite_store_of(store), STATEMENT_RECORDS_HISTORY);
    call_str(&call, type);
    call_str(&call, id);
    call_int(&call, limit > 0 && limit < INT64_MAX ? (int64_t)limit : -1);
    return records_walk(&call, fn, user, err);
}

int sqlite_session_ensure(struct store *store, struct str session_id, struct str user_id,
                          struct str workspace_id, int64_t now, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    if (!session_id.p || session_id.n == 0)
        return err_set(err, ERR_USAGE, "a session needs an id");
    /* Known sessions are the rule: a read needs no lock and no sync. */
    call_start(&call, s, STATEMENT_SESSION_GET);
    call_str(&call, session_id);
    int row = call_step(&call, "looking for a session", err);
    call_end(&call);
    if (row != 0)
        return row < 0 ? -1 : 0;
    call_start(&call, s, STATEMENT_SESSION_INSERT);
    call_str(&call, session_id);
    call_str(&call, user_id);
    call_str(&call, workspace_id);
    call_int(&call, now);
    return call_run(&call, "making a session", err);
}
