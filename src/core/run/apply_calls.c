/* What events do to the tool calls of a reply. Pure. */
#include "core/run/apply.h"

/* The open call that the event is about, or NULL with err. */
static struct call *call_of(struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, e->call_id) : NULL;
    if (call != NULL && call->state != CALL_DONE)
        return call;
    apply_out_of_place(e, err);
    return NULL;
}

int apply_call_requested(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    const struct tool_info *info = tool_info_find(e->tool);
    agent->account.tool_calls++;
    call_move(agent, call,
              info == NULL                  ? CALL_RUNNING
              : info->kind == TOOL_PREPARED ? CALL_PREPARING
              : info->kind == TOOL_CORE     ? CALL_GATHERING
              : info->kind == TOOL_QUESTION ? CALL_ASKED
                                            : CALL_RUNNING);
    if (call->state == CALL_ASKED)
        slot_yield(run, agent);
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
        call_move(agent, call, CALL_ASKED);
        slot_yield(run, agent);
    } else if (e->type == EVENT_PERMISSION_GRANTED) {
        call->answer = ANSWER_YES;
        call_move(agent, call, CALL_WAITING);
    } else {
        call->answer = ANSWER_NO;
    }
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
    call_move(agent, call, CALL_DONE);
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
    agent->phase = PHASE_READY;
    slot_enqueue(run, agent, e->seq);
    return 0;
}

/* How it ends when the checks pass is kept where that stands for an agent that waits for its jobs. */
int apply_checking(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase == PHASE_DONE || agent->children_open > 0)
        return apply_out_of_place(e, err);
    agent->joining = outcome_parse(e->outcome);
    agent->joining_error = arena_copy(&agent->arena, e->error);
    agent->check_id = arena_printf(&agent->arena, "k%llu", (unsigned long long)e->seq);
    agent->phase = PHASE_CHECKING;
    budget_unqueue(run, agent);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    return 0;
}

int apply_checked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_CHECKING || !str_eq(agent->check_id, e->call_id))
        return apply_out_of_place(e, err);
    agent->checks = str_is(e->outcome, "ok") ? CHECKS_PASSED : CHECKS_DUE;
    agent->evidence = arena_copy(&agent->arena, e->evidence);
    modified_add(run, agent, e->files_modified);
    run->changes++;
    agent->phase = PHASE_READY;
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
