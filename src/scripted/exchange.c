/* Routes a request, checks its key, has a chat request checked and answered, and sends the answer piece by piece. Waiting
 * never blocks the thread: the connection is suspended and the waker resumes it. */
#include "scripted/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "base/utf8.h"
#include "scripted/answer.h"
#include "scripted/anthropic.h"
#include "scripted/asked.h"
#include "scripted/echo.h"
#include "scripted/responses.h"

#define REQUEST_MAX (64u << 20)
#define BLOCK_SIZE 16384

struct exchange {
    struct exchange_context *context;
    struct MHD_Connection *connection;
    char method[16];
    char path[512];
    uint64_t n;
    int64_t arrived_at;
    struct buf body;
    struct asked asked;
    struct answer answer;
    enum { EXCHANGE_RECEIVING, EXCHANGE_WAITING, EXCHANGE_SENDING } phase;
    enum { NOT_COUNTED, COUNTED_IN_FLIGHT } flight;
    enum { KIND_OTHER, KIND_CHAT, KIND_STATS } kind;
    int64_t rule;
    struct refusal refusal; /* status 0: none */
    size_t piece;           /* that is being sent */
    size_t sent;            /* bytes of the body */
    size_t waited_for;      /* the piece whose delay has passed */
};

struct exchange *exchange_new(struct exchange_context *context, struct MHD_Connection *connection,
                              const char *method, const char *url)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    exchange->context = context;
    exchange->connection = connection;
    exchange->arrived_at = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    exchange->rule = -1;
    exchange->n = tally_arrived(context->tally);
    snprintf(exchange->method, sizeof exchange->method, "%s", method);
    snprintf(exchange->path, sizeof exchange->path, "%s", url);
    buf_init(&exchange->body, REQUEST_MAX);
    asked_init(&exchange->asked);
    answer_init(&exchange->answer);
    return exchange;
}

void exchange_receive(struct exchange *exchange, struct str bytes)
{
    buf_str(&exchange->body, bytes);
}

static const char *header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

static int check_key(const struct exchange *exchange, struct refusal *refusal)
{
    static const struct str scheme = {"Bearer ", 7};
    struct str key = exchange->context->api_key;
    /* Both vendors list their models under one path, each with headers of its own. */
    bool messages =
        exchange->asked.api == ASKED_MESSAGES || header(exchange, "anthropic-version") != NULL;
    if (messages)
        return anthropic_headers(header(exchange, "x-api-key"),
                                 header(exchange, "anthropic-version"), key, refusal);
    if (key.p == NULL)
        return 0;
    struct str given = str_from(header(exchange, "Authorization"));
    if (!str_starts(given, scheme))
        return refusal_set(refusal, 401, NULL, NULL,
                           "You didn't provide an API key. You need to provide your API key in an "
                           "Authorization header using Bearer auth (i.e. Authorization: Bearer "
                           "YOUR_KEY).");
    if (!str_eq((struct str){given.p + scheme.n, given.n - scheme.n}, key))
        return refusal_set(refusal, 401, "invalid_api_key", NULL, "Incorrect API key provided.");
    return 0;
}

static int check_transport(const struct exchange *exchange, struct refusal *refusal)
{
    static const char json[] = "application/json";
    const char *type = header(exchange, "Content-Type");
    if (type == NULL || strncasecmp(type, json, sizeof json - 1) != 0)
        return refusal_set(refusal, 400, "unsupported_content_type", NULL,
                           "Unsupported content type: '%.100s'. This API method only accepts "
                           "'application/json' requests, but you specified the header "
                           "'Content-Type: %.100s'.",
                           type != NULL ? type : "", type != NULL ? type : "");
    if (exchange->body.failed)
        return refusal_set(refusal, 413, NULL, NULL,
                           "The request is too large: the limit is %u bytes.", REQUEST_MAX);
    return 0;
}

static int (*const readers[])(struct asked *asked, const struct script *script, struct str body,
                              struct refusal *refusal) = {
    [ASKED_CHAT] = asked_read,
    [ASKED_MESSAGES] = anthropic_read,
    [ASKED_RESPONSES] = responses_read,
};

