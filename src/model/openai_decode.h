/* The decoder of Chat Completions answers, streamed or whole; see decoder.h for what every decoder promises. A stream is
 * complete when a finish_reason or [DONE] came with an answer. Chunks of the usual shapes are read in place
 * (openai_chunk.h), with the same result. Pure. */
#ifndef CADRE_MODEL_OPENAI_DECODE_H
#define CADRE_MODEL_OPENAI_DECODE_H

#include "model/decoder.h"
#include "model/openai_calls.h"
#include "model/openai_chunk.h"
#include "model/openai_extras.h"

/* Everything here belongs to the decoder. */
struct openai_decoder {
    struct decoder base; /* first: they are cast into each other */
    struct openai_calls calls;
    struct openai_extras extras;
    struct openai_chunks chunks;
    struct buf plain; /* a text of the chunk that is being read, without its escapes */
    enum { REASONS_NONE, REASONS_CONTENT, REASONS_PLAIN } reasons; /* which name it came under */
    bool has_delta; /* text or calls came in deltas */
};

/* Use it through &decoder->base. delta gets text as it arrives and may be NULL. */
void openai_decoder_init(struct openai_decoder *decoder, struct model_server server,
                         void (*delta)(void *user, struct str text), void *user);

#endif
