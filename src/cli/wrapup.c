/* See wrapup.h. */
#include "cli/wrapup.h"

#include "cli/apply.h"
#include "core/report/report.h"
#include "os/clock.h"

void wrapup_note(struct wrapup *wrapup, const struct run *run)
{
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
                                     .report = publish(wrapup, output)};
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
