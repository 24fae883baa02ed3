/* The model port for servers that speak Anthropic's Messages API. Requests go to <base_url>/messages as streams. Runs on
 * the loop's thread. */
#ifndef CADRE_MODEL_ANTHROPIC_H
#define CADRE_MODEL_ANTHROPIC_H

#include "port/model.h"

struct uv_loop_s; /* uv_loop_t */

/* Cheap: nothing is connected before the first start. http_global_init must have been called before
 * that. After ops->free the loop must run until its handles are closed. */
struct model_port anthropic_open(struct uv_loop_s *loop);

#endif
