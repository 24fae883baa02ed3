/* A confined `true` by the sandbox against one by bubblewrap with the same walls as far as it has them (it knows no Landlock, no limits
 * and no placeholders): the same namespaces, binds, devices and filter. The two take turns, so that a machine that is busy for a
 * while slows both; then the sandbox once more in a process that holds more memory. Prints one JSON object. One thread.
 *
 * Usage: bench-sandbox DIRECTORY ROUNDS MEGABYTES */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/process.h"
#include "sandbox/filter.h"
#include "sandbox/sandbox.h"

#define ARGUMENTS_MAX 160
#define WALL_MS 20000

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-sandbox: %s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

struct arguments {
    const char *items[ARGUMENTS_MAX];
    size_t count;
};

static void add(struct arguments *arguments, const char *a, const char *b, const char *c)
{
    const char *texts[] = {a, b, c};
    for (size_t i = 0; i < 3 && texts[i] != NULL && arguments->count < ARGUMENTS_MAX - 1; i++)
        arguments->items[arguments->count++] = texts[i];
}

/* The launcher's root, in bubblewrap's words. */
static void build_arguments(struct arguments *arguments, const char *workspace)
{
    static const char *const shown[] = {"/usr",
                                        "/opt",
                                        "/etc/alternatives",
                                        "/etc/debian_version",
                                        "/etc/ld.so.cache",
                                        "/etc/ld.so.conf",
                                        "/etc/ld.so.conf.d",
                                        "/etc/mime.types",
                                        "/etc/perl",
                                        "/etc/protocols",
                                        "/etc/python3",
                                        "/etc/services",
                                        "/etc/ssl/certs",
                                        "/etc/ssl/openssl.cnf",
                                        "/etc/java-17-openjdk"};
    static char git[4096];
    snprintf(git, sizeof git, "%s/.git", workspace);
    add(arguments, "bwrap", "--unshare-all", "--unshare-user");
    add(arguments, "--die-with-parent", "--new-session", "--hostname");
    add(arguments, "cadre", "--cap-drop", "ALL");
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        add(arguments, "--ro-bind-try", shown[i], shown[i]);
    add(arguments, "--symlink", "usr/bin", "/bin");
    add(arguments, "--symlink", "usr/sbin", "/sbin");
    add(arguments, "--symlink", "usr/lib", "/lib");
    add(arguments, "--symlink", "usr/lib64", "/lib64");
    add(arguments, "--proc", "/proc", "--dev");
    add(arguments, "/dev", "--tmpfs", "/tmp");
    add(arguments, "--bind", workspace, workspace);
    add(arguments, "--ro-bind", git, git);
    add(arguments, "--chdir", workspace, "--remount-ro");
    add(arguments, "/", "--seccomp", "3");
    add(arguments, "--", "/usr/bin/true", NULL);
}

static double run_bubblewrap(const struct arguments *arguments, struct str filter)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct process_outcome outcome;
    struct err err = ERR_INIT;
    double start = now();
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0 || write(fd, filter.p, filter.n) != (ssize_t)filter.n || lseek(fd, 0, SEEK_SET) != 0)
        fail("filter", strerror(errno));
    struct process_command command = {.program = "/usr/bin/bwrap",
                                      .argv = arguments->items,
                                      .environment = environment,
                                      .directory = -1,
                                      .handles = &fd,
                                      .handle_count = 1,
                                      .wall_ms = WALL_MS,
                                      .output_max = 4096};
    if (process_run(&command, &outcome, &err) != 0)
        fail("bwrap", err.message);
    if (outcome.end != PROCESS_EXITED || outcome.code != 0)
        fail("bwrap", outcome.output.n > 0 ? outcome.output.p : "it failed");
    process_outcome_release(&outcome);
    close(fd);
    return now() - start;
}

static double run_sandbox(const struct sandbox_port *port, const struct sandbox_walls *walls)
{
    static const char *const argv[] = {"/usr/bin/true", NULL};
    struct sandbox_command command = {
        .argv = argv, .directory = STR("."), .wall_ms = WALL_MS, .output_max = 4096};
    struct sandbox_outcome outcome;
    struct err err = ERR_INIT;
    double start = now();
    if (port->run(port->self, walls, &command, &outcome, &err) != 0)
        fail("sandbox", err.message);
    if (outcome.end != SANDBOX_EXITED || outcome.code != 0)
        fail("sandbox", "it failed");
    buf_release(&outcome.output);
    buf_release(&outcome.errors);
    return now() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    if (argc != 4)
        fail("usage", "bench-sandbox DIRECTORY ROUNDS MEGABYTES");
    size_t rounds = strtoul(argv[2], NULL, 10), bytes = strtoul(argv[3], NULL, 10) << 20;
    char git[4096];
    signal(SIGPIPE, SIG_IGN);
    snprintf(git, sizeof git, "%s/.git", argv[1]);
    if (rounds < 1 || (mkdir(git, 0755) != 0 && errno != EEXIST))
        fail("directory", argv[1]);
    struct sandbox_options options = {0};
    struct sandbox *sandbox = sandbox_open(&options);
    struct str all[] = {STR(".")};
    struct sandbox_walls walls = {.workspace = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC),
                                  .workspace_path = str_from(argv[1]),
                                  .read_paths = all,
                                  .read_count = 1,
                                  .write_paths = all,
                                  .write_count = 1};
    struct arguments arguments = {.count = 0};
    struct buf filter;
    struct err err = ERR_INIT;
    double *ours = calloc(rounds, sizeof *ours), *theirs = calloc(rounds, sizeof *theirs);
    double *ratios = calloc(rounds, sizeof *ratios), *large = calloc(rounds, sizeof *large);
    buf_init(&filter, 65536);
    build_arguments(&arguments, argv[1]);
    if (filter_compile(FILTER_USUAL, &filter, &err) != 0 || large == NULL || ratios == NULL)
        fail("filter", err.message);
    run_sandbox(sandbox_port(sandbox), &walls);
    run_bubblewrap(&arguments, buf_view(&filter));
    for (size_t i = 0; i < rounds; i++) {
        ours[i] = run_sandbox(sandbox_port(sandbox), &walls);
        theirs[i] = run_bubblewrap(&arguments, buf_view(&filter));
        ratios[i] = ours[i] / theirs[i];
    }
    char *held = malloc(bytes + 1);
    if (held == NULL)
        fail("memory", "none left");
    memset(held, 1, bytes + 1);
    for (size_t i = 0; i < rounds; i++)
        large[i] = run_sandbox(sandbox_port(sandbox), &walls);
    printf("{\"ours_us\": %.0f, \"bubblewrap_us\": %.0f, \"ratio\": %.3f, \"large_us\": %.0f, "
           "\"held\": %d}\n",
           median(ours, rounds), median(theirs, rounds), median(ratios, rounds),
           median(large, rounds), held[bytes]);
    return 0;
}
