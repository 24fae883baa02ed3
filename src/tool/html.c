/* See html.h. One table says what each element means; the reader (html_token.h) brings tags and text, the writer (markdown.h) makes
 * lines of them. There is no tree: elements that are not closed, or closed twice, cost nothing but their own format. */
#include "tool/html.h"

#include <stdlib.h>
#include <strings.h>

#include "base/utf8.h"
#include "net/web.h"
#include "tool/html_hidden.h"
#include "tool/markdown.h"

#define PRE_MAX (1u << 20)
#define ATTRIBUTE_MAX 8192
#define TITLE_MAX 1000

enum meaning {
    MEANS_NOTHING,
    MEANS_LINK,
    MEANS_BLOCK,     /* begins and ends a line */
    MEANS_PARAGRAPH, /* stands between empty lines */
    MEANS_QUOTE,
    MEANS_BREAK,
    MEANS_CODE,
    MEANS_DROP, /* with all that is in it */
    MEANS_HEADING,
    MEANS_RULE,
    MEANS_IMAGE,
    MEANS_ITEM,
    MEANS_BULLETS,
    MEANS_NUMBERS,
    MEANS_PRE,
    MEANS_TABLE,
    MEANS_CELL,
    MEANS_TITLE,
    MEANS_ROW,
};

static const struct element {
    char name[HTML_NAME_MAX];
    enum meaning meaning;
} elements[] = {
    /* sorted by name */
    {"a", MEANS_LINK},           {"address", MEANS_BLOCK},    {"article", MEANS_PARAGRAPH},
    {"aside", MEANS_PARAGRAPH},  {"audio", MEANS_DROP},       {"blockquote", MEANS_QUOTE},
    {"br", MEANS_BREAK},         {"button", MEANS_DROP},      {"canvas", MEANS_DROP},
    {"caption", MEANS_BLOCK},    {"center", MEANS_BLOCK},     {"code", MEANS_CODE},
    {"dd", MEANS_BLOCK},         {"details", MEANS_BLOCK},    {"dialog", MEANS_DROP},
    {"div", MEANS_BLOCK},        {"dl", MEANS_PARAGRAPH},     {"dt", MEANS_BLOCK},
    {"fieldset", MEANS_BLOCK},   {"figcaption", MEANS_BLOCK}, {"figure", MEANS_PARAGRAPH},
    {"footer", MEANS_PARAGRAPH}, {"form", MEANS_BLOCK},       {"h1", MEANS_HEADING},
    {"h2", MEANS_HEADING},       {"h3", MEANS_HEADING},       {"h4", MEANS_HEADING},
    {"h5", MEANS_HEADING},       {"h6", MEANS_HEADING},       {"header", MEANS_PARAGRAPH},
    {"hr", MEANS_RULE},          {"iframe", MEANS_DROP},      {"img", MEANS_IMAGE},
    {"kbd", MEANS_CODE},         {"li", MEANS_ITEM},          {"main", MEANS_PARAGRAPH},
    {"menu", MEANS_BULLETS},     {"nav", MEANS_DROP},         {"noembed", MEANS_DROP},
    {"noframes", MEANS_DROP},    {"noscript", MEANS_DROP},    {"object", MEANS_DROP},
    {"ol", MEANS_NUMBERS},       {"p", MEANS_PARAGRAPH},      {"pre", MEANS_PRE},
    {"samp", MEANS_CODE},        {"script", MEANS_DROP},      {"section", MEANS_PARAGRAPH},
    {"select", MEANS_DROP},      {"style", MEANS_DROP},       {"summary", MEANS_BLOCK},
    {"svg", MEANS_DROP},         {"table", MEANS_TABLE},      {"td", MEANS_CELL},
    {"template", MEANS_DROP},    {"textarea", MEANS_DROP},    {"th", MEANS_CELL},
    {"title", MEANS_TITLE},      {"tr", MEANS_ROW},           {"tt", MEANS_CODE},
    {"ul", MEANS_BULLETS},       {"video", MEANS_DROP},
};

