/* agent_status, agent_send, agent_cancel, agent_result, agent_merge: what an agent can do about the children that it has. Its own ones
 * only. Pure. */
#include "core/run/door.h"

#include "base/utf8.h"
#include "core/contract/money.h"

#define MESSAGE_BYTES_MAX 65536
#define STATUS_LINES_MAX 200

static const struct agent *named_child(struct deciding *d, const struct agent *agent,
                                       const struct js *arguments, const char *known,
                                       const char *tool, struct err *err)
{
    struct str id = STR_NONE;
    if (arguments_known(arguments, known, tool, err) != 0 ||
        argument_text(arguments, "task_id", &id, err) != 0)
        return NULL;
    if (id.n == 0) {
        err_set(err, ERR_USAGE, "task_id must name a sub-agent; agent_status lists them");
        return NULL;
    }
    return child_named(d, agent, id, err);
}

/* --- agent_status ---------------------------------------------------------------------------------------------------------- */

static const char *doing(const struct agent *child)
{
    static const char *const phases[] = {
        [PHASE_NEW] = "waiting for a slot",      [PHASE_READY] = "waiting for a slot or budget",
        [PHASE_ASKING] = "asking its model",     [PHASE_BACKOFF] = "waiting before it asks again",
        [PHASE_TOOLS] = "using tools",           [PHASE_JOINING] = "waiting for its jobs",
        [PHASE_CHECKING] = "running its checks", [PHASE_LEAVING] = "waiting to be merged"};
    if (tree_busy(child))
        return child->phase != PHASE_LEAVING        ? "getting its files"
               : child->tree->leaves == LEAVES_KEPT ? "its work is put away"
                                                    : "being merged";
    if (child->phase != PHASE_DONE)
        return child->stopping != OUTCOME_NONE ? "being stopped" : phases[child->phase];
    return child->life == LIFE_WAITING_FOR_MERGE ? "held until agent_merge or agent_cancel"
                                                 : outcome_text(child->outcome);
}

