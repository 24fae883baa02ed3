/* Words for what goes wrong between cadre and a server, and what may be shown of a URL. Pure but
 * for libcurl's URL parser. */
#ifndef CADRE_NET_HTTP_EXPLAIN_H
#define CADRE_NET_HTTP_EXPLAIN_H

#include <curl/curl.h>
#include <stdint.h>

#include "base/err.h"

struct http_url {
    char shown[256]; /* scheme, host, port and path: what a message may contain; cleaned and cut */
    bool loopback;   /* localhost, 127.0.0.0/8 or ::1 */
};

/* Checks that text is an http or https URL without user name and password. -1 with class CONFIG. */
int http_url_parse(struct str text, struct http_url *url, struct err *err) NODISCARD;

/* What libcurl's code means for a person; detail is libcurl's own text, os_errno the system's (0:
 * none). */
void http_explain(CURLcode code, const char *shown_url, const char *detail, int os_errno,
                  struct err *err);

/* The same where the way to the server leads over a proxy of the environment: false where the
 * failure is not the proxy's. The proxy is named with its variable, its host and its port. */
bool http_explain_proxy(CURLcode code, const char *shown_url, const char *detail, int os_errno,
                        struct err *err);

/* A server that answers with a redirect; location may be NULL. */
void http_explain_redirect(int status, const char *shown_url, const char *location,
                           struct err *err);

#endif
