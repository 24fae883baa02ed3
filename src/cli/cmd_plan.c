/* `cadre plan check` and `cadre plan show`: what a plan's file says, and what is wrong with it. Nothing is run or stored;
 * `cadre plan "goal"` is cmd_plan_make.c's. */
#include "cli/command.h"
#include "cli/planned.h"
#include "cli/starting.h"
#include "core/plan/schedule.h"

enum exit_code plan_make(struct invocation *invocation); /* cmd_plan_make.c */
static enum exit_code check(struct invocation *invocation);
static enum exit_code show(struct invocation *invocation);

static const struct option options[] = {
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

static const struct option show_options[] = {
    {"yaml", NULL, "print the plan as YAML, to edit it"},
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

#define SMALL_PLAN                                                                                 \
    "echo '{goal: Add a login, steps: [{id: look, title: Look, description: Find it, type: "       \
    "research}]}' | "

static const struct command cmd_plan_check = {
    .name = "plan check",
    .summary = "check a plan's file and say all that is wrong with it",
    .usage = "FILE.yaml|FILE.json|-",
    .details = "Every mistake is told at once, with file, line and column: keys, types and limits, "
               "ids that are not\n"
               "unique, prerequisites that are not there, circles, unknown roles, paths that "
               "nobody can own. Exits with 2\n"
               "where there is one. docs/plans.md lists the keys.",
    .example = SMALL_PLAN "cadre plan check -",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = check,
};

static const struct command cmd_plan_show = {
    .name = "plan show",
    .summary = "draw a plan: its steps, what needs what, and the longest way through it",
    .usage = "FILE.yaml|FILE.json|- [--yaml]",
    .example = SMALL_PLAN "cadre plan show -",
    .options = show_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = show,
};

static const struct command *const parts[] = {&cmd_plan_check, &cmd_plan_show, NULL};

static const struct option make_options[] = {
    {"output", "FILE", "write the plan to this file, as YAML (-o FILE)"},
    {"force", NULL, "write over a file that is there"},
    {"quiet", NULL, "print nothing but the plan"},
    OPTIONS_MODEL,
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_plan = {
    .name = "plan",
    .summary = "make a plan, or check and draw one",
    .usage = "\"GOAL\" [-o FILE.yaml] | check FILE | show FILE",
    .details = "A planner reads the workspace and answers with steps; nothing is changed. Edit the "
               "file, then carry it out:\n"
               "cadre run --plan-file FILE.yaml",
    .example = SMALL_PLAN "cadre plan show -",
    .options = make_options,
    .operand_min = 1,
    .operand_max = 1,
    .parts = parts,
    .run = plan_make,
};

/* A plan's file and what follows from it. */
struct opened {
    struct arena arena;
    struct planfile file;
    struct schedule schedule;
    struct problems warnings;
    size_t *path; /* the longest way */
    size_t path_length;
    int64_t path_calls;
};

static int open_plan(struct opened *plan, struct invocation *invocation, struct err *err)
{
    struct str name = invocation->arguments.operands[0];
    arena_init(&plan->arena);
    if (planfile_read(&plan->arena, name, &plan->file, err) != 0)
        return -1;
    problems_init(&plan->warnings, &plan->arena);
    if (plan->file.problems.found > 0)
        return 0;
    const struct plan *read = &plan->file.plan;
    plan_warn(read, &plan->warnings);
    schedule_init(&plan->schedule, &plan->arena, read);
    plan->path = arena_alloc(&plan->arena, read->count * sizeof *plan->path);
    plan->path_length = schedule_critical_path(&plan->schedule, plan->path, &plan->path_calls);
    return 0;
}

/* --- as JSON ------------------------------------------------------------------------------------------------ */

static void json_problems(struct jw *w, const char *key, const struct planfile *file,
                          const struct problems *problems)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < problems->count; i++) {
        struct config_place place = planfile_place(file, &problems->items[i]);
        struct buf where;
        buf_init(&where, 8192);
        config_place_print(&place, &where);
        jw_object(w);
        jw_kstr(w, "path", problems->items[i].path);
        jw_kstr(w, "place", buf_view(&where));
        jw_kstr(w, "message", problems->items[i].message);
        jw_end_object(w);
        buf_release(&where);
    }
    jw_end_array(w);
}

static void json_ids(struct jw *w, const char *key, const struct plan *plan, const size_t *steps,
                     size_t count)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < count; i++)
        jw_str(w, plan->steps[steps[i]].id);
    jw_end_array(w);
}

