/* What a run keeps of the control plane: the registry, the profiles that it and the effective pin refer to, and that pin;
 * made from records, printed into the settings, and read back from them. Pure; any thread. */
#include "core/contract/registry.h"

void control_init(struct control *control)
{
    *control = (struct control){.pin_scope = PIN_SCOPE_COUNT};
}

bool control_is_empty(const struct control *control)
{
    return control->registry.count == 0 && control->pin_scope == PIN_SCOPE_COUNT;
}

/* Keeps each profile once. NULL stands for one that is gone. */
static int control_keep(struct control *control, const struct agent_profile *profile)
{
    if (!profile)
        return -1;
    if (!agent_profile_find(control->profiles, control->profile_count, profile->id))
        control->profiles[control->profile_count++] = *profile;
    return 0;
}

int control_make(struct arena *arena, const struct registry *registry,
                 const struct agent_profile *profiles, size_t count,
                 const struct pin pins[PIN_SCOPE_COUNT], struct control *out, struct err *err)
{
    const struct agent_profile *pinned;
    control_init(out);
    out->registry = *registry;
    out->profiles = arena_alloc(arena, (registry->count + 1) * sizeof *out->profiles);
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_agent *agent = &registry->agents[i];
        if (control_keep(out, agent_profile_find(profiles, count, agent->profile_id)) != 0)
            return err_set(err, ERR_CONFIG,
                           "agent %.*s has profile %.*s, which is not there any more: register the "
                           "agent with another one, or unregister it",
                           STR_FMT(agent->agent_id), STR_FMT(agent->profile_id));
    }
    if (pins_resolve(pins, profiles, count, &pinned, err) != 0)
        return -1;
    out->pin_scope = pins_effective(pins);
    if (!pinned)
        return 0;
    out->pin = pins[out->pin_scope];
    return control_keep(out, pinned);
}

void control_print(const struct control *control, struct jw *w)
{
    jw_object(w);
    jw_key(w, "registry");
    registry_print(&control->registry, w);
    jw_key(w, "profiles");
    jw_array(w);
    for (size_t i = 0; i < control->profile_count; i++)
        agent_profile_print(&control->profiles[i], w);
    jw_end_array(w);
    if (control->pin_scope != PIN_SCOPE_COUNT) {
        jw_key(w, "pin");
        jw_object(w);
        jw_kstr(w, "id", control->pin.record_id);
        jw_kstr(w, "profileId", control->pin.profile_id);
        jw_end_object(w);
    }
    jw_end_object(w);
}

static int control_parse_profiles(struct arena *arena, const struct js *value, struct control *out,
                                  struct problems *problems)
{
    size_t count = js_count(value);
    if (js_kind(value) != JS_ARRAY || count > REGISTRY_AGENTS_MAX + 1) {
        problems_add(problems, "profiles", "expected a list of at most %d profiles",
                     REGISTRY_AGENTS_MAX + 1);
        return -1;
    }
    out->profiles = arena_alloc(arena, (count + 1) * sizeof *out->profiles);
    for (size_t i = 0; i < count; i++) {
        if (agent_profile_parse(arena, STR_NONE, js_at(value, i),
                                &out->profiles[out->profile_count], problems) != 0)
            return -1;
        out->profile_count++;
    }
    return 0;
}

static int control_parse_pin(struct arena *arena, const struct js *value, struct pin *pins,
                             struct problems *problems)
{
    struct str id = js_get_str(value, "id"), profile_id = js_get_str(value, "profileId");
    enum pin_scope scope = pin_scope_of(id);
    if (js_kind(value) == JS_ABSENT)
        return 0;
    if (js_count(value) != 2 || scope == PIN_SCOPE_COUNT || !profile_id_valid(profile_id)) {
        problems_add(problems, "pin", "expected the id and the profileId of a pin");
        return -1;
    }
    pins[scope] = (struct pin){arena_copy(arena, id), arena_copy(arena, profile_id)};
    return 0;
}

int control_parse(struct arena *arena, const struct js *value, struct control *out, struct err *err)
{
    struct problems problems;
    struct control read;
    struct pin pins[PIN_SCOPE_COUNT] = {0};
    size_t keys = js_get(value, "pin") ? 3 : 2;
    problems_init(&problems, arena);
    control_init(&read);
    if (js_kind(value) != JS_OBJECT || js_count(value) != keys)
        problems_add(&problems, "", "expected registry, profiles and pin, and nothing else");
    else if (registry_parse(arena, js_get(value, "registry"), NULL, &read.registry, &problems) ==
                 0 &&
             control_parse_profiles(arena, js_get(value, "profiles"), &read, &problems) == 0 &&
             control_parse_pin(arena, js_get(value, "pin"), pins, &problems) == 0 &&
             control_make(arena, &read.registry, read.profiles, read.profile_count, pins, out,
                          err) == 0)
        return 0;
    else if (problems.found == 0)
        problems_add(&problems, "", "%s", err->message);
    return problems_err(&problems, ERR_CORRUPT, "the control plane's part of the settings", err);
}
