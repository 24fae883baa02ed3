/* What the filter refuses is told to the first process, which records it and answers: a refusal in silence looks like a fault of the
 * program. Without namespaces it also makes changes of metadata for commands (launcher_metadata.c).
 *
 * A decision never rests on what the kernel reads again: a call is refused, or made here, never let through. So nobody gains by
 * changing an argument after it was looked at. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTICE_BYTES 512 /* of the kernel's structures, which may grow */

/* --- filters -------------------------------------------------------------------------------------------------------------------- */

static int install(const struct launch *launch, struct launch_part part, unsigned flags)
{
    struct sock_fprog program = {.len = (unsigned short)part.count,
                                 .filter = (struct sock_filter *)(launch->area + part.at)};
    if (program.len == 0)
        launch_refuse("seccomp", "the message has no filter");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

void launch_restrict_own_calls(const struct launch *launch)
{
    if (!launch_has(launch, LAUNCH_WALL_SECCOMP))
        return;
    if (install(launch, launch->head->own_filter, 0) != 0)
        launch_fail("seccomp", "cannot install the filter of the launcher");
}

static void send_listener(int channel, int listener)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec text = {"l", 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.head), &listener, sizeof listener);
    if (sendmsg(channel, &message, MSG_NOSIGNAL) != 1)
        launch_fail("seccomp", "cannot hand over the filter");
}

void launch_restrict_command_calls(const struct launch *launch, int channel)
{
    if (!launch_has(launch, LAUNCH_WALL_SECCOMP))
        return;
    int listener = install(launch, launch->head->filter, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    /* Somebody listens already, such as the manager of a container, and there can be only one. */
    if (listener < 0 && errno == EBUSY && launch->head->silent_filter.count > 0) {
        if (install(launch, launch->head->silent_filter, 0) != 0)
            launch_fail("seccomp", "cannot install the filter");
        return;
    }
    if (listener < 0)
        launch_fail("seccomp", "cannot install the filter");
    send_listener(channel, listener);
}

int launch_receive_listener(int channel)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec text = {&byte, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int listener = -1;
    if (recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 &&
        message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS)
        memcpy(&listener, CMSG_DATA(&control.head), sizeof listener);
    return listener;
}

/* --- records -------------------------------------------------------------------------------------------------------------------- */

/* The name is the program's to choose: only what can stand in a line is kept. */
static void name_program(uint32_t process, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/comm", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, 15) : -1;
    if (fd >= 0)
        close(fd);
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (char *at = name; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 127)
            *at = '?';
}

static void record(struct refusals *refusals, const struct seccomp_notif *notice)
{
    struct refusal *found = NULL;
    for (size_t i = 0; i < refusals->count; i++)
        if (refusals->items[i].call == notice->data.nr)
            found = &refusals->items[i];
    if (found == NULL && refusals->count < LAUNCH_REFUSALS_MAX) {
        found = &refusals->items[refusals->count++];
        *found = (struct refusal){.call = notice->data.nr};
        name_program(notice->pid, found->program);
    }
    if (found != NULL)
        found->times++;
}

void launch_share_refusals(struct launch *launch)
{
    launch->refusals = mmap(NULL, sizeof *launch->refusals, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (launch->refusals == MAP_FAILED)
        launch_fail("seccomp", "no memory to record what is refused");
}

void launch_say_refusals(const struct launch *launch)
{
    const struct refusals *refusals = launch->refusals;
    char line[64];
    for (size_t i = 0; i < refusals->count; i++) {
        const struct refusal *refusal = &refusals->items[i];
        snprintf(line, sizeof line, "r %d %llu %s\n", refusal->call, refusal->times,
                 refusal->program);
        launch_say(line);
    }
}

/* --- answers -------------------------------------------------------------------------------------------------------------------- */

void launch_answer(const struct launch *launch, int listener)
{
    union {
        struct seccomp_notif notice;
        char bytes[NOTICE_BYTES];
    } in;
    union {
        struct seccomp_notif_resp answer;
        char bytes[NOTICE_BYTES];
    } out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) != 0)
        return; /* whoever asked is gone, or a signal came: it asks again */
    int number = launch_change_metadata(launch, listener, &in.notice);
    if (number == METADATA_REFUSED) {
        record(launch->refusals, &in.notice);
        number = in.notice.data.nr == SYS_socket ? EAFNOSUPPORT : EPERM;
    }
    out.answer.id = in.notice.id;
    out.answer.error = -number;
    int sent = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
    (void)sent; /* whoever asked may be gone by now */
}
