/* The next command for somebody who has just seen the demo, by what there is on this machine: a model that `cadre run` would take, a
 * local server, agents of others that can call cadre. Looks and proposes; starts nothing. Blocking, for at most NEXT_LOOK_MS. */
#ifndef CADRE_CLI_NEXT_H
#define CADRE_CLI_NEXT_H

#include "cli/localserver.h"

#define NEXT_LOOK_MS 300
#define NEXT_MAX 3
#define NEXT_AGENTS_MAX 4

struct next_found {
    char program[512];            /* what to type for cadre */
    char model[256], source[512]; /* what `cadre run` takes by config or key; empty: nothing */
    char problem[512];            /* why config cannot be read; empty: it can */
    struct localserver server;    /* base_url empty: none */
    const char *agents[NEXT_AGENTS_MAX]; /* programs in PATH */
    size_t agent_count;
};

struct next {
    char command[1200], why[1200]; /* text from outside is in both: print them cleaned */
};

/* self: the path of this very program. */
void next_look(const char *self, struct next_found *found);
/* The most useful first; how many there are. Pure. */
size_t next_propose(const struct next_found *found, struct next next[NEXT_MAX]);

#endif
