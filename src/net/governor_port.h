/* A model port in front of another: requests leave when the governor of their provider (base URL)
 * lets them. What one agent is refused slows down all. Runs on the loop's thread.
 *
 * A request that has to wait is copied. Aborting one that waits answers CANCELLED, UNSENT; one that
 * the inner port cannot start after its wait answers PROVIDER, UNSENT. A waiting request has no
 * deadline of its own: the agent that asks has, and aborts. */
#ifndef CADRE_NET_GOVERNOR_PORT_H
#define CADRE_NET_GOVERNOR_PORT_H

#include "net/governor.h"
#include "port/model.h"

struct uv_loop_s; /* uv_loop_t */

/* Takes the inner port over: ops->free frees both. Calls that are under way then end as CANCELLED;
 * the loop must run until the handles are closed. limits is copied. */
struct model_port governor_open(struct uv_loop_s *loop, struct model_port inner,
                                const struct governor_limits *limits);
/* Most requests at once to this base URL, in place of limits->maximum; of several for one URL the smallest
 * holds. Before its first request. */
void governor_set_maximum(struct model_port governor, struct str base_url, size_t maximum);

#endif
