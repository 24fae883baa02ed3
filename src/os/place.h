/* A place is where one file is or will be: an opened parent directory in a scope, and a name in
 * it. Looking, writing and deleting through the same place touch the same directory, whatever
 * happens to its path meanwhile.
 *
 * Writing never shows a half-written file: a temporary file in the same directory, fsync,
 * rename, fsync of the directory. No symbolic link is followed, nor replaced. Nothing is written
 * that git would take for a repository: names that stand for `.git`, and directories with the layout
 * of one (base/gitname.h). Error classes as in scope.h. */
#ifndef CADRE_OS_PLACE_H
#define CADRE_OS_PLACE_H

#include "os/scope.h"

struct place {
    int directory;
    char name[SCOPE_NAME_MAX];
    char path[SCOPE_PATH_MAX]; /* from the scope's root, for messages */
};

enum place_parents {
    PLACE_NEEDS_PARENTS, /* NOT_FOUND when a directory is missing */
    PLACE_MAKES_PARENTS, /* missing directories are created */
};

/* What stands there as the caller last saw it. */
enum place_expects {
    PLACE_EXPECTS_NOTHING, /* DENIED when something appeared there */
    PLACE_EXPECTS_FILE,    /* its permissions and, if possible, its owner are kept */
};

NODISCARD int place_open(struct place *place, const struct scope *scope, struct str path,
                         struct scope_allow allow, enum place_parents parents, struct err *err);
void place_close(struct place *place);

/* Opens what stands there for reading: a regular file. NOT_FOUND when there is nothing. */
NODISCARD int place_read(const struct place *place, struct scope_file *file, struct err *err);
/* `call` names the write: the temporary file is named after it, so that the same write after a crash replaces what it
 * had left behind. */
NODISCARD int place_write(const struct place *place, struct str content, enum place_expects expects,
                          struct str call, struct err *err);
/* Writes a file where there is none. It is there whole or not at all, and nothing else is in its directory meanwhile: for a file that
 * tells others what to make of the directory. On a file system without unnamed files, as place_write. */
NODISCARD int place_create(const struct place *place, struct str content, struct str call,
                           struct err *err);
/* Removes what a write of that name left behind, if anything. */
void place_sweep(const struct place *place, struct str call);
/* Removes a regular file. */
NODISCARD int place_delete(const struct place *place, struct err *err);

#endif
