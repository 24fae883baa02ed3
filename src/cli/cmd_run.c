/* `cadre run`: starts a run and drives it to its end. The root asks a model what to do, or carries out a plan. */
#include "cli/agents.h"
#include "cli/dryrun.h"
#include "cli/planned.h"
#include "cli/question.h"
#include "cli/starting.h"
#include "cli/windows.h"
#include "core/contract/schema.h"

#define SCHEMA_FILE_MAX (1 << 20)

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"plan", NULL, "make a plan for the task, carry it out step by step, and review the result"},
    {"plan-file", "FILE", "carry out the plan of this file; a task stands in place of its goal"},
    {"dry-run", NULL, "with a plan: show what would be started and the most that it may cost"},
    {"mode", "MODE", "safe, auto, dangerous, research, plan, review or ci"},
    {"max-concurrent", "N", "agents at work at the same time"},
    {"output-schema", "FILE", "a JSON Schema that the answer must match"},
    {"apply", NULL, "take the result over into your checkout when the run completed"},
    {"quiet", NULL, "print nothing but the answer"},
    {"deltas", NULL, "with --json: also lines with the text of answers as it comes in"},
    OPTIONS_MODEL,
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_run = {
    .name = "run",
    .summary = "run a task to its end and show it while it works",
    .usage = "\"TASK\" [OPTIONS]",
    .details =
        "The task \"-\" is read from standard input, up to 1 MB.\n"
        "The model is taken from the flags, then from the config, then from a key in the "
        "environment\n"
        "(OPENAI_API_KEY, ANTHROPIC_API_KEY and others: docs/models.md), then from a server that "
        "answers on port 11434 or "
        "8080 of this\nmachine.\n"
        "In a git repository the work is done in a tree of its own and stays on the branch "
        "cadre/RUN/result, until\n`cadre apply` or --apply takes it over (docs/trees.md).\n"
        "With --plan a planner turns the task into steps; --plan-file FILE takes them from a file "
        "(docs/plans.md) and\n"
        "needs no task. Steps run side by side where they can, each in a tree of its own, and are "
        "merged and reviewed.\n"
        "Children change files without a question under --mode auto or dangerous; under safe a "
        "person is asked for each\n"
        "change, and where nobody is at a terminal it is refused (docs/modes.md). A step that "
        "needs "
        "approval asks on the\n"
        "terminal; `cadre approve` answers from anywhere.\n"
        "Ctrl-C, SIGTERM and SIGHUP park the run: requests are aborted, commands are killed, "
        "nothing that was done is lost,\n"
        "and the exit code is 75. A second one ends the process at once. `cadre resume` goes on; "
        "`cadre cancel --now` gives\n"
        "the run up.",
    .example = "cadre run \"Summarise README.md\"",
    .options = options,
    .operand_max = 1,
    .run = run,
};

/* A schema that cannot be enforced is found before anything is stored. */
static int read_schema(struct str path, struct buf *compact, struct err *err)
{
    struct buf text;
    if (path.p == NULL)
        return 0;
    buf_init(&text, SCHEMA_FILE_MAX);
    int result =
        agents_read_file(path, &text, err) != 0 || schema_read(buf_view(&text), compact, err) != 0
            ? err_prefix(err, "--output-schema %.*s", STR_FMT(path))
            : 0;
    buf_release(&text);
    return result;
}

/* What the command is asked to do. */
struct order {
    struct arena arena;
    struct buf input, schema;
    struct str task;
    struct str plan;          /* of the start message, or STR_NONE */
    const struct plan *steps; /* of a file, or NULL */
};

/* Exit codes other than DONE: what is wrong was said. */
static enum exit_code read_plan_file(struct invocation *invocation, struct str name,
                                     struct order *order)
{
    struct plan *plan = arena_alloc(&order->arena, sizeof *plan);
    enum exit_code code = planned_read(invocation, &order->arena, name, plan);
    if (code != EXIT_CODE_DONE)
        return code;
    order->steps = plan;
    /* A goal that was typed stands in place of the file's. */
    if (order->task.p == NULL)
        order->task = plan->goal;
    plan->goal = order->task;
    order->plan = planned_start(&order->arena, order->task, plan, PLANNED_CARRIED_OUT);
    return EXIT_CODE_DONE;
}

