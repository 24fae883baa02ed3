/* The tool `git_commit`: commits named files of the workspace, as they are on disk, on the current branch. No hook runs; what else is
 * staged stays staged; nothing is pushed. Runs on a thread of its own, when its intent is durable; it is never repeated after a crash. */
#include "base/filename.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/scope.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/git_ask.h"
#include "tool/preview.h"
#include "tool/result.h"
#include "tool/table.h"

#define MESSAGE_MAX 16384
#define FILES_SHOWN 50
#define ID_SHOWN 12
#define DIFF_SHOWN ((size_t)2 << 20) /* bytes */
#define NOTHING "nothing to commit: these paths are as the last commit has them"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"},\"paths\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Deleted ones too\"}},"
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
        tool_fail(result, NOTHING);
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

/* -1 with the error in the result. */
static int request_of(const struct tool_context *context, const struct js *arguments,
                      struct vcs_commit_request *request, const struct vcs_port **vcs,
                      struct tool_result *result)
{
    struct vcs_view view;
    struct scope_allow allow = file_write_allow(context);
    *request = (struct vcs_commit_request){
        .workspace = str_from(context->scope->real),
        .write_paths = {context->write_paths, context->write_count},
        .now_ms = clock_now_ms(),
        .cancelled = context->cancelled,
    };
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return -1;
    request->message = clean_message(context, js_get_str(arguments, "message"));
    *vcs = git_ask_port(context, &view, result);
    if (*vcs == NULL || git_ask_paths(context, arguments, &allow, &request->paths, result) != 0)
        return -1;
    return 0;
}

static void git_commit_run(const struct tool_context *context, const struct js *arguments,
                           const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct err err = ERR_INIT;
    const struct vcs_port *vcs;
    struct vcs_commit_request request;
    struct vcs_commit commit;
    char contents[HASH_HEX + 1];
    tool_result_start(context, result);
    if (request_of(context, arguments, &request, &vcs, result) != 0)
        return;
    if (context->approved != NULL && context->approved->change == PREVIEW_CHANGES_COMMIT) {
        hash_hex(&context->approved->after, contents);
        request.contents = str_from(contents);
    }
    if (vcs->commit(vcs->self, context->arena, &request, &commit, &err) != 0)
        tool_fail_err(result, &err);
    else
        tell(context, &commit, result);
}

/* --- what a person is shown --------------------------------------------------------------------------------------------------- */

static void list_files(const struct vcs_outlook *outlook, struct buf *out)
{
    static const char *const words[] = {
        [VCS_FILE_NEW] = "new", [VCS_FILE_CHANGED] = "changed", [VCS_FILE_DELETED] = "deleted"};
    for (size_t i = 0; i < outlook->count; i++) {
        const struct vcs_outlook_file *file = &outlook->files[i];
        buf_printf(out, "%-7s ", words[file->what]);
        if (outlook->diff.p != NULL)
            buf_printf(out, "+%lld -%lld  ", (long long)file->added, (long long)file->removed);
        buf_text(out, filename_of(file->path).text);
        if (file->what == VCS_FILE_CHANGED && file->old_mode != file->new_mode)
            buf_printf(out, " (mode %o, was %o)", (unsigned)file->new_mode,
                       (unsigned)file->old_mode);
        else if (file->what == VCS_FILE_NEW && file->new_mode != 0100644)
            buf_printf(out, " (mode %o)", (unsigned)file->new_mode);
        if (outlook->diff.p == NULL && file->new_mode != 0)
            buf_printf(out, " (content %.*s)", STR_FMT(file->new_id));
        buf_char(out, '\n');
    }
}

static int git_commit_preview(const struct tool_context *context, const struct js *arguments,
                              struct preview *preview, struct tool_result *result)
{
    struct err err = ERR_INIT;
    const struct vcs_port *vcs;
    struct vcs_commit_request request;
    struct vcs_outlook outlook;
    struct buf files;
    if (request_of(context, arguments, &request, &vcs, result) != 0)
        return -1;
    if (vcs->outlook(vcs->self, context->arena, &request, DIFF_SHOWN, &outlook, &err) != 0)
        return tool_fail_err(result, &err);
    if (outlook.count == 0)
        return tool_fail(result, NOTHING);
    buf_init(&files, PREVIEW_BYTES_MAX);
    list_files(&outlook, &files);
    if (files.failed)
        preview->size = PREVIEW_TOO_LARGE;
    preview_add(context, preview, "message", request.message);
    preview_add(context, preview, "branch",
                outlook.branch.n > 0 ? outlook.branch : STR("none (HEAD is detached)"));
    preview_add(context, preview, outlook.count == 1 ? "file" : "files", buf_view(&files));
    if (outlook.diff.p != NULL)
        preview_add_kind(context, preview, PREVIEW_DIFF,
                         (struct preview_part){.label = STR("changes"), .text = outlook.diff});
    else
        preview_add(context, preview, "changes",
                    STR("too long to be shown here; each file has the hash of its content"));
    preview->change = PREVIEW_CHANGES_COMMIT;
    preview->reach = PREVIEW_INSIDE;
    buf_release(&files);
    return hash_parse(outlook.contents, &preview->after)
               ? 0
               : tool_fail(result, "the contents of the commit have no hash");
}

const struct tool tool_git_commit = {
    .name = "git_commit",
    .description = "Commit files; no hooks, no push.",
    .schema = schema,
    .pace = TOOL_LONG,
    .run = git_commit_run,
    .preview = git_commit_preview,
};
