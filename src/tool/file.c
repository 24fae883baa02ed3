/* Shared steps of the file tools (see file.h). Runs on a pool thread and blocks on the disk. */
#include "tool/file.h"

#include <errno.h>
#include <unistd.h>

#include "base/filename.h"
#include "base/path.h"
#include "tool/reads.h"
#include "tool/result.h"

#define BLOCK (64u << 10)
#define NAME_SHOWN 300 /* bytes; the least result holds it */

struct scope_allow file_read_allow(const struct tool_context *context)
{
    return (struct scope_allow){context->read_paths, context->read_count};
}

struct scope_allow file_write_allow(const struct tool_context *context)
{
    return (struct scope_allow){context->write_paths, context->write_count};
}

int file_path(const struct tool_context *context, const struct js *arguments, struct str *path,
              struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct str asked = js_get_str(arguments, "path");
    struct str base = context->working_directory.n ? context->working_directory : STR(".");
    if (scope_path(context->scope, context->arena, base, asked.p ? asked : STR("."), path, &err) !=
        0)
        return tool_fail_err(result, &err);
    return 0;
}

ssize_t file_read(const struct tool_context *context, int fd, char *block, size_t size,
                  struct err *err)
{
    for (;;) {
        if (tool_cancelled(context))
            return err_set(err, ERR_CANCELLED, "cancelled");
        ssize_t n = read(fd, block, size);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return scope_explain(err, errno, "the file");
    }
}

int file_hash(const struct tool_context *context, int fd, struct hash *hash, struct err *err)
{
    char block[BLOCK];
    struct hasher hasher;
    ssize_t n;
    hasher_init(&hasher);
    while ((n = file_read(context, fd, block, sizeof block, err)) > 0)
        hasher_add(&hasher, block, (size_t)n);
    *hash = hasher_end(&hasher);
    return n < 0 ? -1 : 0;
}

int file_load(const struct tool_context *context, const struct scope_file *file, size_t max,
              struct buf *content, struct err *err)
{
    for (;;) {
        char *room = content->n <= max ? buf_reserve(content, BLOCK) : NULL;
        if (!room)
            return err_set(err, ERR_USAGE, "%s is too large: more than %zu bytes",
                           filename_of(str_from(file->path)).text, max);
        ssize_t n = file_read(context, file->fd, room, BLOCK, err);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        content->n += (size_t)n;
    }
    if (content->n > max)
        return err_set(err, ERR_USAGE, "%s is too large: more than %zu bytes",
                       filename_of(str_from(file->path)).text, max);
    return 0;
}

int file_text(const struct tool_context *context, struct str path, struct buf *text,
              struct err *err)
{
    struct str normal;
    struct scope_file file;
    struct buf content;
    if (scope_path(context->scope, context->arena, STR("."), path, &normal, err) != 0 ||
        scope_open_read(context->scope, normal, file_read_allow(context), SCOPE_FOLLOW_LINKS, &file,
                        err) != 0)
        return -1;
    buf_init(&content, context->max_result + 2 * BLOCK);
    int result = file_load(context, &file, context->max_result, &content, err);
    if (result == 0 && content.n > 0 && memchr(content.p, '\0', content.n))
        result =
            err_set(err, ERR_USAGE, "%s is a binary file", filename_of(str_from(file.path)).text);
    if (result == 0)
        utf8_mend(text, buf_view(&content));
    buf_release(&content);
    close(file.fd);
    return result;
}

/* The state of a place: present or absent, its hash, and the content where it is wanted. */
static int read_state(const struct tool_context *context, const struct place *place,
                      struct tool_prepared *state, struct buf *content, struct err *err)
{
    struct scope_file file;
    state->before = FILE_ABSENT;
    state->before_hash = (struct hash){0};
    if (place_read(place, &file, err) != 0)
        return err->class == ERR_NOT_FOUND ? 0 : -1;
    int result = 0;
    state->before = FILE_PRESENT;
    if (content) {
        result = file_load(context, &file, FILE_CONTENT_MAX, content, err);
        state->before_hash = hash_of(buf_view(content));
    } else {
        result = file_hash(context, file.fd, &state->before_hash, err);
    }
    close(file.fd);
    return result;
}

