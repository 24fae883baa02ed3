/* Records as tables: one row per key gives the reader, the printer and the list of known keys. Unlike fields.h, the
 * reader goes on after an error and reports each one with its path: people write these documents. For the registry's
 * files and for plans. */
#ifndef CADRE_CORE_CONTRACT_REGISTRY_FIELDS_H
#define CADRE_CORE_CONTRACT_REGISTRY_FIELDS_H

#include "core/contract/registry.h"

#define PROFILE_PATTERN "^profile:[a-z0-9_.:\\-]{1,120}$"

enum record_kind {
    RECORD_LINE,             /* struct str: one line, not blank */
    RECORD_TEXT,             /* struct str: may have several */
    RECORD_NAMES,            /* struct list: an omitted one is empty */
    RECORD_NAMES_IF_PRESENT, /* struct list: an omitted one is absent */
    RECORD_COUNT,            /* int64_t: UNLIMITED where omitted */
    RECORD_NUMBER,           /* double: NaN where omitted */
    RECORD_ITEMS, /* nothing: a list of objects that the caller reads; minimum to maximum of them */
    RECORD_SWITCH, /* int: 1 for true, 0 for false and where omitted; printed where it is 1 */
    RECORD_SCHEMA, /* struct str: a JSON Schema for answers, as compact JSON */
};

struct record_field {
    const char *key;
    enum record_kind kind;
    enum { RECORD_OPTIONAL, RECORD_REQUIRED } need;
    size_t offset;
    int64_t minimum, maximum; /* of a number; maximum: of a text's characters, a list's items */
    size_t item_maximum;      /* characters of one name in a list */
    bool (*valid)(struct str value); /* of a text; NULL: any */
    const char *pattern;             /* what `valid` wants, for the message */
};

/* A table ends with key NULL. where is the path of the object, "" at the top. Adds to problems what is wrong; a field
 * that is wrong is as if omitted. */
void record_fields_read(const struct record_field *fields, struct arena *arena,
                        const struct js *object, const char *where, void *base,
                        struct problems *problems);
/* Prints the object; what is not set is left out. */
void record_fields_print(const struct record_field *fields, struct jw *w, const void *base);

enum { RECORD_PATH_BYTES = 160 };
bool text_is_line(struct str text); /* no control characters, no line or paragraph separators */

#endif
