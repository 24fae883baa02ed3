/* Results that are used again (seed 002): a task that a child which could only read has done already gets that child's result, as long
 * as nothing was changed since it began. Which tasks are the same is decided by a hash over everything that the child would be given;
 * the log keeps it, so folding needs no hashing. Pure. */
#include "core/run/door.h"

/* Nothing that it may do changes anything. What it read of the web is as old as the run at most. */
static bool only_reads(const struct contract *contract)
{
    const struct list *tools = &contract->permissions.allowed_tools;
    for (size_t i = 0; i < tools->n; i++) {
        const struct tool_info *info = tool_info_find(tools->items[i]);
        if (info == NULL || info->group != GROUP_READ)
            return false;
    }
    return tools->state == LIST_SET && contract->permissions.mcp_servers.n == 0;
}

/* The contract without what differs between two children that are to do the same: ids, places in an order, and what happened to be
 * left of the parent's budget. */
static struct contract bare(const struct contract *contract, const struct delegation *request)
{
    struct contract copy = *contract;
    copy.agent.id = STR_NONE;
    copy.agent.name = request->name;
    copy.parent.run_id = copy.parent.agent_id = copy.parent.session_id = STR_NONE;
    copy.parent.task_prompt = copy.parent.goal_summary = STR_NONE;
    copy.parent.step_idx = copy.isolation.integration_order = 0;
    copy.execution.budget.tokens = copy.execution.budget.cost_nano = UNLIMITED;
    copy.execution.budget.wall_ms = UNLIMITED;
    copy.execution.max_wall_ms = 0;
    copy.receipt.prompt_hash = STR_NONE;
    copy.receipt.clamp_count = 0;
    return copy;
}

struct str reuse_key(struct deciding *d, const struct delegation *request,
                     const struct gathering *gathering, const struct contract *contract)
{
    if (d->run->settings.reuse_results != SWITCH_ON || !only_reads(contract))
        return STR_NONE;
    struct contract copy = bare(contract, request);
    const int64_t asked[] = {request->asked.tokens, request->asked.cost_nano,
                             request->asked.wall_ms};
    struct buf text;
    struct hasher h;
    char hex[HASH_HEX + 1];
    buf_init(&text, 2 * CONTRACT_BYTES_MAX);
    contract_print(&copy, &text);
    hasher_init(&h);
    hasher_str(&h, buf_view(&text));
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        hasher_u64(&h, (uint64_t)asked[i]);
    hasher_str(&h, request->task);
    hasher_str(&h, request->scope);
    hasher_str(&h, request->context);
    hasher_str(&h, request->prompt);
    for (size_t i = 0; gathering != NULL && i < gathering->count; i++) {
        hasher_str(&h, gathering->files[i].path);
        hasher_str(&h, gathering->files[i].text);
    }
    struct hash hash = hasher_end(&h);
    hash_hex(&hash, hex);
    buf_release(&text);
    return keep(d, (struct str){hex, 32});
}

/* Whose files the agent sees: its own, or those of the next one above it that has some. */
static const struct agent *home_of(const struct run *run, const struct agent *agent)
{
    while (agent->tree == NULL)
        agent = run_agent_at(run, agent->parent_no);
    return agent;
}

const struct agent *reuse_find(const struct run *run, const struct agent *parent, enum door door,
                               struct str key)
{
    const struct agent *earlier = key.n > 0 ? map_get(&run->answered, key) : NULL;
    /* A job belongs to the agent that spawned it. */
    if (earlier == NULL || earlier->changes_seen != run->changes ||
        home_of(run, earlier) != home_of(run, parent) ||
        (door == DOOR_SPAWN && earlier->parent_no != parent->no))
        return NULL;
    return earlier;
}

/* --- what events do ------------------------------------------------------------------------------------------------------- */

void reuse_learn(struct run *run, struct agent *child)
{
    /* What a child was told on its way is not in its key. */
    if (child->reuse_key.n > 0 && child->outcome == OUTCOME_COMPLETED && child->steered.n == 0 &&
        child->changes_seen == run->changes)
        map_set(&run->answered, child->reuse_key, child);
}

void reuse_call_ended(struct run *run, const struct call *call, const struct event *e)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    bool outward = info == NULL || (info->kind != TOOL_CORE && info->class != EFFECT_PURE &&
                                    info->group != GROUP_READ);
    bool began = call->state != CALL_WAITING && call->answer != ANSWER_NO;
    if (e->files_modified.n > 2 || (outward && began))
        run->changes++;
}

/* --- what callers read ------------------------------------------------------------------------------------------------------ */

const struct call_child *call_child_of(const struct call *call, const struct agent *child)
{
    for (size_t i = call->child_count; i-- > 0;) {
        if (call->children[i].no == child->no)
            return &call->children[i];
    }
    return NULL;
}

void reuse_notice(const struct call_child *child, const struct agent *agent, const char *opening,
                  struct buf *out)
{
    if (child != NULL && child->origin == CHILD_REPEATED)
        buf_printf(out,
                   "%sThis is a repeated result: sub-agent %.*s did the same task before, and "
                   "nothing was changed since.",
                   opening, STR_FMT(agent->task_id));
}
