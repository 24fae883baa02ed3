/* A model port in front of another one that gives requests their key, for providers whose key a helper program prints
 * (key_helper.h). A key is kept until it expires; requests that need one at the same time wait for one run of the
 * program, on a thread of its own. When the server answers 401, the program is run once more and the request is sent
 * once more. Loop thread. */
#ifndef CADRE_MODEL_KEY_PORT_H
#define CADRE_MODEL_KEY_PORT_H

#include "model/key_helper.h"
#include "port/model.h"

struct uv_loop_s;
struct masker;
struct key_ring; /* the helpers and their keys; shared by the ports of all APIs */

/* What the helpers point to must live until key_ring_close. The masker (may be NULL) is told every key; it must outlive the loop's
 * last turn. */
struct key_ring *key_ring_new(struct uv_loop_s *loop, const struct key_helper *helpers,
                              size_t count, struct masker *masker);
/* Takes the inner port over: ops->free frees both. Requests to providers without a helper pass through. */
struct model_port key_port_open(struct key_ring *ring, struct model_port inner);
/* After its ports were freed. Programs that run are killed; memory is freed from the loop. */
void key_ring_close(struct key_ring *ring);

#endif
