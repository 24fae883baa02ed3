/* See sandbox_room.h. */
#include "unit/sandbox_room.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void sandbox_room_reopen(struct sandbox_room *room)
{
    sandbox_close(room->sandbox);
    room->sandbox = sandbox_open(&room->options);
}

int sandbox_room_setup(void **state)
{
    struct sandbox_room *room = calloc(1, sizeof *room);
    const char *base = getenv("TMPDIR");
    signal(SIGPIPE, SIG_IGN);
    snprintf(room->place, sizeof room->place, "%s/cadre-sandbox-XXXXXX",
             base != NULL ? base : "/tmp");
    if (room == NULL || mkdtemp(room->place) == NULL)
        return -1;
    snprintf(room->workspace, sizeof room->workspace, "%s/workspace", room->place);
    if (mkdir(room->workspace, 0755) != 0)
        return -1;
    room->err = ERR_INIT;
    sandbox_room_reopen(room);
    room->read_paths[0] = room->write_paths[0] = STR(".");
    room->walls = (struct sandbox_walls){
        .workspace = open(room->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC),
        .workspace_path = str_from(room->workspace),
        .read_paths = room->read_paths,
        .read_count = 1,
        .write_paths = room->write_paths,
        .write_count = 1,
        .hidden = room->hidden,
    };
    room->command =
        (struct sandbox_command){.directory = STR("."), .wall_ms = 60000, .output_max = 65536};
    *state = room;
    return 0;
}

static void release_outcome(struct sandbox_room *room)
{
    buf_release(&room->outcome.output);
    buf_release(&room->outcome.errors);
}

int sandbox_room_teardown(void **state)
{
    struct sandbox_room *room = *state;
    release_outcome(room);
    sandbox_close(room->sandbox);
    close(room->walls.workspace);
    sandbox_room_outside(room, "rm -rf '%s'", room->place);
    free(room);
    return 0;
}

int sandbox_room_try(struct sandbox_room *room, const char *script)
{
    const struct sandbox_port *port = sandbox_port(room->sandbox);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    release_outcome(room);
    room->err = ERR_INIT;
    room->command.argv = argv;
    int result = port->run(port->self, &room->walls, &room->command, &room->outcome, &room->err);
    room->command.argv = NULL;
    return result;
}

int sandbox_room_run(struct sandbox_room *room, const char *script)
{
    if (sandbox_room_try(room, script) != 0)
        fail_msg("%s", room->err.message);
    return room->outcome.end == SANDBOX_EXITED ? room->outcome.code : -1;
}

const char *sandbox_room_output(const struct sandbox_room *room)
{
    return room->outcome.output.n > 0 ? room->outcome.output.p : "";
}

bool sandbox_room_exists(const struct sandbox_room *room, const char *name)
{
    char path[400];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", room->workspace, name);
    return lstat(path, &status) == 0;
}

bool sandbox_room_anybody_alive(const struct sandbox_room *room)
{
    char path[400];
    snprintf(path, sizeof path, "%s/alive", room->workspace);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return !free;
}

void sandbox_room_outside(const struct sandbox_room *room, const char *format, ...)
{
    char script[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(script, sizeof script, format, args);
    va_end(args);
    int status = system(script);
    if (status != 0)
        fail_msg("outside: status %d of %s", status, script);
}
