/* docs/tools.md: made of its own prose, the tools' schemas and the answers that the examples really
 * get. A section `## name` of a tool has one table and at least one example. The table's names and
 * types come from the schema. Its words are the page's own, because schemas are short; where the page
 * has none, the schema's are taken, so of a new table only a line `|` need be written. An example is a
 * block `json` with the arguments. Where a block `text` follows, the example is executed in the
 * workspace that the page describes, a new one for each section; where none follows (tools that need a
 * network or a sandbox), the arguments are held against the schema. */
#include "tool_fixture.h"

#include "base/utf8.h"

#define PAGE_MAX (1u << 20)
#define FILES_MAX 32

struct page {
    struct buf made;
    struct {
        struct str path, content;
    } files[FILES_MAX];
    size_t file_count;
    const struct tool *tool; /* whose section this is, or NULL */
    size_t tables, examples; /* in this section */
    struct str arguments;    /* of the latest example; STR_NONE once it was answered */
    struct fixture *room;    /* of this section */
    size_t sections;
};

/* --- tables ----------------------------------------------------------------------------------- */

static void print_type(struct buf *out, const struct js *property)
{
    const struct js *choices = js_get(property, "enum");
    if (js_count(choices) == 0) {
        buf_str(out, js_get_str(property, "type"));
        return;
    }
    for (size_t i = 0; i < js_count(choices); i++)
        buf_printf(out, "%s`%.*s`", i ? " or " : "", STR_FMT(js_str(js_at(choices, i))));
}

static bool is_required(const struct js *schema, struct str name)
{
    const struct js *required = js_get(schema, "required");
    for (size_t i = 0; i < js_count(required); i++)
        if (str_eq(js_str(js_at(required, i)), name))
            return true;
    return false;
}

static bool next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *newline = memchr(rest->p, '\n', rest->n);
    size_t n = newline ? (size_t)(newline - rest->p) : rest->n;
    *line = (struct str){rest->p, n};
    rest->p += newline ? n + 1 : n;
    rest->n -= newline ? n + 1 : n;
    return true;
}

/* What the page's own table says of an argument; empty where it says nothing. */
static struct str stored_words(struct str table, struct str name)
{
    struct str line;
    char start[80];
    snprintf(start, sizeof start, "| `%.*s` | ", STR_FMT(name));
    while (next_line(&table, &line) && line.n > 0 && line.p[0] == '|') {
        if (!str_starts(line, str_from(start)) || line.n < 4)
            continue;
        size_t end = line.n - 2, from = end;
        while (from > 0 && !(line.p[from - 1] == '|' && line.p[from - 2] == ' '))
            from--;
        return end > from + 1 ? (struct str){line.p + from + 1, end - from - 1} : STR("");
    }
    return STR("");
}

/* stored: the page from its own table on. */
static void print_rows(struct buf *out, const struct js *schema, const struct js *properties,
                       const char *remark, struct str stored)
{
    struct str name;
    const struct js *property;
    for (void *at = js_next(properties, NULL, &name, &property); at;
         at = js_next(properties, at, &name, &property)) {
        buf_printf(out, "| `%.*s` | ", STR_FMT(name));
        print_type(out, property);
        buf_text(out, is_required(schema, name) ? ", required" : "");
        buf_printf(out, "%s | ", remark);
        struct str words = stored_words(stored, name);
        if (words.n > 0) {
            buf_printf(out, "%.*s |\n", STR_FMT(words));
            continue;
        }
        words = js_get_str(property, "description");
        for (size_t i = 0; i < words.n; i++) {
            buf_text(out, words.p[i] == '|' ? "\\" : "");
            buf_char(out, words.p[i]);
        }
        buf_text(out, " |\n");
    }
}

static void print_table(struct buf *out, const struct tool *tool, struct str stored)
{
    struct js *schema = parse(tool->schema);
    buf_text(out, "| argument | type | |\n|---|---|---|\n");
    print_rows(out, schema, js_get(schema, "properties"), "", stored);
    if (tool->unlisted != NULL) {
        struct js *unlisted = parse(tool->unlisted);
        print_rows(out, NULL, unlisted, ", unlisted", stored);
        js_free(unlisted);
    }
    js_free(schema);
}

/* --- examples --------------------------------------------------------------------------------- */

static void open_room(struct page *page)
{
    void *state;
    fixture_setup(&state);
    page->room = state;
    for (size_t i = 0; i < page->file_count; i++) {
        const char *path = arena_copy(&page->room->arena, page->files[i].path).p;
        struct timespec times[2] = {{.tv_sec = 1000 + (time_t)i}, {.tv_sec = 1000 + (time_t)i}};
        fixture_write(page->room->workspace, path, page->files[i].content.p,
                      page->files[i].content.n);
        assert_int_equal(utimensat(AT_FDCWD, in_workspace(page->room, path), times, 0), 0);
    }
}

static void close_room(struct page *page)
{
    void *state = page->room;
    if (page->room)
        fixture_teardown(&state);
    page->room = NULL;
}

static void execute(struct page *page)
{
    const char *json = arena_copy(&page->room->arena, page->arguments).p;
    const char *text = call(page->room, page->tool->name, json);
    buf_text(&page->made, text);
    if (page->made.n > 0 && page->made.p[page->made.n - 1] != '\n')
        buf_char(&page->made, '\n');
    page->arguments = STR_NONE;
}

