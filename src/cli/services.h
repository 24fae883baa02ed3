/* What the tools of this process have to work with, from config and from what the machine can do. Made before an engine, released
 * after it. */
#ifndef CADRE_CLI_SERVICES_H
#define CADRE_CLI_SERVICES_H

#include "config/config.h"
#include "port/tool.h"
#include "port/vcs.h"

/* hidden: the directories that no process may see; they and the masker (may be NULL) must outlive the services. */
void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count, const struct masker *masker);
/* Notes in the settings which skills there are, for the root's contract and prompt. */
void services_skills(struct config *config, struct str workspace);
/* Only the part about the web, which needs nothing opened. */
void services_web(struct tool_services *services, const struct config *config);
void services_release(struct tool_services *services);
/* Version control alone, for a command. state: the store's directory. NOT_FOUND: there is no git on this machine. */
int services_vcs_open(struct str state, struct vcs_port **vcs, struct err *err) NODISCARD;
void services_vcs_close(struct vcs_port *vcs); /* NULL is fine */

/* One attack on a wall of confined commands, and how it went. */
struct services_wall {
    const char *wall, *attack;
    enum {
        WALL_HOLDS,
        WALL_BROKEN,
        WALL_OLD_KERNEL,
        WALL_OPEN,
        WALL_STOPS_ITS_TWIN,
        WALL_NOT_BUILT
    } state;
    const char *why; /* of the last two */
};
typedef void services_wall_fn(void *user, const struct services_wall *wall);
/* Appends "all", or the names of the walls that this config turns off. */
void services_walls_text(const struct config *config, struct buf *out);
enum services_walls { WALLS_ONE_EACH, WALLS_ALL };
/* Appends what to do where user namespaces cannot be made. */
void services_remedy(struct buf *out);
/* Tries the walls that this config asks for on this machine. Blocks for up to some seconds. */
int services_try_walls(const struct config *config, enum services_walls which,
                       services_wall_fn *tell, void *user, struct err *err) NODISCARD;

#endif
