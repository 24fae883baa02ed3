/* Which limit of its budget an agent came to, and what sets it, for people: "15 tool calls (KEY)". A contract has the values of
 * limits and not who set them: that follows from its door, its role, its clamps and the settings. Limits of time are spent.c's.
 * Pure. */
#include "core/contract/money.h"
#include "core/run/state.h"

#define KEY_CHILD_CALLS "sub_agent.default_budget.max_tool_calls"
#define KEY_CHILD_CONTEXT "sub_agent.default_budget.max_tokens"
#define KEY_PAUSE "safety.circuit_breaker.pause_at"
#define KEY_HARD_STOP "safety.circuit_breaker.hard_stop_at"
#define KEY_WARN "safety.circuit_breaker.warn_at"
#define TEXT_MAX 1024

static struct str text_of(struct deciding *d, struct buf *out)
{
    struct str text = keep(d, buf_view(out));
    buf_release(out);
    return text;
}

/* --- tool calls ------------------------------------------------------------------------------------ */

static bool is_clamped(const struct contract *contract, const char *field)
{
    for (size_t i = 0; i < contract->receipt.clamp_count; i++) {
        if (str_is(contract->receipt.clamps[i].field, field))
            return true;
    }
    return false;
}

static bool door_takes_calls(enum door door)
{
    return door == DOOR_SPAWN_AGENT || door == DOOR_FAN_OUT;
}

static void add_child_calls_key(struct buf *out, const struct run *run,
                                const struct contract *contract)
{
    int64_t limit = contract->execution.budget.tool_calls;
    const struct role *role = role_find(contract->agent.role);
    bool usual = limit == (role != NULL ? role->tool_calls : run->settings.child.tool_calls);
    if (is_clamped(contract, "execution.budget.tool_calls")) {
        buf_text(out, KEY_HARD_STOP);
        return;
    }
    if (!usual) {
        buf_text(out, "max_tool_calls of its call");
        return;
    }
    if (role != NULL)
        buf_printf(out, "its role %s", role->name);
    else
        buf_text(out, KEY_CHILD_CALLS);
    if (door_takes_calls(contract->receipt.door))
        buf_text(out, ", or max_tool_calls of the call");
}

static void add_count(struct buf *out, int64_t count, const char *what)
{
    buf_printf(out, "%lld %s%s", (long long)count, what, count == 1 ? "" : "s");
}

static void add_calls(struct buf *out, const struct run *run, const struct agent *agent)
{
    add_count(out, turn_call_limit(run, agent), "tool call");
    buf_text(out, " (");
    if (agent->no == 0)
        buf_text(out, turn_stops_at_pause(run, agent) ? KEY_PAUSE : KEY_HARD_STOP);
    else
        add_child_calls_key(out, run, &agent->contract);
    buf_char(out, ')');
}

/* No key and no call sets a limit of turns. */
static void add_turns(struct buf *out, const struct agent *agent)
{
    add_count(out, agent->contract.execution.budget.turns, "turn");
    buf_text(out, " (turns of its contract)");
}

/* --- tokens and dollars ---------------------------------------------------------------------------- */

/* Whether the agent's limit is a part of its parent's that nobody chose for it. */
static bool is_share(const struct agent *agent, enum limit_kind kind)
{
    bool inherited = kind == LIMIT_TOKENS ? agent->inherited.tokens : agent->inherited.cost;
    return agent->no != 0 && (inherited || agent->contract.receipt.door == DOOR_PLAN);
}

static const char *name_of(const struct agent *asker, const struct agent *above)
{
    return above->no == 0                  ? "the run"
           : above->no == asker->parent_no ? "its parent"
                                           : "an agent above it";
}

/* source: the agent that the limit was set for. */
static void add_amount_key(struct buf *out, const struct agent *asker, const struct agent *source,
                           enum limit_kind kind)
{
    bool tokens = kind == LIMIT_TOKENS;
    if (source->no == 0)
        buf_text(out, tokens ? "budget.tokens" : "budget.cost_usd, or --max-cost");
    else
        buf_printf(out, "%s of %s call", tokens ? "budget.tokens" : "budget.cost_usd",
                   source == asker ? "its" : "that agent's");
}

static void add_amount(struct buf *out, const struct agent *owner, enum limit_kind kind)
{
    struct jw w;
    if (kind == LIMIT_TOKENS) {
        add_count(out, owner->account.limits.tokens, "token");
        return;
    }
    jw_init(&w, out);
    buf_char(out, '$');
    money_print(&w, owner->account.limits.cost_nano);
}

