/* See gc.h. A run that has not ended is held by a lease while its checkouts are removed, so that nobody resumes it meanwhile. */
#include "cli/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "engine/wake.h"
#include "os/clock.h"
#include "os/leftover.h"

#define HOLD_MS 600000       /* for removing one checkout */
#define REFS_MAX (16u << 20) /* bytes of the list of a repository's private refs */
#define REFS_MS 60000

/* --- whose a checkout is -------------------------------------------------------------------------------------------------------- */

enum verdict {
    VERDICT_ENDED,
    VERDICT_UNKNOWN,
    VERDICT_GONE,
    VERDICT_OTHER_STORE,
    VERDICT_AT_WORK,
    VERDICT_RESUMABLE,
};

static const struct {
    enum { TAKEN, TAKEN_IF_ABANDONED, LEFT } fate;
    enum { FREE_TO_TAKE, NEEDS_LEASE } lease;
    const char *reason;
} verdicts[] = {
    [VERDICT_ENDED] = {TAKEN, FREE_TO_TAKE, "the run has ended"},
    [VERDICT_UNKNOWN] = {TAKEN, FREE_TO_TAKE, "the store knows no such run"},
    [VERDICT_GONE] = {TAKEN, NEEDS_LEASE, "its workspace is gone"},
    [VERDICT_OTHER_STORE] = {LEFT, FREE_TO_TAKE,
                             "not of this store, and there are others in its directory; name "
                             "the right one with --store"},
    [VERDICT_AT_WORK] = {LEFT, FREE_TO_TAKE, "a process works on the run"},
    [VERDICT_RESUMABLE] = {TAKEN_IF_ABANDONED, NEEDS_LEASE, "the run is given up"},
};

struct known {
    const struct history *history;
    int64_t finished_at;
    bool owned;
};

static int take_row(void *user, const struct stored_run *run)
{
    struct known *row = user;
    row->finished_at = run->finished_at;
    row->owned = history_owner(row->history, run).n > 0;
    return 1;
}

static bool is_gone(struct arena *arena, struct str path)
{
    struct stat status;
    return path.n > 0 && stat(arena_copy(arena, path).p, &status) != 0 && errno == ENOENT;
}

