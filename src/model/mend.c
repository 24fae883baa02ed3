/* Mends JSON text that a strict parser refuses; only used where it refused. Knows strings and
 * escapes, nothing else of JSON. Pure; any thread. */
#include "model/mend.h"

#include "base/utf8.h"

/* The code of an escape \uXXXX at the start of text, or -1. */
static int escape_code(struct str text)
{
    int code = 0;
    if (text.n < 6 || text.p[0] != '\\' || text.p[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        char c = text.p[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (digit < 0 || digit > 15 || (c > '9' && digit < 10))
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

#define STAND_IN_FIRST 0x10F800 /* for 0xD800; the last is U+10FFFF for 0xDFFF */

/* The stand-in of a half, as the two escapes that JSON has for it. */
static void stand_in(struct buf *out, int half)
{
    int rest = STAND_IN_FIRST - 0x10000 + (half - 0xD800);
    buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (rest >> 10)),
               (unsigned)(0xDC00 + (rest & 0x3FF)));
}

/* Appends the escape at the start of text and answers how long it was. */
static size_t mend_escape(struct buf *out, struct str text, enum mend_halves *halves)
{
    int code = escape_code(text);
    size_t n = code >= 0 ? 6 : text.n < 2 ? text.n : 2;
    if (code >= 0xD800 && code <= 0xDFFF) {
        struct str rest = {text.p + 6, text.n - 6};
        int low = code <= 0xDBFF ? escape_code(rest) : -1;
        if (low < 0xDC00 || low > 0xDFFF) {
            stand_in(out, code);
            *halves = MEND_HALVES;
            return n;
        }
        n = 12;
    }
    buf_add(out, text.p, n);
    return n;
}

static enum mend_halves mend_strings(struct buf *out, struct str text)
{
    enum mend_halves halves = MEND_NO_HALVES;
    bool in_string = false;
    for (size_t i = 0; i < text.n && !out->failed;) {
        char c = text.p[i];
        if (in_string && c == '\\') {
            i += mend_escape(out, (struct str){text.p + i, text.n - i}, &halves);
            continue;
        }
        if (c == '"')
            in_string = !in_string;
        if (in_string && (unsigned char)c < 0x20)
            buf_printf(out, "\\u%04x", (unsigned)c);
        else
            buf_char(out, c);
        i++;
    }
    return halves;
}

enum mend_halves mend_json(struct buf *out, struct str text)
{
    enum mend_halves halves = MEND_NO_HALVES;
    struct buf valid;
    buf_init(&valid, out->max);
    utf8_mend(&valid, text);
    if (valid.failed)
        out->failed = true;
    else
        halves = mend_strings(out, buf_view(&valid));
    buf_release(&valid);
    return halves;
}

/* The half that the stand-in at p stands for, or -1. Stand-ins are F4 8F A0 80 to F4 8F BF BF. */
static int half_at(struct str text, size_t i)
{
    const unsigned char *p = (const unsigned char *)text.p + i;
    if (text.n - i < 4 || p[0] != 0xF4 || p[1] != 0x8F || p[2] < 0xA0)
        return -1;
    return 0xD800 + (((p[2] & 0x1F) << 6) | (p[3] & 0x3F));
}

void mend_join(struct buf *text)
{
    size_t to = 0;
    for (size_t i = 0; i < text->n;) {
        int half = half_at(buf_view(text), i);
        if (half < 0) {
            text->p[to++] = text->p[i++];
            continue;
        }
        int low = half <= 0xDBFF && i + 4 < text->n ? half_at(buf_view(text), i + 4) : -1;
        if (low >= 0xDC00) {
            int code = 0x10000 + ((half - 0xD800) << 10) + (low - 0xDC00);
            text->p[to++] = (char)(0xF0 | (code >> 18));
            text->p[to++] = (char)(0x80 | ((code >> 12) & 0x3F));
            text->p[to++] = (char)(0x80 | ((code >> 6) & 0x3F));
            text->p[to++] = (char)(0x80 | (code & 0x3F));
            i += 8;
        } else {
            memcpy(text->p + to, "\xEF\xBF\xBD", 3);
            to += 3;
            i += 4;
        }
    }
    text->n = to;
    if (text->p)
        text->p[to] = '\0';
}

size_t mend_open_end(struct str text)
{
    int half = text.n >= 4 ? half_at(text, text.n - 4) : -1;
    return half >= 0 && half <= 0xDBFF ? 4 : 0;
}
