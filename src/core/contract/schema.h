/* JSON Schema for answers: the part of it that cadre enforces. A schema is checked where it enters, and one that says anything which
 * would not be enforced is refused there: an answer that passed is what the schema says, never a half of it.
 *
 * Keywords: type enum const properties required additionalProperties items minItems maxItems minLength maxLength (characters)
 * minimum maximum exclusiveMinimum exclusiveMaximum anyOf oneOf allOf not $ref ("#/$defs/NAME") $defs (at the top); and title,
 * description, default, examples, which say nothing about values.
 *
 * Pure; any thread. Work is bounded: what would take too long to check does not pass. */
#ifndef CADRE_CORE_CONTRACT_SCHEMA_H
#define CADRE_CORE_CONTRACT_SCHEMA_H

#include "base/json.h"

#define SCHEMA_BYTES_MAX 65536 /* of its compact text */
#define SCHEMA_LEVELS 32       /* of nesting: a schema becomes part of larger documents */
#define SCHEMA_PROBLEMS_MAX 8  /* that are told at once */

/* A JSON pointer to what is wrong in a schema, "/properties/name/minLength"; cut when it is too long. */
struct schema_place {
    char pointer[256];
};

/* USAGE, and where, unless every keyword is known and every argument makes sense. */
int schema_check(const struct js *schema, struct schema_place *place, struct err *err) NODISCARD;
/* The same for a text that somebody hands in: parses it and appends its compact form. The message names the place. */
int schema_read(struct str text, struct buf *compact, struct err *err) NODISCARD;

/* How many problems the value has with a schema that was checked; 0: it matches. Appends a line for each of the first few:
 * "- $.items[2].name: expected string, found number". */
size_t schema_problems(const struct js *schema, const struct js *value, struct buf *out);

#endif
