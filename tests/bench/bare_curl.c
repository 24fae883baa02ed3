/* The same requests with libcurl's multi_socket interface on libuv and nothing else: what cadre's turns are held
 * against. As many multi handles as cadre has (one per 300 transfers); each agent keeps its easy handle. Replies are
 * counted and thrown away. One thread.
 *
 * Usage: bench-curl PORT PLAN */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "plan.h"

#define PER_MULTI 300

struct client;

struct multi {
    struct client *client;
    CURLM *curl;
    uv_timer_t timer;
};

struct socket_watch {
    uv_poll_t poll;
    struct multi *multi;
    curl_socket_t fd;
};

struct agent {
    CURL *easy; /* NULL before its first request; kept for later phases */
    struct multi *multi;
    size_t turn;
};

struct client {
    uv_loop_t loop;
    char url[128];
    struct curl_slist *headers;
    struct multi *multis;
    size_t multi_count;
    struct agent *agents;
    struct phase *phase;
    size_t working, reply_bytes;
};

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-curl: %s: %s\n", what, why);
    exit(1);
}

static size_t on_data(char *bytes, size_t size, size_t n, void *user)
{
    struct client *client = user;
    client->reply_bytes += size * n;
    return size * n;
}

static void request_start(struct client *client, struct agent *agent)
{
    const struct phase *phase = client->phase;
    if (!agent->easy) {
        agent->easy = curl_easy_init();
        curl_easy_setopt(agent->easy, CURLOPT_URL, client->url);
        curl_easy_setopt(agent->easy, CURLOPT_PROXY, "");
        curl_easy_setopt(agent->easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(agent->easy, CURLOPT_HTTPHEADER, client->headers);
        curl_easy_setopt(agent->easy, CURLOPT_WRITEFUNCTION, on_data);
        curl_easy_setopt(agent->easy, CURLOPT_WRITEDATA, client);
        curl_easy_setopt(agent->easy, CURLOPT_PRIVATE, agent);
        curl_easy_setopt(agent->easy, CURLOPT_POST, 1L);
    }
    curl_easy_setopt(agent->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)phase->sizes[agent->turn]);
    curl_easy_setopt(agent->easy, CURLOPT_POSTFIELDS, phase->bodies[agent->turn]);
    if (curl_multi_add_handle(agent->multi->curl, agent->easy) != CURLM_OK)
        fail("request", "libcurl refused it");
}

static void ended(struct client *client, CURL *easy, CURLcode code)
{
    struct agent *agent = NULL;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&agent);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || status != 200)
        fail("request", code != CURLE_OK ? curl_easy_strerror(code) : "the server refused it");
    curl_multi_remove_handle(agent->multi->curl, easy);
    if (++agent->turn < client->phase->turns)
        request_start(client, agent);
    else if (--client->working == 0)
        uv_stop(&client->loop);
}

static void act(struct multi *multi, curl_socket_t fd, int flags)
{
    int running, queued;
    CURLMsg *message;
    curl_multi_socket_action(multi->curl, fd, flags, &running);
    while ((message = curl_multi_info_read(multi->curl, &queued)))
        if (message->msg == CURLMSG_DONE)
            ended(multi->client, message->easy_handle, message->data.result);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_watch *watch = poll->data;
    act(watch->multi, watch->fd,
        status != 0 ? CURL_CSELECT_ERR
                    : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                          (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0));
}

static void on_timeout(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    struct multi *multi = user;
    struct socket_watch *watch = socket_user;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
        curl_multi_assign(multi->curl, fd, NULL);
        return 0;
    }
    if (!watch) {
        watch = calloc(1, sizeof *watch);
        if (!watch || uv_poll_init_socket(&multi->client->loop, &watch->poll, fd) != 0)
            fail("socket", "libuv refused it");
        watch->multi = multi;
        watch->fd = fd;
        watch->poll.data = watch;
        curl_multi_assign(multi->curl, fd, watch);
    }
    uv_poll_start(&watch->poll,
                  (what != CURL_POLL_OUT ? UV_READABLE : 0) |
                      (what != CURL_POLL_IN ? UV_WRITABLE : 0),
                  on_poll);
    return 0;
}

static int on_timer(CURLM *curl, long timeout_ms, void *user)
{
    struct multi *multi = user;
    if (timeout_ms < 0)
        uv_timer_stop(&multi->timer);
    else
        uv_timer_start(&multi->timer, on_timeout, (uint64_t)timeout_ms, 0);
    return 0;
}

static void multi_open(struct client *client, struct multi *multi)
{
    multi->client = client;
    multi->curl = curl_multi_init();
    uv_timer_init(&client->loop, &multi->timer);
    multi->timer.data = multi;
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_MAXCONNECTS, (long)PER_MULTI);
}

static void phase_run(struct client *client, struct phase *phase)
{
    phase_bodies_make(phase);
    client->phase = phase;
    client->working = phase->agents;
    for (size_t i = 0; i < phase->agents; i++) {
        client->agents[i].turn = 0;
        client->agents[i].multi = &client->multis[i / PER_MULTI];
        request_start(client, &client->agents[i]);
    }
    uv_run(&client->loop, UV_RUN_DEFAULT);
    if (client->working > 0)
        fail("phase", "the loop ended before it");
    phase_bodies_free(phase);
}

static void client_close(struct client *client, size_t agents)
{
    for (size_t i = 0; i < agents; i++)
        curl_easy_cleanup(client->agents[i].easy);
    for (size_t i = 0; i < client->multi_count; i++) {
        curl_multi_cleanup(client->multis[i].curl);
        uv_close((uv_handle_t *)&client->multis[i].timer, NULL);
    }
    uv_run(&client->loop, UV_RUN_DEFAULT);
    uv_loop_close(&client->loop);
    curl_slist_free_all(client->headers);
    free(client->multis);
    free(client->agents);
    curl_global_cleanup();
}

int main(int argc, char **argv)
{
    struct plan plan;
    struct client client = {.reply_bytes = 0};
    int port = argc == 3 ? port_parse(argv[1]) : -1;
    if (port < 0) {
        fprintf(stderr, "usage: bench-curl PORT PLAN\n");
        return 2;
    }
    if (plan_read(&plan, argv[2]) != 0)
        return 2;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || uv_loop_init(&client.loop) != 0)
        fail("start", "no libcurl or no libuv");
    snprintf(client.url, sizeof client.url, "http://127.0.0.1:%d/v1/chat/completions", port);
    client.headers = curl_slist_append(NULL, "Content-Type: application/json");
    client.headers = curl_slist_append(client.headers, "Expect:");
    client.multi_count = (plan.agents_max + PER_MULTI - 1) / PER_MULTI;
    client.multis = calloc(client.multi_count, sizeof *client.multis);
    client.agents = calloc(plan.agents_max, sizeof *client.agents);
    if (!client.multis || !client.agents)
        fail("start", "out of memory");
    for (size_t i = 0; i < client.multi_count; i++)
        multi_open(&client, &client.multis[i]);
    for (size_t i = 0; i < plan.count; i++)
        phase_run(&client, &plan.phases[i]);
    client_close(&client, plan.agents_max);
    plan_free(&plan);
    return 0;
}
