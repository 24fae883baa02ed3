/* `cadre apply`: takes the result of a run over into the checkout where it was made, and back. */
#include "cli/apply.h"
#include "cli/command.h"
#include "cli/history.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"undo", NULL, "go back to what was there before"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_apply = {
    .name = "apply",
    .summary = "take the result of a run over into your checkout, or back out",
    .usage = "RUN [--undo]",
    .details = "A run in a git repository leaves its work on the branch cadre/RUN/result. This "
               "brings it, and nothing else, into the\n"
               "checkout where the run was started, wherever you are now. A clean checkout that "
               "stands where the run started is\n"
               "fast-forwarded. Where you have changes or other commits by now, the work is merged "
               "into your files: nothing is\n"
               "committed, and your own changes stay. Where the two clash, each place is told, "
               "nothing is changed, and the exit\n"
               "code is 1. --undo takes the work out again in the same way. `cadre diff RUN` shows "
               "it beforehand.",
    .example = "cadre apply last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct arena arena;
    struct apply_outcome outcome;
    struct err err = ERR_INIT;
    enum exit_code code;
    if (history_open(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    arena_init(&arena);
    struct apply apply = {
        .wire = history.wire,
        .store = history.store,
        .run_id = history.run_id,
        .direction = arguments_has(&invocation->arguments, "undo") ? APPLY_BACK : APPLY_FORWARD};
    if (apply_run(&apply, &arena, &outcome, &err) == 0)
        code = apply_print(&invocation->output, &apply, &outcome, APPLY_SHOWN);
    else
        code = command_fail(invocation, &err);
    arena_release(&arena);
    history_close(&history);
    return code;
}
