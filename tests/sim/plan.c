/* Plans in the simulator: random ones for simulated models to carry out, and what must hold while they are. Looks into the run's
 * own record of a plan, which nobody else may. */
#include "core/plan/ownership.h"
#include "core/run/plan_run.h"
#include "inside.h"

#define STEPS 7

struct str plan_at_random(struct chance *chance, struct arena *arena)
{
    static const char *const places[] = {"f0", "f1", "f2", "f3", "f?", "**"};
    static const char *const types[] = {"implementation", "implementation", "research", "testing"};
    struct buf out;
    int64_t steps = 1 + chance_below(chance, STEPS);
    buf_init(&out, 1 << 16);
    buf_text(&out, "{\"goal\":\"all of it\",\"plan\":{\"goal\":\"all of it\",\"steps\":[");
    for (int64_t i = 0; i < steps; i++) {
        const char *comma = "";
        buf_printf(
            &out,
            "%s{\"id\":\"s%lld\",\"title\":\"Step\",\"description\":\"part\",\"type\":\"%s\","
            "\"depends_on\":[",
            i > 0 ? "," : "", (long long)i, types[chance_below(chance, 4)]);
        for (int64_t k = 0; k < i; k++) {
            if (!chance_permille(chance, 300))
                continue;
            buf_printf(&out, "%s\"s%lld\"", comma, (long long)k);
            comma = ",";
        }
        buf_text(&out, "]");
        if (chance_permille(chance, 700))
            buf_printf(&out, ",\"ownership\":[\"%s\"]", places[chance_below(chance, 6)]);
        if (chance_permille(chance, 150))
            buf_text(&out, ",\"requires_approval\":true");
        buf_text(&out, "}");
    }
    buf_text(&out, "]}}");
    struct str text = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return text;
}

static void check_started(struct world *w, const struct run *run, const struct call *call,
                          size_t step)
{
    const struct plan_run *plan = call->plan;
    const struct plan_step *one = &plan->plan.steps[step];
    for (size_t k = 0; k < one->depends_on.n; k++) {
        const struct agent *before = call_item_agent(run, call, (int64_t)one->needs[k]);
        if (plan->states[one->needs[k]].status != STEP_COMPLETED || before == NULL ||
            before->life != LIFE_CLOSED)
            wrong(w, "step %zu works before step %zu is integrated", step, one->needs[k]);
    }
    for (size_t other = 0; other < step; other++) {
        if (plan->states[other].status == STEP_IN_PROGRESS &&
            ownership_overlaps(one, &plan->plan.steps[other]))
            wrong(w, "steps %zu and %zu own the same place and work at once", other, step);
    }
}

void check_plan(struct world *w, const struct run *run, const struct agent *agent,
                const struct call *call)
{
    const struct plan_run *plan = call->plan;
    if (agent->no != 0)
        wrong(w, "agent %u carries out a plan", agent->no);
    int64_t at_work = 0; /* who waits for its merge holds no slot */
    for (size_t i = 0; i < call->child_count; i++)
        at_work += call->children[i].no != 0 &&
                   run_agent(run, call->children[i].no)->phase < PHASE_LEAVING;
    if (w->plan.max_concurrent > 0 && at_work > w->plan.max_concurrent)
        wrong(w, "a plan has %lld children at work at once", (long long)at_work);
    for (size_t i = 0; plan != NULL && i < plan->plan.count; i++) {
        if (plan->states[i].status == STEP_IN_PROGRESS)
            check_started(w, run, call, i);
        if (plan->states[i].status == STEP_COMPLETED)
            w->result->seen[SEEN_STEP]++;
    }
}
