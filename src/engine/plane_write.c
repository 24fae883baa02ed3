/* The one door for changes of the control plane: which record, is its value valid, does what it refers to exist; then one
 * compare-and-swap that also fails when something that was checked has changed since. Blocking; runs on the thread that owns
 * the store handle. */
#include "engine/plane.h"

struct writing {
    struct plane *plane;
    const struct plane_change *change;
    struct problems *problems;
    struct record_condition conditions[REGISTRY_AGENTS_MAX];
    size_t condition_count;
};

/* What was checked must still hold when it is written. Each record once: a registry names at most REGISTRY_AGENTS_MAX. */
static void depend_on(struct writing *writing, struct str type, struct str id, uint64_t version)
{
    for (size_t i = 0; i < writing->condition_count; i++)
        if (str_eq(writing->conditions[i].type, type) && str_eq(writing->conditions[i].id, id))
            return;
    writing->conditions[writing->condition_count++] = (struct record_condition){type, id, version};
}

static void depend_on_profile(struct writing *writing, struct str id)
{
    const struct plane_profile *profile = plane_profile(writing->plane, id);
    if (profile)
        depend_on(writing, RECORD_PROFILE, id, profile->version.version);
}

static struct list profile_ids(struct plane *plane)
{
    struct list ids = {LIST_SET, NULL, 0};
    ids.items = arena_alloc(&plane->arena, (plane->profile_count + 1) * sizeof *ids.items);
    for (; ids.n < plane->profile_count; ids.n++)
        ids.items[ids.n] = plane->profiles[ids.n].profile.id;
    return ids;
}

static void check_registry(struct writing *writing, const struct js *value, struct jw *w)
{
    struct plane *plane = writing->plane;
    struct list ids = profile_ids(plane);
    struct registry registry;
    if (registry_parse(&plane->arena, value, &ids, &registry, writing->problems) != 0)
        return;
    for (size_t i = 0; i < registry.count; i++)
        depend_on_profile(writing, registry.agents[i].profile_id);
    registry_print(&registry, w);
}

static void check_pin(struct writing *writing, const struct js *value, struct jw *w)
{
    struct list ids = profile_ids(writing->plane);
    struct str profile_id;
    if (pin_parse(&writing->plane->arena, value, &ids, &profile_id, writing->problems) != 0)
        return;
    depend_on_profile(writing, profile_id);
    pin_print(profile_id, w);
}

static void check_profile(struct writing *writing, const struct js *value, struct jw *w)
{
    struct agent_profile profile;
    if (agent_profile_parse(&writing->plane->arena, writing->change->id, value, &profile,
                            writing->problems) != 0)
        return;
    agent_profile_print(&profile, w);
}

/* The value in its canonical form. */
static int check_value(struct writing *writing, struct buf *canonical, struct err *err)
{
    const struct plane_change *change = writing->change;
    struct jw w;
    struct js *value = js_parse(change->value, err);
    jw_init(&w, canonical);
    if (!value)
        problems_add(writing->problems, "", "%s", err->message);
    else if (str_eq(change->type, RECORD_PROFILE))
        check_profile(writing, value, &w);
    else if (str_eq(change->id, REGISTRY_ID))
        check_registry(writing, value, &w);
    else
        check_pin(writing, value, &w);
    js_free(value);
    if (problems_err(writing->problems, ERR_USAGE, "the record", err) != 0)
        return -1;
    if (canonical->failed)
        return err_set(err, ERR_USAGE, "the record has more than %d bytes", RECORD_VALUE_MAX);
    return 0;
}

/* A profile that agents have stays: the registry would name something that is not there. */
static int check_removal(struct writing *writing, struct err *err)
{
    const struct plane *plane = writing->plane;
    const struct plane_change *change = writing->change;
    if (!str_eq(change->type, RECORD_PROFILE))
        return 0;
    for (size_t i = 0; i < plane->registry.count; i++)
        if (str_eq(plane->registry.agents[i].profile_id, change->id))
            return err_set(err, ERR_USAGE,
                           "%.*s is the profile of %.*s: unregister the agent, or give it another "
                           "profile, first",
                           STR_FMT(change->id), STR_FMT(plane->registry.agents[i].agent_id));
    depend_on(writing, RECORD_POLICY, REGISTRY_ID, plane->registry_version.version);
    return 0;
}

int plane_write(struct plane *plane, struct store *store, const struct plane_change *change,
                struct problems *problems, uint64_t *version, struct err *err)
{
    struct writing writing = {.plane = plane, .change = change, .problems = problems};
    struct buf canonical;
    int result = -1;
    *version = 0;
    buf_init(&canonical, RECORD_VALUE_MAX);
    if (record_writable(change->type, change->id, err) != 0 ||
        (change->value.p ? check_value(&writing, &canonical, err) : check_removal(&writing, err)) !=
            0)
        goto out;
    struct record_change record = {
        .type = change->type,
        .id = change->id,
        .expected = change->expected,
        .value = change->value.p ? buf_view(&canonical) : STR_NONE,
        .who = change->who,
        .now = change->now,
        .conditions = writing.conditions,
        .condition_count = writing.condition_count,
    };
    result = store->ops->record_change(store, &record, version, err);
out:
    buf_release(&canonical);
    return result;
}
