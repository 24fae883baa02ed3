/* Admission to one provider: three levels of circular lists (owners, their agents, an agent's
 * requests) and a limit that follows what the provider takes on and refuses. Pure; any one
 * thread. */
#include "net/governor.h"

#include <stdlib.h>

#include "net/retry_after.h"

#define RECENT_MS 1000  /* after which what is recent counts half */
#define GROWTH_PART 16  /* of the limit, that a full round adds to it */
#define FAR_PERCENT 25  /* of recent answers refused: the limit is far too high */
#define SLOW_MS 5000    /* a first byte that takes longer than this … */
#define SLOW_TIMES 8    /* … and so many times as long as the quickest: the limit stays */
#define SLOW_DRIFT 1024 /* the quickest moves towards what is usual by this part */
#define REACHED_MS 1000 /* somebody got through so recently: the provider is up */
#define BROKEN_MAX 3    /* broken connections in a row, before a provider is down */

/* Both live only while something of theirs waits, so that the lists hold nobody who has to be
 * passed over. The link stands first: they are cast into each other. */
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

/* --- who waits ------------------------------------------------------------------------------ */

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

/* --- the limit ------------------------------------------------------------------------------ */

void governor_init(struct governor *governor, const struct governor_limits *limits)
{
    size_t maximum = limits->maximum > 0 ? limits->maximum : 1;
    size_t first = limits->first > 0 ? limits->first : 1;
    *governor = (struct governor){
        .limits = {first, maximum},
        .limit = first < maximum ? first : maximum,
        .next_pause = GOVERNOR_PAUSE_FIRST_MS,
        .paused_until = INT64_MIN,
        .probe_at = INT64_MIN,
    };
    map_init(&governor->owners);
    list_init(&governor->turns);
}

void governor_release(struct governor *governor)
{
    map_release(&governor->owners);
}

/* When the next one may leave, as far as time is concerned. */
static int64_t opens_at(const struct governor *governor)
{
    bool probes = governor->state == GOVERNOR_DOWN && governor->probe_at > governor->paused_until;
    return probes ? governor->probe_at : governor->paused_until;
}

int64_t governor_pause_left(const struct governor *governor, int64_t now)
{
    int64_t opens = opens_at(governor);
    return now < opens ? opens - now : 0;
}

static bool is_full(const struct governor *governor)
{
    return governor->state == GOVERNOR_DOWN ? governor->probes > 0
                                            : governor->in_flight >= governor->limit;
}

static bool has_room(const struct governor *governor, int64_t now)
{
    return !is_full(governor) && governor_pause_left(governor, now) == 0;
}

static void let_go(struct governor *governor, struct governor_ticket *ticket, int64_t now)
{
    ticket->state = TICKET_IN_FLIGHT;
    ticket->answer = TICKET_UNANSWERED;
    ticket->kind = governor->state == GOVERNOR_DOWN ? TICKET_PROBE : TICKET_REQUEST;
    ticket->step = governor->step;
    ticket->admitted_at = now;
    governor->in_flight++;
    governor->probes += ticket->kind == TICKET_PROBE;
}

/* Whether what the provider said about this ticket is news: said once, and about the present
 * limit. */
static bool is_news(const struct governor *governor, struct governor_ticket *ticket)
{
    if (ticket->state != TICKET_IN_FLIGHT || ticket->answer == TICKET_ANSWERED)
        return false;
    ticket->answer = TICKET_ANSWERED;
    return ticket->step == governor->step;
}

/* --- what is recent ------------------------------------------------------------------------- */

static void recent_note(struct governor *governor, size_t *count, int64_t now)
{
    if (governor->recent.since == 0)
        governor->recent.since = now;
    for (; governor->recent.since + RECENT_MS <= now; governor->recent.since += RECENT_MS) {
        governor->recent.answers /= 2;
        governor->recent.refusals /= 2;
        if (governor->recent.answers + governor->recent.refusals == 0)
            governor->recent.since = now;
    }
    ++*count;
}

/* Percent of the recent answers that were refusals. */
static size_t refused_percent(const struct governor *governor)
{
    size_t all = governor->recent.answers + governor->recent.refusals;
    return all > 0 ? governor->recent.refusals * 100 / all : 0;
}

/* The wait for a first byte; whether it is far above what is usual here. */
static bool is_slow(struct governor *governor, int64_t waited)
{
    int64_t quickest = governor->quickest;
    if (quickest == 0 || waited < quickest)
        governor->quickest = waited > 0 ? waited : 1;
    else
        governor->quickest += (waited - quickest) / SLOW_DRIFT;
    return quickest > 0 && waited > SLOW_MS && waited > SLOW_TIMES * quickest;
}

/* Somebody got through: a provider that was down is up. What it asked for before stays. */
enum governor_effect governor_reached(struct governor *governor, int64_t now)
{
    governor->unreached = 0;
    governor->reached_at = now;
    if (governor->state == GOVERNOR_UP)
        return GOVERNOR_AS_BEFORE;
    governor->state = GOVERNOR_UP;
    return governor_pause_left(governor, now) > 0 ? GOVERNOR_PAUSED : GOVERNOR_GREW;
}

