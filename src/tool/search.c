/* The tool `search`: files by a glob on their paths, newest first or by name. Runs on a pool
 * thread; looks at `cancelled` between files. */
#include <stdlib.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/glob.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/walk.h"

#define RESULTS_DEFAULT 100
#define RESULTS_MOST 1000
#define HELD_MOST (16u << 20) /* bytes of paths that are compared */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\","
    "\"description\":\"Like src/**/*.{c,h}\"},\"path\":{\"type\":\"string\"},\"ignored\":{"
    "\"type\":\"boolean\"}},\"required\":[\"pattern\"]}";
static const char unlisted[] = "{\"sort\":{\"type\":\"string\",\"enum\":[\"newest\",\"name\"]},"
                               "\"max_results\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"pattern", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, GLOB_MAX},
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"sort", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, 16},
    {"ignored", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"max_results", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, RESULTS_MOST},
};

struct found {
    struct str path;
    struct timespec changed;
};

struct search {
    struct walk walk;
    struct glob glob;
    struct arena arena; /* paths that matched */
    struct found *found;
    size_t count, room;
    bool cut; /* more matched than is compared */
};

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct search *search = user;
    struct stat status;
    if (!glob_match(&search->glob, file->below))
        return WALK_ON;
    if (search->arena.used + file->path.n > HELD_MOST) {
        search->cut = true;
        return WALK_STOP;
    }
    if (search->count == search->room) {
        search->room = search->room ? 2 * search->room : 64;
        struct found *grown = realloc(search->found, search->room * sizeof *grown);
        if (!grown)
            abort();
        search->found = grown;
    }
    struct found *found = &search->found[search->count++];
    *found = (struct found){.path = arena_copy(&search->arena, file->path)};
    if (walk_status(file, &status) == 0)
        found->changed = status.st_mtim;
    return WALK_ON;
}

static int newest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->changed.tv_sec != y->changed.tv_sec)
        return x->changed.tv_sec > y->changed.tv_sec ? -1 : 1;
    if (x->changed.tv_nsec != y->changed.tv_nsec)
        return x->changed.tv_nsec > y->changed.tv_nsec ? -1 : 1;
    return strcmp(x->path.p, y->path.p);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path.p, ((const struct found *)b)->path.p);
}

static const char *const sorts[] = {"newest", "name", NULL};
static int (*const sort_functions[])(const void *, const void *) = {newest_first, by_name};

static void show(struct search *search, size_t most, struct tool_result *result)
{
    size_t shown = 0;
    for (; shown < search->count && shown < most; shown++) {
        struct str path = search->found[shown].path;
        if (FILENAME_SHOWN(path.n) + 2 > tool_room(result))
            break;
        filename_show(&result->text, path);
        buf_char(&result->text, '\n');
    }
    if (search->count == 0 && search->walk.ignored)
        buf_printf(&result->text,
                   "[no files match; %zu files or directories are left out by .gitignore: "
                   "ignored=true searches them]\n",
                   search->walk.ignored);
    else if (search->count == 0)
        buf_text(&result->text, "[no files match]\n");
    if (shown < search->count || search->cut)
        buf_printf(&result->text,
                   "[truncated: %zu of %s%zu files; ask for a narrower pattern or path, or a "
                   "larger max_results]\n",
                   shown, search->cut ? "more than " : "", search->count);
    walk_notes(&search->walk, result);
}

static void search_run(const struct tool_context *context, const struct js *arguments,
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
    int sort = arguments_choice(arguments, "sort", sorts, 0, result);
    if (sort < 0)
        return;
    struct search search = {
        .walk = {.context = context,
                 .rules =
                     js_get_bool(arguments, "ignored", false) ? WALK_TAKES_ALL : WALK_HEEDS_RULES,
                 .file = visit},
    };
    search.walk.user = &search;
    arena_init(&search.arena);
    if (glob_compile(&search.glob, &search.arena, js_get_str(arguments, "pattern"), &err) != 0) {
        tool_fail_err(result, &err);
    } else if (walk_run(&search.walk, path, result) == 0) {
        if (search.count)
            qsort(search.found, search.count, sizeof *search.found, sort_functions[sort]);
        show(&search, (size_t)arguments_whole(arguments, "max_results", RESULTS_DEFAULT), result);
    }
    free(search.found);
    arena_release(&search.arena);
}

const struct tool tool_search = {
    .name = "search",
    .description = "Find files by glob, newest first.",
    .schema = schema,
    .unlisted = unlisted,
    .prepare = NULL,
    .run = search_run,
};