/* Stores in one directory share what version control keeps there; each has a directory of wake sockets. */
static bool has_other_stores(const struct gc *gc, struct arena *arena)
{
    static const struct str suffix = {".wake", 5};
    struct str path = wire_config(gc->history->wire)->store_path;
    const char *slash = memrchr(path.p, '/', path.n);
    size_t n = slash != NULL ? (size_t)(slash - path.p) : 0;
    struct str own = arena_printf(arena, "%.*s.wake", (int)(path.n - n - (slash != NULL)),
                                  path.p + n + (slash != NULL));
    DIR *directory = opendir(slash != NULL ? arena_printf(arena, "%.*s/", (int)n, path.p).p : ".");
    const struct dirent *entry;
    bool found = false;
    while (directory != NULL && !found && (entry = readdir(directory)) != NULL) {
        struct str name = str_from(entry->d_name);
        found = name.n > suffix.n &&
                str_eq((struct str){name.p + name.n - suffix.n, suffix.n}, suffix) &&
                !str_eq(name, own);
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

static int judge(struct gc *gc, struct arena *arena, const struct vcs_left *left,
                 enum verdict *verdict, struct err *err)
{
    struct store *store = gc->history->store;
    struct known row = {.history = gc->history};
    struct err none = ERR_INIT;
    if (store->ops->run(store, left->run, clock_boottime_ms(), take_row, &row, &none) != 0) {
        if (none.class != ERR_NOT_FOUND) {
            *err = none;
            return -1;
        }
        *verdict = has_other_stores(gc, arena) ? VERDICT_OTHER_STORE : VERDICT_UNKNOWN;
    } else if (row.finished_at >= 0) {
        *verdict = VERDICT_ENDED;
    } else if (row.owned) {
        *verdict = VERDICT_AT_WORK;
    } else {
        *verdict = is_gone(arena, left->workspace) ? VERDICT_GONE : VERDICT_RESUMABLE;
    }
    return 0;
}

/* --- checkouts ------------------------------------------------------------------------------------------------------------------ */

/* Takes the run's lease; where a dead process holds it, that one is released first. DENIED: a living one does. */
static int hold(const struct gc *gc, struct str run, uint64_t *epoch, struct err *err)
{
    struct store *store = gc->history->store;
    char owner[64], process[WAKE_PROCESS_MAX];
    struct lease lease;
    wake_process_name(process);
    snprintf(owner, sizeof owner, "%s-gc", process);
    for (int again = 0; again < 2; again++) {
        if (store->ops->lease(store, run, str_from(owner), HOLD_MS, clock_boottime_ms(), &lease,
                              err) != 0)
            return -1;
        *epoch = lease.epoch;
        if (lease.epoch > 0)
            return 0;
        if (wake_owner(wire_config(gc->history->wire)->store_path, str_from(lease.holder)) !=
            WAKE_GONE)
            break;
        if (store->ops->release(store, run, lease.held_epoch, err) != 0)
            return -1;
    }
    return err_set(err, ERR_DENIED, "a process works on the run");
}

static int discard(const struct gc *gc, const struct vcs_port *vcs, const struct vcs_left *left,
                   enum verdict verdict, struct err *err)
{
    struct store *store = gc->history->store;
    uint64_t epoch = 0;
    struct err ignored = ERR_INIT;
    if (verdicts[verdict].lease == NEEDS_LEASE && hold(gc, left->run, &epoch, err) != 0)
        return -1;
    int result = vcs->discard(vcs->self, left, err);
    if (epoch > 0)
        store->ops->release(store, left->run, epoch, &ignored); /* else it runs out by itself */
    return result;
}

static int collect_one(struct gc *gc, struct arena *arena, const struct vcs_port *vcs,
                       const struct vcs_left *left, struct err *err)
{
    enum verdict verdict;
    struct err failure = ERR_INIT;
    if (judge(gc, arena, left, &verdict, err) != 0)
        return -1;
    bool taken = verdicts[verdict].fate == TAKEN || (verdicts[verdict].fate == TAKEN_IF_ABANDONED &&
                                                     gc->abandoned == GC_TAKES_ABANDONED);
    struct gc_checkout checkout = {left, "kept", verdicts[verdict].reason};
    if (!taken && verdict == VERDICT_RESUMABLE)
        checkout.reason = arena_printf(arena,
                                       "the run can go on: cadre resume %.*s; --abandoned gives "
                                       "its files up",
                                       STR_FMT(left->run))
                              .p;
    if (!taken) {
        gc->counts.kept++;
    } else if (gc->how == GC_LOOKS) {
        checkout.action = "would remove";
        gc->counts.removed++;
    } else if (discard(gc, vcs, left, verdict, &failure) == 0) {
        checkout.action = "removed";
        gc->counts.removed++;
    } else {
        checkout.action = "failed";
        checkout.reason = failure.message;
        gc->counts.failed++;
    }
    gc->told(gc->user, &checkout);
    return 0;
}

/* --- private refs ---------------------------------------------------------------------------------------------------------------- */

/* Runs that ended long ago, by the workspaces that they were made in. */
struct old_runs {
    const struct gc *gc;
    struct arena *arena;
    struct map workspaces; /* path → struct old_run, the first of a chain */
};

struct old_run {
    struct str id;
    struct old_run *next;
};

static int take_old(void *user, const struct stored_run *run)
{
    struct old_runs *old = user;
    if (run->finished_at < 0 || run->finished_at >= old->gc->ended_before ||
        run->workspace_path.n == 0)
        return 0;
    struct old_run *added = arena_alloc(old->arena, sizeof *added);
    struct str path = arena_copy(old->arena, run->workspace_path);
    added->id = arena_copy(old->arena, run->run_id);
    added->next = map_set(&old->workspaces, path, added);
    return 0;
}

/* The private refs of a workspace's repository, as text; none where there is no repository. */
static void list_refs(const struct vcs_port *vcs, struct str workspace, struct buf *refs)
{
    const char *const words[] = {"for-each-ref", "--format=%(refname)", "refs/cadre/", NULL};
    struct vcs_question question = {
        .workspace = workspace, .words = words, .output_max = REFS_MAX, .wall_ms = REFS_MS};
    struct vcs_answer answer;
    struct err none = ERR_INIT;
    if (vcs->ask(vcs->self, &question, &answer, &none) != 0)
        return;
    if (answer.status == 0)
        buf_str(refs, buf_view(&answer.output));
    buf_release(&answer.output);
    buf_release(&answer.errors);
}

static int forget_in(struct gc *gc, struct arena *arena, const struct vcs_port *vcs,
                     struct str workspace, const struct old_run *run, struct err *err)
{
    struct buf refs;
    int result = 0;
    buf_init(&refs, REFS_MAX + 1);
    list_refs(vcs, workspace, &refs);
    for (; run != NULL && result == 0 && refs.n > 0; run = run->next) {
        if (strstr(refs.p, arena_printf(arena, "refs/cadre/%.*s/", STR_FMT(run->id)).p) == NULL)
            continue;
        gc->counts.forgotten++;
        if (gc->how == GC_REMOVES)
            result = vcs->forget(vcs->self, workspace, run->id, err);
    }
    buf_release(&refs);
    return result;
}

static int forget(struct gc *gc, struct arena *arena, const struct vcs_port *vcs, struct err *err)
{
    struct store *store = gc->history->store;
    struct old_runs old = {.gc = gc, .arena = arena};
    struct str workspace;
    void *first;
    size_t cursor = 0;
    map_init(&old.workspaces);
    int result = store->ops->runs(store, STR_NONE, 0, clock_boottime_ms(), take_old, &old, err);
    while (result == 0 && map_next(&old.workspaces, &cursor, &workspace, &first))
        if (!is_gone(arena, workspace))
            result = forget_in(gc, arena, vcs, workspace, first, err);
    map_release(&old.workspaces);
    return result;
}

/* --- workspaces -------------------------------------------------------------------------------------------------------------------- */

/* What an older version left in the workspace of a run. */
static int clean_workspace(void *user, const struct stored_run *run)
{
    struct arena *arena = user;
    int fd = run->workspace_path.n > 0
                 ? open(arena_copy(arena, run->workspace_path).p, O_PATH | O_DIRECTORY | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        return 0;
    leftover_clean(fd);
    close(fd);
    return 0;
}

int gc_collect(struct gc *gc, struct err *err)
{
    struct arena arena;
    struct vcs_port *vcs = NULL;
    struct vcs_left *left = NULL;
    size_t count = 0;
    struct err none = ERR_INIT;
    arena_init(&arena);
    int result = wire_vcs(gc->history->wire, &vcs, &none);
    if (result == 0)
        result = vcs->list(vcs->self, &arena, &left, &count, err);
    else if (none.class == ERR_NOT_FOUND)
        result = 0; /* without git nothing was ever made */
    else
        *err = none;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = collect_one(gc, &arena, vcs, &left[i], err);
    if (result == 0 && vcs != NULL)
        result = forget(gc, &arena, vcs, err);
    if (result == 0 && gc->how == GC_REMOVES)
        result = gc->history->store->ops->runs(gc->history->store, STR_NONE, 0, clock_boottime_ms(),
                                               clean_workspace, &arena, err);
    if (result == 0)
        gc->counts.sockets = wake_sweep(wire_config(gc->history->wire)->store_path,
                                        gc->how == GC_REMOVES ? WAKE_REMOVES : WAKE_COUNTS);
    wire_vcs_close(vcs);
    arena_release(&arena);
    return result;
}
