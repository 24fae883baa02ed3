/* The checks of a contract: commands that come from config, never from a model, and that must succeed before an agent's work counts
 * as done. They run when nothing of the agent is open any more. One that fails is told to the agent, which is corrected as often as
 * for its schema (answer.c), and then fails. What they showed goes into the result. Pure. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/state.h"

#define ERROR_BYTES 400 /* of what a failed check said, in the agent's error */

struct str checks_json(struct deciding *d, const struct list *checks)
{
    struct buf out;
    struct jw w;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < checks->n; i++)
        jw_str(&w, checks->items[i]);
    jw_end_array(&w);
    struct str json = keep(d, buf_view(&out));
    buf_release(&out);
    return json;
}

static void begin(struct deciding *d, const struct agent *agent, enum outcome outcome,
                  struct str error)
{
    struct str checks = checks_json(d, &agent->contract.outputs.checks);
    struct event *e = draft(d, agent->no, EVENT_AGENT_CHECKING);
    e->outcome = str_from(outcome_text(outcome));
    e->error = error;
    e->checks = checks;
    emit(d, e);
    if (d->failed)
        return;
    struct effect *effect =
        effect_add(d, EFFECT_CHECK, EFFECT_OUTWARD, agent, keep(d, agent->check_id));
    effect->arguments = checks;
    effect->max_result = call_result_bytes(d->run, agent);
    effect_seal(d, effect);
}

bool checks_begin(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    if (agent->contract.outputs.checks.n == 0 || agent->checks == CHECKS_PASSED ||
        agent->stopping != OUTCOME_NONE || !ending_worked(ending->outcome))
        return false;
    begin(d, agent, ending->outcome, ending->error);
    return true;
}

void checks_resume(struct deciding *d, const struct agent *agent)
{
    if (agent->stopping == OUTCOME_NONE) {
        begin(d, agent, agent->joining, keep(d, agent->joining_error));
        return;
    }
    struct event *e = draft(d, agent->no, EVENT_AGENT_CHECKED);
    e->call_id = keep(d, agent->check_id);
    e->outcome = STR("not_run");
    e->text = STR("Error: stopped before they ended.");
    emit(d, e);
    agent_continue(d, agent);
}

void checks_ended(struct deciding *d, const struct agent *agent, enum checked checked,
                  struct str text)
{
    bool last = agent->turns == TURNS_LAST || agent->corrections >= CORRECTIONS_MAX;
    struct str said = utf8_cut(text, ERROR_BYTES);
    if (d->failed)
        return;
    if (agent->stopping != OUTCOME_NONE) {
        agent_continue(d, agent);
    } else if (checked == CHECKED_OK) {
        agent_finish(d, agent, agent->joining, keep(d, agent->joining_error));
    } else if (checked == CHECKED_NOT_RUN || last) {
        agent_finish(d, agent, OUTCOME_ERROR,
                     arena_printf(&d->out->arena, "%s: %.*s",
                                  checked == CHECKED_NOT_RUN ? "its checks could not be run"
                                                             : "its work does not pass its checks",
                                  STR_FMT(said)));
    } else {
        message_add(d, agent, "user", "check",
                    arena_printf(&d->out->arena,
                                 "Your work does not pass its checks. %.*s\nMake it pass, then "
                                 "answer again.",
                                 STR_FMT(text)));
        agent_continue(d, agent);
    }
}
