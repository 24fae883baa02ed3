/* A workspace in a temporary directory and a sandbox, for tests of walls. */
#ifndef CADRE_TESTS_UNIT_SANDBOX_ROOM_H
#define CADRE_TESTS_UNIT_SANDBOX_ROOM_H

#include "sandbox/sandbox.h"
#include "unit/check.h"

struct sandbox_room {
    char place[256];     /* holds everything */
    char workspace[280]; /* place/workspace */
    struct sandbox_options options;
    struct sandbox *sandbox;
    struct str read_paths[4], write_paths[4], hidden[2];
    struct sandbox_walls walls; /* all of the workspace may be read and written */
    struct sandbox_command command;
    struct sandbox_outcome outcome;
    struct err err;
};

int sandbox_room_setup(void **state);
int sandbox_room_teardown(void **state);
/* Opens the sandbox anew, after a change of options. */
void sandbox_room_reopen(struct sandbox_room *room);
/* Runs it by /bin/sh -c. 0, or -1 with room->err; the outcome of the call before is released. */
int sandbox_room_try(struct sandbox_room *room, const char *script);
/* As above, and it must have been run. Returns the exit status, or -1 when it was killed. */
int sandbox_room_run(struct sandbox_room *room, const char *script);
const char *sandbox_room_output(const struct sandbox_room *room);
/* Whether the workspace has this name. */
bool sandbox_room_exists(const struct sandbox_room *room, const char *name);
/* Whoever runs this holds a lock on the file `alive` for as long as it lives; it makes `ready` when it has it. */
#define SANDBOX_ROOM_HOLD "flock -x alive sh -c 'echo > ready; sleep 600'"
bool sandbox_room_anybody_alive(const struct sandbox_room *room);
/* Runs a command of the test itself, outside; it must succeed. */
__attribute__((format(printf, 2, 3))) void sandbox_room_outside(const struct sandbox_room *room,
                                                                const char *format, ...);

#endif
