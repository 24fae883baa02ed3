/* Where an agent's time went: every stretch between two of its events is charged to what it was doing meanwhile, so that an
 * agent that timed out can say it. What a model request consisted of is known when it ends, from the fact that ends it. A log
 * without such facts has no account, and its errors read as they always did. Pure. */
#include "core/run/apply.h"

#define SHOWN_MS 100 /* parts shorter than this are left to the rest */

static const char *const labels[SPENT_COUNT] = {
    [SPENT_SLOT] = "waiting for a slot",
    [SPENT_BUDGET] = "waiting for budget that others hold",
    [SPENT_ADMISSION] = "waiting for admission",
    [SPENT_FIRST_TOKEN] = "for the first token",
    [SPENT_TOKENS] = "for tokens",
    [SPENT_MODEL] = "waiting for the model",
    [SPENT_BACKOFF] = "before asking again",
    [SPENT_TOOLS] = "in tools",
    [SPENT_CHILDREN] = "waiting for sub-agents",
    [SPENT_ANSWER] = "waiting for an answer",
};

/* Tools and questions go before children: whoever waits for both is held up by its own call. */
static enum spent_on call_place(const struct agent *agent)
{
    const size_t *in = agent->calls_in;
    if (agent->slot == SLOT_QUEUED)
        return SPENT_SLOT;
    if (in[CALL_GATHERING] + in[CALL_PREPARING] + in[CALL_RUNNING] > agent->calls_awaited)
        return SPENT_TOOLS;
    return in[CALL_ASKED] > 0 || agent->pause == PAUSE_ASKED ? SPENT_ANSWER
           : agent->calls_awaited > 0                        ? SPENT_CHILDREN
                                                             : SPENT_TOOLS;
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value == EVENT_ABSENT || value < 0 ? 0 : value < limit ? value : limit;
}

/* A request has ended. Time before it left this program's hands, and after, is nobody's. */
static void charge_request(struct spent *spent, const struct event *e, int64_t passed)
{
    if (e->total_ms == EVENT_ABSENT) {
        spent->ms[SPENT_MODEL] += passed;
        return;
    }
    int64_t total = at_most(e->total_ms, passed);
    int64_t admitted = at_most(e->admitted_ms, total);
    int64_t sent = total - admitted;
    int64_t first = e->first_token_ms == EVENT_ABSENT ? sent : at_most(e->first_token_ms, sent);
    spent->ms[SPENT_ADMISSION] += admitted;
    spent->ms[SPENT_FIRST_TOKEN] += first;
    spent->ms[SPENT_TOKENS] += sent - first;
}

static void charge(struct agent *agent, const struct event *e)
{
    struct spent *spent = &agent->spent;
    int64_t passed = e->ts > spent->until ? e->ts - spent->until : 0;
    bool answered = e->type == EVENT_MODEL_REPLIED || e->type == EVENT_MODEL_FAILED;
    if (agent->phase == PHASE_ASKING && !answered)
        return;
    spent->until = e->ts;
    if (passed == 0)
        return;
    if (agent->phase == PHASE_ASKING)
        charge_request(spent, e, passed);
    else if (agent->phase == PHASE_READY && agent->pause == PAUSE_ASKED)
        spent->ms[SPENT_ANSWER] += passed;
    else if (agent->phase == PHASE_READY)
        spent->ms[agent->slot == SLOT_QUEUED ? SPENT_SLOT : SPENT_BUDGET] += passed;
    else if (agent->phase == PHASE_BACKOFF)
        spent->ms[SPENT_BACKOFF] += passed;
    else if (agent->phase == PHASE_CHECKING)
        spent->ms[SPENT_TOOLS] += passed;
    else if (agent->phase == PHASE_TOOLS)
        spent->ms[call_place(agent)] += passed;
}

void spent_before(struct run *run, struct agent *agent, const struct event *e)
{
    if (e->type == EVENT_SUBAGENT_CREATED)
        agent = agent_to_change(run, e->parent_no >= 0 ? (uint32_t)e->parent_no : UINT32_MAX);
    if (agent == NULL)
        return;
    if ((e->type == EVENT_MODEL_REPLIED || e->type == EVENT_MODEL_FAILED) &&
        e->total_ms != EVENT_ABSENT)
        run->times = TIMES_KNOWN;
    if (e->type == EVENT_RUN_STARTED || e->type == EVENT_SUBAGENT_STARTED) {
        agent->spent = (struct spent){.since = e->ts, .until = e->ts};
        return;
    }
    charge(agent, e);
    if (e->type == EVENT_SUBAGENT_ATTEMPT) {
        agent->spent.attempt_since = e->ts;
        memcpy(agent->spent.earlier, agent->spent.ms, sizeof agent->spent.earlier);
    }
}

