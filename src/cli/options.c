/* Parsing of a command line by its table of options; suggestions for what was mistyped. Pure. */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>

#define SUGGEST_LENGTH 32

static const char *next_option(const void *table, size_t i)
{
    const struct option *options = table;
    return options[i].name;
}

static int option_find(const struct option *options, struct str name)
{
    for (int i = 0; options[i].name != NULL; i++) {
        if (str_is(name, options[i].name))
            return i;
    }
    return -1;
}

static int unknown_option(const struct option *options, struct str name, struct err *err)
{
    const char *near = suggest(name, next_option, options);
    if (near != NULL)
        return err_set(err, ERR_USAGE, "unknown option --%.*s; did you mean --%s?", STR_FMT(name),
                       near);
    return err_set(err, ERR_USAGE, "unknown option --%.*s; --help lists the options",
                   STR_FMT(name));
}

/* One "--name", "--name=value" or "--name value"; *i moves on past a value that stands apart. */
static int parse_option(const struct option *options, int argc, char *const *argv, int *i,
                        struct arguments *arguments, struct err *err)
{
    struct str name = str_from(argv[*i] + 2);
    struct str value = STR_NONE;
    const char *equals = memchr(name.p, '=', name.n);
    if (equals != NULL) {
        value = str_from(equals + 1);
        name.n = (size_t)(equals - name.p);
    }
    int row = option_find(options, name);
    if (row < 0)
        return unknown_option(options, name, err);
    if (arguments->values[row].p != NULL)
        return err_set(err, ERR_USAGE, "option --%s is given twice", options[row].name);
    if (options[row].value == NULL) {
        if (value.p != NULL)
            return err_set(err, ERR_USAGE, "option --%s takes no value", options[row].name);
        arguments->values[row] = STR("");
        return 0;
    }
    if (value.p == NULL && *i + 1 < argc)
        value = str_from(argv[++*i]);
    if (value.n == 0)
        return err_set(err, ERR_USAGE, "option --%s needs a value: --%s %s", options[row].name,
                       options[row].name, options[row].value);
    arguments->values[row] = value;
    return 0;
}

int options_parse(const struct option *options, int argc, char *const *argv,
                  struct arguments *arguments, struct err *err)
{
    enum { READ_OPTIONS, READ_OPERANDS } reading = READ_OPTIONS;
    int output;
    *arguments = (struct arguments){.options = options};
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (reading == READ_OPTIONS && strcmp(word, "--") == 0) {
            reading = READ_OPERANDS;
        } else if (reading == READ_OPTIONS && strcmp(word, "-h") == 0) {
            int row = option_find(options, STR("help"));
            if (row < 0)
                return unknown_option(options, STR("help"), err);
            arguments->values[row] = STR("");
        } else if (reading == READ_OPTIONS && strcmp(word, "-o") == 0 &&
                   (output = option_find(options, STR("output"))) >= 0) {
            if (++i == argc)
                return err_set(err, ERR_USAGE, "option -o needs a value: %s",
                               options[output].value);
            arguments->values[output] = str_from(argv[i]);
        } else if (reading == READ_OPTIONS && word[0] == '-' && word[1] == '-') {
            if (parse_option(options, argc, argv, &i, arguments, err) != 0)
                return -1;
        } else if (reading == READ_OPTIONS && word[0] == '-' && word[1] != '\0') {
            return err_set(err, ERR_USAGE,
                           "unknown option %s; options are written --name, and \"--\" goes before "
                           "text that starts with a dash",
                           word);
        } else {
            if (arguments->operand_count < OPERANDS_MAX)
                arguments->operands[arguments->operand_count] = str_from(word);
            arguments->operand_count++;
        }
    }
    return 0;
}

struct str arguments_value(const struct arguments *arguments, const char *name)
{
    int row = option_find(arguments->options, str_from(name));
    if (row < 0)
        abort();
    return arguments->values[row];
}

bool arguments_has(const struct arguments *arguments, const char *name)
{
    return arguments_value(arguments, name).p != NULL;
}

int arguments_number(const struct arguments *arguments, const char *name, int64_t minimum,
                     int64_t maximum, int64_t otherwise, int64_t *number, struct err *err)
{
    struct str text = arguments_value(arguments, name);
    int64_t sum = 0;
    *number = otherwise;
    if (text.p == NULL)
        return 0;
    bool wrong = text.n == 0 || text.n > 18;
    for (size_t i = 0; !wrong && i < text.n; i++) {
        wrong = text.p[i] < '0' || text.p[i] > '9';
        sum = sum * 10 + (text.p[i] - '0');
    }
    if (wrong || sum < minimum || sum > maximum)
        return err_set(err, ERR_USAGE,
                       "option --%s needs a whole number from %lld to %lld, not \"%.*s\"", name,
                       (long long)minimum, (long long)maximum, STR_FMT(text));
    *number = sum;
    return 0;
}

/* Edits (insert, drop, change, swap of neighbours) that make a into b; both at most SUGGEST_LENGTH
 * long. */
static int edit_distance(struct str a, struct str b)
{
    int rows[3][SUGGEST_LENGTH + 1];
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a.n; i++) {
        int *now = rows[i % 3];
        const int *above = rows[(i - 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b.n; j++) {
            int best = above[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
                rows[(i - 2) % 3][j - 2] + 1 < best)
                best = rows[(i - 2) % 3][j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a.n % 3][b.n];
}

const char *suggest(struct str typed, suggest_next *next, const void *table)
{
    const char *best = NULL;
    int least = 0;
    if (typed.n == 0 || typed.n > SUGGEST_LENGTH)
        return NULL;
    for (size_t i = 0; next(table, i) != NULL; i++) {
        struct str name = str_from(next(table, i));
        if (name.n > SUGGEST_LENGTH)
            continue;
        /* The start of a name is meant as that name, however long the rest is. */
        int distance = typed.n >= 2 && str_starts(name, typed) ? 1 : edit_distance(typed, name);
        int allowed = typed.n <= 4 ? 1 + (typed.n == 4) : 3;
        if (distance <= allowed && (best == NULL || distance < least)) {
            best = name.p;
            least = distance;
        }
    }
    return best;
}
