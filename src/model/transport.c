/* Sends model requests and turns what comes back into exactly one `done`; see the header. The API key is in the
 * request's header and nowhere else. Runs on the loop thread. */
#include "model/transport.h"

#include <stdlib.h>
#include <time.h>

#include "net/http.h"
#include "net/retry_after.h"

struct model_client {
    const struct transport_api *api;
    struct http *http;
};

struct model_call {
    const struct transport_api *api;
    struct model_callbacks callbacks;
    struct http_transfer *transfer;
    struct decoder *decoder; /* NULL until something came: thousands wait for their first byte */
    struct buf secret;
    struct buf error_body;
    int64_t started_ms; /* CLOCK_MONOTONIC */
    int64_t first_token_ms;
    bool aborted;
};

static void call_free(struct model_call *call)
{
    if (call->decoder) {
        decoder_release(call->decoder);
        free(call->decoder);
    }
    buf_release(&call->error_body);
    if (call->secret.p)
        explicit_bzero(call->secret.p, call->secret.capacity);
    buf_release(&call->secret);
    free(call);
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

static int64_t now_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- the answer ---------------------------------------------------------------------------------- */

static void on_delta(void *user, struct str text)
{
    struct model_call *call = user;
    if (call->callbacks.delta && !call->aborted)
        call->callbacks.delta(call->callbacks.user, text);
}

static void on_reasoning(void *user, struct str text)
{
    struct model_call *call = user;
    if (call->callbacks.reasoning && !call->aborted)
        call->callbacks.reasoning(call->callbacks.user, text);
}

static struct decoder *decoder_of(struct model_call *call)
{
    const struct model_server server = {http_shown_url(call->transfer), buf_view(&call->secret)};
    if (!call->decoder) {
        call->decoder = call->api->decoder_new(server, on_delta, call);
        call->decoder->reasoning = on_reasoning;
    }
    return call->decoder;
}

static enum http_next on_data(void *user, int status, struct str bytes)
{
    static const enum http_next next[] = {
        [DECODER_GO_ON] = HTTP_GO_ON,
        [DECODER_COMPLETE] = HTTP_ENOUGH,
        [DECODER_FAILED] = HTTP_STOP,
    };
    struct model_call *call = user;
    if (!is_success(status)) {
        size_t room = call->error_body.max - call->error_body.n;
        buf_add(&call->error_body, bytes.p, bytes.n < room ? bytes.n : room);
        return HTTP_GO_ON;
    }
    uint64_t heard = decoder_of(call)->heard;
    enum decoder_next wanted = decoder_feed(call->decoder, bytes);
    if (call->callbacks.progress && !call->aborted && call->decoder->heard != heard)
        call->callbacks.progress(call->callbacks.user);
    if (call->first_token_ms < 0 && decoder_started(call->decoder))
        call->first_token_ms = now_ms(CLOCK_MONOTONIC) - call->started_ms;
    return next[wanted];
}

/* An answer with an error status. */
static void read_refusal(const struct model_call *call, struct decoder *decoder, int status,
                         struct model_failure *failure)
{
    struct err ignored = ERR_INIT;
    struct str body = buf_view(&call->error_body);
    struct js *root = js_parse(body, &ignored);
    struct trouble trouble = trouble_read(status, root, body);
    js_free(root);
    failure->class = trouble.kind != TROUBLE_NONE ? ERR_PROVIDER : failure_status_class(status);
    failure->trouble = trouble.kind;
    failure->window = trouble.window;
    failure->needed = trouble.needed;
    failure->message = failure_status_message(&decoder->server, status, body, &decoder->arena);
}

/* A certificate that is not trusted, a redirect, a server that does not speak HTTP: the next request meets the same. */
static bool is_final_network(const struct http_result *result)
{
    return result->class == ERR_PROVIDER && !is_success(result->status);
}

static void on_done(void *user, const struct http_transfer *transfer,
                    const struct http_result *result)
{
    struct model_call *call = user;
    struct decoder *decoder = decoder_of(call);
    struct model_reply reply;
    struct model_failure failure;
    bool refused = result->status >= 400;
    bool network = result->class != ERR_NONE && decoder->failed == ERR_NONE;
    bool whole = decoder_finish(
        decoder, result->class == ERR_NONE ? DECODER_CLOSED : DECODER_BROKEN, &reply, &failure);
    if (whole && !call->aborted && !refused) {
        reply.first_token_ms = call->first_token_ms;
        call->callbacks.done(call->callbacks.user, &reply, NULL);
        call_free(call);
        return;
    }
    if (whole)
        failure = (struct model_failure){
            .partial = reply.text, .usage = reply.usage, .window = -1, .needed = -1};
    failure.http_status = result->status;
    failure.retry_after_ms = -1;
    failure.sent = result->sent == HTTP_UNSENT ? REQUEST_UNSENT : REQUEST_SENT;
    if (call->aborted) {
        failure.load_status = 0;
        failure.trouble = TROUBLE_NONE;
        failure.class = ERR_CANCELLED;
        failure.message = STR("the request was cancelled");
    } else if (refused) {
        read_refusal(call, decoder, result->status, &failure);
    } else if (network) {
        failure.class = result->class;
        failure.trouble = is_final_network(result) ? TROUBLE_FINAL : TROUBLE_NONE;
        /* It may quote the server: where it redirects to. */
        failure.message =
            failure_redacted(&decoder->server, str_from(result->message), &decoder->arena);
    }
    if (failure.class == ERR_RETRY)
        failure.retry_after_ms =
            retry_after_ms(http_header(transfer, "retry-after"),
                           http_header(transfer, "retry-after-ms"), now_ms(CLOCK_REALTIME));
    call->callbacks.done(call->callbacks.user, NULL, &failure);
    call_free(call);
}

/* --- the request --------------------------------------------------------------------------------- */

/* The API's path goes behind that of the base URL and before its query. */
static void build_url(struct buf *out, struct str base, const char *api_path)
{
    const char *query = base.n > 0 ? memchr(base.p, '?', base.n) : NULL;
    struct str path = {base.p, query ? (size_t)(query - base.p) : base.n};
    struct str rest = {base.p + path.n, base.n - path.n};
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    buf_str(out, path);
    buf_text(out, api_path);
    if (query)
        buf_str(out, rest);
}

/* A little more than what the body takes, so that it is allocated once and wastes nothing while it waits. */
static size_t body_estimate(const struct model_request *request)
{
    size_t bytes = request->fragments.n + request->model.n + 512;
    for (size_t i = 0; i < request->tool_count; i++) {
        const struct model_tool *tool = &request->tools[i];
        bytes +=
            tool->name.n + tool->schema.n + tool->description.n + tool->description.n / 16 + 96;
    }
    return bytes;
}

static int check_key(struct str key, struct err *err)
{
    for (size_t i = 0; i < key.n; i++)
        if ((unsigned char)key.p[i] <= ' ' || (unsigned char)key.p[i] >= 0x7F)
            return err_set(
                err, ERR_CONFIG,
                "the API key holds a space, a line break or a character that is not ASCII: "
                "check the environment variable it comes from");
    if (key.n > 4096)
        return err_set(err, ERR_CONFIG, "the API key is longer than 4096 characters");
    return 0;
}

int transport_start(struct model_client *client, const struct model_request *request,
                    const struct model_callbacks *callbacks, struct model_call **started,
                    struct err *err)
{
    const struct transport_api *api = client->api;
    int result = -1;
    struct buf url, authorization, body;
    buf_init(&url, HTTP_URL_MAX);
    buf_init(&authorization, 8192);
    http_body(client->http, TRANSPORT_BODY_MAX, &body);
    struct model_call *call = calloc(1, sizeof *call);
    if (!call)
        abort();
    if (check_key(request->api_key, err) != 0)
        goto out;
    build_url(&url, request->base_url, api->path);
    buf_expect(&body, body_estimate(request));
    api->body(request, &body);
    if (body.failed || url.failed) {
        err_set(err, ERR_USAGE, "the request is larger than 64 MB, or its URL than 8 KB");
        goto out;
    }
    buf_text(&authorization, api->key_header);
    buf_str(&authorization, request->api_key);
    struct str headers[5] = {
        STR("Content-Type: application/json"),
        STR("Accept: text/event-stream, application/json"),
        STR("User-Agent: cadre"),
    };
    size_t header_count = 3;
    if (api->header.p)
        headers[header_count++] = api->header;
    if (request->api_key.n > 0)
        headers[header_count++] = buf_view(&authorization);

    call->api = api;
    call->callbacks = *callbacks;
    call->first_token_ms = -1;
    call->started_ms = now_ms(CLOCK_MONOTONIC);
    buf_init(&call->error_body, FAILURE_BODY);
    buf_init(&call->secret, 4096);
    buf_str(&call->secret, request->api_key);
    const struct http_request http_request = {
        .method = HTTP_POST,
        .url = buf_view(&url),
        .headers = headers,
        .header_count = header_count,
        .body = &body,
        .deadlines = {.connect_ms = request->deadlines.connect_ms,
                      .first_byte_ms = request->deadlines.first_byte_ms,
                      .idle_ms = request->deadlines.idle_ms,
                      .total_ms = request->deadlines.total_ms},
        .handlers = {.data = on_data, .done = on_done, .user = call},
    };
    if (http_start(client->http, &http_request, &call->transfer, err) != 0)
        goto out;
    if (request->calls == REQUEST_CALLS_IN_TEXT)
        decoder_offer(decoder_of(call), request->tools, request->tool_count);
    *started = call;
    call = NULL;
    result = 0;
out:
    if (call)
        call_free(call);
    if (authorization.p)
        explicit_bzero(authorization.p, authorization.capacity);
    buf_release(&authorization);
    buf_release(&url);
    buf_release(&body);
    return result;
}

void transport_abort(struct model_call *call)
{
    call->aborted = true;
    http_abort(call->transfer);
}

void transport_free(struct model_client *client)
{
    http_free(client->http);
    free(client);
}

struct model_client *transport_open(const struct transport_api *api, struct uv_loop_s *loop)
{
    struct model_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    *client = (struct model_client){.api = api, .http = http_new(loop)};
    return client;
}
