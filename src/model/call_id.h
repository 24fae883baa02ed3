/* Ids of calls as servers see them. Ours (c<seq>_<i>) stay inside: Mistral takes exactly nine
 * letters and digits, others want the id back that they gave. So a provider gets its own ids
 * back, and every other one gets nine characters that are derived from ours. Pure; any thread. */
#ifndef CADRE_MODEL_CALL_ID_H
#define CADRE_MODEL_CALL_ID_H

#include "core/run/message.h"

#define CALL_ID_DERIVED 9 /* characters of [a-zA-Z0-9] */
#define CALL_ID_MAX 64 /* characters of a server's id that are sent back; every API takes as many */

/* Nine characters made of an id of ours; the same for equal ids. */
struct str call_id_derived(struct str id, char out[CALL_ID_DERIVED]);
/* The id of the message's call at i, for this provider; `out` is where a derived one is written. */
struct str call_id_of(const struct message *message, size_t i, struct str provider,
                      char out[CALL_ID_DERIVED]);
/* The same of the call that a tool message answers. */
struct str call_id_answered(const struct message *message, struct str provider,
                            char out[CALL_ID_DERIVED]);

#endif
