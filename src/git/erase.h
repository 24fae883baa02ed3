/* Removes a directory with everything in it. Links are removed, never followed; directories that their owner locked are unlocked; depth
 * does not matter. */
#ifndef CADRE_GIT_ERASE_H
#define CADRE_GIT_ERASE_H

#include "base/err.h"

/* 0 also when there was nothing. */
NODISCARD int git_erase(const char *path, struct err *err);
/* Removes temporary files of ours in a directory that are over an hour old: only a crash leaves them. */
void git_sweep(const char *directory);

#endif
