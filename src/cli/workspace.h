/* Who and where: the workspace, its instruction files, and the identities that a run is filed
 * under. Blocking file reads, before the loop runs. */
#ifndef CADRE_CLI_WORKSPACE_H
#define CADRE_CLI_WORKSPACE_H

#include "base/arena.h"
#include "base/err.h"

#define INSTRUCTIONS_FILE_MAX ((size_t)32 << 10)

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
/* Text of AGENTS.md and ENVIRONMENT.md, each under a heading, mended and cut at
 * INSTRUCTIONS_FILE_MAX; STR_NONE where there are none. A file that is there and cannot be read
 * inside the workspace (a link that leads out, a device) is an error. */
int workspace_instructions(struct workspace *workspace, struct str *text,
                           struct err *err) NODISCARD;

#endif
