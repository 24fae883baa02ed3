/* See quote.h. Code is the one thing in Markdown in which nothing else has a meaning; it ends with as many backticks as it began with. Pure. */
#include "core/report/quote.h"

#include "base/utf8.h"

#define CLEAN_MAX (SIZE_MAX / 4)
#define FENCE_MIN 3

static size_t longest_ticks(struct str text)
{
    size_t longest = 0, length = 0;
    for (size_t i = 0; i < text.n; i++) {
        length = text.p[i] == '`' ? length + 1 : 0;
        if (length > longest)
            longest = length;
    }
    return longest;
}

static void add_ticks(struct buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_char(out, '`');
}

void quote_line(struct buf *out, struct str text, size_t max_chars)
{
    struct buf clean;
    buf_init(&clean, CLEAN_MAX);
    utf8_clean(&clean, text, UTF8_ONE_LINE);
    struct str shown = utf8_cut_chars(buf_view(&clean), max_chars);
    size_t ticks = longest_ticks(shown) + 1;
    /* A space on both sides is not part of the code. Without it, a backtick at an end would belong to the quotes, and code of
     * nothing but spaces would be none. */
    add_ticks(out, ticks);
    buf_char(out, ' ');
    buf_str(out, shown);
    buf_text(out, shown.n < clean.n ? "…" : shown.n == 0 ? "-" : "");
    buf_char(out, ' ');
    add_ticks(out, ticks);
    buf_release(&clean);
}

void quote_block(struct buf *out, struct str text)
{
    struct buf clean;
    buf_init(&clean, CLEAN_MAX);
    utf8_clean(&clean, text, UTF8_LINES);
    struct str shown = buf_view(&clean);
    size_t ticks = longest_ticks(shown) + 1;
    if (ticks < FENCE_MIN)
        ticks = FENCE_MIN;
    add_ticks(out, ticks);
    buf_text(out, "text\n");
    buf_str(out, shown);
    if (shown.n > 0 && shown.p[shown.n - 1] != '\n')
        buf_char(out, '\n');
    add_ticks(out, ticks);
    buf_char(out, '\n');
    buf_release(&clean);
}
