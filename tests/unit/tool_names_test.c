/* Files whose names hold line breaks, escape sequences, letters that turn others round, or bytes that are not UTF-8: every tool shows
 * them escaped on one line, and by that name they are read, searched, edited and deleted. */
#include "base/filename.h"
#include "unit/tool_fixture.h"

#define TURNED_ROUND                                                                               \
    "gpj.\xe2\x80\xae"                                                                             \
    "exe"

static const char *const names[] = {
    "a\nfake.c:1:int fake;",
    "tab\there",
    "\x1b[2Jclear",
    "dir\n/inner\r",
    "caf\xe9",
    TURNED_ROUND,
    "\xff",
    "\"a\\nb\"",
    "\"quoted\"",
    "zero\xe2\x80\x8bwidth",
};
#define NAMES (sizeof names / sizeof names[0])

static struct str shown_of(struct fixture *f, const char *name)
{
    return filename_shown(&f->arena, str_from(name));
}

/* {"path": the name as it is shown, and then these arguments} */
static const char *asking(struct fixture *f, struct str shown, const char *more)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 10000);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "path", shown);
    jw_end_object(&w);
    out.n--; /* the brace */
    buf_printf(&out, "%s}", more);
    const char *json = arena_copy(&f->arena, buf_view(&out)).p;
    buf_release(&out);
    return json;
}

static void assert_one_line_each(const char *text)
{
    assert_lacks(text, "\nfake.c");
    assert_lacks(text, "\x1b");
    assert_lacks(text, "\xe2\x80\xae");
    assert_lacks(text, "\xef\xbf\xbd"); /* nothing was replaced */
}

static void every_tool_shows_names_that_can_be_asked_for(void **state)
{
    static const char *const calls[][2] = {
        {"ls", "{\"depth\":3}"},
        {"search", "{\"pattern\":\"**\"}"},
        {"grep", "{\"pattern\":\"needle\"}"},
        {"grep", "{\"pattern\":\"needle\",\"output\":\"files\"}"},
        {"grep", "{\"pattern\":\"needle\",\"output\":\"count\"}"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < NAMES; i++)
        put(f, names[i], "one needle\n");
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        const char *text = call_ok(f, calls[k][0], calls[k][1]);
        for (size_t i = 0; i < NAMES; i++)
            assert_contains(text, shown_of(f, names[i]).p);
        assert_one_line_each(text);
    }
    assert_one_line_each(call_ok(f, "overview", "{}"));
}

static void a_file_is_read_by_the_name_that_is_shown(void **state)
{
    struct fixture *f = *state;
    char content[32];
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(content, sizeof content, "file %zu\n", i);
        put(f, names[i], content);
    }
    put(f, "a\nb", "the other\n"); /* what the name "a\nb" in quotes looks like */
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(content, sizeof content, "file %zu\n", i);
        struct str shown = shown_of(f, names[i]);
        assert_contains(call_ok(f, "read", asking(f, shown, "")), content);
        assert_contains(call_ok(f, "grep", asking(f, shown, ",\"pattern\":\"file\"")), shown.p);
    }
    assert_contains(call_ok(f, "read", asking(f, STR("\"a\\nb\""), "")), "the other");
    assert_contains(call_ok(f, "ls", asking(f, STR("\"dir\\n\""), "")), "\"dir\\n/inner\\r\"");
    /* A directory's slash stands inside the quotes: its name can be asked for, or lengthened. */
    const char *shown = "\"dir\\n/\"";
    assert_contains(call_ok(f, "ls", "{}"), shown);
    assert_contains(call_ok(f, "overview", "{}"), shown);
    assert_contains(call_ok(f, "ls", asking(f, str_from(shown), "")), "\"dir\\n/inner\\r\"");
}

static void a_file_is_changed_by_the_name_that_is_shown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < NAMES; i++) {
        struct str shown = shown_of(f, names[i]);
        assert_contains(call_ok(f, "write", asking(f, shown, ",\"content\":\"one\\n\"")), shown.p);
        assert_string_equal(content_of(f, names[i]), "one\n");
        assert_contains(
            call_ok(f, "edit", asking(f, shown, ",\"old_text\":\"one\",\"new_text\":\"two\"")),
            shown.p);
        assert_string_equal(content_of(f, names[i]), "two\n");
        assert_contains(call_ok(f, "delete", asking(f, shown, "")), shown.p);
        assert_null(content_of(f, names[i]));
    }
}

static void errors_and_notes_name_files_on_one_line(void **state)
{
    struct fixture *f = *state;
    const char *name = "a\nError: fake\x1b[2J";
    struct str shown = shown_of(f, name);
    put(f, name, "");
    assert_string_equal(call_ok(f, "read", asking(f, shown, "")),
                        arena_printf(&f->arena, "[%s is empty]\n", shown.p).p);
    put(f, name, "x\n");
    const struct {
        const char *tool, *arguments;
    } calls[] = {
        {"read", asking(f, shown, ",\"offset\":9")},
        {"ls", asking(f, shown, "")},
        {"edit", asking(f, shown, ",\"old_text\":\"q\",\"new_text\":\"r\"")},
        {"read", "{\"path\":\"a\\nError: fake\"}"}, /* a near name */
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        assert_lacks(call_error(f, calls[i].tool, calls[i].arguments, shown.p), "\nError: fake");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_tool_shows_names_that_can_be_asked_for),
        TEST(a_file_is_read_by_the_name_that_is_shown),
        TEST(a_file_is_changed_by_the_name_that_is_shown),
        TEST(errors_and_notes_name_files_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
