/* The tool `ls`: the entries of a directory, sorted, to a given depth. Links are named, never
 * followed. Runs on a pool thread; looks at `cancelled` between directories. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/listing.h"
#include "tool/near.h"
#include "tool/result.h"
#include "tool/table.h"

#define ENTRIES_MAX 1000
#define DEPTH_MAX 8

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"depth\":{"
    "\"type\":\"integer\"}}}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"depth", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, DEPTH_MAX},
};

struct walk {
    const struct tool_context *context;
    struct tool_result *result;
    size_t shown;
    bool cut;     /* entries or text ran out */
    bool missing; /* a directory could not be opened */
};

/* One line; false when the list is full. */
static bool show_entry(struct walk *walk, struct arena *arena, int directory, struct str path,
                       const struct listing_entry *entry)
{
    static const char *const marks[] = {[LISTING_FILE] = "",
                                        [LISTING_DIRECTORY] = "",
                                        [LISTING_LINK] = " (symbolic link)",
                                        [LISTING_OTHER] = " (special file)"};
    char size[48] = "";
    struct stat status;
    if (entry->kind == LISTING_FILE &&
        fstatat(directory, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        snprintf(size, sizeof size, "  %lld bytes", (long long)status.st_size);
    if (walk->shown == ENTRIES_MAX ||
        FILENAME_SHOWN(path.n) + sizeof size + 20 > tool_room(walk->result)) {
        walk->cut = true;
        return false;
    }
    /* The slash belongs to the path: what stands in quotes can be asked for, and lengthened. */
    if (entry->kind == LISTING_DIRECTORY)
        path = arena_printf(arena, "%.*s/", STR_FMT(path));
    filename_show(&walk->result->text, path);
    buf_printf(&walk->result->text, "%s%s\n", marks[entry->kind], size);
    walk->shown++;
    return true;
}

static void walk_directory(struct walk *walk, int directory, struct str path, int64_t depth)
{
    struct err err = ERR_INIT;
    struct arena arena;
    struct listing listing;
    arena_init(&arena);
    if (listing_read(&listing, &arena, directory, &err) != 0)
        walk->missing = true;
    walk->cut |= listing.cut;
    for (size_t i = 0; i < listing.count && !tool_cancelled(walk->context); i++) {
        const struct listing_entry *entry = &listing.entries[i];
        struct str below = str_is(path, ".")
                               ? str_from(entry->name)
                               : arena_printf(&arena, "%.*s/%s", STR_FMT(path), entry->name);
        if (!show_entry(walk, &arena, directory, below, entry))
            break;
        if (entry->kind != LISTING_DIRECTORY || depth <= 1)
            continue;
        struct stat status;
        int fd =
            scope_open_entry(walk->context->scope, directory, entry->name, O_DIRECTORY, &status);
        if (fd < 0) {
            walk->missing = true;
            continue;
        }
        walk_directory(walk, fd, below, depth - 1);
        close(fd);
        if (walk->cut)
            break;
    }
    arena_release(&arena);
}

static void ls_run(const struct tool_context *context, const struct js *arguments,
                   const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    struct str path;
    struct scope_file directory;
    struct walk walk = {.context = context, .result = result};
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        return;
    if (scope_open_dir(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS,
                       &directory, &err) != 0) {
        if (err.class == ERR_NOT_FOUND)
            near_fail(context, path, &err, result);
        else if (err.class == ERR_USAGE)
            tool_fail(result, "%s; use read to see a file", err.message);
        else
            tool_fail_err(result, &err);
        return;
    }
    walk_directory(&walk, directory.fd, str_from(directory.path),
                   arguments_whole(arguments, "depth", 1));
    close(directory.fd);
    if (tool_cancelled(context)) {
        tool_fail_cancelled(result);
        return;
    }
    if (walk.shown == 0 && !walk.cut)
        buf_text(&result->text, "[the directory is empty]\n");
    if (walk.cut)
        buf_printf(&result->text, "[truncated after %zu entries: list a directory below]\n",
                   walk.shown);
    if (walk.missing)
        buf_text(&result->text, "[some directories could not be opened]\n");
}

const struct tool tool_ls = {
    .name = "ls",
    .description = "List a directory with file sizes.",
    .schema = schema,
    .prepare = NULL,
    .run = ls_run,
};
