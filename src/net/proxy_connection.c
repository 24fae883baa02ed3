/* See proxy_connection.h. A request is read, judged and answered with what is wrong, or it is carried: a tunnel both ways once the
 * ClientHello names the right server, one plain request and its answer otherwise. Every wait has a deadline. */
#include "net/proxy_connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"
#include "core/contract/network.h"
#include "net/proxy_chunk.h"
#include "net/proxy_far.h"
#include "net/proxy_hello.h"

#define HEAD_MS 15000
#define IDLE_MS 300000 /* without a byte in either direction */
#define BLOCK 16384
#define DRAIN_MS 2000 /* for what a command sends that was told no */
#define DRAIN_BYTES ((size_t)1 << 20)

struct carried {
    struct proxy_connection *connection;
    struct proxy_wait wait;
    struct proxy_far far;
    struct proxy_request request;
    struct buf early; /* what came from the command: a head, a ClientHello, and bytes behind them */
    struct buf head;  /* what the request was read from */
    int64_t head_ms;
};

/* --- bytes --------------------------------------------------------------------------------------------------------------------- */

static int64_t idle_deadline(void)
{
    return resolve_now_ms() + IDLE_MS;
}

/* Reads some bytes from the command. 0: it has ended; -1: it broke, or the time is over. */
static ssize_t near_read(const struct carried *c, char *bytes, size_t n, int64_t deadline_ms)
{
    for (;;) {
        ssize_t got = read(c->connection->near, bytes, n);
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            return got;
        struct pollfd ready = {c->connection->near, POLLIN, 0};
        if (proxy_poll(&c->wait, &ready, 1, deadline_ms) != 0)
            return -1;
    }
}

static int near_write(struct carried *c, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = send(c->connection->near, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        struct pollfd ready = {c->connection->near, POLLOUT, 0};
        if (n < 0 && proxy_poll(&c->wait, &ready, 1, idle_deadline()) != 0)
            return -1;
        if (n > 0)
            bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
    }
    return 0;
}

static int far_write(struct carried *c, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = proxy_far_write(&c->far, bytes.p, bytes.n);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        struct pollfd ready = {c->far.fd, POLLOUT, 0};
        if (n < 0 && proxy_poll(&c->wait, &ready, 1, idle_deadline()) != 0)
            return -1;
        if (n > 0) {
            c->connection->contact.sent += (uint64_t)n;
            bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
        }
    }
    return 0;
}

/* 0: the server has ended; -1: it broke, or the time is over. */
static ssize_t far_read(struct carried *c, char *bytes, size_t n)
{
    for (;;) {
        ssize_t got = proxy_far_read(&c->far, bytes, n);
        if (got > 0)
            c->connection->contact.received += (uint64_t)got;
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            return got;
        struct pollfd ready = {c->far.fd, POLLIN, 0};
        if (proxy_poll(&c->wait, &ready, 1, idle_deadline()) != 0)
            return -1;
    }
}

/* --- saying no ----------------------------------------------------------------------------------------------------------------- */

/* Notes the verdict. */
static void note(struct carried *c, const struct err *err)
{
    struct sandbox_contact *contact = &c->connection->contact;
    bool refused = err->class == ERR_DENIED || err->class == ERR_USAGE;
    contact->verdict = refused ? CONTACT_REFUSED : CONTACT_FAILED;
    snprintf(contact->why, sizeof contact->why, "%.*s",
             STR_FMT(utf8_cut(str_from(err->message), sizeof contact->why - 1)));
}

/* Lets the command read the answer: to close on what it still sends would take the answer from it. */
static void drain(struct carried *c)
{
    char block[4096];
    int64_t deadline = resolve_now_ms() + DRAIN_MS;
    shutdown(c->connection->near, SHUT_WR);
    for (size_t left = DRAIN_BYTES; left > 0;) {
        ssize_t n = near_read(c, block, left < sizeof block ? left : sizeof block, deadline);
        if (n <= 0)
            return;
        left -= (size_t)n;
    }
}