static void status_line(struct buf *out, const struct agent *child, int64_t now)
{
    int64_t since = child->started_at != 0 ? child->started_at : child->created_at;
    int64_t ms = (child->finished_at != 0 ? child->finished_at : now) - since;
    buf_printf(out, "%.*s  ", STR_FMT(child->task_id));
    utf8_clean(out, child->contract.agent.name, UTF8_ONE_LINE);
    buf_printf(out, "  %s: %s, %lld tool calls, %lld tokens, ", life_text(child->life),
               doing(child), (long long)child->account.tool_calls,
               (long long)budget_billed(&child->account).tokens);
    if (money_spent_text(out, &child->account))
        buf_text(out, ", ");
    buf_printf(out, "%lld.%llds\n", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

/* Where there are too many, those that are closed are left out first, oldest first. */
static void status_lines(const struct deciding *d, const struct agent *agent, struct buf *out)
{
    size_t own = 0, shown = 0, left_out = 0;
    for (uint32_t no = 1; no < d->run->agent_count; no++)
        own += d->run->agents[no]->parent_no == agent->no;
    for (uint32_t no = 1; no < d->run->agent_count; no++) {
        const struct agent *child = d->run->agents[no];
        if (child->parent_no != agent->no)
            continue;
        bool spare = child->life == LIFE_CLOSED && own - left_out > STATUS_LINES_MAX;
        if (spare || shown == STATUS_LINES_MAX) {
            left_out++;
            continue;
        }
        status_line(out, child, d->now);
        shown++;
    }
    if (left_out > 0)
        buf_printf(out, "%zu more are not listed.\n", left_out);
}

static void status_start(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct buf out;
    if (arguments_known(arguments, "", "agent_status", &why) != 0) {
        door_refuse(d, agent, call, &why);
        return;
    }
    buf_init(&out, SIZE_MAX / 4);
    status_lines(d, agent, &out);
    if (out.n == 0)
        buf_text(&out, "You have started no sub-agents.");
    call_finish(d, agent, call, TOOL_OK, keep(d, buf_view(&out)));
    buf_release(&out);
}

const struct door_ops door_agent_status = {status_start, NULL, NULL, NULL};

/* --- agent_send -------------------------------------------------------------------------------------------------------------- */

static void send_start(struct deciding *d, const struct agent *agent, const struct call *call,
                       const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct str text = STR_NONE;
    const struct agent *child =
        named_child(d, agent, arguments, "task_id message", "agent_send", &why);
    if (child != NULL && argument_text(arguments, "message", &text, &why) == 0) {
        if (text.n == 0)
            err_set(&why, ERR_USAGE, "message must not be empty");
        else if (text.n > MESSAGE_BYTES_MAX)
            err_set(&why, ERR_USAGE, "message may have at most %d bytes", MESSAGE_BYTES_MAX);
        else if (child->phase == PHASE_DONE || child->phase == PHASE_JOINING ||
                 child->phase == PHASE_CHECKING || child->phase == PHASE_LEAVING ||
                 child->stopping != OUTCOME_NONE)
            err_set(&why, ERR_USAGE, "sub-agent %.*s has ended; agent_result shows what it said",
                    STR_FMT(child->task_id));
    }
    if (child == NULL || why.class != ERR_NONE) {
        door_refuse(d, agent, call, &why);
        return;
    }
    struct event *e = draft(d, child->no, EVENT_AGENT_STEERED);
    e->text = keep(d, text);
    emit(d, e);
    call_finish(d, agent, call, TOOL_OK,
                arena_printf(&d->out->arena, "Sub-agent %.*s sees the message at its next turn.",
                             STR_FMT(child->task_id)));
}

const struct door_ops door_agent_send = {send_start, NULL, NULL, NULL};

/* --- agent_cancel, agent_result, agent_merge ---------------------------------------------------------------------------------- */

static void cancel_start(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct js *arguments)
{
    struct err why = ERR_INIT;
    const struct agent *child = named_child(d, agent, arguments, "task_id", "agent_cancel", &why);
    if (child == NULL) {
        door_refuse(d, agent, call, &why);
        return;
    }
    bool held = child->life == LIFE_WAITING_FOR_MERGE && !tree_busy(child);
    bool over = (child->phase == PHASE_DONE && !held) || child->life == LIFE_FAILED;
    /* Before the call ends: whoever awaits the child goes on, and this agent must not be taken to have nothing more to do. */
    if (held)
        child_drop(d, child, STR("cancelled by its parent before it was merged"));
    else if (!over)
        agent_stop(d, child, OUTCOME_CANCELLED, STR("cancelled by its parent"));
    call_finish(d, agent, call, TOOL_OK,
                arena_printf(&d->out->arena, "Sub-agent %.*s %s.", STR_FMT(child->task_id),
                             over ? "had ended already" : "is cancelled"));
}

const struct door_ops door_agent_cancel = {cancel_start, NULL, NULL, NULL};

/* What fits of the answer, from this byte on, and where the next part begins. */
static int part_of(struct deciding *d, const struct agent *agent, struct str answer, int64_t offset,
                   struct str *part, struct err *err)
{
    if (offset < 0 || (offset > 0 && (uint64_t)offset >= answer.n))
        return err_set(err, ERR_USAGE, "offset must be below %zu, the bytes of the answer",
                       answer.n);
    *part = answer;
    if (answer.n == 0)
        return 0;
    size_t from = (size_t)offset;
    while (from < answer.n && ((unsigned char)answer.p[from] & 0xC0) == 0x80)
        from++; /* inside of a character */
    struct str rest = {answer.p + from, answer.n - from};
    *part = utf8_cut(rest, (size_t)call_result_bytes(d->run, agent));
    if (part->n < rest.n)
        *part = arena_printf(&d->out->arena,
                             "%.*s… (bytes %zu to %zu of %zu; agent_result with \"offset\": %zu "
                             "goes on)",
                             STR_FMT(*part), from, from + part->n, answer.n, from + part->n);
    return 0;
}

/* The child of another agent whose result this one was given, or NULL. */
static const struct agent *reused_child(const struct deciding *d, const struct agent *agent,
                                        struct str id)
{
    for (size_t i = 0; i < agent->reused_count; i++) {
        const struct agent *child = d->run->agents[agent->reused[i]];
        if (str_eq(child->task_id, id) || str_eq(child->id, id))
            return child;
    }
    return NULL;
}

/* What a child that is at work has said so far: the text of its last reply. */
static void tell_partial(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct agent *child, struct str said)
{
    struct str shown = result_quoted(&d->out->arena, said);
    call_finish(
        d, agent, call, TOOL_OK,
        arena_printf(&d->out->arena,
                     "[PARTIAL] Sub-agent %.*s is still at work (%s, %lld tool calls); this "
                     "is not its result. %s%.*s",
                     STR_FMT(child->task_id), doing(child), (long long)child->account.tool_calls,
                     said.n > 0 ? "What it last said:\n" : "It has said nothing yet.",
                     STR_FMT(shown)));
}

static void result_start(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct js *arguments)
{
    struct err why = ERR_INIT;
    const struct agent *child = reused_child(d, agent, js_get_str(arguments, "task_id"));
    struct ending ending = {.response = STR_NONE};
    int64_t offset = 0;
    if (child == NULL)
        child = named_child(d, agent, arguments, "task_id offset", "agent_result", &why);
    if (child != NULL && why.class == ERR_NONE &&
        argument_number(arguments, "offset", 1, &offset, &why) == 0) {
        ending = ending_of(child);
        if (part_of(d, agent, ending.response, offset, &ending.response, &why) != 0)
            child = NULL;
    }
    if (child == NULL || why.class != ERR_NONE) {
        door_refuse(d, agent, call, &why);
        return;
    }
    if (child->phase < PHASE_LEAVING) {
        tell_partial(d, agent, call, child, ending.response);
        return;
    }
    bool waits = child->phase == PHASE_LEAVING && child->life == LIFE_WAITING_FOR_MERGE;
    struct str text = result_text(d, child, &ending);
    if (waits)
        text = arena_printf(&d->out->arena,
                            "%.*s\nNotice: its work is not merged yet; spawn_await or agent_merge "
                            "waits for that.",
                            STR_FMT(text));
    call_finish(d, agent, call, ending_worked(child->outcome) ? TOOL_OK : TOOL_ERROR, text);
}

const struct door_ops door_agent_result = {result_start, NULL, NULL, NULL};

static void merge_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct agent *child)
{
    if (ending_worked(child->outcome))
        call_finish(d, agent, call, TOOL_OK,
                    arena_printf(&d->out->arena, "Sub-agent %.*s is merged and closed.",
                                 STR_FMT(child->task_id)));
    else
        call_finish(d, agent, call, TOOL_ERROR,
                    arena_printf(&d->out->arena, "Error: sub-agent %.*s was not merged: %.*s",
                                 STR_FMT(child->task_id), STR_FMT(child->error)));
}

static void merge_start(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct js *arguments)
{
    struct err why = ERR_INIT;
    const struct agent *child = named_child(d, agent, arguments, "task_id", "agent_merge", &why);
    if (child != NULL && child->life != LIFE_WAITING_FOR_MERGE)
        err_set(&why, ERR_USAGE, "sub-agent %.*s is not held: it is %s", STR_FMT(child->task_id),
                life_text(child->life));
    if (child == NULL || why.class != ERR_NONE) {
        door_refuse(d, agent, call, &why);
        return;
    }
    if (tree_is_there(child) || tree_busy(child)) {
        struct event *e = draft(d, agent->no, EVENT_AGENT_AWAITING);
        e->call_id = keep(d, call->call.id);
        e->jobs = arena_printf(&d->out->arena, "[%u]", child->no);
        emit(d, e);
        trees_advance(d, agent);
        return;
    }
    child_integrate(d, child);
    merge_ended(d, agent, call, child);
}

const struct door_ops door_agent_merge = {merge_start, NULL, merge_ended, NULL};
