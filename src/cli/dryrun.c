/* See dryrun.h. The requests are those that the run's own door makes (core/plan/request.h), the shares those of its first steps. */
#include "cli/dryrun.h"

#include "cli/planned.h"
#include "cli/text.h"
#include "core/plan/estimate.h"
#include "core/plan/prompt.h"
#include "core/plan/request.h"

#define TASK_BYTES (1 << 20)
#define TOOLS_COLUMNS 60

struct priced {
    struct str id;
    struct contract contract;
    struct estimate most; /* of its own requests */
};

struct dryrun {
    struct arena arena;
    const struct settings *settings;
    struct contract root;
    struct facts facts;
    struct priced *children;
    size_t count;
    struct estimate sum;
    enum { DELEGATES_NOTHING, MAY_DELEGATE } delegate; /* whether some child may start children */
};

/* The most that a child's own requests may cost with this model. What it gets of the run's budget to begin with is no bound: what
 * others do not use comes to it. */
static int estimate(const struct dryrun *dry, const struct contract *contract, struct str name,
                    struct estimate *most)
{
    const struct model_settings *model = settings_model(dry->settings, name);
    struct contract bounded = *contract;
    if (model == NULL)
        return -1;
    bounded.execution.budget.tokens = dry->root.execution.budget.tokens;
    bounded.execution.budget.cost_nano = dry->root.execution.budget.cost_nano;
    estimate_step(&bounded, model, most);
    return 0;
}

/* With the dearest of the models that may stand in for each other. */
static int estimate_dearest(const struct dryrun *dry, const struct contract *contract,
                            struct estimate *most)
{
    const struct pool *pool = settings_pool(dry->settings, contract->model.pool);
    if (estimate(dry, contract, contract->model.name, most) != 0)
        return -1;
    for (size_t i = 0; pool != NULL && i < pool->models.n; i++) {
        struct estimate other;
        if (list_has(&contract->model.allowed_models, pool->models.items[i]) &&
            estimate(dry, contract, pool->models.items[i], &other) == 0 &&
            most->cost_nano != UNLIMITED &&
            (other.cost_nano == UNLIMITED || other.cost_nano > most->cost_nano))
            *most = other;
    }
    return 0;
}

static int price(struct dryrun *dry, struct str id, const struct delegation *request,
                 struct err *err)
{
    struct priced *child = &dry->children[dry->count];
    dry->facts.ordinal = (int64_t)dry->count + 1;
    child->id = id;
    if (contract_derive(&dry->arena, &dry->root, request, &dry->facts, dry->settings,
                        &child->contract, err) != 0)
        return err_prefix(err, "%.*s", STR_FMT(id));
    if (estimate_dearest(dry, &child->contract, &child->most) != 0)
        return err_set(err, ERR_BUG, "the contract of %.*s names no model", STR_FMT(id));
    estimate_add(&dry->sum, &child->most);
    if (child->contract.permissions.can_spawn_children == SPAWN_MAY)
        dry->delegate = MAY_DELEGATE;
    dry->count++;
    return 0;
}

/* Whether a run would start it. */
static bool is_open(const struct plan_step *step)
{
    return step->status != STEP_COMPLETED && step->status != STEP_FAILED &&
           step->status != STEP_SKIPPED;
}

/* What each step would get of a limit if nothing were spent yet; the last share is the review's. */
static void share(const struct dryrun *dry, const struct plan *plan, int64_t limit,
                  struct share *shares)
{
    for (size_t i = 0; i < plan->count; i++)
        shares[i] = (struct share){.weight = plan_step_calls(&plan->steps[i]),
                                   .state = is_open(&plan->steps[i]) ? SHARE_WAITS : SHARE_ENDED};
    shares[plan->count] = (struct share){
        .weight = PLAN_REVIEW_CALLS,
        .state = dry->settings->plan_review == SWITCH_ON ? SHARE_WAITS : SHARE_ENDED};
    estimate_share(limit, shares, plan->count + 1);
}

static int64_t asked(int64_t limit, const struct share *part)
{
    return limit == UNLIMITED ? ASK_NOTHING : part->amount > 0 ? part->amount : 1;
}

static int price_steps(struct dryrun *dry, const struct plan *plan, struct err *err)
{
    const struct limits *limits = &dry->root.execution.budget;
    struct share cost[PLAN_STEPS_MAX + 1], tokens[PLAN_STEPS_MAX + 1];
    struct delegation request;
    share(dry, plan, limits->cost_nano, cost);
    share(dry, plan, limits->tokens, tokens);
    for (size_t i = 0; i < plan->count; i++) {
        struct buf task;
        buf_init(&task, TASK_BYTES);
        plan_prompt_step(plan, i, &task);
        plan_step_request(&dry->arena, plan, i, arena_copy(&dry->arena, buf_view(&task)), &request);
        buf_release(&task);
        request.asked.cost_nano = asked(limits->cost_nano, &cost[i]);
        request.asked.tokens = asked(limits->tokens, &tokens[i]);
        if (is_open(&plan->steps[i]) && price(dry, plan->steps[i].id, &request, err) != 0)
            return -1;
    }
    if (dry->settings->plan_review != SWITCH_ON)
        return 0;
    plan_reviewer_request(plan, STR("Review the result."), &request);
    request.asked.cost_nano = asked(limits->cost_nano, &cost[plan->count]);
    request.asked.tokens = asked(limits->tokens, &tokens[plan->count]);
    return price(dry, STR("review"), &request, err);
}

