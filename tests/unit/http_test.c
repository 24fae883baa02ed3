/* net/http against a server on a loopback port that misbehaves in every way a server can. A
 * deadline under test is short and all others are long: what is checked is which one ended the
 * transfer, never how long it took. */
#include "net/http.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "loopback.h"

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

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->server = loopback_start(routes);
    fixture->http = http_new(&fixture->loop);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
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

static enum http_next on_data(void *user, int status, struct str bytes)
{
    struct ask *ask = user;
    assert_int_equal(ask->done, 0);
    buf_str(&ask->heard, bytes);
    if (ask->act == ACT_ABORT_IN_DATA)
        http_abort(ask->transfer);
    return ask->next;
}

static void ask_path(struct ask *ask, struct fixture *fixture, const char *path);

static void on_done(void *user, const struct http_transfer *transfer,
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

static int ask_url(struct ask *ask, struct fixture *fixture, const char *url,
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

static void ask_full(struct ask *ask, struct fixture *fixture, const char *scheme, int port,
                     const char *path, struct http_deadlines deadlines)
{
    char url[200];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "%s://127.0.0.1:%d%s", scheme, port, path);
    if (ask_url(ask, fixture, url, deadlines, STR("body"), &err) != 0)
        fail_msg("%s", err.message);
}

static void ask_path(struct ask *ask, struct fixture *fixture, const char *path)
{
    ask_full(ask, fixture, "http", loopback_port(fixture->server), path, all_long);
}

static void wait_for(struct fixture *fixture, const struct ask *ask)
{
    while (ask->done == 0 && uv_run(&fixture->loop, UV_RUN_ONCE) != 0)
        continue;
    assert_int_equal(ask->done, 1);
}

/* Asks and expects the end; %d in the message stands for the port. */
static void check_end(struct fixture *fixture, const char *scheme, const char *path,
                      struct http_deadlines deadlines, enum err_class class, const char *message,
                      const char *heard)
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

static void a_post_sends_headers_and_body_and_gets_the_answer(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    ask_path(&ask, fixture, "/echo/me");
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_NONE);
    assert_int_equal(ask.status, 200);
    assert_true(str_starts(buf_view(&ask.heard), STR("POST /echo/me HTTP/1.1\r\n")));
    assert_non_null(strstr(ask.heard.p, "\r\nX-Mark: yes\r\n"));
    assert_non_null(strstr(ask.heard.p, "\r\nContent-Length: 4\r\n"));
    assert_non_null(strstr(ask.heard.p, "\r\nAccept-Encoding: "));
    assert_non_null(strstr(ask.heard.p, "\r\n\r\nbody"));
    buf_release(&ask.heard);
}

static void a_large_body_is_sent_whole_and_without_asking_first(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    struct err err = ERR_INIT;
    char url[100];
    static char body[1500000];
    memset(body, 'b', sizeof body);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/echo", loopback_port(fixture->server));
    assert_int_equal(ask_url(&ask, fixture, url, all_long, (struct str){body, sizeof body}, &err),
                     0);
    wait_for(fixture, &ask);
    assert_null(strstr(ask.heard.p, "Expect:"));
    const char *sent = strstr(ask.heard.p, "\r\n\r\n") + 4;
    assert_int_equal(ask.heard.n - (size_t)(sent - ask.heard.p), sizeof body);
    assert_memory_equal(sent, body, sizeof body);
    buf_release(&ask.heard);
}

static void a_get_has_no_body(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {.fixture = fixture};
    struct err err = ERR_INIT;
    char url[100];
    buf_init(&ask.heard, 10000);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/models", loopback_port(fixture->server));
    const struct http_request request = {.method = HTTP_GET,
                                         .url = str_from(url),
                                         .deadlines = all_long,
                                         .handlers = {on_data, on_done, &ask}};
    assert_int_equal(http_start(fixture->http, &request, &ask.transfer, &err), 0);
    wait_for(fixture, &ask);
    assert_true(str_starts(buf_view(&ask.heard), STR("GET /models HTTP/1.1\r\n")));
    assert_null(strstr(ask.heard.p, "Content-Length"));
    buf_release(&ask.heard);
}

