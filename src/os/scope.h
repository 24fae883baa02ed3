/* A scope is an opened directory that file tools resolve paths beneath: a workspace's wall.
 *
 * The wall is the kernel's: every open is one openat2 with RESOLVE_BENEATH, NO_MAGICLINKS and
 * NO_SYMLINKS, so nobody who relinks directories at the same moment can lead it outside. Links are
 * followed for reading only, one at a time and by text: each path that results is checked and
 * opened as if it had been asked for. A path that opened therefore is the file's true place, and
 * rules about places (`.git`, allowed paths) hold for it.
 *
 * Refused always: `.git` as any component (in any case), what lies outside, everything that is
 * not a regular file or a directory, and denied directories (a store that lies in the workspace).
 *
 * Error classes: NOT_FOUND, DENIED (a wall), USAGE (a directory where a file is needed or the other
 * way round, a path that makes no sense), IO (permission, disk), CONFIG (no openat2). */
#ifndef CADRE_OS_SCOPE_H
#define CADRE_OS_SCOPE_H

#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define SCOPE_PATH_MAX 4096 /* bytes with the NUL */
#define SCOPE_NAME_MAX 256  /* bytes of one component with the NUL */
#define SCOPE_DENIED_MAX 8

struct scope_identity {
    dev_t device;
    ino_t inode;
};

/* The caller owns the memory. Shared between threads once set up: only scope_open, scope_deny
 * and scope_close write. */
struct scope {
    int fd; /* O_PATH */
    struct scope_identity root;
    char given[SCOPE_PATH_MAX]; /* absolute path as it was given, and as it really is; text for */
    char real[SCOPE_PATH_MAX];  /* making absolute arguments relative, never for opening */
    enum { SCOPE_AS_ITSELF, SCOPE_AS_GIVEN } shown; /* the path that agents see: real, or given */
    struct scope_identity denied[SCOPE_DENIED_MAX];
    size_t denied_count;
};

/* The places that an open may end at: rules (base/pathrule.h), one of which must hold a place. */
struct scope_allow {
    const struct str *paths;
    size_t count;
};

enum scope_links { SCOPE_FOLLOW_LINKS, SCOPE_REFUSE_LINKS };

/* Something opened for reading. */
struct scope_file {
    int fd;
    struct stat status;
    char path[SCOPE_PATH_MAX]; /* where it really lies, from the scope's root */
};

NODISCARD int scope_open(struct scope *scope, const char *path, struct err *err);
void scope_close(struct scope *scope);
/* Closes the descriptor and remembers the directory: scope_open_again opens the same one, under its real path. Where that leads to
 * another directory by now it is DENIED: whoever swaps a path gains nothing. */
void scope_rest(struct scope *scope);
NODISCARD int scope_open_again(struct scope *scope, const struct scope *resting, struct err *err);
/* Agents see the directory at another absolute path: a tree stands in for the workspace that it was made from. */
NODISCARD int scope_show_as(struct scope *scope, const char *path, struct err *err);
const char *scope_shown(const struct scope *scope);
/* Nothing in this directory or beneath it can be opened, by whatever name it is reached. A
 * directory above the scope denies nothing (a worktree may lie in the store's directory). */
NODISCARD int scope_deny(struct scope *scope, const char *directory, struct err *err);

/* Text: the normal form of what a model asked for, relative to `base` (normal form). An absolute
 * path inside the workspace is made relative. A path may be given as it is shown, in quotes and with escapes (base/filename.h).
 * Opens nothing. The result lives in the arena. */
NODISCARD int scope_path(const struct scope *scope, struct arena *arena, struct str base,
                         struct str path, struct str *normal, struct err *err);
/* Is this place allowed? DENIED otherwise, naming what is allowed. Opens nothing. */
NODISCARD int scope_check(struct str path, struct scope_allow allow, struct err *err);
/* ".cadre" or "cadre.yaml", as any file system may spell them. */
bool scope_is_config(struct str name);
/* Whether a part of the path is one: what lies there belongs to cadre's user, and no tool changes it. */
bool scope_holds_config(struct str path);

/* A regular file; never waits for a FIFO. USAGE exactly when it is a directory. The caller
 * closes file->fd. */
NODISCARD int scope_open_read(const struct scope *scope, struct str path, struct scope_allow allow,
                              enum scope_links links, struct scope_file *file, struct err *err);
/* A directory, readable with getdents. USAGE when it is something else. */
NODISCARD int scope_open_dir(const struct scope *scope, struct str path, struct scope_allow allow,
                             enum scope_links links, struct scope_file *file, struct err *err);
/* An entry of a directory that was opened in this scope; no links are followed. flags:
 * O_DIRECTORY or 0. Returns the descriptor and fills status, or -1 with errno (EACCES where the
 * scope denies it, EINVAL when it is not a regular file and O_DIRECTORY was not asked for). For
 * walks, which skip what they cannot open. */
NODISCARD int scope_open_entry(const struct scope *scope, int directory, const char *name,
                               int flags, struct stat *status);

/* For os/place.c: one openat2 beneath a directory without following links; -1 with errno. */
NODISCARD int scope_open_beneath(int directory, const char *path, int flags);
/* 0 when an opened directory lies in the scope and beneath nothing denied. */
NODISCARD int scope_check_directory(const struct scope *scope, int directory, struct err *err);
/* Puts errno in words about a path, with its class. Returns -1. */
int scope_explain(struct err *err, int number, const char *path);

#endif
