/* The tool `git_diff`: differences between files, index and commits, within the paths that the contract lets the agent read. Runs on a
 * thread of its own. */
#include "os/scope.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/git_ask.h"
#include "tool/result.h"
#include "tool/table.h"

#define CONTEXT_MOST 100
#define WORDS_MAX 16

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"from\":{\"type\":\"string\","
    "\"description\":\"Default: index, or HEAD if staged\"},\"to\":{\"type\":\"string\","
    "\"description\":\"Default: files\"},\"staged\":{\"type\":\"boolean\"},\"paths\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"stat\":{\"type\":\"boolean\"}}}";
static const char unlisted[] = "{\"context\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"from", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, GIT_ASK_WORD_MAX},
    {"to", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, GIT_ASK_WORD_MAX},
    {"staged", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"paths", ARGUMENT_LIST, ARGUMENT_OPTIONAL, 0, GIT_ASK_PATHS_MAX},
    {"stat", ARGUMENT_FLAG, ARGUMENT_OPTIONAL, 0, 0},
    {"context", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 0, CONTEXT_MOST},
};

/* Two blobs would be compared whatever the paths say, so a revision must be a commit. */
static int add_commit(const struct tool_context *context, struct str revision, const char **words,
                      size_t *count, struct tool_result *result)
{
    if (revision.n == 0)
        return 0;
    if (memmem(revision.p, revision.n, "..", 2) != NULL)
        return tool_fail(result, "a range is written as \"from\" and \"to\"");
    if (git_ask_revision(revision, result) != 0)
        return -1;
    words[(*count)++] = arena_printf(context->arena, "%.*s^{commit}", STR_FMT(revision)).p;
    return 0;
}

static int build_words(const struct tool_context *context, const struct js *arguments,
                       const char **words, struct tool_result *result)
{
    struct str from = js_get_str(arguments, "from"), to = js_get_str(arguments, "to");
    bool staged = js_get_bool(arguments, "staged", false);
    size_t count = 0;
    words[count++] = "diff";
    words[count++] = "--no-ext-diff";
    words[count++] = "--no-textconv";
    words[count++] = "--no-color";
    words[count++] = "--ignore-submodules=dirty"; /* else git would run in them */
    words[count++] = js_get_bool(arguments, "stat", false) ? "--stat=120" : "--patch";
    if (staged)
        words[count++] = "--cached";
    words[count++] =
        arena_printf(context->arena, "-U%lld", (long long)arguments_whole(arguments, "context", 3))
            .p;
    if (to.n > 0 && (from.n == 0 || staged))
        return tool_fail(result, "\"to\" needs \"from\", and does not go with \"staged\"");
    return add_commit(context, from, words, &count, result) != 0 ||
                   add_commit(context, to, words, &count, result) != 0
               ? -1
               : 0;
}

static void git_diff_run(const struct tool_context *context, const struct js *arguments,
                         const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    const char *words[WORDS_MAX] = {NULL};
    struct vcs_view view;
    struct vcs_list paths;
    struct scope_allow allow = file_read_allow(context);
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    const struct vcs_port *vcs = git_ask_port(context, &view, result);
    if (vcs == NULL || build_words(context, arguments, words, result) != 0 ||
        git_ask_paths(context, arguments, &allow, &paths, result) != 0)
        return;
    if (paths.count == 0)
        paths = git_ask_scope(context);
    if (paths.count == 0)
        tool_fail(result, "no path may be read here");
    else
        git_ask(context, vcs, words, paths, "paths, less context, or stat", result);
}

const struct tool tool_git_diff = {
    .name = "git_diff",
    .description = "Show changes of tracked files.",
    .schema = schema,
    .unlisted = unlisted,
    .pace = TOOL_LONG,
    .run = git_diff_run,
};
