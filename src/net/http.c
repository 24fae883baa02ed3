/* The HTTP client: requests, deadlines and how a transfer ends; the sockets are http_pool.c's,
 * and what a curl handle is told is http_handle.c's.
 * Deadlines are ours and not curl's, so that each has its own message: one timer per transfer,
 * armed for the earliest one; activity only notes the time.
 *
 * curl may not be re-entered from its callbacks, so these take notes. A transfer ends in
 * transfer_end, which runs from the loop: when the pool reports it, or from the transfer's timer.
 * Does not parse bodies, does not retry. Runs on the loop thread. */
#include <stdlib.h>

#include "net/http_transfer.h"

#define DEADLINE_MAX_MS ((int64_t)30 * 24 * 3600 * 1000)
#define SPARES_MAX 512 /* finished transfers that wait to be used again */
/* Bodies whose memory is worth keeping: below, malloc is as good, and above, it is too much to keep. */
#define BODY_LEAST 4096
#define BODY_MOST ((size_t)128 << 10)

int http_global_init(struct err *err)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK)
        return err_set(err, ERR_IO, "libcurl does not start: %s", curl_easy_strerror(code));
    return 0;
}

void http_global_release(void)
{
    curl_global_cleanup();
}

/* --- the end of a transfer
 * -------------------------------------------------------------------------- */

static void client_settle(struct http *http);

static void transfer_closed(uv_handle_t *handle)
{
    struct http_transfer *transfer = handle->data;
    struct http *http = transfer->http;
    free(transfer);
    http->pool.handles--;
    client_settle(http);
}

void http_body(struct http *http, size_t max, struct buf *body)
{
    buf_init(body, max);
    if (http->body_count == 0)
        return;
    *body = http->bodies[--http->body_count];
    body->max = max;
}

/* Nobody needs the body any more. */
static void body_leave(struct http *http, struct buf *body)
{
    if (http->state != CLIENT_OPEN || http->body_count == HTTP_SPARE_BODIES ||
        body->capacity < BODY_LEAST || body->capacity > BODY_MOST) {
        buf_release(body);
        return;
    }
    buf_clear(body);
    http->bodies[http->body_count++] = *body;
    buf_init(body, 0);
}

static void transfer_free(struct http_transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    handle_forget_headers(transfer);
    buf_release(&transfer->headers_set);
    buf_release(&transfer->url_set);
    buf_release(&transfer->body);
    free(transfer->failure);
    uv_close((uv_handle_t *)&transfer->timer, transfer_closed);
}

/* Its handle is off the pool. */
static void transfer_release(struct http_transfer *transfer)
{
    struct http *http = transfer->http;
    if (http->state != CLIENT_OPEN || http->spare_count == SPARES_MAX) {
        transfer_free(transfer);
        return;
    }
    uv_timer_stop(&transfer->timer);
    body_leave(http, &transfer->body);
    free(transfer->failure);
    transfer->failure = NULL;
    transfer->next = http->spares;
    http->spares = transfer;
    http->spare_count++;
}

struct err *transfer_failure(struct http_transfer *transfer)
{
    if (!transfer->failure) {
        transfer->failure = http_must(malloc(sizeof *transfer->failure));
        *transfer->failure = ERR_INIT;
    }
    return transfer->failure;
}

static void headers_too_large(struct http_transfer *transfer)
{
    err_set(transfer_failure(transfer), ERR_PROVIDER, "%s sent more than 64 KB of headers",
            transfer->url.shown);
}

static void transfer_judge(struct http_transfer *transfer, CURLcode code)
{
    long status = 0, os_errno = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    transfer->status = (int)status;
    if (transfer->failure != NULL || transfer->phase == PHASE_GRACE)
        return;
    if (code == CURLE_OUT_OF_MEMORY && transfer->header_bytes > 0 && transfer->body_bytes == 0) {
        headers_too_large(transfer); /* curl's word for a single line of 100 KB */
    } else if (code != CURLE_OK) {
        curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_errno);
        struct err *failure = transfer_failure(transfer);
        if (transfer->url.loopback || !http_explain_proxy(code, transfer->url.shown,
                                                          transfer->detail, (int)os_errno, failure))
            http_explain(code, transfer->url.shown, transfer->detail, (int)os_errno, failure);
    } else if (status >= 300 && status < 400) {
        char *location = NULL;
        curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
        http_explain_redirect((int)status, transfer->url.shown, location,
                              transfer_failure(transfer));
    }
}

