/* The list of git commands and options that only read: see git_words.h. Not on it, on purpose: everything that names a file by an option,
 * runs a program (--show-signature, --ext-diff, --textconv), looks into submodules, or writes. Any thread. */
#include "tool/git_words.h"

#define OPTION(name, kind)                                                                         \
    {                                                                                              \
        name, GIT_OPTION_##kind                                                                    \
    }
#define FLAG(name) OPTION(name, FLAG)
#define EQUALS(name) OPTION(name, EQUALS)
#define VALUE(name) OPTION(name, VALUE)
#define COUNT(name) OPTION(name, COUNT)
#define END OPTION(NULL, FLAG)

#define DIFF_OPTIONS                                                                               \
    FLAG("-p"), FLAG("--patch"), FLAG("-s"), FLAG("--no-patch"), FLAG("--stat"),                   \
        FLAG("--shortstat"), FLAG("--numstat"), FLAG("--name-only"), FLAG("--name-status"),        \
        FLAG("-w"), FLAG("-M"), FLAG("--no-renames"), COUNT("-U"), EQUALS("--unified="),           \
        EQUALS("--diff-filter=")
#define COMMIT_OPTIONS                                                                             \
    FLAG("--oneline"), FLAG("--abbrev-commit"), FLAG("--decorate"), FLAG("--no-decorate"),         \
        EQUALS("--format="), EQUALS("--pretty="), EQUALS("--date="), EQUALS("--abbrev=")
#define RANGE_OPTIONS                                                                              \
    COUNT("-n"), EQUALS("--max-count="), EQUALS("--skip="), EQUALS("--since="),                    \
        EQUALS("--after="), EQUALS("--until="), EQUALS("--before="), EQUALS("--author="),          \
        EQUALS("--committer="), EQUALS("--grep="), FLAG("-i"), FLAG("--merges"),                   \
        FLAG("--no-merges"), FLAG("--first-parent"), FLAG("--all"), FLAG("--branches"),            \
        FLAG("--tags"), FLAG("--remotes")

static const struct git_option status_options[] = {FLAG("-s"),
                                                   FLAG("--short"),
                                                   FLAG("-b"),
                                                   FLAG("--branch"),
                                                   FLAG("--long"),
                                                   FLAG("--ignored"),
                                                   FLAG("--porcelain"),
                                                   FLAG("--no-renames"),
                                                   EQUALS("--porcelain="),
                                                   EQUALS("--untracked-files="),
                                                   FLAG("-uno"),
                                                   FLAG("-uall"),
                                                   FLAG("-unormal"),
                                                   END};
static const struct git_option log_options[] = {DIFF_OPTIONS,
                                                COMMIT_OPTIONS,
                                                RANGE_OPTIONS,
                                                FLAG("--graph"),
                                                FLAG("--reverse"),
                                                FLAG("--follow"),
                                                VALUE("-S"),
                                                VALUE("-G"),
                                                FLAG("--topo-order"),
                                                FLAG("--date-order"),
                                                FLAG("--full-history"),
                                                END};
static const struct git_option show_options[] = {DIFF_OPTIONS, COMMIT_OPTIONS, END};
static const struct git_option blame_options[] = {
    VALUE("-L"),       FLAG("-w"), FLAG("-M"),          FLAG("-s"),
    FLAG("-e"),        FLAG("-l"), FLAG("--porcelain"), FLAG("--line-porcelain"),
    EQUALS("--date="), END};
static const struct git_option branch_options[] = {FLAG("--list"),
                                                   FLAG("-l"),
                                                   FLAG("-a"),
                                                   FLAG("--all"),
                                                   FLAG("-r"),
                                                   FLAG("--remotes"),
                                                   FLAG("-v"),
                                                   FLAG("-vv"),
                                                   EQUALS("--sort="),
                                                   EQUALS("--contains="),
                                                   EQUALS("--merged="),
                                                   EQUALS("--no-merged="),
                                                   EQUALS("--points-at="),
                                                   FLAG("-i"),
                                                   END};
static const struct git_option tag_options[] = {FLAG("--list"),
                                                FLAG("-l"),
                                                FLAG("-n"),
                                                EQUALS("--sort="),
                                                EQUALS("--contains="),
                                                EQUALS("--merged="),
                                                EQUALS("--points-at="),
                                                FLAG("-i"),
                                                END};
static const struct git_option rev_parse_options[] = {FLAG("--verify"),
                                                      FLAG("-q"),
                                                      FLAG("--short"),
                                                      EQUALS("--short="),
                                                      FLAG("--abbrev-ref"),
                                                      FLAG("--symbolic-full-name"),
                                                      END};
static const struct git_option ls_files_options[] = {FLAG("-c"),
                                                     FLAG("--cached"),
                                                     FLAG("-o"),
                                                     FLAG("--others"),
                                                     FLAG("-m"),
                                                     FLAG("--modified"),
                                                     FLAG("-d"),
                                                     FLAG("--deleted"),
                                                     FLAG("-s"),
                                                     FLAG("--stage"),
                                                     FLAG("-t"),
                                                     FLAG("-u"),
                                                     FLAG("--exclude-standard"),
                                                     FLAG("--directory"),
                                                     END};
