/* Runs commands behind walls: see sandbox.h. Each call makes a message for the launcher, runs the launcher with os/process.h, and
 * translates what it says at the end. Calls share nothing but the launcher's image and the compiled filter. Any thread. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process.h"
#include "sandbox/filter.h"
#include "sandbox/image.h"
#include "sandbox/policy.h"

struct sandbox {
    struct sandbox_options options;
    struct sandbox_port port;
    char missing[128];
    pthread_mutex_t making; /* guards the rest, which the first command makes */
    struct buf filters[FILTER_KINDS];
    int image; /* -1: not made yet */
};

static const char *const wall_names[] = {
#define X(name, text) text,
    LAUNCH_WALLS(X)
#undef X
};

/* What one call has open. */
struct call {
    struct guards guards;
    struct buf message;
    struct arena arena;
    char tmp[64]; /* without namespaces: a directory that is removed afterwards */
    int message_fd, status[2], lifeline[2];
};

static void close_handle(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void call_init(struct call *call)
{
    call->guards.count = 0;
    buf_init(&call->message, 0);
    arena_init(&call->arena);
    snprintf(call->tmp, sizeof call->tmp, LAUNCH_TMP);
    call->message_fd = -1;
    call->status[0] = call->status[1] = call->lifeline[0] = call->lifeline[1] = -1;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    return remove(path);
}

/* Without namespaces: a directory instead of a /tmp of its own. */
static int make_tmp(struct call *call, struct err *err)
{
    char home[80];
    snprintf(call->tmp, sizeof call->tmp, "/tmp/cadre-command-XXXXXX");
    if (mkdtemp(call->tmp) == NULL) {
        snprintf(call->tmp, sizeof call->tmp, LAUNCH_TMP);
        return err_set(err, ERR_IO, "cannot make a directory in /tmp: %s", strerror(errno));
    }
    snprintf(home, sizeof home, "%s/home", call->tmp);
    return mkdir(home, 0700) == 0
               ? 0
               : err_set(err, ERR_IO, "cannot make %s: %s", home, strerror(errno));
}

static void call_release(struct call *call)
{
    for (size_t i = 0; i < 2; i++) {
        close_handle(&call->status[i]);
        close_handle(&call->lifeline[i]);
    }
    close_handle(&call->message_fd);
    guards_release(&call->guards);
    if (strcmp(call->tmp, LAUNCH_TMP) != 0)
        nftw(call->tmp, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    buf_release(&call->message);
    arena_release(&call->arena);
}

static int open_handles(struct call *call, struct err *err)
{
    ssize_t n = (ssize_t)call->message.n;
    call->message_fd = memfd_create("policy", MFD_CLOEXEC);
    if (call->message_fd < 0 || write(call->message_fd, call->message.p, call->message.n) != n ||
        pipe2(call->status, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(call->lifeline, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "cannot talk to the launcher: %s", strerror(errno));
    return 0;
}

/* --- what the launcher said ----------------------------------------------------------------------------------------------------- */

static int refusal(char *text, struct err *err)
{
    char *space = strchr(text, ' ');
    if (space == NULL)
        return err_set(err, ERR_BUG, "the launcher said: %s", text);
    *space = '\0';
    if (strcmp(text, "command") == 0)
        return err_set(err, ERR_NOT_FOUND, "%s", space + 1);
    if (strcmp(text, "message") == 0)
        return err_set(err, ERR_BUG, "%s", space + 1);
    for (size_t i = 0; i < LAUNCH_WALL_COUNT; i++)
        if (strcmp(text, wall_names[i]) == 0)
            return err_set(
                err, ERR_DENIED,
                "nothing was run: the wall \"%s\" cannot be built here: %s; the operator "
                "can do without it by `sandbox: {%s: false}` in the user's config",
                text, space + 1, text);
    return err_set(err, ERR_DENIED, "nothing was run: the wall \"%s\" cannot be built here: %s",
                   text, space + 1);
}

static int translate(char *status, const struct process_outcome *ran,
                     struct sandbox_outcome *outcome, struct err *err)
{
    if (status[0] == '!' && status[1] == ' ')
        return refusal(status + 2, err);
    outcome->code = status[0] != '\0' && status[1] == ' ' ? atoi(status + 2) : SIGKILL;
    outcome->end = status[0] == 'x' ? SANDBOX_EXITED : SANDBOX_KILLED;
    if (ran->end == PROCESS_TIMEOUT)
        outcome->end = SANDBOX_TIMEOUT;
    else if (ran->end == PROCESS_CANCELLED)
        outcome->end = SANDBOX_CANCELLED;
    if (status[0] == 'm')
        snprintf(outcome->note, sizeof outcome->note, "it used more memory than it may");
    else if (status[0] == 'p')
        snprintf(outcome->note, sizeof outcome->note, "it started more processes than it may");
    return 0;
}

static int read_status(struct call *call, char *text, size_t max)
{
    ssize_t n = read(call->status[0], text, max - 1);
    text[n > 0 ? n : 0] = '\0';
    char *end = strchr(text, '\n');
    if (end != NULL)
        *end = '\0';
    return n >= 0 ? 0 : -1;
}

/* Most processes never run a command: what commands share is made by the first. */
static int make_ready(struct sandbox *sandbox, struct err *err)
{
    int result = 0;
    pthread_mutex_lock(&sandbox->making);
    if (sandbox->image < 0) {
        for (int kind = 0; kind < FILTER_KINDS && result == 0; kind++) {
            buf_clear(&sandbox->filters[kind]);
            result = filter_compile((enum filter_kind)kind, &sandbox->filters[kind], err);
        }
        if (result == 0 && (sandbox->image = image_open(err)) < 0)
            result = -1;
    }
    pthread_mutex_unlock(&sandbox->making);
    return result;
}

/* --- running --------------------------------------------------------------------------------------------------------------------- */

static int run(void *self, const struct sandbox_walls *walls, const struct sandbox_command *command,
               struct sandbox_outcome *outcome, struct err *err)
{
    static const char *const no_environment[] = {NULL};
    static const char *const launcher_argv[] = {"cadre-launcher", NULL};
    struct sandbox *sandbox = self;
    struct process_outcome ran;
    struct call call;
    char status[LAUNCH_STATUS_MAX];
    int result = -1;
    *outcome = (struct sandbox_outcome){.end = SANDBOX_EXITED};
    call_init(&call);
    if (make_ready(sandbox, err) != 0)
        goto out;
    enum filter_kind kind = FILTER_USUAL;
    if (sandbox->options.off[LAUNCH_WALL_NAMESPACES]) {
        if (make_tmp(&call, err) != 0)
            goto out;
        if (walls->network != SANDBOX_NET_FULL)
            kind = FILTER_OFFLINE;
    }
    struct policy policy = {.options = &sandbox->options,
                            .walls = walls,
                            .command = command,
                            .filter = buf_view(&sandbox->filters[kind]),
                            .tmp = call.tmp,
                            .arena = &call.arena};
    if (policy_print(&policy, &call.guards, &call.message, err) != 0 ||
        open_handles(&call, err) != 0)
        goto out;
    int handles[] = {sandbox->image, call.message_fd, call.status[1], call.lifeline[0],
                     walls->workspace};
    struct process_command launcher = {
        .program = "/proc/self/fd/3",
        .argv = launcher_argv,
        .environment = no_environment,
        .directory = -1,
        .handles = handles,
        .handle_count = sizeof handles / sizeof handles[0],
        .lifeline = &call.lifeline[1],
        .input = command->input,
        .streams = command->streams == SANDBOX_APART ? PROCESS_APART : PROCESS_JOINED,
        .wall_ms = command->wall_ms,
        .output_max = command->output_max,
        .cancelled = command->cancelled,
        .heard = command->heard,
        .user = command->user,
    };
    if (process_run(&launcher, &ran, err) != 0)
        goto out;
    read_status(&call, status, sizeof status);
    result = translate(status, &ran, outcome, err);
    if (result != 0) {
        process_outcome_release(&ran);
        goto out;
    }
    outcome->missing = sandbox->port.missing;
    outcome->output = ran.output;
    outcome->errors = ran.errors;
    outcome->output_bytes = ran.output_bytes;
    outcome->errors_bytes = ran.errors_bytes;
    outcome->wall_ms = ran.wall_ms;
out:
    call_release(&call);
    return result;
}

/* --- opening --------------------------------------------------------------------------------------------------------------------- */

static void name_missing(struct sandbox *sandbox)
{
    size_t n = 0;
    for (size_t i = 0; i < LAUNCH_WALL_COUNT; i++)
        if (sandbox->options.off[i])
            n += (size_t)snprintf(sandbox->missing + n, sizeof sandbox->missing - n, "%s%s",
                                  n > 0 ? ", " : "", wall_names[i]);
}

struct sandbox *sandbox_open(const struct sandbox_options *options)
{
    struct sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (sandbox == NULL || pthread_mutex_init(&sandbox->making, NULL) != 0)
        abort();
    sandbox->options = *options;
    sandbox->port = (struct sandbox_port){.run = run, .self = sandbox};
    sandbox->image = -1;
    for (size_t i = 0; i < FILTER_KINDS; i++)
        buf_init(&sandbox->filters[i], 65536);
    name_missing(sandbox);
    sandbox->port.missing = str_from(sandbox->missing);
    return sandbox;
}

void sandbox_close(struct sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    close_handle(&sandbox->image);
    for (size_t i = 0; i < FILTER_KINDS; i++)
        buf_release(&sandbox->filters[i]);
    pthread_mutex_destroy(&sandbox->making);
    free(sandbox);
}

const struct sandbox_port *sandbox_port(const struct sandbox *sandbox)
{
    return &sandbox->port;
}

const char *sandbox_wall_name(enum launch_wall wall)
{
    return wall_names[wall];
}
