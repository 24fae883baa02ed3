/* Reads JSON text in place, for shapes that are known beforehand: no document, no memory, one pass. What it accepts is
 * JSON that js_parse accepts too, and it means the same; it does not accept all of that. False (or SCAN_ODD) means "read
 * it the long way" and says nothing about whether the text is JSON.
 *
 * Not accepted: more than SCAN_MEMBERS_MAX members in an object, escapes in keys, halves of surrogate pairs, numbers of
 * more than 18 digits, deeper nesting than the caller allows. Pure. */
#ifndef CADRE_MODEL_OPENAI_SCAN_H
#define CADRE_MODEL_OPENAI_SCAN_H

#include <stdint.h>

#include "base/buf.h"

#define SCAN_MEMBERS_MAX 24

struct scan {
    const char *at, *end;
};

/* A string's content as it stands in the text. */
struct scan_text {
    struct str raw; /* p == NULL: there is none */
    enum { SCAN_PLAIN, SCAN_ESCAPED } form;
};

/* The keys of one object so far: a key that comes twice makes the text odd. */
struct scan_members {
    struct str keys[SCAN_MEMBERS_MAX];
    size_t count;
    uint64_t seen; /* one bit for each key, by its length and its ends */
};

/* The next character that is no white space, which stays; NUL at the end. */
static inline char scan_peek(struct scan *scan)
{
    while (scan->at < scan->end && *scan->at <= ' ' &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
    return scan->at < scan->end ? *scan->at : '\0';
}

/* Passes over this character, which is not NUL, if it is the next that is no white space. */
static inline bool scan_char(struct scan *scan, char c)
{
    if (scan_peek(scan) != c)
        return false;
    scan->at++;
    return true;
}

bool scan_string(struct scan *scan, struct scan_text *text);
bool scan_int(struct scan *scan, int64_t *number);
bool scan_null(struct scan *scan);
/* Passes over any value with at most `levels` levels of nesting. */
bool scan_skip(struct scan *scan, int levels);

/* Inside an object whose bracket was passed: passes over the comma, the next key and its colon, or the closing
 * bracket. Start with members zeroed. */
enum scan_step { SCAN_MEMBER, SCAN_END, SCAN_ODD };
enum scan_step scan_member(struct scan *scan, struct scan_members *members, struct str *key);
/* The same for the next item of an array; *count is the number of items before it. */
enum scan_step scan_item(struct scan *scan, size_t *count);

/* Appends what the string says. */
void scan_unescape(struct buf *out, struct str raw);

#endif
