/* The walk (see walk.h). */
#include "tool/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tool/file.h"
#include "tool/ignore.h"
#include "tool/listing.h"
#include "tool/near.h"
#include "tool/result.h"
#include "tool/text.h"

#define FILES_PER_WORD 5000 /* between two words about how far it is */

/* --- ignore rules ----------------------------------------------------------------------------- */

/* Reads the rules in an opened file; the text stays in the arena. */
static void load_rules(const struct walk *walk, struct ignore_level *level, struct arena *arena,
                       int fd, off_t size)
{
    struct err err = ERR_INIT;
    size_t most = size < (off_t)IGNORE_FILE_MAX ? (size_t)size : IGNORE_FILE_MAX;
    char *text = arena_alloc(arena, most + 1);
    size_t n = 0;
    ssize_t more;
    while (n < most && (more = file_read(walk->context, fd, text + n, most - n, &err)) > 0)
        n += (size_t)more;
    ignore_parse(level, arena, (struct str){text, n});
}

/* The rules of the directories above the one where the walk starts, as far as they may be read. */
static const struct ignore_level *rules_above(const struct walk *walk, struct arena *arena,
                                              struct str path)
{
    const struct ignore_level *top = NULL;
    if (walk->rules == WALK_TAKES_ALL || str_is(path, "."))
        return NULL;
    for (size_t end = 0; end < path.n; end++) {
        if (end > 0 && path.p[end] != '/')
            continue;
        struct err err = ERR_INIT;
        struct scope_file file;
        struct str directory = end ? (struct str){path.p, end} : STR(".");
        struct str name =
            end ? arena_printf(arena, "%.*s/%s", (int)end, path.p, IGNORE_NAME) : STR(IGNORE_NAME);
        if (scope_open_read(walk->context->scope, name, file_read_allow(walk->context),
                            SCOPE_REFUSE_LINKS, &file, &err) != 0)
            continue;
        struct ignore_level *level = arena_alloc(arena, sizeof *level);
        *level = (struct ignore_level){.above = top, .directory = directory};
        load_rules(walk, level, arena, file.fd, file.status.st_size);
        close(file.fd);
        top = level;
    }
    return top;
}

/* The rules that hold in a directory: its own file's, if it has one, and those above. */
static const struct ignore_level *rules_here(const struct walk *walk, struct arena *arena,
                                             const struct listing *listing, int directory,
                                             struct str path, const struct ignore_level *above)
{
    struct stat status;
    bool has = false;
    for (size_t i = 0; i < listing->count && !has; i++)
        has = strcmp(listing->entries[i].name, IGNORE_NAME) == 0;
    if (!has || walk->rules == WALK_TAKES_ALL)
        return above;
    int fd = scope_open_entry(walk->context->scope, directory, IGNORE_NAME, 0, &status);
    if (fd < 0)
        return above;
    struct ignore_level *level = arena_alloc(arena, sizeof *level);
    *level = (struct ignore_level){.above = above, .directory = path};
    load_rules(walk, level, arena, fd, status.st_size);
    close(fd);
    return level;
}

/* --- directories ------------------------------------------------------------------------------ */

static enum walk_step walk_directory(struct walk *walk, int directory, struct str path, int depth,
                                     const struct ignore_level *above);

static enum walk_step visit_file(struct walk *walk, int directory, const char *name,
                                 struct str path)
{
    if (walk->files == WALK_FILES) {
        walk->state = WALK_CUT;
        return WALK_STOP;
    }
    walk->files++;
    if (walk->files % FILES_PER_WORD == 0 && walk->context->progress) {
        char text[64];
        int n = snprintf(text, sizeof text, "%zu files", walk->files);
        walk->context->progress(walk->context->progress_user, (struct str){text, (size_t)n});
    }
    struct walk_file file = {.path = path,
                             .below = {path.p + walk->start, path.n - walk->start},
                             .name = name,
                             .directory = directory,
                             .opened = -1};
    return walk->file(walk->user, &file);
}

static enum walk_step visit_entry(struct walk *walk, int directory,
                                  const struct listing_entry *entry, struct str path, int depth,
                                  const struct ignore_level *rules)
{
    struct stat status;
    bool enter = entry->kind == LISTING_DIRECTORY;
    if (!enter && entry->kind != LISTING_FILE)
        return WALK_ON;
    if (ignore_match(rules, path, enter ? IGNORE_DIRECTORY : IGNORE_FILE)) {
        walk->ignored++;
        return WALK_ON;
    }
    if (!enter)
        return visit_file(walk, directory, entry->name, path);
    int fd = depth == WALK_DEPTH ? -1
                                 : scope_open_entry(walk->context->scope, directory, entry->name,
                                                    O_DIRECTORY, &status);
    if (fd < 0) {
        walk->unread++;
        return WALK_ON;
    }
    enum walk_step step = walk_directory(walk, fd, path, depth + 1, rules);
    close(fd);
    return step;
}

