/* The tool `docs_coverage`: how many public symbols have documentation, and the files where most is
 * missing. Runs on a pool thread; looks at `cancelled` between files. */
#include <stdlib.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/documented.h"
#include "tool/file.h"
#include "tool/glob.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/walk.h"

#define FILE_MOST (2u << 20)
#define FILES_MOST 20000 /* that are remembered */
#define NAMES_SHOWN 20   /* of one file */
#define FILES_DEFAULT 20
#define RESULTS_MOST 200

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"glob\":{"
    "\"type\":\"string\"}}}";
static const char unlisted[] = "{\"type\":{\"type\":\"string\"},"
                               "\"max_results\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"glob", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, GLOB_MAX},
    {"type", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 64},
    {"max_results", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MOST},
};

struct missing {
    struct str name;
    int64_t line;
};

struct covered {
    struct str path;
    const struct language *language;
    size_t symbols, undocumented;
    struct missing *names; /* the first NAMES_SHOWN of the undocumented */
};

struct coverage {
    struct walk walk;
    struct glob glob; /* count 0: all files */
    const struct language *language;
    struct documented *documented;
    struct arena arena; /* of files and names */
    struct covered *files;
    size_t count;
    struct covered current;
    struct missing names[NAMES_SHOWN];
    struct buf content;
    size_t large, unread;
    bool cut;
};

static void note_symbol(void *user, struct str name, int64_t line, enum documented_answer answer)
{
    struct coverage *coverage = user;
    struct covered *current = &coverage->current;
    current->symbols++;
    if (answer == DOCUMENTED_YES)
        return;
    if (current->undocumented < NAMES_SHOWN)
        coverage->names[current->undocumented] =
            (struct missing){arena_copy(&coverage->arena, utf8_cut(name, 100)), line};
    current->undocumented++;
}

static void keep_file(struct coverage *coverage, struct str path)
{
    struct covered *current = &coverage->current;
    size_t names = current->undocumented < NAMES_SHOWN ? current->undocumented : NAMES_SHOWN;
    current->path = arena_copy(&coverage->arena, path);
    if (names > 0) {
        current->names = arena_alloc(&coverage->arena, names * sizeof *current->names);
        memcpy(current->names, coverage->names, names * sizeof *current->names);
    }
    coverage->files[coverage->count++] = *current;
}

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct coverage *coverage = user;
    const struct language *language = language_of_file(str_from(file->name));
    if (!documented_knows(language, str_from(file->name)) ||
        (coverage->language && language != coverage->language) ||
        (coverage->glob.count && !glob_match(&coverage->glob, file->below) &&
         !glob_match(&coverage->glob, file->path)))
        return WALK_ON;
    if (coverage->count == FILES_MOST) {
        coverage->cut = true;
        return WALK_STOP;
    }
    enum walk_refusal refusal = walk_load(&coverage->walk, file, FILE_MOST, &coverage->content);
    coverage->large += refusal == WALK_LARGE;
    coverage->unread += refusal == WALK_UNREAD;
    if (refusal != WALK_FINE)
        return WALK_ON;
    coverage->current = (struct covered){.language = language};
    documented_read(coverage->documented, language, buf_view(&coverage->content), note_symbol,
                    coverage);
    if (coverage->current.symbols > 0)
        keep_file(coverage, file->path);
    return WALK_ON;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int worst_first(const void *a, const void *b)
{
    const struct covered *x = a, *y = b;
    if (x->undocumented != y->undocumented)
        return x->undocumented > y->undocumented ? -1 : 1;
    return strcmp(x->path.p, y->path.p);
}

static unsigned percent(size_t part, size_t whole)
{
    return whole ? (unsigned)(100 * part / whole) : 100;
}

