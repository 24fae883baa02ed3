/* XXH3 with the mark so far as its seed: a twentieth of what BLAKE2b takes for a long text, and less for a short one. Pure; any
 * thread. */
#include "base/mark.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t mark_str(uint64_t before, struct str text)
{
    return XXH3_64bits_withSeed(text.p ? text.p : "", text.n, before);
}

uint64_t mark_u64(uint64_t before, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    return XXH3_64bits_withSeed(bytes, sizeof bytes, before);
}

void mark_hex(uint64_t mark, char out[MARK_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = MARK_HEX - 1; i >= 0; i--, mark >>= 4)
        out[i] = digits[mark & 15];
    out[MARK_HEX] = '\0';
}
