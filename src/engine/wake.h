/* Waking the owner of a run, and learning whether it lives. Any thread. */
#ifndef CADRE_ENGINE_WAKE_H
#define CADRE_ENGINE_WAKE_H

#include "base/str.h"

enum wake_result {
    WAKE_SENT,    /* the owner lives and will look */
    WAKE_GONE,    /* no process listens under that name on this machine */
    WAKE_UNKNOWN, /* cannot tell */
};

enum wake_result wake_owner(struct str store_path, struct str owner);

#endif
