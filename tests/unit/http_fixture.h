/* What the tests of net/http share: a server on a loopback port that misbehaves in every way a server can, requests to it, and what
 * became of them. */
#ifndef CADRE_TESTS_UNIT_HTTP_FIXTURE_H
#define CADRE_TESTS_UNIT_HTTP_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "loopback.h"
#include "net/http.h"

enum { LONG = 50000, SHORT = 60, BODY_MAX = 4 << 20 };

#define OK(body_length) "HTTP/1.1 200 OK\r\nContent-Length: " body_length "\r\n\r\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define LINE_100                                                                                   \
    "X-Filler: "                                                                                   \
    ".........................................................................................."   \
    "\r\n"
#define LINES_10                                                                                   \
    LINE_100 LINE_100 LINE_100 LINE_100 LINE_100 LINE_100 LINE_100 LINE_100 LINE_100 LINE_100
#define LINES_100                                                                                  \
    LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10

static const struct loopback_route routes[] = {
    {"/ok", STR(OK("5") "hello"), LOOPBACK_KEEP},
    {"/slow", STR(""), LOOPBACK_HOLD},
    {"/head", STR(CHUNKED), LOOPBACK_HOLD},
    {"/stall", STR(OK("100") "part"), LOOPBACK_HOLD},
    {"/drip", STR(CHUNKED), LOOPBACK_DRIP},
    {"/half", STR(OK("100") "part"), LOOPBACK_CLOSE},
    {"/reset", STR(OK("100") "part"), LOOPBACK_RESET},
    {"/nothing", STR(""), LOOPBACK_CLOSE},
    {"/garbage", STR("SSH-2.0-OpenSSH_9\r\n"), LOOPBACK_CLOSE},
    {"/headers",
     STR("HTTP/1.1 200 OK\r\n" LINES_100 LINES_100 LINES_100 LINES_100 LINES_100 LINES_100
             LINES_100),
     LOOPBACK_HOLD},
    {"/header", STR("HTTP/1.1 200 OK\r\nX: "), LOOPBACK_FLOOD},
    {"/flood", STR("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), LOOPBACK_FLOOD},
    {"/redirect",
     STR("HTTP/1.1 307 Moved\r\nLocation: http://other.example/v1?token=abc\r\nContent-Length: "
         "4\r\n\r\nbody"),
     LOOPBACK_KEEP},
    {"/busy", STR("HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"),
     LOOPBACK_KEEP},
    {"/open", STR(CHUNKED "6\r\n[DONE]\r\n"), LOOPBACK_HOLD},
    {"tls", STR("HTTP/1.1 400 This is no TLS\r\n\r\n"), LOOPBACK_CLOSE},
    {0},
};

static const struct loopback_route mute_routes[] = {{"tls", STR(""), LOOPBACK_HOLD}, {0}};

struct fixture {
    uv_loop_t loop;
    struct loopback *server;
    struct http *http;
};

/* One request and what became of it. */
struct ask {
    struct fixture *fixture;
    struct http_transfer *transfer;
    struct buf heard;
    enum http_next next; /* what its data handler answers */
    enum { ACT_NOTHING, ACT_ABORT_IN_DATA, ACT_FREE_IN_DONE, ACT_START_IN_DONE } act;
    struct ask *other; /* for ACT_START_IN_DONE; aborted in done if it has a transfer */
    bool starting;
    int done; /* how often */
    enum err_class class;
    int status;
    char message[1024];
    char retry_after[32];
};

static inline int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->server = loopback_start(routes);
    fixture->http = http_new(&fixture->loop);
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->http)
        http_free(fixture->http);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    loopback_stop(fixture->server);
    free(fixture);
    return 0;
}

static inline enum http_next on_data(void *user, int status, struct str bytes)
{
    struct ask *ask = user;
    assert_int_equal(ask->done, 0);
    buf_str(&ask->heard, bytes);
    if (ask->act == ACT_ABORT_IN_DATA)
        http_abort(ask->transfer);
    return ask->next;
}

