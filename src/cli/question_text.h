/* What a question shows, as lines of a given width: a pure function. No line is wider than the columns, nothing of the text is left
 * out, and whatever a terminal would not show as itself is marked. Lines of a model's text stand behind a bar, so that none of them
 * can look like a line of cadre's own. */
#ifndef CADRE_CLI_QUESTION_TEXT_H
#define CADRE_CLI_QUESTION_TEXT_H

#include "cli/output.h"
#include "port/preview.h"

struct question_style {
    int columns;
    enum output_colour colour;
    enum output_glyphs glyphs;
};

/* Appends the parts of a preview. */
void question_text_preview(const struct preview *preview, const struct question_style *style,
                           struct buf *out);
/* Appends any text, line by line behind the bar. */
void question_text_plain(struct str text, const struct question_style *style, struct buf *out);
/* Appends words of cadre's own, wrapped where they do not fit. */
void question_text_words(struct str words, const struct question_style *style,
                         enum output_style how, struct buf *out);
/* Appends what was typed as it may be shown on one line: its end, where there are fewer columns. */
void question_text_typed(struct str typed, int columns, struct buf *out);
/* Lines of text: a last one without a newline counts. */
size_t question_text_lines(struct str text);

#endif