/* Handles are used again: nothing of one request may be in the next. */
static void a_request_has_nothing_of_the_one_before(void **state)
{
    const struct str secret[] = {STR("Authorization: Bearer sesame"), STR("X-Mark: a")};
    const struct str other[] = {STR("X-Mark: ab")};
    const struct {
        enum http_method method;
        const struct str *headers;
        size_t count;
        const char *path;
    } turns[] = {{HTTP_POST, secret, 2, "/echo/1"},
                 {HTTP_POST, other, 1, "/echo/2"},
                 {HTTP_GET, NULL, 0, "/models"},
                 {HTTP_POST, secret, 1, "/echo/1"},
                 {HTTP_POST, NULL, 0, "/echo/1"}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        struct ask ask = {.fixture = fixture};
        struct err err = ERR_INIT;
        struct buf body;
        char url[100], line[64];
        bool posts = turns[i].method == HTTP_POST;
        buf_init(&ask.heard, 10000);
        buf_init(&body, 100);
        buf_printf(&body, "body-%zu", i);
        snprintf(url, sizeof url, "http://127.0.0.1:%d%s", loopback_port(fixture->server),
                 turns[i].path);
        const struct http_request request = {.method = turns[i].method,
                                             .url = str_from(url),
                                             .headers = turns[i].headers,
                                             .header_count = turns[i].count,
                                             .body = posts ? &body : NULL,
                                             .deadlines = all_long,
                                             .handlers = {on_data, on_done, &ask}};
        assert_int_equal(http_start(fixture->http, &request, &ask.transfer, &err), 0);
        wait_for(fixture, &ask);
        assert_int_equal(ask.class, ERR_NONE);
        snprintf(line, sizeof line, "%s %s HTTP/1.1\r\n", posts ? "POST" : "GET", turns[i].path);
        assert_true(str_starts(buf_view(&ask.heard), str_from(line)));
        assert_int_equal(strstr(ask.heard.p, "sesame") != NULL, turns[i].headers == secret);
        assert_int_equal(strstr(ask.heard.p, "X-Mark: a\r\n") != NULL, i == 0);
        assert_int_equal(strstr(ask.heard.p, "X-Mark: ab\r\n") != NULL, i == 1);
        snprintf(line, sizeof line, "\r\n\r\nbody-%zu", i);
        assert_int_equal(strstr(ask.heard.p, line) != NULL, posts);
        buf_release(&ask.heard);
        buf_release(&body);
    }
    assert_int_equal(loopback_accepted(fixture->server), 1);
}

static void an_error_status_is_an_answer_with_its_headers(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    ask_path(&ask, fixture, "/busy");
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_NONE);
    assert_int_equal(ask.status, 429);
    assert_string_equal(ask.retry_after, "7");
    check_str(buf_view(&ask.heard), "busy");
    buf_release(&ask.heard);
}

static void a_connection_is_used_again(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 5; i++)
        check_end(fixture, "http", "/ok", all_long, ERR_NONE, "", "hello");
    assert_int_equal(loopback_accepted(fixture->server), 1);
}

static void fifty_requests_run_at_once_and_each_ends_once(void **state)
{
    struct fixture *fixture = *state;
    struct ask asks[50] = {0};
    for (int i = 0; i < 50; i++)
        ask_path(&asks[i], fixture, i % 2 ? "/ok" : "/echo");
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(asks[i].done, 1);
        assert_int_equal(asks[i].class, ERR_NONE);
        assert_int_equal(asks[i].status, 200);
        buf_release(&asks[i].heard);
    }
    assert_int_equal(http_multi_count(fixture->http), 1);
}

static void a_new_multi_handle_is_made_when_one_is_full(void **state)
{
    struct fixture *fixture = *state;
    static struct ask asks[HTTP_PER_MULTI + 1];
    memset(asks, 0, sizeof asks);
    assert_int_equal(http_multi_count(fixture->http), 0);
    for (int i = 0; i < HTTP_PER_MULTI; i++)
        ask_path(&asks[i], fixture, "/ok");
    assert_int_equal(http_multi_count(fixture->http), 1);
    ask_path(&asks[HTTP_PER_MULTI], fixture, "/ok");
    assert_int_equal(http_multi_count(fixture->http), 2);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    for (int i = 0; i <= HTTP_PER_MULTI; i++) {
        assert_int_equal(asks[i].done, 1);
        assert_int_equal(asks[i].class, ERR_NONE);
        buf_release(&asks[i].heard);
    }
}

static void a_proxy_of_the_environment_is_not_used_for_loopback(void **state)
{
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", loopback_dead_port());
    setenv("http_proxy", proxy, 1);
    check_end(*state, "http", "/ok", all_long, ERR_NONE, "", "hello");
    unsetenv("http_proxy");
}