/* Fills the answer, or the refusal and returns -1. */
static int answer_chat(struct exchange *exchange, struct refusal *refusal)
{
    struct exchange_context *context = exchange->context;
    struct asked *asked = &exchange->asked;
    struct script_match match = {0};
    exchange->kind = KIND_CHAT;
    tally_chat(context->tally);
    if (check_transport(exchange, refusal) != 0 ||
        readers[asked->api](asked, &context->script, buf_view(&exchange->body), refusal) != 0)
        return -1;
    bool found = script_find(&context->script, asked, &match) == 0;
    if (found && echo_check(asked, context->script.rules[match.rule].expects, refusal) != 0)
        return -1;
    tally_accepted(context->tally, asked->output_limit);
    exchange->flight = COUNTED_IN_FLIGHT;
    if (!found) {
        struct refusal *unmatched = &exchange->refusal;
        refusal_set(unmatched, 500, NULL, NULL,
                    "no rule matches this request: turn %lld, first user message '%.*s', last "
                    "message '%.*s'",
                    (long long)asked->turn, STR_FMT(utf8_cut(asked->first_user, 200)),
                    STR_FMT(utf8_cut(asked->last, 200)));
        unmatched->type = "server_error";
        tally_unmatched(context->tally, exchange->n, unmatched);
        answer_refusal(&exchange->answer, unmatched, asked->api);
        return 0;
    }
    exchange->rule = (int64_t)match.rule;
    answer_build(&exchange->answer, &context->script, asked, &match);
    if (exchange->answer.status != 200 || exchange->answer.drop != DROP_NEVER)
        tally_failure(context->tally);
    return 0;
}

static int answer_models(struct exchange *exchange, struct refusal *refusal)
{
    const struct script *script = &exchange->context->script;
    struct jw w;
    jw_init(&w, &exchange->answer.body);
    jw_object(&w);
    jw_ktext(&w, "object", "list");
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < script->model_count; i++) {
        jw_object(&w);
        jw_kstr(&w, "id", script->models[i].id);
        jw_ktext(&w, "object", "model");
        jw_kint(&w, "created", 1700000000);
        jw_ktext(&w, "owned_by", "scripted");
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_end_object(&w);
    return 0;
}

static int answer_stats(struct exchange *exchange, struct refusal *refusal)
{
    exchange->kind = KIND_STATS;
    tally_print(exchange->context->tally, &exchange->answer.body);
    return 0;
}

static const struct route {
    const char *method, *path;
    enum { ROUTE_OPEN, ROUTE_KEYED } access;
    enum asked_api api;
    int (*answer)(struct exchange *exchange, struct refusal *refusal);
} routes[] = {
    {"POST", "/v1/chat/completions", ROUTE_KEYED, ASKED_CHAT, answer_chat},
    {"POST", "/v1/messages", ROUTE_KEYED, ASKED_MESSAGES, answer_chat},
    {"POST", "/v1/responses", ROUTE_KEYED, ASKED_RESPONSES, answer_chat},
    {"GET", "/v1/models", ROUTE_KEYED, ASKED_CHAT, answer_models},
    {"GET", "/_stats", ROUTE_OPEN, ASKED_CHAT, answer_stats},
};

static int route(struct exchange *exchange, struct refusal *refusal)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        if (strcmp(exchange->path, route->path) != 0)
            continue;
        exchange->asked.api = route->api;
        if (strcmp(exchange->method, route->method) != 0)
            return refusal_set(refusal, 405, "method_not_supported", NULL,
                               "Not allowed to %s on %s.", exchange->method, exchange->path);
        if (route->access == ROUTE_KEYED && check_key(exchange, refusal) != 0)
            return -1;
        return route->answer(exchange, refusal);
    }
    return refusal_set(refusal, 404, "unknown_url", NULL, "Invalid URL (%s %s)", exchange->method,
                       exchange->path);
}

static ssize_t send_piece(void *user, uint64_t position, char *out, size_t max)
{
    struct exchange *exchange = user;
    struct answer *answer = &exchange->answer;
    if (exchange->piece < answer->piece_count && exchange->sent == answer->ends[exchange->piece]) {
        if (exchange->piece == answer->usage_piece)
            tally_usage(exchange->context->tally, answer->prompt_tokens, answer->completion_tokens);
        exchange->piece++;
    }
    if (exchange->piece == answer->piece_count)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (answer->drop == DROP_MID_STREAM && exchange->piece >= answer->piece_count / 2)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (answer->piece_delay_ms > 0 && exchange->piece > exchange->waited_for) {
        exchange->waited_for = exchange->piece;
        MHD_suspend_connection(exchange->connection);
        waker_add(exchange->context->waker, exchange->connection, answer->piece_delay_ms);
        return 0;
    }
    size_t left = answer->ends[exchange->piece] - exchange->sent;
    size_t n = left < max ? left : max;
    memcpy(out, answer->body.p + exchange->sent, n);
    exchange->sent += n;
    return (ssize_t)n;
}

