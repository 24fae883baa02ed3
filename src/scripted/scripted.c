/* Starts and stops the server: script, tally, waker and libmicrohttpd with its own epoll threads, on loopback only. What
 * happens to a request is exchange.c's business. */
#include "scripted/scripted.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "scripted/exchange.h"

#define DEFAULT_CONNECTIONS 16384
#define BACKLOG 4096
#define IDLE_SECONDS 300
#define CONNECTION_BYTES 65536 /* untouched pages cost nothing */
#define READ_BYTES 32768       /* the default reads a long conversation in far too many steps */

struct scripted {
    struct exchange_context context;
    struct MHD_Daemon *daemon;
    uint16_t port;
};

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    struct scripted *server = user;
    if (*state == NULL) {
        *state = exchange_new(&server->context, connection, method, url);
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*upload_size > 0) {
        exchange_receive(*state, (struct str){upload, *upload_size});
        *upload_size = 0;
        return MHD_YES;
    }
    return exchange_answer(*state);
}

static void completed(void *user, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how)
{
    if (*state != NULL)
        exchange_free(*state, how);
    *state = NULL;
}

static int listen_on(struct scripted *server, const struct scripted_config *config, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(config->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const unsigned limit =
        config->max_connections > 0 ? config->max_connections : DEFAULT_CONNECTIONS;
    const unsigned threads = config->threads > 1 ? config->threads : 0; /* 0: one, without a pool */
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, server},
        {MHD_OPTION_SOCK_ADDR, 0, &address},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limit, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL},
        {MHD_OPTION_LISTEN_BACKLOG_SIZE, BACKLOG, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_INCREMENT, READ_BYTES, NULL},
        {MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    errno = 0;
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, config->port,
                         NULL, NULL, handle, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (server->daemon == NULL)
        return err_set(err, ERR_IO, "cannot listen on 127.0.0.1 port %u: %s", config->port,
                       errno != 0 ? strerror(errno) : "the server did not start");
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (info == NULL || info->port == 0)
        return err_set(err, ERR_IO, "cannot tell which port was bound");
    server->port = info->port;
    return 0;
}

int scripted_start(const struct scripted_config *config, struct scripted **server, struct err *err)
{
    struct scripted *made = calloc(1, sizeof *made);
    if (made == NULL)
        return err_set(err, ERR_IO, "out of memory");
    struct exchange_context *context = &made->context;
    if (script_load(&context->script, config->script, err) != 0) {
        free(made);
        return -1;
    }
    context->api_key = context->script.api_key;
    if (config->api_key != NULL)
        context->api_key = arena_copy(&context->script.arena, str_from(config->api_key));
    if (tally_open(config->log_path, &context->tally, err) != 0 ||
        waker_start(&context->waker, err) != 0 || listen_on(made, config, err) != 0) {
        scripted_stop(made);
        return -1;
    }
    *server = made;
    return 0;
}

uint16_t scripted_port(const struct scripted *server)
{
    return server->port;
}

void scripted_stats(struct scripted *server, struct scripted_stats *stats)
{
    tally_stats(server->context.tally, stats);
}

void scripted_stop(struct scripted *server)
{
    if (server == NULL)
        return;
    /* libmicrohttpd must find no suspended connection; from here on nothing stays suspended. */
    if (server->context.waker != NULL)
        waker_finish(server->context.waker);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    waker_free(server->context.waker);
    tally_close(server->context.tally);
    script_release(&server->context.script);
    free(server);
}
