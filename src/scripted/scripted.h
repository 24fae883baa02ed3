/* A scripted model: a Chat Completions server on loopback that is as strict as the real API and answers
 * from a script (docs/scripted-model.md). Tests, the demo and benchmarks talk to it over HTTP like to any model.
 *
 * The server runs on threads of its own. Every function here may be called from any thread, except that
 * nothing may be called during or after scripted_stop. */
#ifndef CADRE_SCRIPTED_SCRIPTED_H
#define CADRE_SCRIPTED_SCRIPTED_H

#include <stdint.h>

#include "base/err.h"

struct scripted;

struct scripted_config {
    struct str script;    /* JSON text; copied */
    uint16_t port;        /* 0: any free one */
    const char *log_path; /* one JSON line per request is appended; NULL: no log */
    const char *api_key;  /* bearer key that every request must carry; NULL: what the script says */
    unsigned threads;     /* that serve; 0: one */
    unsigned max_connections; /* 0: 16384 */
};

/* What the server saw. Counts are of chat requests, unless they say otherwise. */
struct scripted_stats {
    uint64_t requests;      /* complete bodies, refused ones included */
    uint64_t accepted;      /* passed every check */
    uint64_t refused;       /* broke a rule of the API, on any path; a correct client has none */
    uint64_t unmatched;     /* accepted, but no rule of the script matches */
    uint64_t failures;      /* accepted, and answered with a failure that the script asks for */
    uint64_t completed;     /* answers that were sent to their last byte, of any kind */
    uint64_t cut;           /* answers that were not: dropped by the script or left by the client */
    uint64_t output_asked;  /* sum of the output limits of accepted requests */
    uint64_t without_limit; /* accepted requests that named no output limit */
    uint64_t prompt_tokens; /* sums of the usage that was reported to clients */
    uint64_t completion_tokens;
    uint64_t in_flight;      /* accepted and not ended */
    uint64_t max_concurrent; /* highest in_flight */
};

/* The server listens when this returns 0. Class USAGE for a script that is wrong, IO for a port or a log
 * that cannot be had. Stop it with scripted_stop. */
int scripted_start(const struct scripted_config *config, struct scripted **server,
                   struct err *err) NODISCARD;
uint16_t scripted_port(const struct scripted *server);
void scripted_stats(struct scripted *server, struct scripted_stats *stats);
/* Ends every connection, waiting answers included, and frees the server. NULL is fine. */
void scripted_stop(struct scripted *server);

#endif
