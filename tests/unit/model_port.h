/* What the tests of model ports share: calls to a server on a loopback port, and that every call ends in exactly one done.
 * The including test defines port_test. */
#ifndef CADRE_TESTS_UNIT_MODEL_PORT_H
#define CADRE_TESTS_UNIT_MODEL_PORT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "loopback.h"
#include "net/http.h"
#include "port/model.h"

enum { LONG = 50000, SHORT = 60 };

#define KEY "sk-very-secret"

static const struct port_test {
    struct model_port (*open)(uv_loop_t *loop);
    const struct loopback_route *routes;
    struct str fragments; /* of one user message */
    const char *path;     /* behind the base URL */
} port_test;

struct fixture {
    uv_loop_t loop;
    struct loopback *server;
    struct model_port port;
};

/* A call and what became of it; texts are copies. */
struct asked {
    struct model_port port;
    struct model_call *call;
    bool abort_in_delta, starting;
    int deltas, done;
    bool whole;
    enum err_class class;
    int status;
    int64_t retry_after_ms, first_token_ms;
    char text[8192];
    char message[1500];
};

static inline int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->server = loopback_start(port_test.routes);
    fixture->port = port_test.open(&fixture->loop);
    *state = fixture;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;
    fixture->port.ops->free(fixture->port.client);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    loopback_stop(fixture->server);
    free(fixture);
    return 0;
}

static inline void on_delta(void *user, struct str text)
{
    struct asked *asked = user;
    assert_int_equal(asked->done, 0);
    asked->deltas++;
    if (asked->abort_in_delta)
        asked->port.ops->abort(asked->call);
}

static inline void on_done(void *user, const struct model_reply *reply,
                           const struct model_failure *failure)
{
    struct asked *asked = user;
    assert_false(asked->starting);
    assert_true((reply == NULL) != (failure == NULL));
    asked->done++;
    asked->whole = reply != NULL;
    struct str text = reply ? reply->text : failure->partial;
    snprintf(asked->text, sizeof asked->text, "%.*s", STR_FMT(text));
    if (reply) {
        asked->first_token_ms = reply->first_token_ms;
        return;
    }
    asked->class = failure->class;
    asked->status = failure->http_status;
    asked->retry_after_ms = failure->retry_after_ms;
    snprintf(asked->message, sizeof asked->message, "%.*s", STR_FMT(failure->message));
}

static inline int start(struct fixture *fixture, struct asked *asked, const char *base_url,
                        struct str key, struct model_deadlines deadlines, struct err *err)
{
    const struct model_request request = {
        .base_url = str_from(base_url),
        .api_key = key,
        .model = STR("m"),
        .fragments = port_test.fragments,
        .max_output_tokens = 16,
        .deadlines = deadlines,
    };
    const struct model_callbacks callbacks = {.delta = on_delta, .done = on_done, .user = asked};
    asked->port = fixture->port;
    asked->starting = true;
    int result =
        fixture->port.ops->start(fixture->port.client, &request, &callbacks, &asked->call, err);
    asked->starting = false;
    return result;
}

static inline void ask(struct fixture *fixture, struct asked *asked, const char *name,
                       struct model_deadlines deadlines)
{
    char url[200];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", loopback_port(fixture->server), name);
    assert_int_equal(start(fixture, asked, url, STR(KEY), deadlines, &err), 0);
}

static inline void wait_for(struct fixture *fixture, const struct asked *asked)
{
    while (asked->done == 0 && uv_run(&fixture->loop, UV_RUN_ONCE) != 0)
        continue;
    assert_int_equal(asked->done, 1);
    assert_null(strstr(asked->message, KEY));
}

static const struct model_deadlines all_long = {LONG, LONG, LONG, LONG};

static inline void check_reply(struct fixture *fixture, const char *name, const char *text)
{
    struct asked asked = {.first_token_ms = -1};
    ask(fixture, &asked, name, all_long);
    wait_for(fixture, &asked);
    if (!asked.whole)
        fail_msg("%s", asked.message);
    assert_string_equal(asked.text, text);
    assert_int_equal(asked.deltas, 1);
    assert_true(asked.first_token_ms >= 0);
}

/* message: how the failure's message ends, behind the URL. */
static inline void check_failure(struct fixture *fixture, const char *name,
                                 struct model_deadlines deadlines, enum err_class class, int status,
                                 const char *message)
{
    struct asked asked = {0};
    char url[200];
    /* The server may close the last request's connection just when this one takes it. */
    do {
        asked = (struct asked){0};
        ask(fixture, &asked, name, deadlines);
        wait_for(fixture, &asked);
    } while (strstr(asked.message, "it may have taken the request"));
    assert_false(asked.whole);
    assert_string_equal(err_class_text(asked.class), err_class_text(class));
    assert_int_equal(asked.status, status);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s%s", loopback_port(fixture->server), name,
             port_test.path);
    assert_non_null(strstr(asked.message, url));
    if (!strstr(asked.message, message))
        fail_msg("\"%s\" does not say \"%s\"", asked.message, message);
}

/* The request that a call to this path of the server sends, however it is answered. */
static inline void check_sent(struct fixture *fixture, const char *path, struct str key,
                              char *request, size_t size)
{
    struct asked asked = {0};
    char url[200];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", loopback_port(fixture->server), path);
    assert_int_equal(start(fixture, &asked, url, key, all_long, &err), 0);
    wait_for(fixture, &asked);
    loopback_last(fixture->server, request, size);
}

/* wanted ends with NULL. */
static inline void check_parts(const char *request, const char *const *wanted)
{
    for (; *wanted; wanted++)
        if (!strstr(request, *wanted))
            fail_msg("no \"%s\" in \"%s\"", *wanted, request);
}

static inline int group_setup(void **state)
{
    struct err err = ERR_INIT;
    return http_global_init(&err);
}

static inline int group_teardown(void **state)
{
    http_global_release();
    return 0;
}

static inline void a_stream_becomes_a_reply(void **state)
{
    check_reply(*state, "good", "Hello");
}

/* Every API's routes have one that stalls after "Hello". */
static inline void an_abort_gives_cancelled_and_the_partial_text(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    ask(fixture, &asked, "stalls", all_long);
    while (asked.deltas == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    fixture->port.ops->abort(asked.call);
    wait_for(fixture, &asked);
    assert_int_equal(asked.class, ERR_CANCELLED);
    assert_string_equal(asked.text, "Hello");
}

#define PORT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
