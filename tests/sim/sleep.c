/* The simulated machine sleeps: its owner's time stands still, wall time goes on, and the run is told some time later. */
#include "inside.h"

void sleep_plan(struct world *w, int64_t delay)
{
    if (w->plan.sleeps == SLEEPS_HAPPEN)
        pending_add(w, PENDING_SLEEP, chance_below(&w->chance, delay));
}

void sleep_begin(struct world *w)
{
    if (w->sleep.durable == w->sleep.slept)
        w->sleep.asleep_at = w->now + w->sleep.slept;
    w->sleep.slept += 1000 + chance_below(&w->chance, 3 * 3600000);
    pending_add(w, PENDING_WAKE, chance_below(&w->chance, 3000));
    if (chance_permille(&w->chance, 500))
        sleep_plan(w, 10000);
}

void sleep_tell(struct world *w)
{
    struct err err = ERR_INIT;
    struct input input = {
        .kind = INPUT_SLEPT, .now = w->now, .slept_ms = w->sleep.slept - w->sleep.told};
    w->sleep.told = w->sleep.slept;
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "sleep: %s", err.message);
}

int64_t sleep_renewed_at(const struct world *w)
{
    return w->sleep.durable == w->sleep.slept ? w->now + w->sleep.slept : w->sleep.asleep_at;
}
