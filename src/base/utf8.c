/* UTF-8: decoding by the Unicode table of well-formed sequences (no surrogates, no overlong forms), and
 * what is built on it. Cleaning for a terminal is in clean.c. Pure; any thread. */
#include "base/utf8.h"

#include <limits.h>
#include <utf8proc.h>

/* First byte range, number of bytes, and the range of the second byte; later ones are 80..BF. */
static const struct {
    uint8_t first, last;
    uint8_t length;
    uint8_t low, high;
} sequences[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

size_t utf8_next(struct str text, uint32_t *code)
{
    const uint8_t *p = (const uint8_t *)text.p;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    *code = UTF8_BAD;
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        if (p[0] < sequences[i].first || p[0] > sequences[i].last)
            continue;
        size_t length = sequences[i].length;
        uint32_t bits = p[0] & (0x7Fu >> length);
        for (size_t k = 1; k < length; k++) {
            uint8_t low = k == 1 ? sequences[i].low : 0x80;
            uint8_t high = k == 1 ? sequences[i].high : 0xBF;
            if (k >= text.n || p[k] < low || p[k] > high)
                return k;
            bits = bits << 6 | (p[k] & 0x3Fu);
        }
        *code = bits;
        return length;
    }
    return 1;
}

static struct str str_from_offset(struct str text, size_t offset)
{
    return (struct str){text.p + offset, text.n - offset};
}

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* Bytes at the start that are surely ASCII: whole blocks first, because nearly all text is. */
static size_t ascii_run(struct str text)
{
    size_t i = 0;
    uint64_t four[4], one;
    for (; text.n - i >= sizeof four; i += sizeof four) {
        memcpy(four, text.p + i, sizeof four);
        if (((four[0] | four[1] | four[2] | four[3]) & HIGH_BITS) != 0)
            break;
    }
    for (; text.n - i >= sizeof one; i += sizeof one) {
        memcpy(&one, text.p + i, sizeof one);
        if ((one & HIGH_BITS) != 0)
            break;
    }
    return i;
}

bool utf8_is_ascii(struct str text)
{
    size_t i = ascii_run(text);
    while (i < text.n && (unsigned char)text.p[i] < 0x80)
        i++;
    return i == text.n;
}

size_t utf8_valid(struct str text)
{
    size_t i = 0;
    while (i < text.n) {
        i += ascii_run(str_from_offset(text, i));
        while (i < text.n && (unsigned char)text.p[i] < 0x80)
            i++;
        if (i == text.n)
            break;
        uint32_t code;
        size_t length = utf8_next(str_from_offset(text, i), &code);
        if (code == UTF8_BAD)
            return i;
        i += length;
    }
    return i;
}

void utf8_mend(struct buf *out, struct str text)
{
    while (text.n > 0) {
        size_t valid = utf8_valid(text);
        buf_add(out, text.p, valid);
        text = str_from_offset(text, valid);
        if (text.n == 0)
            return;
        uint32_t code;
        size_t bad = utf8_next(text, &code);
        buf_text(out, "\xEF\xBF\xBD");
        text = str_from_offset(text, bad);
    }
}

/* White_Space of Unicode, and what shows nothing either: fillers, a blank pattern, and characters without a width. */
static bool is_blank_code(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
        {0xad, 0xad},     {0x115f, 0x1160}, {0x1680, 0x1680}, {0x180e, 0x180e},
        {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x2064}, {0x2800, 0x2800},
        {0x3000, 0x3000}, {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return code < 0x20;
}

bool utf8_is_blank(struct str text)
{
    while (text.n > 0) {
        uint32_t code;
        size_t n = utf8_next(text, &code);
        if (!is_blank_code(code))
            return false;
        text.p += n;
        text.n -= n;
    }
    return true;
}

struct str utf8_cut(struct str text, size_t max_bytes)
{
    if (text.n <= max_bytes)
        return text;
    for (size_t back = 1; back <= 3 && back <= max_bytes; back++) {
        uint32_t code;
        size_t start = max_bytes - back;
        size_t length = utf8_next(str_from_offset(text, start), &code);
        if (code != UTF8_BAD && length > back)
            return (struct str){text.p, start};
    }
    return (struct str){text.p, max_bytes};
}

struct str utf8_cut_chars(struct str text, size_t max_chars)
{
    size_t i = 0;
    if (text.n <= max_chars)
        return text; /* a character has at least one byte */
    for (size_t chars = 0; i < text.n && chars < max_chars; chars++) {
        uint32_t code;
        i += utf8_next(str_from_offset(text, i), &code);
    }
    return (struct str){text.p, i};
}

bool utf8_is_like(struct str text, const char *word)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        i += utf8_next(str_from_offset(text, i), &code);
        if (code != UTF8_BAD && utf8proc_get_property((utf8proc_int32_t)code)->ignorable)
            continue;
        if (*word == '\0' || utf8proc_tolower((utf8proc_int32_t)code) != *word++)
            return false;
    }
    return *word == '\0';
}

static int code_width(uint32_t code)
{
    if (code == UTF8_BAD)
        return 1; /* shown as U+FFFD */
    if (code < 0x7F)
        return code >= 0x20;
    int width = utf8proc_charwidth((utf8proc_int32_t)code);
    return width > 0 ? width : 0;
}

/* Bytes of the longest prefix of at most max_columns; *columns is what it takes. */
static size_t width_walk(struct str text, int max_columns, int *columns)
{
    size_t i = 0;
    int sum = 0;
    while (i < text.n) {
        uint32_t code;
        size_t length = utf8_next(str_from_offset(text, i), &code);
        int width = code_width(code);
        if (width > max_columns - sum)
            break;
        sum += width;
        i += length;
    }
    *columns = sum;
    return i;
}

int utf8_width(struct str text)
{
    int columns;
    width_walk(text, INT_MAX, &columns);
    return columns;
}

struct str utf8_cut_width(struct str text, int max_columns)
{
    int columns;
    size_t n = width_walk(text, max_columns > 0 ? max_columns : 0, &columns);
    return (struct str){text.p, n};
}
