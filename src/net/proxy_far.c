/* See proxy_far.h. TLS is libcurl's: it is handed a socket that is connected already, so it neither looks names up nor connects. */
#include "net/proxy_far.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hostrule.h"
#include "net/address.h"
#include "net/http_explain.h"
#include "net/http_pool.h"

#define OPEN_MS 15000 /* for the name, all addresses and TLS, each */
#define POLLS_MAX 3

int proxy_poll(const struct proxy_wait *wait, struct pollfd *polls, size_t count,
               int64_t deadline_ms)
{
    struct pollfd all[POLLS_MAX + 1] = {{wait->stop, POLLIN, 0}};
    for (size_t i = 0; i < count && i < POLLS_MAX; i++)
        all[1 + i] = polls[i];
    for (;;) {
        int64_t left = deadline_ms - resolve_now_ms();
        int ready = left > 0 ? poll(all, 1 + (nfds_t)count, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || all[0].revents != 0)
            return -1;
        for (size_t i = 0; i < count && i < POLLS_MAX; i++)
            polls[i].revents = all[1 + i].revents;
        return 0;
    }
}

/* --- which address ------------------------------------------------------------------------------------------------------------- */

static bool is_private_allowed(const struct proxy_access *access, const char *host)
{
    for (size_t i = 0; i < access->private_count; i++)
        if (hostrule_holds(access->private_hosts[i], str_from(host)))
            return true;
    return false;
}

static void set_port(struct sockaddr_storage *address, unsigned port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons((uint16_t)port);
}

/* The operator's own word for where the host is. */
static bool is_given(const struct proxy_access *access, const char *host, unsigned port,
                     struct resolved *found)
{
    for (size_t i = 0; i < access->address_count; i++) {
        if (!str_is(access->addresses[i].host, host))
            continue;
        const struct sockaddr_in *same = (const void *)&access->addresses[i].address;
        *found = (struct resolved){.addresses = {access->addresses[i].address}, .count = 1};
        if (same->sin_port == 0) /* the port lies in the same place in both families */
            set_port(&found->addresses[0], port);
        return true;
    }
    return false;
}

/* A name with one private address is private: which of them a server answers at is its owner's choice. */
static int judge(const char *host, const struct resolved *found, struct err *err)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct sockaddr *address = (const struct sockaddr *)&found->addresses[i];
        const char *why = address_not_public(address);
        struct buf shown;
        if (why == NULL)
            continue;
        buf_init(&shown, 64);
        address_print(address, &shown);
        err_set(err, ERR_DENIED, "%s leads to %.*s, %s", host, STR_FMT(buf_view(&shown)), why);
        buf_release(&shown);
        return -1;
    }
    return 0;
}

static int find(const struct proxy_access *access, const char *host, unsigned port,
                const struct proxy_wait *wait, struct resolved *found, struct err *err)
{
    const struct resolver *resolver = access->resolver ? access->resolver : &resolver_system;
    struct resolve_wait patience = {resolve_now_ms() + OPEN_MS, wait->stopping};
    if (is_given(access, host, port, found))
        return 0;
    if (resolver->look_up(resolver->user, host, (uint16_t)port, &patience, found, err) != 0)
        return -1;
    return is_private_allowed(access, host) ? 0 : judge(host, found, err);
}

/* --- connecting ---------------------------------------------------------------------------------------------------------------- */

static int connect_to(const struct sockaddr_storage *address, const struct proxy_wait *wait,
                      int64_t deadline_ms)
{
    socklen_t n =
        address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int number = 0;
    socklen_t size = sizeof number;
    struct pollfd ready = {fd, POLLOUT, 0};
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)address, n) == 0)
        return fd;
    if (errno == EINPROGRESS && proxy_poll(wait, &ready, 1, deadline_ms) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number == 0)
        return fd;
    if (number == 0)
        number = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(fd);
    errno = number;
    return -1;
}

