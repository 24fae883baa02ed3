/* A run that dies behind each of its git calls in turn, and goes on with the step that it did not finish: everything is there once, and
 * nothing else is left. For a root in a checkout of its own and for one in the user's, for a git that dies and for a cadre that does. */
#include <sys/wait.h>

#include "unit/git_fixture.h"

struct story {
    struct git_room *room;
    struct git_agent root, kid, late;
    struct vcs_merged merged, conflict;
    struct vcs_kept kept, result;
};

enum victim { GIT_DIES, CADRE_DIES };

/* A git that works and then kills itself or its caller at the call whose number stands beside it: what it did is done, and nobody is
 * told. */
static void plant_git(struct git_room *room)
{
    shell(room, "printf '%%s\\n' '#!/bin/sh' 'at=${0%%/*}; read n < $at/count; n=$((n + 1))' "
                "'echo $n > $at/count; read dies who < $at/dies' '/usr/bin/git \"$@\"; status=$?' "
                "'[ $n = $dies ] && [ $who = 1 ] && kill -9 $PPID' '[ $n = $dies ] && kill -9 $$' "
                "'exit $status' > $TOP/git; chmod +x $TOP/git");
}

static void die_at(struct git_room *room, int call, enum victim victim)
{
    shell(room, "echo 0 > $TOP/count; echo %d %d > $TOP/dies", call, victim == CADRE_DIES);
    snprintf(room->vcs.git.program, sizeof room->vcs.git.program, "%s/git", room->top);
}

/* --- the story ---------------------------------------------------------------------------------------------------------------- */

static int step_root(struct story *story, struct err *err)
{
    if (story->root.request.tree.place == VCS_USERS_CHECKOUT)
        return 0;
    return agent_isolate(story->room, &story->root, err);
}

static int step_isolate(struct story *story, struct err *err)
{
    story->kid = agent_named(story->room, "r1", &story->root, "kid");
    return agent_isolate(story->room, &story->kid, err);
}

/* Both write: the child, and its parent in files of its own. */
static int step_work(struct story *story, struct err *err)
{
    (void)err;
    shell(story->room, "cd %s; echo kid > b.txt; rm -r src; mkdir new; echo n > new/n",
          story->kid.path);
    shell(story->room, "echo other > %s/other.txt", story->root.path);
    return 0;
}

static int step_begin(struct story *story, struct err *err)
{
    return child_begin(story->room, &story->kid, &story->merged, err);
}

static int step_stage(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    struct vcs_isolated staged;
    return room->vcs.port.stage(room->vcs.port.self, &room->arena, &story->kid.request.tree,
                                story->merged.to, NULL, &staged, err);
}

static int step_end(struct story *story, struct err *err)
{
    return child_end(story->room, &story->kid, &story->merged, err);
}

static int step_late(struct story *story, struct err *err)
{
    story->late = agent_named(story->room, "r1", &story->root, "late");
    return agent_isolate(story->room, &story->late, err);
}

static int step_work_again(struct story *story, struct err *err)
{
    (void)err;
    shell(story->room, "echo late > %s/b.txt; echo root > %s/b.txt", story->late.path,
          story->root.path);
    return 0;
}

static int step_conflict(struct story *story, struct err *err)
{
    return child_begin(story->room, &story->late, &story->conflict, err);
}

static int keep(struct story *story, const struct git_agent *agent, struct vcs_kept *kept,
                struct err *err)
{
    struct git_room *room = story->room;
    return room->vcs.port.keep(room->vcs.port.self, &room->arena, &agent->request, kept, err);
}

static int step_keep(struct story *story, struct err *err)
{
    return keep(story, &story->late, &story->kept, err);
}

static int step_keep_root(struct story *story, struct err *err)
{
    return keep(story, &story->root, &story->result, err);
}

static int step_remove(struct story *story, struct err *err)
{
    return story->room->vcs.port.remove(story->room->vcs.port.self, &story->kid.request, err);
}

static int step_remove_late(struct story *story, struct err *err)
{
    return story->room->vcs.port.remove(story->room->vcs.port.self, &story->late.request, err);
}

static int step_remove_root(struct story *story, struct err *err)
{
    return story->room->vcs.port.remove(story->room->vcs.port.self, &story->root.request, err);
}

static int (*const steps[])(struct story *story, struct err *err) = {
    step_root,   step_isolate,     step_work,       step_begin,      step_stage,
    step_end,    step_late,        step_work_again, step_conflict,   step_keep,
    step_remove, step_remove_late, step_keep_root,  step_remove_root};

/* --- torment -------------------------------------------------------------------------------------------------------------------- */

/* Every ref with its commit, everybody's files, and what there is of ours. */
static const char *look(struct git_room *room)
{
    const char *said = shell(
        room, "git for-each-ref --format='%%(refname) %%(objectname)'; find .git -name '*.lock'; "
              "git ls-files -s; "
              "find . -path ./.git -prune -o -type f -print | sort | xargs grep -H .; "
              "cd $TOP/state; "
              "find . | grep -v -e '/objects/..' -e '/refs/' | sort; "
              "find . -path '*/trees/*' -type f -not -name .git | sort | xargs -r grep -H .");
    return arena_copy(&room->arena, str_from(said)).p;
}

