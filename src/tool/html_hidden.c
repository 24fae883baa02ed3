/* See html_hidden.h. A deeper nesting than browsers build counts as hidden: nobody reads it. Any thread. */
#include "tool/html_hidden.h"

#include <stdlib.h>

#define DEPTH_MAX 4096 /* browsers keep 512 */
#define LOOK_MAX 512   /* open elements that a tag may look back at */
#define CARRIED_MAX 16 /* elements that go on behind a block */

struct hidden_element {
    char name[HTML_NAME_MAX];
    struct style_sights own;
    /* with all that it stands in */
    bool gone, invisible, sizeless;
};

/* What a tag's name means for the elements that are open. One letter each: */
enum {
    IS_VOID = 1,     /* holds nothing, is never closed */
    IS_SPECIAL = 2,  /* an end tag of another kind does not reach beyond it */
    IS_WALL = 4,     /* nor does any other but those of tables */
    ENDS_P = 8,      /* closes a paragraph that is open */
    IS_SHAPING = 16, /* goes on behind a block in which it was not closed */
};

static const struct kind {
    char name[HTML_NAME_MAX];
    unsigned char is;
} kinds[] = {
    /* sorted by name */
    {"a", IS_SHAPING},
    {"address", IS_SPECIAL | ENDS_P},
    {"area", IS_VOID},
    {"article", IS_SPECIAL | ENDS_P},
    {"aside", IS_SPECIAL | ENDS_P},
    {"b", IS_SHAPING},
    {"base", IS_VOID},
    {"big", IS_SHAPING},
    {"blockquote", IS_SPECIAL | ENDS_P},
    {"body", IS_SPECIAL},
    {"br", IS_VOID},
    {"button", IS_SPECIAL | IS_WALL},
    {"caption", IS_SPECIAL | IS_WALL},
    {"center", IS_SPECIAL | ENDS_P},
    {"code", IS_SHAPING},
    {"col", IS_VOID},
    {"dd", IS_SPECIAL | ENDS_P},
    {"details", IS_SPECIAL | ENDS_P},
    {"dir", IS_SPECIAL | ENDS_P},
    {"div", IS_SPECIAL | ENDS_P},
    {"dl", IS_SPECIAL | ENDS_P},
    {"dt", IS_SPECIAL | ENDS_P},
    {"em", IS_SHAPING},
    {"embed", IS_VOID},
    {"fieldset", IS_SPECIAL | ENDS_P},
    {"figcaption", IS_SPECIAL | ENDS_P},
    {"figure", IS_SPECIAL | ENDS_P},
    {"font", IS_SHAPING},
    {"footer", IS_SPECIAL | ENDS_P},
    {"form", IS_SPECIAL | ENDS_P},
    {"h1", IS_SPECIAL | ENDS_P},
    {"h2", IS_SPECIAL | ENDS_P},
    {"h3", IS_SPECIAL | ENDS_P},
    {"h4", IS_SPECIAL | ENDS_P},
    {"h5", IS_SPECIAL | ENDS_P},
    {"h6", IS_SPECIAL | ENDS_P},
    {"header", IS_SPECIAL | ENDS_P},
    {"hr", IS_VOID | ENDS_P},
    {"html", IS_SPECIAL | IS_WALL},
    {"i", IS_SHAPING},
    {"img", IS_VOID},
    {"input", IS_VOID},
    {"li", IS_SPECIAL | ENDS_P},
    {"link", IS_VOID},
    {"main", IS_SPECIAL | ENDS_P},
    {"menu", IS_SPECIAL | ENDS_P},
    {"meta", IS_VOID},
    {"nav", IS_SPECIAL | ENDS_P},
    {"nobr", IS_SHAPING},
    {"object", IS_SPECIAL | IS_WALL},
    {"ol", IS_SPECIAL | ENDS_P},
    {"p", IS_SPECIAL | ENDS_P},
    {"param", IS_VOID},
    {"pre", IS_SPECIAL | ENDS_P},
    {"s", IS_SHAPING},
    {"section", IS_SPECIAL | ENDS_P},
    {"small", IS_SHAPING},
    {"source", IS_VOID},
    {"strike", IS_SHAPING},
    {"strong", IS_SHAPING},
    {"summary", IS_SPECIAL | ENDS_P},
    {"table", IS_SPECIAL | IS_WALL | ENDS_P},
    {"tbody", IS_SPECIAL},
    {"td", IS_SPECIAL | IS_WALL},
    {"template", IS_SPECIAL | IS_WALL},
    {"tfoot", IS_SPECIAL},
    {"th", IS_SPECIAL | IS_WALL},
    {"thead", IS_SPECIAL},
    {"tr", IS_SPECIAL},
    {"track", IS_VOID},
    {"tt", IS_SHAPING},
    {"u", IS_SHAPING},
    {"ul", IS_SPECIAL | ENDS_P},
    {"wbr", IS_VOID},
};

