/* run_decide: takes one input, logs it as a fact, and lets the part of the core that it concerns decide what follows. Holds the
 * emitter that all deciding code uses. Pure. */
#include <stdlib.h>

#include "base/json.h"
#include "base/mark.h"
#include "base/utf8.h"
#include "core/run/plan_run.h"
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
        abort(); /* FACT_BYTES_MAX makes this impossible; going on would log a cut payload */
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
    if (run_apply(d->live, event, d->err) != 0) {
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

void effect_abort(struct deciding *d, const struct agent *agent, struct str call_id)
{
    effect_seal(d, effect_add(d, EFFECT_ABORT, EFFECT_PURE, agent, call_id));
}

void effect_seal(struct deciding *d, const struct effect *effect)
{
    d->live->effects = effect_mark(d->live->effects, effect);
}

/* A fact, with the mark of all effects that were decided before it. */
struct event *fact(struct deciding *d, uint32_t agent_no, enum event_type type)
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

static void inbox_park(struct deciding *d, const struct js *body)
{
    struct str reason = js_get_str(body, "reason");
    run_park(d, STR_NONE, reason.n > 0 ? reason : STR("stopped"));
}

/* Whether a root that made many calls goes on. */
static void unpause(struct deciding *d, const struct agent *agent, struct str answer)
{
    struct event *e = draft(d, agent->no, EVENT_RUN_UNPAUSED);
    e->call_id = keep(d, agent->pause_id);
    e->outcome = answer;
    emit(d, e);
    agent_continue(d, agent);
}

static void inbox_approve(struct deciding *d, const struct js *body)
{
    int64_t no = js_get_int(body, "agent_no", -1);
    const struct agent *agent =
        no >= 0 && no < d->run->agent_count ? run_agent_at(d->run, (uint32_t)no) : NULL;
    struct str id = js_get_str(body, "call_id");
    bool yes = str_is(js_get_str(body, "answer"), "yes");
    if (agent == NULL || agent->stopping != OUTCOME_NONE)
        return;
    if (agent->pause == PAUSE_ASKED && str_eq(agent->pause_id, id)) {
        unpause(d, agent, yes ? STR("go_on") : STR("stop"));
        return;
    }
    if (plan_approve(d, agent, id, yes ? STEP_ALLOWED : STEP_DENIED, consent_hash(d, body)))
        return;
    const struct call *call = call_find(agent, id);
    if (call == NULL || call->state != CALL_ASKED || call_is_question(call))
        return;
    if (yes)
        consent_grant(d, agent, call, body);
    else
        consent_refuse(d, agent, call, body);
    agent_continue(d, agent);
}

static void on_inbox(struct deciding *d, const struct input *input)
{
    struct err why = ERR_INIT;
    bool fits = input->body.n <= FACT_BYTES_MAX;
    struct js *body = fits ? js_parse(input->body, &why) : NULL;
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    struct event *e = fact(d, 0, EVENT_INBOX_TAKEN);
    e->inbox_id = input->inbox_id;
    e->kind = input->message_kind;
    e->sender = input->sender;
    if (body != NULL)
        js_print(body, &text);
    else if (fits)
        buf_text(&text, "{}");
    else
        buf_printf(&text, "{\"$too_long\":%zu}", input->body.n);
    e->body = keep(d, buf_view(&text));
    buf_release(&text);
    emit(d, e);
    d->out->inbox_id = input->inbox_id;
    bool running = d->run->status == RUN_RUNNING;
    if (str_is(input->message_kind, "start"))
        inbox_start(d, body);
    else if (running && str_is(input->message_kind, "park"))
        inbox_park(d, body);
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
    struct timer timer;
    if (!timer_first(d->live, &timer) || timer.at > d->now)
        return;
    const struct agent *agent = run_agent_at(d->run, timer.agent_no);
    struct event *e = fact(d, agent->no, EVENT_TIMER_FIRED);
    e->kind = str_from(timer_names[timer.kind]);
    emit(d, e);
    if (timer.kind == TIMER_BACKOFF) {
        agent_continue(d, agent);
        return;
    }
    if (timer.kind == TIMER_PATIENCE) {
        patience_over(d, agent);
        return;
    }
    if (timer.kind == TIMER_APPROVAL) {
        plan_overdue(d, agent);
        return;
    }
    if (timer.kind == TIMER_QUESTION) {
        question_overdue(d, agent);
        return;
    }
    if (timer.kind == TIMER_CALLS) {
        agent_continue(d, agent);
        return;
    }
    if (agent->phase == PHASE_JOINING) {
        children_stop(d, agent, STR("the time of the agent that started it is used up"));
        return;
    }
    agent_stop(d, agent, OUTCOME_TIMEOUT, spent_used_up(d, agent, timer.kind));
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
    const struct agent *agent = run_agent_at(d->run, input->agent_no);
    if (agent == NULL || d->run->status != RUN_RUNNING || !may_be_idle(agent, input))
        return;
    const struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, input->call_id) : NULL;
    bool asking = agent->phase == PHASE_ASKING && str_eq(agent->request_id, input->call_id);
    /* A built-in limit leaves a running tool to its own limit. */
    bool working = d->run->settings.idle_timeout_ms > 0 && call != NULL &&
                   call->awaits == CALL_WORKS && call->state != CALL_WAITING &&
                   call->state != CALL_DONE;
    if (!asking && !working)
        return;
    struct event *e = fact(d, agent->no, EVENT_AGENT_IDLE);
    e->call_id = keep(d, input->call_id);
    e->kind = asking ? STR("model") : STR("tool");
    if (working)
        e->tool = keep(d, call->call.name);
    e->idle_ms = input->idle_ms;
    struct str reason = spent_silent(d, agent, input->idle_ms, e->tool);
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
    if (tree_busy(agent))
        list[n++] = (struct unfinished){agent->no, keep(d, agent->tree->id)};
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
        n += run->agents[no]->call_count +
             3; /* a request or a run of checks, its tree, and itself */
    return n;
}

