/* net/governor_port on a real loop, in front of a port that answers when the test says so. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "check.h"
#include "net/governor_port.h"

#define CALLS 300

/* --- the inner port: remembers what was started, answers when told to ---------------------------- */

struct model_call {
    struct model_client *client;
    struct model_callbacks callbacks;
    struct str text; /* of the request, owned */
    bool aborted;
};

struct model_client {
    struct model_call *calls[CALLS * 2]; /* in flight, oldest first */
    size_t in_flight, most, started, freed;
    enum { INNER_WILLING, INNER_UNWILLING } mood;
    bool starting;
};

static void inner_render(const struct message_group *group, struct buf *out)
{
    buf_str(out, group->messages[0].text);
}

/* Everything that must survive the wait, as one text. */
static struct str request_text(const struct model_request *request)
{
    char *text = NULL;
    int n =
        asprintf(&text, "%.*s %.*s %.*s %.*s", STR_FMT(request->base_url),
                 STR_FMT(request->api_key), STR_FMT(request->model), STR_FMT(request->fragments));
    assert_true(n > 0);
    for (size_t i = 0; i < request->tool_count; i++) {
        char *longer = NULL;
        n = asprintf(&longer, "%s %.*s:%.*s:%.*s", text, STR_FMT(request->tools[i].name),
                     STR_FMT(request->tools[i].description), STR_FMT(request->tools[i].schema));
        assert_true(n > 0);
        free(text);
        text = longer;
    }
    return (struct str){text, (size_t)n};
}

static int inner_start(struct model_client *inner, const struct model_request *request,
                       const struct model_callbacks *callbacks, struct model_call **started,
                       struct err *err)
{
    if (inner->mood == INNER_UNWILLING)
        return err_set(err, ERR_CONFIG, "no such key");
    /* The text of an offer's tools may be gone when a request that waited leaves. */
    assert_true(request->tools_memo == NULL || request->conversation != NULL);
    struct model_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    *call = (struct model_call){inner, *callbacks, request_text(request), false};
    inner->calls[inner->in_flight++] = call;
    inner->started++;
    if (inner->in_flight > inner->most)
        inner->most = inner->in_flight;
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

/* The oldest in flight, or the one at `at`, ends. */
static void inner_end(struct model_client *inner, size_t at, const struct model_reply *reply,
                      const struct model_failure *failure)
{
    assert_true(at < inner->in_flight);
    struct model_call *call = inner->calls[at];
    inner->in_flight--;
    memmove(&inner->calls[at], &inner->calls[at + 1],
            (inner->in_flight - at) * sizeof inner->calls[0]);
    call->callbacks.done(call->callbacks.user, reply, failure);
    free((char *)call->text.p);
    free(call);
}

static void inner_reply(struct model_client *inner)
{
    const struct model_reply reply = {.text = STR("yes"), .usage = USAGE_NONE};
    inner_end(inner, 0, &reply, NULL);
}

static void inner_fail(struct model_client *inner, int status, int64_t retry_after_ms,
                       enum request_sent sent)
{
    const struct model_failure failure = {.class = ERR_RETRY,
                                          .http_status = status,
                                          .retry_after_ms = retry_after_ms,
                                          .message = STR("not now"),
                                          .usage = USAGE_NONE,
                                          .sent = sent};
    inner_end(inner, 0, NULL, &failure);
}

/* --- the outer calls ----------------------------------------------------------------------------- */

struct asked {
    struct rig *rig;
    struct model_call *call;
    int done, replies, deltas;
    bool busy;  /* inside start or abort */
    bool again; /* starts another one from inside done */
    enum err_class class;
    enum request_sent sent;
    int http_status;
    char message[100];
    char waiting[64]; /* the last reason */
    int waits;        /* how many reasons came */
};

struct rig {
    uv_loop_t loop;
    struct model_client inner;
    struct model_port port;
    struct asked asked[CALLS];
    size_t count;
    bool others; /* can be asked instead */
};

static struct asked *ask(struct rig *rig, const char *base_url, const char *owner,
                         uint32_t agent_no);

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct asked *asked = user;
    assert_false(asked->busy);
    assert_true((reply == NULL) != (failure == NULL));
    asked->done++;
    asked->replies += reply != NULL;
    if (failure != NULL) {
        asked->class = failure->class;
        asked->sent = failure->sent;
        asked->http_status = failure->http_status;
        snprintf(asked->message, sizeof asked->message, "%.*s", STR_FMT(failure->message));
    }
    if (asked->again)
        ask(asked->rig, "http://a/v1", "run", 1);
}

