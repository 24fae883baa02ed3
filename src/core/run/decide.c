/* run_decide: takes one input, logs it as a fact, and lets the part of the core that it concerns decide what follows. Holds the
 * emitter that all deciding code uses. Pure. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mark.h"
#include "base/utf8.h"
#include "core/run/project.h"
#include "core/run/state.h"

struct event *draft(struct deciding *d, uint32_t agent_no, enum event_type type)
{
    struct event *event = &d->drafts[d->next_draft++ % DRAFTS];
    event_init(event, type);
    event->agent_no = agent_no;
    return event;
}

struct str keep(struct deciding *d, struct str text)
{
    return arena_copy(&d->out->arena, text);
}

/* As it will be stored. */
static void print_row(struct decision *out, const struct event *event)
{
    const char *type = event_type_text(event->type);
    out->events = grow(out->events, out->event_count, &out->event_capacity, sizeof *out->events);
    struct event_row *row = &out->events[out->event_count++];
    *row = (struct event_row){.seq = event->seq,
                              .agent_no = event->agent_no,
                              .agent_prev = event->agent_prev,
                              .ts = event->ts,
                              .version = event->version,
                              .cause_seq = event->cause_seq};
    row->type = str_from(type);
    row->category = (struct str){type, strcspn(type, ".")};
    row->call_id = event->call_id.n > 0 ? arena_copy(&out->arena, event->call_id) : STR_NONE;
    buf_clear(&out->scratch);
    event_print(event, &out->scratch);
    if (out->scratch.failed)
        abort(); /* limits at the edge make this impossible; going on would log a cut payload */
    row->payload = arena_copy(&out->arena, buf_view(&out->scratch));
    buf_clear(&out->scratch);
    event_summary(event, &out->scratch);
    row->summary = arena_copy(&out->arena, buf_view(&out->scratch));
}

static void project_event(struct decision *out, const struct run *run, const struct event *event)
{
    struct row rows[PROJECT_MAX];
    size_t n = project(run, event, rows);
    struct str payload = out->events[out->event_count - 1].payload;
    for (size_t i = 0; i < n; i++) {
        struct str contract = rows[i].context_json;
        struct str tail = contract.n < payload.n
                              ? (struct str){payload.p + payload.n - 1 - contract.n, contract.n}
                              : STR_NONE;
        rows[i].context_json = STR_NONE;
        row_own(&out->arena, &rows[i]);
        /* A contract ends the payload of its event: both can share the bytes. */
        rows[i].context_json = str_eq(contract, tail) ? tail : arena_copy(&out->arena, contract);
        out->rows = grow(out->rows, out->row_count, &out->row_capacity, sizeof *out->rows);
        out->rows[out->row_count++] = rows[i];
    }
}

void emit(struct deciding *d, struct event *event)
{
    if (d->failed)
        return;
    const struct agent *agent = run_agent_at(d->run, event->agent_no);
    event->seq = d->run->seq + 1;
    event->cause_seq = d->cause;
    event->agent_prev = agent != NULL ? agent->last_seq : 0;
    event->ts = d->now;
    event_mend(event, &d->out->arena);
    if (run_apply(d->run, event, d->err) != 0) {
        d->err->class = ERR_BUG;
        d->failed = true;
        return;
    }
    if (d->cause == 0)
        d->cause = event->seq;
    print_row(d->out, event);
    project_event(d->out, d->run, event);
}

struct effect *effect_add(struct deciding *d, enum effect_kind kind, enum effect_class class,
                          const struct agent *agent, struct str call_id)
{
    struct decision *out = d->out;
    out->effects =
        grow(out->effects, out->effect_count, &out->effect_capacity, sizeof *out->effects);
    struct effect *effect = &out->effects[out->effect_count++];
    *effect =
        (struct effect){.kind = kind, .class = class, .seq = d->run->seq, .agent_no = agent->no};
    effect->call_id = keep(d, call_id);
    return effect;
}

