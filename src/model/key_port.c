/* See key_port.h. Each call of ours stands for at most one call of the inner port at a time. */
#include "model/key_port.h"

#include <stdlib.h>

#include "base/mask.h"
#include "net/request_copy.h"
#include "os/clock.h"
#include "os/later.h"

#define MESSAGE_MAX 2048

/* One helper and its key. */
struct source {
    struct key_ring *ring;
    struct key_helper helper;
    enum { SOURCE_EMPTY, SOURCE_RUNNING, SOURCE_READY } state;
    struct buf key;
    uint64_t serial;            /* which key this is, from 1 */
    int64_t expires_at;         /* monotonic milliseconds */
    struct model_call *waiting; /* doubly linked */
    /* Of the run under way; the thread owns made, ttl_ms and err until it is over. */
    atomic_bool cancelled;
    struct buf made;
    int64_t ttl_ms;
    int result;
    struct err err;
};

struct key_ring {
    struct uv_loop_s *loop;
    struct source *sources;
    struct masker *masker;
    size_t count, running;
    enum { RING_OPEN, RING_CLOSING } state;
};

struct model_client {
    struct model_ops ops; /* of its own: rendering is the inner port's */
    struct key_ring *ring;
    struct model_port inner;
    struct model_call *ended; /* singly linked: their done is due */
    struct later *soon;       /* set while something is in `ended` */
    size_t calls;
    enum { CLIENT_OPEN, CLIENT_CLOSING } state;
};

