/* The doors: a delegation call becomes a request, the request a contract, the contract a child. spawn_agent so far; every door
 * ends in the same place. Arguments come from a model: each is checked for its type and answered with a readable error. Pure. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/state.h"

#define CONTEXT_BYTES_MAX 65536
#define CONTEXT_FILES_MAX 16
#define SCOPE_BYTES_MAX 4096

/* --- reading arguments ------------------------------------------------------------------------------------------------- */

static const char *kind_text(enum js_kind kind)
{
    static const char *const texts[] = {"nothing",  "null",     "a boolean", "a number",
                                        "a number", "a string", "an array",  "an object"};
    return texts[kind];
}

static int text_argument(const struct js *object, const char *key, struct str *out, struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_STRING)
        return err_set(err, ERR_USAGE, "%s must be a string, not %s", key, kind_text(kind));
    *out = js_str(value);
    return 0;
}

/* A whole number in a safe range; "abc", NaN and 1e300 never become "unlimited". */
static int number_argument(const struct js *object, const char *key, double scale, int64_t *out,
                           struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_INT && kind != JS_REAL)
        return err_set(err, ERR_USAGE, "%s must be a number, not %s", key, kind_text(kind));
    double number = js_real(value, 0) * scale;
    if (!(number > -1e15 && number < 1e15))
        return err_set(err, ERR_USAGE, "%s is out of range", key);
    *out = (int64_t)number;
    if (*out == 0 && number > 0)
        *out = 1; /* a limit below the smallest unit is a limit still */
    return 0;
}

static int list_argument(struct arena *arena, const struct js *object, const char *key, size_t max,
                         struct list *out, struct err *err)
{
    const struct js *value = js_get(object, key);
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_ARRAY)
        return err_set(err, ERR_USAGE, "%s must be an array of strings, not %s", key,
                       kind_text(kind));
    if (js_count(value) > max)
        return err_set(err, ERR_USAGE, "%s may have at most %zu entries", key, max);
    out->state = LIST_SET;
    for (size_t i = 0; i < js_count(value); i++) {
        struct str item = js_str(js_at(value, i));
        if (item.n == 0)
            return err_set(err, ERR_USAGE, "%s[%zu] must be a non-empty string", key, i);
        list_add(arena, out, item);
    }
    return 0;
}

static int budget_argument(const struct js *arguments, struct limits *asked, struct err *err)
{
    const struct js *budget = js_get(arguments, "budget");
    enum js_kind kind = js_kind(budget);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind == JS_INT || kind == JS_REAL)
        return number_argument(arguments, "budget", 1, &asked->tool_calls, err);
    if (kind != JS_OBJECT)
        return err_set(err, ERR_USAGE, "budget must be an object, not %s", kind_text(kind));
    return number_argument(budget, "tool_calls", 1, &asked->tool_calls, err) != 0 ||
                   number_argument(budget, "tokens", 1, &asked->tokens, err) != 0 ||
                   number_argument(budget, "cost_usd", 1e9, &asked->cost_nano, err) != 0 ||
                   number_argument(budget, "timeout_ms", 1, &asked->wall_ms, err) != 0
               ? -1
               : 0;
}

/* An argument that has no effect would mislead the model: it is told, and can correct itself. */
static int known_arguments(const struct js *object, const char *const *known, const char *what,
                           struct err *err)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        size_t k = 0;
        while (known[k] != NULL && !str_is(key, known[k]))
            k++;
        if (known[k] == NULL)
            return err_set(err, ERR_USAGE, "unknown argument \"%.*s\"; %s takes: %s",
                           (int)(key.n < 64 ? key.n : 64), key.p, what, known[k + 1]);
    }
    return 0;
}

/* Names, NULL, and the same as one text. */
static const char *const spawn_agent_arguments[] = {
    "task",
    "scope",
    "max_tool_calls",
    "mode",
    "role",
    "budget",
    "allowed_tools",
    "context",
    "context_files",
    NULL,
    "task, scope, max_tool_calls, mode, role, budget, allowed_tools, context, context_files"};
static const char *const budget_arguments[] = {
    "tool_calls", "tokens", "cost_usd",
    "timeout_ms", NULL,     "tool_calls, tokens, cost_usd, timeout_ms"};

