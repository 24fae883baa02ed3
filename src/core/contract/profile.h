/* Spawn profiles (seed 001): how children of `spawn` are set up, by name. From config; part of the settings that a run logs. */
#ifndef CADRE_CORE_CONTRACT_PROFILE_H
#define CADRE_CORE_CONTRACT_PROFILE_H

#include "core/contract/params.h"

struct profile {
    struct str name;
    struct str system_prompt;      /* inline, last */
    struct str system_prompt_file; /* in the workspace, before it */
    struct list bootstrap_files;   /* empty: AGENTS.md and ENVIRONMENT.md */
    struct list tools;             /* empty: all of the parent's */
    struct str pool;               /* empty: the parent's */
    struct list checks; /* commands that the child's work must pass; absent: the role's */
    struct str network; /* of the child's processes; empty: the role's, else the parent's */
    struct str working_directory; /* where relative paths start; empty: where the parent's do */
    struct str schema;            /* of the child's answer, compact JSON, or STR_NONE */
    const struct model_params *params; /* effort and sampling; NULL: none is set */
};

struct settings;
const struct profile *settings_profile(const struct settings *settings, struct str name);
/* "researcher, coder", in the arena; "none" without any. */
const char *profile_words(const struct settings *settings, struct arena *arena);
/* Appends text as one line that cannot end the element it stands in. */
void prompt_escape(struct buf *out, struct str text);
/* The block of the system prompt that names the profiles: nothing where there are none. Names and prompts are escaped. */
void profiles_prompt(const struct settings *settings, struct buf *out);

#endif
