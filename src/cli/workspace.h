/* Who and where: the workspace, its instruction files, and the identities that a run is filed
 * under. Blocking file reads, before the loop runs. */
#ifndef CADRE_CLI_WORKSPACE_H
#define CADRE_CLI_WORKSPACE_H

#include "base/arena.h"
#include "base/err.h"
#include "config/upward.h"

#define INSTRUCTIONS_MAX ((size_t)256 << 10) /* of all instruction files together */

struct workspace {
    struct arena arena;
    struct str path;         /* absolute, links resolved */
    struct str workspace_id; /* 16 hex digits of the path's hash */
    struct str session_id;   /* CADRE_SESSION, or new for this process */
    struct str user_id;      /* login name, or "uid-N" */
};

/* directory: STR_NONE for the current one. Class USAGE when there is no such directory. */
int workspace_open(struct workspace *workspace, struct str directory, struct err *err) NODISCARD;
void workspace_release(struct workspace *workspace);
/* Text of AGENTS.md (where there is none, CLAUDE.md) and ENVIRONMENT.md, of the directories above in their order and of the
 * workspace, each under a heading; STR_NONE where there are none. A file that is there and cannot be read inside its directory (a link
 * that leads out, a device), is binary, too long or belongs to somebody else, is a warning: children do without it, too. */
struct workspace_warning {
    void (*say)(void *user, struct str text);
    void *user;
};
struct str workspace_instructions(struct workspace *workspace, const struct upward *above,
                                  const struct workspace_warning *warning);

#endif
