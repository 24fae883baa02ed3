/* A provider's trouble: which models of a pool are left out, for how long a request is tried
 * again, and when the run parks. What is known of providers is state of the run, derived from
 * model.failed and model.replied: it holds for all agents together. Pure. */
#include "base/mark.h"
#include "base/utf8.h"
#include "core/contract/money.h"
#include "core/run/apply.h"

#define LEFT_OUT_MS 300000      /* a model whose server timed out or could not be reached */
#define NEVER_ANSWERED_MS 15000 /* for a provider from which nothing ever came in this run */
#define ALIKE_MAX 3             /* status 500 with the same body, for one request */
/* Tries of a request that break without a word, before the run parks for them. */
#define BREAKS_CHANCE 2
#define REASON_BYTES 300 /* of an error, kept for each model that is left out */
#define FOR_THE_RUN INT64_MAX

/* --- what is known -------------------------------------------------------------------------- */

void members_open(struct run *run)
{
    size_t n = run->settings.model_count;
    run->members = arena_alloc(&run->arena, (n + 1) * sizeof *run->members);
    for (size_t i = 0; i < n; i++)
        run->members[i] = (struct member){.out_until = 0};
}

static struct member *member_of(const struct run *run, struct str name)
{
    for (size_t i = 0; i < run->settings.model_count; i++) {
        if (str_eq(run->settings.models[i].name, name))
            return &run->members[i];
    }
    return NULL;
}

/* The record that all models of the same provider share. */
static struct member *provider_of(const struct run *run, struct str name)
{
    const struct model_settings *model = settings_model(&run->settings, name);
    for (size_t i = 0; model != NULL && i < run->settings.model_count; i++) {
        const struct model_settings *other = &run->settings.models[i];
        if (str_eq(other->provider, model->provider) && str_eq(other->base_url, model->base_url))
            return &run->members[i];
    }
    return NULL;
}

/* Whether a failure with this status comes from a server that speaks the API. A good status
 * with a body that cannot be read does not: it may be any web page. */
static bool is_answer(int64_t status)
{
    return status >= 400;
}

static bool is_final_status(int64_t status)
{
    return status == 401 || status == 402 || status == 403 || status == 404 || status == 410;
}

/* Until when a failure leaves its model out of pools; 0: it does not. */
static int64_t left_out_until(enum err_class class, int64_t http_status, enum model_trouble trouble,
                              int64_t now)
{
    if (trouble == TROUBLE_FINAL || (is_final_status(http_status) && trouble != TROUBLE_FILTERED))
        return FOR_THE_RUN;
    bool unreachable = class == ERR_TIMEOUT || (class == ERR_RETRY && http_status == 0);
    return unreachable ? now + LEFT_OUT_MS : 0;
}

void member_answered(struct run *run, const struct agent *agent, int64_t now)
{
    struct member *member = member_of(run, agent->model_asked);
    struct member *provider = provider_of(run, agent->model_asked);
    if (member == NULL)
        return;
    member->out_until = 0;
    provider->answered = true;
    provider->answered_at = now;
}

void member_failed(struct run *run, const struct agent *agent, const struct event *e)
{
    struct member *member = member_of(run, agent->model_asked);
    struct member *provider = provider_of(run, agent->model_asked);
    enum err_class class = err_class_parse(e->class);
    int64_t status = event_number(e->http_status, 0);
    if (member == NULL || class == ERR_CANCELLED)
        return;
    if (is_answer(status) || e->partial.n > 0)
        provider->answered = true;
    else if (provider->failing_since == 0)
        provider->failing_since = e->ts;
    int64_t until = left_out_until(class, status, model_trouble_parse(e->trouble), e->ts);
    if (until <= member->out_until)
        return;
    member->out_until = until;
    member->why = arena_copy(&run->arena, utf8_cut(e->error, REASON_BYTES));
}

