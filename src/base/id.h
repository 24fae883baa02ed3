/* Identifiers at the edge are ULIDs: 26 Crockford base-32 characters, 48 bits of milliseconds and 80 bits
 * that are random or derived. Nothing here draws randomness: the caller brings the bytes. */
#ifndef CADRE_BASE_ID_H
#define CADRE_BASE_ID_H

#include <stdint.h>

#include "base/str.h"

#define ID_LENGTH 26

struct id {
    char text[ID_LENGTH + 1];
};

struct id id_make(int64_t ms, const uint8_t entropy[10]);
/* The same parent, seq and time always give the same id: spawning again after a crash finds the child. */
struct id id_derive(int64_t ms, struct str parent_id, uint64_t seq);
bool id_valid(struct str text); /* 26 characters of the alphabet, upper or lower case */
static inline struct str id_str(const struct id *id)
{
    return (struct str){id->text, id->text[0] ? ID_LENGTH : 0};
}

#endif
