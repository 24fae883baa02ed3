/* Reading JSON: one pass over the text into a tree. A document is one block with its root, the decoded strings (never longer than
 * their source) and room for a few items, and an arena for more: a container's items stand in one piece. Containers are kept on a stack of
 * at most 64 levels, not by recursion. Every reply, event and contract passes through here, so nothing is allocated per value and
 * nothing is quadratic. Looking into it is in jsonlook.c, writing and printing in jsonwriter.c. Pure; a document belongs to one thread at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json_node.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 64, STACK_FIRST = 64, COMPARE_ALL_MAX = 32, NUMBER_MAX = 1024 };
enum { ITEMS_MAX = 64, BYTES_PER_ITEM = 8 }; /* of the room that comes with a document */

struct document {
    struct js root; /* first: the root's address is the document's */
    struct arena arena;
    struct js items[]; /* room for a few; behind them the strings */
};

/* An array or object that is not closed yet. */
struct level {
    enum js_kind kind;
    uint32_t begin;
    size_t first; /* its first item on the stack */
};

struct parser {
    struct str text;
    size_t at;
    char *strings;    /* where the next decoded string goes */
    struct js *items; /* room for finished containers' items, while it lasts */
    size_t items_left;
    struct arena *arena;
    struct js *stack; /* finished values whose container is open */
    size_t count, capacity;
    struct js local[STACK_FIRST];
    struct level levels[DEPTH_MAX];
    int depth, depth_max;
    struct err *err;
};

