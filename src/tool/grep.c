/* The tool `grep`: lines that match a pattern, in the files beneath a path. A pattern sees one line
 * at a time. Skips what tool/walk.h skips, binary and very large files. Runs on a pool thread; looks
 * at `cancelled` between files and within large ones. */
#include <stdio.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/glob.h"
#include "tool/language.h"
#include "tool/pattern.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/walk.h"

#define FILE_MOST (20u << 20) /* bytes of a file that is searched */
#define LINE_CHARACTERS 400   /* shown of one line */
#define RESULTS_DEFAULT 100
#define RESULTS_MOST 1000
#define CONTEXT_MOST 20
#define LINES_PER_LOOK 4096 /* lines between two looks at `cancelled` */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\","
    "\"description\":\"PCRE\"},\"path\":{\"type\":\"string\"},\"glob\":{\"type\":\"string\","
    "\"description\":\"Like src/**/*.{c,h}\"},\"ignore_case\":{\"type\":\"boolean\"},"
    "\"output\":{\"type\":\"string\",\"enum\":[\"lines\",\"files\",\"count\"]},\"context\":{"
    "\"type\":\"integer\",\"description\":\"Lines around a match\"},\"ignored\":{"
    "\"type\":\"boolean\",\"description\":\"Also ignored files\"},\"max_results\":{"
    "\"type\":\"integer\"}},\"required\":[\"pattern\"]}";
static const char unlisted[] = "{\"exclude\":{\"type\":\"string\"},"
                               "\"type\":{\"type\":\"string\"},"
                               "\"before\":{\"type\":\"integer\"},"
                               "\"after\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"pattern", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, PATTERN_MAX},
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"glob", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, GLOB_MAX},
    {"exclude", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, GLOB_MAX},
    {"type", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 64},
    {"ignore_case", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"output", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 16},
    {"context", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, CONTEXT_MOST},
    {"before", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, CONTEXT_MOST},
    {"after", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, CONTEXT_MOST},
    {"ignored", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"max_results", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MOST},
};

enum output { OUTPUT_LINES, OUTPUT_FILES, OUTPUT_COUNT };
static const char *const outputs[] = {"lines", "files", "count", NULL};

struct search {
    struct walk walk;
    const struct tool_context *context;
    struct tool_result *result;
    struct pattern *pattern;
    struct glob wanted, excluded;    /* wanted.count 0: all files */
    const struct language *language; /* NULL: all */
    enum output output;
    int64_t before, after, most;
    int64_t found; /* lines, or files */
    struct buf content;
    size_t binary, large, unread;
    bool stopped, cut; /* nothing more is to be shown; there was more */
    struct err err;    /* class NONE while all is well */
};

/* --- one file --------------------------------------------------------------------------------- */

/* A line of the file's text by its bounds. */
struct lines {
    struct str text;
    size_t at;      /* where the current line starts */
    size_t end;     /* its newline, or the text's end */
    int64_t number; /* from 1 */
};

static void lines_find_end(struct lines *lines)
{
    const char *newline = memchr(lines->text.p + lines->at, '\n', lines->text.n - lines->at);
    lines->end = newline ? (size_t)(newline - lines->text.p) : lines->text.n;
}

static struct str lines_view(const struct lines *lines)
{
    size_t n = lines->end - lines->at;
    if (n > 0 && lines->text.p[lines->at + n - 1] == '\r')
        n--;
    return (struct str){lines->text.p + lines->at, n};
}

/* Moves on to the line that starts at `at`, which lies ahead. */
static void lines_jump(struct lines *lines, size_t at)
{
    const char *p = lines->text.p + lines->at;
    const char *stop = lines->text.p + at;
    while (p < stop && (p = memchr(p, '\n', (size_t)(stop - p)))) {
        p++;
        lines->number++;
    }
    lines->at = at;
}

/* path:12:text for a match, path-12-text around one. False when the result is full. */
static bool show_line(struct search *search, struct str path, const struct lines *lines, char mark)
{
    struct str shown =
        utf8_cut_chars(utf8_cut(lines_view(lines), 4 * LINE_CHARACTERS), LINE_CHARACTERS);
    bool cut = shown.n < lines_view(lines).n;
    char number[32];
    snprintf(number, sizeof number, "%c%lld%c", mark, (long long)lines->number, mark);
    struct buf *text = &search->result->text;
    if (FILENAME_SHOWN(path.n) + 3 * shown.n + sizeof number + 8 > tool_room(search->result))
        return false;
    filename_show(&search->result->text, path);
    buf_text(text, number);
    utf8_mend(text, shown);
    buf_text(text, cut ? "…\n" : "\n");
    return true;
}

