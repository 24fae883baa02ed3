/* fan_out (seed 004) and delegate_task (seed 002): several tasks in one call, each a child of its own. Children are made only when they
 * may run, so that a limit limits. fan_out runs all whatever happens; delegate_task follows depends_on, hands results on, and starts
 * nothing more after a failure. Which task has which child is in the call's state; the rest is read from its arguments again. Pure. */
#include <stdio.h>

#include "base/utf8.h"
#include "core/run/door.h"

#define FAN_OUT_TASKS_MAX 64
#define SUBTASKS_MAX 5
#define PASSED_ON_BYTES 16384 /* of a result that the next task needs */

static const struct call_child *child_of(const struct call *call, size_t item)
{
    for (size_t i = 0; i < call->child_count; i++) {
        if (call->children[i].item == (int64_t)item)
            return &call->children[i];
    }
    return NULL;
}

/* A child whose budget was used up before it said anything has not done its task. */
static bool has_answered(const struct agent *agent)
{
    return agent->outcome == OUTCOME_COMPLETED ||
           (agent->outcome == OUTCOME_BUDGET_EXCEEDED && agent->response.n > 0);
}

static bool has_failed(const struct run *run, const struct call_child *child)
{
    if (child == NULL)
        return false;
    if (child->no == 0)
        return true;
    const struct agent *agent = run_agent_at(run, child->no);
    return agent->phase >= PHASE_LEAVING && !has_answered(agent);
}

static bool has_worked(const struct run *run, const struct call_child *child)
{
    if (child == NULL || child->no == 0)
        return false;
    const struct agent *agent = run_agent_at(run, child->no);
    return agent->phase == PHASE_DONE && has_answered(agent);
}

/* A task that gets no child, and why. */
static void item_refuse(struct deciding *d, const struct agent *agent, const struct call *call,
                        size_t item, struct str why)
{
    struct event *e = draft(d, agent->no, EVENT_ITEM_REFUSED);
    e->call_id = keep(d, call->call.id);
    e->item = (int64_t)item;
    e->depth = agent->contract.agent.depth + 1;
    e->error = why;
    emit(d, e);
}

static void stopped(struct deciding *d, const struct agent *agent, const struct call *call)
{
    call_finish(d, agent, call, TOOL_ERROR, STR("Error: stopped before all tasks had ended."));
}

static int not_an_array(const struct js *value, const char *what, struct err *err)
{
    return err_set(err, ERR_USAGE, "%s, not %s", what,
                   js_kind(value) == JS_ARRAY ? "an empty one" : js_kind_words(js_kind(value)));
}

static int check_lengths(const struct delegation *request, struct err *err)
{
    if (request->scope.n > SCOPE_BYTES_MAX)
        return err_set(err, ERR_USAGE, "scope may have at most %d bytes", SCOPE_BYTES_MAX);
    if (request->context.n > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "context may have at most %d bytes", CONTEXT_BYTES_MAX);
    return 0;
}

static int64_t lower(int64_t a, int64_t b)
{
    return a <= 0 || (b > 0 && b < a) ? b : a;
}

/* --- fan_out --------------------------------------------------------------------------------------------------------------- */

struct fan {
    const struct js *tasks;
    int64_t limit;
};

static int read_fan(const struct run *run, const struct js *arguments, struct fan *fan,
                    struct err *err)
{
    int64_t asked = ASK_NOTHING;
    fan->tasks = js_get(arguments, "tasks");
    if (arguments_known(arguments, "tasks max_concurrent", "fan_out", err) != 0 ||
        argument_number(arguments, "max_concurrent", 1, &asked, err) != 0)
        return -1;
    if (js_kind(fan->tasks) != JS_ARRAY || js_count(fan->tasks) == 0)
        return not_an_array(fan->tasks, "tasks must be an array of {\"role\", \"task\"}", err);
    if (js_count(fan->tasks) > FAN_OUT_TASKS_MAX)
        return err_set(err, ERR_USAGE, "Maximum %d tasks", FAN_OUT_TASKS_MAX);
    if (asked != ASK_NOTHING && asked < 1)
        return err_set(err, ERR_USAGE, "max_concurrent must be positive");
    fan->limit = lower(run->settings.max_concurrent, asked == ASK_NOTHING ? 0 : asked);
    return 0;
}

