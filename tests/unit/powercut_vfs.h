/* A machine whose power can be cut: a SQLite VFS over the default one. Writes pass through to the real files at
 * once, and the machine remembers beside each file what a disk would hold for certain (everything up to the last
 * xSync) and what it may or may not have written since. After the cut every call fails; powercut_restore then
 * rewrites the real files with a random part of the unsynced writes: whole, lost, or torn at and inside
 * sectors of 512 bytes. Files whose creation or removal was not synced may be there or not. A file's index
 * for shared memory (-shm) is lost.
 *
 * One thread, one process. Not for measuring: nothing is really synced. */
#ifndef CADRE_TESTS_UNIT_POWERCUT_VFS_H
#define CADRE_TESTS_UNIT_POWERCUT_VFS_H

#include <stdbool.h>
#include <stdint.h>

struct powercut;

enum powercut_fault {
    POWERCUT_HEALTHY,
    POWERCUT_DISK_FULL,   /* writes answer SQLITE_FULL */
    POWERCUT_SYNC_FAILED, /* syncs answer SQLITE_IOERR_FSYNC */
};

/* Registers the VFS under this name, which must live as long as the machine. Aborts without memory. */
struct powercut *powercut_new(const char *name, uint64_t seed);
void powercut_free(struct powercut *machine);
/* The power goes off during the count-th write, truncation or sync from now; 0: never. */
void powercut_arm(struct powercut *machine, unsigned count);
bool powercut_is_off(const struct powercut *machine);
/* When all handles are closed: puts on the real files what survived the cut, forgets everything and
 * switches the power on again. Without a cut it only forgets. Returns how many unsynced writes were at stake. */
unsigned powercut_restore(struct powercut *machine);
void powercut_break(struct powercut *machine, enum powercut_fault fault);
/* The machine's own random numbers, for the test's choices too: one seed, one story. */
uint64_t powercut_random(struct powercut *machine, uint64_t below);

#endif
