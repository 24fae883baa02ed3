/* The model port for every server that speaks OpenAI's Chat Completions: OpenAI itself, vLLM,
 * llama.cpp, Ollama and many gateways. Requests go to <base_url>/chat/completions as streams. Runs
 * on the loop's thread. */
#ifndef CADRE_MODEL_OPENAI_H
#define CADRE_MODEL_OPENAI_H

#include "port/model.h"

struct uv_loop_s; /* uv_loop_t */

/* Cheap: nothing is connected before the first start. http_global_init must have been called before
 * that. After ops->free the loop must run until its handles are closed. See decoder.h for
 * arguments that do not parse. */
struct model_port openai_open(struct uv_loop_s *loop);

#endif
