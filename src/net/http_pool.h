/* The pool of curl multi handles under the HTTP client, and their marriage to libuv: one uv_poll
 * per socket, one timer and one idle handle per multi handle. curl's cost per event grows with the
 * handle, so each takes HTTP_PER_MULTI transfers at most. Runs on the loop thread. */
#ifndef CADRE_NET_HTTP_POOL_H
#define CADRE_NET_HTTP_POOL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <uv.h>

struct http_multi;
struct http_socket;

struct http_pool {
    uv_loop_t *loop;
    /* A transfer ended; called outside of curl, so that anything may be done with the handle. */
    void (*ended)(struct http_pool *pool, CURL *easy, CURLcode code);
    /* Something was finished or closed: the owner may now be able to go. The pool is not touched
     * after. */
    void (*settled)(struct http_pool *pool);
    /* Whether the connection of this transfer is complete, TLS included; called from within curl. */
    bool (*established)(const struct http_pool *pool, CURL *easy);
    /* curl only waits for an answer now; called from within curl. */
    void (*waits)(struct http_pool *pool, CURL *easy);
    struct http_multi **multis;
    size_t multi_count;
    struct http_socket *sockets; /* by descriptor */
    size_t socket_count;
    size_t handles;  /* open uv handles, those of the owner included (it counts its own here) */
    int dispatching; /* depth of calls that still need the pool */
};

/* The least loaded multi handle takes the transfer, or a new one; NULL when curl refuses. */
struct http_multi *http_pool_add(struct http_pool *pool, CURL *easy);
void http_pool_remove(struct http_multi *multi, CURL *easy);
/* Closes everything; no transfer may be left. `settled` follows for each handle as the loop closes
 * it. */
void http_pool_close(struct http_pool *pool);
/* Frees the memory, once handles is 0. */
void http_pool_free(struct http_pool *pool);

/* curl has made a socket; to be told from CURLOPT_SOCKOPTFUNCTION. */
void http_pool_opened(struct http_pool *pool, curl_socket_t fd);
/* For curl, as CURLOPT_CLOSESOCKETFUNCTION of every handle, with the pool as its data. */
int http_pool_closed(void *pool, curl_socket_t fd);

static inline void *http_must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

#endif