static int price_planner(struct dryrun *dry, struct str goal, struct err *err)
{
    struct delegation request;
    struct buf task;
    buf_init(&task, TASK_BYTES);
    plan_prompt_planner(goal, &task);
    plan_planner_request(arena_copy(&dry->arena, buf_view(&task)), &request);
    buf_release(&task);
    return price(dry, STR("planner"), &request, err);
}

static int derive_root(struct dryrun *dry, const struct workspace *workspace, struct str goal,
                       struct err *err)
{
    struct delegation request;
    delegation_init(&request, DOOR_ROOT);
    request.task = goal;
    request.name = STR("root");
    dry->facts = (struct facts){.run_id = STR("dry-run"),
                                .session_id = workspace->session_id,
                                .agent_id = STR("dry-run"),
                                .parent_task = goal,
                                .workspace_path = workspace->path,
                                .remaining_tokens = UNLIMITED,
                                .remaining_cost_nano = UNLIMITED,
                                .remaining_wall_ms = UNLIMITED,
                                .asker = ASKER_NOBODY};
    if (contract_root(&dry->arena, dry->settings, &request, &dry->facts, &dry->root, err) != 0)
        return -1;
    const struct limits *limits = &dry->root.execution.budget;
    dry->facts.parent_agent_id = STR("dry-run");
    dry->facts.remaining_tokens = limits->tokens;
    dry->facts.remaining_cost_nano = limits->cost_nano;
    dry->facts.remaining_wall_ms = limits->wall_ms;
    return contract_permits(&dry->root, STR("plan"), err) > PERMIT_DENY ? 0 : -1;
}

/* --- as JSON ---------------------------------------------------------------------------------------------------- */

static void json_number(struct jw *w, const char *key, int64_t value)
{
    jw_key(w, key);
    if (value == UNLIMITED)
        jw_null(w);
    else
        jw_int(w, value);
}

static void json_cost(struct jw *w, int64_t cost_nano)
{
    jw_key(w, "cost_usd");
    if (cost_nano == UNLIMITED)
        jw_null(w);
    else
        jw_real(w, (double)cost_nano / 1e9);
}

static void json_most(struct jw *w, const struct estimate *most)
{
    jw_key(w, "most");
    jw_object(w);
    json_number(w, "calls", most->calls);
    json_number(w, "requests", most->requests);
    json_number(w, "tokens", most->tokens);
    json_cost(w, most->cost_nano);
    jw_end_object(w);
}