static void add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
    const struct answer *answer = &exchange->answer;
    char text[128];
    MHD_add_response_header(response, "Content-Type",
                            answer->form == ANSWER_EVENTS && answer->status == 200
                                ? "text/event-stream; charset=utf-8"
                                : "application/json");
    snprintf(text, sizeof text, "req_%llu", (unsigned long long)exchange->n);
    MHD_add_response_header(
        response, exchange->asked.api == ASKED_MESSAGES ? "request-id" : "x-request-id", text);
    if (answer->retry_after.p != NULL) {
        snprintf(text, sizeof text, "%.*s", STR_FMT(answer->retry_after));
        MHD_add_response_header(response, "Retry-After", text);
    }
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
    struct answer *answer = &exchange->answer;
    struct MHD_Response *response;
    exchange->phase = EXCHANGE_SENDING;
    if (answer->drop == DROP_BEFORE_HEADERS)
        return MHD_NO;
    if (answer->form == ANSWER_EVENTS || answer->drop == DROP_MID_STREAM) {
        uint64_t size = answer->form == ANSWER_EVENTS ? MHD_SIZE_UNKNOWN : answer->body.n;
        response = MHD_create_response_from_callback(size, BLOCK_SIZE, send_piece, exchange, NULL);
    } else {
        struct str body = buf_view(&answer->body);
        if (answer->usage_piece != ANSWER_NO_PIECE)
            tally_usage(exchange->context->tally, answer->prompt_tokens, answer->completion_tokens);
        response = MHD_create_response_from_buffer(body.n, (void *)body.p, MHD_RESPMEM_PERSISTENT);
    }
    if (response == NULL)
        return MHD_NO;
    add_headers(exchange, response);
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, (unsigned)answer->status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result exchange_answer(struct exchange *exchange)
{
    if (exchange->phase == EXCHANGE_RECEIVING) {
        exchange->phase = EXCHANGE_WAITING;
        if (route(exchange, &exchange->refusal) != 0) {
            tally_refused(exchange->context->tally, exchange->n, &exchange->refusal);
            answer_refusal(&exchange->answer, &exchange->refusal, exchange->asked.api);
        }
        if (exchange->answer.delay_ms > 0) {
            MHD_suspend_connection(exchange->connection);
            waker_add(exchange->context->waker, exchange->connection, exchange->answer.delay_ms);
            return MHD_YES;
        }
    }
    return exchange->phase == EXCHANGE_WAITING ? send_answer(exchange) : MHD_YES;
}

static void log_end(struct exchange *exchange, enum MHD_RequestTerminationCode how)
{
    struct asked *asked = &exchange->asked;
    struct tally_line line = {
        .n = exchange->n,
        .at = exchange->arrived_at,
        .method = exchange->method,
        .path = str_from(exchange->path),
        .turn = asked->turn,
        .messages = (int64_t)asked->message_count,
        .output_limit = asked->output_limit,
        .status = exchange->answer.drop == DROP_BEFORE_HEADERS ? 0 : exchange->answer.status,
        .rule = exchange->rule,
        .prompt_tokens = exchange->answer.prompt_tokens,
        .completion_tokens = exchange->answer.completion_tokens,
        .end = how == MHD_REQUEST_TERMINATED_COMPLETED_OK ? LINE_COMPLETE : LINE_CUT,
    };
    if (exchange->kind == KIND_CHAT)
        line.first_user = asked->first_user;
    if (exchange->kind == KIND_CHAT && tally_log(exchange->context->tally) == TALLY_LOGGED)
        line.body = hash_of(buf_view(&exchange->body));
    if (exchange->refusal.status != 0)
        line.error = str_from(exchange->refusal.message);
    tally_ended(exchange->context->tally, &line);
}

void exchange_free(struct exchange *exchange, enum MHD_RequestTerminationCode how)
{
    if (exchange->flight == COUNTED_IN_FLIGHT)
        tally_done(exchange->context->tally);
    if (exchange->kind != KIND_STATS)
        log_end(exchange, how);
    answer_release(&exchange->answer);
    asked_release(&exchange->asked);
    buf_release(&exchange->body);
    free(exchange);
}
