/* The scripted model as a server: failures on demand, waiting without blocking, and the tally that tests judge
 * clients by. */
#include "unit/scripted_hear.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define MANY 50

/* --- failures ---------------------------------------------------------------------------------------- */

static void a_rule_fails_so_many_times_and_then_answers(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'status':429,'retry_after':'3','error':'slow down','fail_times':2,"
              "'then':{'text':'fine'}}}"),
        NULL, 1);
    for (int i = 0; i < 2; i++) {
        struct response response = ask(server, STREAM("x"));
        assert_int_equal(response.status, 429);
        assert_contains(buf_view(&response.body), "\"message\":\"slow down\"");
        assert_contains(buf_view(&response.headers), "Retry-After: 3\r\n");
        assert_contains(buf_view(&response.headers), "application/json");
        response_release(&response);
    }
    assert_says(server, ASK("x"), "fine");
    assert_says(server, ASK("x"), "fine");
    assert_int_equal(stats_of(server).failures, 2);
    assert_int_equal(stats_of(server).refused, 0);
    scripted_stop(server);
}

static void a_failing_rule_without_then_leaves_the_rest_to_later_rules(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'status':500,'fail_times':1}},{'reply':{'text':'later'}}"), NULL, 1);
    struct response response = ask(server, ASK("x"));
    assert_int_equal(response.status, 500);
    response_release(&response);
    assert_says(server, ASK("x"), "later");
    scripted_stop(server);
}

static void a_drop_before_the_headers_answers_nothing(void **state)
{
    struct scripted *server = server_start(RULES("{'reply':{'drop':'before-headers'}}"), NULL, 1);
    struct response response = ask(server, STREAM("x"));
    assert_int_equal(response.code, CURLE_GOT_NOTHING);
    assert_int_equal(response.headers.n, 0);
    response_release(&response);
    scripted_stop(server);
}

static void a_drop_in_mid_stream_leaves_half_an_answer(void **state)
{
    struct scripted *server =
        server_start(RULES("{'reply':{'text':'0123456789abcdef','drop':'mid-stream'}}"), NULL, 1);
    struct response stream = ask(server, STREAM("x")), whole = ask(server, ASK("x"));
    struct heard heard;
    assert_int_equal(stream.code, CURLE_PARTIAL_FILE);
    hear(&heard, &stream);
    assert_text(buf_view(&heard.order), "rtt");
    assert_int_equal(whole.code, CURLE_PARTIAL_FILE);
    assert_true(whole.body.n > 0);
    assert_int_equal(stats_of(server).completion_tokens, 0);
    heard_release(&heard);
    response_release(&stream);
    response_release(&whole);
    scripted_stop(server);
}

/* --- waiting ----------------------------------------------------------------------------------------- */

struct asker {
    pthread_t thread;
    uint16_t port;
    const char *body;
    struct response response;
};

static void *asker_main(void *user)
{
    struct asker *asker = user;
    struct buf text;
    buf_init(&text, 10000);
    struct request request = {.body = json_text(&text, asker->body)};
    asker->response = request_send(asker->port, &request);
    buf_release(&text);
    return NULL;
}

static void askers_start(struct asker *askers, size_t count, struct scripted *server,
                         const char *body)
{
    for (size_t i = 0; i < count; i++) {
        askers[i] = (struct asker){.port = scripted_port(server), .body = body};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, asker_main, &askers[i]), 0);
    }
}

static void wait_for_in_flight(struct scripted *server, uint64_t count)
{
    for (int i = 0; i < 60000 && stats_of(server).in_flight != count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(stats_of(server).in_flight, count);
}

static void waiting_answers_block_nobody_and_end_with_the_server(void **state)
{
    struct scripted *server =
        server_start(RULES("{'when':{'first_user':'wait'},'reply':{'text':'a','delay_ms':600000}},"
                           "{'reply':{'text':'at once'}}"),
                     NULL, 1);
    struct asker askers[MANY];
    askers_start(askers, MANY, server, ASK("wait"));
    wait_for_in_flight(server, MANY);
    assert_says(server, ASK("x"), "at once");
    assert_int_equal(stats_of(server).max_concurrent, MANY + 1);
    scripted_stop(server);
    for (size_t i = 0; i < MANY; i++) {
        pthread_join(askers[i].thread, NULL);
        response_release(&askers[i].response);
    }
}

static size_t stop_at_first(char *bytes, size_t size, size_t n, void *user)
{
    buf_add(user, bytes, size * n);
    return 0;
}

static void a_stream_is_flushed_piece_by_piece(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'text':'0123456789abcdef','chunk_delay_ms':600000}}"), NULL, 1);
    char url[100];
    struct buf heard, body;
    buf_init(&heard, 10000);
    buf_init(&body, 10000);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/chat/completions", scripted_port(server));
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, DEADLINE_SECONDS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json_text(&body, STREAM("x")).p);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, stop_at_first);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &heard);
    assert_int_equal(curl_easy_perform(curl), CURLE_WRITE_ERROR);
    assert_contains(buf_view(&heard), "\"role\":\"assistant\"");
    assert_null(memmem(heard.p, heard.n, "0123", 4));
    assert_int_equal(stats_of(server).in_flight, 1);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    buf_release(&heard);
    buf_release(&body);
    scripted_stop(server);
}

