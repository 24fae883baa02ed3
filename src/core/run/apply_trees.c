/* What events do to the trees of agents: asked for, made, on their way out, merged or kept. Pure. */
#include <stdlib.h>

#include "core/run/apply.h"

/* Children are merged by step, then by spawn; they are made in the order of their numbers. */
static bool comes_before(const struct run *run, const struct agent *child, uint32_t other)
{
    return child->contract.parent.step_idx < run->agents[other]->contract.parent.step_idx;
}

int tree_adopt(struct run *run, struct agent *child, const struct event *e, struct err *err)
{
    struct tree *tree = tree_to_change(agent_to_change(run, child->parent_no));
    if (!str_is(child->contract.isolation.strategy, "worktree"))
        return 0;
    if (tree == NULL)
        return apply_out_of_place(e, err);
    struct tree *own = arena_alloc(&child->arena, sizeof *own);
    *own = (struct tree){.state = TREE_NONE};
    child->tree = own;
    tree->children =
        grow(tree->children, tree->child_count, &tree->child_capacity, sizeof *tree->children);
    size_t at = tree->child_count++;
    for (; at > tree->first_open && comes_before(run, child, tree->children[at - 1]); at--)
        tree->children[at] = tree->children[at - 1];
    tree->children[at] = child->no;
    return 0;
}

void tree_child_closed(struct run *run, const struct agent *child)
{
    struct tree *tree = tree_to_change(agent_to_change(run, child->parent_no));
    while (child->tree != NULL && tree->first_open < tree->child_count &&
           run->agents[tree->children[tree->first_open]]->life == LIFE_CLOSED)
        tree->first_open++;
}

int apply_isolating(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct tree *tree = tree_to_change(agent);
    bool lives = agent->life == LIFE_CREATED || agent->life == LIFE_RUNNING;
    bool sound = tree != NULL && (tree->state == TREE_NONE || tree->state == TREE_THERE ||
                                  tree->state == TREE_MAKING);
    if (!sound || !lives || agent->children_open > 0)
        return apply_out_of_place(e, err);
    if (tree->state == TREE_THERE) {
        /* Another attempt: what stopped the last one is over, and what was read in the tree is old. */
        agent->stopping = OUTCOME_NONE;
        agent->stop_reason = STR_NONE;
        run->changes++;
    }
    tree->state = TREE_MAKING;
    tree->id = arena_printf(&agent->arena, "w%llu", (unsigned long long)e->seq);
    if (agent->no == 0)
        return 0;
    if (agent->life == LIFE_CREATED)
        slot_take(run, agent);
    else if (agent->slot == SLOT_QUEUED)
        slot_release(run, agent); /* it queues again when the attempt begins */
    if (!phase_moves(agent, MOVE_ISOLATING))
        return apply_out_of_place(e, err);
    budget_unqueue(run, agent);
    timer_set(run, agent, TIMER_ATTEMPT, 0);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    return 0;
}

int apply_worktree_created(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    struct tree *tree = tree_to_change(agent);
    bool shared = str_is(e->strategy, "shared");
    if (tree == NULL || tree->state != TREE_MAKING || !str_eq(tree->id, e->call_id) ||
        (shared && agent->no != 0))
        return apply_out_of_place(e, err);
    if (!str_is(e->outcome, "ok")) {
        /* One that was there before may still be: it is put away with the agent. */
        tree->state = tree->path.n > 0 ? TREE_THERE : TREE_NONE;
        return 0;
    }
    tree->state = shared ? TREE_IN_PLACE : TREE_THERE;
    tree->strategy = arena_copy(&agent->arena, e->strategy);
    tree->path = arena_copy(&agent->arena, e->worktree_path);
    tree->workspace = arena_copy(&agent->arena, e->workspace);
    tree->branch = arena_copy(&agent->arena, e->branch);
    tree->base_ref = arena_copy(&agent->arena, e->base_ref);
    return 0;
}

int apply_merging(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct tree *tree = tree_to_change(agent);
    if (tree == NULL || tree->state == TREE_MAKING || tree->state == TREE_GONE ||
        agent->children_open > 0 ||
        (agent->no == 0 ? !phase_moves(agent, MOVE_PUT_AWAY) : agent->phase != PHASE_LEAVING))
        return apply_out_of_place(e, err);
    if (agent->no != 0 && tree->leaves == LEAVES_MERGED) {
        struct tree *into = tree_to_change(agent_to_change(run, agent->parent_no));
        if (into->merging != 0 && into->merging != agent->no)
            return apply_out_of_place(e, err);
        into->merging = agent->no;
    }
    tree->state = TREE_LEAVING;
    tree->id = arena_printf(&agent->arena, "m%llu", (unsigned long long)e->seq);
    if (agent->no != 0)
        return 0;
    agent->joining = outcome_parse(e->outcome);
    agent->joining_error = arena_copy(&agent->arena, e->error);
    budget_unqueue(run, agent);
    for (int kind = 0; kind < TIMER_COUNT; kind++)
        timer_set(run, agent, (enum timer_kind)kind, 0);
    return 0;
}

int apply_worktree_merged(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    struct tree *tree = tree_to_change(agent);
    if (tree == NULL || tree->state != TREE_LEAVING || !str_eq(tree->id, e->call_id) ||
        (agent->no == 0 && !phase_moves(agent, MOVE_LEFT)))
        return apply_out_of_place(e, err);
    struct tree *into = tree_to_change(agent_to_change(run, agent->parent_no));
    if (agent->no != 0 && into->merging == agent->no)
        into->merging = 0;
    tree->state = TREE_GONE;
    tree->merge = arena_copy(&agent->arena, e->merge_strategy);
    tree->kept = arena_copy(&agent->arena, e->branch);
    if (e->evidence.p != NULL)
        agent->evidence = arena_copy(&agent->arena, e->evidence);
    modified_add(run, agent, e->files_modified);
    run->changes++;
    return 0;
}