/* Views into `arguments`. */
static int read_request(struct deciding *d, const struct js *arguments, struct delegation *request,
                        struct err *err)
{
    delegation_init(request, DOOR_SPAWN_AGENT);
    if (known_arguments(arguments, spawn_agent_arguments, "spawn_agent", err) != 0 ||
        known_arguments(js_get(arguments, "budget"), budget_arguments, "budget", err) != 0)
        return -1;
    if (text_argument(arguments, "task", &request->task, err) != 0 ||
        text_argument(arguments, "scope", &request->scope, err) != 0 ||
        text_argument(arguments, "mode", &request->mode, err) != 0 ||
        text_argument(arguments, "role", &request->role, err) != 0 ||
        text_argument(arguments, "context", &request->context, err) != 0 ||
        budget_argument(arguments, &request->asked, err) != 0 ||
        number_argument(arguments, "max_tool_calls", 1, &request->asked.tool_calls, err) != 0 ||
        list_argument(&d->out->arena, arguments, "allowed_tools", 64, &request->allowed_tools,
                      err) != 0 ||
        list_argument(&d->out->arena, arguments, "context_files", CONTEXT_FILES_MAX,
                      &request->context_files, err) != 0)
        return -1;
    if (request->task.n == 0)
        return err_set(err, ERR_USAGE, "task must not be empty");
    if (request->scope.n > SCOPE_BYTES_MAX)
        return err_set(err, ERR_USAGE, "scope may have at most %d bytes", SCOPE_BYTES_MAX);
    if (request->context.n > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "context may have at most %d bytes", CONTEXT_BYTES_MAX);
    return 0;
}

/* --- making the child --------------------------------------------------------------------------------------------------- */

static void refuse(struct deciding *d, struct agent *agent, struct call *call,
                   const struct err *why)
{
    if (why->class == ERR_DENIED || why->class == ERR_BUDGET) {
        struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
        e->call_id = keep(d, call->call.id);
        e->tool = keep(d, call->call.name);
        e->reason = keep(d, str_from(why->message));
        e->depth = agent->contract.agent.depth + 1;
        emit(d, e);
    }
    call_finish(d, agent, call, TOOL_ERROR,
                arena_printf(&d->out->arena, "Error: %s", why->message));
}

static void report_clamps(struct deciding *d, uint32_t agent_no, const struct contract *contract)
{
    if (contract->receipt.clamp_count == 0)
        return;
    struct buf out;
    struct jw w;
    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < contract->receipt.clamp_count; i++) {
        const struct clamp *clamp = &contract->receipt.clamps[i];
        jw_object(&w);
        jw_kstr(&w, "field", clamp->field);
        jw_kraw(&w, "asked", clamp->asked);
        jw_kraw(&w, "got", clamp->got);
        jw_kstr(&w, "by", clamp->by);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    struct event *e = draft(d, agent_no, EVENT_CONTRACT_CLAMPED);
    e->clamps = keep(d, buf_view(&out));
    buf_release(&out);
    emit(d, e);
}

static struct str task_id_of(struct deciding *d, struct str agent_id)
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(agent_id);
    hash_hex(&hash, hex);
    return keep(d, (struct str){hex, 12});
}

/* A deadline that has passed and not fired yet leaves nothing; it must not read as "unlimited". */
static int64_t wall_left(const struct deciding *d, const struct agent *parent)
{
    int64_t at = parent->timers[TIMER_WALL];
    return at == 0 ? UNLIMITED : at > d->now ? at - d->now : 0;
}

static void create(struct deciding *d, struct agent *parent, struct call *call,
                   const struct delegation *request)
{
    struct run *run = d->run;
    struct id id = id_derive(d->now, parent->id, run->seq + 1);
    struct amount left = budget_left(&parent->account);
    struct facts facts = {.run_id = run->id,
                          .session_id = run->session_id,
                          .parent_agent_id = parent->id,
                          .agent_id = id_str(&id),
                          .parent_task = parent->objective,
                          .workspace_path = run->workspace_path,
                          .remaining_tokens = left.tokens,
                          .remaining_cost_nano = left.cost_nano,
                          .remaining_wall_ms = wall_left(d, parent),
                          .ordinal = run->agent_count,
                          .asker = ASKER_CHILD};
    struct contract contract;
    struct err why = ERR_INIT;
    if (contract_derive(&d->out->arena, &parent->contract, request, &facts, &run->settings,
                        &contract, &why) != 0) {
        refuse(d, parent, call, &why);
        return;
    }
    struct buf text;
    buf_init(&text, 1 << 20);
    contract_print(&contract, &text);
    uint32_t no = run->agent_count;
    struct event *e = draft(d, no, EVENT_SUBAGENT_CREATED);
    e->call_id = STR_NONE;
    e->task_id = task_id_of(d, facts.agent_id);
    e->sub_agent_id = keep(d, facts.agent_id);
    e->step_idx = contract.parent.step_idx;
    e->name = contract.agent.name;
    e->objective = keep(d, request->task);
    if (request->scope.n > 0)
        e->scope = keep(d, request->scope);
    if (request->context.n > 0)
        e->context = keep(d, request->context);
    e->parent_no = parent->no;
    e->parent_call = keep(d, call->call.id);
    e->contract = keep(d, buf_view(&text));
    buf_release(&text);
    emit(d, e);
    report_clamps(d, no, &contract);
}

