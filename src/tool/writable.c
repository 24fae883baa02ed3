/* See writable.h. A walk by breadth, so that a bound cuts off what lies deep. Directories are opened by the scope: no link is
 * followed, .git is not entered. */
#include "tool/writable.h"

#include <unistd.h>

#include "base/pathrule.h"
#include "os/scope.h"
#include "tool/listing.h"
#include "tool/result.h"

static const struct str everywhere = {".", 1};
static const struct scope_allow anywhere = {&everywhere, 1};

static void add(struct writable *out, struct arena *arena, struct str path)
{
    for (size_t i = 0; i < out->count; i++)
        if (str_eq(out->paths[i], path))
            return;
    if (out->count == WRITABLE_PLACES)
        out->state = WRITABLE_CUT;
    else
        out->paths[out->count++] = arena_copy(arena, path);
}

/* The place itself, where it is there. */
static void add_place(const struct tool_context *context, struct arena *arena,
                      const struct pathrule *rule, struct writable *out)
{
    struct scope_file file;
    struct err ignored = ERR_INIT;
    bool found = scope_open_dir(context->scope, rule->directory, anywhere, SCOPE_REFUSE_LINKS,
                                &file, &ignored) == 0;
    ignored = ERR_INIT;
    if (!found && rule->reach == REACH_SELF)
        found = scope_open_read(context->scope, rule->directory, anywhere, SCOPE_REFUSE_LINKS,
                                &file, &ignored) == 0;
    if (!found)
        return;
    close(file.fd);
    add(out, arena, rule->directory);
}

/* Directories that wait to be looked into. */
struct queue {
    struct arena arena;
    struct str *paths;
    size_t head, count;
};

/* Looks into one directory: those with the name are found, others wait. */
static void look_into(const struct tool_context *context, struct arena *arena,
                      const struct pathrule *rule, struct queue *queue, struct writable *out)
{
    struct str path = queue->paths[queue->head++];
    struct scope_file directory;
    struct listing listing;
    struct err ignored = ERR_INIT;
    if (scope_open_dir(context->scope, path, anywhere, SCOPE_REFUSE_LINKS, &directory, &ignored))
        return;
    int result = listing_read(&listing, &queue->arena, directory.fd, &ignored);
    close(directory.fd);
    if (result != 0)
        return;
    if (listing.cut)
        out->state = WRITABLE_CUT;
    for (size_t i = 0; i < listing.count; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (entry->kind != LISTING_DIRECTORY)
            continue;
        struct str below = str_is(path, ".")
                               ? str_from(entry->name)
                               : arena_printf(&queue->arena, "%.*s/%s", STR_FMT(path), entry->name);
        if (str_is(rule->name, entry->name))
            add(out, arena, below);
        else if (below.n >= SCOPE_PATH_MAX || queue->count == WRITABLE_LOOKED_AT)
            out->state = WRITABLE_CUT;
        else
            queue->paths[queue->count++] = below;
    }
}

static void add_named(const struct tool_context *context, struct arena *arena,
                      const struct pathrule *rule, struct writable *out)
{
    struct queue queue = {.count = 1};
    arena_init(&queue.arena);
    queue.paths = arena_alloc(&queue.arena, WRITABLE_LOOKED_AT * sizeof *queue.paths);
    queue.paths[0] = rule->directory;
    while (queue.head < queue.count && out->count < WRITABLE_PLACES && !tool_cancelled(context))
        look_into(context, arena, rule, &queue, out);
    if (queue.head < queue.count)
        out->state = WRITABLE_CUT;
    arena_release(&queue.arena);
}

void writable_find(const struct tool_context *context, struct arena *arena, struct writable *out)
{
    *out = (struct writable){.state = WRITABLE_ALL};
    out->paths = arena_alloc(arena, WRITABLE_PLACES * sizeof *out->paths);
    for (size_t i = 0; i < context->write_count; i++) {
        struct pathrule rule;
        if (!pathrule_read(context->write_paths[i], &rule))
            continue;
        if (rule.reach == REACH_NAMED)
            add_named(context, arena, &rule, out);
        else
            add_place(context, arena, &rule, out);
    }
}

void writable_places(const struct tool_context *context, struct arena *arena, struct writable *out)
{
    size_t count = context->write_count;
    *out = (struct writable){.count = count, .state = WRITABLE_ALL};
    out->paths = arena_alloc(arena, (count + 1) * sizeof *out->paths);
    for (size_t i = 0; i < count; i++) {
        struct pathrule rule;
        if (!pathrule_read(context->write_paths[i], &rule) || rule.reach != REACH_SELF) {
            writable_find(context, arena, out);
            return;
        }
        out->paths[i] = arena_copy(arena, context->write_paths[i]);
    }
}
