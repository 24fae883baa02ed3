/* git/clash: lines and texts of clashes, read off a file with git's marks. */
#include "git/clash.h"

#include "check.h"

#define MARKED                                                                                     \
    "one\n<<<<<<< aaaa\nmine\nmine too\n=======\ntheirs\n>>>>>>> bbbb\nmiddle\n"                   \
    "<<<<<<< aaaa\n||||||| base\nold\n=======\nnew\n>>>>>>> bbbb\nlast\n"

static size_t read_all(struct arena *arena, const char *marked, struct vcs_clash *clashes,
                       size_t room)
{
    return git_clashes_in(arena, STR("a.txt"), str_from(marked), clashes, room);
}

static void each_place_has_the_lines_of_the_users_file(void **state)
{
    struct arena arena;
    struct vcs_clash clashes[4];
    arena_init(&arena);
    assert_int_equal(read_all(&arena, MARKED, clashes, 4), 2);
    assert_int_equal(clashes[0].first, 2);
    assert_int_equal(clashes[0].last, 3);
    check_str(clashes[0].hunk, "<<<<<<< aaaa\nmine\nmine too\n=======\ntheirs\n>>>>>>> bbbb");
    assert_int_equal(clashes[1].first, 5); /* nothing of the user's: where it would stand */
    assert_int_equal(clashes[1].last, 5);
    arena_release(&arena);
}

static void there_is_no_more_than_there_is_room_for(void **state)
{
    struct arena arena;
    struct vcs_clash clashes[1];
    arena_init(&arena);
    assert_int_equal(read_all(&arena, MARKED, clashes, 1), 1);
    assert_int_equal(read_all(&arena, MARKED, clashes, 0), 0);
    arena_release(&arena);
}

static void text_that_only_looks_like_marks_is_no_clash(void **state)
{
    static const char *const texts[] = {"", "=======\n>>>>>>> b\n", "<<<<<<< a\nnever ends\n",
                                        "<<<<<<< a\n>>>>>>> b\n", "<<<<<<<a\n=======\n>>>>>>>b\n"};
    struct arena arena;
    struct vcs_clash clashes[4];
    arena_init(&arena);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(read_all(&arena, texts[i], clashes, 4), 0);
    arena_release(&arena);
}

static void a_long_hunk_is_cut(void **state)
{
    struct arena arena;
    struct buf text;
    struct vcs_clash clashes[1];
    arena_init(&arena);
    buf_init(&text, 1 << 20);
    buf_text(&text, "<<<<<<< a\n");
    for (int i = 0; i < 10000; i++)
        buf_text(&text, "mine\n");
    buf_text(&text, "=======\n>>>>>>> b\n");
    buf_char(&text, '\0');
    assert_int_equal(read_all(&arena, text.p, clashes, 1), 1);
    assert_int_equal(clashes[0].last, 10000);
    assert_int_equal(clashes[0].hunk.n, GIT_HUNK_MAX);
    buf_release(&text);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_has_the_lines_of_the_users_file),
        cmocka_unit_test(there_is_no_more_than_there_is_room_for),
        cmocka_unit_test(text_that_only_looks_like_marks_is_no_clash),
        cmocka_unit_test(a_long_hunk_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
