/* The time limits of a contract. A limit that somebody set (a call, a plan, a profile, a line in
 * config) is a wall. A limit that is only built in measures silence: it ends an attempt from which
 * nothing comes, and the whole is bounded by sub_agent.max_wall_ms. Pure; any thread. */
#include "core/contract/derive.h"

enum { ROLE_TIMEOUT_MS = 300000 };

/* Logs of older versions do not tell who set a value: one that differs from the built-in was set. */
static bool timeout_is_set(const struct settings *settings)
{
    return settings->child_timeout_set == SWITCH_ON || settings->child.wall_ms != CHILD_TIMEOUT_MS;
}

static bool attempt_is_set(const struct settings *settings)
{
    return settings->attempt_timeout_set == SWITCH_ON ||
           settings->attempt_timeout_ms != ATTEMPT_TIMEOUT_MS;
}

int layer_time(struct derivation *d, struct err *err)
{
    const struct settings *settings = d->settings;
    int64_t asked = d->request->asked.wall_ms, attempt = d->request->attempt_timeout_ms;
    bool wall = asked != ASK_NOTHING || (!d->role && timeout_is_set(settings));
    bool attempt_wall = attempt != ASK_NOTHING || attempt_is_set(settings);
    int64_t chosen = asked != ASK_NOTHING ? asked
                     : d->role            ? ROLE_TIMEOUT_MS
                                          : settings->child.wall_ms;
    if (attempt == ASK_NOTHING)
        attempt = settings->attempt_timeout_ms;
    d->limits.wall_ms = wall ? chosen : UNLIMITED;
    d->out->execution.max_wall_ms = wall ? 0 : settings->max_wall_ms;
    d->out->execution.attempt_timeout_ms = attempt_wall ? attempt : UNLIMITED;
    /* The attempt's built-in limit is not applied beside another silence limit. */
    d->out->execution.idle_timeout_ms = settings->idle_timeout_ms > 0 ? settings->idle_timeout_ms
                                        : !wall                       ? chosen
                                        : !attempt_wall               ? attempt
                                                                      : 0;
    return 0;
}

int layer_root_time(struct derivation *d, struct err *err)
{
    if (d->request->asked.wall_ms != ASK_NOTHING)
        d->limits.wall_ms = d->request->asked.wall_ms;
    d->out->execution.attempt_timeout_ms = UNLIMITED;
    return 0;
}

/* A wall is narrowed like every limit. A bound that nobody set gives way to the parent's deadline
 * without a record. */
int narrow_time(struct derivation *d, struct err *err)
{
    struct limits *limits = &d->limits;
    int64_t *max = &d->out->execution.max_wall_ms;
    int64_t parent = contract_deadline_ms(d->parent), left = d->facts->remaining_wall_ms;
    if (left != UNLIMITED && left <= 0)
        return err_set(err, ERR_BUDGET, "nothing is left of the parent's wall_ms");
    if (*max > 0) {
        if (parent != UNLIMITED && parent < *max)
            *max = parent;
        if (left != UNLIMITED && left < *max)
            *max = left;
        return 0;
    }
    if (limits->wall_ms == UNLIMITED)
        limits->wall_ms = left;
    limit_narrow(d, "execution.budget.wall_ms", &limits->wall_ms, parent, "parent");
    limit_narrow(d, "execution.budget.wall_ms", &limits->wall_ms, left, "budget");
    *max = limits->wall_ms != UNLIMITED ? limits->wall_ms : 0;
    return 0;
}

int64_t contract_deadline_ms(const struct contract *contract)
{
    if (contract->execution.budget.wall_ms != UNLIMITED)
        return contract->execution.budget.wall_ms;
    return contract->execution.max_wall_ms > 0 ? contract->execution.max_wall_ms : UNLIMITED;
}
