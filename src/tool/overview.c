/* The tool `overview`: a tree at a glance: languages by lines, top directories, sizes, what project
 * files say, likely entry points, how it is tested, the README's first lines. One walk; files are
 * read to count their lines, up to a bound. Runs on a pool thread; looks at `cancelled` between
 * files. */
#include <stdlib.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/language.h"
#include "tool/manifest.h"
#include "tool/result.h"
#include "tool/suites.h"
#include "tool/table.h"
#include "tool/walk.h"

#define FILE_MOST (2u << 20)   /* bytes of a file whose lines are counted */
#define READ_MOST (256u << 20) /* bytes that are read in all */
#define DIRECTORIES_MOST 1000  /* that are counted */
#define DIRECTORIES_SHOWN 25
#define LANGUAGES_SHOWN 12
#define LARGEST 5
#define ENTRIES_MOST 12
#define MANIFESTS_MOST 10
#define MANIFEST_DEPTH 1     /* slashes in the path of a project file that is read */
#define DESCRIPTION_MAX 4000 /* bytes of what one project file says */
#define COMMAND_SHOWN 200    /* bytes */
#define README_LINES 15
#define README_BYTES 1500

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
};

struct tally {
    const char *name;
    uint64_t files, bytes, lines;
};

struct large {
    struct str path;
    uint64_t bytes;
};

struct overview {
    struct walk walk;
    struct arena arena;
    struct tally *languages;   /* one for each of the table, and one for all others */
    struct tally *directories; /* the first: files that lie at the top */
    size_t directory_count;
    struct tally all;
    struct large largest[LARGEST];
    struct str entries[ENTRIES_MOST];
    size_t entry_count;
    struct buf said; /* what project files say */
    size_t manifest_count;
    struct buf readme;
    struct str readme_path;
    struct buf content;
    uint64_t read;
};

/* --- looking ---------------------------------------------------------------------------------- */

static void add(struct tally *tally, uint64_t bytes, uint64_t lines)
{
    tally->files++;
    tally->bytes += bytes;
    tally->lines += lines;
}

/* The walk is sorted, so the files of one directory come one after the other. */
static struct tally *directory_of(struct overview *overview, struct str below)
{
    const char *slash = memchr(below.p, '/', below.n);
    if (!slash)
        return &overview->directories[0];
    struct str name = {below.p, (size_t)(slash - below.p)};
    struct tally *last = &overview->directories[overview->directory_count - 1];
    if (overview->directory_count > 1 && str_is(name, last->name))
        return last;
    if (overview->directory_count == DIRECTORIES_MOST)
        return last;
    last = &overview->directories[overview->directory_count++];
    last->name = arena_copy(&overview->arena, name).p;
    return last;
}

static void note_largest(struct overview *overview, struct str path, uint64_t bytes)
{
    size_t at = LARGEST;
    while (at > 0 && overview->largest[at - 1].bytes < bytes)
        at--;
    if (at == LARGEST)
        return;
    memmove(&overview->largest[at + 1], &overview->largest[at],
            (LARGEST - 1 - at) * sizeof overview->largest[0]);
    overview->largest[at] = (struct large){arena_copy(&overview->arena, path), bytes};
}

static void note_entry(struct overview *overview, const struct walk_file *file)
{
    static const char *const names[] = {
        "main.c",   "main.cc",   "main.cpp",  "main.go",   "main.rs",   "main.py",    "__main__.py",
        "app.py",   "manage.py", "cli.py",    "index.js",  "index.ts",  "index.tsx",  "main.ts",
        "main.tsx", "main.js",   "server.js", "server.ts", "Main.java", "Program.cs", "main.kt",
        "main.rb",  "main.zig",  "lib.rs",    "main.dart", "mod.ts",    "index.html",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(file->name, names[i]) == 0 && overview->entry_count < ENTRIES_MOST)
            overview->entries[overview->entry_count++] = arena_copy(&overview->arena, file->path);
}

static size_t depth_of(struct str below)
{
    size_t depth = 0;
    for (size_t i = 0; i < below.n; i++)
        depth += below.p[i] == '/';
    return depth;
}

