/* The Chat Completions adapter: which renderer, decoder, path and header belong together. The rest is transport.c. Runs on
 * the loop thread. */
#include "model/openai.h"

#include <stdlib.h>

#include "model/openai_decode.h"
#include "model/openai_render.h"
#include "model/transport.h"

static struct decoder *decoder_new(struct model_server server,
                                   void (*delta)(void *user, struct str text), void *user)
{
    struct openai_decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        abort();
    openai_decoder_init(decoder, server, delta, user);
    return &decoder->base;
}

static const struct transport_api openai_api = {
    .path = "/chat/completions",
    .key_header = "Authorization: Bearer ",
    .dialect = DIALECT_CHAT,
    .body = openai_render_body,
    .decoder_new = decoder_new,
};

static const struct model_ops openai_ops = {
    .render = openai_render_group,
    .start = transport_start,
    .abort = transport_abort,
    .free = transport_free,
};

struct model_port openai_open(struct uv_loop_s *loop)
{
    return (struct model_port){&openai_ops, transport_open(&openai_api, loop)};
}
