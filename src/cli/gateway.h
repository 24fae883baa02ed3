/* What a request to a server carries besides its body: headers of the config with their variables replaced, and a key.
 * Texts hold secrets: they are overwritten when they are released. */
#ifndef CADRE_CLI_GATEWAY_H
#define CADRE_CLI_GATEWAY_H

#include "config/config.h"
#include "port/fetch.h"

struct gateway_headers {
    struct buf text;
    struct str lines[CONFIG_HEADERS_MAX + 2]; /* "Name: value", views into text */
    size_t count;
    bool holds_key; /* one of them carries a key, so that no other is sent */
};

/* A variable of this process, for config_environment. */
const char *gateway_variable(void *user, const char *name);
void gateway_headers_init(struct gateway_headers *headers);
/* In place of what was there. bounds NULL: none. NOT_FOUND: a variable that a header names is not set. */
int gateway_headers_make(struct gateway_headers *headers, const struct provider_bounds *bounds,
                         struct err *err) NODISCARD;
/* Adds the key as this API wants it in requests that fetch makes; an empty key adds what the API needs besides. */
void gateway_headers_key(struct gateway_headers *headers, struct str api, struct str key);
void gateway_headers_release(struct gateway_headers *headers);

/* Appends base_url with the path behind its own, and its query last. */
void gateway_url(struct buf *out, struct str base_url, const char *path);

#endif
