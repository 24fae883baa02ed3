/* Sending to a run from any process: a row in the store's inbox, then a datagram that wakes the owner. Blocking (store and
 * socket): for commands, not for the loop. */
#ifndef CADRE_ENGINE_INBOX_H
#define CADRE_ENGINE_INBOX_H

#include "port/store.h"

enum inbox_delivery {
    INBOX_DELIVERED, /* a living process owns the run and was woken */
    INBOX_KEPT,      /* nobody owns it now; its next owner takes the message */
};

/* Puts the message and wakes whoever owns the run. asked_at: on the clock of leases, see port/store.h. */
int inbox_send(struct store *store, struct str store_path, struct str run_id, struct str kind,
               struct str body, struct str sender, int64_t now, int64_t asked_at,
               enum inbox_delivery *delivery, struct err *err);

#endif