void members_print(const struct run *run, struct buf *out)
{
    for (size_t i = 0; run->members != NULL && i < run->settings.model_count; i++) {
        const struct member *m = &run->members[i];
        buf_printf(out, "member %.*s out=%lld:%.*s answered=%d:%lld failing=%lld\n",
                   STR_FMT(run->settings.models[i].name), (long long)m->out_until, STR_FMT(m->why),
                   (int)m->answered, (long long)m->answered_at, (long long)m->failing_since);
    }
}

/* --- a request's own trouble ---------------------------------------------------------------- */

void patience_forget(struct run *run, struct agent *agent)
{
    agent->patience =
        (struct patience){.broken = agent->patience.broken, .breaks = agent->patience.breaks};
    timer_set(run, agent, TIMER_PATIENCE, 0);
}

void broken_add(struct agent *agent, const struct event *e, struct amount used)
{
    enum err_class class = err_class_parse(e->class);
    if (e->version < 3 || request_is_billed(e) || (class != ERR_RETRY && class != ERR_TIMEOUT))
        return;
    struct patience *p = &agent->patience;
    p->broken.tokens += used.tokens;
    p->broken.cost_nano += used.cost_nano;
    /* One or two may be chance, and end what they used up like everything else that is spent. */
    if (++p->breaks > BREAKS_CHANCE)
        budget_break(&agent->account, p->breaks == BREAKS_CHANCE + 1 ? p->broken : used);
}

void broken_keep(struct agent *agent)
{
    if (agent->patience.breaks > BREAKS_CHANCE)
        budget_keep_broken(&agent->account, agent->patience.broken);
    agent->patience.broken = (struct amount){0, 0};
    agent->patience.breaks = 0;
}

void broken_forgive(struct run *run)
{
    for (uint32_t no = 0; no < run->agent_count; no++) {
        struct agent *agent = agent_to_change(run, no);
        if (agent->patience.breaks > BREAKS_CHANCE)
            budget_forgive(&agent->account, agent->patience.broken);
        agent->patience.broken = (struct amount){0, 0};
        agent->patience.breaks = 0;
    }
}

/* Status 500 with the same body, this one included. */
static int64_t alike(const struct agent *agent, int64_t status, struct str error)
{
    const struct patience *p = &agent->patience;
    if (status != 500)
        return p->alike;
    return p->alike > 0 && p->mark == mark_str(0, error) ? p->alike + 1 : 1;
}

void patience_failed(struct run *run, struct agent *agent, const struct event *e)
{
    struct patience *p = &agent->patience;
    int64_t status = event_number(e->http_status, 0);
    p->alike = alike(agent, status, e->error);
    if (status == 500)
        p->mark = mark_str(0, e->error);
    if (e->retry_at == EVENT_ABSENT)
        return;
    p->waits++;
    p->why = arena_copy(&agent->history, utf8_cut(e->error, REASON_BYTES));
    if (p->since != 0)
        return;
    p->since = e->ts;
    timer_set(run, agent, TIMER_PATIENCE, e->ts + run->settings.patience_ms);
}

/* A request that is held back while its provider answers others only waits for its turn: until when
 * it may, from the last of those answers; 0: there was none. */
int64_t patience_rest(const struct run *run, const struct agent *agent)
{
    const struct member *provider = provider_of(run, agent->model_asked);
    bool waits = agent->phase == PHASE_ASKING && agent->held == HELD_NOW;
    return waits && provider != NULL && provider->answered_at > agent->patience.since
               ? provider->answered_at + run->settings.patience_ms
               : 0;
}

void patience_anew(struct run *run)
{
    for (uint32_t no = 0; no < run->agent_count; no++)
        patience_forget(run, agent_to_change(run, no));
    for (size_t i = 0; i < run->settings.model_count; i++)
        run->members[i].failing_since = 0;
}

/* --- pools ---------------------------------------------------------------------------------- */

/* The models that may answer for the agent: the contract's, then those behind it in its pool.
 * STR_NONE behind the last. */
static struct str candidate(const struct run *run, const struct agent *agent, size_t at)
{
    const struct pool *pool = settings_pool(&run->settings, agent->contract.model.pool);
    bool behind = false;
    if (at == 0)
        return agent->contract.model.name;
    for (size_t i = 0; pool != NULL && i < pool->models.n; i++) {
        if (behind && list_has(&agent->contract.model.allowed_models, pool->models.items[i]) &&
            --at == 0)
            return pool->models.items[i];
        behind = behind || str_eq(pool->models.items[i], agent->contract.model.name);
    }
    return STR_NONE;
}

