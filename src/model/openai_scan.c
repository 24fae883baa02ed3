/* The scanner; see the header for what it accepts. Recursion is bounded by the caller's levels. Pure; any thread. */
#include "model/openai_scan.h"

#include "base/utf8.h"

enum {
    DIGITS_MAX = 18 /* fit in 64 bits */,
    EXPONENT_MAX = 2 /* digits: cannot overflow a double */
};

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* How many of eight bytes lead up to the first that is not ASCII, or is a control character, a quote or a backslash. The
 * first comes from the lowest byte. A carry may mark a byte wrongly, but only behind one that is marked rightly. */
static size_t plain_of_eight(uint64_t eight)
{
    uint64_t quote = eight ^ EACH_BYTE('"');
    uint64_t backslash = eight ^ EACH_BYTE('\\');
    uint64_t marks =
        ((eight - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) | (backslash - EACH_BYTE(1)) | eight) &
        EACH_BYTE(0x80);
    return marks ? (size_t)__builtin_ctzll(marks) / 8 : 8;
}

/* --- strings ----------------------------------------------------------------------------------- */

/* The code of \uXXXX at p, of which n bytes are there; -1 when it is none. */
static int escape_code(const char *p, size_t n)
{
    int code = 0;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9')
            code = code * 16 + (c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            code = code * 16 + (c | 0x20) - 'a' + 10;
        else
            return -1;
    }
    return code;
}

static bool is_high(int code)
{
    return code >= 0xD800 && code <= 0xDBFF;
}

static bool is_low(int code)
{
    return code >= 0xDC00 && code <= 0xDFFF;
}