struct conversion {
    struct html_reader reader;
    struct markdown markdown;
    struct html_hidden hidden;
    const char *base;
    struct buf text, attribute; /* decoded, for the moment */
    struct buf *title;
    /* What is being left out: up to the end tag that closes `dropped`. */
    char dropped[HTML_NAME_MAX];
    size_t dropped_depth, dropped_at;
    bool
        keeps_all; /* an element that was to be left out never ended: what followed it is read again, and all of it kept */
    struct buf pre;
    size_t pre_depth;
    char language[32];
    size_t table_depth;
    bool layout; /* tables in tables: they make columns of the page, and are written as blocks */
    bool in_title;
};

static int compare_names(const void *key, const void *entry)
{
    return strcmp(key, ((const struct element *)entry)->name);
}

static enum meaning meaning_of(const char *name)
{
    const struct element *found = bsearch(name, elements, sizeof elements / sizeof elements[0],
                                          sizeof elements[0], compare_names);
    return found ? found->meaning : MEANS_NOTHING;
}

/* --- attributes ------------------------------------------------------------------------------ */

/* The value with its entities replaced, until the next call; empty without one. */
static struct str attribute(struct conversion *c, const struct html_token *token, const char *name)
{
    struct str value;
    buf_clear(&c->attribute);
    if (html_attribute(token, name, &value) && value.n <= ATTRIBUTE_MAX)
        html_decode(value, &c->attribute);
    return buf_view(&c->attribute);
}

static void note_language(struct conversion *c, const struct html_token *token)
{
    struct str class = attribute(c, token, "class");
    for (size_t i = 0; i < class.n && c->language[0] == '\0'; i++) {
        struct str rest = {class.p + i, class.n - i};
        size_t n = str_starts(rest, STR("language-")) ? 9 : str_starts(rest, STR("lang-")) ? 5 : 0;
        for (size_t k = 0; n > 0 && n < rest.n && k < sizeof c->language - 1; k++, n++) {
            char l = rest.p[n];
            bool plain = (l >= 'a' && l <= 'z') || (l >= 'A' && l <= 'Z') ||
                         (l >= '0' && l <= '9') || l == '+' || l == '-' || l == '#' || l == '_';
            if (!plain)
                break;
            c->language[k] = l;
            c->language[k + 1] = '\0';
        }
    }
}

static void open_link(struct conversion *c, const struct html_token *token)
{
    struct buf url;
    struct str target = attribute(c, token, "href");
    while (target.n > 0 && (target.p[0] == ' ' || target.p[0] == '\n' || target.p[0] == '\t'))
        target = (struct str){target.p + 1, target.n - 1};
    buf_init(&url, ATTRIBUTE_MAX);
    if (target.n > 0 && target.p[0] != '#')
        web_join(c->base, target, &url);
    markdown_link(&c->markdown, buf_view(&url));
    buf_release(&url);
}

