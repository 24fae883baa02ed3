/* The calls of one reply. Reads and delegations run side by side; a call that changes something waits for all before it and holds
 * back all behind it, so that the order that the model wrote is the order that the files see. Pure. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/continue.h"
#include "core/run/plan_run.h"

#define RESULT_BYTES_MIN 2000
#define RESULT_BYTES_MAX 60000
#define UNPARSED_SHOWN 300 /* bytes */
#define VALUE_SHOWN 60     /* bytes of one argument that an event shows */
#define VALUES_SHOWN 16
#define STARTED_AT_ONCE 128 /* calls of one reply */

void call_finish(struct deciding *d, const struct agent *agent, const struct call *call,
                 enum tool_outcome outcome, struct str text)
{
    struct event *e = draft(d, agent->no, EVENT_TOOL_FINISHED);
    e->call_id = keep(d, call->call.id);
    e->outcome = outcome == TOOL_OK ? STR("ok") : STR("error");
    e->text = text;
    emit(d, e);
}

void calls_decline(struct deciding *d, const struct agent *agent, struct str why)
{
    for (size_t i = 0; !d->failed && agent->phase == PHASE_TOOLS && i < agent->call_count; i++)
        call_finish(d, agent, &agent->calls[i], TOOL_ERROR, why);
}

static bool is_barrier(const struct call *call)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    return info != NULL && info->kind != TOOL_CORE && info->class != EFFECT_PURE;
}

int64_t call_result_bytes(const struct run *run, const struct agent *agent)
{
    const struct model_settings *model = settings_model(&run->settings, agent->contract.model.name);
    int64_t bound = agent->contract.execution.budget.context_tokens;
    int64_t window = model != NULL ? model->max_context_tokens : 0;
    if (bound < 0 || bound > window)
        bound = window;
    int64_t left = bound - agent->context_known - agent->context_new;
    int64_t bytes = left * 3 / 2 / (int64_t)(agent->calls_open > 0 ? agent->calls_open : 1);
    return bytes < RESULT_BYTES_MIN   ? RESULT_BYTES_MIN
           : bytes > RESULT_BYTES_MAX ? RESULT_BYTES_MAX
                                      : bytes;
}

/* A value of arguments, cut where it is long. */
static void show_value(struct jw *w, const struct js *value)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    if (js_kind(value) == JS_STRING)
        buf_str(&text, js_str(value));
    else
        js_print(value, &text);
    if (text.n > VALUE_SHOWN) {
        struct buf cut;
        buf_init(&cut, VALUE_SHOWN + 8);
        buf_str(&cut, utf8_cut(buf_view(&text), VALUE_SHOWN));
        buf_text(&cut, "…");
        jw_str(w, buf_view(&cut));
        buf_release(&cut);
    } else if (js_kind(value) == JS_STRING) {
        jw_str(w, buf_view(&text));
    } else {
        jw_raw(w, buf_view(&text));
    }
    buf_release(&text);
}

/* Arguments as an event shows them: whole where they are short, else with their long values cut. */
static void show_arguments(struct deciding *d, struct event *e, struct str arguments)
{
    struct err ignored = ERR_INIT;
    struct js *doc = arguments.n > REPEATED_MAX ? js_parse(arguments, &ignored) : NULL;
    if (doc == NULL) {
        e->arguments = keep(d, arguments);
        return;
    }
    struct buf out;
    struct jw w;
    struct str key;
    const struct js *value;
    size_t shown = 0;
    buf_init(&out, (size_t)1 << 16);
    jw_init(&w, &out);
    jw_object(&w);
    for (void *i = js_next(doc, NULL, &key, &value); i && shown < VALUES_SHOWN;
         i = js_next(doc, i, &key, &value)) {
        if (key.n > VALUE_SHOWN)
            continue;
        jw_key_str(&w, key);
        show_value(&w, value);
        shown++;
    }
    jw_end_object(&w);
    e->shortened = keep(d, buf_view(&out));
    buf_release(&out);
    js_free(doc);
}

static void requested(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct event *e = draft(d, agent->no, EVENT_TOOL_REQUESTED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, tool_normal_name(call->call.name));
    show_arguments(d, e, call->call.arguments);
    emit(d, e);
}

