/* The Responses adapter: which renderer, decoder, path and header belong together. The rest is transport.c. Runs on the
 * loop thread. */
#include "model/responses.h"

#include <stdlib.h>

#include "model/responses_decode.h"
#include "model/responses_render.h"
#include "model/transport.h"

static struct decoder *decoder_new(struct model_server server,
                                   void (*delta)(void *user, struct str text), void *user)
{
    struct responses_decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        abort();
    responses_decoder_init(decoder, server, delta, user);
    return &decoder->base;
}

static const struct transport_api responses_api = {
    .path = "/responses",
    .key_header = "Authorization: Bearer ",
    .dialect = DIALECT_RESPONSES,
    .body = responses_render_body,
    .decoder_new = decoder_new,
};

static const struct model_ops responses_ops = {
    .render = responses_render_group,
    .start = transport_start,
    .abort = transport_abort,
    .free = transport_free,
};

struct model_port responses_open(struct uv_loop_s *loop)
{
    return (struct model_port){&responses_ops, transport_open(&responses_api, loop)};
}
