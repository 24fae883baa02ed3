/* ULIDs from a time and ten bytes, random (the caller's) or derived from a parent. Pure; any thread. */
#include "base/id.h"

#include "base/hash.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

enum { TIME_CHARACTERS = 10, TIME_BITS = 48, ENTROPY_BYTES = 10 };

struct id id_make(int64_t ms, const uint8_t entropy[ENTROPY_BYTES])
{
    struct id id = {{0}};
    uint64_t time = ms < 0 ? 0 : (uint64_t)ms & ((UINT64_C(1) << TIME_BITS) - 1);
    for (int i = TIME_CHARACTERS - 1; i >= 0; i--) {
        id.text[i] = alphabet[time & 31];
        time >>= 5;
    }
    /* Five bytes are eight characters. */
    for (int half = 0; half < 2; half++) {
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++)
            bits = bits << 8 | entropy[half * 5 + i];
        for (int i = 7; i >= 0; i--) {
            id.text[TIME_CHARACTERS + half * 8 + i] = alphabet[bits & 31];
            bits >>= 5;
        }
    }
    return id;
}

struct id id_derive(int64_t ms, struct str parent_id, uint64_t seq)
{
    struct hasher h;
    hasher_init(&h);
    hasher_str(&h, parent_id);
    hasher_u64(&h, seq);
    struct hash hash = hasher_end(&h);
    return id_make(ms, hash.bytes);
}

bool id_valid(struct str text)
{
    if (text.n != ID_LENGTH)
        return false;
    for (size_t i = 0; i < ID_LENGTH; i++) {
        char c = text.p[i];
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if (!memchr(alphabet, c, sizeof alphabet - 1))
            return false;
    }
    return true;
}
