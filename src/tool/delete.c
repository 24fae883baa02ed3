/* The tool `delete`: removes one regular file. prepare hashes it; run refuses when it changed
 * since. Runs on a pool thread. */
#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/preview.h"
#include "tool/result.h"
#include "tool/table.h"

static const char schema[] = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},"
                             "\"required\":[\"path\"]}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
};

static int delete_prepare(const struct tool_context *context, const struct js *arguments,
                          struct tool_prepared *prepared, struct tool_result *result)
{
    struct str path;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0 ||
        file_look(context, path, prepared, NULL, result) != 0)
        return -1;
    if (prepared->before == FILE_ABSENT) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_NOT_FOUND, "%s does not exist", filename_of(path).text);
        return near_fail(context, path, &err, result);
    }
    prepared->after = FILE_ABSENT;
    return 0;
}

static void delete_run(const struct tool_context *context, const struct js *arguments,
                       const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)arguments;
    struct place place;
    tool_result_start(context, result);
    if (file_verify(context, prepared, &place, NULL, result) != 0)
        return;
    if (file_delete(context, prepared, &place, result) == 0) {
        buf_text(&result->text, "Deleted ");
        file_name(result, prepared->path);
        buf_text(&result->text, ".\n");
        tool_add_modified(context, result, prepared->path);
    }
    place_close(&place);
}

static int delete_preview(const struct tool_context *context, const struct js *arguments,
                          struct preview *preview, struct tool_result *result)
{
    struct tool_prepared prepared = {.path = STR_NONE};
    struct buf content;
    if (delete_prepare(context, arguments, &prepared, result) != 0)
        return -1;
    buf_init(&content, FILE_BUFFER_MAX);
    int failed = file_look(context, prepared.path, &prepared, &content, result);
    if (failed == 0)
        preview_change(context, preview, prepared.path, buf_view(&content), STR_NONE);
    buf_release(&content);
    return failed;
}

const struct tool tool_delete = {
    .name = "delete",
    .description = "Delete one file.",
    .schema = schema,
    .prepare = delete_prepare,
    .run = delete_run,
    .preview = delete_preview,
};
