/* The control plane in the store: profiles, the agent registry and pins (core/contract/registry.h), loaded as one
 * snapshot and written through one door. Whoever edits them, from a command line, a chat or a page, comes through
 * plane_write: only the records of that header, only valid values, only over the version that was seen.
 *
 * Blocking; not for the loop's thread. A loaded plane is a copy: it does not follow later changes. */
#ifndef CADRE_ENGINE_PLANE_H
#define CADRE_ENGINE_PLANE_H

#include "core/contract/registry.h"
#include "port/store.h"

/* Whose pins count. STR_NONE: none of that scope. */
struct plane_ids {
    struct str session_id, user_id, workspace_id;
};

struct plane_version {
    uint64_t version; /* 0: there is no such record */
    struct str who;
    int64_t at; /* milliseconds */
};

struct plane_profile {
    struct agent_profile profile;
    struct plane_version version;
};

struct plane_pin {
    struct pin pin;
    struct plane_version version;
};

struct plane {
    struct arena arena; /* owns every view */
    struct registry registry;
    struct plane_version registry_version;
    struct plane_profile *profiles; /* by id */
    size_t profile_count, profile_capacity;
    struct plane_pin pins[PIN_SCOPE_COUNT]; /* of these ids; profile_id STR_NONE: not pinned */
    struct plane_pin *all_pins;             /* of everybody */
    size_t pin_count, pin_capacity;
    struct problems
        problems; /* records that cannot be read: they are as if they were not there, but a pin still pins */
};

int plane_load(struct plane *plane, struct store *store, const struct plane_ids *ids,
               struct err *err) NODISCARD;
void plane_release(struct plane *plane); /* harmless after a failed load */

const struct plane_profile *plane_profile(const struct plane *plane,
                                          struct str id); /* NULL: none */
/* The profile of the effective pin; NULL and 0 where nothing is pinned. CONFIG when it is gone. */
int plane_pinned(const struct plane *plane, const struct agent_profile **profile,
                 struct err *err) NODISCARD;
/* What a run that starts now keeps; its views belong to the plane. CONFIG when a record that counts is broken or gone. */
int plane_control(struct plane *plane, struct control *out, struct err *err) NODISCARD;

struct plane_change {
    struct str type, id;
    uint64_t expected; /* the version that the writer saw; 0: there was none */
    struct str value;  /* JSON as somebody wrote it; STR_NONE removes */
    struct str who;
    int64_t now;
};

/* Checks a value against the plane and writes it in its canonical form, all or nothing; *version is the new one. USAGE for what
 * is not valid: problems then holds every mistake (they live in the plane's arena). RETRY when the record, or one that
 * it was checked against, is not what the writer saw: the message says who changed it and the present version. */
int plane_write(struct plane *plane, struct store *store, const struct plane_change *change,
                struct problems *problems, uint64_t *version, struct err *err) NODISCARD;

#endif