/* --- deadlines
 * ----------------------------------------------------------------------------------------- */

static void a_server_that_does_not_greet_meets_the_connect_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct loopback *mute = loopback_start(mute_routes);
    struct ask ask = {0};
    ask_full(&ask, fixture, "https", loopback_port(mute), "/",
             (struct http_deadlines){SHORT, LONG, LONG, LONG});
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_RETRY);
    assert_non_null(strstr(ask.message, "no connection to https://127.0.0.1:"));
    assert_non_null(strstr(ask.message, "within 0.06 s"));
    buf_release(&ask.heard);
    http_free(fixture->http);
    fixture->http = NULL;
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    loopback_stop(mute);
}

static void a_slow_first_byte_meets_its_deadline(void **state)
{
    const struct http_deadlines deadlines = {LONG, SHORT, LONG, LONG};
    check_end(*state, "http", "/slow", deadlines, ERR_RETRY, "sent nothing within 0.06 s", "");
    check_end(*state, "http", "/head", deadlines, ERR_RETRY, "sent nothing within 0.06 s", "");
}

static void a_stall_meets_the_idle_deadline(void **state)
{
    check_end(*state, "http", "/stall", (struct http_deadlines){LONG, LONG, SHORT, LONG}, ERR_RETRY,
              "fell silent for 0.06 s", "part");
}

static void a_drip_is_not_idle_and_meets_the_total_deadline(void **state)
{
    check_end(*state, "http", "/drip", (struct http_deadlines){LONG, LONG, LONG, 300}, ERR_TIMEOUT,
              "no complete answer", NULL);
}

/* --- what goes wrong
 * ------------------------------------------------------------------------------------ */

static void a_refused_connection_asks_whether_the_server_runs(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    char expected[100];
    int port = loopback_dead_port();
    ask_full(&ask, fixture, "http", port, "/v1?key=secret", all_long);
    wait_for(fixture, &ask);
    snprintf(expected, sizeof expected,
             "no server answers at http://127.0.0.1:%d/v1: is it running?", port);
    assert_int_equal(ask.class, ERR_RETRY);
    assert_int_equal(ask.status, 0);
    assert_string_equal(ask.message, expected);
    buf_release(&ask.heard);
}

static void a_broken_connection_may_be_tried_again(void **state)
{
    check_end(*state, "http", "/half", all_long, ERR_RETRY, "in the middle of its answer", "part");
    check_end(*state, "http", "/nothing", all_long, ERR_RETRY, "without an answer", "");
    check_end(*state, "http", "/reset", all_long, ERR_RETRY, "broke while receiving", "part");
}

static void what_is_not_http_is_named_so(void **state)
{
    check_end(*state, "http", "/garbage", all_long, ERR_PROVIDER, "does not speak HTTP", "");
}

static void a_tls_failure_is_explained(void **state)
{
    check_end(*state, "https", "/ok", all_long, ERR_RETRY, "is it an https server", "");
}

static void headers_are_bounded(void **state)
{
    check_end(*state, "http", "/headers", all_long, ERR_PROVIDER, "more than 64 KB of headers", "");
    check_end(*state, "http", "/header", all_long, ERR_PROVIDER, "more than 64 KB of headers", "");
}

static void a_body_is_bounded(void **state)
{
    check_end(*state, "http", "/flood", all_long, ERR_PROVIDER, "more than 64 MB", NULL);
}

static void a_redirect_is_explained_and_not_followed(void **state)
{
    check_end(*state, "http", "/redirect", all_long, ERR_PROVIDER,
              "redirects to http://other.example/v1 (HTTP 307)", "");
}

