/* Reading back what was not printed. One read at a time is under way; what it found is printed on the
 * loop thread, because names of agents are known there. */
#include "cli/catchup.h"

static int keep_row(void *user, const struct stored_event *event)
{
    struct catchup *catchup = user;
    struct event_row *row = &catchup->rows[catchup->count++];
    *row = event->row;
    struct str *const texts[] = {&row->category, &row->type, &row->call_id, &row->summary,
                                 &row->payload};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = arena_copy(&catchup->arena, *texts[i]);
    return catchup->count == CATCHUP_ROWS || catchup->arena.used >= CATCHUP_BYTES ? 1 : 0;
}

static void read_back(uv_work_t *work)
{
    struct catchup *catchup = work->data;
    if (catchup->store == NULL &&
        catchup->opener.open(catchup->opener.user, &catchup->store, &catchup->err) != 0)
        return;
    struct store *store = catchup->store;
    if (store->ops->read(store, id_str(&catchup->run_id), catchup->printed, STORE_ALL_AGENTS,
                         CATCHUP_ROWS, keep_row, catchup, &catchup->err) != 0)
        catchup->count = 0;
}

static void print_row(struct catchup *catchup, const struct event_row *row)
{
    catchup->print(catchup->user, row);
    catchup->printed = row->seq;
}

static void on_read(uv_work_t *work, int status)
{
    struct catchup *catchup = work->data;
    /* The store may be ahead of what the engine has told: its turn comes with the next event. */
    for (size_t i = 0; i < catchup->count && catchup->rows[i].seq <= catchup->latest; i++)
        print_row(catchup, &catchup->rows[i]);
    if (catchup->count == 0 && catchup->err.class == ERR_NONE)
        err_set(&catchup->err, ERR_CORRUPT, "event %llu is not in the store",
                (unsigned long long)catchup->printed + 1);
    arena_release(&catchup->arena);
    catchup->count = 0;
    /* A busy store is tried again with the next event, or when the caller says so. */
    if (catchup->err.class == ERR_NONE || catchup->err.class == ERR_RETRY)
        catchup->state = catchup->printed == catchup->latest ? CATCHUP_LIVE : CATCHUP_BEHIND;
    else
        catchup->state = CATCHUP_FAILED;
    if (catchup->err.class == ERR_NONE)
        catchup_go_on(catchup);
}

void catchup_go_on(struct catchup *catchup)
{
    if (catchup->state != CATCHUP_BEHIND || output_state(catchup->output) >= OUTPIPE_FULL)
        return;
    catchup->err = ERR_INIT;
    catchup->work.data = catchup;
    catchup->state = CATCHUP_READING;
    if (uv_queue_work(catchup->loop, &catchup->work, read_back, on_read) != 0) {
        err_set(&catchup->err, ERR_BUG, "no work can be given to the pool");
        catchup->state = CATCHUP_FAILED;
    }
}

void catchup_event(struct catchup *catchup, const struct event_row *row)
{
    if (catchup->latest == 0)
        catchup->printed = row->seq - 1; /* of a run that is resumed, nothing before is shown */
    catchup->latest = row->seq;
    if (catchup->state == CATCHUP_LIVE && output_state(catchup->output) < OUTPIPE_FULL) {
        print_row(catchup, row);
        return;
    }
    if (catchup->state == CATCHUP_LIVE)
        catchup->state = CATCHUP_BEHIND;
    catchup_go_on(catchup);
}

void catchup_close(struct catchup *catchup)
{
    if (catchup->store != NULL)
        catchup->store->ops->close(catchup->store);
    catchup->store = NULL;
}