static void on_delta(void *user, struct str text)
{
    struct asked *asked = user;
    asked->deltas++;
}

static void on_waiting(void *user, struct str reason)
{
    struct asked *asked = user;
    asked->waits += reason.n > 0;
    snprintf(asked->waiting, sizeof asked->waiting, "%.*s", STR_FMT(reason));
}

static int try_to_ask(struct rig *rig, struct asked *asked, const char *base_url, const char *owner,
                      uint32_t agent_no, struct err *err)
{
    /* Everything is on this stack frame, so that what is not copied shows. */
    struct tools_memo memo = {NULL, {0}};
    const struct model_conversation conversation = {.message_count = 0};
    char url[100], key[] = "key", fragments[100];
    struct model_tool tools[] = {{STR("read"), STR("reads"), STR("{}")},
                                 {STR("ls"), STR("lists"), STR("{}")}};
    snprintf(url, sizeof url, "%s", base_url);
    snprintf(fragments, sizeof fragments, "message %zu", rig->count - 1);
    const struct model_request request = {.base_url = str_from(url),
                                          .api_key = str_from(key),
                                          .model = STR("m"),
                                          .fragments = str_from(fragments),
                                          .tools = tools,
                                          .tool_count = 2,
                                          .tools_memo = &memo,
                                          .conversation = &conversation,
                                          .max_output_tokens = 16,

                                          .deadlines = {1000, 1000, 1000, 1000},
                                          .at_a_pause =
                                              rig->others ? REQUEST_MOVES_ON : REQUEST_WAITS,
                                          .owner = str_from(owner),
                                          .agent_no = agent_no};
    const struct model_callbacks callbacks = {
        .delta = on_delta, .done = on_done, .user = asked, .waiting = on_waiting};
    asked->rig = rig;
    asked->busy = true;
    int result = rig->port.ops->start(rig->port.client, &request, &callbacks, &asked->call, err);
    asked->busy = false;
    memset(url, '?', sizeof url);
    memset(fragments, '?', sizeof fragments);
    memset(tools, 0, sizeof tools);
    return result;
}

static struct asked *ask(struct rig *rig, const char *base_url, const char *owner,
                         uint32_t agent_no)
{
    struct err err = ERR_INIT;
    assert_true(rig->count < CALLS);
    struct asked *asked = &rig->asked[rig->count++];
    assert_int_equal(try_to_ask(rig, asked, base_url, owner, agent_no, &err), 0);
    return asked;
}

static void ask_many(struct rig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ask(rig, "http://a/v1", "run", (uint32_t)i);
}

static void abort_call(struct asked *asked)
{
    asked->busy = true;
    asked->rig->port.ops->abort(asked->call);
    asked->busy = false;
}

/* Runs the loop until its handles have nothing more to do: pauses pass. */
static void settle(struct rig *rig)
{
    uv_run(&rig->loop, UV_RUN_DEFAULT);
}

/* What is due at once, and no pause. */
static void turn(struct rig *rig)
{
    uv_run(&rig->loop, UV_RUN_NOWAIT);
}

static void rig_open(struct rig **out, size_t first, size_t maximum)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    rig->port = governor_open(&rig->loop, (struct model_port){&inner_ops, &rig->inner},
                              &(struct governor_limits){first, maximum});
    *out = rig;
}

