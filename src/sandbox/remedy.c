/* See remedy.h. Reads a few settings of the machine; never changes one. Any thread. */
#include "sandbox/remedy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A setting that forbids, and what to do about it. */
static const struct {
    const char *path;
    char forbids; /* the setting's first character */
    const char *remedy;
} settings[] = {
    {"/proc/sys/user/max_user_namespaces", '0',
     "user.max_user_namespaces is 0: `sysctl -w user.max_user_namespaces=15000` as root, and the "
     "same line in /etc/sysctl.d to keep it"},
    {"/proc/sys/kernel/unprivileged_userns_clone", '0',
     "kernel.unprivileged_userns_clone is 0: `sysctl -w kernel.unprivileged_userns_clone=1` as "
     "root, and the same line in /etc/sysctl.d to keep it"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
     "AppArmor forbids user namespaces to programs without a profile: give cadre a profile with "
     "`userns,` in /etc/apparmor.d, or `sysctl -w "
     "kernel.apparmor_restrict_unprivileged_userns=0` as root"},
};

/* Files that managers of containers leave in their containers. */
static const char *const containers[] = {"/.dockerenv", "/run/.containerenv"};

static bool forbids(const char *root, size_t i)
{
    char path[4096], first = '\0';
    snprintf(path, sizeof path, "%s%s", root, settings[i].path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, &first, 1) : 0;
    if (fd >= 0)
        close(fd);
    return n == 1 && first == settings[i].forbids;
}

static bool is_container(const char *root)
{
    char path[4096];
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
        snprintf(path, sizeof path, "%s%s", root, containers[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

void remedy_namespaces(const char *root, struct buf *out)
{
    size_t found = 0;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (forbids(root, i))
            buf_printf(out, "%s%s", found++ > 0 ? "; " : "", settings[i].remedy);
    if (is_container(root))
        buf_printf(
            out,
            "%sthis is a container, whose manager forbids them: start it with `--security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
            "systempaths=unconfined`, or with profiles that allow clone, unshare and mount",
            found++ > 0 ? "; " : "");
    if (found == 0)
        buf_text(out,
                 "nothing that cadre knows of forbids them here: look at the kernel's "
                 "settings (CONFIG_USER_NS), at its log, and at what this program was started by");
}
