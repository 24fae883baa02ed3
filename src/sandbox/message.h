/* What cadre tells the launcher, and what the launcher answers. Both ends are of one build: the launcher is embedded in the program.
 *
 * A message is a head of numbers followed by one area of bytes. A list is `count` texts, each with its NUL, one after the other;
 * the filter is seccomp's own array. The launcher checks every number before it uses it (launcher_message.c).
 *
 * Answers are lines on the status pipe: "s" when a program that stays has been started; "x CODE" or "k SIGNAL" when the command has
 * ended; "m", "p", "d", "g" or "l" when it was killed for too much memory, too many processes, too much on the disk, repositories that it made again and again, or
 * because the lease of its run ended; or
 * "! WALL TEXT" when it was not run because a wall could not be built; the wall's name is that of its switch. For each system call that was
 * refused, "r NUMBER TIMES PROGRAM", at most LAUNCH_REFUSALS_MAX. The last is "a TEXT": what the command left was looked through, and
 * what was moved aside. */
#ifndef CADRE_SANDBOX_MESSAGE_H
#define CADRE_SANDBOX_MESSAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define LAUNCH_MAGIC 0x63647231u
#define LAUNCH_MESSAGE_MAX ((uint32_t)1 << 20)
#define LAUNCH_STATUS_MAX 1024
#define LAUNCH_TEXTS_MAX 4096 /* of one list */
#define LAUNCH_FILTER_MAX 4096
#define LAUNCH_REFUSALS_MAX 8 /* system calls */

/* The descriptors that the launcher starts with. */
enum launch_handle {
    LAUNCH_IMAGE = 3, /* the launcher itself: it is executed through /proc/self/fd/3 */
    LAUNCH_MESSAGE,
    LAUNCH_STATUS,
    LAUNCH_LIFELINE, /* at its end everything dies */
    LAUNCH_WORKSPACE,
    LAUNCH_DISK,  /* struct launch_disk_sum */
    LAUNCH_RELAY, /* O_PATH: the socket that a relay without a name leads to; else not there */
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
    LAUNCH_NAME_RELAY,     /* the socket's path, or "": LAUNCH_RELAY */
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
    uint64_t disk_bytes;  /* that commands of this run may write, in sum */
    uint32_t disk_system; /* of the workspace, in launch_disk_sum; LAUNCH_SYSTEMS_MAX: none */
    uint32_t unused;
    /* Milliseconds of CLOCK_BOOTTIME, when the command ends; 0: never. Later ones come over the lifeline, 8 bytes each. */
    int64_t lease_until;
    struct launch_part argv, environment;
    struct launch_part shown; /* further absolute paths, read-only */
    /* Of the workspace: a letter (below) and a path from its root, in the order of mounting. */
    struct launch_part views;
    struct launch_part hidden; /* absolute directories */
    /* Of the repository: a name in LAUNCH_RECORDS, then the absolute path of what is shown there, read-only. */
    struct launch_part records;
    struct launch_part names; /* by enum launch_name */
    /* count: struct sock_filter, 8 bytes each. Of the command; of the command where the launcher cannot be told of refusals, empty
     * where nothing is run then; and of the launcher's own processes. */
    struct launch_part filter, silent_filter, own_filter;
};

/* What commands of one run write to the disk: memory that cadre and all launchers of the run share. cadre adds places. A launcher that
 * has looked through all of them leaves what it found. */
#define LAUNCH_DISK_PLACES_MAX 512
#define LAUNCH_SYSTEMS_MAX 4
#define LAUNCH_DISK_PATH_MAX 4088

struct launch_disk_place {
    _Atomic int64_t since; /* in nanoseconds: files that were changed earlier do not count */
    char path[LAUNCH_DISK_PATH_MAX]; /* absolute, without links */
};

struct launch_disk_sum {
    _Atomic uint64_t written; /* bytes in all places, as of the last walk */
    _Atomic int64_t walk_at;  /* when to walk in any case; monotonic, in milliseconds */
    /* Of a file system: bytes in use that are not the commands'. */
    _Atomic uint64_t bases[LAUNCH_SYSTEMS_MAX];
    _Atomic uint32_t count; /* of places */
    struct launch_disk_place places[LAUNCH_DISK_PLACES_MAX];
};

#define LAUNCH_WALK_MS 10000 /* between walks where others free space, which hides growth */

#define LAUNCH_VIEW_READ 'r'
#define LAUNCH_VIEW_WRITE 'w'
/* The launcher's own: read-only within what is writable; it may be gone by now. */
#define LAUNCH_VIEW_FOUND 'f'

#define LAUNCH_RECORDS ".repository" /* in the root */
#define LAUNCH_TMP "/tmp"
#define LAUNCH_HOME LAUNCH_TMP "/home"

#endif
