/* The recording port: passes everything through and writes a line when a call is done. A request is known by what it was when
 * it was started; its time counts from when it left, not from when it began to wait for its provider. Loop thread. */
#include "model/record.h"

#include <stdlib.h>
#include <unistd.h>

#include "model/headers.h"
#include "model/record_line.h"
#include "os/appender.h"
#include "os/clock.h"

#define PENDING_MAX ((size_t)128 << 20) /* bytes that may wait for the disk */
#define SECRET_MIN 8                    /* shorter texts stand in answers by chance */

struct record {
    struct appender *appender;
    enum { RECORD_GOES_ON, RECORD_STOPPED } state;
    size_t lines;
    struct record_warning warning;
    struct arena arena;
    struct str path;
};

struct model_client {
    struct model_ops ops; /* of its own: rendering is the inner port's */
    struct record *record;
    struct model_port inner;
    size_t calls;
    enum { CLIENT_OPEN, CLIENT_CLOSING } state;
};

struct model_call {
    struct model_client *client;
    struct model_callbacks callbacks;
    struct model_call *inner;
    struct record_line line;
    struct arena arena; /* of the line's texts */
    struct buf secrets; /* the key and values of the config's headers, a line each */
    int64_t started_ms; /* monotonic */
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void stop(struct record *record, const struct err *why)
{
    struct buf text;
    record->state = RECORD_STOPPED;
    buf_init(&text, 2048);
    buf_printf(&text, "recording to %.*s has stopped: %s; the run goes on", STR_FMT(record->path),
               why->message);
    record->warning.say(record->warning.user, buf_view(&text));
    buf_release(&text);
}

/* Overwrites the key wherever a server has put it into its answer. */
static void hide(struct buf *line, struct str secret)
{
    char *at = line->p;
    if (secret.n < SECRET_MIN || line->n == 0)
        return;
    while ((at = memmem(at, line->n - (size_t)(at - line->p), secret.p, secret.n)) != NULL)
        memset(at, '*', secret.n);
}

/* secrets: a line each. */
static void hide_all(struct buf *line, struct str secrets)
{
    while (secrets.n > 0) {
        const char *end = memchr(secrets.p, '\n', secrets.n);
        size_t n = end != NULL ? (size_t)(end - secrets.p) : secrets.n;
        hide(line, (struct str){secrets.p, n});
        n += end != NULL;
        secrets = (struct str){secrets.p + n, secrets.n - n};
    }
}

static void write_line(struct model_call *call, const struct model_reply *reply,
                       const struct model_failure *failure)
{
    struct record *record = call->client->record;
    struct err err = ERR_INIT;
    struct buf line;
    if (record->state == RECORD_STOPPED)
        return;
    buf_init(&line, RECORD_LINE_MAX);
    call->line.ms = clock_monotonic_ms() - call->started_ms;
    record_line_print(&call->line, reply, failure, &line);
    hide_all(&line, buf_view(&call->secrets));
    if (line.failed) {
        err_set(&err, ERR_USAGE, "an answer of more than 32 MB does not fit into a line");
        stop(record, &err);
    } else if (appender_add(record->appender, buf_view(&line), &err) != 0) {
        stop(record, &err);
    } else {
        record->lines++;
    }
    buf_release(&line);
}

/* --- the port -------------------------------------------------------------------------------------------- */

static void client_settle(struct model_client *client)
{
    if (client->state == CLIENT_CLOSING && client->calls == 0)
        free(client);
}

static void call_free(struct model_call *call)
{
    call->client->calls--;
    if (call->secrets.p != NULL)
        explicit_bzero(call->secrets.p, call->secrets.capacity);
    buf_release(&call->secrets);
    arena_release(&call->arena);
    free(call);
}

static void on_delta(void *user, struct str text)
{
    struct model_call *call = user;
    call->callbacks.delta(call->callbacks.user, text);
}

static void on_reasoning(void *user, struct str text)
{
    struct model_call *call = user;
    call->callbacks.reasoning(call->callbacks.user, text);
}

static void on_progress(void *user)
{
    struct model_call *call = user;
    call->callbacks.progress(call->callbacks.user);
}

static void on_waiting(void *user, struct str reason)
{
    struct model_call *call = user;
    call->started_ms = clock_monotonic_ms();
    if (call->callbacks.waiting != NULL)
        call->callbacks.waiting(call->callbacks.user, reason);
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct model_call *call = user;
    struct model_client *client = call->client;
    write_line(call, reply, failure);
    call->callbacks.done(call->callbacks.user, reply, failure);
    call_free(call);
    client_settle(client);
}

static int port_start(struct model_client *client, const struct model_request *request,
                      const struct model_callbacks *callbacks, struct model_call **started,
                      struct err *err)
{
    struct model_call *call = must(calloc(1, sizeof *call));
    const struct model_callbacks ours = {
        .delta = callbacks->delta != NULL ? on_delta : NULL,
        .reasoning = callbacks->reasoning != NULL ? on_reasoning : NULL,
        .done = on_done,
        .user = call,
        .waiting = on_waiting,
        .progress = callbacks->progress != NULL ? on_progress : NULL};
    *call = (struct model_call){
        .client = client, .callbacks = *callbacks, .started_ms = clock_monotonic_ms()};
    arena_init(&call->arena);
    buf_init(&call->secrets, HEADERS_BYTES + request->api_key.n + 1);
    buf_str(&call->secrets, request->api_key);
    buf_char(&call->secrets, '\n');
    headers_secrets(request, &call->secrets);
    record_key(request, STR_NONE, &call->line.key);
    call->line.key.model = arena_copy(&call->arena, request->model);
    call->line.agent_no = request->agent_no;
    if (request->conversation != NULL) {
        call->line.turn = request->conversation->turn;
        call->line.workspace = arena_copy(&call->arena, request->conversation->workspace);
    }
    client->calls++;
    if (client->inner.ops->start(client->inner.client, request, &ours, &call->inner, err) != 0) {
        call_free(call);
        return -1;
    }
    *started = call;
    return 0;
}

static void port_abort(struct model_call *call)
{
    call->client->inner.ops->abort(call->inner);
}

static void port_free(struct model_client *client)
{
    client->state = CLIENT_CLOSING;
    client->inner.ops->free(client->inner.client);
    client_settle(client);
}

struct model_port record_open(struct record *record, struct model_port inner)
{
    struct model_client *client = must(calloc(1, sizeof *client));
    client->ops = (struct model_ops){
        .render = inner.ops->render, .start = port_start, .abort = port_abort, .free = port_free};
    client->record = record;
    client->inner = inner;
    return (struct model_port){.ops = &client->ops, .client = client};
}

/* --- the file -------------------------------------------------------------------------------------------- */

int record_new(const char *path, const struct record_warning *warning, struct record **out,
               struct err *err)
{
    struct record *record = must(calloc(1, sizeof *record));
    if (appender_open(path, PENDING_MAX, &record->appender, err) != 0) {
        free(record);
        return -1;
    }
    record->warning = *warning;
    arena_init(&record->arena);
    record->path = arena_copy(&record->arena, str_from(path));
    *out = record;
    return 0;
}

void record_free(struct record *record)
{
    struct err err = ERR_INIT;
    if (appender_close(record->appender, &err) != 0 && record->state == RECORD_GOES_ON)
        stop(record, &err);
    if (record->lines == 0) /* an empty file is no recording, and in the way of the next one */
        unlink(record->path.p);
    arena_release(&record->arena);
    free(record);
}
