/* The decoder of Responses API answers, streamed or whole; see decoder.h for what every decoder promises. A stream is complete
 * when its response is: completed, incomplete or failed. Events that it does not know are passed over. Pure.
 *
 * An incomplete answer's finish reason is its own ("max_output_tokens"), any other's is "completed". Reasoning is no text:
 * what is sealed of it is kept in the reply's extras (responses_extras.h). */
#ifndef CADRE_MODEL_RESPONSES_DECODE_H
#define CADRE_MODEL_RESPONSES_DECODE_H

#include "model/decoder.h"
#include "model/responses_items.h"

/* Everything here belongs to the decoder. */
struct responses_decoder {
    struct decoder base; /* first: they are cast into each other */
    struct responses_items items;
    enum items_ending ending;
};

/* Use it through &decoder->base, which must not move. delta gets text as it arrives and may be NULL. */
void responses_decoder_init(struct responses_decoder *decoder, struct model_server server,
                            void (*delta)(void *user, struct str text), void *user);

#endif
