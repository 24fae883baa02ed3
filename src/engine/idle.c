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

/* One effect of each agent that is due, by name: what the first one's silence leads to may end others. An agent is silent when all
 * its effects are. One look at the effects, however many agents are silent at once. */
struct due {
    uint32_t agent_no;
    struct str call_id;
};

static size_t find_due(const struct live *live, int64_t now, struct arena *arena, struct due **due)
{
    enum { AGENT_UNSEEN, AGENT_DUE, AGENT_ALIVE };
    size_t agents = run_agent_count(pump_run(live->pump)), found = 0;
    uint8_t *states = arena_alloc(arena, agents);
    for (const struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        uint8_t *state = &states[flight->agent_no];
        if (due_at(live, flight) > now)
            *state = AGENT_ALIVE;
        else if (*state == AGENT_UNSEEN)
            *state = AGENT_DUE;
    }
    for (size_t i = 0; i < agents; i++)
        found += states[i] == AGENT_DUE;
    *due = arena_alloc(arena, (found + 1) * sizeof **due);
    found = 0;
    for (const struct flight *flight = live->flights; flight != NULL; flight = flight->next) {
        if (states[flight->agent_no] != AGENT_DUE)
            continue;
        states[flight->agent_no] = AGENT_ALIVE; /* told once */
        (*due)[found++] = (struct due){flight->agent_no, arena_copy(arena, flight->call_id)};
    }
    return found;
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
    struct arena arena;
    struct due *due = NULL;
    arena_init(&arena);
    size_t count = live->pump != NULL ? find_due(live, now, &arena, &due) : 0;
    for (size_t i = 0; i < count && !live->ending; i++) {
        struct flight *flight = flight_find(live, due[i].agent_no, due[i].call_id);
        if (flight == NULL || due_at(live, flight) > now)
            continue;
        struct input input = {.kind = INPUT_SILENT,
                              .now = now,
                              .agent_no = flight->agent_no,
                              .call_id = flight->call_id,
                              .idle_ms = now - atomic_load(&flight->alive_at)};
        flight->told_at = now; /* said once, and again only after as long */
        live_input(live, &input);
    }
    arena_release(&arena);
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
