/* The option parser: a command's table of options and its operands become `struct arguments`. It
 * knows --name VALUE, --name=VALUE, -o VALUE for --output, switches, and "--" before operands that look like options.
 * Options may stand anywhere. Pure: views point into argv. */
#ifndef CADRE_CLI_OPTIONS_H
#define CADRE_CLI_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"

#define OPTIONS_MAX 32
#define OPERANDS_MAX 4

struct option {
    const char *name;  /* without the dashes; NULL ends a table */
    const char *value; /* what help calls its value; NULL: a switch */
    const char *help;
};

/* Rows that several commands share. */
#define OPTION_END                                                                                 \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }
#define OPTION_JSON                                                                                \
    {                                                                                              \
        "json", NULL, "print JSON lines, one object each"                                          \
    }
#define OPTION_HELP                                                                                \
    {                                                                                              \
        "help", NULL, "show this help"                                                             \
    }
#define OPTIONS_STORE                                                                              \
    {"store", "FILE", "the store to use (default: ~/.local/state/cadre/cadre.db)"},                \
    {                                                                                              \
        "config", "FILE", "use this config file in place of the user's own"                        \
    }
#define OPTIONS_COMMON OPTIONS_STORE, OPTION_JSON, OPTION_HELP

struct arguments {
    const struct option *options;
    struct str values
        [OPTIONS_MAX]; /* by row of the table; p == NULL: not given; a switch that is on is "" */
    struct str operands[OPERANDS_MAX];
    int operand_count;
};

/* Class USAGE; an unknown option is answered with the nearest known one. Counting operands is the
 * caller's. More than OPERANDS_MAX are counted but not kept. */
int options_parse(const struct option *options, int argc, char *const *argv,
                  struct arguments *arguments, struct err *err) NODISCARD;
/* What was given for the option, or STR_NONE. Asking for a name that is not in the table is a bug
 * and ends the process. */
struct str arguments_value(const struct arguments *arguments, const char *name);
bool arguments_has(const struct arguments *arguments, const char *name);
/* The value as a whole number within [minimum, maximum]; `otherwise` where the option was not
 * given. */
int arguments_number(const struct arguments *arguments, const char *name, int64_t minimum,
                     int64_t maximum, int64_t otherwise, int64_t *number,
                     struct err *err) NODISCARD;

/* The nearest of the names that `next` walks (NULL ends it), or NULL when none is near enough to be
 * meant. */
typedef const char *suggest_next(const void *table, size_t i);
const char *suggest(struct str typed, suggest_next *next, const void *table);

#endif