enum governor_effect governor_unreached(struct governor *governor, enum governor_loss loss,
                                        int64_t now)
{
    bool down = governor->state == GOVERNOR_DOWN;
    governor->unreached++;
    /* While others get through, one lost connection is bad luck. */
    bool alone = now - governor->reached_at >= REACHED_MS || governor->reached_at == 0;
    if (!down && (!alone || (loss == GOVERNOR_BROKEN && governor->unreached < BROKEN_MAX)))
        return GOVERNOR_AS_BEFORE;
    governor->state = GOVERNOR_DOWN;
    governor->probe_at = now + GOVERNOR_PROBE_MS;
    return down ? GOVERNOR_AS_BEFORE : GOVERNOR_PAUSED;
}

enum governor_effect governor_taken_on(struct governor *governor, struct governor_ticket *ticket,
                                       int64_t now)
{
    if (ticket->state != TICKET_IN_FLIGHT || ticket->answer == TICKET_ANSWERED)
        return GOVERNOR_AS_BEFORE;
    enum governor_effect effect = governor_reached(governor, now);
    recent_note(governor, &governor->recent.answers, now);
    bool slow = is_slow(governor, now - ticket->admitted_at);
    if (!is_news(governor, ticket))
        return effect;
    governor->next_pause = GOVERNOR_PAUSE_FIRST_MS;
    /* A limit that nobody reaches proves nothing about a higher one. */
    if (slow || (governor->waiting == 0 && governor->in_flight < governor->limit))
        return effect;
    governor->taken_on++;
    if (governor->history == GOVERNOR_WAS_REFUSED && governor->taken_on < governor->limit)
        return effect;
    governor->taken_on = 0;
    if (governor->limit >= governor->limits.maximum)
        return effect;
    /* A full round without overload. A large limit grows by a part of itself, so that it finds
     * its way back soon. */
    size_t more = governor->history == GOVERNOR_WAS_REFUSED && governor->limit > GROWTH_PART
                      ? governor->limit / GROWTH_PART
                      : 1;
    governor->limit = governor->limit + more < governor->limits.maximum ? governor->limit + more
                                                                        : governor->limits.maximum;
    return GOVERNOR_GREW;
}

static void step_down(struct governor *governor)
{
    /* What was in flight was too much, however high the limit stood. */
    size_t reached = governor->in_flight < governor->limit ? governor->in_flight : governor->limit;
    /* Far above what the provider takes: the first time, or when much of it is refused. */
    bool far =
        governor->history == GOVERNOR_NEVER_REFUSED || refused_percent(governor) >= FAR_PERCENT;
    size_t next = far ? reached / 2 : reached * 7 / 8;
    governor->limit = next > 0 ? next : 1;
    governor->history = GOVERNOR_WAS_REFUSED;
    governor->taken_on = 0;
    governor->step++;
}

enum governor_effect governor_refused(struct governor *governor, struct governor_ticket *ticket,
                                      int http_status, int64_t retry_after_ms, int64_t now)
{
    enum governor_effect reached = governor_reached(governor, now);
    recent_note(governor, &governor->recent.refusals, now);
    /* Also of a request that it had taken on: an answer may break off because there is too
     * much to do. */
    bool news = ticket->state == TICKET_IN_FLIGHT && ticket->step == governor->step;
    ticket->answer = TICKET_ANSWERED;
    size_t percent = refused_percent(governor);
    if (percent < GOVERNOR_PERCENT)
        return reached;
    int64_t pause = retry_after_ms < RETRY_AFTER_MAX_MS ? retry_after_ms : RETRY_AFTER_MAX_MS;
    if (news)
        step_down(governor);
    /* "At once" from a provider that has just refused is no time to wait either. Where most
     * requests are taken on, fewer at once are enough. */
    if (pause <= 0 && news && percent >= FAR_PERCENT) {
        pause = governor->next_pause;
        governor->next_pause =
            pause * 2 < GOVERNOR_PAUSE_MAX_MS ? pause * 2 : GOVERNOR_PAUSE_MAX_MS;
    }
    if (pause <= 0 || now + pause <= governor->paused_until)
        return reached;
    bool begins = now >= governor->paused_until;
    governor->paused_until = now + pause;
    if (!begins)
        return reached;
    governor->status = http_status;
    return GOVERNOR_PAUSED;
}

/* --- in and out ----------------------------------------------------------------------------- */

enum governor_entry governor_enter(struct governor *governor, struct governor_ticket *ticket,
                                   struct str owner, uint32_t agent_no, int64_t now)
{
    if (governor->waiting == 0 && has_room(governor, now)) {
        let_go(governor, ticket, now);
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
    let_go(governor, ticket, now);
    return ticket;
}

int64_t governor_wake(const struct governor *governor, int64_t now)
{
    if (governor->waiting == 0 || is_full(governor))
        return INT64_MAX;
    return now + governor_pause_left(governor, now);
}

void governor_leave(struct governor *governor, struct governor_ticket *ticket)
{
    if (ticket->state == TICKET_WAITING)
        stop_waiting(governor, ticket);
    else if (ticket->state == TICKET_IN_FLIGHT)
        governor->in_flight--;
    if (ticket->state == TICKET_IN_FLIGHT && ticket->kind == TICKET_PROBE)
        governor->probes--;
    ticket->state = TICKET_OUTSIDE;
}

void governor_reason(const struct governor *governor, int64_t now, struct buf *out)
{
    if (governor->state == GOVERNOR_DOWN)
        buf_text(out, "no connection");
    else if (governor_pause_left(governor, now) == 0)
        buf_printf(out, "%zu at once", governor->limit);
    else
        buf_int(out, governor->status);
}
