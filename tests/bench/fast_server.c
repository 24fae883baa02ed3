/* The model server of the benchmark: one thread, epoll, HTTP/1.1 with keep-alive. Answers POST with prepared bytes
 * (replies.c), chosen by two cheap scans of the request: the first user message, and how many assistant messages
 * there are. No JSON is parsed, nothing is checked; the strict server for tests is src/scripted.
 *
 * With --faults some requests of leaves fail, chosen by their number: 429, 500, an answer that is cut, one that hangs.
 *
 * GET /stats answers what was seen so far, /release sends the reply that --hold-last keeps back, /reset forgets.
 * Prints its port as the first line. Ends with its standard input. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "replies.h"

#define REQUEST_MAX ((size_t)64 << 20)
#define TURNS_SEEN 512 /* later ones are counted with the last */
#define EVENTS_AT_ONCE 512
#define HANG_NS 3000000000 /* before a request that hangs loses its connection */

enum kind { KIND_ROOT, KIND_LEAD, KIND_LEAF, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"root", "lead", "leaf"};

struct connection {
    int fd;
    struct buf in;
    const char *out; /* what is left of the reply */
    size_t out_n;
    enum { READING, DELAYED, HELD, WRITING } state;
    const struct buf
        *reply;  /* while DELAYED or HELD; NULL: the connection is lost when the delay is over */
    int64_t due; /* nanoseconds, while DELAYED */
    struct connection *next; /* in the line of delayed ones, all of which wait equally long */
    bool closed;             /* to be freed when its turn in the line comes */
};

struct seen {
    uint64_t requests, request_bytes, reply_bytes, connections, bad, faults;
    uint64_t in_flight, in_flight_max;
    int64_t first_at, last_at; /* CLOCK_MONOTONIC, nanoseconds */
    uint64_t counts[KIND_COUNT][TURNS_SEEN], bytes[KIND_COUNT][TURNS_SEEN];
};

struct server {
    int epoll, listener;
    struct replies *replies;
    struct shape shape;
    int64_t delay;   /* nanoseconds before the first byte of a leaf's reply */
    uint64_t faults; /* of a thousand requests of leaves; not together with a delay */
    bool hold_last;
    struct connection *held;
    struct connection *line, **line_end;
    struct seen seen;
    struct buf answer; /* of /stats */
    char scratch[256 * 1024];
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void watch(struct server *server, struct connection *c, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(server->epoll, EPOLL_CTL_MOD, c->fd, &event);
}

static void connection_free(struct connection *c)
{
    buf_release(&c->in);
    free(c);
}

static void connection_close(struct server *server, struct connection *c)
{
    if (c->state == DELAYED || c->state == HELD)
        server->seen.in_flight--;
    if (c->state == HELD)
        server->held = NULL;
    close(c->fd);
    if (c->state == DELAYED)
        c->closed = true;
    else
        connection_free(c);
}

/* --- replies ------------------------------------------------------------------------------------------- */

/* A connection that breaks here is closed where it is read next. */
static void send_some(struct server *server, struct connection *c)
{
    while (c->out_n > 0) {
        ssize_t n = send(c->fd, c->out, c->out_n, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            c->state = WRITING;
            watch(server, c, EPOLLOUT);
            return;
        }
        if (n < 0)
            break;
        c->out += n;
        c->out_n -= (size_t)n;
    }
    if (c->state == WRITING)
        watch(server, c, EPOLLIN);
    c->state = READING;
}

static void reply_send(struct server *server, struct connection *c, const struct buf *reply)
{
    c->out = reply->p;
    c->out_n = reply->n;
    send_some(server, c);
}

static void model_reply_send(struct server *server, struct connection *c)
{
    server->seen.in_flight--;
    server->seen.reply_bytes += c->reply->n;
    c->state = READING;
    reply_send(server, c, c->reply);
}

static void stats_print(struct server *server, struct buf *out)
{
    const struct seen *seen = &server->seen;
    buf_printf(out,
               "{\"requests\":%llu,\"request_bytes\":%llu,\"reply_bytes\":%llu,"
               "\"connections\":%llu,\"bad\":%llu,\"faults\":%llu,\"in_flight\":%llu,\"in_flight_"
               "max\":%llu,"
               "\"first_at\":%lld,\"last_at\":%lld,\"held\":%d",
               (unsigned long long)seen->requests, (unsigned long long)seen->request_bytes,
               (unsigned long long)seen->reply_bytes, (unsigned long long)seen->connections,
               (unsigned long long)seen->bad, (unsigned long long)seen->faults,
               (unsigned long long)seen->in_flight, (unsigned long long)seen->in_flight_max,
               (long long)seen->first_at, (long long)seen->last_at, server->held != NULL);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        buf_printf(out, ",\"%s\":[", kind_names[kind]);
        for (size_t i = 0; i < TURNS_SEEN && seen->counts[kind][i] > 0; i++)
            buf_printf(out, "%s[%llu,%llu]", i > 0 ? "," : "",
                       (unsigned long long)seen->counts[kind][i],
                       (unsigned long long)seen->bytes[kind][i]);
        buf_char(out, ']');
    }
    buf_char(out, '}');
}

