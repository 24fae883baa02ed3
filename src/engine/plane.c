/* Loads the control plane from the store's records in one snapshot, and answers what follows from it. Writing is
 * plane_write.c's. Blocking; runs on the thread that owns the store handle. */
#include "engine/plane.h"

#include <stdio.h>

struct loading {
    struct plane *plane;
    struct str pin_ids[PIN_SCOPE_COUNT]; /* record ids of the pins that count; STR_NONE: none */
};

static void *grown(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wider = *capacity > 0 ? *capacity * 2 : 8;
    void *out = arena_alloc(arena, wider * size);
    if (count > 0)
        memcpy(out, items, count * size);
    *capacity = wider;
    return out;
}

static struct plane_version version_of(struct plane *plane, const struct stored_record *record)
{
    return (struct plane_version){record->version, arena_copy(&plane->arena, record->who),
                                  record->at};
}

/* What is wrong with a stored record stands under the record's id. */
static void add_problems(struct plane *plane, struct str id, const struct problems *found)
{
    for (size_t i = 0; i < found->count; i++) {
        char path[256];
        snprintf(path, sizeof path, "%.*s", STR_FMT(id));
        problems_add(&plane->problems, path, "%.*s%s%.*s", STR_FMT(found->items[i].path),
                     found->items[i].path.n > 0 ? ": " : "", STR_FMT(found->items[i].message));
    }
}

static void add_profile(struct plane *plane, const struct stored_record *record,
                        const struct js *value, struct problems *problems)
{
    struct agent_profile profile;
    if (agent_profile_parse(&plane->arena, record->id, value, &profile, problems) != 0)
        return;
    plane->profiles = grown(&plane->arena, plane->profiles, plane->profile_count,
                            &plane->profile_capacity, sizeof *plane->profiles);
    plane->profiles[plane->profile_count++] =
        (struct plane_profile){profile, version_of(plane, record)};
}

/* A pin that cannot be read pins nothing that exists: so it is an error where it counts, and no lower pin is used. */
static void add_pin(struct loading *loading, const struct stored_record *record,
                    const struct js *value, struct problems *problems)
{
    struct plane *plane = loading->plane;
    struct plane_pin entry = {.version = version_of(plane, record)};
    entry.pin.record_id = arena_copy(&plane->arena, record->id);
    if (pin_parse(&plane->arena, value, NULL, &entry.pin.profile_id, problems) != 0)
        entry.pin.profile_id = STR("(unreadable)");
    plane->all_pins = grown(&plane->arena, plane->all_pins, plane->pin_count, &plane->pin_capacity,
                            sizeof *plane->all_pins);
    plane->all_pins[plane->pin_count++] = entry;
    for (size_t i = 0; i < PIN_SCOPE_COUNT; i++)
        if (loading->pin_ids[i].p && str_eq(loading->pin_ids[i], record->id))
            plane->pins[i] = entry;
}

static int load_record(void *user, const struct stored_record *record)
{
    struct loading *loading = user;
    struct plane *plane = loading->plane;
    struct problems problems;
    struct err err = ERR_INIT;
    if (record_writable(record->type, record->id, &err) != 0)
        return 0; /* somebody else's */
    problems_init(&problems, &plane->arena);
    struct js *value = record->value.n <= RECORD_VALUE_MAX ? js_parse(record->value, &err) : NULL;
    if (!value)
        problems_add(&problems, "", "%s", err.message[0] ? err.message : "the value is too large");
    if (str_eq(record->type, RECORD_PROFILE)) {
        add_profile(plane, record, value, &problems);
    } else if (str_eq(record->id, REGISTRY_ID)) {
        plane->registry_version = version_of(plane, record);
        if (registry_parse(&plane->arena, value, NULL, &plane->registry, &problems) != 0)
            plane->registry = (struct registry){0};
    } else {
        add_pin(loading, record, value, &problems);
    }
    js_free(value);
    add_problems(plane, record->id, &problems);
    return 0;
}

static void name_pins(struct loading *loading, const struct plane_ids *ids)
{
    const struct str owners[PIN_SCOPE_COUNT] = {
        [PIN_SESSION] = ids->session_id,
        [PIN_USER] = ids->user_id,
        [PIN_WORKSPACE] = ids->workspace_id,
        [PIN_GLOBAL] = STR(""),
    };
    for (size_t i = 0; i < PIN_SCOPE_COUNT; i++) {
        struct err unpinnable = ERR_INIT; /* an id that no pin can have has none */
        loading->pin_ids[i] = STR_NONE;
        if (owners[i].p && pin_record_id(&loading->plane->arena, (enum pin_scope)i, owners[i],
                                         &loading->pin_ids[i], &unpinnable) != 0)
            loading->pin_ids[i] = STR_NONE;
        loading->plane->pins[i].pin.record_id = loading->pin_ids[i];
    }
}

int plane_load(struct plane *plane, struct store *store, const struct plane_ids *ids,
               struct err *err)
{
    struct loading loading = {.plane = plane};
    *plane = (struct plane){0};
    arena_init(&plane->arena);
    problems_init(&plane->problems, &plane->arena);
    name_pins(&loading, ids);
    return store->ops->records(store, STR_NONE, load_record, &loading, err);
}

void plane_release(struct plane *plane)
{
    arena_release(&plane->arena);
    *plane = (struct plane){0};
}

const struct plane_profile *plane_profile(const struct plane *plane, struct str id)
{
    for (size_t i = 0; i < plane->profile_count; i++)
        if (str_eq(plane->profiles[i].profile.id, id))
            return &plane->profiles[i];
    return NULL;
}

int plane_pinned(const struct plane *plane, const struct agent_profile **profile, struct err *err)
{
    struct pin pins[PIN_SCOPE_COUNT];
    for (size_t i = 0; i < PIN_SCOPE_COUNT; i++)
        pins[i] = plane->pins[i].pin;
    enum pin_scope scope = pins_effective(pins);
    const struct plane_profile *found =
        scope < PIN_SCOPE_COUNT ? plane_profile(plane, pins[scope].profile_id) : NULL;
    /* Only the profile that was found is looked through again: the message is the core's. */
    return pins_resolve(pins, found ? &found->profile : NULL, found ? 1 : 0, profile, err);
}

int plane_control(struct plane *plane, struct control *out, struct err *err)
{
    struct pin pins[PIN_SCOPE_COUNT];
    struct agent_profile *profiles =
        arena_alloc(&plane->arena, (plane->profile_count + 1) * sizeof *profiles);
    if (plane->problems.found > 0)
        return problems_err(&plane->problems, ERR_CONFIG, "the control plane", err);
    for (size_t i = 0; i < PIN_SCOPE_COUNT; i++)
        pins[i] = plane->pins[i].pin;
    for (size_t i = 0; i < plane->profile_count; i++)
        profiles[i] = plane->profiles[i].profile;
    return control_make(&plane->arena, &plane->registry, profiles, plane->profile_count, pins, out,
                        err);
}