static int64_t out_until(const struct run *run, struct str name)
{
    const struct member *member = member_of(run, name);
    return member != NULL ? member->out_until : 0;
}

struct str pool_pick(const struct run *run, const struct agent *agent, int64_t now)
{
    struct str name, best = STR_NONE;
    int64_t least = FOR_THE_RUN;
    if (agent->model_now.n > 0)
        return agent->model_now;
    if (candidate(run, agent, 1).n == 0)
        return candidate(run, agent, 0); /* no other model can stand in for it */
    for (size_t i = 0; (name = candidate(run, agent, i)).n > 0; i++) {
        int64_t until = out_until(run, name);
        if (until <= now)
            return name;
        if (until < least) {
            least = until;
            best = name;
        }
    }
    return best;
}

struct str run_fallback(const struct run *run, const struct agent *agent, int64_t now)
{
    struct str name;
    bool behind = false;
    for (size_t i = 0; (name = candidate(run, agent, i)).n > 0; i++) {
        if (behind && out_until(run, name) <= now)
            return name;
        behind = behind || str_eq(name, agent->model_asked);
    }
    return STR_NONE;
}

/* Whether another model than the one that was asked may be asked again in this run. */
static bool others_remain(const struct run *run, const struct agent *agent)
{
    struct str name;
    for (size_t i = 0; (name = candidate(run, agent, i)).n > 0; i++) {
        if (!str_eq(name, agent->model_asked) && out_until(run, name) != FOR_THE_RUN)
            return true;
    }
    return false;
}

struct str pool_error(struct deciding *d, const struct agent *agent, struct str last)
{
    struct buf out;
    struct str name;
    buf_init(&out, SIZE_MAX / 4);
    buf_printf(&out, "no model of the pool \"%.*s\" can be asked again in this run",
               STR_FMT(agent->contract.model.pool));
    for (size_t i = 0; (name = candidate(d->run, agent, i)).n > 0; i++) {
        const struct member *member = member_of(d->run, name);
        bool asked = last.p != NULL && str_eq(name, agent->model_asked);
        struct str why = asked ? last : member != NULL ? member->why : STR_NONE;
        buf_printf(&out, "%s %.*s: %.*s", i == 0 ? ":" : ";", STR_FMT(name), STR_FMT(why));
    }
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}

/* --- what follows from a failure ------------------------------------------------------------ */

/* When models that never answered have had their time; 0: one of those that may be asked has
 * answered. */
static int64_t unanswered_until(const struct deciding *d, const struct agent *agent,
                                const struct model_failure *failure)
{
    struct str name;
    int64_t until = 1;
    for (size_t i = 0; (name = candidate(d->run, agent, i)).n > 0; i++) {
        const struct member *provider = provider_of(d->run, name);
        bool asked = str_eq(name, agent->model_asked);
        if (provider == NULL || out_until(d->run, name) == FOR_THE_RUN)
            continue;
        if (provider->answered ||
            (asked && (is_answer(failure->http_status) || failure->partial.n > 0)))
            return 0;
        int64_t since = provider->failing_since > 0 ? provider->failing_since : d->now;
        until = since + NEVER_ANSWERED_MS > until ? since + NEVER_ANSWERED_MS : until;
    }
    return until;
}

