/* Calls of prepared statements, and transactions. Statements are prepared when first used: a process that only
 * looks at one run pays for nothing else. Runs on the handle's thread. */
#include "store/handle.h"

void call_start(struct call *call, struct sqlite_store *s, enum statement which)
{
    *call = (struct call){.s = s, .next = 1, .code = SQLITE_OK};
    if (!s->statements[which]) {
        call->code = sqlite3_prepare_v3(s->db, statement_sql(which), -1, SQLITE_PREPARE_PERSISTENT,
                                        &s->statements[which], NULL);
        if (call->code != SQLITE_OK)
            return;
    }
    /* A row callback that enters its own operation again would reset the walk it came from. */
    if (sqlite3_stmt_busy(s->statements[which])) {
        call->code = SQLITE_MISUSE;
        return;
    }
    call->stmt = s->statements[which];
}

static void call_bound(struct call *call, int code)
{
    if (code != SQLITE_OK)
        call->code = code;
    call->next++;
}

void call_int(struct call *call, int64_t number)
{
    if (call->code == SQLITE_OK)
        call_bound(call, sqlite3_bind_int64(call->stmt, call->next, number));
}

void call_int_or_null(struct call *call, int64_t number)
{
    if (call->code != SQLITE_OK)
        return;
    if (number == -1)
        call_bound(call, sqlite3_bind_null(call->stmt, call->next));
    else
        call_int(call, number);
}

void call_str(struct call *call, struct str text)
{
    if (call->code != SQLITE_OK)
        return;
    if (!text.p)
        call_bound(call, sqlite3_bind_null(call->stmt, call->next));
    else if (text.n > STORE_VALUE_MAX)
        call->code = SQLITE_TOOBIG;
    else
        call_bound(call,
                   sqlite3_bind_text(call->stmt, call->next, text.p, (int)text.n, SQLITE_STATIC));
}

void call_bytes(struct call *call, struct str bytes)
{
    if (call->code != SQLITE_OK)
        return;
    if (bytes.n > STORE_VALUE_MAX)
        call->code = SQLITE_TOOBIG;
    else
        call_bound(call,
                   sqlite3_bind_blob(call->stmt, call->next, bytes.p, (int)bytes.n, SQLITE_STATIC));
}

void call_hash(struct call *call, const struct hash *hash)
{
    if (hash)
        call_bytes(call, (struct str){(const char *)hash->bytes, sizeof hash->bytes});
    else
        call_str(call, STR_NONE);
}

int call_step(struct call *call, const char *doing, struct err *err)
{
    int code = call->code != SQLITE_OK ? call->code : sqlite3_step(call->stmt);
    if (call->s->is_still && still_check(call->s, err) < 0) {
        call_end(call);
        return -1;
    }
    if (code == SQLITE_ROW)
        return 1;
    int result = code == SQLITE_DONE ? 0 : handle_error(call->s, code, doing, err);
    call_end(call);
    return result;
}

int call_run(struct call *call, const char *doing, struct err *err)
{
    int result = call_step(call, doing, err);
    call_end(call);
    return result < 0 ? -1 : 0;
}

void call_end(struct call *call)
{
    if (call->stmt)
        sqlite3_reset(call->stmt);
    call->stmt = NULL;
}

int64_t call_number(struct call *call, int column)
{
    return sqlite3_column_int64(call->stmt, column);
}

int64_t call_number_or_none(struct call *call, int column)
{
    if (sqlite3_column_type(call->stmt, column) == SQLITE_NULL)
        return -1;
    return sqlite3_column_int64(call->stmt, column);
}

struct str call_text(struct call *call, int column)
{
    int type = sqlite3_column_type(call->stmt, column);
    if (type == SQLITE_NULL)
        return STR_NONE;
    const char *p = type == SQLITE_BLOB ? sqlite3_column_blob(call->stmt, column)
                                        : (const char *)sqlite3_column_text(call->stmt, column);
    size_t n = (size_t)sqlite3_column_bytes(call->stmt, column);
    return p ? (struct str){p, n} : STR("");
}

bool call_hash_at(struct call *call, int column, struct hash *hash)
{
    const void *bytes = sqlite3_column_blob(call->stmt, column);
    if (!bytes || sqlite3_column_bytes(call->stmt, column) != (int)sizeof hash->bytes)
        return false;
    memcpy(hash->bytes, bytes, sizeof hash->bytes);
    return true;
}

static int transaction_step(struct sqlite_store *s, enum statement which, const char *doing,
                            struct err *err)
{
    struct call call;
    call_start(&call, s, which);
    return call_run(&call, doing, err);
}

int transaction_write(struct sqlite_store *s, struct err *err)
{
    return transaction_step(s, STATEMENT_BEGIN_WRITE, "starting to write", err);
}

int transaction_read(struct sqlite_store *s, struct err *err)
{
    return transaction_step(s, STATEMENT_BEGIN_READ, "starting to read", err);
}

int transaction_commit(struct sqlite_store *s, struct err *err)
{
    if (transaction_step(s, STATEMENT_COMMIT, "committing", err) == 0)
        return 0;
    transaction_rollback(s);
    return -1;
}

void transaction_rollback(struct sqlite_store *s)
{
    struct err ignored = ERR_INIT;
    if (sqlite3_txn_state(s->db, "main") != SQLITE_TXN_READ) {
        map_release(&s->types);
        map_init(&s->types);
    }
    /* After some I/O errors SQLite has rolled back by itself. */
    if (sqlite3_get_autocommit(s->db))
        return;
    if (transaction_step(s, STATEMENT_ROLLBACK, "rolling back", &ignored) < 0)
        return;
}