static void rig_close(struct rig *rig)
{
    while (rig->inner.in_flight > 0)
        inner_reply(&rig->inner);
    rig->port.ops->free(rig->port.client);
    settle(rig);
    assert_int_equal(rig->inner.freed, 1);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    for (size_t i = 0; i < rig->count; i++)
        assert_int_equal(rig->asked[i].done, 1);
    free(rig);
}

/* --- tests ------------------------------------------------------------------------------------------ */

static void a_call_that_may_leave_is_started_at_once_and_ends_as_the_inner_one_does(void **state)
{
    struct rig *rig;
    rig_open(&rig, 4, 4);
    struct asked *asked = ask(rig, "http://a/v1", "run", 0);
    assert_int_equal(rig->inner.started, 1);
    struct model_call *inner = rig->inner.calls[0];
    inner->callbacks.delta(inner->callbacks.user, STR("y"));
    inner_reply(&rig->inner);
    assert_int_equal(asked->deltas, 1);
    assert_int_equal(asked->replies, 1);
    assert_int_equal(asked->waits, 0);
    rig_close(rig);
}

static void rendering_is_the_inner_ports(void **state)
{
    struct rig *rig;
    rig_open(&rig, 4, 4);
    assert_ptr_equal(rig->port.ops->render, inner_render);
    rig_close(rig);
}

static void a_start_that_the_inner_port_refuses_leaves_no_trace(void **state)
{
    struct rig *rig;
    struct err err = ERR_INIT;
    struct asked asked = {0};
    rig_open(&rig, 1, 1);
    rig->inner.mood = INNER_UNWILLING;
    rig->count = 1; /* for the message's number */
    assert_int_equal(try_to_ask(rig, &asked, "http://a/v1", "run", 0, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    rig->count = 0;
    rig->inner.mood = INNER_WILLING;
    ask(rig, "http://a/v1", "run", 0);
    assert_int_equal(rig->inner.in_flight, 1);
    assert_int_equal(asked.done, 0);
    rig_close(rig);
}

static void never_more_than_the_limit_are_in_flight_and_all_are_answered(void **state)
{
    struct rig *rig;
    rig_open(&rig, 5, 5);
    ask_many(rig, 200);
    while (rig->inner.in_flight > 0)
        inner_reply(&rig->inner);
    assert_int_equal(rig->inner.most, 5);
    assert_int_equal(rig->inner.started, 200);
    rig_close(rig);
}

static void what_waits_is_sent_as_it_was_asked(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask(rig, "http://a/v1", "run", 0);
    ask(rig, "http://a/v1", "run", 1);
    inner_reply(&rig->inner);
    check_str(rig->inner.calls[0]->text, "http://a/v1 key m message 1 read:reads:{} ls:lists:{}");
    rig_close(rig);
}

static void the_limit_grows_with_the_first_text_not_only_with_the_whole_answer(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 10);
    ask_many(rig, 6);
    for (size_t i = 0; i < 2; i++) {
        struct model_call *inner = rig->inner.calls[i];
        inner->callbacks.delta(inner->callbacks.user, STR("y"));
        inner->callbacks.delta(inner->callbacks.user, STR("es"));
    }
    assert_int_equal(rig->inner.in_flight, 2); /* the inner port is busy with its answer */
    turn(rig);
    assert_int_equal(rig->inner.in_flight, 4);
    rig_close(rig);
}

static void providers_do_not_hold_each_other_up(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask(rig, "http://a/v1", "run", 0);
    assert_int_equal(ask(rig, "http://a/v1", "run", 1)->waits, 1);
    assert_int_equal(ask(rig, "http://b/v1", "run", 2)->waits, 0);
    assert_int_equal(rig->inner.in_flight, 2);
    rig_close(rig);
}

static void a_provider_can_have_a_maximum_of_its_own(void **state)
{
    struct rig *rig;
    rig_open(&rig, 64, 100);
    governor_set_maximum(rig->port, STR("http://a/v1"), 3);
    governor_set_maximum(rig->port, STR("http://a/v1"), 2);
    governor_set_maximum(rig->port, STR("http://a/v1"), 5); /* the smallest holds */
    governor_set_maximum(rig->port, STR("http://b/v1"), 1000);
    for (unsigned i = 0; i < 4; i++)
        ask(rig, "http://a/v1", "run", i);
    assert_int_equal(rig->inner.in_flight, 2);
    for (unsigned i = 0; i < 70; i++) /* all at once: somebody said that it takes so many */
        assert_int_equal(ask(rig, "http://b/v1", "run", i)->waits, 0);
    assert_int_equal(rig->inner.in_flight, 72);
    while (rig->inner.in_flight > 0) { /* answers make no more room than that */
        inner_reply(&rig->inner);
        settle(rig);
        assert_true(rig->inner.in_flight <= 72);
    }
    rig_close(rig);
}

static void a_429_that_one_agent_sees_slows_down_all_and_the_pause_ends(void **state)
{
    struct rig *rig;
    rig_open(&rig, 4, 100);
    ask_many(rig, 4);
    inner_fail(&rig->inner, 429, 30, REQUEST_SENT);
    while (rig->inner.in_flight > 0)
        inner_reply(&rig->inner);
    struct asked *other = ask(rig, "http://a/v1", "other run", 7);
    ask_many(rig, 3);
    assert_int_equal(rig->inner.in_flight, 0);
    assert_string_equal(other->waiting, "429");
    settle(rig);
    assert_int_equal(rig->inner.in_flight, 2); /* half of four */
    assert_string_equal(other->waiting, "");
    rig_close(rig);
}

static void those_who_wait_already_learn_of_a_pause(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 2);
    ask_many(rig, 3);
    assert_string_equal(rig->asked[2].waiting, "2 at once");
    inner_fail(&rig->inner, 503, 30, REQUEST_SENT);
    assert_string_equal(rig->asked[2].waiting, "503");
    assert_int_equal(rig->asked[2].done, 0);
    inner_reply(&rig->inner);
    settle(rig);
    assert_int_equal(rig->inner.in_flight, 1);
    rig_close(rig);
}

