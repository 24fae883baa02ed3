/* Runs exchanges on a loop of its own. Every one of them ends by its deadline, so the loop does. Does not read what
 * it gets. The calling thread blocks. */
#include "net/fetch.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/http.h"

#define CONNECT_MS 3000

struct exchange {
    struct fetch *fetch;
    size_t *under_way; /* of all */
    uint64_t started;
    enum { EXCHANGE_OPEN, EXCHANGE_ENOUGH, EXCHANGE_TOO_LARGE } state;
};

/* The message may quote the server, which was sent the key. */
static void fail(struct fetch *fetch, enum err_class class, const char *message)
{
    struct str key = fetch->api_key;
    char text[sizeof((struct err *)NULL)->message];
    char *at = text;
    snprintf(text, sizeof text, "%s", message);
    while (key.n >= 4 && (at = memmem(at, strlen(at), key.p, key.n)) != NULL)
        memset(at, '*', key.n);
    fetch->class = class;
    snprintf(fetch->message, sizeof fetch->message, "%.255s", text);
}

static void mark(struct exchange *exchange)
{
    struct fetch *fetch = exchange->fetch;
    size_t at = fetch->mark_count < FETCH_MARKS_MAX ? fetch->mark_count++ : FETCH_MARKS_MAX - 1;
    fetch->marks[at] = (struct fetch_mark){
        .end = fetch->answer.n, .at_us = (int64_t)(uv_hrtime() - exchange->started) / 1000};
}

static enum http_next on_data(void *user, int status, struct str bytes)
{
    struct exchange *exchange = user;
    struct fetch *fetch = exchange->fetch;
    fetch->status = status;
    if (exchange->state != EXCHANGE_OPEN)
        return HTTP_STOP;
    if (bytes.n > fetch->answer_max - fetch->answer.n) {
        exchange->state = EXCHANGE_TOO_LARGE;
        return HTTP_STOP;
    }
    buf_str(&fetch->answer, bytes);
    mark(exchange);
    if (fetch->until == FETCH_FIRST_EVENT && status < 300 &&
        memmem(fetch->answer.p, fetch->answer.n, "\n\n", 2) != NULL) {
        exchange->state = EXCHANGE_ENOUGH;
        return HTTP_STOP;
    }
    return HTTP_GO_ON;
}

static void on_done(void *user, const struct http_transfer *transfer,
                    const struct http_result *result)
{
    struct exchange *exchange = user;
    struct fetch *fetch = exchange->fetch;
    --*exchange->under_way;
    if (result->status != 0)
        fetch->status = result->status;
    if (exchange->state == EXCHANGE_TOO_LARGE)
        fail(fetch, ERR_PROVIDER, "the answer is too large");
    else if (exchange->state != EXCHANGE_ENOUGH)
        fail(fetch, result->class, result->message);
}

static void start(struct http *http, struct exchange *exchange)
{
    struct fetch *fetch = exchange->fetch;
    struct err err = ERR_INIT;
    struct http_transfer *transfer;
    struct buf body, key;
    struct str *headers = calloc(fetch->header_count + 3, sizeof *headers);
    size_t count = 0;
    if (headers == NULL)
        abort();
    headers[count++] = STR("Accept: application/json, text/event-stream");
    buf_init(&fetch->answer, fetch->answer_max + 1);
    buf_init(&body, fetch->body.n + 1);
    buf_init(&key, fetch->api_key.n + 64);
    if (fetch->body.p != NULL) {
        headers[count++] = STR("Content-Type: application/json");
        buf_str(&body, fetch->body);
    }
    if (fetch->api_key.n > 0) {
        buf_printf(&key, "Authorization: Bearer %.*s", STR_FMT(fetch->api_key));
        headers[count++] = buf_view(&key);
    }
    for (size_t i = 0; i < fetch->header_count; i++)
        headers[count++] = fetch->headers[i];
    const struct http_request request = {
        .method = fetch->body.p != NULL ? HTTP_POST : HTTP_GET,
        .url = fetch->url,
        .headers = headers,
        .header_count = count,
        .body = fetch->body.p != NULL ? &body : NULL,
        .deadlines = {.connect_ms = fetch->total_ms < CONNECT_MS ? fetch->total_ms : CONNECT_MS,
                      .first_byte_ms = fetch->total_ms,
                      .idle_ms = fetch->total_ms,
                      .total_ms = fetch->total_ms},
        .handlers = {.data = on_data, .done = on_done, .user = exchange},
    };
    exchange->started = uv_hrtime();
    if (http_start(http, &request, &transfer, &err) != 0)
        fail(fetch, err.class, err.message);
    else
        ++*exchange->under_way;
    free(headers);
    buf_release(&body);
    if (key.p != NULL)
        explicit_bzero(key.p, key.capacity);
    buf_release(&key);
}

int fetch_all(struct fetch *fetches, size_t count, struct err *err)
{
    uv_loop_t loop;
    size_t under_way = 0;
    struct exchange *exchanges = calloc(count > 0 ? count : 1, sizeof *exchanges);
    if (exchanges == NULL)
        return err_set(err, ERR_IO, "out of memory");
    if (http_global_init(err) != 0) {
        free(exchanges);
        return -1;
    }
    if (uv_loop_init(&loop) != 0) {
        http_global_release();
        free(exchanges);
        return err_set(err, ERR_IO, "no event loop could be made");
    }
    struct http *http = http_new(&loop);
    for (size_t i = 0; i < count; i++) {
        exchanges[i] = (struct exchange){.fetch = &fetches[i], .under_way = &under_way};
        start(http, &exchanges[i]);
    }
    while (under_way > 0)
        uv_run(&loop, UV_RUN_ONCE);
    http_free(http);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    http_global_release();
    free(exchanges);
    return 0;
}
