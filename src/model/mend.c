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

/* Appends the escape at the start of text and answers how long it was. */
static size_t mend_escape(struct buf *out, struct str text)
{
    int code = escape_code(text);
    size_t n = code >= 0 ? 6 : text.n < 2 ? text.n : 2;
    if (code >= 0xD800 && code <= 0xDFFF) {
        struct str rest = {text.p + 6, text.n - 6};
        int low = code <= 0xDBFF ? escape_code(rest) : -1;
        if (low < 0xDC00 || low > 0xDFFF) {
            buf_text(out, "\\ufffd");
            return n;
        }
        n = 12;
    }
    buf_add(out, text.p, n);
    return n;
}

static void mend_strings(struct buf *out, struct str text)
{
    bool in_string = false;
    for (size_t i = 0; i < text.n && !out->failed;) {
        char c = text.p[i];
        if (in_string && c == '\\') {
            i += mend_escape(out, (struct str){text.p + i, text.n - i});
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
}

void mend_json(struct buf *out, struct str text)
{
    struct buf valid;
    buf_init(&valid, out->max);
    utf8_mend(&valid, text);
    if (valid.failed)
        out->failed = true;
    else
        mend_strings(out, buf_view(&valid));
    buf_release(&valid);
}
