/* Model requests: renders what is new in an agent's conversation, sends, and turns the answer into an input. Loop thread. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mark.h"
#include "engine/live.h"

#define FRAGMENTS_MAX (64u << 20)
#define FRAGMENTS_LARGE                                                                            \
    4096 /* from here on room is made at once, with some for escapes and a turn or two */

#define CLIENT_ID_MAX 160
#define HELD_MS 1000  /* shorter waits are not told */
#define REPORT_MS 500 /* flights are looked at no more often */
#define REASON_BYTES 64

/* How long a model may take. Agents have walls of their own; these catch a server that hangs. */
static const struct model_deadlines deadlines = {
    .connect_ms = 10000, .first_byte_ms = 300000, .idle_ms = 120000, .total_ms = 900000};

struct asking {
    struct flight flight; /* first: they are cast into each other */
    const struct model_ops *ops;
    struct model_call *call;
    int64_t asked_at, left_at, first_text_at; /* left_at, first_text_at: 0 until then */
    enum { WAIT_UNTOLD, WAIT_TOLD } told;     /* whether the run knows that it waits */
    struct asking *next_untold;               /* in its live's list */
    char reason[REASON_BYTES];                /* what it waits for */
};

void rendered_drop(struct live *live, uint32_t agent_no)
{
    if (agent_no < live->rendered_count) {
        buf_release(&live->rendered[agent_no].fragments);
        live->rendered[agent_no].message_count = 0;
        live->rendered[agent_no].ops = NULL;
    }
}

void rendered_release(struct live *live)
{
    for (size_t i = 0; i < live->rendered_count; i++)
        buf_release(&live->rendered[i].fragments);
    free(live->rendered);
    live->rendered = NULL;
    live->rendered_count = 0;
    offers_release(&live->offers);
}

static bool joins(const struct message *first, const struct message *next)
{
    return (first->role == MESSAGE_USER || first->role == MESSAGE_SYSTEM) &&
           (next->role == first->role || message_says_nothing(next));
}

/* Renders from the first message of the last group, which a new message may have joined. */
static void render_groups(struct rendered *rendered, const struct agent *agent, struct str provider)
{
    rendered->fragments.n = rendered->group_at;
    for (size_t first = rendered->group_first; first < agent->message_count;) {
        const struct message *messages = &agent->messages[first];
        struct message_group group = {messages, 1, provider};
        while (first + group.count < agent->message_count &&
               joins(messages, &messages[group.count]))
            group.count++;
        rendered->group_first = first;
        rendered->group_at = rendered->fragments.n;
        if (!message_says_nothing(messages))
            rendered->ops->render(&group, &rendered->fragments);
        first += group.count;
    }
    rendered->message_count = agent->message_count;
}

/* The whole conversation as the API wants it; only what is new since the last time is rendered. */
static struct str render(struct live *live, const struct agent *agent, const struct model_ops *ops,
                         struct str provider)
{
    if (agent->no >= live->rendered_count) {
        size_t count = (size_t)agent->no * 2 + 8;
        live->rendered = realloc(live->rendered, count * sizeof *live->rendered);
        if (live->rendered == NULL)
            abort();
        for (size_t i = live->rendered_count; i < count; i++) {
            live->rendered[i] = (struct rendered){.message_count = 0};
            buf_init(&live->rendered[i].fragments, FRAGMENTS_MAX);
        }
        live->rendered_count = count;
    }
    struct rendered *rendered = &live->rendered[agent->no];
    uint64_t server = mark_str(0, provider);
    if (rendered->generation != agent->generation || rendered->ops != ops ||
        rendered->server != server) {
        buf_clear(&rendered->fragments);
        rendered->message_count = rendered->group_first = rendered->group_at = 0;
        rendered->generation = agent->generation;
        rendered->ops = ops;
        rendered->server = server;
    }
    size_t bytes = rendered->fragments.n;
    for (size_t i = rendered->message_count; i < agent->message_count; i++)
        bytes += agent->messages[i].text.n;
    if (bytes > FRAGMENTS_LARGE && bytes >= rendered->fragments.capacity)
        buf_expect(&rendered->fragments, bytes + bytes / 16 + FRAGMENTS_LARGE);
    if (rendered->message_count < agent->message_count)
        render_groups(rendered, agent, provider);
    return buf_view(&rendered->fragments);
}

static void on_delta(void *user, struct str text)
{
    struct asking *asking = user;
    struct live *live = flight_live(&asking->flight);
    if (asking->first_text_at == 0)
        asking->first_text_at = engine_now(asking->flight.engine);
    if (live != NULL && live->engine->config.watch.delta != NULL)
        live->engine->config.watch.delta(live->engine->config.watch.user, id_str(&live->id),
                                         asking->flight.agent_no, text);
}