static int read_fan_task(struct deciding *d, const struct js *task, struct delegation *request,
                         struct err *err)
{
    delegation_init(request, DOOR_FAN_OUT);
    if (js_kind(task) == JS_STRING) {
        request->task = js_str(task);
        return 0;
    }
    if (js_kind(task) != JS_OBJECT)
        return err_set(err, ERR_USAGE, "a task must be an object, not %s",
                       js_kind_words(js_kind(task)));
    return arguments_known(task, "role task scope context max_tool_calls effort working_directory",
                           "a task", err) != 0 ||
                   argument_text(task, "task", &request->task, err) != 0 ||
                   argument_text(task, "role", &request->role, err) != 0 ||
                   argument_text(task, "scope", &request->scope, err) != 0 ||
                   argument_text(task, "context", &request->context, err) != 0 ||
                   argument_text(task, "working_directory", &request->working_directory, err) !=
                       0 ||
                   argument_effort(task, &request->params, err) != 0 ||
                   argument_number(task, "max_tool_calls", 1, &request->asked.tool_calls, err) !=
                       0 ||
                   check_lengths(request, err) != 0
               ? -1
               : 0;
}

/* The first calls that it made; tool_calls_used says how many there were. */
static void print_called(struct jw *w, const struct agent *agent)
{
    jw_key(w, "tool_calls");
    jw_array(w);
    for (size_t i = 0; i < agent->called_count; i++)
        jw_str(w, agent->called[i]);
    jw_end_array(w);
    if (agent->account.tool_calls > (int64_t)agent->called_count)
        jw_kint(w, "tool_calls_left_out", agent->account.tool_calls - (int64_t)agent->called_count);
}

/* parent: who made the call; count: how many results its answer has. */
static void fan_result(struct deciding *d, struct jw *w, const struct agent *parent, size_t count,
                       const struct js *task, const struct call_child *child)
{
    const struct agent *agent = child->no != 0 ? run_agent_at(d->run, child->no) : NULL;
    bool worked = agent != NULL && has_answered(agent);
    struct str said = agent == NULL ? child->error
                      : worked      ? agent->response
                      : ending_worked(agent->outcome)
                          ? result_said(d, agent, agent->outcome, agent->response)
                          : door_share(d, parent, agent->error, count);
    struct buf summary, notice;
    buf_init(&summary, 4096);
    buf_init(&notice, SIZE_MAX / 4);
    buf_printf(&summary, "%s", worked ? "" : "Task failed: ");
    buf_str(&summary, utf8_cut_chars(said, 500));
    jw_object(w);
    jw_kbool(w, "success", worked);
    jw_kstr(w, "role", utf8_cut(js_get_str(task, "role"), 64));
    jw_kstr(w, "summary", buf_view(&summary));
    jw_key(w, "details");
    jw_object(w);
    if (agent != NULL) {
        jw_kstr(w, "task_id", agent->task_id);
        jw_ktext(w, "status", outcome_text(agent->outcome));
        jw_kstr(w, "full_response", door_share(d, parent, agent->response, count));
        print_called(w, agent);
        result_notice(d->run, agent, "", &notice);
        reuse_notice(child, agent, "", &notice);
        if (notice.n > 0)
            jw_kstr(w, "notice", buf_view(&notice));
    }
    jw_end_object(w);
    /* What a repeated result took was taken before. */
    bool worked_now = agent != NULL && child->origin == CHILD_NEW;
    jw_kint(w, "tool_calls_used", worked_now ? agent->account.tool_calls : 0);
    jw_kint(w, "context_size", agent != NULL ? agent->context_size : 0);
    jw_key(w, "duration_seconds");
    jw_real(w, worked_now ? (double)(agent->finished_at - agent->created_at) / 1000 : 0);
    jw_key(w, "error");
    if (worked)
        jw_null(w);
    else
        jw_str(w, said);
    jw_end_object(w);
    buf_release(&notice);
    buf_release(&summary);
}

