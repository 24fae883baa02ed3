/* A request that breaks a rule of the API, in the shape in which the real API says so. Nothing is owned. */
#ifndef CADRE_SCRIPTED_REFUSAL_H
#define CADRE_SCRIPTED_REFUSAL_H

#include "base/buf.h"
#include "base/json.h"

struct refusal {
    int status;       /* of HTTP */
    const char *type; /* "invalid_request_error" … */
    const char *code; /* NULL: null */
    char param[160];  /* empty: null */
    char message[1024];
};

/* Where something stands in a request: "messages.[3].tool_calls.[0].function". Parts that are NULL are left out. */
struct place {
    const char *list;
    size_t index;
    const char *inner;
    size_t inner_index;
    const char *within;
};

/* Each fills the refusal and returns -1. `leaf` is the field in the place, or NULL for the place itself. */
int refusal_set(struct refusal *refusal, int status, const char *code, const char *param,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
int refusal_at(struct refusal *refusal, const char *code, const struct place *place,
               const char *leaf, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The text of a place, always terminated. */
void refusal_place(const struct place *place, const char *leaf, char *out, size_t size);
/* Appends {"error":{…}}. */
void refusal_write(const struct refusal *refusal, struct buf *out);

/* What a field of an object may be: bits 1 << JS_STRING …, and whether it must be there. */
struct field {
    const char *name;
    unsigned kinds;
    enum { FIELD_OPTIONAL, FIELD_REQUIRED } presence;
};

struct field_table {
    const struct field *fields;
    size_t count;
};

#define FIELD_TABLE(fields)                                                                        \
    {                                                                                              \
        fields, sizeof fields / sizeof fields[0]                                                   \
    }

#define KIND(kind) (1u << JS_##kind)
#define KIND_OR_NULL(kind) (KIND(kind) | KIND(NULL))
#define KIND_NUMBER_OR_NULL (KIND(INT) | KIND(REAL) | KIND(NULL))

/* The first thing that is wrong with an object's fields. */
struct field_fault {
    enum { FAULT_NONE, FAULT_UNKNOWN, FAULT_KIND, FAULT_MISSING } kind;
    struct str key;            /* UNKNOWN */
    const struct field *field; /* KIND, MISSING */
    enum js_kind got;          /* KIND */
};
struct field_fault field_fault(const struct js *object, const struct field_table *table);

/* Refuses fields that the table does not know, values of a wrong kind and required fields that are absent.
 * A place without a list is the request itself. */
int refusal_fields(const struct js *object, const struct field_table *table,
                   const struct place *place, struct refusal *refusal) NODISCARD;
/* -1 unless value is an object. */
int refusal_object(const struct js *value, const struct place *place, const char *leaf,
                   struct refusal *refusal) NODISCARD;
/* "a string", "an integer" … */
const char *refusal_kind(enum js_kind kind);

#endif
