/* Paths that a command may write to and that do not exist yet.
 *
 * A mount needs something to be mounted on, so a missing path is made: an empty file or directory with the sticky bit as a mark.
 * Untouched, it goes again. Removing a directory detaches what is mounted on it in every other namespace, so one that another command
 * still uses must stay: each command holds a shared lock (flock) on the directory that it is in, whatever process it runs in, and only
 * who gets the lock alone may remove it. The last one out cleans up; after a crash, the next one.
 *
 * Names that a command must not make have nothing here: launcher_nested.c. */
#ifndef CADRE_SANDBOX_GUARD_H
#define CADRE_SANDBOX_GUARD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "os/scope.h"

#define GUARDS_MAX 64

struct guard {
    int directory; /* that holds the lock */
    struct scope_identity identity;
    const char *name; /* of what was made in it */
};

struct guards {
    struct guard items[GUARDS_MAX];
    size_t count;
};

/* Makes what is missing of a path to write to (normal form): its last name is a file where it has an extension, else a directory.
 * Nothing is made where that is not possible. The arena outlives the guards. */
NODISCARD int guards_make(struct guards *guards, int workspace, struct str path,
                          struct arena *arena, struct err *err);
void guards_release(struct guards *guards);

#endif
