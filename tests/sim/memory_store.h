/* A store in memory for the simulator: batches that were committed survive, the rest does not. Offers what reading needs. */
#ifndef CADRE_TESTS_SIM_MEMORY_STORE_H
#define CADRE_TESTS_SIM_MEMORY_STORE_H

#include "engine/batch.h"

struct memory_store {
    struct store store;
    struct batch **committed; /* owned */
    size_t count, capacity;
};

void memory_store_init(struct memory_store *s);
void memory_store_release(struct memory_store *s);
void memory_store_commit(struct memory_store *s, struct batch *batch); /* takes it over */

#endif
