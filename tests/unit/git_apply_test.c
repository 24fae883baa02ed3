/* git/apply: a run's result into the user's checkout and back, and what stays the user's. */
#include "unit/git_fixture.h"

/* A run whose child changed a.txt, added new.txt and removed b.txt. */
static struct vcs_apply_request a_run(struct git_room *room)
{
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "cd %s; echo four >> a.txt; echo new > new.txt; rm b.txt", kid.path);
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    return (struct vcs_apply_request){room_ws(room), STR("r1"), root.request.base, NULL};
}

static struct vcs_applied apply(struct git_room *room, const struct vcs_apply_request *request)
{
    struct err err = ERR_INIT;
    struct vcs_applied applied;
    must(room->vcs.port.apply(room->vcs.port.self, &room->arena, request, &applied, &err), &err);
    return applied;
}

static struct vcs_applied undo(struct git_room *room, const struct vcs_apply_request *request)
{
    struct err err = ERR_INIT;
    struct vcs_applied applied;
    must(room->vcs.port.undo(room->vcs.port.self, &room->arena, request, &applied, &err), &err);
    return applied;
}

static struct vcs_applied apply_files(struct git_room *room,
                                      const struct vcs_apply_request *request)
{
    struct err err = ERR_INIT;
    struct vcs_applied applied;
    struct str to =
        arena_copy(&room->arena, str_from(shell(room, "git rev-parse cadre/r1/result")));
    must(room->vcs.port.apply_files(room->vcs.port.self, &room->arena, request, request->base, to,
                                    &applied, &err),
         &err);
    return applied;
}

static const char *look(struct git_room *room)
{
    return shell(room, "git status --porcelain; git symbolic-ref --short HEAD; ls; tail -1 a.txt");
}

static void a_clean_checkout_is_fast_forwarded_and_back(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    assert_int_equal(apply(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(look(room), "main\na.txt\nnew.txt\nsrc\nfour");
    assert_int_equal(apply(room, &request).outcome, VCS_APPLIED_BEFORE);
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(look(room), "main\na.txt\nb.txt\nsrc\nthree");
    assert_int_equal(undo(room, &request).outcome, VCS_NOTHING_TO_APPLY);
    assert_int_equal(apply(room, &request).outcome, VCS_APPLIED);
}

static void uncommitted_changes_stay_and_stay_uncommitted(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> src/c.txt; echo staged > staged; git add staged; echo loose > loose");
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_int_equal(applied.way, VCS_BY_FILES);
    assert_int_equal(applied.file_count, 3);
    assert_string_equal(look(room), " M a.txt\n D b.txt\n M src/c.txt\nA  staged\n?? loose\n?? "
                                    "new.txt\nmain\na.txt\nloose\nnew.txt\nsrc\nstaged\nfour");
    assert_int_equal(apply(room, &request).outcome, VCS_APPLIED_BEFORE);
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(look(room),
                        " M src/c.txt\nA  staged\n?? loose\nmain\na.txt\nb.txt\nloose\nsrc\n"
                        "staged\nthree");
    assert_int_equal(undo(room, &request).outcome, VCS_NOTHING_TO_APPLY);
    assert_string_equal(shell(room, "git for-each-ref refs/cadre/r1/apply refs/cadre/r1/merge"),
                        "");
}

/* What was not committed when the run started is in the run's first commit, and must not become the user's. */
static void a_snapshot_is_not_committed_even_when_the_checkout_is_clean_again(void **state)
{
    struct git_room *room = *state;
    shell(room, "echo mine >> src/c.txt; echo extra > extra");
    struct vcs_apply_request request = a_run(room);
    shell(room, "git stash -q -u");
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_int_equal(applied.way, VCS_BY_FILES);
    assert_string_equal(
        shell(room, "git log --oneline | wc -l; tail -1 a.txt; tail -1 src/c.txt; ls"),
        "1\nfour\nsea\na.txt\nnew.txt\nsrc");
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(shell(room, "git status --porcelain; git stash pop -q; tail -1 src/c.txt"),
                        "mine");
}

static void a_branch_that_went_on_gets_the_work_in_its_files(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "sed -i '1s/.*/first/' a.txt; git commit -qam mine");
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_int_equal(applied.way, VCS_BY_FILES);
    assert_string_equal(shell(room, "git log --oneline | wc -l; head -1 a.txt; tail -1 a.txt; ls"),
                        "2\nfirst\nfour\na.txt\nnew.txt\nsrc");
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(shell(room, "git status --porcelain; tail -1 a.txt"), "three");
}

static void a_detached_head_is_moved_and_back(void **state)
{
    struct git_room *room = *state;
    shell(room, "git checkout -q --detach");
    struct vcs_apply_request request = a_run(room);
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.way, VCS_BY_COMMIT);
    assert_string_equal(
        shell(room, "git symbolic-ref -q HEAD || git status --porcelain; tail -1 a.txt"), "four");
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    check_str(str_from(shell(room, "git rev-parse HEAD")),
              arena_copy(&room->arena, request.base).p);
}

