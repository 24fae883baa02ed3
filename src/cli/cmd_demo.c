/* `cadre demo`: shows the guarantees at work. The commands are real child processes of this program, in a temporary directory; only the
 * model is scripted. Exit code 0 means that every guarantee it names was seen to hold. */
#include <stdlib.h>

#include "base/json.h"
#include "cli/demo.h"
#include "cli/next.h"
#include "cli/wire.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"keep", NULL, "keep the temporary directory and say where it is"},
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "see it work: a plan, many children, walls, a crash, proofs; needs no model",
    .usage = "[--keep]",
    .details =
        "It ends with the next command for each thing that it finds on this machine: a model "
        "by config or key, a local\n"
        "server, other agents that can call cadre.",
    .example = "cadre demo",
    .options = options,
    .run = run,
};

static void print_json(struct output *output, const struct next *next)
{
    struct buf line;
    struct jw w;
    buf_init(&line, 16384);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "next");
    jw_ktext(&w, "command", next->command);
    jw_ktext(&w, "why", next->why);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* The next command, for what this machine has; behind each, as a comment of the shell, why. */
static void point_on(const struct demo *demo)
{
    struct next_found *found = calloc(1, sizeof *found);
    struct next next[NEXT_MAX];
    if (found == NULL)
        abort();
    next_look(demo->program, found);
    size_t count = next_propose(found, next);
    if (demo->output->format == OUTPUT_TEXT)
        output_print(demo->output, "\nNext, for what is on this machine:\n");
    for (size_t i = 0; i < count; i++) {
        if (demo->output->format == OUTPUT_JSON) {
            print_json(demo->output, &next[i]);
            continue;
        }
        output_print(demo->output, "  ");
        output_clean(demo->output, str_from(next[i].command), UTF8_ONE_LINE);
        output_print(demo->output, "  # ");
        output_clean(demo->output, str_from(next[i].why), UTF8_ONE_LINE);
        output_print(demo->output, "\n");
    }
    free(found);
}

static void close_curtain(struct demo *demo)
{
    bool keep = arguments_has(&demo->invocation->arguments, "keep");
    bool interrupted = demo_interrupted();
    if (!keep)
        demo_strike(demo);
    if (demo->output->format == OUTPUT_TEXT) {
        output_print(demo->output, "\n%s\n",
                     interrupted           ? "Interrupted."
                     : demo->failures == 0 ? "Every guarantee held."
                                           : "Not every guarantee held.");
        if (keep)
            output_print(demo->output, "Look around: cadre runs --store %s\n", demo->store);
    }
    if (!interrupted)
        point_on(demo);
}

static enum exit_code run(struct invocation *invocation)
{
    static int (*const acts[])(struct demo *, struct err *) = {demo_plan, demo_crowd, demo_money,
                                                               demo_escape, demo_crash};
    struct demo *demo = calloc(1, sizeof *demo);
    struct err err = ERR_INIT;
    uint16_t port = 0;
    if (demo == NULL)
        abort();
    demo->invocation = invocation;
    demo->output = &invocation->output;
    demo_hold_signals();
    if (invocation->output.format == OUTPUT_TEXT)
        output_print(
            demo->output,
            "The model in this demo is scripted: a server on this machine with prepared answers.\n"
            "Everything else is real: the processes, the engine, the tools, git, the store, the "
            "crash.\n");
    int result =
        wire_scripted_start(&demo->server, &port, &err) != 0 ? -1 : demo_stage(demo, port, &err);
    for (size_t i = 0; i < sizeof acts / sizeof acts[0] && result == 0 && !demo_interrupted();
         i++) {
        result = acts[i](demo, &err);
        if (result == 0 && fflush(demo->output->out) != 0)
            result = err_set(&err, ERR_IO, "nobody reads along any more");
    }
    enum exit_code code = EXIT_CODE_FAILED;
    if (demo_interrupted()) {
        code = EXIT_CODE_CANCELLED;
    } else if (result != 0) {
        code = command_fail(invocation, &err);
        demo->failures++;
    } else {
        struct scripted_stats stats;
        scripted_stats(demo->server, &stats);
        demo_check(demo, "no request broke a rule of the model's API",
                   stats.refused == 0 && stats.unmatched == 0 ? HELD : HELD_NOT);
        code = demo->failures == 0 ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
    }
    wire_scripted_stop(demo->server);
    close_curtain(demo);
    free(demo);
    return code;
}