static void on_reasoning(void *user, struct str text)
{
    struct asking *asking = user;
    struct live *live = flight_live(&asking->flight);
    if (live != NULL && live->engine->config.watch.reasoning != NULL)
        live->engine->config.watch.reasoning(live->engine->config.watch.user, id_str(&live->id),
                                             asking->flight.agent_no, text);
}

static void on_progress(void *user)
{
    struct asking *asking = user;
    flight_answers(&asking->flight);
}

/* From the next turn of the loop: this is inside the governor. A request that the log calls held back is not paid for after a
 * crash, so one that leaves must not be called so for long. */
static void tell_soon(struct live *live, struct asking *asking)
{
    if (asking->next_untold != NULL || live->untold == asking)
        return;
    asking->next_untold = live->untold;
    live->untold = asking;
    live_go_on_soon(live);
}

static void untell(struct live *live, const struct asking *asking)
{
    for (struct asking **at = &live->untold; *at != NULL; at = &(*at)->next_untold) {
        if (*at == asking) {
            *at = asking->next_untold;
            return;
        }
    }
}

static void on_waiting(void *user, struct str reason)
{
    struct asking *asking = user;
    struct live *live = flight_live(&asking->flight);
    if (reason.n == 0)
        flight_alive(&asking->flight);
    else
        flight_waits(&asking->flight);
    snprintf(asking->reason, sizeof asking->reason, "%.*s", STR_FMT(reason));
    asking->left_at = reason.n == 0 ? engine_now(asking->flight.engine) : 0;
    if (live != NULL && reason.n == 0 && asking->told == WAIT_TOLD)
        tell_soon(live, asking);
    if (live != NULL && live->engine->config.watch.waiting != NULL)
        live->engine->config.watch.waiting(live->engine->config.watch.user, id_str(&live->id),
                                           asking->flight.agent_no, reason);
}

/* How long it took. `asking` is NULL for a request that was never given to a port. */
static void add_times(const struct asking *asking, struct input *input)
{
    if (asking == NULL)
        return;
    int64_t left_at = asking->left_at > 0 ? asking->left_at : input->now;
    input->admitted_ms = left_at - asking->asked_at;
    input->total_ms = input->now - asking->asked_at;
    if (input->total_ms < 1)
        input->total_ms = 1; /* a time that is known is never nothing */
    if (input->failure != NULL && asking->first_text_at > 0)
        input->first_token_ms = asking->first_text_at - left_at;
}

static void answer(struct flight *flight, const struct asking *asking,
                   const struct model_reply *reply, const struct model_failure *failure)
{
    struct live *live = flight_live(flight);
    struct input input = {.kind = reply != NULL ? INPUT_REPLY : INPUT_FAILURE,
                          .now = engine_now(flight->engine),
                          .agent_no = flight->agent_no,
                          .call_id = flight->call_id,
                          .reply = reply,
                          .failure = failure,
                          .sent = failure != NULL ? failure->sent : REQUEST_SENT};
    add_times(asking, &input);
    if (live != NULL)
        untell(live, asking);
    flight_unlink(flight);
    if (live != NULL) {
        live->asks--;
        live_input(live, &input);
        live_look(live);
    }
    flight_release(flight);
    free(flight);
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct asking *asking = user;
    answer(&asking->flight, asking, reply, failure);
}

static void on_abort(struct flight *flight)
{
    struct asking *asking = (struct asking *)flight;
    asking->ops->abort(asking->call);
}

static void report_one(struct live *live, struct asking *asking, int64_t now)
{
    bool waits = asking->left_at == 0;
    if (asking->told == WAIT_TOLD ? waits : !waits || now - asking->asked_at < HELD_MS)
        return;
    asking->told = waits ? WAIT_TOLD : WAIT_UNTOLD;
    struct input input = {.kind = waits ? INPUT_HELD : INPUT_ADMITTED,
                          .now = now,
                          .agent_no = asking->flight.agent_no,
                          .call_id = asking->flight.call_id,
                          .text = str_from(asking->reason),
                          .waited_ms = waits ? now - asking->asked_at : 0};
    live_input(live, &input);
}

void ask_report(struct live *live)
{
    int64_t now = engine_now(live->engine);
    if (now - live->reported_at < REPORT_MS && now >= live->reported_at)
        return;
    live->reported_at = now;
    for (struct flight *flight = live->flights, *next; flight != NULL && !live->ending;
         flight = next) {
        next = flight->next;
        if (flight->abort == on_abort)
            report_one(live, (struct asking *)flight, now);
    }
}

void ask_tell(struct live *live)
{
    while (live->untold != NULL && !live->ending) {
        struct asking *asking = live->untold;
        live->untold = asking->next_untold;
        asking->next_untold = NULL;
        report_one(live, asking, engine_now(live->engine));
    }
}

/* A request that could not be started still answers, but not from inside the pump. */
struct refusal {
    struct flight flight;
    uv_timer_t timer;
    struct err err;
};

