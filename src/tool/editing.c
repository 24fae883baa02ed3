/* See editing.h. Bytes are replaced as they stand, so a file keeps its encoding: one that is not UTF-8 takes only ASCII, and in a
 * file whose lines all end in CRLF the line breaks of a step mean CRLF. Runs on a pool thread. */
#include "tool/editing.h"

#include <stdio.h>

#include "base/filename.h"
#include "tool/diff.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/preview.h"
#include "tool/result.h"

#define LINE_CHARACTERS 200 /* of a line in an error */
#define AROUND_LINES 12     /* of the file that an error quotes */
#define DIFF_BOUNDS ((struct diff_bounds){.lines = 60, .line_bytes = 300})

/* --- what the file is written in ----------------------------------------------------------- */

struct manner {
    enum { LINES_AS_GIVEN, LINES_CRLF } lines;
    enum { TEXT_UTF8, TEXT_OTHER } text;
};

static bool all_lines_are_crlf(struct str content)
{
    size_t newlines = 0;
    const char *end = content.p + content.n;
    for (const char *at = content.p; at < end; newlines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL)
            break;
        if (newline == content.p || newline[-1] != '\r')
            return false;
        at = newline + 1;
    }
    return newlines > 0;
}

static int manner_of(struct str path, struct str content, struct manner *manner,
                     struct tool_result *result)
{
    if (content.n > 0 && memchr(content.p, '\0', content.n))
        return tool_fail(result,
                         "%s is a binary file or UTF-16: only text without NUL bytes is edited",
                         filename_of(path).text);
    manner->lines = all_lines_are_crlf(content) ? LINES_CRLF : LINES_AS_GIVEN;
    manner->text = utf8_valid(content) == content.n ? TEXT_UTF8 : TEXT_OTHER;
    return 0;
}

static bool is_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

static bool has_return(struct str text)
{
    return text.n > 0 && memchr(text.p, '\r', text.n) != NULL;
}

static void add_crlf(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n')
            buf_char(out, '\r');
        buf_char(out, text.p[i]);
    }
}

/* --- errors ---------------------------------------------------------------------------------- */

/* "1 tab and 2 spaces": what stands before the first other character. */
static void indentation_words(struct str line, struct buf *out)
{
    size_t tabs = 0, spaces = 0;
    for (size_t i = 0; i < line.n && (line.p[i] == '\t' || line.p[i] == ' '); i++)
        *(line.p[i] == '\t' ? &tabs : &spaces) += 1;
    if (tabs > 0 || spaces == 0)
        buf_printf(out, "%zu %s", tabs, tabs == 1 ? "tab" : "tabs");
    if (tabs > 0 && spaces > 0)
        buf_text(out, " and ");
    if (spaces > 0)
        buf_printf(out, "%zu %s", spaces, spaces == 1 ? "space" : "spaces");
}

static struct str shown_line(struct str line)
{
    return utf8_cut(utf8_cut_chars(line, LINE_CHARACTERS), 4 * LINE_CHARACTERS);
}

/* The lines of the file where old_text almost stands, with their numbers. */
static void quote_lines(struct str content, size_t first, size_t count, struct buf *out)
{
    const char *end = content.p + content.n;
    size_t number = 1;
    if (count > AROUND_LINES)
        count = AROUND_LINES;
    buf_printf(out, "\nthe file from line %zu on:\n", first);
    for (const char *at = content.p; at < end && number < first + count; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct str line = {at, (size_t)((newline ? newline : end) - at)};
        if (number >= first)
            buf_printf(out, "%6zu\t%.*s\n", number, STR_FMT(shown_line(line)));
        at = newline ? newline + 1 : end;
    }
}

static int fail_missing(struct tool_result *result, const char *which, struct str path,
                        struct str content, struct str old)
{
    struct replace_near near = replace_nearest(content, old);
    struct buf text;
    if (near.line == 0)
        return tool_fail(result, "%sold_text does not occur in %s; read the file again", which,
                         filename_of(path).text);
    buf_init(&text, 1 << 15);
    buf_printf(&text, "%sold_text does not occur in %s; the closest is line %zu%s%s", which,
               filename_of(path).text, near.line, near.why ? ", which differs in " : "",
               near.why ? near.why : "");
    if (near.why && str_starts(str_from(near.why), STR("indentation"))) {
        buf_text(&text, ": the file has ");
        indentation_words(near.found, &text);
        buf_text(&text, ", old_text has ");
        indentation_words(near.asked, &text);
    }
    buf_printf(&text, "\nthe file has: %.*s\nold_text has: %.*s", STR_FMT(shown_line(near.found)),
               STR_FMT(shown_line(near.asked)));
    size_t lines = file_count_lines(old);
    if (near.first > 0 && lines > 1)
        quote_lines(content, near.first, lines, &text);
    tool_fail(result, "%.*s", STR_FMT(utf8_cut(buf_view(&text), 3500)));
    buf_release(&text);
    return -1;
}

