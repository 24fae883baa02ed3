/* model/key_port on a real loop, in front of a port that answers when the test says so. The helper is a shell that
 * counts its runs in a file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "check.h"
#include "model/key_port.h"

enum { CALLS_MAX = 16 };

struct model_call {
    struct model_callbacks callbacks;
    char key[64], body[64];
    bool aborted;
};

struct model_client {
    struct model_call *calls[CALLS_MAX];
    size_t started, freed;
};

static void inner_render(const struct message_group *group, struct buf *out)
{
}

static int inner_start(struct model_client *inner, const struct model_request *request,
                       const struct model_callbacks *callbacks, struct model_call **started,
                       struct err *err)
{
    struct model_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    call->callbacks = *callbacks;
    snprintf(call->key, sizeof call->key, "%.*s", STR_FMT(request->api_key));
    snprintf(call->body, sizeof call->body, "%.*s", STR_FMT(request->fragments));
    assert_true(inner->started < CALLS_MAX);
    inner->calls[inner->started++] = call;
    *started = call;
    return 0;
}

static void inner_abort(struct model_call *call)
{
    call->aborted = true;
}

static void inner_free(struct model_client *inner)
{
    inner->freed++;
}

static const struct model_ops inner_ops = {inner_render, inner_start, inner_abort, inner_free};

struct asked {
    struct model_call *call;
    int done, status;
    enum err_class class;
    char message[512];
};

struct rig {
    uv_loop_t loop;
    struct model_client inner;
    struct key_ring *ring;
    struct model_port port;
    char folder[64], script[256];
    struct str argv[3];
};

static void open_rig(struct rig *rig, const char *script, int64_t ttl_ms)
{
    snprintf(rig->script, sizeof rig->script, "cd %s; echo run >> runs; n=$(wc -l < runs); %s",
             rig->folder, script);
    rig->argv[0] = STR("sh");
    rig->argv[1] = STR("-c");
    rig->argv[2] = str_from(rig->script);
    const struct key_helper helper = {STR("p"), STR("http://p"), rig->argv, 3, ttl_ms};
    rig->ring = key_ring_new(&rig->loop, &helper, 1, NULL);
    rig->port = key_port_open(rig->ring, (struct model_port){&inner_ops, &rig->inner});
}

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    snprintf(rig->folder, sizeof rig->folder, "/tmp/cadre-keys-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    char runs[128];
    rig->port.ops->free(rig->port.client);
    key_ring_close(rig->ring);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    assert_int_equal(rig->inner.freed, 1);
    for (size_t i = 0; i < rig->inner.started; i++)
        free(rig->inner.calls[i]);
    snprintf(runs, sizeof runs, "%s/runs", rig->folder);
    unlink(runs);
    rmdir(rig->folder);
    free(rig);
    return 0;
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct asked *asked = user;
    asked->done++;
    if (failure == NULL)
        return;
    asked->class = failure->class;
    asked->status = failure->http_status;
    snprintf(asked->message, sizeof asked->message, "%.*s", STR_FMT(failure->message));
}

static void ask(struct rig *rig, struct asked *asked, const char *provider, const char *body)
{
    char text[64];
    struct err err = ERR_INIT;
    snprintf(text, sizeof text, "%s", body);
    const struct model_request request = {.base_url = STR("http://p"),
                                          .provider = str_from(provider),
                                          .api_key = STR("own"),
                                          .fragments = str_from(text)};
    const struct model_callbacks callbacks = {.done = on_done, .user = asked};
    *asked = (struct asked){0};
    assert_int_equal(
        rig->port.ops->start(rig->port.client, &request, &callbacks, &asked->call, &err), 0);
    memset(text, 'x', sizeof text); /* nothing of the request is used after start */
}

static void run_until(struct rig *rig, size_t started)
{
    while (rig->inner.started < started)
        assert_true(uv_run(&rig->loop, UV_RUN_ONCE) != 0 || rig->inner.started >= started);
}

static void run_until_done(struct rig *rig, const struct asked *asked)
{
    while (asked->done == 0)
        assert_true(uv_run(&rig->loop, UV_RUN_ONCE) != 0 || asked->done > 0);
}

static void end(struct rig *rig, size_t i, int status)
{
    const struct model_reply reply = {.text = STR("yes"), .usage = USAGE_NONE};
    const struct model_failure failure = {
        .class = ERR_PROVIDER, .http_status = status, .message = STR("no"), .usage = USAGE_NONE};
    struct model_call *call = rig->inner.calls[i];
    call->callbacks.done(call->callbacks.user, status == 0 ? &reply : NULL,
                         status == 0 ? NULL : &failure);
}

