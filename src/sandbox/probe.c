/* The room that probes run in, and running them: see probe.h. Doctor's thread, or a test's. */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROBE_MS 30000
#define OUTPUT_MAX 4096
#define VARIABLES 7

struct probe_room {
    char place[64]; /* holds everything */
    char workspace[96], store[128];
    char variables[VARIABLES][192];
    int workspace_fd, tcp, unix_path, unix_abstract;
    int unix_written, unix_read; /* in the workspace */
    int stray;                   /* a descriptor that lacks close-on-exec: no command may have it */
};

/* --- laying out ------------------------------------------------------------------------------------------------------------------- */

/* Ending in "/": a directory. Otherwise a file with a line in it. */
static const char *const layout[] = {
    "other/",
    "other/secret",
    "workspace/",
    "workspace/public",
    "workspace/.git/",
    "workspace/.git/config",
    "workspace/kept/",
    "workspace/kept/file",
    "workspace/src/",
    "workspace/plain/",
    "workspace/repo/",
    "workspace/repo/.git/",
    "workspace/repo/.git/hooks/",
    "workspace/repo/.git/config",
    "workspace/repo/bare/",
    "workspace/repo/bare/HEAD",
    "workspace/repo/bare/config",
    "workspace/repo/bare/objects/",
    "workspace/repo/bare/refs/",
    "workspace/store/",
    "workspace/store/secret",
};

/* Names of the workspace that git or cadre would believe, and that no command may leave there. */
static const char *const planted[] = {"cadre.yaml",        ".cadre",
                                      "plain/.git",        "plain/bare/HEAD",
                                      "plain/linked/HEAD", "plain/cadre.yaml"};

static int make_files(struct probe_room *room)
{
    char path[256];
    for (size_t i = 0; i < sizeof layout / sizeof layout[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", room->place, layout[i]);
        if (path[strlen(path) - 1] == '/') {
            if (mkdir(path, 0755) != 0)
                return -1;
            continue;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        ssize_t written = fd >= 0 ? write(fd, "line\n", 5) : -1;
        if (fd >= 0)
            close(fd);
        if (written != 5)
            return -1;
    }
    snprintf(path, sizeof path, "%s/link", room->workspace);
    return symlink("../other", path);
}

static int listening(int family, const void *address, size_t length)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, address, (socklen_t)length) != 0 || listen(fd, 8) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* A server's socket in the workspace. */
static int listening_inside(const struct probe_room *room, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", room->workspace, name);
    return listening(AF_UNIX, &address, sizeof address);
}

static int make_sockets(struct probe_room *room, char *abstract, size_t abstract_max, int *port)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un named = {.sun_family = AF_UNIX}, nameless = {.sun_family = AF_UNIX};
    socklen_t length = sizeof loopback;
    snprintf(named.sun_path, sizeof named.sun_path, "%s/socket", room->place);
    snprintf(abstract, abstract_max, "cadre%s", room->place);
    snprintf(nameless.sun_path + 1, sizeof nameless.sun_path - 1, "%s", abstract);
    room->tcp = listening(AF_INET, &loopback, sizeof loopback);
    room->unix_path = listening(AF_UNIX, &named, sizeof named);
    room->unix_abstract = listening(AF_UNIX, &nameless,
                                    offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract));
    room->unix_written = listening_inside(room, "src/server");
    room->unix_read = listening_inside(room, "kept/server");
    if (room->tcp < 0 || room->unix_path < 0 || room->unix_abstract < 0 || room->unix_written < 0 ||
        room->unix_read < 0 || getsockname(room->tcp, (struct sockaddr *)&loopback, &length) != 0)
        return -1;
    *port = ntohs(loopback.sin_port);
    return 0;
}

