/* Values of a planner's answer, as far as they can be used: what has another type than it should is read as what it must mean, or is
 * nothing. Pure; any thread. */
#include "core/plan/answer_inside.h"

#include <strings.h>

bool answer_same(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

bool answer_is_nothing(struct str text)
{
    static const struct str words[] = {STR(""),    STR("none"), STR("null"),
                                       STR("n/a"), STR("-"),    STR("[]")};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (answer_same(text, words[i]))
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str trim(struct str text)
{
    while (text.n > 0 && is_blank(text.p[0])) {
        text.p++;
        text.n--;
    }
    while (text.n > 0 && is_blank(text.p[text.n - 1]))
        text.n--;
    return text;
}

/* Without blanks around; empty where there is nothing to see, whatever blanks of Unicode it has. */
static struct str visible(struct str text)
{
    return utf8_is_blank(text) ? STR("") : trim(text);
}

struct str answer_clean(struct arena *arena, struct str text, enum utf8_lines lines, size_t bytes)
{
    struct buf clean;
    buf_init(&clean, text.n * 3 + 64);
    utf8_clean(&clean, text, lines);
    struct str out = arena_copy(arena, visible(utf8_cut(trim(buf_view(&clean)), bytes)));
    buf_release(&clean);
    return out;
}

static void add_text(const struct js *value, struct buf *out)
{
    buf_text(out, out->n > 0 ? "\n" : "");
    if (js_kind(value) == JS_STRING)
        buf_str(out, js_str(value));
    else if (js_kind(value) == JS_INT)
        buf_int(out, js_int(value, 0));
}

/* The text of a value: itself, or the strings of a list as lines. */
static void value_text(const struct js *value, struct buf *out)
{
    if (js_kind(value) != JS_ARRAY)
        add_text(value, out);
    for (size_t i = 0; js_kind(value) == JS_ARRAY && i < js_count(value); i++)
        add_text(js_at(value, i), out);
}

struct str answer_text(struct arena *arena, const struct js *value, size_t bytes)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    value_text(value, &text);
    struct str out = answer_clean(arena, buf_view(&text), UTF8_LINES, bytes);
    buf_release(&text);
    return out;
}

/* One line: blanks in a row, which were line breaks, stay. */
static struct str one_line(struct arena *arena, struct str text, size_t characters)
{
    struct str clean = answer_clean(arena, text, UTF8_ONE_LINE, SIZE_MAX);
    return visible(utf8_cut_chars(clean, characters));
}

struct str answer_line(struct arena *arena, const struct js *value, size_t characters)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    value_text(value, &text);
    struct str out = one_line(arena, buf_view(&text), characters);
    buf_release(&text);
    return out;
}

struct str answer_first_line(struct arena *arena, struct str text, size_t characters)
{
    text = trim(text);
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    return one_line(arena, end ? (struct str){text.p, (size_t)(end - text.p)} : text, characters);
}

static void add_item(struct arena *arena, struct str text, size_t items, size_t characters,
                     struct list *out)
{
    struct str line = one_line(arena, text, characters);
    if (line.n > 0 && out->n < items)
        list_add(arena, out, line);
}

struct list answer_lines(struct arena *arena, const struct js *value, size_t items,
                         size_t characters)
{
    struct list out = {LIST_SET, NULL, 0};
    if (js_kind(value) == JS_STRING)
        add_item(arena, js_str(value), items, characters, &out);
    for (size_t i = 0; js_kind(value) == JS_ARRAY && i < js_count(value) && out.n < items; i++)
        add_item(arena, answer_line(arena, js_at(value, i), characters), items, characters, &out);
    return out;
}

struct list answer_words(struct arena *arena, const struct js *value, size_t items,
                         size_t characters)
{
    struct list out = {LIST_SET, NULL, 0};
    struct str text = js_str(value);
    if (js_kind(value) == JS_ARRAY)
        return answer_lines(arena, value, items, characters);
    if (js_kind(value) == JS_INT)
        text = answer_line(arena, value, characters);
    while (text.n > 0 && out.n < items) {
        const char *comma = memchr(text.p, ',', text.n);
        size_t length = comma ? (size_t)(comma - text.p) : text.n;
        add_item(arena, (struct str){text.p, length}, items, characters, &out);
        length += comma != NULL;
        text.p += length;
        text.n -= length;
    }
    return out;
}

/* The digits that a text starts with, as far as a number here can be large. */
static int64_t digits(struct str text)
{
    int64_t number = UNLIMITED;
    for (size_t i = 0; i < text.n && i < 9 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        number = (number == UNLIMITED ? 0 : number * 10) + (text.p[i] - '0');
    return number;
}

/* Whether digits stand behind the point that follows the digits of the text, and not zeros alone: "2.5 calls". */
static bool has_fraction(struct str text)
{
    size_t i = 0;
    while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9')
        i++;
    if (i == 0 || i >= text.n || text.p[i] != '.')
        return false;
    for (i++; i < text.n && text.p[i] == '0'; i++)
        ;
    return i < text.n && text.p[i] >= '1' && text.p[i] <= '9';
}

bool answer_is_no_count(const struct js *value)
{
    double real = js_real(value, 0);
    struct str text = trim(js_str(value));
    bool negative = text.n > 1 && text.p[0] == '-' && text.p[1] >= '0' && text.p[1] <= '9';
    /* Above this, every double is whole, and the conversion to int64_t may be undefined. */
    return real < 0 || (real < 1e15 && (double)(int64_t)real != real) || negative ||
           has_fraction(text);
}

int64_t answer_number(const struct js *value, int64_t least, int64_t most)
{
    double real = js_real(value, -1);
    int64_t number = digits(trim(js_str(value)));
    if (answer_is_no_count(value))
        return UNLIMITED;
    if (real >= 0)
        number = real < (double)most ? (int64_t)real : most;
    if (number == UNLIMITED)
        return UNLIMITED;
    return number < least ? least : number > most ? most : number;
}

bool answer_yes(const struct js *value)
{
    static const char *const words[] = {"true", "yes", "required", "1"};
    struct str text = trim(js_str(value));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (answer_same(text, str_from(words[i])))
            return true;
    return js_bool(value, false) || js_int(value, 0) == 1;
}
