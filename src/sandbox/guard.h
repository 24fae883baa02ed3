/* Names that a command must not make, where they do not exist yet: `.git`, `.cadre`, `cadre.yaml`; and paths that it may make.
 *
 * A mount needs something to be mounted on, so a missing name gets a placeholder: an empty directory with the sticky bit as a mark. It is
 * of no interest to git, which neither tracks empty directories nor takes one for a repository, and whoever works outside can
 * make a real one of it. Removing a directory detaches what is mounted on it in every other namespace, so a placeholder that
 * is still a wall of another command must stay: each command holds a shared lock (flock) on the directory that the placeholders
 * are in, whatever process it runs in, and only who gets the lock alone may remove them. The last one out cleans up; after a
 * crash, the next one. rmdir takes nothing but an empty directory, so there is nothing to lose.
 *
 * A path to write to that is missing is made in the same way, since only what exists can be mounted. Untouched, it goes again. */
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
    const char *names[3]; /* of placeholders in it */
    size_t name_count;
    enum { GUARD_KEEPS, GUARD_MAKES } purpose; /* names that must not be made; one that may be */
};

struct guards {
    struct guard items[GUARDS_MAX];
    size_t count;
};

/* The root of a workspace has more names of its own than other directories that may be written. */
enum guard_kind { GUARD_DIRECTORY, GUARD_ROOT };

/* The names that are kept in such a directory; NULL at the end. */
const char *const *guard_names(enum guard_kind kind);
/* Makes what is missing in the directory (normal form, beneath the workspace). Nothing is made where it is no directory. */
NODISCARD int guards_add(struct guards *guards, int workspace, const char *path,
                         enum guard_kind kind, struct err *err);
/* Makes what is missing of a path to write to (normal form): its last name is a file where it has an extension, else a directory.
 * Nothing is made where that is not possible. The arena outlives the guards. */
NODISCARD int guards_make(struct guards *guards, int workspace, struct str path,
                          struct arena *arena, struct err *err);
/* An empty placeholder of ours, or of another command. */
bool guard_is_empty_placeholder(int directory, const char *name);
void guards_release(struct guards *guards);

#endif