/* Notes the verdict and tells the command in plain words. */
static void refuse(struct carried *c, const struct err *err)
{
    struct buf body, answer;
    const char *status = err->class == ERR_DENIED    ? "403 Forbidden"
                         : err->class == ERR_USAGE   ? "400 Bad Request"
                         : err->class == ERR_TIMEOUT ? "504 Gateway Timeout"
                                                     : "502 Bad Gateway";
    note(c, err);
    buf_init(&body, 2048);
    buf_init(&answer, 4096);
    buf_printf(&body, "cadre: %s\n", err->message);
    buf_printf(&answer,
               "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
               "%zu\r\nConnection: close\r\n\r\n%.*s",
               status, body.n, STR_FMT(buf_view(&body)));
    if (near_write(c, buf_view(&answer)) == 0)
        drain(c);
    buf_release(&body);
    buf_release(&answer);
}

/* In a tunnel there is no HTTP any more: a TLS alert, "access denied". */
static void refuse_tls(struct carried *c, const struct err *err)
{
    static const char alert[] = {21, 3, 3, 0, 2, 2, 49};
    note(c, err);
    if (near_write(c, (struct str){alert, sizeof alert}) == 0)
        drain(c);
}

/* --- the request --------------------------------------------------------------------------------------------------------------- */

static int head_read(struct carried *c, struct err *err)
{
    int64_t deadline = resolve_now_ms() + c->head_ms;
    size_t end;
    while ((end = proxy_head_end(buf_view(&c->early))) == 0) {
        char *room = c->early.n < PROXY_HEAD_MAX ? buf_reserve(&c->early, 4096) : NULL;
        if (room == NULL)
            return err_set(err, ERR_USAGE, "the request's head has more than %d bytes",
                           PROXY_HEAD_MAX);
        ssize_t n = near_read(c, room, 4096, deadline);
        if (n <= 0)
            return err_set(err, ERR_TIMEOUT, "the request did not come in time");
        c->early.n += (size_t)n;
    }
    buf_add(&c->head, c->early.p, end);
    memmove(c->early.p, c->early.p + end, c->early.n - end);
    c->early.n -= end;
    return proxy_request_read(buf_view(&c->head), &c->request, err);
}

static int name_check(const struct carried *c, struct err *err)
{
    struct str network = c->connection->network, host = str_from(c->request.host);
    for (struct str rule = network_next_rule(network, STR_NONE); rule.p != NULL;
         rule = network_next_rule(network, rule))
        if (hostrule_holds(rule, host))
            return 0;
    return err_set(err, ERR_DENIED,
                   "%s is not among the hosts that this agent may reach (access.network)",
                   c->request.host);
}

/* Who was asked for, readable, whatever came of it. */
static void name_contact(struct carried *c)
{
    struct sandbox_contact *contact = &c->connection->contact;
    struct buf clean;
    buf_init(&clean, 4 * sizeof contact->host);
    utf8_clean(&clean, utf8_cut(c->request.asked, sizeof contact->host - 1), UTF8_ONE_LINE);
    snprintf(contact->host, sizeof contact->host, "%.*s",
             STR_FMT(utf8_cut(buf_view(&clean), sizeof contact->host - 1)));
    contact->port = c->request.port;
    buf_release(&clean);
}

/* --- tunnels ------------------------------------------------------------------------------------------------------------------- */

static int hello_check(const struct carried *c, enum proxy_hello hello, const char *name,
                       struct err *err)
{
    switch (hello) {
    case HELLO_NAMED:
        if (strcmp(name, c->request.host) == 0)
            return 0;
        return err_set(err, ERR_DENIED, "TLS asked for %s in a connection to %s", name,
                       c->request.host);
    case HELLO_UNNAMED:
        return err_set(err, ERR_DENIED, "TLS asked for no server name");
    case HELLO_HIDDEN:
        return err_set(err, ERR_DENIED, "TLS hid the server name (encrypted client hello)");
    default:
        return err_set(err, ERR_DENIED, "port 443 is for TLS, and this is not");
    }
}