/* The content is loaded. */
static void note_content(struct overview *overview, const struct walk_file *file)
{
    struct str text = buf_view(&overview->content);
    size_t depth = depth_of(file->below);
    const struct manifest *manifest = manifest_of_file(str_from(file->name));
    if (manifest && depth <= MANIFEST_DEPTH && overview->manifest_count < MANIFESTS_MOST) {
        struct buf said;
        buf_init(&said, DESCRIPTION_MAX);
        manifest_describe(manifest, (struct str){text.p, text.n < MANIFEST_MAX ? text.n : 0},
                          &said);
        filename_show(&overview->said, file->path);
        buf_char(&overview->said, '\n');
        utf8_clean(&overview->said, buf_view(&said), UTF8_LINES);
        overview->manifest_count++;
        buf_release(&said);
    }
    if (depth == 0 && !overview->readme_path.p && strncasecmp(file->name, "readme", 6) == 0) {
        size_t n = 0;
        for (int lines = 0; n < text.n && n < README_BYTES && lines < README_LINES; n++)
            lines += text.p[n] == '\n';
        overview->readme_path = arena_copy(&overview->arena, file->path);
        utf8_clean(&overview->readme, utf8_cut(text, n), UTF8_LINES);
    }
}

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct overview *overview = user;
    const struct language *language = language_of_file(str_from(file->name));
    struct stat status;
    uint64_t lines = 0;
    if (walk_status(file, &status) != 0)
        return WALK_ON;
    uint64_t bytes = (uint64_t)status.st_size;
    bool known = language || manifest_of_file(str_from(file->name)) ||
                 strncasecmp(file->name, "readme", 6) == 0;
    if (known && overview->read < READ_MOST &&
        walk_load(&overview->walk, file, FILE_MOST, &overview->content) == WALK_FINE) {
        overview->read += overview->content.n;
        lines = file_count_lines(buf_view(&overview->content));
        note_content(overview, file);
    }
    add(&overview->all, bytes, lines);
    add(&overview->languages[language ? language - languages : (ptrdiff_t)language_count], bytes,
        lines);
    add(directory_of(overview, file->below), bytes, lines);
    note_largest(overview, file->path, bytes);
    note_entry(overview, file);
    return WALK_ON;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void add_size(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 10240 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        unit++;
    }
    buf_printf(out, "%llu %s", (unsigned long long)bytes, units[unit]);
}

static int most_lines(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;
    if (x->lines != y->lines)
        return x->lines > y->lines ? -1 : 1;
    return x->files == y->files ? 0 : x->files > y->files ? -1 : 1;
}

static void show_tally(struct tool_result *result, struct str name, const char *mark,
                       const struct tally *tally)
{
    file_name(result, name);
    buf_printf(&result->text, "%s: %llu files, %llu lines, ", mark,
               (unsigned long long)tally->files, (unsigned long long)tally->lines);
    add_size(&result->text, tally->bytes);
    buf_char(&result->text, '\n');
}

static void show_languages(const struct overview *overview, struct tool_result *result)
{
    for (size_t i = 0; i < language_count; i++)
        overview->languages[i].name = languages[i].name;
    overview->languages[language_count].name = "others";
    qsort(overview->languages, language_count + 1, sizeof *overview->languages, most_lines);
    buf_text(&result->text, "languages:\n");
    for (size_t i = 0; i < LANGUAGES_SHOWN && overview->languages[i].files > 0; i++) {
        buf_text(&result->text, "  ");
        show_tally(result, str_from(overview->languages[i].name), "", &overview->languages[i]);
    }
}

static void show_layout(const struct overview *overview, struct tool_result *result)
{
    size_t shown = 0;
    struct buf name;
    buf_init(&name, SCOPE_PATH_MAX + 2);
    buf_text(&result->text, "layout:\n");
    if (overview->directories[0].files > 0)
        show_tally(result, STR("  ."), " (files at the top)", &overview->directories[0]);
    for (size_t i = 1; i < overview->directory_count && shown < DIRECTORIES_SHOWN; i++, shown++) {
        if (tool_room(result) < 2000)
            break;
        buf_text(&result->text, "  ");
        buf_clear(&name);
        buf_printf(&name, "%s/", overview->directories[i].name);
        show_tally(result, buf_view(&name), "", &overview->directories[i]);
    }
    buf_release(&name);
    if (shown + 1 < overview->directory_count)
        buf_printf(&result->text, "  [%zu more directories: ask ls]\n",
                   overview->directory_count - 1 - shown);
    buf_text(&result->text, "largest files:\n");
    for (size_t i = 0; i < LARGEST && overview->largest[i].path.p; i++) {
        buf_text(&result->text, "  ");
        file_name(result, overview->largest[i].path);
        buf_text(&result->text, ": ");
        add_size(&result->text, overview->largest[i].bytes);
        buf_char(&result->text, '\n');
    }
}

