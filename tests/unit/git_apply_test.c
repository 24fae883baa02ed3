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

static void uncommitted_changes_are_not_touched(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> src/c.txt");
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    check_str(applied.reason, "the checkout has uncommitted changes");
    assert_string_equal(look(room), " M src/c.txt\nmain\na.txt\nb.txt\nsrc\nthree");
    shell(room, "%s", applied.command.p); /* what it tells works */
    assert_string_equal(shell(room, "tail -1 a.txt; tail -1 src/c.txt; ls"),
                        "four\nmine\na.txt\nnew.txt\nsrc");
}

static void a_snapshot_as_base_is_told_with_a_command_that_works(void **state)
{
    struct git_room *room = *state;
    shell(room, "echo mine >> src/c.txt; echo extra > extra");
    struct vcs_apply_request request = a_run(room);
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    shell(room, "%s", applied.command.p);
    assert_string_equal(shell(room, "tail -1 a.txt; tail -1 src/c.txt; ls"),
                        "four\nmine\na.txt\nextra\nnew.txt\nsrc");
}

static void a_branch_that_went_on_is_told(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo mine >> src/c.txt; git commit -qam mine");
    struct vcs_applied applied = apply(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    check_str(applied.command, "git merge cadre/r1/result");
    shell(room, "%s -q", applied.command.p);
}

static void not_even_an_ignored_file_is_overwritten(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_applied applied;
    struct vcs_apply_request request = a_run(room);
    shell(room, "echo new.txt > .git/info/exclude; echo mine > new.txt");
    assert_int_equal(
        room->vcs.port.apply(room->vcs.port.self, &room->arena, &request, &applied, &err), -1);
    assert_string_equal(shell(room, "cat new.txt; git rev-parse HEAD"),
                        arena_printf(&room->arena, "mine\n%.*s", STR_FMT(request.base)).p);
    struct vcs_applied files = apply_files(room, &request);
    assert_int_equal(files.outcome, VCS_APPLY_REFUSED);
    check_str(files.files.items[0], "new.txt");
    assert_string_equal(shell(room, "cat new.txt; tail -1 a.txt"), "mine\nthree");
}

static void undo_leaves_later_work_alone(void **state)
{
    struct git_room *room = *state;
    struct vcs_apply_request request = a_run(room);
    apply(room, &request);
    shell(room, "echo mine >> src/c.txt; git commit -qam mine");
    struct vcs_applied applied = undo(room, &request);
    assert_int_equal(applied.outcome, VCS_APPLY_REFUSED);
    assert_non_null(strstr(applied.command.p, "git revert"));
    assert_string_equal(shell(room, "tail -1 a.txt"), "four");
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
    assert_int_equal(applied.files.count, 1);
    check_str(applied.files.items[0], "a.txt");
    assert_string_equal(look(room),
                        " M a.txt\nmain\na.txt\nb.txt\nsrc\nmine"); /* none was written */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clean_checkout_is_fast_forwarded_and_back),
        TEST(uncommitted_changes_are_not_touched),
        TEST(a_snapshot_as_base_is_told_with_a_command_that_works),
        TEST(a_branch_that_went_on_is_told),
        TEST(not_even_an_ignored_file_is_overwritten),
        TEST(undo_leaves_later_work_alone),
        TEST(a_run_without_a_result_has_nothing_to_apply),
        TEST(files_alone_are_applied_where_the_user_left_them),
        TEST(a_file_that_the_user_changed_meanwhile_is_a_clash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
