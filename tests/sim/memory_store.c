/* See memory_store.h. */
#include "memory_store.h"

#include <stdlib.h>

static int memory_read(struct store *store, struct str run_id, uint64_t after, uint32_t agent_no,
                       size_t limit, store_event_fn *fn, void *user, struct err *err)
{
    struct memory_store *s = (struct memory_store *)store;
    struct hash chain = chain_start(run_id);
    for (size_t i = 0; i < s->count; i++) {
        for (size_t j = 0; j < s->committed[i]->append.event_count; j++) {
            struct stored_event event = {.row = s->committed[i]->append.events[j],
                                         .epoch = s->committed[i]->append.epoch};
            event.payload_hash = hash_of(event.row.payload);
            event.hash = chain = chain_next(&chain, &event.row, event.epoch, &event.payload_hash);
            if (event.row.seq > after && fn(user, &event) != 0)
                return 0;
        }
    }
    return 0;
}

static int memory_head(struct store *store, struct str run_id, uint64_t *seq, struct hash *hash,
                       struct err *err)
{
    struct memory_store *s = (struct memory_store *)store;
    *seq = s->count > 0 ? s->committed[s->count - 1]->last_seq : 0;
    *hash = chain_start(run_id);
    return 0;
}

static const struct store_ops ops = {.read = memory_read, .head = memory_head};

void memory_store_init(struct memory_store *s)
{
    *s = (struct memory_store){.store = {&ops}};
}

void memory_store_release(struct memory_store *s)
{
    for (size_t i = 0; i < s->count; i++)
        batch_free(s->committed[i]);
    free(s->committed);
}

void memory_store_commit(struct memory_store *s, struct batch *batch)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity * 2 + 16;
        s->committed = realloc(s->committed, s->capacity * sizeof *s->committed);
        if (s->committed == NULL)
            abort();
    }
    s->committed[s->count++] = batch;
}
