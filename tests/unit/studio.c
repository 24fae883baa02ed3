/* The inner port remembers what was started and answers when it is told to; the rest is what the header says. */
#include "studio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"
#include "check.h"

void talk_init(struct talk *talk, const char *task)
{
    *talk = (struct talk){.call = {STR("c4_0"), STR("ls"), STR("{\"path\":\"/ws/src\"}")}};
    talk->messages[0] = (struct message){
        .role = MESSAGE_SYSTEM, .text = STR("Workspace: /ws\nYou have 60 seconds. Use 2 tools.")};
    talk->messages[1] = (struct message){.role = MESSAGE_USER, .text = str_from(task)};
    talk->messages[2] =
        (struct message){.role = MESSAGE_ASSISTANT, .calls = &talk->call, .call_count = 1};
    talk->messages[3] = (struct message){.role = MESSAGE_TOOL,
                                         .text = STR("(ended after 2 tool calls, 1.2s)"),
                                         .call_id = STR("c4_0")};
    talk->conversation = (struct model_conversation){
        .messages = talk->messages, .message_count = 4, .workspace = STR("/ws"), .turn = 2};
    talk->tool = (struct model_tool){STR("ls"), STR("lists"), STR("{}")};
    talk->request = (struct model_request){.base_url = STR("http://localhost/v1"),
                                           .api_key = STR(KEY),
                                           .model = STR("m"),
                                           .fragments = STR("whatever the API makes of it"),
                                           .tools = &talk->tool,
                                           .tool_count = 1,
                                           .owner = STR("run-1"),
                                           .agent_no = 3,
                                           .conversation = &talk->conversation};
}

static struct tool_call a_call = {STR("call_1"), STR("write"), STR("{\"path\":\"ä\\n\",\"n\":1}")};

struct model_reply studio_reply(const char *text)
{
    return (struct model_reply){.text = str_from(text),
                                .calls = &a_call,
                                .call_count = 1,
                                .finish = STR("tool_calls"),
                                .completeness = REPLY_CUT,
                                .usage = {10, 4, -1, 3, 0},
                                .response_id = STR("r-1"),
                                .model = STR("m-2026"),
                                .first_token_ms = 7,
                                .extras = STR("{\"signature\":\"x\"}")};
}

struct model_failure studio_failure(enum err_class class)
{
    return (struct model_failure){.class = class,
                                  .http_status = 503,
                                  .retry_after_ms = 60000,
                                  .message = STR("busy"),
                                  .partial = STR("half a"),
                                  .usage = {5, -1, -1, -1, -1},
                                  .sent = REQUEST_SENT};
}

void studio_check_reply(const struct model_reply *reply, const char *text)
{
    check_str(reply->text, text);
    assert_int_equal(reply->call_count, 1);
    check_str(reply->calls[0].id, "call_1");
    check_str(reply->calls[0].name, "write");
    check_str(reply->calls[0].arguments, "{\"path\":\"ä\\n\",\"n\":1}");
    check_str(reply->finish, "tool_calls");
    assert_int_equal(reply->completeness, REPLY_CUT);
    assert_int_equal(reply->usage.input, 10);
    assert_int_equal(reply->usage.cached, 4);
    assert_int_equal(reply->usage.cache_write, -1);
    assert_int_equal(reply->usage.output, 3);
    assert_int_equal(reply->usage.reasoning, 0);
    check_str(reply->response_id, "r-1");
    check_str(reply->model, "m-2026");
    assert_int_equal(reply->first_token_ms, 7);
    check_str(reply->extras, "{\"signature\":\"x\"}");
}

/* --- the inner port ---------------------------------------------------------------------------------- */

struct model_call {
    struct model_callbacks callbacks;
    bool aborted;
};

struct model_client {
    struct model_call *calls[16]; /* in flight, oldest first */
    size_t in_flight, freed;
};

static void inner_render(const struct message_group *group, struct buf *out)
{
    buf_str(out, group->messages[0].text);
}