static void on_refusal_closed(uv_handle_t *handle)
{
    struct refusal *refusal = handle->data;
    struct model_failure failure = {.class = ERR_PROVIDER,
                                    .retry_after_ms = -1,
                                    .message = str_from(refusal->err.message),
                                    .usage = USAGE_NONE,
                                    .sent = REQUEST_UNSENT};
    answer(&refusal->flight, NULL, NULL, &failure);
}

static void on_refusal(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, on_refusal_closed);
}

static void abort_nothing(struct flight *flight)
{
}

static void refuse(struct live *live, const struct effect *effect, const struct err *err)
{
    struct refusal *refusal = calloc(1, sizeof *refusal);
    if (refusal == NULL)
        abort();
    refusal->err = *err;
    flight_init(&refusal->flight, live, effect, abort_nothing);
    live->asks++;
    uv_timer_init(live->engine->config.loop, &refusal->timer);
    refusal->timer.data = refusal;
    uv_timer_start(&refusal->timer, on_refusal, 0, 0);
}

/* The same for all tries of one request, and another for every other request. */
static struct str client_id(const struct live *live, const struct agent *agent, char *out,
                            size_t size)
{
    /* A summary that had to be asked for again is another request of the same turn. */
    size_t asked = agent->compact_at != 0 ? agent->message_count - agent->compact_at : 0;
    int n = snprintf(out, size, "%.*s-%u-%lld-%lld-%llu-%zu", STR_FMT(id_str(&live->id)), agent->no,
                     (long long)agent->attempt, (long long)agent->account.turns,
                     (unsigned long long)agent->generation, asked);
    return (struct str){out, n > 0 && (size_t)n < size ? (size_t)n : 0};
}

void ask_start(struct live *live, const struct effect *effect)
{
    struct engine *engine = live->engine;
    const struct run *run = pump_run(live->pump);
    const struct agent *agent = run_agent(run, effect->agent_no);
    const struct model_settings *model = settings_model(run_settings(run), agent->model_asked);
    char client[CLIENT_ID_MAX];
    struct err err = ERR_INIT;
    struct model_port port = {NULL, NULL};
    if (model != NULL)
        port = engine->config.model(engine->config.user, model->api);
    if (port.ops == NULL) {
        err_set(&err, ERR_CONFIG, "no client for the model API \"%.*s\"",
                STR_FMT(model != NULL ? model->api : STR_NONE));
        refuse(live, effect, &err);
        return;
    }
    const struct offer *offer =
        offer_of(&live->offers, &engine->config, run_settings(run), &agent->contract);
    const struct model_conversation conversation = {.messages = agent->messages,
                                                    .message_count = agent->message_count,
                                                    .workspace = run_workspace(run),
                                                    .turn = agent->account.turns};
    struct model_request request = {
        .base_url = model->base_url,
        .api_key = engine->config.secret(engine->config.user, model->api_key_env),
        .model = model->model,
        .fragments = render(live, agent, port.ops, model_server_name(model)),
        .tools = offer->tools,
        .tools_memo = offer->memo,
        .tool_count = offer->tool_count,
        .max_output_tokens = effect->output_limit,
        .params = &agent->contract.model.params,
        /* A summary of the conversation is not the answer. */
        .schema = agent->compact_at == 0 ? agent->contract.outputs.schema : STR_NONE,
        .provider = model->provider,
        .cache_key = id_str(&live->id),
        .client_id = client_id(live, agent, client, sizeof client),
        .calls = model->text_tool_calls == TEXT_CALLS_READ ? REQUEST_CALLS_IN_TEXT
                                                           : REQUEST_CALLS_STRUCTURED,
        .at_a_pause =
            run_fallback(run, agent, live_now(live)).n > 0 ? REQUEST_MOVES_ON : REQUEST_WAITS,
        .deadlines = deadlines,
        .owner = id_str(&live->id),
        .agent_no = agent->no,
        .conversation = &conversation};
    if (engine->config.provider != NULL &&
        engine->config.provider(engine->config.user, model, &request, &err) != 0) {
        refuse(live, effect, &err);
        return;
    }
    struct asking *asking = calloc(1, sizeof *asking);
    if (asking == NULL)
        abort();
    asking->ops = port.ops;
    asking->asked_at = asking->left_at = engine_now(engine);
    struct model_callbacks callbacks = {.delta = on_delta,
                                        .reasoning = on_reasoning,
                                        .done = on_done,
                                        .user = asking,
                                        .waiting = on_waiting,
                                        .progress = on_progress};
    flight_init(&asking->flight, live, effect, on_abort);
    live->asks++;
    if (port.ops->start(port.client, &request, &callbacks, &asking->call, &err) != 0) {
        live->asks--;
        flight_release(&asking->flight);
        free(asking);
        refuse(live, effect, &err);
    }
}
