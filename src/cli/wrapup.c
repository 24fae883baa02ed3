/* See wrapup.h. */
#include "cli/wrapup.h"

#include "base/utf8.h"
#include "cli/apply.h"
#include "core/report/report.h"
#include "os/clock.h"

#define ERROR_SHOWN 2000 /* bytes of why a child failed; the report has all of it */

/* A child that failed: why, in one line, and where its work is. */
static void note_failed(struct ending_changes *changes, const struct agent *child)
{
    struct buf *out = &changes->failed;
    changes->failed_count++;
    utf8_clean(out, child->contract.agent.name, UTF8_ONE_LINE);
    buf_printf(out, " (%.*s): ", STR_FMT(child->task_id));
    utf8_clean(out, utf8_cut(child->error, ERROR_SHOWN), UTF8_ONE_LINE);
    /* Where a merge failed, the error names the branch. */
    bool kept = child->tree != NULL && child->tree->kept.n > 0;
    if (kept && (child->error.n == 0 || memmem(child->error.p, child->error.n, child->tree->kept.p,
                                               child->tree->kept.n) == NULL))
        buf_printf(out, "; its work is on the branch %.*s", STR_FMT(child->tree->kept));
    buf_char(out, '\n');
}

static void note_changes(struct ending_changes *changes, const struct run *run)
{
    const struct set *files = &run_agent(run, 0)->files_modified;
    buf_init(&changes->files, SIZE_MAX / 4);
    buf_init(&changes->failed, SIZE_MAX / 4);
    changes->file_count = files->n;
    for (size_t i = 0; i < files->n; i++) {
        buf_str(&changes->files, files->items[i]);
        buf_char(&changes->files, '\n');
    }
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        if (!ending_worked(child->outcome))
            note_failed(changes, child);
    }
}

void wrapup_note(struct wrapup *wrapup, const struct run *run)
{
    if (run_ended(run))
        note_changes(&wrapup->changes, run);
    wrapup->run = run_state(run) == RUN_COMPLETED && run_outcome(run) == OUTCOME_COMPLETED
                      ? WRAPUP_COMPLETED
                      : WRAPUP_FAILED;
    wrapup->cache = report_input_of_run(run).cache;
    if (run_ended(run))
        publication_prepare(&wrapup->publication, run);
}

void wrapup_release(struct wrapup *wrapup)
{
    publication_release(&wrapup->publication);
    buf_release(&wrapup->changes.files);
    buf_release(&wrapup->changes.failed);
}

/* A report that cannot be written is in the store all the same. */
static struct str publish(const struct wrapup *wrapup, struct output *output)
{
    struct err err = ERR_INIT;
    if (wrapup->publication.first == NULL)
        return STR_NONE;
    if (publication_write(&wrapup->publication, &err) == 0)
        return wrapup->publication.first->path;
    output_error(output, "warning: the report is not in the workspace: %s; cadre show %s --report",
                 err.message, wrapup->run_id.text);
    return STR_NONE;
}

/* Programs read what was applied before the result, which is the last line; people behind the answer. */
static int print_both(const struct wrapup *wrapup, struct output *output, const struct apply *apply,
                      const struct apply_outcome *outcome, struct ending_request *request,
                      enum exit_code *code, struct err *err)
{
    enum apply_volume volume = request->parts == ENDING_ALL ? APPLY_SHOWN : APPLY_QUIET;
    enum exit_code applied = EXIT_CODE_DONE;
    if (output->format == OUTPUT_JSON)
        applied = apply_print(output, apply, outcome, volume);
    if (ending_print(output, apply->store, request, code, err) != 0)
        return -1;
    if (output->format != OUTPUT_JSON)
        applied = apply_print(output, apply, outcome, volume);
    if (*code == EXIT_CODE_DONE)
        *code = applied;
    return 0;
}

int wrapup_print(const struct wrapup *wrapup, struct output *output, enum ending_parts parts,
                 enum exit_code *code, struct err *err)
{
    struct store *store = NULL;
    struct arena arena;
    struct apply_outcome outcome;
    struct ending_request request = {.run_id = id_str(&wrapup->run_id),
                                     .parts = parts,
                                     .asked_at = clock_boottime_ms(),
                                     .cache = &wrapup->cache,
                                     .report = publish(wrapup, output),
                                     .changes = &wrapup->changes};
    if (wire_store(wrapup->wire, &store, err) != 0)
        return -1;
    arena_init(&arena);
    struct apply apply = {wrapup->wire, store, wrapup->run_id, APPLY_FORWARD};
    int result;
    if (wrapup->result == WRAPUP_LEAVES || wrapup->run == WRAPUP_FAILED) {
        result = ending_print(output, store, &request, code, err);
    } else if (apply_run(&apply, &arena, &outcome, err) == 0) {
        request.taken = ENDING_TAKEN_OVER;
        result = print_both(wrapup, output, &apply, &outcome, &request, code, err);
    } else {
        output_error(output, "the result was not applied: %s", err->message);
        *err = ERR_INIT;
        result = ending_print(output, store, &request, code, err);
        if (*code == EXIT_CODE_DONE)
            *code = EXIT_CODE_FAILED;
    }
    arena_release(&arena);
    store->ops->close(store);
    return result;
}
