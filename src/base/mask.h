/* Masks in place of secrets: "[masked:openai-key:3f2a]". Text of tools passes through a masker before a model, the log or the screen
 * has it. It finds the secrets that it was told (the values of keys that this process uses) and what has a known shape
 * (base/secret.h). The last part of a mask is a keyed hash: the same secret has the same mask for the life of the process, two secrets
 * can be told apart, and nothing of the secret can be computed from it.
 *
 * Any thread may mask, also while another one tells a secret. A NULL masker masks nothing. */
#ifndef CADRE_BASE_MASK_H
#define CADRE_BASE_MASK_H

#include <stdint.h>

#include "base/buf.h"

#define MASK_KNOWN_LEAST 8 /* bytes; shorter values would be found in ordinary words */
#define MASK_KEY_BYTES 32
#define MASK_MAX 48 /* bytes of one mask, at most */

struct masker;

/* The key is random. Aborts without memory. */
struct masker *masker_new(const uint8_t key[MASK_KEY_BYTES]);
void masker_free(struct masker *masker); /* overwrites what it was told; NULL is fine */
/* From now on this value is masked wherever it stands. kind: at most SECRET_KIND_MAX small letters, digits and hyphens; it must
 * outlive the masker. Values that are too short, or known already, are passed over. */
void masker_know(struct masker *masker, const char *kind, struct str value);
/* Replaces the secrets in the text and returns how many there were; 0 leaves the text as it is. */
size_t masker_apply(const struct masker *masker, struct buf *text);
/* Bytes at the end of the text that may be the beginning of a secret whose rest has not come yet. */
size_t masker_pending(const struct masker *masker, struct str text);
/* The length of the mask that a text begins with; 0: it does not. */
size_t mask_length(struct str text);
/* The first mask in a text; false: there is none. */
bool mask_find(struct str text, struct str *mask);

#endif
