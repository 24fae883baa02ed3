/* HTML cut into tags and text, as browsers cut it, forgiving everything. Pure, linear in the text: no byte is looked at twice but
 * where a caller asks for attributes. Comments, declarations and processing instructions are passed over. */
#ifndef CADRE_TOOL_HTML_TOKEN_H
#define CADRE_TOOL_HTML_TOKEN_H

#include "base/buf.h"

#define HTML_NAME_MAX 16 /* bytes with the NUL; longer names are cut: no name of interest is */

struct html_reader {
    struct str text;
    size_t at;
    char raw
        [HTML_NAME_MAX]; /* inside such an element everything up to its end tag is text; "" elsewhere */
};

struct html_token {
    enum { HTML_END, HTML_TEXT, HTML_OPEN, HTML_CLOSE } kind;
    char name[HTML_NAME_MAX]; /* of a tag, lower case */
    struct str attributes;    /* of an opening tag, as they stand */
    struct str text;          /* with its entities */
};

/* The next token; HTML_END at the end, as often as it is asked. */
void html_next(struct html_reader *reader, struct html_token *token);
/* The raw value of an attribute, with its entities: false when the tag has none of this name. */
bool html_attribute(const struct html_token *token, const char *name, struct str *value);
/* Appends text with its entities replaced, as UTF-8. */
void html_decode(struct str text, struct buf *out);
/* Appends one character. */
void html_put(struct buf *out, uint32_t code);
/* The character that a byte from 128 to 159 is in Windows-1252; 0: none. */
uint32_t html_windows_1252(uint8_t byte);

#endif
