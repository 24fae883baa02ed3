/* The one way to run git. What a repository's config could name (hooks, filters, drivers, monitors, helpers) is never read: every call
 * names a common directory of our own (git/site.h) whose config holds data only. The environment is built from nothing, paths are
 * literal, no protocol is allowed, and every call has a deadline and a bound on its output.
 *
 * Blocking: for threads that may wait. A `struct git` does not change after git_open: any number of threads may share it. */
#ifndef CADRE_GIT_CALL_H
#define CADRE_GIT_CALL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define GIT_PATH_MAX 4096
#define GIT_OUTPUT_MAX (64u << 20) /* bytes of an answer that is parsed */
#define GIT_WALL_MS 120000
#define GIT_WALL_FILES_MS 600000 /* of a call that reads or writes all files of a checkout */
#define GIT_ID_MAX 64            /* hex digits of an object's name: SHA-256 */

struct git {
    char program[GIT_PATH_MAX];  /* absolute */
    char state[GIT_PATH_MAX];    /* absolute directory of our own; no child can reach it */
    char excludes[GIT_PATH_MAX]; /* the user's own ignore rules, or empty */
};

/* Where one checkout and its repository lie: our own record, never what a file in the checkout says. */
struct git_site {
    struct str git_dir;    /* HEAD and index */
    struct str common_dir; /* ours: a config of data only, links to the user's objects and refs */
    struct str work_tree;
    struct str
        prefix; /* of the workspace in the work tree, normal form; empty: they are the same */
    enum { GIT_SITE_USER, GIT_SITE_CHILD } owner; /* whose checkout it is */
    enum {
        GIT_KIND_REPOSITORY,
        GIT_KIND_SHADOW
    } kind; /* SHADOW: of a directory without git, all files of it */
    /* READ_ONLY: the user may not write to the repository; it can be asked, but has no trees. */
    enum { GIT_SITE_WRITABLE, GIT_SITE_READ_ONLY } access;
    /* Descriptor of the lock on it (git/tree.h), 0: none. Every git gets it too: one that outlives a killed cadre still holds the lock. */
    int lock;
};

struct git_signature {
    struct str name, email;
    int64_t when; /* seconds since 1970 */
};

struct git_call {
    const struct git_site *site;
    const char *const *words; /* ends with NULL; the subcommand first */
    enum { GIT_READS, GIT_WRITES } effect;
    enum {
        GIT_ZERO_ONLY,   /* another exit status is an error with git's own words */
        GIT_ZERO_OR_ONE, /* 1 says no */
        GIT_ANY_STATUS
    } expects;
    enum { GIT_WHOLE, GIT_MAY_BE_CUT } output; /* an answer that is parsed must be whole */
    const char *index_file;                    /* NULL: the site's own */
    const struct git_signature *author, *committer;
    struct str input;
    size_t output_max; /* 0: GIT_OUTPUT_MAX */
    int64_t wall_ms;   /* 0: GIT_WALL_MS */
    const atomic_bool *cancelled;
};

struct git_answer {
    struct buf output, errors; /* bytes; git_answer_release */
    int status;
};

#define GIT_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* state: made when it is needed, its parent must exist by then. excludes: may be empty. NOT_FOUND: there is no git on this machine. */
NODISCARD int git_open(struct git *git, struct str state, struct str excludes, struct err *err);
/* -1: nothing is to be released. RETRY: another git holds a lock. */
NODISCARD int git_call(const struct git *git, const struct git_call *call,
                       struct git_answer *answer, struct err *err);
void git_answer_release(struct git_answer *answer);
/* Keys and values of a config file, `key\nvalue\0` each; includes are not followed. */
NODISCARD int git_list_config(const struct git *git, const char *file, struct buf *output,
                              struct err *err);

#endif
