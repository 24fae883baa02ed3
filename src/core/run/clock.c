/* An agent's clock: its wall and attempt deadlines count only while it, or a child that it
 * waits for, can work. The clock stands still while the agent waits for a slot, for its
 * provider or for a person, and while it only waits for children whose clocks stand still. Called by apply.c
 * after each event: whether a clock stands is folded state. Pure. */
#include "core/run/apply.h"

/* Deadlines that a standing clock holds back. */
static const bool counts[TIMER_COUNT] = {[TIMER_WALL] = true, [TIMER_ATTEMPT] = true};

/* Whether a call of its own is under way, besides those that wait for children. */
static bool works(const struct agent *agent)
{
    const size_t *in = agent->calls_in;
    return in[CALL_GATHERING] + in[CALL_PREPARING] + in[CALL_RUNNING] > agent->calls_awaited;
}

/* Waits for something that no time limit of its own may end. A child that is done, or waits
 * for its turn to be merged, keeps nobody's clock running. */
static bool waits(const struct agent *agent)
{
    if (agent->clock.for_answers && agent->pause == PAUSE_ASKED)
        return true;
    switch (agent->phase) {
    case PHASE_NEW:
        return agent->no != 0 && agent->slot != SLOT_HELD && !tree_busy(agent);
    case PHASE_READY:
        return agent->slot == SLOT_QUEUED;
    case PHASE_TOOLS:
        return (agent->clock.for_answers && agent->calls_in[CALL_ASKED] > 0) ||
               (agent->slot == SLOT_QUEUED && !works(agent));
    case PHASE_ASKING:
        return agent->held == HELD_NOW;
    case PHASE_BACKOFF:
    case PHASE_DONE:
        return true;
    case PHASE_LEAVING:
        return !tree_busy(agent);
    default:
        return false;
    }
}

static bool only_awaits_children(const struct agent *agent)
{
    const size_t *in = agent->calls_in;
    if (agent->phase == PHASE_JOINING)
        return true;
    return agent->phase == PHASE_TOOLS && agent->calls_awaited > 0 && in[CALL_ASKED] == 0 &&
           !works(agent) && agent->timers[TIMER_CALLS] == 0;
}

bool clock_stands(const struct agent *agent)
{
    if (agent->stopping != OUTCOME_NONE && agent->phase != PHASE_DONE)
        return false;
    bool awaits_somebody = agent->children_open > 0 || agent->clock.steps_blocked;
    return waits(agent) || (awaits_somebody && only_awaits_children(agent) &&
                            agent->children_standing == agent->children_open);
}

int64_t agent_deadline(const struct agent *agent, enum timer_kind kind, int64_t now)
{
    return agent->clock.left[kind] > 0 ? now + agent->clock.left[kind] : agent->timers[kind];
}

void clock_shift(struct run *run, struct agent *agent, int64_t by)
{
    for (int kind = 0; by > 0 && kind < TIMER_COUNT; kind++) {
        if (counts[kind] && agent->clock.left[kind] > 0)
            agent->clock.left[kind] += by;
        else if (counts[kind] && agent->timers[kind] > 0)
            timer_set(run, agent, (enum timer_kind)kind, agent->timers[kind] + by);
    }
}

/* Stops or starts the agent's deadlines. */
static void clock_set(struct run *run, struct agent *agent, bool stands, int64_t now)
{
    agent->clock.stands = stands;
    for (int kind = 0; kind < TIMER_COUNT; kind++) {
        int64_t at = agent->timers[kind], left = agent->clock.left[kind];
        if (!counts[kind])
            continue;
        if (stands && at > 0) {
            timer_set(run, agent, (enum timer_kind)kind, 0);
            agent->clock.left[kind] = at > now ? at - now : 1;
        } else if (!stands && left > 0) {
            timer_set(run, agent, (enum timer_kind)kind, now + left);
        }
    }
}

void clock_update(struct run *run, struct agent *agent, int64_t now)
{
    /* The parent is looked at even where nothing changed here: the event may have opened or
     * ended what it waits for. */
    for (bool changed = true, first = true; changed || first; first = false) {
        bool counted = agent->clock.counted, stands = clock_stands(agent);
        changed = stands != agent->clock.stands;
        clock_set(run, agent, stands, now);
        if (agent->no == 0)
            return;
        struct agent *parent = agent_to_change(run, agent->parent_no);
        agent->clock.counted = stands && agent->life != LIFE_CLOSED;
        if (agent->clock.counted != counted)
            parent->children_standing += agent->clock.counted ? 1 : (size_t)-1;
        changed = changed || agent->clock.counted != counted || first;
        agent = parent;
    }
}
