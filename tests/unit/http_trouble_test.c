/* net/http against servers that misbehave. A deadline under test is short and all others are long: what is checked is which one ended
 * the transfer, never how long it took. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

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

/* Requests that follow each other on kept connections. Each end starts a victim too, while the loop
 * still hands out what it polled: events of the other connections let curl open the victim's socket. */
struct victims {
    struct fixture *fixture;
    int mute; /* port of a server that takes connections and never reads */
    struct http_transfer *open[64];
    size_t count;
    int left;    /* requests to be made */
    int feeders; /* requests on kept connections that are under way */
};

static enum http_next victims_data(void *user, int status, struct str bytes)
{
    return HTTP_GO_ON;
}

static void victim_done(void *user, const struct http_transfer *transfer,
                        const struct http_result *result)
{
    struct victims *victims = user;
    for (size_t i = 0; i < victims->count; i++)
        if (victims->open[i] == transfer) {
            victims->open[i] = victims->open[--victims->count];
            return;
        }
}

static struct http_transfer *victims_start(struct victims *victims, int port,
                                           void (*done)(void *, const struct http_transfer *,
                                                        const struct http_result *))
{
    char url[100];
    struct http_transfer *transfer = NULL;
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/ok", port);
    const struct http_request request = {.method = HTTP_GET,
                                         .url = str_from(url),
                                         .deadlines = all_long,
                                         .handlers = {victims_data, done, victims}};
    if (http_start(victims->fixture->http, &request, &transfer, &err) != 0)
        fail_msg("%s", err.message);
    return transfer;
}

static void feeder_done(void *user, const struct http_transfer *transfer,
                        const struct http_result *result)
{
    struct victims *victims = user;
    assert_int_equal(result->class, ERR_NONE);
    if (victims->left == 0) {
        victims->feeders--;
        return;
    }
    victims->left--;
    victims_start(victims, loopback_port(victims->fixture->server), feeder_done);
    if (victims->count < 64)
        victims->open[victims->count++] = victims_start(victims, victims->mute, victim_done);
}

static void abort_victims(uv_check_t *check)
{
    const struct victims *victims = check->data;
    for (size_t i = 0; i < victims->count; i++)
        http_abort(victims->open[i]);
}

/* curl closes a connection that is not established without telling. The loop must not poll such a
 * descriptor: libuv ends the program when it cannot. */
static void a_transfer_may_end_between_its_socket_and_the_next_poll(void **state)
{
    struct victims victims = {.fixture = *state, .left = 400, .feeders = 6};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 512), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    victims.mute = ntohs(address.sin_port);
    uv_check_t check;
    assert_int_equal(uv_check_init(&victims.fixture->loop, &check), 0);
    check.data = &victims;
    assert_int_equal(uv_check_start(&check, abort_victims), 0);
    uv_unref((uv_handle_t *)&check);
    for (int i = 0; i < victims.feeders; i++)
        victims_start(&victims, loopback_port(victims.fixture->server), feeder_done);
    while (victims.feeders > 0 || victims.count > 0)
        uv_run(&victims.fixture->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&check, NULL);
    uv_run(&victims.fixture->loop, UV_RUN_NOWAIT); /* the handle is closed before its memory goes */
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_server_that_does_not_greet_meets_the_connect_deadline),
        HTTP_TEST(a_slow_first_byte_meets_its_deadline),
        HTTP_TEST(a_stall_meets_the_idle_deadline),
        HTTP_TEST(a_drip_is_not_idle_and_meets_the_total_deadline),
        HTTP_TEST(a_refused_connection_asks_whether_the_server_runs),
        HTTP_TEST(a_broken_connection_may_be_tried_again),
        HTTP_TEST(what_is_not_http_is_named_so),
        HTTP_TEST(a_tls_failure_is_explained),
        HTTP_TEST(headers_are_bounded),
        HTTP_TEST(a_body_is_bounded),
        HTTP_TEST(a_redirect_is_explained_and_not_followed),
        HTTP_TEST(a_url_that_is_none_starts_nothing),
        HTTP_TEST(a_header_with_a_line_break_is_refused),
        HTTP_TEST(a_transfer_may_end_between_its_socket_and_the_next_poll),
    };
    return cmocka_run_group_tests(tests, http_group_setup, http_group_teardown);
}
