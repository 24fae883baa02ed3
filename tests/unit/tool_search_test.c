/* The tool search, and the walk that it shares with the other tools: what is found in which order,
 * what is passed over, and that hostile trees end. */
#include "tool_fixture.h"

#include "tool/glob.h"
#include "tool/listing.h"

static void touch(struct fixture *f, const char *path, time_t when)
{
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    put(f, path, "");
    assert_int_equal(utimensat(AT_FDCWD, in_workspace(f, path), times, 0), 0);
}

static void files_come_newest_first_or_by_name(void **state)
{
    struct fixture *f = *state;
    touch(f, "b.c", 3000);
    touch(f, "src/a.c", 1000);
    touch(f, "src/x/c.c", 2000);
    touch(f, "d.h", 4000);
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*.c\"}"), "b.c\nsrc/x/c.c\nsrc/a.c\n");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*.c\",\"sort\":\"name\"}"),
                        "b.c\nsrc/a.c\nsrc/x/c.c\n");
    call_error(f, "search", "{\"pattern\":\"*\",\"sort\":\"size\"}", "one of newest, name");
}

static void globs_with_a_slash_start_where_the_search_starts(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a.c", "");
    put(f, "src/x/b.c", "");
    put(f, "lib/src/c.c", "");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"src/*.c\"}"), "src/a.c\n");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"src/**/*.c\",\"sort\":\"name\"}"),
                        "src/a.c\nsrc/x/b.c\n");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"**/src/*.c\",\"sort\":\"name\"}"),
                        "lib/src/c.c\nsrc/a.c\n");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"x/*\",\"path\":\"src\"}"),
                        "src/x/b.c\n");
    assert_string_equal(call_ok(f, "search",
                                "{\"pattern\":\"**\",\"path\":\"src\",\"sort\":"
                                "\"name\"}"),
                        "src/a.c\nsrc/x/b.c\n");
}

static void globs_mean_what_people_expect(void **state)
{
    (void)state;
    static const struct {
        const char *glob, *path;
        bool matches;
    } table[] = {
        {"*.c", "a.c", true},
        {"*.c", "x/a.c", true},
        {"*.c", "a.cc", false},
        {"?.c", "ab.c", false},
        {"[ab].c", "b.c", true},
        {"[!ab].c", "b.c", false},
        {"*.{c,h}", "x/a.h", true},
        {"*.{c,h}", "a.cc", false},
        {"{src,lib}/*.c", "lib/a.c", true},
        {"{src,lib}/*.c", "src/x/a.c", false},
        {"{a,b{1,2}}", "b2", true},
        {"{a,b{1,2}}", "b", false},
        {"{a{b,c}d}", "{acd}", true},
        {"{a,{b,c}", "{a,b", true},
        {"{a}", "{a}", true},
        {"{a}", "a", false},
        {"\\{a,b\\}", "{a,b}", true},
        {"a{,.bak}", "a", true},
        {"a{,.bak}", "a.bak", true},
        {"src/*", "src/x/y", false},
        {"src/**", "src/x/y", true},
        {"**/y", "src/x/y", true},
        {"*", "src/x/y", true},
        {"/*", "y", true},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct arena arena;
        struct glob glob;
        struct err err = ERR_INIT;
        arena_init(&arena);
        assert_int_equal(glob_compile(&glob, &arena, str_from(table[i].glob), &err), 0);
        if (glob_match(&glob, str_from(table[i].path)) != table[i].matches)
            fail_msg("%s on %s", table[i].glob, table[i].path);
        arena_release(&arena);
    }
}

static void a_glob_that_stands_for_too_much_is_refused(void **state)
{
    struct fixture *f = *state;
    call_error(f, "search", "{\"pattern\":\"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\"}",
               "more than 128 patterns");
    call_ok(f, "search", "{\"pattern\":\"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\"}");
    char json[1100] = "{\"pattern\":\"";
    memset(json + strlen(json), '{', 1000);
    strcat(json, "\"}");
    call_ok(f, "search", json);
}

static void ignored_files_are_found_only_when_asked(void **state)
{
    struct fixture *f = *state;
    put(f, ".gitignore", "out/\n");
    put(f, "sub/.gitignore", "*.tmp\n!/keep.tmp\n");
    put(f, "out/a.c", "");
    put(f, "sub/a.tmp", "");
    put(f, "sub/keep.tmp", "");
    put(f, "sub/x/keep.tmp", "");
    put(f, "a.tmp", "");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*.{c,tmp}\",\"sort\":\"name\"}"),
                        "a.tmp\nsub/keep.tmp\n");
    assert_string_equal(
        call_ok(f, "search", "{\"pattern\":\"*.{c,tmp}\",\"sort\":\"name\",\"ignored\":true}"),
        "a.tmp\nout/a.c\nsub/a.tmp\nsub/keep.tmp\nsub/x/keep.tmp\n");
    /* Rules above the start hold too. */
    assert_contains(call_ok(f, "search", "{\"pattern\":\"*\",\"path\":\"sub/x\"}"),
                    "left out by .gitignore");
    assert_contains(call_ok(f, "search", "{\"pattern\":\"*.c\"}"), "ignored=true");
}

