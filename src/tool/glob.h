/* File globs as models write them: * ? [...] within a name, ** over directories, {a,b} for either.
 * A glob without a slash is compared with a file's name, one with a slash with its whole path.
 * Pure; any thread. */
#ifndef CADRE_TOOL_GLOB_H
#define CADRE_TOOL_GLOB_H

#include "base/arena.h"
#include "base/err.h"

#define GLOB_MAX 1024         /* bytes */
#define GLOB_ALTERNATIVES 128 /* that braces may stand for */

struct glob {
    struct str *alternatives; /* in the arena, without braces */
    size_t count;             /* 0: matches nothing */
};

/* USAGE when it is too long or stands for too many alternatives. */
NODISCARD int glob_compile(struct glob *glob, struct arena *arena, struct str text,
                           struct err *err);
/* path: normal form from where the search started. */
bool glob_match(const struct glob *glob, struct str path);

#endif