/* owner: whose limit it is, the asker or an agent above it. */
static void add_bound(struct buf *out, const struct run *run, const struct agent *asker,
                      const struct agent *owner, enum limit_kind kind)
{
    const struct agent *source = owner;
    while (is_share(source, kind))
        source = run_agent_at(run, source->parent_no);
    add_amount(out, owner, kind);
    if (owner != asker)
        buf_printf(out, " of %s", name_of(asker, owner));
    else if (source != owner)
        buf_printf(out, ", its part of what %s had", name_of(asker, source));
    buf_text(out, " (");
    add_amount_key(out, asker, source, kind);
    buf_char(out, ')');
}

/* Dollars are rounded up to what people read: a limit that is raised to what an error says must suffice. */
#define SHOWN_NANO 100000

static void add_units(struct buf *out, int64_t amount, enum limit_kind kind)
{
    struct jw w;
    if (kind == LIMIT_TOKENS) {
        add_count(out, amount, "token");
        return;
    }
    jw_init(&w, out);
    buf_char(out, '$');
    money_print(&w, (amount + SHOWN_NANO - 1) / SHOWN_NANO * SHOWN_NANO);
}

/* What an agent's limit leaves to the asker: an agent above keeps its own last turn back. */
static int64_t left_for(const struct agent *asker, const struct agent *owner, enum limit_kind kind)
{
    const struct account *account = &owner->account;
    bool tokens = kind == LIMIT_TOKENS;
    int64_t limit = tokens ? account->limits.tokens : account->limits.cost_nano;
    int64_t spent = tokens ? account->spent.tokens : account->spent.cost_nano;
    int64_t kept = tokens ? account->kept_back.tokens : account->kept_back.cost_nano;
    int64_t left = limit - spent - (owner != asker ? kept : 0);
    return left > 0 ? left : 0;
}

static void add_missing(struct buf *out, const struct agent *asker, const struct agent *owner,
                        enum limit_kind kind, struct amount needed)
{
    bool tokens = kind == LIMIT_TOKENS;
    int64_t amount = tokens ? needed.tokens : needed.cost_nano;
    int64_t left = left_for(asker, owner, kind);
    int64_t limit = tokens ? owner->account.limits.tokens : owner->account.limits.cost_nano;
    if (amount <= left)
        return;
    buf_text(out, "; another request and a last answer need ");
    add_units(out, amount, kind);
    buf_text(out, ", ");
    add_units(out, tokens ? left : left / SHOWN_NANO * SHOWN_NANO, kind);
    buf_text(out, tokens && left != 1 ? " are left" : " is left");
    if (is_share(owner, kind))
        return; /* nobody sets a share */
    buf_text(out, ": ");
    add_units(out, limit + amount - left, kind);
    buf_text(out, " would pay for them");
}

/* --- what the others ask ---------------------------------------------------------------------------- */

struct str limit_of(struct deciding *d, const struct agent *agent, enum limit_kind kind)
{
    struct buf out;
    buf_init(&out, TEXT_MAX);
    if (kind == LIMIT_TOOL_CALLS)
        add_calls(&out, d->run, agent);
    else if (kind == LIMIT_TURNS)
        add_turns(&out, agent);
    else
        add_bound(&out, d->run, agent, agent, kind);
    return text_of(d, &out);
}

struct str limit_of_bound(struct deciding *d, const struct agent *agent, struct budget_bound bound,
                          struct amount needed)
{
    struct buf out;
    const struct agent *owner = agent;
    if (bound.account == NULL)
        return STR("");
    while (&owner->account != bound.account)
        owner = run_agent_at(d->run, owner->parent_no);
    buf_init(&out, TEXT_MAX);
    add_bound(&out, d->run, agent, owner, bound.kind);
    add_missing(&out, agent, owner, bound.kind, needed);
    return text_of(d, &out);
}

struct str limit_warn_at(struct deciding *d)
{
    struct buf out;
    buf_init(&out, TEXT_MAX);
    add_count(&out, d->run->settings.warn_at, "tool call");
    buf_text(&out, " (" KEY_WARN ")");
    return text_of(d, &out);
}

struct str limit_context_key(struct deciding *d, const struct agent *agent,
                             const struct model_settings *model)
{
    const struct contract *contract = &agent->contract;
    int64_t limit = contract->execution.budget.context_tokens;
    if (limit < 0 || limit >= model->max_context_tokens)
        return arena_printf(&d->out->arena,
                            "the model's window: llm.models.%.*s.max_context_tokens",
                            STR_FMT(model->name));
    if (contract->agent.role.n > 0)
        return arena_printf(&d->out->arena, "its role %.*s", STR_FMT(contract->agent.role));
    if (contract->agent.profile_id.n > 0)
        return STR("context_window of its profile, or " KEY_CHILD_CONTEXT);
    return STR(KEY_CHILD_CONTEXT);
}

struct str limit_error(struct deciding *d, struct str limit)
{
    return arena_printf(&d->out->arena, "the budget is used up%s%.*s", limit.n > 0 ? ": " : "",
                        STR_FMT(limit));
}