static void a_url_that_is_none_starts_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    struct err err = ERR_INIT;
    assert_int_equal(ask_url(&ask, fixture, "file:///etc/passwd", all_long, STR("x"), &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(ask.done, 0);
}

static void a_header_with_a_line_break_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {0};
    struct err err = ERR_INIT;
    const struct str header = STR("Authorization: Bearer secret\r\nX: y");
    const struct http_request request = {.url = STR("http://127.0.0.1:1/"),
                                         .headers = &header,
                                         .header_count = 1,
                                         .deadlines = all_long,
                                         .handlers = {on_data, on_done, &ask}};
    assert_int_equal(http_start(fixture->http, &request, &ask.transfer, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    assert_null(strstr(err.message, "secret"));
}

/* --- stopping
 * ------------------------------------------------------------------------------------------- */

static void an_abort_ends_a_transfer_from_the_loop(void **state)
{
    struct fixture *fixture = *state;
    struct ask before = {0}, during = {0};
    ask_path(&before, fixture, "/ok");
    http_abort(before.transfer);
    http_abort(before.transfer);
    assert_int_equal(before.done, 0);
    ask_path(&during, fixture, "/stall");
    while (during.heard.n == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    http_abort(during.transfer);
    assert_int_equal(during.done, 0);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(before.done, 1);
    assert_int_equal(before.class, ERR_CANCELLED);
    assert_int_equal(during.done, 1);
    assert_int_equal(during.class, ERR_CANCELLED);
    check_str(buf_view(&during.heard), "part");
    buf_release(&before.heard);
    buf_release(&during.heard);
}

static void a_handler_may_abort_its_own_transfer(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {.act = ACT_ABORT_IN_DATA};
    ask_path(&ask, fixture, "/drip");
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_CANCELLED);
    buf_release(&ask.heard);
}

static void a_reader_may_stop_the_transfer(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {.next = HTTP_STOP};
    ask_path(&ask, fixture, "/drip");
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_CANCELLED);
    buf_release(&ask.heard);
}

static void a_reader_that_has_enough_ends_well_though_the_server_hangs(void **state)
{
    struct fixture *fixture = *state;
    const char *paths[] = {"/open", "/drip", "/ok"};
    for (int i = 0; i < 3; i++) {
        struct ask ask = {.next = HTTP_ENOUGH};
        ask_path(&ask, fixture, paths[i]);
        wait_for(fixture, &ask);
        assert_int_equal(ask.class, ERR_NONE);
        assert_int_equal(ask.status, 200);
        buf_release(&ask.heard);
    }
}

static void done_may_start_another_transfer_or_abort_one(void **state)
{
    struct fixture *fixture = *state;
    struct ask second = {0}, hanging = {0};
    struct ask first = {.act = ACT_START_IN_DONE, .other = &second};
    ask_path(&first, fixture, "/ok");
    wait_for(fixture, &first);
    wait_for(fixture, &second);
    assert_int_equal(second.class, ERR_NONE);
    struct ask third = {.act = ACT_START_IN_DONE, .other = &hanging};
    ask_path(&hanging, fixture, "/slow");
    ask_path(&third, fixture, "/ok");
    wait_for(fixture, &third);
    wait_for(fixture, &hanging);
    assert_int_equal(hanging.class, ERR_CANCELLED);
    buf_release(&first.heard);
    buf_release(&second.heard);
    buf_release(&third.heard);
    buf_release(&hanging.heard);
}

static void freeing_the_client_ends_what_is_in_flight(void **state)
{
    struct fixture *fixture = *state;
    struct ask hanging = {0}, last = {.act = ACT_FREE_IN_DONE};
    ask_path(&hanging, fixture, "/slow");
    ask_path(&last, fixture, "/ok");
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(last.done, 1);
    assert_int_equal(last.class, ERR_NONE);
    assert_int_equal(hanging.done, 1);
    assert_int_equal(hanging.class, ERR_CANCELLED);
    assert_null(fixture->http);
    buf_release(&hanging.heard);
    buf_release(&last.heard);
}

static int group_setup(void **state)
{
    struct err err = ERR_INIT;
    return http_global_init(&err);
}

static int group_teardown(void **state)
{
    http_global_release();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_post_sends_headers_and_body_and_gets_the_answer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_large_body_is_sent_whole_and_without_asking_first, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_get_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(an_error_status_is_an_answer_with_its_headers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_connection_is_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_has_nothing_of_the_one_before, setup, teardown),
        cmocka_unit_test_setup_teardown(fifty_requests_run_at_once_and_each_ends_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_new_multi_handle_is_made_when_one_is_full, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_proxy_of_the_environment_is_not_used_for_loopback, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_server_that_does_not_greet_meets_the_connect_deadline,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_first_byte_meets_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stall_meets_the_idle_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(a_drip_is_not_idle_and_meets_the_total_deadline, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_refused_connection_asks_whether_the_server_runs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_broken_connection_may_be_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_http_is_named_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tls_failure_is_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(headers_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_redirect_is_explained_and_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_url_that_is_none_starts_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_header_with_a_line_break_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abort_ends_a_transfer_from_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handler_may_abort_its_own_transfer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_may_stop_the_transfer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_has_enough_ends_well_though_the_server_hangs,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(done_may_start_another_transfer_or_abort_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(freeing_the_client_ends_what_is_in_flight, setup, teardown),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