static void who_can_ask_another_model_waits_for_no_pause(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 2);
    ask_many(rig, 3);
    rig->others = true;
    struct asked *waiting = ask(rig, "http://a/v1", "run", 8);
    assert_string_equal(waiting->waiting, "2 at once"); /* not a pause: its turn comes */
    inner_fail(&rig->inner, 429, 50000, REQUEST_SENT);
    struct asked *late = ask(rig, "http://a/v1", "run", 9);
    assert_int_equal(waiting->done + late->done, 0); /* not from inside */
    turn(rig);
    assert_int_equal(waiting->done, 1);
    assert_int_equal(late->done, 1);
    assert_int_equal(late->class, ERR_RETRY);
    assert_int_equal(late->sent, REQUEST_UNSENT);
    assert_int_equal(late->http_status, 429); /* it was reached, and has too much to do */
    assert_int_equal(rig->asked[2].done, 0);
    inner_reply(&rig->inner);
    abort_call(&rig->asked[2]);
    settle(rig);
    assert_int_equal(rig->inner.started, 2);
    rig_close(rig);
}

static void who_can_ask_another_model_does_not_wait_for_a_provider_that_is_down(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 2);
    rig->others = true;
    ask_many(rig, 1);
    inner_fail(&rig->inner, 0, -1, REQUEST_UNSENT);
    struct asked *late = ask(rig, "http://a/v1", "run", 9);
    turn(rig);
    assert_int_equal(late->done, 1);
    assert_int_equal(late->class, ERR_RETRY);
    assert_int_equal(late->http_status, 0); /* so its model is left out */
    assert_int_equal(rig->inner.started, 1);
    rig_close(rig);
}