static void show_json(struct output *output, const struct dryrun *dry, const struct plan *plan)
{
    struct buf line;
    struct jw w;
    buf_init(&line, (size_t)64 << 20);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "dry_run");
    if (plan != NULL) {
        jw_key(&w, "plan");
        plan_print(plan, &w);
    }
    jw_key(&w, "children");
    jw_array(&w);
    for (size_t i = 0; i < dry->count; i++) {
        jw_object(&w);
        jw_kstr(&w, "id", dry->children[i].id);
        jw_kraw(&w, "contract", dry->children[i].contract.json);
        json_most(&w, &dry->children[i].most);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    json_most(&w, &dry->sum);
    jw_key(&w, "limit");
    jw_object(&w);
    json_number(&w, "tokens", dry->root.execution.budget.tokens);
    json_cost(&w, dry->root.execution.budget.cost_nano);
    jw_end_object(&w);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* --- as text ---------------------------------------------------------------------------------------------------- */

static void add_most(struct buf *out, const struct estimate *most)
{
    if (most->calls != UNLIMITED)
        buf_printf(out, "%lld calls", (long long)most->calls);
    else
        buf_text(out, "any number of calls");
    if (most->tokens != UNLIMITED) {
        buf_text(out, ", ");
        text_tokens(out, most->tokens);
        buf_text(out, " tokens");
    }
    if (most->cost_nano != UNLIMITED) {
        buf_text(out, ", ");
        text_money(out, most->cost_nano);
    } else {
        buf_text(out, ", no known price");
    }
}

static void add_list(struct buf *out, const struct list *list, const char *none)
{
    for (size_t i = 0; i < list->n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? ", " : "", STR_FMT(list->items[i]));
    if (list->n == 0)
        buf_text(out, none);
}

/* What it gets of the run's budget to begin with. */
static void add_share(struct buf *out, const struct limits *budget)
{
    if (budget->cost_nano == UNLIMITED && budget->tokens == UNLIMITED)
        return;
    buf_text(out, "  to begin with: ");
    if (budget->cost_nano != UNLIMITED)
        text_money(out, budget->cost_nano);
    if (budget->tokens != UNLIMITED) {
        buf_text(out, budget->cost_nano != UNLIMITED ? ", " : "");
        text_tokens(out, budget->tokens);
        buf_text(out, " tokens");
    }
    buf_text(out, "; what others leave comes to it\n");
}

static void show_child(struct output *output, const struct priced *child)
{
    const struct contract *contract = &child->contract;
    struct buf line, tools;
    buf_init(&line, 1 << 16);
    buf_init(&tools, 1 << 16);
    buf_printf(&line, "%.*s (%.*s, %.*s): at most ", STR_FMT(child->id),
               STR_FMT(contract->agent.role), STR_FMT(contract->model.model));
    add_most(&line, &child->most);
    if (contract_deadline_ms(contract) != UNLIMITED) {
        buf_text(&line, ", ");
        text_duration(&line, contract_deadline_ms(contract));
    }
    buf_text(&line, "\n  tools: ");
    add_list(&tools, &contract->permissions.allowed_tools, "none");
    text_cut(&line, buf_view(&tools), TOOLS_COLUMNS,
             output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII);
    buf_text(&line, "\n  owns: ");
    const struct role *role = role_find(contract->agent.role);
    if (role != NULL && role->writes == ROLE_READS)
        buf_text(&line, "nothing");
    else if (contract->isolation.ownership.state == LIST_ABSENT)
        buf_text(&line, "everything that it may write");
    else
        add_list(&line, &contract->isolation.ownership, "nothing");
    buf_printf(&line, "; files: %.*s\n", STR_FMT(contract->isolation.strategy));
    add_share(&line, &contract->execution.budget);
    output_clean(output, buf_view(&line), UTF8_LINES);
    buf_release(&tools);
    buf_release(&line);
}

/* What the sum does not have in it, and what holds all the same. */
static void add_besides(struct buf *out, const struct dryrun *dry, const struct plan *plan)
{
    const struct limits *limits = &dry->root.execution.budget;
    bool delegates = dry->delegate == MAY_DELEGATE || plan == NULL;
    bool finds = dry->settings->plan_review == SWITCH_ON && dry->settings->review_rounds > 0;
    if (!delegates && !finds)
        return;
    buf_printf(out, ", without %s%s%s",
               plan == NULL ? "the steps"
               : delegates  ? "what they delegate"
                            : "",
               delegates && finds ? " and " : "", finds ? "what a review finds" : "");
    if (limits->cost_nano == UNLIMITED && limits->tokens == UNLIMITED) {
        buf_text(out, "; the run has no limit in dollars or tokens");
        return;
    }
    buf_text(out, "; with all of it at most ");
    if (limits->cost_nano != UNLIMITED)
        text_money(out, limits->cost_nano);
    if (limits->tokens != UNLIMITED) {
        buf_text(out, limits->cost_nano != UNLIMITED ? ", " : "");
        text_tokens(out, limits->tokens);
        buf_text(out, " tokens");
    }
    buf_text(out, ", the run's limit");
}

static void show_text(struct output *output, struct dryrun *dry, const struct plan *plan)
{
    struct buf sum;
    if (plan != NULL)
        planned_draw(output, plan);
    for (size_t i = 0; i < dry->count; i++)
        show_child(output, &dry->children[i]);
    buf_init(&sum, 1000);
    buf_text(&sum, "In all at most ");
    add_most(&sum, &dry->sum);
    add_besides(&sum, dry, plan);
    output_print(output, "\n%.*s. Nothing was started.\n", STR_FMT(buf_view(&sum)));
    if (plan == NULL)
        output_print(output, "The steps are known when the planner has answered: cadre plan "
                             "\"GOAL\" -o plan.yaml, then\ncadre run --plan-file plan.yaml "
                             "--dry-run\n");
    buf_release(&sum);
}

enum exit_code dryrun_show(struct invocation *invocation, struct wire *wire, struct str goal,
                           const struct plan *plan)
{
    struct settings settings = wire_config(wire)->settings;
    struct dryrun dry = {.settings = &settings};
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    settings.plan_enabled = SWITCH_ON; /* as for every run that is started with a plan */
    arena_init(&dry.arena);
    dry.children = arena_alloc(&dry.arena, (PLAN_STEPS_MAX + 1) * sizeof *dry.children);
    if (derive_root(&dry, wire_workspace(wire), goal, &err) != 0 ||
        (plan != NULL ? price_steps(&dry, plan, &err) : price_planner(&dry, goal, &err)) != 0) {
        code = command_fail(invocation, &err);
    } else {
        estimate_within(&dry.sum, &dry.root.execution.budget);
        if (invocation->output.format == OUTPUT_JSON)
            show_json(&invocation->output, &dry, plan);
        else
            show_text(&invocation->output, &dry, plan);
    }
    arena_release(&dry.arena);
    return code;
}
