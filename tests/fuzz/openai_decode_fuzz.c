/* Fuzzes model/openai_decode: bodies of Chat Completions answers. */
#include "fuzz/decoding.h"

static void decoder_start(union decoder_under_test *decoder, struct model_server server,
                          void (*delta)(void *user, struct str text), void *user)
{
    openai_decoder_init(&decoder->openai, server, delta, user);
}
