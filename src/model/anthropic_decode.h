/* The decoder of Messages API answers, streamed or whole; see decoder.h for what every decoder promises. A stream is
 * complete when message_stop or a stop_reason came. Events and blocks that it does not know are passed over. Pure.
 *
 * Thinking blocks are no text: they are kept, with their signatures, in the reply's extras (anthropic_extras.h). */
#ifndef CADRE_MODEL_ANTHROPIC_DECODE_H
#define CADRE_MODEL_ANTHROPIC_DECODE_H

#include "model/decoder.h"

#define ANTHROPIC_BLOCKS_MAX 1024 /* in one answer */

struct anthropic_block; /* one content block in the making */

/* Tokens as the API counts them: three kinds of input that do not overlap. -1: not reported. */
struct anthropic_usage {
    int64_t fresh, cached, cache_write, output;
};

/* Everything here belongs to the decoder. */
struct anthropic_decoder {
    struct decoder base; /* first: they are cast into each other */
    struct anthropic_block *blocks;
    size_t block_count, block_capacity;
    size_t call_count;
    struct anthropic_usage usage;
};

/* Use it through &decoder->base. delta gets text as it arrives and may be NULL. */
void anthropic_decoder_init(struct anthropic_decoder *decoder, struct model_server server,
                            void (*delta)(void *user, struct str text), void *user);

#endif
