/* spawn and spawn_await (seed 001): a job in the background, and waiting for jobs. A job belongs to the agent that spawned it. A
 * child's prompt is put together from the profile's files, read anew for each spawn: a change on disk is seen by the next one. Pure. */
#include "core/run/door.h"

#define PROMPT_BYTES_MAX (1 << 20)
#define TOOLS_NAMED_MAX 64
#define JOBS_MAX 4096

static int read_request(struct deciding *d, const struct js *arguments, struct delegation *request,
                        const struct profile **profile, struct str *prompt, struct err *err)
{
    struct str name = STR_NONE;
    delegation_init(request, DOOR_SPAWN);
    *profile = NULL;
    *prompt = STR_NONE;
    if (arguments_known(arguments, "task profile context system_prompt tools effort", "spawn",
                        err) != 0 ||
        argument_text(arguments, "task", &request->task, err) != 0 ||
        argument_text(arguments, "profile", &name, err) != 0 ||
        argument_text(arguments, "context", &request->context, err) != 0 ||
        argument_text(arguments, "system_prompt", prompt, err) != 0 ||
        argument_effort(arguments, &request->params, err) != 0 ||
        argument_words(&d->out->arena, arguments, "tools", TOOLS_NAMED_MAX, &request->allowed_tools,
                       err) != 0)
        return -1;
    if (request->context.n > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "context may have at most %d bytes", CONTEXT_BYTES_MAX);
    if (name.n == 0)
        return 0;
    *profile = settings_profile(&d->run->settings, name);
    if (*profile == NULL)
        return err_set(err, ERR_USAGE, "unknown profile \"%.*s\"; the profiles are: %s",
                       (int)(name.n < 64 ? name.n : 64), name.p,
                       profile_words(&d->run->settings, &d->out->arena));
    request->name = (*profile)->name;
    request->pool = (*profile)->pool;
    request->schema = (*profile)->schema;
    request->checks = (*profile)->checks;
    request->network = (*profile)->network;
    if ((*profile)->working_directory.n > 0)
        request->working_directory = (*profile)->working_directory;
    if ((*profile)->params != NULL) {
        struct model_params called = request->params;
        request->params = *(*profile)->params;
        params_layer(&request->params, &called);
    }
    if (request->allowed_tools.state == LIST_ABSENT && (*profile)->tools.n > 0)
        request->allowed_tools = (*profile)->tools;
    return 0;
}

/* The files of the prompt, in order; the last one is the profile's prompt file, if it has one. */
static struct list prompt_files(struct deciding *d, const struct profile *profile)
{
    static const char *const usual[] = {"AGENTS.md", "ENVIRONMENT.md"};
    struct list files = {LIST_SET, NULL, 0};
    if (profile != NULL && profile->bootstrap_files.n > 0)
        files = list_copy(&d->out->arena, &profile->bootstrap_files);
    else
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
            list_add(&d->out->arena, &files, str_from(usual[i]));
    if (profile != NULL && profile->system_prompt_file.n > 0)
        list_add(&d->out->arena, &files, profile->system_prompt_file);
    return files;
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct delegation request;
    const struct profile *profile;
    struct str prompt;
    if (read_request(d, arguments, &request, &profile, &prompt, &why) != 0) {
        door_refuse(d, agent, call, &why);
        return;
    }
    struct list files = prompt_files(d, profile);
    struct buf paths;
    struct jw w;
    buf_init(&paths, 1 << 20);
    jw_init(&w, &paths);
    list_print(&w, NULL, &files);
    door_gather_texts(d, agent, call, buf_view(&paths));
    buf_release(&paths);
}

static void add_part(struct buf *out, struct str text)
{
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    if (text.n == 0)
        return;
    buf_text(out, out->n > 0 ? "\n\n" : "");
    buf_str(out, text);
}

/* A bootstrap file that is not there is left out; the prompt file that a profile names must be there. What a profile names and
 * cannot be read is an error; of the usual files nobody asked for, it is left out. */
