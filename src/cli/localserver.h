/* Asks a model server which models it has: GET /v1/models over a plain socket, with a deadline.
 * Blocking: for commands, before the loop runs. The answer comes from whoever listens there, and is
 * treated so. */
#ifndef CADRE_CLI_LOCALSERVER_H
#define CADRE_CLI_LOCALSERVER_H

#include "base/err.h"

#define LOCALSERVER_FIND_MS 600 /* for commands that need a model */

struct localserver {
    char base_url[256]; /* "http://127.0.0.1:11434/v1" */
    char model[256];    /* the first one it names */
    size_t model_count;
};

/* base_url: "http://host[:port][/path]"; "/models" is added. RETRY: nobody answers, or not in time.
 * PROVIDER: the answer is no list of models. USAGE: an address that this cannot ask (https). */
int localserver_ask(struct str base_url, int deadline_ms, struct localserver *server,
                    struct err *err) NODISCARD;
/* The first server that answers on loopback, port 11434, then 8080; each has half of the time. NOT_FOUND: none. */
int localserver_find(int deadline_ms, struct localserver *server, struct err *err) NODISCARD;

#endif
