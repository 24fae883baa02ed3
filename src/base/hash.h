/* BLAKE2b-256 (libsodium) for everything that is verified: the event chain, blobs, file contents. */
#ifndef CADRE_BASE_HASH_H
#define CADRE_BASE_HASH_H

#include <sodium/crypto_generichash.h>
#include <stdint.h>

#include "base/str.h"

struct hash {
    uint8_t bytes[32];
};

struct hasher {
    crypto_generichash_state state;
};

#define HASH_HEX 64 /* characters, without the NUL */

struct hash hash_of(struct str bytes);
void hasher_init(struct hasher *h);
void hasher_add(struct hasher *h, const void *bytes, size_t n);
void hasher_u64(struct hasher *h, uint64_t number); /* 8 bytes, little-endian */
void hasher_str(struct hasher *h, struct str text); /* length (u64), then the bytes: no ambiguity */
struct hash hasher_end(struct hasher *h);
bool hash_eq(const struct hash *a, const struct hash *b);
void hash_hex(const struct hash *hash, char out[HASH_HEX + 1]);
bool hash_parse(struct str hex, struct hash *out);

#endif
