/* Who runs programs in which tree right now, to say whose changes a comparison may have seen. Any thread. */
#ifndef CADRE_TOOL_PRESENCE_H
#define CADRE_TOOL_PRESENCE_H

#include <pthread.h>

#include "port/tool.h"

struct presences {
    pthread_mutex_t lock;
    struct presence *first;
};

/* Caller's memory; on the list between enter and leave. */
struct presence {
    struct presence *next;
    dev_t device;
    ino_t inode; /* of the tree's root */
    struct str run_id;
    uint32_t agent_no;
    enum presence_state { PRESENCE_ALONE, PRESENCE_SHARED } state;
};

void presences_init(struct presences *presences);
void presences_release(struct presences *presences);
/* The context's run_id must live until presence_leave. */
void presence_enter(struct presences *presences, const struct tool_context *context,
                    struct presence *presence);
void presence_leave(struct presences *presences, struct presence *presence);
/* Whether another agent was there at any time since it came; also after it left. */
enum presence_state presence_state(struct presences *presences, const struct presence *presence);

#endif
