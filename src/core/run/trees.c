/* Trees: agents that can write work in files of their own. A child's tree is made from its parent's before it starts, and merged into
 * it when its work is done; the root's is made before its first call. What is merged is merged in one order, by step and then by
 * spawn, whoever finished first: a tree waits until those before it are closed, unless it is all that a step of a plan waits for.
 * Work that is not merged stays on its branch. The files themselves are the shell's: EFFECT_ISOLATE and EFFECT_MERGE. Pure. */
#include "core/run/plan_run.h"

bool tree_isolates(const struct agent *agent)
{
    return agent->tree != NULL && str_is(agent->contract.isolation.strategy, "worktree");
}

bool tree_busy(const struct agent *agent)
{
    return agent->tree != NULL &&
           (agent->tree->state == TREE_MAKING || agent->tree->state == TREE_LEAVING);
}

bool tree_is_there(const struct agent *agent)
{
    return agent->tree != NULL && agent->tree->state == TREE_THERE;
}

/* --- making ---------------------------------------------------------------------------------------------------------------- */

void tree_again(struct deciding *d, const struct agent *agent, int64_t attempt)
{
    struct event *e = draft(d, agent->no, EVENT_AGENT_ISOLATING);
    e->attempt = attempt;
    if (agent->tree->base_ref.n > 0)
        e->base_ref = agent->tree->base_ref;
    emit(d, e);
    if (!d->failed)
        effect_seal(d,
                    effect_add(d, EFFECT_ISOLATE, EFFECT_OUTWARD, agent, keep(d, agent->tree->id)));
}

bool tree_wanted(struct deciding *d, const struct agent *agent, int64_t attempt)
{
    if (tree_isolates(agent) && agent->tree->state == TREE_NONE)
        tree_again(d, agent, attempt);
    return agent->tree != NULL && agent->tree->state == TREE_MAKING;
}

static void made(struct deciding *d, const struct agent *agent, const struct input *input)
{
    struct event *e = fact(d, agent->no, EVENT_WORKTREE_CREATED);
    bool ok = input->outcome == TOOL_OK;
    e->call_id = keep(d, agent->tree->id);
    e->outcome = ok ? STR("ok") : STR("error");
    if (ok) {
        e->strategy = input->strategy;
        e->worktree_path = input->worktree_path;
        e->workspace = input->workspace;
        e->branch = input->branch;
        e->base_ref = input->base_ref;
    } else {
        e->error = input->text;
    }
    emit(d, e);
    struct str why = arena_printf(&d->out->arena, "its tree could not be made: %.*s",
                                  STR_FMT(ok ? STR("") : input->text));
    if (d->failed)
        return;
    if (agent->stopping != OUTCOME_NONE)
        agent_continue(d, agent);
    else if (!ok && agent->no == 0)
        agent_stop(d, agent, OUTCOME_ERROR, why);
    else if (!ok)
        agent_finish(d, agent, OUTCOME_ERROR, why);
    else if (agent->no == 0)
        agent_continue(d, agent);
    else if (agent->life == LIFE_CREATED)
        child_start(d, agent);
    else
        child_attempt(d, agent, agent->attempt + 1);
}

/* --- leaving --------------------------------------------------------------------------------------------------------------- */

static void begin(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    static const char *const kinds[] = {[LEAVES_MERGED] = "merge", [LEAVES_KEPT] = "keep"};
    struct event *e = draft(d, agent->no, EVENT_AGENT_MERGING);
    e->kind = str_from(kinds[agent->tree->leaves]);
    if (agent->no != 0)
        e->parent_no = agent->parent_no;
    if (ending != NULL) {
        e->outcome = str_from(outcome_text(ending->outcome));
        e->error = ending->error;
    }
    emit(d, e);
    if (d->failed)
        return;
    struct effect *effect =
        effect_add(d, EFFECT_MERGE, EFFECT_OUTWARD, agent, keep(d, agent->tree->id));
    effect->tool = str_from(kinds[agent->tree->leaves]);
    effect->arguments = checks_json(d, &agent->contract.outputs.checks);
    effect->max_result = call_result_bytes(d->run, agent);
    effect_seal(d, effect);
}

/* Jobs in the background are merged when somebody waits for them, held children when they are asked for. */
static bool is_awaited(const struct agent *parent, const struct agent *child)
{
    return parent->phase == PHASE_JOINING || child->tree->turn == TURN_AWAITED ||
           (child->contract.receipt.door != DOOR_SPAWN &&
            child->contract.execution.close != CLOSE_HELD);
}