/* The first bytes must ask for the server that was allowed. */
static int hello_read(struct carried *c, struct err *err)
{
    char name[HOST_NAME_MAX_BYTES + 1];
    int64_t deadline = resolve_now_ms() + c->head_ms;
    enum proxy_hello hello;
    while ((hello = proxy_hello_read(buf_view(&c->early), name)) == HELLO_MORE) {
        char *room = buf_reserve(&c->early, 4096);
        ssize_t n = room != NULL ? near_read(c, room, 4096, deadline) : -1;
        if (n <= 0)
            return err_set(err, ERR_TIMEOUT, "no TLS came in time");
        c->early.n += (size_t)n;
    }
    return hello_check(c, hello, name, err);
}

/* One direction of a tunnel. */
struct flow {
    char bytes[BLOCK];
    size_t from, to;
    bool ended; /* nothing more is read */
    bool told;  /* and the other side knows */
};

static void flow_fill(struct flow *flow, ssize_t n)
{
    flow->from = 0;
    flow->to = n > 0 ? (size_t)n : 0;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        flow->ended = true;
}

/* Moves what can be moved. -1: the other side is gone. */
static int flow_out(struct carried *c, struct flow *flow)
{
    if (!flow->ended && flow->from == flow->to)
        flow_fill(flow, read(c->connection->near, flow->bytes, BLOCK));
    if (flow->from < flow->to) {
        ssize_t n = proxy_far_write(&c->far, flow->bytes + flow->from, flow->to - flow->from);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        flow->from += n > 0 ? (size_t)n : 0;
        c->connection->contact.sent += n > 0 ? (uint64_t)n : 0;
    }
    if (flow->ended && flow->from == flow->to && !flow->told) {
        shutdown(c->far.fd, SHUT_WR);
        flow->told = true;
    }
    return 0;
}

