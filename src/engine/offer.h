/* The tools that an agent is offered, as its model sees them: those of its contract, without the ones that
 * are useless to it (no skill to load, no search service, no child that could be open). Agents with the same contract lists share one offer: thousands of
 * siblings have the same. Loop thread. */
#ifndef CADRE_ENGINE_OFFER_H
#define CADRE_ENGINE_OFFER_H

#include "core/run/run.h"
#include "engine/engine.h"
#include "port/model.h"
#include "port/tool.h"

#define OFFERS_MAX 8 /* of a run, kept; the oldest goes first */

struct offer {
    struct arena arena;
    /* Whose it is. */
    struct list allowed, roles;
    enum offer_skills { OFFER_NO_SKILLS, OFFER_SKILLS } skills;
    struct model_tool *tools;
    size_t tool_count;
    struct tools_memo *memo; /* their text */
};

struct offers {
    struct offer items[OFFERS_MAX];
    size_t count, next;
};

/* Lives until OFFERS_MAX others were asked for. */
const struct offer *offer_of(struct offers *offers, const struct engine_config *config,
                             const struct settings *settings, const struct contract *contract);
void offers_release(struct offers *offers);

/* What each available tool adds to a request, for the settings of a new run. Views live in the arena. */
void offer_sizes(struct arena *arena, const struct tool_port *tools,
                 const struct tool_services *services, struct settings *settings);

#endif