static void control(struct server *server, struct connection *c, struct str path)
{
    struct buf body;
    buf_init(&body, 1 << 20);
    if (str_starts(path, STR("/stats"))) {
        stats_print(server, &body);
    } else if (str_starts(path, STR("/reset"))) {
        server->seen = (struct seen){.in_flight = server->seen.in_flight};
    } else if (str_starts(path, STR("/release"))) {
        server->hold_last = false;
        if (server->held) {
            struct connection *held = server->held;
            server->held = NULL;
            model_reply_send(server, held);
        }
    }
    buf_clear(&server->answer);
    buf_printf(&server->answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", body.n,
               body.n > 0 ? body.p : "");
    buf_release(&body);
    reply_send(server, c, &server->answer);
}

/* --- requests ------------------------------------------------------------------------------------------ */

static size_t count_of(struct str text, struct str needle)
{
    size_t count = 0;
    const char *at = text.p, *end = text.p + text.n;
    while ((at = memmem(at, (size_t)(end - at), needle.p, needle.n))) {
        count++;
        at += needle.n;
    }
    return count;
}

static void account(struct server *server, struct str kind, size_t turn, size_t bytes)
{
    struct seen *seen = &server->seen;
    seen->last_at = now_ns();
    if (seen->requests == 0)
        seen->first_at = seen->last_at;
    seen->requests++;
    seen->request_bytes += bytes;
    if (++seen->in_flight > seen->in_flight_max)
        seen->in_flight_max = seen->in_flight;
    for (int i = 0; i < KIND_COUNT; i++) {
        if (!str_is(kind, kind_names[i]))
            continue;
        size_t slot = turn < TURNS_SEEN ? turn : TURNS_SEEN - 1;
        seen->counts[i][slot]++;
        seen->bytes[i][slot] += bytes;
    }
}

/* --- faults ---------------------------------------------------------------------------------------------- */

static void line_add(struct server *server, struct connection *c, int64_t delay)
{
    c->state = DELAYED;
    c->due = now_ns() + delay;
    c->next = NULL;
    *server->line_end = c;
    server->line_end = &c->next;
}

