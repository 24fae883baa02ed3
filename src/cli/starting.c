/* See starting.h. */
#include "cli/starting.h"

#include <errno.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/localserver.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "cli/windows.h"
#include "port/vcs.h"

#define NAMED_SERVER_MS 3000
#define CHECKOUT_BYTES_MAX 65536
#define CHECKOUT_MS 60000

/* --provider names a local server and no model: the first that it has. */
static int ask_named(struct wire *wire, struct str base_url, struct err *err)
{
    struct localserver server;
    if (localserver_ask(base_url, NAMED_SERVER_MS, &server, err) == 0)
        return wire_local_model(wire, base_url, str_from(server.model), err);
    return err_prefix(err, "%.*s, which --provider %.*s means", STR_FMT(base_url),
                      STR_FMT(wire_config(wire)->server_name));
}

/* Somebody must answer: flags, config and environment have named nobody, so a local server is
 * looked for. */
static int find_model(struct wire *wire, struct err *err)
{
    struct localserver server;
    struct str named = wire_config(wire)->server_to_ask;
    if (named.p != NULL)
        return ask_named(wire, named, err);
    if (wire_config(wire)->settings.model_count > 0)
        return 0;
    if (localserver_find(LOCALSERVER_FIND_MS, &server, err) == 0)
        return wire_local_model(wire, str_from(server.base_url), str_from(server.model), err);
    return err_set(
        err, ERR_CONFIG,
        "no model to ask. One of these helps:\n"
        "  - name one: cadre run --base-url http://127.0.0.1:8080/v1 --model NAME \"task\"\n"
        "  - put it into ~/.config/cadre/cadre.yaml (llm.providers and llm.models), or set "
        "OPENAI_API_KEY, ANTHROPIC_API_KEY or another vendor's key (docs/models.md)\n"
        "  - start a server that speaks /v1/models on port 11434 (Ollama) or 8080 (llama.cpp)");
}

/* The task as it was typed, or all of stdin where "-" was. */
static int read_task(struct str typed, struct buf *input, struct str *task, struct err *err)
{
    *task = typed;
    if (!str_is(typed, "-"))
        return 0;
    for (;;) {
        char piece[4096];
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "the task cannot be read from standard input: %s",
                           strerror(errno));
        if (n == 0)
            break;
        buf_add(input, piece, (size_t)n);
        if (input->failed)
            return err_set(err, ERR_USAGE,
                           "the task on standard input is longer than %zu bytes; put it into a "
                           "file of the workspace and say what to do with it",
                           TASK_MAX);
    }
    *task = buf_view(input);
    while (task->n > 0 && (task->p[task->n - 1] == '\n' || task->p[task->n - 1] == '\r'))
        task->n--;
    return 0;
}

/* A wrong task is found before anything is stored. */
static int check_task(struct str task, struct err *err)
{
    size_t valid = utf8_valid(task);
    bool zero = task.n > 0 && memchr(task.p, '\0', task.n) != NULL;
    if (!zero && utf8_is_blank(task))
        return err_set(err, ERR_USAGE, "the task is empty; say what to do: cadre run \"task\"");
    if (valid < task.n)
        return err_set(err, ERR_USAGE,
                       "the task is not UTF-8 from byte %zu on; use a terminal with a UTF-8 "
                       "locale, or write it in ASCII",
                       valid + 1);
    if (zero)
        return err_set(err, ERR_USAGE, "the task has a zero byte in it: that is no text");
    return 0;
}

int starting_task(struct str typed, struct buf *input, struct str *task, struct err *err)
{
    return read_task(typed, input, task, err) != 0 || check_task(*task, err) != 0 ? -1 : 0;
}

static void print_warning(void *user, struct str text)
{
    output_error(user, "warning: %.*s", STR_FMT(text));
}

/* Who answers, and where it is written down. */
static int choose_model(struct wire *wire, const struct arguments *arguments, struct err *err)
{
    struct str recording = arguments_value(arguments, "replay");
    struct str record = arguments_value(arguments, "record");
    if (recording.p != NULL ? wire_replay(wire, recording, err) != 0 : find_model(wire, err) != 0)
        return -1;
    if (wire_recordings(wire, err) != 0)
        return -1;
    if (recording.p == NULL)
        wire_meanwhile(wire, windows_ask);
    return record.p != NULL ? wire_record(wire, record, err) : 0;
}

int starting_open(struct invocation *invocation, struct wire **wire, struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    struct wire_request request = {.need =
                                       arguments_has(arguments, "replay") ? WIRE_STORE : WIRE_MODEL,
                                   .workspace = arguments_value(arguments, "workspace"),
                                   .consent = trust_ask,
                                   .consent_user = &invocation->output};
    *wire = NULL;
    stopping_early(STOPPING_NO_RUN);
    wire_flags(arguments, &request.flags);
    if (wire_open(&request, wire, err) != 0)
        return -1;
    wire_listen(*wire, print_warning, &invocation->output);
    if (choose_model(*wire, arguments, err) == 0)
        return 0;
    wire_close(*wire);
    *wire = NULL;
    return -1;
}

int starting_checkout(struct wire *wire, struct err *err)
{
    static const char *const words[] = {"status", "--porcelain", NULL};
    const struct vcs_question question = {.workspace = wire_workspace(wire)->path,
                                          .words = words,
                                          .output_max = CHECKOUT_BYTES_MAX,
                                          .wall_ms = CHECKOUT_MS};
    struct vcs_answer answer = {.status = 0};
    struct vcs_port *vcs = NULL;
    struct err problem = ERR_INIT;
    if (wire_config(wire)->settings.refuse_dirty != SWITCH_ON)
        return 0;
    int result = wire_vcs(wire, &vcs, &problem) == 0
                     ? vcs->ask(vcs->self, &question, &answer, &problem)
                     : -1;
    if (result != 0)
        result = problem.class == ERR_NOT_FOUND
                     ? 0 /* no git, no repository: nothing is committed */
                     : err_set(err, problem.class, "%s", problem.message);
    else if (answer.output.n > 0)
        result = err_set(err, ERR_USAGE,
                         "the checkout has uncommitted changes, and isolation.snapshot is false; "
                         "commit or stash them first. Nothing was started");
    if (vcs != NULL && problem.class == ERR_NONE) {
        buf_release(&answer.output);
        buf_release(&answer.errors);
    }
    wire_vcs_close(vcs);
    return result;
}

struct drive starting_drive(struct wire *wire, struct str task)
{
    const struct config *config = wire_config(wire);
    return (struct drive){
        .wire = wire,
        .kind = DRIVE_START,
        .task = task,
        .source = config->model_source,
        .timeout_ms = config->settings.root.wall_ms,
    };
}