static void save(struct git_room *room)
{
    shell(room, "rm -rf $TOP/saved; mkdir $TOP/saved; mkdir -p $TOP/state; "
                "cp -a $TOP/ws $TOP/state $TOP/saved");
}

static void restore(struct git_room *room)
{
    shell(room, "cd $TOP; rm -rf ws state; cp -a saved/ws saved/state .");
}

/* Where a merge is carried out, both deaths come everywhere. Else by turns, and the other way round in the other story. */
static bool skips(const struct story *story, size_t step, int call, enum victim victim)
{
    bool turn = (call % 2 == 0) == (story->root.request.tree.place == VCS_OWN_CHECKOUT);
    return steps[step] != step_end && turn != (victim == GIT_DIES);
}

/* In a process of its own, when that is what dies. 0: the step came to its end. */
static int attempt(struct story *story, size_t step, enum victim victim)
{
    struct err err = ERR_INIT;
    if (victim == GIT_DIES)
        return steps[step](story, &err);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int result = steps[step](story, &err);
        (void)result;
        kill(getpid(), SIGKILL); /* nobody was told */
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return -1;
}

static bool same_ends(const struct story *a, const struct story *b)
{
    return str_eq(a->root.request.base, b->root.request.base) &&
           str_eq(a->kid.request.base, b->kid.request.base) &&
           str_eq(a->late.request.base, b->late.request.base) &&
           str_eq(a->merged.to, b->merged.to) && str_eq(a->kept.commit, b->kept.commit) &&
           str_eq(a->result.commit, b->result.commit) && a->conflict.outcome == b->conflict.outcome;
}

/* Dies behind each call of a step, does it again, and compares. Returns how many calls there are. */
static int torment(struct story *story, size_t step)
{
    struct git_room *room = story->room;
    const struct story before = *story;
    struct err err = ERR_INIT;
    save(room);
    die_at(room, 0, GIT_DIES);
    must(steps[step](story, &err), &err);
    const char *undisturbed = look(room);
    int calls = atoi(shell(room, "cat $TOP/count"));
    for (int i = 0; i < 2 * calls; i++) {
        struct story again = before;
        enum victim victim = i % 2 == 0 ? GIT_DIES : CADRE_DIES;
        if (skips(story, step, i / 2 + 1, victim))
            continue;
        restore(room);
        die_at(room, i / 2 + 1, victim);
        /* A death on which nothing depended (what was asked is there already) may not even be seen. */
        if (attempt(&again, step, victim) != 0) {
            again = before;
            must(steps[step](&again, &err), &err);
        }
        const char *disturbed = look(room);
        if (strcmp(disturbed, undisturbed) != 0)
            fail_msg("step %zu, call %d, %s:\n%s\n--- instead of\n%s", step, i / 2 + 1,
                     victim == GIT_DIES ? "git" : "cadre", disturbed, undisturbed);
        assert_true(same_ends(&again, story));
    }
    return calls;
}

static void torment_all(struct story *story)
{
    int calls = 0;
    plant_git(story->room);
    shell(story->room, "echo dirty > dirty.txt");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        calls += torment(story, i);
    assert_in_range(calls, 40, 120);
    assert_outcome(&story->merged, VCS_THREE_WAY);
    assert_outcome(&story->conflict, VCS_CONFLICT);
}

static void a_run_that_dies_behind_any_call_ends_the_same(void **state)
{
    struct git_room *room = *state;
    struct story story = {.room = room, .root = agent_named(room, "r1", NULL, VCS_RESULT)};
    torment_all(&story);
    assert_string_equal(
        shell(room, "git log --format=%%s --topo-order cadre/r1/result; "
                    "git ls-tree -r --name-only cadre/r1/result; git show cadre/r1/result:b.txt; "
                    "git show cadre/r1/late:b.txt; "
                    "git status --porcelain; git for-each-ref --format='%%(refname)' refs/heads; "
                    "cd $TOP/state/repositories/*; find trees worktrees"),
        "cadre: files of result so far\nwork of kid\nwork of kid\ncadre: files of result so far\n"
        "cadre: files as they were when the run started\nfirst\n"
        "a.txt\nb.txt\ndirty.txt\nnew/n\nother.txt\nroot\nlate\n?? dirty.txt\n"
        "refs/heads/cadre/r1/late\nrefs/heads/cadre/r1/result\nrefs/heads/main\ntrees\nworktrees");
}

static void a_conversation_that_dies_behind_any_call_ends_the_same(void **state)
{
    struct git_room *room = *state;
    struct story story = {.room = room, .root = root_users(room, "r1")};
    torment_all(&story);
    assert_string_equal(
        shell(room, "git log --format=%%s; git status --porcelain -uall; cat b.txt; "
                    "git show cadre/r1/late:b.txt; "
                    "git for-each-ref --format='%%(refname)'; "
                    "cd $TOP/state/repositories/*; find trees worktrees"),
        "first\n M b.txt\n D src/c.txt\n?? dirty.txt\n?? new/n\n?? other.txt\nroot\nlate\n"
        "refs/heads/cadre/r1/late\nrefs/heads/main\ntrees\nworktrees");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_that_dies_behind_any_call_ends_the_same, room_setup,
                                        room_teardown),
        cmocka_unit_test_setup_teardown(a_conversation_that_dies_behind_any_call_ends_the_same,
                                        room_setup, room_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
