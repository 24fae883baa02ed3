/* Marks: 64 bits that roll over texts and numbers, to see whether two histories are alike. For comparing what we made ourselves,
 * never for proof: what must withstand somebody who wants two texts to look alike is a hash (base/hash.h). */
#ifndef CADRE_BASE_MARK_H
#define CADRE_BASE_MARK_H

#include <stdint.h>

#include "base/str.h"

#define MARK_HEX 16 /* characters, without the NUL */

/* The mark of what came before and this; 0 is the mark of nothing. Where one text ends and the next begins makes a difference. */
uint64_t mark_str(uint64_t before, struct str text);
uint64_t mark_u64(uint64_t before, uint64_t number);
void mark_hex(uint64_t mark, char out[MARK_HEX + 1]);

#endif
