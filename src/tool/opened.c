/* See opened.h. The kernel keeps a bounded queue of what happens; where it overflows, what was lost is not known, and what is known
 * is told. */
#include "tool/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/map.h"
#include "tool/result.h"
#include "tool/walk.h"

struct opened {
    int fd;
    struct arena arena;
    struct str directories[OPENED_DIRECTORIES_MAX + 1]; /* by the kernel's number, from 1 */
    size_t count;
    struct str last; /* the directory of the file before */
};

static struct str directory_of(struct str path, const char *name)
{
    size_t n = path.n - strlen(name);
    return n == 0 ? STR(".") : (struct str){path.p, n - 1};
}

static enum walk_step watch_directory(void *user, const struct walk_file *file)
{
    struct opened *opened = user;
    char path[64];
    if (file->directory < 0)
        return WALK_ON; /* a read path that is one file: its directory is not ours to watch */
    struct str directory = directory_of(file->path, file->name);
    if (opened->last.p != NULL && str_eq(directory, opened->last))
        return WALK_ON;
    if (opened->count == OPENED_DIRECTORIES_MAX)
        return WALK_STOP;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->directory);
    int number = inotify_add_watch(opened->fd, path, IN_CLOSE_NOWRITE | IN_ONLYDIR);
    opened->last = arena_copy(&opened->arena, directory);
    if (number < 1 || number > OPENED_DIRECTORIES_MAX)
        return WALK_STOP;
    opened->directories[number] = opened->last;
    opened->count++;
    return WALK_ON;
}

struct opened *opened_watch(const struct tool_context *context)
{
    struct opened *opened = calloc(1, sizeof *opened);
    struct tool_result ignored = {.kind = RESULT_OK};
    if (opened == NULL)
        abort();
    arena_init(&opened->arena);
    opened->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (opened->fd < 0) {
        opened_free(opened);
        return NULL;
    }
    tool_result_start(context, &ignored);
    for (size_t i = 0; i < context->read_count; i++) {
        struct walk walk = {.context = context, .file = watch_directory, .user = opened};
        if (walk_run(&walk, context->read_paths[i], &ignored) != 0)
            continue; /* a path that leads to nothing */
    }
    buf_release(&ignored.text);
    return opened;
}

static void take_event(const struct opened *opened, const struct inotify_event *event,
                       struct map *seen, const struct tool_context *context,
                       struct tool_result *result)
{
    if ((event->mask & IN_ISDIR) != 0 || event->len == 0 || event->wd < 1 ||
        event->wd > OPENED_DIRECTORIES_MAX || seen->count == OPENED_FILES_MAX)
        return;
    struct str directory = opened->directories[event->wd];
    if (directory.p == NULL)
        return;
    struct str path = str_is(directory, ".") ? arena_copy(context->arena, str_from(event->name))
                                             : arena_printf(context->arena, "%.*s/%s",
                                                            STR_FMT(directory), event->name);
    if (map_get(seen, path) != NULL)
        return;
    map_set(seen, path, (void *)opened);
    tool_add_read(context, result, path);
}

void opened_tell(struct opened *opened, const struct tool_context *context,
                 struct tool_result *result)
{
    _Alignas(struct inotify_event) char block[65536];
    struct map seen;
    ssize_t n;
    if (opened == NULL)
        return;
    map_init(&seen);
    while ((n = read(opened->fd, block, sizeof block)) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const struct inotify_event *)(block + at);
            take_event(opened, event, &seen, context, result);
            at += (ssize_t)sizeof *event + (ssize_t)event->len;
        }
    }
    map_release(&seen);
}

void opened_free(struct opened *opened)
{
    if (opened == NULL)
        return;
    if (opened->fd >= 0)
        close(opened->fd);
    arena_release(&opened->arena);
    free(opened);
}
