/* One request and its answer, from the first header to the last byte. Made when a request arrives, freed when
 * libmicrohttpd says that it has ended; always used by the thread that serves its connection. */
#ifndef CADRE_SCRIPTED_EXCHANGE_H
#define CADRE_SCRIPTED_EXCHANGE_H

#include <microhttpd.h>

#include "scripted/script.h"
#include "scripted/tally.h"
#include "scripted/waker.h"

struct exchange;

/* What all exchanges share; owned by the server and alive longer than they. */
struct exchange_context {
    struct script script;
    struct str api_key; /* STR_NONE: none is asked for */
    struct tally *tally;
    struct waker *waker;
};

struct exchange *exchange_new(struct exchange_context *context, struct MHD_Connection *connection,
                              const char *method, const char *url);
void exchange_receive(struct exchange *exchange, struct str bytes); /* a part of the body */
/* The body is complete: answers, or suspends the connection first and is called again. */
enum MHD_Result exchange_answer(struct exchange *exchange);
void exchange_free(struct exchange *exchange, enum MHD_RequestTerminationCode how);

#endif