/* Shows the lines around a match that are not shown yet. *shown_to: number of the last line in
 * the result. */
static bool show_match(struct search *search, struct str path, const struct lines *match,
                       int64_t *shown_to)
{
    struct lines line = *match;
    int64_t first = match->number - search->before;
    if (first <= *shown_to)
        first = *shown_to + 1;
    while (line.number > first && line.at > 0) {
        line.at--;
        while (line.at > 0 && line.text.p[line.at - 1] != '\n')
            line.at--;
        line.number--;
    }
    if (search->before + search->after > 0 && search->found > 0 && line.number > *shown_to + 1)
        buf_text(&search->result->text, "--\n");
    for (; line.number <= match->number; line.number++) {
        lines_find_end(&line);
        if (!show_line(search, path, &line, line.number == match->number ? ':' : '-'))
            return false;
        line.at = line.end + 1;
    }
    *shown_to = match->number;
    return true;
}

static bool show_after(struct search *search, struct str path, const struct lines *current,
                       int64_t until, int64_t *shown_to)
{
    if (current->number <= *shown_to || current->number > until)
        return true;
    *shown_to = current->number;
    return show_line(search, path, current, '-');
}

static void stop(struct search *search)
{
    search->stopped = true;
    search->cut = true;
}

/* Shows the matching lines of one file. */
static void search_text(struct search *search, struct str path, struct str text)
{
    struct lines lines = {.text = text, .number = 1};
    int64_t shown_to = 0;
    int64_t until = 0; /* last line of context behind the latest match */
    int64_t before = search->found;
    for (int64_t looked = 1; lines.at < text.n && !search->stopped; looked++) {
        if (looked % LINES_PER_LOOK == 0 && tool_cancelled(search->context))
            break;
        if (lines.number > until) {
            lines_jump(&lines, pattern_skip(search->pattern, text, lines.at));
            if (lines.at >= text.n)
                break;
        }
        lines_find_end(&lines);
        int match = pattern_match(search->pattern, lines_view(&lines), &search->err);
        if (match < 0) {
            search->stopped = true;
        } else if (match > 0) {
            if (search->found == search->most || !show_match(search, path, &lines, &shown_to)) {
                stop(search);
                break;
            }
            search->found++;
            until = lines.number + search->after;
        } else if (!show_after(search, path, &lines, until, &shown_to)) {
            stop(search);
        }
        lines.at = lines.end + 1;
        lines.number++;
    }
    if (search->found > before)
        tool_add_read(search->context, search->result, path);
}

/* The number of matching lines; stops at `most`. */
static int64_t count_text(struct search *search, struct str text, int64_t most)
{
    struct lines lines = {.text = text, .number = 1};
    int64_t count = 0;
    for (int64_t looked = 1; lines.at < text.n && count < most; looked++) {
        if (looked % LINES_PER_LOOK == 0 && tool_cancelled(search->context))
            break;
        lines.at = pattern_skip(search->pattern, text, lines.at);
        if (lines.at >= text.n)
            break;
        lines_find_end(&lines);
        int match = pattern_match(search->pattern, lines_view(&lines), &search->err);
        if (match < 0) {
            search->stopped = true;
            break;
        }
        count += match;
        lines.at = lines.end + 1;
    }
    return count;
}

/* One line for the file, when it has a match. */
static void show_file(struct search *search, struct str path, struct str text)
{
    int64_t count = count_text(search, text, search->output == OUTPUT_FILES ? 1 : INT64_MAX);
    if (count == 0 || search->stopped)
        return;
    if (search->found == search->most || FILENAME_SHOWN(path.n) + 32 > tool_room(search->result)) {
        stop(search);
        return;
    }
    filename_show(&search->result->text, path);
    if (search->output == OUTPUT_COUNT)
        buf_printf(&search->result->text, ":%lld", (long long)count);
    buf_char(&search->result->text, '\n');
    tool_add_read(search->context, search->result, path);
    search->found++;
}

