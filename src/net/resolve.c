/* See resolve.h. The question is shared by the one who asks and the thread that looks; whoever is last frees it. */
#include "net/resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_MS 50 /* how often cancellation is looked at */

struct question {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    char host[RESOLVE_NAME_MAX], port[8];
    enum { QUESTION_OPEN, QUESTION_ANSWERED, QUESTION_LEFT } state;
    int code; /* getaddrinfo's */
    struct addrinfo *found;
};

int64_t resolve_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void question_free(struct question *question)
{
    if (question->found)
        freeaddrinfo(question->found);
    pthread_cond_destroy(&question->answered);
    pthread_mutex_destroy(&question->lock);
    free(question);
}

static void *look(void *user)
{
    struct question *question = user;
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(question->host, question->port, &hints, &found);
    pthread_mutex_lock(&question->lock);
    question->code = code;
    question->found = code == 0 ? found : NULL;
    bool left = question->state == QUESTION_LEFT;
    question->state = QUESTION_ANSWERED;
    pthread_cond_signal(&question->answered);
    pthread_mutex_unlock(&question->lock);
    if (left)
        question_free(question);
    return NULL;
}

/* Waits until the answer, the deadline or a cancel. Called with the lock. */
static enum err_class await(struct question *question, const struct resolve_wait *wait)
{
    while (question->state == QUESTION_OPEN) {
        int64_t now = resolve_now_ms(), until = now + LOOK_MS;
        if (now >= wait->deadline_ms)
            return ERR_TIMEOUT;
        if (wait->cancelled && atomic_load_explicit(wait->cancelled, memory_order_relaxed))
            return ERR_CANCELLED;
        if (until > wait->deadline_ms)
            until = wait->deadline_ms;
        struct timespec at = {.tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000};
        pthread_cond_timedwait(&question->answered, &question->lock, &at);
    }
    return ERR_NONE;
}

static void take(const struct question *question, struct resolved *out)
{
    for (const struct addrinfo *at = question->found; at && out->count < RESOLVED_MAX;
         at = at->ai_next)
        if ((at->ai_family == AF_INET || at->ai_family == AF_INET6) &&
            at->ai_addrlen <= sizeof out->addresses[0])
            memcpy(&out->addresses[out->count++], at->ai_addr, at->ai_addrlen);
}

static struct question *question_new(const char *host, uint16_t port)
{
    pthread_condattr_t attributes;
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL)
        abort();
    pthread_mutex_init(&question->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&question->answered, &attributes);
    pthread_condattr_destroy(&attributes);
    snprintf(question->host, sizeof question->host, "%s", host);
    snprintf(question->port, sizeof question->port, "%u", port);
    return question;
}

static int look_up(void *user, const char *host, uint16_t port, const struct resolve_wait *wait,
                   struct resolved *out, struct err *err)
{
    (void)user;
    pthread_t thread;
    *out = (struct resolved){0};
    if (strlen(host) >= RESOLVE_NAME_MAX)
        return err_set(err, ERR_NOT_FOUND, "the host name is too long");
    struct question *question = question_new(host, port);
    if (pthread_create(&thread, NULL, look, question) != 0) {
        question_free(question);
        return err_set(err, ERR_IO, "no thread to look up a host name");
    }
    pthread_detach(thread);
    pthread_mutex_lock(&question->lock);
    enum err_class class = await(question, wait);
    if (class != ERR_NONE) {
        question->state = QUESTION_LEFT;
        pthread_mutex_unlock(&question->lock);
        return err_set(err, class,
                       class == ERR_CANCELLED ? "cancelled"
                                              : "the name of the host %s was not found in time",
                       host);
    }
    take(question, out);
    int code = question->code;
    pthread_mutex_unlock(&question->lock);
    question_free(question);
    if (out->count == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no host %s (%s)", host,
                       code ? gai_strerror(code) : "no address");
    return 0;
}

const struct resolver resolver_system = {look_up, NULL};