/* The one place where a transfer ends. Never called from curl's callbacks. */
static void transfer_end(struct http_transfer *transfer, CURLcode code)
{
    struct http *http = transfer->http;
    transfer_judge(transfer, code);
    transfer->phase = PHASE_ENDED;
    http_pool_remove(transfer->multi, transfer->easy);
    if (transfer->next)
        transfer->next->previous = transfer->previous;
    *(transfer->previous ? &transfer->previous->next : &http->transfers) = transfer->next;

    const struct http_result result = {
        .class = transfer->failure ? transfer->failure->class : ERR_NONE,
        .message = transfer->failure ? transfer->failure->message : "",
        .status = transfer->status,
        .sent = transfer->connected ? HTTP_SENT : HTTP_UNSENT,
        .left = transfer->left,
    };
    http->pool.dispatching++;
    transfer->handlers.done(transfer->handlers.user, transfer, &result);
    http->pool.dispatching--;
    transfer_release(transfer);
    client_settle(http);
}

/* --- deadlines
 * --------------------------------------------------------------------------------------- */

static uint64_t phase_deadline(const struct http_transfer *transfer)
{
    switch (transfer->phase) {
    case PHASE_CONNECT:
        return transfer->active + (uint64_t)transfer->deadlines.connect_ms;
    case PHASE_FIRST_BYTE:
        return transfer->active + (uint64_t)transfer->deadlines.first_byte_ms;
    case PHASE_BODY:
        return transfer->active + (uint64_t)transfer->deadlines.idle_ms;
    case PHASE_TAIL:
        return transfer->active + HTTP_TAIL_MS;
    case PHASE_GRACE:
        return transfer->active + HTTP_GRACE_MS;
    case PHASE_ENDING:
    case PHASE_ENDED:
        break;
    }
    return 0;
}

static void deadline_passed(struct http_transfer *transfer)
{
    const char *url = transfer->url.shown;
    const struct http_deadlines *limit = &transfer->deadlines;
    struct err *err = transfer_failure(transfer);
    switch (transfer->phase) {
    case PHASE_CONNECT:
        if (!transfer->url.loopback &&
            http_explain_proxy(CURLE_OPERATION_TIMEDOUT, url, "no connection in time", 0, err))
            break;
        err_set(err, ERR_RETRY, "no connection to %s within %g s: is the server reachable?", url,
                (double)limit->connect_ms / 1000);
        break;
    case PHASE_FIRST_BYTE:
        err_set(err, ERR_RETRY, "%s took the request and sent nothing within %g s", url,
                (double)limit->first_byte_ms / 1000);
        break;
    case PHASE_BODY:
        err_set(err, ERR_RETRY, "%s fell silent for %g s in the middle of its answer", url,
                (double)limit->idle_ms / 1000);
        break;
    case PHASE_TAIL:
    case PHASE_GRACE:
        transfer->left = true;
        break;
    case PHASE_ENDING:
    case PHASE_ENDED:
        break;
    }
}

static void on_deadline(uv_timer_t *timer);

/* Arms the timer for whichever deadline comes first. A timer that runs and fires before that stays as it is: then is time enough
 * to look again, and most phases are over by then. */
static void transfer_arm(struct http_transfer *transfer)
{
    uint64_t now = uv_now(transfer->http->pool.loop), at = phase_deadline(transfer);
    uint64_t total = transfer->started + (uint64_t)transfer->deadlines.total_ms;
    if (total < at)
        at = total;
    if (uv_is_active((uv_handle_t *)&transfer->timer) && transfer->armed <= at)
        return;
    transfer->armed = at;
    uv_timer_start(&transfer->timer, on_deadline, at > now ? at - now : 0, 0);
}

static void on_deadline(uv_timer_t *timer)
{
    struct http_transfer *transfer = timer->data;
    uint64_t now = uv_now(transfer->http->pool.loop);
    if (phase_deadline(transfer) <= now)
        deadline_passed(transfer);
    else if (transfer->started + (uint64_t)transfer->deadlines.total_ms <= now)
        err_set(transfer_failure(transfer), ERR_TIMEOUT, "no complete answer from %s within %g s",
                transfer->url.shown, (double)transfer->deadlines.total_ms / 1000);
    else {
        transfer_arm(transfer);
        return;
    }
    transfer_end(transfer, CURLE_OK);
}

static void transfer_phase(struct http_transfer *transfer, enum phase phase)
{
    transfer->phase = phase;
    transfer->active = uv_now(transfer->http->pool.loop);
    transfer_arm(transfer);
}

/* --- curl's callbacks: they take notes and never end a transfer
 * -------------------------------------- */

int http_on_opened(void *user, curl_socket_t fd, curlsocktype purpose)
{
    struct http_transfer *transfer = user;
    transfer->established = false;
    http_pool_opened(&transfer->http->pool, fd);
    return CURL_SOCKOPT_OK;
}

