/* `cadre resume`: takes over a run that nobody owns and drives it to its end. */
#include "cli/command.h"
#include "cli/drive.h"
#include "cli/ending.h"
#include "cli/history.h"
#include "cli/stopping.h"
#include "os/clock.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"quiet", NULL, "print nothing but the answer"},
    {"deltas", NULL, "with --json: also lines with the text of answers as it comes in"},
    {"forgive-broken", NULL, "count requests that broke without an answer no longer"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_resume = {
    .name = "resume",
    .summary = "go on with a run that is parked, or whose process crashed or was stopped",
    .usage = "RUN [--quiet] [--deltas] [--forgive-broken]",
    .details = "The run goes on with the model, the limits and the workspace that it was started "
               "with. One that has\n"
               "ended is only shown.\n"
               "A request that broke without an answer may have been billed, so it counts in "
               "full. A run that such requests\n"
               "used up is parked; --forgive-broken goes on without counting them.",
    .example = "cadre resume last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static enum exit_code show_ended(struct invocation *invocation, struct history *history,
                                 const struct stored_run *row)
{
    enum exit_code code;
    struct err err = ERR_INIT;
    bool quiet = arguments_has(&invocation->arguments, "quiet");
    if (invocation->output.format == OUTPUT_TEXT && !quiet)
        output_print(&invocation->output, "run %s has already ended: %.*s\n", history->run_id.text,
                     STR_FMT(row->status));
    struct ending_request request = {.run_id = id_str(&history->run_id),
                                     .parts = quiet ? ENDING_ANSWER : ENDING_ALL,
                                     .asked_at = clock_boottime_ms()};
    if (ending_print(&invocation->output, history->store, &request, &code, &err) != 0)
        return command_fail(invocation, &err);
    return code;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct history_run row;
    struct err err = ERR_INIT;
    enum exit_code code;
    stopping_early(STOPPING_RESUME);
    if (history_open_trusted(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    if (history_run(&history, &row, &err) != 0) {
        code = command_fail(invocation, &err);
    } else if (row.run.finished_at >= 0) {
        code = show_ended(invocation, &history, &row.run);
    } else {
        struct drive drive = {
            .wire = history.wire,
            .kind = DRIVE_RESUME,
            .broken = arguments_has(&invocation->arguments, "forgive-broken") ? BROKEN_FORGIVEN
                                                                              : BROKEN_COUNTS,
            .volume = arguments_has(&invocation->arguments, "quiet") ? DRIVE_QUIET : DRIVE_SHOWN,
            .lines = arguments_has(&invocation->arguments, "deltas") ? DRIVE_DELTAS : DRIVE_EVENTS,
            .run_id = history.run_id,
            .source = STR("the run's own record"),
            .timeout_ms = UNLIMITED,
        };
        code = drive_run(invocation, &drive);
    }
    history_run_release(&row);
    history_close(&history);
    return code;
}
