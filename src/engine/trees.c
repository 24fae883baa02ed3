/* The two effects on trees, on a thread of the crew: a checkout is made, or merged into its parent's, or its work put away. Whatever
 * becomes of a merge, the child's files are gone afterwards; what was not merged is on its branch. Each step can be made again after
 * a crash (port/vcs.h). */
#include <time.h>

#include "base/filename.h"
#include "base/utf8.h"
#include "engine/work.h"

#define TRIES 8          /* of what another git, or another program, is in the way of */
#define PAUSE_MS 50      /* before the second try; doubled each time */
#define NAMES_SHOWN 8    /* files in a message */
#define NAME_SHOWN 400   /* bytes of each */
#define SUBJECT_CHARS 72 /* of a commit's first line */

/* --- on the loop --------------------------------------------------------------------------------------------------------- */

static void name_tree(struct work *work, const struct run *run, const struct agent *agent,
                      struct vcs_tree *tree)
{
    bool root = agent->no == 0;
    bool in_place = root && agent->tree->base_ref.n == 0;
    *tree = (struct vcs_tree){
        .workspace = arena_copy(&work->arena, run_workspace(run)),
        .run = arena_copy(&work->arena, run_id(run)),
        .name = root ? STR(VCS_RESULT) : arena_copy(&work->arena, agent->id),
        .place = in_place ? VCS_USERS_CHECKOUT : VCS_OWN_CHECKOUT,
    };
}