static void show_totals(const struct coverage *coverage, struct buf *out)
{
    size_t symbols = 0, missing = 0;
    for (size_t i = 0; i < coverage->count; i++) {
        symbols += coverage->files[i].symbols;
        missing += coverage->files[i].undocumented;
    }
    buf_printf(out, "%zu public symbols in %zu files, %zu undocumented (%u %% documented)\n",
               symbols, coverage->count, missing, percent(symbols - missing, symbols));
    for (size_t l = 0; l < language_count; l++) {
        size_t files = 0;
        symbols = missing = 0;
        for (size_t i = 0; i < coverage->count; i++) {
            if (coverage->files[i].language != &languages[l])
                continue;
            files++;
            symbols += coverage->files[i].symbols;
            missing += coverage->files[i].undocumented;
        }
        if (files > 0)
            buf_printf(out, "  %s: %zu in %zu files, %zu undocumented (%u %%)\n", languages[l].name,
                       symbols, files, missing, percent(symbols - missing, symbols));
    }
}

/* path: 2 of 5 undocumented: name:12, other:30 */
static bool show_file(const struct covered *file, struct tool_result *result)
{
    size_t shown = file->undocumented < NAMES_SHOWN ? file->undocumented : NAMES_SHOWN;
    size_t need = FILENAME_SHOWN(file->path.n) + 100;
    for (size_t i = 0; i < shown; i++)
        need += 3 * file->names[i].name.n + 24;
    if (need > tool_room(result))
        return false;
    filename_show(&result->text, file->path);
    buf_printf(&result->text, ": %zu of %zu undocumented: ", file->undocumented, file->symbols);
    for (size_t i = 0; i < shown; i++) {
        buf_text(&result->text, i ? ", " : "");
        tool_add_clean(result, file->names[i].name);
        buf_printf(&result->text, ":%lld", (long long)file->names[i].line);
    }
    buf_text(&result->text, shown < file->undocumented ? ", …\n" : "\n");
    return true;
}

static void show(struct coverage *coverage, size_t most, struct tool_result *result)
{
    size_t shown = 0, left = 0;
    if (coverage->count == 0) {
        buf_text(&result->text, "[no public symbols found: C and C++ headers, Python, JavaScript, "
                                "TypeScript, Go, Rust, Java, C#, Ruby, PHP and Swift are known]\n");
    } else {
        show_totals(coverage, &result->text);
        qsort(coverage->files, coverage->count, sizeof *coverage->files, worst_first);
        for (size_t i = 0; i < coverage->count && coverage->files[i].undocumented > 0; i++) {
            if (left == 0 && shown < most && show_file(&coverage->files[i], result)) {
                tool_add_read(coverage->walk.context, result, coverage->files[i].path);
                shown++;
            } else {
                left++;
            }
        }
    }
    if (left)
        buf_printf(&result->text,
                   "[truncated: %zu more files have undocumented symbols; ask for a path, or a "
                   "larger max_results]\n",
                   left);
    if (coverage->cut)
        buf_printf(&result->text, "[stopped after %d files]\n", FILES_MOST);
    if (coverage->large + coverage->unread)
        buf_printf(&result->text, "[%zu files are too large or could not be read]\n",
                   coverage->large + coverage->unread);
    walk_notes(&coverage->walk, result);
}

static void docs_coverage_run(const struct tool_context *context, const struct js *arguments,
                              const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    struct str path;
    struct str glob = js_get_str(arguments, "glob");
    struct coverage coverage = {.walk = {.context = context, .file = visit}};
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0 ||
        language_argument(arguments, &coverage.language, result) != 0)
        return;
    arena_init(&coverage.arena);
    if (glob.p && glob_compile(&coverage.glob, &coverage.arena, glob, &err) != 0) {
        tool_fail_err(result, &err);
        arena_release(&coverage.arena);
        return;
    }
    coverage.walk.user = &coverage;
    coverage.documented = documented_new();
    coverage.files = arena_alloc(&coverage.arena, FILES_MOST * sizeof *coverage.files);
    buf_init(&coverage.content, FILE_MOST + (1u << 20));
    if (walk_run(&coverage.walk, path, result) == 0)
        show(&coverage, (size_t)arguments_whole(arguments, "max_results", FILES_DEFAULT), result);
    buf_release(&coverage.content);
    documented_free(coverage.documented);
    arena_release(&coverage.arena);
}

const struct tool tool_docs_coverage = {
    .name = "docs_coverage",
    .description = "Find public symbols without documentation.",
    .schema = schema,
    .unlisted = unlisted,
    .prepare = NULL,
    .run = docs_coverage_run,
};
