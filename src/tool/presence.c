/* See presence.h: a list under a lock. */
#include "tool/presence.h"

#include "os/scope.h"

void presences_init(struct presences *presences)
{
    *presences = (struct presences){.first = NULL};
    pthread_mutex_init(&presences->lock, NULL);
}

void presences_release(struct presences *presences)
{
    pthread_mutex_destroy(&presences->lock);
}

static bool are_two_agents_in_one_tree(const struct presence *a, const struct presence *b)
{
    return a->device == b->device && a->inode == b->inode &&
           (a->agent_no != b->agent_no || !str_eq(a->run_id, b->run_id));
}

void presence_enter(struct presences *presences, const struct tool_context *context,
                    struct presence *presence)
{
    *presence = (struct presence){.device = context->scope->root.device,
                                  .inode = context->scope->root.inode,
                                  .run_id = context->run_id,
                                  .agent_no = context->agent_no};
    pthread_mutex_lock(&presences->lock);
    for (struct presence *other = presences->first; other != NULL; other = other->next) {
        if (are_two_agents_in_one_tree(other, presence))
            other->state = presence->state = PRESENCE_SHARED;
    }
    presence->next = presences->first;
    presences->first = presence;
    pthread_mutex_unlock(&presences->lock);
}

void presence_leave(struct presences *presences, struct presence *presence)
{
    pthread_mutex_lock(&presences->lock);
    struct presence **at = &presences->first;
    while (*at != presence)
        at = &(*at)->next;
    *at = presence->next;
    pthread_mutex_unlock(&presences->lock);
}

enum presence_state presence_state(struct presences *presences, const struct presence *presence)
{
    pthread_mutex_lock(&presences->lock);
    enum presence_state state = presence->state;
    pthread_mutex_unlock(&presences->lock);
    return state;
}