static const struct git_option ls_tree_options[] = {
    FLAG("-r"), FLAG("-d"), FLAG("-t"), FLAG("-l"), FLAG("--long"), FLAG("--name-only"), END};
static const struct git_option shortlog_options[] = {
    RANGE_OPTIONS,      FLAG("-s"),   FLAG("--summary"),
    FLAG("--numbered"), FLAG("-e"),   FLAG("-sn"),
    FLAG("-ns"),        FLAG("-sne"), END};
static const struct git_option describe_options[] = {FLAG("--tags"),
                                                     FLAG("--always"),
                                                     FLAG("--long"),
                                                     FLAG("--all"),
                                                     FLAG("--contains"),
                                                     FLAG("--exact-match"),
                                                     FLAG("--first-parent"),
                                                     EQUALS("--abbrev="),
                                                     EQUALS("--match="),
                                                     EQUALS("--exclude="),
                                                     END};
static const struct git_option rev_list_options[] = {RANGE_OPTIONS,
                                                     FLAG("--count"),
                                                     FLAG("--left-right"),
                                                     FLAG("--parents"),
                                                     FLAG("--reverse"),
                                                     FLAG("--oneline"),
                                                     END};
static const struct git_option merge_base_options[] = {FLAG("-a"), FLAG("--all"),
                                                       FLAG("--is-ancestor"), END};
static const struct git_option remote_options[] = {FLAG("-v"), FLAG("--verbose"), END};

#define FIXED(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PLAIN_DIFF "--no-ext-diff", "--no-textconv", "--no-color"

const struct git_command git_commands[] = {
    /* Looking whether a submodule is dirty would run git in it, under the submodule's own config. */
    {"status", FIXED("--ignore-submodules=dirty"), status_options, GIT_TAKES_PATHS,
     GIT_SHOWS_FILES},
    {"log", FIXED(PLAIN_DIFF), log_options, GIT_TAKES_REVISIONS, GIT_SHOWS_FILES},
    {"show", FIXED(PLAIN_DIFF), show_options, GIT_TAKES_OBJECTS, GIT_SHOWS_FILES},
    {"blame", FIXED("--no-textconv"), blame_options, GIT_TAKES_ONE_PATH, GIT_SHOWS_FILES},
    {"ls-files", FIXED(NULL), ls_files_options, GIT_TAKES_PATHS, GIT_SHOWS_FILES},
    {"ls-tree", FIXED(NULL), ls_tree_options, GIT_TAKES_REVISIONS, GIT_SHOWS_FILES},
    {"shortlog", FIXED(NULL), shortlog_options, GIT_TAKES_REVISIONS, GIT_SHOWS_FILES},
    {"rev-list", FIXED(NULL), rev_list_options, GIT_TAKES_REVISIONS, GIT_SHOWS_FILES},
    {"branch", FIXED("--list"), branch_options, GIT_TAKES_PATTERNS, GIT_SHOWS_NAMES},
    {"tag", FIXED("--list"), tag_options, GIT_TAKES_PATTERNS, GIT_SHOWS_NAMES},
    {"rev-parse", FIXED(NULL), rev_parse_options, GIT_TAKES_REVISIONS, GIT_SHOWS_NAMES},
    {"merge-base", FIXED(NULL), merge_base_options, GIT_TAKES_REVISIONS, GIT_SHOWS_NAMES},
    {"describe", FIXED(NULL), describe_options, GIT_TAKES_REVISIONS, GIT_SHOWS_NAMES},
    {"remote", FIXED("-v"), remote_options, GIT_TAKES_NOTHING, GIT_SHOWS_NAMES},
};
const size_t git_command_count = sizeof git_commands / sizeof git_commands[0];

const struct git_command *git_command_find(struct str name)
{
    for (size_t i = 0; i < git_command_count; i++)
        if (str_is(name, git_commands[i].name))
            return &git_commands[i];
    return NULL;
}

static bool is_number(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    return text.n > 0 && text.n < 10;
}

static bool matches_count(struct str name, struct str word)
{
    if (str_is(name, "-n") && is_number((struct str){word.p + 1, word.n - 1}))
        return true; /* -5 */
    if (!str_starts(word, name))
        return false;
    return word.n == name.n || is_number((struct str){word.p + name.n, word.n - name.n});
}

static bool matches(const struct git_option *option, struct str word)
{
    struct str name = str_from(option->name);
    switch (option->kind) {
    case GIT_OPTION_FLAG:
        return str_eq(word, name);
    case GIT_OPTION_COUNT:
        return matches_count(name, word);
    case GIT_OPTION_EQUALS:
    case GIT_OPTION_VALUE:
        return str_starts(word, name);
    }
    return false;
}

const struct git_option *git_option_find(const struct git_command *command, struct str word)
{
    for (const struct git_option *option = command->options; option->name != NULL; option++)
        if (matches(option, word))
            return option;
    return NULL;
}