static void a_clash_is_told_with_its_lines_and_changes_nothing(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> a.txt; echo other > new.txt; echo kept >> b.txt");
    const char *before = arena_copy(&room->arena, str_from(look(room))).p;
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    assert_int_equal(applied.clash_count, 3);
    check_str(applied.clashes[0].path, "a.txt");
    assert_int_equal(applied.clashes[0].first, 4);
    assert_int_equal(applied.clashes[0].last, 4);
    assert_non_null(strstr(applied.clashes[0].hunk.p, "mine\n=======\nfour\n"));
    check_str(applied.clashes[1].path, "b.txt"); /* deleted by the run */
    assert_int_equal(applied.clashes[1].first, 0);
    assert_non_null(strstr(applied.clashes[1].hunk.p, "deleted"));
    check_str(applied.clashes[2].path, "new.txt");
    assert_string_equal(look(room), before);
    assert_string_equal(shell(room, "git for-each-ref refs/cadre/r1/apply"), "");
}

static void not_even_an_ignored_file_is_overwritten(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo new.txt > .git/info/exclude; echo mine > new.txt");
    for (int i = 0; i < 2; i++) {
        struct vcs_applied applied = i == 0 ? apply(room, &request) : apply_files(room, &request);
        assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
        assert_int_equal(applied.clash_count, 1);
        check_str(applied.clashes[0].path, "new.txt");
        assert_string_equal(
            shell(room, "cat new.txt; tail -1 a.txt; git rev-parse HEAD"),
            arena_printf(&room->arena, "mine\nthree\n%.*s", STR_FMT(request.base)).p);
    }
    assert_int_equal(undo(room, &request).outcome, VCS_NOTHING_TO_APPLY);
}

static void undo_keeps_what_was_committed_on_top(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    apply(room, &request);
    shell(room, "echo mine >> src/c.txt; git commit -qam mine");
    struct vcs_applied applied = undo(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_int_equal(applied.way, VCS_BY_FILES);
    assert_string_equal(shell(room, "tail -1 a.txt; tail -1 src/c.txt; ls"),
                        "three\nmine\na.txt\nb.txt\nsrc");
}

static void undo_keeps_what_was_changed_on_top(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    apply(room, &request);
    shell(room, "sed -i '1s/.*/first/' a.txt"); /* a file of the run, in another place */
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(shell(room, "head -1 a.txt; tail -1 a.txt; ls"),
                        "first\nthree\na.txt\nb.txt\nsrc");
}

static void undo_that_clashes_changes_nothing_and_can_be_made_later(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> src/c.txt");
    apply(room, &request);
    shell(room, "echo five >> a.txt; sed -i s/four/vier/ a.txt");
    struct vcs_applied applied = undo(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    check_str(applied.clashes[0].path, "a.txt");
    assert_string_equal(shell(room, "tail -2 a.txt; ls"), "vier\nfive\na.txt\nnew.txt\nsrc");
    shell(room, "sed -i '/five/d; s/vier/four/' a.txt");
    assert_int_equal(undo(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(shell(room, "tail -1 a.txt; ls"), "three\na.txt\nb.txt\nsrc");
}

static void a_run_without_a_result_has_nothing_to_apply(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1");
    struct vcs_apply_request request = {room_ws(room), STR("r1"), root.request.base, NULL};
    assert_int_equal(apply(room, &request).outcome, VCS_NOTHING_TO_APPLY);
    assert_int_equal(undo(room, &request).outcome, VCS_NOTHING_TO_APPLY);
}

static void files_alone_are_applied_where_the_user_left_them(void **state)
{
    struct git_room *room = *state;
    shell(room, "echo dirty >> a.txt");
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo later >> src/c.txt"); /* another file than the child's */
    assert_int_equal(apply_files(room, &request).outcome, VCS_APPLIED);
    assert_string_equal(
        shell(room, "git log --oneline | wc -l; ls; tail -2 a.txt; tail -1 src/c.txt"),
        "1\na.txt\nnew.txt\nsrc\ndirty\nfour\nlater");
    assert_int_equal(apply_files(room, &request).outcome, VCS_APPLIED); /* again, after a crash */
}

static void a_file_that_the_user_changed_meanwhile_is_a_clash(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> a.txt");
    struct vcs_applied applied = apply_files(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    assert_int_equal(applied.clash_count, 1);
    check_str(applied.clashes[0].path, "a.txt");
    assert_string_equal(look(room),
                        " M a.txt\nmain\na.txt\nb.txt\nsrc\nmine"); /* none was written */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clean_checkout_is_fast_forwarded_and_back),
        TEST(uncommitted_changes_stay_and_stay_uncommitted),
        TEST(a_snapshot_is_not_committed_even_when_the_checkout_is_clean_again),
        TEST(a_branch_that_went_on_gets_the_work_in_its_files),
        TEST(a_detached_head_is_moved_and_back),
        TEST(a_clash_is_told_with_its_lines_and_changes_nothing),
        TEST(not_even_an_ignored_file_is_overwritten),
        TEST(undo_keeps_what_was_committed_on_top),
        TEST(undo_keeps_what_was_changed_on_top),
        TEST(undo_that_clashes_changes_nothing_and_can_be_made_later),
        TEST(a_run_without_a_result_has_nothing_to_apply),
        TEST(files_alone_are_applied_where_the_user_left_them),
        TEST(a_file_that_the_user_changed_meanwhile_is_a_clash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