/* The effect of a call that is under way, by its state. */
static void start_effect(struct deciding *d, const struct agent *agent, const struct call *call,
                         enum effect_kind kind)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    enum effect_class class = kind == EFFECT_PREPARE || kind == EFFECT_SETTLE ? EFFECT_PURE
                              : info != NULL                                  ? info->class
                                                                              : EFFECT_OUTWARD;
    struct effect *effect = effect_add(d, kind, class, agent, call->call.id);
    effect->tool = keep(d, tool_normal_name(call->call.name));
    effect->arguments = keep(d, call->call.arguments);
    effect->path = keep(d, call->path);
    effect->before = keep(d, call->before);
    effect->after = keep(d, call->after);
    effect->shown = keep(d, call->shown);
    effect->max_result = call_result_bytes(d->run, agent);
    effect_seal(d, effect);
}

void call_perform(struct deciding *d, const struct agent *agent, const struct call *call)
{
    if (!d->failed)
        start_effect(d, agent, call, EFFECT_TOOL);
}

static void deny(struct deciding *d, const struct agent *agent, const struct call *call,
                 const char *reason)
{
    requested(d, agent, call);
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->reason = keep(d, str_from(reason));
    e->depth = agent->contract.agent.depth;
    emit(d, e);
    call_finish(d, agent, call, TOOL_ERROR, arena_printf(&d->out->arena, "Error: %s", reason));
}

/* The text of arguments that were no JSON object, or STR_NONE. */
static struct str unparsed(struct deciding *d, const struct call *call)
{
    if (!str_starts(call->call.arguments, STR("{\"$unparsed\":")))
        return STR_NONE;
    struct err why = ERR_INIT;
    struct js *arguments = js_parse(call->call.arguments, &why);
    struct str text = keep(d, js_get_str(arguments, "$unparsed"));
    js_free(arguments);
    return text;
}

/* At the deepest level the doors are in no contract; the reason that a model can use is the depth. */
static void say_depth(const struct run *run, const struct agent *agent, const struct call *call,
                      struct err *why)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    if (info != NULL && info->group == GROUP_DELEGATE &&
        agent->contract.agent.depth >= run->settings.max_depth)
        err_set(why, ERR_DENIED, "Maximum sub-agent depth (%lld) exceeded",
                (long long)run->settings.max_depth);
}

void call_ask(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct effect *effect = effect_add(d, EFFECT_ASK, EFFECT_OUTWARD, agent, call->call.id);
    effect->tool = keep(d, call->call.name);
    effect->arguments = keep(d, call->call.arguments);
    effect_seal(d, effect);
}

void call_ask_permission(struct deciding *d, const struct agent *agent, const struct call *call)
{
    enum asker asker = call_facts(d->run, agent, call->call.name).asker;
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_ASKED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->asker = str_from(asker_text(asker));
    show_arguments(d, e, call->call.arguments);
    emit(d, e);
    if (!d->failed && asker != ASKER_NOBODY)
        call_ask(d, agent, call);
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct err why = ERR_INIT;
    if (turn_pauses(d, agent))
        return;
    int64_t limit = turn_call_limit(d->run, agent);
    if (limit >= 0 && agent->account.tool_calls >= limit) {
        call_finish(
            d, agent, call, TOOL_ERROR,
            arena_printf(&d->out->arena,
                         "Error: the budget of %lld tool calls is used up; this call was not made.",
                         (long long)limit));
        return;
    }
    if (str_is(call->call.name, CALL_UNNAMED) || str_is(call->call.name, CALL_OVERLONG)) {
        deny(d, agent, call,
             "this call does not name a tool, so it was not made: send it again with the name of "
             "one of your tools");
        return;
    }
    enum permission permission = call->answer == ANSWER_YES
                                     ? PERMIT_ALLOW
                                     : call_judge(d->run, agent, call->call.name, &why);
    if (permission == PERMIT_DENY) {
        say_depth(d->run, agent, call, &why);
        deny(d, agent, call, why.message);
        return;
    }
    struct str text = unparsed(d, call);
    if (text.p != NULL) {
        requested(d, agent, call);
        call_finish(
            d, agent, call, TOOL_ERROR,
            arena_printf(&d->out->arena,
                         "Error: the arguments of this call are not a JSON object. They were: %.*s",
                         STR_FMT(utf8_cut(text, UNPARSED_SHOWN))));
        return;
    }
    if (permission == PERMIT_ASK) {
        call_ask_permission(d, agent, call);
        return;
    }
    requested(d, agent, call);
    if (d->failed)
        return;
    if (call->state == CALL_GATHERING || call->state == CALL_ASKED)
        delegate_call(d, agent, call);
    else
        start_effect(d, agent, call, call->state == CALL_PREPARING ? EFFECT_PREPARE : EFFECT_TOOL);
}

