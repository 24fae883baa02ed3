/* Public symbols in a source text, and whether each is documented, by language: one table of
 * patterns, line by line. It misses what no pattern sees (symbols that macros make, re-exports).
 * One thread at a time. */
#ifndef CADRE_TOOL_DOCUMENTED_H
#define CADRE_TOOL_DOCUMENTED_H

#include "base/err.h"
#include "tool/language.h"

struct documented;

enum documented_answer { DOCUMENTED_NO, DOCUMENTED_YES };

typedef void documented_symbol(void *user, struct str name, int64_t line,
                               enum documented_answer answer);

struct documented *documented_new(void);
void documented_free(struct documented *documented);
/* Can this file be judged? Of C and C++ only headers are; tests are left out. */
bool documented_knows(const struct language *language, struct str file_name);
/* Tells every public symbol of a text. */
void documented_read(struct documented *documented, const struct language *language,
                     struct str text, documented_symbol *symbol, void *user);

#endif
