/* Confined processes: shell commands, tests, checks, servers of tools. What a process may see, change, reach and use up is its
 * walls, built from a contract; everything that it started is dead when its call ends, and when this program ends.
 *
 * A machine that cannot build a wall refuses, with DENIED, the reason and the name of the switch that turns the wall off: nothing
 * is run with fewer walls than were asked for. Calls block; any thread may make them. */
#ifndef CADRE_PORT_SANDBOX_H
#define CADRE_PORT_SANDBOX_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum sandbox_network {
    SANDBOX_NET_NONE,
    SANDBOX_NET_RELAY, /* one unix socket of the operator's, reached through a port of the loopback */
    SANDBOX_NET_NAMES, /* hosts by name, through a proxy of the sandbox's own */
    SANDBOX_NET_FULL,
};

/* 0 where the built-in value holds. */
struct sandbox_limits {
    int64_t processes, memory_bytes, file_bytes, open_files;
    int64_t disk_bytes; /* that commands of one run write, in sum, as long as this program runs */
};

/* What git reads of a repository that lies outside the workspace: a child's checkout has no more than a file .git. Behind the walls the
 * records are in one place, read-only, and that file leads there. */
struct sandbox_records {
    const struct sandbox_record {
        struct str name;   /* in that place, normal form */
        struct str source; /* absolute */
    } * items;
    size_t count;
    struct str git_dir; /* the name of one of them; empty: there are none */
};

/* Views live until the call returns. Paths are in normal form from the workspace's root. */
struct sandbox_walls {
    int workspace; /* O_PATH: what is shown is this directory, whatever its path leads to by now */
    struct str workspace_path; /* absolute; it appears inside under the same name */
    const struct str *read_paths;
    size_t read_count;
    const struct str *write_paths;
    size_t write_count;
    const struct str *hidden; /* absolute directories that must not be seen, wherever they lie */
    size_t hidden_count;
    struct sandbox_records records; /* not shown where the wall "namespaces" is off */
    enum sandbox_network network;
    struct str hosts; /* of NAMES: a contract's text (core/contract/network.h) */
    struct sandbox_limits limits;
    struct str run; /* commands with the same text here share the limit on the disk */
};

struct sandbox_command {
    const char *const *argv;      /* argv[0]: absolute, or a name that is looked up inside */
    struct str directory;         /* where it starts */
    const char *const *variables; /* "NAME=value" besides the built environment; NULL: none */
    struct str input;             /* for its standard input; empty: /dev/null */
    enum { SANDBOX_JOINED, SANDBOX_APART } streams; /* as in os/process.h */
    int64_t wall_ms;                                /* > 0 */
    size_t output_max;
    const atomic_bool *cancelled;
    /* Milliseconds of CLOCK_BOOTTIME when the command ends by itself; it may move while the command runs. It holds although
     * this process is stopped meanwhile. NULL: none. Not for programs that stay. */
    const atomic_int_least64_t *owned_until;
    void (*heard)(void *user,
                  struct str bytes); /* output as it comes, on the calling thread; may be NULL */
    void *user;
};

/* A system call that was refused to programs of a command. */
struct sandbox_refusal {
    char call[32];    /* "mount" */
    char program[16]; /* the first that made it, as the kernel calls it; printable */
    int64_t times;
};

#define SANDBOX_REFUSED_MAX 8 /* of different calls; more are refused and not told */

/* What a command with NET_NAMES reached, and what it was refused. The same again is counted. */
enum { SANDBOX_CONTACTS_MAX = 24 };
struct sandbox_contact {
    char host[256]; /* as it was asked for, readable; empty: it could not be read */
    unsigned port;
    enum { CONTACT_REACHED, CONTACT_REFUSED, CONTACT_FAILED } verdict;
    char why[160];                  /* not REACHED: in words */
    uint64_t count, sent, received; /* connections, and bytes of all of them */
};
struct sandbox_contacts {
    struct sandbox_contact items[SANDBOX_CONTACTS_MAX];
    size_t count;
    uint64_t more; /* connections that found no room above */
};

struct sandbox_outcome {
    enum { SANDBOX_EXITED, SANDBOX_KILLED, SANDBOX_TIMEOUT, SANDBOX_CANCELLED } end;
    int code;        /* exit status, or the signal */
    char note[128];  /* why it was killed, where it was for using too much; or empty */
    char aside[256]; /* what it made and does not keep, in words; or empty */
    struct sandbox_refusal refused[SANDBOX_REFUSED_MAX];
    size_t refused_count;
    struct str missing; /* walls that did not stand, as the port's own `missing`; a view into it */
    struct sandbox_contacts contacts;
    struct buf output, errors;
    uint64_t output_bytes, errors_bytes;
    int64_t wall_ms;
};

/* A program that stays: a server of tools. The descriptors do not block; whoever holds it reads output and errors, or the program
 * will wait for that. Only the input may be closed by the caller, who then sets it to -1. */
struct sandbox_program {
    int input, output, errors; /* errors: -1 where the streams are joined */
    int ended; /* readable when it is dead, and with it all that it started: then stop it */
    struct str missing; /* as in the outcome */
};

struct sandbox_port {
    /* -1: it was not run. The caller releases the outcome's buffers after 0. */
    int (*run)(void *self, const struct sandbox_walls *walls, const struct sandbox_command *command,
               struct sandbox_outcome *outcome, struct err *err);
    /* Starts a program that lives until it is stopped or this process ends; also when the calling thread ends. Of the command, input,
     * wall_ms, output_max, cancelled and heard do not count. Returns when it runs. -1: it does not. */
    int (*start)(void *self, const struct sandbox_walls *walls,
                 const struct sandbox_command *command, struct sandbox_program **program,
                 struct err *err);
    /* Ends it with all that it started, waits until that is dead, and frees it. The outcome is CANCELLED, or how it had ended by itself;
     * it has no output. Blocks for seconds at worst. */
    void (*stop)(void *self, struct sandbox_program *program, struct sandbox_outcome *outcome);
    struct str
        missing; /* walls that the operator turned off, "namespaces, seccomp": results say so; or empty */
    void *self;
};

#endif
