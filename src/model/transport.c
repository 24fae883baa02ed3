/* Sends model requests and turns what comes back into exactly one `done`; see the header. The API key and the config's
 * headers are in the request's headers and nowhere else.
 *
 * A request that carries a parameter which its server has not taken yet is kept until the answer, so that it can be sent
 * again without it. Once a server took them all, nothing is kept: thousands may wait. Runs on the loop thread. */
#include "model/transport.h"

#include <stdlib.h>
#include <time.h>

#include "model/headers.h"
#include "net/http.h"
#include "net/retry_after.h"

#define ROUNDS_MAX 6 /* times that one request is sent again */

#define SERVER_REQUEST_MAX 128 /* bytes of a server's id of a request */

struct model_client {
    const struct transport_api *api;
    struct http *http;
    struct dialects dialects;
};

/* A request that can be sent again. */
struct kept {
    struct buf url, body;
    struct headers headers;
    struct http_deadlines deadlines;
};

struct model_call {
    struct model_client *client;
    const struct transport_api *api;
    struct model_callbacks callbacks;
    struct dialect dialect;
    struct dialect_learnt *learnt; /* belongs to the client; NULL: nothing is kept of this server */
    struct kept *kept;             /* NULL: the server took all of its parameters before */
    uint32_t tried;                /* parameters that this call was sent again for */
    int rounds;
    struct http_transfer *transfer;
    struct decoder *decoder;    /* NULL until something came: thousands wait for their first byte */
    struct buf shown;           /* the URL as it may be shown */
    struct buf secret, secrets; /* the key; values of the config's headers, a line each */
    struct buf error_body;
    int64_t output_limit; /* tokens, as it was sent */
    size_t request_bytes;
    int64_t started_ms; /* CLOCK_MONOTONIC */
    int64_t first_token_ms;
    bool aborted;
};

static void secret_release(struct buf *secret)
{
    if (secret->p)
        explicit_bzero(secret->p, secret->capacity);
    buf_release(secret);
}

static void kept_free(struct kept *kept)
{
    if (!kept)
        return;
    buf_release(&kept->url);
    buf_release(&kept->body);
    headers_release(&kept->headers);
    free(kept);
}

static void call_free(struct model_call *call)
{
    if (call->decoder) {
        decoder_release(call->decoder);
        free(call->decoder);
    }
    kept_free(call->kept);
    buf_release(&call->error_body);
    buf_release(&call->shown);
    secret_release(&call->secret);
    secret_release(&call->secrets);
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

static struct model_server server_of(const struct model_call *call)
{
    return (struct model_server){.url = buf_view(&call->shown),
                                 .secret = buf_view(&call->secret),
                                 .more = buf_view(&call->secrets)};
}

static struct decoder *decoder_of(struct model_call *call)
{
    if (!call->decoder) {
        call->decoder = call->api->decoder_new(server_of(call), on_delta, call);
        call->decoder->reasoning = on_reasoning;
        call->decoder->request_bytes = call->request_bytes;
        decoder_limit(call->decoder, call->output_limit);
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
    if (call->callbacks.progress && !call->aborted)
        call->callbacks.progress(call->callbacks.user);
    if (call->first_token_ms < 0 && decoder_started(call->decoder))
        call->first_token_ms = now_ms(CLOCK_MONOTONIC) - call->started_ms;
    if (wanted == DECODER_GO_ON && decoder_is_ending(call->decoder) &&
        call->decoder->heard != heard)
        return HTTP_SOON;
    return next[wanted];
}

/* The server's id of the request, for its support: printable, bounded, and in the decoder's
 * arena. */
static struct str server_request(const struct http_transfer *transfer, struct decoder *decoder)
{
    static const char *const headers[] = {
        "x-request-id",     "request-id",      "x-amzn-requestid",       "x-goog-request-id",
        "apim-request-id",  "x-ms-request-id", "x-ds-trace-id",          "x-trace-id",
        "x-correlation-id", "x-generation-id", "mistral-correlation-id", "cf-ray",
    };
    char id[SERVER_REQUEST_MAX];
    size_t n = 0;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0] && n == 0; i++) {
        struct str value = http_header(transfer, headers[i]);
        for (size_t k = 0; k < value.n && n < sizeof id; k++)
            if (value.p[k] > ' ' && value.p[k] < 0x7F)
                id[n++] = value.p[k];
    }
    if (n == 0)
        return STR_NONE;
    return failure_redacted(&decoder->server, (struct str){id, n}, &decoder->arena);
}

