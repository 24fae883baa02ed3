/* Results: errors, limits, lists of files. Any thread; touches no file. */
#include "tool/result.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mask.h"

#define ERROR_MAX 4096 /* bytes of one error's text */

void tool_result_start(const struct tool_context *context, struct tool_result *result)
{
    size_t max = context->max_result < RESULT_LEAST ? RESULT_LEAST : context->max_result;
    buf_release(&result->text);
    *result = (struct tool_result){.kind = RESULT_OK};
    buf_init(&result->text, max);
}

int tool_fail(struct tool_result *result, const char *format, ...)
{
    struct buf raw, clean;
    va_list args;
    buf_init(&raw, ERROR_MAX);
    buf_init(&clean, 3 * ERROR_MAX + 64); /* mending makes three bytes of a bad one */
    va_start(args, format);
    buf_vprintf(&raw, format, args);
    va_end(args);
    buf_text(&clean, "Error: ");
    if (raw.failed)
        buf_text(&clean, "an error whose text is too long to show");
    utf8_clean(&clean, buf_view(&raw), UTF8_LINES);
    buf_clear(&result->text);
    buf_str(&result->text, utf8_cut(buf_view(&clean), result->text.max));
    result->kind = RESULT_ERROR;
    buf_release(&raw);
    buf_release(&clean);
    return -1;
}

int tool_fail_within(struct tool_result *result, const char *format, ...)
{
    char where[128];
    struct buf error;
    va_list args;
    va_start(args, format);
    vsnprintf(where, sizeof where, format, args);
    va_end(args);
    buf_init(&error, result->text.max + 1);
    buf_str(&error, buf_view(&result->text));
    struct str text = buf_view(&error), mark = STR("Error: ");
    if (str_starts(text, mark))
        text = (struct str){text.p + mark.n, text.n - mark.n};
    tool_fail(result, "%s: %.*s", where, STR_FMT(utf8_cut(text, ERROR_MAX - sizeof where - 2)));
    buf_release(&error);
    return -1;
}

int tool_fail_err(struct tool_result *result, const struct err *err)
{
    return tool_fail(result, "%s", err->message);
}

int tool_fail_cancelled(struct tool_result *result)
{
    return tool_fail(result, "cancelled");
}

bool tool_cancelled(const struct tool_context *context)
{
    return context->cancelled && atomic_load_explicit(context->cancelled, memory_order_relaxed);
}

size_t tool_room(const struct tool_result *result)
{
    size_t used = result->text.n + RESULT_NOTES;
    return used >= result->text.max ? 0 : result->text.max - used;
}

int tool_refuse_mask(const struct tool_context *context, const char *what, struct str text,
                     struct tool_result *result)
{
    struct str mask;
    if (context->services == NULL || context->services->masker == NULL || !mask_find(text, &mask))
        return 0;
    return tool_fail(result,
                     "%s holds %.*s, which only stands for a secret: the real text is there in the "
                     "file, and you cannot see it. Nothing was done. Leave the secret where it is: "
                     "edit the lines around it, or let a command copy or read it from its file",
                     what, STR_FMT(mask));
}

void tool_add_clean(struct tool_result *result, struct str text)
{
    utf8_clean(&result->text, text, UTF8_ONE_LINE);
}

/* Lists grow by doubling in the arena: at most twice the final size is spent. */
static void list_add(struct arena *arena, struct str **list, size_t *count, struct str path)
{
    if ((*count & (*count - 1)) == 0) { /* full at every power of two, and at the start */
        size_t room = *count ? *count * 2 : 1;
        struct str *grown = arena_alloc(arena, room * sizeof *grown);
        if (*count)
            memcpy(grown, *list, *count * sizeof *grown);
        *list = grown;
    }
    (*list)[(*count)++] = arena_copy(arena, path);
}

void tool_add_read(const struct tool_context *context, struct tool_result *result, struct str path)
{
    list_add(context->arena, &result->files_read, &result->read_count, path);
}

void tool_add_modified(const struct tool_context *context, struct tool_result *result,
                       struct str path)
{
    list_add(context->arena, &result->files_modified, &result->modified_count, path);
}

void tool_add_contact(const struct tool_context *context, struct tool_result *result,
                      struct str json)
{
    list_add(context->arena, &result->contacts, &result->contact_count, json);
}
