/* The tool `edit`: exact replacement of text in one file (editing.h). Runs on a pool thread. */
#include "tool/arguments.h"
#include "tool/editing.h"
#include "tool/file.h"
#include "tool/result.h"
#include "tool/table.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"old_text\":{"
    "\"type\":\"string\",\"description\":\"Exact,"
    " without line numbers; must occur once unless replace_all\"},\"new_text\":{"
    "\"type\":\"string\"},\"replace_all\":{\"type\":\"boolean\"}},\"required\":[\"path\","
    "\"old_text\",\"new_text\"]}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"old_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, FILE_CONTENT_MAX},
    {"new_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0, FILE_CONTENT_MAX},
    {"replace_all", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
};

static struct editing one_step(const struct js *arguments)
{
    return (struct editing){
        .steps = {{.old = js_get_str(arguments, "old_text"),
                   .new = js_get_str(arguments, "new_text"),
                   .mode =
                       js_get_bool(arguments, "replace_all", false) ? REPLACE_ALL : REPLACE_ONE}},
        .count = 1};
}

static int edit_prepare(const struct tool_context *context, const struct js *arguments,
                        struct tool_prepared *prepared, struct tool_result *result)
{
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return -1;
    struct editing editing = one_step(arguments);
    return editing_prepare(context, arguments, &editing, prepared, result);
}

static void edit_run(const struct tool_context *context, const struct js *arguments,
                     const struct tool_prepared *prepared, struct tool_result *result)
{
    struct editing editing = one_step(arguments);
    editing_run(context, &editing, prepared, result);
}

static int edit_preview(const struct tool_context *context, const struct js *arguments,
                        struct preview *preview, struct tool_result *result)
{
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return -1;
    struct editing editing = one_step(arguments);
    return editing_preview(context, arguments, &editing, preview, result);
}

const struct tool tool_edit = {
    .name = "edit",
    .description = "Replace text in a file. Read it first.",
    .schema = schema,
    .prepare = edit_prepare,
    .run = edit_run,
    .preview = edit_preview,
};
