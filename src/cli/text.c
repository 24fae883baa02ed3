/* Formats for people. Every number here is for reading, none for computing. */
#include "cli/text.h"

#include <math.h>
#include <time.h>

#include "base/filename.h"
#include "base/utf8.h"

#define GIST_BYTES 200
#define LINE_BYTES 65536

void text_dollars(struct buf *out, double dollars)
{
    if (!isfinite(dollars) || dollars < 0)
        buf_text(out, "$?");
    else if (dollars > 0 && dollars < 0.001)
        buf_printf(out, "$%.6f", dollars);
    else
        buf_printf(out, "$%.4f", dollars);
}

void text_money(struct buf *out, int64_t nano)
{
    text_dollars(out, (double)nano / 1e9);
}

bool text_spent(struct buf *out, const struct js *result)
{
    double cost = js_real(js_get(result, "cost_usd"), -1);
    double least = js_real(js_get(js_get(result, "at_least"), "cost_usd"), -1);
    double most = js_real(js_get(js_get(result, "at_most"), "cost_usd"), -1);
    if (cost <= 0 && least <= 0 && most <= 0)
        return false;
    buf_text(out, cost < 0 ? "at least " : "");
    text_dollars(out, cost < 0 ? least : cost);
    if (most > cost) {
        buf_text(out, ", at most ");
        text_dollars(out, most);
    }
    return true;
}

void text_tokens(struct buf *out, int64_t tokens)
{
    if (tokens < 1000)
        buf_int(out, tokens < 0 ? 0 : tokens);
    else if (tokens < 999950)
        buf_printf(out, "%.1fk", (double)tokens / 1e3);
    else
        buf_printf(out, "%.1fM", (double)tokens / 1e6);
}

void text_duration(struct buf *out, int64_t ms)
{
    int64_t seconds = ms / 1000;
    if (ms < 0)
        buf_text(out, "0.0s");
    else if (ms < 60000)
        buf_printf(out, "%lld.%llds", (long long)seconds, (long long)(ms % 1000 / 100));
    else if (seconds < 3600)
        buf_printf(out, "%lldm%02llds", (long long)(seconds / 60), (long long)(seconds % 60));
    else
        buf_printf(out, "%lldh%02lldm", (long long)(seconds / 3600),
                   (long long)(seconds / 60 % 60));
}

/* false where there is no such time; "-" stands for it then. */
static bool local_time(int64_t ms, struct tm *parts)
{
    time_t seconds = (time_t)(ms / 1000);
    return ms >= 0 && localtime_r(&seconds, parts) != NULL;
}

void text_clock(struct buf *out, int64_t ms)
{
    struct tm parts;
    if (local_time(ms, &parts))
        buf_printf(out, "%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
    else
        buf_char(out, '-');
}

void text_date(struct buf *out, int64_t ms)
{
    struct tm parts;
    if (local_time(ms, &parts))
        buf_printf(out, "%04d-%02d-%02d %02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1,
                   parts.tm_mday, parts.tm_hour, parts.tm_min);
    else
        buf_char(out, '-');
}

/* Returns the columns that were used. */
static int add_cut(struct buf *out, struct str text, int columns, enum text_ellipsis ellipsis)
{
    struct buf clean;
    buf_init(&clean, LINE_BYTES);
    utf8_clean(&clean, utf8_cut(text, LINE_BYTES / 4), UTF8_ONE_LINE);
    struct str line = buf_view(&clean);
    struct str dots = ellipsis == ELLIPSIS_UTF8 ? STR("…") : STR("...");
    int width = utf8_width(line);
    if (width > columns) {
        int room = columns - utf8_width(dots);
        line = utf8_cut_width(line, room > 0 ? room : columns);
        width = utf8_width(line);
        buf_str(out, line);
        if (room > 0) {
            buf_str(out, dots);
            width += utf8_width(dots);
        }
    } else {
        buf_str(out, line);
    }
    buf_release(&clean);
    return width;
}

void text_cut(struct buf *out, struct str text, int columns, enum text_ellipsis ellipsis)
{
    if (columns > 0)
        add_cut(out, text, columns, ellipsis);
}

void text_column(struct buf *out, struct str text, int columns, enum text_ellipsis ellipsis)
{
    int width = columns > 0 ? add_cut(out, text, columns, ellipsis) : 0;
    for (; width < columns; width++)
        buf_char(out, ' ');
}

/* Escaped, not stripped: a person decides by this name, and it must not look like another file's. */
static void add_path(struct buf *out, struct str path)
{
    struct arena arena;
    arena_init(&arena);
    filename_show(out, utf8_cut(filename_read(&arena, path), 1024));
    arena_release(&arena);
}

void text_gist_of(struct buf *out, const struct js *arguments)
{
    static const char *const telling[] = {"pattern", "path",  "task", "command",
                                          "url",     "query", "name", NULL};
    struct str found = STR_NONE;
    for (size_t i = 0; telling[i] != NULL && found.n == 0; i++)
        found = js_get_str(arguments, telling[i]);
    const struct js *value;
    struct str key;
    void *iter = NULL;
    while (found.n == 0 && js_kind(arguments) == JS_OBJECT &&
           (iter = js_next(arguments, iter, &key, &value)) != NULL)
        found = js_str(value);
    struct buf clean;
    buf_init(&clean, 8192);
    if (found.n > 0 && found.p == js_get_str(arguments, "path").p)
        add_path(&clean, found);
    else
        utf8_clean(&clean, utf8_cut(found, 1024), UTF8_ONE_LINE);
    buf_str(out, utf8_cut(buf_view(&clean), GIST_BYTES));
    buf_release(&clean);
}

void text_gist(struct buf *out, struct str arguments)
{
    struct err ignored = ERR_INIT;
    struct js *doc = arguments.n > 0 ? js_parse(arguments, &ignored) : NULL;
    text_gist_of(out, doc);
    js_free(doc);
}
