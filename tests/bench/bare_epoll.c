/* The least that a client can do: non-blocking sockets and epoll, one connection per agent, a reply is over where
 * its last chunk is. The floor that cadre with 10,000 children is held against. One thread.
 *
 * Usage: bench-epoll PORT PLAN */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plan.h"

#define EVENTS_AT_ONCE 512

struct agent {
    int fd; /* -1 before its first request; kept for later phases */
    size_t turn;
    char head[256];
    size_t head_n, sent; /* of head and body together */
    char tail[5];        /* the last bytes that came */
    uint32_t events;     /* what is watched */
};

struct client {
    int epoll, port;
    struct agent *agents;
    struct phase *phase;
    size_t working;
    char in[65536];
};

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "bench-epoll: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void watch(struct client *client, struct agent *agent, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = agent};
    if (agent->events == events)
        return;
    if (epoll_ctl(client->epoll, agent->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, agent->fd,
                  &event) != 0)
        fail("epoll");
    agent->events = events;
}

static void agent_connect(struct client *client, struct agent *agent)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)client->port)};
    int one = 1;
    agent->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (agent->fd < 0 || (connect(agent->fd, (struct sockaddr *)&address, sizeof address) != 0 &&
                          errno != EINPROGRESS))
        fail("connect");
    setsockopt(agent->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void agent_send(struct client *client, struct agent *agent)
{
    char *body = client->phase->bodies[agent->turn];
    size_t body_n = client->phase->sizes[agent->turn];
    while (agent->sent < agent->head_n + body_n) {
        size_t of_head = agent->sent < agent->head_n ? agent->head_n - agent->sent : 0;
        size_t of_body = of_head > 0 ? 0 : agent->sent - agent->head_n;
        struct iovec pieces[2] = {{agent->head + agent->head_n - of_head, of_head},
                                  {body + of_body, body_n - of_body}};
        ssize_t n = writev(agent->fd, pieces, 2);
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
            watch(client, agent, EPOLLOUT);
            return;
        }
        if (n < 0)
            fail("send");
        agent->sent += (size_t)n;
    }
    watch(client, agent, EPOLLIN);
}

static void request_start(struct client *client, struct agent *agent)
{
    agent->sent = 0;
    memset(agent->tail, 0, sizeof agent->tail);
    int n = snprintf(agent->head, sizeof agent->head,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     client->port, client->phase->sizes[agent->turn]);
    agent->head_n = (size_t)n;
    agent_send(client, agent);
}

static void tail_move(struct agent *agent, const char *bytes, size_t n)
{
    size_t size = sizeof agent->tail, fresh = n < size ? n : size;
    memmove(agent->tail, agent->tail + fresh, size - fresh);
    memcpy(agent->tail + size - fresh, bytes + n - fresh, fresh);
}

static void agent_receive(struct client *client, struct agent *agent)
{
    ssize_t n = recv(agent->fd, client->in, sizeof client->in, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        fail("receive");
    tail_move(agent, client->in, (size_t)n);
    if (memcmp(agent->tail, "0\r\n\r\n", sizeof agent->tail) != 0)
        return;
    if (++agent->turn < client->phase->turns)
        request_start(client, agent);
    else
        client->working--;
}

static void phase_run(struct client *client, struct phase *phase)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    phase_bodies_make(phase);
    client->phase = phase;
    client->working = phase->agents;
    for (size_t i = 0; i < phase->agents; i++) {
        struct agent *agent = &client->agents[i];
        agent->turn = 0;
        if (agent->fd < 0)
            agent_connect(client, agent);
        request_start(client, agent);
    }
    while (client->working > 0) {
        int n = epoll_wait(client->epoll, events, EVENTS_AT_ONCE, 60000);
        if (n == 0)
            errno = ETIMEDOUT;
        if (n <= 0)
            fail("no answer");
        for (int i = 0; i < n; i++) {
            struct agent *agent = events[i].data.ptr;
            if (agent->events == EPOLLOUT)
                agent_send(client, agent);
            else
                agent_receive(client, agent);
        }
    }
    phase_bodies_free(phase);
}

int main(int argc, char **argv)
{
    struct plan plan;
    struct client *client = calloc(1, sizeof *client);
    if (!client || argc != 3 || (client->port = port_parse(argv[1])) < 0) {
        fprintf(stderr, "usage: bench-epoll PORT PLAN\n");
        return 2;
    }
    if (plan_read(&plan, argv[2]) != 0)
        return 2;
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    client->agents = calloc(plan.agents_max, sizeof *client->agents);
    if (client->epoll < 0 || !client->agents)
        fail("start");
    for (size_t i = 0; i < plan.agents_max; i++)
        client->agents[i].fd = -1;
    for (size_t i = 0; i < plan.count; i++)
        phase_run(client, &plan.phases[i]);
    free(client->agents);
    free(client);
    plan_free(&plan);
    return 0;
}
