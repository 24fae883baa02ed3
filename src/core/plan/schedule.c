/* See schedule.h. Plans have at most a hundred steps, so every question is answered by looking at all of them. Pure; any
 * thread. */
#include "core/plan/schedule.h"

#include "core/plan/ownership.h"

/* --- what follows from the plan ----------------------------------------------------------------------------- */

static bool all_placed(const struct plan_step *step, const size_t *rank, size_t unplaced)
{
    for (size_t k = 0; k < step->depends_on.n; k++)
        if (rank[step->needs[k]] == unplaced)
            return false;
    return true;
}

static void find_order(struct schedule *schedule)
{
    const struct plan *plan = schedule->plan;
    size_t unplaced = plan->count;
    for (size_t i = 0; i < plan->count; i++)
        schedule->rank[i] = unplaced;
    for (size_t placed = 0; placed < plan->count; placed++) {
        size_t i = 0;
        while (schedule->rank[i] != unplaced ||
               !all_placed(&plan->steps[i], schedule->rank, unplaced))
            i++;
        schedule->order[placed] = i;
        schedule->rank[i] = placed;
    }
}

static void find_remains(struct schedule *schedule)
{
    const struct plan *plan = schedule->plan;
    for (size_t i = 0; i < plan->count; i++)
        schedule->remains[i] = plan_step_calls(&plan->steps[i]);
    for (size_t place = plan->count; place-- > 0;) {
        size_t i = schedule->order[place];
        const struct plan_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->depends_on.n; k++) {
            size_t need = step->needs[k];
            int64_t length = plan_step_calls(&plan->steps[need]) + schedule->remains[i];
            if (length > schedule->remains[need])
                schedule->remains[need] = length;
        }
    }
}

void schedule_init(struct schedule *schedule, struct arena *arena, const struct plan *plan)
{
    size_t n = plan->count;
    *schedule = (struct schedule){
        .plan = plan,
        .order = arena_alloc(arena, n * sizeof *schedule->order),
        .rank = arena_alloc(arena, n * sizeof *schedule->rank),
        .remains = arena_alloc(arena, n * sizeof *schedule->remains),
        .overlap = arena_alloc(arena, n * n),
    };
    find_order(schedule);
    find_remains(schedule);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            schedule->overlap[a * n + b] = schedule->overlap[b * n + a] =
                ownership_overlaps(&plan->steps[a], &plan->steps[b]);
}

void schedule_states(const struct plan *plan, struct step_state *states)
{
    for (size_t i = 0; i < plan->count; i++) {
        enum step_status status = plan->steps[i].status;
        bool ended = status == STEP_COMPLETED || status == STEP_FAILED || status == STEP_SKIPPED;
        states[i] = (struct step_state){ended ? status : STEP_PENDING, APPROVAL_OPEN};
    }
}

bool schedule_overlaps(const struct schedule *schedule, size_t a, size_t b)
{
    return schedule->overlap[a * schedule->plan->count + b];
}

/* --- questions ---------------------------------------------------------------------------------------------- */

/* Pending, and all that it needs is integrated. */
static bool is_next(const struct schedule *schedule, const struct step_state *states, size_t i)
{
    const struct plan_step *step = &schedule->plan->steps[i];
    for (size_t k = 0; k < step->depends_on.n; k++)
        if (states[step->needs[k]].status != STEP_COMPLETED)
            return false;
    return states[i].status == STEP_PENDING;
}

static bool lacks_approval(const struct schedule *schedule, const struct step_state *states,
                           size_t i)
{
    return schedule->plan->steps[i].approval == APPROVAL_NEEDED &&
           states[i].approval != APPROVAL_GRANTED;
}

static bool is_more_urgent(const struct schedule *schedule, size_t a, size_t b)
{
    if (schedule->remains[a] != schedule->remains[b])
        return schedule->remains[a] > schedule->remains[b];
    return schedule->rank[a] < schedule->rank[b];
}

