/* See html_token.h. Any thread. */
#include "tool/html_token.h"

#include <strings.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Elements whose content is text whatever it looks like. */
static const char *const raw_elements[] = {"script", "style",   "title",  "textarea",
                                           "xmp",    "noembed", "iframe", "noframes"};

static size_t find(struct str text, size_t from, struct str mark)
{
    const char *found = from < text.n ? memmem(text.p + from, text.n - from, mark.p, mark.n) : NULL;
    return found ? (size_t)(found - text.p) : text.n;
}

/* Behind a comment or a declaration that starts at `at`. */
static size_t skip_declaration(struct str text, size_t at)
{
    struct str rest = {text.p + at, text.n - at};
    struct str mark = str_starts(rest, STR("<!--"))        ? STR("-->")
                      : str_starts(rest, STR("<![CDATA[")) ? STR("]]>")
                                                           : STR(">");
    size_t end = find(text, at + (mark.n == 3 ? 4 : 2), mark);
    return end < text.n ? end + mark.n : text.n;
}

static size_t read_name(struct str text, size_t at, char name[HTML_NAME_MAX])
{
    size_t n = 0;
    while (at < text.n && !is_space(text.p[at]) && text.p[at] != '/' && text.p[at] != '>') {
        if (n < HTML_NAME_MAX - 1)
            name[n++] = lower(text.p[at]);
        at++;
    }
    name[n] = '\0';
    return at;
}

/* The '>' that ends a tag: one inside quotes does not. */
static size_t tag_end(struct str text, size_t at)
{
    char quote = '\0', last = '\0';
    for (; at < text.n; at++) {
        char c = text.p[at];
        if (quote) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '>') {
            return at;
        } else if ((c == '"' || c == '\'') && last == '=') {
            quote = c;
        }
        last = is_space(c) && last == '=' ? last : c;
    }
    return text.n;
}

static void read_tag(struct html_reader *reader, struct html_token *token)
{
    struct str text = reader->text;
    size_t at = reader->at + 1;
    token->kind = HTML_OPEN;
    if (text.p[at] == '/') {
        token->kind = HTML_CLOSE;
        at++;
    }
    at = read_name(text, at, token->name);
    size_t end = tag_end(text, at);
    token->attributes = (struct str){text.p + at, end - at};
    reader->at = end < text.n ? end + 1 : text.n;
    for (size_t i = 0; token->kind == HTML_OPEN && i < sizeof raw_elements / sizeof raw_elements[0];
         i++)
        if (strcmp(token->name, raw_elements[i]) == 0)
            memcpy(reader->raw, token->name, sizeof reader->raw);
}

/* Up to the end tag of the raw element, or all that is left. */
static void read_raw(struct html_reader *reader, struct html_token *token)
{
    struct str text = reader->text;
    size_t n = strlen(reader->raw), at = reader->at;
    for (; (at = find(text, at, STR("</"))) < text.n; at += 2)
        if (text.n - at - 2 >= n && strncasecmp(text.p + at + 2, reader->raw, n) == 0 &&
            (text.n - at - 2 == n || !is_letter(text.p[at + 2 + n])))
            break;
    token->kind = HTML_TEXT;
    token->text = (struct str){text.p + reader->at, at - reader->at};
    reader->at = at;
    reader->raw[0] = '\0';
}

/* Does a tag, a comment or a declaration start here? Anything else is text. */
static enum { STARTS_TEXT, STARTS_TAG, STARTS_DECLARATION } starts(struct str text, size_t at)
{
    if (text.p[at] != '<' || at + 1 >= text.n)
        return STARTS_TEXT;
    char c = text.p[at + 1];
    if (c == '!' || c == '?')
        return STARTS_DECLARATION;
    if (is_letter(c) || (c == '/' && at + 2 < text.n && is_letter(text.p[at + 2])))
        return STARTS_TAG;
    return STARTS_TEXT;
}

void html_next(struct html_reader *reader, struct html_token *token)
{
    struct str text = reader->text;
    *token = (struct html_token){.kind = HTML_END};
    if (reader->raw[0] && reader->at < text.n) {
        read_raw(reader, token);
        return;
    }
    while (reader->at < text.n && starts(text, reader->at) == STARTS_DECLARATION)
        reader->at = skip_declaration(text, reader->at);
    if (reader->at >= text.n)
        return;
    if (starts(text, reader->at) == STARTS_TAG) {
        read_tag(reader, token);
        return;
    }
    size_t end = reader->at + 1;
    while ((end = find(text, end, STR("<"))) < text.n && starts(text, end) == STARTS_TEXT)
        end++;
    token->kind = HTML_TEXT;
    token->text = (struct str){text.p + reader->at, end - reader->at};
    reader->at = end;
}

static size_t skip_space(struct str text, size_t at)
{
    while (at < text.n && (is_space(text.p[at]) || text.p[at] == '/'))
        at++;
    return at;
}

/* The value behind '=', quoted or up to the next space. */
static size_t read_value(struct str text, size_t at, struct str *value)
{
    while (at < text.n && is_space(text.p[at]))
        at++;
    char quote = at < text.n && (text.p[at] == '"' || text.p[at] == '\'') ? text.p[at] : '\0';
    size_t start = at + (quote != '\0');
    for (at = start; at < text.n && (quote ? text.p[at] != quote : !is_space(text.p[at]));)
        at++;
    *value = (struct str){text.p + start, at - start};
    return at + (quote && at < text.n);
}

bool html_attribute(const struct html_token *token, const char *name, struct str *value)
{
    struct str text = token->attributes;
    size_t n = strlen(name), at = skip_space(text, 0);
    while (at < text.n) {
        size_t start = at;
        while (at < text.n && !is_space(text.p[at]) && (text.p[at] != '=' || at == start) &&
               text.p[at] != '/')
            at++;
        bool wanted = at - start == n && strncasecmp(text.p + start, name, n) == 0;
        size_t behind = at;
        while (behind < text.n && is_space(text.p[behind]))
            behind++;
        *value = STR("");
        if (behind < text.n && text.p[behind] == '=')
            at = read_value(text, behind + 1, value);
        if (wanted)
            return true;
        at = skip_space(text, at);
    }
    return false;
}