/* What a commit of an agent's work says. */
static struct str commit_message(struct work *work, const struct run *run,
                                 const struct agent *agent)
{
    struct buf out;
    struct str line = agent->objective;
    const char *end = line.n > 0 ? memchr(line.p, '\n', line.n) : NULL;
    if (end != NULL)
        line.n = (size_t)(end - line.p);
    buf_init(&out, 4096);
    utf8_clean(&out, utf8_cut_chars(line, SUBJECT_CHARS), UTF8_ONE_LINE);
    if (out.n == 0)
        buf_text(&out, "Work of an agent");
    buf_printf(&out, "\n\nRun: %.*s\nAgent: ", STR_FMT(run_id(run)));
    utf8_clean(&out, agent->contract.agent.name, UTF8_ONE_LINE);
    buf_printf(&out, " (%.*s)\n", STR_FMT(agent->id));
    struct str text = arena_copy(&work->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

void tree_work_set(struct work *work, const struct live *live, const struct effect *effect)
{
    const struct run *run = pump_run(live->pump);
    const struct agent *agent = run_agent(run, effect->agent_no);
    const struct tool_services *services = live->engine->config.services;
    struct tree_work *tree = arena_alloc(&work->arena, sizeof *tree);
    *tree = (struct tree_work){
        .vcs = services != NULL ? services->vcs : NULL,
        .vcs_problem =
            services != NULL ? services->vcs_problem : STR("there is no version control"),
        .base = arena_copy(&work->arena, agent->tree->base_ref),
        .path = arena_copy(&work->arena, agent->tree->workspace),
        .copy = str_is(agent->tree->strategy, "copy") ? TREE_IS_COPY : TREE_IS_CHECKOUT,
        .message = commit_message(work, run, agent),
        .dirty = run_settings(run)->refuse_dirty == SWITCH_ON ? VCS_REFUSE : VCS_SNAPSHOT,
        .now_ms = engine_now(live->engine),
        .whose = agent->no == 0 ? TREE_OF_ROOT : TREE_OF_CHILD,
    };
    atomic_init(&tree->never, false);
    name_tree(work, run, agent, &tree->tree);
    tree->parent = (struct vcs_tree){.workspace = tree->tree.workspace, .run = tree->tree.run};
    if (agent->no != 0)
        name_tree(work, run, run_agent(run, agent->parent_no), &tree->parent);
    const struct list *owned = &agent->contract.isolation.ownership;
    if (owned->n > 0) {
        struct str *items = arena_alloc(&work->arena, owned->n * sizeof *items);
        for (size_t i = 0; i < owned->n; i++)
            items[i] = arena_copy(&work->arena, owned->items[i]);
        tree->ownership = (struct vcs_list){items, owned->n};
    }
    tree->what = effect->kind == EFFECT_ISOLATE           ? DO_ISOLATE
                 : str_is(effect->tool, "merge")          ? DO_MERGE
                 : tree->tree.place == VCS_USERS_CHECKOUT ? DO_FORGET
                                                          : DO_KEEP;
    if (tree->what == DO_ISOLATE)
        tree->tree.place = VCS_OWN_CHECKOUT;
    work->tree = tree;
}

/* --- on the thread --------------------------------------------------------------------------------------------------------- */

/* Waits until whatever is in the way may be gone; false: not any more. */
static bool may_try_again(const struct work *work, const struct err *err, int tries)
{
    struct timespec pause = {0, (long)(PAUSE_MS << (tries < 4 ? tries : 4)) * 1000000L};
    if (err->class != ERR_RETRY || tries + 1 >= TRIES || atomic_load(&work->cancelled))
        return false;
    nanosleep(&pause, NULL);
    return true;
}

static void say(struct work *work, enum tool_outcome outcome, const char *strategy)
{
    work->input.outcome = outcome;
    work->input.merge_strategy = str_from(strategy);
    buf_clear(&work->text);
}

static void add_names(struct buf *out, struct vcs_list files)
{
    for (size_t i = 0; i < files.count && i < NAMES_SHOWN; i++) {
        buf_text(out, i > 0 ? ", " : " ");
        struct filename name = filename_of(files.items[i]);
        buf_str(out, utf8_cut(str_from(name.text), NAME_SHOWN));
    }
    if (files.count > NAMES_SHOWN)
        buf_printf(out, " and %zu more", files.count - NAMES_SHOWN);
}

static struct vcs_integrate_request integration(const struct work *work,
                                                const atomic_bool *cancelled)
{
    const struct tree_work *tree = work->tree;
    return (struct vcs_integrate_request){
        .tree = tree->tree,
        .parent = tree->parent,
        .base = tree->base,
        .owns = tree->ownership.items != NULL ? VCS_OWNS_LISTED : VCS_OWNS_ALL,
        .ownership = tree->ownership,
        .write_paths = {work->context.write_paths, work->context.write_count},
        .message = tree->message,
        .now_ms = tree->now_ms,
        .cancelled = cancelled,
    };
}

/* A root that cannot have a tree works in place; a child must not. */
static void isolate_in_place(struct work *work)
{
    work->input.outcome = TOOL_OK;
    work->input.strategy = STR("shared");
    work->input.worktree_path = work->input.workspace = work->tree->tree.workspace;
}

static int try_isolate(struct work *work, struct vcs_isolated *isolated, struct err *err)
{
    struct tree_work *tree = work->tree;
    const struct vcs_isolate_request request = {.tree = tree->tree,
                                                .parent = tree->parent,
                                                .base = tree->base,
                                                .dirty = tree->dirty,
                                                .now_ms = tree->now_ms,
                                                .cancelled = &work->cancelled};
    for (int tries = 0;; tries++) {
        *err = ERR_INIT;
        if (tree->vcs->isolate(tree->vcs->self, &work->arena, &request, isolated, err) == 0)
            break;
        if (!may_try_again(work, err, tries))
            return -1;
    }
    return work->port->open_tree(isolated->workspace, tree->tree.workspace, &tree->made, err);
}

static void remove_tree(struct work *work)
{
    const struct vcs_integrate_request request = integration(work, &work->tree->never);
    struct err err = ERR_INIT;
    /* What cannot be removed now is left for `cadre gc`; the work itself is safe. */
    if (work->tree->vcs->remove(work->tree->vcs->self, &request, &err) != 0)
        buf_printf(&work->text, " (files could not be removed: %s; `cadre gc` does it later)",
                   err.message);
}

static void isolate(struct work *work)
{
    struct tree_work *tree = work->tree;
    struct vcs_isolated isolated;
    struct err err = ERR_INIT;
    work->input.kind = INPUT_ISOLATED;
    work->input.outcome = TOOL_ERROR;
    if (tree->vcs == NULL && tree->whose == TREE_OF_ROOT) {
        isolate_in_place(work);
    } else if (tree->vcs == NULL) {
        buf_printf(&work->text,
                   "%.*s; install git, or let children share files (isolation.children: false)",
                   STR_FMT(tree->vcs_problem));
    } else if (try_isolate(work, &isolated, &err) == 0) {
        work->input.outcome = TOOL_OK;
        work->input.strategy = isolated.strategy == VCS_COPY ? STR("copy") : STR("worktree");
        work->input.worktree_path = isolated.path;
        work->input.workspace = isolated.workspace;
        work->input.branch = isolated.branch;
        work->input.base_ref = isolated.base;
    } else if (tree->whose == TREE_OF_ROOT && err.class == ERR_NOT_FOUND) {
        isolate_in_place(work);
    } else {
        buf_printf(&work->text, "%s", err.message);
        if (tree->base.n == 0)
            remove_tree(work);
    }
}

/* Its work stays on its branch; `why` is what is said before that. */
static void keep(struct work *work, const char *why)
{
    const struct vcs_integrate_request request = integration(work, &work->tree->never);
    struct vcs_kept kept = {.commit = STR("")};
    struct err err = ERR_INIT;
    const struct vcs_port *vcs = work->tree->vcs;
    buf_printf(&work->text, "%s%s", why, why[0] != '\0' ? "; " : "");
    if (vcs->keep(vcs->self, &work->arena, &request, &kept, &err) != 0) {
        work->input.outcome = TOOL_ERROR;
        buf_printf(&work->text, "its work could not be kept: %s", err.message);
        return; /* its files stay where they are */
    }
    work->input.files_modified = files_json(&work->arena, kept.files.items, kept.files.count);
    work->input.commit = kept.commit;
    if (kept.refused.n > 0 && work->tree->whose == TREE_OF_ROOT) {
        work->input.outcome = TOOL_ERROR;
        work->input.merge_strategy = STR("refused");
        buf_printf(&work->text, "its files cannot be committed: %.*s; they are in %.*s",
                   STR_FMT(kept.refused), STR_FMT(work->tree->path));
        return; /* nobody else has them */
    }
    if (kept.commit.n > 0) {
        work->input.branch = kept.branch;
        buf_printf(&work->text, "its work is on the branch %.*s", STR_FMT(kept.branch));
        if (work->tree->copy == TREE_IS_COPY) /* no repository that the user's git finds */
            buf_text(&work->text, " of cadre's own; cadre show --report tells how to look at it");
        else if (work->tree->whose == TREE_OF_CHILD)
            buf_printf(&work->text, ": git diff %.*s %.*s", STR_FMT(work->tree->base),
                       STR_FMT(kept.branch));
    } else if (kept.refused.n > 0) {
        work->input.merge_strategy = STR("refused");
        buf_printf(&work->text, "its files were not kept: %.*s", STR_FMT(kept.refused));
    } else {
        work->input.merge_strategy = STR("no_changes");
        buf_text(&work->text, "it left no changes");
    }
    remove_tree(work);
}

static void keep_alone(struct work *work)
{
    say(work, TOOL_OK, "kept");
    keep(work, "");
}

/* --- merging --------------------------------------------------------------------------------------------------------------- */

/* A merge that is more than the child's own tree has to pass the contract's checks as well; false: it does not, and `why` says it. */
static bool passes_checks(struct work *work, const struct vcs_merged *merged, struct buf *why)
{
    struct tree_work *tree = work->tree;
    struct vcs_isolated staged;
    struct err err = ERR_INIT;
    struct scope *scope = NULL;
    struct tool_result result = {.kind = RESULT_OK};
    struct js *checks = js_parse(work->arguments, &err);
    bool passed = true;
    if (merged->outcome != VCS_THREE_WAY || js_count(checks) == 0)
        goto out;
    passed = false;
    if (tree->vcs->stage(tree->vcs->self, &work->arena, &tree->tree, merged->to, &work->cancelled,
                         &staged, &err) != 0 ||
        work->port->open_tree(staged.workspace, tree->tree.workspace, &scope, &err) != 0) {
        buf_printf(why, "the merge could not be checked: %s", err.message);
        goto out;
    }
    struct buf evidence;
    struct tool_context context = work->context;
    context.scope = scope;
    buf_init(&evidence, 1 << 20);
    passed = work->port->check(&context, checks, &result, &evidence) == TOOL_CHECKS_PASSED;
    if (!evidence.failed)
        work->input.evidence = arena_copy(&work->arena, buf_view(&evidence));
    if (!passed) {
        buf_text(why, "merged with what its siblings did, its checks fail: ");
        buf_str(why, utf8_cut(buf_view(&result.text), 400));
    }
    buf_release(&evidence);
    buf_release(&result.text);
    work->port->close_scope(scope);
out:
    js_free(checks);
    return passed;
}

/* One try; 0: merged. */
static int try_merge(struct work *work, struct vcs_merged *merged, struct buf *why, struct err *err)
{
    const struct vcs_integrate_request request = integration(work, &work->cancelled);
    const struct vcs_port *vcs = work->tree->vcs;
    if (vcs->merge_begin(vcs->self, &work->arena, &request, merged, err) != 0)
        return -1;
    work->input.files_modified = files_json(&work->arena, merged->files.items, merged->files.count);
    work->input.commit = merged->commit;
    if (merged->outcome == VCS_CONFLICT) {
        say(work, TOOL_ERROR, "conflict");
        work->input.conflicted_files =
            files_json(&work->arena, merged->conflicts.items, merged->conflicts.count);
        buf_text(why, "merge conflict in");
        add_names(why, merged->conflicts);
        return 0;
    }
    if (!passes_checks(work, merged, why)) {
        say(work, TOOL_ERROR, "checks_failed");
        return 0;
    }
    if (vcs->merge_end(vcs->self, &work->arena, &request, merged, err) != 0)
        return -1;
    say(work, TOOL_OK, vcs_merge_text(merged->outcome));
    return 0;
}

/* A merge that is given up because the run parks, or has another owner, leaves the child's files: the next owner merges them. */
static void merge(struct work *work)
{
    struct vcs_merged merged;
    struct err err = ERR_INIT;
    struct buf why;
    buf_init(&why, 8192);
    for (int tries = 0;; tries++) {
        err = ERR_INIT;
        buf_clear(&why);
        if (try_merge(work, &merged, &why, &err) == 0)
            break;
        if (!may_try_again(work, &err, tries)) {
            say(work, TOOL_ERROR, err.class == ERR_DENIED ? "denied" : "error");
            buf_printf(&why, "its work was not merged: %s", err.message);
            break;
        }
    }
    if (work->input.outcome == TOOL_OK) {
        buf_printf(&work->text, "merged (%.*s), %zu %s", STR_FMT(work->input.merge_strategy),
                   merged.files.count, merged.files.count == 1 ? "file" : "files");
        remove_tree(work);
    } else if (!atomic_load(&work->flight.abandoned)) {
        buf_char(&why, '\0');
        struct str strategy = work->input.merge_strategy;
        keep(work, why.p);
        work->input.merge_strategy = strategy; /* why it was not merged counts */
        work->input.outcome = TOOL_ERROR;
    }
    buf_release(&why);
}

void tree_work_perform(struct work *work)
{
    struct tree_work *tree = work->tree;
    if (tree->what == DO_ISOLATE) {
        isolate(work);
        return;
    }
    work->input.kind = INPUT_MERGED;
    if (tree->what == DO_FORGET) {
        say(work, TOOL_OK, "in_place");
        buf_text(&work->text, "the changes are in the workspace");
        if (tree->vcs != NULL)
            remove_tree(work);
    } else if (tree->vcs == NULL) {
        say(work, TOOL_ERROR, "error");
        buf_str(&work->text, tree->vcs_problem);
    } else if (tree->what == DO_MERGE) {
        merge(work);
    } else {
        keep_alone(work);
    }
}
