/* See priority.h. A short slice of an ordinary thread (Linux 6.12) is a nearer deadline, and the thread that wakes up with it
 * displaces one that computes. Its share of the machine stays the same. */
#include "os/priority.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the least that the kernel takes */
#define RESET_ON_FORK 1
#define NICER 5 /* a third of an ordinary program's share, where there is not enough for all */

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

void priority_program(void)
{
    const struct sched_param level = {0};
    /* Whoever gave us another policy decides for our programs too. */
    if (sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &level);
    /* With twenty programs of its own weight beside it, the loop has soon had its share and waits, however short its slice. */
    errno = 0;
    if (nice(NICER) == -1 && errno != 0)
        return; /* it competes as an equal */
}
