/* Checkouts of children and merges of their work through port/vcs.h against bare git, in one run: WRITERS children on a repository of FILES
 * files. Prints one line each: what, our seconds, bare git's seconds, the ratio.
 * Usage: bench-git DIRECTORY [WRITERS] [FILES]      DIRECTORY must not exist; it is left for looking at. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "git/vcs.h"

static char top[512];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
    char script[4096];
    int used =
        snprintf(script, sizeof script,
                 "set -e; export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=b "
                 "GIT_AUTHOR_EMAIL=b@b GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@b; cd %s; ",
                 top);
    va_list args;
    va_start(args, format);
    vsnprintf(script + used, sizeof script - (size_t)used, format, args);
    va_end(args);
    if (system(script) != 0) {
        fprintf(stderr, "failed: %s\n", script);
        exit(1);
    }
}

static void must(int result, const struct err *err)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

struct bench {
    struct git_vcs vcs;
    struct arena arena;
    struct vcs_tree root;
    int writers;
    struct vcs_integrate_request *children;
    struct vcs_merged merged; /* the last one */
};

static const struct str everywhere[] = {{".", 1}};

static void create_ours(struct bench *bench, int i)
{
    struct err err = ERR_INIT;
    struct vcs_isolated made;
    struct vcs_tree tree = bench->root;
    tree.name = arena_printf(&bench->arena, "k%d", i);
    struct vcs_isolate_request request = {
        .tree = tree, .parent = bench->root, .now_ms = 1700000000000};
    must(bench->vcs.port.isolate(bench->vcs.port.self, &bench->arena, &request, &made, &err), &err);
    bench->children[i] = (struct vcs_integrate_request){.tree = tree,
                                                        .parent = bench->root,
                                                        .base = made.base,
                                                        .write_paths = {everywhere, 1},
                                                        .message = STR("work\n"),
                                                        .now_ms = 1700000000000 + i};
    FILE *file = fopen(arena_printf(&bench->arena, "%s/own-%d", made.path.p, i).p, "w");
    fprintf(file, "%d\n", i);
    fclose(file);
}

static void create_bare(struct bench *bench, int i)
{
    (void)bench;
    shell("git -C bare worktree add -q -b k%d ../trees/k%d main; echo %d > trees/k%d/own-%d", i, i,
          i, i, i);
}

/* The child's work is committed, the parent's as well, both are merged, and the parent's files follow. */
static void merge_ours(struct bench *bench, int i)
{
    struct err err = ERR_INIT;
    void *self = bench->vcs.port.self;
    must(
        bench->vcs.port.merge_begin(self, &bench->arena, &bench->children[i], &bench->merged, &err),
        &err);
    must(bench->vcs.port.merge_end(self, &bench->arena, &bench->children[i], &bench->merged, &err),
         &err);
    if (bench->merged.outcome == VCS_CONFLICT)
        exit(1);
}

static void merge_bare(struct bench *bench, int i)
{
    (void)bench;
    if (i == 0)
        shell("git -C bare worktree add -q -b result ../trees/result main");
    shell("cd trees/k%d; git add -A; git commit -qm %d; cd ../result; "
          "git merge -q --no-edit k%d > /dev/null",
          i, i, i);
}

/* What a merge gives, in a checkout of its own for checks. */
static void stage_ours(struct bench *bench, int i)
{
    struct err err = ERR_INIT;
    struct vcs_isolated staged;
    must(bench->vcs.port.stage(bench->vcs.port.self, &bench->arena, &bench->root,
                               i % 2 == 0 ? bench->merged.to : bench->merged.from, NULL, &staged,
                               &err),
         &err);
}

static void stage_bare(struct bench *bench, int i)
{
    (void)bench;
    if (i == 0)
        shell("git -C bare worktree add -q --detach ../trees/checks main");
    shell("cd trees/checks; git checkout -q --detach result%s", i % 2 == 0 ? "" : "~1");
}

/* Each child by turns, so that what else the machine does weighs on both alike. */
static void compare(struct bench *bench, const char *what, void (*ours)(struct bench *, int),
                    void (*bare)(struct bench *, int))
{
    double seconds[2] = {0, 0};
    for (int i = 0; i < bench->writers; i++) {
        double start = now();
        bare(bench, i);
        double middle = now();
        ours(bench, i);
        seconds[0] += now() - middle;
        seconds[1] += middle - start;
    }
    printf("%-12s %8.3f s  bare git %8.3f s  ratio %.2f\n", what, seconds[0], seconds[1],
           seconds[0] / seconds[1]);
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct bench bench = {.writers = argc > 2 ? atoi(argv[2]) : 100};
    int files = argc > 3 ? atoi(argv[3]) : 2000;
    if (argc < 2 || bench.writers < 1 || files < 1 || mkdir(argv[1], 0700) != 0 ||
        realpath(argv[1], top) == NULL) {
        fprintf(stderr, "usage: bench-git NEW-DIRECTORY [WRITERS] [FILES]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    shell("git init -q -b main ours; cd ours; for d in $(seq 1 20); do mkdir d$d; done; for i in "
          "$(seq 1 %d); do seq 1 60 > d$((i %% 20 + 1))/f$i; done; git add .; git commit -qm base; "
          "cd ..; cp -a ours bare; mkdir trees",
          files);
    arena_init(&bench.arena);
    bench.root = (struct vcs_tree){.workspace = arena_printf(&bench.arena, "%s/ours", top),
                                   .run = STR("bench"),
                                   .name = STR(VCS_RESULT)};
    must(git_vcs_open(&bench.vcs, arena_printf(&bench.arena, "%s/state", top), STR(""), &err),
         &err);
    struct vcs_isolated made;
    struct vcs_isolate_request request = {.tree = bench.root, .now_ms = 1700000000000};
    must(bench.vcs.port.isolate(bench.vcs.port.self, &bench.arena, &request, &made, &err), &err);
    bench.children = calloc((size_t)bench.writers, sizeof *bench.children);
    compare(&bench, "checkouts", create_ours, create_bare);
    compare(&bench, "merges", merge_ours, merge_bare);
    compare(&bench, "for checks", stage_ours, stage_bare);
    free(bench.children);
    arena_release(&bench.arena);
    return 0;
}
