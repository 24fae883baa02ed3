/* See webpage.h. Which types are text is a table; which one a server without a type means is told by the first bytes. */
#include "tool/webpage.h"

#include <strings.h>

#include "base/utf8.h"
#include "tool/html.h"
#include "tool/html_token.h"

#define LOOK_BYTES 1024 /* of a page that are searched for its charset, or guessed from */

enum kind { KIND_OTHER, KIND_TEXT, KIND_HTML };

/* A type that starts with `start` and ends with `end`. */
static const struct {
    const char *start, *end;
    enum kind kind;
} kinds[] = {
    {"text/html", "", KIND_HTML},
    {"application/xhtml+xml", "", KIND_HTML},
    {"text/", "", KIND_TEXT},
    {"application/json", "", KIND_TEXT},
    {"application/", "+json", KIND_TEXT},
    {"application/ld+json", "", KIND_TEXT},
    {"application/x-ndjson", "", KIND_TEXT},
    {"application/xml", "", KIND_TEXT},
    {"application/", "+xml", KIND_TEXT},
    {"image/svg+xml", "", KIND_TEXT},
    {"application/javascript", "", KIND_TEXT},
    {"application/x-javascript", "", KIND_TEXT},
    {"application/yaml", "", KIND_TEXT},
    {"application/x-yaml", "", KIND_TEXT},
    {"application/toml", "", KIND_TEXT},
    {"application/x-sh", "", KIND_TEXT},
    {"application/x-www-form-urlencoded", "", KIND_TEXT},
};

void webpage_init(struct webpage *page)
{
    *page = (struct webpage){.extent = WEBPAGE_WHOLE};
    buf_init(&page->text, WEBPAGE_TEXT_MAX);
    buf_init(&page->title, 4096);
}

void webpage_release(struct webpage *page)
{
    buf_release(&page->text);
    buf_release(&page->title);
}

static bool ends_with(struct str text, struct str end)
{
    return text.n >= end.n && str_eq((struct str){text.p + text.n - end.n, end.n}, end);
}

/* "text/html; charset=utf-8" → "text/html" */
static struct str bare_type(const char *type)
{
    struct str bare = {type, strcspn(type, "; \t,")};
    return bare;
}

static enum kind guess(struct str body)
{
    struct str start = utf8_cut(body, LOOK_BYTES);
    while (start.n > 0 && strchr(" \t\r\n\xEF\xBB\xBF", start.p[0]) && start.p[0])
        start = (struct str){start.p + 1, start.n - 1};
    if (start.n >= 5 && (strncasecmp(start.p, "<html", 5) == 0 ||
                         (start.n >= 14 && strncasecmp(start.p, "<!doctype html", 14) == 0)))
        return KIND_HTML;
    return body.n == 0 || !memchr(body.p, '\0', body.n) ? KIND_TEXT : KIND_OTHER;
}

static enum kind kind_of(const struct web_answer *answer)
{
    struct str type = bare_type(answer->type);
    if (type.n == 0)
        return guess(buf_view(&answer->body));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_starts(type, str_from(kinds[i].start)) && ends_with(type, str_from(kinds[i].end)))
            return kinds[i].kind;
    return KIND_OTHER;
}

/* The name behind "charset=", in lower case; "" without one. */
static void find_charset(struct str text, char name[32])
{
    static const char mark[] = "charset=";
    size_t at = 0, n = 0;
    while (at + 8 <= text.n && strncasecmp(text.p + at, mark, 8) != 0)
        at++;
    name[0] = '\0';
    for (at += 8; at < text.n && n < 31; at++) {
        char c = text.p[at];
        if ((c == '"' || c == '\'') && n == 0)
            continue;
        c = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
            break;
        name[n++] = c;
        name[n] = '\0';
    }
}

/* Latin-1 on the web means Windows-1252. */
static void add_windows_1252(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.n; i++) {
        uint8_t byte = (uint8_t)bytes.p[i];
        uint32_t other = html_windows_1252(byte);
        html_put(out, other ? other : byte);
    }
}

static void add_utf16(struct str bytes, size_t low, struct buf *out)
{
    uint32_t high = 0;
    for (size_t i = 0; i + 1 < bytes.n; i += 2) {
        uint32_t unit =
            (uint32_t)(uint8_t)bytes.p[i + low] | (uint32_t)(uint8_t)bytes.p[i + 1 - low] << 8;
        bool second = unit >= 0xDC00 && unit < 0xE000;
        if (high && second)
            html_put(out, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
        else if (high || second)
            html_put(out, 0xFFFD);
        if (!second && (unit < 0xD800 || unit >= 0xE000))
            html_put(out, unit);
        high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
    }
}

/* The body in UTF-8; bytes that make no sense stay for the cleaning. */
static void decode(const struct web_answer *answer, enum kind kind, struct webpage *page,
                   struct buf *out)
{
    static const char *const western[] = {"iso-8859-1",   "latin1", "latin-1",
                                          "windows-1252", "cp1252", "iso-8859-15"};
    struct str body = buf_view(&answer->body);
    char name[32];
    find_charset(str_from(answer->type), name);
    if (name[0] == '\0' && kind == KIND_HTML)
        find_charset(utf8_cut(body, LOOK_BYTES), name);
    if (str_starts(body, STR("\xEF\xBB\xBF"))) {
        buf_add(out, body.p + 3, body.n - 3);
        return;
    }
    if (str_starts(body, STR("\xFF\xFE")) || str_starts(body, STR("\xFE\xFF"))) {
        add_utf16((struct str){body.p + 2, body.n - 2}, body.p[0] == '\xFE', out);
        return;
    }
    bool valid = utf8_valid(body) == body.n;
    for (size_t i = 0; i < sizeof western / sizeof western[0] && !valid; i++)
        if (strcmp(name, western[i]) == 0) {
            add_windows_1252(body, out);
            return;
        }
    if (!valid && strcmp(name, "utf-8") != 0 && strcmp(name, "utf8") != 0)
        memcpy(page->charset, name[0] ? name : "unknown", name[0] ? strlen(name) + 1 : 8);
    buf_str(out, body);
}

int webpage_read(const struct web_answer *answer, struct webpage *page, struct err *err)
{
    struct str type = bare_type(answer->type);
    enum kind kind = kind_of(answer);
    struct buf decoded, converted;
    if (kind == KIND_OTHER)
        return err_set(
            err, ERR_USAGE,
            "%.300s is no text: it has the type %.*s and %zu bytes, which cannot be shown",
            answer->url, type.n ? (int)type.n : 7, type.n ? type.p : "unknown", answer->body.n);
    buf_init(&decoded, 3 * answer->body.n + 16);
    buf_init(&converted, WEBPAGE_TEXT_MAX);
    decode(answer, kind, page, &decoded);
    struct str text = buf_view(&decoded);
    if (kind == KIND_HTML) {
        html_to_markdown(text, answer->url, &converted, &page->title);
        text = buf_view(&converted);
    }
    utf8_clean(&page->text, text, UTF8_LINES);
    page->extent = converted.failed || page->text.failed ? WEBPAGE_CUT : WEBPAGE_WHOLE;
    page->text.failed = false;
    page->text.n = utf8_cut(buf_view(&page->text), page->text.n).n;
    buf_release(&decoded);
    buf_release(&converted);
    return 0;
}
