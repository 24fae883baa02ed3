/* Decisions into rows and rows into runs. No thread of its own: the loop serialises, whoever resumes folds. */
#include "engine/batch.h"

#include <stdlib.h>

#include "core/run/project.h"

/* A payload holds one event. The largest is a reply: at most 64 MB of response, of which each byte takes at most six when
 * it has to be escaped. */
#define PAYLOAD_MAX (512u << 20)

#define BYTES_PER_EVENT 768 /* of the row and its texts, mostly */

static void copy_views(struct arena *arena, struct row *row)
{
    struct str *const views[] = {&row->id,
                                 &row->parent_id,
                                 &row->name,
                                 &row->status,
                                 &row->worktree_path,
                                 &row->branch_name,
                                 &row->merge_status,
                                 &row->context_json,
                                 &row->error,
                                 &row->session_id,
                                 &row->user_id,
                                 &row->workspace_id,
                                 &row->workspace_path,
                                 &row->task,
                                 &row->model,
                                 &row->parent_run,
                                 &row->result_json,
                                 NULL};
    for (size_t i = 0; views[i] != NULL; i++)
        *views[i] = arena_copy(arena, *views[i]);
}

static void print_row(struct arena *arena, const struct event *event, struct event_row *row,
                      struct buf *scratch)
{
    const char *type = event_type_text(event->type);
    *row = (struct event_row){.seq = event->seq,
                              .agent_no = event->agent_no,
                              .agent_prev = event->agent_prev,
                              .ts = event->ts,
                              .version = EVENT_VERSION,
                              .cause_seq = event->cause_seq};
    row->type = str_from(type);
    row->category = (struct str){type, strcspn(type, ".")};
    row->call_id = event->call_id.n > 0 ? arena_copy(arena, event->call_id) : STR_NONE;
    buf_clear(scratch);
    event_print(event, scratch);
    if (scratch->failed)
        abort(); /* limits at the edge make this impossible; going on would log a cut payload */
    row->payload = arena_copy(arena, buf_view(scratch));
    buf_clear(scratch);
    event_summary(event, scratch);
    row->summary = arena_copy(arena, buf_view(scratch));
}

/* The rows that all events change; NULL where there are none, which is the rule. */
static struct row *project_all(struct arena *arena, const struct run *run,
                               const struct decision *decision, size_t *count)
{
    struct row *rows = NULL, one[PROJECT_MAX];
    size_t n = 0;
    for (size_t i = 0; i < decision->event_count; i++) {
        size_t more = project(run, decision->events[i], one);
        if (more > 0 && rows == NULL)
            rows = arena_alloc(arena, (decision->event_count - i) * PROJECT_MAX * sizeof *rows);
        for (size_t k = 0; k < more; k++) {
            copy_views(arena, &one[k]);
            rows[n++] = one[k];
        }
    }
    *count = n;
    return rows;
}

struct batch *batch_new(const struct run *run, const struct decision *decision, uint64_t epoch)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        abort();
    arena_init(&batch->arena);
    arena_reserve(&batch->arena, (decision->event_count + 1) * BYTES_PER_EVENT);
    struct event_row *events =
        arena_alloc(&batch->arena, (decision->event_count + 1) * sizeof *events);
    int64_t *inbox = arena_alloc(&batch->arena, sizeof *inbox);
    struct buf scratch;
    size_t row_count;
    buf_init(&scratch, PAYLOAD_MAX);
    for (size_t i = 0; i < decision->event_count; i++) {
        const struct event *event = decision->events[i];
        print_row(&batch->arena, event, &events[i], &scratch);
        batch->last_seq = event->seq;
    }
    buf_release(&scratch);
    struct row *rows = project_all(&batch->arena, run, decision, &row_count);
    *inbox = decision->inbox_id;
    batch->append = (struct append_batch){.run_id = arena_copy(&batch->arena, run_id(run)),
                                          .epoch = epoch,
                                          .events = events,
                                          .event_count = decision->event_count,
                                          .rows = rows,
                                          .row_count = row_count,
                                          .inbox_ids = inbox,
                                          .inbox_count = decision->inbox_id != 0 ? 1 : 0};
    return batch;
}

void batch_free(struct batch *batch)
{
    if (batch == NULL)
        return;
    arena_release(&batch->arena);
    free(batch);
}

int fold_row(struct run *run, const struct event_row *row, struct err *err)
{
    struct arena arena;
    struct event event;
    arena_init(&arena);
    int result = event_parse(row, &arena, &event, err) == 0 ? run_apply(run, &event, err) : -1;
    arena_release(&arena);
    return result;
}

struct folding {
    struct run *run;
    struct err *err;
    int result;
};

static int fold_one(void *user, const struct stored_event *event)
{
    struct folding *folding = user;
    folding->result = fold_row(folding->run, &event->row, folding->err);
    return folding->result;
}

int fold_run(struct store *store, struct str id, struct run **run, struct err *err)
{
    struct folding folding = {run_new(id), err, 0};
    if (store->ops->read(store, id, 0, STORE_ALL_AGENTS, 0, fold_one, &folding, err) != 0 ||
        folding.result != 0) {
        run_free(folding.run);
        return -1;
    }
    *run = folding.run;
    return 0;
}
