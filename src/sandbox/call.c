/* One start of the launcher: see call.h. Calls share nothing but the launcher's image and the compiled filter. Any thread. */
#include "sandbox/call.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/image.h"
#include "sandbox/policy.h"

static void close_handle(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void call_init(struct call *call)
{
    call->guards.count = 0;
    call->nested = (struct nested){.workspace = -1};
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

void call_release(struct call *call)
{
    for (size_t i = 0; i < 2; i++) {
        close_handle(&call->status[i]);
        close_handle(&call->lifeline[i]);
    }
    close_handle(&call->message_fd);
    nested_release(&call->nested);
    guards_release(&call->guards);
    if (strcmp(call->tmp, LAUNCH_TMP) != 0)
        nftw(call->tmp, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    buf_release(&call->message);
    arena_release(&call->arena);
}

void call_close_theirs(struct call *call)
{
    close_handle(&call->status[1]);
    close_handle(&call->lifeline[0]);
    close_handle(&call->message_fd);
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
        if (strcmp(text, sandbox_wall_name((enum launch_wall)i)) == 0)
            return err_set(
                err, ERR_DENIED,
                "nothing was run: the wall \"%s\" cannot be built here: %s; the operator "
                "can do without it by `sandbox: {%s: false}` in the user's config",
                text, space + 1, text);
    return err_set(err, ERR_DENIED, "nothing was run: the wall \"%s\" cannot be built here: %s",
                   text, space + 1);
}

int call_translate(char *status, struct sandbox_outcome *outcome, struct err *err)
{
    if (status[0] == '!' && status[1] == ' ')
        return refusal(status + 2, err);
    outcome->code = status[0] != '\0' && status[1] == ' ' ? atoi(status + 2) : SIGKILL;
    outcome->end = status[0] == 'x' ? SANDBOX_EXITED : SANDBOX_KILLED;
    if (status[0] == 'm')
        snprintf(outcome->note, sizeof outcome->note, "it used more memory than it may");
    else if (status[0] == 'p')
        snprintf(outcome->note, sizeof outcome->note, "it started more processes than it may");
    return 0;
}

void call_read_status(struct call *call, char text[LAUNCH_STATUS_MAX])
{
    size_t n = 0;
    while (n < LAUNCH_STATUS_MAX - 1 && read(call->status[0], &text[n], 1) == 1 && text[n] != '\n')
        n++;
    text[n] = '\0';
}

/* --- what it is started with --------------------------------------------------------------------------------------------------- */

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

int call_prepare(struct call *call, struct sandbox *sandbox, const struct sandbox_walls *walls,
                 const struct sandbox_command *command, enum launch_life life,
                 struct process_command *launcher, struct err *err)
{
    static const char *const no_environment[] = {NULL};
    static const char *const launcher_argv[] = {"cadre-launcher", NULL};
    enum filter_kind kind = FILTER_USUAL;
    if (make_ready(sandbox, err) != 0)
        return -1;
    if (sandbox->options.off[LAUNCH_WALL_NAMESPACES]) {
        if (make_tmp(call, err) != 0)
            return -1;
        if (walls->network != SANDBOX_NET_FULL)
            kind = FILTER_OFFLINE;
    }
    struct policy policy = {.options = &sandbox->options,
                            .walls = walls,
                            .command = command,
                            .life = life,
                            .nested = &call->nested,
                            .filter = buf_view(&sandbox->filters[kind]),
                            .tmp = call->tmp,
                            .arena = &call->arena};
    if (policy_print(&policy, &call->guards, &call->message, err) != 0 ||
        open_handles(call, err) != 0)
        return -1;
    call->handles[LAUNCH_IMAGE - LAUNCH_IMAGE] = sandbox->image;
    call->handles[LAUNCH_MESSAGE - LAUNCH_IMAGE] = call->message_fd;
    call->handles[LAUNCH_STATUS - LAUNCH_IMAGE] = call->status[1];
    call->handles[LAUNCH_LIFELINE - LAUNCH_IMAGE] = call->lifeline[0];
    call->handles[LAUNCH_WORKSPACE - LAUNCH_IMAGE] = walls->workspace;
    *launcher = (struct process_command){
        .program = "/proc/self/fd/3",
        .argv = launcher_argv,
        .environment = no_environment,
        .directory = -1,
        .handles = call->handles,
        .handle_count = sizeof call->handles / sizeof call->handles[0],
        .lifeline = &call->lifeline[1],
        .input = command->input,
        .streams = command->streams == SANDBOX_APART ? PROCESS_APART : PROCESS_JOINED,
        .wall_ms = command->wall_ms,
        .output_max = command->output_max,
        .cancelled = command->cancelled,
        .heard = command->heard,
        .user = command->user,
    };
    return 0;
}
