/* Programs that stay: servers of tools. The walls are those of a command that is run, and so are the guarantees: the lifeline ends
 * everything, and it is cut by stop or by the death of this process. What the kernel offers besides, to die with the parent, would
 * mean the thread that made the start, so the launcher does without it here. Any thread. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "os/clock.h"
#include "sandbox/call.h"

#define START_MS                                                                                   \
    60000 /* until the walls stand: milliseconds, but for a workspace of very many files */

struct lasting {
    struct sandbox_program program; /* first: what callers hold */
    struct process_alive process;
    struct call call;
    int64_t started;
};

/* The launcher says that the command runs, or why not; without a word it has died. */
static int await_start(struct lasting *lasting, struct err *err)
{
    char status[LAUNCH_STATUS_MAX];
    struct pollfd polls[] = {{lasting->call.status[0], POLLIN, 0},
                             {lasting->process.handle, POLLIN, 0}};
    int64_t until = lasting->started + START_MS;
    for (int64_t left = START_MS; left > 0; left = until - clock_monotonic_ms())
        if (poll(polls, 2, (int)left) > 0)
            break;
    call_read_status(&lasting->call, status);
    if (status[0] == 's')
        return 0;
    if (status[0] == '!')
        return call_refusal(status, err);
    if (status[0] == 'd')
        return err_set(err, ERR_DENIED,
                       "nothing was run: commands of this run have written more to the disk than "
                       "they may (sandbox.disk_mb)");
    return err_set(err, ERR_IO, "the launcher did not start the program within %d seconds",
                   START_MS / 1000);
}

static void free_lasting(struct lasting *lasting)
{
    call_release(&lasting->call);
    free(lasting);
}

int sandbox_start(void *self, const struct sandbox_walls *walls,
                  const struct sandbox_command *command, struct sandbox_program **program,
                  struct err *err)
{
    struct sandbox *sandbox = self;
    struct process_command launcher;
    struct lasting *lasting = calloc(1, sizeof *lasting);
    if (lasting == NULL)
        abort();
    call_init(&lasting->call);
    lasting->started = clock_monotonic_ms();
    if (call_prepare(&lasting->call, sandbox, walls, command, LAUNCH_UNTIL_STOPPED, &launcher,
                     err) != 0 ||
        process_begin(&launcher, PROCESS_INPUT_PIPE, &lasting->process, err) != 0) {
        free_lasting(lasting);
        return -1;
    }
    call_close_theirs(&lasting->call);
    if (await_start(lasting, err) != 0) {
        process_stop(&lasting->process, &lasting->call.lifeline[1]);
        free_lasting(lasting);
        return -1;
    }
    lasting->program = (struct sandbox_program){.input = lasting->process.input,
                                                .output = lasting->process.output,
                                                .errors = lasting->process.errors,
                                                .ended = lasting->process.handle,
                                                .missing = sandbox->port.missing};
    *program = &lasting->program;
    return 0;
}

void sandbox_stop(void *self, struct sandbox_program *program, struct sandbox_outcome *outcome)
{
    struct lasting *lasting = (struct lasting *)program;
    struct err unused = ERR_INIT;
    struct pollfd ended = {program->ended, POLLIN, 0};
    bool alive = poll(&ended, 1, 0) == 0;
    *outcome = (struct sandbox_outcome){.end = SANDBOX_KILLED, .code = SIGKILL};
    lasting->process.input = program->input; /* the caller may have closed it */
    process_stop(&lasting->process, &lasting->call.lifeline[1]);
    call_end_proxy(&lasting->call, outcome);
    if (call_read_outcome(&lasting->call, outcome, &unused) != 0)
        outcome->end = SANDBOX_KILLED;
    if (alive)
        outcome->end = SANDBOX_CANCELLED;
    outcome->missing = program->missing;
    outcome->wall_ms = clock_monotonic_ms() - lasting->started;
    free_lasting(lasting);
}
