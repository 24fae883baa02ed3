/* utf8_clean and utf8_escape_json: text from models, tools and files made safe for a terminal. Works on the decoded stream, so an
 * escape sequence is recognised in its 7-bit (ESC x) and its C1 form. A string sequence (OSC, DCS …) that
 * never ends loses only its introducer: hiding the rest would let a model hide text. Linear in the length
 * of the text, whatever it holds. Pure; any thread. */
#include <utf8proc.h>

#include "base/utf8.h"

enum {
    BELL = 0x07,
    CANCEL = 0x18,
    SUBSTITUTE = 0x1A,
    ESCAPE = 0x1B,
    C1_CSI = 0x9B,
    C1_STRING_END = 0x9C,
};

struct cleaner {
    struct str text;
    size_t at;
    bool no_string_end; /* no terminator stands between here and the end of the text */
};

static size_t peek(const struct cleaner *c, size_t at, uint32_t *code)
{
    if (at >= c->text.n) {
        *code = UTF8_BAD;
        return 0;
    }
    return utf8_next((struct str){c->text.p + at, c->text.n - at}, code);
}

/* Steps over the characters between first and last. */
static void skip_range(struct cleaner *c, uint8_t first, uint8_t last)
{
    while (c->at < c->text.n) {
        uint8_t byte = (uint8_t)c->text.p[c->at];
        if (byte < first || byte > last)
            return;
        c->at++;
    }
}

static void skip_one(struct cleaner *c, uint8_t first, uint8_t last)
{
    if (c->at < c->text.n && (uint8_t)c->text.p[c->at] >= first &&
        (uint8_t)c->text.p[c->at] <= last)
        c->at++;
}

/* Parameters and intermediates, then one final byte. */
static void skip_control_sequence(struct cleaner *c)
{
    skip_range(c, 0x20, 0x3F);
    skip_one(c, 0x40, 0x7E);
}

/* Up to BEL, ST, CAN or SUB, or up to an ESC that begins something else. */
static void skip_string(struct cleaner *c)
{
    if (c->no_string_end)
        return;
    size_t at = c->at;
    while (at < c->text.n) {
        uint32_t code;
        size_t length = peek(c, at, &code);
        if (code == BELL || code == CANCEL || code == SUBSTITUTE || code == C1_STRING_END) {
            c->at = at + length;
            return;
        }
        if (code == ESCAPE) {
            bool is_end = at + 1 < c->text.n && c->text.p[at + 1] == '\\';
            c->at = is_end ? at + 2 : at;
            return;
        }
        at += length;
    }
    c->no_string_end = true;
}

static void skip_escape(struct cleaner *c)
{
    if (c->at >= c->text.n)
        return;
    char kind = c->text.p[c->at];
    if (kind == '[') {
        c->at++;
        skip_control_sequence(c);
    } else if (memchr("]PX^_", kind, 5)) {
        c->at++;
        skip_string(c);
    } else {
        skip_range(c, 0x20, 0x2F);
        skip_one(c, 0x30, 0x7E);
    }
}

static void skip_control(struct cleaner *c, uint32_t code)
{
    switch (code) {
    case ESCAPE:
        skip_escape(c);
        break;
    case C1_CSI:
        skip_control_sequence(c);
        break;
    case 0x90: /* DCS */
    case 0x98: /* SOS */
    case 0x9D: /* OSC */
    case 0x9E: /* PM */
    case 0x9F: /* APC */
        skip_string(c);
        break;
    default:
        break;
    }
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* Does nothing but change how other characters look: it may hide them, or turn them round. */
static bool is_format(uint32_t code)
{
    return code >= 0x80 && utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_CF;
}

static bool is_separator(uint32_t code)
{
    return code == 0x2028 || code == 0x2029;
}

bool utf8_is_visible(uint32_t code)
{
    return !is_control(code) && !is_format(code) && !is_separator(code);
}

void utf8_escape_json(struct buf *out, struct str json)
{
    size_t at = 0;
    while (at < json.n && !out->failed) {
        uint32_t code;
        size_t start = at;
        while (at < json.n && json.p[at] >= 0x20 && json.p[at] < 0x7F)
            at++;
        buf_add(out, json.p + start, at - start);
        if (at == json.n)
            return;
        struct str rest = {json.p + at, json.n - at};
        size_t length = utf8_next(rest, &code);
        if (code == UTF8_BAD)
            buf_text(out, "\xEF\xBF\xBD");
        else if (code > 0xFFFF && is_format(code))
            buf_printf(out, "\\u%04x\\u%04x", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
        else if (is_control(code) || is_format(code) || is_separator(code))
            buf_printf(out, "\\u%04x", code);
        else
            buf_add(out, rest.p, length);
        at += length;
    }
}

void utf8_clean(struct buf *out, struct str text, enum utf8_lines keep)
{
    struct cleaner c = {.text = text};
    while (c.at < text.n && !out->failed) {
        uint32_t code;
        size_t start = c.at;
        size_t length = peek(&c, start, &code);
        c.at += length;
        if (code == UTF8_BAD) {
            buf_text(out, "\xEF\xBF\xBD");
        } else if (code == '\n' || code == '\t') {
            buf_char(out, keep == UTF8_LINES ? (char)code : ' ');
        } else if (is_control(code)) {
            skip_control(&c, code);
        } else if (code < 0x80) {
            while (c.at < text.n && text.p[c.at] >= 0x20 && text.p[c.at] < 0x7F)
                c.at++;
            buf_add(out, text.p + start, c.at - start);
        } else {
            if (is_separator(code))
                buf_char(out, ' ');
            else if (!is_format(code))
                buf_add(out, text.p + start, length);
        }
    }
}
