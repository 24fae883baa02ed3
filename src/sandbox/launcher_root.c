/* The file system that a confined command sees, built from nothing on one small tmpfs: system directories read-only, a private
 * /tmp, a fresh /proc, a few devices, and of the workspace what the policy shows, at its own path. In the new mount namespace only.
 *
 * Nothing is bound by a path that others could relink meanwhile: the workspace is opened once and compared with the descriptor
 * that cadre handed over, everything in it is opened beneath that with openat2 and without links, and the opened thing itself is
 * what is mounted, on a place that was opened in the same way. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WALL "namespaces"
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* Shown read-only where they exist; links are copied as links. What compilers, interpreters and tests read, and no secrets: a
 * command of root's has root's eyes. */
const char *const launch_system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc/alternatives",
    "/etc/debian_version",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/perl",
    "/etc/protocols",
    "/etc/python3",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/java-17-openjdk",
    NULL,
};

/* Only with the host's network: how names are resolved on it. */
const char *const launch_network_paths[] = {"/etc/hosts", "/etc/resolv.conf", NULL};

static const char *const device_names[] = {"null", "zero", "full", "random", "urandom", "tty"};

/* Name in /dev, where it leads to. */
static const char *const device_links[][2] = {
    {"fd", "/proc/self/fd"},       {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},         {"shm", "/tmp/.shm"},
};

/* Of /proc, what tells of the machine beyond the namespace. */
static const char *const secret_proc[] = {"proc/kcore", "proc/keys", "proc/key-users",
                                          "proc/timer_list", "proc/kallsyms"};

#define PID_MAX_MAJOR 6
#define PID_MAX_MINOR 14
#define PID_MAX_LEAST "301"

#define RECORDS_LINK LAUNCH_RECORDS "/link"

struct root {
    int fd;
    dev_t device;
};

/* --- opening and placing --------------------------------------------------------------------------------------------------- */

int launch_open_beneath(int directory, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve =
                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

enum place_kind { PLACE_DIRECTORY, PLACE_FILE };

/* One more step towards a place; what is missing is made, on our own tmpfs and nowhere else. */
static int step(const struct root *root, int at, const char *name, enum place_kind kind)
{
    struct stat status;
    int next = launch_open_beneath(at, name);
    if (next >= 0 || errno != ENOENT)
        return next;
    if (fstat(at, &status) != 0 || status.st_dev != root->device) {
        errno = ENOENT;
        return -1;
    }
    if (kind == PLACE_DIRECTORY && mkdirat(at, name, 0755) != 0)
        return -1;
    if (kind == PLACE_FILE) {
        int file = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0)
            return -1;
        close(file);
    }
    return launch_open_beneath(at, name);
}

/* A descriptor of a path in the new root, to mount on or to write into. */
static int place(const struct root *root, const char *path, enum place_kind kind)
{
    char name[256];
    int at = launch_open_beneath(root->fd, ".");
    for (;;) {
        path += strspn(path, "/");
        size_t n = strcspn(path, "/");
        if (n == 0 || at < 0)
            return at;
        if (n >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        path += n;
        bool last = path[strspn(path, "/")] == '\0';
        int next = step(root, at, name, last ? kind : PLACE_DIRECTORY);
        int number = errno;
        close(at);
        errno = number;
        at = next;
    }
}

/* --- mounting -------------------------------------------------------------------------------------------------------------- */

int launch_copy_tree(int directory, const char *path, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes};
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    int tree = open_tree(directory, path, path[0] == '\0' ? flags | AT_EMPTY_PATH : flags);
    if (tree >= 0 &&
        mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) != 0) {
        int number = errno;
        close(tree);
        errno = number;
        return -1;
    }
    return tree;
}

int launch_attach(int tree, int where)
{
    int result = -1;
    if (tree >= 0 && where >= 0)
        result = move_mount(tree, "", where, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
    int number = errno;
    if (tree >= 0)
        close(tree);
    if (where >= 0)
        close(where);
    errno = number;
    return result;
}

static int new_filesystem(const char *type, const char *const *options, uint64_t attributes)
{
    int context = fsopen(type, FSOPEN_CLOEXEC);
    if (context < 0)
        return -1;
    for (; *options != NULL; options += 2)
        if (fsconfig(context, FSCONFIG_SET_STRING, options[0], options[1], 0) != 0)
            return -1;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        return -1;
    int mount = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)attributes);
    close(context);
    return mount;
}

