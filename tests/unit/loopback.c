/* The badly behaved server. Threads end when their client closes the connection, so nothing here
 * waits by the clock but the drip. Any failure of the machinery itself aborts the test. */
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 512, REQUEST_MAX = 4 << 20 };

struct connection {
    struct loopback *server;
    int fd;
    pthread_t thread;
};

struct loopback {
    const struct loopback_route *routes;
    int fd;
    int port;
    pthread_t thread;
    atomic_int accepted;
    pthread_mutex_t lock;
    char last[8192]; /* under lock: the last request */
    struct connection connections[CONNECTIONS_MAX];
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int listen_any(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(fd >= 0);
    require(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    require(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static bool send_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t sent = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = (struct str){bytes.p + sent, bytes.n - (size_t)sent};
    }
    return true;
}

/* Reads one request with its body into text; false when the client has gone. */
static bool read_request(int fd, char *text, size_t *length)
{
    size_t n = 0;
    for (;;) {
        text[n] = '\0';
        if (n > 0 && text[0] == 0x16) /* a TLS greeting */
            break;
        const char *end = strstr(text, "\r\n\r\n");
        const char *field = strstr(text, "Content-Length: ");
        size_t body = field && end && field < end ? strtoul(field + 16, NULL, 10) : 0;
        if (end && n >= (size_t)(end + 4 - text) + body)
            break;
        require(n < REQUEST_MAX);
        ssize_t got = recv(fd, text + n, REQUEST_MAX - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    *length = n;
    return true;
}

static const struct loopback_route *find_route(const struct loopback *server, const char *request)
{
    char path[256] = "tls";
    if (request[0] != 0x16)
        require(sscanf(request, "%*s %255s", path) == 1);
    for (const struct loopback_route *route = server->routes; route->path; route++)
        if (strcmp(route->path, path) == 0)
            return route;
    return NULL;
}

static bool echo(int fd, const char *request, size_t length)
{
    char head[100];
    int n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", length);
    return send_all(fd, (struct str){head, (size_t)n}) &&
           send_all(fd, (struct str){request, length});
}

static void afterwards(int fd, enum loopback_then then)
{
    char rest[4096];
    struct linger linger = {1, 0};
    memset(rest, 'x', sizeof rest);
    switch (then) {
    case LOOPBACK_KEEP:
    case LOOPBACK_CLOSE:
        break;
    case LOOPBACK_HOLD:
        while (recv(fd, rest, sizeof rest, 0) > 0)
            continue;
        break;
    case LOOPBACK_RESET:
        require(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
        break;
    case LOOPBACK_DRIP:
        while (send_all(fd, STR("3\r\n:.\n\r\n")))
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        break;
    case LOOPBACK_FLOOD:
        while (send_all(fd, (struct str){rest, sizeof rest}))
            continue;
        break;
    }
}

static void remember(struct loopback *server, const char *request)
{
    pthread_mutex_lock(&server->lock);
    snprintf(server->last, sizeof server->last, "%s", request);
    pthread_mutex_unlock(&server->lock);
}

static void *serve(void *argument)
{
    struct connection *connection = argument;
    char *request = malloc(REQUEST_MAX + 1);
    size_t length;
    require(request != NULL);
    while (read_request(connection->fd, request, &length)) {
        remember(connection->server, request);
        const struct loopback_route *route = find_route(connection->server, request);
        bool sent =
            route ? send_all(connection->fd, route->answer) : echo(connection->fd, request, length);
        if (!sent)
            break;
        if (route)
            afterwards(connection->fd, route->then);
        if (route && route->then != LOOPBACK_KEEP)
            break;
    }
    free(request);
    close(connection->fd);
    return NULL;
}

static void *accept_all(void *argument)
{
    struct loopback *server = argument;
    for (;;) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        int i = atomic_load(&server->accepted);
        require(i < CONNECTIONS_MAX);
        struct connection *connection = &server->connections[i];
        *connection = (struct connection){.server = server, .fd = fd};
        /* Counted before it is served: who has an answer finds its connection counted. */
        atomic_store(&server->accepted, i + 1);
        require(pthread_create(&connection->thread, NULL, serve, connection) == 0);
    }
}

struct loopback *loopback_start(const struct loopback_route *routes)
{
    struct loopback *server = calloc(1, sizeof *server);
    require(server != NULL);
    server->routes = routes;
    require(pthread_mutex_init(&server->lock, NULL) == 0);
    server->fd = listen_any(&server->port);
    require(listen(server->fd, 512) == 0);
    require(pthread_create(&server->thread, NULL, accept_all, server) == 0);
    return server;
}

void loopback_stop(struct loopback *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (int i = 0; i < atomic_load(&server->accepted); i++)
        pthread_join(server->connections[i].thread, NULL);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int loopback_port(const struct loopback *server)
{
    return server->port;
}

int loopback_accepted(const struct loopback *server)
{
    return atomic_load(&server->accepted);
}

int loopback_dead_port(void)
{
    int port;
    close(listen_any(&port));
    return port;
}

void loopback_last(struct loopback *server, char *out, size_t size)
{
    pthread_mutex_lock(&server->lock);
    snprintf(out, size, "%s", server->last);
    pthread_mutex_unlock(&server->lock);
}
