/* A repository of a user in a temporary directory, made with the real git, and the port that works on it. Used by the tests of src/git
 * and of the git tools. */
#ifndef CADRE_TESTS_UNIT_GIT_FIXTURE_H
#define CADRE_TESTS_UNIT_GIT_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/site.h"
#include "git/vcs.h"
#include "os/process.h"
#include "unit/check.h"

#define NOW_MS 1700000000000

struct git_room {
    char top[256]; /* temporary: ws (the repository), state, canaries */
    char ws[300];
    char state[300];
    struct arena arena;
    struct git_vcs vcs;
    struct buf said; /* what the last shell said */
};

/* Runs a shell in the workspace with a plain git; the test fails when it does. What it printed, without the last newline. */
static inline const char *shell_may_fail(struct git_room *room, int *status, const char *format,
                                         ...) __attribute__((format(printf, 3, 4)));
static inline const char *shell_may_fail(struct git_room *room, int *status, const char *format,
                                         ...)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin",
                                              "HOME=/nonexistent",
                                              "GIT_CONFIG_NOSYSTEM=1",
                                              "GIT_CONFIG_GLOBAL=/dev/null",
                                              "LC_ALL=C",
                                              "GIT_AUTHOR_NAME=User",
                                              "GIT_AUTHOR_EMAIL=user@example.org",
                                              "GIT_COMMITTER_NAME=User",
                                              "GIT_COMMITTER_EMAIL=user@example.org",
                                              "GIT_ALLOW_PROTOCOL=file",
                                              NULL};
    struct buf script;
    struct err err = ERR_INIT;
    struct process_outcome outcome;
    va_list args;
    buf_init(&script, 65536);
    buf_printf(&script, "set -e; cd '%s'; TOP='%s'; ", room->ws, room->top);
    va_start(args, format);
    buf_vprintf(&script, format, args);
    va_end(args);
    struct process_command command = {.program = "/bin/sh",
                                      .argv = (const char *const[]){"sh", "-c", script.p, NULL},
                                      .environment = environment,
                                      .directory = -1,
                                      .wall_ms = 60000,
                                      .output_max = 1 << 20};
    assert_int_equal(process_run(&command, &outcome, &err), 0);
    buf_release(&script);
    buf_release(&room->said);
    room->said = outcome.output;
    buf_text(&room->said, "");
    while (room->said.n > 0 && room->said.p[room->said.n - 1] == '\n')
        room->said.p[--room->said.n] = '\0';
    buf_release(&outcome.errors);
    *status = outcome.end == PROCESS_EXITED ? outcome.code : -1;
    return room->said.p != NULL ? room->said.p : "";
}

#define shell(room, ...)                                                                           \
    ({                                                                                             \
        int shell_status_;                                                                         \
        const char *shell_said_ = shell_may_fail(room, &shell_status_, __VA_ARGS__);               \
        if (shell_status_ != 0)                                                                    \
            fail_msg("status %d: %s", shell_status_, shell_said_);                                 \
        shell_said_;                                                                               \
    })

static inline int room_setup_empty(void **state)
{
    struct git_room *room = calloc(1, sizeof *room);
    struct err err = ERR_INIT;
    const char *temporary = getenv("TMPDIR");
    signal(SIGPIPE, SIG_IGN);
    snprintf(room->top, sizeof room->top, "%s/cadre-git-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(room->top));
    snprintf(room->ws, sizeof room->ws, "%s/ws", room->top);
    snprintf(room->state, sizeof room->state, "%s/state", room->top);
    assert_int_equal(mkdir(room->ws, 0777), 0);
    arena_init(&room->arena);
    buf_init(&room->said, 1 << 20);
    assert_int_equal(git_vcs_open(&room->vcs, str_from(room->state), STR(""), &err), 0);
    *state = room;
    return 0;
}

/* One commit: a.txt, b.txt, src/c.txt. */
static inline int room_setup(void **state)
{
    room_setup_empty(state);
    shell(*state, "git init -q -b main .; mkdir src; printf 'one\\ntwo\\nthree\\n' > a.txt; "
                  "printf 'bee\\n' > b.txt; printf 'sea\\n' > src/c.txt; git add .; "
                  "git commit -qm first; git config user.name Owner; "
                  "git config user.email owner@example.org");
    return 0;
}

static inline int room_remove(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)at;
    if (kind == FTW_DNR)
        chmod(path, 0700);
    return remove(path);
}

