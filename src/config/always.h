/* What the user allowed for always in a project: one file for each in the user's state directory, beside the records of trust
 * (trust.h), named after the workspace and the hash of what was shown. Never in the project: no file of a project can allow
 * anything. Blocking. */
#ifndef CADRE_CONFIG_ALWAYS_H
#define CADRE_CONFIG_ALWAYS_H

#include "base/map.h"
#include "config/config.h"

struct always_record {
    struct str workspace, tool;
    struct str gist;  /* the first line of what was shown, for people */
    struct str shown; /* hash, hex */
};

/* "always-…", the same for the same workspace and hash. */
#define ALWAYS_NAME 112
void always_name(struct str workspace, struct str shown, char name[ALWAYS_NAME]);
/* The names of all records of this user; the values mean nothing. What cannot be read is not there. */
void always_load(const struct config *config, struct map *names);
/* `directory` is config->trust_directory. */
int always_keep(struct str directory, const struct always_record *record,
                struct err *err) NODISCARD;
/* Those of one workspace, in the order of their names. Views live in the arena. */
size_t always_list(const struct config *config, struct str workspace, struct arena *arena,
                   struct always_record **records);
int always_forget(const struct config *config, struct str workspace, size_t *count,
                  struct err *err) NODISCARD;

#endif