/* Columns count characters. */
static int fail_at(struct parser *p, size_t offset, const char *what)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < offset && i < p->text.n; i++) {
        column += ((unsigned char)p->text.p[i] & 0xC0) != 0x80;
        if (p->text.p[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return err_set(p->err, ERR_CORRUPT, "JSON, line %d, column %d: %s", line, column, what);
}

static char peek(const struct parser *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static void skip_space(struct parser *p)
{
    for (; p->at < p->text.n; p->at++) {
        char c = p->text.p[p->at];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return;
    }
}

static void push(struct parser *p, const struct js *value)
{
    if (p->count == p->capacity) {
        struct js *more = malloc(p->capacity * 2 * sizeof *more);
        if (more == NULL)
            abort();
        memcpy(more, p->stack, p->count * sizeof *more);
        if (p->stack != p->local)
            free(p->stack);
        p->stack = more;
        p->capacity *= 2;
    }
    p->stack[p->count++] = *value;
}

/* --- strings ------------------------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits behind a \u that stands at `at`, or -1. */
static long code_unit(const struct parser *p, size_t at)
{
    long unit = 0;
    if (p->text.n - at < 6 || p->text.p[at] != '\\' || p->text.p[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        int digit = hex_digit(p->text.p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_code(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

/* An escape at p->at, decoded to out. NULL: it is none. */
static char *read_escape(struct parser *p, char *out)
{
    static const char plain[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    unsigned char c = p->at + 1 < p->text.n ? (unsigned char)p->text.p[p->at + 1] : 0;
    if (c < 128 && plain[c] != 0) {
        *out++ = plain[c];
        p->at += 2;
        return out;
    }
    long unit = code_unit(p, p->at);
    if (unit < 0 || (unit >= 0xDC00 && unit < 0xE000))
        return NULL;
    uint32_t code = (uint32_t)unit;
    size_t length = 6;
    if (unit >= 0xD800 && unit < 0xDC00) {
        long low = code_unit(p, p->at + 6);
        if (low < 0xDC00 || low >= 0xE000)
            return NULL;
        code = 0x10000 + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
        length = 12;
    }
    p->at += length;
    return put_code(out, code);
}

/* At the opening quote. */
static int read_string(struct parser *p, struct js *value)
{
    char *start = p->strings, *out = start;
    *value = (struct js){.kind = JS_STRING, .begin = (uint32_t)p->at};
    p->at++;
    for (;;) {
        size_t run = json_plain_run((struct str){p->text.p + p->at, p->text.n - p->at});
        memcpy(out, p->text.p + p->at, run);
        out += run;
        p->at += run;
        if (p->at == p->text.n)
            return fail_at(p, value->begin, "this string has no end");
        if (p->text.p[p->at] == '"')
            break;
        if (p->text.p[p->at] != '\\')
            return fail_at(p, p->at, "a control character inside a string must be escaped");
        out = read_escape(p, out);
        if (out == NULL)
            return fail_at(p, p->at, "this is not an escape that JSON knows");
    }
    p->at++;
    *out = '\0';
    p->strings = out + 1;
    value->text = start;
    value->n = (size_t)(out - start);
    value->end = (uint32_t)p->at;
    struct str source = {p->text.p + value->begin, value->end - value->begin};
    size_t valid = utf8_valid(source);
    if (valid < source.n)
        return fail_at(p, value->begin + valid, "this is not UTF-8");
    return 0;
}

/* --- numbers and names ------------------------------------------------------------------------------------------------ */

static size_t digits(const struct parser *p, size_t at)
{
    size_t i = at;
    while (i < p->text.n && p->text.p[i] >= '0' && p->text.p[i] <= '9')
        i++;
    return i - at;
}

static int read_integer(struct parser *p, struct js *value)
{
    uint64_t sum = 0, most = INT64_MAX;
    size_t i = value->begin;
    bool negative = p->text.p[i] == '-';
    if (negative) {
        i++;
        most++;
    }
    for (; i < value->end; i++) {
        uint64_t digit = (uint64_t)(p->text.p[i] - '0');
        if (sum > (most - digit) / 10)
            return fail_at(p, value->begin, "this integer is too large");
        sum = sum * 10 + digit;
    }
    value->kind = JS_INT;
    value->integer = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return 0;
}

/* What strtod reads, whatever the locale says. */
static char decimal_point(void)
{
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    return half[1];
}

static int read_real(struct parser *p, struct js *value)
{
    char text[NUMBER_MAX + 1];
    size_t n = value->end - value->begin;
    if (n > NUMBER_MAX)
        return fail_at(p, value->begin, "this number has too many digits");
    memcpy(text, p->text.p + value->begin, n);
    text[n] = '\0';
    char *point = strchr(text, '.');
    if (point != NULL)
        *point = decimal_point();
    value->kind = JS_REAL;
    value->real = strtod(text, NULL);
    return isfinite(value->real) ? 0 : fail_at(p, value->begin, "this number is too large");
}

static int read_number(struct parser *p, struct js *value)
{
    size_t i = p->at;
    bool is_real = false;
    *value = (struct js){.begin = (uint32_t)p->at};
    if (p->text.p[i] == '-')
        i++;
    size_t n = digits(p, i);
    if (n == 0 || (n > 1 && p->text.p[i] == '0'))
        return fail_at(p, p->at, "this is not a number");
    i += n;
    if (i < p->text.n && p->text.p[i] == '.') {
        n = digits(p, i + 1);
        if (n == 0)
            return fail_at(p, p->at, "this number needs digits behind its point");
        i += n + 1;
        is_real = true;
    }
    if (i < p->text.n && (p->text.p[i] == 'e' || p->text.p[i] == 'E')) {
        i++;
        i += i < p->text.n && (p->text.p[i] == '+' || p->text.p[i] == '-');
        n = digits(p, i);
        if (n == 0)
            return fail_at(p, p->at, "this number needs digits in its exponent");
        i += n;
        is_real = true;
    }
    value->end = (uint32_t)i;
    p->at = i;
    return is_real ? read_real(p, value) : read_integer(p, value);
}

static int read_name(struct parser *p, struct js *value)
{
    static const struct {
        struct str text;
        enum js_kind kind;
        bool truth;
    } names[] = {{{"true", 4}, JS_BOOL, true},
                 {{"false", 5}, JS_BOOL, false},
                 {{"null", 4}, JS_NULL, false}};
    struct str rest = {p->text.p + p->at, p->text.n - p->at};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!str_starts(rest, names[i].text))
            continue;
        *value = (struct js){.kind = names[i].kind, .begin = (uint32_t)p->at};
        value->truth = names[i].truth;
        p->at += names[i].text.n;
        value->end = (uint32_t)p->at;
        return 0;
    }
    return fail_at(p, p->at, p->at < p->text.n ? "a value is expected here" : "the text ends here");
}

/* --- containers --------------------------------------------------------------------------------------------------------- */

static int fail_twice(struct parser *p, const struct js *key)
{
    return fail_at(p, key->begin, "this key stands in the object twice");
}

static bool same_key(const struct js *a, const struct js *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

/* Many members: through a table of their hashes. Keys are hostile, so the hash is one that nobody can aim at. */
static int check_many_keys(struct parser *p, const struct js *items, size_t members)
{
    size_t size = 16;
    while (size < members * 2)
        size *= 2;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL)
        abort();
    int result = 0;
    for (size_t i = 0; result == 0 && i < members; i++) {
        const struct js *key = &items[2 * i];
        struct hash hash = hash_of((struct str){key->text, key->n});
        size_t slot;
        memcpy(&slot, hash.bytes, sizeof slot);
        for (slot &= size - 1; table[slot] != 0; slot = (slot + 1) & (size - 1)) {
            if (same_key(&items[2 * (size_t)(table[slot] - 1)], key)) {
                result = fail_twice(p, key);
                break;
            }
        }
        table[slot] = (uint32_t)i + 1;
    }
    free(table);
    return result;
}

static int check_keys(struct parser *p, const struct js *items, size_t members)
{
    if (members > COMPARE_ALL_MAX)
        return check_many_keys(p, items, members);
    for (size_t i = 1; i < members; i++) {
        for (size_t k = 0; k < i; k++) {
            if (same_key(&items[2 * i], &items[2 * k]))
                return fail_twice(p, &items[2 * i]);
        }
    }
    return 0;
}

static int open_level(struct parser *p, enum js_kind kind)
{
    char text[64];
    if (p->depth == p->depth_max) {
        snprintf(text, sizeof text, "nested deeper than %d levels", p->depth_max);
        return fail_at(p, p->at, text);
    }
    p->levels[p->depth++] =
        (struct level){.kind = kind, .begin = (uint32_t)p->at, .first = p->count};
    p->at++;
    return 0;
}

static struct js *items_take(struct parser *p, size_t count)
{
    if (count > p->items_left)
        return arena_alloc(p->arena, count * sizeof *p->items);
    struct js *items = p->items;
    p->items += count;
    p->items_left -= count;
    return items;
}

/* At its closing bracket: its items leave the stack, and it takes their place as one value. */
static int close_level(struct parser *p, struct js *value)
{
    const struct level *level = &p->levels[--p->depth];
    size_t count = p->count - level->first;
    p->at++;
    *value =
        (struct js){.kind = level->kind, .begin = level->begin, .end = (uint32_t)p->at, .n = count};
    if (level->kind == JS_OBJECT) {
        value->n = count / 2;
        if (check_keys(p, p->stack + level->first, value->n) != 0)
            return -1;
    }
    if (count > 0) {
        struct js *items = items_take(p, count);
        memcpy(items, p->stack + level->first, count * sizeof *items);
        value->items = items;
    }
    p->count = level->first;
    return 0;
}

static bool inside(const struct parser *p, enum js_kind kind)
{
    return p->depth > 0 && p->levels[p->depth - 1].kind == kind;
}

static bool at_close(const struct parser *p)
{
    char c = peek(p);
    return (c == ']' && inside(p, JS_ARRAY)) || (c == '}' && inside(p, JS_OBJECT));
}

static int read_key(struct parser *p)
{
    struct js key;
    if (peek(p) != '"')
        return fail_at(p, p->at, "a key in double quotes is expected here");
    if (read_string(p, &key) != 0)
        return -1;
    if (memchr(key.text, '\0', key.n) != NULL)
        return fail_at(p, key.begin, "a key may not contain a NUL");
    push(p, &key);
    skip_space(p);
    if (peek(p) != ':')
        return fail_at(p, p->at, "a colon is expected here");
    p->at++;
    skip_space(p);
    return 0;
}

/* One value, or the opening of a container, whose first item is then next. *whole: it was a value. */
static int read_value(struct parser *p, struct js *value, bool *whole)
{
    char c = peek(p);
    *whole = c != '{' && c != '[';
    if (c == '"')
        return read_string(p, value);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(p, value);
    if (*whole)
        return read_name(p, value);
    if (open_level(p, c == '{' ? JS_OBJECT : JS_ARRAY) != 0)
        return -1;
    skip_space(p);
    if (at_close(p)) {
        *whole = true;
        return close_level(p, value);
    }
    return 0;
}

/* A value stands complete: what follows it, until another value must begin or the root is done (returns 1). */
static int after_value(struct parser *p, struct js *value)
{
    for (;;) {
        if (p->depth == 0)
            return 1;
        push(p, value);
        skip_space(p);
        if (peek(p) == ',') {
            p->at++;
            skip_space(p);
            return 0;
        }
        if (!at_close(p))
            return fail_at(p, p->at,
                           inside(p, JS_ARRAY) ? "a comma or ] is expected here"
                                               : "a comma or } is expected here");
        if (close_level(p, value) != 0)
            return -1;
    }
}

static int read_document(struct parser *p, struct js *root)
{
    bool whole;
    int done = 0;
    skip_space(p);
    while (done == 0) {
        if (inside(p, JS_OBJECT) && read_key(p) != 0)
            return -1;
        if (read_value(p, root, &whole) != 0)
            return -1;
        if (whole)
            done = after_value(p, root);
    }
    if (done < 0)
        return -1;
    skip_space(p);
    return p->at == p->text.n ? 0 : fail_at(p, p->at, "nothing more is expected here");
}

struct js *js_parse(struct str text, struct err *err)
{
    return js_parse_within(text, DEPTH_MAX, err);
}

struct js *js_parse_within(struct str text, int levels, struct err *err)
{
    if (text.n >= UINT32_MAX) {
        err_set(err, ERR_CORRUPT, "JSON: the text is larger than 4 GB");
        return NULL;
    }
    if (text.p == NULL)
        text = STR("");
    size_t room = text.n / BYTES_PER_ITEM < ITEMS_MAX ? text.n / BYTES_PER_ITEM : ITEMS_MAX;
    struct document *document =
        malloc(sizeof *document + room * sizeof document->items[0] + text.n + 1);
    if (document == NULL)
        abort();
    arena_init(&document->arena);
    struct parser p;
    p.text = text;
    p.at = 0;
    p.items = document->items;
    p.items_left = room;
    p.strings = (char *)(document->items + room);
    p.arena = &document->arena;
    p.stack = p.local;
    p.count = 0;
    p.capacity = STACK_FIRST;
    p.depth = 0;
    p.depth_max = levels < DEPTH_MAX ? levels : DEPTH_MAX;
    p.err = err;
    int result = read_document(&p, &document->root);
    if (p.stack != p.local)
        free(p.stack);
    if (result == 0)
        return &document->root;
    js_free(&document->root);
    return NULL;
}

void js_free(struct js *root)
{
    struct document *document = (struct document *)(void *)root;
    if (document == NULL)
        return;
    arena_release(&document->arena);
    free(document);
}
