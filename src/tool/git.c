/* The tool `git`: questions about history and state by an exact list of commands and options (git_words.c). Arguments are words, never a
 * shell's line. Files are shown only where the contract lets the agent read. Runs on a thread of its own. */
#include <stdio.h>

#include "os/scope.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/git_ask.h"
#include "tool/git_words.h"
#include "tool/result.h"
#include "tool/table.h"

#define ARGS_MAX 60
#define WORDS_MAX (ARGS_MAX + 16)

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\","
    "\"enum\":[\"status\",\"log\",\"show\",\"blame\",\"ls-files\",\"ls-tree\",\"shortlog\","
    "\"rev-list\",\"branch\",\"tag\",\"rev-parse\",\"merge-base\",\"describe\",\"remote\"]},"
    "\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
    "\"description\":\"One word each: -n, 10, main..HEAD\"},\"paths\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}}},\"required\":[\"command\"]}";

static const struct argument arguments_known[] = {
    {"command", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, 32},
    {"args", ARGUMENT_LIST, ARGUMENT_OPTIONAL, 0, ARGS_MAX},
    {"paths", ARGUMENT_LIST, ARGUMENT_OPTIONAL, 0, GIT_ASK_PATHS_MAX},
};

/* A call on its way to git's command line. */
struct asking {
    const struct tool_context *context;
    const struct git_command *command;
    struct tool_result *result;
    const char *words[WORDS_MAX + 1];
    size_t word_count;
    struct str operands[ARGS_MAX];
    size_t operand_count;
    struct str paths[ARGS_MAX + GIT_ASK_PATHS_MAX];
    size_t path_count;
    bool narrow;     /* the contract hides a part of the repository */
    bool one_object; /* REVISION:PATH, which takes no paths */
};

static void add_word(struct asking *asking, struct str word)
{
    asking->words[asking->word_count++] = arena_copy(asking->context->arena, word).p;
}

/* --- options ------------------------------------------------------------------------------------------------------------------ */

static void list_options(const struct git_command *command, struct buf *out)
{
    for (const struct git_option *option = command->options; option->name != NULL; option++)
        buf_printf(out, "%s%s", option == command->options ? "" : " ", option->name);
}

static int refuse_option(struct asking *asking, struct str word)
{
    struct buf list;
    buf_init(&list, 2048);
    list_options(asking->command, &list);
    tool_fail(asking->result, "git %s: the option \"%.*s\" is not allowed here; allowed are: %.*s",
              asking->command->name, STR_FMT(utf8_cut(word, 100)), STR_FMT(buf_view(&list)));
    buf_release(&list);
    return -1;
}

/* %G… in a format makes git run a program that checks signatures. */
static bool asks_for_signature(struct str value)
{
    return memmem(value.p, value.n, "%G", 2) != NULL;
}

/* Takes the option at *i, with the word behind it where that is its value. */
static int take_option(struct asking *asking, const struct js *args, size_t *i)
{
    struct str word = js_str(js_at(args, *i));
    const struct git_option *option = git_option_find(asking->command, word);
    if (option == NULL || asks_for_signature(word))
        return refuse_option(asking, word);
    add_word(asking, word);
    bool takes_next = option->kind == GIT_OPTION_VALUE || option->kind == GIT_OPTION_COUNT;
    if (!takes_next || !str_is(word, option->name))
        return 0;
    struct str value = js_str(js_at(args, *i + 1));
    if (value.n == 0 || value.n > GIT_ASK_WORD_MAX || memchr(value.p, '\0', value.n) != NULL)
        return tool_fail(asking->result, "git %s: the option \"%s\" needs a value behind it",
                         asking->command->name, option->name);
    (*i)++;
    asking->words[asking->word_count - 1] =
        arena_printf(asking->context->arena, "%s%.*s", option->name, STR_FMT(value)).p;
    return 0;
}

