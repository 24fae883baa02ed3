/* See inbox.h. */
#include "engine/inbox.h"

#include "engine/wake.h"

struct owner {
    char name[128];
};

static int take_owner(void *user, const struct stored_run *run)
{
    struct owner *owner = user;
    if (run->owner.n > 0 && run->owner.n < sizeof owner->name) {
        memcpy(owner->name, run->owner.p, run->owner.n);
        owner->name[run->owner.n] = '\0';
    }
    return 0;
}

int inbox_send(struct store *store, struct str store_path, struct str run_id, struct str kind,
               struct str body, struct str sender, int64_t now, int64_t asked_at,
               enum inbox_delivery *delivery, struct err *err)
{
    struct owner owner = {""};
    int64_t id;
    *delivery = INBOX_KEPT;
    if (store->ops->inbox_put(store, run_id, kind, body, sender, now, &id, err) != 0)
        return -1;
    if (store->ops->run(store, run_id, asked_at, take_owner, &owner, err) != 0)
        return err->class == ERR_NOT_FOUND ? 0
                                           : -1; /* it waits for its start: the message is kept */
    if (owner.name[0] != '\0' && wake_owner(store_path, str_from(owner.name)) == WAKE_SENT)
        *delivery = INBOX_DELIVERED;
    return 0;
}
