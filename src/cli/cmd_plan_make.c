/* `cadre plan "goal"`: a run whose planner makes a plan and that carries nothing out; the plan is shown and, with -o, written
 * as YAML. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/planned.h"
#include "cli/starting.h"
#include "cli/typed.h"

enum exit_code plan_make(struct invocation *invocation);

/* What a run that was killed had claimed: it holds nothing. No device, and no link to one. */
static bool is_empty_file(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

/* The file is claimed before anything is spent: what is there stays, unless --force says otherwise. */
static int claim(const struct arguments *arguments, struct arena *arena, struct str *path, int *fd,
                 struct err *err)
{
    struct str name = arguments_value(arguments, "output");
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    *fd = -1;
    if (name.p == NULL)
        return 0;
    if (typed_path(arena, name, path, err) != 0)
        return err_prefix(err, "--output");
    bool taken = arguments_has(arguments, "force") || is_empty_file(path->p);
    *fd = open(path->p, flags | (taken ? 0 : O_EXCL), 0666);
    if (*fd >= 0)
        return 0;
    if (errno == EEXIST)
        return err_set(err, ERR_USAGE, "%.*s is there already; --force writes over it",
                       STR_FMT(name));
    return err_set(err, ERR_USAGE, "%.*s: %s", STR_FMT(name), strerror(errno));
}

static int write_all(int fd, struct str text, struct err *err)
{
    if (ftruncate(fd, 0) != 0 && errno != EINVAL) /* a pipe has no length */
        return err_set(err, ERR_IO, "the plan cannot be written: %s", strerror(errno));
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "the plan cannot be written: %s", strerror(errno));
        text = (struct str){text.p + n, text.n - (size_t)n};
    }
    return 0;
}

static int write_plan(int fd, const struct plan *plan, struct err *err)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    plan_print_yaml(plan, &text);
    int result = write_all(fd, buf_view(&text), err);
    buf_release(&text);
    return result;
}

struct delivery {
    struct invocation *invocation;
    struct wire *wire;
    int fd; /* -1: the plan is only shown */
};

static enum exit_code deliver(void *user, const struct id *run_id)
{
    const struct delivery *delivery = user;
    struct invocation *invocation = delivery->invocation;
    struct output *output = &invocation->output;
    int fd = delivery->fd;
    struct str name = arguments_value(&invocation->arguments, "output");
    struct store *store = NULL;
    struct arena arena;
    struct plan plan;
    struct str warnings = STR_NONE;
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    arena_init(&arena);
    if (wire_store(delivery->wire, &store, &err) != 0 ||
        planned_of_run(store, id_str(run_id), &arena, &plan, &warnings, &err) != 0 ||
        (fd >= 0 && write_plan(fd, &plan, &err) != 0)) {
        code = command_fail(invocation, &err);
    } else if (output->format == OUTPUT_TEXT && !arguments_has(&invocation->arguments, "quiet")) {
        output_print(output, "\n");
        planned_draw(output, &plan);
        if (fd >= 0)
            output_print(output, "written to %.*s; carry it out with: cadre run --plan-file %.*s\n",
                         STR_FMT(name), STR_FMT(name));
    }
    if (warnings.n > 0)
        output_error(output, "warning: %.*s", STR_FMT(warnings));
    if (store != NULL)
        store->ops->close(store);
    arena_release(&arena);
    return code;
}

/* A file that was made for a plan and has none is taken away again. */
static void give_back(struct str path)
{
    if (is_empty_file(path.p))
        unlink(path.p);
}

enum exit_code plan_make(struct invocation *invocation)
{
    const struct arguments *arguments = &invocation->arguments;
    struct str path = STR_NONE, goal;
    struct wire *wire = NULL;
    struct arena arena;
    struct buf input;
    struct err err = ERR_INIT;
    enum exit_code code;
    int fd = -1;
    arena_init(&arena);
    buf_init(&input, TASK_MAX);
    if (starting_task(arguments->operands[0], &input, &goal, &err) != 0 ||
        claim(arguments, &arena, &path, &fd, &err) != 0) {
        code = command_fail(invocation, &err);
        goto out;
    }
    if (starting_open(invocation, &wire, &err) != 0) {
        code = command_fail(invocation, &err);
    } else {
        struct drive drive = starting_drive(wire, goal);
        drive.volume = arguments_has(arguments, "quiet") ? DRIVE_QUIET : DRIVE_SHOWN;
        drive.plan = planned_start(&arena, goal, NULL, PLANNED_ONLY);
        struct delivery delivery = {invocation, wire, fd};
        drive.then = deliver;
        drive.user = &delivery;
        code = drive_run(invocation, &drive);
    }
    if (fd >= 0 && code != EXIT_CODE_DONE)
        give_back(path);
out:
    if (fd >= 0)
        close(fd);
    wire_close(wire);
    buf_release(&input);
    arena_release(&arena);
    return code;
}
