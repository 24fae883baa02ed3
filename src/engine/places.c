/* The files that agents work in, opened once each: whoever swaps a path later changes nothing. Where descriptors are few, a tree rests
 * between calls: its descriptor is closed, and each call opens the same directory or fails. Loop thread, but for places_open. */
#include <stdlib.h>

#include "engine/live.h"

static bool has_tree(const struct agent *agent)
{
    return agent->tree != NULL && agent->tree->path.n > 0 &&
           (agent->tree->state == TREE_THERE || agent->tree->state == TREE_LEAVING ||
            agent->tree->state == TREE_MAKING);
}

static size_t scopes_most(const struct engine *engine)
{
    const struct descriptor_shares *shares = &engine->config.descriptors;
    return shares->work > 0 ? shares->scopes : DESCRIPTORS_ALL;
}

struct agent_place place_of(const struct live *live, const struct agent *agent)
{
    const struct run *run = pump_run(live->pump);
    while (agent->no != 0 && !has_tree(agent))
        agent = run_agent(run, agent->parent_no);
    if (!has_tree(agent))
        return (struct agent_place){live->scope, PLACE_OPEN};
    return agent->no < live->place_count ? live->places[agent->no]
                                         : (struct agent_place){NULL, PLACE_OPEN};
}

/* Nobody uses it yet: it stays open while there are descriptors for that. */
static void keep_or_rest(struct engine *engine, struct agent_place *place)
{
    if (place->scope == NULL || place->state == PLACE_RESTS)
        return;
    if (engine->scopes_open < scopes_most(engine)) {
        engine->scopes_open++;
        return;
    }
    engine->config.tools->rest_scope(place->scope);
    place->state = PLACE_RESTS;
}

static void uncount(struct engine *engine, const struct agent_place *place)
{
    if (place->scope != NULL && place->state == PLACE_OPEN)
        engine->scopes_open--;
}

void place_drop(struct live *live, uint32_t agent_no)
{
    if (agent_no < live->place_count && live->places[agent_no].scope != NULL) {
        uncount(live->engine, &live->places[agent_no]);
        live->engine->config.tools->close_scope(live->places[agent_no].scope);
        live->places[agent_no] = (struct agent_place){NULL, PLACE_OPEN};
    }
}

void place_set(struct live *live, uint32_t agent_no, struct scope *scope)
{
    if (agent_no >= live->place_count) {
        size_t count = (size_t)agent_no * 2 + 8;
        struct agent_place *grown = realloc(live->places, count * sizeof *grown);
        if (grown == NULL)
            abort();
        for (size_t i = live->place_count; i < count; i++)
            grown[i] = (struct agent_place){NULL, PLACE_OPEN};
        live->places = grown;
        live->place_count = count;
    }
    place_drop(live, agent_no);
    live->places[agent_no] = (struct agent_place){scope, PLACE_OPEN};
    keep_or_rest(live->engine, &live->places[agent_no]);
}

void places_close(const struct engine *engine, struct agent_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].scope != NULL)
            engine->config.tools->close_scope(places[i].scope);
    }
    free(places);
}

void places_release(struct live *live)
{
    for (size_t i = 0; i < live->place_count; i++)
        uncount(live->engine, &live->places[i]);
    places_close(live->engine, live->places, live->place_count);
    live->places = NULL;
    live->place_count = 0;
}

void places_take(struct live *live, struct agent_place *places, size_t count)
{
    live->places = places;
    live->place_count = count;
    for (size_t i = 0; i < count; i++)
        keep_or_rest(live->engine, &places[i]);
}

struct agent_place *places_open(const struct engine *engine, const struct run *run, size_t *count)
{
    size_t open = 0;
    struct agent_place *places = calloc(run_agent_count(run), sizeof *places);
    if (places == NULL)
        abort();
    *count = run_agent_count(run);
    for (uint32_t no = 0; no < *count; no++) {
        const struct agent *agent = run_agent(run, no);
        struct err gone = ERR_INIT;
        if (!has_tree(agent))
            continue;
        if (engine->config.tools->open_tree(agent->tree->workspace, run_workspace(run),
                                            &places[no].scope, &gone) != 0) {
            places[no].scope = NULL; /* its calls say so */
        } else if (open++ >= scopes_most(engine)) {
            engine->config.tools->rest_scope(places[no].scope);
            places[no].state = PLACE_RESTS;
        }
    }
    return places;
}