static int fail_ambiguous(struct tool_result *result, const char *which, struct str path,
                          const struct replace_report *report)
{
    char lines[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < report->line_count; i++)
        n +=
            (size_t)snprintf(lines + n, sizeof lines - n, "%s%zu", i ? ", " : "", report->lines[i]);
    return tool_fail(
        result,
        "%sold_text occurs %zu times in %s (first at lines %s); make it longer so that it is "
        "unique, or set replace_all",
        which, report->count > 1 ? report->count : 2, filename_of(path).text, lines);
}

/* --- applying -------------------------------------------------------------------------------- */

static int apply_step(const struct edit_step *step, const char *which, struct str path,
                      struct manner manner, struct str content, struct buf *out, size_t *replaced,
                      struct tool_result *result)
{
    struct replace_report report;
    struct buf old_text, new_text;
    struct str old = step->old, new = step->new;
    int failed = -1;
    if (old.n == 0)
        return tool_fail(result, "%sold_text is empty", which);
    if (str_eq(old, new))
        return tool_fail(result, "%sold_text and new_text are the same: nothing would change",
                         which);
    if (manner.text == TEXT_OTHER && !is_ascii(new))
        return tool_fail(result,
                         "%s%s is not UTF-8: new_text must be ASCII, or the file would be in two "
                         "encodings",
                         which, filename_of(path).text);
    buf_init(&old_text, 2 * FILE_CONTENT_MAX);
    buf_init(&new_text, 2 * FILE_CONTENT_MAX);
    if (manner.lines == LINES_CRLF && !has_return(old) && !has_return(new)) {
        add_crlf(&old_text, old);
        add_crlf(&new_text, new);
        old = buf_view(&old_text);
        new = buf_view(&new_text);
    }
    switch (replace_text(content, old, new, step->mode, out, &report)) {
    case REPLACE_DONE:
        *replaced += report.count;
        failed = 0;
        break;
    case REPLACE_MISSING:
        fail_missing(result, which, path, content, old);
        break;
    case REPLACE_AMBIGUOUS:
        fail_ambiguous(result, which, path, &report);
        break;
    case REPLACE_TOO_LARGE:
        tool_fail(result, "%s would grow over %u bytes", filename_of(path).text, FILE_CONTENT_MAX);
        break;
    }
    buf_release(&old_text);
    buf_release(&new_text);
    return failed;
}

int editing_apply(const struct editing *editing, struct str path, struct str content,
                  struct buf *out, size_t *replaced, struct tool_result *result)
{
    struct manner manner = {LINES_AS_GIVEN, TEXT_UTF8};
    struct buf last;
    char which[64] = "";
    *replaced = 0;
    if (manner_of(path, content, &manner, result) != 0)
        return -1;
    int failed = 0;
    buf_init(&last, FILE_CONTENT_MAX);
    for (size_t i = 0; i < editing->count && failed == 0; i++) {
        if (editing->count > 1)
            snprintf(which, sizeof which, "edit %zu of %zu: ", i + 1, editing->count);
        struct buf spare = last;
        last = *out;
        *out = spare;
        buf_clear(out);
        failed = apply_step(&editing->steps[i], which, path, manner,
                            i == 0 ? content : buf_view(&last), out, replaced, result);
    }
    buf_release(&last);
    if (failed == 0 && str_eq(buf_view(out), content))
        failed = tool_fail(result, "the edits undo each other: nothing would change");
    return failed;
}

/* --- the two halves of a call -------------------------------------------------------------- */

static int refuse_masks(const struct tool_context *context, const struct editing *editing,
                        struct tool_result *result)
{
    int failed = 0;
    for (size_t i = 0; i < editing->count && failed == 0; i++) {
        const struct edit_step *step = &editing->steps[i];
        if (tool_refuse_mask(context, "old_text", step->old, result) != 0 ||
            tool_refuse_mask(context, "new_text", step->new, result) != 0)
            failed = editing->count == 1
                         ? -1
                         : tool_fail_within(result, "edit %zu of %zu", i + 1, editing->count);
    }
    return failed;
}

