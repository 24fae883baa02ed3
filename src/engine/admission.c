/* See admission.h. Strictly in order: whoever needs much is not overtaken for ever by those who need little. */
#include "engine/admission.h"

#include <stdint.h>

/* Opened after the count, and neither by effects nor for requests: store, wake socket, workspace, curl's own, the launcher's image
 * and its count of the disk (12 in all), and what the loop and the writer open for a moment. */
#define RESERVE 16
#define BRIEF_ALL (6 * DESCRIPTORS_BRIEF) /* more brief tools do not run at once */
#define WORK_FIRST 4096                   /* for work before all connections have theirs */
#define WORK_ALL 8192                     /* 256 threads, 32 each */
#define CONNECTING 64 /* connections that are being made: a second descriptor each */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t descriptors_wanted(size_t connections)
{
    return 256 + RESERVE + BRIEF_ALL + WORK_ALL + connections + CONNECTING;
}

struct descriptor_shares descriptors_share(size_t limit, size_t open, size_t connections)
{
    struct descriptor_shares shares = {1, 1, 0, 1};
    size_t free = limit > open + RESERVE ? limit - open - RESERVE : 0;
    shares.brief = least(free / 5, BRIEF_ALL);
    if (shares.brief < DESCRIPTORS_BRIEF)
        shares.brief = DESCRIPTORS_BRIEF;
    free = free > shares.brief ? free - shares.brief : 0;
    size_t work = free / 5 * 4;
    if (work > DESCRIPTORS_COMMAND * 4)
        work = least(free / 3 * 2, WORK_FIRST);
    size_t sockets = least(free - work, connections + CONNECTING);
    work = least(free - sockets, WORK_ALL);
    shares.connections = sockets - least(sockets / 2, CONNECTING);
    shares.scopes = work > DESCRIPTORS_COMMAND ? (work - DESCRIPTORS_COMMAND) / 4 : 0;
    shares.work = work - shares.scopes;
    if (shares.work == 0)
        shares.work = 1;
    if (shares.connections == 0)
        shares.connections = 1;
    return shares;
}

void admission_init(struct admission *admission, size_t most)
{
    *admission = (struct admission){.most = most};
    admission->last = &admission->first;
}

static bool fits(const struct admission *admission, size_t need)
{
    return admission->inside == 0 ||
           (admission->used <= admission->most && need <= admission->most - admission->used);
}

static void let_in(struct admission *admission, struct admission_ticket *ticket)
{
    ticket->state = TICKET_INSIDE;
    admission->used += ticket->need;
    admission->inside++;
}

bool admission_enter(struct admission *admission, struct admission_ticket *ticket, size_t need)
{
    *ticket = (struct admission_ticket){.need = need};
    if (admission->first == NULL && fits(admission, need)) {
        let_in(admission, ticket);
        return true;
    }
    ticket->state = TICKET_WAITS;
    ticket->at = admission->last;
    *admission->last = ticket;
    admission->last = &ticket->next;
    return false;
}

static void unqueue(struct admission *admission, struct admission_ticket *ticket)
{
    *ticket->at = ticket->next;
    if (ticket->next != NULL)
        ticket->next->at = ticket->at;
    else
        admission->last = ticket->at;
    ticket->next = NULL;
    ticket->at = NULL;
    ticket->state = TICKET_NONE;
}

void admission_leave(struct admission *admission, struct admission_ticket *ticket)
{
    if (ticket->state != TICKET_INSIDE)
        return;
    ticket->state = TICKET_NONE;
    admission->used -= ticket->need;
    admission->inside--;
}

struct admission_ticket *admission_next(struct admission *admission)
{
    struct admission_ticket *ticket = admission->first;
    if (ticket == NULL || !fits(admission, ticket->need))
        return NULL;
    unqueue(admission, ticket);
    let_in(admission, ticket);
    return ticket;
}

void admission_withdraw(struct admission *admission, struct admission_ticket *ticket)
{
    if (ticket->state == TICKET_WAITS)
        unqueue(admission, ticket);
}
