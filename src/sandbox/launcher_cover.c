/* What lies in the workspace and is not the workspace's. A socket of a server that runs outside would let a command act through that
 * server: an empty device is mounted over each. Another file system that is mounted below the workspace is read-only where no
 * path to write to names it; one that shows the kernel (proc, sysfs) is covered with an empty directory.
 *
 * Both are looked for by the outer process, before the command. What comes later from outside is not covered. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/pseudofs.h"

#define WALL "namespaces"
#define SOCKETS_MAX 1024
#define MOUNTS_MAX 4096

/* --- finding -------------------------------------------------------------------------------------------------------------------- */

/* Does a server own it? Asked with a kind of socket whose connecting no server notices: to another kind the kernel answers that it is
 * of the wrong type, and only where nobody owns it that it refuses. */
static bool is_owned(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool owned = true;
    int place = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", place);
    if (place < 0)
        owned = errno != ENOENT;
    else if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        owned = errno != ECONNREFUSED;
    if (place >= 0)
        close(place);
    if (fd >= 0)
        close(fd);
    return owned;
}

void launch_meet_socket(struct launch_kept *kept, int directory, const char *name,
                        const char *place)
{
    if (!is_owned(directory, name))
        return;
    if (kept->socket_count++ == SOCKETS_MAX || !launch_texts_add(&kept->sockets, place))
        launch_refuse("paths", "more than %d sockets of servers lie in the workspace", SOCKETS_MAX);
}

/* mountinfo writes some characters as three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; to++) {
        unsigned byte;
        if (text[0] == '\\' && sscanf(text + 1, "%3o", &byte) == 1) {
            *to = (char)byte;
            text += 4;
        } else {
            *to = *text++;
        }
    }
    *to = '\0';
}

bool launch_shows_the_kernel(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) == 0 && pseudofs_is((long)status.f_type);
}

static void meet_mount(struct launch *launch, const char *path)
{
    struct statfs status;
    size_t n = strlen(launch->workspace_now);
    if (strncmp(path, launch->workspace_now, n) != 0 || path[n] != '/')
        return;
    if (launch->kept.mount_count++ == MOUNTS_MAX ||
        !launch_texts_add(&launch->kept.mounts, path + n + 1))
        launch_refuse("paths", "more than %d mounts lie in the workspace", MOUNTS_MAX);
    if (!launch_has(launch, LAUNCH_WALL_NAMESPACES) && statfs(path, &status) == 0 &&
        pseudofs_is((long)status.f_type))
        launch_refuse("paths",
                      "%s shows the kernel of this machine, lies in the workspace and cannot be "
                      "hidden without the wall \"namespaces\", which is off; unmount it",
                      path);
}

void launch_find_mounts(struct launch *launch)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (file == NULL)
        launch_fail("paths", "cannot read which file systems are mounted");
    while (getline(&line, &room, file) > 0) {
        char *path = line;
        for (int field = 1; field < 5 && path != NULL; field++) {
            path = strchr(path, ' ');
            path = path != NULL ? path + 1 : NULL;
        }
        if (path == NULL)
            continue;
        path[strcspn(path, " ")] = '\0';
        unescape(path);
        meet_mount(launch, path);
    }
    free(line);
    fclose(file);
}

/* --- covering ------------------------------------------------------------------------------------------------------------------- */

/* In the new root; -1 where it is not shown, or gone. */
static int open_shown(const struct launch *launch, int root, const char *place)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", launch->workspace_path + 1, place);
    int fd = launch_open_beneath(root, path);
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        launch_fail(WALL, "cannot look at %s in the workspace", place);
    return fd;
}

static bool is_named(const struct launch *launch, const char *place)
{
    const char *view = NULL;
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        if (view[0] == LAUNCH_VIEW_WRITE && strcmp(view + 1, place) == 0)
            return true;
    return false;
}

static void cover_mount(const struct launch *launch, int root, const char *place)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    struct statx status;
    int where = open_shown(launch, root, place);
    if (where < 0)
        return;
    if (statx(where, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0)
        launch_fail(WALL, "cannot look at %s in the workspace", place);
    if (launch_shows_the_kernel(where)) {
        bool directory = S_ISDIR(status.stx_mode);
        if (launch_attach(directory ? launch_copy_tree(root, "run", MOUNT_ATTR_RDONLY)
                                    : launch_copy_tree(AT_FDCWD, "/dev/null", MOUNT_ATTR_NOEXEC),
                          where) != 0)
            launch_fail(WALL, "cannot cover %s in the workspace", place);
        return;
    }
    if ((status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 && !is_named(launch, place) &&
        mount_setattr(where, "", AT_EMPTY_PATH, &read_only, sizeof read_only) != 0)
        launch_fail(WALL, "cannot make %s in the workspace read-only", place);
    close(where);
}

static void cover_socket(const struct launch *launch, int root, const char *place)
{
    struct stat status;
    int where = open_shown(launch, root, place);
    if (where < 0)
        return;
    if (fstat(where, &status) != 0 || !S_ISSOCK(status.st_mode))
        close(where);
    else if (launch_attach(launch_copy_tree(AT_FDCWD, "/dev/null", MOUNT_ATTR_NOEXEC), where) != 0)
        launch_fail(WALL, "cannot cover the socket %s in the workspace", place);
}

void launch_cover(const struct launch *launch, int root)
{
    const struct launch_texts *mounts = &launch->kept.mounts, *sockets = &launch->kept.sockets;
    for (size_t at = 0; at < mounts->used; at += strlen(mounts->p + at) + 1)
        cover_mount(launch, root, mounts->p + at);
    for (size_t at = 0; at < sockets->used; at += strlen(sockets->p + at) + 1)
        cover_socket(launch, root, sockets->p + at);
}
