/* The governor as a model port: keeps requests that must wait, starts them on the inner port when
 * they may leave, and tells the governor what became of them. Decides nothing itself. Loop thread.
 *
 * Each call of ours stands for at most one call of the inner port. A provider is made with its first
 * request and kept, because its limit is worth remembering; config bounds how many there are. */
#include "net/governor_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "net/request_copy.h"

#define REASON_MAX 64
#define MESSAGE_MAX 1024
#define MOVE_ON_MS 2000 /* so long a pause is not waited for where another model can be asked */

struct provider {
    struct model_client *client;
    struct governor governor;
    struct model_call *waiting; /* doubly linked, newest first */
    uv_timer_t wake;            /* runs while the governor wants to be asked again */
};

struct model_client {
    struct model_ops ops; /* of its own: rendering is the inner port's */
    uv_loop_t *loop;
    struct model_port inner;
    struct governor_limits limits;
    struct map providers; /* by base URL */
    struct map maxima;    /* by base URL, where it is not limits.maximum; the number as a pointer */
    struct model_call *ended; /* singly linked, oldest first: their done is due */
    struct model_call **ended_last;
    uv_timer_t soon; /* runs while something is in `ended` */
    size_t calls, handles;
    enum { CLIENT_OPEN, CLIENT_CLOSING } state;
};

