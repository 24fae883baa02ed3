/* Fuzzes model/responses_decode: bodies of Responses answers. */
#include "fuzz/decoding.h"

static void decoder_start(union decoder_under_test *decoder, struct model_server server,
                          void (*delta)(void *user, struct str text), void *user)
{
    responses_decoder_init(&decoder->responses, server, delta, user);
}
