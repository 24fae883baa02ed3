/* The tool `read`: numbered lines of one file. A page of a large file costs a page of memory; a
 * small one is remembered for the next who reads it. Runs on a pool thread; looks at `cancelled`
 * between blocks. */
#include <unistd.h>

#include "base/filename.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/page.h"
#include "tool/read.h"
#include "tool/result.h"
#include "tool/source.h"
#include "tool/table.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"offset\":{"
    "\"type\":\"integer\",\"description\":\"First line; -20: last 20\"},\"limit\":{"
    "\"type\":\"integer\"}},\"required\":[\"path\"]}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"offset", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, -PAGE_OFFSET_MOST, PAGE_OFFSET_MOST},
    {"limit", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, PAGE_LINES_MOST},
};

static void add_encoding_note(struct tool_result *result, enum text_encoding encoding)
{
    static const char *const notes[] = {
        [TEXT_UTF8] = "",
        [TEXT_UTF8_MARKED] = "[the file starts with a UTF-8 byte order mark]\n",
        [TEXT_UTF16LE] = "[the file is UTF-16, little-endian, with a byte order mark]\n",
        [TEXT_UTF16BE] = "[the file is UTF-16, big-endian, with a byte order mark]\n",
        [TEXT_BINARY] = "",
    };
    buf_text(&result->text, notes[encoding]);
}

static int fill_page(struct source *source, struct page *page, struct err *err)
{
    struct str piece;
    int more;
    while ((more = source_next(source, &piece, err)) > 0)
        if (!page_feed(page, piece))
            return 0;
    return more;
}

void read_show(const struct tool_context *context, const struct scope_file *file,
               const struct js *arguments, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct source source;
    struct page page = {0};
    int64_t offset = arguments_whole(arguments, "offset", 1);
    int64_t limit = arguments_whole(arguments, "limit", PAGE_LINES);
    if (offset == 0) {
        tool_fail(result, "the argument \"offset\" must not be 0: lines are counted from 1, or "
                          "from the end with negative numbers");
        return;
    }
    int failed = source_open(&source, context, file, &err);
    if (!failed && offset < 0) {
        int64_t lines = source_count_lines(&source, &err);
        failed = lines < 0;
        offset = lines + 1 + offset < 1 ? 1 : lines + 1 + offset;
    }
    if (!failed) {
        page_init(&page, result, offset, limit);
        failed = fill_page(&source, &page, &err);
    }
    if (failed) {
        tool_fail_err(result, &err);
    } else {
        page_end(&page);
        if (page.shown == 0 && !page.truncated && page_lines(&page) == 0)
            buf_printf(&result->text, "[%s is empty]\n", filename_of(str_from(file->path)).text);
        else if (page.shown == 0 && !page.truncated)
            tool_fail(result, "%s has only %lld lines; offset=%lld is behind its end",
                      filename_of(str_from(file->path)).text, (long long)page_lines(&page),
                      (long long)offset);
        else
            add_encoding_note(result, source.encoding);
    }
    if (result->kind == RESULT_OK)
        tool_add_read(context, result, str_from(file->path));
    page_release(&page);
    source_close(&source);
}

static void read_run(const struct tool_context *context, const struct js *arguments,
                     const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    struct str path;
    struct scope_file file;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        return;
    if (tool_cancelled(context)) {
        tool_fail_cancelled(result);
    } else if (scope_open_read(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS,
                               &file, &err) == 0) {
        read_show(context, &file, arguments, result);
        close(file.fd);
    } else if (err.class == ERR_USAGE) {
        tool_fail(result, "%s; use ls to list a directory", err.message);
    } else if (err.class == ERR_NOT_FOUND) {
        near_fail(context, path, &err, result);
    } else {
        tool_fail_err(result, &err);
    }
}

const struct tool tool_read = {
    .name = "read",
    .description = "Read a text file with line numbers, long files in pages.",
    .schema = schema,
    .prepare = NULL,
    .run = read_run,
};
