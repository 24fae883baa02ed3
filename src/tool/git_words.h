/* Which git commands a model may ask for, with which options: an exact list. What is not on it is refused, so nothing has to be known
 * about options of other versions. */
#ifndef CADRE_TOOL_GIT_WORDS_H
#define CADRE_TOOL_GIT_WORDS_H

#include "base/str.h"

enum git_option_kind {
    GIT_OPTION_FLAG,   /* the word itself */
    GIT_OPTION_EQUALS, /* --name=value */
    GIT_OPTION_VALUE,  /* -SVALUE, or -S and VALUE as the next word */
    GIT_OPTION_COUNT,  /* the same with a number */
};

struct git_option {
    const char *name; /* for EQUALS with its "=" */
    enum git_option_kind kind;
};

enum git_operands {
    GIT_TAKES_NOTHING,
    GIT_TAKES_REVISIONS,
    GIT_TAKES_OBJECTS,  /* a revision, or one REVISION:PATH */
    GIT_TAKES_PATTERNS, /* of branches and tags */
    GIT_TAKES_PATHS,
    GIT_TAKES_ONE_PATH, /* revisions, then a path */
};

struct git_command {
    const char *name;
    const char *const *fixed;         /* words that always stand behind the name; ends with NULL */
    const struct git_option *options; /* ends with a NULL name */
    enum git_operands operands;
    enum {
        GIT_SHOWS_FILES, /* must be told which paths it may show */
        GIT_SHOWS_NAMES  /* of commits and refs only */
    } shows;
};

extern const struct git_command git_commands[];
extern const size_t git_command_count;

/* NULL: not on the list. */
const struct git_command *git_command_find(struct str name);
/* NULL: not on the command's list. A number as in -5 is -n 5. */
const struct git_option *git_option_find(const struct git_command *command, struct str word);

#endif