/* An example that is not executed must at least have the arguments that the tool knows. */
static void hold_against_schema(struct page *page)
{
    if (!page->arguments.p)
        return;
    struct err err = ERR_INIT;
    struct js *schema = parse(page->tool->schema);
    struct js *unlisted = parse(page->tool->unlisted != NULL ? page->tool->unlisted : "{}");
    struct js *arguments = js_parse(page->arguments, &err);
    struct str name;
    const struct js *value;
    if (!arguments)
        fail_msg("an example of %s is not JSON: %s", page->tool->name, err.message);
    for (void *at = js_next(arguments, NULL, &name, &value); at;
         at = js_next(arguments, at, &name, &value)) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", STR_FMT(name));
        if (!js_get(js_get(schema, "properties"), key) && !js_get(unlisted, key))
            fail_msg("%s has no argument %s", page->tool->name, key);
    }
    const struct js *required = js_get(schema, "required");
    for (size_t i = 0; i < js_count(required); i++) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", STR_FMT(js_str(js_at(required, i))));
        if (!js_get(arguments, key))
            fail_msg("an example of %s lacks %s", page->tool->name, key);
    }
    js_free(arguments);
    js_free(unlisted);
    js_free(schema);
    page->arguments = STR_NONE;
}

/* --- the page --------------------------------------------------------------------------------- */

static void end_section(struct page *page)
{
    if (page->tool) {
        hold_against_schema(page);
        if (page->tables != 1)
            fail_msg("the section of %s has %zu tables", page->tool->name, page->tables);
        if (page->examples == 0)
            fail_msg("the section of %s has no example", page->tool->name);
    }
    close_room(page);
    page->tool = NULL;
    page->tables = page->examples = 0;
}

static void start_section(struct page *page, struct str title)
{
    end_section(page);
    if (title.n > 2 && title.p[0] == '`')
        title = (struct str){title.p + 1, title.n - 2};
    page->tool = tool_find(title);
    if (!page->tool)
        return;
    page->sections++;
    open_room(page);
}

/* A fenced block: its lines, and what they mean here. above: the line of text before it. */
static void take_block(struct page *page, struct str fence, struct str above, struct str *rest)
{
    struct str line, content = {rest->p, 0};
    while (next_line(rest, &line) && !str_is(line, "```"))
        content.n = (size_t)(line.p + line.n + 1 - content.p);
    buf_printf(&page->made, "%.*s\n", STR_FMT(fence));
    if (page->tool && str_is(fence, "```text") && page->arguments.p) {
        execute(page);
    } else {
        buf_str(&page->made, content);
        if (page->tool && str_is(fence, "```json")) {
            hold_against_schema(page);
            page->arguments = content;
            page->examples++;
        } else if (!page->tool && above.n > 3 && above.p[0] == '`' && above.p[above.n - 1] == ':') {
            assert_true(page->file_count < FILES_MAX);
            page->files[page->file_count].path = (struct str){above.p + 1, above.n - 3};
            page->files[page->file_count++].content = content;
        }
    }
    buf_text(&page->made, "```\n");
}

static void make(struct page *page, struct str stored)
{
    struct str rest = stored, line, above = STR("");
    bool in_table = false;
    buf_init(&page->made, PAGE_MAX);
    while (next_line(&rest, &line)) {
        bool is_row = page->tool && line.n > 0 && line.p[0] == '|';
        if (str_starts(line, STR("```"))) {
            take_block(page, line, above, &rest);
        } else if (is_row && !in_table) {
            struct str table = {line.p, (size_t)(rest.p + rest.n - line.p)};
            print_table(&page->made, page->tool, table);
            page->tables++;
        } else if (!is_row) {
            if (str_starts(line, STR("## ")))
                start_section(page, (struct str){line.p + 3, line.n - 3});
            buf_printf(&page->made, "%.*s\n", STR_FMT(line));
        }
        in_table = is_row;
        if (line.n > 0)
            above = line;
    }
    end_section(page);
}

static void load(struct buf *stored)
{
    char path[4096];
    const char *tests = getenv("CADRE_TESTS");
    if (!tests)
        fail_msg("CADRE_TESTS must name the tests folder (meson test sets it)");
    snprintf(path, sizeof path, "%s/../docs/tools.md", tests);
    buf_init(stored, PAGE_MAX);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    stored->n = fread(buf_reserve(stored, PAGE_MAX / 2), 1, PAGE_MAX / 2, file);
    fclose(file);
}

static void show_difference(struct str made, struct str stored)
{
    struct str ours, theirs;
    while (next_line(&made, &ours) && next_line(&stored, &theirs))
        if (!str_eq(ours, theirs)) {
            print_error("now:    %.*s\nstored: %.*s\n", STR_FMT(ours), STR_FMT(theirs));
            return;
        }
}

static void the_page_says_what_the_tools_say(void **state)
{
    (void)state;
    struct page page = {0};
    struct buf stored;
    load(&stored);
    make(&page, buf_view(&stored));
    if (!str_eq(buf_view(&page.made), buf_view(&stored))) {
        show_difference(buf_view(&page.made), buf_view(&stored));
        fail_msg("docs/tools.md is out of date: unit-tool_docs --print-docs > docs/tools.md");
    }
    buf_release(&page.made);
    buf_release(&stored);
}

static void every_tool_has_a_section(void **state)
{
    (void)state;
    struct buf stored;
    load(&stored);
    buf_char(&stored, '\0');
    for (size_t i = 0; i < tool_count; i++) {
        char title[80];
        snprintf(title, sizeof title, "\n## %s\n", tool_table[i]->name);
        if (!strstr(stored.p, title))
            fail_msg("docs/tools.md has no section \"## %s\"", tool_table[i]->name);
    }
    buf_release(&stored);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_says_what_the_tools_say),
        cmocka_unit_test(every_tool_has_a_section),
    };
    if (argc == 2 && strcmp(argv[1], "--print-docs") == 0) {
        struct page page = {0};
        struct buf stored;
        load(&stored);
        make(&page, buf_view(&stored));
        fwrite(page.made.p, 1, page.made.n, stdout);
        buf_release(&page.made);
        buf_release(&stored);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