int proxy_far_open(struct proxy_far *far, const struct proxy_access *access, const char *host,
                   unsigned port, const struct proxy_wait *wait, struct err *err)
{
    struct resolved found;
    *far = (struct proxy_far){.fd = -1};
    if (find(access, host, port, wait, &found, err) != 0)
        return -1;
    int64_t deadline = resolve_now_ms() + OPEN_MS;
    for (size_t i = 0; i < found.count && far->fd < 0; i++)
        far->fd = connect_to(&found.addresses[i], wait, deadline);
    return far->fd >= 0
               ? 0
               : err_set(err, ERR_IO, "%s cannot be connected to: %s", host, strerror(errno));
}

/* --- TLS ----------------------------------------------------------------------------------------------------------------------- */

static curl_socket_t on_open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct proxy_far *far = user;
    (void)purpose;
    (void)address;
    return far->fd;
}

static int on_socket_options(void *user, curl_socket_t fd, curlsocktype purpose)
{
    (void)user;
    (void)fd;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/* The socket is closed with the far end, not by curl. */
static int on_close_socket(void *user, curl_socket_t fd)
{
    (void)user;
    (void)fd;
    return 0;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct proxy_wait *wait = user;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return atomic_load(wait->stopping);
}

static int set_options(CURL *easy, struct proxy_far *far, const char *url,
                       const struct curl_slist *pin, const struct proxy_wait *wait)
{
    const char *authorities = secure_getenv("SSL_CERT_FILE");
    int bad = 0;
    bad |= curl_easy_setopt(easy, CURLOPT_URL, url);
    bad |= curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    bad |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    bad |= curl_easy_setopt(easy, CURLOPT_RESOLVE, pin);
    bad |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)OPEN_MS);
    bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, far);
    bad |= curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_options);
    bad |= curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
    bad |= curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    bad |= curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    bad |= curl_easy_setopt(easy, CURLOPT_XFERINFODATA, wait);
    if (authorities && authorities[0])
        bad |= curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
    return bad;
}

int proxy_far_secure(struct proxy_far *far, const char *host, const struct proxy_wait *wait,
                     struct err *err)
{
    char url[300], pin[320], detail[CURL_ERROR_SIZE] = "";
    CURL *easy = http_must(curl_easy_init());
    snprintf(url, sizeof url, "https://%s/", host);
    /* Any address will do, as it is not connected to. */
    snprintf(pin, sizeof pin, "%s:443:192.0.2.1", host);
    struct curl_slist *pins = http_must(curl_slist_append(NULL, pin));
    int bad = set_options(easy, far, url, pins, wait);
    bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
    CURLcode code = bad ? CURLE_FAILED_INIT : curl_easy_perform(easy);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
    curl_slist_free_all(pins);
    if (code == CURLE_OK) {
        far->tls = easy;
        return 0;
    }
    curl_easy_cleanup(easy);
    http_explain(code, host, detail, 0, err);
    return -1;
}

ssize_t proxy_far_read(struct proxy_far *far, char *bytes, size_t n)
{
    size_t got = 0;
    if (far->tls == NULL)
        return read(far->fd, bytes, n);
    CURLcode code = curl_easy_recv(far->tls, bytes, n, &got);
    errno = code == CURLE_AGAIN ? EAGAIN : EIO;
    return code == CURLE_OK ? (ssize_t)got : -1;
}

ssize_t proxy_far_write(struct proxy_far *far, const char *bytes, size_t n)
{
    size_t sent = 0;
    if (far->tls == NULL)
        return send(far->fd, bytes, n, MSG_NOSIGNAL);
    CURLcode code = curl_easy_send(far->tls, bytes, n, &sent);
    errno = code == CURLE_AGAIN ? EAGAIN : EIO;
    return code == CURLE_OK ? (ssize_t)sent : -1;
}

void proxy_far_close(struct proxy_far *far)
{
    if (far->tls != NULL)
        curl_easy_cleanup(far->tls);
    if (far->fd >= 0)
        close(far->fd);
    *far = (struct proxy_far){.fd = -1};
}
