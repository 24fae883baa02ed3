/* See checks.h: each command runs as shell's do, behind the walls of the agent's contract, in order, up to the first that fails. Runs
 * on a thread that may wait. */
#include "tool/checks.h"

#include "tool/confined.h"
#include "tool/contacts.h"
#include "tool/result.h"

#define CHECK_MS 600000    /* for one command */
#define OUTPUT_SHOWN 8000  /* bytes of what a failed one printed */
#define OUTPUT_STORED 2000 /* bytes of the end of it in the evidence */
#define COMMAND_SHOWN 200

static bool has_passed(const struct sandbox_outcome *outcome)
{
    return outcome->end == SANDBOX_EXITED && outcome->code == 0;
}

static void record(const struct tool_context *context, struct jw *w, struct str command,
                   const struct confined_run *run)
{
    const struct sandbox_outcome *outcome = &run->outcome;
    struct buf end;
    buf_init(&end, 2048);
    confined_end(outcome, run->wall_ms, &end);
    jw_object(w);
    jw_kstr(w, "check", command);
    jw_kbool(w, "passed", has_passed(outcome));
    jw_kstr(w, "end", buf_view(&end));
    jw_kint(w, "duration_ms", outcome->wall_ms);
    if (!has_passed(outcome)) {
        struct buf clean;
        buf_init(&clean, 3 * outcome->output.n + 64);
        confined_text(context, &clean, buf_view(&outcome->output));
        struct str text = buf_view(&clean);
        if (text.n > OUTPUT_STORED)
            text = (struct str){text.p + text.n - OUTPUT_STORED, OUTPUT_STORED};
        while (text.n > 0 && ((unsigned char)text.p[0] & 0xC0) == 0x80) {
            text.p++;
            text.n--;
        }
        jw_kstr(w, "output", text);
        buf_release(&clean);
    }
    jw_end_object(w);
    buf_release(&end);
}

static void tell(const struct tool_context *context, struct str command,
                 const struct confined_run *run, struct tool_result *result)
{
    const struct sandbox_outcome *outcome = &run->outcome;
    result->kind = RESULT_ERROR;
    buf_text(&result->text, "Error: the check \"");
    tool_add_clean(result, utf8_cut(command, COMMAND_SHOWN));
    buf_text(&result->text, "\" failed: ");
    confined_end(outcome, run->wall_ms, &result->text);
    buf_text(&result->text, outcome->output_bytes == 0 ? ", no output\n" : "\n");
    confined_output(context, result, buf_view(&outcome->output), outcome->output_bytes,
                    OUTPUT_SHOWN);
}

static enum tool_checks check_one(const struct tool_context *context, struct str command,
                                  struct jw *evidence, struct tool_result *result)
{
    const char *const argv[] = {"/bin/sh", "-c", arena_copy(context->arena, command).p, NULL};
    struct confined_run run = {.argv = argv, .wall_ms = confined_wall(context, CHECK_MS)};
    enum tool_checks ended = TOOL_CHECKS_NOT_RUN;
    if (confined_run(context, &run, result) == 0) {
        bool passed = has_passed(&run.outcome);
        ended = run.outcome.end == SANDBOX_CANCELLED ? TOOL_CHECKS_NOT_RUN
                : passed                             ? TOOL_CHECKS_PASSED
                                                     : TOOL_CHECKS_FAILED;
        record(context, evidence, command, &run);
        if (!passed)
            tell(context, command, &run, result);
        contacts_tell(context, &run.outcome.contacts, result);
        confined_changes(context, run.before, run.after, run.tree, result);
    }
    confined_release(&run);
    return ended;
}

enum tool_checks checks_run(const struct tool_context *context, const struct js *checks,
                            struct tool_result *result, struct buf *evidence)
{
    enum tool_checks ended = TOOL_CHECKS_PASSED;
    struct jw w;
    tool_result_start(context, result);
    jw_init(&w, evidence);
    jw_array(&w);
    for (size_t i = 0; i < js_count(checks) && ended == TOOL_CHECKS_PASSED; i++)
        ended = check_one(context, js_str(js_at(checks, i)), &w, result);
    jw_end_array(&w);
    return ended;
}