static void add_image(struct conversion *c, const struct html_token *token)
{
    struct str words = attribute(c, token, "alt");
    if (words.n == 0)
        return;
    markdown_text(&c->markdown, STR("[image: "));
    c->markdown.space = false;
    markdown_text(&c->markdown, words);
    c->markdown.space = false;
    markdown_text(&c->markdown, STR("]"));
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void end_pre(struct conversion *c)
{
    markdown_block(&c->markdown, buf_view(&c->pre), str_from(c->language));
    buf_clear(&c->pre);
    c->pre_depth = 0;
    c->language[0] = '\0';
}

static void open_table(struct conversion *c)
{
    if (c->table_depth++ == 0) {
        markdown_table(&c->markdown);
    } else if (!c->layout) {
        c->layout = true;
        markdown_table_end(&c->markdown);
    }
}

static void close_table(struct conversion *c)
{
    if (c->table_depth == 0)
        return;
    if (--c->table_depth > 0)
        return;
    if (c->layout)
        markdown_break(&c->markdown, 2);
    else
        markdown_table_end(&c->markdown);
    c->layout = false;
}

static void cell(struct conversion *c)
{
    if (c->table_depth == 0 || c->layout)
        c->markdown.space = true;
    else
        markdown_cell(&c->markdown);
}

static void row(struct conversion *c)
{
    if (c->table_depth > 0 && !c->layout)
        markdown_row_end(&c->markdown);
    markdown_break(&c->markdown, 1);
}

static void open_list(struct conversion *c, const struct html_token *token,
                      enum markdown_container kind)
{
    struct str start = kind == MARKDOWN_NUMBERS ? attribute(c, token, "start") : STR("");
    uint32_t first = 0;
    for (size_t i = 0; i < start.n && i < 6 && start.p[i] >= '0' && start.p[i] <= '9'; i++)
        first = first * 10 + (uint32_t)(start.p[i] - '0');
    markdown_open(&c->markdown, kind, first > 0 ? first : 1);
}

static void open_element(struct conversion *c, const struct html_token *token)
{
    struct markdown *m = &c->markdown;
    switch (meaning_of(token->name)) {
    case MEANS_LINK:
        open_link(c, token);
        break;
    case MEANS_BLOCK:
        markdown_break(m, 1);
        break;
    case MEANS_ROW:
        row(c);
        break;
    case MEANS_PARAGRAPH:
        markdown_break(m, 2);
        break;
    case MEANS_QUOTE:
        markdown_open(m, MARKDOWN_QUOTE, 0);
        break;
    case MEANS_BREAK:
        m->fresh = false;
        markdown_break(m, 1);
        break;
    case MEANS_CODE:
        markdown_code(m);
        break;
    case MEANS_HEADING:
        markdown_heading(m, (size_t)(token->name[1] - '0'));
        break;
    case MEANS_RULE:
        markdown_line(m, "---");
        break;
    case MEANS_IMAGE:
        add_image(c, token);
        break;
    case MEANS_ITEM:
        markdown_item(m);
        break;
    case MEANS_BULLETS:
        open_list(c, token, MARKDOWN_BULLETS);
        break;
    case MEANS_NUMBERS:
        open_list(c, token, MARKDOWN_NUMBERS);
        break;
    case MEANS_PRE:
        c->pre_depth = 1;
        note_language(c, token);
        break;
    case MEANS_TABLE:
        open_table(c);
        break;
    case MEANS_CELL:
        cell(c);
        break;
    case MEANS_TITLE:
        c->in_title = true;
        break;
    case MEANS_DROP:
    case MEANS_NOTHING:
        break;
    }
}

static void close_element(struct conversion *c, const struct html_token *token)
{
    struct markdown *m = &c->markdown;
    switch (meaning_of(token->name)) {
    case MEANS_LINK:
        markdown_link_end(m);
        break;
    case MEANS_BLOCK:
        markdown_break(m, 1);
        break;
    case MEANS_PARAGRAPH:
        markdown_break(m, 2);
        break;
    case MEANS_QUOTE:
        markdown_close_quote(m);
        break;
    case MEANS_CODE:
        markdown_code_end(m);
        break;
    case MEANS_HEADING:
        markdown_heading_end(m);
        break;
    case MEANS_BULLETS:
    case MEANS_NUMBERS:
        markdown_close_list(m);
        break;
    case MEANS_TABLE:
        close_table(c);
        break;
    case MEANS_ROW:
        row(c);
        break;
    default:
        break;
    }
}

/* --- tokens ---------------------------------------------------------------------------------- */

/* As a paragraph of its own: white space collapses. */
static void take_title(struct conversion *c)
{
    struct markdown line;
    struct buf title;
    buf_init(&title, TITLE_MAX);
    markdown_init(&line, &title);
    markdown_text(&line, utf8_cut(buf_view(&c->text), TITLE_MAX / 2));
    utf8_clean(c->title, buf_view(&title), UTF8_ONE_LINE);
    markdown_release(&line);
    buf_release(&title);
}

static void take_text(struct conversion *c, struct str text)
{
    if (c->dropped[0] || html_hidden_now(&c->hidden))
        return;
    if (c->pre_depth > 0) {
        html_decode(text, &c->pre);
        return;
    }
    buf_clear(&c->text);
    html_decode(text, &c->text);
    if (!c->in_title)
        markdown_text(&c->markdown, buf_view(&c->text));
    else if (c->title->n == 0)
        take_title(c);
}

/* Inside what is left out only its own kind counts. */
static void take_dropped(struct conversion *c, const struct html_token *token)
{
    if (strcmp(token->name, c->dropped) != 0)
        return;
    c->dropped_depth += token->kind == HTML_OPEN ? 1 : (size_t)-1;
    if (c->dropped_depth == 0)
        c->dropped[0] = '\0';
}

static void take_tag_in_pre(struct conversion *c, const struct html_token *token)
{
    if (token->kind == HTML_OPEN && strcmp(token->name, "code") == 0)
        note_language(c, token);
    else if (token->kind == HTML_OPEN && strcmp(token->name, "br") == 0)
        buf_char(&c->pre, '\n');
    else if (token->kind == HTML_CLOSE && strcmp(token->name, "pre") == 0)
        end_pre(c);
}

static void take_tag(struct conversion *c, const struct html_token *token)
{
    bool open = token->kind == HTML_OPEN, hidden = html_hidden_tag(&c->hidden, token);
    if (c->dropped[0]) {
        take_dropped(c, token);
        return;
    }
    c->in_title = false;
    bool raw = c->reader.raw[0] != '\0' && strcmp(token->name, "title") != 0;
    bool drops = meaning_of(token->name) == MEANS_DROP && !c->keeps_all && !hidden;
    if (open && (raw || drops)) {
        memcpy(c->dropped, token->name, sizeof c->dropped);
        c->dropped_depth = 1;
        c->dropped_at = raw ? c->reader.text.n : c->reader.at; /* a script is never text */
    } else if (hidden) {
        return;
    } else if (c->pre_depth > 0) {
        take_tag_in_pre(c, token);
    } else if (open) {
        open_element(c, token);
    } else {
        close_element(c, token);
    }
}

/* An element that was left out up to the page's end was probably not closed: its content is read after all, once. */
static bool read_again(struct conversion *c)
{
    if (c->dropped[0] == '\0' || c->keeps_all)
        return false;
    c->keeps_all = true;
    c->dropped[0] = '\0';
    c->reader.at = c->dropped_at;
    html_hidden_restart(&c->hidden); /* nothing was hidden there */
    return true;
}

void html_to_markdown(struct str html, const char *base, struct buf *text, struct buf *title)
{
    struct conversion c = {.reader = {.text = html}, .base = base, .title = title};
    struct html_token token;
    markdown_init(&c.markdown, text);
    html_hidden_init(&c.hidden, html);
    buf_init(&c.text, html.n + 4);
    buf_init(&c.attribute, ATTRIBUTE_MAX + 4);
    buf_init(&c.pre, PRE_MAX);
    do {
        for (html_next(&c.reader, &token); token.kind != HTML_END && !text->failed;
             html_next(&c.reader, &token)) {
            if (token.kind == HTML_TEXT)
                take_text(&c, token.text);
            else
                take_tag(&c, &token);
        }
    } while (!text->failed && read_again(&c));
    if (c.pre_depth > 0)
        end_pre(&c);
    markdown_link_end(&c.markdown);
    markdown_code_end(&c.markdown);
    if (c.table_depth > 0)
        markdown_row_end(&c.markdown);
    while (text->n > 0 && (text->p[text->n - 1] == ' ' || text->p[text->n - 1] == '\n'))
        text->n--;
    if (text->n > 0)
        buf_char(text, '\n');
    markdown_release(&c.markdown);
    html_hidden_release(&c.hidden);
    buf_release(&c.text);
    buf_release(&c.attribute);
    buf_release(&c.pre);
}