void effect_seal(struct deciding *d, const struct effect *effect)
{
    d->run->effects = effect_mark(d->run->effects, effect);
}

/* A fact, with the mark of all effects that were decided before it. */
static struct event *fact(struct deciding *d, uint32_t agent_no, enum event_type type)
{
    char hex[MARK_HEX + 1];
    struct event *event = draft(d, agent_no, type);
    mark_hex(d->run->effects, hex);
    event->effects = keep(d, (struct str){hex, MARK_HEX});
    return event;
}

/* --- the inbox ------------------------------------------------------------------------------------------------- */

static void inbox_cancel(struct deciding *d, const struct js *body)
{
    struct str reason = js_get_str(body, "reason");
    agent_stop(d, run_agent_at(d->run, 0), OUTCOME_CANCELLED,
               reason.n > 0 ? keep(d, reason) : STR("cancelled"));
}

/* Whether a root that made many calls goes on. */
static void unpause(struct deciding *d, struct agent *agent, struct str answer)
{
    struct event *e = draft(d, agent->no, EVENT_RUN_UNPAUSED);
    e->call_id = keep(d, agent->pause_id);
    e->outcome = answer;
    emit(d, e);
    calls_advance(d, agent);
}

static void inbox_approve(struct deciding *d, const struct js *body)
{
    int64_t no = js_get_int(body, "agent_no", -1);
    struct agent *agent =
        no >= 0 && no < d->run->agent_count ? run_agent_at(d->run, (uint32_t)no) : NULL;
    struct str id = js_get_str(body, "call_id");
    bool yes = str_is(js_get_str(body, "answer"), "yes");
    if (agent == NULL || agent->stopping != OUTCOME_NONE)
        return;
    if (agent->pause == PAUSE_ASKED && str_eq(agent->pause_id, id)) {
        unpause(d, agent, yes ? STR("go_on") : STR("stop"));
        return;
    }
    struct call *call = call_find(agent, id);
    if (call == NULL || call->state != CALL_ASKED || call_is_question(call))
        return;
    struct event *e = draft(d, agent->no, yes ? EVENT_PERMISSION_GRANTED : EVENT_PERMISSION_DENIED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    if (!yes) {
        e->reason = STR("the user said no");
        e->depth = agent->contract.agent.depth;
    }
    emit(d, e);
    if (!yes)
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: the user refused this call. Do not try it again; find another way "
                        "or stop."));
    calls_advance(d, agent);
}

static void on_inbox(struct deciding *d, const struct input *input)
{
    struct err why = ERR_INIT;
    struct js *body = js_parse(input->body, &why);
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    struct event *e = fact(d, 0, EVENT_INBOX_TAKEN);
    e->inbox_id = input->inbox_id;
    e->kind = input->message_kind;
    e->sender = input->sender;
    if (body != NULL)
        js_print(body, &text);
    else
        buf_text(&text, "{}");
    e->body = keep(d, buf_view(&text));
    buf_release(&text);
    emit(d, e);
    d->out->inbox_id = input->inbox_id;
    bool running = d->run->status == RUN_RUNNING;
    if (str_is(input->message_kind, "start"))
        inbox_start(d, body);
    else if (running && str_is(input->message_kind, "cancel"))
        inbox_cancel(d, body);
    else if (running && str_is(input->message_kind, "approve"))
        inbox_approve(d, body);
    else if (running && str_is(input->message_kind, "answer"))
        inbox_answer(d, body);
    js_free(body);
}

/* --- time and crashes ------------------------------------------------------------------------------------------------ */

