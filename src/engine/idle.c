/* Silence: tells a run when nothing has come from a child's effects for as long as its contract allows. Signs of life (a byte of an
 * answer, a tool's progress) are never logged; that there were none is an input, and the core decides what follows. Who waits for its
 * turn at a provider or for a thread is not silent. Where nobody set sub_agent.idle_timeout_ms, only an answer that has begun can be
 * silent: before its first byte the server's own deadline holds, and a tool has its own limit. Loop thread; signs may come from any. */
#include "engine/live.h"

void flight_alive(struct flight *flight)
{
    atomic_store(&flight->alive_at, engine_now(flight->engine));
}

void flight_waits(struct flight *flight)
{
    atomic_store(&flight->alive_at, FLIGHT_WAITS);
    flight->answers = false;
}

/* How long the agent of this effect may be silent; 0: any time. */
static int64_t limit_of(const struct live *live, const struct flight *flight)
{
    const struct run *run = pump_run(live->pump);
    if (flight->agent_no == 0 || (!flight->answers && run_settings(run)->idle_timeout_ms == 0))
        return 0;
    return run_agent(run, flight->agent_no)->contract.execution.idle_timeout_ms;
}

/* When this effect counts as silent, unless it shows a sign of life; FLIGHT_WAITS: not now. */
static int64_t due_at(const struct live *live, const struct flight *flight)
{
    int64_t alive_at = atomic_load(&flight->alive_at), limit = limit_of(live, flight);
    if (limit <= 0 || alive_at == FLIGHT_WAITS)
        return FLIGHT_WAITS;
    return (alive_at > flight->told_at ? alive_at : flight->told_at) + limit;
}

/* An agent is silent when all its effects are. */
static bool agent_is_due(const struct live *live, uint32_t agent_no, int64_t now)
{
    for (const struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        if (flight->agent_no == agent_no && due_at(live, flight) > now)
            return false;
    }
    return true;
}

/* One effect of an agent that is due, or NULL. */
static struct flight *find_due(const struct live *live, int64_t now)
{
    for (struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        if (due_at(live, flight) <= now && agent_is_due(live, flight->agent_no, now))
            return flight;
    }
    return NULL;
}

static void on_timer(uv_timer_t *timer);

/* Sets the timer to the first effect that may become due; without one it rests. */
static void arm(struct live *live, int64_t now)
{
    int64_t next = FLIGHT_WAITS;
    for (const struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        int64_t due = due_at(live, flight), limit = limit_of(live, flight);
        if (due == FLIGHT_WAITS && limit > 0)
            due = now + limit; /* nobody tells when it waits no longer */
        next = due > now && due < next ? due : next;
    }
    if (next != FLIGHT_WAITS)
        uv_timer_start(live->idle, on_timer, (uint64_t)(next - now), 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct live *live = timer->data;
    int64_t now = engine_now(live->engine);
    struct flight *flight;
    while (!live->ending && live->pump != NULL && (flight = find_due(live, now)) != NULL) {
        struct input input = {.kind = INPUT_SILENT,
                              .now = now,
                              .agent_no = flight->agent_no,
                              .call_id = flight->call_id,
                              .idle_ms = now - atomic_load(&flight->alive_at)};
        flight->told_at = now; /* said once, and again only after as long */
        live_input(live, &input);
    }
    if (!live->ending && live->pump != NULL)
        arm(live, now);
}

void idle_arm(struct live *live, const struct flight *flight)
{
    int64_t limit = live->ending || live->pump == NULL ? 0 : limit_of(live, flight);
    bool armed = uv_is_active((const uv_handle_t *)live->idle) &&
                 uv_timer_get_due_in(live->idle) <= (uint64_t)limit;
    if (limit > 0 && !armed)
        uv_timer_start(live->idle, on_timer, (uint64_t)limit, 0);
}

void flight_answers(struct flight *flight)
{
    bool first = !flight->answers;
    flight->answers = true;
    flight_alive(flight);
    struct live *live = first ? flight_live(flight) : NULL;
    if (live != NULL)
        idle_arm(live, flight);
}