static int check_words(const struct arguments *arguments, struct err *err)
{
    bool plans = arguments_has(arguments, "plan"), file = arguments_has(arguments, "plan-file");
    if (arguments->operand_count == 0 && !file)
        return err_set(err, ERR_USAGE, "too few words: cadre run %s", cmd_run.usage);
    if (plans && file)
        return err_set(err, ERR_USAGE,
                       "--plan makes a plan and --plan-file has one: give one of them");
    if (arguments_has(arguments, "dry-run") && !plans && !file)
        return err_set(err, ERR_USAGE, "--dry-run is for plans: add --plan or --plan-file FILE");
    if ((plans || file) && arguments_has(arguments, "output-schema"))
        return err_set(err, ERR_USAGE,
                       "a plan's answer is its report: --output-schema does not "
                       "go with --plan and --plan-file");
    return 0;
}

static int check_goal(const struct arguments *arguments, struct str goal, struct err *err)
{
    bool planned = arguments_has(arguments, "plan") || arguments_has(arguments, "plan-file");
    return planned && goal.n > PLAN_GOAL_MAX
               ? err_set(err, ERR_USAGE, "the goal of a plan may have at most %d bytes",
                         PLAN_GOAL_MAX)
               : 0;
}

static enum exit_code read_order(struct invocation *invocation, struct order *order)
{
    const struct arguments *arguments = &invocation->arguments;
    struct str file = arguments_value(arguments, "plan-file");
    struct err err = ERR_INIT;
    if (check_words(arguments, &err) != 0 ||
        (arguments->operand_count > 0 &&
         starting_task(arguments->operands[0], &order->input, &order->task, &err) != 0) ||
        check_goal(arguments, order->task, &err) != 0 ||
        read_schema(arguments_value(arguments, "output-schema"), &order->schema, &err) != 0)
        return command_fail(invocation, &err);
    if (arguments_has(arguments, "plan"))
        order->plan = planned_start(&order->arena, order->task, NULL, PLANNED_CARRIED_OUT);
    return file.p != NULL ? read_plan_file(invocation, file, order) : EXIT_CODE_DONE;
}

static enum exit_code carry_out(struct invocation *invocation, const struct order *order)
{
    const struct arguments *arguments = &invocation->arguments;
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    enum exit_code code;
    if (starting_open(invocation, &wire, &err) != 0)
        return command_fail(invocation, &err);
    if (order->plan.p != NULL)
        planned_warn(&invocation->output, wire, order->steps);
    if (arguments_has(arguments, "dry-run")) {
        windows_ask(wire);
        code = dryrun_show(invocation, wire, order->task, order->steps);
    } else {
        struct drive drive = starting_drive(wire, order->task);
        drive.volume = arguments_has(arguments, "quiet") ? DRIVE_QUIET : DRIVE_SHOWN;
        drive.output_schema = order->schema.n > 0 ? buf_view(&order->schema) : STR_NONE;
        drive.lines = arguments_has(arguments, "deltas") ? DRIVE_DELTAS : DRIVE_EVENTS;
        drive.plan = order->plan;
        drive.result = arguments_has(arguments, "apply") ? DRIVE_APPLIES : DRIVE_LEAVES_RESULT;
        code = drive_run(invocation, &drive);
    }
    wire_close(wire);
    return code;
}

static enum exit_code run(struct invocation *invocation)
{
    struct order order = {.task = STR_NONE, .plan = STR_NONE};
    arena_init(&order.arena);
    buf_init(&order.input, TASK_MAX);
    buf_init(&order.schema, SCHEMA_FILE_MAX);
    enum exit_code code = read_order(invocation, &order);
    if (code == EXIT_CODE_DONE)
        code = carry_out(invocation, &order);
    buf_release(&order.schema);
    buf_release(&order.input);
    arena_release(&order.arena);
    return code;
}
