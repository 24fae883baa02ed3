/* One program to its end: see process.h. One poll loop over the pidfd and the pipes; the program's output is kept at both ends and
 * forgotten in the middle. process_begin.c starts it. Runs on whichever thread asks. */
#include "os/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

#define READ_BLOCK 65536
#define LOOK_MS 100   /* how often `cancelled` is looked at */
#define DRAIN_MS 2000 /* for output that is still in the pipes when the program has ended */
#define KEEP_LEAST 1024
#define LEFT_OUT_MAX 96 /* bytes of the line in the middle */

/* The two ends of a stream. */
struct keeper {
    struct buf *head;
    size_t head_max;
    char *tail; /* a ring */
    size_t tail_max, tail_used, tail_at;
    uint64_t total;
};

enum { POLL_CHILD, POLL_OUTPUT, POLL_ERRORS, POLL_INPUT, POLL_COUNT };

struct supervision {
    const struct process_command *command;
    struct process_outcome *outcome;
    struct keeper output, errors;
    struct pollfd polls[POLL_COUNT];
    struct process_alive process;
    size_t written; /* of the input */
    int64_t started, deadline;
    int64_t extended; /* what the program was told last */
    bool killed;      /* or about to end itself */
    bool cut;         /* the lifeline, and the group is still to be killed if that does not help */
};

/* --- what is kept ------------------------------------------------------------------------------------------------------- */

static void keeper_init(struct keeper *keeper, struct buf *head, size_t max)
{
    if (max < KEEP_LEAST)
        max = KEEP_LEAST;
    *keeper = (struct keeper){.head = head, .head_max = max / 2, .tail_max = max - max / 2};
    buf_init(head, max + LEFT_OUT_MAX);
}

static void keep_tail(struct keeper *keeper, struct str bytes)
{
    if (keeper->tail == NULL) {
        keeper->tail = malloc(keeper->tail_max);
        if (keeper->tail == NULL)
            abort();
    }
    if (bytes.n > keeper->tail_max) {
        bytes.p += bytes.n - keeper->tail_max;
        bytes.n = keeper->tail_max;
    }
    size_t until_end = keeper->tail_max - keeper->tail_at;
    size_t first = bytes.n < until_end ? bytes.n : until_end;
    memcpy(keeper->tail + keeper->tail_at, bytes.p, first);
    memcpy(keeper->tail, bytes.p + first, bytes.n - first);
    keeper->tail_at = (keeper->tail_at + bytes.n) % keeper->tail_max;
    keeper->tail_used += bytes.n;
    if (keeper->tail_used > keeper->tail_max)
        keeper->tail_used = keeper->tail_max;
}

static void keep_bytes(struct keeper *keeper, struct str bytes)
{
    size_t room = keeper->head_max - keeper->head->n;
    size_t first = bytes.n < room ? bytes.n : room;
    keeper->total += bytes.n;
    buf_str(keeper->head, (struct str){bytes.p, first});
    if (bytes.n > first)
        keep_tail(keeper, (struct str){bytes.p + first, bytes.n - first});
}

/* Joins both ends. */
static void keeper_finish(struct keeper *keeper)
{
    uint64_t left_out = keeper->total - keeper->head->n - keeper->tail_used;
    if (left_out > 0)
        buf_printf(keeper->head, "\n[%llu bytes left out here]\n", (unsigned long long)left_out);
    size_t start = keeper->tail_used < keeper->tail_max ? 0 : keeper->tail_at;
    size_t first = keeper->tail_used - start;
    if (keeper->tail_used > 0) {
        buf_str(keeper->head, (struct str){keeper->tail + start, first});
        buf_str(keeper->head, (struct str){keeper->tail, start});
    }
    free(keeper->tail);
    keeper->tail = NULL;
}

/* --- supervising ------------------------------------------------------------------------------------------------------------ */

/* False when the stream has ended. */
static bool take_output(struct supervision *s, struct pollfd *poll, struct keeper *keeper)
{
    char block[READ_BLOCK];
    ssize_t n = read(poll->fd, block, sizeof block);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0) {
        poll->fd = -1;
        return false;
    }
    struct str bytes = {block, (size_t)n};
    keep_bytes(keeper, bytes);
    if (s->command->heard != NULL)
        s->command->heard(s->command->user, bytes);
    return true;
}

static void give_input(struct supervision *s)
{
    struct str input = s->command->input;
    ssize_t n = write(s->process.input, input.p + s->written, input.n - s->written);
    if (n > 0)
        s->written += (size_t)n;
    bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (s->written < input.n && (n > 0 || later))
        return;
    s->polls[POLL_INPUT].fd = -1; /* all given, or nobody reads it */
    close(s->process.input);
    s->process.input = -1;
}

static void kill_group(struct supervision *s)
{
    s->cut = false;
    kill(-s->process.pid, SIGKILL);
    s->deadline = clock_monotonic_ms() + PROCESS_REAP_MS;
}

