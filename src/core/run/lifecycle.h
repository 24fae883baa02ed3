/* The life of a child: six states and the only edges between them. The table is written once, here; the
 * database fills its own table from it and refuses everything else. */
#ifndef CADRE_CORE_RUN_LIFECYCLE_H
#define CADRE_CORE_RUN_LIFECYCLE_H

#include "base/str.h"

#define LIFE_STATES(X)                                                                             \
    X(CREATED, "created")                     /* row inserted, contract persisted */               \
    X(RUNNING, "running")                     /* its loop has started */                           \
    X(WAITING_FOR_MERGE, "waiting_for_merge") /* worked to an end; the parent must integrate */    \
    X(COMPLETED, "completed")                 /* integrated */                                     \
    X(FAILED, "failed")                       /* execution, policy, timeout or integration */      \
    X(CLOSED, "closed")                       /* cleaned up; nothing follows */

enum life_state {
#define X(name, text) LIFE_##name,
    LIFE_STATES(X)
#undef X
        LIFE_COUNT
};

struct lifecycle_edge {
    const char *from, *to;
};

extern const struct lifecycle_edge lifecycle_edges[];
extern const size_t lifecycle_edge_count;

const char *life_text(enum life_state state);
bool life_legal(enum life_state from, enum life_state to);

#endif
