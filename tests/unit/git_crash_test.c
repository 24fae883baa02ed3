/* A run that dies behind each of its git calls in turn, and goes on with the step that it did not finish: everything is there once, and
 * nothing else is left. */
#include "unit/git_fixture.h"

struct story {
    struct git_room *room;
    struct vcs_base base;
    struct vcs_tree_request kid;
    struct vcs_tree tree;
    struct vcs_collected collected;
    struct vcs_merged merged;
};

/* A git that works and then dies at the call whose number stands beside it: what it did is done, and nobody is told. */
static void plant_git(struct git_room *room)
{
    shell(room, "printf '%%s\\n' '#!/bin/sh' 'at=${0%%/*}; read n < $at/count; n=$((n + 1))' "
                "'echo $n > $at/count; read dies < $at/dies' '/usr/bin/git \"$@\"; status=$?' "
                "'[ $n = $dies ] && kill -9 $$' 'exit $status' > $TOP/git; chmod +x $TOP/git");
}

static void die_at(struct git_room *room, int call)
{
    shell(room, "echo 0 > $TOP/count; echo %d > $TOP/dies", call);
    snprintf(room->vcs.git.program, sizeof room->vcs.git.program, "%s/git", room->top);
}

static int step_base(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    struct vcs_base_request request = {
        .workspace = room_ws(room), .run = STR("r1"), .now_ms = NOW_MS};
    return room->vcs.port.base(room->vcs.port.self, &room->arena, &request, &story->base, err);
}

static int step_create(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    story->kid = tree_request(room, "r1", "kid", story->base.commit);
    return room->vcs.port.create(room->vcs.port.self, &room->arena, &story->kid, &story->tree, err);
}

static int step_work(struct story *story, struct err *err)
{
    (void)err;
    shell(story->room, "echo kid > %s/b.txt; rm -r %s/src", story->tree.path.p, story->tree.path.p);
    /* Another child was merged meanwhile. */
    shell(story->room,
          "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'; "
          "base=%s; echo other > $TOP/other; "
          "blob=$(git hash-object -w $TOP/other); export GIT_INDEX_FILE=$TOP/index; "
          "git read-tree $base; git update-index --add --cacheinfo 100644,$blob,other.txt; "
          "git update-ref refs/heads/cadre/r1/result "
          "$(git commit-tree -m other -p $base $(git write-tree))",
          story->base.commit.p);
    return 0;
}

static int step_collect(struct story *story, struct err *err)
{
    return child_collect(story->room, &story->kid, &story->collected, err);
}

static int step_preview(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    struct vcs_merge_request request = {.tree = story->kid,
                                        .commit = story->collected.commit,
                                        .message = STR("merge\n"),
                                        .now_ms = NOW_MS};
    return room->vcs.port.preview(room->vcs.port.self, &room->arena, &request, &story->merged, err);
}

static int step_stage(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    struct vcs_tree tree;
    return room->vcs.port.stage(room->vcs.port.self, &room->arena, &story->kid, story->merged.to,
                                &tree, err);
}

static int step_publish(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    return room->vcs.port.publish(room->vcs.port.self, &story->kid, &story->merged, err);
}

static int step_remove(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    return room->vcs.port.remove(room->vcs.port.self, &story->kid, err);
}

static int step_remove_result(struct story *story, struct err *err)
{
    struct git_room *room = story->room;
    struct vcs_tree_request result = tree_request(room, "r1", "result", story->base.commit);
    return room->vcs.port.remove(room->vcs.port.self, &result, err);
}

static int (*const steps[])(struct story *story, struct err *err) = {
    step_base,  step_create,  step_work,   step_collect,      step_preview,
    step_stage, step_publish, step_remove, step_remove_result};

/* Every ref with its commit, the user's files, and what there is of ours. */
static const char *look(struct git_room *room)
{
    const char *said = shell(
        room, "git for-each-ref --format='%%(refname) %%(objectname)'; find .git -name '*.lock'; "
              "ls; cd $TOP/state/repositories/*; "
              "find . | grep -v -e '^./objects/..' -e '^./refs/' | sort");
    return arena_copy(&room->arena, str_from(said)).p;
}

/* Dies behind each call of a step, does it again, and compares. Returns how many calls there are. */
static int torment(struct story *story, size_t step)
{
    struct git_room *room = story->room;
    const struct story before = *story;
    struct err err = ERR_INIT;
    shell(room, "rm -rf $TOP/saved; mkdir $TOP/saved; mkdir -p $TOP/state; cp -a .git $TOP/state "
                "$TOP/saved");
    die_at(room, 0);
    must(steps[step](story, &err), &err);
    const char *undisturbed = look(room);
    int calls = atoi(shell(room, "cat $TOP/count"));
    for (int call = 1; call <= calls; call++) {
        struct story again = before;
        shell(room, "rm -rf .git $TOP/state; cp -a $TOP/saved/.git .; cp -a $TOP/saved/state $TOP");
        die_at(room, call);
        /* A death of which nothing depended (what was asked is there already) may not even be seen. */
        if (steps[step](&again, &err) != 0) {
            err = ERR_INIT;
            must(steps[step](&again, &err), &err);
        }
        assert_string_equal(look(room), undisturbed);
        assert_true(str_eq(again.base.commit, story->base.commit));
        assert_true(str_eq(again.collected.commit, story->collected.commit));
        assert_true(str_eq(again.merged.to, story->merged.to));
    }
    return calls;
}

static void a_run_that_dies_behind_any_call_ends_the_same(void **state)
{
    struct git_room *room = *state;
    struct story story = {.room = room};
    int calls = 0;
    plant_git(room);
    shell(room, "echo dirty > dirty.txt");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        calls += torment(&story, i);
    assert_in_range(calls, 15, 60);
    assert_string_equal(
        shell(room, "git log --format=%%s --topo-order cadre/r1/result; "
                    "git ls-tree -r --name-only cadre/r1/result; git show cadre/r1/result:b.txt; "
                    "git status --porcelain; git for-each-ref --format='%%(refname)' refs/heads; "
                    "cd $TOP/state/repositories/*; find trees worktrees"),
        "merge\nwork of kid\nother\ncadre: files as they were when the run started\nfirst\n"
        "a.txt\nb.txt\ndirty.txt\nother.txt\nkid\n?? dirty.txt\n"
        "refs/heads/cadre/r1/result\nrefs/heads/main\ntrees\nworktrees");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_that_dies_behind_any_call_ends_the_same, room_setup,
                                        room_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
