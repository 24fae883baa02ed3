/* The tool `read`: numbered lines of one file. The file is streamed, never held: a page of a
 * large file costs a page of memory. Runs on a pool thread; looks at `cancelled` between blocks. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/result.h"
#include "tool/table.h"

#define BLOCK (64u << 10)
#define BINARY_LOOK 8192     /* bytes looked at for a NUL */
#define LINE_CHARACTERS 2000 /* shown of one line */
#define LINE_BYTES 8192      /* kept of one line: enough for all characters that are shown */
#define LINES_DEFAULT 2000
#define LINES_MOST 1000000
#define OFFSET_MOST INT64_C(1000000000000)

static const char schema[] = "{\"type\":\"object\",\"properties\":{"
                             "\"path\":{\"type\":\"string\",\"description\":\"File to read, "
                             "relative to the working directory.\"},"
                             "\"offset\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
                             "\"First line to show, counted from 1. "
                             "Default 1.\"},"
                             "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"How "
                             "many lines to show. Default 2000.\"}},"
                             "\"required\":[\"path\"],\"additionalProperties\":false}";

static const struct argument arguments_known[] = {
    {"path", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, SCOPE_PATH_MAX},
    {"offset", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, OFFSET_MOST},
    {"limit", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, LINES_MOST},
};

struct reading {
    struct tool_result *result;
    int64_t offset, limit;
    int64_t line; /* that the next byte belongs to, from 1 */
    int64_t shown;
    struct buf text;  /* of the current line, at most LINE_BYTES */
    struct buf whole; /* the line as it will be shown */
    bool started;     /* the current line has a byte */
    bool overlong, truncated, any_overlong, any_mended, any_crlf;
};

/* Adds the current line to the result. False when the result has no room for it. */
static bool show_line(struct reading *r)
{
    struct str text = buf_view(&r->text);
    if (r->overlong)
        text = utf8_cut(text, LINE_BYTES);
    else if (text.n > 0 && text.p[text.n - 1] == '\r') {
        text.n--;
        r->any_crlf = true;
    }
    bool valid = utf8_valid(text) == text.n;
    buf_clear(&r->whole);
    utf8_mend(&r->whole, text);
    struct str shown = utf8_cut_chars(buf_view(&r->whole), LINE_CHARACTERS);
    bool cut = r->overlong || shown.n < r->whole.n;
    char number[32];
    size_t digits = (size_t)snprintf(number, sizeof number, "%6lld\t", (long long)r->line);
    size_t room = tool_room(r->result);
    if (digits + shown.n + sizeof "…\n" > room) {
        if (r->shown > 0 || room < digits + sizeof "…\n")
            return false;
        shown =
            utf8_cut(shown, room - digits - sizeof "…\n"); /* one line must always come through */
        cut = true;
    }
    buf_add(&r->result->text, number, digits);
    buf_str(&r->result->text, shown);
    buf_text(&r->result->text, cut ? "…\n" : "\n");
    r->any_overlong |= cut;
    r->any_mended |= !valid;
    r->shown++;
    return true;
}

static void start_line(struct reading *r)
{
    buf_clear(&r->text);
    r->overlong = false;
    r->started = false;
}

/* Takes bytes of the current line, without its newline. */
static void take(struct reading *r, const char *bytes, size_t n)
{
    r->started = true;
    if (r->line < r->offset)
        return;
    size_t room = LINE_BYTES - r->text.n;
    if (n > room) {
        r->overlong = true;
        n = room;
    }
    buf_add(&r->text, bytes, n);
}

/* Ends the current line; false when nothing more is to be shown. */
static bool end_line(struct reading *r)
{
    if (r->line >= r->offset && !show_line(r)) {
        r->truncated = true;
        return false;
    }
    r->line++;
    start_line(r);
    return true;
}

/* False: stop reading. */
static bool feed(struct reading *r, const char *bytes, size_t n)
{
    const char *end = bytes + n;
    while (bytes < end) {
        if (r->shown >= r->limit) {
            r->truncated = true;
            return false;
        }
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        take(r, bytes, (size_t)((newline ? newline : end) - bytes));
        if (newline && !end_line(r))
            return false;
        bytes = newline ? newline + 1 : end;
    }
    return true;
}

static void add_notes(const struct reading *r)
{
    struct buf *text = &r->result->text;
    if (r->truncated)
        buf_printf(text, "[truncated: ask for offset=%lld to read on]\n",
                   (long long)(r->offset + r->shown));
    if (r->any_overlong)
        buf_text(text, "[… marks lines that were cut]\n");
    if (r->any_mended)
        buf_text(text, "[bytes that are not UTF-8 are shown as U+FFFD]\n");
    if (r->any_crlf)
        buf_text(text, "[lines end with CRLF]\n");
}

static int stream(const struct tool_context *context, const struct scope_file *file,
                  struct reading *r)
{
    char block[BLOCK];
    bool first = true;
    for (;;) {
        if (tool_cancelled(context))
            return tool_fail_cancelled(r->result);
        ssize_t n = read(file->fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tool_fail(r->result, "%s: %s", file->path, strerrordesc_np(errno));
        if (n == 0)
            break;
        if (first && memchr(block, '\0', n < BINARY_LOOK ? (size_t)n : BINARY_LOOK))
            return tool_fail(r->result,
                             "%s is a binary file (%lld bytes) and cannot be shown as text",
                             file->path, (long long)file->status.st_size);
        first = false;
        if (!feed(r, block, (size_t)n))
            return 0;
    }
    if (r->started)
        end_line(r);
    return 0;
}

static void show(const struct tool_context *context, const struct scope_file *file,
                 const struct js *arguments, struct tool_result *result)
{
    struct reading r = {
        .result = result,
        .offset = js_get_int(arguments, "offset", 1),
        .limit = js_get_int(arguments, "limit", LINES_DEFAULT),
        .line = 1,
    };
    buf_init(&r.text, LINE_BYTES);
    buf_init(&r.whole, 3 * LINE_BYTES);
    if (stream(context, file, &r) == 0) {
        if (r.shown > 0 || r.truncated)
            add_notes(&r);
        else if (r.line == 1)
            buf_printf(&result->text, "[%s is empty]\n", file->path);
        else
            tool_fail(result, "%s has only %lld lines; offset=%lld is behind its end", file->path,
                      (long long)(r.line - 1), (long long)r.offset);
    }
    if (result->kind == RESULT_OK)
        tool_add_read(context, result, str_from(file->path));
    buf_release(&r.text);
    buf_release(&r.whole);
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
    if (scope_open_read(context->scope, path, file_read_allow(context), SCOPE_FOLLOW_LINKS, &file,
                        &err) == 0) {
        show(context, &file, arguments, result);
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
    .description =
        "Read a text file. Lines are numbered from 1. Long files come in pages: ask again with "
        "offset to read on.",
    .schema = schema,
    .prepare = NULL,
    .run = read_run,
};