/* Whether a step in progress, or one of those that were chosen to start, may change the same place. */
static bool is_in_the_way(const struct schedule *schedule, const struct step_state *states,
                          const size_t *chosen, size_t chosen_count, size_t i)
{
    for (size_t other = 0; other < schedule->plan->count; other++)
        if (states[other].status == STEP_IN_PROGRESS && schedule_overlaps(schedule, i, other))
            return true;
    for (size_t k = 0; k < chosen_count; k++)
        if (schedule_overlaps(schedule, i, chosen[k]))
            return true;
    return false;
}

size_t schedule_ready(const struct schedule *schedule, const struct step_state *states,
                      size_t slots, size_t *out)
{
    size_t candidates[PLAN_STEPS_MAX], count = 0, chosen = 0;
    for (size_t i = 0; i < schedule->plan->count; i++) {
        if (!is_next(schedule, states, i) || lacks_approval(schedule, states, i))
            continue;
        size_t at = count++;
        for (; at > 0 && is_more_urgent(schedule, i, candidates[at - 1]); at--)
            candidates[at] = candidates[at - 1];
        candidates[at] = i;
    }
    for (size_t k = 0; k < count && chosen < slots; k++)
        if (!is_in_the_way(schedule, states, out, chosen, candidates[k]))
            out[chosen++] = candidates[k];
    return chosen;
}

size_t schedule_to_ask(const struct schedule *schedule, const struct step_state *states,
                       size_t *out)
{
    size_t count = 0;
    for (size_t place = 0; place < schedule->plan->count; place++) {
        size_t i = schedule->order[place];
        if (is_next(schedule, states, i) && lacks_approval(schedule, states, i))
            out[count++] = i;
    }
    return count;
}

size_t schedule_to_skip(const struct schedule *schedule, const struct step_state *states,
                        size_t *out)
{
    bool lost[PLAN_STEPS_MAX] = {false};
    size_t count = 0;
    for (size_t place = 0; place < schedule->plan->count; place++) {
        size_t i = schedule->order[place];
        const struct plan_step *step = &schedule->plan->steps[i];
        enum step_status status = states[i].status;
        bool waits = status == STEP_PENDING || status == STEP_BLOCKED;
        lost[i] = status == STEP_FAILED || status == STEP_SKIPPED;
        for (size_t k = 0; waits && k < step->depends_on.n; k++)
            lost[i] = lost[i] || lost[step->needs[k]];
        if (waits && lost[i])
            out[count++] = i;
    }
    return count;
}

bool schedule_is_over(const struct schedule *schedule, const struct step_state *states)
{
    for (size_t i = 0; i < schedule->plan->count; i++)
        if (states[i].status == STEP_PENDING || states[i].status == STEP_IN_PROGRESS ||
            states[i].status == STEP_BLOCKED)
            return false;
    return true;
}

/* --- the longest way ---------------------------------------------------------------------------------------- */

static bool needs_directly(const struct plan_step *step, size_t need)
{
    for (size_t k = 0; k < step->depends_on.n; k++)
        if (step->needs[k] == need)
            return true;
    return false;
}

/* The most urgent of those that need `last` (plan->count: of all). */
static size_t most_urgent(const struct schedule *schedule, size_t last)
{
    const struct plan *plan = schedule->plan;
    size_t found = plan->count;
    for (size_t i = 0; i < plan->count; i++) {
        if (last < plan->count && !needs_directly(&plan->steps[i], last))
            continue;
        if (found == plan->count || is_more_urgent(schedule, i, found))
            found = i;
    }
    return found;
}

size_t schedule_critical_path(const struct schedule *schedule, size_t *out, int64_t *calls)
{
    size_t none = schedule->plan->count, count = 0;
    *calls = 0;
    for (size_t i = most_urgent(schedule, none); i < none; i = most_urgent(schedule, i)) {
        out[count++] = i;
        *calls += plan_step_calls(&schedule->plan->steps[i]);
    }
    return count;
}
