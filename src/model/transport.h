/* The way of a model request over HTTP, the same for every API: joins an API's renderer and decoder to the HTTP client.
 * Decides only which of them has the last word on a call: an abort first, then an error status, then what the decoder
 * made of the body, then the network. Does not retry, with one exception: a request that its server refuses for one of its
 * parameters is sent again without it (dialect.h), at most six times. Runs on the loop's thread. */
#ifndef CADRE_MODEL_TRANSPORT_H
#define CADRE_MODEL_TRANSPORT_H

#include "model/decoder.h"
#include "model/dialect.h"
#include "port/model.h"

struct uv_loop_s; /* uv_loop_t */

#define TRANSPORT_BODY_MAX ((size_t)64 << 20) /* bytes of a request */

/* What an API brings. */
struct transport_api {
    const char *path;       /* behind the base URL's own: "/chat/completions" */
    const char *key_header; /* what stands before the key: "Authorization: Bearer " */
    struct str header;      /* one more header, or STR_NONE */
    enum dialect_api dialect;
    void (*body)(const struct model_request *request, struct dialect *dialect, struct buf *out);
    struct decoder *(*decoder_new)(struct model_server server,
                                   void (*delta)(void *user, struct str text), void *user);
};

/* A client for the API, which must outlive it. Cheap: nothing is connected before the first start. http_global_init must
 * have been called before that. */
struct model_client *transport_open(const struct transport_api *api, struct uv_loop_s *loop);

/* The port's start, abort and free. After free the loop must run until its handles are closed. */
int transport_start(struct model_client *client, const struct model_request *request,
                    const struct model_callbacks *callbacks, struct model_call **started,
                    struct err *err) NODISCARD;
void transport_abort(struct model_call *call);
void transport_free(struct model_client *client);

#endif