static void on_tick(struct deciding *d)
{
    static const char *const kinds[] = {"wall", "attempt", "backoff"};
    struct timer timer;
    if (!timer_first(d->run, &timer) || timer.at > d->now)
        return;
    struct agent *agent = run_agent_at(d->run, timer.agent_no);
    struct event *e = fact(d, agent->no, EVENT_TIMER_FIRED);
    e->kind = str_from(kinds[timer.kind]);
    emit(d, e);
    if (timer.kind == TIMER_BACKOFF) {
        turn_advance(d, agent);
        return;
    }
    if (agent->phase == PHASE_JOINING) {
        children_stop(d, agent, STR("the time of the agent that started it is used up"));
        return;
    }
    int64_t limit = timer.kind == TIMER_WALL ? agent->contract.execution.budget.wall_ms
                                             : agent->contract.execution.attempt_timeout_ms;
    agent_stop(d, agent, OUTCOME_TIMEOUT,
               arena_printf(&d->out->arena, "%s of %lld ms is used up",
                            timer.kind == TIMER_WALL ? "wall time" : "the time of one attempt",
                            (long long)limit));
}

/* Who awaits children or an answer is not idle, whatever its other calls do: those have deadlines of their own. */
static bool may_be_idle(const struct agent *agent, const struct input *input)
{
    int64_t limit = agent->contract.execution.idle_timeout_ms;
    return agent->no != 0 && agent->stopping == OUTCOME_NONE && limit > 0 &&
           input->idle_ms >= limit && agent->children_open == 0 && agent->calls_in[CALL_ASKED] == 0;
}

static void on_idle(struct deciding *d, const struct input *input)
{
    struct agent *agent = run_agent_at(d->run, input->agent_no);
    if (agent == NULL || d->run->status != RUN_RUNNING || !may_be_idle(agent, input))
        return;
    const struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, input->call_id) : NULL;
    bool asking = agent->phase == PHASE_ASKING && str_eq(agent->request_id, input->call_id);
    bool working = call != NULL && call->awaits == CALL_WORKS && call->state != CALL_WAITING &&
                   call->state != CALL_DONE;
    if (!asking && !working)
        return;
    struct event *e = fact(d, agent->no, EVENT_AGENT_IDLE);
    e->call_id = keep(d, input->call_id);
    e->kind = asking ? STR("model") : STR("tool");
    if (working)
        e->tool = keep(d, call->call.name);
    e->idle_ms = input->idle_ms;
    struct str reason =
        arena_printf(&d->out->arena, "idle: nothing came for %lld.%lld s from %s%.*s",
                     (long long)(input->idle_ms / 1000), (long long)(input->idle_ms % 1000 / 100),
                     asking ? "its model" : "the tool ", STR_FMT(e->tool));
    emit(d, e);
    agent_stop(d, agent, OUTCOME_TIMEOUT, reason);
}

/* What was under way when the last owner ended. Taken down before anything is settled: settling one thing may start others,
 * and those were not lost. */
struct unfinished {
    uint32_t agent_no;
    struct str
        call_id; /* a model request or a tool call; STR_NONE: the agent itself, which waits for its turn */
};

static size_t list_unfinished(struct deciding *d, const struct agent *agent,
                              struct unfinished *list)
{
    size_t n = 0;
    if (agent->phase == PHASE_ASKING)
        list[n++] = (struct unfinished){agent->no, keep(d, agent->request_id)};
    if (agent->phase == PHASE_CHECKING)
        list[n++] = (struct unfinished){agent->no, keep(d, agent->check_id)};
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        if (call->state != CALL_WAITING && call->state != CALL_DONE)
            list[n++] = (struct unfinished){agent->no, keep(d, call->call.id)};
    }
    list[n++] = (struct unfinished){agent->no, STR_NONE};
    return n;
}

static size_t unfinished_max(const struct run *run)
{
    size_t n = 0;
    for (uint32_t no = 0; no < run->agent_count; no++)
        n += run->agents[no]->call_count + 2; /* one request or one run of checks, and itself */
    return n;
}

