/* How much memory sockets hold in their buffers: it belongs to no process, so /proc does not show it. The kernel lists sockets of a
 * network namespace with their buffers (sock_diag). It does not list a socket that was closed while its data waits to be read, nor a
 * connection that was reset; but it counts all sockets (/proc/net/sockstat), so the rest is known by number and estimated.
 *
 * Only where the network namespace is the command's own. In the first process; both descriptors are opened before its filter. */
#include "sandbox/launcher.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_MOST ((uint64_t)64 << 20)      /* bytes that one socket can hold, more or less */
#define SOCKET_UNLISTED ((uint64_t)416 << 10) /* one that is not listed: twice the usual limit */
/* These have no buffers, and are not among the sockets that the kernel counts. */
#define STATES_WITHOUT_SOCKET ((1u << TCP_TIME_WAIT) | (1u << TCP_SYN_RECV) | (1u << 12))
#define PEER_IS_CLOSED 3 /* of UNIX_DIAG_SHUTDOWN */

struct held {
    uint64_t bytes, sockets;
};

void launch_open_sockets(struct launch *launch)
{
    launch->socket_count = open("/proc/self/net/sockstat", O_RDONLY | O_CLOEXEC);
    launch->socket_list = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

/* All sockets of the namespace, or 0 where that cannot be told. */
static uint64_t count_sockets(const struct launch *launch)
{
    static const char before[] = "sockets: used ";
    char text[64];
    ssize_t n = pread(launch->socket_count, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return strncmp(text, before, sizeof before - 1) == 0
               ? strtoull(text + sizeof before - 1, NULL, 10)
               : 0;
}

/* --- one socket of the list ------------------------------------------------------------------------------------------------------- */

struct attributes {
    const uint32_t *memory; /* by SK_MEMINFO_*, or NULL */
    uint32_t unread;
    uint8_t shutdown;
};

static void add_buffers(const struct attributes *found, struct held *held)
{
    const uint32_t *memory = found->memory;
    uint32_t sent = memory[SK_MEMINFO_WMEM_ALLOC];
    if (memory[SK_MEMINFO_WMEM_QUEUED] > sent)
        sent = memory[SK_MEMINFO_WMEM_QUEUED];
    held->bytes += (uint64_t)sent + memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_BACKLOG];
    held->sockets++;
    /* A unix socket's data is counted where it was sent from, which is on no list once that is closed. */
    if (found->shutdown == PEER_IS_CLOSED)
        held->bytes += found->unread;
}

static void add_unix(const struct nlmsghdr *message, struct held *held)
{
    const struct unix_diag_msg *socket = NLMSG_DATA(message);
    const struct rtattr *at = (const struct rtattr *)(socket + 1);
    int left = (int)NLMSG_PAYLOAD(message, sizeof *socket);
    struct attributes found = {0};
    for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        size_t n = RTA_PAYLOAD(at);
        if (at->rta_type == UNIX_DIAG_MEMINFO && n > SK_MEMINFO_BACKLOG * sizeof(uint32_t))
            found.memory = RTA_DATA(at);
        else if (at->rta_type == UNIX_DIAG_RQLEN && n >= sizeof(struct unix_diag_rqlen))
            found.unread = ((const struct unix_diag_rqlen *)RTA_DATA(at))->udiag_rqueue;
        else if (at->rta_type == UNIX_DIAG_SHUTDOWN && n >= 1)
            found.shutdown = *(const uint8_t *)RTA_DATA(at);
    }
    if (found.memory != NULL)
        add_buffers(&found, held);
}

static void add_internet(const struct nlmsghdr *message, struct held *held)
{
    const struct inet_diag_msg *socket = NLMSG_DATA(message);
    const struct rtattr *at = (const struct rtattr *)(socket + 1);
    int left = (int)NLMSG_PAYLOAD(message, sizeof *socket);
    struct attributes found = {0};
    for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
        if (at->rta_type == INET_DIAG_SKMEMINFO &&
            RTA_PAYLOAD(at) > SK_MEMINFO_BACKLOG * sizeof(uint32_t))
            found.memory = RTA_DATA(at);
    if (found.memory != NULL)
        add_buffers(&found, held);
}

/* --- lists ------------------------------------------------------------------------------------------------------------------------ */

struct request {
    struct nlmsghdr head;
    union {
        struct unix_diag_req in_unix;
        struct inet_diag_req_v2 internet;
    } of;
};

/* False where the kernel has no such list. A list must be read to its end, or the next cannot be asked for. */
static bool add_list(const struct launch *launch, struct request *request, size_t bytes,
                     struct held *held)
{
    static char text[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
    ssize_t n;
    request->head = (struct nlmsghdr){.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + bytes),
                                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
    if (send(launch->socket_list, request, request->head.nlmsg_len, 0) < 0)
        return false;
    while ((n = recv(launch->socket_list, text, sizeof text, MSG_DONTWAIT)) > 0) {
        const struct nlmsghdr *message = (const struct nlmsghdr *)text;
        for (; NLMSG_OK(message, n); message = NLMSG_NEXT(message, n)) {
            if (message->nlmsg_type == NLMSG_DONE)
                return true;
            if (message->nlmsg_type == NLMSG_ERROR)
                return false;
            if (request->of.in_unix.sdiag_family == AF_UNIX)
                add_unix(message, held);
            else
                add_internet(message, held);
        }
    }
    return false;
}

static bool add_unix_sockets(const struct launch *launch, struct held *held)
{
    struct request request = {.of.in_unix = {.sdiag_family = AF_UNIX,
                                             .udiag_states = ~0u,
                                             .udiag_show = UDIAG_SHOW_MEMINFO | UDIAG_SHOW_RQLEN}};
    return add_list(launch, &request, sizeof request.of.in_unix, held);
}

static bool add_internet_sockets(const struct launch *launch, uint8_t family, uint8_t protocol,
                                 struct held *held)
{
    struct request request = {.of.internet = {.sdiag_family = family,
                                              .sdiag_protocol = protocol,
                                              .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                                              .idiag_states = ~STATES_WITHOUT_SOCKET}};
    return add_list(launch, &request, sizeof request.of.internet, held);
}

uint64_t launch_held_by_sockets(const struct launch *launch, uint64_t left)
{
    struct held held = {0};
    uint64_t all = count_sockets(launch);
    /* A list costs time for each socket: none is asked for where the sockets cannot hold what is left. */
    if (all * SOCKET_MOST <= left)
        return 0;
    bool whole = add_unix_sockets(launch, &held);
    whole &= add_internet_sockets(launch, AF_INET, IPPROTO_TCP, &held);
    whole &= add_internet_sockets(launch, AF_INET, IPPROTO_UDP, &held);
    whole &= add_internet_sockets(launch, AF_INET6, IPPROTO_TCP, &held);
    whole &= add_internet_sockets(launch, AF_INET6, IPPROTO_UDP, &held);
    if (whole && all > held.sockets)
        held.bytes += (all - held.sockets) * SOCKET_UNLISTED;
    return held.bytes;
}
