/* Fuzzes model/anthropic_decode: bodies of Messages answers. */
#include "fuzz/decoding.h"

static void decoder_start(union decoder_under_test *decoder, struct model_server server,
                          void (*delta)(void *user, struct str text), void *user)
{
    anthropic_decoder_init(&decoder->anthropic, server, delta, user);
}