static bool may_be_left_out(const struct gathered_file *file, const struct profile *profile)
{
    if (profile != NULL && str_eq(file->path, profile->system_prompt_file))
        return false;
    bool named = profile != NULL && profile->bootstrap_files.n > 0;
    return !named || file->missing;
}

static int join_prompt(const struct gathering *files, const struct profile *profile,
                       struct str inline_text, struct buf *out, struct err *err)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct gathered_file *file = &files->files[i];
        if (file->error.p != NULL && !may_be_left_out(file, profile))
            return err_set(err, ERR_USAGE, "the profile's file %.*s cannot be used: %.*s",
                           STR_FMT(file->path), STR_FMT(file->error));
        if (file->error.p == NULL)
            add_part(out, file->text);
    }
    add_part(out, inline_text.n > 0 || profile == NULL ? inline_text : profile->system_prompt);
    if (out->failed)
        return err_set(err, ERR_USAGE, "the profile's prompt is larger than %d bytes",
                       PROMPT_BYTES_MAX);
    return 0;
}

/* Nobody waits for a job in the background but by spawn_await: this is an earlier job, which has done the same. Its id is the answer. */
static void repeated(struct deciding *d, const struct agent *agent, const struct call *call,
                     const struct agent *job)
{
    struct buf out;
    buf_init(&out, 1024);
    buf_str(&out, job->task_id);
    reuse_notice(call_child_of(call, job), job, "\n", &out);
    call_finish(d, agent, call, TOOL_OK, keep(d, buf_view(&out)));
    buf_release(&out);
}

static void gathered(struct deciding *d, const struct agent *agent, const struct call *call,
                     const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct delegation request;
    const struct profile *profile;
    struct str inline_text;
    struct buf prompt;
    uint32_t no = d->run->agent_count;
    buf_init(&prompt, PROMPT_BYTES_MAX);
    if (read_request(d, arguments, &request, &profile, &inline_text, &why) != 0 ||
        join_prompt(call->gathering, profile, inline_text, &prompt, &why) != 0) {
        door_refuse(d, agent, call, &why);
    } else {
        request.prompt = buf_view(&prompt);
        int made = child_make(d, agent, call, &request, EVENT_ABSENT, &why);
        if (made < 0)
            door_refuse(d, agent, call, &why);
        else if (made == CHILD_NEW && !d->failed)
            call_finish(d, agent, call, TOOL_OK, keep(d, run_agent_at(d->run, no)->task_id));
    }
    buf_release(&prompt);
}

const struct door_ops door_spawn = {start, gathered, repeated, NULL};

/* --- spawn_await --------------------------------------------------------------------------------------------------------- */

static bool is_job_of(const struct agent *child, const struct agent *agent)
{
    return child->parent_no == agent->no && child->contract.receipt.door == DOOR_SPAWN;
}

/* What a call awaits: ids as the model gave them, and their jobs; NULL: there is no such job. */
struct awaited {
    struct list ids;
    const struct agent **jobs;
};

static int read_ids(struct deciding *d, const struct js *arguments, struct list *ids,
                    struct err *err)
{
    *ids = LIST_NONE;
    if (arguments_known(arguments, "job_ids", "spawn_await", err) != 0 ||
        argument_words(&d->out->arena, arguments, "job_ids", JOBS_MAX, ids, err) != 0)
        return -1;
    return ids->n > 0 ? 0 : err_set(err, ERR_USAGE, "job_ids must name jobs, or be \"*\" for all");
}

static void find_all(struct deciding *d, const struct agent *agent, struct awaited *out)
{
    const struct run *run = d->run;
    out->ids = (struct list){LIST_SET, NULL, 0};
    out->ids.items = arena_alloc(&d->out->arena, run->agent_count * sizeof *out->ids.items);
    out->jobs = arena_alloc(&d->out->arena, run->agent_count * sizeof *out->jobs);
    for (uint32_t no = 1; no < run->agent_count; no++) {
        if (!is_job_of(run->agents[no], agent))
            continue;
        out->ids.items[out->ids.n] = run->agents[no]->task_id;
        out->jobs[out->ids.n++] = run->agents[no];
    }
}

