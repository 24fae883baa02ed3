/* The headers of a model request: ours, and those of the config over them. Values of the
 * config's are secrets: they are in no error. Pure; loop thread. */
#ifndef CADRE_MODEL_HEADERS_H
#define CADRE_MODEL_HEADERS_H

#include "base/err.h"
#include "model/dialect.h"
#include "port/model.h"

#define HEADERS_MAX 48            /* of one request */
#define HEADERS_BYTES (64u << 10) /* of all of them */

struct headers {
    struct buf text; /* "Name: value", one after the other, each followed by a line feed */
    size_t count;
};

/* key_header: what stands before the key ("x-api-key: "); own: one more header of the API, or
 * STR_NONE. A header of the config replaces ours of the same name, and one that carries a key
 * (Authorization, api-key, x-api-key) replaces our key. */
int headers_build(struct headers *headers, const struct model_request *request,
                  const char *key_header, struct str own, struct err *err) NODISCARD;
/* Overwrites them. */
void headers_release(struct headers *headers);
/* As http_start wants them; views of headers. */
void headers_list(const struct headers *headers, struct str list[HEADERS_MAX]);
/* Appends the values of the config's headers, a line each, for redaction (model_server.more). */
void headers_secrets(const struct model_request *request, struct buf *out);

#endif