/* Settled by kind: see "Resume" in ARCHITECTURE.md. */
static void resume_one(struct deciding *d, const struct unfinished *item)
{
    const struct agent *agent = run_agent_at(d->run, item->agent_no);
    if (agent->phase == PHASE_ASKING && str_eq(agent->request_id, item->call_id)) {
        turn_interrupted(d, agent);
    } else if (agent->phase == PHASE_CHECKING && str_eq(agent->check_id, item->call_id)) {
        checks_resume(d, agent);
    } else if (tree_busy(agent) && str_eq(agent->tree->id, item->call_id)) {
        tree_resume(d, agent);
    } else if (item->call_id.p != NULL && agent->phase == PHASE_TOOLS) {
        const struct call *call = call_find(agent, item->call_id);
        if (call != NULL)
            call_resume(d, agent, call);
    }
    if (item->call_id.p != NULL)
        return;
    bool paused = agent->stopping == OUTCOME_NONE && agent->pause == PAUSE_ASKED;
    if (paused && d->run->asker != ASKER_TERMINAL) {
        unpause(d, agent, STR("stop")); /* nobody is there any more */
        return;
    }
    if (paused)
        turn_ask_again(d, agent);
    agent_continue(d, agent);
    trees_advance(d, agent); /* the run may have parked when it was the next merge's turn */
}

static void on_slept(struct deciding *d, const struct input *input)
{
    if (d->run->status != RUN_RUNNING || input->slept_ms <= 0)
        return;
    struct event *e = fact(d, 0, EVENT_RUN_SLEPT);
    e->slept_ms = input->slept_ms;
    emit(d, e);
}

static void on_resume(struct deciding *d, const struct input *input)
{
    const struct run *run = d->run;
    if (run->status != RUN_RUNNING && run->status != RUN_PARKED)
        return;
    /* Which effects the last decisions before the crash had is not in the log: start the mark anew, the same way in replay. */
    d->live->effects = 0;
    struct event *e = fact(d, 0, EVENT_RUN_RESUMED);
    e->owner = input->owner;
    e->epoch = (int64_t)input->epoch;
    if (input->alive_at > 0)
        e->alive_at = input->alive_at;
    e->asker = input->asker;
    e->walls = input->walls;
    if (input->broken == BROKEN_FORGIVEN)
        e->kind = STR("forgive");
    emit(d, e);
    struct unfinished *list = arena_alloc(&d->out->arena, unfinished_max(run) * sizeof *list);
    size_t count = 0;
    /* Children first: a child that ends here answers its parent's call. */
    for (uint32_t no = run->agent_count; no-- > 0;) {
        const struct agent *agent = run->agents[no];
        if (agent->phase != PHASE_DONE && (agent->phase != PHASE_NEW || tree_busy(agent)))
            count += list_unfinished(d, agent, list + count);
    }
    for (size_t i = 0; i < count && !d->failed; i++) {
        resume_one(d, &list[i]);
        due_settle(d);
    }
}

int run_decide(struct run *run, const struct input *input, struct decision *out, struct err *err)
{
    struct deciding d = {.run = run, .live = run, .out = out, .now = input->now, .err = err};
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
    case INPUT_SLEPT:
        on_slept(&d, input);
        break;
    case INPUT_TICK:
        if (run->status == RUN_RUNNING)
            on_tick(&d);
        break;
    default:
        answer_take(&d, input);
        break;
    }
    due_settle(&d);
    if (!d.failed && out->event_count > 0)
        schedule(&d);
    return d.failed ? -1 : 0;
}
