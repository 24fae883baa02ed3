/* The launcher's own header: its parts and the one way in which it fails. The launcher is a program of its own, static and small;
 * it knows nothing of cadre but message.h. One thread. */
#ifndef CADRE_SANDBOX_LAUNCHER_H
#define CADRE_SANDBOX_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "sandbox/message.h"

/* What is set aside gets this behind its name, and a number where that is taken. */
#define LAUNCH_ASIDE "-from-a-command"
#define LAUNCH_ASIDE_MAX 64
#define LAUNCH_KEPT_MAX 1024
#define LAUNCH_HIDDEN_MAX 32

struct launch_identity {
    dev_t device;
    ino_t inode;
};

/* Texts, each with its NUL, one after the other. */
struct launch_texts {
    char *p;
    size_t used, room;
};

/* Repositories and cadre's own files below the paths to write to. */
struct launch_kept {
    struct launch_identity known[LAUNCH_KEPT_MAX]; /* that were there when the command started */
    size_t known_count;
    struct launch_texts found;                        /* their paths from the workspace's root */
    struct launch_identity hidden[LAUNCH_HIDDEN_MAX]; /* directories that are not entered */
    size_t hidden_count;
    struct launch_texts sockets; /* of servers outside, in what is shown */
    struct launch_texts mounts;  /* of other file systems */
    size_t socket_count, mount_count;
    size_t moved;   /* aside, of what the command made */
    char told[256]; /* of the first, in words; or empty */
};

struct seccomp_notif;

/* Where commands may change metadata. */
struct launch_place {
    int fd;
    char path[4096];
};

#define LAUNCH_PLACES_MAX 64

/* System calls that were refused. */
struct refusals {
    struct refusal {
        int call;
        unsigned long long times;
        char program[16]; /* that made it first */
    } items[LAUNCH_REFUSALS_MAX];
    size_t count;
};

struct launch {
    const struct launch_head *head;
    const char *area;
    size_t area_bytes;
    char **argv, **environment;
    const char *workspace_path, *directory, *relay, *tmp, *git_dir;
    char workspace_now[4096];      /* where the workspace's descriptor leads to by now */
    int relay_socket;              /* O_PATH, or -1 */
    int socket_count, socket_list; /* launcher_sockets.c; -1: sockets are not looked at */
    long long lease_until; /* as the head says, or the last one that came over the lifeline */
    struct launch_kept kept;
    struct refusals *refusals; /* shared: the first process records, the outer one tells */
    struct launch_place places[LAUNCH_PLACES_MAX];
    size_t place_count;
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
/* Finds what is kept (launcher_nested.c). Ends this process where there is too much to look at. */
void launch_find_kept(struct launch *launch);
bool launch_texts_add(struct launch_texts *texts, const char *text);
/* Keeps its path if a server owns it (launcher_cover.c). */
void launch_meet_socket(struct launch_kept *kept, int directory, const char *name,
                        const char *place);
void launch_find_mounts(struct launch *launch);
bool launch_shows_the_kernel(int fd);
/* In the new root: covers what lies in the workspace and is not the workspace's. */
void launch_cover(const struct launch *launch, int root);
/* A copy of a tree of mounts, not yet in any place. `path` may be "" for the opened thing itself. */
int launch_copy_tree(int directory, const char *path, uint64_t attributes);
/* Takes both descriptors. */
int launch_attach(int tree, int where);
bool launch_is_known(const struct launch_kept *kept, const struct stat *status);
/* A directory of the workspace for reading, or -1. */
int launch_open_directory(const char *path);
/* Gives an entry of the directory `path` another name, "" where that fails. */
void launch_move_aside(struct launch_kept *kept, int directory, const char *path, const char *name,
                       char aside[LAUNCH_ASIDE_MAX]);
/* When the command is dead: moves aside what it made of such things, and tells over the status pipe. */
void launch_sweep(struct launch *launch);
/* The outer process's view of the disk (launcher_disk.c). */
struct launch_disk {
    struct launch_disk_sum *sum; /* NULL: nothing is looked at */
    int ended;            /* readable when the command is dead: no walk goes on then; or -1 */
    long long rest_until; /* no walk before */
};
void launch_open_disk(const struct launch *launch, struct launch_disk *disk);
/* Have commands of this run written more than they may? */
bool launch_has_filled_the_disk(const struct launch *launch, struct launch_disk *disk);
/* The outer process while the first one lives (launcher_keeper.c): until it has ended, or the lifeline. */
void launch_keep_watch(struct launch *launch, struct launch_disk *disk, pid_t first);
/* Monotonic. */
long long launch_now_ms(void);
/* launcher_lease.c: until when the command may run */
void launch_lease_begin(struct launch *launch);   /* ends this process where that is over */
bool launch_hear_lifeline(struct launch *launch); /* false: it was cut */
bool launch_is_cut(void);
/* Milliseconds until the lease ends, at most `most`; 0: it has. */
int launch_lease_left(const struct launch *launch, int most);
void launch_raise_loopback(void);
/* In a network namespace of its own: what is needed to look at its sockets later. */
void launch_open_sockets(struct launch *launch);
/* Bytes in their buffers. May be 0 where they cannot be more than `left`. */
uint64_t launch_held_by_sockets(const struct launch *launch, uint64_t left);
/* What the kernel must refuse from now on, to this process and all that follow. */
void launch_drop_privileges(void);
void launch_set_limits(const struct launch *launch);
void launch_restrict_files(const struct launch *launch);
/* For processes of the launcher, once no command is made from them any more. */
void launch_restrict_own_calls(const struct launch *launch);
/* In the command's process, before it is executed. Whoever answers gets the listener through the channel. */
void launch_restrict_command_calls(const struct launch *launch, int channel);
/* -1 where there is none. */
int launch_receive_listener(int channel);
/* Answers one call that the listener tells of. */
void launch_answer(const struct launch *launch, int listener);
/* In the outer process: before the first is made, and when it is dead. */
void launch_share_refusals(struct launch *launch);
void launch_say_refusals(const struct launch *launch);
void launch_open_places(struct launch *launch);
/* Makes the change that is asked for: 0, an errno, or METADATA_REFUSED where it is not one that may be made. */
#define METADATA_REFUSED (-1)
int launch_change_metadata(const struct launch *launch, int listener,
                           const struct seccomp_notif *notice);
/* Forks the forwarder between the loopback port and the relay's socket. */
void launch_start_relay(const struct launch *launch);
/* Runs the command, reaps, watches; ends this process and with it everything in its namespace. */
void launch_command(const struct launch *launch) __attribute__((noreturn));

#endif
