/* Admission to one provider: three levels of circular lists (owners, their agents, an agent's
 * requests) and a limit that follows what the provider takes on and refuses. Pure; any one thread. */
#include "net/governor.h"

#include <stdlib.h>

#include "net/retry_after.h"

/* Both live only while something of theirs waits, so that the lists hold nobody who has to be passed
 * over. The link stands first: they are cast into each other. */
struct governor_owner {
    struct governor_link link;
    struct str name; /* the copy in `bytes` */
    struct map agents;
    struct governor_link turns; /* agents, the next one first */
    char bytes[];
};

struct governor_agent {
    struct governor_link link;
    struct governor_owner *owner;
    uint32_t no;
    struct governor_link tickets; /* oldest first */
};

/* --- lists --------------------------------------------------------------------------------- */

static void list_init(struct governor_link *list)
{
    list->next = list->previous = list;
}

static bool list_empty(const struct governor_link *list)
{
    return list->next == list;
}

static void list_append(struct governor_link *list, struct governor_link *link)
{
    link->next = list;
    link->previous = list->previous;
    list->previous->next = link;
    list->previous = link;
}

static void list_remove(struct governor_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* --- who waits ------------------------------------------------------------------------------- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static struct str agent_key(const uint32_t *no)
{
    return (struct str){(const char *)no, sizeof *no};
}

static struct governor_owner *owner_of(struct governor *governor, struct str name)
{
    struct governor_owner *owner = map_get(&governor->owners, name);
    if (owner != NULL)
        return owner;
    owner = must(calloc(1, sizeof *owner + name.n));
    if (name.n > 0)
        memcpy(owner->bytes, name.p, name.n);
    owner->name = (struct str){owner->bytes, name.n};
    map_init(&owner->agents);
    list_init(&owner->turns);
    map_set(&governor->owners, owner->name, owner);
    list_append(&governor->turns, &owner->link);
    return owner;
}

static struct governor_agent *agent_of(struct governor_owner *owner, uint32_t no)
{
    struct governor_agent *agent = map_get(&owner->agents, agent_key(&no));
    if (agent != NULL)
        return agent;
    agent = must(calloc(1, sizeof *agent));
    agent->owner = owner;
    agent->no = no;
    list_init(&agent->tickets);
    map_set(&owner->agents, agent_key(&no), agent);
    list_append(&owner->turns, &agent->link);
    return agent;
}

/* Takes a waiting ticket out of the lists, and those with it that have nothing else waiting. */
static void stop_waiting(struct governor *governor, struct governor_ticket *ticket)
{
    struct governor_agent *agent = ticket->agent;
    struct governor_owner *owner = agent->owner;
    list_remove(&ticket->link);
    ticket->agent = NULL;
    governor->waiting--;
    if (!list_empty(&agent->tickets))
        return;
    list_remove(&agent->link);
    map_remove(&owner->agents, agent_key(&agent->no));
    free(agent);
    if (!list_empty(&owner->turns))
        return;
    list_remove(&owner->link);
    map_remove(&governor->owners, owner->name);
    map_release(&owner->agents);
    free(owner);
}

/* --- the limit ------------------------------------------------------------------------------- */

void governor_init(struct governor *governor, const struct governor_limits *limits)
{
    size_t maximum = limits->maximum > 0 ? limits->maximum : 1;
    size_t first = limits->first > 0 ? limits->first : 1;
    *governor = (struct governor){
        .limits = {first, maximum},
        .limit = first < maximum ? first : maximum,
        .next_pause = GOVERNOR_PAUSE_FIRST_MS,
        .paused_until = INT64_MIN,
    };
    map_init(&governor->owners);
    list_init(&governor->turns);
}

void governor_release(struct governor *governor)
{
    map_release(&governor->owners);
}

int64_t governor_pause_left(const struct governor *governor, int64_t now)
{
    return now < governor->paused_until ? governor->paused_until - now : 0;
}

static bool has_room(const struct governor *governor, int64_t now)
{
    return governor->in_flight < governor->limit && governor_pause_left(governor, now) == 0;
}

static void let_go(struct governor *governor, struct governor_ticket *ticket)
{
    ticket->state = TICKET_IN_FLIGHT;
    ticket->answer = TICKET_UNANSWERED;
    ticket->step = governor->step;
    governor->in_flight++;
}

/* Whether what the provider said about this ticket is news: said once, and about the present limit. */
static bool is_news(const struct governor *governor, struct governor_ticket *ticket)
{
    if (ticket->state != TICKET_IN_FLIGHT || ticket->answer == TICKET_ANSWERED)
        return false;
    ticket->answer = TICKET_ANSWERED;
    return ticket->step == governor->step;
}

enum governor_effect governor_taken_on(struct governor *governor, struct governor_ticket *ticket)
{
    if (!is_news(governor, ticket))
        return GOVERNOR_AS_BEFORE;
    governor->next_pause = GOVERNOR_PAUSE_FIRST_MS;
    /* A limit that nobody reaches proves nothing about a higher one. */
    if (governor->waiting == 0 && governor->in_flight < governor->limit)
        return GOVERNOR_AS_BEFORE;
    governor->taken_on++;
    if (governor->history == GOVERNOR_WAS_REFUSED && governor->taken_on < governor->limit)
        return GOVERNOR_AS_BEFORE;
    governor->taken_on = 0;
    if (governor->limit >= governor->limits.maximum)
        return GOVERNOR_AS_BEFORE;
    governor->limit++;
    return GOVERNOR_GREW;
}

static void step_down(struct governor *governor)
{
    /* What was in flight was too much, however high the limit stood. */
    size_t reached = governor->in_flight < governor->limit ? governor->in_flight : governor->limit;
    governor->limit = reached > 1 ? reached / 2 : 1;
    governor->history = GOVERNOR_WAS_REFUSED;
    governor->taken_on = 0;
    governor->step++;
}

enum governor_effect governor_refused(struct governor *governor, struct governor_ticket *ticket,
                                      int http_status, int64_t retry_after_ms, int64_t now)
{
    /* Also of a request that it had taken on: an answer may break off because there is too much to do. */
    bool news = ticket->state == TICKET_IN_FLIGHT && ticket->step == governor->step;
    ticket->answer = TICKET_ANSWERED;
    int64_t pause = retry_after_ms < RETRY_AFTER_MAX_MS ? retry_after_ms : RETRY_AFTER_MAX_MS;
    if (news)
        step_down(governor);
    /* "At once" from a provider that has just refused is no time to wait either. */
    if (pause <= 0 && news) {
        pause = governor->next_pause;
        governor->next_pause =
            pause * 2 < GOVERNOR_PAUSE_MAX_MS ? pause * 2 : GOVERNOR_PAUSE_MAX_MS;
    }
    if (pause <= 0 || now + pause <= governor->paused_until)
        return GOVERNOR_AS_BEFORE;
    bool begins = now >= governor->paused_until;
    governor->paused_until = now + pause;
    if (!begins)
        return GOVERNOR_AS_BEFORE;
    governor->status = http_status;
    return GOVERNOR_PAUSED;
}

/* --- in and out ------------------------------------------------------------------------------ */

enum governor_entry governor_enter(struct governor *governor, struct governor_ticket *ticket,
                                   struct str owner, uint32_t agent_no, int64_t now)
{
    if (governor->waiting == 0 && has_room(governor, now)) {
        let_go(governor, ticket);
        return GOVERNOR_ADMITTED;
    }
    ticket->agent = agent_of(owner_of(governor, owner), agent_no);
    ticket->state = TICKET_WAITING;
    list_append(&ticket->agent->tickets, &ticket->link);
    governor->waiting++;
    return GOVERNOR_WAITS;
}

struct governor_ticket *governor_admit(struct governor *governor, int64_t now)
{
    if (governor->waiting == 0 || !has_room(governor, now))
        return NULL;
    struct governor_owner *owner = (struct governor_owner *)governor->turns.next;
    struct governor_agent *agent = (struct governor_agent *)owner->turns.next;
    struct governor_ticket *ticket = (struct governor_ticket *)agent->tickets.next;
    /* Both had their turn; they may be gone after stop_waiting. */
    list_remove(&owner->link);
    list_append(&governor->turns, &owner->link);
    list_remove(&agent->link);
    list_append(&owner->turns, &agent->link);
    stop_waiting(governor, ticket);
    let_go(governor, ticket);
    return ticket;
}

int64_t governor_wake(const struct governor *governor, int64_t now)
{
    if (governor->waiting == 0 || governor->in_flight >= governor->limit)
        return INT64_MAX;
    return governor->paused_until > now ? governor->paused_until : now;
}

void governor_leave(struct governor *governor, struct governor_ticket *ticket)
{
    if (ticket->state == TICKET_WAITING)
        stop_waiting(governor, ticket);
    else if (ticket->state == TICKET_IN_FLIGHT)
        governor->in_flight--;
    ticket->state = TICKET_OUTSIDE;
}

void governor_reason(const struct governor *governor, int64_t now, struct buf *out)
{
    if (governor_pause_left(governor, now) == 0)
        buf_printf(out, "%zu at once", governor->limit);
    else if (governor->status > 0)
        buf_int(out, governor->status);
    else
        buf_text(out, "no connection");
}
