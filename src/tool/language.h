/* Programming languages by the names of files. One table for all tools that tell them apart. Pure;
 * any thread. */
#ifndef CADRE_TOOL_LANGUAGE_H
#define CADRE_TOOL_LANGUAGE_H

#include "port/tool.h"

struct language {
    const char *name;  /* "C++" */
    const char *key;   /* as an argument: "cpp" */
    const char *names; /* file names, space-separated: ".cc .hh" are endings, "Makefile" is whole */
    const char *kind;  /* "code", "data" or "text" */
};

extern const struct language languages[];
extern const size_t language_count;

/* NULL: unknown. */
const struct language *language_of_file(struct str name);
const struct language *language_by_key(struct str key);
/* The language that the argument "type" names; NULL when it is absent. -1 with the error in the
 * result. */
NODISCARD int language_argument(const struct js *arguments, const struct language **language,
                                struct tool_result *result);

#endif
