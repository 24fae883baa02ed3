/* Asking a server for its models, against sockets that answer well, badly or not at all. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "cli/localserver.h"

struct peer {
    int listener;
    char url[64];
    const char *answer;                    /* NULL: says nothing until the client leaves */
    size_t repeat;                         /* how many times the answer is sent; 0: once */
    enum { PEER_CLOSES, PEER_STAYS } then; /* STAYS: until the client leaves */
    char request[1024];
    pthread_t thread;
};

static void *serve(void *user)
{
    struct peer *peer = user;
    int fd = accept(peer->listener, NULL, NULL);
    ssize_t n = recv(fd, peer->request, sizeof peer->request - 1, 0);
    peer->request[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; peer->answer != NULL && i < (peer->repeat > 0 ? peer->repeat : 1); i++) {
        if (send(fd, peer->answer, strlen(peer->answer), MSG_NOSIGNAL) < 0)
            break;
    }
    char rest[64];
    while ((peer->answer == NULL || peer->then == PEER_STAYS) && recv(fd, rest, sizeof rest, 0) > 0)
        continue;
    close(fd);
    return NULL;
}

static int listen_on_any_port(char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    snprintf(url, size, "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    return listener;
}

/* Asks a peer that answers so. */
static int ask(struct peer *peer, int deadline_ms, struct localserver *server, struct err *err)
{
    *err = ERR_INIT;
    peer->listener = listen_on_any_port(peer->url, sizeof peer->url);
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
    int result = localserver_ask(str_from(peer->url), deadline_ms, server, err);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    return result;
}

static void the_first_model_is_taken(void **state)
{
    struct peer peer = {.answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
                                  "{\"object\":\"list\",\"data\":[{\"id\":\"qwen3:8b\"},{\"id\":"
                                  "\"other\"}]}"};
    struct localserver server;
    struct err err;
    assert_int_equal(ask(&peer, 5000, &server, &err), 0);
    assert_string_equal(server.model, "qwen3:8b");
    assert_int_equal(server.model_count, 2);
    assert_string_equal(server.base_url, peer.url);
    assert_memory_equal(peer.request, "GET /v1/models HTTP/1.0\r\n", 25);
}

static void an_answer_that_says_its_length_needs_no_end_of_the_connection(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\ncontent-length:23\r\n\r\n{\"data\":[{\"id\":\"one\"}]}",
        "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
        "9\r\n{\"data\":[\r\nE;x=1\r\n{\"id\":\"one\"}]}\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct peer peer = {.answer = answers[i], .then = PEER_STAYS};
        struct localserver server;
        struct err err;
        assert_int_equal(ask(&peer, 5000, &server, &err), 0);
        assert_string_equal(server.model, "one");
    }
}

static void a_name_that_cannot_be_used_is_passed_over(void **state)
{
    struct peer peer = {.answer =
                            "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":null},7,{\"id\":\"a b\"},"
                            "{\"id\":\"good\"}]}"};
    struct localserver server;
    struct err err;
    assert_int_equal(ask(&peer, 5000, &server, &err), 0);
    assert_string_equal(server.model, "good");
}

static void bad_answers_are_refused(void **state)
{
    static const char *const answers[] = {
        "",
        "hello",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 404 Not Found\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\n\r\n<html>",
        "HTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"data\":[{\"id\":\"one\"}",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n{\"data\"",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx{\"data\":[{\"id\":\"one\"}]}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n{\"data\"",
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":[]}",
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":{\"id\":\"x\"}}",
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":7}]}",
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":\"evil\\u001b[2J\"}]}",
        "HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\":\"a b\"}]}",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct peer peer = {.answer = answers[i]};
        struct localserver server;
        struct err err;
        assert_int_equal(ask(&peer, 5000, &server, &err), -1);
        assert_int_equal(err.class, ERR_PROVIDER);
    }
}

static void an_endless_answer_is_cut_off(void **state)
{
    struct peer peer = {.answer = "HTTP/1.1 200 OK\r\n\r\n and so on and so on and so on",
                        .repeat = 1000000};
    struct localserver server;
    struct err err;
    assert_int_equal(ask(&peer, 30000, &server, &err), -1);
    assert_string_equal(err.message, "the answer is too large");
}

static void a_silent_server_ends_with_the_deadline(void **state)
{
    struct peer peer = {0};
    struct localserver server;
    struct err err;
    assert_int_equal(ask(&peer, 50, &server, &err), -1);
    assert_int_equal(err.class, ERR_RETRY);
    assert_string_equal(err.message, "no answer in time");
}

static void a_closed_port_is_said_so(void **state)
{
    char url[64];
    struct localserver server;
    struct err err = ERR_INIT;
    close(listen_on_any_port(url, sizeof url));
    assert_int_equal(localserver_ask(str_from(url), 5000, &server, &err), -1);
    assert_int_equal(err.class, ERR_RETRY);
    assert_string_equal(err.message, "no server answers: Connection refused");
}

static void addresses_that_make_no_sense_are_refused(void **state)
{
    static const char *const urls[] = {"https://127.0.0.1/v1",
                                       "",
                                       "http://",
                                       "http://:80/v1",
                                       "http://a b/v1",
                                       "http://h:/v1",
                                       "http://h/\r\nX: y",
                                       "ftp://127.0.0.1/v1",
                                       "http://h:123456789/v1"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct localserver server;
        struct err err = ERR_INIT;
        assert_int_equal(localserver_ask(str_from(urls[i]), 100, &server, &err), -1);
        assert_int_equal(err.class, ERR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_model_is_taken),
        cmocka_unit_test(an_answer_that_says_its_length_needs_no_end_of_the_connection),
        cmocka_unit_test(a_name_that_cannot_be_used_is_passed_over),
        cmocka_unit_test(bad_answers_are_refused),
        cmocka_unit_test(an_endless_answer_is_cut_off),
        cmocka_unit_test(a_silent_server_ends_with_the_deadline),
        cmocka_unit_test(a_closed_port_is_said_so),
        cmocka_unit_test(addresses_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
