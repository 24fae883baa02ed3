/* The control plane: records with versions and their history, and sessions. A version never comes back, not
 * even after a record was removed, so that compare-and-swap cannot be fooled by an old one. */
#include "store/handle.h"

/* *version 0 where there is no such record. value may be NULL. */
static int record_read(struct sqlite_store *s, struct str type, struct str id, struct buf *value,
                       uint64_t *version, struct err *err)
{
    struct call call;
    *version = 0;
    call_start(&call, s, STATEMENT_RECORD_GET);
    call_str(&call, type);
    call_str(&call, id);
    int row = call_step(&call, "reading a record", err);
    if (row == 1) {
        *version = (uint64_t)call_number(&call, 0);
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
    if (record_read(s, type, id, value, version, err) < 0)
        return -1;
    if (*version == 0)
        return err_set(err, ERR_NOT_FOUND, "no record %.*s %.*s", STR_FMT(type), STR_FMT(id));
    return 0;
}

static int last_version(struct sqlite_store *s, struct str type, struct str id, uint64_t *version,
                        struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RECORD_LAST_VERSION);
    call_str(&call, type);
    call_str(&call, id);
    int row = call_step(&call, "writing a record", err);
    *version = row == 1 ? (uint64_t)call_number(&call, 0) : 0;
    call_end(&call);
    return row < 0 ? -1 : 0;
}

static int version_write(struct sqlite_store *s, enum statement which, struct str type,
                         struct str id, uint64_t version, struct str value, struct str who,
                         int64_t now, struct err *err)
{
    struct call call;
    call_start(&call, s, which);
    call_str(&call, type);
    call_str(&call, id);
    call_int(&call, (int64_t)version);
    call_str(&call, value);
    call_str(&call, who);
    call_int(&call, now);
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

static int record_swap(struct sqlite_store *s, struct str type, struct str id, uint64_t expected,
                       struct str value, struct str who, int64_t now, uint64_t *version,
                       struct err *err)
{
    uint64_t last = 0;
    if (record_read(s, type, id, NULL, version, err) < 0)
        return -1;
    if (*version != expected)
        return err_set(err, ERR_RETRY, "record %.*s %.*s has version %llu, not %llu", STR_FMT(type),
                       STR_FMT(id), (unsigned long long)*version, (unsigned long long)expected);
    if (!value.p && expected == 0)
        return err_set(err, ERR_NOT_FOUND, "no record %.*s %.*s", STR_FMT(type), STR_FMT(id));
    if (last_version(s, type, id, &last, err) < 0 ||
        version_write(s, STATEMENT_RECORD_HISTORY, type, id, last + 1, value, who, now, err) < 0)
        return -1;
    *version = last + 1;
    if (!value.p)
        return record_remove(s, type, id, err);
    return version_write(s, STATEMENT_RECORD_SET, type, id, last + 1, value, who, now, err);
}

int sqlite_record_cas(struct store *store, struct str type, struct str id, uint64_t expected,
                      struct str value, struct str who, int64_t now, uint64_t *version,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    *version = 0;
    if (transaction_write(s, err) < 0)
        return -1;
    if (record_swap(s, type, id, expected, value, who, now, version, err) < 0) {
        transaction_rollback(s);
        return -1;
    }
    return transaction_commit(s, err);
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
