/* See apply.h. What a run worked on stands in its log: the root's tree, and what that started from. */
#include "cli/apply.h"

#include "base/filename.h"
#include "cli/executed.h"
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

int apply_find(const struct apply *apply, struct arena *arena, struct apply_source *source,
               struct err *err)
{
    struct str id = id_str(&apply->run_id);
    struct known row = {.arena = arena};
    struct root root = {.arena = arena};
    if (apply->store->ops->run(apply->store, id, clock_boottime_ms(), take_row, &row, err) != 0 ||
        apply->store->ops->read(apply->store, id, 0, 0, 0, take_tree, &root, err) != 0)
        return -1;
    if (row.finished_at < 0)
        return err_set(err, ERR_DENIED,
                       "run %.*s has not ended, so there is no result yet; look at it with: cadre "
                       "show %.*s",
                       STR_FMT(id), STR_FMT(id));
    source->kind = str_is(root.strategy, "worktree") ? APPLY_FROM_BRANCH : APPLY_IN_PLACE;
    source->request =
        (struct vcs_apply_request){.workspace = row.workspace, .run = id, .base = root.base_ref};
    return 0;
}

static int ask_git(const struct apply *apply, struct arena *arena,
                   const struct vcs_apply_request *request, struct vcs_applied *applied,
                   struct err *err)
{
    struct vcs_port *vcs = NULL;
    if (wire_vcs(apply->wire, &vcs, err) != 0)
        return -1;
    int result = (apply->direction == APPLY_FORWARD ? vcs->apply : vcs->undo)(
        vcs->self, arena, request, applied, err);
    wire_vcs_close(vcs);
    return result == 0 ? 0 : err_prefix(err, "%.*s", STR_FMT(request->workspace));
}

int apply_run(const struct apply *apply, struct arena *arena, struct apply_outcome *outcome,
              struct err *err)
{
    struct apply_source source = {.kind = APPLY_IN_PLACE};
    if (apply_find(apply, arena, &source, err) != 0)
        return -1;
    *outcome = (struct apply_outcome){.workspace = source.request.workspace, .kind = source.kind};
    if (source.kind == APPLY_FROM_BRANCH)
        return ask_git(apply, arena, &source.request, &outcome->applied, err);
    if (apply->direction == APPLY_FORWARD)
        return 0;
    return err_set(err, ERR_DENIED,
                   "run %s worked in the files of %.*s itself: there is nothing to go back to",
                   apply->run_id.text, STR_FMT(outcome->workspace));
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

/* ,"files":[{"path":…,"change":…,"executed_by":…}] */
static void json_files(struct jw *w, const struct vcs_applied *applied)
{
    static const char *const changes[] = {
        [VCS_FILE_NEW] = "added", [VCS_FILE_CHANGED] = "modified", [VCS_FILE_DELETED] = "deleted"};
    jw_key(w, "files");
    jw_array(w);
    for (size_t i = 0; i < applied->file_count; i++) {
        const char *program = executed_by(&applied->files[i]);
        jw_object(w);
        jw_ktext(w, "path", filename_of(applied->files[i].path).text);
        jw_ktext(w, "change", changes[applied->files[i].what]);
        if (program != NULL)
            jw_ktext(w, "executed_by", program);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void json_clashes(struct jw *w, const struct vcs_applied *applied)
{
    jw_key(w, "clashes");
    jw_array(w);
    for (size_t i = 0; i < applied->clash_count; i++) {
        const struct vcs_clash *clash = &applied->clashes[i];
        jw_object(w);
        jw_ktext(w, "path", filename_of(clash->path).text);
        if (clash->first > 0) {
            jw_kint(w, "first_line", clash->first);
            jw_kint(w, "last_line", clash->last);
        }
        jw_kstr(w, "hunk", clash->hunk);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void print_json(struct output *output, const struct apply *apply,
                       const struct apply_outcome *outcome)
{
    const struct vcs_applied *applied = &outcome->applied;
    bool from_branch = outcome->kind == APPLY_FROM_BRANCH;
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", apply->direction == APPLY_FORWARD ? "apply" : "undo");
    jw_ktext(&w, "run_id", apply->run_id.text);
    jw_ktext(&w, "outcome",
             from_branch ? words[apply->direction][applied->outcome].word : "in_place");
    jw_kstr(&w, "workspace_path", outcome->workspace);
    jw_kstr(&w, "from", applied->from);
    jw_kstr(&w, "to", applied->to);
    if (from_branch && applied->outcome == VCS_APPLIED) {
        jw_ktext(&w, "way", applied->way == VCS_BY_COMMIT ? "commits" : "files");
        json_files(&w, applied);
    }
    if (from_branch && applied->outcome == VCS_APPLY_REFUSED) {
        jw_kstr(&w, "reason", applied->reason);
        jw_kstr(&w, "command", applied->command);
        json_clashes(&w, applied);
    }
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* File by file, with both sides. */
static void print_clash(struct output *output, const struct vcs_clash *clash)
{
    struct buf text;
    struct str line, rest = clash->hunk;
    buf_init(&text, 65536);
    buf_printf(&text, "in the way: %s", filename_of(clash->path).text);
    if (clash->first > 0)
        buf_printf(&text, ", your lines %lld to %lld", (long long)clash->first,
                   (long long)clash->last);
    while (str_next_line(&rest, &line)) {
        buf_text(&text, "\n  | ");
        buf_str(&text, line);
    }
    output_error(output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
}

static void print_refusal(struct output *output, const struct apply *apply,
                          const struct apply_outcome *outcome)
{
    const struct vcs_applied *applied = &outcome->applied;
    output_error(output, "%s, and nothing was changed: %.*s",
                 words[apply->direction][applied->outcome].text, STR_FMT(applied->reason));
    for (size_t i = 0; i < applied->clash_count; i++)
        print_clash(output, &applied->clashes[i]);
    if (applied->command.n > 0)
        output_error(output, "by hand, in %.*s: %.*s", STR_FMT(outcome->workspace),
                     STR_FMT(applied->command));
}

/* What others will run once it is there. */
static void print_executed(struct output *output, const struct vcs_applied *applied)
{
    bool first = true;
    for (size_t i = 0; i < applied->file_count; i++) {
        const char *program = executed_by(&applied->files[i]);
        if (program == NULL)
            continue;
        if (first)
            output_print(output, "look at these before you go on, other programs run them:\n");
        first = false;
        output_print(output, "  %s (%s)\n", filename_of(applied->files[i].path).text, program);
    }
}

static void print_change(struct output *output, const struct apply *apply,
                         const struct vcs_applied *applied)
{
    if (applied->way == VCS_BY_COMMIT)
        output_print(output, " went from %.*s to %.*s", STR_FMT(applied->from),
                     STR_FMT(applied->to));
    output_print(output, "\n%zu %s changed%s\n", applied->file_count,
                 applied->file_count == 1 ? "file was" : "files were",
                 applied->way == VCS_BY_FILES ? "; nothing is committed, and your own changes are "
                                                "as they were"
                                              : "");
    if (apply->direction == APPLY_BACK)
        return;
    print_executed(output, applied);
    output_print(output, "back: cadre apply --undo %s\n", apply->run_id.text);
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
        print_change(output, apply, applied);
    else
        output_print(output, "\n");
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
