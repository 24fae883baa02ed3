/* Whether a call is made, asked for or refused: CONTRACT.md, "Asking", applied to one call as things are when it is made. The table
 * itself is permission.c's; here its facts are collected, and questions wait and are given up. Pure. */
#include "base/utf8.h"
#include "core/run/apply.h"

#define REASON_BYTES_MAX 400 /* of what a result says about one refusal */

/* In files of cadre's, its own or those of an agent above it. */
static enum call_place place_of(const struct run *run, const struct agent *agent)
{
    for (;; agent = run->agents[agent->parent_no]) {
        bool own = agent->tree != NULL &&
                   (agent->tree->state == TREE_THERE || agent->tree->state == TREE_LEAVING);
        if (own)
            return PLACE_TREE;
        if (agent->no == 0)
            return PLACE_USERS_FILES;
    }
}

struct call_facts call_facts(const struct run *run, const struct agent *agent, struct str tool)
{
    const struct tool_info *info = tool_info_find(tool);
    struct call_facts facts = {.kind = agent->no == 0 ? AGENT_ROOT : AGENT_CHILD,
                               .mode = agent->contract.permissions.mode,
                               .group = info != NULL ? info->group : GROUP_OTHER,
                               .place = place_of(run, agent),
                               .walls = run->walls,
                               .network = NETWORK_FULL,
                               .asker = run->asker};
    /* A word that is not known counts as all of the network. */
    network_parse(agent->contract.permissions.network, &facts.network);
    if (facts.kind == AGENT_CHILD && run->settings.children_refused == SWITCH_ON)
        facts.asker = ASKER_NOBODY;
    return facts;
}

static void explain(const struct run *run, const struct agent *agent, struct str tool,
                    struct err *err)
{
    struct call_facts facts = call_facts(run, agent, tool);
    enum permission value = contract_tool_mode(&agent->contract, tool_normal_name(tool));
    struct buf why;
    buf_init(&why, sizeof err->message);
    permission_refusal(tool_normal_name(tool), value, &facts, &why);
    if (facts.asker != run->asker)
        buf_text(&why, "; or \"sub_agent: {ask: allow}\" on a terminal");
    err_set(err, ERR_DENIED, "%.*s", STR_FMT(buf_view(&why)));
    buf_release(&why);
}

enum permission call_judge(const struct run *run, const struct agent *agent, struct str tool,
                           struct err *err)
{
    const struct tool_info *info = tool_info_find(tool);
    enum permission value = contract_permits(&agent->contract, tool, err);
    if (value == PERMIT_DENY)
        return PERMIT_DENY;
    /* The contract was made when somebody was there. */
    if (info != NULL && info->group == GROUP_ASK && run->asker != ASKER_TERMINAL) {
        err_set(err, ERR_DENIED, "tool \"ask_user\" is denied: nobody is there to answer");
        return PERMIT_DENY;
    }
    struct call_facts facts = call_facts(run, agent, tool);
    enum permission decided = permission_decide(value, &facts);
    if (decided == PERMIT_DENY)
        explain(run, agent, tool, err);
    return decided;
}

/* --- questions that wait ------------------------------------------------------------------------------------------------- */

void call_ask_again(struct deciding *d, const struct agent *agent, const struct call *call)
{
    bool question = call_is_question(call);
    if (question && d->run->asker != ASKER_TERMINAL)
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: nobody can answer now. Decide it yourself, or stop and say what is "
                        "missing."));
    else if (question)
        call_ask(d, agent, call);
    else
        call_ask_permission(d, agent, call);
}

static void refuse(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct err why = ERR_INIT;
    explain(d->run, agent, call->call.name, &why);
    struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
    e->call_id = keep(d, call->call.id);
    e->tool = keep(d, call->call.name);
    e->reason = keep(d, str_from(why.message));
    e->depth = agent->contract.agent.depth;
    emit(d, e);
    call_finish(d, agent, call, TOOL_ERROR, arena_printf(&d->out->arena, "Error: %s", why.message));
}

/* Refuses what nobody can be asked about any more. True: somebody can be asked about the rest. */
static bool refuse_unasked(struct deciding *d, const struct agent *agent)
{
    bool rest = false;
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count && !d->failed; i++) {
        const struct call *call = &agent->calls[i];
        if (call->state != CALL_ASKED || call_is_question(call))
            continue;
        if (call_facts(d->run, agent, call->call.name).asker == ASKER_NOBODY)
            refuse(d, agent, call);
        else
            rest = true;
    }
    return rest;
}

void question_overdue(struct deciding *d, const struct agent *agent)
{
    if (agent->stopping != OUTCOME_NONE)
        return;
    if (!refuse_unasked(d, agent)) {
        agent_continue(d, agent);
        return;
    }
    run_park(d, STR_NONE,
             arena_printf(&d->out->arena,
                          "nobody answered the question of %.*s within %lld s "
                          "(approvals.timeout_ms); `cadre resume` puts it again",
                          STR_FMT(agent->contract.agent.name),
                          (long long)(d->run->settings.question_timeout_ms / 1000)));
}

/* Where nobody is there, an answer may still lie in the inbox: the new owner hears it before the timer. */
void question_clock(struct run *run, struct agent *agent, const struct event *e)
{
    int64_t limit = run->settings.question_timeout_ms;
    bool waits = agent->calls_in[CALL_ASKED] > 0;
    if (e->type == EVENT_PERMISSION_ASKED && str_is(e->asker, "inbox") && limit > 0) {
        if (agent->timers[TIMER_QUESTION] == 0)
            timer_set(run, agent, TIMER_QUESTION, e->ts + limit);
    } else if (e->type == EVENT_PERMISSION_ASKED && str_is(e->asker, "nobody")) {
        timer_set(run, agent, TIMER_QUESTION, e->ts);
    } else if (!waits || e->type == EVENT_PERMISSION_ASKED) {
        timer_set(run, agent, TIMER_QUESTION, 0);
    }
}

/* --- refusals are counted -------------------------------------------------------------------------------------------------- */

static void add_reason(struct agent *agent, struct str reason)
{
    if (agent->refused.reasons.n >= REFUSED_REASONS_MAX ||
        (agent->refused.reasons.state == LIST_SET && list_has(&agent->refused.reasons, reason)))
        return;
    list_add(&agent->arena, &agent->refused.reasons, arena_copy(&agent->arena, reason));
}

void refused_add(struct run *run, struct agent *agent, struct str tool, struct str why)
{
    struct buf reason;
    buf_init(&reason, 4 * REASON_BYTES_MAX);
    if (!str_starts(why, STR("tool \""))) {
        utf8_clean(&reason, utf8_cut(tool, 64), UTF8_ONE_LINE);
        buf_text(&reason, ": ");
    }
    utf8_clean(&reason, utf8_cut(why, REASON_BYTES_MAX), UTF8_ONE_LINE);
    for (;; agent = agent_to_change(run, agent->parent_no)) {
        agent->refused.count++;
        add_reason(agent, buf_view(&reason));
        if (agent->no == 0)
            break;
    }
    buf_release(&reason);
}
