/* What models, tools and trees answer: each becomes a fact in the log, and the part of the core that it concerns goes on. Pure. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/state.h"

#define ARGUMENTS_LEVELS 32    /* nesting of a call's arguments; the event around them adds a few */
#define UNPARSED_BYTES 65536   /* of arguments that are no JSON object, to tell the model */
#define ADAPTER_JSON_LEVELS 48 /* nesting of what tools and model APIs hand over as JSON */

/* --- size ------------------------------------------------------------------------------------------------------------------- */

/* The most that the text takes in a JSON string. */
static size_t printed_bytes(struct str text)
{
    size_t bytes = text.n;
    if (text.n * 6 < FACT_BYTES_MAX / 8)
        return text.n * 6;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        /* A byte that is not UTF-8 becomes a character of three. */
        bytes += c < 0x20 ? 5 : c == '"' || c == '\\' ? 1 : c >= 0x80 ? 2 : 0;
    }
    return bytes;
}

/* An answer that the log cannot take is an error of its call, and its call alone. What was done stays done: of a merge only the
 * lists are left out. */
static struct input bounded(struct deciding *d, const struct input *input)
{
    struct input fits = *input;
    size_t lists = input->files_read.n + input->files_modified.n + input->conflicted_files.n +
                   input->refused.n + input->network.n + input->evidence.n;
    size_t bytes = printed_bytes(input->text) + lists;
    if (bytes <= FACT_BYTES_MAX)
        return fits;
    fits.files_read = fits.files_modified = fits.conflicted_files = STR_NONE;
    fits.refused = fits.network = fits.evidence = STR_NONE;
    if (input->kind == INPUT_MERGED || input->kind == INPUT_ISOLATED) {
        fits.text = arena_printf(&d->out->arena,
                                 "%.*s (the lists of files have %zu bytes and are not logged)",
                                 STR_FMT(utf8_cut(input->text, OPENING_BYTES)), lists);
        return fits;
    }
    fits.outcome = TOOL_ERROR;
    fits.checked = input->kind == INPUT_CHECKED ? CHECKED_NOT_RUN : fits.checked;
    fits.text = arena_printf(&d->out->arena,
                             "Error: the result of this call has %zu bytes with its lists of "
                             "files, and a log entry has at most %u. Ask for less.",
                             bytes, FACT_BYTES_MAX);
    return fits;
}

/* --- tools ------------------------------------------------------------------------------------------------------------------ */

/* JSON text from an adapter, or `otherwise`: what does not parse must never get into a log. */
struct str sound_json(struct str json, struct str otherwise)
{
    struct err why = ERR_INIT;
    if (json.p == NULL)
        return STR_NONE;
    struct js *doc = js_parse_within(json, ADAPTER_JSON_LEVELS, &why);
    js_free(doc);
    return doc != NULL ? json : otherwise;
}

static void on_prepared(struct deciding *d, const struct agent *agent, const struct call *call,
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
        agent_continue(d, agent);
        return;
    }
    call_perform(d, agent, call);
}

static void on_result(struct deciding *d, const struct agent *agent, const struct call *call,
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
        e->reason = input->reason;
        e->files_read = sound_json(input->files_read, STR_NONE);
        e->files_modified = sound_json(input->files_modified, STR_NONE);
        e->refused = sound_json(input->refused, STR_NONE);
        e->network = sound_json(input->network, STR_NONE);
        e->secrets = input->secrets > 0 ? input->secrets : EVENT_ABSENT;
    }
    emit(d, e);
    agent_continue(d, agent);
}

