/* Finds, locks and commits the trees of a run: see tree.h. On threads that may wait. */
#include "git/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "git/commit.h"
#include "git/guard.h"
#include "git/index.h"
#include "git/intent.h"
#include "git/layout.h"
#include "git/site.h"
#include "git/worktree.h"
#include "os/clock.h"

#define LOCK_WAIT_MS 120000
#define LOCK_STEP_US 2000
#define STALE_SECONDS 5 /* git holds the lock of a ref for a moment */
#define ALL_PATHS ((struct vcs_list){NULL, 0})

/* --- finding -------------------------------------------------------------------------------------------------------------------- */

const char *git_branch_ref(struct arena *arena, struct str run, struct str name)
{
    return arena_printf(arena, "refs/heads/cadre/%.*s/%.*s", STR_FMT(run), STR_FMT(name)).p;
}

const char *git_private_ref(struct arena *arena, struct str run, const char *name)
{
    return arena_printf(arena, "refs/cadre/%.*s/%s", STR_FMT(run), name).p;
}

int git_site_any(const struct git *git, struct arena *arena, struct str workspace,
                 struct git_site *site, struct err *err)
{
    int found = git_site_find(git, arena, workspace, site, err);
    if (found == 0 && site->access == GIT_SITE_WRITABLE)
        return 0;
    if (found != 0 && err->class != ERR_NOT_FOUND)
        return -1;
    *err = ERR_INIT;
    return git_site_shadow(git, arena, workspace, site, err);
}

int git_tree_find(const struct git *git, struct arena *arena, const struct vcs_tree *tree,
                  const atomic_bool *cancelled, struct git_tree *found, struct err *err)
{
    struct git_site user;
    *found = (struct git_tree){.run = arena_copy(arena, tree->run),
                               .name = arena_copy(arena, tree->name)};
    if (tree->place == VCS_USERS_CHECKOUT && !str_is(tree->name, VCS_RESULT))
        return err_set(err, ERR_USAGE, "only the root can work in the user's checkout");
    if (git_site_any(git, arena, tree->workspace, &user, err) != 0 ||
        git_site_child(arena, &user, found->run, found->name, &found->site, err) != 0)
        return -1;
    if (tree->place == VCS_USERS_CHECKOUT)
        found->site = user;
    found->ref = git_branch_ref(arena, found->run, found->name);
    found->work = (struct git_work){git, &found->site, arena, cancelled};
    return 0;
}

/* …/worktrees/RUN.NAME */
void git_tree_of_site(const struct git *git, struct arena *arena, const struct git_site *site,
                      const atomic_bool *cancelled, struct git_tree *tree)
{
    const char *slash = memrchr(site->git_dir.p, '/', site->git_dir.n), *dot = strchr(slash, '.');
    *tree = (struct git_tree){
        .site = *site,
        .run = arena_copy(arena, (struct str){slash + 1, (size_t)(dot - slash - 1)}),
        .name = str_from(dot + 1),
    };
    tree->ref = git_branch_ref(arena, tree->run, tree->name);
    tree->work = (struct git_work){git, &tree->site, arena, cancelled};
}

void git_describe(struct arena *arena, const struct git_tree *tree, struct vcs_isolated *isolated)
{
    const struct git_site *site = &tree->site;
    *isolated = (struct vcs_isolated){
        .strategy = site->kind == GIT_KIND_SHADOW ? VCS_COPY : VCS_WORKTREE,
        .base = STR(""),
        .path = site->work_tree,
        .workspace =
            site->prefix.n == 0
                ? site->work_tree
                : arena_printf(arena, "%.*s/%.*s", STR_FMT(site->work_tree), STR_FMT(site->prefix)),
        .branch = arena_printf(arena, "cadre/%.*s/%.*s", STR_FMT(tree->run), STR_FMT(tree->name)),
    };
}

/* --- locks ---------------------------------------------------------------------------------------------------------------------- */

static int take_lock(int fd, const atomic_bool *cancelled, struct err *err)
{
    int64_t until = clock_monotonic_ms() + LOCK_WAIT_MS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_set(err, ERR_IO, "cannot lock a checkout: %s", strerror(errno));
        if (cancelled != NULL && atomic_load(cancelled))
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_monotonic_ms() >= until)
            return err_set(err, ERR_RETRY, "another cadre works in this checkout; try again later");
        usleep(LOCK_STEP_US);
    }
    return 0;
}

