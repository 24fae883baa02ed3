/* Idleness: tells a run when nothing has come from a child's effects for as long as its contract allows. Signs of life (a token, a
 * tool's progress) are never logged; that there were none is an input, and the core decides what follows. Who waits for its turn at a
 * provider or for a thread is not idle. Loop thread; signs may come from any. */
#include "engine/live.h"

void flight_alive(struct flight *flight)
{
    atomic_store(&flight->alive_at, flight->engine->config.now());
}

void flight_waits(struct flight *flight)
{
    atomic_store(&flight->alive_at, FLIGHT_WAITS);
}

/* When this effect counts as idle, unless it shows a sign of life; FLIGHT_WAITS: not before it has begun. */
static int64_t due_at(const struct flight *flight, int64_t limit)
{
    int64_t alive_at = atomic_load(&flight->alive_at);
    if (flight->agent_no == 0 || alive_at == FLIGHT_WAITS)
        return FLIGHT_WAITS;
    return (alive_at > flight->told_at ? alive_at : flight->told_at) + limit;
}

/* An agent is idle when all its effects are. */
static bool agent_is_due(const struct live *live, uint32_t agent_no, int64_t now, int64_t limit)
{
    for (const struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        if (flight->agent_no == agent_no && due_at(flight, limit) > now)
            return false;
    }
    return true;
}

/* One effect of an agent that is due, or NULL. */
static struct flight *find_due(const struct live *live, int64_t now, int64_t limit)
{
    for (struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        if (due_at(flight, limit) <= now && agent_is_due(live, flight->agent_no, now, limit))
            return flight;
    }
    return NULL;
}

static int64_t limit_of(const struct live *live)
{
    return live->ending || live->pump == NULL ? 0
                                              : run_settings(pump_run(live->pump))->idle_timeout_ms;
}

static void on_timer(uv_timer_t *timer);

/* A whole limit from now is early enough: whatever starts later is due later. */
static void arm_for(struct live *live, int64_t delay)
{
    uv_timer_start(live->idle, on_timer, delay > 0 ? (uint64_t)delay : 1, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct live *live = timer->data;
    int64_t limit = limit_of(live), now = live->engine->config.now(), next = now + limit;
    struct flight *flight;
    while (limit > 0 && !live->ending && (flight = find_due(live, now, limit)) != NULL) {
        struct input input = {.kind = INPUT_SILENT,
                              .now = now,
                              .agent_no = flight->agent_no,
                              .call_id = flight->call_id,
                              .idle_ms = now - atomic_load(&flight->alive_at)};
        flight->told_at = now; /* said once, and again only after as long */
        live_input(live, &input);
    }
    if (live->flights == NULL || live->ending || limit <= 0)
        return;
    for (flight = live->flights; flight != NULL; flight = flight->next) {
        int64_t due = due_at(flight, limit);
        next = due > now && due < next ? due : next;
    }
    arm_for(live, next - now);
}

void idle_arm(struct live *live)
{
    int64_t limit = limit_of(live);
    if (limit > 0 && !uv_is_active((const uv_handle_t *)live->idle))
        arm_for(live, limit);
}
