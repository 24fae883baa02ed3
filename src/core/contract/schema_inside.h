/* Private to the schema files: every keyword in one table, with the shape of its argument (schema.c) and what it demands of a value
 * (schema_match.c; `nothing` where it demands nothing by itself). */
#ifndef CADRE_CORE_CONTRACT_SCHEMA_INSIDE_H
#define CADRE_CORE_CONTRACT_SCHEMA_INSIDE_H

#include "core/contract/schema.h"

#define SCHEMA_KEYWORDS(X)                                                                         \
    X("type", TYPE, type)                                                                          \
    X("enum", VALUES, enumerated)                                                                  \
    X("const", ANYTHING, constant)                                                                 \
    X("properties", SCHEMAS_BY_NAME, properties)                                                   \
    X("required", NAMES, required)                                                                 \
    X("additionalProperties", SCHEMA, additional)                                                  \
    X("items", SCHEMA, items)                                                                      \
    X("minItems", COUNT, min_items)                                                                \
    X("maxItems", COUNT, max_items)                                                                \
    X("minLength", COUNT, min_length)                                                              \
    X("maxLength", COUNT, max_length)                                                              \
    X("minimum", NUMBER, minimum)                                                                  \
    X("maximum", NUMBER, maximum)                                                                  \
    X("exclusiveMinimum", NUMBER, exclusive_minimum)                                               \
    X("exclusiveMaximum", NUMBER, exclusive_maximum)                                               \
    X("anyOf", SCHEMAS, any_of)                                                                    \
    X("oneOf", SCHEMAS, one_of)                                                                    \
    X("allOf", SCHEMAS, all_of)                                                                    \
    X("not", SCHEMA, negated)                                                                      \
    X("$ref", REFERENCE, reference)                                                                \
    X("$defs", DEFINITIONS, nothing)                                                               \
    X("title", ANYTHING, nothing)                                                                  \
    X("description", ANYTHING, nothing)                                                            \
    X("default", ANYTHING, nothing)                                                                \
    X("examples", ANYTHING, nothing)

enum { SCHEMA_TYPES = 7 };
extern const char *const schema_type_names[SCHEMA_TYPES];
/* Whether the value is of the type; a number without a fraction is an integer, however it is written. */
bool schema_is_type(const struct js *value, struct str type);

/* The member with this name, or NULL. */
const struct js *schema_member(const struct js *object, struct str name);
/* What "#/$defs/NAME" means in the document, or NULL. */
const struct js *schema_referred(const struct js *root, struct str reference);

#endif