static int open_all(struct probe_room *room)
{
    char abstract[96], host[17] = "";
    int port = 0;
    if (mkdtemp(room->place) == NULL)
        return -1;
    snprintf(room->workspace, sizeof room->workspace, "%s/workspace", room->place);
    snprintf(room->store, sizeof room->store, "%s/store", room->workspace);
    if (make_files(room) != 0 || make_sockets(room, abstract, sizeof abstract, &port) != 0)
        return -1;
    room->workspace_fd = open(room->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    room->stray = open(room->store, O_RDONLY | O_DIRECTORY);
    prctl(PR_GET_NAME, host);
    snprintf(room->variables[0], sizeof room->variables[0], "SECRET_STORE=%s", room->store);
    snprintf(room->variables[1], sizeof room->variables[1], "OTHER_TREE=%s/other", room->place);
    snprintf(room->variables[2], sizeof room->variables[2], "OUTSIDE_SOCKET=%s/socket",
             room->place);
    snprintf(room->variables[3], sizeof room->variables[3], "ABSTRACT_NAME=%s", abstract);
    snprintf(room->variables[4], sizeof room->variables[4], "OUTSIDE_PORT=%d", port);
    snprintf(room->variables[5], sizeof room->variables[5], "HOST_NAME=%s", host);
    snprintf(room->variables[6], sizeof room->variables[6], "LC_ALL=C");
    return room->workspace_fd >= 0 && room->stray >= 0 ? 0 : -1;
}

int probe_room_open(struct probe_room **out, struct err *err)
{
    struct probe_room *room = calloc(1, sizeof *room);
    if (room == NULL)
        abort();
    room->workspace_fd = room->tcp = room->unix_path = room->unix_abstract = room->stray = -1;
    room->unix_written = room->unix_read = -1;
    /* Not in /tmp, where commands may write: Landlock's rule for it would hold for the room too. */
    snprintf(room->place, sizeof room->place, "/var/tmp/cadre-probe-XXXXXX");
    if (open_all(room) != 0) {
        err_set(err, ERR_IO, "cannot lay out %s for probes: %s", room->place, strerror(errno));
        probe_room_close(room);
        return -1;
    }
    *out = room;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    return remove(path);
}

void probe_room_close(struct probe_room *room)
{
    int handles[] = {room->workspace_fd, room->tcp,       room->unix_path, room->unix_abstract,
                     room->unix_written, room->unix_read, room->stray};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
        if (handles[i] >= 0)
            close(handles[i]);
    nftw(room->place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(room);
}

/* --- running ---------------------------------------------------------------------------------------------------------------------- */

/* Beside exit statuses. */
enum { SCRIPT_KILLED = 255, SCRIPT_NOT_RUN = -1, SCRIPT_LATE = -2 };

static int run_script(struct probe_room *room, const struct sandbox_port *sandbox,
                      const struct sandbox_walls *walls, const char *script, struct err *err)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const char *variables[VARIABLES + 1] = {NULL};
    struct sandbox_outcome outcome;
    for (size_t i = 0; i < VARIABLES; i++)
        variables[i] = room->variables[i];
    struct sandbox_command command = {.argv = argv,
                                      .directory = STR("."),
                                      .variables = variables,
                                      .wall_ms = PROBE_MS,
                                      .output_max = OUTPUT_MAX};
    if (sandbox->run(sandbox->self, walls, &command, &outcome, err) != 0)
        return SCRIPT_NOT_RUN;
    if (outcome.end == SANDBOX_EXITED && outcome.code != 0)
        err_set(err, ERR_DENIED, "%.*s", STR_FMT(buf_view(&outcome.output)));
    buf_release(&outcome.output);
    buf_release(&outcome.errors);
    return outcome.end == SANDBOX_EXITED    ? outcome.code
           : outcome.end == SANDBOX_TIMEOUT ? SCRIPT_LATE
                                            : SCRIPT_KILLED;
}

static bool kernel_has(const struct probe *probe)
{
    struct utsname name;
    int major = 0, minor = 0;
    if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
        return true;
    return major > probe->since.major ||
           (major == probe->since.major && minor >= probe->since.minor);
}

static bool is_planted(const struct probe_room *room)
{
    struct stat status;
    bool found = false;
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", room->workspace, planted[i]);
        found |= lstat(path, &status) == 0;
    }
    return found;
}

enum probe_verdict probe_run(struct probe_room *room, const struct sandbox_port *sandbox,
                             const struct probe *probe, struct err *err)
{
    static const struct str all[] = {{".", 1}};
    static const struct str parts[] = {{"src", 3}, {"plain", 5}, {"repo", 4}, {"link", 4}};
    static const struct sandbox_limits small = {
        .processes = 310, .memory_bytes = 256 << 20, .file_bytes = 1 << 20, .open_files = 64};
    /* Without namespaces nothing can be hidden in the workspace, and no command would be run. */
    bool bare = memmem(sandbox->missing.p, sandbox->missing.n, "namespaces", 10) != NULL;
    struct str hidden = str_from(room->store);
    bool everything = probe->setting == PROBE_ALL || probe->setting == PROBE_LEAVES;
    struct sandbox_walls walls = {
        .workspace = room->workspace_fd,
        .workspace_path = str_from(room->workspace),
        .read_paths = all,
        .read_count = 1,
        .write_paths = everything ? all : parts,
        .write_count = everything ? 1 : sizeof parts / sizeof parts[0],
        .hidden = &hidden,
        .hidden_count = bare ? 0 : 1,
        .network = probe->setting == PROBE_ONLINE  ? SANDBOX_NET_FULL
                   : probe->setting == PROBE_NAMES ? SANDBOX_NET_NAMES
                                                   : SANDBOX_NET_NONE,
        .hosts = STR("allow localhost"),
    };
    if (probe->setting == PROBE_LIMITED || probe->setting == PROBE_FILLED)
        walls.limits = small;
    if (probe->setting == PROBE_FILLED)
        walls.limits.disk_bytes = 16 << 20;
    if (bare && probe->needs == PROBE_NEEDS_NAMESPACES)
        return PROBE_OPEN;
    int twin = run_script(room, sandbox, &walls, probe->twin, err);
    if (twin != 0)
        return twin == SCRIPT_NOT_RUN ? PROBE_NOT_RUN : PROBE_TWIN_FAILS;
    int attack = run_script(room, sandbox, &walls, probe->attack, err);
    if (probe->setting == PROBE_LEAVES && attack != SCRIPT_NOT_RUN)
        return is_planted(room) ? PROBE_BROKEN : PROBE_HOLDS;
    /* An attack that goes on for ever was not stopped either. */
    if (attack == 0 || attack == SCRIPT_LATE)
        return kernel_has(probe) ? PROBE_BROKEN : PROBE_OLD_KERNEL;
    return attack == SCRIPT_NOT_RUN ? PROBE_NOT_RUN : PROBE_HOLDS;
}
