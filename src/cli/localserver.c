/* A tiny HTTP GET on a raw socket. It speaks HTTP/1.0, so that the body should end with the connection
 * and not be chunked; servers that do otherwise are understood all the same. */
#include "cli/localserver.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "os/clock.h"

#define ANSWER_MAX ((size_t)1 << 20)

struct address {
    char host[128], port[8], path[160];
};

static int copy_text(char *out, size_t size, struct str text)
{
    if (text.n == 0 || text.n >= size)
        return -1;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c >= 127)
            return -1;
    }
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return 0;
}

static int parse_address(struct str url, struct address *address, struct err *err)
{
    struct str scheme = STR("http://");
    if (!str_starts(url, scheme))
        return err_set(err, ERR_USAGE, "%.*s cannot be asked: only http:// is", STR_FMT(url));
    struct str rest = {url.p + scheme.n, url.n - scheme.n};
    const char *slash = memchr(rest.p, '/', rest.n);
    struct str host = {rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.n};
    struct str path = {rest.p + host.n, rest.n - host.n};
    struct str port = STR("80");
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    const char *bracket = host.n > 0 && host.p[0] == '[' ? memchr(host.p, ']', host.n) : NULL;
    size_t from = bracket != NULL ? (size_t)(bracket - host.p) : 0;
    const char *colon = memchr(host.p + from, ':', host.n - from);
    if (colon != NULL) {
        port = (struct str){colon + 1, host.n - (size_t)(colon + 1 - host.p)};
        host.n = (size_t)(colon - host.p);
    }
    if (bracket != NULL)
        host = (struct str){host.p + 1, from - 1};
    address->path[0] = '\0';
    if (copy_text(address->host, sizeof address->host, host) != 0 ||
        copy_text(address->port, sizeof address->port, port) != 0 ||
        (path.n > 0 && copy_text(address->path, sizeof address->path, path) != 0))
        return err_set(err, ERR_USAGE, "\"%.*s\" is not an address", STR_FMT(url));
    return 0;
}

/* Waits until the socket is ready or the deadline has passed. */
static int wait_for(int fd, short events, int64_t deadline, struct err *err)
{
    for (;;) {
        int64_t left = deadline - clock_monotonic_ms();
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int ready = left > 0 ? poll(&poll_fd, 1, (int)left) : 0;
        if (ready > 0)
            return 0;
        if (ready == 0)
            return err_set(err, ERR_RETRY, "no answer in time");
        if (errno != EINTR)
            return err_set(err, ERR_IO, "poll: %s", strerror(errno));
    }
}

static int connect_to(const struct addrinfo *target, int64_t deadline, struct err *err)
{
    int fd = socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int problem = 0;
    socklen_t size = sizeof problem;
    if (fd < 0)
        return err_set(err, ERR_IO, "no socket: %s", strerror(errno));
    if (connect(fd, target->ai_addr, target->ai_addrlen) != 0) {
        if (errno != EINPROGRESS)
            problem = errno;
        else if (wait_for(fd, POLLOUT, deadline, err) != 0)
            goto fail;
        else
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    }
    if (problem == 0)
        return fd;
    err_set(err, ERR_RETRY, "no server answers: %s", strerror(problem));
fail:
    close(fd);
    return -1;
}

/* --- the answer ------------------------------------------------------------------------------- */

enum body_end { BODY_OPEN, BODY_WHOLE };

/* The value of a header, whose name ends in a colon; STR_NONE: it is not there. */
static struct str header_value(struct str head, struct str name)
{
    for (const char *line = head.p;
         (line = memchr(line, '\n', head.n - (size_t)(line - head.p)));) {
        line++;
        size_t left = head.n - (size_t)(line - head.p);
        if (left < name.n || strncasecmp(line, name.p, name.n) != 0)
            continue;
        const char *from = line + name.n, *end = memchr(line, '\r', left);
        end = end != NULL ? end : line + left;
        while (from < end && *from == ' ')
            from++;
        return (struct str){from, (size_t)(end - from)};
    }
    return STR_NONE;
}

/* The number at the start of text, at most ANSWER_MAX; -1 where there is none. */
static int64_t take_number(struct str *text, int base)
{
    static const char digits[] = "0123456789abcdef";
    int64_t number = -1;
    for (; text->n > 0; *text = (struct str){text->p + 1, text->n - 1}) {
        const char *digit = memchr(digits, text->p[0] | 0x20, (size_t)base);
        if (digit == NULL)
            break;
        number = (number < 0 ? 0 : number) * base + (digit - digits);
        if (number > (int64_t)ANSWER_MAX)
            number = (int64_t)ANSWER_MAX;
    }
    return number;
}

static enum body_end read_chunks(struct str rest, struct buf *body)
{
    for (;;) {
        int64_t size = take_number(&rest, 16);
        const char *line = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;
        if (line == NULL || size < 0)
            return BODY_OPEN;
        if (size == 0)
            return BODY_WHOLE;
        rest = (struct str){line + 1, rest.n - (size_t)(line + 1 - rest.p)};
        size_t n = (size_t)size < rest.n ? (size_t)size : rest.n;
        buf_add(body, rest.p, n);
        if (rest.n < n + 2)
            return BODY_OPEN;
        rest = (struct str){rest.p + n + 2, rest.n - n - 2};
    }
}