/* Settled by kind: see "Resume" in ARCHITECTURE.md. */
static void resume_one(struct deciding *d, const struct unfinished *item)
{
    struct agent *agent = run_agent_at(d->run, item->agent_no);
    if (agent->phase == PHASE_ASKING && str_eq(agent->request_id, item->call_id)) {
        turn_interrupted(d, agent);
    } else if (agent->phase == PHASE_CHECKING && str_eq(agent->check_id, item->call_id)) {
        checks_resume(d, agent);
    } else if (item->call_id.p != NULL && agent->phase == PHASE_TOOLS) {
        struct call *call = call_find(agent, item->call_id);
        if (call != NULL)
            call_resume(d, agent, call);
    }
    if (item->call_id.p != NULL)
        return;
    if (agent->stopping == OUTCOME_NONE && agent->pause == PAUSE_ASKED)
        turn_ask_again(d, agent);
    if (agent->stopping != OUTCOME_NONE)
        agent_settle_stop(d, agent);
    else if (agent->phase == PHASE_TOOLS)
        calls_advance(d, agent);
    else if (agent->phase == PHASE_READY && (agent->no == 0 || agent->slot == SLOT_HELD))
        turn_advance(d, agent);
}

static void on_resume(struct deciding *d, const struct input *input)
{
    struct run *run = d->run;
    if (run->status != RUN_RUNNING)
        return;
    /* Which effects the last decisions before the crash had is not in the log: start the mark anew, the same way in replay. */
    run->effects = 0;
    struct event *e = fact(d, 0, EVENT_RUN_RESUMED);
    e->owner = input->owner;
    e->epoch = (int64_t)input->epoch;
    if (input->alive_at > 0)
        e->alive_at = input->alive_at;
    emit(d, e);
    struct unfinished *list = arena_alloc(&d->out->arena, unfinished_max(run) * sizeof *list);
    size_t count = 0;
    /* Children first: a child that ends here answers its parent's call. */
    for (uint32_t no = run->agent_count; no-- > 0;) {
        const struct agent *agent = run->agents[no];
        if (agent->phase != PHASE_DONE && agent->phase != PHASE_NEW)
            count += list_unfinished(d, agent, list + count);
    }
    for (size_t i = 0; i < count && !d->failed; i++)
        resume_one(d, &list[i]);
}

/* --- answers ------------------------------------------------------------------------------------------------------------ */

#define ARGUMENTS_LEVELS 32    /* nesting of a call's arguments; the event around them adds a few */
#define UNPARSED_BYTES 65536   /* of arguments that are no JSON object, to tell the model */
#define ADAPTER_JSON_LEVELS 48 /* nesting of what tools and model APIs hand over as JSON */

/* JSON text from an adapter, or `otherwise`: what does not parse must never get into a log. */
static struct str sound_json(struct str json, struct str otherwise)
{
    struct err why = ERR_INIT;
    if (json.p == NULL)
        return STR_NONE;
    struct js *doc = js_parse_within(json, ADAPTER_JSON_LEVELS, &why);
    js_free(doc);
    return doc != NULL ? json : otherwise;
}

static void on_prepared(struct deciding *d, struct agent *agent, struct call *call,
                        const struct input *input)
{
    if (call->state != CALL_PREPARING)
        return;
    struct event *e = fact(d, agent->no, EVENT_TOOL_PREPARED);
    e->call_id = keep(d, call->call.id);
    e->path = input->path;
    e->before = input->before;
    e->after = input->after;
    emit(d, e);
    if (agent->stopping != OUTCOME_NONE) {
        call_finish(d, agent, call, TOOL_ERROR, STR("Error: stopped before anything was changed."));
        agent_settle_stop(d, agent);
        return;
    }
    call_perform(d, agent, call);
}

