/* Starting a run: its session, its first message and its lease in one transaction. Runs on the handle's thread. */
#include "store/handle.h"

int sqlite_begin(struct store *store, const struct run_begin *begin, struct lease *lease,
                 int64_t *message_id, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    *lease = (struct lease){0};
    if (!id_valid(begin->run_id))
        return err_set(err, ERR_USAGE, "that is not the id of a run (26 letters and digits)");
    if (lease_terms(begin->owner, begin->ttl_ms, begin->sent_at, err) < 0 ||
        transaction_write(s, err) < 0)
        return -1;
    if (sqlite_session_ensure(store, begin->session_id, begin->user_id, begin->workspace_id,
                              begin->now, err) < 0 ||
        message_insert(s, begin->run_id, STR("start"), begin->body, begin->sender, begin->now,
                       message_id, err) < 0 ||
        lease_take(s, begin->run_id, begin->owner, begin->ttl_ms, begin->sent_at, lease, err) < 0) {
        transaction_rollback(s);
        return -1;
    }
    return transaction_commit(s, err);
}