static int flow_in(struct carried *c, struct flow *flow)
{
    if (!flow->ended && flow->from == flow->to) {
        ssize_t got = proxy_far_read(&c->far, flow->bytes, BLOCK);
        flow_fill(flow, got);
        c->connection->contact.received += got > 0 ? (uint64_t)got : 0;
    }
    if (flow->from < flow->to) {
        ssize_t n = send(c->connection->near, flow->bytes + flow->from, flow->to - flow->from,
                         MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        flow->from += n > 0 ? (size_t)n : 0;
    }
    if (flow->ended && flow->from == flow->to && !flow->told) {
        shutdown(c->connection->near, SHUT_WR);
        flow->told = true;
    }
    return 0;
}

/* What to wait for at one end; an end that waits for nothing is left out, or its hanging up would be told again and again. */
static struct pollfd flow_wants(int fd, const struct flow *from_here, const struct flow *to_here)
{
    struct pollfd wanted = {.fd = fd};
    if (!from_here->ended && from_here->from == from_here->to)
        wanted.events |= POLLIN;
    if (to_here->from < to_here->to)
        wanted.events |= POLLOUT;
    if (wanted.events == 0)
        wanted.fd = -1;
    return wanted;
}

static void tunnel_carry(struct carried *c)
{
    struct flow *out = calloc(1, sizeof *out), *in = calloc(1, sizeof *in);
    if (out == NULL || in == NULL)
        abort();
    while (!out->told || !in->told) {
        struct pollfd ends[] = {flow_wants(c->connection->near, out, in),
                                flow_wants(c->far.fd, in, out)};
        if (proxy_poll(&c->wait, ends, 2, idle_deadline()) != 0)
            break;
        if (((ends[0].revents | ends[1].revents) & (POLLERR | POLLNVAL)) != 0)
            break;
        if (flow_out(c, out) != 0 || flow_in(c, in) != 0)
            break;
    }
    free(out);
    free(in);
}

static void tunnel_serve(struct carried *c)
{
    struct err err = ERR_INIT;
    if (proxy_far_open(&c->far, c->connection->access, c->request.host, c->request.port, &c->wait,
                       &err) != 0) {
        refuse(c, &err);
        return;
    }
    if (near_write(c, STR("HTTP/1.1 200 Connection established\r\n\r\n")) != 0)
        return;
    if (hello_read(c, &err) != 0) {
        refuse_tls(c, &err);
        return;
    }
    if (far_write(c, buf_view(&c->early)) == 0)
        tunnel_carry(c);
}

/* --- plain requests ------------------------------------------------------------------------------------------------------------ */

enum { ADDED_MAX = 32 };

/* The operator's headers for this host. */
static int credentials_of(const struct carried *c, struct proxy_header added[ADDED_MAX],
                          size_t *count, struct err *err)
{
    const struct proxy_access *access = c->connection->access;
    *count = 0;
    for (size_t i = 0; i < access->credential_count && *count < ADDED_MAX; i++) {
        const struct proxy_credential *credential = &access->credentials[i];
        if (!str_is(credential->host, c->request.host))
            continue;
        if (credential->problem.n > 0)
            return err_set(err, ERR_CONFIG, "access.credentials: %.*s",
                           STR_FMT(credential->problem));
        added[(*count)++] = (struct proxy_header){credential->name, credential->value};
    }
    return 0;
}

/* Bytes of the body that came from the command: what is sent of them. True: the body is complete. */
static bool body_take(struct carried *c, struct proxy_chunk *chunk, uint64_t *left,
                      struct str bytes, struct buf *out)
{
    if (c->request.body == BODY_CHUNKED) {
        (void)proxy_chunk_read(chunk, bytes, out);
        return chunk->state == CHUNK_DONE;
    }
    size_t n = bytes.n < *left ? bytes.n : (size_t)*left;
    buf_add(out, bytes.p, n);
    *left -= n;
    return *left == 0;
}

/* Sends exactly the body: what comes behind it would be another request, which nobody judged. */
static int body_send(struct carried *c)
{
    char block[BLOCK];
    struct proxy_chunk chunk = {0};
    uint64_t left = c->request.length;
    struct buf out;
    struct str bytes = buf_view(&c->early);
    int result = c->request.body == BODY_NONE ? 0 : 1;
    buf_init(&out, (size_t)8 * (BLOCK + PROXY_HEAD_MAX));
    while (result == 1) {
        bool done = body_take(c, &chunk, &left, bytes, &out);
        if (out.failed || chunk.state == CHUNK_BROKEN || far_write(c, buf_view(&out)) != 0)
            result = -1;
        else if (done)
            result = 0;
        buf_clear(&out);
        /* A server that answers already has heard enough. */
        struct pollfd ends[] = {{c->connection->near, POLLIN, 0}, {c->far.fd, POLLIN, 0}};
        if (result == 1 && proxy_poll(&c->wait, ends, 2, idle_deadline()) != 0)
            result = -1;
        if (result == 1 && ends[1].revents != 0)
            result = 0;
        ssize_t n = result == 1 ? near_read(c, block, sizeof block, idle_deadline()) : 1;
        if (n <= 0)
            result = -1;
        bytes = (struct str){block, n > 0 ? (size_t)n : 0};
    }
    buf_release(&out);
    return result;
}

/* The head of the server's answer, without interim ones; bytes behind it stay in `rest`. */
static int answer_head(struct carried *c, struct buf *rest, struct buf *head, struct err *err)
{
    int status = 100;
    while (status < 200) {
        size_t end = proxy_head_end(buf_view(rest));
        if (end == 0) {
            char *room = rest->n < PROXY_HEAD_MAX ? buf_reserve(rest, 4096) : NULL;
            ssize_t n = room != NULL ? far_read(c, room, 4096) : -1;
            if (n <= 0)
                return err_set(err, ERR_PROVIDER, "%s gave no complete answer", c->request.host);
            rest->n += (size_t)n;
            continue;
        }
        buf_clear(head);
        if (proxy_answer_print((struct str){rest->p, end}, &status, head, err) != 0)
            return -1;
        if (status == 101)
            return err_set(err, ERR_PROVIDER, "%s changed the protocol", c->request.host);
        memmove(rest->p, rest->p + end, rest->n - end);
        rest->n -= end;
    }
    return 0;
}

static int answer_carry(struct carried *c, struct err *err)
{
    char block[BLOCK];
    struct buf rest, head;
    buf_init(&rest, PROXY_HEAD_MAX + 8192);
    buf_init(&head, (size_t)2 * PROXY_HEAD_MAX);
    int result = answer_head(c, &rest, &head, err);
    if (result == 0 && near_write(c, buf_view(&head)) == 0 && near_write(c, buf_view(&rest)) == 0)
        for (ssize_t n; (n = far_read(c, block, sizeof block)) > 0;)
            if (near_write(c, (struct str){block, (size_t)n}) != 0)
                break;
    buf_release(&rest);
    buf_release(&head);
    return result;
}

static int request_send(struct carried *c, const struct proxy_header *added, size_t added_count,
                        struct err *err)
{
    struct buf head;
    buf_init(&head, (size_t)4 * PROXY_HEAD_MAX);
    proxy_request_print(&c->request, added, added_count, &head);
    int result = !head.failed && far_write(c, buf_view(&head)) == 0 ? body_send(c) : -1;
    if (head.p != NULL)
        explicit_bzero(head.p, head.capacity); /* a header may be a key */
    buf_release(&head);
    return result == 0 ? 0
                       : err_set(err, ERR_IO, "the request to %s was broken off", c->request.host);
}

/* A host with keys gets them over TLS alone. */
static void plain_serve(struct carried *c)
{
    struct proxy_header added[ADDED_MAX];
    size_t count;
    struct err err = ERR_INIT;
    const struct proxy_access *access = c->connection->access;
    if (credentials_of(c, added, &count, &err) != 0 ||
        proxy_far_open(&c->far, access, c->request.host,
                       count > 0 ? PROXY_PORT_TLS : c->request.port, &c->wait, &err) != 0 ||
        (count > 0 && proxy_far_secure(&c->far, c->request.host, &c->wait, &err) != 0) ||
        request_send(c, added, count, &err) != 0 || answer_carry(c, &err) != 0)
        refuse(c, &err);
}

/* --- all of it ----------------------------------------------------------------------------------------------------------------- */

void proxy_connection_serve(struct proxy_connection *connection)
{
    struct err err = ERR_INIT;
    struct carried *c = calloc(1, sizeof *c);
    if (c == NULL)
        abort();
    c->connection = connection;
    c->wait = (struct proxy_wait){connection->stop, connection->stopping};
    c->far.fd = -1;
    c->head_ms = connection->access->head_ms > 0 ? connection->access->head_ms : HEAD_MS;
    buf_init(&c->early, PROXY_HEAD_MAX + 8192);
    buf_init(&c->head, PROXY_HEAD_MAX + 8192);
    connection->contact = (struct sandbox_contact){.verdict = CONTACT_REACHED, .count = 1};
    int bad = head_read(c, &err);
    name_contact(c);
    if (bad != 0 || name_check(c, &err) != 0)
        refuse(c, &err);
    else if (c->request.kind == PROXY_TUNNEL)
        tunnel_serve(c);
    else
        plain_serve(c);
    proxy_far_close(&c->far);
    buf_release(&c->early);
    buf_release(&c->head);
    free(c);
}