static void kill_all(struct supervision *s, enum process_end why)
{
    if (s->killed)
        return;
    s->killed = true;
    s->outcome->end = why;
    if (s->command->lifeline != NULL) {
        s->cut = true;
        process_cut(s->command->lifeline);
        s->deadline = clock_monotonic_ms() + PROCESS_END_MS;
        return;
    }
    kill_group(s);
}

/* How the program ended; it stays in the process table until here, so that its id cannot mean another. One that cannot even be
 * killed is left to the kernel. */
static void reap(struct supervision *s, int options)
{
    siginfo_t info = {.si_pid = 0};
    kill(-s->process.pid, SIGKILL); /* what it left in its group */
    while (waitid(P_PIDFD, (id_t)s->process.handle, &info, options) != 0 && errno == EINTR)
        continue;
    if (!s->killed)
        s->outcome->end = info.si_code == CLD_EXITED ? PROCESS_EXITED : PROCESS_KILLED;
    s->outcome->code = info.si_status;
}

/* Milliseconds until something must be looked at. */
static int wait_for(const struct supervision *s, int64_t now)
{
    int64_t left = s->deadline - now;
    bool looks = s->command->cancelled != NULL || s->command->extended != NULL;
    if (looks && !s->killed && left > LOOK_MS)
        left = LOOK_MS;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* The pipe does not block: a program that does not read is not told. */
static void tell_extended(struct supervision *s)
{
    const int *lifeline = s->command->lifeline;
    if (s->command->extended == NULL || lifeline == NULL || *lifeline < 0)
        return;
    int64_t value = atomic_load(s->command->extended);
    if (value > s->extended && write(*lifeline, &value, sizeof value) == (ssize_t)sizeof value)
        s->extended = value;
}

static void supervise(struct supervision *s)
{
    bool ended = false;
    while (!ended) {
        int64_t now = clock_monotonic_ms();
        tell_extended(s);
        if (!s->killed && s->command->cancelled != NULL && atomic_load(s->command->cancelled))
            kill_all(s, PROCESS_CANCELLED);
        else if (now >= s->deadline && !s->killed)
            kill_all(s, PROCESS_TIMEOUT);
        else if (now >= s->deadline && s->cut)
            kill_group(s);
        else if (now >= s->deadline)
            break;
        if (poll(s->polls, POLL_COUNT, wait_for(s, now)) <= 0)
            continue;
        if (s->polls[POLL_OUTPUT].revents != 0)
            take_output(s, &s->polls[POLL_OUTPUT], &s->output);
        if (s->polls[POLL_ERRORS].revents != 0)
            take_output(s, &s->polls[POLL_ERRORS], &s->errors);
        if (s->polls[POLL_INPUT].revents != 0)
            give_input(s);
        ended = s->polls[POLL_CHILD].revents != 0;
    }
    reap(s, ended ? WEXITED : WEXITED | WNOHANG);
}

/* What the program wrote before it ended is still in the pipes. Somebody who left its group may hold them open for ever. */
static void drain(struct supervision *s)
{
    int64_t until = clock_monotonic_ms() + DRAIN_MS;
    s->polls[POLL_CHILD].fd = s->polls[POLL_INPUT].fd = -1;
    for (;;) {
        bool open = s->polls[POLL_OUTPUT].fd >= 0 || s->polls[POLL_ERRORS].fd >= 0;
        if (!open || clock_monotonic_ms() >= until || poll(s->polls, POLL_COUNT, 0) <= 0)
            return;
        if (s->polls[POLL_OUTPUT].revents != 0)
            take_output(s, &s->polls[POLL_OUTPUT], &s->output);
        if (s->polls[POLL_ERRORS].revents != 0)
            take_output(s, &s->polls[POLL_ERRORS], &s->errors);
    }
}

int process_run(const struct process_command *command, struct process_outcome *outcome,
                struct err *err)
{
    struct supervision s = {.command = command, .outcome = outcome};
    *outcome = (struct process_outcome){.end = PROCESS_EXITED};
    s.started = clock_monotonic_ms();
    s.deadline = s.started + command->wall_ms;
    if (process_begin(command, command->input.n > 0 ? PROCESS_INPUT_PIPE : PROCESS_INPUT_NONE,
                      &s.process, err) != 0)
        return -1;
    keeper_init(&s.output, &outcome->output, command->output_max);
    keeper_init(&s.errors, &outcome->errors, command->output_max);
    s.polls[POLL_CHILD] = (struct pollfd){s.process.handle, POLLIN, 0};
    s.polls[POLL_OUTPUT] = (struct pollfd){s.process.output, POLLIN, 0};
    s.polls[POLL_ERRORS] = (struct pollfd){s.process.errors, POLLIN, 0};
    s.polls[POLL_INPUT] = (struct pollfd){s.process.input, POLLOUT, 0};
    supervise(&s);
    drain(&s);
    process_release(&s.process);
    keeper_finish(&s.output);
    keeper_finish(&s.errors);
    outcome->output_bytes = s.output.total;
    outcome->errors_bytes = s.errors.total;
    outcome->wall_ms = clock_monotonic_ms() - s.started;
    return 0;
}

void process_outcome_release(struct process_outcome *outcome)
{
    buf_release(&outcome->output);
    buf_release(&outcome->errors);
}
