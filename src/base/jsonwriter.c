/* Writing JSON into a buf: escaping, numbers, commas, and the printing of parsed values. The same value
 * always gives the same bytes, in every locale: what is hashed and compared comes from here. json_quote is
 * on the hot path of every request body; it copies whole runs. Pure; one thread at a time. */
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_node.h"
#include "base/utf8.h"

enum { WRITER_DEPTH_MAX = 32, SHORT_MAX = 64 };

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

/* Whether one of eight bytes is a control character, a quote or a backslash. */
static bool eight_plain(uint64_t eight)
{
    uint64_t quote = eight ^ EACH_BYTE('"');
    uint64_t backslash = eight ^ EACH_BYTE('\\');
    uint64_t hit = ((eight - EACH_BYTE(0x20)) & ~eight) | ((quote - EACH_BYTE(1)) & ~quote) |
                   ((backslash - EACH_BYTE(1)) & ~backslash);
    return (hit & EACH_BYTE(0x80)) == 0;
}

/* Sixteen bytes at once, which compilers make a few instructions of. */
typedef uint8_t sixteen __attribute__((vector_size(16)));

/* How many of sixteen bytes come before the first that needs an escape. */
static size_t sixteen_plain(sixteen bytes)
{
    uint64_t halves[2];
    sixteen hit = (sixteen)(bytes < 0x20) | (sixteen)(bytes == '"') | (sixteen)(bytes == '\\');
    memcpy(halves, &hit, sizeof halves);
    if ((halves[0] | halves[1]) == 0)
        return sizeof bytes;
    size_t first = halves[0] != 0 ? 0 : 1;
    return first * 8 + (size_t)__builtin_ctzll(le64toh(halves[first])) / 8;
}

size_t json_plain_run(struct str text)
{
    size_t i = 0;
    while (text.n - i >= sizeof(sixteen)) {
        sixteen bytes;
        memcpy(&bytes, text.p + i, sizeof bytes);
        size_t plain = sixteen_plain(bytes);
        i += plain;
        if (plain < sizeof(sixteen))
            return i;
    }
    while (i < text.n && is_plain((unsigned char)text.p[i]))
        i++;
    return i;
}

#define ESCAPE_MAX 6 /* bytes that one byte may become */

/* Writes the escape of a byte that needs one and returns its length. */
static size_t escape_put(char *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char short_forms[128] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };
    out[0] = '\\';
    if (short_forms[c]) {
        out[1] = short_forms[c];
        return 2;
    }
    out[1] = 'u';
    out[2] = out[3] = '0';
    out[4] = digits[c >> 4];
    out[5] = digits[c & 15];
    return ESCAPE_MAX;
}

/* Escapes as many whole blocks of text as there surely is room for in the memory that out has, and returns how many bytes
 * of text that were. Copies a block before it knows how much of it is plain: what follows overwrites the rest. */
static size_t escape_blocks(struct buf *out, struct str text)
{
    size_t i = 0, n = out->n;
    size_t last = out->capacity > 2 * sizeof(sixteen) ? out->capacity - 2 * sizeof(sixteen) : 0;
    while (text.n - i >= sizeof(sixteen) && n < last) {
        sixteen bytes;
        memcpy(&bytes, text.p + i, sizeof bytes);
        memcpy(out->p + n, &bytes, sizeof bytes);
        size_t plain = sixteen_plain(bytes);
        i += plain;
        n += plain;
        if (plain < sizeof(sixteen))
            n += escape_put(out->p + n, (unsigned char)text.p[i++]);
    }
    if (i > 0) {
        out->n = n;
        out->p[n] = '\0';
    }
    return i;
}

