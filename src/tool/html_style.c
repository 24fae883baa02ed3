/* See html_style.h. Any thread. */
#include "tool/html_style.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/utf8.h"

#define NAME_MAX_BYTES 64      /* of a class, an id or a tag */
#define PARTS_MAX 4            /* of a selector: p.a.b#c */
#define RULES_MAX 4096         /* of a page */
#define RULES_TRIED 64         /* of one name and element */
#define CLASSES_MAX 64         /* of an element */
#define DECLARATIONS_MAX 16384 /* bytes of one block */
#define NESTING_MAX 16         /* of at-rules */

/* Weights: !important over style attributes over ids over classes over tags; then the order. */
enum {
    WEIGHT_ORDER = 1,
    WEIGHT_TAG = 1 << 13,
    WEIGHT_CLASS = 1 << 16,
    WEIGHT_ID = 1 << 20,
    WEIGHT_ATTRIBUTE = 1 << 24,
    WEIGHT_IMPORTANT = 1 << 26
};

static const char *const property_names[STYLE_COUNT] = {
#define X(symbol, text) text,
    STYLE_PROPERTIES(X)
#undef X
};

struct style_rule {
    struct style_rule *next; /* the one before it under the same name */
    struct str parts[PARTS_MAX];
    size_t part_count;
    struct str declarations;
    uint32_t weight;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'f');
}

/* --- characters --------------------------------------------------------------------------------- */

static size_t skip_comment(struct str css, size_t at)
{
    if (css.n - at < 2 || css.p[at] != '/' || css.p[at + 1] != '*')
        return at;
    const char *end = memmem(css.p + at + 2, css.n - at - 2, "*/", 2);
    return end != NULL ? (size_t)(end + 2 - css.p) : css.n;
}

/* One character of a name or value, small; an escape (\6e) is what it stands for. */
static size_t read_character(struct str css, size_t at, char *c)
{
    *c = lower(css.p[at++]);
    if (*c != '\\' || at >= css.n)
        return at;
    unsigned code = 0;
    size_t digits = 0;
    while (at < css.n && digits < 6 && is_hex(css.p[at])) {
        char d = lower(css.p[at++]);
        code = code * 16 + (unsigned)(d <= '9' ? d - '0' : d - 'a' + 10);
        digits++;
    }
    if (digits == 0)
        *c = lower(css.p[at++]);
    else
        *c = code > 0 && code < 128 ? lower((char)code) : '?';
    if (digits > 0 && at < css.n && is_space(css.p[at]))
        at++;
    return at;
}

/* --- declarations ------------------------------------------------------------------------------- */

