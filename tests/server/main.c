/* cadre-scripted: the scripted model server as a program, for tests and benchmarks. Prints where it listens, then runs
 * until SIGTERM or SIGINT, or with --until-eof until its standard input ends. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "scripted/demo_script.h"
#include "scripted/scripted.h"

#define SCRIPT_MAX (64u << 20)

static const char usage[] =
    "usage: cadre-scripted (--script FILE | --demo) [--port N] [--log FILE] [--key KEY]\n"
    "                      [--threads N] [--until-eof]\n";

static const struct option options[] = {
    {"script", required_argument, NULL, 's'},
    {"demo", no_argument, NULL, 'd'},
    {"port", required_argument, NULL, 'p'},
    {"log", required_argument, NULL, 'l'},
    {"key", required_argument, NULL, 'k'},
    {"threads", required_argument, NULL, 't'},
    {"until-eof", no_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct arguments {
    const char *script_path; /* NULL: the demo's script */
    enum { SOURCE_NONE, SOURCE_FILE, SOURCE_DEMO } source;
    enum { UNTIL_SIGNAL, UNTIL_EOF } until;
    struct scripted_config config;
};

static int number(const char *text, long max, long *out)
{
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out >= 0 && *out <= max ? 0 : -1;
}

/* 0, or -1 for a wrong command line. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
    long value = 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 's':
            arguments->script_path = optarg;
            arguments->source = SOURCE_FILE;
            break;
        case 'd':
            arguments->source = SOURCE_DEMO;
            break;
        case 'p':
            if (number(optarg, 65535, &value) != 0)
                return -1;
            arguments->config.port = (uint16_t)value;
            break;
        case 't':
            if (number(optarg, 64, &value) != 0)
                return -1;
            arguments->config.threads = (unsigned)value;
            break;
        case 'l':
            arguments->config.log_path = optarg;
            break;
        case 'k':
            arguments->config.api_key = optarg;
            break;
        case 'e':
            arguments->until = UNTIL_EOF;
            break;
        default:
            return -1;
        }
    }
    return optind == argc && arguments->source != SOURCE_NONE ? 0 : -1;
}

static int read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    char block[65536];
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            buf_add(out, block, (size_t)n);
    close(fd);
    if (out->failed)
        errno = EFBIG;
    return n < 0 || out->failed ? -1 : 0;
}

static void wait_for_end(int signals, const struct arguments *arguments)
{
    struct pollfd waits[] = {
        {.fd = signals, .events = POLLIN},
        {.fd = arguments->until == UNTIL_EOF ? STDIN_FILENO : -1, .events = POLLIN}};
    for (;;) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            return;
        if (waits[0].revents != 0)
            return;
        char block[4096];
        if (waits[1].revents != 0 && read(STDIN_FILENO, block, sizeof block) <= 0)
            return;
    }
}

/* Thousands of connections need as many descriptors. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct scripted *server = NULL;
    struct err err = ERR_INIT;
    struct buf script;
    sigset_t ends;
    int signals = -1, result = 1;
    buf_init(&script, SCRIPT_MAX);
    if (parse(argc, argv, &arguments) != 0) {
        fputs(usage, stderr);
        return 2;
    }
    if (arguments.source == SOURCE_FILE && read_file(arguments.script_path, &script) != 0) {
        fprintf(stderr, "cadre-scripted: %s: %s\n", arguments.script_path, strerror(errno));
        goto out;
    }
    arguments.config.script =
        arguments.source == SOURCE_DEMO ? str_from(demo_script) : buf_view(&script);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    /* Blocked before the server's threads start, so that only the descriptor sees them. */
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signals = signalfd(-1, &ends, SFD_CLOEXEC);
    raise_limits();
    if (signals < 0 || scripted_start(&arguments.config, &server, &err) != 0) {
        fprintf(stderr, "cadre-scripted: %s\n", signals < 0 ? strerror(errno) : err.message);
        goto out;
    }
    printf("listening on http://127.0.0.1:%u/v1\n", scripted_port(server));
    fflush(stdout);
    wait_for_end(signals, &arguments);
    result = 0;
out:
    scripted_stop(server);
    if (signals >= 0)
        close(signals);
    buf_release(&script);
    return result;
}
