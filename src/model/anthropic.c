/* The Messages adapter: which renderer, decoder, path and headers belong together. The rest is transport.c. Runs on the
 * loop thread. */
#include "model/anthropic.h"

#include <stdlib.h>

#include "model/anthropic_decode.h"
#include "model/anthropic_render.h"
#include "model/transport.h"

static struct decoder *decoder_new(struct model_server server,
                                   void (*delta)(void *user, struct str text), void *user)
{
    struct anthropic_decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        abort();
    anthropic_decoder_init(decoder, server, delta, user);
    return &decoder->base;
}

static const struct transport_api anthropic_api = {
    .path = "/messages",
    .key_header = "x-api-key: ",
    .header = {"anthropic-version: 2023-06-01", sizeof "anthropic-version: 2023-06-01" - 1},
    .dialect = DIALECT_MESSAGES,
    .body = anthropic_render_body,
    .decoder_new = decoder_new,
};

static const struct model_ops anthropic_ops = {
    .render = anthropic_render_group,
    .start = transport_start,
    .abort = transport_abort,
    .free = transport_free,
};

struct model_port anthropic_open(struct uv_loop_s *loop)
{
    return (struct model_port){&anthropic_ops, transport_open(&anthropic_api, loop)};
}