/* splitmix64: the same requests fail each time. */
static uint64_t hash_of(uint64_t number)
{
    uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* No two bodies are alike: the same error again and again would be final. */
static void refuse(struct server *server, struct connection *c, const char *status)
{
    char body[96];
    int n = snprintf(body, sizeof body, "{\"error\":{\"message\":\"fault %llu\"}}",
                     (unsigned long long)server->seen.faults);
    buf_clear(&server->answer);
    buf_printf(&server->answer, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, n, body);
    server->seen.in_flight--;
    reply_send(server, c, &server->answer);
}

/* A connection that is shut down here is closed where it is read next. */
static void fault(struct server *server, struct connection *c, uint64_t kind)
{
    server->seen.faults++;
    if (kind == 0) {
        refuse(server, c, "429 Too Many Requests\r\nRetry-After: 1");
    } else if (kind == 1) {
        refuse(server, c, "500 Internal Server Error");
    } else if (kind == 2) {
        server->seen.in_flight--;
        send(c->fd, c->reply->p, c->reply->n / 2, MSG_NOSIGNAL);
        shutdown(c->fd, SHUT_RDWR);
    } else {
        c->reply = NULL;
        line_add(server, c, HANG_NS);
    }
}

static void completion(struct server *server, struct connection *c, struct str body)
{
    static const char first[] = "\"role\":\"user\",\"content\":\"";
    static const struct buf refused = {
        .p = (char *)(uintptr_t) "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", .n = 47};
    const char *user = memmem(body.p, body.n, first, sizeof first - 1);
    struct str kind = STR("");
    size_t assistants = count_of(body, STR("\"role\":\"assistant\""));
    size_t share = 0;
    if (user && (size_t)(body.p + body.n - user) > sizeof first + 8) {
        kind = (struct str){user + sizeof first - 1, 4};
        share = strtoul(kind.p + 4, NULL, 10); /* ends at the quote */
    }
    if (share == 0 && server->shape.leads > 0)
        share = (server->shape.children + server->shape.leads - 1) / server->shape.leads;
    account(server, kind, assistants, body.n);
    c->reply = replies_find(server->replies, kind, assistants, share);
    if (!c->reply) {
        server->seen.bad++;
        c->reply = &refused;
    } else if (server->hold_last && !server->held &&
               replies_is_last(server->replies, kind, assistants)) {
        c->state = HELD;
        server->held = c;
        return;
    } else if (server->delay > 0 && str_eq(kind, STR("leaf"))) {
        line_add(server, c, server->delay);
        return;
    } else if (server->faults > 0 && str_eq(kind, STR("leaf"))) {
        uint64_t chance = hash_of(server->seen.requests);
        if (chance % 1000 < server->faults) {
            fault(server, c, chance / 1000 % 4);
            return;
        }
    }
    model_reply_send(server, c);
}

static struct str header_value(struct str head, const char *name)
{
    const char *at = strcasestr(head.p, name); /* the buffer ends with a NUL */
    if (!at || at >= head.p + head.n)
        return STR_NONE;
    at += strlen(name);
    return (struct str){at, (size_t)(head.p + head.n - at)};
}

/* Works off whole requests in the buffer; the last thing done with a connection, since it may end here. */
static void requests_take(struct server *server, struct connection *c)
{
    while (c->state == READING && c->in.n > 0) {
        const char *end = memmem(c->in.p, c->in.n, "\r\n\r\n", 4);
        if (!end)
            return;
        struct str head = {c->in.p, (size_t)(end - c->in.p)};
        struct str length = header_value(head, "\ncontent-length:");
        size_t body_n = length.p ? strtoul(length.p, NULL, 10) : 0;
        size_t whole = head.n + 4 + body_n;
        if (body_n > REQUEST_MAX) {
            connection_close(server, c);
            return;
        }
        if (c->in.n < whole) {
            if (c->in.n == head.n + 4 && header_value(head, "\nexpect:").p)
                send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
            return;
        }
        struct str path = {head.p + 4, head.n - 4};
        if (str_starts(head, STR("GET ")))
            control(server, c, path);
        else
            completion(server, c, (struct str){end + 4, body_n});
        c->in.n -= whole;
        memmove(c->in.p, c->in.p + whole, c->in.n);
        c->in.p[c->in.n] = 0;
    }
}

static void on_readable(struct server *server, struct connection *c)
{
    ssize_t n = recv(c->fd, server->scratch, sizeof server->scratch, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0)
        buf_add(&c->in, server->scratch, (size_t)n);
    if (n <= 0 || c->in.failed) {
        connection_close(server, c);
        return;
    }
    requests_take(server, c);
}

static void on_writable(struct server *server, struct connection *c)
{
    send_some(server, c);
    requests_take(server, c);
}

static void on_listener(struct server *server)
{
    int fd;
    while ((fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *c = calloc(1, sizeof *c);
        int one = 1;
        if (!c)
            abort();
        c->fd = fd;
        buf_init(&c->in, REQUEST_MAX + 65536);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event);
        server->seen.connections++;
    }
}

/* Answers those whose delay is over; returns the milliseconds until the next one, -1 for none. */
static int line_advance(struct server *server)
{
    int64_t now = now_ns();
    while (server->line && (server->line->closed || server->line->due <= now)) {
        struct connection *c = server->line;
        server->line = c->next;
        if (!server->line)
            server->line_end = &server->line;
        if (c->closed) {
            connection_free(c);
            continue;
        }
        if (c->reply == NULL) {
            c->state = READING;
            server->seen.in_flight--;
            shutdown(c->fd, SHUT_RDWR);
            continue;
        }
        model_reply_send(server, c);
        requests_take(server, c);
    }
    return server->line ? (int)((server->line->due - now) / 1000000) + 1 : -1;
}

static void serve(struct server *server)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    for (;;) {
        int n = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, line_advance(server));
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].data.ptr == &server->line)
                return; /* standard input has ended: so has whoever started this */
            if (events[i].data.ptr == server)
                on_listener(server);
            else if (c->state == WRITING)
                on_writable(server, c);
            else
                on_readable(server, c);
        }
    }
}