static bool same_directory(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Nobody works there now: only a crash can have left these. The user's own lock is the user's. */
static void sweep(int directory, const struct git_site *site)
{
    unlinkat(directory, GIT_INDEX_COPY, 0);
    unlinkat(directory, GIT_INDEX_COPY ".lock", 0);
    if (site->owner == GIT_SITE_CHILD)
        unlinkat(directory, "index.lock", 0);
}

int git_site_lock(struct git_site *site, const atomic_bool *cancelled, struct err *err)
{
    const char *path = site->owner == GIT_SITE_CHILD ? site->git_dir.p : site->common_dir.p;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s: %s", path,
                       strerror(errno));
    if (take_lock(fd, cancelled, err) != 0)
        goto failed;
    if (!same_directory(fd, path)) {
        err_set(err, ERR_RETRY, "%s was removed at this moment; try again", path);
        goto failed;
    }
    site->lock = fd;
    sweep(fd, site);
    return 0;
failed:
    close(fd);
    return -1;
}

void git_site_unlock(struct git_site *site)
{
    if (site->lock > 0)
        close(site->lock);
    site->lock = 0;
}

/* A git that was killed, or a power cut, left the lock of a ref that only the holder of the tree's lock changes. */
static void drop_stale_locks(const struct git_tree *tree)
{
    static const char *const parts[] = {"from", "to", "undo"};
    struct arena *arena = tree->work.arena;
    const char *refs[1 + sizeof parts / sizeof parts[0]] = {tree->ref};
    struct stat status;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        refs[1 + i] = git_intent_ref(tree, parts[i]);
    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++) {
        const char *path =
            arena_printf(arena, "%.*s/%s.lock", STR_FMT(tree->site.common_dir), refs[i]).p;
        if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
            time(NULL) - status.st_mtim.tv_sec > STALE_SECONDS)
            unlink(path);
    }
}

int git_tree_lost(const struct git_tree *tree, struct err *err)
{
    return err_set(
        err, ERR_NOT_FOUND,
        "the checkout %.*s is gone: what was not committed in it is lost, what was is on "
        "the branch cadre/%.*s/%.*s",
        STR_FMT(tree->site.work_tree), STR_FMT(tree->run), STR_FMT(tree->name));
}

int git_tree_lock(struct git_tree *tree, struct err *err)
{
    if (tree->site.owner == GIT_SITE_CHILD && git_worktree_there(&tree->work, err) != 0)
        return git_tree_lost(tree, err);
    if (git_site_lock(&tree->site, tree->work.cancelled, err) != 0)
        return -1;
    drop_stale_locks(tree);
    return 0;
}

/* --- refs ----------------------------------------------------------------------------------------------------------------------- */

/* "refname commit tree" */
static void read_ref(struct git_tree *tree, struct str line)
{
    char name[512], id[GIT_ID_MAX + 1], tree_id[GIT_ID_MAX + 1];
    if (line.n >= 2 * GIT_ID_MAX + sizeof name ||
        sscanf(line.p, "%511s %64s %64s", name, id, tree_id) != 3)
        return;
    struct git_tree_refs *refs = &tree->refs;
    struct arena *arena = tree->work.arena;
    const char *last = strrchr(name, '/');
    struct {
        const char *name;
        struct str *value;
    } parts[] = {{"/from", &refs->from}, {"/to", &refs->to}, {"/undo", &refs->undo}};
    if (strcmp(name, tree->ref) == 0) {
        refs->end = arena_copy(arena, str_from(id));
        refs->end_tree = arena_copy(arena, str_from(tree_id));
        return;
    }
    for (size_t i = 0; i < 3 && last != NULL; i++)
        if (strcmp(last, parts[i].name) == 0)
            *parts[i].value = arena_copy(arena, str_from(id));
}

int git_tree_look(struct git_tree *tree, struct err *err)
{
    struct git_answer answer;
    const char *intent = git_intent_ref(tree, "");
    struct git_call call = {.site = &tree->site,
                            .words = GIT_WORDS("for-each-ref",
                                               "--format=%(refname) %(objectname) %(tree)",
                                               tree->ref, intent),
                            .cancelled = tree->work.cancelled};
    if (git_call(tree->work.git, &call, &answer, err) != 0)
        return -1;
    tree->refs = (struct git_tree_refs){STR(""), STR(""), STR(""), STR(""), STR("")};
    struct str rest = arena_copy(tree->work.arena, buf_view(&answer.output));
    git_answer_release(&answer);
    while (rest.n > 0) {
        const char *newline = memchr(rest.p, '\n', rest.n);
        size_t n = newline != NULL ? (size_t)(newline - rest.p) : rest.n;
        size_t taken = newline != NULL ? n + 1 : n;
        read_ref(tree, arena_copy(tree->work.arena, (struct str){rest.p, n}));
        rest = (struct str){rest.p + taken, rest.n - taken};
    }
    return 0;
}