/* What a character means after a backslash; NUL: nothing, or \u. */
static const char meanings[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

/* Length of the escape at p, both halves of a pair together; 0 when it is none. */
static size_t escape_length(const char *p, size_t n)
{
    if (n < 2)
        return 0;
    if (p[1] != 'u')
        return meanings[(unsigned char)p[1]] ? 2 : 0;
    int code = escape_code(p, n);
    if (is_high(code))
        return is_low(escape_code(p + 6, n - 6)) ? 12 : 0;
    return code >= 0 && !is_low(code) ? 6 : 0;
}

static const char *plain_run(const char *p, const char *end)
{
    uint64_t eight;
    while (end - p >= (ptrdiff_t)sizeof eight) {
        memcpy(&eight, p, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        size_t plain = plain_of_eight(eight);
        p += plain;
        if (plain < sizeof eight)
            return p;
    }
    while (p < end && *p >= 0x20 && *p < 0x7F && *p != '"' && *p != '\\')
        p++;
    return p;
}

bool scan_string(struct scan *scan, struct scan_text *text)
{
    if (!scan_char(scan, '"'))
        return false;
    const char *start = scan->at, *p = start;
    text->form = SCAN_PLAIN;
    for (;;) {
        uint32_t code;
        p = plain_run(p, scan->end);
        size_t left = (size_t)(scan->end - p), n;
        if (left == 0 || (unsigned char)*p < 0x20)
            return false;
        if (*p == '"')
            break;
        if (*p == '\\') {
            n = escape_length(p, left);
            text->form = SCAN_ESCAPED;
        } else {
            n = utf8_next((struct str){p, left}, &code);
            n = code == UTF8_BAD ? 0 : n;
        }
        if (n == 0)
            return false;
        p += n;
    }
    text->raw = (struct str){start, (size_t)(p - start)};
    scan->at = p + 1;
    return true;
}

static void add_code(struct buf *out, uint32_t code)
{
    char bytes[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(leads[n] | code);
    buf_add(out, bytes, n);
}

/* Appends what the escape at p says and answers its length. */
static size_t unescape_one(struct buf *out, const char *p, size_t n)
{
    if (p[1] != 'u') {
        buf_char(out, meanings[(unsigned char)p[1]]);
        return 2;
    }
    int code = escape_code(p, n);
    if (!is_high(code)) {
        add_code(out, (uint32_t)code);
        return 6;
    }
    int low = escape_code(p + 6, n - 6);
    add_code(out, 0x10000 + ((uint32_t)(code - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
    return 12;
}

void scan_unescape(struct buf *out, struct str raw)
{
    while (raw.n > 0 && !out->failed) {
        const char *escape = memchr(raw.p, '\\', raw.n);
        size_t n = escape ? (size_t)(escape - raw.p) : raw.n;
        buf_add(out, raw.p, n);
        if (escape)
            n += unescape_one(out, escape, raw.n - n);
        raw = (struct str){raw.p + n, raw.n - n};
    }
}

/* --- other values ------------------------------------------------------------------------------- */

static size_t take_digits(struct scan *scan)
{
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (size_t)(scan->at - start);
}

bool scan_int(struct scan *scan, int64_t *number)
{
    bool negative = scan_char(scan, '-');
    const char *start = scan->at;
    size_t n = take_digits(scan);
    if (n == 0 || n > DIGITS_MAX || (n > 1 && start[0] == '0'))
        return false;
    if (scan->at < scan->end && (*scan->at == '.' || (*scan->at | 0x20) == 'e'))
        return false;
    *number = 0;
    for (size_t i = 0; i < n; i++)
        *number = *number * 10 + (start[i] - '0');
    if (negative)
        *number = -*number;
    return true;
}

static bool skip_number(struct scan *scan)
{
    if (scan->at < scan->end && *scan->at == '-')
        scan->at++;
    const char *start = scan->at;
    size_t n = take_digits(scan);
    if (n == 0 || n > DIGITS_MAX || (n > 1 && start[0] == '0'))
        return false;
    if (scan->at < scan->end && *scan->at == '.') {
        scan->at++;
        n = take_digits(scan);
        if (n == 0 || n > DIGITS_MAX)
            return false;
    }
    if (scan->at < scan->end && (*scan->at | 0x20) == 'e') {
        scan->at++;
        if (scan->at < scan->end && (*scan->at == '-' || *scan->at == '+'))
            scan->at++;
        n = take_digits(scan);
        return n > 0 && n <= EXPONENT_MAX;
    }
    return true;
}

static bool skip_word(struct scan *scan, struct str word)
{
    if ((size_t)(scan->end - scan->at) < word.n || memcmp(scan->at, word.p, word.n) != 0)
        return false;
    scan->at += word.n;
    return true;
}

bool scan_null(struct scan *scan)
{
    return scan_peek(scan) == 'n' && skip_word(scan, STR("null"));
}

static bool skip_object(struct scan *scan, int levels)
{
    struct scan_members members;
    struct str key;
    members.count = 0;
    members.seen = 0;
    for (;;) {
        enum scan_step step = scan_member(scan, &members, &key);
        if (step != SCAN_MEMBER)
            return step == SCAN_END;
        if (!scan_skip(scan, levels))
            return false;
    }
}

static bool skip_array(struct scan *scan, int levels)
{
    size_t count = 0;
    for (;;) {
        enum scan_step step = scan_item(scan, &count);
        if (step != SCAN_MEMBER)
            return step == SCAN_END;
        if (!scan_skip(scan, levels))
            return false;
    }
}

bool scan_skip(struct scan *scan, int levels)
{
    struct scan_text ignored;
    switch (scan_peek(scan)) {
    case '"':
        return scan_string(scan, &ignored);
    case '{':
        scan->at++;
        return levels > 0 && skip_object(scan, levels - 1);
    case '[':
        scan->at++;
        return levels > 0 && skip_array(scan, levels - 1);
    case 't':
        return skip_word(scan, STR("true"));
    case 'f':
        return skip_word(scan, STR("false"));
    case 'n':
        return skip_word(scan, STR("null"));
    default:
        return skip_number(scan);
    }
}

/* --- members and items --------------------------------------------------------------------------- */

/* Whether the key is new among the members; then it is one of them. */
static bool add_key(struct scan_members *members, struct str key)
{
    unsigned ends = key.n > 0 ? (unsigned char)key.p[0] + 3u * (unsigned char)key.p[key.n - 1] : 0;
    uint64_t bit = UINT64_C(1) << ((key.n * 5 + ends) & 63);
    if (members->count == SCAN_MEMBERS_MAX)
        return false;
    for (size_t i = 0; (members->seen & bit) && i < members->count; i++)
        if (str_eq(members->keys[i], key))
            return false;
    members->seen |= bit;
    members->keys[members->count++] = key;
    return true;
}

enum scan_step scan_member(struct scan *scan, struct scan_members *members, struct str *key)
{
    struct scan_text text;
    if (scan_char(scan, '}'))
        return SCAN_END;
    if (members->count > 0 && !scan_char(scan, ','))
        return SCAN_ODD;
    if (!scan_string(scan, &text) || text.form == SCAN_ESCAPED || !scan_char(scan, ':') ||
        !add_key(members, text.raw))
        return SCAN_ODD;
    *key = text.raw;
    return SCAN_MEMBER;
}

enum scan_step scan_item(struct scan *scan, size_t *count)
{
    if (scan_char(scan, ']'))
        return SCAN_END;
    if ((*count)++ > 0 && !scan_char(scan, ','))
        return SCAN_ODD;
    return SCAN_MEMBER;
}
