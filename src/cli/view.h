/* What the display knows about a run: a small copy per agent, taken from the live state when an
 * event of that agent becomes durable, so that nothing here points into a run between two turns of
 * the loop. Loop thread, or any one thread. */
#ifndef CADRE_CLI_VIEW_H
#define CADRE_CLI_VIEW_H

#include "cli/tree.h"
#include "core/run/run.h"

#define VIEW_TEXT 160 /* bytes of a name, an activity, a tail */

struct view_agent {
    uint32_t parent_no;
    enum tree_state state;
    char id[ID_LENGTH + 1];
    char name[64], role[32];
    char activity[VIEW_TEXT];
    int64_t turn;  /* the agent's turn that the activity belongs to */
    int64_t since; /* when the activity started; 0: how long it takes is of no interest */
    char tail[VIEW_TEXT];
    bool reasons;     /* the tail is reasoning */
    char waiting[64]; /* what its request waits for at the provider; empty: it does not wait */
    int64_t waiting_since;
    int64_t tool_calls, tool_limit, tokens;
    int64_t cost_nano, cost_most_nano; /* billed, and with requests that ended without a bill; -1 */
    int64_t refused;                   /* calls of it and of agents below it */
};

struct view {
    struct view_agent *agents; /* by agent number */
    size_t count, capacity;
};

void view_init(struct view *view);
void view_release(struct view *view);
/* Takes in what changed: the agent and its ancestors (their spending grew). */
void view_update(struct view *view, const struct run *run, uint32_t agent_no, int64_t now);
/* All agents of a run: after resume, or of a folded log. */
void view_update_all(struct view *view, const struct run *run, int64_t now);
/* Text that streams in; the reasoning before it goes. */
void view_delta(struct view *view, uint32_t agent_no, struct str text);
void view_reasoning(struct view *view, uint32_t agent_no, struct str text);
/* A line of what its call does, in place of the one before. */
void view_progress(struct view *view, uint32_t agent_no, struct str text);
/* Its request waits for the provider; an empty reason: no longer. */
void view_waiting(struct view *view, uint32_t agent_no, struct str reason, int64_t now);
bool view_knows(const struct view *view, uint32_t agent_no);
/* "root" or the agent's name and id; "?" for an unknown number. Live until the next update. */
struct str view_name(const struct view *view, uint32_t agent_no);
struct str view_id(const struct view *view, uint32_t agent_no);
/* Renders everything as of `now`. */
void view_render(const struct view *view, int64_t now, const struct tree_style *style,
                 struct buf *out);

#endif
