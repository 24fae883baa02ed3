/* The inbox: everything that reaches a run from outside. A message waits here until an event consumes it, in the
 * same transaction (append.c): exactly once. A message of kind start makes its run known. */
#include "store/handle.h"

static int run_insert(struct sqlite_store *s, struct str run_id, int64_t now, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RUN_INSERT);
    call_str(&call, run_id);
    call_int(&call, now);
    if (call_run(&call, "starting a run", err) < 0)
        return -1;
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE, "run %.*s exists already", STR_FMT(run_id));
}

int message_insert(struct sqlite_store *s, struct str run_id, struct str kind, struct str body,
                   struct str sender, int64_t now, int64_t *id, struct err *err)
{
    struct call call;
    int64_t run_no = 0;
    if (str_is(kind, "start") && run_insert(s, run_id, now, err) < 0)
        return -1;
    if (run_number(s, run_id, &run_no, err) < 0)
        return -1;
    call_start(&call, s, STATEMENT_INBOX_INSERT);
    call_int(&call, run_no);
    call_str(&call, kind);
    call_str(&call, body);
    call_str(&call, sender);
    call_int(&call, now);
    if (call_run(&call, "putting a message into an inbox", err) < 0)
        return -1;
    *id = sqlite3_last_insert_rowid(s->db);
    return 0;
}

int sqlite_inbox_put(struct store *store, struct str run_id, struct str kind, struct str body,
                     struct str sender, int64_t now, int64_t *id, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    if (!id_valid(run_id))
        return err_set(err, str_is(kind, "start") ? ERR_USAGE : ERR_NOT_FOUND,
                       "that is not the id of a run (26 letters and digits)");
    if (transaction_write(s, err) < 0)
        return -1;
    if (message_insert(s, run_id, kind, body, sender, now, id, err) < 0) {
        transaction_rollback(s);
        return -1;
    }
    return transaction_commit(s, err);
}

static int messages_walk(struct sqlite_store *s, int64_t run_no, store_inbox_fn *fn, void *user,
                         struct err *err)
{
    struct call call;
    int row;
    call_start(&call, s, STATEMENT_INBOX_OPEN);
    call_int(&call, run_no);
    while ((row = call_step(&call, "reading an inbox", err)) == 1) {
        struct inbox_message message = {
            .id = call_number(&call, 0),
            .kind = call_text(&call, 1),
            .body = call_text(&call, 2),
            .sender = call_text(&call, 3),
            .at = call_number(&call, 4),
        };
        if (fn(user, &message) != 0)
            break;
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}

int sqlite_inbox_look(struct store *store, struct str run_id, store_inbox_fn *fn, void *user,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct known_run run;
    if (transaction_read(s, err) < 0)
        return -1;
    int result = run_known(s, run_id, &run, err);
    if (result == 0)
        result = messages_walk(s, run.run_no, fn, user, err);
    transaction_rollback(s);
    return result;
}

int sqlite_inbox_take(struct store *store, struct str run_id, uint64_t epoch, store_inbox_fn *fn,
                      void *user, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct known_run run;
    /* The fence and the messages are of one moment. */
    if (transaction_read(s, err) < 0)
        return -1;
    int result = run_owned(s, run_id, epoch, &run, err);
    if (result == 0)
        result = messages_walk(s, run.run_no, fn, user, err);
    transaction_rollback(s);
    return result;
}
