/* Tools on libuv's pool: everything that a call needs is copied into the job, the pool thread opens the workspace and runs the tool,
 * the loop turns the result into an input. */
#include <stdlib.h>

#include "engine/live.h"

struct work {
    struct flight flight; /* first: they are cast into each other */
    uv_work_t request;
    struct arena arena;
    enum effect_kind kind;
    const struct tool_port *port;
    const struct tool *tool;
    struct str arguments;
    struct str problem; /* why there is no workspace */
    struct tool_context context;
    struct tool_prepared prepared;
    atomic_bool cancelled;
    /* what came of it */
    struct input input;
    struct buf text;
};

/* --- on the pool ------------------------------------------------------------------------------------------------------- */

static void fail(struct work *work, const char *message)
{
    work->input.kind = INPUT_RESULT;
    work->input.outcome = TOOL_ERROR;
    buf_clear(&work->text);
    buf_printf(&work->text, "Error: %s", message);
}

static struct str files_json(struct arena *arena, const struct str *files, size_t count)
{
    struct buf out;
    struct jw w;
    if (count == 0)
        return STR_NONE;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, files[i]);
    jw_end_array(&w);
    struct str json = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return json;
}

static void take_result(struct work *work, const struct tool_result *result)
{
    work->input.kind = INPUT_RESULT;
    work->input.outcome = result->kind == RESULT_OK ? TOOL_OK : TOOL_ERROR;
    buf_clear(&work->text);
    buf_str(&work->text, buf_view(&result->text));
    work->input.files_read = files_json(&work->arena, result->files_read, result->read_count);
    work->input.files_modified =
        files_json(&work->arena, result->files_modified, result->modified_count);
}

static struct str hash_text(struct arena *arena, int present, const struct hash *hash)
{
    char hex[HASH_HEX + 1];
    if (present != FILE_PRESENT)
        return STR("absent");
    hash_hex(hash, hex);
    return arena_copy(arena, (struct str){hex, HASH_HEX});
}

static void prepare(struct work *work, const struct js *arguments, struct tool_result *result)
{
    struct tool_prepared prepared = {.path = STR_NONE};
    if (work->tool->prepare(&work->context, arguments, &prepared, result) != 0) {
        take_result(work, result);
        work->input.outcome = TOOL_ERROR;
        return;
    }
    work->input.kind = INPUT_PREPARED;
    work->input.path = arena_copy(&work->arena, prepared.path);
    work->input.before = hash_text(&work->arena, prepared.before, &prepared.before_hash);
    work->input.after = hash_text(&work->arena, prepared.after, &prepared.after_hash);
}

/* A crash came between the intent and the result. */
static void settle(struct work *work, const struct js *arguments, struct tool_result *result)
{
    switch (work->port->settle(&work->context, &work->prepared)) {
    case SETTLED_DONE:
        work->input.kind = INPUT_RESULT;
        work->input.outcome = TOOL_OK;
        buf_printf(&work->text, "%.*s was changed as asked (checked after a restart).",
                   STR_FMT(work->prepared.path));
        work->input.files_modified = files_json(&work->arena, &work->prepared.path, 1);
        return;
    case SETTLED_NOT_DONE:
        work->tool->run(&work->context, arguments, &work->prepared, result);
        take_result(work, result);
        return;
    case SETTLED_UNKNOWN:
        work->input.kind = INPUT_LOST;
        buf_printf(&work->text,
                   "Error: interrupted, outcome unknown: %.*s is neither what it was nor what it "
                   "was to become. Read it before you try again.",
                   STR_FMT(work->prepared.path));
        return;
    }
}

/* One file with the read tool: numbered lines, as the parent would see them. */
static void gather_shown(struct work *work, struct str path, struct jw *w)
{
    struct buf call;
    struct jw inner;
    struct err err = ERR_INIT;
    struct tool_result result = {.kind = RESULT_OK};
    buf_init(&call, 1 << 16);
    buf_init(&result.text, work->context.max_result);
    jw_init(&inner, &call);
    jw_object(&inner);
    jw_kstr(&inner, "path", path);
    jw_end_object(&inner);
    struct js *arguments = js_parse(buf_view(&call), &err);
    work->tool->run(&work->context, arguments, NULL, &result);
    jw_kstr(w, result.kind == RESULT_OK ? "text" : "error", buf_view(&result.text));
    js_free(arguments);
    buf_release(&result.text);
    buf_release(&call);
}

/* One file as it is. */
static void gather_text(struct work *work, struct str path, struct jw *w)
{
    struct err err = ERR_INIT;
    struct buf text;
    buf_init(&text, work->context.max_result * 4); /* what is mended takes more room */
    if (work->port->load(&work->context, path, &text, &err) != 0) {
        jw_kstr(w, "error", str_from(err.message));
        if (err.class == ERR_NOT_FOUND)
            jw_kbool(w, "missing", true);
    } else {
        jw_kstr(w, "text", buf_view(&text));
    }
    buf_release(&text);
}

