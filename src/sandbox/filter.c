/* Which system calls a confined command cannot make. Everything is allowed but what no compiler, interpreter or test needs and what
 * has been a way out before: a list of refusals, because programs that meet an unknown refusal fail in strange ways, and because
 * the other walls do not depend on this one. Calls of other architectures (32 bit, x32) are refused as a whole.
 *
 * Runs once in a process. */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Newer than the library that this is built with; numbers are the same on all machines. */
#define CALL_FCHMODAT2 452
#define CALL_SETXATTRAT 463
#define CALL_REMOVEXATTRAT 466
#define CALL_OPEN_TREE_ATTR 467
#define CALL_FILE_SETATTR 469

#define LOW_HALF 0xffffffffu /* the kernel looks at the lower half of an int argument */

/* Refused whatever their arguments are. ENOSYS where programs then do without. */
static const struct {
    int call, number;
} refused[] = {
    {SCMP_SYS(clone3), ENOSYS}, /* its flags cannot be looked at; libc falls back to clone */
    {SCMP_SYS(io_uring_setup), ENOSYS},
    {SCMP_SYS(io_uring_enter), ENOSYS},
    {SCMP_SYS(io_uring_register), ENOSYS},
    {SCMP_SYS(setns), EPERM},
    {SCMP_SYS(mount), EPERM},
    {SCMP_SYS(umount2), EPERM},
    {SCMP_SYS(pivot_root), EPERM},
    {SCMP_SYS(chroot), EPERM},
    {SCMP_SYS(move_mount), EPERM},
    {SCMP_SYS(open_tree), EPERM},
    {CALL_OPEN_TREE_ATTR, ENOSYS},
    {SCMP_SYS(fsopen), EPERM},
    {SCMP_SYS(fsconfig), EPERM},
    {SCMP_SYS(fsmount), EPERM},
    {SCMP_SYS(fspick), EPERM},
    {SCMP_SYS(mount_setattr), EPERM},
    {SCMP_SYS(keyctl), EPERM},
    {SCMP_SYS(add_key), EPERM},
    {SCMP_SYS(request_key), EPERM},
    {SCMP_SYS(bpf), EPERM},
    {SCMP_SYS(perf_event_open), EPERM},
    {SCMP_SYS(kexec_load), EPERM},
    {SCMP_SYS(kexec_file_load), EPERM},
    {SCMP_SYS(init_module), EPERM},
    {SCMP_SYS(finit_module), EPERM},
    {SCMP_SYS(delete_module), EPERM},
    {SCMP_SYS(userfaultfd), ENOSYS},
    {SCMP_SYS(open_by_handle_at), EPERM},
    {SCMP_SYS(pidfd_getfd), EPERM},
    {SCMP_SYS(kcmp), EPERM},
    {SCMP_SYS(fanotify_init), EPERM},
    {SCMP_SYS(memfd_secret), ENOSYS},
    {SCMP_SYS(memfd_create), ENOSYS}, /* memory that no count of processes and files shows */
    {SCMP_SYS(move_pages), EPERM},
    {SCMP_SYS(migrate_pages), EPERM},
    {SCMP_SYS(acct), EPERM},
    {SCMP_SYS(swapon), EPERM},
    {SCMP_SYS(swapoff), EPERM},
    {SCMP_SYS(reboot), EPERM},
    {SCMP_SYS(syslog), EPERM},
    {SCMP_SYS(vhangup), EPERM},
    {SCMP_SYS(sethostname), EPERM},
    {SCMP_SYS(setdomainname), EPERM},
    {SCMP_SYS(settimeofday), EPERM},
    {SCMP_SYS(clock_settime), EPERM},
    {SCMP_SYS(clock_adjtime), EPERM},
    {SCMP_SYS(adjtimex), EPERM},
    {SCMP_SYS(quotactl), EPERM},
    {SCMP_SYS(quotactl_fd), EPERM},
    {SCMP_SYS(nfsservctl), ENOSYS},
    {SCMP_SYS(lookup_dcookie), EPERM},
    {SCMP_SYS(uselib), ENOSYS},
    {SCMP_SYS(iopl), EPERM},
    {SCMP_SYS(ioperm), EPERM},
    {SCMP_SYS(modify_ldt), EPERM},
};

