/* The lifecycle table. Pure. */
#include "core/run/lifecycle.h"

const struct lifecycle_edge lifecycle_edges[] = {
    {"created", "running"},
    {"created", "failed"},
    {"running", "waiting_for_merge"},
    {"running", "failed"},
    {"waiting_for_merge", "completed"},
    {"waiting_for_merge", "failed"},
    {"completed", "closed"},
    {"failed", "closed"},
};
const size_t lifecycle_edge_count = sizeof lifecycle_edges / sizeof lifecycle_edges[0];

const char *life_text(enum life_state state)
{
    static const char *const texts[] = {
#define X(name, text) text,
        LIFE_STATES(X)
#undef X
    };
    return state < LIFE_COUNT ? texts[state] : "?";
}

bool life_legal(enum life_state from, enum life_state to)
{
    for (size_t i = 0; i < lifecycle_edge_count; i++) {
        if (strcmp(lifecycle_edges[i].from, life_text(from)) == 0 &&
            strcmp(lifecycle_edges[i].to, life_text(to)) == 0)
            return true;
    }
    return false;
}