void delegate_gather(struct deciding *d, struct agent *agent, struct call *call)
{
    struct err why = ERR_INIT;
    struct js *arguments = js_parse(call->call.arguments, &why);
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    js_print(js_get(arguments, "context_files"), &text);
    struct effect *effect = effect_add(d, EFFECT_GATHER, EFFECT_PURE, agent, call->call.id);
    effect->tool = STR("read");
    effect->arguments = keep(d, buf_view(&text));
    effect->max_result = CONTEXT_BYTES_MAX;
    effect_seal(d, effect);
    buf_release(&text);
    js_free(arguments);
}

void delegate_call(struct deciding *d, struct agent *agent, struct call *call)
{
    struct err why = ERR_INIT;
    struct delegation request;
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (arguments == NULL || read_request(d, arguments, &request, &why) != 0)
        refuse(d, agent, call, &why);
    else if (request.context_files.n > 0)
        delegate_gather(d, agent, call);
    else
        create(d, agent, call, &request);
    js_free(arguments);
}

/* The context that the parent wrote, and behind it each file under its name. */
static int join_context(struct str files, struct str context, struct buf *out, struct err *err)
{
    struct js *doc = js_parse(files, err);
    int result = doc == NULL ? -1 : 0;
    buf_str(out, context);
    for (size_t i = 0; result == 0 && i < js_count(doc); i++) {
        const struct js *file = js_at(doc, i);
        struct str problem = js_get_str(file, "error"), path = js_get_str(file, "path");
        if (str_starts(problem, STR("Error: ")))
            problem = (struct str){problem.p + 7, problem.n - 7};
        if (problem.p != NULL)
            result =
                err_set(err, ERR_USAGE, "context file %.*s: %.*s", STR_FMT(path), STR_FMT(problem));
        buf_printf(out, "%s--- %.*s ---\n", out->n > 0 ? "\n\n" : "", STR_FMT(path));
        buf_str(out, js_get_str(file, "text"));
    }
    js_free(doc);
    if (result == 0 && (out->failed || out->n > CONTEXT_BYTES_MAX))
        result =
            err_set(err, ERR_USAGE, "context and context_files together may have at most %d bytes",
                    CONTEXT_BYTES_MAX);
    return result;
}

void delegate_gathered(struct deciding *d, struct agent *agent, struct call *call, struct str files)
{
    if (d->failed)
        return;
    struct err why = ERR_INIT;
    struct delegation request;
    struct buf context;
    struct js *arguments = js_parse(call->call.arguments, &why);
    buf_init(&context, 4 * CONTEXT_BYTES_MAX);
    if (arguments == NULL || read_request(d, arguments, &request, &why) != 0 ||
        join_context(files, request.context, &context, &why) != 0) {
        refuse(d, agent, call, &why);
    } else {
        request.context = buf_view(&context);
        create(d, agent, call, &request);
    }
    buf_release(&context);
    js_free(arguments);
}

/* --- starting it ------------------------------------------------------------------------------------------------------------- */

void child_stamp(const struct agent *agent, struct event *e)
{
    e->task_id = agent->task_id;
    e->sub_agent_id = agent->id;
    e->step_idx = agent->contract.parent.step_idx;
}

void child_attempt(struct deciding *d, struct agent *agent, int64_t attempt)
{
    struct event *e = draft(d, agent->no, EVENT_SUBAGENT_ATTEMPT);
    child_stamp(agent, e);
    e->attempt = attempt;
    emit(d, e);
    if (d->failed)
        return;
    struct buf text;
    struct delegation request = {
        .door = agent->contract.receipt.door, .task = agent->objective, .scope = agent->scope};
    buf_init(&text, 1 << 20);
    contract_prompt(&agent->contract, &request, d->run->workspace_path, &text);
    message_add(d, agent, "system", NULL, keep(d, buf_view(&text)));
    buf_clear(&text);
    buf_str(&text, agent->objective);
    if (agent->context.n > 0) {
        buf_text(&text, "\n\nContext:\n");
        buf_str(&text, agent->context);
    }
    message_add(d, agent, "user", NULL, keep(d, buf_view(&text)));
    buf_release(&text);
    turn_advance(d, agent);
}

void child_start(struct deciding *d, struct agent *agent)
{
    struct event *e = draft(d, agent->no, EVENT_SUBAGENT_STARTED);
    child_stamp(agent, e);
    e->worktree_path = d->run->workspace_path;
    e->strategy = agent->contract.isolation.strategy;
    emit(d, e);
    child_attempt(d, agent, 0);
}
