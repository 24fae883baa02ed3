/* The tool `multi_edit`: several exact replacements in one file, all of them or none (editing.h). They are prepared and written as
 * one change, so a crash leaves the file as it was or as it was to become. Runs on a pool thread. */
#include "tool/arguments.h"
#include "tool/editing.h"
#include "tool/file.h"
#include "tool/result.h"
#include "tool/table.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"edits\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"old_text\":{"
    "\"type\":\"string\"},\"new_text\":{\"type\":\"string\"},\"replace_all\":{"
    "\"type\":\"boolean\"}}}}},\"required\":[\"path\",\"edits\"]}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"edits", ARGUMENT_LIST, ARGUMENT_REQUIRED, 1, EDITING_STEPS_MAX},
};

static const struct argument edit_known[] = {
    {"old_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, FILE_CONTENT_MAX},
    {"new_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0, FILE_CONTENT_MAX},
    {"replace_all", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
};

/* -1 with the error in the result, which names the edit that is wrong. */
static int steps_of(const struct js *arguments, struct editing *editing, struct tool_result *result)
{
    const struct js *edits = js_get(arguments, "edits");
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return -1;
    editing->count = js_count(edits);
    for (size_t i = 0; i < editing->count; i++) {
        const struct js *edit = js_at(edits, i);
        if (arguments_check(edit, edit_known, sizeof edit_known / sizeof edit_known[0], result) !=
            0)
            return tool_fail_within(result, "edit %zu of %zu", i + 1, editing->count);
        editing->steps[i] = (struct edit_step){
            .old = js_get_str(edit, "old_text"),
            .new = js_get_str(edit, "new_text"),
            .mode = js_get_bool(edit, "replace_all", false) ? REPLACE_ALL : REPLACE_ONE,
        };
    }
    return 0;
}

static int multi_edit_prepare(const struct tool_context *context, const struct js *arguments,
                              struct tool_prepared *prepared, struct tool_result *result)
{
    struct editing editing;
    tool_result_start(context, result);
    if (steps_of(arguments, &editing, result) != 0)
        return -1;
    return editing_prepare(context, arguments, &editing, prepared, result);
}

static void multi_edit_run(const struct tool_context *context, const struct js *arguments,
                           const struct tool_prepared *prepared, struct tool_result *result)
{
    struct editing editing;
    tool_result_start(context, result);
    if (steps_of(arguments, &editing, result) == 0)
        editing_run(context, &editing, prepared, result);
}

static int multi_edit_preview(const struct tool_context *context, const struct js *arguments,
                              struct preview *preview, struct tool_result *result)
{
    struct editing editing;
    if (steps_of(arguments, &editing, result) != 0)
        return -1;
    return editing_preview(context, arguments, &editing, preview, result);
}

const struct tool tool_multi_edit = {
    .name = "multi_edit",
    .description = "Make several edits in one file, all or none.",
    .schema = schema,
    .prepare = multi_edit_prepare,
    .run = multi_edit_run,
    .preview = multi_edit_preview,
};
