/* What the committed log must say about trees: whoever can write has one before it starts and a new one for each attempt, merges of one
 * parent begin in step and spawn order, unless a plan's step needs nothing else, and one at a time, nobody works any more whose tree is on its way out, and none is left at the
 * end. By the events alone: the run's own counters are not asked. */
#include "base/json.h"
#include "inside.h"

static struct tree_record *record(struct world *w, uint32_t no)
{
    return &w->trees[no];
}

static void see(struct world *w, enum sighting what)
{
    w->result->seen[what]++;
}

static void take_created(struct world *w, const struct event_row *row, const struct js *payload)
{
    const struct js *contract = js_get(payload, "contract");
    struct str door = js_get_str(js_get(contract, "receipt"), "door");
    struct tree_record *tree = record(w, row->agent_no);
    tree->isolates = str_is(js_get_str(js_get(contract, "isolation"), "strategy"), "worktree");
    tree->parent_no = (uint32_t)js_get_int(payload, "parent_no", 0);
    tree->step = js_get_int(payload, "step_idx", -1);
    tree->held = w->plan.holding == CHILDREN_HELD;
    tree->awaited = !str_is(door, "spawn") && !tree->held;
}

/* Jobs that are awaited are merged, and so is who is held when that is asked for; a held one that is awaited before is held all the same. */
static void take_awaiting(struct world *w, const struct js *payload)
{
    const struct js *jobs = js_get(payload, "jobs");
    for (size_t i = 0; i < js_count(jobs); i++) {
        int64_t no = js_int(js_at(jobs, i), 0);
        if (no <= 0 || no >= AGENTS_MAX)
            continue;
        bool rests = strcmp(w->children[no].status, "waiting_for_merge") == 0;
        if (!record(w, (uint32_t)no)->held || rests)
            record(w, (uint32_t)no)->awaited = true;
    }
}

static void take_joining(struct world *w, uint32_t parent_no)
{
    for (uint32_t no = 1; no < AGENTS_MAX && w->children[no].status[0] != '\0'; no++) {
        if (w->trees[no].parent_no == parent_no && !w->trees[no].held)
            w->trees[no].awaited = true;
    }
}

static bool is_open(const struct world *w, uint32_t no)
{
    const char *status = w->children[no].status;
    return strcmp(status, "created") == 0 || strcmp(status, "running") == 0 ||
           strcmp(status, "waiting_for_merge") == 0;
}

static void require_order(struct world *w, uint32_t no)
{
    const struct tree_record *tree = record(w, no);
    for (uint32_t i = 1; i < AGENTS_MAX && w->children[i].status[0] != '\0'; i++) {
        const struct tree_record *other = record(w, i);
        bool before = other->step < tree->step || (other->step == tree->step && i < no);
        if (other->parent_no == tree->parent_no && i != no && other->isolates && other->awaited &&
            before && is_open(w, i)) {
            see(w, SEEN_OUT_OF_TURN);
            if (!plan_ledger_needs(w, no))
                wrong(w, "agent %u is merged before agent %u, which comes first", no, i);
        }
    }
}

static void take_merging(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct tree_record *tree = record(w, row->agent_no);
    struct tree_record *into = record(w, tree->parent_no);
    bool merges = str_is(js_get_str(payload, "kind"), "merge");
    if (row->agent_no != 0 && !tree->there)
        wrong(w, "agent %u has no tree that could leave", row->agent_no);
    tree->leaving = true;
    if (!merges)
        return;
    if (into->merging != 0 && into->merging != row->agent_no)
        wrong(w, "agents %u and %u are merged into agent %u at once", into->merging, row->agent_no,
              tree->parent_no);
    if (into->leaving || (into->isolates && !into->there))
        wrong(w, "agent %u is merged into agent %u, whose tree is on its way out", row->agent_no,
              tree->parent_no);
    if (strcmp(w->children[row->agent_no].status, "waiting_for_merge") != 0)
        wrong(w, "agent %u is merged and is %s", row->agent_no, w->children[row->agent_no].status);
    if (into->merging == 0)
        require_order(w, row->agent_no);
    if (row->seq != w->waited_seq + 1 && into->merging == 0)
        see(w, SEEN_MERGED_LATER);
    into->merging = row->agent_no;
}

