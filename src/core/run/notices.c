/* What a person is told once in a run: a server refused something that was asked for, and the
 * requests go without it. Every answer carries such lines; the log has each of them once. Pure. */
#include "core/run/state.h"

#define NOTICE_BYTES 4096 /* of one line: a longer one is left out */

/* The first line, taken off the text. */
static struct str take_line(struct str *text)
{
    const char *end = memchr(text->p, '\n', text->n);
    struct str line = {text->p, end != NULL ? (size_t)(end - text->p) : text->n};
    size_t taken = line.n + (end != NULL ? 1 : 0);
    *text = (struct str){text->p + taken, text->n - taken};
    return line;
}

static bool is_told(const struct run *run, struct str line)
{
    for (size_t i = 0; i < run->notice_count; i++) {
        if (str_eq(run->notices[i], line))
            return true;
    }
    return false;
}

struct str notices_untold(struct deciding *d, struct str lines)
{
    struct buf out;
    size_t count = d->run->notice_count;
    if (lines.n == 0)
        return STR_NONE;
    buf_init(&out, (size_t)RUN_NOTICES_MAX * (NOTICE_BYTES + 1));
    while (lines.n > 0 && count < RUN_NOTICES_MAX) {
        struct str line = take_line(&lines);
        if (line.n == 0 || line.n > NOTICE_BYTES || is_told(d->run, line))
            continue;
        if (out.n > 0)
            buf_char(&out, '\n');
        buf_str(&out, line);
        count++;
    }
    struct str untold = out.n > 0 ? keep(d, buf_view(&out)) : STR_NONE;
    buf_release(&out);
    return untold;
}

void notices_apply(struct run *run, struct str lines)
{
    while (lines.n > 0 && run->notice_count < RUN_NOTICES_MAX) {
        struct str line = take_line(&lines);
        if (!is_told(run, line))
            run->notices[run->notice_count++] = arena_copy(&run->arena, line);
    }
}
