/* `cadre cancel`: asks a run to wind down, whichever process it lives in. */
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/drive.h"
#include "cli/history.h"
#include "engine/inbox.h"
#include "os/clock.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"now", NULL, "return when the run has ended; take it over where no process works on it"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_cancel = {
    .name = "cancel",
    .summary = "wind a run down",
    .usage = "RUN [--now]",
    .details = "The process that works on the run is told and ends it in order: every child is "
               "closed, what was done is\n"
               "kept. A run that no process works on keeps the message for `cadre resume`.",
    .example = "cadre cancel last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static void say(struct invocation *invocation, const struct history *history, const char *status,
                const char *text)
{
    struct output *output = &invocation->output;
    struct buf line;
    struct jw w;
    if (output->format == OUTPUT_TEXT) {
        output_print(output, "run %s %s\n", history->run_id.text, text);
        return;
    }
    buf_init(&line, 4096);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "cancel");
    jw_ktext(&w, "run_id", history->run_id.text);
    jw_ktext(&w, "status", status);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static enum exit_code wind_down(struct invocation *invocation, struct history *history,
                                const struct stored_run *row)
{
    struct drive drive = {
        .wire = history->wire,
        .kind = DRIVE_RESUME,
        .run_id = history->run_id,
        .source = STR("the run's own record"),
        .timeout_ms = UNLIMITED,
    };
    enum exit_code code = drive_run(invocation, &drive);
    /* Cancelled is what was asked for. */
    return code == EXIT_CODE_CANCELLED ? EXIT_CODE_DONE : code;
}

static enum exit_code fail_late(struct invocation *invocation, const struct history *history,
                                const struct stored_run *row)
{
    struct err err = ERR_INIT;
    err_set(
        &err, ERR_RETRY,
        "run %s was told to wind down, but process %.*s, which owns it, has not ended it in 30 "
        "seconds; it may be stopped: continue it (`kill -CONT`) or end it (`kill -9`), then try "
        "again",
        history->run_id.text, (int)strcspn(row->owner.p, "-"), row->owner.p);
    return command_fail(invocation, &err);
}

#define NOW_MS 30000 /* for the process that owns the run to end it */
#define LOOK_MS 50

/* It was told, and may be dead, dying or stopped all the same: the message alone ends nothing. */
static enum exit_code see_it_end(struct invocation *invocation, struct history *history)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    for (int64_t until = clock_monotonic_ms() + NOW_MS;;) {
        struct history_run row;
        bool late = clock_monotonic_ms() >= until, over = true;
        if (history_run(history, &row, &err) != 0)
            code = command_fail(invocation, &err);
        else if (row.run.finished_at >= 0)
            say(invocation, history, "ended", "is wound down");
        else if (row.run.owner.n == 0)
            code = wind_down(invocation, history, &row.run);
        else if (late)
            code = fail_late(invocation, history, &row.run);
        else
            over = false;
        history_run_release(&row);
        if (over)
            return code;
        nanosleep(&pause, NULL);
    }
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct history_run row;
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    enum inbox_delivery delivery;
    if (history_open(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    struct workspace *workspace = wire_workspace(history.wire);
    if (history_run(&history, &row, &err) != 0) {
        code = command_fail(invocation, &err);
    } else if (row.run.finished_at >= 0) {
        say(invocation, &history, "ended", "has already ended");
    } else if (inbox_send(history.store, wire_config(history.wire)->store_path,
                          id_str(&history.run_id), STR("cancel"), STR("{}"), workspace->user_id,
                          clock_now_ms(), clock_boottime_ms(), &delivery, &err) != 0) {
        code = command_fail(invocation, &err);
    } else if (delivery == INBOX_DELIVERED && arguments_has(&invocation->arguments, "now")) {
        code = see_it_end(invocation, &history);
    } else if (delivery == INBOX_DELIVERED) {
        say(invocation, &history, "sent", "is told to wind down");
    } else if (arguments_has(&invocation->arguments, "now")) {
        code = wind_down(invocation, &history, &row.run);
    } else {
        say(invocation, &history, "kept",
            "has no process that works on it; the cancel takes effect at `cadre resume`, or at "
            "once with --now");
    }
    history_run_release(&row);
    history_close(&history);
    return code;
}
