/* Paths that a person typed, as operands, flags or variables: they start at the directory in which cadre was started, wherever the
 * workspace is. Everything that opens one comes here first. */
#ifndef CADRE_CLI_TYPED_H
#define CADRE_CLI_TYPED_H

#include "base/arena.h"
#include "base/err.h"

/* Where the user stands; STR_NONE: that directory is gone. */
struct str typed_here(struct arena *arena);
/* The typed path as an absolute one, with a NUL behind it. USAGE: it is empty, has a NUL inside, is too long, or there is no
 * directory to start from. */
int typed_path(struct arena *arena, struct str typed, struct str *path, struct err *err) NODISCARD;

#endif