static void find_named(struct deciding *d, const struct agent *agent, struct awaited *out)
{
    out->jobs = arena_alloc(&d->out->arena, out->ids.n * sizeof *out->jobs);
    for (size_t i = 0; i < out->ids.n; i++) {
        const struct agent *job = run_child_named(d->live, agent, out->ids.items[i]);
        out->jobs[i] = job != NULL && is_job_of(job, agent) ? job : NULL;
    }
}

static int find_awaited(struct deciding *d, const struct agent *agent, const struct js *arguments,
                        struct awaited *out, struct err *err)
{
    if (read_ids(d, arguments, &out->ids, err) != 0)
        return -1;
    if (out->ids.n == 1 && str_is(out->ids.items[0], "*"))
        find_all(d, agent, out);
    else
        find_named(d, agent, out);
    return 0;
}

/* One block per job. The error flag is never set: failures stand in the blocks. */
static void answer(struct deciding *d, const struct agent *agent, const struct call *call,
                   const struct awaited *awaited)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 4);
    if (awaited->ids.n == 0)
        buf_text(&out, "No jobs found.");
    for (size_t i = 0; i < awaited->ids.n; i++) {
        const struct agent *job = awaited->jobs[i];
        struct str id = awaited->ids.items[i];
        buf_printf(&out, "%s[%.*s: ", i > 0 ? "\n\n" : "", (int)(id.n < 64 ? id.n : 64), id.p);
        if (job == NULL) {
            buf_text(&out, "NOT FOUND]");
        } else if (job->phase != PHASE_DONE) {
            buf_text(&out, "RUNNING]");
        } else if (ending_worked(job->outcome)) {
            buf_printf(&out, "OK]\n%s",
                       job->outcome == OUTCOME_COMPLETED ? "" : "[BUDGET EXCEEDED] ");
            struct str said = result_said(d, job, job->outcome, job->response);
            said = result_quoted(&d->out->arena, said);
            buf_str(&out, door_share(d, agent, said, awaited->ids.n));
        } else {
            struct str why = result_quoted(&d->out->arena, job->error);
            buf_text(&out, "ERROR]\n");
            buf_str(&out, door_share(d, agent, why, awaited->ids.n));
        }
        if (job != NULL && job->phase == PHASE_DONE)
            result_notice(d->run, job, "\nNotice: ", &out);
    }
    call_finish(d, agent, call, TOOL_OK, keep(d, buf_view(&out)));
    buf_release(&out);
}

static void await_start(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct awaited awaited;
    struct buf jobs;
    struct jw w;
    size_t open = 0;
    if (find_awaited(d, agent, arguments, &awaited, &why) !=
        0) { /* an error in words: this tool never sets the flag */
        call_finish(d, agent, call, TOOL_OK,
                    arena_printf(&d->out->arena, "Error: %s", why.message));
        return;
    }
    buf_init(&jobs, 1 << 20);
    jw_init(&w, &jobs);
    jw_array(&w);
    for (size_t i = 0; i < awaited.ids.n; i++) {
        const struct agent *job = awaited.jobs[i];
        if (job == NULL || job->phase == PHASE_DONE)
            continue;
        jw_int(&w, job->no);
        open++;
    }
    jw_end_array(&w);
    if (open == 0) {
        answer(d, agent, call, &awaited);
    } else {
        struct event *e = draft(d, agent->no, EVENT_AGENT_AWAITING);
        e->call_id = keep(d, call->call.id);
        e->jobs = keep(d, buf_view(&jobs));
        emit(d, e);
        trees_advance(d, agent);
    }
    buf_release(&jobs);
}

static void await_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                        const struct agent *child)
{
    struct err why = ERR_INIT;
    struct js *arguments = js_parse(call->call.arguments, &why);
    struct awaited awaited;
    if (call->children_open == 0 && find_awaited(d, agent, arguments, &awaited, &why) == 0)
        answer(d, agent, call, &awaited);
    js_free(arguments);
}

const struct door_ops door_spawn_await = {await_start, NULL, await_ended, NULL};
