/* A contract in the making: what the layers want, and the steps that narrow it. Internal to
 * core/contract; contract.h has the functions for everybody else. */
#ifndef CADRE_CORE_CONTRACT_DERIVE_H
#define CADRE_CORE_CONTRACT_DERIVE_H

#include "core/contract/contract.h"

struct derivation {
    struct arena *arena;
    const struct contract *parent; /* NULL for a root */
    const struct delegation *request;
    const struct facts *facts;
    const struct settings *settings;
    const struct role *role;            /* NULL: none */
    const struct model_settings *model; /* of the new agent */
    struct contract *out;

    /* What the layers came to, before anything is narrowed. */
    struct limits limits;
    struct list tools; /* absent: whatever the parent has */
};

/* Each narrows d->out, or wants that stand in d, and records what it took away in the receipt.
 * 0, or -1 with err. */
int narrow_mode(struct derivation *d, struct err *err);
int narrow_tools(struct derivation *d, struct err *err);
int narrow_paths(struct derivation *d, struct err *err);
int narrow_network(struct derivation *d, struct err *err);
int narrow_limits(struct derivation *d, struct err *err);
/* timing.c: time limits of children, and of a root. */
int layer_time(struct derivation *d, struct err *err);
int layer_root_time(struct derivation *d, struct err *err);
int narrow_time(struct derivation *d, struct err *err);
/* room.c: the hash of a child's prompt, and room beside it. */
int fill_prompt(struct derivation *d, struct err *err);
void limit_narrow(struct derivation *d, const char *field, int64_t *value, int64_t ceiling,
                  const char *by);

void clamp_record(struct derivation *d, const char *field, struct str asked, struct str got,
                  const char *by);
struct str json_of_text(struct arena *arena, struct str text);
struct str json_of_list(struct arena *arena, const struct list *list);
/* UNLIMITED where config does not know it. */
int64_t model_window(const struct model_settings *model);
/* "a, b, c" for messages; "none" when empty; the caller's buffer is cut, never overrun. */
const char *list_words(const struct list *list, char *out, size_t size);

#endif
