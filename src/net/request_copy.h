/* A copy of a model request, for ports that send it later or again. There may be keys in it: it is overwritten when it
 * is released. Any thread; one owner. */
#ifndef CADRE_NET_REQUEST_COPY_H
#define CADRE_NET_REQUEST_COPY_H

#include "port/model.h"

#define REQUEST_COPY_MAX ((size_t)72 << 20)

struct request_copy {
    struct model_request request; /* views into `text`; without its conversation */
    struct model_params params;   /* the request's, where it has some */
    struct buf text;
};

/* USAGE: it is larger than REQUEST_COPY_MAX. A copy that is zero, or was released, may be made anew. */
int request_copy_make(struct request_copy *copy, const struct model_request *request,
                      struct err *err) NODISCARD;
void request_copy_release(struct request_copy *copy); /* a copy that is zero is fine */

#endif
