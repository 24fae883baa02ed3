/* The tool `grep`: lines that match a pattern, in the files beneath a path. The walk goes
 * through descriptors, so a directory that is swapped for a link is not entered. Skips .git,
 * links, binary and very large files. Runs on a pool thread; looks at `cancelled` between files
 * and within large ones. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/path.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/listing.h"
#include "tool/near.h"
#include "tool/pattern.h"
#include "tool/result.h"
#include "tool/table.h"

#define FILE_MOST (20u << 20) /* bytes of a file that is searched */
#define BINARY_LOOK 8192
#define LINE_CHARACTERS 400 /* shown of one line */
#define RESULTS_DEFAULT 100
#define RESULTS_MOST 1000
#define CONTEXT_MOST 20
#define DEPTH_MOST 64
#define FILES_MOST 200000
#define LINES_PER_LOOK 4096 /* lines between two looks at `cancelled` */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"pattern\":{\"type\":\"string\",\"description\":\"Regular expression (PCRE), matched against "
    "each line.\"},"
    "\"path\":{\"type\":\"string\",\"description\":\"File or directory to search. Default: the "
    "working "
    "directory.\"},"
    "\"glob\":{\"type\":\"string\",\"description\":\"Only files that match, for example *.c or "
    "src/**/*.h; without a "
    "/ it is compared with the file's name.\"},"
    "\"ignore_case\":{\"type\":\"boolean\",\"description\":\"Default false.\"},"
    "\"context\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":20,\"description\":\"Lines to "
    "show before and after "
    "each match. Default 0.\"},"
    "\"max_results\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":"
    "\"Matches to show. Default "
    "100.\"}},"
    "\"required\":[\"pattern\"],\"additionalProperties\":false}";

static const struct argument arguments_known[] = {
    {"pattern", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, PATTERN_MAX},
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"glob", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 1024},
    {"ignore_case", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"context", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, CONTEXT_MOST},
    {"max_results", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MOST},
};

struct search {
    const struct tool_context *context;
    struct tool_result *result;
    struct pattern *pattern;
    struct str glob; /* STR_NONE: all files */
    int64_t around, most;
    int64_t found;
    struct buf content;
    size_t root_length; /* of the path that is searched, with its slash: globs start behind it */
    size_t files, binary, large, unread, deep;
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
    if (3 * (path.n + shown.n) + sizeof number + 8 > tool_room(search->result))
        return false;
    tool_add_clean(search->result, path);
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
    int64_t first = match->number - search->around;
    if (first <= *shown_to)
        first = *shown_to + 1;
    while (line.number > first && line.at > 0) {
        line.at--;
        while (line.at > 0 && line.text.p[line.at - 1] != '\n')
            line.at--;
        line.number--;
    }
    if (search->around > 0 && search->found > 0 && line.number > *shown_to + 1)
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
            until = lines.number + search->around;
        } else if (!show_after(search, path, &lines, until, &shown_to)) {
            stop(search);
        }
        lines.at = lines.end + 1;
        lines.number++;
    }
    if (search->found > before)
        tool_add_read(search->context, search->result, path);
}

