/* Events as plain lines, for output that is no terminal and for `cadre events`. Pure, apart from
 * local time. */
#ifndef CADRE_CLI_LINES_H
#define CADRE_CLI_LINES_H

#include "base/buf.h"
#include "core/run/row.h"

/* "12:01:02 agent-name  tool  read src/x.c" with a newline. Appends nothing for an event that says
 * little to a person who watches (requests, reservations); a failure, a denial, a child's start and
 * end are always shown. */
void lines_event(const struct event_row *row, struct str agent_name, struct buf *out);
/* The line of `cadre events`: number, time, agent, type, summary; with a newline. */
void lines_timeline(const struct event_row *row, struct str agent_name, struct buf *out);
/* {"type":"event","run_id":…,"seq":…,"agent_id":…,"ts":…,"event":…,"summary":…,"payload":{…}}; a
 * payload that was purged is null. */
void lines_json(const struct event_row *row, struct str run_id, struct str agent_id,
                struct buf *out);
/* {"type":"delta","run_id":…,"agent_id":…,"kind":"text"|"reasoning","text":…} */
void lines_delta(struct str run_id, struct str agent_id, const char *kind, struct str text,
                 struct buf *out);
/* {"type":"progress","run_id":…,"agent_id":…,"call_id":…,"text":…} */
void lines_progress(struct str run_id, struct str agent_id, struct str call_id, struct str text,
                    struct buf *out);

#endif