static void fan_answer(struct deciding *d, const struct agent *agent, const struct call *call,
                       const struct fan *fan)
{
    struct buf out;
    struct jw w;
    size_t worked = 0, count = js_count(fan->tasks);
    int64_t calls = 0, first = INT64_MAX, last = 0;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_object(&w);
    jw_key(&w, "results");
    jw_array(&w);
    for (size_t i = 0; i < count; i++) {
        const struct call_child *child = child_of(call, i);
        fan_result(d, &w, agent, count, js_at(fan->tasks, i), child);
        worked += child->no != 0 && has_answered(run_agent_at(d->run, child->no));
        if (child->no == 0 || child->origin == CHILD_REPEATED)
            continue;
        const struct agent *done = run_agent_at(d->run, child->no);
        calls += done->account.tool_calls;
        first = done->created_at < first ? done->created_at : first;
        last = done->finished_at > last ? done->finished_at : last;
    }
    jw_end_array(&w);
    jw_kint(&w, "succeeded", (int64_t)worked);
    jw_kint(&w, "failed", (int64_t)(count - worked));
    jw_kint(&w, "total_tool_calls", calls);
    jw_key(&w, "total_duration_seconds");
    jw_real(&w, last > first ? (double)(last - first) / 1000 : 0);
    jw_end_object(&w);
    call_finish(d, agent, call, worked > 0 ? TOOL_OK : TOOL_ERROR, keep(d, buf_view(&out)));
    buf_release(&out);
}

/* Makes children up to the limit; answers when all have ended. */
static void fan_advance(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct fan *fan)
{
    size_t count = js_count(fan->tasks);
    while (!d->failed && call->child_count < count &&
           (fan->limit <= 0 || (int64_t)call->children_open < fan->limit)) {
        struct err why = ERR_INIT;
        struct delegation request;
        size_t item = call->child_count;
        if (read_fan_task(d, js_at(fan->tasks, item), &request, &why) != 0 ||
            child_make(d, agent, call, &request, (int64_t)item, &why) < 0)
            item_refuse(d, agent, call, item, keep(d, str_from(why.message)));
    }
    if (!d->failed && call->child_count == count && call->children_open == 0)
        fan_answer(d, agent, call, fan);
}

static void fan_start(struct deciding *d, const struct agent *agent, const struct call *call,
                      const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct fan fan = {NULL, 0};
    if (read_fan(d->run, arguments, &fan, &why) != 0)
        door_refuse(d, agent, call, &why);
    else
        fan_advance(d, agent, call, &fan);
}

static void fan_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                      const struct agent *child)
{
    struct err why = ERR_INIT;
    struct fan fan = {NULL, 0};
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (read_fan(d->run, arguments, &fan, &why) == 0)
        fan_advance(d, agent, call, &fan);
    js_free(arguments);
}

const struct door_ops door_fan_out = {fan_start, NULL, fan_ended, stopped};

/* --- delegate_task ---------------------------------------------------------------------------------------------------------- */

struct plan {
    const struct js *subtasks;
    struct str goal;
    size_t count;
    int64_t depends_on[SUBTASKS_MAX]; /* -1: on none */
};

/* Each task depends on at most one other, so following that is enough to see a circle. */
static bool is_circle(const struct plan *plan, size_t item)
{
    int64_t at = (int64_t)item;
    for (size_t i = 0; i <= plan->count && at >= 0; i++)
        at = plan->depends_on[at];
    return at >= 0;
}

