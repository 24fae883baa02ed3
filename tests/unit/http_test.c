/* net/http: requests that work, many at once, and ways to end one from this side. */
#include "http_fixture.h"

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

/* --- deadlines --------------------------------------------------------------------------------- */

/* --- what goes wrong --------------------------------------------------------------------------- */

/* --- stopping ---------------------------------------------------------------------------------- */

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

static void a_reader_that_has_its_answer_does_not_wait_for_a_server_that_hangs(void **state)
{
    struct fixture *fixture = *state;
    struct ask ask = {.next = HTTP_SOON};
    ask_path(&ask, fixture, "/open");
    wait_for(fixture, &ask);
    assert_int_equal(ask.class, ERR_NONE);
    assert_int_equal(ask.status, 200);
    buf_release(&ask.heard);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_post_sends_headers_and_body_and_gets_the_answer),
        HTTP_TEST(a_large_body_is_sent_whole_and_without_asking_first),
        HTTP_TEST(a_get_has_no_body),
        HTTP_TEST(an_error_status_is_an_answer_with_its_headers),
        HTTP_TEST(a_connection_is_used_again),
        HTTP_TEST(a_request_has_nothing_of_the_one_before),
        HTTP_TEST(fifty_requests_run_at_once_and_each_ends_once),
        HTTP_TEST(a_new_multi_handle_is_made_when_one_is_full),
        HTTP_TEST(a_proxy_of_the_environment_is_not_used_for_loopback),
        HTTP_TEST(an_abort_ends_a_transfer_from_the_loop),
        HTTP_TEST(a_handler_may_abort_its_own_transfer),
        HTTP_TEST(a_reader_may_stop_the_transfer),
        HTTP_TEST(a_reader_that_has_enough_ends_well_though_the_server_hangs),
        HTTP_TEST(a_reader_that_has_its_answer_does_not_wait_for_a_server_that_hangs),
        HTTP_TEST(done_may_start_another_transfer_or_abort_one),
        HTTP_TEST(freeing_the_client_ends_what_is_in_flight),
    };
    return cmocka_run_group_tests(tests, http_group_setup, http_group_teardown);
}
