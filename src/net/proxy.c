/* See proxy.h. The listener's thread accepts; each connection has a thread of its own, all of them detached and counted, so that
 * closing waits for the last one. Nothing is shared between them but the counter and the list of contacts. */
#include "net/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/http.h"
#include "net/proxy_connection.h"

#define STACK_BYTES ((size_t)512 << 10) /* a TLS handshake, and blocks of bytes */

struct proxy {
    const struct proxy_access *access;
    char *network;
    int listener, place, stop;
    atomic_bool stopping;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t idle;
    size_t open;
    struct sandbox_contacts contacts;
};

struct served {
    struct proxy *proxy;
    struct proxy_connection connection;
};

/* --- contacts ------------------------------------------------------------------------------------------------------------------ */

static bool is_same(const struct sandbox_contact *a, const struct sandbox_contact *b)
{
    return a->verdict == b->verdict && a->port == b->port && strcmp(a->host, b->host) == 0 &&
           strcmp(a->why, b->why) == 0;
}

/* Called with the lock. */
static void contacts_add(struct sandbox_contacts *contacts, const struct sandbox_contact *contact)
{
    size_t i = 0;
    while (i < contacts->count && !is_same(&contacts->items[i], contact))
        i++;
    if (i == SANDBOX_CONTACTS_MAX) {
        contacts->more++;
        return;
    }
    if (i == contacts->count) {
        contacts->items[contacts->count++] = *contact;
        return;
    }
    contacts->items[i].count += contact->count;
    contacts->items[i].sent += contact->sent;
    contacts->items[i].received += contact->received;
}

/* --- connections --------------------------------------------------------------------------------------------------------------- */

static void connection_end(struct served *served)
{
    struct proxy *proxy = served->proxy;
    close(served->connection.near);
    pthread_mutex_lock(&proxy->lock);
    contacts_add(&proxy->contacts, &served->connection.contact);
    if (--proxy->open == 0)
        pthread_cond_signal(&proxy->idle);
    pthread_mutex_unlock(&proxy->lock);
    free(served);
}

static void *connection_run(void *user)
{
    struct served *served = user;
    proxy_connection_serve(&served->connection);
    connection_end(served);
    return NULL;
}

static bool has_room(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    bool room = proxy->open < PROXY_CONNECTIONS_MAX;
    proxy->open += room;
    pthread_mutex_unlock(&proxy->lock);
    return room;
}

static void turn_away(struct proxy *proxy, int near)
{
    static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct sandbox_contact contact = {.verdict = CONTACT_REFUSED, .count = 1};
    snprintf(contact.why, sizeof contact.why, "more than %d connections at once",
             PROXY_CONNECTIONS_MAX);
    (void)send(near, answer, sizeof answer - 1, MSG_NOSIGNAL);
    close(near);
    pthread_mutex_lock(&proxy->lock);
    contacts_add(&proxy->contacts, &contact);
    pthread_mutex_unlock(&proxy->lock);
}

static void accept_one(struct proxy *proxy)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int near = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (near < 0)
        return;
    if (!has_room(proxy)) {
        turn_away(proxy, near);
        return;
    }
    struct served *served = calloc(1, sizeof *served);
    if (served == NULL)
        abort();
    served->proxy = proxy;
    served->connection = (struct proxy_connection){.access = proxy->access,
                                                   .network = str_from(proxy->network),
                                                   .near = near,
                                                   .stop = proxy->stop,
                                                   .stopping = &proxy->stopping};
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, connection_run, served) != 0) {
        served->connection.contact =
            (struct sandbox_contact){.verdict = CONTACT_FAILED, .why = "no thread", .count = 1};
        connection_end(served);
    }
    pthread_attr_destroy(&attributes);
}

static void *listen_run(void *user)
{
    struct proxy *proxy = user;
    struct pollfd polls[] = {{proxy->stop, POLLIN, 0}, {proxy->listener, POLLIN, 0}};
    for (;;) {
        if (poll(polls, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (polls[0].revents != 0)
            return NULL;
        if (polls[1].revents != 0)
            accept_one(proxy);
    }
}

/* --- opening and closing ------------------------------------------------------------------------------------------------------- */

/* A socket that only a descriptor leads to: its name is gone before anybody else can have seen it. */
static int socket_open(struct proxy *proxy, struct err *err)
{
    char directory[] = "/tmp/cadre-proxy-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (mkdtemp(directory) == NULL)
        return err_set(err, ERR_IO, "cannot make a directory in /tmp: %s", strerror(errno));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool bound = proxy->listener >= 0 &&
                 bind(proxy->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
                 listen(proxy->listener, 64) == 0;
    proxy->place = bound ? open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
    int number = errno;
    unlink(address.sun_path);
    rmdir(directory);
    return proxy->place >= 0
               ? 0
               : err_set(err, ERR_IO, "the proxy has no socket: %s", strerror(number));
}

static void proxy_free(struct proxy *proxy)
{
    const int handles[] = {proxy->listener, proxy->place, proxy->stop};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
        if (handles[i] >= 0)
            close(handles[i]);
    pthread_cond_destroy(&proxy->idle);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy->network);
    free(proxy);
}

struct proxy *proxy_open(const struct proxy_access *access, struct str network, struct err *err)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    if (proxy == NULL || (proxy->network = strndup(network.p, network.n)) == NULL)
        abort();
    proxy->access = access;
    proxy->listener = proxy->place = -1;
    pthread_mutex_init(&proxy->lock, NULL);
    pthread_cond_init(&proxy->idle, NULL);
    proxy->stop = eventfd(0, EFD_CLOEXEC);
    if (proxy->stop < 0)
        err_set(err, ERR_IO, "the proxy has no descriptor: %s", strerror(errno));
    if (proxy->stop < 0 || socket_open(proxy, err) != 0 || http_global_init(err) != 0) {
        proxy_free(proxy);
        return NULL;
    }
    if (pthread_create(&proxy->thread, NULL, listen_run, proxy) != 0) {
        err_set(err, ERR_IO, "no thread for the proxy");
        http_global_release();
        proxy_free(proxy);
        return NULL;
    }
    return proxy;
}

int proxy_place(const struct proxy *proxy)
{
    return proxy->place;
}

void proxy_close(struct proxy *proxy, struct sandbox_contacts *contacts)
{
    const uint64_t one = 1;
    atomic_store(&proxy->stopping, true);
    if (write(proxy->stop, &one, sizeof one) != sizeof one)
        abort();
    pthread_join(proxy->thread, NULL);
    pthread_mutex_lock(&proxy->lock);
    while (proxy->open > 0)
        pthread_cond_wait(&proxy->idle, &proxy->lock);
    *contacts = proxy->contacts;
    pthread_mutex_unlock(&proxy->lock);
    http_global_release();
    proxy_free(proxy);
}