static void on_result(struct deciding *d, struct agent *agent, struct call *call,
                      const struct input *input)
{
    if (call->state != CALL_RUNNING && call->state != CALL_PREPARING &&
        call->state != CALL_GATHERING)
        return;
    struct event *e = fact(
        d, agent->no, input->kind == INPUT_RESULT ? EVENT_TOOL_FINISHED : EVENT_TOOL_INTERRUPTED);
    e->call_id = keep(d, call->call.id);
    e->text = input->text;
    if (input->kind == INPUT_RESULT) {
        e->outcome = input->outcome == TOOL_OK ? STR("ok") : STR("error");
        e->files_read = sound_json(input->files_read, STR_NONE);
        e->files_modified = sound_json(input->files_modified, STR_NONE);
    }
    emit(d, e);
    if (agent->stopping != OUTCOME_NONE)
        agent_settle_stop(d, agent);
    else
        calls_advance(d, agent);
}

static void on_facts(struct deciding *d, struct agent *agent, struct call *call,
                     const struct input *input)
{
    if (call->state != CALL_GATHERING)
        return;
    struct event *e = fact(d, agent->no, EVENT_FACTS_GATHERED);
    e->call_id = keep(d, call->call.id);
    e->files = gathered_log(d, &input->gathering);
    emit(d, e);
    if (d->failed)
        return;
    if (agent->stopping != OUTCOME_NONE) {
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: stopped before the sub-agent was started."));
        agent_settle_stop(d, agent);
        return;
    }
    delegate_gathered(d, agent, call);
    calls_advance(d, agent);
}

static void add_usage(struct event *e, const struct usage *usage)
{
    struct {
        int64_t from;
        int64_t *to;
    } const pairs[] = {{usage->input, &e->input_tokens},
                       {usage->cached, &e->cached_tokens},
                       {usage->cache_write, &e->cache_write_tokens},
                       {usage->output, &e->output_tokens},
                       {usage->reasoning, &e->reasoning_tokens}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].from >= 0)
            *pairs[i].to = pairs[i].from;
    }
}

static void add_times(struct event *e, const struct input *input)
{
    if (input->admitted_ms > 0)
        e->admitted_ms = input->admitted_ms;
    if (input->total_ms > 0)
        e->total_ms = input->total_ms;
}

/* Arguments in one canonical spelling, so that logging and reading back give the same bytes. */
static struct str calls_json(struct deciding *d, const struct model_reply *reply)
{
    struct buf out;
    struct jw w;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < reply->call_count; i++) {
        struct err why = ERR_INIT;
        struct str raw = reply->calls[i].arguments;
        struct js *arguments = js_parse_within(raw, ARGUMENTS_LEVELS, &why);
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        if (js_kind(arguments) == JS_OBJECT) {
            js_print(arguments, &text);
        } else {
            buf_text(&text, "{\"$unparsed\":");
            json_quote(&text, utf8_cut(raw.p != NULL ? raw : STR(""), UNPARSED_BYTES));
            buf_char(&text, '}');
        }
        jw_object(&w);
        jw_kstr(&w, "id", reply->calls[i].id);
        jw_kstr(&w, "name", reply->calls[i].name);
        jw_kraw(&w, "arguments", buf_view(&text));
        jw_end_object(&w);
        buf_release(&text);
        js_free(arguments);
    }
    jw_end_array(&w);
    struct str json = keep(d, buf_view(&out));
    buf_release(&out);
    return json;
}

static void on_reply(struct deciding *d, struct agent *agent, const struct input *input)
{
    const struct model_reply *reply = input->reply;
    struct event *e = fact(d, agent->no, EVENT_MODEL_REPLIED);
    e->call_id = keep(d, agent->request_id);
    e->text = reply->text;
    if (reply->call_count > 0)
        e->calls = calls_json(d, reply);
    e->finish = reply->finish;
    e->completeness = reply->completeness == REPLY_CUT ? STR("cut") : STR("whole");
    add_usage(e, &reply->usage);
    e->response_id = reply->response_id;
    e->model_effective = reply->model;
    if (reply->first_token_ms >= 0)
        e->first_token_ms = reply->first_token_ms;
    add_times(e, input);
    e->extras = sound_json(reply->extras, STR_NONE);
    emit(d, e);
    turn_replied(d, agent, reply);
}

