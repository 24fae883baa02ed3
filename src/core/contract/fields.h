/* JSON objects as tables: one row per key gives both the printer and the strict reader, so that
 * the two cannot drift apart and a reader sees the whole shape at once. Internal to
 * core/contract. */
#ifndef CADRE_CORE_CONTRACT_FIELDS_H
#define CADRE_CORE_CONTRACT_FIELDS_H

#include "base/arena.h"
#include "base/json.h"

/* How one value is written, read and kept. `at` is the object's struct plus the row's offset. */
struct field_kind {
    void (*print)(struct jw *w, const void *at);
    int (*parse)(struct arena *arena, const struct js *value, const char *where, void *at,
                 struct err *err);
    /* NULL: the key is always there. Else it may be missing, and is not printed while this says so. */
    bool (*absent)(const void *at);
    /* Makes what `at` points to the arena's own, or `like`'s where both say the same. NULL: it points to nothing. */
    void (*own)(struct arena *arena, const void *like, void *at);
};

/* A row: a value of some kind, or (kind NULL) a nested object with rows of its own. A table ends
 * with key NULL. */
struct field {
    const char *key;
    const struct field_kind *kind;
    size_t offset;
    const struct field *fields;
};

/* struct str: a string; a string, or null for STR_NONE */
extern const struct field_kind field_text, field_text_or_null;
/* struct str: a string; a missing key leaves it, an empty one is not printed */
extern const struct field_kind field_text_if_any;
/* int64_t: 0 or more; 0 or more, or null for UNLIMITED */
extern const struct field_kind field_count, field_limit;
/* int64_t: as field_count; a missing key leaves it, 0 is not printed */
extern const struct field_kind field_list_if_any;
extern const struct field_kind field_count_if_any;
/* int64_t in nano-dollars, null for UNLIMITED: dollars; dollars for a million tokens */
extern const struct field_kind field_money, field_price;
/* int64_t in nano-dollars: as field_price; a missing key leaves it, UNLIMITED is not printed */
extern const struct field_kind field_price_if_known;
/* struct list: a list; a list, or null for an absent one */
extern const struct field_kind field_list, field_list_or_null;
/* struct list: a list; a missing key leaves it, an absent one is not printed */
extern const struct field_kind field_list_if_set;
/* int, an enum whose 0 is off: true; a missing key leaves it */
extern const struct field_kind field_switch_if_on;

/* struct str: any JSON value as its compact text, null for STR_NONE; the same, but a missing key leaves it and STR_NONE is not
 * printed */
extern const struct field_kind field_json, field_json_if_any;

extern const struct field limits_fields[]; /* of struct limits; in settings.c */
extern const struct field params_fields[]; /* of struct model_params; in params.c */
/* struct model_params: an object; a missing key leaves it, one that sets nothing is not printed */
extern const struct field_kind field_params_if_any;
/* const struct model_params *: the same; NULL sets nothing. For structs that are never owned. */
extern const struct field_kind field_params_pointer;

/* Whether every key must be there, or absent ones leave the struct as it is. Unknown keys are
 * always refused. */
enum fields_need { FIELDS_ALL, FIELDS_SOME };

void fields_print(const struct field *fields, struct jw *w, const void *base);
/* Errors are CORRUPT and name the path ("execution.budget.wall_ms: …"); where is "" at the top. */
int fields_parse(const struct field *fields, enum fields_need need, struct arena *arena,
                 const struct js *object, const char *where, void *base, struct err *err) NODISCARD;

/* The struct at base is a shallow copy: afterwards it borrows from the arena and from `like` alone, and says what printing it
 * and reading it back would. */
void fields_own(const struct field *fields, struct arena *arena, const void *like, void *base);

/* A copy; bytes that are not UTF-8 are replaced as in print. */
struct str text_own(struct arena *arena, struct str text);

enum { FIELD_PATH_BYTES = 256 };
/* "a.b" from "a" and "b"; cut when it is too long for an error message anyway. */
void field_path(char out[FIELD_PATH_BYTES], const char *where, const char *key);
const char *field_where(const char *where); /* for messages: "" reads as "the document" */

#endif
