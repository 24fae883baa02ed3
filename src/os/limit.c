/* See limit.h. */
#include "os/limit.h"

#include <fcntl.h>
#include <sys/resource.h>

#define LOOKED_AT 1024

size_t limit_raise_descriptors(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    struct rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < raised.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur < wanted ? (size_t)limit.rlim_cur : wanted;
}

size_t limit_open_descriptors(size_t limit)
{
    size_t open = 0;
    for (size_t fd = 0; fd < limit && fd < LOOKED_AT; fd++)
        open += fcntl((int)fd, F_GETFD) >= 0;
    return open;
}
