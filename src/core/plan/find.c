/* See find.h. Mended are: a comma before a closing bracket, numbers that are too large, line breaks and tabs inside of strings, True, False and None. The work
 * is bounded: text that is full of brackets which lead nowhere is text from some point on. Pure; any thread. */
#include "core/plan/find.h"

#define WORK_MAX ((size_t)32 << 20)

void finder_init(struct finder *finder, struct str text)
{
    *finder = (struct finder){.text = text, .work = WORK_MAX};
}

/* The end of the string that starts at `at`, behind its quote; text.n: it has none. */
static size_t string_end(struct str text, size_t at)
{
    for (at++; at < text.n; at++) {
        if (text.p[at] == '\\')
            at++;
        else if (text.p[at] == '"')
            return at + 1;
    }
    return text.n;
}

/* The end of the value that starts with a bracket at `at`, by counting brackets; 0: it has none. */
static size_t value_end(struct str text, size_t at)
{
    size_t depth = 0;
    while (at < text.n) {
        char c = text.p[at];
        if (c == '"') {
            at = string_end(text, at);
            continue;
        }
        at++;
        depth += c == '{' || c == '[';
        if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A comma with nothing but space between it and the bracket behind it. */
static bool is_comma_too_many(struct str text, size_t at)
{
    if (text.p[at] != ',')
        return false;
    for (at++; at < text.n && is_space(text.p[at]);)
        at++;
    return at < text.n && (text.p[at] == ']' || text.p[at] == '}');
}

static void mend_string(struct str text, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c == '\n')
            buf_text(out, "\\n");
        else if (c < 0x20)
            buf_char(out, ' ');
        else
            buf_char(out, (char)c);
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Steps over a word; the three of another language are put into JSON's. */
static size_t mend_word(struct str text, size_t at, struct buf *out)
{
    static const struct str words[][2] = {
        {STR("True"), STR("true")}, {STR("False"), STR("false")}, {STR("None"), STR("null")}};
    size_t end = at;
    while (end < text.n && is_letter(text.p[end]))
        end++;
    struct str word = {text.p + at, end - at};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq(word, words[i][0]))
            word = words[i][1];
    buf_str(out, word);
    return end;
}

static bool is_number_part(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* A number that no JSON reader here takes says nothing, and spoils its field alone. */
static size_t mend_number(struct str text, size_t at, struct buf *out)
{
    struct err unused = ERR_INIT;
    size_t end = at;
    while (end < text.n && is_number_part(text.p[end]))
        end++;
    struct str number = {text.p + at, end - at};
    struct js *value = js_parse(number, &unused);
    buf_str(out, value ? number : STR("null"));
    js_free(value);
    return end;
}

static void mend(struct str text, struct buf *out)
{
    for (size_t at = 0; at < text.n;) {
        if (text.p[at] == '"') {
            size_t end = string_end(text, at);
            mend_string(text, at, end, out);
            at = end;
        } else if (is_letter(text.p[at])) {
            at = mend_word(text, at, out);
        } else if (is_number_part(text.p[at])) {
            at = mend_number(text, at, out);
        } else {
            if (!is_comma_too_many(text, at))
                buf_char(out, text.p[at]);
            at++;
        }
    }
}

static struct js *parse(struct str text)
{
    struct err unused = ERR_INIT;
    struct buf mended;
    struct js *value = js_parse(text, &unused);
    if (value)
        return value;
    buf_init(&mended, text.n * 2 + 64);
    mend(text, &mended);
    value = js_parse(buf_view(&mended), &unused);
    buf_release(&mended);
    return value;
}

struct js *finder_next(struct finder *finder, bool *whole)
{
    struct str text = finder->text;
    for (; finder->at < text.n; finder->at++) {
        size_t at = finder->at;
        if (text.p[at] != '{' && text.p[at] != '[')
            continue;
        size_t end = value_end(text, at);
        size_t looked = (end ? end : text.n) - at;
        if (looked > finder->work) {
            finder->at = text.n;
            break;
        }
        finder->work -= looked;
        struct js *value = end ? parse((struct str){text.p + at, end - at}) : NULL;
        if (value) {
            *whole = at >= finder->broken && finder->open == 0;
            finder->at = end;
            return value;
        }
        finder->open += end == 0;
        if (end > finder->broken)
            finder->broken = end;
    }
    return NULL;
}
