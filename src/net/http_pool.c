/* curl says through callbacks which sockets and which timer it wants; libuv says when they are
 * ready; then curl works, and what ended is collected. curl may not be re-entered from its own
 * callbacks, so these only change what the loop watches. Between two requests curl lets go of a kept connection's socket and
 * then asks for the same again: its watch is parked meanwhile, because every change is two or three system calls. Knows nothing
 * of requests and deadlines. Runs on the loop thread. */
#include "net/http_pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/http.h"

struct http_multi {
    struct http_pool *pool;
    CURLM *curl;
    uv_timer_t timer; /* curl's own timeouts */
    uv_idle_t soon; /* a timeout of 0: once per turn of the loop, so that sockets get theirs too */
    size_t load;    /* transfers on it */
};

/* A socket that curl watches. */
struct watch {
    uv_poll_t poll;
    struct http_multi *multi;
    curl_socket_t fd;
    int events; /* what the loop waits for; 0: nothing, it is stopped */
    enum { WATCH_WANTED, WATCH_PARKED } state;
};

/* Of each descriptor. */
struct http_socket {
    struct watch *watch;
    /* An established connection: curl tells before it closes it. It closes other descriptors, also a
     * connection that is still being made, without a word. */
    bool kept;
};

static void handle_gone(struct http_pool *pool)
{
    pool->handles--;
    pool->settled(pool);
}

static void watch_closed(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    struct http_pool *pool = watch->multi->pool;
    free(watch);
    handle_gone(pool);
}

static struct http_socket *socket_of(struct http_pool *pool, curl_socket_t fd)
{
    size_t needed = (size_t)fd + 1;
    if (needed > pool->socket_count) {
        size_t count = needed * 2;
        pool->sockets = http_must(realloc(pool->sockets, count * sizeof *pool->sockets));
        memset(pool->sockets + pool->socket_count, 0,
               (count - pool->socket_count) * sizeof *pool->sockets);
        pool->socket_count = count;
    }
    return &pool->sockets[fd];
}

