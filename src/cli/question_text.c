/* See question_text.h. */
#include "cli/question_text.h"

#define COLUMNS_MIN 24
#define NUMBERED_FROM 2 /* lines: a text of one line needs no number */

/* One line that is being written, and what stands before its continuations. */
struct writer {
    const struct question_style *style;
    struct buf *out;
    int column;
    char gutter[32]; /* of the lines that follow in the same text */
    const char *on;  /* the style that holds now; "" for none */
};

static const char *bar(const struct question_style *style)
{
    return style->glyphs == GLYPHS_UTF8 ? "│ " : "| ";
}

static int width_of(const struct writer *w)
{
    return w->style->columns > COLUMNS_MIN ? w->style->columns : COLUMNS_MIN;
}

static void style_set(struct writer *w, const char *on)
{
    if (w->on[0] != '\0')
        buf_text(w->out, output_style_off(w->style->colour));
    w->on = on;
    buf_text(w->out, on);
}

static void line_end(struct writer *w)
{
    style_set(w, "");
    buf_char(w->out, '\n');
    w->column = 0;
}

/* Cadre's own words at the start of a line. */
static void put_own(struct writer *w, const char *text, enum output_style how)
{
    buf_text(w->out, output_style_on(w->style->colour, how));
    buf_text(w->out, text);
    buf_text(w->out, output_style_off(w->style->colour));
    w->column += utf8_width(str_from(text));
}

static void wrap(struct writer *w)
{
    const char *on = w->on;
    line_end(w);
    put_own(w, w->gutter, STYLE_DIM);
    style_set(w, on);
}

/* One character, or its mark. */
static size_t put_character(struct writer *w, struct str text)
{
    char mark[UTF8_MARK];
    int width;
    size_t length = utf8_reveal(text, mark, &width);
    if (w->column + width > width_of(w))
        wrap(w);
    if (mark[0] != '\0') {
        const char *on = w->on;
        style_set(w, output_style_on(w->style->colour, STYLE_YELLOW));
        buf_text(w->out, mark);
        style_set(w, on);
    } else {
        buf_add(w->out, text.p, length);
    }
    w->column += width;
    return length;
}

static void put_text(struct writer *w, struct str text)
{
    while (text.n > 0 && !w->out->failed) {
        size_t length = put_character(w, text);
        text = (struct str){text.p + length, text.n - length};
    }
}

size_t question_text_lines(struct str text)
{
    struct str line;
    size_t lines = 0;
    while (str_next_line(&text, &line))
        lines++;
    return lines;
}

static int digits_of(size_t number)
{
    int digits = 1;
    for (; number > 9; number /= 10)
        digits++;
    return digits;
}

static const char *style_of_diff(const struct writer *w, struct str line)
{
    char first = line.n > 0 ? line.p[0] : ' ';
    if (first == '+' || first == '-')
        return output_style_on(w->style->colour, first == '+' ? STYLE_GREEN : STYLE_RED);
    return first == '@' || first == '\\' ? output_style_on(w->style->colour, STYLE_DIM) : "";
}

enum numbers { NUMBERS_NONE, NUMBERS_SHOWN };

static void put_lines(struct writer *w, struct str text, enum preview_kind kind,
                      enum numbers numbers)
{
    struct str line;
    size_t count = question_text_lines(text), number = 0;
    int digits = numbers == NUMBERS_SHOWN && count >= NUMBERED_FROM ? digits_of(count) : 0;
    while (str_next_line(&text, &line) && !w->out->failed) {
        char start[sizeof w->gutter];
        number++;
        if (digits > 0)
            snprintf(start, sizeof start, "  %*zu %s", digits, number, bar(w->style));
        else
            snprintf(start, sizeof start, "  %s", bar(w->style));
        snprintf(w->gutter, sizeof w->gutter, "  %*s%s%s", digits, "", digits > 0 ? " " : "",
                 bar(w->style));
        w->column = 0;
        put_own(w, start, STYLE_DIM);
        style_set(w, kind == PREVIEW_DIFF ? style_of_diff(w, line) : "");
        put_text(w, line);
        style_set(w, "");
        line_end(w);
    }
}

static void put_part(struct writer *w, const struct preview_part *part)
{
    w->column = 0;
    w->on = "";
    snprintf(w->gutter, sizeof w->gutter, "  %s", bar(w->style));
    buf_text(w->out, "  ");
    w->column = 2;
    style_set(w, output_style_on(w->style->colour,
                                 part->kind == PREVIEW_PROBLEM ? STYLE_RED : STYLE_BOLD));
    put_text(w, part->label);
    style_set(w, "");
    buf_char(w->out, ':');
    w->column++;
    size_t lines = question_text_lines(part->text);
    if (lines <= 1 && part->kind != PREVIEW_DIFF) {
        struct str text = part->text, line = STR("");
        if (!str_next_line(&text, &line))
            line = STR("(empty)");
        buf_char(w->out, ' ');
        w->column++;
        put_text(w, line);
        line_end(w);
        return;
    }
    if (part->kind == PREVIEW_TEXT)
        buf_printf(w->out, " (%zu lines)", lines);
    line_end(w);
    put_lines(w, part->text, part->kind, part->kind == PREVIEW_TEXT ? NUMBERS_SHOWN : NUMBERS_NONE);
}

void question_text_preview(const struct preview *preview, const struct question_style *style,
                           struct buf *out)
{
    struct writer w = {.style = style, .out = out, .on = ""};
    for (size_t i = 0; i < preview->count; i++)
        put_part(&w, &preview->parts[i]);
}

void question_text_plain(struct str text, const struct question_style *style, struct buf *out)
{
    struct writer w = {.style = style, .out = out, .on = ""};
    put_lines(&w, text, PREVIEW_TEXT, NUMBERS_NONE);
}

void question_text_words(struct str words, const struct question_style *style,
                         enum output_style how, struct buf *out)
{
    struct writer w = {.style = style, .out = out, .on = ""};
    style_set(&w, output_style_on(style->colour, how));
    while (words.n > 0) {
        const char *blank = memchr(words.p, ' ', words.n);
        struct str word = {words.p, blank != NULL ? (size_t)(blank - words.p) : words.n};
        if (w.column > 0 && w.column + 1 + utf8_width(word) > width_of(&w))
            wrap(&w);
        else if (w.column > 0) {
            buf_char(out, ' ');
            w.column++;
        }
        put_text(&w, word);
        size_t taken = word.n + (blank != NULL);
        words = (struct str){words.p + taken, words.n - taken};
    }
    style_set(&w, "");
    line_end(&w);
}

void question_text_typed(struct str typed, int columns, struct buf *out)
{
    struct str rest = typed;
    while (rest.n > 0 && utf8_width(rest) > columns) {
        char mark[UTF8_MARK];
        int width;
        size_t length = utf8_reveal(rest, mark, &width);
        rest = (struct str){rest.p + length, rest.n - length};
    }
    utf8_clean(out, rest, UTF8_ONE_LINE);
}