static int inner_start(struct model_client *inner, const struct model_request *request,
                       const struct model_callbacks *callbacks, struct model_call **started,
                       struct err *err)
{
    if (str_is(request->model, "refused"))
        return err_set(err, ERR_CONFIG, "no such model");
    struct model_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    call->callbacks = *callbacks;
    inner->calls[inner->in_flight++] = call;
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

/* The oldest call of the inner port ends. */
void studio_answer(struct studio *studio, const struct model_reply *reply,
                   const struct model_failure *failure)
{
    struct model_client *inner = studio->inner;
    assert_true(inner->in_flight > 0);
    struct model_call *call = inner->calls[0];
    memmove(&inner->calls[0], &inner->calls[1], --inner->in_flight * sizeof inner->calls[0]);
    call->callbacks.done(call->callbacks.user, reply, failure);
    free(call);
}

bool studio_aborted(const struct studio *studio)
{
    return studio->inner->calls[0]->aborted;
}

size_t studio_freed(const struct studio *studio)
{
    return studio->inner->freed;
}

static void on_warning(void *user, struct str text)
{
    struct studio *studio = user;
    studio->warnings++;
    snprintf(studio->warning, sizeof studio->warning, "%.*s", STR_FMT(text));
}

static void on_delta(void *user, struct str text)
{
    struct asked *asked = user;
    size_t n = strlen(asked->streamed);
    assert_int_equal(utf8_valid(text), text.n);
    snprintf(asked->streamed + n, sizeof asked->streamed - n, "%.*s", STR_FMT(text));
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct asked *asked = user;
    assert_false(asked->busy);
    assert_true((reply == NULL) != (failure == NULL));
    asked->done++;
    asked->replied = reply != NULL;
    snprintf(asked->text, sizeof asked->text, "%.*s",
             STR_FMT(reply != NULL ? reply->text : failure->message));
    if (failure == NULL)
        return;
    asked->class = failure->class;
    asked->sent = failure->sent;
    asked->retry_after_ms = failure->retry_after_ms;
    snprintf(asked->partial, sizeof asked->partial, "%.*s", STR_FMT(failure->partial));
}

struct asked *studio_ask(struct studio *studio, const struct model_request *request)
{
    struct asked *asked = &studio->asked[studio->count++];
    struct err err = ERR_INIT;
    const struct model_callbacks callbacks = {.delta = on_delta, .done = on_done, .user = asked};
    asked->busy = true;
    if (studio->port.ops->start(studio->port.client, request, &callbacks, &asked->call, &err) != 0)
        fail_msg("%s", err.message);
    asked->busy = false;
    return asked;
}

void studio_settle(struct studio *studio)
{
    uv_run(&studio->loop, UV_RUN_DEFAULT);
}

int studio_setup(void **state)
{
    struct studio *studio = calloc(1, sizeof *studio);
    const char *base = getenv("TMPDIR");
    assert_non_null(studio);
    snprintf(studio->folder, sizeof studio->folder, "%.40s/replay-XXXXXX",
             base != NULL && strlen(base) < 40 ? base : "/tmp");
    assert_non_null(mkdtemp(studio->folder));
    snprintf(studio->path, sizeof studio->path, "%s/talk.jsonl", studio->folder);
    snprintf(studio->url, sizeof studio->url, "file:%s", studio->path);
    uv_loop_init(&studio->loop);
    studio->inner = calloc(1, sizeof *studio->inner);
    assert_non_null(studio->inner);
    replay_shelf_init(&studio->shelf);
    *state = studio;
    return 0;
}

void studio_close(struct studio *studio)
{
    if (studio->port.ops != NULL)
        studio->port.ops->free(studio->port.client);
    studio->port = (struct model_port){NULL, NULL};
    studio_settle(studio);
    if (studio->record != NULL)
        record_free(studio->record);
    studio->record = NULL;
}

int studio_teardown(void **state)
{
    struct studio *studio = *state;
    studio_close(studio);
    replay_shelf_release(&studio->shelf);
    assert_int_equal(uv_loop_close(&studio->loop), 0);
    unlink(studio->path);
    assert_int_equal(rmdir(studio->folder), 0);
    free(studio->inner);
    free(studio);
    return 0;
}

void studio_record(struct studio *studio)
{
    const struct record_warning warning = {on_warning, studio};
    struct err err = ERR_INIT;
    if (record_new(studio->path, &warning, &studio->record, &err) != 0)
        fail_msg("%s", err.message);
    studio->port = record_open(studio->record, (struct model_port){&inner_ops, studio->inner});
}

void studio_replay(struct studio *studio)
{
    const struct record_warning warning = {on_warning, studio};
    studio->port = replay_open(&studio->loop, &studio->shelf, &warning);
}

/* One exchange more in the file that studio_record opened. */
void studio_record_one(struct studio *studio, const char *task, uint32_t agent_no, int64_t turn,
                       const char *answer)
{
    struct talk talk;
    struct model_reply reply = studio_reply(answer);
    talk_init(&talk, task);
    talk.request.agent_no = agent_no;
    talk.conversation.turn = turn;
    studio_ask(studio, &talk.request);
    studio_answer(studio, &reply, NULL);
}

struct asked *studio_replay_one(struct studio *studio, const char *task, uint32_t agent_no,
                                int64_t turn)
{
    struct talk talk;
    talk_init(&talk, task);
    talk.request.base_url = str_from(studio->url);
    talk.request.agent_no = agent_no;
    talk.conversation.turn = turn;
    return studio_ask(studio, &talk.request);
}

char *studio_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) < 65535);
    fclose(file);
    return text;
}

void studio_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}
