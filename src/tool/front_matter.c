/* See front_matter.h. */
#include "tool/front_matter.h"

#include "base/utf8.h"

/* Takes a line off, without its line break; false at the end. */
static bool next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *newline = memchr(rest->p, '\n', rest->n);
    size_t n = newline ? (size_t)(newline - rest->p) : rest->n, taken = n + (newline != NULL);
    *line = (struct str){rest->p, n};
    if (n > 0 && line->p[n - 1] == '\r')
        line->n--;
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return true;
}

static struct str trim(struct str text)
{
    while (text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

bool front_matter_split(struct str text, struct str *block, struct str *body)
{
    struct str rest = text, line;
    *body = text;
    *block = STR("");
    if (str_starts(rest, STR("\xEF\xBB\xBF")))
        rest = (struct str){rest.p + 3, rest.n - 3};
    if (!next_line(&rest, &line) || !str_is(trim(line), "---"))
        return false;
    const char *start = rest.p;
    while (next_line(&rest, &line)) {
        if (!str_is(line, "---") && !str_is(line, "..."))
            continue;
        *block = (struct str){start, (size_t)(line.p - start)};
        *body = rest;
        return true;
    }
    return false;
}

/* A quoted value up to its closing quote. */
static void unquote(struct str text, struct buf *out)
{
    char quote = text.p[0];
    for (size_t i = 1; i < text.n; i++) {
        char c = text.p[i];
        bool more = i + 1 < text.n;
        if (quote == '"' && c == '\\' && more) {
            c = text.p[++i];
            buf_char(out, c == 'n' || c == 't' || c == 'r' ? ' ' : c);
        } else if (c == quote && quote == '\'' && more && text.p[i + 1] == quote) {
            buf_char(out, text.p[i++]);
        } else if (c == quote) {
            return;
        } else {
            buf_char(out, c);
        }
    }
}

/* A plain value: a comment ends it. */
static struct str plain(struct str text)
{
    for (size_t i = 1; i < text.n; i++)
        if (text.p[i] == '#' && (text.p[i - 1] == ' ' || text.p[i - 1] == '\t'))
            return trim((struct str){text.p, i});
    return text.n > 0 && text.p[0] == '#' ? STR("") : text;
}

/* The value's own line and the indented ones that follow it, joined by spaces. */
static void join_lines(struct str first, struct str rest, struct buf *out)
{
    struct str line;
    bool folded = first.n > 0 && (first.p[0] == '|' || first.p[0] == '>');
    if (!folded)
        buf_str(out, first);
    while (next_line(&rest, &line) && (line.n == 0 || line.p[0] == ' ' || line.p[0] == '\t')) {
        struct str text = trim(line);
        if (text.n > 0 && out->n > 0)
            buf_char(out, ' ');
        buf_str(out, text);
    }
}

void front_matter_value(struct str block, const char *key, struct buf *out)
{
    struct str line, name = str_from(key);
    struct buf joined, value;
    buf_init(&joined, block.n + 1);
    buf_init(&value, block.n + 1);
    while (next_line(&block, &line)) {
        if (!str_starts(line, name) || line.n <= name.n || line.p[name.n] != ':')
            continue;
        struct str first = trim((struct str){line.p + name.n + 1, line.n - name.n - 1});
        join_lines(first, block, &joined);
        struct str text = buf_view(&joined);
        bool folded = first.n > 0 && (first.p[0] == '|' || first.p[0] == '>');
        if (!folded && text.n > 0 && (text.p[0] == '"' || text.p[0] == '\''))
            unquote(text, &value);
        else
            buf_str(&value, folded ? text : plain(text));
        break;
    }
    utf8_clean(out, buf_view(&value), UTF8_ONE_LINE);
    buf_release(&joined);
    buf_release(&value);
}