/* Does the file belong to the agent? What cadre itself reads never does. */
static int check_owner(const struct tool_context *context, struct str path, struct err *err)
{
    if (scope_holds_config(path))
        return err_set(err, ERR_DENIED, "%s belongs to cadre's user: no tool changes it",
                       filename_of(path).text);
    for (size_t i = 0; i < context->ownership_count; i++)
        if (path_glob(context->ownership[i], path))
            return 0;
    return context->ownership_count == 0
               ? 0
               : err_set(err, ERR_DENIED, "%s is not among the files that this agent owns",
                         filename_of(path).text);
}

int file_look(const struct tool_context *context, struct str path, struct tool_prepared *prepared,
              struct buf *content, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct place place;
    *prepared = (struct tool_prepared){.path = path, .before = FILE_ABSENT, .after = FILE_PRESENT};
    if (check_owner(context, path, &err) != 0 ||
        place_open(&place, context->scope, path, file_write_allow(context), PLACE_NEEDS_PARENTS,
                   &err) != 0)
        return err.class == ERR_NOT_FOUND ? 0 : tool_fail_err(result, &err);
    int failed = read_state(context, &place, prepared, content, &err);
    place_close(&place);
    return failed ? tool_fail_err(result, &err) : 0;
}

static int changed(const struct tool_prepared *prepared, struct tool_result *result)
{
    return tool_fail(result, "%s changed while this call was waiting; read it again",
                     filename_of(prepared->path).text);
}

int file_verify(const struct tool_context *context, const struct tool_prepared *prepared,
                struct place *place, struct buf *content, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct tool_prepared now = {0};
    enum place_parents parents =
        prepared->before == FILE_ABSENT ? PLACE_MAKES_PARENTS : PLACE_NEEDS_PARENTS;
    if (check_owner(context, prepared->path, &err) != 0 ||
        place_open(place, context->scope, prepared->path, file_write_allow(context), parents,
                   &err) != 0)
        return err.class == ERR_NOT_FOUND && prepared->before == FILE_PRESENT
                   ? changed(prepared, result)
                   : tool_fail_err(result, &err);
    int failed = 0;
    if (read_state(context, place, &now, content, &err) != 0)
        failed = tool_fail_err(result, &err);
    else if (now.before != prepared->before || !hash_eq(&now.before_hash, &prepared->before_hash))
        failed = changed(prepared, result);
    if (failed)
        place_close(place);
    return failed;
}

int file_write(const struct tool_context *context, const struct tool_prepared *prepared,
               const struct place *place, struct str content, struct tool_result *result)
{
    struct err err = ERR_INIT;
    enum place_expects expects =
        prepared->before == FILE_PRESENT ? PLACE_EXPECTS_FILE : PLACE_EXPECTS_NOTHING;
    int failed = place_write(place, content, expects, context->call_id, &err);
    reads_drop(reads_of(context), context->scope, prepared->path);
    return failed ? tool_fail_err(result, &err) : 0;
}

int file_delete(const struct tool_context *context, const struct tool_prepared *prepared,
                const struct place *place, struct tool_result *result)
{
    struct err err = ERR_INIT;
    int failed = place_delete(place, &err);
    reads_drop(reads_of(context), context->scope, prepared->path);
    return failed ? tool_fail_err(result, &err) : 0;
}

void file_name(struct tool_result *result, struct str path)
{
    struct filename name = filename_of(path);
    struct str whole = str_from(name.text), shown = utf8_cut(whole, NAME_SHOWN);
    buf_str(&result->text, shown);
    buf_text(&result->text, shown.n < whole.n ? "…" : "");
}

size_t file_count_lines(struct str content)
{
    size_t lines = 0;
    const char *end = content.p + content.n;
    for (const char *at = content.p; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return lines;
}
