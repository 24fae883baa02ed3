/* What a project's file sets wider than what holds without it: each such value, from what and to what. Whether that is
 * allowed is a question of trust (trust.h). */
#ifndef CADRE_CONFIG_WIDEN_H
#define CADRE_CONFIG_WIDEN_H

#include "config/entry.h"

/* Texts live in the arena of the entries. */
struct config_widening {
    struct str key;      /* "permissions.shell" */
    struct str from, to; /* as values are printed */
    struct str reason;   /* for an error: " wider than 3 (built-in)"; may be empty */
    struct config_place place;
};

/* Notes in `entries` that the project's entry widens, if it does. `before`: what was set before its file was read. */
void config_widening_note(struct config_entries *entries, const struct config_entries *before,
                          const struct config_entry *entry);

#endif