/* Shows a path of the machine under its own name. */
static void show(const struct root *root, const char *path)
{
    struct stat status;
    char target[4096];
    if (lstat(path, &status) != 0)
        return;
    if (S_ISLNK(status.st_mode)) {
        ssize_t n = readlink(path, target, sizeof target - 1);
        const char *slash = strrchr(path, '/');
        char parent[4096];
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        int where = place(root, parent, PLACE_DIRECTORY);
        target[n > 0 ? n : 0] = '\0';
        if (n <= 0 || where < 0 || symlinkat(target, where, slash + 1) != 0)
            launch_fail(WALL, "cannot show %s", path);
        close(where);
        return;
    }
    enum place_kind kind = S_ISDIR(status.st_mode) ? PLACE_DIRECTORY : PLACE_FILE;
    if (launch_attach(launch_copy_tree(AT_FDCWD, path, READ_ONLY), place(root, path, kind)) != 0)
        launch_fail(WALL, "cannot show %s", path);
}

/* As above, but what a link leads to. */
static void show_target(const struct root *root, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && launch_attach(launch_copy_tree(AT_FDCWD, path, READ_ONLY),
                                                  place(root, path, PLACE_FILE)) != 0)
        launch_fail(WALL, "cannot show %s", path);
}

static void write_file(const struct root *root, const char *path, const char *text)
{
    int fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        launch_fail(WALL, "cannot write /%s", path);
    close(fd);
}

/* --- the parts -------------------------------------------------------------------------------------------------------------- */

static void make_system(const struct launch *launch, const struct root *root)
{
    char text[512];
    for (size_t i = 0; launch_system_paths[i] != NULL; i++)
        show(root, launch_system_paths[i]);
    const char *path = NULL;
    while ((path = launch_next(launch, launch->head->shown, path)) != NULL)
        show(root, path);
    snprintf(text, sizeof text,
             "user:x:%u:%u:user:" LAUNCH_HOME
             ":/bin/sh\n%snobody:x:65534:65534:nobody:/:/bin/false\n",
             getuid(), getgid(), getuid() != 0 ? "root:x:0:0:root:/:/bin/false\n" : "");
    write_file(root, "etc/passwd", text);
    snprintf(text, sizeof text, "user:x:%u:\nnogroup:x:65534:\n", getgid());
    write_file(root, "etc/group", text);
    write_file(root, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    if (launch->head->network == LAUNCH_NET_FULL)
        for (size_t i = 0; launch_network_paths[i] != NULL; i++)
            show_target(root, launch_network_paths[i]);
    else
        write_file(root, "etc/hosts", "127.0.0.1 localhost cadre\n::1 localhost\n");
}

static void make_devices(const struct root *root)
{
    static const char *const pts_options[] = {"ptmxmode", "0666", "mode", "0620", NULL};
    char path[64];
    for (size_t i = 0; i < sizeof device_names / sizeof device_names[0]; i++) {
        snprintf(path, sizeof path, "/dev/%s", device_names[i]);
        if (launch_attach(launch_copy_tree(AT_FDCWD, path, DEVICE),
                          place(root, path, PLACE_FILE)) != 0)
            launch_fail(WALL, "cannot show %s", path);
    }
    int terminals = new_filesystem("devpts", pts_options, DEVICE);
    if (launch_attach(terminals, place(root, "/dev/pts", PLACE_DIRECTORY)) != 0)
        launch_fail(WALL, "cannot mount /dev/pts");
    for (size_t i = 0; i < sizeof device_links / sizeof device_links[0]; i++) {
        snprintf(path, sizeof path, "dev/%s", device_links[i][0]);
        if (symlinkat(device_links[i][1], root->fd, path) != 0)
            launch_fail(WALL, "cannot make /%s", path);
    }
}

/* From 6.14 on, kernels count process ids for each namespace: the one limit on processes that binds root too. Before, the setting is
 * the machine's, and root's command would change it for everybody. */
static void limit_processes(const struct launch *launch, int proc)
{
    char text[32];
    struct utsname name;
    int major = 0, minor = 0;
    if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2 ||
        major < PID_MAX_MAJOR || (major == PID_MAX_MAJOR && minor < PID_MAX_MINOR))
        return;
    int fd = openat(proc, "sys/kernel/pid_max", O_WRONLY | O_CLOEXEC);
    snprintf(text, sizeof text, "%llu", (unsigned long long)launch->head->processes);
    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        /* It takes no fewer than this. */
        if (fd < 0 || errno != EINVAL || write(fd, PID_MAX_LEAST, strlen(PID_MAX_LEAST)) < 0)
            launch_fail(WALL, "cannot limit processes");
    }
    close(fd);
}