/* The command as a suite runs it when nothing is asked for: its arguments stand at the end. */
static struct str command_of(const struct suite *suite)
{
    const char *end = strstr(suite->script, "${");
    struct str command = str_from(suite->script);
    if (end)
        command.n = (size_t)(end - suite->script);
    while (command.n > 0 && strchr(" -", command.p[command.n - 1]))
        command.n--;
    return command;
}

static void show_test(const struct overview *overview, struct str path, struct tool_result *result)
{
    struct tool_context here = *overview->walk.context;
    struct str command = here.services ? here.services->test_command : STR_NONE;
    here.working_directory = path;
    const struct suite *suite = command.n ? NULL : suite_find(&here);
    if (suite)
        command = command_of(suite);
    if (command.n == 0 || tool_room(result) < 1000)
        return;
    buf_text(&result->text, "tests: ");
    tool_add_clean(result, utf8_cut(command, COMMAND_SHOWN));
    buf_text(&result->text, suite ? " (a guess)\n" : " (from the config)\n");
}

/* As much of a longer text as fits. */
static void show_text(struct tool_result *result, const char *title, struct str text)
{
    size_t room = tool_room(result);
    if (text.n == 0 || room < 200)
        return;
    struct str shown = utf8_cut(text, room - 100);
    buf_text(&result->text, title);
    buf_str(&result->text, shown);
    if (shown.n > 0 && shown.p[shown.n - 1] != '\n')
        buf_char(&result->text, '\n');
    if (shown.n < text.n)
        buf_text(&result->text, "[truncated: ask read for the files themselves]\n");
}

static void show(const struct overview *overview, struct str path, struct tool_result *result)
{
    struct buf *text = &result->text;
    if (overview->all.files == 0) {
        buf_text(text, "[there are no files]\n");
        walk_notes(&overview->walk, result);
        return;
    }
    show_tally(result, STR("total"), "", &overview->all);
    show_languages(overview, result);
    show_layout(overview, result);
    if (overview->entry_count > 0)
        buf_text(text, "likely entry points:\n");
    for (size_t i = 0; i < overview->entry_count && tool_room(result) > 1000; i++) {
        buf_text(text, "  ");
        file_name(result, overview->entries[i]);
        buf_char(text, '\n');
    }
    show_test(overview, path, result);
    show_text(result, "project files:\n", buf_view(&overview->said));
    if (overview->readme_path.p) {
        show_text(result, "readme:\n", buf_view(&overview->readme));
        tool_add_read(overview->walk.context, result, overview->readme_path);
    }
    if (overview->read >= READ_MOST)
        buf_printf(text, "[lines are counted in the first %u MB only]\n", READ_MOST >> 20);
    if (overview->walk.ignored)
        buf_printf(text, "[%zu files or directories are left out by .gitignore]\n",
                   overview->walk.ignored);
    walk_notes(&overview->walk, result);
}

static void overview_run(const struct tool_context *context, const struct js *arguments,
                         const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct str path;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        return;
    struct overview overview = {.walk = {.context = context, .file = visit}, .directory_count = 1};
    overview.walk.user = &overview;
    arena_init(&overview.arena);
    buf_init(&overview.content, FILE_MOST + (1u << 20));
    buf_init(&overview.said, MANIFESTS_MOST * (3 * DESCRIPTION_MAX + 3 * SCOPE_PATH_MAX));
    buf_init(&overview.readme, 3 * README_BYTES + 16);
    overview.languages =
        arena_alloc(&overview.arena, (language_count + 1) * sizeof *overview.languages);
    overview.directories =
        arena_alloc(&overview.arena, DIRECTORIES_MOST * sizeof *overview.directories);
    if (walk_run(&overview.walk, path, result) == 0)
        show(&overview, path, result);
    buf_release(&overview.content);
    buf_release(&overview.said);
    buf_release(&overview.readme);
    arena_release(&overview.arena);
}

const struct tool tool_overview = {
    .name = "overview",
    .description = "Summarize a project: languages, layout, entry points, tests.",
    .schema = schema,
    .prepare = NULL,
    .run = overview_run,
};
