/* net/proxy: real sockets on both sides. Servers are threads on the loopback; names lead where a resolver of the test says. */
#include "net/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "hello.h"
#include "net/address.h"
#include "net/proxy_request.h"

struct room {
    struct proxy *proxy;
    struct proxy_access access;
    struct proxy_address address;
    struct resolver resolver;
    const char *answers[4]; /* of the resolver, one after the other; "a b": two addresses */
    int asked;
    int server; /* listens on the loopback */
    uint16_t port;
    pthread_t thread;
    const char *reply;
    struct buf heard; /* by the server */
    struct sandbox_contacts contacts;
};

/* --- the server ---------------------------------------------------------------------------------------------------------------- */

/* One connection: hears a head or, without one, whatever comes first; replies; then hears the rest. */
static void *serve(void *user)
{
    struct room *room = user;
    char block[4096];
    ssize_t n;
    int fd = accept(room->server, NULL, NULL);
    bool replied = false;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0) {
        buf_add(&room->heard, block, (size_t)n);
        bool plain = room->heard.p[0] >= 'A' && room->heard.p[0] <= 'Z';
        if (replied || (plain && proxy_head_end(buf_view(&room->heard)) == 0))
            continue;
        replied = true;
        assert_true(write(fd, room->reply, strlen(room->reply)) > 0);
        shutdown(fd, SHUT_WR);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void server_start(struct room *room, const char *reply)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    room->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(room->server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(room->server, 8), 0);
    assert_int_equal(getsockname(room->server, (struct sockaddr *)&address, &size), 0);
    room->port = ntohs(address.sin_port);
    room->reply = reply;
    assert_int_equal(pthread_create(&room->thread, NULL, serve, room), 0);
}

/* The operator says that the host is the server. */
static void place_at_server(struct room *room, const char *host)
{
    struct sockaddr_in *address = (void *)&room->address.address;
    *address = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_port = htons(room->port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    room->address.host = str_from(host);
    room->access.addresses = &room->address;
    room->access.address_count = 1;
}

/* --- names --------------------------------------------------------------------------------------------------------------------- */

static int look_up(void *user, const char *host, uint16_t port, const struct resolve_wait *wait,
                   struct resolved *out, struct err *err)
{
    struct room *room = user;
    char text[200];
    *out = (struct resolved){0};
    const char *answer = room->answers[room->asked < 3 ? room->asked : 3];
    room->asked++;
    if (answer == NULL)
        return err_set(err, ERR_NOT_FOUND, "there is no host %s", host);
    snprintf(text, sizeof text, "%s", answer);
    char *rest = text;
    for (char *one = strsep(&rest, " "); one != NULL; one = strsep(&rest, " ")) {
        struct sockaddr_in *four = (void *)&out->addresses[out->count];
        assert_true(address_read(str_from(one), &out->addresses[out->count++]));
        /* The server's port stands for the one that was asked for. */
        four->sin_port = htons(room->port != 0 ? room->port : port);
    }
    return 0;
}

static int setup(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    room->server = -1;
    room->resolver = (struct resolver){look_up, room};
    room->access.resolver = &room->resolver;
    buf_init(&room->heard, 1 << 20);
    *state = room;
    return 0;
}

static void stop(struct room *room)
{
    if (room->proxy != NULL)
        proxy_close(room->proxy, &room->contacts);
    room->proxy = NULL;
    if (room->server >= 0) {
        shutdown(room->server, SHUT_RDWR);
        pthread_join(room->thread, NULL);
        close(room->server);
    }
    room->server = -1;
}

static int teardown(void **state)
{
    struct room *room = *state;
    stop(room);
    buf_release(&room->heard);
    free(room);
    return 0;
}

/* --- a command ----------------------------------------------------------------------------------------------------------------- */

static void open_for(struct room *room, const char *network)
{
    struct err err = ERR_INIT;
    room->proxy = proxy_open(&room->access, str_from(network), &err);
    if (room->proxy == NULL)
        fail_msg("%s", err.message);
}

static int dial(struct room *room)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d",
             proxy_place(room->proxy));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, struct str bytes)
{
    assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), (ssize_t)bytes.n);
}

/* All that comes until the end. */
static const char *hear(int fd)
{
    static char text[65536];
    size_t n = 0;
    ssize_t got;
    while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(fd);
    return text;
}