void spent_shift(struct run *run, int64_t by)
{
    for (uint32_t no = 0; no < run->agent_count; no++) {
        struct spent *spent = &agent_to_change(run, no)->spent;
        spent->since += by;
        spent->attempt_since += by;
        spent->until += by;
    }
}

static void add_part(struct buf *out, int64_t ms, const char *label)
{
    if (ms >= SHOWN_MS)
        buf_printf(out, "%s%lld.%lld s %s", out->n > 0 ? ", " : "", (long long)(ms / 1000),
                   (long long)(ms % 1000 / 100), label);
}

struct str spent_explain(struct deciding *d, const struct agent *agent, struct str reason)
{
    const struct spent *spent = &agent->spent;
    bool whole = spent->timer == TIMER_WALL;
    int64_t passed = d->now - (whole ? spent->since : spent->attempt_since), rest = passed;
    struct buf parts;
    if (d->run->times != TIMES_KNOWN)
        return reason;
    buf_init(&parts, 4096);
    for (int i = 0; i < SPENT_COUNT; i++) {
        int64_t ms = spent->ms[i] - (whole ? 0 : spent->earlier[i]);
        add_part(&parts, ms, labels[i]);
        rest -= ms >= SHOWN_MS ? ms : 0;
    }
    add_part(&parts, rest, "for everything else");
    struct str text = arena_printf(&d->out->arena, "timed out after %lld.%lld s: %.*s (%.*s)",
                                   (long long)(passed / 1000), (long long)(passed % 1000 / 100),
                                   STR_FMT(buf_view(&parts)), STR_FMT(reason));
    buf_release(&parts);
    return text;
}

/* --- which limit it was ---------------------------------------------------------------------------- */

#define KEY_TIMEOUT "sub_agent.default_budget.timeout_ms"
#define KEY_ATTEMPT "sub_agent.attempt_timeout_ms"

static const char *wall_key(const struct run *run, const struct agent *agent)
{
    const struct contract *contract = &agent->contract;
    int64_t limit = contract_deadline_ms(contract);
    if (agent->no == 0)
        return "budget.wall_ms";
    if (contract->execution.budget.wall_ms == UNLIMITED)
        return limit < run->settings.max_wall_ms ? "all that its parent had left"
                                                 : "sub_agent.max_wall_ms";
    for (size_t i = 0; i < contract->receipt.clamp_count; i++) {
        if (str_is(contract->receipt.clamps[i].field, "execution.budget.wall_ms"))
            return "all that its parent had left";
    }
    bool configured = limit == run->settings.child.wall_ms && contract->agent.role.n == 0;
    return configured ? KEY_TIMEOUT : "timeout_ms of its call";
}

struct str spent_used_up(struct deciding *d, const struct agent *agent, enum timer_kind kind)
{
    bool whole = kind == TIMER_WALL;
    int64_t limit = whole ? contract_deadline_ms(&agent->contract)
                          : agent->contract.execution.attempt_timeout_ms;
    return arena_printf(&d->out->arena, "%s of %lld ms is used up: %s",
                        whole ? "wall time" : "the time of one attempt", (long long)limit,
                        whole ? wall_key(d->run, agent) : KEY_ATTEMPT);
}

static const char *silence_key(const struct run *run, const struct agent *agent)
{
    const struct contract *contract = &agent->contract;
    if (run->settings.idle_timeout_ms > 0)
        return "sub_agent.idle_timeout_ms";
    if (contract->execution.budget.wall_ms != UNLIMITED)
        return KEY_ATTEMPT;
    return contract->agent.role.n > 0 ? "its role; timeout_ms of the call sets a limit"
                                      : KEY_TIMEOUT;
}

struct str spent_silent(struct deciding *d, const struct agent *agent, int64_t ms, struct str tool)
{
    return arena_printf(&d->out->arena, "no sign of life for %lld.%lld s from %s%.*s: %s",
                        (long long)(ms / 1000), (long long)(ms % 1000 / 100),
                        tool.n > 0 ? "the tool " : "its model", STR_FMT(tool),
                        silence_key(d->run, agent));
}
