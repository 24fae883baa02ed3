/* Effects under way: a list per run, and a table by (agent, call). Loop thread. */
#include <stdlib.h>

#include "engine/live.h"

static struct str copy_text(struct str text)
{
    char *copy = malloc(text.n + 1);
    if (copy == NULL)
        abort();
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return (struct str){copy, text.n};
}

void flight_init(struct flight *flight, struct live *live, const struct effect *effect,
                 void (*abort_fn)(struct flight *))
{
    flight->engine = live->engine;
    flight->run = live->id;
    flight->agent_no = effect->agent_no;
    flight->call_id = copy_text(effect->call_id);
    flight->abort = abort_fn;
    flight->next = live->flights;
    if (flight->next != NULL)
        flight->next->at = &flight->next;
    flight->at = &live->flights;
    live->flights = flight;
    lookup_add(&live->flight_names, &flight->name, flight->agent_no, flight->call_id);
    live->engine->flights++;
    flight_alive(flight);
    idle_arm(live, flight);
}

void flight_unlink(struct flight *flight)
{
    if (flight->at == NULL)
        return;
    *flight->at = flight->next;
    if (flight->next != NULL)
        flight->next->at = flight->at;
    flight->at = NULL;
    flight->next = NULL;
    struct live *live = engine_live(flight->engine, id_str(&flight->run));
    if (live != NULL)
        lookup_remove(&live->flight_names, &flight->name);
    if (live != NULL && live->ending && live->flights == NULL)
        live_end(live);
}

struct live *flight_live(const struct flight *flight)
{
    return flight->at != NULL ? engine_live(flight->engine, id_str(&flight->run)) : NULL;
}

struct flight *flight_find(struct live *live, uint32_t agent_no, struct str call_id)
{
    return (struct flight *)lookup_find(&live->flight_names, agent_no, call_id);
}

void flight_release(struct flight *flight)
{
    flight_unlink(flight);
    flight->engine->flights--;
    free((char *)flight->call_id.p);
    flight->call_id = STR_NONE;
}