static void fifty_streams_at_once_are_all_complete(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'text':'0123456789abcdef','delay_ms':2,'chunk_delay_ms':1}}"), NULL, 4);
    struct asker askers[MANY];
    askers_start(askers, MANY, server, STREAM("x"));
    for (size_t i = 0; i < MANY; i++) {
        struct heard heard;
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].response.code, CURLE_OK);
        hear(&heard, &askers[i].response);
        assert_text(buf_view(&heard.text), "0123456789abcdef");
        assert_text(buf_view(&heard.order), "rttttFD");
        heard_release(&heard);
        response_release(&askers[i].response);
    }
    assert_int_equal(stats_of(server).accepted, MANY);
    scripted_stop(server);
}

/* --- the tally --------------------------------------------------------------------------------------- */

static void stats_show_limits_and_refusals(void **state)
{
    struct scripted *server = server_start(RULES("{'reply':{'text':'a'}}"), NULL, 1);
    static const char *const bodies[] = {
        ASK("x"),
        LIMITED("'max_tokens':100", "x"),
        LIMITED("'max_completion_tokens':23", "x"),
        "{'model':'scripted','max_tokens':100,'messages':[]}",
    };
    for (size_t i = 0; i < 4; i++) {
        struct response response = ask(server, bodies[i]);
        response_release(&response);
    }
    struct request request = {.method = "GET", .path = "/_stats"};
    struct response response = request_send(scripted_port(server), &request);
    struct js *document = document_of(&response);
    assert_int_equal(js_get_int(document, "requests", -1), 4);
    assert_int_equal(js_get_int(document, "accepted", -1), 3);
    assert_int_equal(js_get_int(document, "refused", -1), 1);
    assert_int_equal(js_get_int(document, "output_asked", -1), 123);
    assert_int_equal(js_get_int(document, "without_limit", -1), 1);
    assert_int_equal(js_get_int(document, "max_concurrent", -1), 1);
    const struct js *refusal = js_at(js_get(document, "refusals"), 0);
    assert_text(js_get_str(refusal, "message"), "[] is too short - 'messages'");
    assert_int_equal(js_get_int(refusal, "n", -1), 4);
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

static struct str line_take(struct str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    assert_non_null(end);
    struct str line = {rest->p, (size_t)(end - rest->p)};
    *rest = (struct str){end + 1, rest->n - line.n - 1};
    return line;
}

static void assert_log(struct str line, const char *const *parts)
{
    struct err err = ERR_INIT;
    struct js *document = js_parse(line, &err);
    assert_non_null(document);
    js_free(document);
    for (; *parts != NULL; parts++)
        assert_contains(line, *parts);
}

static void the_log_has_one_line_per_request(void **state)
{
    char path[] = "/tmp/scripted_test.XXXXXX", bytes[10000];
    int fd = mkstemp(path);
    struct buf text;
    buf_init(&text, 10000);
    struct scripted_config config = {
        .script =
            json_text(&text, RULES("{'when':{'turn':9},'reply':{}},"
                                   "{'when':{'first_user':'drop'},'reply':{'drop':'mid-stream'}},"
                                   "{'when':{'first_user':'hello'},'reply':{'text':'a'}}")),
        .log_path = path};
    struct scripted *server = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(scripted_start(&config, &server, &err), 0);
    static const char *const bodies[] = {LIMITED("'max_tokens':5", "hello"), STREAM("drop"), "{}"};
    for (size_t i = 0; i < 3; i++) {
        struct response response = ask(server, bodies[i]);
        response_release(&response);
    }
    scripted_stop(server);
    ssize_t n = read(fd, bytes, sizeof bytes);
    assert_true(n > 0);
    struct str rest = {bytes, (size_t)n};
    assert_log(line_take(&rest),
               (const char *[]){"\"n\":1,", "\"first_user\":\"hello\"", "\"turn\":0",
                                "\"messages\":1", "\"max_tokens\":5", "\"rule\":2", "\"body\":\"",
                                "\"status\":200", "\"complete\":true", NULL});
    assert_log(line_take(&rest),
               (const char *[]){"\"n\":2,", "\"rule\":1", "\"complete\":false", NULL});
    assert_log(line_take(&rest), (const char *[]){"\"n\":3,", "\"status\":400",
                                                  "\"error\":\"you must provide a model", NULL});
    assert_int_equal(rest.n, 0);
    buf_release(&text);
    close(fd);
    unlink(path);
}

static void models_are_listed(void **state)
{
    struct scripted *server =
        server_start("{'models':[{'id':'a'},{'id':'b'}],'rules':[]}", NULL, 1);
    struct request request = {.method = "GET", .path = "/v1/models"};
    struct response response = request_send(scripted_port(server), &request);
    struct js *document = document_of(&response);
    assert_int_equal(js_count(js_get(document, "data")), 2);
    assert_text(js_get_str(js_at(js_get(document, "data"), 1), "id"), "b");
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_fails_so_many_times_and_then_answers),
        cmocka_unit_test(a_failing_rule_without_then_leaves_the_rest_to_later_rules),
        cmocka_unit_test(a_drop_before_the_headers_answers_nothing),
        cmocka_unit_test(a_drop_in_mid_stream_leaves_half_an_answer),
        cmocka_unit_test(waiting_answers_block_nobody_and_end_with_the_server),
        cmocka_unit_test(a_stream_is_flushed_piece_by_piece),
        cmocka_unit_test(fifty_streams_at_once_are_all_complete),
        cmocka_unit_test(stats_show_limits_and_refusals),
        cmocka_unit_test(the_log_has_one_line_per_request),
        cmocka_unit_test(models_are_listed),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests_name("scripted_serve", tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
