/* JSON, both ways. Reading: a parsed document behind an opaque type. Writing: a writer that
 * appends to a buf, byte-stable, for everything that is hashed, logged or sent.
 *
 * Every reader function accepts NULL (an absent value) and answers "nothing": so chains of js_get need no
 * checks. Views returned by readers live as long as the document. */
#ifndef CADRE_BASE_JSON_H
#define CADRE_BASE_JSON_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct js; /* one value inside a document, or its root */

enum js_kind { JS_ABSENT, JS_NULL, JS_BOOL, JS_INT, JS_REAL, JS_STRING, JS_ARRAY, JS_OBJECT };

/* Parses one JSON value; the whole text must be that value. At most 64 levels deep, strict UTF-8, duplicate
 * keys and NUL in keys refused, integers within 64 bits. On failure NULL, and err (class CORRUPT) names line and column. Free with js_free. */
struct js *js_parse(struct str text, struct err *err);
/* The same with fewer levels: for what becomes part of a larger document that must parse as well. */
struct js *js_parse_within(struct str text, int levels, struct err *err);
void js_free(struct js *root);

enum js_kind js_kind(const struct js *value);
const struct js *js_get(const struct js *object, const char *key);
struct str js_str(const struct js *value); /* STR_NONE unless a string */
/* The value's own bytes in the text that was parsed. */
struct str js_source(struct str text, const struct js *value);
int64_t js_int(const struct js *value, int64_t otherwise); /* only JS_INT */
double js_real(const struct js *value, double otherwise);  /* JS_INT or JS_REAL */
bool js_bool(const struct js *value, bool otherwise);
/* The number that a value is, also as an exact string ("5", "0.25", no blanks); false: it is none. */
bool js_number(const struct js *value, double *out);
/* The same for whole numbers: 5, 5.0 and "5". */
bool js_whole(const struct js *value, int64_t *out);
size_t js_count(const struct js *value); /* of an array or an object */
const struct js *js_at(const struct js *array, size_t i);
/* Walks an object in document order: start with iter = NULL; returns NULL at the end. */
void *js_next(const struct js *object, void *iter, struct str *key, const struct js **value);
/* Shorthands for an object's member. */
struct str js_get_str(const struct js *object, const char *key);
int64_t js_get_int(const struct js *object, const char *key, int64_t otherwise);
bool js_get_bool(const struct js *object, const char *key, bool otherwise);
/* Compact text of a value, keys in document order. */
void js_print(const struct js *value, struct buf *out);

/* The writer. Commas are its business: open, key, value, close. Nesting deeper than 32 sets out->failed.
 * Strings that are not valid UTF-8 have their bad bytes replaced by U+FFFD, so output always parses. */
struct jw {
    struct buf *out;
    uint32_t has_items; /* bit d: something stands at depth d already */
    int depth;
    bool after_key;
};

void jw_init(struct jw *w, struct buf *out);
void jw_object(struct jw *w);
void jw_array(struct jw *w);
void jw_end_object(struct jw *w);
void jw_end_array(struct jw *w);
void jw_key(struct jw *w, const char *key); /* a name of ours: nothing in it needs an escape */
void jw_key_str(struct jw *w, struct str key);
void jw_str(struct jw *w, struct str text);
void jw_text(struct jw *w, const char *text);
void jw_int(struct jw *w, int64_t number);
void jw_real(struct jw *w, double number);
void jw_bool(struct jw *w, bool value);
void jw_null(struct jw *w);
void jw_raw(struct jw *w, struct str json); /* already valid JSON text */
/* key + value in one */
void jw_kstr(struct jw *w, const char *key, struct str text);
void jw_ktext(struct jw *w, const char *key, const char *text);
void jw_kint(struct jw *w, const char *key, int64_t number);
void jw_kbool(struct jw *w, const char *key, bool value);
void jw_kraw(struct jw *w, const char *key, struct str json);

/* Appends text as a JSON string with its quotes (the escaping that jw_str uses). */
void json_quote(struct buf *out, struct str text);

#endif