static int take_args(struct asking *asking, const struct js *args)
{
    bool paths = false;
    for (size_t i = 0; i < js_count(args); i++) {
        struct str word = js_str(js_at(args, i));
        if (word.n == 0 || word.n > GIT_ASK_WORD_MAX || memchr(word.p, '\0', word.n) != NULL)
            return tool_fail(asking->result,
                             "\"args\" must be an array of words, none of them "
                             "empty or longer than %d bytes",
                             GIT_ASK_WORD_MAX);
        if (paths)
            asking->paths[asking->path_count++] = word;
        else if (str_is(word, "--"))
            paths = true;
        else if (word.p[0] != '-')
            asking->operands[asking->operand_count++] = word;
        else if (take_option(asking, args, &i) != 0)
            return -1;
    }
    return 0;
}

/* --- operands ----------------------------------------------------------------------------------------------------------------- */

/* REVISION:PATH; the path starts at the workspace. */
static int take_file_of(struct asking *asking, struct str word, size_t colon,
                        const struct vcs_view *view)
{
    struct str revision = {word.p, colon}, path = {word.p + colon + 1, word.n - colon - 1}, normal;
    struct scope_allow allow = file_read_allow(asking->context);
    struct arena *arena = asking->context->arena;
    if (asking->operand_count > 1 || asking->path_count > 0)
        return tool_fail(asking->result, "REVISION:PATH stands alone");
    if (path.n == 0)
        path = STR(".");
    if (git_ask_revision(revision, asking->result) != 0 ||
        git_ask_path(asking->context, path, &allow, &normal, asking->result) != 0)
        return -1;
    if (str_is(normal, "."))
        normal = STR("");
    add_word(asking,
             arena_printf(arena, "%.*s:%.*s%s%.*s", STR_FMT(revision), STR_FMT(view->prefix),
                          view->prefix.n > 0 && normal.n > 0 ? "/" : "", STR_FMT(normal)));
    asking->one_object = true;
    return 0;
}

static int take_revision(struct asking *asking, struct str word, const struct vcs_view *view)
{
    const char *colon = memchr(word.p, ':', word.n);
    bool objects = asking->command->operands == GIT_TAKES_OBJECTS;
    if (objects && colon != NULL)
        return take_file_of(asking, word, (size_t)(colon - word.p), view);
    if (git_ask_revision(word, asking->result) != 0)
        return -1;
    /* The name of a blob or a tree would show files whatever paths are given. */
    add_word(asking, objects && asking->narrow
                         ? arena_printf(asking->context->arena, "%.*s^{commit}", STR_FMT(word))
                         : word);
    return 0;
}

static int take_pattern(struct asking *asking, struct str word)
{
    if (git_ask_revision(word, asking->result) != 0)
        return -1;
    add_word(asking, word);
    return 0;
}

static int take_operands(struct asking *asking, const struct vcs_view *view)
{
    enum git_operands kind = asking->command->operands;
    for (size_t i = 0; i < asking->operand_count; i++) {
        struct str word = asking->operands[i];
        bool last = i + 1 == asking->operand_count;
        bool path = kind == GIT_TAKES_PATHS ||
                    (kind == GIT_TAKES_ONE_PATH && last && asking->path_count == 0);
        if (kind == GIT_TAKES_NOTHING)
            return tool_fail(asking->result, "git %s takes nothing but options",
                             asking->command->name);
        if (path)
            asking->paths[asking->path_count++] = word;
        else if (kind == GIT_TAKES_PATTERNS ? take_pattern(asking, word) != 0
                                            : take_revision(asking, word, view) != 0)
            return -1;
    }
    bool needs = str_is(str_from(asking->command->name), "shortlog") ||
                 str_is(str_from(asking->command->name), "ls-tree") ||
                 str_is(str_from(asking->command->name), "rev-list");
    if (needs && asking->operand_count == 0)
        add_word(asking, STR("HEAD")); /* without a revision it would read commits from its input */
    return 0;
}

/* --- paths -------------------------------------------------------------------------------------------------------------------- */