static void set_value(struct style *style, const char *name, const char *value, uint32_t weight)
{
    char text[STYLE_VALUE_MAX];
    size_t n = strlen(value);
    memcpy(text, value, n + 1);
    char *important = strchr(text, '!');
    if (important != NULL && strstr(important, "important") != NULL) {
        weight += WEIGHT_IMPORTANT;
        n = (size_t)(important - text);
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    for (size_t i = 0; i < STYLE_COUNT; i++) {
        if (strcmp(name, property_names[i]) != 0 || weight < style->values[i].weight)
            continue;
        memcpy(style->values[i].text, text, n + 1);
        style->values[i].weight = weight;
    }
}

/* "margin: TOP RIGHT BOTTOM LEFT" and its shorter forms: the two sides that can lead off the page. */
static void set_sides(struct style *style, const char *name, const char *value, uint32_t weight)
{
    char side[STYLE_VALUE_MAX], words[4][STYLE_VALUE_MAX];
    int count = sscanf(value, "%63s %63s %63s %63s", words[0], words[1], words[2], words[3]);
    if (count < 1)
        return;
    const char *important = strchr(value, '!') != NULL ? "!important" : "";
    snprintf(side, sizeof side, "%.40s%s", words[0], important);
    set_value(style, strcmp(name, "margin") == 0 ? "margin-top" : "padding-top", side, weight);
    snprintf(side, sizeof side, "%.40s%s",
             words[count > 3 && words[3][0] != '!'   ? 3
                   : count > 1 && words[1][0] != '!' ? 1
                                                     : 0],
             important);
    set_value(style, strcmp(name, "margin") == 0 ? "margin-left" : "padding-left", side, weight);
}

/* Up to the end of a name or value, with white space as single blanks; cut where it is long. */
static size_t read_text(struct str css, size_t at, char stop, char out[STYLE_VALUE_MAX])
{
    size_t n = 0;
    while (at < css.n && css.p[at] != stop && css.p[at] != ';') {
        size_t behind = skip_comment(css, at);
        if (behind > at) {
            at = behind;
            continue;
        }
        char c;
        at = read_character(css, at, &c);
        c = is_space(c) ? ' ' : c;
        if (n < STYLE_VALUE_MAX - 1 && (c != ' ' || (n > 0 && out[n - 1] != ' ')))
            out[n++] = c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return at;
}

static void read_declarations(struct str css, uint32_t weight, struct style *style)
{
    for (size_t at = 0; at < css.n;) {
        char name[STYLE_VALUE_MAX], value[STYLE_VALUE_MAX] = "";
        at = read_text(css, at, ':', name);
        if (at < css.n && css.p[at] == ':')
            at = read_text(css, at + 1, ';', value);
        at += at < css.n; /* the semicolon */
        if (strcmp(name, "margin") == 0 || strcmp(name, "padding") == 0)
            set_sides(style, name, value, weight);
        else
            set_value(style, name, value, weight);
    }
}

/* Whether a block says anything that can hide text or show it again. */
static bool concerns_sight(struct str declarations)
{
    struct style style = {0};
    read_declarations(declarations, 1, &style);
    for (size_t i = 0; i < STYLE_COUNT; i++)
        if (style.values[i].weight > 0)
            return true;
    return false;
}

/* --- rules ---------------------------------------------------------------------------------------- */

void style_sheet_init(struct style_sheet *sheet)
{
    arena_init(&sheet->arena);
    map_init(&sheet->by_name);
    sheet->count = 0;
}

void style_sheet_release(struct style_sheet *sheet)
{
    map_release(&sheet->by_name);
    arena_release(&sheet->arena);
}

/* "p.a#b" in its parts; false: a selector that is not simple. */
static bool read_selector(struct style_sheet *sheet, struct str text, struct style_rule *rule)
{
    text = str_trim(text);
    rule->weight = 0;
    for (size_t at = 0; at < text.n;) {
        char part[NAME_MAX_BYTES];
        size_t n = 0;
        char kind = text.p[at] == '.' || text.p[at] == '#' ? text.p[at++] : '\0';
        if (kind != '\0')
            part[n++] = kind;
        while (at < text.n && text.p[at] != '.' && text.p[at] != '#') {
            char c = text.p[at];
            if (is_space(c) || strchr(">+~:[*(", c) != NULL || n == sizeof part)
                return false;
            at = read_character(text, at, &part[n++]);
        }
        if (n <= (kind != '\0') || rule->part_count == PARTS_MAX)
            return false;
        rule->weight += kind == '#' ? WEIGHT_ID : kind == '.' ? WEIGHT_CLASS : WEIGHT_TAG;
        rule->parts[rule->part_count++] = arena_copy(&sheet->arena, (struct str){part, n});
    }
    return rule->part_count > 0;
}

static void add_rule(struct style_sheet *sheet, struct str selector, struct str declarations)
{
    struct style_rule rule = {.declarations = declarations};
    if (sheet->count >= RULES_MAX || !read_selector(sheet, selector, &rule))
        return;
    struct str name = rule.parts[rule.part_count - 1];
    if (str_is(name, "html") || str_is(name, "body"))
        return; /* pages hide all of themselves until their script has run */
    rule.weight += ++sheet->count * WEIGHT_ORDER;
    struct style_rule *kept = arena_alloc(&sheet->arena, sizeof *kept);
    *kept = rule;
    kept->next = map_set(&sheet->by_name, name, kept);
}

static void add_block(struct style_sheet *sheet, struct str selectors, struct str declarations)
{
    if (declarations.n > DECLARATIONS_MAX || !concerns_sight(declarations))
        return;
    struct str kept = arena_copy(&sheet->arena, declarations);
    while (selectors.n > 0) {
        const char *comma = memchr(selectors.p, ',', selectors.n);
        size_t n = comma != NULL ? (size_t)(comma - selectors.p) : selectors.n;
        add_rule(sheet, (struct str){selectors.p, n}, kept);
        n += comma != NULL;
        selectors = (struct str){selectors.p + n, selectors.n - n};
    }
}

static bool has_word(struct str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++)
        if (strncasecmp(text.p + i, word, n) == 0)
            return true;
    return false;
}

/* Do the rules in this at-rule hold on a screen of ordinary size? */
static bool holds(struct str rule)
{
    if (has_word(rule, "@keyframes") || has_word(rule, "@font-face") || has_word(rule, "@page") ||
        has_word(rule, "keyframes"))
        return false;
    bool print = has_word(rule, "print") && !has_word(rule, "not print") &&
                 !has_word(rule, "screen") && !has_word(rule, "all");
    return !print && !has_word(rule, "max-width") && !has_word(rule, "max-height") &&
           !has_word(rule, "prefers-");
}

/* The first of these characters, outside of comments and quotes. */
static size_t find_any(struct str css, size_t at, const char *wanted)
{
    char quote = '\0';
    while (at < css.n) {
        char c = css.p[at];
        size_t behind = quote == '\0' ? skip_comment(css, at) : at;
        if (behind > at) {
            at = behind;
            continue;
        }
        if (c == '\\')
            at++;
        else if (quote != '\0')
            quote = c == quote || c == '\n' ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (strchr(wanted, c) != NULL)
            return at;
        at++;
    }
    return css.n;
}

/* A selector is read without its comments. */
static struct str without_comments(struct style_sheet *sheet, struct str text)
{
    struct buf out;
    if (memmem(text.p, text.n, "/*", 2) == NULL)
        return text;
    buf_init(&out, text.n + 1);
    for (size_t at = 0; at < text.n;) {
        size_t behind = skip_comment(text, at);
        if (behind == at)
            buf_char(&out, text.p[at++]);
        at = behind > at ? behind : at;
    }
    struct str kept = arena_copy(&sheet->arena, buf_view(&out));
    buf_release(&out);
    return kept;
}

void style_sheet_add(struct style_sheet *sheet, struct str css)
{
    bool applies[NESTING_MAX + 1] = {true};
    size_t depth = 0, at = 0;
    while (at < css.n) {
        size_t stop = find_any(css, at, "{};");
        struct str front = str_trim((struct str){css.p + at, stop - at});
        if (stop >= css.n)
            return;
        at = stop + 1;
        if (css.p[stop] == '}') {
            depth -= depth > 0;
            continue;
        }
        if (css.p[stop] == ';')
            continue;
        front = str_trim(without_comments(sheet, front));
        if (front.n > 0 && front.p[0] == '@') {
            if (depth == NESTING_MAX)
                return;
            applies[depth + 1] = applies[depth] && holds(front);
            depth++;
            continue;
        }
        size_t end = find_any(css, at, "}");
        if (applies[depth])
            add_block(sheet, front, (struct str){css.p + at, end - at});
        at = end + 1;
    }
}

/* --- elements -------------------------------------------------------------------------------------- */

static bool same_folded(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* Does the element have this class? Names of classes are compared without case, as old pages are shown. */
static bool has_class(struct str classes, struct str name)
{
    for (size_t at = 0; at < classes.n;) {
        size_t start = at;
        while (at < classes.n && !is_space(classes.p[at]))
            at++;
        if (same_folded((struct str){classes.p + start, at - start}, name))
            return true;
        at++;
    }
    return false;
}

struct element {
    struct str tag, id, classes;
};

static bool has_part(const struct element *element, struct str part)
{
    struct str name = {part.p + 1, part.n - 1};
    return part.p[0] == '.'   ? has_class(element->classes, name)
           : part.p[0] == '#' ? same_folded(element->id, name)
                              : str_eq(element->tag, part);
}

static void apply_rules(const struct style_sheet *sheet, const struct element *element,
                        struct str name, struct style *style)
{
    const struct style_rule *rule = map_get(&sheet->by_name, name);
    for (size_t tried = 0; rule != NULL && tried < RULES_TRIED; rule = rule->next, tried++) {
        bool matches = true;
        for (size_t i = 0; i < rule->part_count; i++)
            matches = matches && has_part(element, rule->parts[i]);
        if (matches)
            read_declarations(rule->declarations, rule->weight, style);
    }
}

static void apply_named(const struct style_sheet *sheet, const struct element *element, char kind,
                        struct str name, struct style *style)
{
    char key[NAME_MAX_BYTES];
    if (name.n == 0 || name.n >= sizeof key)
        return;
    key[0] = kind;
    for (size_t i = 0; i < name.n; i++)
        key[i + 1] = lower(name.p[i]);
    apply_rules(sheet, element, (struct str){key, name.n + 1}, style);
}

void style_of(const struct style_sheet *sheet, const struct html_token *token, struct style *style)
{
    struct element element = {.tag = str_from(token->name)};
    struct str value;
    *style = (struct style){0};
    if (html_attribute(token, "id", &value))
        element.id = value;
    if (html_attribute(token, "class", &value))
        element.classes = value;
    if (sheet->count > 0) {
        apply_rules(sheet, &element, element.tag, style);
        apply_named(sheet, &element, '#', element.id, style);
        size_t classes = 0;
        for (size_t at = 0; at < element.classes.n && classes < CLASSES_MAX; at++, classes++) {
            size_t start = at;
            while (at < element.classes.n && !is_space(element.classes.p[at]))
                at++;
            apply_named(sheet, &element, '.', (struct str){element.classes.p + start, at - start},
                        style);
        }
    }
    if (html_attribute(token, "style", &value)) {
        struct buf decoded;
        buf_init(&decoded, DECLARATIONS_MAX);
        html_decode(value, &decoded);
        read_declarations(buf_view(&decoded), WEIGHT_ATTRIBUTE, style);
        buf_release(&decoded);
    }
}

/* --- what can be seen ------------------------------------------------------------------------------ */

#define FAR_PX (-900) /* so far to the left or above nothing of a page is */
/* Columns are put beside each other with margins of the whole width of a page, and can be seen. */
#define FAR_MARGIN_PX (-2000)

/* A length in pixels, roughly; false: not a length. */
static bool pixels(const char *text, double *px)
{
    static const struct {
        const char *unit;
        double px;
    } units[] = {{"px", 1}, {"em", 16}, {"rem", 16}, {"pt", 1.33}, {"vw", 13}, {"vh", 8},
                 {"%", 10}, {"ex", 8},  {"ch", 8},   {"cm", 38},   {"in", 96}, {"mm", 3.8}};
    char *end;
    double number = strtod(text, &end);
    if (end == text)
        return false;
    *px = number;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(end, units[i].unit, strlen(units[i].unit)) == 0)
            *px = number * units[i].px;
    return true;
}

static bool is_far(const char *text)
{
    double px;
    return pixels(text, &px) && px <= FAR_PX;
}

static bool is_tiny(const char *text)
{
    double px;
    return pixels(text, &px) && px > -1 && px <= 1;
}

/* A margin shifts an element away, unless a padding brings its text back, as pages do for wide backgrounds. */
static bool is_shifted(const char *margin, const char *padding)
{
    double px, back = 0;
    if (!pixels(margin, &px))
        return false;
    return px + (pixels(padding, &back) ? back : 0) <= FAR_MARGIN_PX;
}

static bool is_off_screen(const struct style *style)
{
    const char *position = style->values[STYLE_POSITION].text;
    bool placed = strcmp(position, "absolute") == 0 || strcmp(position, "fixed") == 0 ||
                  strcmp(position, "relative") == 0;
    const char *transform = style->values[STYLE_TRANSFORM].text;
    const char *moved = strstr(transform, "translate"), *scaled = strstr(transform, "scale(");
    const char *by = moved != NULL ? strchr(moved, '(') : NULL;
    double scale;
    return is_far(style->values[STYLE_INDENT].text) ||
           is_shifted(style->values[STYLE_MARGIN_LEFT].text,
                      style->values[STYLE_PADDING_LEFT].text) ||
           is_shifted(style->values[STYLE_MARGIN_TOP].text,
                      style->values[STYLE_PADDING_TOP].text) ||
           (placed &&
            (is_far(style->values[STYLE_LEFT].text) || is_far(style->values[STYLE_TOP].text) ||
             is_far(style->values[STYLE_RIGHT].text) ||
             is_far(style->values[STYLE_BOTTOM].text))) ||
           (by != NULL && is_far(by + 1)) ||
           (scaled != NULL && pixels(scaled + 6, &scale) && scale == 0);
}

static bool is_squeezed(const struct style *style)
{
    const char *overflow = style->values[STYLE_OVERFLOW].text;
    const char *clip = style->values[STYLE_CLIP].text, *path = style->values[STYLE_CLIP_PATH].text;
    bool tiny = is_tiny(style->values[STYLE_WIDTH].text) ||
                is_tiny(style->values[STYLE_HEIGHT].text) ||
                is_tiny(style->values[STYLE_MAX_WIDTH].text) ||
                is_tiny(style->values[STYLE_MAX_HEIGHT].text);
    bool cut = strstr(overflow, "hidden") != NULL || strstr(overflow, "clip") != NULL;
    bool clipped = strncmp(clip, "rect(", 5) == 0 && is_tiny(clip + 5) &&
                   strcmp(style->values[STYLE_POSITION].text, "absolute") == 0;
    return (tiny && cut) || clipped || strncmp(path, "inset(50%", 9) == 0 ||
           strncmp(path, "inset(100%", 10) == 0 || strncmp(path, "circle(0", 8) == 0;
}

/* The size that a style says counts; else that of the attribute. */
static bool is_tiny_side(const char *styled, const struct html_token *token, const char *name)
{
    struct buf decoded;
    struct str value;
    char text[16];
    if (styled[0] != '\0' || !html_attribute(token, name, &value))
        return is_tiny(styled);
    buf_init(&decoded, DECLARATIONS_MAX);
    html_decode(value, &decoded);
    struct str start = utf8_cut(buf_view(&decoded), sizeof text - 1);
    snprintf(text, sizeof text, "%.*s", STR_FMT(start));
    buf_release(&decoded);
    return is_tiny(text);
}

/* Nothing of an image stands out of its box, as text does. */
static bool is_tiny_image(const struct style *style, const struct html_token *token)
{
    return strcmp(token->name, "img") == 0 &&
           (is_tiny_side(style->values[STYLE_WIDTH].text, token, "width") ||
            is_tiny_side(style->values[STYLE_HEIGHT].text, token, "height") ||
            is_tiny(style->values[STYLE_MAX_WIDTH].text) ||
            is_tiny(style->values[STYLE_MAX_HEIGHT].text));
}

static enum style_sight size_sight(const char *size)
{
    double px;
    if (size[0] == '\0' || strcmp(size, "inherit") == 0)
        return SIGHT_AS_PARENT;
    if (pixels(size, &px) && px == 0)
        return SIGHT_HIDDEN;
    bool relative = strchr(size, '%') != NULL || strcmp(size, "smaller") == 0 ||
                    strcmp(size, "larger") == 0 ||
                    (strstr(size, "em") != NULL && strstr(size, "rem") == NULL);
    return relative ? SIGHT_AS_PARENT : SIGHT_VISIBLE;
}

struct style_sights style_sights(const struct style *style, const struct html_token *token)
{
    struct style_sights sights = {.gone = false};
    struct str ignored;
    double opacity, zoom;
    const char *display = style->values[STYLE_DISPLAY].text;
    const char *visibility = style->values[STYLE_VISIBILITY].text;
    if (strcmp(display, "none") == 0 ||
        (display[0] == '\0' && html_attribute(token, "hidden", &ignored)) ||
        strcmp(style->values[STYLE_CONTENT].text, "hidden") == 0)
        sights.gone = true;
    if (pixels(style->values[STYLE_OPACITY].text, &opacity) && opacity <= 0)
        sights.gone = true;
    if (pixels(style->values[STYLE_ZOOM].text, &zoom) && zoom <= 0)
        sights.gone = true;
    if (is_off_screen(style) || is_squeezed(style) || is_tiny_image(style, token))
        sights.gone = true;
    if (strcmp(visibility, "hidden") == 0 || strcmp(visibility, "collapse") == 0)
        sights.visibility = SIGHT_HIDDEN;
    else if (strcmp(visibility, "visible") == 0)
        sights.visibility = SIGHT_VISIBLE;
    sights.size = size_sight(style->values[STYLE_FONT_SIZE].text);
    return sights;
}
