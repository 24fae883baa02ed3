/* Decides when a request to a provider may leave: one governor per provider, for all agents of
 * the process. Pure: the caller brings the time, in milliseconds of any clock that does not
 * run back. governor_port.h puts it in front of a model port.
 *
 * How many at once: the limit starts at `first` and grows by one with each request that the
 * provider takes on, so it doubles with each round trip, until the provider has too much to
 * do; from then on by a sixteenth, at least one, with each full round. Overload is a refusal
 * (429, 503, 529) while more than a few percent of the recent answers are refusals: it lowers
 * the limit and pauses everybody, for as long as the provider asks or for a pause that
 * doubles. Only requests that were admitted after the last step count for the next one, so a
 * burst that is refused as a whole is one step down. A single refusal among many answers, and
 * failures that say nothing about the load (500, 502, a broken or hanging answer), change
 * nothing for others. While requests wait much longer for their first byte than the quickest
 * did, the limit does not grow.
 *
 * A provider that cannot be reached, while nobody gets through, is down: one request at a time
 * leaves as a probe, a second after the last one failed, until something is answered. An answer
 * ends that; it does not end a pause after a refusal.
 *
 * Who is next: owners (runs) take turns; within an owner its agents take turns; within an
 * agent the first comes first. Nobody waits for ever: whatever is in flight ends by its own
 * deadlines, a pause is at most a minute, and so is the time between two probes. Every
 * operation takes constant time, however many wait. */
#ifndef CADRE_NET_GOVERNOR_H
#define CADRE_NET_GOVERNOR_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

struct governor_limits {
    size_t first;   /* 1 … maximum */
    size_t maximum; /* at least 1 */
};

/* 64: above what nearly all runs ask for at once, so they never wait before a provider has
 * said no; and a provider that does say no has at most 64 requests to refuse. Ten thousand are
 * reached in eight round trips. */
#define GOVERNOR_LIMITS ((struct governor_limits){.first = 64, .maximum = 10000})

#define GOVERNOR_PAUSE_FIRST_MS 500 /* where the provider names no time; doubles … */
#define GOVERNOR_PAUSE_MAX_MS 30000 /* … up to this */
#define GOVERNOR_PROBE_MS 1000      /* between two probes of a provider that is down */
#define GOVERNOR_PERCENT 3 /* of recent answers that may be refusals without being overload */

/* A place in a circular list; alone it points to itself. */
struct governor_link {
    struct governor_link *next, *previous;
};

struct governor_agent; /* an agent with requests that wait */

/* One request, embedded in the caller's own record. Zeroed before governor_enter; must stay
 * where it is until governor_leave. */
struct governor_ticket {
    struct governor_link link; /* first: they are cast into each other */
    struct governor_agent *agent;
    enum { TICKET_OUTSIDE, TICKET_WAITING, TICKET_IN_FLIGHT } state;
    enum { TICKET_UNANSWERED, TICKET_ANSWERED } answer;
    enum { TICKET_REQUEST, TICKET_PROBE } kind;
    uint64_t step; /* the governor's when it was admitted */
    int64_t admitted_at;
};

struct governor {
    struct governor_limits limits;
    size_t limit, in_flight, waiting;
    size_t taken_on; /* since the limit last grew */
    enum { GOVERNOR_NEVER_REFUSED, GOVERNOR_WAS_REFUSED } history;
    uint64_t step; /* how many times the limit went down */
    struct {
        size_t answers, refusals;
        int64_t since;
    } recent;         /* both are halved every second */
    int64_t quickest; /* wait for a first byte; drifts up slowly; 0: not known */
    enum { GOVERNOR_UP, GOVERNOR_DOWN } state;
    size_t unreached;           /* failures without an answer since somebody got through */
    int64_t reached_at;         /* when somebody last got through */
    size_t probes;              /* in flight: 0 or 1 */
    int64_t paused_until;       /* by a refusal: nothing is admitted before */
    int64_t probe_at;           /* while DOWN: nor before this */
    int64_t next_pause;         /* where the provider names no time */
    int status;                 /* of the refusal that began the pause */
    struct map owners;          /* those with requests that wait */
    struct governor_link turns; /* the same owners, the next one first */
};

void governor_init(struct governor *governor, const struct governor_limits *limits);
void governor_release(struct governor *governor); /* no ticket may be inside */

/* A request wants to leave. It is in flight at once when there is room and nobody waits. */
enum governor_entry { GOVERNOR_ADMITTED, GOVERNOR_WAITS };
enum governor_entry governor_enter(struct governor *governor, struct governor_ticket *ticket,
                                   struct str owner, uint32_t agent_no, int64_t now) NODISCARD;
/* The next that may leave, now in flight; NULL when none may. To be called until NULL after each
 * governor_leave, when the limit grew, and when the time of governor_wake has come. */
struct governor_ticket *governor_admit(struct governor *governor, int64_t now) NODISCARD;
/* When governor_admit is worth calling although nothing left; INT64_MAX: not before something
 * does. */
int64_t governor_wake(const struct governor *governor, int64_t now);

/* What a piece of news did to everybody. PAUSED: a pause began, or an outage ended while a pause
 * goes on; a pause that only gets longer is AS_BEFORE. */
enum governor_effect { GOVERNOR_AS_BEFORE, GOVERNOR_GREW, GOVERNOR_PAUSED };
/* The provider works on the request: the first sign of that counts, others are ignored. */
enum governor_effect governor_taken_on(struct governor *governor, struct governor_ticket *ticket,
                                       int64_t now);
/* The provider refused it for the moment, or gave up in the middle of an answer because it has
 * too much to do. retry_after_ms: what it asked for, -1 for nothing. */
enum governor_effect governor_refused(struct governor *governor, struct governor_ticket *ticket,
                                      int http_status, int64_t retry_after_ms, int64_t now);
/* The provider answered with a failure that says nothing about its load. GREW: it was down;
 * PAUSED: so it was, and others still wait for a pause to end. */
enum governor_effect governor_reached(struct governor *governor, int64_t now);
/* No answer came: there was no connection, or (BROKEN) it was lost. */
enum governor_loss { GOVERNOR_NO_CONNECTION, GOVERNOR_BROKEN };
enum governor_effect governor_unreached(struct governor *governor, enum governor_loss loss,
                                        int64_t now);
/* For how long nobody is admitted, because the provider asked for that or has too much to do;
 * 0: there is no pause. */
int64_t governor_pause_left(const struct governor *governor, int64_t now);
/* The request is over, or does not want to wait any longer. */
void governor_leave(struct governor *governor, struct governor_ticket *ticket);

/* What a waiting request waits for: "429", "no connection" or "64 at once". */
void governor_reason(const struct governor *governor, int64_t now, struct buf *out);

#endif
