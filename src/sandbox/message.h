/* What cadre tells the launcher, and what the launcher answers. Both ends are of one build: the launcher is embedded in the program.
 *
 * A message is a head of numbers followed by one area of bytes. A list is `count` texts, each with its NUL, one after the other;
 * the filter is seccomp's own array. The launcher checks every number before it uses it (launcher_message.c).
 *
 * Answers are lines on the status pipe: "s" when a program that stays has been started; "x CODE" or "k SIGNAL" when the command has ended, or "! WALL TEXT" when it was not run
 * because a wall could not be built; the wall's name is that of its switch. */
#ifndef CADRE_SANDBOX_MESSAGE_H
#define CADRE_SANDBOX_MESSAGE_H

#include <stdint.h>

#define LAUNCH_MAGIC 0x63647231u
#define LAUNCH_MESSAGE_MAX ((uint32_t)1 << 20)
#define LAUNCH_STATUS_MAX 1024
#define LAUNCH_TEXTS_MAX 4096 /* of one list */

/* The descriptors that the launcher starts with. */
enum launch_handle {
    LAUNCH_IMAGE = 3, /* the launcher itself: it is executed through /proc/self/fd/3 */
    LAUNCH_MESSAGE,
    LAUNCH_STATUS,
    LAUNCH_LIFELINE, /* at its end everything dies */
    LAUNCH_WORKSPACE,
    LAUNCH_HANDLES_END,
};

/* Walls that can be turned off by name, and how their switches are called. */
#define LAUNCH_WALLS(X)                                                                            \
    X(NAMESPACES, "namespaces") /* processes, files, network and host name of its own */           \
    X(LANDLOCK, "landlock")     /* the same files once more */                                     \
    X(SECCOMP, "seccomp")       /* system calls that no build or test needs */

enum launch_wall {
#define X(name, text) LAUNCH_WALL_##name,
    LAUNCH_WALLS(X)
#undef X
        LAUNCH_WALL_COUNT
};

/* A program that stays outlives the thread that started it, so it must not die with that; it is told when it runs. */
enum launch_life { LAUNCH_FOR_A_CALL, LAUNCH_UNTIL_STOPPED };

enum launch_network { LAUNCH_NET_NONE, LAUNCH_NET_RELAY, LAUNCH_NET_FULL };

enum launch_name {
    LAUNCH_NAME_WORKSPACE, /* its absolute path */
    LAUNCH_NAME_DIRECTORY, /* to start in; absolute */
    LAUNCH_NAME_RELAY,     /* the socket's path, or "" */
    LAUNCH_NAME_TMP,       /* the private /tmp: "/tmp" but without namespaces */
    LAUNCH_NAME_GIT_DIR,   /* in LAUNCH_RECORDS, or "": there are no records */
    LAUNCH_NAME_COUNT
};

struct launch_part {
    uint32_t at; /* from the start of the area */
    uint32_t count;
};

struct launch_head {
    uint32_t magic;
    uint32_t bytes; /* head and area */
    uint32_t walls; /* bit set: the wall stands */
    uint32_t network;
    uint32_t relay_port;
    uint32_t life; /* enum launch_life */
    uint64_t processes, memory_bytes, file_bytes, open_files;
    struct launch_part argv, environment;
    struct launch_part shown; /* further absolute paths, read-only */
    /* Of the workspace: a letter (below) and a path from its root, in the order of mounting. */
    struct launch_part views;
    struct launch_part hidden; /* absolute directories */
    /* Of the repository: a name in LAUNCH_RECORDS, then the absolute path of what is shown there, read-only. */
    struct launch_part records;
    struct launch_part names;  /* by enum launch_name */
    struct launch_part filter; /* count: struct sock_filter, 8 bytes each */
};

#define LAUNCH_VIEW_READ 'r'
#define LAUNCH_VIEW_WRITE 'w'
#define LAUNCH_VIEW_KEEP 'k'  /* read-only within what is writable; must exist */
#define LAUNCH_VIEW_FOUND 'f' /* the same of something deeper, which may be gone by now */

#define LAUNCH_RECORDS ".repository" /* in the root */
#define LAUNCH_TMP "/tmp"
#define LAUNCH_HOME LAUNCH_TMP "/home"

#endif
