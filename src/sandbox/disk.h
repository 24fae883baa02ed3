/* Which places commands of a run write to, for the sum that they may write. Internal to the sandbox: call.c joins a run for each command,
 * launchers look (launcher_disk.c). One lock, for any thread. */
#ifndef CADRE_SANDBOX_DISK_H
#define CADRE_SANDBOX_DISK_H

#include <pthread.h>

#include "base/arena.h"
#include "port/sandbox.h"
#include "sandbox/message.h"

#define DISK_RUNS_MAX                                                                              \
    32 /* the run that was quiet for longest makes room, and starts at zero if it comes again */

struct disks {
    pthread_mutex_t lock;
    struct disk_run *runs[DISK_RUNS_MAX];
    size_t count;
    uint64_t turn;
};

void disks_init(struct disks *disks);
void disks_release(struct disks *disks);

/* Before a command starts: its paths to write to are places of its run from now on. The caller closes the descriptor, which is the
 * launcher's LAUNCH_DISK; -1 with err. system: the head's disk_system. */
NODISCARD int disks_join(struct disks *disks, const struct sandbox_walls *walls, uint32_t *system,
                         struct err *err);

#endif
