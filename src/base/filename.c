/* See filename.h. Any thread. */
#include "base/filename.h"

#include "base/utf8.h"

static const char letters[] = "abtnvfr"; /* of the bytes from 7 to 13 */

/* The bytes of the character at the start of text; *plain: it may be shown as it is. */
static size_t look(struct str text, bool *plain)
{
    uint32_t code;
    size_t length = utf8_next(text, &code);
    *plain = code != UTF8_BAD && utf8_is_visible(code);
    return length;
}

static bool is_ordinary(struct str path)
{
    bool plain = path.n == 0 || path.p[0] != '"';
    for (size_t at = 0; plain && at < path.n;)
        at += look((struct str){path.p + at, path.n - at}, &plain);
    return plain;
}

static void show_byte(struct buf *out, uint8_t byte)
{
    if (byte >= 7 && byte <= 13)
        buf_printf(out, "\\%c", letters[byte - 7]);
    else
        buf_printf(out, "\\%03o", byte);
}

void filename_show(struct buf *out, struct str path)
{
    if (is_ordinary(path)) {
        buf_str(out, path);
        return;
    }
    buf_char(out, '"');
    for (size_t at = 0; at < path.n;) {
        bool plain;
        size_t n = look((struct str){path.p + at, path.n - at}, &plain);
        if (plain && (path.p[at] == '"' || path.p[at] == '\\'))
            buf_char(out, '\\');
        if (plain)
            buf_add(out, path.p + at, n);
        for (size_t i = 0; !plain && i < n; i++)
            show_byte(out, (uint8_t)path.p[at + i]);
        at += n;
    }
    buf_char(out, '"');
}

struct str filename_shown(struct arena *arena, struct str path)
{
    struct buf out;
    if (is_ordinary(path))
        return path;
    buf_init(&out, FILENAME_SHOWN(path.n));
    filename_show(&out, path);
    struct str shown = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return shown;
}

struct filename filename_of(struct str path)
{
    struct filename name = {""};
    struct buf out;
    buf_init(&out, FILENAME_SHOWN(path.n) + 1);
    filename_show(&out, path);
    struct str whole = buf_view(&out);
    struct str shown = utf8_cut(whole, sizeof name.text - sizeof "…");
    memcpy(name.text, shown.p, shown.n);
    if (shown.n < whole.n)
        memcpy(name.text + shown.n, "…", sizeof "…");
    buf_release(&out);
    return name;
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The byte behind a backslash at `at`; its length, or 0 where it is none. */
static size_t read_escape(struct str text, size_t at, char *byte)
{
    if (at >= text.n)
        return 0;
    const char *letter = memchr(letters, text.p[at], sizeof letters - 1);
    if (letter != NULL || text.p[at] == '"' || text.p[at] == '\\') {
        *byte = letter != NULL ? (char)(letter - letters + 7) : text.p[at];
        return 1;
    }
    if (text.n - at < 3 || text.p[at] > '3' || !is_octal(text.p[at]) || !is_octal(text.p[at + 1]) ||
        !is_octal(text.p[at + 2]))
        return 0;
    *byte = (char)((text.p[at] - '0') << 6 | (text.p[at + 1] - '0') << 3 | (text.p[at + 2] - '0'));
    return *byte != '\0' ? 3 : 0;
}

struct str filename_read(struct arena *arena, struct str shown)
{
    if (shown.n < 3 || shown.p[0] != '"' || shown.p[shown.n - 1] != '"')
        return shown;
    struct str inner = {shown.p + 1, shown.n - 2};
    char *path = arena_alloc(arena, inner.n + 1);
    size_t n = 0;
    for (size_t at = 0; at < inner.n; n++) {
        size_t used = 0;
        path[n] = inner.p[at++];
        if (path[n] == '"')
            return shown;
        if (path[n] == '\\' && (used = read_escape(inner, at, &path[n])) == 0)
            return shown;
        at += used;
    }
    path[n] = '\0';
    return (struct str){path, n};
}