struct model_call {
    struct governor_ticket ticket; /* first: they are cast into each other */
    struct provider *provider;
    struct model_callbacks callbacks;
    struct model_call *inner; /* the inner port's, while STARTED */
    struct model_call *next, *previous;
    enum { CALL_WAITING, CALL_STARTED, CALL_ENDED } state;
    struct request_copy copy; /* of the request, while WAITING */
    struct buf message;       /* of the failure, once ENDED */
    enum err_class class;     /* once ENDED */
    int status;               /* and what the provider answered others; 0: nothing */
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static int64_t now_of(const struct model_client *client)
{
    return (int64_t)uv_now(client->loop);
}

/* --- the end of a call ------------------------------------------------------------------------ */

static void handle_closed(struct model_client *client)
{
    size_t cursor = 0;
    struct str key;
    void *item;
    if (--client->handles > 0)
        return;
    while (map_next(&client->providers, &cursor, &key, &item)) {
        struct provider *provider = item;
        governor_release(&provider->governor);
        free(provider);
    }
    map_release(&client->providers);
    map_release(&client->maxima);
    free(client);
}

static void on_wake_closed(uv_handle_t *handle)
{
    struct provider *provider = handle->data;
    handle_closed(provider->client);
}

static void on_soon_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

/* Takes the client down when it is closing and no call can come back to it. */
static void client_settle(struct model_client *client)
{
    size_t cursor = 0;
    struct str key;
    void *item;
    if (client->state != CLIENT_CLOSING || client->calls > 0 ||
        uv_is_closing((uv_handle_t *)&client->soon))
        return;
    while (map_next(&client->providers, &cursor, &key, &item))
        uv_close((uv_handle_t *)&((struct provider *)item)->wake, on_wake_closed);
    uv_close((uv_handle_t *)&client->soon, on_soon_closed);
}

static void call_free(struct model_call *call)
{
    struct model_client *client = call->provider->client;
    request_copy_release(&call->copy);
    buf_release(&call->message);
    free(call);
    client->calls--;
}

static void on_soon(uv_timer_t *timer)
{
    struct model_client *client = timer->data;
    while (client->ended != NULL) {
        struct model_call *call = client->ended;
        client->ended = call->next;
        if (client->ended == NULL)
            client->ended_last = &client->ended;
        const struct model_failure failure = {.class = call->class,
                                              .http_status = call->status,
                                              .retry_after_ms = -1,
                                              .message = buf_view(&call->message),
                                              .usage = USAGE_NONE,
                                              .sent = REQUEST_UNSENT};
        call->callbacks.done(call->callbacks.user, NULL, &failure);
        call_free(call);
    }
    client_settle(client);
}

/* The call never reached the inner port, or was not taken by it: its done follows from the loop. */
static void call_end(struct model_call *call, enum err_class class, const char *message)
{
    struct model_client *client = call->provider->client;
    governor_leave(&call->provider->governor, &call->ticket);
    request_copy_release(&call->copy);
    buf_init(&call->message, MESSAGE_MAX);
    buf_text(&call->message, message);
    call->state = CALL_ENDED;
    call->class = class;
    call->next = NULL;
    *client->ended_last = call;
    client->ended_last = &call->next;
    uv_timer_start(&client->soon, on_soon, 0, 0);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void waiting_tell(const struct model_call *call, struct str reason)
{
    if (call->callbacks.waiting != NULL)
        call->callbacks.waiting(call->callbacks.user, reason);
}

static void waiting_add(struct model_call *call)
{
    struct provider *provider = call->provider;
    call->next = provider->waiting;
    if (call->next != NULL)
        call->next->previous = call;
    provider->waiting = call;
}

static void waiting_remove(struct model_call *call)
{
    if (call->next != NULL)
        call->next->previous = call->previous;
    *(call->previous != NULL ? &call->previous->next : &call->provider->waiting) = call->next;
    call->next = call->previous = NULL;
}

/* Tells the calls of the list from `from` to before `to` what they wait for. */
static void waiting_explain(const struct provider *provider, const struct model_call *from,
                            const struct model_call *to)
{
    struct buf reason;
    buf_init(&reason, REASON_MAX);
    governor_reason(&provider->governor, now_of(provider->client), &reason);
    for (const struct model_call *call = from; call != to; call = call->next)
        waiting_tell(call, buf_view(&reason));
    buf_release(&reason);
}

/* A short pause is sat out: a pool's first model is the one that is wanted. */
static bool moves_on(const struct provider *provider, const struct model_request *request)
{
    const struct governor *governor = &provider->governor;
    return request->at_a_pause == REQUEST_MOVES_ON &&
           (governor->state == GOVERNOR_DOWN ||
            governor_pause_left(governor, now_of(provider->client)) >= MOVE_ON_MS);
}

static void move_on(struct model_call *call)
{
    char message[MESSAGE_MAX];
    struct buf reason;
    buf_init(&reason, REASON_MAX);
    governor_reason(&call->provider->governor, now_of(call->provider->client), &reason);
    snprintf(message, sizeof message, "not asked: everybody waits for this provider (%.*s)",
             STR_FMT(buf_view(&reason)));
    buf_release(&reason);
    /* With the status that the provider gave others: it was reached, and only has too much to do. */
    const struct governor *governor = &call->provider->governor;
    call->status = governor->state == GOVERNOR_DOWN ? 0 : governor->status;
    call_end(call, ERR_RETRY, message);
}

/* A pause has begun: linear, once for each. */
static void waiting_pause(struct provider *provider)
{
    struct model_call *next;
    for (struct model_call *call = provider->waiting; call != NULL; call = next) {
        next = call->next;
        if (!moves_on(provider, &call->copy.request))
            continue;
        waiting_remove(call);
        move_on(call);
    }
    waiting_explain(provider, provider->waiting, NULL);
}

/* --- starting --------------------------------------------------------------------------------- */

static void provider_pump(struct provider *provider);

static void on_wake(uv_timer_t *timer)
{
    provider_pump(timer->data);
}

/* Sees to it that those who wait are looked at when they may leave: at once, but from the loop, or
 * when a pause is over. */
static void provider_arm(struct provider *provider)
{
    int64_t now = now_of(provider->client);
    int64_t wake = governor_wake(&provider->governor, now);
    if (wake == INT64_MAX)
        uv_timer_stop(&provider->wake);
    else
        uv_timer_start(&provider->wake, on_wake, (uint64_t)(wake - now), 0);
}

/* News while the inner port is in the middle of a transfer: what may leave now does so from the
 * loop. */
static void provider_news(struct provider *provider, enum governor_effect effect)
{
    if (effect == GOVERNOR_PAUSED)
        waiting_pause(provider);
    if (effect != GOVERNOR_AS_BEFORE)
        provider_arm(provider);
}

static void on_delta(void *user, struct str text)
{
    struct model_call *call = user;
    struct provider *provider = call->provider;
    provider_news(provider,
                  governor_taken_on(&provider->governor, &call->ticket, now_of(provider->client)));
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
    struct provider *provider = call->provider;
    /* Whatever came, the provider is there: reasoning and calls come without any text. */
    provider_news(provider, governor_reached(&provider->governor, now_of(provider->client)));
    if (call->callbacks.progress != NULL)
        call->callbacks.progress(call->callbacks.user);
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure);

static int inner_start(struct model_call *call, const struct model_request *request,
                       struct err *err)
{
    const struct model_port *inner = &call->provider->client->inner;
    const struct model_callbacks callbacks = {.delta = on_delta,
                                              .reasoning = on_reasoning,
                                              .done = on_done,
                                              .user = call,
                                              .progress = on_progress};
    call->state = CALL_STARTED;
    return inner->ops->start(inner->client, request, &callbacks, &call->inner, err);
}

static void launch(struct model_call *call)
{
    struct err err = ERR_INIT;
    waiting_remove(call);
    waiting_tell(call, STR(""));
    if (inner_start(call, &call->copy.request, &err) != 0)
        call_end(call, ERR_PROVIDER, err.message);
    else
        request_copy_release(&call->copy);
}

/* Starts everything that may leave now. */
static void provider_pump(struct provider *provider)
{
    struct model_client *client = provider->client;
    int64_t now = now_of(client);
    struct governor_ticket *ticket;
    if (client->state == CLIENT_CLOSING)
        return;
    while ((ticket = governor_admit(&provider->governor, now)) != NULL)
        launch((struct model_call *)(void *)ticket);
    provider_arm(provider);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The status of what the provider said: its answer's, or that of an error inside of an answer that had begun well. */
static int status_of(const struct model_failure *failure)
{
    return failure->load_status > 0 ? failure->load_status : failure->http_status;
}

/* Statuses with which providers say "too much"; other failures say nothing about the load. */
static bool is_refusal(const struct model_failure *failure)
{
    static const int statuses[] = {429, 503, 529};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (status_of(failure) == statuses[i])
            return true;
    }
    return false;
}

/* What the end of the call says about the provider. */
static enum governor_effect take_news(struct model_call *call, const struct model_reply *reply,
                                      const struct model_failure *failure)
{
    struct governor *governor = &call->provider->governor;
    int64_t now = now_of(call->provider->client);
    if (reply != NULL)
        return governor_taken_on(governor, &call->ticket, now);
    if (failure->class == ERR_CANCELLED)
        return GOVERNOR_AS_BEFORE;
    if (is_refusal(failure))
        return governor_refused(governor, &call->ticket, status_of(failure),
                                failure->retry_after_ms, now);
    if (failure->http_status >= 400)
        return governor_reached(governor, now);
    if (failure->http_status == 0 && failure->sent == REQUEST_UNSENT &&
        failure->class != ERR_PROVIDER)
        return governor_unreached(governor, GOVERNOR_NO_CONNECTION, now);
    if (failure->http_status == 0 && failure->class == ERR_RETRY)
        return governor_unreached(governor, GOVERNOR_BROKEN, now);
    return GOVERNOR_AS_BEFORE;
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct model_call *call = user;
    struct provider *provider = call->provider;
    struct governor *governor = &provider->governor;
    if (take_news(call, reply, failure) == GOVERNOR_PAUSED)
        waiting_pause(provider);
    governor_leave(governor, &call->ticket);
    call->callbacks.done(call->callbacks.user, reply, failure);
    call_free(call);
    provider_pump(provider);
    client_settle(provider->client);
}

/* --- the port ---------------------------------------------------------------------------------- */

static struct governor_limits limits_of(const struct model_client *client, struct str base_url)
{
    struct governor_limits limits = client->limits;
    size_t maximum = (uintptr_t)map_get(&client->maxima, base_url);
    /* A number that somebody configured is what this server takes: no need to find out from 64 up. */
    if (maximum > 0)
        limits.maximum = limits.first = maximum;
    return limits;
}

static struct provider *provider_of(struct model_client *client, struct str base_url)
{
    struct provider *provider = map_get(&client->providers, base_url);
    if (provider != NULL)
        return provider;
    provider = must(calloc(1, sizeof *provider));
    provider->client = client;
    const struct governor_limits limits = limits_of(client, base_url);
    governor_init(&provider->governor, &limits);
    uv_timer_init(client->loop, &provider->wake);
    provider->wake.data = provider;
    client->handles++;
    map_set(&client->providers, base_url, provider);
    return provider;
}

static int start_or_wait(struct model_call *call, const struct model_request *request,
                         struct err *err)
{
    struct provider *provider = call->provider;
    int result;
    enum governor_entry entry = governor_enter(&provider->governor, &call->ticket, request->owner,
                                               request->agent_no, now_of(provider->client));
    if (entry == GOVERNOR_WAITS && moves_on(provider, request)) {
        move_on(call);
        return 0;
    }
    if (entry == GOVERNOR_ADMITTED)
        result = inner_start(call, request, err);
    else
        result = request_copy_make(&call->copy, request, err);
    if (result != 0) {
        governor_leave(&provider->governor, &call->ticket);
        return -1;
    }
    if (call->state == CALL_WAITING) {
        waiting_add(call);
        waiting_explain(provider, call, call->next);
        provider_pump(provider);
    }
    return 0;
}

static int port_start(struct model_client *client, const struct model_request *request,
                      const struct model_callbacks *callbacks, struct model_call **started,
                      struct err *err)
{
    struct model_call *call = must(calloc(1, sizeof *call));
    call->provider = provider_of(client, request->base_url);
    call->callbacks = *callbacks;
    call->state = CALL_WAITING;
    client->calls++;
    if (start_or_wait(call, request, err) != 0) {
        call_free(call);
        return -1;
    }
    *started = call;
    return 0;
}

static void port_abort(struct model_call *call)
{
    const struct model_port *inner = &call->provider->client->inner;
    if (call->state == CALL_STARTED) {
        inner->ops->abort(call->inner);
    } else if (call->state == CALL_WAITING) {
        waiting_remove(call);
        call_end(call, ERR_CANCELLED, "stopped while it waited for the provider");
        provider_arm(call->provider);
    }
}

static void port_free(struct model_client *client)
{
    size_t cursor = 0;
    struct str key;
    void *item;
    client->state = CLIENT_CLOSING;
    while (map_next(&client->providers, &cursor, &key, &item)) {
        struct provider *provider = item;
        while (provider->waiting != NULL)
            port_abort(provider->waiting);
    }
    client->inner.ops->free(client->inner.client);
    client_settle(client);
}

struct model_port governor_open(struct uv_loop_s *loop, struct model_port inner,
                                const struct governor_limits *limits)
{
    struct model_client *client = must(calloc(1, sizeof *client));
    client->ops = (struct model_ops){
        .render = inner.ops->render, .start = port_start, .abort = port_abort, .free = port_free};
    client->loop = loop;
    client->inner = inner;
    client->limits = *limits;
    client->ended_last = &client->ended;
    map_init(&client->providers);
    map_init(&client->maxima);
    uv_timer_init(loop, &client->soon);
    client->soon.data = client;
    client->handles = 1;
    return (struct model_port){.ops = &client->ops, .client = client};
}

void governor_set_maximum(struct model_port governor, struct str base_url, size_t maximum)
{
    struct map *maxima = &governor.client->maxima;
    size_t before = (uintptr_t)map_get(maxima, base_url);
    void *value = (void *)(uintptr_t)maximum; /* NOLINT(performance-no-int-to-ptr) */
    if (value != NULL && (before == 0 || maximum < before))
        map_set(maxima, base_url, value);
}
