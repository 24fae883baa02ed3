/* Questions whether a call may be made or a step may start: what they show, and what a person's answer says, become events. Pure. */
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/plan_run.h"

#define REASON_MAX 2000 /* bytes of a reason */

/* --- what a question shows ---------------------------------------------------------------------------------------------------- */

bool run_asked(const struct run *run, uint32_t agent_no, struct str id, struct arena *arena,
               struct run_question *question)
{
    const struct agent *agent = agent_no < run->agent_count ? run_agent_at(run, agent_no) : NULL;
    size_t step = 0;
    if (agent == NULL)
        return false;
    const struct call *call = plan_step_asked(agent, id, &step);
    if (call != NULL) {
        struct buf terms;
        buf_init(&terms, 1 << 20);
        plan_step_terms(run, agent, call, step, &terms);
        *question = (struct run_question){.kind = ASKED_STEP,
                                          .tool = STR("plan"),
                                          .arguments = arena_copy(arena, buf_view(&terms)),
                                          .offered = call->plan->offered[step]};
        buf_release(&terms);
        return true;
    }
    call = call_find(agent, id);
    if (call == NULL || call->state != CALL_ASKED || call_is_question(call))
        return false;
    *question = (struct run_question){.kind = ASKED_CALL,
                                      .tool = tool_normal_name(call->call.name),
                                      .arguments = call->call.arguments,
                                      .offered = call->offered};
    return true;
}

void consent_shown(struct deciding *d, const struct agent *agent, const struct input *input)
{
    size_t step = 0;
    const struct call *call = plan_step_asked(agent, input->call_id, &step);
    bool of_step = call != NULL;
    if (call == NULL && agent->phase == PHASE_TOOLS)
        call = call_find(agent, input->call_id);
    if (call == NULL || (!of_step && (call->state != CALL_ASKED || call_is_question(call))) ||
        str_eq(of_step ? call->plan->offered[step] : call->offered, input->shown))
        return;
    struct event *e = fact(d, agent->no, EVENT_PERMISSION_SHOWN);
    e->call_id = keep(d, call->call.id);
    if (of_step)
        e->item = (int64_t)step;
    e->shown = input->shown;
    e->preview = sound_json(input->preview, STR_NONE);
    e->secrets = input->secrets > 0 ? input->secrets : EVENT_ABSENT;
    emit(d, e);
}

/* --- answers -------------------------------------------------------------------------------------------------------------------- */

struct str consent_hash(struct deciding *d, const struct js *body)
{
    struct hash ignored;
    struct str shown = js_get_str(body, "shown");
    return hash_parse(shown, &ignored) ? keep(d, shown) : STR_NONE;
}

/* A yes that was given to something else is not a yes. */
static void refuse_yes(struct deciding *d, const struct agent *agent, const struct call *call,
                       struct str shown)
{
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->shown = shown;
    e->reason = shown.n > 0 ? STR("what it would do has changed since it was approved")
                            : STR("the approval did not say what was shown (`shown`)");
    e->depth = agent->contract.agent.depth;
    emit(d, e);
    call_finish(d, agent, call, TOOL_ERROR,
                shown.n > 0
                    ? STR("Error: this call was not made: what it would do has changed since the "
                          "user approved it. Look at the files again; the user will be asked anew.")
                    : STR("Error: this call was not made: the approval did not say what the user "
                          "had been shown. Try it again; the user will be asked anew."));
}

void consent_grant(struct deciding *d, const struct agent *agent, const struct call *call,
                   const struct js *body)
{
    struct str always = js_get_str(body, "always");
    struct str shown = consent_hash(d, body);
    if (shown.n == 0 || (call->offered.n > 0 && !str_eq(call->offered, shown))) {
        refuse_yes(d, agent, call, shown);
        return;
    }
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_GRANTED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->shown = shown;
    if (str_is(always, "session") || str_is(always, "project"))
        e->always = keep(d, always);
    if (js_get_str(body, "reason").n > 0)
        e->reason = keep(d, utf8_cut(js_get_str(body, "reason"), REASON_MAX));
    emit(d, e);
}

/* A reason is told to the model; "nobody": whoever was there has gone. */
void consent_refuse(struct deciding *d, const struct agent *agent, const struct call *call,
                    const struct js *body)
{
    bool gone = str_is(js_get_str(body, "answer"), "nobody");
    struct str reason = utf8_cut(js_get_str(body, "reason"), REASON_MAX);
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->shown = consent_hash(d, body);
    e->reason = gone ? STR("nobody is there to be asked any more")
                : reason.n > 0
                    ? arena_printf(&d->out->arena, "the user said no: %.*s", STR_FMT(reason))
                    : STR("the user said no");
    e->depth = agent->contract.agent.depth;
    emit(d, e);
    call_finish(d, agent, call, TOOL_ERROR,
                gone ? STR("Error: nobody is there to be asked any more, so this call was not "
                           "made. Find another way or stop.")
                : reason.n > 0
                    ? arena_printf(&d->out->arena,
                                   "Error: the user refused this call: %.*s\nDo not try the "
                                   "same again.",
                                   STR_FMT(reason))
                    : STR("Error: the user refused this call. Do not try it again; find another "
                          "way or stop."));
}
