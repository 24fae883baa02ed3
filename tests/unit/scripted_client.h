/* A blocking client and a server for the tests of the scripted model. JSON is written with ' for " in these tests. */
#ifndef CADRE_TESTS_SCRIPTED_CLIENT_H
#define CADRE_TESTS_SCRIPTED_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/json.h"
#include "scripted/scripted.h"

#define RESPONSE_MAX (80u << 20)
#define DEADLINE_SECONDS 120L

struct response {
    CURLcode code;
    long status;
    struct buf body;
    struct buf headers;
};

/* What a request is sent with, beside its body. */
struct request {
    const char *method; /* NULL: POST */
    const char *path;   /* NULL: the chat path */
    const char *header; /* NULL: JSON's content type */
    const char *key;    /* NULL: none */
    struct str body;
};

static inline struct str json_text(struct buf *out, const char *text)
{
    buf_clear(out);
    for (; *text != '\0'; text++)
        buf_char(out, *text == '\'' ? '"' : *text);
    return buf_view(out);
}

static inline struct scripted *server_start(const char *script, const char *key, unsigned threads)
{
    struct scripted *server = NULL;
    struct err err = ERR_INIT;
    struct buf text;
    buf_init(&text, 1u << 24);
    struct scripted_config config = {
        .script = json_text(&text, script), .api_key = key, .threads = threads};
    if (scripted_start(&config, &server, &err) != 0)
        fail_msg("the server does not start: %s", err.message);
    buf_release(&text);
    return server;
}

static inline size_t response_write(char *bytes, size_t size, size_t n, void *user)
{
    buf_add(user, bytes, size * n);
    return size * n;
}

static inline void response_release(struct response *response)
{
    buf_release(&response->body);
    buf_release(&response->headers);
}

/* Never fails a test by itself, so that it can be used by threads. */
static inline struct response request_send(uint16_t port, const struct request *request)
{
    struct response response = {.code = CURLE_FAILED_INIT};
    char url[200], key[200];
    buf_init(&response.body, RESPONSE_MAX);
    buf_init(&response.headers, 1u << 16);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port,
             request->path != NULL ? request->path : "/v1/chat/completions");
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(
        NULL, request->header != NULL ? request->header : "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    if (request->key != NULL) {
        snprintf(key, sizeof key, "Authorization: Bearer %s", request->key);
        headers = curl_slist_append(headers, key);
    }
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, DEADLINE_SECONDS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, response_write);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response.body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, response_write);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response.headers);
    if (request->method == NULL || strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.p ? request->body.p : "");
    } else {
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    response.code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return response;
}

/* Posts a chat request. */
static inline struct response ask(struct scripted *server, const char *body)
{
    struct buf text;
    buf_init(&text, 1u << 24);
    struct request request = {.body = json_text(&text, body)};
    struct response response = request_send(scripted_port(server), &request);
    buf_release(&text);
    return response;
}

static inline struct scripted_stats stats_of(struct scripted *server)
{
    struct scripted_stats stats;
    scripted_stats(server, &stats);
    return stats;
}

/* The document of a JSON answer; fails the test when it is none. Free with js_free. */
static inline struct js *document_of(const struct response *response)
{
    struct err err = ERR_INIT;
    struct js *document = js_parse(buf_view(&response->body), &err);
    if (document == NULL)
        fail_msg("not JSON (%s): %.*s", err.message, STR_FMT(buf_view(&response->body)));
    return document;
}

static inline void assert_contains(struct str text, const char *part)
{
    if (memmem(text.p, text.n, part, strlen(part)) == NULL)
        fail_msg("'%s' is not in: %.*s", part, STR_FMT(text));
}

#endif