static void watch_end(struct http_socket *socket)
{
    struct watch *watch = socket->watch;
    socket->watch = NULL;
    if (watch)
        uv_close((uv_handle_t *)&watch->poll, watch_closed);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch_start(struct watch *watch, int events)
{
    if (watch->events == events)
        return;
    watch->events = events;
    uv_poll_start(&watch->poll, events, on_poll);
}

void http_pool_opened(struct http_pool *pool, curl_socket_t fd)
{
    struct http_socket *socket = socket_of(pool, fd);
    struct watch *watch = socket->watch;
    socket->kept = false;
    if (!watch)
        return;
    /* The descriptor was closed without a word, and has a new socket behind it. curl may take that for
     * the old one and not ask for a watch again. */
    int events = watch->events;
    watch->events = 0;
    if (events != 0)
        watch_start(watch, events);
}

int http_pool_closed(void *pool, curl_socket_t fd)
{
    struct http_socket *socket = socket_of(pool, fd);
    watch_end(socket);
    socket->kept = false;
    return close(fd);
}

/* A loop with nothing else to wait for need not wait for this. */
static void watch_park(struct watch *watch)
{
    watch->state = WATCH_PARKED;
    uv_unref((uv_handle_t *)&watch->poll);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    struct http_multi *multi = user;
    struct http_socket *socket = socket_of(multi->pool, fd);
    if (what == CURL_POLL_REMOVE) {
        if (!socket->kept)
            watch_end(socket);
        else if (socket->watch)
            watch_park(socket->watch);
        return 0;
    }
    if (!socket->watch) {
        struct watch *watch = http_must(calloc(1, sizeof *watch));
        watch->fd = fd;
        /* An error here would make curl give up the whole multi handle; without a watch it is only
         * this transfer that ends, at its deadline. */
        if (uv_poll_init_socket(multi->pool->loop, &watch->poll, fd) != 0) {
            free(watch);
            return 0;
        }
        watch->poll.data = watch;
        multi->pool->handles++;
        socket->watch = watch;
    }
    if (multi->pool->established(multi->pool, easy))
        socket->kept = true;
    if (what == CURL_POLL_IN)
        multi->pool->waits(multi->pool, easy);
    socket->watch->multi = multi;
    socket->watch->state = WATCH_WANTED;
    uv_ref((uv_handle_t *)&socket->watch->poll);
    watch_start(socket->watch, (what != CURL_POLL_OUT ? UV_READABLE : 0) |
                                   (what != CURL_POLL_IN ? UV_WRITABLE : 0));
    return 0;
}

static void on_timeout(uv_timer_t *timer);
static void on_soon(uv_idle_t *soon);

static int on_timer_change(CURLM *curl, long timeout_ms, void *user)
{
    struct http_multi *multi = user;
    uv_timer_stop(&multi->timer);
    uv_idle_stop(&multi->soon);
    if (timeout_ms == 0)
        uv_idle_start(&multi->soon, on_soon);
    else if (timeout_ms > 0)
        uv_timer_start(&multi->timer, on_timeout, (uint64_t)timeout_ms, 0);
    return 0;
}

/* --- the loop's callbacks: they let curl work and collect what ended
 * ----------------------------------- */

static void multi_action(struct http_multi *multi, curl_socket_t fd, int flags)
{
    struct http_pool *pool = multi->pool;
    int running, queued;
    CURLMsg *message;
    pool->dispatching++;
    curl_multi_socket_action(multi->curl, fd, flags, &running);
    while ((message = curl_multi_info_read(multi->curl, &queued))) {
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result; /* the message goes with its handle */
        if (message->msg == CURLMSG_DONE)
            pool->ended(pool, easy, code);
    }
    pool->dispatching--;
    pool->settled(pool);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    struct http_pool *pool = watch->multi->pool;
    curl_socket_t fd = watch->fd;
    int wanted = watch->events;
    int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    if (watch->state == WATCH_PARKED) {
        /* The server has closed it, most likely. curl looks before it uses a connection again. */
        uv_poll_stop(poll);
        watch->events = 0;
        return;
    }
    if (status == 0) {
        multi_action(watch->multi, fd, flags);
        return;
    }
    /* The socket has an error, and libuv has stopped watching. A server that resets may have sent
     * its whole answer before, so curl is to read until it meets the error itself. */
    watch->events = 0;
    multi_action(watch->multi, fd, CURL_CSELECT_IN | CURL_CSELECT_OUT);
    if (pool->sockets[fd].watch == watch && watch->state == WATCH_WANTED && watch->events == 0)
        watch_start(watch, wanted);
}

static void on_timeout(uv_timer_t *timer)
{
    multi_action(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_soon(uv_idle_t *soon)
{
    uv_idle_stop(soon);
    multi_action(soon->data, CURL_SOCKET_TIMEOUT, 0);
}

static struct http_multi *multi_new(struct http_pool *pool)
{
    struct http_multi *multi = http_must(calloc(1, sizeof *multi));
    multi->pool = pool;
    multi->curl = http_must(curl_multi_init());
    uv_timer_init(pool->loop, &multi->timer);
    uv_idle_init(pool->loop, &multi->soon);
    multi->timer.data = multi;
    multi->soon.data = multi;
    pool->handles += 2;
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer_change);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    /* Connections kept alive; curl's default shrinks with the transfers in flight. */
    curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)HTTP_PER_MULTI);
    pool->multis =
        http_must(realloc(pool->multis, (pool->multi_count + 1) * sizeof(struct http_multi *)));
    pool->multis[pool->multi_count++] = multi;
    return multi;
}

/* The least loaded one; the first of several, so that a light load finds its connections again. */
static struct http_multi *multi_pick(struct http_pool *pool)
{
    struct http_multi *best = NULL;
    for (size_t i = 0; i < pool->multi_count; i++)
        if (!best || pool->multis[i]->load < best->load)
            best = pool->multis[i];
    return best && best->load < HTTP_PER_MULTI ? best : multi_new(pool);
}

struct http_multi *http_pool_add(struct http_pool *pool, CURL *easy)
{
    struct http_multi *multi = multi_pick(pool);
    if (curl_multi_add_handle(multi->curl, easy) != CURLM_OK)
        return NULL;
    multi->load++;
    return multi;
}

void http_pool_remove(struct http_multi *multi, CURL *easy)
{
    curl_multi_remove_handle(multi->curl, easy);
    multi->load--;
}

static void multi_handle_closed(uv_handle_t *handle)
{
    struct http_multi *multi = handle->data;
    handle_gone(multi->pool);
}

void http_pool_close(struct http_pool *pool)
{
    for (size_t i = 0; i < pool->multi_count; i++) {
        struct http_multi *multi = pool->multis[i];
        curl_multi_cleanup(multi->curl);
        uv_close((uv_handle_t *)&multi->timer, multi_handle_closed);
        uv_close((uv_handle_t *)&multi->soon, multi_handle_closed);
    }
}

void http_pool_free(struct http_pool *pool)
{
    for (size_t i = 0; i < pool->multi_count; i++)
        free(pool->multis[i]);
    free(pool->multis);
    free(pool->sockets);
}
