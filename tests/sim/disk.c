/* The simulated trees: which agent has files of its own, what they were when it got them, and what a merge does to its parent's. Made,
 * merged and kept like real ones: what was done before a crash is found done when it is asked for again, and a change that both sides
 * made is a conflict. Tools work on files_of(). */
#include "inside.h"

static struct disk_tree *tree_of(struct world *w, uint32_t no)
{
    if (no >= AGENTS_MAX)
        wrong(w, "more agents than the disk has room for");
    return &w->disk[no < AGENTS_MAX ? no : 0];
}

uint64_t *files_of(struct world *w, uint32_t agent_no)
{
    const struct run *run = pump_run(w->pump);
    for (uint32_t no = agent_no;; no = run_agent(run, no)->parent_no) {
        struct disk_tree *tree = tree_of(w, no);
        if (tree->state == DISK_MADE)
            return tree->files;
        if (tree->state == DISK_GONE)
            wrong(w, "agent %u works in the tree of agent %u, which is gone", agent_no, no);
        if (no == 0)
            return w->files;
    }
}

/* --- making -------------------------------------------------------------------------------------------------------------- */

static void make(struct world *w, uint32_t no)
{
    struct disk_tree *tree = tree_of(w, no);
    uint32_t parent_no = run_agent(pump_run(w->pump), no)->parent_no;
    if (tree->state == DISK_GONE)
        wrong(w, "agent %u gets another tree, and had one that is gone", no);
    if (tree->state == DISK_ABSENT)
        memcpy(tree->base, no == 0 ? w->files : files_of(w, parent_no), sizeof tree->base);
    memcpy(tree->files, tree->base, sizeof tree->files);
    tree->state = DISK_MADE;
}

static void isolate(struct world *w, const struct pending *p, struct input *input)
{
    bool in_place = p->effect.agent_no == 0 && w->plan.isolation == ISOLATED_IN_PLACE;
    input->kind = INPUT_ISOLATED;
    if (chance_permille(&w->chance, p->aborted ? 600 : 40)) {
        input->outcome = TOOL_ERROR;
        input->text = STR("no room for it");
        /* A tree that the run does not know of is not left behind. */
        if (run_agent(pump_run(w->pump), p->effect.agent_no)->tree->path.n == 0)
            tree_of(w, p->effect.agent_no)->state = DISK_ABSENT;
        return;
    }
    input->strategy = in_place ? STR("shared") : STR("worktree");
    if (in_place)
        return;
    make(w, p->effect.agent_no);
    input->worktree_path = STR("/trees/t");
    input->workspace = STR("/trees/t/w");
    input->branch = STR("cadre/b");
    input->base_ref = STR("abc");
}

/* --- leaving --------------------------------------------------------------------------------------------------------------- */

/* Takes over what the child changed; false, and nothing is changed, where both sides changed a file. */
static bool merge(struct world *w, uint32_t no)
{
    struct disk_tree *tree = tree_of(w, no);
    uint64_t *into = files_of(w, run_agent(pump_run(w->pump), no)->parent_no);
    for (size_t i = 0; i < FILES; i++) {
        if (tree->files[i] != tree->base[i] && into[i] != tree->base[i])
            return false;
    }
    for (size_t i = 0; i < FILES; i++) {
        if (tree->files[i] != tree->base[i])
            into[i] = tree->files[i];
    }
    tree->merges++;
    return true;
}

/* The work of one merge or keep, whether or not anybody hears of it. */
static void leave(struct world *w, const struct pending *p)
{
    struct disk_tree *tree = tree_of(w, p->effect.agent_no);
    bool broken = chance_permille(&w->chance, 40);
    if (tree->state != DISK_MADE)
        return; /* it was done before */
    if (str_is(p->effect.tool, "keep"))
        tree->end = broken ? DISK_BROKEN : DISK_KEPT;
    else if (p->aborted && chance_permille(&w->chance, 800))
        tree->end = DISK_STOPPED;
    else if (broken)
        tree->end = DISK_BROKEN;
    else
        tree->end = merge(w, p->effect.agent_no) ? DISK_MERGED : DISK_CONFLICT;
    tree->state = DISK_GONE;
}

static void answer_leave(struct world *w, const struct pending *p, struct input *input)
{
    static const char *const words[] = {[DISK_MERGED] = "three_way",
                                        [DISK_CONFLICT] = "conflict",
                                        [DISK_BROKEN] = "error",
                                        [DISK_STOPPED] = "stopped",
                                        [DISK_KEPT] = "kept"};
    const struct disk_tree *tree = tree_of(w, p->effect.agent_no);
    bool lent = tree->state == DISK_ABSENT; /* a root in the user's files */
    input->kind = INPUT_MERGED;
    if (p->aborted && str_is(p->effect.tool, "keep"))
        wrong(w, "agent %u: keeping its work was cut short", p->effect.agent_no);
    leave(w, p);
    input->outcome =
        lent || tree->end == DISK_MERGED || tree->end == DISK_KEPT ? TOOL_OK : TOOL_ERROR;
    input->merge_strategy = lent ? STR("in_place") : str_from(words[tree->end]);
    input->text = input->merge_strategy;
    if (!lent && tree->end != DISK_MERGED)
        input->branch = STR("cadre/b");
    if (!lent && tree->end == DISK_CONFLICT)
        input->conflicted_files = STR("[\"f1\"]");
}

void answer_tree(struct world *w, const struct pending *p)
{
    struct err err = ERR_INIT;
    struct input input = {
        .now = w->now, .agent_no = p->effect.agent_no, .call_id = p->effect.call_id};
    if (p->effect.kind == EFFECT_ISOLATE)
        isolate(w, p, &input);
    else
        answer_leave(w, p, &input);
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "pump: %s", err.message);
}

void disk_crash(struct world *w, const struct pending *p)
{
    bool in_place = p->effect.agent_no == 0 && w->plan.isolation == ISOLATED_IN_PLACE;
    if (p->effect.kind == EFFECT_MERGE)
        leave(w, p);
    else if (!in_place)
        make(w, p->effect.agent_no);
}

/* --- the end ----------------------------------------------------------------------------------------------------------------- */

void disk_end(struct world *w)
{
    const struct run *run = pump_run(w->pump);
    for (uint32_t no = 0; no < run_agent_count(run) && no < AGENTS_MAX; no++) {
        const struct disk_tree *tree = &w->disk[no];
        const struct agent *agent = run_agent(run, no);
        bool worked =
            agent->outcome == OUTCOME_COMPLETED || agent->outcome == OUTCOME_BUDGET_EXCEEDED;
        if (tree->state == DISK_MADE)
            wrong(w, "the tree of agent %u is left over", no);
        if (tree->merges > 1)
            wrong(w, "the work of agent %u was merged %d times", no, tree->merges);
        if (no == 0 || tree->state == DISK_ABSENT)
            continue;
        if (worked && tree->merges != 1)
            wrong(w, "agent %u ended as one who worked and its work was not merged", no);
        if (!worked && tree->merges != 0)
            wrong(w, "agent %u failed and its work was merged", no);
    }
}
