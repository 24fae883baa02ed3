/* Files for a child's prompt (port/tool.h, `load`): the workspace's own, and before its text those of the same name in the user's
 * directory and in the directories above the workspace. Runs on a pool thread. */
#include "os/instructions.h"
#include "tool/file.h"

static void separate(struct buf *text, size_t start)
{
    if (text->n > start)
        buf_text(text, text->p[text->n - 1] == '\n' ? "\n" : "\n\n");
}

/* Adds one directory's file. What cannot be read there was not asked for, and is left out. */
static void add_from(struct str directory, struct str name, struct buf *text, size_t start)
{
    struct err ignored = ERR_INIT;
    struct instructions_found found;
    struct buf one;
    buf_init(&one, 3 * INSTRUCTIONS_FILE_MAX);
    if (instructions_read(directory.p, name, &one, &found, &ignored) == 0 && one.n > 0) {
        separate(text, start);
        buf_str(text, buf_view(&one));
    }
    buf_release(&one);
}

static bool is_users(struct str name)
{
    return str_is(name, "AGENTS.md") || str_is(name, "ENVIRONMENT.md");
}

/* The workspace's own file, or its stand-in. */
static int add_own(const struct tool_context *context, struct str path, struct buf *text,
                   struct err *err)
{
    struct str other = instructions_stand_in(path);
    struct err missing = ERR_INIT;
    int result = file_text(context, path, text, err);
    if (result == 0 || err->class != ERR_NOT_FOUND || other.p == NULL)
        return result;
    result = file_text(context, other, text, &missing);
    if (result != 0 && missing.class != ERR_NOT_FOUND)
        *err = missing;
    return result;
}

int tool_load(const struct tool_context *context, struct str path, struct buf *text,
              struct err *err)
{
    const struct tool_services *services = context->services;
    struct buf own;
    size_t start = text->n;
    if (services != NULL && instructions_found_upward(path)) {
        if (services->instructions_own.n > 0 && is_users(path))
            add_from(services->instructions_own, path, text, start);
        for (size_t i = 0; i < services->instructions_above_count; i++)
            add_from(services->instructions_above[i], path, text, start);
    }
    buf_init(&own, text->max);
    int result = add_own(context, path, &own, err);
    if (result == 0) {
        separate(text, start);
        buf_str(text, buf_view(&own));
    } else if (err->class == ERR_NOT_FOUND && text->n > start) {
        result = 0;
    }
    buf_release(&own);
    if (result == 0 && text->failed)
        result =
            err_set(err, ERR_USAGE, "%.*s is too large together with those above the workspace",
                    STR_FMT(path));
    return result;
}
