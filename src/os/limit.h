/* How many descriptors this process may have open at a time: RLIMIT_NOFILE. Any thread. */
#ifndef CADRE_OS_LIMIT_H
#define CADRE_OS_LIMIT_H

#include <stddef.h>

/* Raises the soft limit towards `wanted`, as far as the hard one lets it. Returns what holds now, at most `wanted`. */
size_t limit_raise_descriptors(size_t wanted);
/* How many are open now, of those below the limit. Numbers from 1024 on are not looked at: there are plenty then. */
size_t limit_open_descriptors(size_t limit);

#endif
