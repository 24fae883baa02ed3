/* Repositories below the paths that a command may write to, at any depth: git obeys the config and the hooks of whichever it is
 * run in, so a command must not make one for the user to run into.
 *
 * Those that are there when it starts are found by a walk, and mounted read-only, and so are cadre's own files. One that it makes
 * itself nothing in the kernel can refuse by its name, so a second walk finds it when the command is dead and moves it
 * aside, to a name that means nothing to git; nothing is lost, and the outcome tells. What counts is the file, not its path: who moves a
 * directory away and makes another in its place has made a new one. Any thread. */
#ifndef CADRE_SANDBOX_NESTED_H
#define CADRE_SANDBOX_NESTED_H

#include "base/arena.h"
#include "base/err.h"
#include "os/scope.h"

#define NESTED_MAX 1024            /* found in all */
#define NESTED_ENTRIES_MAX 2000000 /* looked at in one walk */
#define NESTED_ASIDE ".git-from-a-command"

struct nested {
    int workspace;                /* a duplicate, -1: nothing was looked for */
    struct scope_identity *known; /* repositories that were there; in the arena */
    size_t known_count;
    struct scope_identity hidden[SCOPE_DENIED_MAX]; /* directories that are not entered */
    size_t hidden_count;
    const char **tops; /* the paths that were walked */
    size_t top_count, top_max;
    size_t entries;
};

enum nested_depth { NESTED_AT_THE_TOP, NESTED_BELOW };

/* Told of each: its path from the workspace's root. */
typedef void nested_fn(void *user, enum nested_depth depth, struct str path);

/* hidden: absolute directories that are not entered. Nothing is opened before the first nested_find. */
void nested_init(struct nested *nested, int workspace, const struct str *hidden,
                 size_t hidden_count, size_t paths, struct arena *arena);
/* Finds what lies beneath a path to write to (normal form); call it once for each. DENIED where there is too much to look at. */
NODISCARD int nested_find(struct nested *nested, const char *path, struct arena *arena,
                          nested_fn *tell, void *user, struct err *err);
/* Moves aside what was made since; says so in `text`, or leaves it empty. */
void nested_sweep(struct nested *nested, char *text, size_t max);
void nested_release(struct nested *nested);

#endif