/* Refused where bits of an argument are set. */
static const struct {
    int call, argument;
    uint64_t bits;
} refused_bits[] = {
    {SCMP_SYS(clone), 0, CLONE_NEWUSER},
    {SCMP_SYS(clone), 0, CLONE_NEWNS},
    {SCMP_SYS(clone), 0, CLONE_NEWPID},
    {SCMP_SYS(clone), 0, CLONE_NEWNET},
    {SCMP_SYS(clone), 0, CLONE_NEWIPC},
    {SCMP_SYS(clone), 0, CLONE_NEWUTS},
    {SCMP_SYS(clone), 0, CLONE_NEWCGROUP},
    {SCMP_SYS(unshare), 0, CLONE_NEWUSER},
    {SCMP_SYS(unshare), 0, CLONE_NEWNS},
    {SCMP_SYS(unshare), 0, CLONE_NEWPID},
    {SCMP_SYS(unshare), 0, CLONE_NEWNET},
    {SCMP_SYS(unshare), 0, CLONE_NEWIPC},
    {SCMP_SYS(unshare), 0, CLONE_NEWUTS},
    {SCMP_SYS(unshare), 0, CLONE_NEWCGROUP},
    {SCMP_SYS(unshare), 0, CLONE_NEWTIME},
    {SCMP_SYS(personality), 0, READ_IMPLIES_EXEC},
    {SCMP_SYS(personality), 0, MMAP_PAGE_ZERO},
    /* A setuid or setgid file in the workspace would serve other users of the machine. */
    {SCMP_SYS(chmod), 1, S_ISUID},
    {SCMP_SYS(fchmod), 1, S_ISUID},
    {SCMP_SYS(fchmodat), 2, S_ISUID},
    {CALL_FCHMODAT2, 2, S_ISUID},
    {SCMP_SYS(open), 2, S_ISUID},
    {SCMP_SYS(openat), 3, S_ISUID},
    {SCMP_SYS(creat), 1, S_ISUID},
    {SCMP_SYS(mknod), 1, S_ISUID},
    {SCMP_SYS(mknodat), 2, S_ISUID},
    {SCMP_SYS(chmod), 1, S_ISGID},
    {SCMP_SYS(fchmod), 1, S_ISGID},
    {SCMP_SYS(fchmodat), 2, S_ISGID},
    {CALL_FCHMODAT2, 2, S_ISGID},
    {SCMP_SYS(open), 2, S_ISGID},
    {SCMP_SYS(openat), 3, S_ISGID},
    {SCMP_SYS(creat), 1, S_ISGID},
    {SCMP_SYS(mknod), 1, S_ISGID},
    {SCMP_SYS(mknodat), 2, S_ISGID},
};

/* Refused where an int argument has a value. */
static const struct {
    int call, argument;
    uint64_t value;
} refused_values[] = {
    {SCMP_SYS(ioctl), 1, TIOCSTI},
    {SCMP_SYS(ioctl), 1, TIOCLINUX},
};

/* Without namespaces: calls on paths that Landlock does not judge. The launcher makes them itself where the path may be written. */
static const int metadata[] = {
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat),  CALL_FCHMODAT2,
    SCMP_SYS(chown), SCMP_SYS(lchown), SCMP_SYS(fchown),    SCMP_SYS(fchownat),
    SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(utimensat),
};

/* Without namespaces: attributes that programs do without where a file system has none. */
static const struct {
    int call, number;
} attributes[] = {
    {SCMP_SYS(setxattr), EOPNOTSUPP},
    {SCMP_SYS(lsetxattr), EOPNOTSUPP},
    {SCMP_SYS(fsetxattr), EOPNOTSUPP},
    {SCMP_SYS(removexattr), EOPNOTSUPP},
    {SCMP_SYS(lremovexattr), EOPNOTSUPP},
    {SCMP_SYS(fremovexattr), EOPNOTSUPP},
    {CALL_SETXATTRAT, ENOSYS},
    {CALL_REMOVEXATTRAT, ENOSYS},
    {CALL_FILE_SETATTR, ENOSYS},
};

