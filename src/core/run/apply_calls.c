/* What events do to the tool calls of a reply. Pure. */
#include "base/utf8.h"
#include "core/run/apply.h"

#define CALLED_BYTES 120 /* of a call's arguments, as they are remembered */

/* The open call that the event is about, or NULL with err. */
static struct call *call_of(struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    if (call != NULL && call->state != CALL_DONE)
        return call;
    apply_out_of_place(e, err);
    return NULL;
}

/* The parent of a fan_out reads what its children called; nobody else does. */
static void remember_call(struct agent *agent, const struct event *e)
{
    struct str arguments = e->arguments.n > 0 ? e->arguments : e->shortened;
    struct str shown = utf8_cut(arguments, CALLED_BYTES);
    if (agent->contract.receipt.door != DOOR_FAN_OUT || agent->called_count == CALLED_MAX)
        return;
    if (agent->called == NULL)
        agent->called = arena_alloc(&agent->arena, CALLED_MAX * sizeof *agent->called);
    agent->called[agent->called_count++] =
        arena_printf(&agent->arena, "%.*s %.*s%s", STR_FMT(e->tool), STR_FMT(shown),
                     shown.n < arguments.n ? "…" : "");
}

int apply_call_requested(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    const struct tool_info *info = tool_info_find(e->tool);
    agent->account.tool_calls++;
    remember_call(agent, e);
    call_move(agent, call,
              info == NULL                  ? CALL_RUNNING
              : info->kind == TOOL_PREPARED ? CALL_PREPARING
              : info->kind == TOOL_CORE     ? CALL_GATHERING
              : info->kind == TOOL_QUESTION ? CALL_ASKED
                                            : CALL_RUNNING);
    if (call->state == CALL_ASKED) {
        agent->clock.for_answers = e->version >= 4;
        slot_yield(run, agent);
    } else if (agent->slot == SLOT_QUEUED) {
        slot_take(run, agent); /* it had waited for an answer */
    }
    return 0;
}

int apply_prepared(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    call->path = arena_copy(&agent->history, e->path);
    call->before = arena_copy(&agent->history, e->before);
    call->after = arena_copy(&agent->history, e->after);
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

int apply_asked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    if (e->type == EVENT_PERMISSION_ASKED) {
        agent->clock.for_answers = e->version >= 4;
        call_move(agent, call, CALL_ASKED);
        slot_yield(run, agent);
    } else if (e->type == EVENT_PERMISSION_GRANTED) {
        call->answer = ANSWER_YES;
        call->shown = arena_copy(&agent->history, e->shown);
        if (e->always.n > 0 && e->shown.n > 0)
            map_set(&run->allowed, e->shown, run);
        call_move(agent, call, CALL_WAITING);
        if (e->version >= 4)
            slot_enqueue(run, agent, e->seq); /* it works again */
    } else {
        call->answer = ANSWER_NO;
        refused_add(run, agent, e->tool, e->reason);
    }
    question_clock(run, agent, e);
    return 0;
}

void modified_add(struct run *run, struct agent *agent, struct str files)
{
    size_t known = agent->files_modified.n;
    files_add(agent, &agent->files_modified, files);
    for (size_t i = known; agent->no != 0 && i < agent->files_modified.n; i++) {
        struct str path = agent->files_modified.items[i];
        const struct agent *earlier = map_set(&run->modifiers, path, agent);
        if (earlier == NULL)
            continue;
        agent->clashes = grow(agent->clashes, agent->clash_count, &agent->clash_capacity,
                              sizeof *agent->clashes);
        agent->clashes[agent->clash_count++] = (struct clash){path, earlier->no};
    }
}

int apply_call_finished(struct run *run, struct agent *agent, const struct event *e,
                        struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    reuse_call_ended(run, call, e);
    call->result = arena_copy(&agent->history, e->text.p != NULL ? e->text : STR(""));
    call->outcome =
        e->type == EVENT_TOOL_FINISHED && str_is(e->outcome, "ok") ? TOOL_OK : TOOL_ERROR;
    /* A person approved something else. */
    if (e->type == EVENT_TOOL_FINISHED && e->reason.n > 0)
        refused_add(run, agent, call->call.name, e->reason);
    call_move(agent, call, CALL_DONE);
    question_clock(run, agent, e);
    if (call->plan != NULL)
        agent->clock.steps_blocked = false;
    files_add(agent, &agent->files_read, e->files_read);
    modified_add(run, agent, e->files_modified);
    agent->context_new += budget_estimate(call->result);
    if (--agent->calls_open > 0) {
        slot_yield(run, agent);
        return 0;
    }
    for (size_t i = 0; i < agent->call_count; i++) {
        const struct call *done = &agent->calls[i];
        struct message message = {.role = MESSAGE_TOOL,
                                  .text = done->result,
                                  .call_id = done->call.id,
                                  .origin = done->origin,
                                  .outcome = done->outcome};
        message_push(agent, &message);
    }
    if (run->directed && agent->no == 0)
        agent->response = call->result;
    slot_enqueue(run, agent, e->seq);
    return phase_moves(agent, MOVE_RESULTS) ? 0 : apply_out_of_place(e, err);
}

/* How it ends when the checks pass is kept where that stands for an agent that waits for its jobs. */
int apply_checking(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->children_open > 0 || !phase_moves(agent, MOVE_CHECKING))
        return apply_out_of_place(e, err);
    agent->joining = outcome_parse(e->outcome);
    agent->joining_error = arena_copy(&agent->arena, e->error);
    agent->check_id = arena_printf(&agent->arena, "k%llu", (unsigned long long)e->seq);
    budget_unqueue(run, agent);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    return 0;
}

int apply_checked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (!str_eq(agent->check_id, e->call_id) || !phase_moves(agent, MOVE_CHECKED))
        return apply_out_of_place(e, err);
    agent->checks = str_is(e->outcome, "ok") ? CHECKS_PASSED : CHECKS_DUE;
    agent->evidence = arena_copy(&agent->arena, e->evidence);
    modified_add(run, agent, e->files_modified);
    run->changes++;
    if (agent->slot == SLOT_NONE && str_is(e->outcome, "failed"))
        slot_enqueue(run, agent, e->seq);
    return 0;
}

int apply_calls_held(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_TOOLS || agent->calls_in[CALL_WAITING] == 0)
        return apply_out_of_place(e, err);
    timer_set(run, agent, TIMER_CALLS, e->ts);
    return 0;
}
