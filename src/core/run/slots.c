/* Slots: how many children of a run may work at once, and who waits for one, oldest first. Also the queue of those who wait for budget.
 * Called by apply.c only: both queues are folded state. Pure. */
#include "core/run/state.h"

bool slot_is_wanted(const struct run *run, const struct slot_wait *wait)
{
    const struct agent *agent = run->agents[wait->agent_no];
    return agent->slot == SLOT_QUEUED && agent->ready_seq == wait->since;
}

bool slot_is_free(const struct run *run)
{
    return run->settings.max_concurrent <= 0 || run->slots_held < run->settings.max_concurrent;
}

void slot_release(struct run *run, struct agent *agent)
{
    if (agent->slot == SLOT_HELD)
        run->slots_held--;
    agent->slot = SLOT_NONE;
}

void slot_take(struct run *run, struct agent *agent)
{
    if (agent->no == 0 || agent->slot == SLOT_HELD)
        return;
    agent->slot = SLOT_HELD;
    run->slots_held++;
    slot_first(run);
}

const struct agent *slot_first(struct run *run)
{
    while (run->slot_count > 0 && !slot_is_wanted(run, &run->slot_queue[run->slot_head])) {
        run->slot_head++;
        run->slot_count--;
    }
    return run->slot_count > 0 ? run->agents[run->slot_queue[run->slot_head].agent_no] : NULL;
}

void slot_enqueue(struct run *run, struct agent *agent, uint64_t seq)
{
    if (agent->no == 0 || agent->slot != SLOT_NONE)
        return;
    if (run->slot_count == 0)
        run->slot_head = 0;
    if (run->slot_head > 0 && run->slot_head + run->slot_count == run->slot_capacity) {
        memmove(run->slot_queue, run->slot_queue + run->slot_head,
                run->slot_count * sizeof *run->slot_queue);
        run->slot_head = 0;
    }
    run->slot_queue = grow(run->slot_queue, run->slot_head + run->slot_count, &run->slot_capacity,
                           sizeof *run->slot_queue);
    run->slot_queue[run->slot_head + run->slot_count++] = (struct slot_wait){agent->no, seq};
    agent->slot = SLOT_QUEUED;
    agent->ready_seq = seq;
}

/* An agent that only awaits its children or a person holds no slot; calls that wait behind those do not count. */
void slot_yield(struct run *run, struct agent *agent)
{
    const size_t *in = agent->calls_in;
    size_t awaited = in[CALL_ASKED] + agent->calls_awaited;
    size_t working = in[CALL_GATHERING] + in[CALL_PREPARING] + in[CALL_RUNNING];
    if (awaited > 0 && working == agent->calls_awaited)
        slot_release(run, agent);
}

void budget_unqueue(struct run *run, struct agent *agent)
{
    for (size_t i = 0; agent->waits_for_budget && i < run->budget_count; i++) {
        if (run->budget_queue[i] == agent->no) {
            memmove(run->budget_queue + i, run->budget_queue + i + 1,
                    (run->budget_count - i - 1) * sizeof *run->budget_queue);
            run->budget_count--;
            agent->waits_for_budget = false;
        }
    }
}
