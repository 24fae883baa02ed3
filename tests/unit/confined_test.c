/* Walls from a contract: who is shown a repository's records. */
#include "tool/confined.h"
#include "unit/check.h"
#include "unit/program_fixture.h"

static int some_records(void *self, struct arena *arena, struct str workspace,
                        struct sandbox_records *records, struct err *err)
{
    static const struct sandbox_record record = {{"head", 4}, {"/elsewhere/head", 15}};
    *records = (struct sandbox_records){&record, 1, STR("head")};
    return 0;
}

static int no_records(void *self, struct arena *arena, struct str workspace,
                      struct sandbox_records *records, struct err *err)
{
    some_records(self, arena, workspace, records, err);
    return err_set(err, ERR_NOT_FOUND, "there is no repository");
}

static size_t shown(struct fixture *f, const struct vcs_port *vcs, struct str path)
{
    struct sandbox_walls walls;
    program_services.vcs = vcs;
    f->context.read_paths = &path;
    f->context.read_count = 1;
    confined_walls(&f->context, f->context.arena, &walls);
    return walls.records.count;
}

static void who_may_read_all_sees_what_git_says(void **state)
{
    struct vcs_port vcs = {.records = some_records};
    assert_int_equal(shown(*state, &vcs, STR(".")), 1);
}

static void who_may_read_a_part_sees_no_history_of_the_whole(void **state)
{
    struct vcs_port vcs = {.records = some_records};
    assert_int_equal(shown(*state, &vcs, STR("docs")), 0);
}

static void without_a_repository_there_are_none(void **state)
{
    struct vcs_port vcs = {.records = no_records};
    assert_int_equal(shown(*state, &vcs, STR(".")), 0);
    assert_int_equal(shown(*state, NULL, STR(".")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(who_may_read_all_sees_what_git_says),
        PROGRAM_TEST(who_may_read_a_part_sees_no_history_of_the_whole),
        PROGRAM_TEST(without_a_repository_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