/* The same by ioctl: flags of inodes (chattr), their version and their project. */
static const uint32_t attribute_ioctls[] = {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR,
                                            FS_IOC_SETVERSION, FS_IOC32_SETVERSION};

static uint32_t refusal(enum filter_kind kind, int number)
{
    bool told = kind == FILTER_USUAL || kind == FILTER_BARE || kind == FILTER_OFFLINE;
    /* Programs do without what does not exist: that is not worth telling. */
    return told && number != ENOSYS ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO((uint32_t)number);
}

static int add_metadata(scmp_filter_ctx context)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof metadata / sizeof metadata[0]; i++)
        failed |= seccomp_rule_add(context, SCMP_ACT_NOTIFY, metadata[i], 0);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        failed |= seccomp_rule_add(context, SCMP_ACT_ERRNO((uint32_t)attributes[i].number),
                                   attributes[i].call, 0);
    for (size_t i = 0; i < sizeof attribute_ioctls / sizeof attribute_ioctls[0]; i++)
        failed |= seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 1,
                                   SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_HALF, attribute_ioctls[i]));
    return failed;
}

static int add_sockets(scmp_filter_ctx context, enum filter_kind kind)
{
    static const int usual[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    uint32_t action = refusal(kind, EAFNOSUPPORT);
    size_t allowed = kind == FILTER_OFFLINE ? 1 : sizeof usual / sizeof usual[0];
    int failed = 0;
    for (int family = 0; family <= AF_NETLINK; family++) {
        bool found = false;
        for (size_t i = 0; i < allowed; i++)
            found |= usual[i] == family;
        if (!found)
            failed |= seccomp_rule_add(context, action, SCMP_SYS(socket), 1,
                                       SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, (uint64_t)family));
    }
    /* Of netlink, what lists addresses and routes. */
    if (kind != FILTER_OFFLINE)
        failed |= seccomp_rule_add(context, action, SCMP_SYS(socket), 2,
                                   SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_HALF, AF_NETLINK),
                                   SCMP_A2(SCMP_CMP_GT, NETLINK_ROUTE, 0));
    failed |=
        seccomp_rule_add(context, action, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
    return failed;
}

static int add_bits(scmp_filter_ctx context, enum filter_kind kind)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof refused_bits / sizeof refused_bits[0]; i++)
        failed |= seccomp_rule_add(context, refusal(kind, EPERM), refused_bits[i].call, 1,
                                   SCMP_CMP((unsigned)refused_bits[i].argument, SCMP_CMP_MASKED_EQ,
                                            refused_bits[i].bits, refused_bits[i].bits));
    return failed;
}

static int add_rules(scmp_filter_ctx context, enum filter_kind kind)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (refused[i].call != __NR_SCMP_ERROR)
            failed |=
                seccomp_rule_add(context, refusal(kind, refused[i].number), refused[i].call, 0);
    if (kind != FILTER_OWN)
        failed |= add_bits(context, kind);
    if (kind == FILTER_BARE || kind == FILTER_OFFLINE)
        failed |= add_metadata(context);
    for (size_t i = 0; i < sizeof refused_values / sizeof refused_values[0]; i++)
        failed |= seccomp_rule_add(context, refusal(kind, EPERM), refused_values[i].call, 1,
                                   SCMP_CMP((unsigned)refused_values[i].argument,
                                            SCMP_CMP_MASKED_EQ, LOW_HALF, refused_values[i].value));
    return failed | add_sockets(context, kind);
}

/* The library writes to descriptors only. */
static int export(scmp_filter_ctx context, struct buf *program)
{
    char block[4096];
    ssize_t n = -1;
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (seccomp_export_bpf(context, fd) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        while ((n = read(fd, block, sizeof block)) > 0)
            buf_add(program, block, (size_t)n);
    close(fd);
    return n == 0 && !program->failed ? 0 : -1;
}

int filter_compile(enum filter_kind kind, struct buf *program, struct err *err)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    int failed = context == NULL ? -1 : 0;
    if (failed == 0)
        failed = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) |
                 seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (failed == 0)
        failed = add_rules(context, kind);
    if (failed == 0)
        failed = export(context, program);
    if (context != NULL)
        seccomp_release(context);
    return failed == 0 ? 0 : err_set(err, ERR_BUG, "cannot compile the filter of system calls");
}