static int read_subtask(const struct js *subtask, size_t i, struct plan *plan, struct err *err)
{
    char key[32];
    struct delegation request = {0};
    int64_t depends_on = -1;
    snprintf(key, sizeof key, "subtasks[%zu]", i);
    if (js_kind(subtask) != JS_OBJECT)
        return err_set(err, ERR_USAGE, "%s must be an object, not %s", key,
                       js_kind_words(js_kind(subtask)));
    if (arguments_known(subtask, "task scope depends_on effort working_directory", key, err) != 0 ||
        argument_text(subtask, "task", &request.task, err) != 0 ||
        argument_text(subtask, "scope", &request.scope, err) != 0 ||
        argument_text(subtask, "working_directory", &request.working_directory, err) != 0 ||
        argument_effort(subtask, &request.params, err) != 0 || check_lengths(&request, err) != 0 ||
        argument_number(subtask, "depends_on", 1, &depends_on, err) != 0)
        return err_prefix(err, "%s", key);
    if (utf8_is_blank(request.task))
        return err_set(err, ERR_USAGE, "%s: task must not be empty", key);
    const struct js *asked = js_get(subtask, "depends_on");
    bool given = js_kind(asked) != JS_ABSENT && js_kind(asked) != JS_NULL;
    if (given && (depends_on < 0 || depends_on >= (int64_t)plan->count || depends_on == (int64_t)i))
        return err_set(err, ERR_USAGE, "%s: depends_on must be the index of another subtask", key);
    plan->depends_on[i] = given ? depends_on : -1;
    return 0;
}

static int read_plan(const struct js *arguments, struct plan *plan, struct err *err)
{
    plan->subtasks = js_get(arguments, "subtasks");
    plan->goal = STR_NONE;
    plan->count = js_count(plan->subtasks);
    if (arguments_known(arguments, "plan subtasks", "delegate_task", err) != 0 ||
        argument_text(arguments, "plan", &plan->goal, err) != 0)
        return -1;
    if (js_kind(plan->subtasks) != JS_ARRAY || plan->count == 0)
        return not_an_array(plan->subtasks, "subtasks must be an array of {\"task\"}", err);
    if (plan->count > SUBTASKS_MAX)
        return err_set(err, ERR_USAGE, "Maximum %d subtasks", SUBTASKS_MAX);
    for (size_t i = 0; i < plan->count; i++)
        if (read_subtask(js_at(plan->subtasks, i), i, plan, err) != 0)
            return -1;
    for (size_t i = 0; i < plan->count; i++)
        if (is_circle(plan, i))
            return err_set(err, ERR_USAGE, "subtasks[%zu]: depends_on goes in a circle", i);
    return 0;
}

static struct str subtask_text(struct deciding *d, const struct plan *plan, const struct call *call,
                               size_t item)
{
    struct buf out;
    int64_t before = plan->depends_on[item];
    buf_init(&out, SIZE_MAX / 4);
    buf_str(&out, js_get_str(js_at(plan->subtasks, item), "task"));
    if (plan->goal.n > 0)
        buf_printf(&out, "\n\nThis is part of a larger goal: %.*s", STR_FMT(plan->goal));
    if (before >= 0) {
        const struct call_child *child = child_of(call, (size_t)before);
        struct str result = run_agent_at(d->run, child->no)->response;
        buf_printf(&out, "\n\nResult of subtask %lld, which this one depends on:\n",
                   (long long)before + 1);
        buf_str(&out, utf8_cut(result, PASSED_ON_BYTES));
    }
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}

