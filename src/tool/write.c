/* The tool `write`: a whole file, new or replaced. prepare hashes what is there and what will
 * be; run writes only while the file is still what prepare saw. Runs on a pool thread. */
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/preview.h"
#include "tool/result.h"
#include "tool/table.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
    "\"content\":{\"type\":\"string\"}},\"required\":[\"path\",\"content\"]}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"content", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0, FILE_CONTENT_MAX},
};

static int write_prepare(const struct tool_context *context, const struct js *arguments,
                         struct tool_prepared *prepared, struct tool_result *result)
{
    struct str path;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        tool_refuse_mask(context, "content", js_get_str(arguments, "content"), result) != 0 ||
        file_path(context, arguments, &path, result) != 0 ||
        file_look(context, path, prepared, NULL, result) != 0)
        return -1;
    prepared->after = FILE_PRESENT;
    prepared->after_hash = hash_of(js_get_str(arguments, "content"));
    return 0;
}

static void write_run(const struct tool_context *context, const struct js *arguments,
                      const struct tool_prepared *prepared, struct tool_result *result)
{
    struct place place;
    struct str content = js_get_str(arguments, "content");
    tool_result_start(context, result);
    if (file_verify(context, prepared, &place, NULL, result) != 0)
        return;
    if (file_write(context, prepared, &place, content, result) == 0) {
        buf_printf(&result->text, "%s ", prepared->before == FILE_PRESENT ? "Replaced" : "Created");
        file_name(result, prepared->path);
        buf_printf(&result->text, " (%zu lines, %zu bytes).\n", file_count_lines(content),
                   content.n);
        tool_add_modified(context, result, prepared->path);
    }
    place_close(&place);
}

static int write_preview(const struct tool_context *context, const struct js *arguments,
                         struct preview *preview, struct tool_result *result)
{
    struct tool_prepared prepared = {.path = STR_NONE};
    struct buf content;
    struct str path;
    buf_init(&content, FILE_BUFFER_MAX);
    int failed = arguments_check(arguments, arguments_known,
                                 sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
                 file_path(context, arguments, &path, result) != 0 ||
                 file_look(context, path, &prepared, &content, result) != 0;
    if (!failed)
        preview_change(context, preview, prepared.path,
                       prepared.before == FILE_PRESENT ? buf_view(&content) : STR_NONE,
                       js_get_str(arguments, "content"));
    buf_release(&content);
    return failed ? -1 : 0;
}

const struct tool tool_write = {
    .name = "write",
    .description = "Create or replace a whole file. For small changes use edit.",
    .schema = schema,
    .prepare = write_prepare,
    .run = write_run,
    .preview = write_preview,
};
