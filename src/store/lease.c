/* Leases: which process owns a run. The epoch is the fence: it grows with every new owner and never shrinks,
 * and every append names the epoch under which it writes. Time is counted from the machine's start (CLOCK_BOOTTIME), which
 * nobody can set; a lease of another start of the machine has run out. A lease that has run out keeps its epoch until
 * somebody else takes it, so a slow owner is not fenced by the clock alone. One that was released keeps its time: the next owner
 * reads from it when there was a last sign of life. */
#include "store/handle.h"

/* The first two columns are the number and the id. */
static void run_from_row(struct call *call, struct known_run *run)
{
    struct str id = call_text(call, 1);
    run->run_no = call_number(call, 0);
    memcpy(run->id.text, id.p, id.n < ID_LENGTH ? id.n : ID_LENGTH);
}

int run_known(struct sqlite_store *s, struct str run_id, struct known_run *run, struct err *err)
{
    struct call call;
    *run = (struct known_run){0};
    if (!id_valid(run_id))
        return err_set(err, ERR_NOT_FOUND, "that is not the id of a run (26 letters and digits)");
    call_start(&call, s, STATEMENT_RUN_NUMBER);
    call_str(&call, run_id);
    int row = call_step(&call, "looking for a run", err);
    if (row == 1)
        run_from_row(&call, run);
    call_end(&call);
    if (row == 0)
        return err_set(err, ERR_NOT_FOUND, "no run %.*s in store %s", STR_FMT(run_id), s->path);
    return row < 0 ? -1 : 0;
}

int run_number(struct sqlite_store *s, struct str run_id, int64_t *run_no, struct err *err)
{
    struct known_run run;
    int result = run_known(s, run_id, &run, err);
    *run_no = run.run_no;
    return result;
}

static int taken_over(struct str run_id, struct err *err)
{
    return err_set(err, ERR_CANCELLED, "run %.*s has another owner now", STR_FMT(run_id));
}

int run_leased(struct sqlite_store *s, struct str run_id, struct known_run *run, uint64_t *epoch,
               struct err *err)
{
    struct call call;
    *run = (struct known_run){0};
    if (!id_valid(run_id))
        return err_set(err, ERR_NOT_FOUND, "that is not the id of a run (26 letters and digits)");
    call_start(&call, s, STATEMENT_OWNED_RUN);
    call_str(&call, run_id);
    int row = call_step(&call, "checking a lease", err);
    if (row == 0)
        return err_set(err, ERR_NOT_FOUND, "no run %.*s in store %s", STR_FMT(run_id), s->path);
    if (row < 0)
        return -1;
    run_from_row(&call, run);
    *epoch = call_number(&call, 3) == 1 ? (uint64_t)call_number(&call, 2) : 0;
    call_end(&call);
    return 0;
}

int run_owned(struct sqlite_store *s, struct str run_id, uint64_t epoch, struct known_run *run,
              struct err *err)
{
    uint64_t current = 0;
    if (run_leased(s, run_id, run, &current, err) < 0)
        return -1;
    return current != 0 && current == epoch ? 0 : taken_over(run_id, err);
}

/* The parameters of LEASE_HOLDS (statement.c). */
void lease_clock(struct call *call, const struct sqlite_store *s, int64_t now)
{
    call_str(call, str_from(s->boot_id));
    call_int(call, now);
    call_int(call, now + s->wall_at_boot);
}

/* When a lease ends: in wall time for people and older programs, and on the clock that decides. */
static void lease_end(struct call *call, const struct sqlite_store *s, int64_t until)
{
    call_int(call, until + s->wall_at_boot);
    call_str(call, s->boot_id[0] != '\0' ? str_from(s->boot_id) : STR_NONE);
    call_int(call, until);
}

