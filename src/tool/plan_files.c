/* The tool `plan_files`: lists and reads the plan documents of the workspace. Only what lies in
 * .cadre/plans, only for reading, and no link is followed. Runs on a pool thread. */
#include <unistd.h>

#include "base/filename.h"
#include "base/path.h"
#include "tool/arguments.h"
#include "tool/file.h"
#include "tool/near.h"
#include "tool/page.h"
#include "tool/read.h"
#include "tool/result.h"
#include "tool/table.h"
#include "tool/walk.h"

#define PLANS ".cadre/plans"
#define PLANS_SHOWN 200
#define HEAD_BYTES 4096 /* looked at for a title */
#define TITLE_CHARACTERS 100

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"offset\":{"
    "\"type\":\"integer\"}}}";
static const char unlisted[] = "{\"limit\":{\"type\":\"integer\"}}";

static const struct argument arguments_known[] = {
    {"name", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, SCOPE_PATH_MAX},
    {"offset", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, -PAGE_OFFSET_MOST, PAGE_OFFSET_MOST},
    {"limit", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1, PAGE_LINES_MOST},
};

struct list {
    struct walk walk;
    struct tool_result *result;
    size_t shown, left;
};

/* The first line that says something, without the marks of a heading. */
static struct str title_of(struct str text)
{
    size_t start = strspn(text.p, "#-= \t\r\n");
    size_t n = strcspn(text.p + start, "\r\n");
    return utf8_cut_chars((struct str){text.p + start, n}, TITLE_CHARACTERS);
}

static enum walk_step visit(void *user, const struct walk_file *file)
{
    struct list *list = user;
    struct stat status;
    char head[HEAD_BYTES + 1] = "";
    if (list->shown == PLANS_SHOWN ||
        tool_room(list->result) < FILENAME_SHOWN(file->below.n) + 3 * 4 * TITLE_CHARACTERS + 64) {
        list->left++;
        return WALK_ON;
    }
    int fd = walk_open(&list->walk, file, &status);
    if (fd < 0) {
        list->walk.unread++;
        return WALK_ON;
    }
    ssize_t n = read(fd, head, HEAD_BYTES);
    head[n > 0 ? n : 0] = '\0';
    close(fd);
    filename_show(&list->result->text, file->below);
    buf_printf(&list->result->text, "  %lld bytes  ", (long long)status.st_size);
    tool_add_clean(list->result, title_of(str_from(head)));
    buf_char(&list->result->text, '\n');
    list->shown++;
    return WALK_ON;
}

static bool is_directory(const struct tool_context *context, struct err *err)
{
    struct scope_file directory;
    if (scope_open_dir(context->scope, STR(PLANS), file_read_allow(context), SCOPE_REFUSE_LINKS,
                       &directory, err) != 0)
        return false;
    close(directory.fd);
    return true;
}

static void list_plans(const struct tool_context *context, struct tool_result *result)
{
    struct err err = ERR_INIT;
    /* .cadre ignores itself, so ignore rules would hide every plan. */
    struct list list = {.walk = {.context = context, .rules = WALK_TAKES_ALL, .file = visit},
                        .result = result};
    list.walk.user = &list;
    if (!is_directory(context, &err)) {
        if (err.class == ERR_NOT_FOUND)
            buf_text(&result->text, "[there are no plans: " PLANS " does not exist]\n");
        else
            tool_fail_err(result, &err);
        return;
    }
    if (walk_run(&list.walk, STR(PLANS), result) != 0)
        return;
    if (list.shown + list.left == 0)
        buf_text(&result->text, "[there are no plans in " PLANS "]\n");
    if (list.left)
        buf_printf(&result->text,
                   "[truncated: %zu more plans; ask search with path " PLANS " and ignored=true]\n",
                   list.left);
    walk_notes(&list.walk, result);
}

static void read_plan(const struct tool_context *context, const struct js *arguments,
                      struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct str path;
    struct scope_file file;
    if (scope_path(context->scope, context->arena, STR(PLANS), js_get_str(arguments, "name"), &path,
                   &err) != 0) {
        tool_fail_err(result, &err);
    } else if (!path_within(path, STR(PLANS)) || str_is(path, PLANS)) {
        tool_fail(result, "%s is no plan: plans lie in " PLANS "; use read for other files",
                  filename_of(path).text);
    } else if (scope_open_read(context->scope, path, file_read_allow(context), SCOPE_REFUSE_LINKS,
                               &file, &err) == 0) {
        read_show(context, &file, arguments, result);
        close(file.fd);
    } else if (err.class == ERR_NOT_FOUND) {
        near_fail(context, path, &err, result);
    } else {
        tool_fail_err(result, &err);
    }
}

static void plan_files_run(const struct tool_context *context, const struct js *arguments,
                           const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    tool_result_start(context, result);
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0)
        return;
    if (tool_cancelled(context))
        tool_fail_cancelled(result);
    else if (js_get_str(arguments, "name").p)
        read_plan(context, arguments, result);
    else
        list_plans(context, result);
}

const struct tool tool_plan_files = {
    .name = "plan_files",
    .description = "List .cadre/plans, or read one.",
    .schema = schema,
    .unlisted = unlisted,
    .prepare = NULL,
    .run = plan_files_run,
};
