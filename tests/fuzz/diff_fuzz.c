/* Diffs against a reader of their own: the input is cut into two texts over a small alphabet; the diff between them is read back,
 * and applied to the first it must give the second. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "tool/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str take_line(struct str *rest)
{
    const char *newline = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    struct str line = {rest->p, newline ? (size_t)(newline - rest->p) + 1 : rest->n};
    rest->p += line.n;
    rest->n -= line.n;
    return line;
}

/* "@@ -a,b +c,d @@": the four numbers. */
static void read_header(struct str line, size_t numbers[4])
{
    static const char before[][5] = {"@@ -", ",", " +", ","};
    for (size_t i = 0; i < 4; i++) {
        struct str mark = str_from(before[i]);
        assert(str_starts(line, mark));
        line.p += mark.n;
        line.n -= mark.n;
        size_t digits = 0;
        for (numbers[i] = 0; digits < line.n && line.p[digits] >= '0' && line.p[digits] <= '9';)
            numbers[i] = numbers[i] * 10 + (size_t)(line.p[digits++] - '0');
        assert(digits > 0);
        line.p += digits;
        line.n -= digits;
    }
    assert(str_eq(line, STR(" @@\n")));
}

static void apply(struct str before, struct str diff, struct buf *after)
{
    size_t old_line = 0, new_line = 0;
    while (diff.n > 0) {
        size_t numbers[4];
        read_header(take_line(&diff), numbers);
        for (; old_line + (numbers[1] > 0) < numbers[0]; old_line++, new_line++)
            buf_str(after, take_line(&before));
        assert(new_line + (numbers[3] > 0) == numbers[2]);
        for (size_t old_left = numbers[1], new_left = numbers[3]; old_left + new_left > 0;) {
            struct str line = take_line(&diff);
            assert(line.n > 1 || line.n == 1);
            char mark = line.p[0];
            struct str text = {line.p + 1, line.n - 1};
            if (str_starts(diff, STR("\\ No newline"))) {
                take_line(&diff);
                text.n--;
            }
            if (mark != '+') {
                assert(str_eq(take_line(&before), text));
                assert(old_left-- > 0);
                old_line++;
            }
            if (mark != '-') {
                buf_str(after, text);
                assert(new_left-- > 0);
                new_line++;
            }
            assert(mark == ' ' || mark == '-' || mark == '+');
        }
    }
    buf_str(after, before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char alphabet[] = "a\nb\n\r\n";
    if (size < 1 || size > 8192)
        return 0;
    size_t first = (size - 1) * data[0] / 255;
    char *before = malloc(first + 1), *after = malloc(size - first);
    for (size_t i = 1; i < size; i++) {
        char c = alphabet[data[i] % 6];
        if (i <= first)
            before[i - 1] = c;
        else
            after[i - 1 - first] = c;
    }
    struct buf diff, again;
    buf_init(&diff, 1 << 20);
    buf_init(&again, 1 << 20);
    struct str old = {before, first}, new = {after, size - 1 - first};
    diff_print(old, new, (struct diff_bounds){.lines = SIZE_MAX, .line_bytes = 1 << 16}, &diff);
    assert(str_eq(old, new) == (diff.n == 0));
    apply(old, buf_view(&diff), &again);
    assert(str_eq(buf_view(&again), new));
    free(before);
    free(after);
    buf_release(&diff);
    buf_release(&again);
    return 0;
}