/* --- start --------------------------------------------------------------------------------------------- */

static int server_open(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (server->listener < 0 || server->epoll < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 16384) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        perror("cannot listen");
        return -1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = server};
    epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event);
    event.events = EPOLLHUP | EPOLLRDHUP;
    event.data.ptr = &server->line;
    epoll_ctl(server->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    printf("%d\n", ntohs(address.sin_port));
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"children", required_argument, NULL, 'k'},     {"leads", required_argument, NULL, 'l'},
        {"wave", required_argument, NULL, 'w'},         {"turns", required_argument, NULL, 't'},
        {"delay-ms", required_argument, NULL, 'd'},     {"faults", required_argument, NULL, 'f'},
        {"context-file", required_argument, NULL, 'c'}, {"hold-last", no_argument, NULL, 'h'},
        {"programs", no_argument, NULL, 'p'},           {NULL, 0, NULL, 0},
    };
    struct server *server = calloc(1, sizeof *server);
    int option;
    if (!server)
        return 1;
    server->shape.turns = 3;
    server->shape.wave = REPLY_CALLS_MAX;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        size_t number = optarg ? strtoul(optarg, NULL, 10) : 0;
        switch (option) {
        case 'k':
            server->shape.children = number;
            break;
        case 'l':
            server->shape.leads = number;
            break;
        case 'w':
            server->shape.wave = number;
            break;
        case 't':
            server->shape.turns = number;
            break;
        case 'd':
            server->delay = (int64_t)number * 1000000;
            break;
        case 'f':
            server->faults = number;
            break;
        case 'c':
            server->shape.context_file = optarg;
            break;
        case 'p':
            server->shape.calls = CALLS_PROGRAMS;
            break;
        case 'h':
            server->hold_last = true;
            break;
        default:
            return 2;
        }
    }
    server->line_end = &server->line;
    server->replies = replies_new(&server->shape);
    buf_init(&server->answer, 1 << 20);
    if (!server->replies) {
        fprintf(stderr, "too many children, or more than %d for one lead\n", REPLY_CALLS_MAX);
        return 2;
    }
    if (server_open(server) != 0)
        return 1;
    serve(server);
    replies_free(server->replies);
    buf_release(&server->answer);
    free(server);
    return 0;
}