static void escape_valid(struct buf *out, struct str text)
{
    while (text.n > 0 && !out->failed) {
        char escape[ESCAPE_MAX];
        size_t done = escape_blocks(out, text);
        text.p += done;
        text.n -= done;
        size_t run = json_plain_run(text);
        buf_add(out, text.p, run);
        if (run < text.n) {
            size_t n = escape_put(escape, (unsigned char)text.p[run++]);
            buf_add(out, escape, n);
        }
        text.p += run;
        text.n -= run;
    }
}

/* Whether all of it is ASCII that needs no escape: nearly every name and number in words. */
static bool is_plain_ascii(struct str text)
{
    uint64_t eight, all = 0;
    size_t i = 0;
    for (; text.n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, text.p + i, sizeof eight);
        if (!eight_plain(eight))
            return false;
        all |= eight;
    }
    eight = EACH_BYTE('a');
    if (i < text.n && text.n >= sizeof eight)
        memcpy(&eight, text.p + text.n - sizeof eight, sizeof eight); /* some of them again */
    else
        for (; i < text.n; i++)
            eight = eight << 8 | (unsigned char)text.p[i];
    return eight_plain(eight) && ((all | eight) & EACH_BYTE(0x80)) == 0;
}

/* n bytes more, for the caller to fill; NULL where there is no room. */
static char *room_for(struct buf *out, size_t n)
{
    if (out->failed || n >= out->capacity - out->n)
        buf_reserve(out, n);
    if (out->failed)
        return NULL;
    char *at = out->p + out->n;
    out->n += n;
    out->p[out->n] = '\0';
    return at;
}

void json_quote(struct buf *out, struct str text)
{
    if (text.n <= SHORT_MAX && is_plain_ascii(text)) {
        char *at = room_for(out, text.n + 2);
        if (at) {
            at[0] = '"';
            if (text.n > 0)
                memcpy(at + 1, text.p, text.n);
            at[text.n + 1] = '"';
        }
        return;
    }
    buf_char(out, '"');
    while (text.n > 0 && !out->failed) {
        size_t valid = utf8_valid(text);
        escape_valid(out, (struct str){text.p, valid});
        text.p += valid;
        text.n -= valid;
        if (text.n == 0)
            break;
        uint32_t code;
        size_t bad = utf8_next(text, &code);
        buf_text(out, "\xEF\xBF\xBD");
        text.p += bad;
        text.n -= bad;
    }
    buf_char(out, '"');
}

/* The shortest of 15, 16 or 17 digits that reads back as the same number, always with a point or an exponent
 * (so that it stays a real), and with a point whatever the locale says. */
static void real_print(struct buf *out, double number)
{
    if (!isfinite(number)) {
        buf_text(out, "null");
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    bool is_real = false;
    for (char *p = digits; *p; p++) {
        bool is_digit = *p >= '0' && *p <= '9';
        if (!is_digit && *p != '-' && *p != '+' && *p != 'e')
            *p = '.';
        is_real = is_real || *p == '.' || *p == 'e';
    }
    buf_text(out, digits);
    if (!is_real)
        buf_text(out, ".0");
}

static void object_print(const struct js *value, struct buf *out)
{
    struct str key;
    const struct js *member;
    const char *separator = "";
    buf_char(out, '{');
    for (void *i = js_next(value, NULL, &key, &member); i; i = js_next(value, i, &key, &member)) {
        buf_text(out, separator);
        json_quote(out, key);
        buf_char(out, ':');
        js_print(member, out);
        separator = ",";
    }
    buf_char(out, '}');
}

static void array_print(const struct js *value, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < js_count(value); i++) {
        if (i > 0)
            buf_char(out, ',');
        js_print(js_at(value, i), out);
    }
    buf_char(out, ']');
}

void js_print(const struct js *value, struct buf *out)
{
    switch (js_kind(value)) {
    case JS_ABSENT:
    case JS_NULL:
        buf_text(out, "null");
        break;
    case JS_BOOL:
        buf_text(out, js_bool(value, false) ? "true" : "false");
        break;
    case JS_INT:
        buf_int(out, js_int(value, 0));
        break;
    case JS_REAL:
        real_print(out, js_real(value, 0));
        break;
    case JS_STRING:
        json_quote(out, js_str(value));
        break;
    case JS_ARRAY:
        array_print(value, out);
        break;
    case JS_OBJECT:
        object_print(value, out);
        break;
    }
}