static void make_proc(const struct launch *launch, const struct root *root)
{
    static const char *const no_options[] = {NULL};
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    int proc = new_filesystem("proc", no_options, DEVICE | MOUNT_ATTR_NODEV);
    if (proc < 0)
        launch_fail(WALL, "cannot mount /proc");
    limit_processes(launch, proc);
    /* Read-only: settings below /proc/sys belong to user 0 of the machine, which a command of root's is. */
    if (mount_setattr(proc, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0)
        launch_fail(WALL, "cannot make /proc read-only");
    if (launch_attach(proc, place(root, "/proc", PLACE_DIRECTORY)) != 0)
        launch_fail(WALL, "cannot mount /proc");
    for (size_t i = 0; i < sizeof secret_proc / sizeof secret_proc[0]; i++) {
        int where = launch_open_beneath(root->fd, secret_proc[i]);
        if (where >= 0 &&
            launch_attach(launch_copy_tree(AT_FDCWD, "/dev/null", DEVICE), where) != 0)
            launch_fail(WALL, "cannot hide /%s", secret_proc[i]);
    }
}

static void make_tmp(const struct root *root)
{
    if (mkdirat(root->fd, "run", 0755) != 0 || mkdirat(root->fd, "tmp", 0700) != 0 ||
        mkdirat(root->fd, "tmp/home", 0700) != 0 || mkdirat(root->fd, "tmp/.shm", 0700) != 0 ||
        fchmodat(root->fd, "tmp", 01777, 0) != 0 ||
        launch_attach(launch_copy_tree(root->fd, "tmp", WRITABLE),
                      launch_open_beneath(root->fd, "tmp")) != 0)
        launch_fail(WALL, "cannot make /tmp");
}

/* A directory that must not be seen is covered with an empty one. On our own tmpfs there is nothing to hide: it is there
 * because the workspace lies beneath it. */
static void hide(const struct launch *launch, const struct root *root)
{
    const char *path = NULL;
    while ((path = launch_next(launch, launch->head->hidden, path)) != NULL) {
        struct stat status;
        int where = launch_open_beneath(root->fd, path + strspn(path, "/"));
        if (where < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
            continue;
        if (where < 0 || fstat(where, &status) != 0)
            launch_fail(WALL, "cannot look at %s", path);
        if (status.st_dev == root->device)
            close(where);
        else if (launch_attach(launch_copy_tree(root->fd, "run", WRITABLE), where) != 0)
            launch_fail(WALL, "cannot hide %s", path);
    }
}

/* --- the workspace ---------------------------------------------------------------------------------------------------------- */

static int open_workspace(const struct launch *launch)
{
    struct stat given, found;
    int fd = open(launch->workspace_now, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) != 0 || fstat(LAUNCH_WORKSPACE, &given) != 0)
        launch_fail(WALL, "cannot open the workspace at %s", launch->workspace_now);
    if (given.st_dev != found.st_dev || given.st_ino != found.st_ino)
        launch_refuse(WALL, "the workspace at %s was moved at this moment", launch->workspace_now);
    return fd;
}

static void show_view(const struct launch *launch, const struct root *root, int workspace,
                      const char *view)
{
    char path[8192];
    struct stat status;
    int source = launch_open_beneath(workspace, view + 1);
    if (source < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR))
        return; /* there is nothing, or a link that leads somewhere else: nothing is shown */
    if (source < 0 || fstat(source, &status) != 0)
        launch_fail(WALL, "cannot open %s in the workspace", view + 1);
    if (S_ISLNK(status.st_mode) && view[0] == LAUNCH_VIEW_FOUND)
        launch_refuse(WALL, "%s is a link and cannot be kept from being changed", view + 1);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
        close(source);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", launch->workspace_path,
             strcmp(view + 1, ".") == 0 ? "" : view + 1);
    int where = place(root, path, S_ISDIR(status.st_mode) ? PLACE_DIRECTORY : PLACE_FILE);
    int tree = launch_copy_tree(source, "", view[0] == LAUNCH_VIEW_WRITE ? WRITABLE : READ_ONLY);
    close(source);
    if (launch_attach(tree, where) != 0)
        launch_fail(WALL, "cannot show %s of the workspace", view + 1);
}

