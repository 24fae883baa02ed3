/* See apply.h. What a run worked on stands in its log: the root's tree, and what that started from. */
#include "cli/apply.h"

#include "base/filename.h"
#include "os/clock.h"

/* The root's tree, from the last event that told of one. */
struct root {
    struct arena *arena;
    struct str strategy, base_ref;
};

static int take_tree(void *user, const struct stored_event *event)
{
    struct root *root = user;
    struct err ignored = ERR_INIT;
    if (!str_is(event->row.type, "agent.worktree_created") || event->row.payload.p == NULL)
        return 0;
    struct js *payload = js_parse(event->row.payload, &ignored);
    if (str_is(js_get_str(payload, "outcome"), "ok")) {
        root->strategy = arena_copy(root->arena, js_get_str(payload, "strategy"));
        root->base_ref = arena_copy(root->arena, js_get_str(payload, "base_ref"));
    }
    js_free(payload);
    return 0;
}

struct known {
    struct arena *arena;
    struct str workspace;
    int64_t finished_at;
};

static int take_row(void *user, const struct stored_run *run)
{
    struct known *row = user;
    row->workspace = arena_copy(row->arena, run->workspace_path);
    row->finished_at = run->finished_at;
    return 1;
}

static int ask_git(const struct apply *apply, struct arena *arena, struct str base,
                   struct apply_outcome *outcome, struct err *err)
{
    struct vcs_port *vcs = NULL;
    struct vcs_apply_request request = {
        .workspace = outcome->workspace, .run = id_str(&apply->run_id), .base = base};
    if (wire_vcs(apply->wire, &vcs, err) != 0)
        return -1;
    int result = (apply->direction == APPLY_FORWARD ? vcs->apply : vcs->undo)(
        vcs->self, arena, &request, &outcome->applied, err);
    wire_vcs_close(vcs);
    return result == 0 ? 0 : err_prefix(err, "%.*s", STR_FMT(outcome->workspace));
}

int apply_run(const struct apply *apply, struct arena *arena, struct apply_outcome *outcome,
              struct err *err)
{
    struct str id = id_str(&apply->run_id);
    struct known row = {.arena = arena};
    struct root root = {.arena = arena};
    if (apply->store->ops->run(apply->store, id, clock_boottime_ms(), take_row, &row, err) != 0 ||
        apply->store->ops->read(apply->store, id, 0, 0, 0, take_tree, &root, err) != 0)
        return -1;
    *outcome = (struct apply_outcome){.workspace = row.workspace};
    if (row.finished_at < 0)
        return err_set(err, ERR_DENIED,
                       "run %.*s has not ended, so there is no result yet; look at it with: cadre "
                       "show %.*s",
                       STR_FMT(id), STR_FMT(id));
    if (str_is(root.strategy, "worktree"))
        return ask_git(apply, arena, root.base_ref, outcome, err);
    outcome->kind = APPLY_IN_PLACE;
    if (apply->direction == APPLY_FORWARD)
        return 0;
    return err_set(err, ERR_DENIED,
                   "run %.*s worked in the files of %.*s itself: there is nothing to go back to",
                   STR_FMT(id), STR_FMT(row.workspace));
}

/* For programs and for people. */
static const struct {
    const char *word, *text;
} words[2][VCS_APPLY_REFUSED + 1] = {
    [APPLY_FORWARD] = {[VCS_APPLIED] = {"applied", "applied"},
                       [VCS_APPLIED_BEFORE] = {"applied_before", "applied before"},
                       [VCS_NOTHING_TO_APPLY] = {"nothing", "there is nothing to apply"},
                       [VCS_APPLY_REFUSED] = {"refused", "not applied"}},
    [APPLY_BACK] = {[VCS_APPLIED] = {"undone", "undone"},
                    [VCS_APPLIED_BEFORE] = {"undone_before", "undone before"},
                    [VCS_NOTHING_TO_APPLY] = {"nothing", "nothing of this run is applied"},
                    [VCS_APPLY_REFUSED] = {"refused", "not undone"}},
};

static void print_json(struct output *output, const struct apply *apply,
                       const struct apply_outcome *outcome)
{
    const struct vcs_applied *applied = &outcome->applied;
    bool refused = outcome->kind == APPLY_FROM_BRANCH && applied->outcome == VCS_APPLY_REFUSED;
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", apply->direction == APPLY_FORWARD ? "apply" : "undo");
    jw_ktext(&w, "run_id", apply->run_id.text);
    jw_ktext(&w, "outcome",
             outcome->kind == APPLY_IN_PLACE ? "in_place"
                                             : words[apply->direction][applied->outcome].word);
    jw_kstr(&w, "workspace_path", outcome->workspace);
    jw_kstr(&w, "from", applied->from);
    jw_kstr(&w, "to", applied->to);
    if (refused) {
        jw_kstr(&w, "reason", applied->reason);
        jw_kstr(&w, "command", applied->command);
        jw_key(&w, "files");
        jw_array(&w);
        for (size_t i = 0; i < applied->files.count; i++)
            jw_str(&w, str_from(filename_of(applied->files.items[i]).text));
        jw_end_array(&w);
    }
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static void print_refusal(struct output *output, const struct apply *apply,
                          const struct apply_outcome *outcome)
{
    const struct vcs_applied *applied = &outcome->applied;
    output_error(output, "%s: %.*s", words[apply->direction][applied->outcome].text,
                 STR_FMT(applied->reason));
    for (size_t i = 0; i < applied->files.count; i++)
        output_error(output, "in the way: %s", filename_of(applied->files.items[i]).text);
    output_error(output, "by hand, in %.*s: %.*s", STR_FMT(outcome->workspace),
                 STR_FMT(applied->command));
}

static void print_text(struct output *output, const struct apply *apply,
                       const struct apply_outcome *outcome)
{
    const struct vcs_applied *applied = &outcome->applied;
    output_print(output, "%s: ",
                 outcome->kind == APPLY_IN_PLACE ? "what the run changed is there already"
                                                 : words[apply->direction][applied->outcome].text);
    output_clean(output, outcome->workspace, UTF8_ONE_LINE);
    if (outcome->kind == APPLY_FROM_BRANCH && applied->outcome == VCS_APPLIED)
        output_print(output, " went from %.*s to %.*s", STR_FMT(applied->from),
                     STR_FMT(applied->to));
    output_print(output, "\n");
    if (outcome->kind == APPLY_FROM_BRANCH && applied->outcome == VCS_APPLIED &&
        apply->direction == APPLY_FORWARD)
        output_print(output, "back: cadre apply --undo %s\n", apply->run_id.text);
}

enum exit_code apply_print(struct output *output, const struct apply *apply,
                           const struct apply_outcome *outcome, enum apply_volume volume)
{
    bool refused =
        outcome->kind == APPLY_FROM_BRANCH && outcome->applied.outcome == VCS_APPLY_REFUSED;
    if (refused)
        print_refusal(output, apply, outcome);
    if (output->format == OUTPUT_JSON)
        print_json(output, apply, outcome);
    else if (!refused && volume == APPLY_SHOWN)
        print_text(output, apply, outcome);
    return refused ? EXIT_CODE_FAILED : EXIT_CODE_DONE;
}
