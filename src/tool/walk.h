/* One walk through a tree for all tools that search: sorted by name, through descriptors, so that a
 * directory that is swapped for a link is not entered. Passes over .git, links, special files and,
 * unless asked not to, what ignore rules leave out. Bounded in depth and files. Runs on a pool
 * thread; looks at `cancelled` between files. */
#ifndef CADRE_TOOL_WALK_H
#define CADRE_TOOL_WALK_H

#include <sys/stat.h>

#include "base/err.h"
#include "port/tool.h"

#define WALK_DEPTH 64
#define WALK_FILES 200000

struct walk_file {
    struct str path;  /* from the scope's root */
    struct str below; /* from where the walk started; the file's name when it started at a file */
    const char *name;
    int directory; /* that holds it; -1 when the walk started at this file */
    int opened;    /* the file itself, in that case */
};

enum walk_step { WALK_ON, WALK_STOP };

struct walk {
    const struct tool_context *context;
    enum { WALK_HEEDS_RULES, WALK_TAKES_ALL } rules;
    enum walk_step (*file)(void *user, const struct walk_file *file);
    void *user;
    /* What happened: */
    size_t files;   /* that were met and not ignored */
    size_t ignored; /* files and directories */
    size_t unread;  /* directories, or parts of them, that could not be read */
    enum { WALK_COMPLETE, WALK_CUT } state;
    size_t start; /* bytes in front of `below` in a path */
};

/* Walks beneath path (normal form), or visits the one file that it names; links in it are followed.
 * -1 with the error in the result. */
NODISCARD int walk_run(struct walk *walk, struct str path, struct tool_result *result);
/* Opens a file that is being visited; -1 where that is not possible. The caller closes it. */
NODISCARD int walk_open(const struct walk *walk, const struct walk_file *file, struct stat *status);
/* Its status without opening it. */
NODISCARD int walk_status(const struct walk_file *file, struct stat *status);
/* Loads the text of a file that is being visited into content, which is cleared before; its maximum
 * must leave room above max. */
enum walk_refusal { WALK_FINE, WALK_BINARY, WALK_LARGE, WALK_UNREAD };
NODISCARD enum walk_refusal walk_load(const struct walk *walk, const struct walk_file *file,
                                      size_t max, struct buf *content);
/* Says what the walk could not see. */
void walk_notes(const struct walk *walk, struct tool_result *result);

#endif
