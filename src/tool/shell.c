/* The tool `shell`: a command of /bin/sh behind the walls of the agent's contract, to its end or in the background. A command that
 * fails is a result with its exit code and the error flag; what it printed stands in both. Runs on a thread of its own. */
#include <string.h>

#include "tool/arguments.h"
#include "tool/confined.h"
#include "tool/contacts.h"
#include "tool/jobs.h"
#include "tool/memory.h"
#include "tool/opened.h"
#include "tool/preview.h"
#include "tool/reads.h"
#include "tool/result.h"
#include "tool/table.h"

#define COMMAND_MAX 65536
#define TIMEOUT_DEFAULT_MS 120000
#define TIMEOUT_MAX_MS 3600000
#define WAIT_MAX_MS 600000

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"},\"timeout_ms\":{"
    "\"type\":\"integer\",\"description\":\"Default 120000\"},\"background\":{"
    "\"type\":\"boolean\",\"description\":\"Return a job number\"},\"job\":{"
    "\"type\":\"integer\",\"description\":\"Instead of command: new output of a job\"},"
    "\"wait_ms\":{\"type\":\"integer\",\"description\":\"For the job\"},\"stop\":{"
    "\"type\":\"boolean\",\"description\":\"Kill the job\"}}}";

static const struct argument arguments_known[] = {
    {"command", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, COMMAND_MAX},
    {"timeout_ms", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 100, TIMEOUT_MAX_MS},
    {"background", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"job", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, INT64_MAX},
    {"wait_ms", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, WAIT_MAX_MS},
    {"stop", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
};

static bool is_given(const struct js *arguments, const char *name)
{
    enum js_kind kind = js_kind(js_get(arguments, name));
    return kind != JS_ABSENT && kind != JS_NULL;
}

/* Which arguments go together. */
static int check(const struct js *arguments, struct tool_result *result)
{
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return -1;
    bool command = is_given(arguments, "command"), job = is_given(arguments, "job");
    if (command == job)
        return tool_fail(result, command ? "give either command or job, not both"
                                         : "give a command to run, or the number of a job");
    if (command && (is_given(arguments, "wait_ms") || is_given(arguments, "stop")))
        return tool_fail(result, "wait_ms and stop are for a job; a command takes timeout_ms");
    if (job && (is_given(arguments, "timeout_ms") || is_given(arguments, "background")))
        return tool_fail(result, "timeout_ms and background are for a command");
    struct str text = js_get_str(arguments, "command");
    if (command && memchr(text.p, '\0', text.n) != NULL)
        return tool_fail(result, "the command has a zero byte in it");
    return 0;
}

/* --- to its end --------------------------------------------------------------------------------------------------------- */

/* What a model can do about a command that ran out of time. */
static void advise(const struct sandbox_outcome *outcome, int64_t wall_ms, int64_t wanted,
                   struct buf *text)
{
    if (outcome->end != SANDBOX_TIMEOUT)
        return;
    buf_text(
        text,
        wall_ms < wanted
            ? ". Your own time is nearly over: do less, and answer soon"
            : ". Give it a longer timeout_ms, or run it with background and look at it as a job");
}

static bool has_failed(const struct sandbox_outcome *outcome)
{
    return outcome->end != SANDBOX_EXITED || outcome->code != 0;
}

static void run_command(const struct tool_context *context, const struct js *arguments,
                        struct tool_result *result)
{
    struct str command = arena_copy(context->arena, js_get_str(arguments, "command"));
    const char *const argv[] = {"/bin/sh", "-c", command.p, NULL};
    int64_t wanted = arguments_whole(arguments, "timeout_ms", TIMEOUT_DEFAULT_MS);
    struct confined_run run = {.argv = argv, .wall_ms = confined_wall(context, wanted)};
    if (confined_run(context, &run, result) == 0) {
        const struct sandbox_outcome *outcome = &run.outcome;
        if (has_failed(outcome)) {
            result->kind = RESULT_ERROR;
            buf_text(&result->text, "Error: ");
        }
        confined_end(outcome, run.wall_ms, &result->text);
        advise(outcome, run.wall_ms, wanted, &result->text);
        buf_text(&result->text, outcome->output_bytes == 0 ? ", no output\n" : "\n");
        contacts_tell(context, &outcome->contacts, result);
        confined_output(context, result, buf_view(&outcome->output), outcome->output_bytes,
                        SIZE_MAX);
        confined_changes(context, run.before, run.after, run.tree, result);
    }
    confined_release(&run);
}

/* --- in the background -------------------------------------------------------------------------------------------------- */

static void start_job(const struct tool_context *context, const struct js *arguments,
                      struct tool_result *result)
{
    struct err err = ERR_INIT;
    int64_t number = 0;
    int64_t wall = confined_wall(context, arguments_whole(arguments, "timeout_ms", TIMEOUT_MAX_MS));
    if (confined_ready(context, result) != 0)
        return;
    if (tool_cancelled(context)) {
        tool_fail_cancelled(result);
        return;
    }
    if (jobs_start(tool_memory_jobs(context->services->memory), context,
                   js_get_str(arguments, "command"), wall, &number, &err) != 0) {
        tool_fail_err(result, &err);
        return;
    }
    buf_printf(&result->text,
               "job %lld started. Look at it with {\"job\": %lld, \"wait_ms\": …}, kill it with "
               "{\"job\": %lld, \"stop\": true}. It is killed when you end, and after ",
               (long long)number, (long long)number, (long long)number);
    confined_seconds(&result->text, wall);
    buf_text(&result->text, ".\n");
}

static void tell_look(const struct tool_context *context, int64_t number,
                      const struct jobs_look *look, struct tool_result *result)
{
    bool stopped = look->state == JOB_ENDED && look->outcome.end == SANDBOX_CANCELLED;
    if (look->state == JOB_NOT_RUN) {
        tool_fail(result, "job %lld could not be run: %s", (long long)number, look->err.message);
        return;
    }
    if (look->state == JOB_ENDED && has_failed(&look->outcome) && !stopped) {
        result->kind = RESULT_ERROR;
        buf_text(&result->text, "Error: ");
    }
    buf_printf(&result->text, "job %lld: ", (long long)number);
    if (look->state == JOB_RUNNING)
        buf_text(&result->text, "running");
    else if (stopped)
        buf_text(&result->text, "stopped; all of its processes were killed");
    else
        confined_end(&look->outcome, look->wall_ms, &result->text);
    if (look->state == JOB_ENDED)
        confined_refused(context, &look->outcome, result);
    uint64_t printed = look->dropped + look->unread.n;
    buf_text(&result->text, printed == 0 ? ", no new output\n" : "\n");
    if (look->state == JOB_ENDED)
        contacts_tell(context, &look->outcome.contacts, result);
    if (look->dropped > 0)
        buf_printf(&result->text, "[the first %llu bytes since the last look were not kept]\n",
                   (unsigned long long)look->dropped);
    confined_output(context, result, buf_view(&look->unread), printed, SIZE_MAX);
}

static void look_at_job(const struct tool_context *context, const struct js *arguments,
                        struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct jobs_look look;
    int64_t number = arguments_whole(arguments, "job", 0);
    if (confined_ready(context, result) != 0)
        return;
    struct jobs *jobs = tool_memory_jobs(context->services->memory);
    int64_t wait = confined_wall(context, arguments_whole(arguments, "wait_ms", 0));
    int failed = js_get_bool(arguments, "stop", false)
                     ? jobs_stop(jobs, context, number, &look, &err)
                     : jobs_look(jobs, context, number, wait, &look, &err);
    if (failed != 0) {
        tool_fail_err(result, &err);
        return;
    }
    opened_tell(look.opened, context, result);
    struct changes *now = changes_take(context);
    reads_drop_scope(reads_of(context), context->scope);
    tell_look(context, number, &look, result);
    if (look.before != NULL)
        confined_changes(context, look.before, now, look.tree, result);
    jobs_seen(jobs, context, number, &look, now);
    jobs_look_release(&look);
}

static void shell_run(const struct tool_context *context, const struct js *arguments,
                      const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    tool_result_start(context, result);
    if (check(arguments, result) != 0 ||
        tool_refuse_mask(context, "command", js_get_str(arguments, "command"), result) != 0)
        return;
    if (is_given(arguments, "job"))
        look_at_job(context, arguments, result);
    else if (js_get_bool(arguments, "background", false))
        start_job(context, arguments, result);
    else
        run_command(context, arguments, result);
}

static int shell_preview(const struct tool_context *context, const struct js *arguments,
                         struct preview *preview, struct tool_result *result)
{
    if (check(arguments, result) != 0)
        return -1;
    if (is_given(arguments, "job")) {
        preview_add(
            context, preview,
            js_get_bool(arguments, "stop", false) ? "kills the job" : "looks at the job",
            arena_printf(context->arena, "%lld", (long long)arguments_whole(arguments, "job", 0)));
    } else {
        preview_add(context, preview, "command", js_get_str(arguments, "command"));
        if (js_get_bool(arguments, "background", false))
            preview_add(context, preview, "in the background",
                        STR("yes: it runs on while the agent goes on"));
        if (is_given(arguments, "timeout_ms"))
            preview_add(context, preview, "time",
                        arena_printf(context->arena, "%lld ms",
                                     (long long)arguments_whole(arguments, "timeout_ms", 0)));
    }
    preview_walls(context, preview);
    return 0;
}

const struct tool tool_shell = {
    .name = "shell",
    .description = "Run a /bin/sh command in a sandbox, without input.",
    .schema = schema,
    .pace = TOOL_LONG,
    .prepare = NULL,
    .run = shell_run,
    .preview = shell_preview,
};
