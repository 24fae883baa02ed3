/* The files that agents work in, opened once each: whoever swaps a path later changes nothing. Loop thread, but for places_open. */
#include <stdlib.h>

#include "engine/live.h"

static bool has_tree(const struct agent *agent)
{
    return agent->tree != NULL && agent->tree->path.n > 0 &&
           (agent->tree->state == TREE_THERE || agent->tree->state == TREE_LEAVING ||
            agent->tree->state == TREE_MAKING);
}

struct scope *place_of(const struct live *live, const struct agent *agent)
{
    const struct run *run = pump_run(live->pump);
    while (agent->no != 0 && !has_tree(agent))
        agent = run_agent(run, agent->parent_no);
    if (!has_tree(agent))
        return live->scope;
    return agent->no < live->place_count ? live->places[agent->no] : NULL;
}

void place_drop(struct live *live, uint32_t agent_no)
{
    if (agent_no < live->place_count && live->places[agent_no] != NULL) {
        live->engine->config.tools->close_scope(live->places[agent_no]);
        live->places[agent_no] = NULL;
    }
}

void place_set(struct live *live, uint32_t agent_no, struct scope *scope)
{
    if (agent_no >= live->place_count) {
        size_t count = (size_t)agent_no * 2 + 8;
        struct scope **grown = realloc(live->places, count * sizeof *grown);
        if (grown == NULL)
            abort();
        for (size_t i = live->place_count; i < count; i++)
            grown[i] = NULL;
        live->places = grown;
        live->place_count = count;
    }
    place_drop(live, agent_no);
    live->places[agent_no] = scope;
}

void places_close(const struct engine *engine, struct scope **places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i] != NULL)
            engine->config.tools->close_scope(places[i]);
    }
    free(places);
}

void places_release(struct live *live)
{
    places_close(live->engine, live->places, live->place_count);
    live->places = NULL;
    live->place_count = 0;
}

struct scope **places_open(const struct engine *engine, const struct run *run, size_t *count)
{
    struct scope **places = calloc(run_agent_count(run), sizeof *places);
    if (places == NULL)
        abort();
    *count = run_agent_count(run);
    for (uint32_t no = 0; no < *count; no++) {
        const struct agent *agent = run_agent(run, no);
        struct err gone = ERR_INIT;
        if (has_tree(agent) &&
            engine->config.tools->open_tree(agent->tree->workspace, run_workspace(run), &places[no],
                                            &gone) != 0)
            places[no] = NULL; /* its calls say so */
    }
    return places;
}
