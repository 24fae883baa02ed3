/* Which text of a page a browser would not show: elements with `hidden`, and what styles hide (html_style.h), with everything in them.
 * Keeps the elements that are open, as browsers do: some are closed by what follows them, a tag that closes nothing is passed over,
 * and what shapes text (b, font …) goes on behind a block in which it was not closed. Pure; linear in the tags. */
#ifndef CADRE_TOOL_HTML_HIDDEN_H
#define CADRE_TOOL_HTML_HIDDEN_H

#include "tool/html_style.h"

struct hidden_element;
struct html_hidden {
    struct style_sheet sheet;
    struct hidden_element *open; /* outermost first */
    size_t count, capacity;
};

/* Reads the styles of the page. */
void html_hidden_init(struct html_hidden *hidden, struct str html);
void html_hidden_release(struct html_hidden *hidden);
/* Takes every tag of the page in order; returns whether the element that it opens or closes is hidden. */
bool html_hidden_tag(struct html_hidden *hidden, const struct html_token *token);
/* Forgets the open elements. */
void html_hidden_restart(struct html_hidden *hidden);
/* Is text that stands here hidden? */
bool html_hidden_now(const struct html_hidden *hidden);

#endif
