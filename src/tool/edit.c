/* The tool `edit`: exact replacement of text in one file. prepare makes the new content and
 * hashes both; run makes it again from the file as it is then, and writes only when both hashes
 * are still the same. Runs on a pool thread. */
#include <stdio.h>

#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/replace.h"
#include "tool/result.h"
#include "tool/table.h"

#define LINE_CHARACTERS 200 /* of a line in an error */

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\",\"description\":\"File to change, relative to the working "
    "directory.\"},"
    "\"old_text\":{\"type\":\"string\",\"description\":\"Text to replace, exactly as it stands in "
    "the file, without line "
    "numbers. It must occur exactly once, unless replace_all is true.\"},"
    "\"new_text\":{\"type\":\"string\",\"description\":\"Text to put in its place; may be "
    "empty.\"},"
    "\"replace_all\":{\"type\":\"boolean\",\"description\":\"Replace every occurrence. Default "
    "false.\"}},"
    "\"required\":[\"path\",\"old_text\",\"new_text\"],\"additionalProperties\":false}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"old_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, FILE_CONTENT_MAX},
    {"new_text", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 0, FILE_CONTENT_MAX},
    {"replace_all", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
};

static int fail_missing(struct tool_result *result, struct str path, struct str content,
                        struct str old)
{
    struct replace_near near = replace_nearest(content, old);
    if (near.line == 0)
        return tool_fail(result, "old_text does not occur in %.*s; read the file again",
                         STR_FMT(path));
    return tool_fail(
        result,
        "old_text does not occur in %.*s; the closest is line %zu%s%s\n"
        "the file has: %.*s\nold_text has: %.*s",
        STR_FMT(path), near.line, near.why ? ", which differs in " : "", near.why ? near.why : "",
        STR_FMT(utf8_cut(utf8_cut_chars(near.found, LINE_CHARACTERS), 4 * LINE_CHARACTERS)),
        STR_FMT(utf8_cut(utf8_cut_chars(near.asked, LINE_CHARACTERS), 4 * LINE_CHARACTERS)));
}

static int fail_ambiguous(struct tool_result *result, struct str path,
                          const struct replace_report *report)
{
    char lines[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < report->line_count; i++)
        n +=
            (size_t)snprintf(lines + n, sizeof lines - n, "%s%zu", i ? ", " : "", report->lines[i]);
    return tool_fail(
        result,
        "old_text occurs %zu times in %.*s (first at lines %s); make it longer so that it is "
        "unique, or set replace_all",
        report->count > 1 ? report->count : 2, STR_FMT(path), lines);
}

/* The content after the edit. -1 with the error in the result. */
static int apply(const struct js *arguments, struct str path, struct str content, struct buf *out,
                 size_t *count, struct tool_result *result)
{
    struct str old = js_get_str(arguments, "old_text");
    struct str new = js_get_str(arguments, "new_text");
    enum replace_mode mode =
        js_get_bool(arguments, "replace_all", false) ? REPLACE_ALL : REPLACE_ONE;
    struct replace_report report;
    switch (replace_text(content, old, new, mode, out, &report)) {
    case REPLACE_DONE:
        *count = report.count;
        return 0;
    case REPLACE_MISSING:
        return fail_missing(result, path, content, old);
    case REPLACE_AMBIGUOUS:
        return fail_ambiguous(result, path, &report);
    case REPLACE_TOO_LARGE:
        break;
    }
    return tool_fail(result, "%.*s would grow over %u bytes", STR_FMT(path), FILE_CONTENT_MAX);
}

static int edit_prepare(const struct tool_context *context, const struct js *arguments,
                        struct tool_prepared *prepared, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct str path;
    struct buf content, changed;
    size_t count = 0;
    int failed = -1;
    tool_result_start(context, result);
    buf_init(&content, FILE_BUFFER_MAX);
    buf_init(&changed, FILE_CONTENT_MAX);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        goto out;
    /* The errors of an edit quote the file, so it must be readable by this contract, not only
     * writable. */
    if (scope_check(path, file_read_allow(context), &err) != 0) {
        tool_fail_err(result, &err);
        goto out;
    }
    if (file_look(context, path, prepared, &content, result) != 0)
        goto out;
    if (prepared->before == FILE_ABSENT) {
        err_set(&err, ERR_NOT_FOUND, "%.*s does not exist", STR_FMT(path));
        near_fail(context, path, &err, result);
        goto out;
    }
    if (str_eq(js_get_str(arguments, "old_text"), js_get_str(arguments, "new_text"))) {
        tool_fail(result, "old_text and new_text are the same: nothing would change");
        goto out;
    }
    if (apply(arguments, path, buf_view(&content), &changed, &count, result) != 0)
        goto out;
    prepared->after = FILE_PRESENT;
    prepared->after_hash = hash_of(buf_view(&changed));
    failed = 0;
out:
    buf_release(&content);
    buf_release(&changed);
    return failed;
}

static void edit_run(const struct tool_context *context, const struct js *arguments,
                     const struct tool_prepared *prepared, struct tool_result *result)
{
    struct place place = {.directory = -1};
    struct buf content, changed;
    size_t count = 0;
    tool_result_start(context, result);
    buf_init(&content, FILE_BUFFER_MAX);
    buf_init(&changed, FILE_CONTENT_MAX);
    if (file_verify(context, prepared, &place, &content, result) != 0)
        goto out;
    if (apply(arguments, prepared->path, buf_view(&content), &changed, &count, result) != 0)
        goto out;
    struct hash after = hash_of(buf_view(&changed));
    if (!hash_eq(&after, &prepared->after_hash)) {
        tool_fail(result, "the edit of %.*s is not the one that was prepared",
                  STR_FMT(prepared->path));
        goto out;
    }
    if (file_write(context, prepared, &place, buf_view(&changed), result) != 0)
        goto out;
    buf_text(&result->text, "Edited ");
    file_name(result, prepared->path);
    buf_printf(&result->text, ": %zu %s.\n", count, count == 1 ? "replacement" : "replacements");
    tool_add_modified(context, result, prepared->path);
out:
    place_close(&place);
    buf_release(&content);
    buf_release(&changed);
}

const struct tool tool_edit = {
    .name = "edit",
    .description = "Replace text in a file. old_text must be exactly what stands there, white "
                   "space included, and occur "
                   "once; read the file first.",
    .schema = schema,
    .prepare = edit_prepare,
    .run = edit_run,
};