static inline void ask_path(struct ask *ask, struct fixture *fixture, const char *path);

static inline void on_done(void *user, const struct http_transfer *transfer,
                           const struct http_result *result)
{
    struct ask *ask = user;
    assert_false(ask->starting);
    assert_ptr_equal(transfer, ask->transfer);
    ask->done++;
    ask->class = result->class;
    ask->status = result->status;
    snprintf(ask->message, sizeof ask->message, "%s", result->message);
    struct str header = http_header(transfer, "RETRY-after");
    snprintf(ask->retry_after, sizeof ask->retry_after, "%.*s", STR_FMT(header));
    if (ask->act == ACT_FREE_IN_DONE) {
        http_free(ask->fixture->http);
        ask->fixture->http = NULL;
    }
    if (ask->act == ACT_START_IN_DONE && ask->other->transfer)
        http_abort(ask->other->transfer);
    else if (ask->act == ACT_START_IN_DONE)
        ask_path(ask->other, ask->fixture, "/ok");
}

static const struct http_deadlines all_long = {LONG, LONG, LONG, LONG};

static inline int ask_url(struct ask *ask, struct fixture *fixture, const char *url,
                          struct http_deadlines deadlines, struct str body, struct err *err)
{
    const struct str headers[] = {STR("Content-Type: text/plain"), STR("X-Mark: yes")};
    struct buf content;
    buf_init(&content, BODY_MAX);
    buf_str(&content, body);
    ask->fixture = fixture;
    buf_init(&ask->heard, BODY_MAX);
    ask->starting = true;
    const struct http_request request = {
        .method = HTTP_POST,
        .url = str_from(url),
        .headers = headers,
        .header_count = 2,
        .body = &content,
        .deadlines = deadlines,
        .handlers = {on_data, on_done, ask},
    };
    int result = http_start(fixture->http, &request, &ask->transfer, err);
    ask->starting = false;
    assert_int_equal(content.n, 0);
    assert_null(content.p);
    return result;
}

static inline void ask_full(struct ask *ask, struct fixture *fixture, const char *scheme, int port,
                            const char *path, struct http_deadlines deadlines)
{
    char url[200];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "%s://127.0.0.1:%d%s", scheme, port, path);
    if (ask_url(ask, fixture, url, deadlines, STR("body"), &err) != 0)
        fail_msg("%s", err.message);
}

static inline void ask_path(struct ask *ask, struct fixture *fixture, const char *path)
{
    ask_full(ask, fixture, "http", loopback_port(fixture->server), path, all_long);
}

static inline void wait_for(struct fixture *fixture, const struct ask *ask)
{
    while (ask->done == 0 && uv_run(&fixture->loop, UV_RUN_ONCE) != 0)
        continue;
    assert_int_equal(ask->done, 1);
}

/* Asks and expects the end; %d in the message stands for the port. */
static inline void check_end(struct fixture *fixture, const char *scheme, const char *path,
                             struct http_deadlines deadlines, enum err_class class,
                             const char *message, const char *heard)
{
    struct ask ask = {0};
    ask_full(&ask, fixture, scheme, loopback_port(fixture->server), path, deadlines);
    wait_for(fixture, &ask);
    check_str(str_from(err_class_text(ask.class)), err_class_text(class));
    if (!strstr(ask.message, message) || (message[0] == '\0' && ask.message[0] != '\0'))
        fail_msg("\"%s\" does not say \"%s\"", ask.message, message);
    if (heard)
        check_str(buf_view(&ask.heard), heard);
    buf_release(&ask.heard);
}

/* --- what goes well
 * ------------------------------------------------------------------------------------ */

static inline int http_group_setup(void **state)
{
    struct err err = ERR_INIT;
    return http_global_init(&err);
}

static inline int http_group_teardown(void **state)
{
    http_global_release();
    return 0;
}

#define HTTP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