static void on_facts(struct deciding *d, const struct agent *agent, const struct call *call,
                     const struct input *input)
{
    if (call->state != CALL_GATHERING)
        return;
    struct event *e = fact(d, agent->no, EVENT_FACTS_GATHERED);
    e->call_id = keep(d, call->call.id);
    e->files = gathered_log(d, &input->gathering);
    e->secrets = input->secrets > 0 ? input->secrets : EVENT_ABSENT;
    emit(d, e);
    if (d->failed)
        return;
    if (agent->stopping != OUTCOME_NONE) {
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: stopped before the sub-agent was started."));
        agent_continue(d, agent);
        return;
    }
    delegate_gathered(d, agent, call);
    agent_continue(d, agent);
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

static void on_failure(struct deciding *d, const struct agent *agent, const struct input *input);

/* A reply that the log cannot take is a failed request, which is not asked again. */
static void on_oversized(struct deciding *d, const struct agent *agent, const struct input *input,
                         size_t bytes)
{
    const struct model_reply *reply = input->reply;
    struct model_failure failure = {.class = ERR_PROVIDER,
                                    .retry_after_ms = -1,
                                    .usage = reply->usage,
                                    .trouble = TROUBLE_FILTERED,
                                    .server_request = reply->server_request};
    struct input failed = *input;
    failure.message = arena_printf(&d->out->arena,
                                   "the model's answer has %zu bytes, and a log entry has at most "
                                   "%u; ask for less, or lower the model's max_tokens",
                                   bytes, FACT_BYTES_MAX);
    failed.kind = INPUT_FAILURE;
    failed.reply = NULL;
    failed.failure = &failure;
    on_failure(d, agent, &failed);
}

static void on_reply(struct deciding *d, const struct agent *agent, const struct input *input)
{
    const struct model_reply *reply = input->reply;
    struct str calls = reply->call_count > 0 ? calls_json(d, reply) : STR_NONE;
    size_t bytes = printed_bytes(reply->text) + calls.n + reply->extras.n;
    if (bytes > FACT_BYTES_MAX) {
        on_oversized(d, agent, input, bytes);
        return;
    }
    struct event *e = fact(d, agent->no, EVENT_MODEL_REPLIED);
    e->call_id = keep(d, agent->request_id);
    e->text = reply->text;
    e->calls = calls;
    e->finish = reply->finish;
    e->completeness = reply->completeness == REPLY_CUT ? STR("cut") : STR("whole");
    add_usage(e, &reply->usage);
    e->response_id = reply->response_id;
    e->model_effective = reply->model;
    if (reply->first_token_ms >= 0)
        e->first_token_ms = reply->first_token_ms;
    add_times(e, input);
    e->server_request = reply->server_request;
    e->notice = notices_untold(d, reply->notice);
    e->extras = sound_json(reply->extras, STR_NONE);
    emit(d, e);
    turn_replied(d, agent, reply);
}

static void on_failure(struct deciding *d, const struct agent *agent, const struct input *input)
{
    const struct model_failure *failure = input->failure;
    struct event *e = fact(d, agent->no, EVENT_MODEL_FAILED);
    e->call_id = keep(d, agent->request_id);
    e->class = str_from(err_class_text(failure->class));
    if (failure->http_status > 0)
        e->http_status = failure->http_status;
    if (failure->retry_after_ms >= 0)
        e->retry_after_ms = failure->retry_after_ms;
    if (failure->trouble != TROUBLE_NONE)
        e->trouble = str_from(model_trouble_text(failure->trouble));
    if (failure->window > 0)
        e->window = failure->window;
    if (failure->needed > 0)
        e->needed = failure->needed;
    e->server_request = failure->server_request;
    e->error = utf8_cut(failure->message, FACT_BYTES_MAX / 16);
    e->partial = utf8_cut(failure->partial, FACT_BYTES_MAX / 16);
    if (input->sent == REQUEST_UNSENT)
        e->sent = STR("no");
    add_usage(e, &failure->usage);
    if (input->first_token_ms > 0)
        e->first_token_ms = input->first_token_ms;
    add_times(e, input);
    struct verdict verdict = patience_verdict(d, agent, failure);
    if (verdict.kind == VERDICT_NEXT)
        e->fallback = verdict.text;
    else if (verdict.kind == VERDICT_WAIT)
        e->retry_at = verdict.at;
    emit(d, e);
    turn_failed(d, agent, failure, &verdict);
}

/* The request waits until its provider may be asked, or waits no longer. */
static void on_admission(struct deciding *d, const struct agent *agent, const struct input *input)
{
    bool held = input->kind == INPUT_HELD;
    if ((agent->held == HELD_NOW) == held)
        return;
    struct event *e = fact(d, agent->no, held ? EVENT_MODEL_HELD : EVENT_MODEL_ADMITTED);
    e->call_id = keep(d, agent->request_id);
    if (held) {
        e->reason = input->text;
        e->waited_ms = input->waited_ms;
    }
    emit(d, e);
    if (held)
        patience_held(d, agent);
}

/* The run parked while the request was out. What it cost is known now, or whether it was ever sent; an answer that came just then is
 * asked for again. */
static void on_parked(struct deciding *d, const struct agent *agent, const struct input *input)
{
    bool answered = input->kind == INPUT_REPLY;
    if ((!answered && input->kind != INPUT_FAILURE) || agent->phase != PHASE_ASKING ||
        !str_eq(agent->request_id, input->call_id))
        return;
    struct event *e = fact(d, agent->no, EVENT_MODEL_FAILED);
    e->call_id = keep(d, agent->request_id);
    e->class = str_from(err_class_text(ERR_CANCELLED));
    e->error = STR("the run parked while the request was out; it is asked again");
    if (!answered && input->sent == REQUEST_UNSENT)
        e->sent = STR("no");
    if (!answered && input->failure->http_status > 0)
        e->http_status = input->failure->http_status;
    add_usage(e, answered ? &input->reply->usage : &input->failure->usage);
    add_times(e, input);
    emit(d, e);
    turn_settle(d, agent);
}

struct str failure_shown(struct deciding *d, struct str text, const struct model_failure *failure)
{
    if (failure->server_request.n == 0)
        return keep(d, text);
    return arena_printf(&d->out->arena, "%.*s (request id %.*s)", STR_FMT(text),
                        STR_FMT(failure->server_request));
}

static void on_checked(struct deciding *d, const struct agent *agent, const struct input *input)
{
    struct event *e = fact(d, agent->no, EVENT_AGENT_CHECKED);
    e->call_id = keep(d, agent->check_id);
    e->outcome = str_from(checked_text(input->checked));
    e->text = input->text;
    e->evidence = sound_json(input->evidence, STR_NONE);
    e->files_modified = sound_json(input->files_modified, STR_NONE);
    e->network = sound_json(input->network, STR_NONE);
    e->secrets = input->secrets > 0 ? input->secrets : EVENT_ABSENT;
    emit(d, e);
    checks_ended(d, agent, input->checked, input->text);
}

void answer_take(struct deciding *d, const struct input *given)
{
    const struct agent *agent = run_agent_at(d->run, given->agent_no);
    if (agent == NULL)
        return;
    struct input fits = bounded(d, given);
    const struct input *input = &fits;
    if (d->run->status == RUN_PARKED) {
        on_parked(d, agent, input);
        return;
    }
    if (d->run->status != RUN_RUNNING)
        return;
    if (input->kind == INPUT_REPLY || input->kind == INPUT_FAILURE || input->kind == INPUT_HELD ||
        input->kind == INPUT_ADMITTED) {
        if (agent->phase != PHASE_ASKING || !str_eq(agent->request_id, input->call_id))
            return;
        if (input->kind == INPUT_REPLY)
            on_reply(d, agent, input);
        else if (input->kind == INPUT_FAILURE)
            on_failure(d, agent, input);
        else
            on_admission(d, agent, input);
        return;
    }
    if (input->kind == INPUT_CHECKED) {
        if (agent->phase == PHASE_CHECKING && str_eq(agent->check_id, input->call_id))
            on_checked(d, agent, input);
        return;
    }
    if (input->kind == INPUT_SHOWN) {
        consent_shown(d, agent, input);
        return;
    }
    if (input->kind == INPUT_ISOLATED || input->kind == INPUT_MERGED) {
        if (tree_busy(agent) && str_eq(agent->tree->id, input->call_id))
            tree_answer(d, agent, input);
        return;
    }
    const struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, input->call_id) : NULL;
    if (call == NULL || call->state == CALL_DONE || call->awaits != CALL_WORKS)
        return;
    if (input->kind == INPUT_PREPARED)
        on_prepared(d, agent, call, input);
    else if (input->kind == INPUT_FACTS)
        on_facts(d, agent, call, input);
    else
        on_result(d, agent, call, input);
}
