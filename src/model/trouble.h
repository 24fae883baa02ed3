/* Reads from a model server's error what is wrong beyond the class: the request is longer than
 * the window (and by how much), the server will never answer this run, or a content filter
 * stopped the request. Pure; any thread. */
#ifndef CADRE_MODEL_TROUBLE_H
#define CADRE_MODEL_TROUBLE_H

#include "base/json.h"
#include "core/run/message.h"

#define TROUBLE_TOKENS_MAX INT64_C(1000000000) /* a larger number in an error is not believed */

struct trouble {
    enum model_trouble kind;
    int64_t window, needed; /* tokens; -1: the error does not say */
};
#define TROUBLE_UNKNOWN ((struct trouble){TROUBLE_NONE, -1, -1})

/* status: of HTTP, or 0 for an error inside of an answer that began with 200. root: the error as
 * JSON, or NULL. body: the error as it came; read where it is not JSON. */
struct trouble trouble_read(int status, const struct js *root, struct str body);

#endif
