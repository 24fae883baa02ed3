/* `cadre run`: starts a run and drives it to its end. */
#include <errno.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/agents.h"
#include "cli/command.h"
#include "cli/drive.h"
#include "cli/localserver.h"
#include "cli/trust.h"
#include "core/contract/schema.h"

#define TASK_MAX ((size_t)1 << 20) /* bytes on stdin */
#define SCHEMA_FILE_MAX (1 << 20)

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"model", "NAME", "the model to use"},
    {"base-url", "URL", "its server, for example http://127.0.0.1:8080/v1"},
    {"api", "API", "what the server speaks: openai, anthropic or responses"},
    {"mode", "MODE", "safe, auto, dangerous, research, plan, review or ci"},
    {"max-cost", "DOLLARS", "stop when this much is spent"},
    {"timeout", "TIME", "stop after this long: 90s, 5m"},
    {"max-concurrent", "N", "agents at work at the same time"},
    {"workspace", "DIR", "the directory to work in (default: the current one)"},
    {"output-schema", "FILE", "a JSON Schema that the answer must match"},
    {"record", "FILE", "write every exchange with a model to a new file"},
    {"replay", "FILE", "answer from such a file; no model is asked"},
    {"apply", NULL, "take the result over into your checkout when the run completed"},
    {"quiet", NULL, "print nothing but the answer"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_run = {
    .name = "run",
    .summary = "run a task to its end and show it while it works",
    .usage = "\"TASK\" [OPTIONS]",
    .details =
        "The task \"-\" is read from standard input, up to 1 MB.\n"
        "The model is taken from the flags, then from the config, then from a key in the "
        "environment\n"
        "(OPENAI_API_KEY, ANTHROPIC_API_KEY), then from a server that answers on port 11434 or "
        "8080 of this\nmachine.\n"
        "In a git repository the work is done in a tree of its own and stays on the branch "
        "cadre/RUN/result, until\n`cadre apply` or --apply takes it over (docs/trees.md).\n"
        "Ctrl-C winds the run down in order. A second Ctrl-C stops the process at once; `cadre "
        "resume` then finishes\n"
        "the winding down.",
    .example = "cadre run \"Summarise README.md\"",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

/* Somebody must answer: flags, config and environment have named nobody, so a local server is
 * looked for. */
static int find_model(struct wire *wire, struct err *err)
{
    struct localserver server;
    if (wire_config(wire)->settings.model_count > 0)
        return 0;
    if (localserver_find(&server, err) == 0)
        return wire_local_model(wire, str_from(server.base_url), str_from(server.model), err);
    return err_set(
        err, ERR_CONFIG,
        "no model to ask. One of these helps:\n"
        "  - name one: cadre run --base-url http://127.0.0.1:8080/v1 --model NAME \"task\"\n"
        "  - put it into ~/.config/cadre/cadre.yaml (llm.providers and llm.models), or set "
        "OPENAI_API_KEY or ANTHROPIC_API_KEY\n"
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
    size_t valid = utf8_valid(task), blank = 0;
    while (blank < task.n && task.p[blank] != '\0' && strchr(" \t\r\n", task.p[blank]) != NULL)
        blank++;
    if (blank == task.n)
        return err_set(err, ERR_USAGE, "the task is empty; say what to do: cadre run \"task\"");
    if (valid < task.n)
        return err_set(err, ERR_USAGE,
                       "the task is not UTF-8 from byte %zu on; use a terminal with a UTF-8 "
                       "locale, or write it in ASCII",
                       valid + 1);
    if (memchr(task.p, '\0', task.n) != NULL)
        return err_set(err, ERR_USAGE, "the task has a zero byte in it: that is no text");
    return 0;
}

/* A schema that cannot be enforced is found before anything is stored. */
static int read_schema(struct str path, struct buf *compact, struct err *err)
{
    struct buf text;
    if (path.p == NULL)
        return 0;
    buf_init(&text, SCHEMA_FILE_MAX);
    int result =
        agents_read_file(path, &text, err) != 0 || schema_read(buf_view(&text), compact, err) != 0
            ? err_prefix(err, "--output-schema %.*s", STR_FMT(path))
            : 0;
    buf_release(&text);
    return result;
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
    return record.p != NULL ? wire_record(wire, record, err) : 0;
}

static enum exit_code run(struct invocation *invocation)
{
    const struct arguments *arguments = &invocation->arguments;
    struct wire_request request = {.need =
                                       arguments_has(arguments, "replay") ? WIRE_STORE : WIRE_MODEL,
                                   .workspace = arguments_value(arguments, "workspace"),
                                   .consent = trust_ask,
                                   .consent_user = &invocation->output};
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    struct buf input, schema;
    struct str task;
    enum exit_code code;
    buf_init(&input, TASK_MAX);
    buf_init(&schema, SCHEMA_FILE_MAX);
    wire_flags(arguments, &request.flags);
    if (read_task(arguments->operands[0], &input, &task, &err) != 0 ||
        check_task(task, &err) != 0 ||
        read_schema(arguments_value(arguments, "output-schema"), &schema, &err) != 0 ||
        wire_open(&request, &wire, &err) != 0) {
        code = command_fail(invocation, &err);
        goto out;
    }
    wire_listen(wire, print_warning, &invocation->output);
    if (choose_model(wire, arguments, &err) != 0) {
        code = command_fail(invocation, &err);
        goto out;
    }
    const struct config *config = wire_config(wire);
    const struct model_settings *model =
        settings_model(&config->settings, config->settings.default_model);
    struct drive drive = {
        .wire = wire,
        .kind = DRIVE_START,
        .volume = arguments_has(arguments, "quiet") ? DRIVE_QUIET : DRIVE_SHOWN,
        .result = arguments_has(arguments, "apply") ? DRIVE_APPLIES : DRIVE_LEAVES_RESULT,
        .task = task,
        .output_schema = schema.n > 0 ? buf_view(&schema) : STR_NONE,
        .model = model != NULL ? model->model : config->settings.default_model,
        .source = config->model_source,
        .cap_nano = config->settings.root.cost_nano,
        .timeout_ms = config->settings.root.wall_ms,
    };
    code = drive_run(invocation, &drive);
out:
    wire_close(wire);
    buf_release(&schema);
    buf_release(&input);
    return code;
}
