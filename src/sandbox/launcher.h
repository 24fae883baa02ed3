/* The launcher's own header: its parts and the one way in which it fails. The launcher is a program of its own, static and small;
 * it knows nothing of cadre but message.h. One thread. */
#ifndef CADRE_SANDBOX_LAUNCHER_H
#define CADRE_SANDBOX_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/message.h"

struct launch {
    const struct launch_head *head;
    const char *area;
    size_t area_bytes;
    char **argv, **environment;
    const char *workspace_path, *directory, *relay, *tmp, *git_dir;
    char workspace_now[4096]; /* where the workspace's descriptor leads to by now */
    int relay_socket;         /* O_PATH, or -1 */
};

bool launch_has(const struct launch *launch, enum launch_wall wall);
/* The texts of a list, one by one: NULL to begin with. */
const char *launch_next(const struct launch *launch, struct launch_part part, const char *last);

/* Says over the status pipe why nothing is run, with errno in words, and ends this process. */
void launch_fail(const char *wall, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
/* As above, without errno. */
void launch_refuse(const char *wall, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void launch_say(const char *line);

void launch_read_message(struct launch *launch);
/* In new namespaces: the command's file system, from nothing. Ends in it, old root gone. */
void launch_make_root(struct launch *launch);
/* What every command may read, NULL at the end; and what only those with the machine's network may. */
extern const char *const launch_system_paths[];
extern const char *const launch_network_paths[];
/* An entry of the workspace, or beneath: no links, nothing above. -1 with errno. */
int launch_open_beneath(int directory, const char *path);
void launch_raise_loopback(void);
/* What the kernel must refuse from now on, to this process and all that follow. */
void launch_drop_privileges(void);
void launch_set_limits(const struct launch *launch);
void launch_restrict_files(const struct launch *launch);
void launch_restrict_calls(const struct launch *launch);
/* Forks the forwarder between the loopback port and the relay's socket. */
void launch_start_relay(const struct launch *launch);
/* Runs the command, reaps, watches; ends this process and with it everything in its namespace. */
void launch_command(const struct launch *launch) __attribute__((noreturn));

#endif