struct model_call {
    struct model_client *client;
    struct source *source; /* NULL: the provider has no helper */
    struct model_callbacks callbacks;
    struct model_call *inner; /* the inner port's, while STARTED */
    struct model_call *next, *previous;
    enum { CALL_WAITING, CALL_STARTED, CALL_ENDED } state;
    enum { KEY_FIRST, KEY_RENEWED } key; /* RENEWED: a 401 was answered with a new key */
    uint64_t serial;                     /* of the key that was sent */
    struct request_copy copy;
    struct buf message; /* of the failure, once ENDED */
    enum err_class class;
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void secret_release(struct buf *secret)
{
    if (secret->p != NULL)
        explicit_bzero(secret->p, secret->capacity);
    buf_release(secret);
}

/* --- the end of a call --------------------------------------------------------------------------- */

/* Frees the client when it is closing and no call can come back to it. */
static void client_settle(struct model_client *client)
{
    if (client->state != CLIENT_CLOSING || client->calls > 0)
        return;
    later_free(client->soon);
    free(client);
}

static void call_free(struct model_call *call)
{
    call->client->calls--;
    request_copy_release(&call->copy);
    buf_release(&call->message);
    free(call);
}

static void on_soon(void *user)
{
    struct model_client *client = user;
    while (client->ended != NULL) {
        struct model_call *call = client->ended;
        client->ended = call->next;
        const struct model_failure failure = {.class = call->class,
                                              .retry_after_ms = -1,
                                              .message = buf_view(&call->message),
                                              .usage = USAGE_NONE,
                                              .sent = REQUEST_UNSENT,
                                              .window = -1,
                                              .needed = -1};
        call->callbacks.done(call->callbacks.user, NULL, &failure);
        call_free(call);
    }
    client_settle(client);
}

/* The call is not with the inner port: its done follows from the loop. */
static void call_end(struct model_call *call, enum err_class class, const char *message)
{
    struct model_client *client = call->client;
    request_copy_release(&call->copy);
    buf_init(&call->message, MESSAGE_MAX);
    buf_text(&call->message, message);
    call->state = CALL_ENDED;
    call->class = class;
    call->next = client->ended;
    client->ended = call;
    later_set(client->soon, 0);
}

/* --- waiting for a key --------------------------------------------------------------------------- */

static void waiting_add(struct model_call *call)
{
    struct source *source = call->source;
    call->state = CALL_WAITING;
    call->previous = NULL;
    call->next = source->waiting;
    if (call->next != NULL)
        call->next->previous = call;
    source->waiting = call;
}

static void waiting_remove(struct model_call *call)
{
    if (call->next != NULL)
        call->next->previous = call->previous;
    *(call->previous != NULL ? &call->previous->next : &call->source->waiting) = call->next;
    call->next = call->previous = NULL;
}

static void ring_settle(struct key_ring *ring)
{
    if (ring->state != RING_CLOSING || ring->running > 0)
        return;
    for (size_t i = 0; i < ring->count; i++)
        secret_release(&ring->sources[i].key);
    free(ring->sources);
    free(ring);
}

static int call_send(struct model_call *call, const struct model_request *request, struct err *err);

static void run_helper(void *user)
{
    struct source *source = user;
    source->result = key_helper_run(&source->helper, &source->cancelled, &source->made,
                                    &source->ttl_ms, &source->err);
}

/* Everybody who waited gets this key, or this failure. */
static void on_helper_ended(void *user)
{
    struct source *source = user;
    struct key_ring *ring = source->ring;
    struct model_call *call;
    ring->running--;
    source->state = SOURCE_EMPTY;
    if (source->result == 0) {
        secret_release(&source->key);
        source->key = source->made;
        source->made = (struct buf){0};
        masker_know(ring->masker, "config", buf_view(&source->key));
        source->serial++;
        source->expires_at = clock_monotonic_ms() + source->ttl_ms;
        source->state = SOURCE_READY;
    } else {
        secret_release(&source->made);
    }
    while ((call = source->waiting) != NULL) {
        struct err err = ERR_INIT;
        waiting_remove(call);
        if (source->result != 0)
            call_end(call, ERR_PROVIDER, source->err.message);
        else if (call_send(call, &call->copy.request, &err) != 0)
            call_end(call, ERR_PROVIDER, err.message);
    }
    ring_settle(ring);
}

static void source_run(struct source *source)
{
    struct key_ring *ring = source->ring;
    source->state = SOURCE_RUNNING;
    source->err = ERR_INIT;
    buf_init(&source->made, KEY_MAX);
    ring->running++;
    later_work(ring->loop, run_helper, on_helper_ended, source);
}

static bool has_key(const struct source *source)
{
    return source->state == SOURCE_READY && clock_monotonic_ms() < source->expires_at;
}

static void wait_for_key(struct model_call *call)
{
    waiting_add(call);
    if (call->source->state != SOURCE_RUNNING)
        source_run(call->source);
}

/* --- the inner call ------------------------------------------------------------------------------ */

static void on_delta(void *user, struct str text)
{
    struct model_call *call = user;
    if (call->callbacks.delta != NULL)
        call->callbacks.delta(call->callbacks.user, text);
}

static void on_reasoning(void *user, struct str text)
{
    struct model_call *call = user;
    if (call->callbacks.reasoning != NULL)
        call->callbacks.reasoning(call->callbacks.user, text);
}

static void on_progress(void *user)
{
    struct model_call *call = user;
    if (call->callbacks.progress != NULL)
        call->callbacks.progress(call->callbacks.user);
}

static void on_waiting(void *user, struct str reason)
{
    struct model_call *call = user;
    if (call->callbacks.waiting != NULL)
        call->callbacks.waiting(call->callbacks.user, reason);
}

/* A key that the server does not take is not asked for twice in vain: whoever got the 401 last may find a newer one. */
static void renew(struct model_call *call)
{
    struct source *source = call->source;
    struct err err = ERR_INIT;
    call->key = KEY_RENEWED;
    if (source->state == SOURCE_READY && source->serial == call->serial)
        source->state = SOURCE_EMPTY;
    if (!has_key(source))
        wait_for_key(call);
    else if (call_send(call, &call->copy.request, &err) != 0)
        call_end(call, ERR_PROVIDER, err.message);
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct model_call *call = user;
    struct model_client *client = call->client;
    bool refused = failure != NULL && failure->http_status == 401 &&
                   failure->class != ERR_CANCELLED && call->source != NULL;
    if (refused && call->key == KEY_FIRST && client->state == CLIENT_OPEN) {
        renew(call);
        return;
    }
    call->callbacks.done(call->callbacks.user, reply, failure);
    call_free(call);
    client_settle(client);
}

static int call_send(struct model_call *call, const struct model_request *request, struct err *err)
{
    const struct model_port *inner = &call->client->inner;
    struct model_request sent = *request;
    const struct model_callbacks callbacks = {.delta = on_delta,
                                              .reasoning = on_reasoning,
                                              .done = on_done,
                                              .user = call,
                                              .waiting = on_waiting,
                                              .progress = on_progress};
    if (call->source != NULL) {
        sent.api_key = buf_view(&call->source->key);
        call->serial = call->source->serial;
    }
    call->state = CALL_STARTED;
    return inner->ops->start(inner->client, &sent, &callbacks, &call->inner, err);
}

/* --- the port ------------------------------------------------------------------------------------ */

static struct source *source_of(const struct key_ring *ring, const struct model_request *request)
{
    for (size_t i = 0; i < ring->count; i++)
        if (str_eq(ring->sources[i].helper.provider, request->provider) &&
            str_eq(ring->sources[i].helper.base_url, request->base_url))
            return &ring->sources[i];
    return NULL;
}

static int port_start(struct model_client *client, const struct model_request *request,
                      const struct model_callbacks *callbacks, struct model_call **started,
                      struct err *err)
{
    struct model_call *call = must(calloc(1, sizeof *call));
    call->client = client;
    call->callbacks = *callbacks;
    call->source = source_of(client->ring, request);
    client->calls++;
    int result = call->source != NULL ? request_copy_make(&call->copy, request, err) : 0;
    call->copy.request.tools_memo = NULL; /* it may be gone when the copy is sent */
    if (result == 0 && call->source != NULL && !has_key(call->source))
        wait_for_key(call);
    else if (result == 0)
        result = call_send(call, request, err);
    if (result != 0) {
        call_free(call);
        return -1;
    }
    *started = call;
    return 0;
}

static void port_abort(struct model_call *call)
{
    if (call->state == CALL_STARTED) {
        call->client->inner.ops->abort(call->inner);
    } else if (call->state == CALL_WAITING) {
        waiting_remove(call);
        call_end(call, ERR_CANCELLED, "stopped while it waited for its key");
    }
}

static void port_free(struct model_client *client)
{
    client->state = CLIENT_CLOSING;
    for (size_t i = 0; i < client->ring->count; i++) {
        struct model_call *next;
        for (struct model_call *call = client->ring->sources[i].waiting; call != NULL;
             call = next) {
            next = call->next;
            if (call->client == client)
                port_abort(call);
        }
    }
    client->calls++; /* calls may end inside of the inner port's free */
    client->inner.ops->free(client->inner.client);
    client->calls--;
    client_settle(client);
}

struct model_port key_port_open(struct key_ring *ring, struct model_port inner)
{
    struct model_client *client = must(calloc(1, sizeof *client));
    client->ops = (struct model_ops){
        .render = inner.ops->render, .start = port_start, .abort = port_abort, .free = port_free};
    client->ring = ring;
    client->inner = inner;
    client->soon = later_new(ring->loop, on_soon, client);
    return (struct model_port){.ops = &client->ops, .client = client};
}

struct key_ring *key_ring_new(struct uv_loop_s *loop, const struct key_helper *helpers,
                              size_t count, struct masker *masker)
{
    struct key_ring *ring = must(calloc(1, sizeof *ring));
    ring->loop = loop;
    ring->count = count;
    ring->masker = masker;
    ring->sources = must(calloc(count + 1, sizeof *ring->sources));
    for (size_t i = 0; i < count; i++) {
        ring->sources[i].ring = ring;
        ring->sources[i].helper = helpers[i];
    }
    return ring;
}

void key_ring_close(struct key_ring *ring)
{
    ring->state = RING_CLOSING;
    for (size_t i = 0; i < ring->count; i++)
        atomic_store(&ring->sources[i].cancelled, true);
    ring_settle(ring);
}