/* An answer with an error status. */
static void read_refusal(const struct model_call *call, struct decoder *decoder, int status,
                         struct model_failure *failure)
{
    struct err ignored = ERR_INIT;
    struct str body = buf_view(&call->error_body);
    struct js *root = js_parse(body, &ignored);
    struct trouble trouble = trouble_read(status, root, body);
    if (trouble.kind == TROUBLE_NONE && failure_is_quota(status, root))
        trouble.kind = TROUBLE_FINAL;
    js_free(root);
    failure->class = trouble.kind != TROUBLE_NONE ? ERR_PROVIDER : failure_status_class(status);
    failure->trouble = trouble.kind;
    failure->window = trouble.window;
    failure->needed = trouble.needed;
    failure->message = failure_status_message(&decoder->server, status, body, &decoder->arena);
}

/* A certificate that is not trusted, a redirect, a server that does not speak HTTP: the next
 * request meets the same. */
static bool is_final_network(const struct http_result *result)
{
    return result->class == ERR_PROVIDER && !is_success(result->status);
}

static int send_kept(struct model_call *call, struct err *err);

/* The parameters that this answer refuses, remembered; 0: it is not about a parameter that was sent. */
static uint32_t learn(struct model_call *call, const struct http_result *result)
{
    struct err ignored = ERR_INIT;
    struct str body = buf_view(&call->error_body);
    /* llama.cpp answers an exception of its chat template with status 500. */
    bool is_refusal = result->status == 400 || result->status == 422 ||
                      (result->status == 500 && dialect_refuses_roles(body));
    if (call->aborted || !call->learnt || result->class != ERR_NONE || !is_refusal)
        return 0;
    struct js *root = js_parse(body, &ignored);
    enum model_trouble trouble = trouble_read(result->status, root, body).kind;
    uint32_t refused = 0;
    if (trouble != TROUBLE_OVERFLOW && trouble != TROUBLE_FILTERED)
        refused = dialect_learn(call->learnt, &call->dialect, call->tried, body);
    const struct model_server server = server_of(call);
    wishes_refuse(&call->learnt->wishes, refused & call->learnt->refused, &server,
                  (struct refusal){root, body});
    js_free(root);
    return refused;
}

/* Sends the request once more as the server wants it. False: it cannot be, and its failure stands. */
static bool send_again(struct model_call *call, uint32_t refused)
{
    struct err err = ERR_INIT;
    struct buf body;
    if (!call->kept || call->rounds >= ROUNDS_MAX)
        return false;
    buf_init(&body, TRANSPORT_BODY_MAX);
    buf_expect(&body, call->kept->body.n + 64);
    dialect_rewrite(call->learnt, &call->dialect, refused, buf_view(&call->kept->body), &body);
    buf_release(&call->kept->body);
    call->kept->body = body;
    call->tried |= refused;
    call->rounds++;
    call->dialect.sent &= ~(refused & ~(uint32_t)SENDS_LIMIT);
    call->dialect.withheld |= refused & call->learnt->refused;
    if ((refused & SENDS_LIMIT) && call->learnt->limit)
        call->dialect.limit = call->learnt->limit;
    buf_clear(&call->error_body);
    return send_kept(call, &err) == 0;
}

