/* The tool `git_commit`: commits named files of the workspace, as they are on disk, on the current branch. No hook runs; what else is
 * staged stays staged; nothing is pushed. Runs on a thread of its own, when its intent is durable; it is never repeated after a crash. */
#include "base/utf8.h"
#include "os/clock.h"
#include "os/scope.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/git_ask.h"
#include "tool/result.h"
#include "tool/table.h"

#define MESSAGE_MAX 16384
#define FILES_SHOWN 50
#define ID_SHOWN 12

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"},"
    "\"paths\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"},\"description\":\"Deleted files too\"}},"
    "\"required\":[\"message\",\"paths\"]}";

static const struct argument arguments_known[] = {
    {"message", ARGUMENT_TEXT, ARGUMENT_REQUIRED, 1, MESSAGE_MAX},
    {"paths", ARGUMENT_LIST, ARGUMENT_REQUIRED, 1, GIT_ASK_PATHS_MAX},
};

/* Text as it may stand in a history that people read on terminals. */
static struct str clean_message(const struct tool_context *context, struct str message)
{
    struct buf clean;
    buf_init(&clean, 4 * MESSAGE_MAX);
    utf8_clean(&clean, message, UTF8_LINES);
    if (clean.n > 0 && clean.p[clean.n - 1] != '\n')
        buf_char(&clean, '\n');
    struct str text = arena_copy(context->arena, buf_view(&clean));
    buf_release(&clean);
    return text;
}

static void tell(const struct tool_context *context, const struct vcs_commit *commit,
                 struct tool_result *result)
{
    struct buf *text = &result->text;
    if (commit->id.n == 0) {
        tool_fail(result, "nothing to commit: these paths are as the last commit has them");
        return;
    }
    buf_printf(text, "Committed %zu file%s as %.*s", commit->files.count,
               commit->files.count == 1 ? "" : "s", ID_SHOWN, commit->id.p);
    buf_text(text, commit->branch.n > 0 ? " on " : " on no branch (HEAD is detached)");
    tool_add_clean(result, utf8_cut(commit->branch, 200));
    buf_text(text, ":\n");
    for (size_t i = 0; i < commit->files.count && i < FILES_SHOWN; i++) {
        file_name(result, commit->files.items[i]);
        buf_char(text, '\n');
    }
    if (commit->files.count > FILES_SHOWN)
        buf_printf(text, "[and %zu more]\n", commit->files.count - FILES_SHOWN);
    for (size_t i = 0; i < commit->files.count; i++)
        tool_add_modified(context, result, commit->files.items[i]);
}

static void git_commit_run(const struct tool_context *context, const struct js *arguments,
                           const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    struct vcs_view view;
    struct vcs_commit commit;
    struct scope_allow allow = file_write_allow(context);
    struct vcs_commit_request request = {
        .workspace = str_from(context->scope->real),
        .write_paths = {context->write_paths, context->write_count},
        .now_ms = clock_now_ms(),
        .cancelled = context->cancelled,
    };
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    request.message = clean_message(context, js_get_str(arguments, "message"));
    const struct vcs_port *vcs = git_ask_port(context, &view, result);
    if (vcs == NULL || git_ask_paths(context, arguments, &allow, &request.paths, result) != 0)
        return;
    if (vcs->commit(vcs->self, context->arena, &request, &commit, &err) != 0)
        tool_fail_err(result, &err);
    else
        tell(context, &commit, result);
}

const struct tool tool_git_commit = {
    .name = "git_commit",
    .description = "Commit the named files; no hooks, no push.",
    .schema = schema,
    .pace = TOOL_LONG,
    .run = git_commit_run,
};