static void on_failure(struct deciding *d, struct agent *agent, const struct input *input)
{
    const struct model_failure *failure = input->failure;
    struct event *e = fact(d, agent->no, EVENT_MODEL_FAILED);
    e->call_id = keep(d, agent->request_id);
    e->class = str_from(err_class_text(failure->class));
    if (failure->http_status > 0)
        e->http_status = failure->http_status;
    if (failure->retry_after_ms >= 0)
        e->retry_after_ms = failure->retry_after_ms;
    e->error = failure->message;
    e->partial = failure->partial;
    if (input->sent == REQUEST_UNSENT)
        e->sent = STR("no");
    add_usage(e, &failure->usage);
    if (input->first_token_ms > 0)
        e->first_token_ms = input->first_token_ms;
    add_times(e, input);
    struct str fallback = turn_fallback(d->run, agent);
    if (agent->stopping == OUTCOME_NONE && failure->class != ERR_CANCELLED && fallback.n > 0)
        e->fallback = keep(d, fallback);
    else if (agent->stopping == OUTCOME_NONE &&
             (failure->class == ERR_RETRY || failure->class == ERR_TIMEOUT) &&
             agent->tries + 1 < d->run->settings.model_attempts)
        e->retry_at = d->now + retry_delay(d->run, agent, failure);
    emit(d, e);
    turn_failed(d, agent, failure);
}

static void on_checked(struct deciding *d, struct agent *agent, const struct input *input)
{
    struct event *e = fact(d, agent->no, EVENT_AGENT_CHECKED);
    e->call_id = keep(d, agent->check_id);
    e->outcome = str_from(checked_text(input->checked));
    e->text = input->text;
    e->evidence = sound_json(input->evidence, STR_NONE);
    e->files_modified = sound_json(input->files_modified, STR_NONE);
    emit(d, e);
    checks_ended(d, agent, input->checked, input->text);
}

static void on_answer(struct deciding *d, const struct input *input)
{
    struct agent *agent = run_agent_at(d->run, input->agent_no);
    if (agent == NULL || d->run->status != RUN_RUNNING)
        return;
    if (input->kind == INPUT_REPLY || input->kind == INPUT_FAILURE) {
        if (agent->phase != PHASE_ASKING || !str_eq(agent->request_id, input->call_id))
            return;
        if (input->kind == INPUT_REPLY)
            on_reply(d, agent, input);
        else
            on_failure(d, agent, input);
        return;
    }
    if (input->kind == INPUT_CHECKED) {
        if (agent->phase == PHASE_CHECKING && str_eq(agent->check_id, input->call_id))
            on_checked(d, agent, input);
        return;
    }
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, input->call_id) : NULL;
    if (call == NULL || call->state == CALL_DONE || call->awaits != CALL_WORKS)
        return;
    if (input->kind == INPUT_PREPARED)
        on_prepared(d, agent, call, input);
    else if (input->kind == INPUT_FACTS)
        on_facts(d, agent, call, input);
    else
        on_result(d, agent, call, input);
}

int run_decide(struct run *run, const struct input *input, struct decision *out, struct err *err)
{
    struct deciding d = {.run = run, .out = out, .now = input->now, .err = err};
    /* Time never runs backwards in a log, whatever the machine's clock does. */
    if (d.now < run->last_ts)
        d.now = run->last_ts;
    switch (input->kind) {
    case INPUT_INBOX:
        if (run->status == RUN_NEW || run->status == RUN_RUNNING)
            on_inbox(&d, input);
        break;
    case INPUT_RESUME:
        on_resume(&d, input);
        break;
    case INPUT_SILENT:
        on_idle(&d, input);
        break;
    case INPUT_TICK:
        if (run->status == RUN_RUNNING)
            on_tick(&d);
        break;
    default:
        on_answer(&d, input);
        break;
    }
    if (!d.failed && out->event_count > 0)
        schedule(&d);
    return d.failed ? -1 : 0;
}