/* Reads whole files for a child's prompt, behind the read tool's own wall. */
static void gather(struct work *work, const struct js *paths)
{
    struct jw w;
    jw_init(&w, &work->text);
    jw_array(&w);
    for (size_t i = 0; i < js_count(paths); i++) {
        struct str path = js_str(js_at(paths, i));
        jw_object(&w);
        jw_kstr(&w, "path", path);
        if (work->tool != NULL)
            gather_shown(work, path, &w);
        else
            gather_text(work, path, &w);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    if (work->text.failed) {
        fail(work, "the context files are too large together");
        return;
    }
    work->input.kind = INPUT_FACTS;
}

/* Any thread. */
static void on_progress(void *user, struct str text)
{
    struct work *work = user;
    flight_alive(&work->flight);
}

static void on_pool(uv_work_t *request)
{
    struct work *work = request->data;
    flight_alive(&work->flight);
    struct err err = ERR_INIT;
    bool needs_tool = work->kind != EFFECT_GATHER;
    if ((needs_tool && work->tool == NULL) || work->context.scope == NULL) {
        fail(work, work->context.scope == NULL ? work->problem.p : "this build has no such tool");
        return;
    }
    struct tool_result result = {.kind = RESULT_OK};
    struct js *arguments = js_parse(work->arguments, &err);
    if (arguments == NULL) {
        fail(work, err.message);
        return;
    }
    if (work->kind == EFFECT_PREPARE) {
        prepare(work, arguments, &result);
    } else if (work->kind == EFFECT_SETTLE) {
        settle(work, arguments, &result);
    } else if (work->kind == EFFECT_GATHER) {
        gather(work, arguments);
    } else {
        work->tool->run(&work->context, arguments,
                        work->prepared.path.p != NULL ? &work->prepared : NULL, &result);
        take_result(work, &result);
    }
    js_free(arguments);
    buf_release(&result.text);
}

/* --- on the loop ------------------------------------------------------------------------------------------------------- */

static void on_finished(uv_work_t *request, int status)
{
    struct work *work = request->data;
    struct live *live = flight_live(&work->flight);
    work->input.now = work->flight.engine->config.now();
    work->input.agent_no = work->flight.agent_no;
    work->input.call_id = work->flight.call_id;
    if (work->input.kind == INPUT_FACTS)
        work->input.files = buf_view(&work->text);
    else
        work->input.text = buf_view(&work->text);
    flight_unlink(&work->flight);
    if (live != NULL)
        live_input(live, &work->input);
    flight_release(&work->flight);
    buf_release(&work->text);
    arena_release(&work->arena);
    free(work);
}

static void on_abort(struct flight *flight)
{
    struct work *work = (struct work *)flight;
    atomic_store(&work->cancelled, true);
}

static struct str *copy_list(struct arena *arena, const struct list *list)
{
    struct str *items = arena_alloc(arena, (list->n + 1) * sizeof *items);
    for (size_t i = 0; i < list->n; i++)
        items[i] = arena_copy(arena, list->items[i]);
    return items;
}

static void set_prepared(struct work *work, const struct effect *effect)
{
    struct tool_prepared *prepared = &work->prepared;
    if (effect->path.p == NULL)
        return;
    prepared->path = arena_copy(&work->arena, effect->path);
    prepared->before =
        hash_parse(effect->before, &prepared->before_hash) ? FILE_PRESENT : FILE_ABSENT;
    prepared->after = hash_parse(effect->after, &prepared->after_hash) ? FILE_PRESENT : FILE_ABSENT;
}

/* Of a contract's word. What is not known is no network. */
static enum sandbox_network network_of(struct str network)
{
    return str_is(network, "full")    ? SANDBOX_NET_FULL
           : str_is(network, "relay") ? SANDBOX_NET_RELAY
                                      : SANDBOX_NET_NONE;
}

void work_start(struct live *live, const struct effect *effect)
{
    struct engine *engine = live->engine;
    const struct run *run = pump_run(live->pump);
    const struct agent *agent = run_agent(run, effect->agent_no);
    struct work *work = calloc(1, sizeof *work);
    if (work == NULL)
        abort();
    arena_init(&work->arena);
    buf_init(&work->text, (size_t)effect->max_result * 8 + (1 << 16));
    flight_init(&work->flight, live, effect, on_abort);
    flight_waits(&work->flight); /* until a thread is free */
    work->kind = effect->kind;
    work->port = engine->config.tools;
    work->tool = engine->config.tools->find(effect->tool);
    work->arguments = arena_copy(&work->arena, effect->arguments);
    work->problem = arena_copy(&work->arena, str_from(live->scope_problem.message));
    set_prepared(work, effect);
    work->context = (struct tool_context){
        .scope = live->scope,
        .working_directory = arena_copy(&work->arena, agent->contract.execution.working_directory),
        .read_paths = copy_list(&work->arena, &agent->contract.permissions.read_paths),
        .read_count = agent->contract.permissions.read_paths.n,
        .write_paths = copy_list(&work->arena, &agent->contract.permissions.write_paths),
        .write_count = agent->contract.permissions.write_paths.n,
        .skills = copy_list(&work->arena, &agent->contract.permissions.skills),
        .skill_count = agent->contract.permissions.skills.n,
        .skills_state =
            agent->contract.permissions.skills.state == LIST_ABSENT ? SKILLS_ALL : SKILLS_LISTED,
        .network = network_of(agent->contract.permissions.network),
        .services = engine->config.services,
        .run_id = arena_copy(&work->arena, id_str(&live->id)),
        .agent_no = effect->agent_no,
        .call_id = arena_printf(&work->arena, "%s-%u-%.*s", live->id.text, effect->agent_no,
                                STR_FMT(effect->call_id)),
        .progress = on_progress,
        .progress_user = work,
        .cancelled = &work->cancelled,
        .max_result = (size_t)effect->max_result,
        .arena = &work->arena};
    work->request.data = work;
    uv_queue_work(engine->config.loop, &work->request, on_pool, on_finished);
}
