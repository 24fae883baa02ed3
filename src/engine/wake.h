/* Waking the owner of a run, and learning whether it lives. Any thread. */
#ifndef CADRE_ENGINE_WAKE_H
#define CADRE_ENGINE_WAKE_H

#include "base/str.h"

enum wake_result {
    WAKE_SENT,    /* the owner lives and will look */
    WAKE_GONE,    /* no process listens under that name on this machine */
    WAKE_UNKNOWN, /* cannot tell */
};

/* What names of owners start with: this process, so that no other can be taken for it. */
#define WAKE_PROCESS_MAX 48
void wake_process_name(char name[WAKE_PROCESS_MAX]);
enum wake_result wake_owner(struct str store_path, struct str owner);

/* The sockets of processes that are gone: counts them, or removes them too. Returns how many. */
enum wake_sweep { WAKE_COUNTS, WAKE_REMOVES };
size_t wake_sweep(struct str store_path, enum wake_sweep what);

#endif