static inline int room_teardown(void **state)
{
    struct git_room *room = *state;
    arena_release(&room->arena);
    buf_release(&room->said);
    nftw(room->top, room_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(room);
    return 0;
}

static inline struct str room_ws(struct git_room *room)
{
    return str_from(room->ws);
}

static inline void must(int result, const struct err *err)
{
    if (result != 0)
        fail_msg("%s: %s", err_class_text(err->class), err->message);
}

/* The same call must be refused, with this class and a message that holds the text. */
static inline void must_fail(int result, struct err *err, enum err_class class, const char *part)
{
    assert_int_equal(result, -1);
    if (err->class != class || strstr(err->message, part) == NULL)
        fail_msg("%s: %s", err_class_text(err->class), err->message);
    *err = ERR_INIT;
}

/* --- steps of a run --------------------------------------------------------------------------------------------------------- */

static const struct str everywhere[] = {{".", 1}};

/* An agent that writes: its tree, and what is asked when its work is brought into its parent's. */
struct git_agent {
    struct vcs_integrate_request request;
    const char *path; /* of its checkout; can be given to the shell */
};

static inline struct vcs_tree tree_named(struct git_room *room, const char *run, const char *name)
{
    return (struct vcs_tree){.workspace = room_ws(room),
                             .run = arena_copy(&room->arena, str_from(run)),
                             .name = arena_copy(&room->arena, str_from(name))};
}

/* Nothing is made yet. parent: NULL for a root. */
static inline struct git_agent agent_named(struct git_room *room, const char *run,
                                           const struct git_agent *parent, const char *name)
{
    struct git_agent agent = {
        .request = {.tree = tree_named(room, run, name),
                    .write_paths = {everywhere, 1},
                    .message = arena_printf(&room->arena, "work of %s\n", name),
                    .now_ms = NOW_MS},
        .path = "",
    };
    if (parent != NULL)
        agent.request.parent = parent->request.tree;
    return agent;
}

static inline struct vcs_isolate_request isolate_request(const struct git_agent *agent)
{
    return (struct vcs_isolate_request){.tree = agent->request.tree,
                                        .parent = agent->request.parent,
                                        .base = agent->request.base,
                                        .now_ms = NOW_MS};
}

static inline int agent_isolate(struct git_room *room, struct git_agent *agent, struct err *err)
{
    struct vcs_isolated made;
    struct vcs_isolate_request request = isolate_request(agent);
    if (room->vcs.port.isolate(room->vcs.port.self, &room->arena, &request, &made, err) != 0)
        return -1;
    agent->request.base = made.base;
    agent->path = made.path.p;
    return 0;
}

/* A root in a checkout of its own. */
static inline struct git_agent root_make(struct git_room *room, const char *run)
{
    struct err err = ERR_INIT;
    struct git_agent root = agent_named(room, run, NULL, VCS_RESULT);
    must(agent_isolate(room, &root, &err), &err);
    return root;
}

/* A root in the user's checkout, as in a conversation. */
static inline struct git_agent root_users(struct git_room *room, const char *run)
{
    struct git_agent root = agent_named(room, run, NULL, VCS_RESULT);
    root.request.tree.place = VCS_USERS_CHECKOUT;
    root.path = room->ws;
    return root;
}

static inline struct git_agent child_make(struct git_room *room, const struct git_agent *parent,
                                          const char *name)
{
    struct err err = ERR_INIT;
    struct str run = arena_copy(&room->arena, parent->request.tree.run);
    struct git_agent child = agent_named(room, run.p, parent, name);
    must(agent_isolate(room, &child, &err), &err);
    return child;
}

static inline int child_begin(struct git_room *room, const struct git_agent *child,
                              struct vcs_merged *merged, struct err *err)
{
    return room->vcs.port.merge_begin(room->vcs.port.self, &room->arena, &child->request, merged,
                                      err);
}

static inline int child_end(struct git_room *room, const struct git_agent *child,
                            const struct vcs_merged *merged, struct err *err)
{
    return room->vcs.port.merge_end(room->vcs.port.self, &room->arena, &child->request, merged,
                                    err);
}

/* Both halves, with the checkout for checks between. */
static inline struct vcs_merged child_merge(struct git_room *room, const struct git_agent *child)
{
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct vcs_isolated staged;
    must(child_begin(room, child, &merged, &err), &err);
    if (merged.outcome != VCS_CONFLICT) {
        must(room->vcs.port.stage(room->vcs.port.self, &room->arena, &child->request.tree,
                                  merged.to, NULL, &staged, &err),
             &err);
        must(child_end(room, child, &merged, &err), &err);
    }
    return merged;
}

static inline struct vcs_kept agent_keep(struct git_room *room, const struct git_agent *agent)
{
    struct err err = ERR_INIT;
    struct vcs_kept kept;
    must(room->vcs.port.keep(room->vcs.port.self, &room->arena, &agent->request, &kept, &err),
         &err);
    return kept;
}

static inline void agent_remove(struct git_room *room, const struct git_agent *agent)
{
    struct err err = ERR_INIT;
    must(room->vcs.port.remove(room->vcs.port.self, &agent->request, &err), &err);
}

static inline void assert_outcome(const struct vcs_merged *merged, enum vcs_merge outcome)
{
    if (merged->outcome != outcome)
        fail_msg("%s instead of %s: %.*s", vcs_merge_text(merged->outcome), vcs_merge_text(outcome),
                 STR_FMT(merged->note));
}

#endif