static void make_workspace(const struct launch *launch, const struct root *root)
{
    const char *view = NULL;
    int workspace = open_workspace(launch);
    int where = place(root, launch->workspace_path, PLACE_DIRECTORY);
    if (where < 0)
        launch_fail(WALL, "cannot make a place for %s", launch->workspace_path);
    close(where);
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        show_view(launch, root, workspace, view);
    /* Within what is writable, what is kept: on top of it, read-only. */
    for (size_t at = 0; at < launch->kept.found.used; at += strlen(launch->kept.found.p + at) + 1) {
        char found[8192];
        snprintf(found, sizeof found, "%c%s", LAUNCH_VIEW_FOUND, launch->kept.found.p + at);
        show_view(launch, root, workspace, found);
    }
    close(workspace);
}

/* --- the repository --------------------------------------------------------------------------------------------------------- */

static void show_record(const struct root *root, const char *name, const char *source)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, LAUNCH_RECORDS "/%s", name);
    if (lstat(source, &status) != 0 && errno == ENOENT)
        return; /* git replaces some at times */
    enum place_kind kind = S_ISDIR(status.st_mode) ? PLACE_DIRECTORY : PLACE_FILE;
    if (launch_attach(launch_copy_tree(AT_FDCWD, source, READ_ONLY), place(root, path, kind)) != 0)
        launch_fail(WALL, "cannot show the repository's %s", name);
}

/* The workspace's .git is a file that names a place which does not exist here. */
static void make_records(const struct launch *launch, const struct root *root)
{
    char text[4096];
    struct stat status;
    const char *name = NULL, *source = NULL;
    if (launch->git_dir[0] == '\0')
        return;
    while ((name = launch_next(launch, launch->head->records, source)) != NULL) {
        source = launch_next(launch, launch->head->records, name);
        show_record(root, name, source);
    }
    snprintf(text, sizeof text, "gitdir: /" LAUNCH_RECORDS "/%s\n", launch->git_dir);
    write_file(root, RECORDS_LINK, text);
    snprintf(text, sizeof text, "%s/.git", launch->workspace_path + 1);
    int where = launch_open_beneath(root->fd, text);
    if (where >= 0 && (fstat(where, &status) != 0 || !S_ISREG(status.st_mode)))
        launch_refuse(WALL, "the .git of the workspace was changed at this moment");
    if (launch_attach(launch_copy_tree(root->fd, RECORDS_LINK, READ_ONLY), where) != 0)
        launch_fail(WALL, "cannot show the repository");
}

/* --- all of it -------------------------------------------------------------------------------------------------------------- */

static void enter(const struct root *root)
{
    struct mount_attr attr = {.attr_set = READ_ONLY};
    if (mount_setattr(root->fd, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0)
        launch_fail(WALL, "cannot make the root read-only");
    if (fchdir(root->fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
        launch_fail(WALL, "cannot change the root");
    /* The old root lies on top of the new one now, and "." is it. */
    if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        launch_fail(WALL, "cannot leave the old root");
}

void launch_make_root(struct launch *launch)
{
    static const char *const options[] = {"mode", "0755", "size", "2g", NULL};
    struct root root;
    struct stat status;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        launch_fail(WALL, "cannot make the mounts private");
    root.fd = new_filesystem("tmpfs", options, WRITABLE);
    if (root.fd < 0 || fstat(root.fd, &status) != 0)
        launch_fail(WALL, "cannot mount a tmpfs");
    root.device = status.st_dev;
    /* Over the root, which exists everywhere; names still lead to what lies beneath. */
    if (move_mount(root.fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
        launch_fail(WALL, "cannot place the new root");
    if (launch->relay[0] != '\0') {
        launch->relay_socket = open(launch->relay, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (launch->relay_socket < 0)
            launch_fail("relay", "cannot open the relay's socket %s", launch->relay);
    } else if (launch->head->network == LAUNCH_NET_RELAY) {
        launch->relay_socket = LAUNCH_RELAY;
    }
    make_tmp(&root);
    make_system(launch, &root);
    make_devices(&root);
    make_proc(launch, &root);
    hide(launch, &root);
    make_workspace(launch, &root);
    hide(launch, &root);
    launch_cover(launch, root.fd);
    make_records(launch, &root);
    enter(&root);
    close(root.fd);
}