static void search_file(struct search *search, int fd, const struct stat *status, struct str path)
{
    struct scope_file file = {.fd = fd};
    struct err err = ERR_INIT;
    if (status->st_size > (off_t)FILE_MOST) {
        search->large++;
        return;
    }
    snprintf(file.path, sizeof file.path, "%.*s", STR_FMT(path));
    buf_clear(&search->content);
    if (file_load(search->context, &file, FILE_MOST, &search->content, &err) != 0) {
        search->unread += err.class != ERR_CANCELLED;
        return;
    }
    struct str text = buf_view(&search->content);
    if (memchr(text.p, '\0', text.n < BINARY_LOOK ? text.n : BINARY_LOOK))
        search->binary++;
    else
        search_text(search, path, text);
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool wanted(const struct search *search, struct str path, const char *name)
{
    if (!search->glob.p)
        return true;
    if (!memchr(search->glob.p, '/', search->glob.n))
        return path_glob(search->glob, str_from(name));
    return path_glob(search->glob,
                     (struct str){path.p + search->root_length, path.n - search->root_length}) ||
           path_glob(search->glob, path);
}

static void walk(struct search *search, int directory, struct str path, int depth);

static void walk_entry(struct search *search, int directory, const struct listing_entry *entry,
                       struct str path, int depth)
{
    struct stat status;
    bool enter = entry->kind == LISTING_DIRECTORY;
    if (!enter && (entry->kind != LISTING_FILE || !wanted(search, path, entry->name)))
        return;
    if (enter && depth == DEPTH_MOST) {
        search->deep++;
        return;
    }
    if (!enter && search->files++ == FILES_MOST) {
        stop(search);
        return;
    }
    int fd = scope_open_entry(search->context->scope, directory, entry->name,
                              enter ? O_DIRECTORY : 0, &status);
    if (fd < 0) {
        search->unread++;
        return;
    }
    if (enter)
        walk(search, fd, path, depth + 1);
    else
        search_file(search, fd, &status, path);
    close(fd);
}

static void walk(struct search *search, int directory, struct str path, int depth)
{
    struct arena arena;
    struct listing listing;
    struct err err = ERR_INIT;
    arena_init(&arena);
    if (listing_read(&listing, &arena, directory, &err) != 0)
        search->unread++;
    if (listing.cut)
        search->unread++;
    for (size_t i = 0; i < listing.count; i++) {
        if (search->stopped || tool_cancelled(search->context))
            break;
        const struct listing_entry *entry = &listing.entries[i];
        struct str below = str_is(path, ".")
                               ? str_from(entry->name)
                               : arena_printf(&arena, "%.*s/%s", STR_FMT(path), entry->name);
        walk_entry(search, directory, entry, below, depth);
    }
    arena_release(&arena);
}

/* --- the call --------------------------------------------------------------------------------- */

static void add_notes(const struct search *search)
{
    struct buf *text = &search->result->text;
    if (search->found == 0 && !search->cut)
        buf_text(text, "[no matches]\n");
    if (search->cut)
        buf_printf(text, "[truncated after %lld matches: narrow the pattern, path or glob]\n",
                   (long long)search->found);
    if (search->binary)
        buf_printf(text, "[%zu binary files skipped]\n", search->binary);
    if (search->large)
        buf_printf(text, "[%zu files over %u MB skipped]\n", search->large, FILE_MOST >> 20);
    if (search->unread + search->deep)
        buf_printf(text, "[%zu files or directories could not be searched]\n",
                   search->unread + search->deep);
}

/* Searches a directory, or the one file that the path names. -1 with the error in the result. */
static int search_path(struct search *search, struct str path)
{
    const struct tool_context *context = search->context;
    struct err err = ERR_INIT;
    struct scope_file file;
    if (scope_open_dir(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS, &file,
                       &err) == 0) {
        struct str place = str_from(file.path);
        search->root_length = str_is(place, ".") ? 0 : place.n + 1;
        walk(search, file.fd, place, 0);
        close(file.fd);
        return 0;
    }
    if (err.class == ERR_USAGE) {
        if (scope_open_read(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS,
                            &file, &err) != 0)
            return tool_fail_err(search->result, &err);
        search_file(search, file.fd, &file.status, str_from(file.path));
        close(file.fd);
        return 0;
    }
    if (err.class == ERR_NOT_FOUND)
        return near_fail(context, path, &err, search->result);
    return tool_fail_err(search->result, &err);
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
    struct search search = {
        .context = context,
        .result = result,
        .glob = js_get_str(arguments, "glob"),
        .around = js_get_int(arguments, "context", 0),
        .most = js_get_int(arguments, "max_results", RESULTS_DEFAULT),
    };
    enum pattern_case cases =
        js_get_bool(arguments, "ignore_case", false) ? PATTERN_ANY_CASE : PATTERN_EXACT_CASE;
    if (pattern_compile(js_get_str(arguments, "pattern"), cases, &search.pattern, &err) != 0) {
        tool_fail_err(result, &err);
        return;
    }
    buf_init(&search.content, FILE_MOST + (1u << 20));
    if (search_path(&search, path) == 0) {
        if (tool_cancelled(context))
            tool_fail_cancelled(result);
        else if (search.err.class != ERR_NONE)
            tool_fail_err(result, &search.err);
        else
            add_notes(&search);
    }
    buf_release(&search.content);
    pattern_free(search.pattern);
}

const struct tool tool_grep = {
    .name = "grep",
    .description = "Search file contents with a regular expression. Shows path:line:text for each "
                   "matching line.",
    .schema = schema,
    .prepare = NULL,
    .run = grep_run,
};