static void json_check(struct output *output, const struct opened *plan)
{
    struct buf line;
    struct jw w;
    buf_init(&line, (size_t)16 << 20);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "plan_check");
    jw_kstr(&w, "file", plan->file.source.name);
    jw_kbool(&w, "ok", plan->file.problems.found == 0);
    jw_kint(&w, "found", (int64_t)plan->file.problems.found);
    json_problems(&w, "problems", &plan->file, &plan->file.problems);
    json_problems(&w, "warnings", &plan->file, &plan->warnings);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static void json_show(struct output *output, const struct opened *plan)
{
    struct buf line;
    struct jw w;
    const struct plan *read = &plan->file.plan;
    buf_init(&line, (size_t)64 << 20);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "plan");
    jw_key(&w, "plan");
    plan_print(read, &w);
    json_ids(&w, "order", read, plan->schedule.order, read->count);
    json_ids(&w, "critical_path", read, plan->path, plan->path_length);
    jw_kint(&w, "critical_calls", plan->path_calls);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* --- as text ------------------------------------------------------------------------------------------------ */

static void print_path(struct output *output, const struct opened *plan)
{
    const char *arrow = output->glyphs == GLYPHS_UTF8 ? " → " : " -> ";
    output_print(output, "Longest way: ");
    for (size_t i = 0; i < plan->path_length; i++)
        output_print(output, "%s%.*s", i > 0 ? arrow : "",
                     STR_FMT(plan->file.plan.steps[plan->path[i]].id));
    output_print(output, " (%lld calls)\n", (long long)plan->path_calls);
}

static void print_list(struct output *output, const char *title, const struct list *list)
{
    if (list->n > 0)
        output_print(output, "\n%s:\n", title);
    for (size_t i = 0; i < list->n; i++) {
        output_print(output, "  - ");
        output_clean(output, list->items[i], UTF8_ONE_LINE);
        output_print(output, "\n");
    }
}

static void print_plan(struct output *output, const struct opened *plan)
{
    const struct plan *read = &plan->file.plan;
    output_clean(output, read->goal, UTF8_LINES);
    if (read->summary.n > 0)
        output_clean(output, read->summary, UTF8_LINES);
    output_print(output, "\n");
    planned_draw(output, read);
    print_path(output, plan);
    print_list(output, "Done when", &read->completion_criteria);
}

static void print_yaml(struct output *output, const struct plan *plan)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    plan_print_yaml(plan, &text);
    if (output->target == OUTPUT_TERMINAL)
        output_clean(output, buf_view(&text), UTF8_LINES);
    else
        output_print(output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
}

/* --- the commands ------------------------------------------------------------------------------------------- */

/* Says what is wrong with the plan, and what may be; the code is the command's unless it goes on. */
static enum exit_code tell(struct output *output, const struct opened *plan)
{
    planned_tell(output, &plan->file, &plan->file.problems, "");
    planned_tell(output, &plan->file, &plan->warnings, "warning: ");
    return plan->file.problems.found > 0 ? EXIT_CODE_USAGE : EXIT_CODE_DONE;
}

/* Opens the plan, tells what is wrong with it, and shows one that can be carried out. */
static enum exit_code present(struct invocation *invocation,
                              void (*print)(struct invocation *, const struct opened *))
{
    struct opened plan = {0};
    struct err err = ERR_INIT;
    enum exit_code code;
    if (open_plan(&plan, invocation, &err) != 0)
        code = command_fail(invocation, &err);
    else if ((code = tell(&invocation->output, &plan)) == EXIT_CODE_DONE)
        print(invocation, &plan);
    else if (invocation->output.format == OUTPUT_JSON)
        json_check(&invocation->output, &plan);
    arena_release(&plan.arena);
    return code;
}

static void print_check(struct invocation *invocation, const struct opened *plan)
{
    struct output *output = &invocation->output;
    size_t count = plan->file.plan.count;
    if (output->format == OUTPUT_JSON) {
        json_check(output, plan);
        return;
    }
    output_print(output, "A plan of %zu step%s. ", count, count == 1 ? "" : "s");
    print_path(output, plan);
}

static enum exit_code check(struct invocation *invocation)
{
    return present(invocation, print_check);
}

static void print_show(struct invocation *invocation, const struct opened *plan)
{
    struct output *output = &invocation->output;
    if (output->format == OUTPUT_JSON)
        json_show(output, plan);
    else if (arguments_has(&invocation->arguments, "yaml"))
        print_yaml(output, &plan->file.plan);
    else
        print_plan(output, plan);
}

static enum exit_code show(struct invocation *invocation)
{
    return present(invocation, print_show);
}