int http_on_connected(void *user, char *ip, char *local_ip, int port, int local_port)
{
    struct http_transfer *transfer = user;
    /* A kept connection that ends without a byte makes curl send the same request once more. The server may have worked on the
     * first, and bill it: who asked must know, and decides. */
    if (transfer->connected && transfer->header_bytes == 0 && transfer->posts) {
        err_set(transfer_failure(transfer), ERR_RETRY,
                "%s closed the connection without an answer; it may have taken the request",
                transfer->url.shown);
        return CURL_PREREQFUNC_ABORT;
    }
    transfer->connected = transfer->established = true;
    if (transfer->phase == PHASE_CONNECT)
        transfer_phase(transfer, PHASE_FIRST_BYTE);
    return CURL_PREREQFUNC_OK;
}

size_t http_on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct http_transfer *transfer = user;
    size_t n = size * count;
    transfer->header_bytes += n;
    if (transfer->header_bytes <= HTTP_HEADER_MAX)
        return n;
    if (transfer->failure == NULL)
        headers_too_large(transfer);
    return 0;
}

size_t http_on_data(char *bytes, size_t size, size_t count, void *user)
{
    struct http_transfer *transfer = user;
    size_t n = size * count;
    if (transfer->phase == PHASE_ENDING)
        return 0;
    if (transfer->phase == PHASE_GRACE || n == 0)
        return n;
    if (transfer->body_bytes == 0) {
        long status = 0;
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        transfer->status = (int)status;
        transfer_phase(transfer, PHASE_BODY);
    }
    if (transfer->phase != PHASE_TAIL)
        transfer->active = uv_now(transfer->http->pool.loop);
    transfer->body_bytes += n;
    if (transfer->body_bytes > HTTP_RESPONSE_MAX) {
        err_set(transfer_failure(transfer), ERR_PROVIDER, "%s sent an answer of more than 64 MB",
                transfer->url.shown);
        return 0;
    }
    if (transfer->status >= 300 && transfer->status < 400)
        return n; /* explained at the end, see transfer_judge */
    enum http_next next =
        transfer->handlers.data(transfer->handlers.user, transfer->status, (struct str){bytes, n});
    if (transfer->phase == PHASE_ENDING)
        return 0;
    if (next == HTTP_STOP) {
        http_abort(transfer);
        return 0;
    }
    if (next == HTTP_SOON)
        transfer_phase(transfer, PHASE_TAIL);
    if (next == HTTP_ENOUGH)
        transfer_phase(transfer, PHASE_GRACE);
    return n;
}

/* --- the client
 * ------------------------------------------------------------------------------------- */

static void on_ended(struct http_pool *pool, CURL *easy, CURLcode code)
{
    struct http_transfer *transfer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    transfer_end(transfer, code);
}

static bool on_established(const struct http_pool *pool, CURL *easy)
{
    struct http_transfer *transfer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    return transfer->established;
}

/* The body is of no use once it has left, and thousands may wait for an answer. curl must not send it again, and cannot: see
 * http_on_connected. */
static void on_waits(struct http_pool *pool, CURL *easy)
{
    struct http_transfer *transfer = NULL;
    curl_off_t sent = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (transfer->body.n == 0 || (size_t)sent < transfer->body.n)
        return;
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    body_leave(transfer->http, &transfer->body);
}

static void on_settled(struct http_pool *pool)
{
    client_settle((struct http *)(void *)pool);
}

struct http *http_new(uv_loop_t *loop)
{
    struct http *http = http_must(calloc(1, sizeof *http));
    http->pool = (struct http_pool){.loop = loop,
                                    .ended = on_ended,
                                    .settled = on_settled,
                                    .established = on_established,
                                    .waits = on_waits};
    buf_init(&http->url_text, HTTP_URL_MAX);
    const char *file = secure_getenv("SSL_CERT_FILE");
    if (file && file[0] != '\0')
        http->authorities = http_must(strdup(file));
    return http;
}

size_t http_multi_count(const struct http *http)
{
    return http->pool.multi_count;
}

/* Takes the client down when it is closing and nothing is left that could call back into it. */
static void client_settle(struct http *http)
{
    if (http->state == CLIENT_OPEN || http->pool.dispatching > 0 || http->transfers)
        return;
    if (http->state == CLIENT_CLOSING) {
        http->state = CLIENT_CLOSED;
        http_pool_close(&http->pool);
    }
    if (http->pool.handles > 0)
        return;
    http_pool_free(&http->pool);
    buf_release(&http->url_text);
    free(http->authorities);
    free(http);
}

void http_free(struct http *http)
{
    for (struct http_transfer *t = http->transfers; t; t = t->next)
        http_abort(t);
    http->state = CLIENT_CLOSING;
    while (http->spares) {
        struct http_transfer *spare = http->spares;
        http->spares = spare->next;
        transfer_free(spare);
    }
    while (http->body_count > 0)
        buf_release(&http->bodies[--http->body_count]);
    client_settle(http);
}

