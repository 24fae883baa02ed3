/* Randomness from the kernel, for ids, temporary names and jitter. */
#ifndef CADRE_OS_RANDOM_H
#define CADRE_OS_RANDOM_H

#include <stddef.h>

/* Fills all of it. A kernel that has no randomness ends the process: no id would be safe. */
void random_bytes(void *out, size_t n);

#endif