/* --- commits -------------------------------------------------------------------------------------------------------------------- */

int git_tree_commit(struct git_tree *tree, struct str id, struct str message, int64_t now_ms,
                    struct err *err)
{
    struct git_signature self = git_self(now_ms);
    struct git_commit_parts parts = {.tree = id,
                                     .parents = {tree->refs.end, STR("")},
                                     .message = message,
                                     .author = &self,
                                     .committer = &self};
    struct str commit;
    if (git_commit_object(&tree->work, &parts, &commit, err) != 0 ||
        git_move_ref(&tree->work, tree->ref, commit, tree->refs.end, err) != 0)
        return -1;
    tree->refs.end = commit;
    tree->refs.end_tree = id;
    return 0;
}

static struct str sync_message(const struct git_tree *tree)
{
    return arena_printf(tree->work.arena, "cadre: files of %.*s so far\n", STR_FMT(tree->name));
}

/* In a checkout of its own the index follows the files, so that the next look is cheap. */
static int sync_own(struct git_tree *tree, int64_t now_ms, struct err *err)
{
    static const struct str everywhere[] = {{".", 1}};
    struct git_rules rules = {.write_paths = {everywhere, 1}, .cancelled = tree->work.cancelled};
    struct git_changes changes;
    struct str id;
    if (tree->refs.end.n == 0)
        return err_set(err, ERR_NOT_FOUND, "the branch cadre/%.*s/%.*s is gone", STR_FMT(tree->run),
                       STR_FMT(tree->name));
    if (git_worktree_check(&tree->work, err) != 0 ||
        git_index_take(&tree->work, NULL, ALL_PATHS, GIT_REFUSES_NESTED, err) != 0 ||
        git_index_write_tree(&tree->work, NULL, &id, err) != 0)
        return -1;
    if (str_eq(id, tree->refs.end_tree))
        return 0;
    if (git_index_changes(&tree->work, NULL, tree->refs.end, ALL_PATHS, &changes, err) != 0 ||
        git_guard(tree->work.git, &tree->site, &changes, &rules, err) != 0 ||
        git_layout_check(&tree->work, id, git_changed_files(&tree->work, &changes), err) != 0)
        return -1;
    return git_tree_commit(tree, id, sync_message(tree), now_ms, err);
}

/* The branch that stands for the user's checkout. */
static int start_users(struct git_tree *tree, enum vcs_dirty dirty, int64_t now_ms, struct err *err)
{
    struct git_base base;
    if (git_base(&tree->work, tree->run, dirty, now_ms, &base, err) != 0 ||
        git_move_ref(&tree->work, tree->ref, base.commit, STR(""), err) != 0)
        return -1;
    return git_tree_look(tree, err);
}

/* The user's index is only copied. */
static int sync_users(struct git_tree *tree, enum vcs_dirty dirty, int64_t now_ms, struct err *err)
{
    struct str id;
    if (tree->refs.end.n == 0 && start_users(tree, dirty, now_ms, err) != 0)
        return -1;
    if (git_snapshot_tree(&tree->work, &id, err) != 0)
        return -1;
    if (str_eq(id, tree->refs.end_tree))
        return 0;
    return git_tree_commit(tree, id, sync_message(tree), now_ms, err);
}

int git_tree_sync(struct git_tree *tree, enum vcs_dirty dirty, int64_t now_ms, struct err *err)
{
    if (git_settle(tree, err) != 0)
        return -1;
    int result = tree->site.owner == GIT_SITE_CHILD ? sync_own(tree, now_ms, err)
                                                    : sync_users(tree, dirty, now_ms, err);
    if (result != 0 && err->class == ERR_DENIED)
        err_prefix(err, "the files that cadre/%.*s/%.*s stands for cannot be committed",
                   STR_FMT(tree->run), STR_FMT(tree->name));
    return result;
}
