/* delegate (seed 003): a task for an agent of the registry. Its profile rules this one call: the model, and what the child may use within
 * what its parent has. A model that the caller would rather have is taken only where the profile allows it. Pure. */
#include "core/run/door.h"

#define CONTEXT_BYTES_MAX 65536
#define FORWARD_MAX 64

struct call_arguments {
    struct str agent_id, task, context, model;
    struct list skills, servers;
};

static int read_arguments(struct deciding *d, const struct js *arguments,
                          struct call_arguments *out, struct err *err)
{
    *out = (struct call_arguments){0};
    if (arguments_known(arguments,
                        "agent_id task context model_override forward_skills mcp_servers",
                        "delegate", err) != 0 ||
        argument_text(arguments, "agent_id", &out->agent_id, err) != 0 ||
        argument_text(arguments, "task", &out->task, err) != 0 ||
        argument_text(arguments, "context", &out->context, err) != 0 ||
        argument_text(arguments, "model_override", &out->model, err) != 0 ||
        argument_list(&d->out->arena, arguments, "forward_skills", FORWARD_MAX, &out->skills,
                      err) != 0 ||
        argument_list(&d->out->arena, arguments, "mcp_servers", FORWARD_MAX, &out->servers, err) !=
            0)
        return -1;
    if (out->context.n > CONTEXT_BYTES_MAX)
        return err_set(err, ERR_USAGE, "context may have at most %d bytes", CONTEXT_BYTES_MAX);
    return 0;
}

/* Named ones within what may be had; without a list the entry's defaults. */
static struct list forwarded(struct arena *arena, const struct list *may, const struct list *asked,
                             struct list defaults)
{
    if (asked->state == LIST_ABSENT)
        return defaults;
    struct list bare = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < may->n; i++)
        for (size_t k = 0; k < asked->n; k++)
            if (str_eq(registry_bare_name(may->items[i]), registry_bare_name(asked->items[k])))
                list_add(arena, &bare, may->items[i]);
    return bare;
}

/* The model that the profile gives, or the override where it allows that. By the settings' name or the provider's. */
static void choose(struct deciding *d, const struct profile_models *models, struct str wanted,
                   struct delegation *request)
{
    request->model = models->name;
    request->allowed_models = models->allowed_models;
    if (wanted.n == 0)
        return;
    for (size_t i = 0; i < models->allowed_models.n; i++) {
        struct str name = models->allowed_models.items[i];
        const struct model_settings *model = settings_model(&d->run->settings, name);
        if (str_eq(name, wanted) || (model != NULL && str_eq(model->model, wanted))) {
            request->model = name;
            return;
        }
    }
    request->model_asked = wanted;
}

static int fill_request(struct deciding *d, const struct agent *parent,
                        const struct call_arguments *said, struct delegation *request,
                        struct err *err)
{
    const struct control *control = &d->run->control;
    struct arena *arena = &d->out->arena;
    const struct registry_agent *agent = registry_find(&control->registry, said->agent_id);
    struct profile_models models;
    if (agent == NULL)
        return err_set(
            err, ERR_USAGE,
            "no agent is registered as \"%.*s\"; the list of agents is in your instructions",
            (int)(said->agent_id.n < 64 ? said->agent_id.n : 64),
            said->agent_id.p != NULL ? said->agent_id.p : "");
    const struct agent_profile *profile =
        agent_profile_find(control->profiles, control->profile_count, agent->profile_id);
    if (profile == NULL)
        return err_set(err, ERR_CONFIG, "the profile of %.*s is gone", STR_FMT(agent->agent_id));
    if (agent_profile_models(arena, profile, &d->run->settings, &models, err) != 0)
        return err_prefix(err, "%.*s", STR_FMT(agent->agent_id));
    delegation_init(request, DOOR_DELEGATE);
    request->task = said->task;
    request->context = said->context;
    request->name = agent->agent_id;
    request->agent_id = agent->agent_id;
    request->profile_id = profile->id;
    request->prompt = profile->system_prompt;
    request->schema = profile->output_schema;
    request->working_directory = profile->working_directory;
    request->params = agent_profile_params(profile);
    request->allowed_tools = tool_normal_list(arena, &profile->allowed_tools);
    choose(d, &models, said->model, request);
    struct list skills =
        registry_skills(arena, &parent->contract.permissions.skills, profile, agent);
    struct list servers =
        registry_mcp_servers(arena, &parent->contract.permissions.mcp_servers, agent);
    request->skills =
        forwarded(arena, &skills, &said->skills, registry_default_skills(arena, &skills, agent));
    request->mcp_servers = forwarded(arena, &servers, &said->servers,
                                     registry_default_mcp_servers(arena, &servers, agent));
    request->skills_asked =
        said->skills.state == LIST_SET ? said->skills : agent->default_forward_skills;
    request->servers_asked =
        said->servers.state == LIST_SET ? said->servers : agent->default_mcp_servers;
    if (profile->context_window != UNLIMITED)
        request->context_window = profile->context_window;
    return 0;
}

static void ended(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct agent *child)
{
    struct ending ending = ending_of(child);
    struct buf out;
    buf_init(&out, SIZE_MAX / 4);
    for (size_t i = 0; i < child->contract.receipt.clamp_count; i++) {
        const struct clamp *clamp = &child->contract.receipt.clamps[i];
        if (str_is(clamp->field, "model.model"))
            buf_printf(&out, "Notice: the model %.*s is not allowed for %.*s; it used %.*s.\n\n",
                       STR_FMT(clamp->asked), STR_FMT(child->contract.agent.agent_id),
                       STR_FMT(clamp->got));
    }
    buf_str(&out, child_text(d, agent, call, child, &ending));
    call_finish(d, agent, call, ending_worked(child->outcome) ? TOOL_OK : TOOL_ERROR,
                keep(d, buf_view(&out)));
    buf_release(&out);
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct call_arguments said;
    struct delegation request;
    int made = read_arguments(d, arguments, &said, &why) != 0 ||
                       fill_request(d, agent, &said, &request, &why) != 0
                   ? -1
                   : child_make(d, agent, call, &request, EVENT_ABSENT, &why);
    if (made < 0)
        door_refuse(d, agent, call, &why);
}

const struct door_ops door_delegate = {start, NULL, ended, NULL};