static void a_short_pause_is_sat_out(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 2);
    rig->others = true;
    ask_many(rig, 1);
    inner_fail(&rig->inner, 429, 30, REQUEST_SENT);
    struct asked *late = ask(rig, "http://a/v1", "run", 9);
    assert_string_equal(late->waiting, "429");
    settle(rig);
    assert_int_equal(rig->inner.started, 2);
    inner_reply(&rig->inner);
    assert_int_equal(late->replies, 1);
    settle(rig);
    rig_close(rig);
}

static void which_failures_pause(void **state)
{
    static const struct {
        int status;
        enum request_sent sent;
        size_t leaves_at_once; /* of the next call */
    } rows[] = {
        {429, REQUEST_SENT, 0}, {503, REQUEST_SENT, 0}, {529, REQUEST_SENT, 0},
        {0, REQUEST_UNSENT, 0}, {0, REQUEST_SENT, 1},   {500, REQUEST_SENT, 1},
        {408, REQUEST_SENT, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *rig;
        rig_open(&rig, 4, 4);
        ask_many(rig, 1);
        inner_fail(&rig->inner, rows[i].status, 20, rows[i].sent);
        ask_many(rig, 1);
        assert_int_equal(rig->inner.in_flight, rows[i].leaves_at_once);
        settle(rig);
        assert_int_equal(rig->inner.in_flight, 1);
        rig_close(rig);
    }
}

static void an_error_inside_an_answer_that_tells_of_load_pauses(void **state)
{
    static const struct {
        int load_status;
        size_t leaves_at_once; /* of the next call */
    } rows[] = {{529, 0}, {429, 0}, {0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct model_failure failure = {.class = ERR_RETRY,
                                              .http_status = 200,
                                              .load_status = rows[i].load_status,
                                              .retry_after_ms = 20,
                                              .message = STR("in the middle"),
                                              .usage = USAGE_NONE};
        struct rig *rig;
        rig_open(&rig, 4, 4);
        ask_many(rig, 1);
        inner_end(&rig->inner, 0, NULL, &failure);
        ask_many(rig, 1);
        assert_int_equal(rig->inner.in_flight, rows[i].leaves_at_once);
        settle(rig);
        assert_int_equal(rig->inner.in_flight, 1);
        rig_close(rig);
    }
}

static void aborting_one_that_waits_sends_nothing_and_answers_from_the_loop(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask_many(rig, 3);
    struct asked *asked = &rig->asked[1];
    abort_call(asked);
    abort_call(asked);
    assert_int_equal(asked->done, 0);
    turn(rig);
    assert_int_equal(asked->done, 1);
    assert_int_equal(asked->class, ERR_CANCELLED);
    assert_int_equal(asked->sent, REQUEST_UNSENT);
    inner_reply(&rig->inner);
    inner_reply(&rig->inner);
    assert_int_equal(rig->inner.started, 2);
    assert_int_equal(rig->asked[2].replies, 1);
    rig_close(rig);
}

static void aborting_during_a_pause_ends_all_that_wait_and_the_loop_runs_dry(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask_many(rig, 1);
    inner_fail(&rig->inner, 429, 50000, REQUEST_SENT);
    ask_many(rig, 100);
    for (size_t i = 1; i <= 100; i++)
        abort_call(&rig->asked[i]);
    turn(rig);
    assert_int_equal(uv_loop_alive(&rig->loop), 0);
    for (size_t i = 1; i <= 100; i++)
        assert_int_equal(rig->asked[i].class, ERR_CANCELLED);
    assert_int_equal(rig->inner.started, 1);
    rig_close(rig);
}

static void aborting_one_in_flight_is_passed_on(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask_many(rig, 1);
    abort_call(&rig->asked[0]);
    assert_true(rig->inner.calls[0]->aborted);
    assert_int_equal(rig->asked[0].done, 0);
    rig_close(rig);
}

static void one_that_cannot_be_started_after_its_wait_says_why_and_lets_the_next_go(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    ask_many(rig, 2);
    rig->inner.mood = INNER_UNWILLING;
    inner_reply(&rig->inner);
    rig->inner.mood = INNER_WILLING;
    turn(rig);
    assert_int_equal(rig->asked[1].class, ERR_PROVIDER);
    assert_int_equal(rig->asked[1].sent, REQUEST_UNSENT);
    assert_string_equal(rig->asked[1].message, "no such key");
    ask_many(rig, 1);
    assert_int_equal(rig->inner.in_flight, 1);
    rig_close(rig);
}

static void one_that_asks_again_from_its_answer_stands_behind_those_who_wait(void **state)
{
    struct rig *rig;
    rig_open(&rig, 1, 1);
    rig->asked[0].again = true;
    ask_many(rig, 2); /* 0 is in flight, 1 waits; 2 comes from the answer to 0 */
    inner_reply(&rig->inner);
    assert_int_equal(rig->count, 3);
    assert_int_equal(rig->inner.in_flight, 1);
    assert_non_null(
        memmem(rig->inner.calls[0]->text.p, rig->inner.calls[0]->text.n, "message 1", 9));
    rig_close(rig);
}

static void freeing_the_port_ends_what_waits_and_forgets_nothing(void **state)
{
    struct rig *rig;
    rig_open(&rig, 2, 2);
    ask_many(rig, 20);
    rig->port.ops->free(rig->port.client);
    assert_int_equal(rig->inner.freed, 1);
    turn(rig);
    assert_int_equal(rig->asked[19].class, ERR_CANCELLED);
    inner_reply(&rig->inner);
    inner_reply(&rig->inner);
    settle(rig);
    assert_int_equal(rig->inner.started, 2);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    for (size_t i = 0; i < rig->count; i++)
        assert_int_equal(rig->asked[i].done, 1);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_may_leave_is_started_at_once_and_ends_as_the_inner_one_does),
        cmocka_unit_test(rendering_is_the_inner_ports),
        cmocka_unit_test(a_start_that_the_inner_port_refuses_leaves_no_trace),
        cmocka_unit_test(never_more_than_the_limit_are_in_flight_and_all_are_answered),
        cmocka_unit_test(what_waits_is_sent_as_it_was_asked),
        cmocka_unit_test(the_limit_grows_with_the_first_text_not_only_with_the_whole_answer),
        cmocka_unit_test(providers_do_not_hold_each_other_up),
        cmocka_unit_test(a_provider_can_have_a_maximum_of_its_own),
        cmocka_unit_test(a_429_that_one_agent_sees_slows_down_all_and_the_pause_ends),
        cmocka_unit_test(those_who_wait_already_learn_of_a_pause),
        cmocka_unit_test(who_can_ask_another_model_waits_for_no_pause),
        cmocka_unit_test(who_can_ask_another_model_does_not_wait_for_a_provider_that_is_down),
        cmocka_unit_test(a_short_pause_is_sat_out),
        cmocka_unit_test(which_failures_pause),
        cmocka_unit_test(an_error_inside_an_answer_that_tells_of_load_pauses),
        cmocka_unit_test(aborting_one_that_waits_sends_nothing_and_answers_from_the_loop),
        cmocka_unit_test(aborting_during_a_pause_ends_all_that_wait_and_the_loop_runs_dry),
        cmocka_unit_test(aborting_one_in_flight_is_passed_on),
        cmocka_unit_test(one_that_cannot_be_started_after_its_wait_says_why_and_lets_the_next_go),
        cmocka_unit_test(one_that_asks_again_from_its_answer_stands_behind_those_who_wait),
        cmocka_unit_test(freeing_the_port_ends_what_waits_and_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