/* A parent that is on its way down takes nothing more. */
static bool takes_work(const struct agent *parent)
{
    return parent->stopping == OUTCOME_NONE &&
           (parent->phase != PHASE_JOINING || ending_worked(parent->joining));
}

void trees_advance(struct deciding *d, const struct agent *parent)
{
    const struct tree *tree = parent->tree;
    if (d->failed || tree == NULL || tree->merging != 0 || d->run->status != RUN_RUNNING ||
        !takes_work(parent))
        return;
    for (size_t i = tree->first_open; i < tree->child_count; i++) {
        const struct agent *child = d->run->agents[tree->children[i]];
        bool kept = child->phase == PHASE_LEAVING && child->tree->leaves == LEAVES_KEPT;
        bool over = child->phase == PHASE_DONE; /* closed, or held */
        if (over || kept || !is_awaited(parent, child))
            continue;
        if (child->phase != PHASE_LEAVING)
            child = plan_needs_merged(d->run, parent);
        if (child != NULL)
            begin(d, child, NULL);
        return; /* whoever comes behind it waits for it */
    }
}

bool tree_waits(const struct run *run, const struct agent *child)
{
    const struct agent *parent = run_agent_at(run, child->parent_no);
    const struct tree *tree = parent->tree;
    if (!takes_work(parent))
        return false;
    bool waits = tree->merging != 0 || !is_awaited(parent, child);
    for (size_t i = tree->first_open; !waits && tree->children[i] != child->no; i++) {
        const struct agent *before = run_agent_at(run, tree->children[i]);
        waits = before->phase < PHASE_LEAVING && is_awaited(parent, before);
    }
    return waits;
}

void tree_leave(struct deciding *d, const struct agent *child)
{
    if (child->tree->leaves == LEAVES_KEPT && !d->failed)
        begin(d, child, NULL);
    due_tell(d, child);
}

bool tree_root_leaves(struct deciding *d, const struct agent *root, const struct ending *ending)
{
    bool lent = root->tree->state != TREE_GONE && root->tree->child_count > 0;
    if (d->failed || (root->tree->state != TREE_THERE && !lent))
        return false;
    begin(d, root, ending);
    return true;
}

static void left(struct deciding *d, const struct agent *agent, const struct input *input)
{
    struct event *e = fact(d, agent->no, EVENT_WORKTREE_MERGED);
    bool ok = input->outcome == TOOL_OK;
    e->call_id = keep(d, agent->tree->id);
    if (agent->no != 0)
        child_stamp(agent, e);
    e->merge_success = ok ? STR("true") : STR("false");
    e->merge_strategy = input->merge_strategy;
    e->merge_message = input->text;
    e->conflicted_files = sound_json(input->conflicted_files, STR_NONE);
    if (input->branch.n > 0)
        e->branch = input->branch;
    if (input->commit.n > 0)
        e->commit = input->commit;
    e->files_modified = sound_json(input->files_modified, STR_NONE);
    e->evidence = sound_json(input->evidence, STR_NONE);
    e->secrets = input->secrets > 0 ? input->secrets : EVENT_ABSENT;
    emit(d, e);
    struct str message = keep(d, input->text);
    if (d->failed)
        return;
    if (agent->no != 0)
        child_left(d, agent, input->outcome, message);
    else if (ok || !ending_worked(agent->joining))
        agent_finish(d, agent, agent->joining, keep(d, agent->joining_error));
    else
        agent_finish(d, agent, OUTCOME_ERROR, message);
}

void tree_answer(struct deciding *d, const struct agent *agent, const struct input *input)
{
    if (input->kind == INPUT_ISOLATED && agent->tree->state == TREE_MAKING)
        made(d, agent, input);
    else if (input->kind == INPUT_MERGED && agent->tree->state == TREE_LEAVING)
        left(d, agent, input);
}

void tree_resume(struct deciding *d, const struct agent *agent)
{
    struct ending ending = {agent->joining, STR_NONE, keep(d, agent->joining_error)};
    if (agent->tree->state == TREE_MAKING)
        tree_again(d, agent,
                   agent->life == LIFE_RUNNING && agent->no != 0 ? agent->attempt + 1 : 0);
    else
        begin(d, agent, agent->no == 0 ? &ending : NULL);
}
