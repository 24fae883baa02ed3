/* The simulated owner is stopped (Ctrl-Z, a paused container). Time goes on. Either nobody notices, or another process takes the run
 * over when the lease has ended; the first one goes on later all the same, and must start nothing outside. */
#include "inside.h"

void stop_plan(struct world *w, int64_t delay)
{
    if (w->plan.stops == STOPS_HAPPEN)
        pending_add(w, PENDING_STOP, chance_below(&w->chance, delay));
}

bool stop_taken_over(struct world *w)
{
    if (w->stop.stale != NULL || w->acknowledged == 0)
        return false;
    w->result->seen[SEEN_TAKEN_OVER]++;
    world_take_over(w);
    pending_add(w, PENDING_CONTINUE, chance_below(&w->chance, 5000));
    return true;
}

void stop_begin(struct world *w)
{
    int64_t stopped = 1000 + chance_below(&w->chance, 2 * SIM_LEASE_MS);
    if (chance_permille(&w->chance, 500))
        stop_plan(w, 10000);
    if (stopped >= SIM_LEASE_MS && stop_taken_over(w))
        return;
    w->result->seen[SEEN_STOPPED]++;
    w->now += stopped;
    w->cancelled.at += stopped; /* a stopped process hears no cancel */
    w->stop.unsure = stopped >= SIM_YOUNG_MS;
}

void stop_fenced(struct world *w, struct batch *batch)
{
    if (w->stop.fenced_count == sizeof w->stop.fenced / sizeof w->stop.fenced[0])
        abort();
    w->stop.fenced[w->stop.fenced_count++] = batch;
}

bool stop_owns(struct world *w, const struct pump *pump)
{
    if (pump == w->stop.stale) {
        w->result->seen[SEEN_STALE_HELD]++;
        return false;
    }
    if (w->stop.unsure && !w->stop.asked) {
        w->stop.asked = true;
        pending_add(w, PENDING_RENEW, 1 + chance_below(&w->chance, 50));
    }
    return !w->stop.unsure;
}

void stop_renewed(struct world *w)
{
    w->result->seen[SEEN_UNSURE]++;
    w->stop.unsure = w->stop.asked = false;
    pump_continue(w->pump);
}

void stop_continue(struct world *w)
{
    struct err err = ERR_INIT;
    struct pump *stale = w->stop.stale;
    if (stale == NULL)
        return;
    struct input tick = {.kind = INPUT_TICK, .now = w->now};
    pump_durable(stale, w->stop.stale_seq);
    if (pump_input(stale, &tick, &err) != 0)
        wrong(w, "a stale owner's tick: %s", err.message);
    pump_continue(stale);
    w->stop.stale = NULL;
    pump_free(stale);
    while (w->stop.fenced_count > 0)
        batch_free(w->stop.fenced[--w->stop.fenced_count]);
}
