/* Walls that a process puts around itself and cannot take down again: no capabilities, no way to gain any, limits, Landlock.
 * The loopback device is raised here too, while that is still allowed. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void launch_raise_loopback(void)
{
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(request.ifr_name, "lo", 3);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        launch_fail("namespaces", "cannot raise the loopback device");
    close(fd);
}

/* --- privileges ----------------------------------------------------------------------------------------------------------------- */

void launch_drop_privileges(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                         SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                         SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        launch_fail("privileges", "cannot give up new privileges");
    /* Whoever has no capability to begin with may change neither of these, and need not. */
    if (prctl(PR_SET_SECUREBITS, bits) != 0 && errno != EPERM)
        launch_fail("privileges", "cannot lock what root means");
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM)
            launch_fail("privileges", "cannot drop capability %d", capability);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, none) != 0)
        launch_fail("privileges", "cannot drop the capabilities");
    /* This process holds the policy and the lifeline: its command must not look into it. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        launch_fail("privileges", "cannot close the memory to others");
}

static void limit(int resource, uint64_t value, const char *what)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        launch_fail("limits", "cannot read the limit on %s", what);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) != 0)
        launch_fail("limits", "cannot limit %s", what);
}

void launch_set_limits(const struct launch *launch)
{
    limit(RLIMIT_CORE, 0, "core files");
    limit(RLIMIT_FSIZE, launch->head->file_bytes, "the size of files");
    limit(RLIMIT_NOFILE, launch->head->open_files, "open files");
    /* In a namespace of its own this counts the command's processes only; outside, all of the user's. */
    if (launch_has(launch, LAUNCH_WALL_NAMESPACES))
        limit(RLIMIT_NPROC, launch->head->processes, "processes");
}

/* --- Landlock ------------------------------------------------------------------------------------------------------------------- */

/* The kernel's interface by version; the headers of the build may be older than the kernel that it runs on. */
struct landlock_ruleset {
    uint64_t files, network, scoped;
};

struct landlock_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REFER (1ull << 13)
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define FS_READ (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_DEVICES (FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define NET_TCP 3ull    /* bind, connect */
#define SCOPE_BOTH 3ull /* abstract unix sockets, signals */

/* Rights that this version can refuse. */
static uint64_t files_known(long version)
{
    return version >= 5   ? (1ull << 16) - 1
           : version >= 3 ? (1ull << 15) - 1
           : version == 2 ? (1ull << 14) - 1
                          : (1ull << 13) - 1;
}

/* Takes the descriptor. */
static void allow_opened(int rules, int fd, uint64_t allowed, const char *path)
{
    struct stat status;
    struct landlock_beneath beneath = {.allowed = allowed, .parent = fd};
    if (fd < 0)
        return; /* what is not there needs no permission */
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        beneath.allowed &= FS_OF_FILES;
    /* A link leads somewhere else and has no rights of its own. */
    if (!S_ISLNK(status.st_mode) && syscall(SYS_landlock_add_rule, rules, 1, &beneath, 0) != 0)
        launch_fail("landlock", "cannot allow %s", path);
    close(fd);
}

static void allow(int rules, const char *path, uint64_t allowed)
{
    allow_opened(rules, open(path, O_PATH | O_CLOEXEC), allowed, path);
}

static void allow_views(const struct launch *launch, int rules, uint64_t known)
{
    const char *view = NULL;
    while ((view = launch_next(launch, launch->head->views, view)) != NULL) {
        int fd = launch_open_beneath(LAUNCH_WORKSPACE, view + 1);
        if (view[0] == LAUNCH_VIEW_WRITE)
            allow_opened(rules, fd, known & ~FS_IOCTL_DEV, view);
        else if (view[0] == LAUNCH_VIEW_READ)
            allow_opened(rules, fd, FS_READ & known, view);
        else if (fd >= 0)
            close(fd);
    }
}

/* Without a root of its own a command sees the machine's, and this is what it may read of it. */
static void allow_system(const struct launch *launch, int rules, uint64_t known)
{
    const char *path = NULL;
    for (size_t i = 0; launch_system_paths[i] != NULL; i++)
        allow(rules, launch_system_paths[i], FS_READ & known);
    for (size_t i = 0; launch->head->network == LAUNCH_NET_FULL && launch_network_paths[i] != NULL;
         i++)
        allow(rules, launch_network_paths[i], FS_READ & known);
    while ((path = launch_next(launch, launch->head->shown, path)) != NULL)
        allow(rules, path, FS_READ & known);
    allow(rules, "/etc/passwd", FS_READ & known);
    allow(rules, "/etc/group", FS_READ & known);
    allow(rules, "/proc", FS_READ & known);
}

/* The kernel's version of Landlock decides what can be refused. */
static int make_rules(const struct launch *launch, long version)
{
    struct landlock_ruleset set = {.files = files_known(version)};
    size_t bytes = version >= 6   ? sizeof set
                   : version >= 4 ? 2 * sizeof(uint64_t)
                                  : sizeof(uint64_t);
    /* Scopes matter where the namespaces do not reach: the host's network has its abstract sockets. */
    if (version >= 6)
        set.scoped = SCOPE_BOTH;
    if (version >= 4 && !launch_has(launch, LAUNCH_WALL_NAMESPACES) &&
        launch->head->network == LAUNCH_NET_NONE)
        set.network = NET_TCP;
    return (int)syscall(SYS_landlock_create_ruleset, &set, bytes, 0);
}

void launch_restrict_files(const struct launch *launch)
{
    if (!launch_has(launch, LAUNCH_WALL_LANDLOCK))
        return;
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (version < 1)
        launch_fail("landlock", "this kernel has no Landlock");
    uint64_t known = files_known(version);
    int rules = make_rules(launch, version);
    if (rules < 0)
        launch_fail("landlock", "cannot make the rules");
    /* Everything in a root of its own was chosen already; what has another root cannot be reached even through a descriptor. */
    if (launch_has(launch, LAUNCH_WALL_NAMESPACES))
        allow(rules, "/", FS_READ & known);
    else
        allow_system(launch, rules, known);
    allow(rules, "/dev", FS_DEVICES & known);
    allow(rules, launch->tmp, known & ~FS_IOCTL_DEV);
    allow_views(launch, rules, known);
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        launch_fail("landlock", "cannot apply the rules");
    close(rules);
}