static void on_done(void *user, const struct http_transfer *transfer,
                    const struct http_result *result)
{
    struct model_call *call = user;
    uint32_t learnt = learn(call, result);
    if (learnt != 0 && send_again(call, learnt))
        return;
    struct decoder *decoder = decoder_of(call);
    struct model_reply reply;
    struct model_failure failure;
    bool refused = result->status >= 400;
    bool network = result->class != ERR_NONE && decoder->failed == ERR_NONE;
    bool ended = result->class == ERR_NONE && !result->left;
    bool whole = decoder_finish(decoder, ended ? DECODER_CLOSED : DECODER_BROKEN, &reply, &failure);
    if (whole && !call->aborted && !refused) {
        if (call->learnt) {
            call->learnt->accepted |= call->dialect.sent;
            wishes_leave_out(&call->learnt->wishes, call->dialect.withheld & call->dialect.tabled);
            reply.notice =
                wishes_notice(&call->learnt->wishes, call->dialect.withheld, &decoder->arena);
        }
        reply.first_token_ms = call->first_token_ms;
        reply.server_request = server_request(transfer, decoder);
        call->callbacks.done(call->callbacks.user, &reply, NULL);
        call_free(call);
        return;
    }
    if (whole)
        failure = (struct model_failure){
            .partial = reply.text, .usage = reply.usage, .window = -1, .needed = -1};
    /* An error inside of a good answer, before any of it: the same as a status. */
    failure.http_status =
        failure.load_status > 0 && failure.partial.n == 0 ? failure.load_status : result->status;
    failure.server_request = server_request(transfer, decoder);
    failure.retry_after_ms = -1;
    failure.sent = result->sent == HTTP_UNSENT ? REQUEST_UNSENT : REQUEST_SENT;
    if (call->aborted) {
        failure.load_status = 0;
        failure.trouble = TROUBLE_NONE;
        failure.class = ERR_CANCELLED;
        failure.message = STR("the request was cancelled");
    } else if (refused) {
        read_refusal(call, decoder, result->status, &failure);
        if (learnt != 0) /* the next try goes without what was refused */
            failure.class = ERR_RETRY;
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

static struct http_deadlines deadlines_of(const struct model_request *request)
{
    return (struct http_deadlines){.connect_ms = request->deadlines.connect_ms,
                                   .first_byte_ms = request->deadlines.first_byte_ms,
                                   .idle_ms = request->deadlines.idle_ms,
                                   .total_ms = request->deadlines.total_ms};
}

/* The body with the config's members in it. What the config sets is not ours to leave out. */
static int add_extra(struct model_call *call, const struct model_request *request, struct buf *body,
                     struct err *err)
{
    struct err ignored = ERR_INIT;
    struct buf merged;
    struct str key;
    const struct js *value;
    if (request->extra_body.n == 0)
        return 0;
    buf_init(&merged, TRANSPORT_BODY_MAX);
    buf_expect(&merged, body->n + request->extra_body.n + 64);
    int result = body_merge(buf_view(body), request->extra_body, call->dialect.limit,
                            request->max_output_tokens, &merged, err);
    if (result == 0) {
        buf_clear(body);
        buf_str(body, buf_view(&merged));
        body->failed |= merged.failed;
        struct js *extra = js_parse(request->extra_body, &ignored);
        for (void *i = js_next(extra, NULL, &key, &value); i; i = js_next(extra, i, &key, &value)) {
            call->dialect.sent &= ~dialect_params_named(key);
            call->dialect.withheld &= ~dialect_params_named(key);
        }
        js_free(extra);
    }
    buf_release(&merged);
    return result;
}

static int render(struct model_call *call, const struct model_request *request, struct buf *body,
                  struct err *err)
{
    struct model_request sent = *request;
    call->learnt = dialects_of(&call->client->dialects, request);
    dialect_resolve(call->api->dialect, request, call->learnt, &call->dialect);
    if (call->learnt && call->learnt->most > 0 && sent.max_output_tokens > call->learnt->most)
        sent.max_output_tokens = call->learnt->most;
    call->dialect.output_limit = sent.max_output_tokens;
    buf_expect(body, body_estimate(request));
    call->api->body(&sent, &call->dialect, body);
    return add_extra(call, &sent, body, err);
}

static int http_send(struct model_call *call, struct str url, const struct headers *headers,
                     struct buf *body, const struct http_deadlines *deadlines, struct err *err)
{
    struct str list[HEADERS_MAX];
    headers_list(headers, list);
    const struct http_request request = {
        .method = HTTP_POST,
        .url = url,
        .headers = list,
        .header_count = headers->count,
        .body = body,
        .deadlines = *deadlines,
        .handlers = {.data = on_data, .done = on_done, .user = call},
    };
    call->request_bytes = body->n;
    return http_start(call->client->http, &request, &call->transfer, err);
}

static int send_kept(struct model_call *call, struct err *err)
{
    struct buf body;
    http_body(call->client->http, TRANSPORT_BODY_MAX, &body);
    buf_str(&body, buf_view(&call->kept->body));
    int result = body.failed ? err_set(err, ERR_USAGE, "the request is larger than 64 MB")
                             : http_send(call, buf_view(&call->kept->url), &call->kept->headers,
                                         &body, &call->kept->deadlines, err);
    buf_release(&body);
    return result;
}

/* Keeps the request while its server has not taken all of its parameters. */
static void keep(struct model_call *call, struct str url, struct headers *headers, struct str body,
                 const struct http_deadlines *deadlines)
{
    if (!call->learnt || (call->dialect.sent & ~call->learnt->accepted) == 0)
        return;
    call->kept = calloc(1, sizeof *call->kept);
    if (!call->kept)
        abort();
    buf_init(&call->kept->url, HTTP_URL_MAX);
    buf_str(&call->kept->url, url);
    buf_init(&call->kept->body, TRANSPORT_BODY_MAX);
    buf_expect(&call->kept->body, body.n + 1);
    buf_str(&call->kept->body, body);
    buf_init(&call->kept->headers.text, HEADERS_BYTES);
    buf_str(&call->kept->headers.text, buf_view(&headers->text));
    call->kept->headers.count = headers->count;
    call->kept->deadlines = *deadlines;
}

static struct model_call *call_new(struct model_client *client,
                                   const struct model_callbacks *callbacks,
                                   const struct model_request *request)
{
    struct model_call *call = calloc(1, sizeof *call);
    if (!call)
        abort();
    call->client = client;
    call->api = client->api;
    call->callbacks = *callbacks;
    call->output_limit = request->max_output_tokens;
    call->first_token_ms = -1;
    call->started_ms = now_ms(CLOCK_MONOTONIC);
    buf_init(&call->error_body, FAILURE_BODY);
    buf_init(&call->shown, HTTP_URL_MAX);
    buf_init(&call->secret, 4096);
    buf_str(&call->secret, request->api_key);
    buf_init(&call->secrets, HEADERS_BYTES);
    headers_secrets(request, &call->secrets);
    return call;
}

int transport_start(struct model_client *client, const struct model_request *request,
                    const struct model_callbacks *callbacks, struct model_call **started,
                    struct err *err)
{
    int result = -1;
    const struct http_deadlines deadlines = deadlines_of(request);
    struct headers headers = {.count = 0};
    struct buf url, body;
    buf_init(&url, HTTP_URL_MAX);
    http_body(client->http, TRANSPORT_BODY_MAX, &body);
    struct model_call *call = call_new(client, callbacks, request);
    if (check_key(request->api_key, err) != 0)
        goto out;
    build_url(&url, request->base_url, client->api->path);
    if (render(call, request, &body, err) != 0)
        goto out;
    if (body.failed || url.failed) {
        err_set(err, ERR_USAGE, "the request is larger than 64 MB, or its URL than 8 KB");
        goto out;
    }
    const char *key_header =
        call->dialect.key_header ? call->dialect.key_header : client->api->key_header;
    if (headers_build(&headers, request, key_header, client->api->header, err) != 0)
        goto out;
    keep(call, buf_view(&url), &headers, buf_view(&body), &deadlines);
    if (http_send(call, buf_view(&url), &headers, &body, &deadlines, err) != 0)
        goto out;
    buf_str(&call->shown, http_shown_url(call->transfer));
    if (request->calls == REQUEST_CALLS_IN_TEXT)
        decoder_offer(decoder_of(call), request->tools, request->tool_count);
    *started = call;
    call = NULL;
    result = 0;
out:
    if (call)
        call_free(call);
    headers_release(&headers);
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
    dialects_release(&client->dialects);
    free(client);
}

struct model_client *transport_open(const struct transport_api *api, struct uv_loop_s *loop)
{
    struct model_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    *client = (struct model_client){.api = api, .http = http_new(loop)};
    dialects_init(&client->dialects);
    return client;
}
