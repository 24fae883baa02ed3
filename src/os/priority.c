/* See priority.h. A short slice of an ordinary thread (Linux 6.12) is a nearer deadline, and the thread that wakes up with it
 * displaces one that computes. Its share of the machine stays the same. */
#include "os/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the least that the kernel takes */
#define RESET_ON_FORK 1

/* sched_setattr(2); libc has no wrapper. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void priority_prompt(void)
{
    struct attributes attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.size = sizeof attributes;
    attributes.flags = RESET_ON_FORK;
    attributes.runtime = SLICE_NS;
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) != 0)
        return; /* it is woken when it is its turn */
}