static enum walk_step walk_directory(struct walk *walk, int directory, struct str path, int depth,
                                     const struct ignore_level *above)
{
    struct arena arena;
    struct listing listing;
    struct err err = ERR_INIT;
    enum walk_step step = WALK_ON;
    arena_init(&arena);
    if (listing_read(&listing, &arena, directory, &err) != 0 || listing.cut)
        walk->unread++;
    const struct ignore_level *rules = rules_here(walk, &arena, &listing, directory, path, above);
    for (size_t i = 0; i < listing.count && step == WALK_ON; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        struct str below = str_is(path, ".")
                               ? str_from(entry->name)
                               : arena_printf(&arena, "%.*s/%s", STR_FMT(path), entry->name);
        if (tool_cancelled(walk->context))
            step = WALK_STOP;
        else if (below.n >= SCOPE_PATH_MAX)
            walk->unread++;
        else
            step = visit_entry(walk, directory, entry, below, depth, rules);
    }
    arena_release(&arena);
    return step;
}

/* --- the start -------------------------------------------------------------------------------- */

static int visit_one(struct walk *walk, struct str path, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct scope_file opened;
    if (scope_open_read(walk->context->scope, path, file_read_allow(walk->context),
                        SCOPE_FOLLOW_LINKS, &opened, &err) != 0)
        return tool_fail_err(result, &err);
    const char *slash = strrchr(opened.path, '/');
    const char *name = slash ? slash + 1 : opened.path;
    struct walk_file file = {.path = str_from(opened.path),
                             .below = str_from(name),
                             .name = name,
                             .directory = -1,
                             .opened = opened.fd};
    walk->files++;
    walk->file(walk->user, &file);
    close(opened.fd);
    return 0;
}

int walk_run(struct walk *walk, struct str path, struct tool_result *result)
{
    const struct tool_context *context = walk->context;
    struct err err = ERR_INIT;
    struct scope_file directory;
    if (scope_open_dir(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS,
                       &directory, &err) == 0) {
        struct arena arena;
        arena_init(&arena);
        struct str place = str_from(directory.path);
        walk->start = str_is(place, ".") ? 0 : place.n + 1;
        walk_directory(walk, directory.fd, place, 0, rules_above(walk, &arena, place));
        arena_release(&arena);
        close(directory.fd);
        return tool_cancelled(context) ? tool_fail_cancelled(result) : 0;
    }
    if (err.class == ERR_USAGE)
        return visit_one(walk, path, result);
    if (err.class == ERR_NOT_FOUND)
        return near_fail(context, path, &err, result);
    return tool_fail_err(result, &err);
}

/* --- files ------------------------------------------------------------------------------------ */

int walk_open(const struct walk *walk, const struct walk_file *file, struct stat *status)
{
    if (file->directory >= 0)
        return scope_open_entry(walk->context->scope, file->directory, file->name, 0, status);
    if (fstat(file->opened, status) != 0)
        return -1;
    return fcntl(file->opened, F_DUPFD_CLOEXEC, 0);
}

int walk_status(const struct walk_file *file, struct stat *status)
{
    return file->directory >= 0 ? fstatat(file->directory, file->name, status, AT_SYMLINK_NOFOLLOW)
                                : fstat(file->opened, status);
}

/* UTF-16 becomes UTF-8, a byte order mark goes. */
static enum walk_refusal decode(struct buf *content)
{
    enum text_encoding encoding = text_detect(buf_view(content));
    if (encoding == TEXT_BINARY)
        return WALK_BINARY;
    if (encoding == TEXT_UTF8)
        return WALK_FINE;
    struct text_decoder decoder;
    struct buf text;
    buf_init(&text, 3 * content->n + 8);
    text_decoder_init(&decoder, encoding);
    text_decode(&decoder, buf_view(content), &text);
    text_decode_end(&decoder, &text);
    text.max = content->max;
    buf_release(content);
    *content = text;
    return WALK_FINE;
}

enum walk_refusal walk_load(const struct walk *walk, const struct walk_file *file, size_t max,
                            struct buf *content)
{
    struct stat status;
    struct err err = ERR_INIT;
    struct scope_file opened = {.fd = walk_open(walk, file, &status)};
    enum walk_refusal refusal = WALK_UNREAD;
    buf_clear(content);
    if (opened.fd < 0)
        return WALK_UNREAD;
    snprintf(opened.path, sizeof opened.path, "%.*s", STR_FMT(file->path));
    if (status.st_size > (off_t)max)
        refusal = WALK_LARGE;
    else if (file_load(walk->context, &opened, max, content, &err) == 0)
        refusal = decode(content);
    else if (err.class == ERR_USAGE)
        refusal = WALK_LARGE;
    close(opened.fd);
    return refusal;
}

void walk_notes(const struct walk *walk, struct tool_result *result)
{
    if (walk->state == WALK_CUT)
        buf_printf(&result->text, "[stopped after %d files: name a directory below]\n", WALK_FILES);
    if (walk->unread)
        buf_printf(&result->text, "[%zu files or directories could not be searched]\n",
                   walk->unread);
}