/* --- starting and aborting
 * --------------------------------------------------------------------------- */

static int64_t deadline_limit(int64_t ms)
{
    return ms < DEADLINE_MAX_MS ? ms : DEADLINE_MAX_MS;
}

static int deadlines_copy(struct http_transfer *transfer, const struct http_deadlines *asked,
                          struct err *err)
{
    if (asked->connect_ms <= 0 || asked->first_byte_ms <= 0 || asked->idle_ms <= 0 ||
        asked->total_ms <= 0)
        return err_set(err, ERR_BUG, "a request without deadlines");
    transfer->deadlines = (struct http_deadlines){
        .connect_ms = deadline_limit(asked->connect_ms),
        .first_byte_ms = deadline_limit(asked->first_byte_ms),
        .idle_ms = deadline_limit(asked->idle_ms),
        .total_ms = deadline_limit(asked->total_ms),
    };
    return 0;
}

static int url_check(struct http *http, struct str text, struct http_url *url, struct err *err)
{
    if (http->url_text.n == 0 || !str_eq(buf_view(&http->url_text), text)) {
        buf_clear(&http->url_text);
        if (http_url_parse(text, &http->url, err) != 0)
            return -1;
        buf_str(&http->url_text, text);
    }
    *url = http->url;
    return 0;
}

/* A finished one, or a new one; all that is about one request is blank. */
static struct http_transfer *transfer_take(struct http *http, struct err *err)
{
    struct http_transfer *transfer = http->spares;
    if (transfer) {
        http->spares = transfer->next;
        http->spare_count--;
        transfer->next = transfer->previous = NULL;
        transfer->header_bytes = transfer->body_bytes = 0;
        transfer->status = 0;
        transfer->connected = transfer->established = transfer->left = false;
        transfer->detail[0] = '\0';
        return transfer;
    }
    transfer = http_must(calloc(1, sizeof *transfer));
    transfer->http = http;
    transfer->easy = http_must(curl_easy_init());
    buf_init(&transfer->url_set, HTTP_URL_MAX);
    buf_init(&transfer->headers_set, (size_t)4 * HTTP_HEADER_MAX);
    http->pool.handles++;
    uv_timer_init(http->pool.loop, &transfer->timer);
    transfer->timer.data = transfer;
    if (handle_prepare(transfer, err) == 0)
        return transfer;
    transfer_free(transfer);
    return NULL;
}

int http_start(struct http *http, const struct http_request *request,
               struct http_transfer **started, struct err *err)
{
    struct buf body = {0};
    if (request->body) {
        body = *request->body;
        buf_init(request->body, body.max);
    }
    struct http_transfer *transfer = NULL;
    if (http->state != CLIENT_OPEN)
        err_set(err, ERR_BUG, "a request on a closed HTTP client");
    else
        transfer = transfer_take(http, err);
    if (!transfer) {
        buf_release(&body);
        return -1;
    }
    transfer->body = body;
    transfer->posts = body.n > 0;
    transfer->handlers = request->handlers;
    if (url_check(http, request->url, &transfer->url, err) != 0 ||
        deadlines_copy(transfer, &request->deadlines, err) != 0 ||
        handle_set_request(transfer, request, err) != 0)
        goto out;

    transfer->multi = http_pool_add(&http->pool, transfer->easy);
    if (!transfer->multi) {
        err_set(err, ERR_BUG, "libcurl refused a transfer");
        goto out;
    }
    transfer->next = http->transfers;
    if (transfer->next)
        transfer->next->previous = transfer;
    http->transfers = transfer;
    uv_update_time(http->pool.loop); /* the loop's clock stands still while a handler works */
    transfer->started = uv_now(http->pool.loop);
    transfer_phase(transfer, PHASE_CONNECT);
    *started = transfer;
    return 0;
out:
    transfer_release(transfer);
    return -1;
}

void http_abort(struct http_transfer *transfer)
{
    if (transfer->phase == PHASE_ENDING || transfer->phase == PHASE_ENDED)
        return;
    if (transfer->failure == NULL)
        err_set(transfer_failure(transfer), ERR_CANCELLED, "the request to %s was cancelled",
                transfer->url.shown);
    transfer_phase(transfer, PHASE_ENDING); /* its deadline is now: the end comes from the loop */
}

struct str http_header(const struct http_transfer *transfer, const char *name)
{
    struct curl_header *header = NULL;
    if (curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return STR_NONE;
    return str_from(header->value);
}

struct str http_shown_url(const struct http_transfer *transfer)
{
    return str_from(transfer->url.shown);
}