static bool is_wanted(const struct search *search, const struct walk_file *file)
{
    if (search->language && language_of_file(str_from(file->name)) != search->language)
        return false;
    if (search->excluded.count &&
        (glob_match(&search->excluded, file->below) || glob_match(&search->excluded, file->path)))
        return false;
    return search->wanted.count == 0 || glob_match(&search->wanted, file->below) ||
           glob_match(&search->wanted, file->path);
}

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct search *search = user;
    if (!is_wanted(search, file))
        return WALK_ON;
    switch (walk_load(&search->walk, file, FILE_MOST, &search->content)) {
    case WALK_BINARY:
        search->binary++;
        break;
    case WALK_LARGE:
        search->large++;
        break;
    case WALK_UNREAD:
        search->unread++;
        break;
    case WALK_FINE:
        if (search->output == OUTPUT_LINES)
            search_text(search, file->path, buf_view(&search->content));
        else
            show_file(search, file->path, buf_view(&search->content));
    }
    return search->stopped ? WALK_STOP : WALK_ON;
}

/* --- the call --------------------------------------------------------------------------------- */

static void add_notes(const struct search *search)
{
    struct buf *text = &search->result->text;
    if (search->found == 0 && !search->cut)
        buf_text(text, "[no matches]\n");
    if (search->cut)
        buf_printf(text, "[truncated after %lld %s: narrow the pattern, path or glob]\n",
                   (long long)search->found, search->output == OUTPUT_LINES ? "matches" : "files");
    if (search->binary)
        buf_printf(text, "[%zu binary files skipped]\n", search->binary);
    if (search->large)
        buf_printf(text, "[%zu files over %u MB skipped]\n", search->large, FILE_MOST >> 20);
    if (search->unread)
        buf_printf(text, "[%zu files could not be read]\n", search->unread);
    walk_notes(&search->walk, search->result);
}

/* Which files: globs and the language. */
static int take_filters(struct search *search, const struct js *arguments)
{
    struct err err = ERR_INIT;
    struct str wanted = js_get_str(arguments, "glob");
    struct str excluded = js_get_str(arguments, "exclude");
    struct arena *arena = search->context->arena;
    if ((wanted.p && glob_compile(&search->wanted, arena, wanted, &err) != 0) ||
        (excluded.p && glob_compile(&search->excluded, arena, excluded, &err) != 0))
        return tool_fail_err(search->result, &err);
    return language_argument(arguments, &search->language, search->result);
}

static void grep_run(const struct tool_context *context, const struct js *arguments,
                     const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    struct str path;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        return;
    int output = arguments_choice(arguments, "output", outputs, OUTPUT_LINES, result);
    int64_t around = arguments_whole(arguments, "context", 0);
    struct search search = {
        .walk = {.context = context,
                 .rules =
                     js_get_bool(arguments, "ignored", false) ? WALK_TAKES_ALL : WALK_HEEDS_RULES,
                 .file = visit},
        .context = context,
        .result = result,
        .output = (enum output)output,
        .before = arguments_whole(arguments, "before", around),
        .after = arguments_whole(arguments, "after", around),
        .most = arguments_whole(arguments, "max_results", RESULTS_DEFAULT),
    };
    search.walk.user = &search;
    if (output < 0 || take_filters(&search, arguments) != 0)
        return;
    enum pattern_case cases =
        js_get_bool(arguments, "ignore_case", false) ? PATTERN_ANY_CASE : PATTERN_EXACT_CASE;
    if (pattern_compile(js_get_str(arguments, "pattern"), cases, &search.pattern, &err) != 0) {
        tool_fail_err(result, &err);
        return;
    }
    buf_init(&search.content, FILE_MOST + (1u << 20));
    if (walk_run(&search.walk, path, result) == 0) {
        if (search.err.class != ERR_NONE)
            tool_fail_err(result, &search.err);
        else
            add_notes(&search);
    }
    buf_release(&search.content);
    pattern_free(search.pattern);
}

const struct tool tool_grep = {
    .name = "grep",
    .description = "Search file contents. Returns path:line:text.",
    .schema = schema,
    .unlisted = unlisted,
    .prepare = NULL,
    .run = grep_run,
};
