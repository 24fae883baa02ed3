/* See planned.h. */
#include "cli/planned.h"

#include "base/json.h"
#include "cli/asked.h"
#include "core/plan/graph.h"

void planned_tell(struct output *output, const struct planfile *file,
                  const struct problems *problems, const char *kind)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        struct config_place place = planfile_place(file, problem);
        struct err told = ERR_INIT;
        config_error(&place, EXCERPT_LINE, &told, "%s%.*s%s%.*s", kind, STR_FMT(problem->path),
                     problem->path.n > 0 ? ": " : "", STR_FMT(problem->message));
        output_error(output, "%s", told.message);
    }
    if (problems->found > problems->count)
        output_error(output, "and %zu more", problems->found - problems->count);
}

enum exit_code planned_read(struct invocation *invocation, struct arena *arena, struct str name,
                            struct plan *plan)
{
    struct planfile file;
    struct problems warnings;
    struct err err = ERR_INIT;
    if (planfile_read(arena, name, &file, &err) != 0)
        return command_fail(invocation, &err);
    planned_tell(&invocation->output, &file, &file.problems, "");
    if (file.problems.found > 0) {
        err_set(&err, ERR_USAGE, "the plan has %zu mistake%s; nothing was started",
                file.problems.found, file.problems.found == 1 ? "" : "s");
        return command_fail(invocation, &err);
    }
    problems_init(&warnings, arena);
    plan_warn(&file.plan, &warnings);
    planned_tell(&invocation->output, &file, &warnings, "warning: ");
    *plan = file.plan;
    return EXIT_CODE_DONE;
}

/* Some step has such a tool; of a plan that is still to be made, it will. */
static bool wants_tool(const struct plan *plan, enum tool_group group)
{
    for (size_t i = 0; plan != NULL && i < plan->count; i++)
        if (plan_step_has(&plan->steps[i], group))
            return true;
    return plan == NULL;
}

/* What a child's call of the tool meets. */
static enum permission child_permission(const struct asked *asked, struct str tool)
{
    struct contract child = asked_child(asked);
    struct call_facts facts = asked_facts(asked, &child, tool);
    return permission_decide(contract_tool_mode(&child, tool), &facts);
}

void planned_warn(struct output *output, struct wire *wire, const struct plan *plan)
{
    struct arena arena;
    struct asked asked;
    struct err ignored = ERR_INIT;
    arena_init(&arena);
    if (asked_open(&asked, &wire_config(wire)->settings, &arena, output, wire, &ignored) != 0)
        goto out; /* the run will say so */
    const char *mode = mode_text(asked.settings->mode);
    if (wants_tool(plan, GROUP_WRITE) && child_permission(&asked, STR("write")) == PERMIT_DENY)
        output_error(output,
                     "warning: in mode %s no step can change a file, because nobody can be asked; "
                     "--mode auto lets them",
                     mode);
    else if (wants_tool(plan, GROUP_SHELL) && child_permission(&asked, STR("test")) == PERMIT_DENY)
        output_error(output,
                     "warning: in mode %s no step can run a command or a test here; "
                     "\"permissions: {shell: allow, test: allow}\" in the config lets them",
                     mode);
out:
    arena_release(&arena);
}

struct str planned_start(struct arena *arena, struct str goal, const struct plan *plan,
                         enum planned_extent extent)
{
    struct buf text;
    struct jw w;
    buf_init(&text, 4 * PLAN_BYTES_MAX);
    jw_init(&w, &text);
    jw_object(&w);
    jw_kstr(&w, "goal", goal);
    if (plan != NULL) {
        jw_key(&w, "plan");
        plan_print(plan, &w);
    }
    if (extent == PLANNED_ONLY)
        jw_kbool(&w, "plan_only", true);
    jw_end_object(&w);
    struct str copy = arena_copy(arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* --- the plan that a run made --------------------------------------------------------------------------------- */

struct made {
    struct arena *arena;
    struct str text, warnings;
};

static int take_made(void *user, const struct stored_event *event)
{
    struct made *made = user;
    struct err ignored = ERR_INIT;
    struct buf text;
    if (!str_is(event->row.type, "plan.made") || event->row.payload.p == NULL)
        return 0;
    struct js *payload = js_parse(event->row.payload, &ignored);
    buf_init(&text, 4 * PLAN_BYTES_MAX);
    js_print(js_get(payload, "plan"), &text);
    made->text = arena_copy(made->arena, buf_view(&text));
    made->warnings = arena_copy(made->arena, js_get_str(payload, "reason"));
    buf_release(&text);
    js_free(payload);
    return 0;
}

int planned_of_run(struct store *store, struct str run_id, struct arena *arena, struct plan *plan,
                   struct str *warnings, struct err *err)
{
    struct made made = {arena, STR_NONE, STR_NONE};
    struct problems problems;
    if (store->ops->read(store, run_id, 0, 0, 0, take_made, &made, err) != 0)
        return -1;
    if (made.text.p == NULL)
        return err_set(err, ERR_NOT_FOUND, "run %.*s made no plan", STR_FMT(run_id));
    struct js *doc = js_parse_within(made.text, 32, err);
    if (doc == NULL)
        return -1;
    problems_init(&problems, arena);
    int result = plan_parse(arena, doc, plan, &problems);
    js_free(doc);
    *warnings = made.warnings;
    return result == 0
               ? 0
               : err_set(err, ERR_CORRUPT, "the plan of run %.*s cannot be read", STR_FMT(run_id));
}

void planned_draw(struct output *output, const struct plan *plan)
{
    struct graph_style style = {.glyphs =
                                    output->glyphs == GLYPHS_UTF8 ? GRAPH_BOXES : GRAPH_ASCII};
    struct schedule schedule;
    struct step_state states[PLAN_STEPS_MAX];
    struct arena arena;
    struct buf graph;
    int lines;
    output_size(output, &style.columns, &lines);
    arena_init(&arena);
    buf_init(&graph, (size_t)4 << 20);
    schedule_init(&schedule, &arena, plan);
    schedule_states(plan, states);
    for (size_t i = 0; i < plan->count; i++)
        states[i].status = plan->steps[i].status; /* as it was written, also of steps under way */
    graph_render(&schedule, states, &style, &graph);
    output_print(output, "%.*s\n", STR_FMT(buf_view(&graph)));
    buf_release(&graph);
    arena_release(&arena);
}