/* Jobs are made in the order of their calls, whichever prompt is read first, and may be awaited in the reply that spawns them. */
static bool concerns_jobs(const struct call *call)
{
    return str_is(call->call.name, "spawn") || str_is(call->call.name, "spawn_await");
}

/* A reply may have thousands of calls: the first are on their way while the others are decided, and whatever else comes is heard in
 * between. */
static void hold_the_rest(struct deciding *d, const struct agent *agent)
{
    struct event *e = draft(d, agent->no, EVENT_CALLS_HELD);
    e->count = (int64_t)agent->calls_in[CALL_WAITING];
    emit(d, e);
}

void calls_advance(struct deciding *d, const struct agent *agent)
{
    bool job_coming = false;
    size_t started = 0;
    /* Who had to be asked about goes on with a slot; schedule() comes back here when one is free. */
    if (agent->slot == SLOT_QUEUED && !slot_is_free(d->run))
        return;
    /* A root that only talks needs no tree. */
    if (tree_wanted(d, agent, 0))
        return;
    size_t open =
        0; /* all calls before this one are done; looked up anew, because a call may end earlier ones */
    size_t waiting = agent->timers[TIMER_CALLS] == 0 ? agent->calls_in[CALL_WAITING] : 0;
    /* One of ten thousand children ended and all have been started: nothing to look for. */
    for (size_t i = 0; waiting > 0 && !d->failed && agent->phase == PHASE_TOOLS &&
                       agent->stopping == OUTCOME_NONE && i < agent->call_count;
         i++) {
        const struct call *call = &agent->calls[i];
        /* Thousands of spawns may wait behind the first: no more is looked at than this. */
        if (job_coming && call->state == CALL_WAITING && concerns_jobs(call))
            continue;
        if (call->state == CALL_WAITING) {
            while (open < i && agent->calls[open].state == CALL_DONE)
                open++;
            if (is_barrier(call) && open < i)
                return;
            if (started == STARTED_AT_ONCE) {
                hold_the_rest(d, agent);
                return;
            }
            start(d, agent, call);
            started += call->state != CALL_WAITING;
        }
        if (call->state != CALL_DONE) {
            if (is_barrier(call))
                return;
            job_coming |= str_is(call->call.name, "spawn");
        }
    }
}

void call_resume(struct deciding *d, const struct agent *agent, const struct call *call)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    if (call->plan != NULL && call->state == CALL_RUNNING && agent->stopping == OUTCOME_NONE)
        plan_ask_again(d, agent, call);
    delegate_resume(d, agent, call);
    if (call->state == CALL_DONE || call->state == CALL_WAITING || call->awaits != CALL_WORKS)
        return;
    bool stopping = agent->stopping != OUTCOME_NONE;
    if (call->state == CALL_RUNNING && call->path.p != NULL) {
        start_effect(d, agent, call, EFFECT_SETTLE);
    } else if (stopping) {
        call_finish(d, agent, call, TOOL_ERROR, STR("Error: stopped before it ended."));
    } else if (call->state == CALL_ASKED) {
        call_ask_again(d, agent, call);
    } else if (call->state == CALL_GATHERING) {
        delegate_call(d, agent, call);
    } else if (call->state == CALL_PREPARING) {
        start_effect(d, agent, call, EFFECT_PREPARE);
    } else if (info != NULL && info->class == EFFECT_PURE) {
        start_effect(d, agent, call, EFFECT_TOOL);
    } else {
        struct event *e = draft(d, agent->no, EVENT_TOOL_INTERRUPTED);
        e->call_id = keep(d, call->call.id);
        e->text = STR("Error: interrupted, outcome unknown. The program was restarted while this "
                      "ran; look at what it did before you try it again.");
        emit(d, e);
    }
}
