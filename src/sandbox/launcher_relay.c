/* The one way out where the network is `relay`: a process inside that listens on a port of the loopback and carries bytes to and from
 * one unix socket of the machine. It has the same walls as the command; the socket's place was opened before they stood. */
#include "sandbox/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS_MAX 64
#define BLOCK 16384

/* One direction: bytes read here and not yet written there. */
struct flow {
    char bytes[BLOCK];
    size_t from, to;
    enum { FLOW_OPEN, FLOW_ENDED, FLOW_CLOSED } state;
};

struct pair {
    int near, far; /* -1: free */
    struct flow out, in;
};

static int listen_on(uint32_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 64) != 0)
        launch_fail("relay", "cannot listen on port %u", port);
    return fd;
}

static int connect_far(int socket_place)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", socket_place);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void accept_one(struct pair *pairs, int listener, int socket_place)
{
    size_t i = 0;
    while (i < PAIRS_MAX && pairs[i].near >= 0)
        i++;
    int near = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int far = near >= 0 && i < PAIRS_MAX ? connect_far(socket_place) : -1;
    if (far < 0) {
        if (near >= 0)
            close(near);
        return;
    }
    pairs[i].near = near;
    pairs[i].far = far;
    pairs[i].out.from = pairs[i].out.to = pairs[i].in.from = pairs[i].in.to = 0;
    pairs[i].out.state = pairs[i].in.state = FLOW_OPEN;
}

/* Moves what can be moved. -1: the connection is broken. */
static int carry(struct flow *flow, int source, int target, short ready)
{
    if (flow->state == FLOW_OPEN && flow->from == flow->to && (ready & (POLLIN | POLLHUP)) != 0) {
        ssize_t n = read(source, flow->bytes, BLOCK);
        if (n < 0 && errno != EAGAIN)
            return -1;
        flow->from = 0;
        flow->to = n > 0 ? (size_t)n : 0;
        if (n == 0)
            flow->state = FLOW_ENDED;
    }
    if (flow->from < flow->to) {
        ssize_t n = send(target, flow->bytes + flow->from, flow->to - flow->from, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return -1;
        flow->from += n > 0 ? (size_t)n : 0;
    }
    if (flow->state == FLOW_ENDED && flow->from == flow->to) {
        shutdown(target, SHUT_WR);
        flow->state = FLOW_CLOSED;
    }
    return 0;
}

/* What to wait for at one end; an end that waits for nothing is left out, or its hanging up would be told again and again. */
static struct pollfd wanted(int fd, const struct flow *from_here, const struct flow *to_here)
{
    struct pollfd poll = {.fd = fd};
    if (from_here->state == FLOW_OPEN && from_here->from == from_here->to)
        poll.events |= POLLIN;
    if (to_here->from < to_here->to)
        poll.events |= POLLOUT;
    if (poll.events == 0)
        poll.fd = -1;
    return poll;
}

static void serve_pair(struct pair *pair, short near, short far)
{
    int failed = ((near | far) & POLLERR) != 0 ? -1 : 0;
    if (failed == 0)
        failed = carry(&pair->out, pair->near, pair->far, near);
    if (failed == 0)
        failed = carry(&pair->in, pair->far, pair->near, far);
    if (failed == 0 && (pair->out.state != FLOW_CLOSED || pair->in.state != FLOW_CLOSED))
        return;
    close(pair->near);
    close(pair->far);
    pair->near = pair->far = -1;
}

static _Noreturn void forward(int listener, int socket_place)
{
    static struct pair pairs[PAIRS_MAX];
    struct pollfd polls[1 + 2 * PAIRS_MAX];
    for (size_t i = 0; i < PAIRS_MAX; i++)
        pairs[i].near = pairs[i].far = -1;
    for (;;) {
        polls[0] = (struct pollfd){listener, POLLIN, 0};
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            struct pair *pair = &pairs[i];
            polls[1 + 2 * i] = wanted(pair->near, &pair->out, &pair->in);
            polls[2 + 2 * i] = wanted(pair->far, &pair->in, &pair->out);
        }
        if (poll(polls, 1 + 2 * PAIRS_MAX, -1) < 0 && errno != EINTR)
            _exit(1);
        for (size_t i = 0; i < PAIRS_MAX; i++)
            if (pairs[i].near >= 0 && (polls[1 + 2 * i].revents | polls[2 + 2 * i].revents) != 0)
                serve_pair(&pairs[i], polls[1 + 2 * i].revents, polls[2 + 2 * i].revents);
        if (polls[0].revents != 0)
            accept_one(pairs, listener, socket_place);
    }
}

void launch_start_relay(const struct launch *launch)
{
    int listener = listen_on(launch->head->relay_port);
    pid_t pid = fork();
    if (pid < 0)
        launch_fail("relay", "cannot start the forwarder");
    if (pid == 0) {
        close_range(0, 2, 0);
        launch_restrict_own_calls(launch);
        close(LAUNCH_STATUS);
        close(LAUNCH_LIFELINE);
        forward(listener, launch->relay_socket);
    }
    close(listener);
    close(launch->relay_socket);
}