static int compare_names(const void *key, const void *entry)
{
    return strcmp(key, ((const struct kind *)entry)->name);
}

static unsigned is(const char *name)
{
    const struct kind *found =
        bsearch(name, kinds, sizeof kinds / sizeof kinds[0], sizeof kinds[0], compare_names);
    return found != NULL ? found->is : 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* --- what can be seen ------------------------------------------------------------------------------ */

static bool inherit(enum style_sight own, bool from_parent)
{
    return own == SIGHT_AS_PARENT ? from_parent : own == SIGHT_HIDDEN;
}

static void settle(struct html_hidden *hidden, size_t from)
{
    for (size_t i = from; i < hidden->count; i++) {
        struct hidden_element *element = &hidden->open[i];
        const struct hidden_element *parent = i > 0 ? element - 1 : NULL;
        element->gone = element->own.gone || (parent != NULL && parent->gone);
        element->invisible = inherit(element->own.visibility, parent != NULL && parent->invisible);
        element->sizeless = inherit(element->own.size, parent != NULL && parent->sizeless);
    }
}

static bool is_hidden(const struct hidden_element *element)
{
    return element->gone || element->invisible || element->sizeless;
}

bool html_hidden_now(const struct html_hidden *hidden)
{
    return hidden->count == DEPTH_MAX ||
           (hidden->count > 0 && is_hidden(&hidden->open[hidden->count - 1]));
}

static bool hides_anything(const struct style_sights *own)
{
    return own->gone || own->visibility != SIGHT_AS_PARENT || own->size != SIGHT_AS_PARENT;
}

/* --- the elements that are open -------------------------------------------------------------------- */

static void push(struct html_hidden *hidden, const struct hidden_element *element)
{
    if (hidden->count == DEPTH_MAX)
        return;
    if (hidden->count == hidden->capacity) {
        hidden->capacity = hidden->capacity * 2 + 32;
        hidden->open = realloc(hidden->open, hidden->capacity * sizeof *hidden->open);
        if (hidden->open == NULL)
            abort();
    }
    hidden->open[hidden->count++] = *element;
    settle(hidden, hidden->count - 1);
}

enum carrying { CARRIES_NOTHING, CARRIES_SHAPES };

/* Closes the element at `at` and all in it. Elements that shape text and hide it go on. */
static void pop_to(struct html_hidden *hidden, size_t at, enum carrying carrying)
{
    struct hidden_element carried[CARRIED_MAX];
    size_t count = 0;
    for (size_t i = at + 1; carrying == CARRIES_SHAPES && i < hidden->count; i++)
        if (count < CARRIED_MAX && (is(hidden->open[i].name) & IS_SHAPING) &&
            hides_anything(&hidden->open[i].own))
            carried[count++] = hidden->open[i];
    hidden->count = at;
    for (size_t i = 0; i < count; i++)
        push(hidden, &carried[i]);
}

/* Finds one of these names among the open elements, innermost first, not beyond an element that is `walls`; count: none. */
static size_t find(const struct html_hidden *hidden, const char *const *names, unsigned walls,
                   const char *const *more_walls)
{
    for (size_t i = hidden->count; i > 0 && hidden->count - i < LOOK_MAX; i--) {
        const char *name = hidden->open[i - 1].name;
        if (is_one_of(name, names))
            return i - 1;
        if ((is(name) & walls) || is_one_of(name, more_walls))
            break;
    }
    return hidden->count;
}

static const char *const nothing[] = {NULL};

static void end_implied(struct html_hidden *hidden, const char *const *names,
                        const char *const *walls)
{
    size_t at = find(hidden, names, IS_WALL, walls);
    if (at < hidden->count)
        pop_to(hidden, at, CARRIES_SHAPES);
}

/* What the beginning of an element ends. */
static void before_opening(struct html_hidden *hidden, const char *name)
{
    static const char *const
        paragraph[] = {"p", NULL},
        *const item[] = {"li", NULL}, *const lists[] = {"ul", "ol", "menu", "dir", NULL},
        *const terms[] = {"dt", "dd", NULL}, *const term_lists[] = {"dl", NULL},
        *const cells[] = {"td", "th", NULL}, *const rows[] = {"tr", NULL},
        *const groups[] = {"tbody", "thead", "tfoot", NULL}, *const tables[] = {"table", NULL};
    if (is(name) & ENDS_P)
        end_implied(hidden, paragraph, nothing);
    if (is_one_of(name, item))
        end_implied(hidden, item, lists);
    if (is_one_of(name, terms))
        end_implied(hidden, terms, term_lists);
    size_t at = hidden->count;
    if (is_one_of(name, cells))
        at = find(hidden, cells, 0, tables);
    else if (is_one_of(name, rows))
        at = find(hidden, rows, 0, tables);
    else if (is_one_of(name, groups))
        at = find(hidden, groups, 0, tables);
    if (at < hidden->count)
        pop_to(hidden, at, CARRIES_NOTHING);
}

/* Whether the element itself is hidden. One that holds nothing, as an image, does not stay open. */
static bool open_element(struct html_hidden *hidden, const struct html_token *token)
{
    struct style style;
    struct hidden_element element = {.name = ""};
    before_opening(hidden, token->name);
    size_t count = hidden->count;
    memcpy(element.name, token->name, sizeof element.name);
    bool whole = strcmp(token->name, "html") == 0 || strcmp(token->name, "body") == 0;
    if (!whole && (token->attributes.n > 0 || hidden->sheet.count > 0)) {
        style_of(&hidden->sheet, token, &style);
        element.own = style_sights(&style, token);
    }
    push(hidden, &element);
    bool is_unseen = html_hidden_now(hidden);
    if (is(token->name) & IS_VOID)
        hidden->count = count;
    return is_unseen;
}

static void remove_one(struct html_hidden *hidden, size_t at)
{
    memmove(&hidden->open[at], &hidden->open[at + 1],
            (hidden->count - at - 1) * sizeof *hidden->open);
    hidden->count--;
    settle(hidden, at);
}

static bool close_element(struct html_hidden *hidden, const char *name)
{
    static const char *const of_tables[] = {"table", "caption", "tbody", "thead", "tfoot",
                                            "tr",    "td",      "th",    NULL};
    static const char *const tables[] = {"table", NULL};
    const char *const wanted[] = {name, NULL};
    unsigned kind = is(name);
    if (strcmp(name, "body") == 0 || strcmp(name, "html") == 0)
        return html_hidden_now(hidden); /* what follows is shown as a part of it */
    bool table = is_one_of(name, of_tables);
    unsigned walls = table ? 0 : (kind & (IS_SPECIAL | IS_SHAPING)) ? IS_WALL : IS_SPECIAL;
    size_t at = find(hidden, wanted, walls, table ? tables : nothing);
    if (at == hidden->count)
        return html_hidden_now(hidden);
    bool was_hidden = is_hidden(&hidden->open[at]);
    if (kind & IS_SHAPING)
        remove_one(hidden, at);
    else
        pop_to(hidden, at, table || (kind & IS_WALL) ? CARRIES_NOTHING : CARRIES_SHAPES);
    return was_hidden;
}

bool html_hidden_tag(struct html_hidden *hidden, const struct html_token *token)
{
    if (token->kind == HTML_CLOSE)
        return close_element(hidden, token->name);
    return open_element(hidden, token);
}

void html_hidden_restart(struct html_hidden *hidden)
{
    hidden->count = 0;
}

void html_hidden_init(struct html_hidden *hidden, struct str html)
{
    struct html_reader reader = {.text = html};
    struct html_token token;
    bool style = false;
    *hidden = (struct html_hidden){.count = 0};
    style_sheet_init(&hidden->sheet);
    for (html_next(&reader, &token); token.kind != HTML_END; html_next(&reader, &token)) {
        if (style && token.kind == HTML_TEXT)
            style_sheet_add(&hidden->sheet, token.text);
        style = token.kind == HTML_OPEN && strcmp(token.name, "style") == 0;
    }
}

void html_hidden_release(struct html_hidden *hidden)
{
    style_sheet_release(&hidden->sheet);
    free(hidden->open);
}
