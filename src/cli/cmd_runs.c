/* `cadre runs`: the stored runs, newest first. */
#include "cli/command.h"
#include "cli/history.h"
#include "cli/text.h"
#include "os/clock.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"status", "STATUS", "only running, stopped, parked, completed, failed or cancelled ones"},
    {"limit", "N", "at most this many (default: 20)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_runs = {
    .name = "runs",
    .summary = "list runs, newest first",
    .usage = "[--status STATUS] [--limit N]",
    .details = "A run is stopped when it has not ended and no process works on it: `cadre resume` "
               "goes on with it. One\n"
               "that is parked stopped in order, by a signal or because its provider did not "
               "answer; `cadre resume` goes on with it,\n"
               "too.",
    .example = "cadre runs --limit 5",
    .options = options,
    .run = run,
};

struct listing {
    struct output *output;
    struct history history;
    struct str status; /* only these, as they are shown; STR_NONE: all */
    size_t count, limit;
    int task_columns;
};

static void list_json(struct listing *listing, const struct stored_run *run_row,
                      const struct js *result)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "run");
    jw_kstr(&w, "run_id", run_row->run_id);
    jw_kstr(&w, "status", history_status(&listing->history, run_row));
    jw_kstr(&w, "task", run_row->task);
    jw_kstr(&w, "model", run_row->model);
    jw_kstr(&w, "workspace_path", run_row->workspace_path);
    jw_kint(&w, "started_at", run_row->started_at);
    jw_key(&w, "finished_at");
    if (run_row->finished_at >= 0)
        jw_int(&w, run_row->finished_at);
    else
        jw_null(&w);
    jw_kint(&w, "children", run_row->children);
    jw_kint(&w, "children_open", run_row->children_open);
    jw_key(&w, "cost_usd");
    double cost = js_real(js_get(result, "cost_usd"), -1);
    if (cost < 0)
        jw_null(&w);
    else
        jw_real(&w, cost);
    jw_key(&w, "owner");
    struct str owner = history_owner(&listing->history, run_row);
    if (owner.n > 0)
        jw_str(&w, owner);
    else
        jw_null(&w);
    jw_end_object(&w);
    output_json(listing->output, &line);
    buf_release(&line);
}

static void list_line(struct listing *listing, const struct stored_run *run_row,
                      const struct js *result)
{
    struct buf line, cell;
    enum text_ellipsis ellipsis =
        listing->output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII;
    int64_t end = run_row->finished_at >= 0 ? run_row->finished_at : clock_now_ms();
    buf_init(&line, 65536);
    buf_init(&cell, 256);
    if (listing->count == 0)
        output_print(listing->output, "%-26s  %-9s  %-16s  %7s  %9s  %8s  %s\n", "RUN", "STATUS",
                     "STARTED", "TIME", "COST", "CHILDREN", "TASK");
    text_column(&line, run_row->run_id, ID_LENGTH, ellipsis);
    buf_text(&line, "  ");
    text_column(&line, history_status(&listing->history, run_row), 9, ellipsis);
    buf_text(&line, "  ");
    text_date(&line, run_row->started_at);
    text_duration(&cell, end - run_row->started_at);
    buf_printf(&line, "  %7s  ", cell.p);
    buf_clear(&cell);
    double cost = js_real(js_get(result, "cost_usd"), 0);
    if (cost > 0)
        text_dollars(&cell, cost);
    else
        buf_char(&cell, '-');
    buf_printf(&line, "%9s  %8lld  ", cell.p, (long long)run_row->children);
    text_cut(&line, run_row->task, listing->task_columns, ellipsis);
    output_print(listing->output, "%.*s\n", STR_FMT(buf_view(&line)));
    buf_release(&cell);
    buf_release(&line);
}

static int list_one(void *user, const struct stored_run *run_row)
{
    struct listing *listing = user;
    struct err ignored = ERR_INIT;
    if (listing->status.p != NULL &&
        !str_eq(listing->status, history_status(&listing->history, run_row)))
        return 0;
    struct js *result =
        run_row->result_json.n > 0 ? js_parse(run_row->result_json, &ignored) : NULL;
    if (listing->output->format == OUTPUT_JSON)
        list_json(listing, run_row, result);
    else
        list_line(listing, run_row, result);
    listing->count++;
    js_free(result);
    return listing->count == listing->limit ? 1 : 0;
}

static int check_status(struct str status, struct err *err)
{
    static const char *const known[] = {"running",   "stopped", "parked",
                                        "completed", "failed",  "cancelled"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (status.p == NULL || str_is(status, known[i]))
            return 0;
    }
    return err_set(err, ERR_USAGE,
                   "unknown status \"%.*s\"; it is running, stopped, parked, completed, failed or "
                   "cancelled",
                   STR_FMT(status));
}

static enum exit_code run(struct invocation *invocation)
{
    struct err err = ERR_INIT;
    int64_t limit;
    int columns, lines;
    struct str status = arguments_value(&invocation->arguments, "status");
    output_size(&invocation->output, &columns, &lines);
    struct listing listing = {.output = &invocation->output,
                              .task_columns = columns > 130 ? columns - 92 : 40};
    struct history *history = &listing.history;
    if (arguments_number(&invocation->arguments, "limit", 1, 1000000, 20, &limit, &err) != 0 ||
        check_status(status, &err) != 0)
        return command_fail(invocation, &err);
    listing.status = status;
    listing.limit = (size_t)limit;
    int result = history_open_reading(history, invocation, &err);
    /* Whether a run is stopped is not in its row: which rows count is known when they are read. */
    if (result == 0)
        result = history->store->ops->runs(history->store,
                                           str_is(status, "stopped") ? STR("running") : status, 0,
                                           clock_boottime_ms(), list_one, &listing, &err);
    else if (err.class == ERR_NOT_FOUND)
        result = 0; /* no store, no runs */
    if (result == 0 && listing.count == 0 && status.p != NULL &&
        invocation->output.format == OUTPUT_TEXT)
        output_print(&invocation->output, "No run is %.*s.\n", STR_FMT(status));
    else if (result == 0 && listing.count == 0 && invocation->output.format == OUTPUT_TEXT)
        output_print(&invocation->output, "No runs yet. Start one: cadre run \"task\"\n");
    history_close(history);
    return result == 0 ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
