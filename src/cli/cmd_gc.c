/* `cadre gc`: removes what runs left on disk and nobody needs any more: checkouts, private refs, sockets of dead processes. Never a
 * branch, never an event, and nothing of a run that a living process works on. */
#include "cli/command.h"
#include "cli/gc.h"
#include "cli/history.h"
#include "os/clock.h"

#define DAY_MS INT64_C(86400000)
#define DAYS_DEFAULT 14
#define DAYS_MAX 36500

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"dry-run", NULL, "only say what would be removed"},
    {"abandoned", NULL, "also the checkouts of runs that could be resumed"},
    {"older-than", "DAYS", "how long an ended run can be undone (default 14)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_gc = {
    .name = "gc",
    .summary = "remove what ended and interrupted runs left on disk",
    .usage = "[--dry-run] [--abandoned] [--older-than DAYS]",
    .details = "Checkouts of runs that ended, that this store does not know or whose workspace is "
               "gone; private refs of runs that\n"
               "ended long ago, which `cadre apply --undo` would need; sockets of processes that "
               "are gone. Branches and the log\n"
               "stay. A run that can be resumed keeps its checkouts; --abandoned takes them, and "
               "the work in them that was not\n"
               "committed.",
    .example = "cadre gc --dry-run",
    .options = options,
    .operand_min = 0,
    .operand_max = 0,
    .run = run,
};

static void print_checkout(void *user, const struct gc_checkout *checkout)
{
    struct output *output = user;
    const struct vcs_left *left = checkout->left;
    if (output->format == OUTPUT_JSON) {
        struct buf line;
        struct jw w;
        buf_init(&line, 65536);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "checkout");
        jw_kstr(&w, "run_id", left->run);
        jw_kstr(&w, "agent", left->agent);
        jw_kstr(&w, "path", left->path);
        jw_ktext(&w, "action", checkout->action);
        jw_ktext(&w, "reason", checkout->reason);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
        return;
    }
    output_print(output, "%-12s ", checkout->action);
    output_clean(output, left->path, UTF8_ONE_LINE);
    output_print(output, ": ");
    output_clean(output, str_from(checkout->reason), UTF8_ONE_LINE);
    output_print(output, "\n");
}

static void print_end(struct output *output, const struct gc *gc)
{
    const struct gc_counts *counts = &gc->counts;
    if (output->format == OUTPUT_JSON) {
        struct buf line;
        struct jw w;
        buf_init(&line, 4096);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "gc");
        jw_kbool(&w, "dry_run", gc->how == GC_LOOKS);
        jw_kint(&w, "checkouts_removed", (int64_t)counts->removed);
        jw_kint(&w, "checkouts_kept", (int64_t)counts->kept);
        jw_kint(&w, "checkouts_failed", (int64_t)counts->failed);
        jw_kint(&w, "runs_forgotten", (int64_t)counts->forgotten);
        jw_kint(&w, "sockets_removed", (int64_t)counts->sockets);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
        return;
    }
    output_print(output,
                 "%s: %zu checkouts, private refs of %zu runs, %zu sockets; %zu checkouts kept\n",
                 gc->how == GC_LOOKS ? "would be removed" : "removed", counts->removed,
                 counts->forgotten, counts->sockets, counts->kept);
}

static enum exit_code collect(struct invocation *invocation, struct history *history, int64_t days)
{
    const struct arguments *arguments = &invocation->arguments;
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    struct gc gc = {
        .history = history,
        .how = arguments_has(arguments, "dry-run") ? GC_LOOKS : GC_REMOVES,
        .abandoned =
            arguments_has(arguments, "abandoned") ? GC_TAKES_ABANDONED : GC_KEEPS_ABANDONED,
        .ended_before = clock_now_ms() - days * DAY_MS,
        .told = print_checkout,
        .user = &invocation->output,
    };
    if (gc_collect(&gc, &err) != 0)
        code = command_fail(invocation, &err);
    else if (gc.counts.failed > 0)
        code = EXIT_CODE_FAILED;
    if (err.class == ERR_NONE)
        print_end(&invocation->output, &gc);
    return code;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct err err = ERR_INIT;
    int64_t days;
    if (arguments_number(&invocation->arguments, "older-than", 0, DAYS_MAX, DAYS_DEFAULT, &days,
                         &err) != 0 ||
        history_open(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    enum exit_code code = collect(invocation, &history, days);
    history_close(&history);
    return code;
}