static int take_paths(struct asking *asking, const struct js *arguments, struct vcs_list *list)
{
    const struct js *given = js_get(arguments, "paths");
    struct scope_allow allow = file_read_allow(asking->context);
    for (size_t i = 0; i < js_count(given); i++) {
        struct str path = js_str(js_at(given, i));
        if (path.n == 0)
            return tool_fail(asking->result, "\"paths\" must be an array of paths");
        asking->paths[asking->path_count++] = path;
    }
    for (size_t i = 0; i < asking->path_count; i++)
        if (git_ask_path(asking->context, asking->paths[i], &allow, &asking->paths[i],
                         asking->result) != 0)
            return -1;
    struct str *items =
        arena_alloc(asking->context->arena, (asking->path_count + 1) * sizeof *items);
    memcpy(items, asking->paths, asking->path_count * sizeof *items);
    *list = (struct vcs_list){items, asking->path_count};
    return 0;
}

static int choose_paths(struct asking *asking, struct vcs_list *paths)
{
    const struct git_command *command = asking->command;
    if (command->shows == GIT_SHOWS_NAMES && paths->count > 0)
        return tool_fail(asking->result, "git %s takes no paths", command->name);
    if (command->operands == GIT_TAKES_ONE_PATH && paths->count != 1)
        return tool_fail(asking->result, "git %s needs one path", command->name);
    if (command->shows == GIT_SHOWS_FILES && paths->count == 0 && asking->narrow &&
        !asking->one_object)
        *paths = git_ask_scope(asking->context);
    if (asking->narrow && paths->count == 0 && command->shows == GIT_SHOWS_FILES &&
        !asking->one_object)
        return tool_fail(asking->result, "no path may be read here");
    return 0;
}

/* --- the call ------------------------------------------------------------------------------------------------------------------- */

static const struct git_command *find_command(struct str name, struct tool_result *result)
{
    const struct git_command *command = git_command_find(name);
    if (command != NULL)
        return command;
    if (str_is(name, "diff") || str_is(name, "commit"))
        tool_fail(result, "use the tool git_%.*s", STR_FMT(name));
    else
        tool_fail(result,
                  "git %.*s is not allowed here; allowed are: status, log, show, blame, ls-files, "
                  "ls-tree, shortlog, rev-list, branch, tag, rev-parse, merge-base, describe, "
                  "remote",
                  STR_FMT(utf8_cut(name, 64)));
    return NULL;
}

static void ask(struct asking *asking, const struct js *arguments)
{
    struct vcs_view view = {.prefix = STR_NONE};
    struct vcs_list paths = {NULL, 0};
    const struct vcs_port *vcs = git_ask_port(asking->context, &view, asking->result);
    if (vcs == NULL)
        return;
    asking->narrow = git_ask_is_narrow(asking->context, &view);
    add_word(asking, str_from(asking->command->name));
    for (size_t i = 0; asking->command->fixed[i] != NULL; i++)
        add_word(asking, str_from(asking->command->fixed[i]));
    if (take_args(asking, js_get(arguments, "args")) != 0 || take_operands(asking, &view) != 0 ||
        take_paths(asking, arguments, &paths) != 0 || choose_paths(asking, &paths) != 0)
        return;
    git_ask(asking->context, vcs, asking->words, paths,
            "fewer commits (-n), a smaller range, paths, or --stat", asking->result);
    if (asking->result->kind == RESULT_OK && asking->command->operands == GIT_TAKES_ONE_PATH &&
        paths.count > 0)
        tool_add_read(asking->context, asking->result, paths.items[0]);
}

static void git_run(const struct tool_context *context, const struct js *arguments,
                    const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    struct asking asking = {
        .context = context,
        .command = find_command(js_get_str(arguments, "command"), result),
        .result = result,
    };
    if (asking.command != NULL)
        ask(&asking, arguments);
}

const struct tool tool_git = {
    .name = "git",
    .description = "Query git, read-only.",
    .schema = schema,
    .pace = TOOL_LONG,
    .run = git_run,
};
