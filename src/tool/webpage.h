/* What came from the web as text for a model: HTML becomes Markdown, other text stays as it is, in UTF-8. Pure; any thread. */
#ifndef CADRE_TOOL_WEBPAGE_H
#define CADRE_TOOL_WEBPAGE_H

#include "base/err.h"
#include "net/web.h"

struct webpage {
    struct buf text, title; /* clean: no control characters; the caller releases them */
    enum { WEBPAGE_WHOLE, WEBPAGE_CUT } extent;
    char charset[32]; /* that is not known, so that bytes were replaced; "" otherwise */
};

#define WEBPAGE_TEXT_MAX ((size_t)4 << 20) /* bytes; what is more is cut */

void webpage_init(struct webpage *page);
void webpage_release(struct webpage *page);
/* USAGE when it is no text, with its type and size. */
int webpage_read(const struct web_answer *answer, struct webpage *page, struct err *err) NODISCARD;

#endif