static int runs_of(const struct rig *rig)
{
    char path[128], line[16];
    int n = 0;
    snprintf(path, sizeof path, "%s/runs", rig->folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        n++;
    if (file != NULL)
        fclose(file);
    return n;
}

static void requests_that_come_together_wait_for_one_run(void **state)
{
    struct rig *rig = *state;
    struct asked asked[3];
    open_rig(rig, "echo key-$n", 60000);
    for (int i = 0; i < 3; i++)
        ask(rig, &asked[i], "p", i == 0 ? "a" : i == 1 ? "b" : "c");
    assert_int_equal(rig->inner.started, 0);
    run_until(rig, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(rig->inner.calls[i]->key, "key-1");
        assert_true(strchr("abc", rig->inner.calls[i]->body[0]) != NULL);
        end(rig, i, 0);
    }
    ask(rig, &asked[0], "p", "d");
    assert_int_equal(rig->inner.started, 4); /* the key is kept: no waiting */
    end(rig, 3, 0);
    assert_int_equal(runs_of(rig), 1);
}

static void a_provider_without_a_helper_passes_through(void **state)
{
    struct rig *rig = *state;
    struct asked asked;
    open_rig(rig, "echo key", 60000);
    ask(rig, &asked, "other", "a");
    assert_int_equal(rig->inner.started, 1);
    assert_string_equal(rig->inner.calls[0]->key, "own");
    end(rig, 0, 401);
    assert_int_equal(asked.done, 1);
    assert_int_equal(asked.status, 401);
    assert_int_equal(runs_of(rig), 0);
}

static void an_expired_key_is_asked_for_anew(void **state)
{
    struct rig *rig = *state;
    struct asked asked;
    open_rig(rig, "echo key-$n", 0);
    for (size_t i = 0; i < 2; i++) {
        ask(rig, &asked, "p", "a");
        run_until(rig, i + 1);
        assert_string_equal(rig->inner.calls[i]->key, i == 0 ? "key-1" : "key-2");
        end(rig, i, 0);
    }
}

static void after_a_401_the_request_is_sent_once_more_with_a_new_key(void **state)
{
    struct rig *rig = *state;
    struct asked asked;
    open_rig(rig, "echo key-$n", 60000);
    ask(rig, &asked, "p", "body");
    run_until(rig, 1);
    end(rig, 0, 401);
    assert_int_equal(asked.done, 0);
    run_until(rig, 2);
    assert_string_equal(rig->inner.calls[1]->key, "key-2");
    assert_string_equal(rig->inner.calls[1]->body, "body");
    end(rig, 1, 401);
    assert_int_equal(asked.done, 1);
    assert_int_equal(asked.status, 401);
    assert_int_equal(runs_of(rig), 2);
}

static void two_401s_for_one_key_run_the_helper_once(void **state)
{
    struct rig *rig = *state;
    struct asked first, second;
    open_rig(rig, "echo key-$n", 60000);
    ask(rig, &first, "p", "a");
    ask(rig, &second, "p", "b");
    run_until(rig, 2);
    end(rig, 0, 401);
    run_until(rig, 3);
    end(rig, 2, 0);
    end(rig, 1, 401); /* of the old key: the new one is there already */
    assert_int_equal(rig->inner.started, 4);
    assert_string_equal(rig->inner.calls[3]->key, "key-2");
    end(rig, 3, 0);
    assert_int_equal(first.done + second.done, 2);
    assert_int_equal(runs_of(rig), 2);
}

static void a_helper_that_fails_fails_everybody_who_waited_and_is_tried_again_later(void **state)
{
    struct rig *rig = *state;
    struct asked first, second, third;
    open_rig(rig, "test $n -gt 1 && echo key-$n || { echo locked >&2; exit 1; }", 60000);
    ask(rig, &first, "p", "a");
    ask(rig, &second, "p", "b");
    run_until_done(rig, &first);
    run_until_done(rig, &second);
    assert_int_equal(first.class, ERR_PROVIDER);
    assert_non_null(strstr(second.message, "exit status 1: locked"));
    assert_int_equal(rig->inner.started, 0);
    ask(rig, &third, "p", "c");
    run_until(rig, 1);
    assert_string_equal(rig->inner.calls[0]->key, "key-2");
    end(rig, 0, 0);
}

static void a_request_that_waits_can_be_stopped(void **state)
{
    struct rig *rig = *state;
    struct asked asked;
    open_rig(rig, "exec sleep 60", 60000);
    ask(rig, &asked, "p", "a");
    rig->port.ops->abort(asked.call);
    assert_int_equal(asked.done, 0);
    uv_run(&rig->loop, UV_RUN_NOWAIT); /* without waiting for the helper */
    assert_int_equal(asked.done, 1);
    assert_int_equal(asked.class, ERR_CANCELLED);
}

static void closing_ends_who_waits_and_kills_the_helper(void **state)
{
    struct rig *rig = *state;
    static struct asked asked;
    open_rig(rig, "exec sleep 60", 60000);
    ask(rig, &asked, "p", "a"); /* teardown frees the port; its loop must come to an end */
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG(requests_that_come_together_wait_for_one_run),
        RIG(a_provider_without_a_helper_passes_through),
        RIG(an_expired_key_is_asked_for_anew),
        RIG(after_a_401_the_request_is_sent_once_more_with_a_new_key),
        RIG(two_401s_for_one_key_run_the_helper_once),
        RIG(a_helper_that_fails_fails_everybody_who_waited_and_is_tried_again_later),
        RIG(a_request_that_waits_can_be_stopped),
        RIG(closing_ends_who_waits_and_kills_the_helper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