static const char *ask(struct room *room, const char *request)
{
    int fd = dial(room);
    say(fd, str_from(request));
    return hear(fd);
}

static void contact_is(const struct room *room, size_t i, int verdict, const char *host,
                       const char *why)
{
    assert_true(i < room->contacts.count);
    assert_int_equal(room->contacts.items[i].verdict, verdict);
    assert_string_equal(room->contacts.items[i].host, host);
    if (strstr(room->contacts.items[i].why, why) == NULL)
        fail_msg("%s", room->contacts.items[i].why);
}

/* Each connection has a thread, which may answer before it tells of its contact: their order is not fixed. Returns the place. */
static size_t contact_among(const struct room *room, int verdict, const char *host, const char *why)
{
    for (size_t i = 0; i < room->contacts.count; i++)
        if ((int)room->contacts.items[i].verdict == verdict &&
            strcmp(room->contacts.items[i].host, host) == 0 &&
            strstr(room->contacts.items[i].why, why) != NULL)
            return i;
    fail_msg("no contact with %s: %s", host, why);
    return 0;
}

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi"

/* --- plain HTTP ---------------------------------------------------------------------------------------------------------------- */

static void an_allowed_host_is_asked_and_answers(void **state)
{
    struct room *room = *state;
    server_start(room, OK_ANSWER);
    place_at_server(room, "a.test");
    open_for(room, "allow *.test");
    const char *answer = ask(room, "GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_string_equal(answer,
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    stop(room);
    check_str(buf_view(&room->heard),
              "GET /x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    contact_is(room, 0, CONTACT_REACHED, "a.test", "");
    assert_int_equal(room->contacts.items[0].sent, room->heard.n);
    assert_int_equal(room->contacts.items[0].received, strlen(OK_ANSWER));
}

static void another_host_is_refused_with_the_reason(void **state)
{
    struct room *room = *state;
    open_for(room, "allow a.test");
    for (int i = 0; i < 3; i++) {
        const char *answer = ask(room, "GET http://evil.test/ HTTP/1.1\r\n\r\n");
        assert_non_null(strstr(answer, "HTTP/1.1 403 "));
        assert_non_null(strstr(answer, "evil.test is not among the hosts that this agent may"));
    }
    assert_non_null(strstr(ask(room, "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n"), " 403 "));
    assert_non_null(strstr(ask(room, "CONNECT a.test:22 HTTP/1.1\r\n\r\n"), " 403 "));
    stop(room);
    assert_int_equal(room->asked, 0);
    assert_int_equal(room->contacts.count, 3);
    size_t evil = contact_among(room, CONTACT_REFUSED, "evil.test", "not among");
    assert_int_equal(room->contacts.items[evil].count, 3);
    contact_among(room, CONTACT_REFUSED, "127.0.0.1", "by name, not by address");
    size_t port = contact_among(room, CONTACT_REFUSED, "a.test", "port 443 only");
    assert_int_equal(room->contacts.items[port].port, 22);
}

static void nothing_but_the_judged_request_is_sent(void **state)
{
    struct room *room = *state;
    server_start(room, OK_ANSWER);
    place_at_server(room, "a.test");
    open_for(room, "allow a.test");
    ask(room, "POST http://a.test/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
              "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    stop(room);
    check_str(buf_view(&room->heard), "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n"
                                      "Connection: close\r\n\r\nabc");
}

static void a_body_in_chunks_ends_where_it_ends(void **state)
{
    struct room *room = *state;
    server_start(room, OK_ANSWER);
    place_at_server(room, "a.test");
    open_for(room, "allow a.test");
    ask(room, "POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    stop(room);
    check_str(buf_view(&room->heard),
              "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n"
              "Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
}

/* --- addresses ----------------------------------------------------------------------------------------------------------------- */

static void a_name_that_leads_to_a_private_address_is_refused(void **state)
{
    static const char *const answers[] = {"127.0.0.1", "93.184.216.34 10.0.0.7", "fd00::1",
                                          "169.254.169.254"};
    struct room *room = *state;
    memcpy(room->answers, answers, sizeof answers);
    open_for(room, "allow a.test");
    for (int i = 0; i < 4; i++)
        assert_non_null(strstr(ask(room, "GET http://a.test/ HTTP/1.1\r\n\r\n"), " 403 "));
    stop(room);
    assert_int_equal(room->contacts.count, 4);
    contact_among(room, CONTACT_REFUSED, "a.test", "leads to 127.0.0.1, a loopback address");
    contact_among(room, CONTACT_REFUSED, "a.test", "leads to 10.0.0.7, a private address");
}

static void a_host_that_is_named_as_private_may_be(void **state)
{
    struct room *room = *state;
    const struct str hosts[] = {STR("*.test")};
    server_start(room, OK_ANSWER);
    room->answers[0] = "127.0.0.1";
    room->access.private_hosts = hosts;
    room->access.private_count = 1;
    open_for(room, "allow a.test");
    assert_non_null(strstr(ask(room, "GET http://a.test/ HTTP/1.1\r\n\r\n"), " 200 OK"));
}

/* A name that changes its address between the look and the connection is looked up once. */
static void a_name_is_looked_up_once_for_a_connection(void **state)
{
    struct room *room = *state;
    const struct str hosts[] = {STR("a.test")};
    server_start(room, OK_ANSWER);
    room->answers[0] = "127.0.0.1";
    room->answers[1] = room->answers[2] = room->answers[3] = "127.0.0.2";
    room->access.private_hosts = hosts;
    room->access.private_count = 1;
    open_for(room, "allow a.test");
    assert_non_null(strstr(ask(room, "GET http://a.test/ HTTP/1.1\r\n\r\n"), " 200 OK"));
    stop(room);
    assert_int_equal(room->asked, 1);
}

/* First it is public, then it is not: each connection is judged by the address that it would go to. */
static void every_connection_is_judged_anew(void **state)
{
    struct room *room = *state;
    const struct str hosts[] = {STR("b.test")};
    server_start(room, OK_ANSWER);
    room->answers[0] = room->answers[1] = "127.0.0.1";
    room->access.private_hosts = hosts;
    room->access.private_count = 1;
    open_for(room, "allow *.test");
    assert_non_null(strstr(ask(room, "GET http://b.test/ HTTP/1.1\r\n\r\n"), " 200 OK"));
    assert_non_null(strstr(ask(room, "GET http://a.test/ HTTP/1.1\r\n\r\n"), " 403 "));
}

/* --- TLS ----------------------------------------------------------------------------------------------------------------------- */

/* CONNECT to a.test, then these bytes; what the server heard is in the room afterwards. */
static const char *tunnel(struct room *room, struct str bytes)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    char answer[sizeof established] = "";
    server_start(room, "from the server");
    place_at_server(room, "a.test");
    open_for(room, "allow a.test");
    int fd = dial(room);
    say(fd, STR("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"));
    assert_int_equal(recv(fd, answer, sizeof answer - 1, MSG_WAITALL), sizeof answer - 1);
    assert_string_equal(answer, established);
    for (size_t i = 0; i < bytes.n; i += 7)
        say(fd, (struct str){bytes.p + i, bytes.n - i < 7 ? bytes.n - i : 7});
    const char *heard = hear(fd);
    stop(room);
    return heard;
}

static void a_tunnel_carries_when_tls_asks_for_its_host(void **state)
{
    struct room *room = *state;
    struct buf bytes;
    buf_init(&bytes, 65536);
    hello_make(&bytes, (struct hello){.name = "a.test", .piece = 20});
    assert_string_equal(tunnel(room, buf_view(&bytes)), "from the server");
    assert_int_equal(room->heard.n, bytes.n);
    assert_memory_equal(room->heard.p, bytes.p, bytes.n);
    contact_is(room, 0, CONTACT_REACHED, "a.test", "");
    assert_int_equal(room->contacts.items[0].port, 443);
    buf_release(&bytes);
}

static void tunnel_refused(struct room *room, struct str bytes, const char *why)
{
    const char *heard = tunnel(room, bytes);
    assert_memory_equal(heard, "\x15\x03\x03", 3);
    assert_int_equal(room->heard.n, 0);
    contact_is(room, 0, CONTACT_REFUSED, "a.test", why);
}

static void a_tunnel_to_another_server_name_is_refused(void **state)
{
    struct buf bytes;
    buf_init(&bytes, 65536);
    hello_make(&bytes, (struct hello){.name = "evil.test"});
    tunnel_refused(*state, buf_view(&bytes), "TLS asked for evil.test in a connection to a.test");
    buf_release(&bytes);
}

static void a_tunnel_without_a_server_name_is_refused(void **state)
{
    struct buf bytes;
    buf_init(&bytes, 65536);
    hello_make(&bytes, (struct hello){.name = NULL});
    tunnel_refused(*state, buf_view(&bytes), "TLS asked for no server name");
    buf_release(&bytes);
}

static void a_tunnel_with_a_hidden_server_name_is_refused(void **state)
{
    struct buf bytes;
    buf_init(&bytes, 65536);
    hello_make(&bytes, (struct hello){.name = "a.test", .hidden = true});
    tunnel_refused(*state, buf_view(&bytes), "TLS hid the server name");
    buf_release(&bytes);
}

static void a_tunnel_without_tls_is_refused(void **state)
{
    tunnel_refused(*state, STR("SSH-2.0-OpenSSH_9.2\r\n"), "port 443 is for TLS");
}

/* --- limits -------------------------------------------------------------------------------------------------------------------- */

static void a_client_that_sends_no_head_is_not_waited_for(void **state)
{
    struct room *room = *state;
    room->access.head_ms = 50;
    open_for(room, "allow a.test");
    int fd = dial(room);
    say(fd, STR("GET http://a.test/ HTT"));
    assert_non_null(strstr(hear(fd), " 504 "));
}

static void a_head_has_a_maximum(void **state)
{
    struct room *room = *state;
    static char head[PROXY_HEAD_MAX + 8192];
    memset(head, 'a', sizeof head);
    open_for(room, "allow a.test");
    int fd = dial(room);
    (void)send(fd, head, sizeof head, MSG_NOSIGNAL);
    hear(fd);
    stop(room);
    contact_is(room, 0, CONTACT_REFUSED, "", "more than 65536 bytes");
}

static void there_are_so_many_connections_at_once_and_no_more(void **state)
{
    struct room *room = *state;
    int fds[PROXY_CONNECTIONS_MAX];
    open_for(room, "allow a.test");
    for (size_t i = 0; i < PROXY_CONNECTIONS_MAX; i++)
        fds[i] = dial(room);
    assert_non_null(strstr(hear(dial(room)), " 503 "));
    for (size_t i = 0; i < PROXY_CONNECTIONS_MAX; i++)
        close(fds[i]);
    stop(room);
    assert_true(room->contacts.count >= 1);
}

static void closing_ends_what_is_under_way(void **state)
{
    struct room *room = *state;
    open_for(room, "allow a.test");
    int idle = dial(room);
    say(idle, STR("CONNECT"));
    stop(room);
    assert_non_null(hear(idle));
}

static void what_is_told_has_a_maximum(void **state)
{
    struct room *room = *state;
    char request[100];
    open_for(room, "allow a.test");
    for (int i = 0; i < SANDBOX_CONTACTS_MAX + 7; i++) {
        snprintf(request, sizeof request, "GET http://h%d.test/ HTTP/1.1\r\n\r\n", i);
        ask(room, request);
    }
    stop(room);
    assert_int_equal(room->contacts.count, SANDBOX_CONTACTS_MAX);
    assert_int_equal(room->contacts.more, 7);
}

#define ROOM(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(an_allowed_host_is_asked_and_answers),
        ROOM(another_host_is_refused_with_the_reason),
        ROOM(nothing_but_the_judged_request_is_sent),
        ROOM(a_body_in_chunks_ends_where_it_ends),
        ROOM(a_name_that_leads_to_a_private_address_is_refused),
        ROOM(a_host_that_is_named_as_private_may_be),
        ROOM(a_name_is_looked_up_once_for_a_connection),
        ROOM(every_connection_is_judged_anew),
        ROOM(a_tunnel_carries_when_tls_asks_for_its_host),
        ROOM(a_tunnel_to_another_server_name_is_refused),
        ROOM(a_tunnel_without_a_server_name_is_refused),
        ROOM(a_tunnel_with_a_hidden_server_name_is_refused),
        ROOM(a_tunnel_without_tls_is_refused),
        ROOM(a_client_that_sends_no_head_is_not_waited_for),
        ROOM(a_head_has_a_maximum),
        ROOM(there_are_so_many_connections_at_once_and_no_more),
        ROOM(closing_ends_what_is_under_way),
        ROOM(what_is_told_has_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
