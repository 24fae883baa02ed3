/* One start of the launcher: see call.h. Calls share nothing but the launcher's image and the compiled filter. Any thread. */
#include "sandbox/call.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <seccomp.h>
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
    buf_init(&call->message, 0);
    arena_init(&call->arena);
    snprintf(call->tmp, sizeof call->tmp, LAUNCH_TMP);
    call->message_fd = call->disk_fd = -1;
    call->proxy = NULL;
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

void call_end_proxy(struct call *call, struct sandbox_outcome *outcome)
{
    if (call->proxy != NULL)
        proxy_close(call->proxy, &outcome->contacts);
    call->proxy = NULL;
}

void call_release(struct call *call)
{
    struct sandbox_outcome unused;
    call_end_proxy(call, &unused);
    for (size_t i = 0; i < 2; i++) {
        close_handle(&call->status[i]);
        close_handle(&call->lifeline[i]);
    }
    close_handle(&call->message_fd);
    close_handle(&call->disk_fd);
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
    close_handle(&call->disk_fd);
}

static int open_handles(struct call *call, struct err *err)
{
    ssize_t n = (ssize_t)call->message.n;
    call->message_fd = memfd_create("policy", MFD_CLOEXEC);
    if (call->message_fd < 0 || write(call->message_fd, call->message.p, call->message.n) != n ||
        pipe2(call->status, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(call->lifeline, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_set(err, ERR_IO, "cannot talk to the launcher: %s", strerror(errno));
    return 0;
}

/* --- what the launcher said ----------------------------------------------------------------------------------------------------- */

int call_refusal(char *status, struct err *err)
{
    char *text = status + 2;
    char *space = strchr(text, ' ');
    if (space == NULL)
        return err_set(err, ERR_BUG, "the launcher said: %s", text);
    *space = '\0';
    if (strcmp(text, "paths") == 0)
        return err_set(err, ERR_DENIED, "nothing was run: %s", space + 1);
    if (strcmp(text, "command") == 0)
        return err_set(err, ERR_NOT_FOUND, "%s", space + 1);
    if (strcmp(text, "lease") == 0)
        return err_set(err, ERR_CANCELLED, "nothing was run: %s", space + 1);
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

/* The line that tells how the command ended. */
static void translate_end(const char *status, struct sandbox_outcome *outcome)
{
    static const struct {
        char letter;
        const char *note;
    } notes[] = {
        {'m', "it used more memory than it may"},
        {'p', "it started more processes than it may"},
        {'d', "commands of this run wrote more to the disk than they may (sandbox.disk_mb)"},
        {'g', "it made .git or cadre.yaml again and again"},
        {'l', "cadre was stopped for so long that another process may own the run now"}};
    outcome->code = status[0] != '\0' && status[1] == ' ' ? atoi(status + 2) : SIGKILL;
    outcome->end = status[0] == 'x' ? SANDBOX_EXITED : SANDBOX_KILLED;
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (status[0] == notes[i].letter)
            snprintf(outcome->note, sizeof outcome->note, "%s", notes[i].note);
}

/* "NUMBER TIMES PROGRAM" */
static void add_refusal(char *text, struct sandbox_outcome *outcome)
{
    char *end;
    if (outcome->refused_count == SANDBOX_REFUSED_MAX)
        return;
    struct sandbox_refusal *refusal = &outcome->refused[outcome->refused_count++];
    long number = strtol(text, &end, 10);
    refusal->times = strtoll(end, &end, 10);
    snprintf(refusal->program, sizeof refusal->program, "%s", end + strspn(end, " "));
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
    if (name != NULL)
        snprintf(refusal->call, sizeof refusal->call, "%s", name);
    else
        snprintf(refusal->call, sizeof refusal->call, "call %ld", number);
    free(name);
}

void call_read_status(struct call *call, char text[LAUNCH_STATUS_MAX])
{
    size_t n = 0;
    while (n < LAUNCH_STATUS_MAX - 1 && read(call->status[0], &text[n], 1) == 1 && text[n] != '\n')
        n++;
    text[n] = '\0';
}

int call_read_outcome(struct call *call, struct sandbox_outcome *outcome, struct err *err)
{
    char status[LAUNCH_STATUS_MAX];
    translate_end("", outcome);
    snprintf(outcome->aside, sizeof outcome->aside,
             "its launcher was killed, so nobody looked for repositories that it made");
    for (call_read_status(call, status); status[0] != '\0'; call_read_status(call, status)) {
        if (status[0] == '!')
            return call_refusal(status, err);
        if (status[0] == 'r')
            add_refusal(status + 1, outcome);
        else if (status[0] == 'a')
            snprintf(outcome->aside, sizeof outcome->aside, "%.*s", (int)sizeof outcome->aside - 1,
                     status + 2);
        else
            translate_end(status, outcome);
    }
    return 0;
}

/* --- what it is started with --------------------------------------------------------------------------------------------------- */

/* Most processes never run a command: what commands share is made by the first that needs it. */
static int make_ready(struct sandbox *sandbox, struct err *err)
{
    int result = 0;
    pthread_mutex_lock(&sandbox->making);
    if (sandbox->image < 0 && (sandbox->image = image_open(err)) < 0)
        result = -1;
    pthread_mutex_unlock(&sandbox->making);
    return result;
}

/* Empty where it cannot be compiled, with err. */
static struct str filter_of(struct sandbox *sandbox, enum filter_kind kind, struct err *err)
{
    struct buf *filter = &sandbox->filters[kind];
    pthread_mutex_lock(&sandbox->making);
    if (filter->n == 0 && filter_compile(kind, filter, err) != 0)
        buf_clear(filter);
    struct str program = buf_view(filter);
    pthread_mutex_unlock(&sandbox->making);
    return program;
}

/* Metadata outside is kept by the launcher alone, so nothing is run without namespaces where it cannot be told. */
static int choose_filters(struct sandbox *sandbox, const struct sandbox_walls *walls,
                          struct policy *policy, struct err *err)
{
    bool bare = sandbox->options.off[LAUNCH_WALL_NAMESPACES];
    enum filter_kind kind = !bare                                ? FILTER_USUAL
                            : walls->network == SANDBOX_NET_FULL ? FILTER_BARE
                                                                 : FILTER_OFFLINE;
    policy->filter = filter_of(sandbox, kind, err);
    policy->own_filter = filter_of(sandbox, FILTER_OWN, err);
    if (!bare)
        policy->silent_filter = filter_of(sandbox, FILTER_SILENT, err);
    bool whole = policy->filter.n > 0 && policy->own_filter.n > 0;
    return whole && (bare || policy->silent_filter.n > 0) ? 0 : -1;
}

int call_prepare(struct call *call, struct sandbox *sandbox, const struct sandbox_walls *walls,
                 const struct sandbox_command *command, enum launch_life life,
                 struct process_command *launcher, struct err *err)
{
    static const char *const no_environment[] = {NULL};
    static const char *const launcher_argv[] = {"cadre-launcher", NULL};
    if (make_ready(sandbox, err) != 0)
        return -1;
    if (sandbox->options.off[LAUNCH_WALL_NAMESPACES] && make_tmp(call, err) != 0)
        return -1;
    struct policy policy = {.options = &sandbox->options,
                            .walls = walls,
                            .command = command,
                            .life = life,
                            .tmp = call->tmp,
                            .arena = &call->arena};
    call->disk_fd = disks_join(&sandbox->disks, walls, &policy.disk_system, err);
    if (call->disk_fd < 0 || choose_filters(sandbox, walls, &policy, err) != 0 ||
        policy_print(&policy, &call->guards, &call->message, err) != 0 ||
        open_handles(call, err) != 0)
        return -1;
    if (walls->network == SANDBOX_NET_NAMES &&
        (call->proxy = proxy_open(&sandbox->options.access, walls->hosts, err)) == NULL)
        return -1;
    call->handles[LAUNCH_IMAGE - LAUNCH_IMAGE] = sandbox->image;
    call->handles[LAUNCH_MESSAGE - LAUNCH_IMAGE] = call->message_fd;
    call->handles[LAUNCH_STATUS - LAUNCH_IMAGE] = call->status[1];
    call->handles[LAUNCH_LIFELINE - LAUNCH_IMAGE] = call->lifeline[0];
    call->handles[LAUNCH_WORKSPACE - LAUNCH_IMAGE] = walls->workspace;
    call->handles[LAUNCH_DISK - LAUNCH_IMAGE] = call->disk_fd;
    call->handles[LAUNCH_RELAY - LAUNCH_IMAGE] =
        call->proxy != NULL ? proxy_place(call->proxy) : -1;
    *launcher = (struct process_command){
        .program = "/proc/self/fd/3",
        .argv = launcher_argv,
        .environment = no_environment,
        .directory = -1,
        .handles = call->handles,
        .handle_count = (call->proxy != NULL ? LAUNCH_HANDLES_END : LAUNCH_RELAY) - LAUNCH_IMAGE,
        .lifeline = &call->lifeline[1],
        .input = command->input,
        .streams = command->streams == SANDBOX_APART ? PROCESS_APART : PROCESS_JOINED,
        .wall_ms = command->wall_ms,
        .output_max = command->output_max,
        .cancelled = command->cancelled,
        .extended = life == LAUNCH_FOR_A_CALL ? command->owned_until : NULL,
        .heard = command->heard,
        .user = command->user,
    };
    return 0;
}
