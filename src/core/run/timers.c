/* Deadlines as a binary heap with lazy removal: setting a timer again leaves the old entry behind, and an entry counts only
 * while it equals the agent's own record. Order is total, so that folding a log gives the same firing order. Pure. */
#include "core/run/apply.h"

const char *const timer_names[TIMER_COUNT] = {
    [TIMER_WALL] = "wall",         [TIMER_ATTEMPT] = "attempt", [TIMER_BACKOFF] = "backoff",
    [TIMER_APPROVAL] = "approval", [TIMER_CALLS] = "calls",     [TIMER_PATIENCE] = "patience",
    [TIMER_QUESTION] = "question",
};

static bool before(const struct timer *a, const struct timer *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->agent_no != b->agent_no)
        return a->agent_no < b->agent_no;
    return a->kind < b->kind;
}

static void swap(struct timer *a, struct timer *b)
{
    struct timer t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(struct run *run, size_t i)
{
    while (i > 0 && before(&run->heap[i], &run->heap[(i - 1) / 2])) {
        swap(&run->heap[i], &run->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static void sift_down(struct run *run, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < run->heap_count && before(&run->heap[left], &run->heap[least]))
            least = left;
        if (right < run->heap_count && before(&run->heap[right], &run->heap[least]))
            least = right;
        if (least == i)
            return;
        swap(&run->heap[i], &run->heap[least]);
        i = least;
    }
}

void timer_set(struct run *run, struct agent *agent, enum timer_kind kind, int64_t at)
{
    agent->timers[kind] = at;
    agent->clock.left[kind] = 0;
    if (at == 0)
        return;
    run->heap = grow(run->heap, run->heap_count, &run->heap_capacity, sizeof *run->heap);
    run->heap[run->heap_count++] = (struct timer){at, agent->no, kind};
    sift_up(run, run->heap_count - 1);
}

void deadline_set(struct run *run, struct agent *agent, enum timer_kind kind, int64_t from,
                  int64_t limit)
{
    timer_set(run, agent, kind, limit != UNLIMITED ? from + limit : 0);
}

static void pop(struct run *run)
{
    run->heap[0] = run->heap[--run->heap_count];
    sift_down(run, 0);
}

bool timer_first(struct run *run, struct timer *timer)
{
    while (run->heap_count > 0) {
        const struct timer *top = &run->heap[0];
        if (run->agents[top->agent_no]->timers[top->kind] == top->at) {
            *timer = *top;
            return true;
        }
        pop(run);
    }
    return false;
}

void timers_shift(struct run *run, int64_t unowned)
{
    run->heap_count = 0;
    for (uint32_t no = 0; no < run->agent_count; no++) {
        struct agent *agent = agent_to_change(run, no);
        for (int kind = 0; kind < TIMER_COUNT; kind++) {
            /* A server's Retry-After goes on whether or not somebody waits for it; the last owner's time was behind wall time by
             * its sleeps. */
            int64_t moved = kind == TIMER_BACKOFF ? run->slept : unowned;
            if (agent->timers[kind] != 0)
                timer_set(run, agent, (enum timer_kind)kind, agent->timers[kind] + moved);
        }
    }
}
