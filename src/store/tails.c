/* The chain of each agent's events: every event names its agent's previous one. Inside a transaction that must be the
 * agent's last event of the transaction, or else its tail in the database, which moves once per agent when all
 * events are known. Together this proves that no event of an agent is missed. Runs inside the append's transaction. */
#include <stdlib.h>

#include "store/handle.h"

#define TAILS_FIRST 16

static int chain_broken(uint32_t agent_no, uint64_t previous, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "an event names event %llu as the previous one of agent %u, which it is not",
                   (unsigned long long)previous, (unsigned)agent_no);
}

/* The agent's place, or the empty one where it belongs. */
static struct tail *tail_place(const struct tails *tails, int64_t run_no, uint32_t agent_no)
{
    uint64_t mixed = ((uint64_t)run_no << 32 ^ agent_no) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(mixed >> 32);; i++) {
        struct tail *tail = &tails->places[i & (tails->capacity - 1)];
        if (tail->last == 0 || (tail->agent_no == agent_no && tail->run_no == run_no))
            return tail;
    }
}

/* At most half of the places are taken. */
static int tails_grow(struct tails *tails, struct err *err)
{
    struct tails grown = {.capacity = tails->capacity ? tails->capacity * 2 : TAILS_FIRST};
    grown.places = calloc(grown.capacity, sizeof *grown.places);
    if (!grown.places)
        return err_set(err, ERR_IO, "out of memory");
    for (size_t i = 0; i < tails->capacity; i++) {
        const struct tail *tail = &tails->places[i];
        if (tail->last != 0)
            *tail_place(&grown, tail->run_no, tail->agent_no) = *tail;
    }
    grown.count = tails->count;
    tails_release(tails);
    *tails = grown;
    return 0;
}

int tails_follow(struct tails *tails, int64_t run_no, const struct event_row *row, struct err *err)
{
    if (tails->count >= tails->capacity / 2 && tails_grow(tails, err) < 0)
        return -1;
    struct tail *tail = tail_place(tails, run_no, row->agent_no);
    if (tail->last == 0) {
        if (row->agent_prev >= row->seq)
            return chain_broken(row->agent_no, row->agent_prev, err);
        *tail =
            (struct tail){.run_no = run_no, .agent_no = row->agent_no, .origin = row->agent_prev};
        tails->count++;
    } else if (row->agent_prev != tail->last) {
        return chain_broken(row->agent_no, row->agent_prev, err);
    }
    tail->last = row->seq;
    return 0;
}

static int tail_move(struct sqlite_store *s, const struct tail *tail, struct err *err)
{
    struct call call;
    if (tail->origin == 0) {
        call_start(&call, s, STATEMENT_TAIL_INSERT);
        call_int(&call, tail->run_no);
        call_int(&call, tail->agent_no);
        call_int(&call, (int64_t)tail->last);
    } else {
        call_start(&call, s, STATEMENT_TAIL_MOVE);
        call_int(&call, (int64_t)tail->last);
        call_int(&call, tail->run_no);
        call_int(&call, tail->agent_no);
        call_int(&call, (int64_t)tail->origin);
    }
    if (call_run(&call, "appending events", err) < 0)
        return -1;
    return sqlite3_changes(s->db) == 1 ? 0 : chain_broken(tail->agent_no, tail->origin, err);
}

int tails_write(struct tails *tails, struct sqlite_store *s, struct err *err)
{
    for (size_t i = 0; i < tails->capacity; i++) {
        if (tails->places[i].last != 0 && tail_move(s, &tails->places[i], err) < 0)
            return -1;
    }
    return 0;
}

void tails_release(struct tails *tails)
{
    free(tails->places);
    *tails = (struct tails){0};
}