static void plan_answer(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct plan *plan)
{
    struct buf out;
    size_t worked = 0;
    int64_t calls = 0;
    buf_init(&out, SIZE_MAX / 4);
    if (plan->goal.n > 0)
        buf_printf(&out, "# %.*s\n", STR_FMT(plan->goal));
    for (size_t i = 0; i < plan->count; i++) {
        const struct call_child *child = child_of(call, i);
        const struct agent *done = child->no != 0 ? run_agent_at(d->run, child->no) : NULL;
        struct str task = js_get_str(js_at(plan->subtasks, i), "task");
        bool good = has_worked(d->run, child);
        worked += good;
        calls += done != NULL && child->origin == CHILD_NEW ? done->account.tool_calls : 0;
        buf_printf(&out, "\n## Subtask %zu: ", i + 1);
        utf8_clean(&out, utf8_cut_chars(task, 120), UTF8_ONE_LINE);
        buf_char(&out, '\n');
        if (done == NULL) {
            buf_str(&out, child->error);
        } else {
            struct ending ending = ending_of(done);
            ending.response = door_share(d, agent, ending.response, plan->count);
            buf_str(&out, result_text(d, done, &ending));
            reuse_notice(child, done, "\n", &out);
        }
        buf_char(&out, '\n');
    }
    buf_printf(&out, "\n## Summary\n%zu of %zu subtasks completed, %lld tool calls%s.", worked,
               plan->count, (long long)calls, worked < plan->count ? "; stopped on an error" : "");
    call_finish(d, agent, call, worked == plan->count ? TOOL_OK : TOOL_ERROR,
                keep(d, buf_view(&out)));
    buf_release(&out);
}

/* The first task that may start now, or count. */
static size_t next_subtask(const struct run *run, const struct call *call, const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        int64_t before = plan->depends_on[i];
        if (child_of(call, i) == NULL &&
            (before < 0 || has_worked(run, child_of(call, (size_t)before))))
            return i;
    }
    return plan->count;
}

static bool any_failed(const struct run *run, const struct call *call)
{
    for (size_t i = 0; i < call->child_count; i++) {
        if (has_failed(run, &call->children[i]))
            return true;
    }
    return false;
}

static void plan_advance(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct plan *plan)
{
    int64_t limit = lower(d->run->settings.max_concurrent, d->run->settings.delegate_concurrency);
    while (!d->failed && !any_failed(d->run, call) &&
           (limit <= 0 || (int64_t)call->children_open < limit)) {
        struct err why = ERR_INIT;
        struct delegation request;
        size_t item = next_subtask(d->run, call, plan);
        if (item == plan->count)
            break;
        delegation_init(&request, DOOR_DELEGATE_TASK);
        request.task = subtask_text(d, plan, call, item);
        request.scope = js_get_str(js_at(plan->subtasks, item), "scope");
        struct str effort = js_get_str(js_at(plan->subtasks, item), "effort");
        struct str directory = js_get_str(js_at(plan->subtasks, item), "working_directory");
        if (directory.n > 0)
            request.working_directory = directory;
        if (effort.n > 0)
            request.params.effort = effort;
        if (child_make(d, agent, call, &request, (int64_t)item, &why) < 0)
            item_refuse(d, agent, call, item,
                        arena_printf(&d->out->arena, "[ERROR] Sub-agent failed: %s", why.message));
    }
    if (d->failed || call->children_open > 0)
        return;
    for (size_t i = 0; i < plan->count && !d->failed; i++) {
        if (child_of(call, i) == NULL)
            item_refuse(d, agent, call, i, STR("Skipped: an earlier subtask failed."));
    }
    if (!d->failed)
        plan_answer(d, agent, call, plan);
}

static void plan_start(struct deciding *d, const struct agent *agent, const struct call *call,
                       const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct plan plan;
    if (read_plan(arguments, &plan, &why) != 0)
        door_refuse(d, agent, call, &why);
    else
        plan_advance(d, agent, call, &plan);
}

static void plan_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                       const struct agent *child)
{
    struct err why = ERR_INIT;
    struct plan plan;
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (read_plan(arguments, &plan, &why) == 0)
        plan_advance(d, agent, call, &plan);
    js_free(arguments);
}

const struct door_ops door_delegate_task = {plan_start, NULL, plan_ended, stopped};
