/* A page as readable Markdown: headings, paragraphs, lists, links, tables, code, the words of images. Scripts, styles, navigation,
 * forms' controls and what a browser would not show (html_hidden.h) are left out. Pure; linear in the page, bounded by the buffers. Any thread. */
#ifndef CADRE_TOOL_HTML_H
#define CADRE_TOOL_HTML_H

#include "base/buf.h"

/* base: the page's address, for links; may be empty. What does not fit sets text->failed, and what stands there is the page's
 * beginning. title: appended to, on one line. */
void html_to_markdown(struct str html, const char *base, struct buf *text, struct buf *title);

#endif
