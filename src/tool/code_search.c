/* The tool `code_search`: where a name is defined and where it is used. Lines that hold the name as
 * a whole word are found here; which of them define it is asked of ctags or, without it, of
 * patterns. Runs on a thread that may wait; looks at `cancelled` between files. */
#include <ctype.h>
#include <stdlib.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/ctags.h"
#include "tool/definition.h"
#include "tool/file.h"
#include "tool/glob.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/walk.h"

#define FILE_MOST (4u << 20)
#define HITS_MOST 5000      /* lines that are held */
#define LINE_CHARACTERS 200 /* shown of one line */
#define RESULTS_DEFAULT 50
#define RESULTS_MOST 500

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"find\":{"
    "\"type\":\"string\",\"enum\":[\"all\",\"definitions\",\"references\"]},\"path\":{"
    "\"type\":\"string\"}},\"required\":[\"name\"]}";
static const char unlisted[] = "{\"type\":{\"type\":\"string\"},"
                               "\"max_results\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"name", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, DEFINITION_NAME_MAX},
    {"find", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 16},
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"type", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 64},
    {"max_results", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MOST},
};

enum find { FIND_ALL, FIND_DEFINITIONS, FIND_REFERENCES };
static const char *const finds[] = {"all", "definitions", "references", NULL};

/* A line that holds the name. */
struct hit {
    size_t file; /* its number among `files` */
    int64_t line;
    struct str text;
    const char *kind; /* NULL: it only mentions the name */
};

struct search {
    struct walk walk;
    struct str name;
    const struct language *language; /* NULL: all */
    struct definitions *definitions;
    struct arena arena; /* of everything below */
    struct str *files;
    const struct language **file_languages;
    size_t file_count;
    struct hit *hits;
    size_t hit_count;
    struct buf content;
    size_t large, unread;
    bool cut; /* there are more hits than are held */
};

/* --- finding lines ---------------------------------------------------------------------------- */

static bool is_word(unsigned char byte)
{
    return isalnum(byte) || byte == '_' || byte == '$' || byte >= 0x80;
}

/* The next place of the name as a whole word, at or behind `from`; text.n when there is none. */
static size_t next_word(struct str text, struct str name, size_t from)
{
    while (from < text.n) {
        const char *found = memmem(text.p + from, text.n - from, name.p, name.n);
        if (!found)
            break;
        size_t at = (size_t)(found - text.p);
        size_t end = at + name.n;
        if ((at == 0 || !is_word((unsigned char)text.p[at - 1])) &&
            (end == text.n || !is_word((unsigned char)text.p[end])))
            return at;
        from = at + 1;
    }
    return text.n;
}

static void add_hit(struct search *search, int64_t number, struct str line)
{
    struct str shown = utf8_cut_chars(utf8_cut(line, 4 * LINE_CHARACTERS), LINE_CHARACTERS);
    search->hits[search->hit_count++] =
        (struct hit){search->file_count, number, arena_copy(&search->arena, shown), NULL};
}

static void find_lines(struct search *search, struct str text)
{
    int64_t number = 1;
    size_t line = 0; /* start of the line with that number */
    for (size_t at = next_word(text, search->name, 0); at < text.n;
         at = next_word(text, search->name, at)) {
        if (search->hit_count == HITS_MOST) {
            search->cut = true;
            return;
        }
        const char *newline;
        while ((newline = memchr(text.p + line, '\n', at - line))) {
            line = (size_t)(newline + 1 - text.p);
            number++;
        }
        newline = memchr(text.p + at, '\n', text.n - at);
        size_t end = newline ? (size_t)(newline - text.p) : text.n;
        add_hit(search, number, (struct str){text.p + line, end - line});
        at = end;
    }
}

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct search *search = user;
    const struct language *language = language_of_file(str_from(file->name));
    if (!language || strcmp(language->kind, "code") != 0 ||
        (search->language && language != search->language))
        return WALK_ON;
    size_t before = search->hit_count;
    enum walk_refusal refusal = walk_load(&search->walk, file, FILE_MOST, &search->content);
    search->large += refusal == WALK_LARGE;
    search->unread += refusal == WALK_UNREAD;
    if (refusal == WALK_FINE)
        find_lines(search, buf_view(&search->content));
    if (search->hit_count > before) {
        search->files[search->file_count] = arena_copy(&search->arena, file->path);
        search->file_languages[search->file_count++] = language;
    }
    return search->cut ? WALK_STOP : WALK_ON;
}

/* --- which of them define --------------------------------------------------------------------- */

static void mark_tag(void *user, struct str path, int64_t line, struct str kind)
{
    struct search *search = user;
    for (size_t i = 0; i < search->hit_count; i++) {
        struct hit *hit = &search->hits[i];
        if (hit->line == line && str_eq(search->files[hit->file], path))
            hit->kind = kind.n ? arena_copy(&search->arena, utf8_cut(kind, 40)).p : "definition";
    }
}

static void mark_by_patterns(struct search *search)
{
    for (size_t i = 0; i < search->hit_count; i++) {
        struct hit *hit = &search->hits[i];
        hit->kind =
            definitions_kind(search->definitions, search->file_languages[hit->file], hit->text);
    }
}

