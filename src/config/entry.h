/* What was set, and where: one entry per key, name and list index. Later sources replace earlier ones. */
#ifndef CADRE_CONFIG_ENTRY_H
#define CADRE_CONFIG_ENTRY_H

#include "config/value.h"

struct config_entry {
    const struct config_key *key;
    struct str name; /* for `*`; empty elsewhere */
    size_t index;    /* for `[]`; 0 elsewhere */
    struct config_value value;
    struct config_place key_place, place; /* of the key and of the value */
};

struct config_widening;

struct config_entries {
    struct arena *arena;
    struct config_entry *items;
    size_t n, capacity;
    struct config_widening *widenings; /* of the project's file: widen.h */
    size_t widening_count, widening_capacity;
    struct config_mistakes *mistakes; /* NULL: the first mistake ends the reading */
};

void config_entries_put(struct config_entries *entries, const struct config_entry *entry);
/* NULL: not set. */
const struct config_entry *config_entries_find(const struct config_entries *entries,
                                               enum config_key_id key, struct str name,
                                               size_t index);
/* The value that holds for a key without name: as set, or the default. */
struct config_value config_entries_value(const struct config_entries *entries,
                                         enum config_key_id key);

enum config_level { LEVEL_USER, LEVEL_PROJECT };
/* Checks a parsed file against the table and adds its entries. With entries->mistakes it puts every mistake there, leaves out the
 * keys that have one, and returns 0. What a project's file sets wider than what holds so far is noted;
 * a provider, model, pool or profile that it sets is all its own: nothing of the user's under that name stays. */
int config_entries_read(struct config_entries *entries, const struct yaml_node *root,
                        enum config_level level, struct err *err) NODISCARD;
/* A value from a flag. */
int config_entries_flag(struct config_entries *entries, enum config_key_id key, const char *flag,
                        struct str text, struct err *err) NODISCARD;

#endif
