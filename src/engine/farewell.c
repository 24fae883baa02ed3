/* Processes do not outlive their agent. When an agent's end, or another attempt of it, has been decided, its tools are told to kill
 * what it left running, and the run starts nothing new until that is dead: nobody reads the result of an agent that still has a
 * process. The waiting is a flight, so a run does not end before it either. Loop thread, but for the wait itself. */
#include <stdlib.h>

#include "engine/live.h"

struct farewell {
    struct flight flight; /* first: they are cast into each other */
    struct crew_job job;
};

static void on_crew(void *user)
{
    struct farewell *farewell = user;
    const struct engine_config *config = &farewell->flight.engine->config;
    config->tools->await_agent(config->services, id_str(&farewell->flight.run),
                               farewell->flight.agent_no);
}

static void on_done(void *user)
{
    struct farewell *farewell = user;
    struct live *live = flight_live(&farewell->flight);
    if (live != NULL && --live->farewells == 0 && live->pump != NULL)
        pump_go_on(live->pump);
    flight_release(&farewell->flight);
    free(farewell);
}

/* What dies cannot be stopped from dying. */
static void on_abort(struct flight *flight)
{
}

static void begin(struct live *live, uint32_t agent_no)
{
    const struct engine_config *config = &live->engine->config;
    const struct effect none = {.agent_no = agent_no, .call_id = STR("")};
    if (config->tools->end_agent(config->services, id_str(&live->id), agent_no) == REMAINS_NOTHING)
        return;
    struct farewell *farewell = calloc(1, sizeof *farewell);
    if (farewell == NULL)
        abort();
    flight_init(&farewell->flight, live, &none, on_abort);
    farewell->job = (struct crew_job){.run = on_crew, .done = on_done, .user = farewell};
    live->farewells++;
    if (live->pump != NULL)
        pump_pause(live->pump);
    crew_add(live->engine->crew, &farewell->job);
}

void farewell_events(struct live *live, const struct batch *batch)
{
    static const char *const ends[] = {"agent.subagent_waiting_for_merge",
                                       "agent.subagent_failed",
                                       "agent.subagent_attempt",
                                       "agent.isolating",
                                       "agent.merging",
                                       "run.completed",
                                       "run.failed",
                                       "run.cancelled"};
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *row = &batch->append.events[i];
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
            if (str_is(row->type, ends[k]))
                begin(live, row->agent_no);
        }
    }
}

void farewell_run(struct live *live)
{
    begin(live, TOOL_EVERY_AGENT);
}