/* The present state of a lease; epoch 0 where nobody ever took it. */
static int lease_read(struct sqlite_store *s, int64_t run_no, int64_t now, struct lease *lease,
                      bool *holds, struct err *err)
{
    struct call call;
    *lease = (struct lease){0};
    *holds = false;
    call_start(&call, s, STATEMENT_LEASE_GET);
    lease_clock(&call, s, now);
    call_int(&call, run_no);
    int row = call_step(&call, "reading a lease", err);
    if (row == 1) {
        struct str owner = call_text(&call, 1);
        lease->epoch = (uint64_t)call_number(&call, 0);
        lease->expires_at = call_number(&call, 2);
        *holds = call_number(&call, 3) == 1;
        size_t n = owner.n < sizeof lease->holder ? owner.n : sizeof lease->holder - 1;
        if (n > 0)
            memcpy(lease->holder, owner.p, n);
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}

static int check_times(int64_t ttl_ms, int64_t now, struct err *err)
{
    int64_t until;
    if (ttl_ms <= 0 || now < 0 || __builtin_add_overflow(now, ttl_ms, &until))
        return err_set(err, ERR_USAGE, "a lease needs a time to live above 0");
    return 0;
}

int lease_terms(struct str owner, int64_t ttl_ms, int64_t now, struct err *err)
{
    size_t longest = sizeof((struct lease *)NULL)->holder - 1;
    if (!owner.p || owner.n == 0 || owner.n > longest || memchr(owner.p, 0, owner.n))
        return err_set(err, ERR_USAGE, "the owner of a lease needs a name of 1 to %zu bytes",
                       longest);
    return check_times(ttl_ms, now, err);
}

int lease_take(struct sqlite_store *s, struct str run_id, struct str owner, int64_t ttl_ms,
               int64_t now, struct lease *lease, struct err *err)
{
    int64_t run_no = 0;
    bool holds = false;
    struct call call;
    if (run_number(s, run_id, &run_no, err) < 0 ||
        lease_read(s, run_no, now, lease, &holds, err) < 0)
        return -1;
    bool ours = str_is(owner, lease->holder);
    if (lease->holder[0] && !ours && holds) {
        lease->held_epoch = lease->epoch;
        lease->epoch = 0;
        return 0;
    }
    call_start(&call, s, STATEMENT_LEASE_SET);
    call_int(&call, run_no);
    call_int(&call, (int64_t)lease->epoch + 1);
    call_str(&call, owner);
    lease_end(&call, s, now + ttl_ms);
    if (call_run(&call, "taking a lease", err) < 0)
        return -1;
    if (sqlite3_changes(s->db) != 1)
        return err_set(err, ERR_CORRUPT, "store %s: the epoch of a lease only grows", s->path);
    lease->epoch++;
    lease->replaced_expires_at = lease->expires_at;
    lease->expires_at = now + ttl_ms + s->wall_at_boot;
    memset(lease->holder, 0, sizeof lease->holder);
    memcpy(lease->holder, owner.p, owner.n);
    return 0;
}

int sqlite_lease(struct store *store, struct str run_id, struct str owner, int64_t ttl_ms,
                 int64_t now, struct lease *lease, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    *lease = (struct lease){0};
    if (lease_terms(owner, ttl_ms, now, err) < 0 || transaction_write(s, err) < 0)
        return -1;
    if (lease_take(s, run_id, owner, ttl_ms, now, lease, err) < 0) {
        transaction_rollback(s);
        return -1;
    }
    return transaction_commit(s, err);
}

/* Runs an UPDATE of the lease with this epoch; no row changed means that it is not ours any more. */
static int lease_change(struct sqlite_store *s, struct call *call, struct str run_id,
                        const char *doing, struct err *err)
{
    if (call_run(call, doing, err) < 0)
        return -1;
    return sqlite3_changes(s->db) == 1 ? 0 : taken_over(run_id, err);
}

int sqlite_renew(struct store *store, struct str run_id, uint64_t epoch, int64_t ttl_ms,
                 int64_t now, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    int64_t run_no = 0;
    struct call call;
    if (check_times(ttl_ms, now, err) < 0 || place_stands(s, err) < 0 ||
        run_number(s, run_id, &run_no, err) < 0)
        return -1;
    call_start(&call, s, STATEMENT_LEASE_RENEW);
    lease_end(&call, s, now + ttl_ms);
    call_int(&call, run_no);
    call_int(&call, (int64_t)epoch);
    return lease_change(s, &call, run_id, "renewing a lease", err);
}

int sqlite_release(struct store *store, struct str run_id, uint64_t epoch, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    int64_t run_no = 0;
    struct call call;
    if (run_number(s, run_id, &run_no, err) < 0)
        return -1;
    call_start(&call, s, STATEMENT_LEASE_RELEASE);
    call_int(&call, run_no);
    call_int(&call, (int64_t)epoch);
    return lease_change(s, &call, run_id, "releasing a lease", err);
}
