/* How a run begins: the start message becomes run.started with the root's contract, and the root's first messages. Pure. */
#include "base/json.h"
#include "core/run/state.h"

void control_settings(struct arena *arena, const struct control *control, struct settings *settings)
{
    settings->agent_ids = (struct list){LIST_SET, NULL, 0};
    for (size_t i = 0; i < control->registry.count; i++)
        list_add(arena, &settings->agent_ids, control->registry.agents[i].agent_id);
}

static void start_failed(struct deciding *d, struct str why)
{
    struct event *e = draft(d, 0, EVENT_RUN_FAILED);
    e->outcome = STR("error");
    e->error = why;
    struct ending ending = {OUTCOME_ERROR, STR_NONE, why};
    e->result = result_object(d, run_agent_at(d->run, 0), &ending);
    emit(d, e);
}

static struct str value_text(struct deciding *d, const struct js *value)
{
    struct buf text;
    if (js_kind(value) == JS_ABSENT)
        return STR_NONE;
    buf_init(&text, SIZE_MAX / 4);
    js_print(value, &text);
    struct str copy = keep(d, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* The text of a member that is an object, or STR_NONE. */
static struct str member_text(struct deciding *d, const struct js *body, const char *key)
{
    const struct js *member = js_get(body, key);
    return js_kind(member) == JS_OBJECT ? value_text(d, member) : STR_NONE;
}

static struct str settings_text(struct deciding *d, const struct settings *settings)
{
    struct buf text;
    struct jw w;
    buf_init(&text, SIZE_MAX / 4);
    jw_init(&w, &text);
    settings_print(settings, &w);
    struct str copy = keep(d, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* What is pinned rules the root: its model, and what it may use. */
static int request_pinned(struct deciding *d, const struct control *control,
                          const struct settings *settings, struct delegation *request,
                          struct err *err)
{
    struct profile_models models;
    const struct agent_profile *profile =
        agent_profile_find(control->profiles, control->profile_count, control->pin.profile_id);
    if (control->pin.profile_id.p == NULL)
        return 0;
    if (profile == NULL)
        return err_set(err, ERR_CONFIG, "the pinned profile %.*s is gone",
                       STR_FMT(control->pin.profile_id));
    if (agent_profile_models(&d->out->arena, profile, settings, &models, err) != 0)
        return err_prefix(err, "the pinned profile %.*s", STR_FMT(profile->id));
    request->model = models.name;
    request->allowed_models = models.allowed_models;
    request->allowed_tools = tool_normal_list(&d->out->arena, &profile->allowed_tools);
    request->skills = profile->allowed_skills;
    request->params = agent_profile_params(profile);
    request->profile_id = profile->id;
    if (request->schema.p == NULL)
        request->schema = profile->output_schema;
    request->working_directory = profile->working_directory;
    if (profile->context_window != UNLIMITED)
        request->context_window = profile->context_window;
    return 0;
}

static int root_contract(struct deciding *d, const struct js *body, struct event *e,
                         struct settings *settings, struct contract *contract, struct err *err)
{
    struct control control;
    struct delegation request;
    struct facts facts = {.run_id = d->run->id,
                          .session_id = e->session_id,
                          .agent_id = d->run->id,
                          .parent_task = e->task,
                          .workspace_path = e->workspace_path,
                          .remaining_tokens = UNLIMITED,
                          .remaining_cost_nano = UNLIMITED,
                          .remaining_wall_ms = UNLIMITED,
                          .asker = asker_parse(e->asker)};
    delegation_init(&request, DOOR_ROOT);
    request.task = e->task;
    request.name = STR("root");
    request.schema = value_text(d, js_get(body, "output_schema"));
    control_init(&control);
    if (e->control.p != NULL &&
        control_parse(&d->out->arena, js_get(body, "control"), &control, err) != 0) {
        e->control = STR_NONE;
        return -1;
    }
    if (e->control.p != NULL)
        control_settings(&d->out->arena, &control, settings);
    return request_pinned(d, &control, settings, &request, err) != 0 ||
                   contract_root(&d->out->arena, settings, &request, &facts, contract, err) != 0
               ? -1
               : 0;
}

static void first_messages(struct deciding *d, const struct js *body)
{
    const struct run *run = d->run;
    const struct agent *root = run_agent_at(run, 0);
    struct str instructions = js_get_str(body, "instructions");
    const struct agent_profile *pinned = agent_profile_find(
        run->control.profiles, run->control.profile_count, run->control.pin.profile_id);
    message_add(d, root, "system", NULL, prompt_root(d));
    if (pinned != NULL && pinned->system_prompt.n > 0)
        message_add(d, root, "system", NULL, keep(d, pinned->system_prompt));
    if (instructions.n > 0)
        message_add(d, root, "system", NULL, keep(d, instructions));
    message_add(d, root, "user", NULL, keep(d, run->task));
}

/* The root calls `plan` instead of asking a model what to do. */
static void direct(struct deciding *d, const struct js *plan)
{
    struct event *e = draft(d, 0, EVENT_RUN_DIRECTED);
    struct str arguments = value_text(d, plan);
    e->calls =
        arena_printf(&d->out->arena, "[{\"id\":\"plan\",\"name\":\"plan\",\"arguments\":%.*s}]",
                     STR_FMT(arguments));
    emit(d, e);
    agent_continue(d, run_agent_at(d->run, 0));
}

void inbox_start(struct deciding *d, const struct js *body)
{
    const struct run *run = d->run;
    struct err why = ERR_INIT;
    struct settings settings;
    struct contract contract;
    if (run->status != RUN_NEW)
        return; /* a second start message changes nothing */
    struct event *e = draft(d, 0, EVENT_RUN_STARTED);
    e->run_id = run->id;
    e->session_id = keep(d, js_get_str(body, "session_id"));
    e->user_id = keep(d, js_get_str(body, "user_id"));
    e->workspace_id = keep(d, js_get_str(body, "workspace_id"));
    e->workspace_path = keep(d, js_get_str(body, "workspace_path"));
    e->task = keep(d, js_get_str(body, "task"));
    e->asker = keep(d, js_get_str(body, "asker"));
    e->walls = keep(d, js_get_str(body, "walls"));
    e->settings = member_text(d, body, "settings");
    e->control = member_text(d, body, "control");
    if (settings_parse(&d->out->arena, js_get(body, "settings"), &settings, &why) != 0) {
        settings_init(&settings);
        e->settings = settings_text(d, &settings);
        e->control = STR_NONE;
    } else {
        /* Config says whether models are offered the tool. Whoever starts a run with a plan has decided already. */
        if (js_kind(js_get(body, "plan")) == JS_OBJECT)
            settings.plan_enabled = SWITCH_ON;
        if (root_contract(d, body, e, &settings, &contract, &why) == 0)
            e->contract = contract.json;
    }
    emit(d, e);
    if (why.class != ERR_NONE) {
        start_failed(d, keep(d, str_from(why.message)));
        return;
    }
    first_messages(d, body);
    if (js_kind(js_get(body, "plan")) == JS_OBJECT)
        direct(d, js_get(body, "plan"));
    else
        agent_continue(d, run_agent_at(run, 0));
}

int run_preflight(struct str run_id, struct str body, int64_t now, struct err *err)
{
    struct run *probe = run_new(run_id);
    struct decision decision;
    struct input input = {.kind = INPUT_INBOX,
                          .now = now,
                          .inbox_id = 1,
                          .message_kind = STR("start"),
                          .sender = STR("preflight"),
                          .body = body};
    decision_init(&decision);
    int result = run_decide(probe, &input, &decision, err);
    /* A run that begins has messages, whatever becomes of it then. */
    if (result == 0 && run_state(probe) == RUN_FAILED &&
        run_agent_at(probe, 0)->message_count == 0) {
        struct err ignored = ERR_INIT;
        struct js *last = js_parse(decision.events[decision.event_count - 1].payload, &ignored);
        struct str why = js_get_str(last, "error");
        result = err_set(err, ERR_CONFIG, "%.*s; nothing was started", STR_FMT(why));
        js_free(last);
    }
    decision_release(&decision);
    run_free(probe);
    return result;
}