void jw_init(struct jw *w, struct buf *out)
{
    *w = (struct jw){.out = out};
}

/* The bit of the level that is open; 0 outside of all levels, where documents stand alone. */
static uint32_t level_bit(const struct jw *w)
{
    bool inside = w->depth >= 1 && w->depth <= WRITER_DEPTH_MAX;
    return inside ? UINT32_C(1) << (w->depth - 1) : 0;
}

/* The comma before a value or a key. */
static void writer_separate(struct jw *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    uint32_t bit = level_bit(w);
    if (w->has_items & bit)
        buf_char(w->out, ',');
    w->has_items |= bit;
}

static void writer_open(struct jw *w, char bracket)
{
    writer_separate(w);
    buf_char(w->out, bracket);
    w->depth++;
    w->has_items &= ~level_bit(w);
    if (w->depth > WRITER_DEPTH_MAX)
        w->out->failed = true;
}

static void writer_close(struct jw *w, char bracket)
{
    if (w->depth == 0 || w->after_key) {
        w->out->failed = true;
        return;
    }
    w->depth--;
    buf_char(w->out, bracket);
}

void jw_object(struct jw *w)
{
    writer_open(w, '{');
}

void jw_array(struct jw *w)
{
    writer_open(w, '[');
}

void jw_end_object(struct jw *w)
{
    writer_close(w, '}');
}

void jw_end_array(struct jw *w)
{
    writer_close(w, ']');
}

void jw_key_str(struct jw *w, struct str key)
{
    if (w->depth == 0 || w->after_key)
        w->out->failed = true;
    writer_separate(w);
    json_quote(w->out, key);
    buf_char(w->out, ':');
    w->after_key = true;
}

void jw_key(struct jw *w, const char *key)
{
    size_t n = strlen(key);
    if (n > SHORT_MAX) {
        jw_key_str(w, (struct str){key, n});
        return;
    }
    if (w->depth == 0 || w->after_key)
        w->out->failed = true;
    writer_separate(w);
    char *at = room_for(w->out, n + 3);
    if (at) {
        at[0] = '"';
        memcpy(at + 1, key, n);
        at[n + 1] = '"';
        at[n + 2] = ':';
    }
    w->after_key = true;
}

void jw_str(struct jw *w, struct str text)
{
    writer_separate(w);
    json_quote(w->out, text);
}

void jw_text(struct jw *w, const char *text)
{
    jw_str(w, str_from(text));
}

void jw_int(struct jw *w, int64_t number)
{
    writer_separate(w);
    buf_int(w->out, number);
}

void jw_real(struct jw *w, double number)
{
    writer_separate(w);
    real_print(w->out, number);
}

void jw_bool(struct jw *w, bool value)
{
    writer_separate(w);
    buf_text(w->out, value ? "true" : "false");
}

void jw_null(struct jw *w)
{
    writer_separate(w);
    buf_text(w->out, "null");
}

void jw_raw(struct jw *w, struct str json)
{
    writer_separate(w);
    /* Nothing at all would leave a key without a value. */
    buf_str(w->out, json.n > 0 ? json : STR("null"));
}

void jw_kstr(struct jw *w, const char *key, struct str text)
{
    jw_key(w, key);
    jw_str(w, text);
}

void jw_ktext(struct jw *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

void jw_kint(struct jw *w, const char *key, int64_t number)
{
    jw_key(w, key);
    jw_int(w, number);
}

void jw_kbool(struct jw *w, const char *key, bool value)
{
    jw_key(w, key);
    jw_bool(w, value);
}

void jw_kraw(struct jw *w, const char *key, struct str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}