/* Both halves of a change of the argument "path"; the buffers are the caller's. */
static int look(const struct tool_context *context, const struct js *arguments,
                const struct editing *editing, struct tool_prepared *prepared, struct buf *content,
                struct buf *changed, struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct str path;
    size_t replaced = 0;
    if (refuse_masks(context, editing, result) != 0 ||
        file_path(context, arguments, &path, result) != 0)
        return -1;
    /* The errors of an edit quote the file, so it must be readable by this contract, not only
     * writable. */
    if (scope_check(path, file_read_allow(context), &err) != 0)
        return tool_fail_err(result, &err);
    if (file_look(context, path, prepared, content, result) != 0)
        return -1;
    if (prepared->before == FILE_ABSENT) {
        err_set(&err, ERR_NOT_FOUND, "%s does not exist", filename_of(path).text);
        return near_fail(context, path, &err, result);
    }
    if (editing_apply(editing, path, buf_view(content), changed, &replaced, result) != 0)
        return -1;
    prepared->after = FILE_PRESENT;
    prepared->after_hash = hash_of(buf_view(changed));
    return 0;
}

int editing_prepare(const struct tool_context *context, const struct js *arguments,
                    const struct editing *editing, struct tool_prepared *prepared,
                    struct tool_result *result)
{
    struct buf content, changed;
    buf_init(&content, FILE_BUFFER_MAX);
    buf_init(&changed, FILE_CONTENT_MAX);
    int failed = look(context, arguments, editing, prepared, &content, &changed, result);
    buf_release(&content);
    buf_release(&changed);
    return failed;
}

int editing_preview(const struct tool_context *context, const struct js *arguments,
                    const struct editing *editing, struct preview *preview,
                    struct tool_result *result)
{
    struct tool_prepared prepared = {.path = STR_NONE};
    struct buf content, changed;
    buf_init(&content, FILE_BUFFER_MAX);
    buf_init(&changed, FILE_CONTENT_MAX);
    int failed = look(context, arguments, editing, &prepared, &content, &changed, result);
    if (failed == 0)
        preview_change(context, preview, prepared.path, buf_view(&content), buf_view(&changed));
    buf_release(&content);
    buf_release(&changed);
    return failed;
}

static void add_diff(struct tool_result *result, struct str before, struct str after)
{
    struct buf diff, clean;
    buf_init(&diff, 1 << 20);
    buf_init(&clean, 4 << 20);
    diff_print(before, after, DIFF_BOUNDS, &diff);
    utf8_clean(&clean, buf_view(&diff), UTF8_LINES);
    struct str shown = utf8_cut(buf_view(&clean), tool_room(result));
    buf_str(&result->text, shown);
    if (shown.n < clean.n)
        buf_text(&result->text, "\n[the rest of the diff is not shown]\n");
    buf_release(&diff);
    buf_release(&clean);
}

void editing_run(const struct tool_context *context, const struct editing *editing,
                 const struct tool_prepared *prepared, struct tool_result *result)
{
    struct place place = {.directory = -1};
    struct buf content, changed;
    size_t replaced = 0;
    tool_result_start(context, result);
    buf_init(&content, FILE_BUFFER_MAX);
    buf_init(&changed, FILE_CONTENT_MAX);
    if (file_verify(context, prepared, &place, &content, result) != 0)
        goto out;
    if (editing_apply(editing, prepared->path, buf_view(&content), &changed, &replaced, result) !=
        0)
        goto out;
    struct hash after = hash_of(buf_view(&changed));
    if (!hash_eq(&after, &prepared->after_hash)) {
        tool_fail(result, "the edit of %s is not the one that was prepared",
                  filename_of(prepared->path).text);
        goto out;
    }
    if (file_write(context, prepared, &place, buf_view(&changed), result) != 0)
        goto out;
    buf_text(&result->text, "Edited ");
    file_name(result, prepared->path);
    buf_printf(&result->text, ": %zu %s.\n", replaced,
               replaced == 1 ? "replacement" : "replacements");
    add_diff(result, buf_view(&content), buf_view(&changed));
    tool_add_modified(context, result, prepared->path);
out:
    place_close(&place);
    buf_release(&content);
    buf_release(&changed);
}