static void git_links_and_special_files_are_not_found(void **state)
{
    struct fixture *f = *state;
    put(f, ".git/a", "");
    put(f, "sub/.git/a", "");
    put(f, "dir/b", "");
    assert_int_equal(symlink("../outside", in_workspace(f, "out")), 0);
    assert_int_equal(symlink("../dir", in_workspace(f, "dir/loop")), 0);
    assert_int_equal(symlink("self", in_workspace(f, "self")), 0);
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*\"}"), "dir/b\n");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*\",\"ignored\":true}"), "dir/b\n");
}

static void a_link_as_an_ignore_file_is_no_ignore_file(void **state)
{
    struct fixture *f = *state;
    fixture_write(f->top, "outside/rules", "*\n", 2);
    put(f, "a", "");
    assert_int_equal(symlink("../outside/rules", in_workspace(f, ".gitignore")), 0);
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*\"}"), "a\n");
}

static void names_with_newlines_and_bad_bytes_stay_one_line_each(void **state)
{
    struct fixture *f = *state;
    put(f, "a\nb\x1b[31m", "");
    put(f, "c\xff", "");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*\",\"sort\":\"name\"}"),
                        "\"a\\nb\\033[31m\"\n\"c\\377\"\n");
}

static void unreadable_directories_are_counted(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    put(f, "locked/a", "");
    put(f, "store/a", "");
    put(f, "b", "");
    assert_int_equal(scope_deny(&f->scope, in_workspace(f, "store"), &err), 0);
    assert_int_equal(chmod(in_workspace(f, "locked"), 0), 0);
    const char *text = call_ok(f, "search", "{\"pattern\":\"b\"}");
    assert_contains(text, geteuid() == 0 ? "[1 files or directories could not"
                                         : "[2 files or directories could not");
    assert_int_equal(chmod(in_workspace(f, "locked"), 0700), 0);
}

static void deep_trees_end(void **state)
{
    struct fixture *f = *state;
    char path[400] = "";
    for (int i = 0; i < 80; i++)
        strcat(path, "d/");
    strcat(path, "leaf");
    put(f, path, "");
    assert_contains(call_ok(f, "search", "{\"pattern\":\"leaf\"}"), "could not be searched");
}

static void note_progress(void *user, struct str text)
{
    struct buf *said = user;
    buf_printf(said, "%.*s;", STR_FMT(text));
}

static void ten_thousand_files_are_found_and_shown_in_part(void **state)
{
    struct fixture *f = *state;
    struct buf said;
    char path[64];
    buf_init(&said, 1000);
    f->context.progress = note_progress;
    f->context.progress_user = &said;
    for (int i = 0; i < 10000; i++) {
        snprintf(path, sizeof path, "d%d/f%05d", i % 10, i);
        put(f, path, "");
    }
    const char *text = call_ok(f, "search", "{\"pattern\":\"f*\",\"sort\":\"name\"}");
    assert_contains(text, "d0/f00000\nd0/f00010\n");
    assert_contains(text, "[truncated: 100 of 10000 files; ask for");
    assert_string_equal(said.p, "5000 files;10000 files;");
    buf_release(&said);
    f->context.progress = NULL;
    f->context.max_result = 1000;
    text = call_ok(f, "search", "{\"pattern\":\"f*\",\"max_results\":1000}");
    assert_contains(text, "of 10000 files");
    assert_true(f->result.text.n <= 1000);
}

static void a_directory_with_more_names_than_are_read_is_counted(void **state)
{
    struct fixture *f = *state;
    char path[400];
    put(f, "many/f", "");
    for (int i = 0; i < LISTING_MAX; i++) {
        snprintf(path, sizeof path, "%s/many/f%d", f->workspace, i);
        assert_int_equal(link(in_workspace(f, "many/f"), path), 0);
        arena_reset(&f->arena);
    }
    const char *text = call_ok(f, "search", "{\"pattern\":\"f*\",\"max_results\":1}");
    assert_contains(text, "[truncated: 1 of 50000 files");
    assert_contains(text, "[1 files or directories could not be searched]");
}

static void a_cancelled_search_ends_with_an_error(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "");
    atomic_store(&f->cancelled, true);
    call_error(f, "search", "{\"pattern\":\"*\"}", "cancelled");
}

static void a_path_outside_the_contract_is_refused(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a", "");
    put(f, "docs/a", "");
    f->paths[0] = STR("docs");
    call_error(f, "search", "{\"pattern\":\"*\"}", "allowed: docs");
    assert_string_equal(call_ok(f, "search", "{\"pattern\":\"*\",\"path\":\"docs\"}"), "docs/a\n");
    call_error(f, "search", "{\"pattern\":\"*\",\"path\":\"../outside\"}", "outside");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_come_newest_first_or_by_name),
        TEST(globs_with_a_slash_start_where_the_search_starts),
        TEST(globs_mean_what_people_expect),
        TEST(a_glob_that_stands_for_too_much_is_refused),
        TEST(ignored_files_are_found_only_when_asked),
        TEST(git_links_and_special_files_are_not_found),
        TEST(a_link_as_an_ignore_file_is_no_ignore_file),
        TEST(names_with_newlines_and_bad_bytes_stay_one_line_each),
        TEST(unreadable_directories_are_counted),
        TEST(deep_trees_end),
        TEST(ten_thousand_files_are_found_and_shown_in_part),
        TEST(a_directory_with_more_names_than_are_read_is_counted),
        TEST(a_cancelled_search_ends_with_an_error),
        TEST(a_path_outside_the_contract_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