struct verdict patience_verdict(struct deciding *d, const struct agent *agent,
                                const struct model_failure *failure)
{
    bool retryable = (failure->class == ERR_RETRY || failure->class == ERR_TIMEOUT) &&
                     alike(agent, failure->http_status, failure->message) < ALIKE_MAX;
    bool final = left_out_until(failure->class, failure->http_status, failure->trouble, d->now) ==
                 FOR_THE_RUN;
    bool others = others_remain(d->run, agent);
    struct verdict verdict = {.kind = VERDICT_END, .text = failure->message};
    if (agent->stopping != OUTCOME_NONE || failure->class == ERR_CANCELLED)
        return verdict;
    if (failure->trouble == TROUBLE_OVERFLOW && turn_refits(agent))
        return (struct verdict){.kind = VERDICT_REFIT};
    struct str fallback = run_fallback(d->run, agent, d->now);
    if (fallback.n > 0)
        return (struct verdict){.kind = VERDICT_NEXT, .text = keep(d, fallback)};
    if (final && !others && candidate(d->run, agent, 1).n > 0) {
        verdict.text = pool_error(d, agent, failure->message);
        return verdict;
    }
    if (!retryable && !(final && others))
        return verdict;
    int64_t unanswered = unanswered_until(d, agent, failure);
    int64_t since = agent->patience.since > 0 ? agent->patience.since : d->now;
    int64_t limit = unanswered > 0 ? unanswered : since + d->run->settings.patience_ms;
    if (d->now >= limit) {
        verdict.kind = unanswered > 0 ? VERDICT_END : VERDICT_PARK;
        return verdict;
    }
    int64_t at = d->now + retry_delay(d->run, agent, failure);
    return (struct verdict){.kind = VERDICT_WAIT, .at = at < limit ? at : limit};
}

void patience_over(struct deciding *d, const struct agent *agent)
{
    if (agent->timers[TIMER_PATIENCE] > d->now)
        return;
    /* A request that is really out may still be answered; its failure parks the run. */
    if (agent->phase == PHASE_BACKOFF || (agent->phase == PHASE_ASKING && agent->held == HELD_NOW))
        run_park(d, agent->model_asked, agent->patience.why);
}

/* The timer may have fired after the request was started and before it was held back. */
void patience_held(struct deciding *d, const struct agent *agent)
{
    int64_t since = agent->patience.since;
    if (since > 0 && d->now >= since + d->run->settings.patience_ms &&
        d->now >= patience_rest(d->run, agent))
        patience_over(d, agent);
}

/* The request is asked again by the resume. Aborting makes its failure come, which says whether it was ever sent. */
static void park(struct deciding *d, struct event *e)
{
    struct event parked = *e;
    due_settle(d); /* whoever is to hear of an end hears of it before */
    if (d->run->status != RUN_RUNNING)
        return;
    emit(d, &parked);
    for (uint32_t no = 0; no < d->run->agent_count && !d->failed; no++) {
        const struct agent *agent = d->run->agents[no];
        if (agent->phase == PHASE_ASKING)
            effect_abort(d, agent, agent->request_id);
    }
}

void run_park(struct deciding *d, struct str model, struct str why)
{
    const struct model_settings *asked = settings_model(&d->run->settings, model);
    struct event *e = draft(d, 0, EVENT_RUN_PARKED);
    if (asked != NULL) {
        e->provider = keep(d, asked->provider);
        e->reason = arena_printf(&d->out->arena, "the provider did not recover within %lld s: %.*s",
                                 (long long)(d->run->settings.patience_ms / 1000), STR_FMT(why));
    } else {
        e->reason = keep(d, why);
    }
    park(d, e);
}

void run_park_broken(struct deciding *d, const struct agent *agent)
{
    const struct model_settings *asked = settings_model(&d->run->settings, agent->model_asked);
    const struct amount *broken = &run_agent_at(d->run, 0)->account.broken;
    struct event *e = draft(d, 0, EVENT_RUN_PARKED);
    struct buf out;
    struct jw w;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    buf_printf(&out, "requests that broke without an answer may have cost up to %lld tokens and $",
               (long long)broken->tokens);
    money_print(&w, broken->cost_nano);
    buf_printf(&out,
               ", and what is left of the budget does not pay for another (`--forgive-broken` of "
               "`cadre resume` counts them no longer)%s%.*s",
               agent->patience.why.n > 0 ? ": " : "", STR_FMT(agent->patience.why));
    e->kind = STR("broken");
    e->provider = asked != NULL ? keep(d, asked->provider) : STR_NONE;
    e->reason = keep(d, buf_view(&out));
    buf_release(&out);
    park(d, e);
}
