/* spawn_agent (seed 002): one child, and its result is the call's. Pure. */
#include "base/utf8.h"
#include "core/run/door.h"

#define CONTEXT_FILES_MAX 16
#define TOOLS_NAMED_MAX 64

/* Views into `arguments`. */
static int read_request(struct deciding *d, const struct js *arguments, struct delegation *request,
                        struct err *err)
{
    delegation_init(request, DOOR_SPAWN_AGENT);
    if (arguments_known(arguments,
                        "task scope max_tool_calls mode role budget allowed_tools context "
                        "context_files effort working_directory",
                        "spawn_agent", err) != 0 ||
        arguments_known(js_get(arguments, "budget"), "tool_calls tokens cost_usd timeout_ms",
                        "budget", err) != 0)
        return -1;
    if (argument_text(arguments, "task", &request->task, err) != 0 ||
        argument_text(arguments, "scope", &request->scope, err) != 0 ||
        argument_text(arguments, "mode", &request->mode, err) != 0 ||
        argument_text(arguments, "role", &request->role, err) != 0 ||
        argument_text(arguments, "context", &request->context, err) != 0 ||
        argument_text(arguments, "working_directory", &request->working_directory, err) != 0 ||
        argument_effort(arguments, &request->params, err) != 0 ||
        argument_budget(arguments, &request->asked, err) != 0 ||
        argument_number(arguments, "max_tool_calls", 1, &request->asked.tool_calls, err) != 0 ||
        argument_list(&d->out->arena, arguments, "allowed_tools", TOOLS_NAMED_MAX,
                      &request->allowed_tools, err) != 0 ||
        argument_list(&d->out->arena, arguments, "context_files", CONTEXT_FILES_MAX,
                      &request->context_files, err) != 0)
        return -1;
    if (utf8_is_blank(request->task))
        return err_set(err, ERR_USAGE, "task must not be empty");
    if (request->scope.n > SCOPE_BYTES_MAX)
        return err_set(err, ERR_USAGE, "scope may have at most %d bytes", SCOPE_BYTES_MAX);
    if (request->context.n > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "context may have at most %d bytes", CONTEXT_BYTES_MAX);
    return 0;
}

static void ended(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct agent *child)
{
    struct ending ending = ending_of(child);
    call_finish(d, agent, call, ending_worked(child->outcome) ? TOOL_OK : TOOL_ERROR,
                child_text(d, agent, call, child, &ending));
}

static void make(struct deciding *d, const struct agent *agent, const struct call *call,
                 const struct delegation *request)
{
    struct err why = ERR_INIT;
    if (child_make(d, agent, call, request, EVENT_ABSENT, &why) < 0)
        door_refuse(d, agent, call, &why);
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct delegation request;
    struct buf files;
    if (read_request(d, arguments, &request, &why) != 0) {
        door_refuse(d, agent, call, &why);
    } else if (request.context_files.n > 0) {
        buf_init(&files, SIZE_MAX / 4);
        js_print(js_get(arguments, "context_files"), &files);
        door_gather(d, agent, call, buf_view(&files));
        buf_release(&files);
    } else {
        make(d, agent, call, &request);
    }
}

/* Every file could be read, and all of it is not too long. */
static int check_context(const struct delegation *request, const struct gathering *gathering,
                         struct err *err)
{
    for (size_t i = 0; i < gathering->count; i++) {
        const struct gathered_file *file = &gathering->files[i];
        struct str problem = file->error;
        if (str_starts(problem, STR("Error: ")))
            problem = (struct str){problem.p + 7, problem.n - 7};
        if (problem.p != NULL)
            return err_set(err, ERR_USAGE, "context file %.*s: %.*s", STR_FMT(file->path),
                           STR_FMT(problem));
    }
    if (gathered_bytes(request->context, gathering) > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE,
                       "context and context_files together may have at most %d bytes",
                       CONTEXT_BYTES_MAX);
    return 0;
}

static void gathered(struct deciding *d, const struct agent *agent, const struct call *call,
                     const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct delegation request;
    if (read_request(d, arguments, &request, &why) != 0 ||
        check_context(&request, call->gathering, &why) != 0)
        door_refuse(d, agent, call, &why);
    else
        make(d, agent, call, &request);
}

const struct door_ops door_spawn_agent = {start, gathered, ended, NULL};
