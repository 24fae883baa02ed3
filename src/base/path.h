/* Paths as text only: no file system is touched. Walls are never built on these (see os/scope.h);
 * they serve contracts, prompts and messages. */
#ifndef CADRE_BASE_PATH_H
#define CADRE_BASE_PATH_H

#include "base/arena.h"
#include "base/str.h"

/* Normal form of a relative path: no ".", no "//", no trailing "/", ".." resolved; "." for the root itself.
 * STR_NONE when it is absolute, empty, has a NUL or climbs above its root. */
struct str path_normal(struct arena *arena, struct str path);
/* The path, from `folder` where it is relative. Ends with a NUL. */
struct str path_from(struct arena *arena, struct str folder, struct str path);
/* a is b or lies beneath b; both in normal form ("." holds everything). Compares whole components. */
bool path_within(struct str a, struct str b);
/* Glob over components: * and ? inside one, ** over any number, [..] classes ([:alpha:] among
 * them), \ escapes. */
bool path_glob(struct str pattern, struct str path);

#endif
