/* Edit matching against a naive oracle: the input is cut into old text, new text and content
 * over a small alphabet, so that matches, overlaps and near misses are common. The same as the steps of
 * one change: all of them hold, or an error is told. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "tool/editing.h"
#include "tool/result.h"

#define OUT_MAX (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool stands_at(struct str content, size_t at, struct str old)
{
    return at + old.n <= content.n && memcmp(content.p + at, old.p, old.n) == 0;
}

/* Counts positions (overlaps included) and builds the replacement byte by byte. */
static size_t oracle(struct str content, struct str old, struct str new, struct buf *out,
                     size_t *replaced)
{
    size_t positions = 0;
    for (size_t i = 0; i < content.n; i++)
        positions += stands_at(content, i, old);
    *replaced = 0;
    for (size_t i = 0; i < content.n;) {
        if (stands_at(content, i, old)) {
            buf_str(out, new);
            i += old.n;
            (*replaced)++;
        } else {
            buf_char(out, content.p[i++]);
        }
    }
    return positions;
}

static size_t count_lines(struct str content)
{
    size_t lines = 1;
    for (size_t i = 0; i < content.n; i++)
        lines += content.p[i] == '\n';
    return lines;
}

static void check_replace(struct str content, struct str old, struct str new,
                          enum replace_mode mode)
{
    struct buf got, want;
    struct replace_report report;
    size_t replaced;
    buf_init(&got, OUT_MAX);
    buf_init(&want, OUT_MAX);
    size_t positions = oracle(content, old, new, &want, &replaced);
    enum replace_outcome outcome = replace_text(content, old, new, mode, &got, &report);
    if (positions == 0) {
        assert(outcome == REPLACE_MISSING);
    } else if (mode == REPLACE_ONE && positions > 1) {
        assert(outcome == REPLACE_AMBIGUOUS);
    } else if (want.failed) {
        assert(outcome == REPLACE_TOO_LARGE);
    } else {
        assert(outcome == REPLACE_DONE);
        assert(report.count == replaced);
        assert(str_eq(buf_view(&got), buf_view(&want)));
    }
    for (size_t i = 0; i < report.line_count; i++)
        assert(report.lines[i] >= 1 && report.lines[i] <= count_lines(content));
    buf_release(&got);
    buf_release(&want);
}

static void check_nearest(struct str content, struct str old)
{
    struct replace_near near = replace_nearest(content, old);
    if (near.line == 0)
        return;
    assert(near.line <= count_lines(content) + 1);
    assert(!near.found.p ||
           (near.found.p >= content.p && near.found.p + near.found.n <= content.p + content.n));
    assert(near.asked.p >= old.p && near.asked.p + near.asked.n <= old.p + old.n);
}

/* Two steps at once give what each would give after the other, or an error and nothing. */
static void check_steps(struct str content, struct str old, struct str new, enum replace_mode mode)
{
    static const struct tool_context context = {.max_result = 4096};
    struct editing editing = {.steps = {{old, new, mode}, {new, old, mode}}, .count = 2};
    struct tool_result result = {0};
    struct replace_report report;
    struct buf got, first, second;
    size_t replaced;
    buf_init(&got, OUT_MAX);
    buf_init(&first, OUT_MAX);
    buf_init(&second, OUT_MAX);
    tool_result_start(&context, &result);
    if (editing_apply(&editing, STR("a"), content, &got, &replaced, &result) == 0) {
        assert(result.kind == RESULT_OK);
        assert(!str_eq(buf_view(&got), content));
        if (!memchr(content.p, '\r', content.n)) {
            assert(replace_text(content, old, new, mode, &first, &report) == REPLACE_DONE);
            assert(replace_text(buf_view(&first), new, old, mode, &second, &report) ==
                   REPLACE_DONE);
            assert(str_eq(buf_view(&got), buf_view(&second)));
        }
    } else {
        assert(result.kind == RESULT_ERROR);
        assert(str_starts(buf_view(&result.text), STR("Error: ")));
        assert(utf8_valid(buf_view(&result.text)) == result.text.n);
    }
    buf_release(&result.text);
    buf_release(&got);
    buf_release(&first);
    buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char alphabet[] = "aab \t\n\rA";
    if (size < 4 || size > 4096)
        return 0;
    char *text = malloc(size);
    for (size_t i = 0; i < size; i++)
        text[i] = data[0] & 1 ? alphabet[data[i] % 8] : (char)data[i];
    size_t left = size - 3;
    size_t old_length = 1 + data[1] % left;
    size_t new_length = data[2] % (left - old_length + 1);
    /* Exact copies, so that the sanitizer sees a read past any of them. */
    char *old = malloc(old_length), *new = malloc(new_length + 1);
    size_t content_length = left - old_length - new_length;
    char *content = malloc(content_length + 1);
    memcpy(old, text + 3, old_length);
    memcpy(new, text + 3 + old_length, new_length);
    memcpy(content, text + 3 + old_length + new_length, content_length);
    enum replace_mode mode = data[0] & 2 ? REPLACE_ALL : REPLACE_ONE;
    struct str content_view = {content, content_length}, old_view = {old, old_length};
    check_replace(content_view, old_view, (struct str){new, new_length}, mode);
    check_nearest(content_view, old_view);
    check_steps(content_view, old_view, (struct str){new, new_length}, mode);
    free(text);
    free(old);
    free(new);
    free(content);
    return 0;
}
