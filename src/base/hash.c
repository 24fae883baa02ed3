/* BLAKE2b-256 over libsodium. Works before sodium_init(), which only picks a faster implementation; main
 * calls it. Pure; any thread. */
#include "base/hash.h"

struct hash hash_of(struct str bytes)
{
    struct hasher h;
    hasher_init(&h);
    hasher_add(&h, bytes.p, bytes.n);
    return hasher_end(&h);
}

void hasher_init(struct hasher *h)
{
    crypto_generichash_init(&h->state, NULL, 0, sizeof(struct hash));
}

void hasher_add(struct hasher *h, const void *bytes, size_t n)
{
    if (n > 0)
        crypto_generichash_update(&h->state, bytes, n);
}

void hasher_u64(struct hasher *h, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    hasher_add(h, bytes, sizeof bytes);
}

void hasher_str(struct hasher *h, struct str text)
{
    hasher_u64(h, text.n);
    hasher_add(h, text.p, text.n);
}

struct hash hasher_end(struct hasher *h)
{
    struct hash hash;
    crypto_generichash_final(&h->state, hash.bytes, sizeof hash.bytes);
    return hash;
}

bool hash_eq(const struct hash *a, const struct hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void hash_hex(const struct hash *hash, char out[HASH_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof hash->bytes; i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[HASH_HEX] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hash_parse(struct str hex, struct hash *out)
{
    if (hex.n != HASH_HEX)
        return false;
    struct hash hash;
    for (size_t i = 0; i < sizeof hash.bytes; i++) {
        int high = digit_value(hex.p[2 * i]);
        int low = digit_value(hex.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        hash.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = hash;
    return true;
}