/* What came of the body so far. Without a word about its length it is open until the connection ends. */
static enum body_end read_body(struct str answer, struct buf *body)
{
    const char *end = answer.n > 0 ? memmem(answer.p, answer.n, "\r\n\r\n", 4) : NULL;
    buf_clear(body);
    if (end == NULL)
        return BODY_OPEN;
    struct str head = {answer.p, (size_t)(end + 2 - answer.p)};
    struct str rest = {end + 4, answer.n - head.n - 2};
    struct str length = header_value(head, STR("content-length:"));
    int64_t bytes = take_number(&length, 10);
    if (str_is(header_value(head, STR("transfer-encoding:")), "chunked"))
        return read_chunks(rest, body);
    bool whole = bytes >= 0 && rest.n >= (size_t)bytes;
    buf_add(body, rest.p, whole ? (size_t)bytes : rest.n);
    return whole ? BODY_WHOLE : BODY_OPEN;
}

static int exchange(int fd, const struct address *address, int64_t deadline, struct buf *answer,
                    struct buf *body, struct err *err)
{
    char request[512];
    int length = snprintf(request, sizeof request,
                          "GET %s/models HTTP/1.0\r\nHost: %s:%s\r\nAccept: application/json\r\n"
                          "Connection: close\r\n\r\n",
                          address->path, address->host, address->port);
    for (int sent = 0; sent < length;) {
        if (wait_for(fd, POLLOUT, deadline, err) != 0)
            return -1;
        ssize_t n = send(fd, request + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(err, ERR_RETRY, "the connection broke: %s", strerror(errno));
        sent += n > 0 ? (int)n : 0;
    }
    for (;;) {
        char piece[16384];
        if (wait_for(fd, POLLIN, deadline, err) != 0)
            return -1;
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(err, ERR_RETRY, "the connection broke: %s", strerror(errno));
        if (n > 0)
            buf_add(answer, piece, (size_t)n);
        if (answer->failed)
            return err_set(err, ERR_PROVIDER, "the answer is too large");
        if (read_body(buf_view(answer), body) == BODY_WHOLE)
            return 0;
    }
}

/* {"data":[{"id":"…"}, …]} behind a header with status 200; the first name that can be used. */
static int read_answer(struct str answer, struct str body, struct localserver *server,
                       struct err *err)
{
    if (!str_starts(answer, STR("HTTP/1.")) || answer.n < 12 ||
        memmem(answer.p, answer.n, "\r\n\r\n", 4) == NULL)
        return err_set(err, ERR_PROVIDER, "the answer is not HTTP");
    if (memcmp(answer.p + 8, " 200", 4) != 0)
        return err_set(err, ERR_PROVIDER, "the server answers with status %.3s", answer.p + 9);
    struct js *doc = js_parse(body, err);
    if (doc == NULL) {
        err->class = ERR_PROVIDER;
        return err_prefix(err, "the answer is no list of models");
    }
    const struct js *data = js_get(doc, "data");
    int result = -1;
    server->model_count = js_kind(data) == JS_ARRAY ? js_count(data) : 0;
    for (size_t i = 0; i < server->model_count && result != 0; i++)
        result = copy_text(server->model, sizeof server->model, js_get_str(js_at(data, i), "id"));
    if (result != 0)
        err_set(err, ERR_PROVIDER, "the server names no model");
    js_free(doc);
    return result;
}

int localserver_ask(struct str base_url, int deadline_ms, struct localserver *server,
                    struct err *err)
{
    struct address address;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct buf answer, body;
    int64_t deadline = clock_monotonic_ms() + deadline_ms;
    int fd = -1, result = -1;
    *server = (struct localserver){0};
    buf_init(&answer, ANSWER_MAX);
    buf_init(&body, ANSWER_MAX);
    if (parse_address(base_url, &address, err) != 0)
        goto out;
    if (copy_text(server->base_url, sizeof server->base_url, base_url) != 0) {
        err_set(err, ERR_USAGE, "\"%.*s\" is not an address", STR_FMT(base_url));
        goto out;
    }
    int status = getaddrinfo(address.host, address.port, &hints, &found);
    if (status != 0) {
        err_set(err, ERR_RETRY, "%s cannot be found: %s", address.host, gai_strerror(status));
        goto out;
    }
    for (const struct addrinfo *target = found; target != NULL && fd < 0; target = target->ai_next)
        fd = connect_to(target, deadline, err);
    if (fd < 0 || exchange(fd, &address, deadline, &answer, &body, err) != 0)
        goto out;
    result = read_answer(buf_view(&answer), buf_view(&body), server, err);
out:
    if (fd >= 0)
        close(fd);
    if (found != NULL)
        freeaddrinfo(found);
    buf_release(&answer);
    buf_release(&body);
    return result;
}

int localserver_find(int deadline_ms, struct localserver *server, struct err *err)
{
    static const char *const places[] = {"http://127.0.0.1:11434/v1", "http://127.0.0.1:8080/v1"};
    const int count = sizeof places / sizeof places[0];
    for (int i = 0; i < count; i++) {
        if (localserver_ask(str_from(places[i]), deadline_ms / count, server, err) == 0)
            return 0;
    }
    *server = (struct localserver){0}; /* nothing of the last one that was asked */
    return err_set(err, ERR_NOT_FOUND, "no model server answers on port 11434 or 8080");
}
