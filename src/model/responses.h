/* The model port for servers that speak OpenAI's Responses API. Requests go to <base_url>/responses as streams, and nothing
 * is kept on the server (store: false). Runs on the loop's thread. */
#ifndef CADRE_MODEL_RESPONSES_H
#define CADRE_MODEL_RESPONSES_H

#include "port/model.h"

struct uv_loop_s; /* uv_loop_t */

/* Cheap: nothing is connected before the first start. http_global_init must have been called before
 * that. After ops->free the loop must run until its handles are closed. */
struct model_port responses_open(struct uv_loop_s *loop);

#endif