/* Says who decided. */
static const char *mark(struct search *search)
{
    struct err err = ERR_INIT;
    if (search->file_count > 0 && search->file_count <= CTAGS_FILES_MAX &&
        ctags_find(search->walk.context, search->files, search->file_count, search->name, mark_tag,
                   search, &err) == 0)
        return "ctags";
    mark_by_patterns(search);
    return "patterns";
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool show_hit(const struct search *search, const struct hit *hit, struct tool_result *result)
{
    struct str path = search->files[hit->file];
    struct str text = hit->text;
    while (text.n > 0 && isspace((unsigned char)text.p[0])) {
        text.p++;
        text.n--;
    }
    if (FILENAME_SHOWN(path.n) + 3 * text.n + 120 > tool_room(result))
        return false;
    filename_show(&result->text, path);
    buf_printf(&result->text, ":%lld: ", (long long)hit->line);
    if (hit->kind) {
        tool_add_clean(result, str_from(hit->kind));
        buf_text(&result->text, ": ");
    }
    tool_add_clean(result, text);
    buf_char(&result->text, '\n');
    return true;
}

enum side { SIDE_DEFINITIONS, SIDE_REFERENCES };

static bool is_on(const struct hit *hit, enum side side)
{
    return (hit->kind != NULL) == (side == SIDE_DEFINITIONS);
}

/* Shows one side; *left lines may still be shown. Returns how many were not. */
static size_t show_side(const struct search *search, enum side side, size_t *left,
                        struct tool_result *result)
{
    static const char *const titles[] = {"definitions", "references"};
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < search->hit_count; i++)
        count += is_on(&search->hits[i], side);
    buf_printf(&result->text, "%s: %zu\n", titles[side], count);
    for (size_t i = 0; i<search->hit_count && * left> 0; i++) {
        if (!is_on(&search->hits[i], side))
            continue;
        if (!show_hit(search, &search->hits[i], result)) {
            *left = 0;
            break;
        }
        shown++;
        --*left;
    }
    return count - shown;
}

static void show(const struct search *search, enum find find, size_t most, const char *by,
                 struct tool_result *result)
{
    size_t left = most, missing = 0;
    if (find != FIND_REFERENCES)
        missing += show_side(search, SIDE_DEFINITIONS, &left, result);
    if (find != FIND_DEFINITIONS)
        missing += show_side(search, SIDE_REFERENCES, &left, result);
    if (search->hit_count > 0)
        buf_printf(&result->text, "[definitions are told by %s]\n", by);
    if (missing || search->cut)
        buf_printf(
            &result->text,
            "[truncated: %zu lines%s are not shown; ask for one side with find, a path, or a "
            "larger max_results]\n",
            missing, search->cut ? " and more" : "");
    if (search->large)
        buf_printf(&result->text, "[%zu files over %u MB skipped]\n", search->large,
                   FILE_MOST >> 20);
    if (search->unread)
        buf_printf(&result->text, "[%zu files could not be read]\n", search->unread);
    walk_notes(&search->walk, result);
    for (size_t i = 0; i < search->file_count; i++)
        tool_add_read(search->walk.context, result, search->files[i]);
}

static int check_name(struct str name, struct tool_result *result)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_word((unsigned char)name.p[i]) && !strchr("?!~-", name.p[i]))
            return tool_fail(result,
                             "the argument \"name\" must be one identifier, without qualification: "
                             "\"%.*s\" is not; use grep for expressions",
                             STR_FMT(utf8_cut(name, 100)));
    return 0;
}

static void code_search_run(const struct tool_context *context, const struct js *arguments,
                            const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct str path;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0 ||
        check_name(js_get_str(arguments, "name"), result) != 0)
        return;
    int find = arguments_choice(arguments, "find", finds, FIND_ALL, result);
    struct search search = {.walk = {.context = context, .file = visit},
                            .name = js_get_str(arguments, "name")};
    if (find < 0 || language_argument(arguments, &search.language, result) != 0)
        return;
    search.walk.user = &search;
    search.definitions = definitions_new(search.name);
    arena_init(&search.arena);
    buf_init(&search.content, FILE_MOST + (1u << 20));
    search.files = arena_alloc(&search.arena, HITS_MOST * sizeof *search.files);
    search.file_languages = arena_alloc(&search.arena, HITS_MOST * sizeof *search.file_languages);
    search.hits = arena_alloc(&search.arena, HITS_MOST * sizeof *search.hits);
    if (walk_run(&search.walk, path, result) == 0) {
        const char *by = mark(&search);
        if (tool_cancelled(context))
            tool_fail_cancelled(result);
        else
            show(&search, (enum find)find,
                 (size_t)arguments_whole(arguments, "max_results", RESULTS_DEFAULT), by, result);
    }
    buf_release(&search.content);
    arena_release(&search.arena);
    definitions_free(search.definitions);
}

const struct tool tool_code_search = {
    .name = "code_search",
    .description = "Find definitions and uses of an identifier.",
    .schema = schema,
    .unlisted = unlisted,
    .pace = TOOL_LONG,
    .prepare = NULL,
    .run = code_search_run,
};