static void take_merged(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct tree_record *tree = record(w, row->agent_no);
    struct tree_record *into = record(w, tree->parent_no);
    struct str how = js_get_str(payload, "merge_strategy");
    if (!tree->leaving)
        wrong(w, "the tree of agent %u left unasked", row->agent_no);
    tree->there = false;
    if (into->merging == row->agent_no)
        into->merging = 0;
    if (str_is(how, "conflict"))
        see(w, SEEN_CONFLICT);
    else if (str_is(how, "stopped"))
        see(w, SEEN_MERGE_STOPPED);
    else if (str_is(how, "three_way"))
        see(w, SEEN_TREE_MERGED);
    else if (str_is(how, "kept"))
        see(w, SEEN_KEPT);
}

static void take_made(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct tree_record *tree = record(w, row->agent_no);
    bool ok = str_is(js_get_str(payload, "outcome"), "ok");
    if (!ok)
        see(w, SEEN_UNMADE);
    else if (!str_is(js_get_str(payload, "strategy"), "shared"))
        tree->there = tree->fresh = true;
}

/* Model requests, calls and checks are work; each needs the tree to be there, and nobody else to be at work on it. */
static void take_work(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct tree_record *tree = record(w, row->agent_no);
    bool attempt = str_is(row->type, "agent.subagent_attempt");
    if (!attempt && !str_is(row->type, "model.requested") && !str_is(row->type, "tool.requested") &&
        !str_is(row->type, "agent.checking"))
        return;
    if (tree->leaving)
        wrong(w, "agent %u works on and its tree is on its way out", row->agent_no);
    if (str_is(row->type, "model.requested") && tree->merging != 0)
        wrong(w, "agent %u goes on and agent %u is being merged into its tree", row->agent_no,
              tree->merging);
    if (row->agent_no != 0 && tree->isolates && !tree->there)
        wrong(w, "agent %u works and has no tree yet", row->agent_no);
    if (attempt && tree->isolates && !tree->fresh)
        wrong(w, "agent %u begins another attempt in the old tree", row->agent_no);
    if (attempt && tree->isolates && js_get_int(payload, "attempt", 0) > 0)
        see(w, SEEN_TREE_AGAIN);
    tree->fresh = false;
}

void tree_ledger_take(struct world *w, const struct event_row *row)
{
    struct err err = ERR_INIT;
    struct js *payload = js_parse(row->payload, &err);
    if (str_is(row->type, "agent.subagent_created"))
        take_created(w, row, payload);
    else if (str_is(row->type, "agent.awaiting"))
        take_awaiting(w, payload);
    else if (str_is(row->type, "run.joining"))
        take_joining(w, row->agent_no);
    else if (str_is(row->type, "agent.subagent_waiting_for_merge"))
        w->waited_seq = row->seq;
    else if (str_is(row->type, "agent.worktree_created"))
        take_made(w, row, payload);
    else if (str_is(row->type, "agent.merging"))
        take_merging(w, row, payload);
    else if (str_is(row->type, "agent.worktree_merged"))
        take_merged(w, row, payload);
    else if (str_is(row->type, "agent.subagent_closed") && record(w, row->agent_no)->there)
        wrong(w, "agent %u is closed and its tree is still there", row->agent_no);
    else if (str_starts(row->type, STR("run.")) && row->agent_no == 0 && w->trees[0].there &&
             (str_is(row->type, "run.completed") || str_is(row->type, "run.failed") ||
              str_is(row->type, "run.cancelled")))
        wrong(w, "the run has ended and the root's tree is still there");
    take_work(w, row, payload);
    plan_ledger_take(w, row, payload);
    js_free(payload);
}
