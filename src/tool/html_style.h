/* What styles of a page say about whether text can be seen: the declarations of style attributes and of rules in <style> elements whose
 * selectors are simple (a tag, classes, an id, or these joined). Pure; linear in the styles, bounded by the limits below. */
#ifndef CADRE_TOOL_HTML_STYLE_H
#define CADRE_TOOL_HTML_STYLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "tool/html_token.h"

/* The properties that can hide text. */
#define STYLE_PROPERTIES(X)                                                                        \
    X(DISPLAY, "display")                                                                          \
    X(VISIBILITY, "visibility")                                                                    \
    X(OPACITY, "opacity")                                                                          \
    X(FONT_SIZE, "font-size")                                                                      \
    X(POSITION, "position")                                                                        \
    X(LEFT, "left")                                                                                \
    X(TOP, "top")                                                                                  \
    X(RIGHT, "right")                                                                              \
    X(BOTTOM, "bottom")                                                                            \
    X(MARGIN_LEFT, "margin-left")                                                                  \
    X(MARGIN_TOP, "margin-top")                                                                    \
    X(PADDING_LEFT, "padding-left")                                                                \
    X(PADDING_TOP, "padding-top")                                                                  \
    X(ZOOM, "zoom")                                                                                \
    X(INDENT, "text-indent")                                                                       \
    X(WIDTH, "width")                                                                              \
    X(HEIGHT, "height")                                                                            \
    X(MAX_WIDTH, "max-width")                                                                      \
    X(MAX_HEIGHT, "max-height")                                                                    \
    X(OVERFLOW, "overflow")                                                                        \
    X(CLIP, "clip")                                                                                \
    X(CLIP_PATH, "clip-path")                                                                      \
    X(TRANSFORM, "transform")                                                                      \
    X(CONTENT, "content-visibility")

enum style_property {
#define X(symbol, text) STYLE_##symbol,
    STYLE_PROPERTIES(X)
#undef X
        STYLE_COUNT
};

#define STYLE_VALUE_MAX 64 /* bytes with the NUL; longer values are cut */

/* What holds for one element. */
struct style {
    struct {
        char text[STYLE_VALUE_MAX]; /* small letters; "" where nothing is said */
        uint32_t weight;            /* of who said it: the heaviest counts */
    } values[STYLE_COUNT];
};

struct style_rule;
struct style_sheet {
    struct arena arena;
    struct map by_name; /* the last name of a selector ("p", ".class", "#id") → its newest rule */
    uint32_t count;
};

void style_sheet_init(struct style_sheet *sheet);
void style_sheet_release(struct style_sheet *sheet);
/* The text of a <style> element. */
void style_sheet_add(struct style_sheet *sheet, struct str css);
/* What the rules and the style attribute say of a tag. */
void style_of(const struct style_sheet *sheet, const struct html_token *token, struct style *style);

/* How an element's style makes its text unseen. */
enum style_sight {
    SIGHT_AS_PARENT,

    SIGHT_HIDDEN,  /* its text, but not that of elements in it that say otherwise */
    SIGHT_VISIBLE, /* the other word */
};
struct style_sights {
    bool gone;
    enum style_sight visibility, size; /* of visibility and of font-size, which are inherited */
};
struct style_sights style_sights(const struct style *style, const struct html_token *token);

#endif
