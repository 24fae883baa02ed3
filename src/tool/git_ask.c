/* Shared by the git tools: see git_ask.h. On the thread of a long tool. */
#include "tool/git_ask.h"

#include "os/scope.h"
#include "tool/result.h"

#define ANSWER_MOST (256u << 10)

const struct vcs_port *git_ask_port(const struct tool_context *context, struct vcs_view *view,
                                    struct tool_result *result)
{
    struct err err = ERR_INIT;
    const struct tool_services *services = context->services;
    if (services == NULL || services->vcs == NULL) {
        struct str why = services != NULL ? services->vcs_problem : STR("there is no git here");
        tool_fail(result, "%.*s", STR_FMT(why));
        return NULL;
    }
    const struct vcs_port *vcs = services->vcs;
    if (vcs->view(vcs->self, context->arena, str_from(context->scope->real), view, &err) != 0) {
        tool_fail_err(result, &err);
        return NULL;
    }
    return vcs;
}

int git_ask_path(const struct tool_context *context, struct str path,
                 const struct scope_allow *allow, struct str *normal, struct tool_result *result)
{
    struct err err = ERR_INIT;
    if (scope_path(context->scope, context->arena, context->working_directory, path, normal,
                   &err) != 0 ||
        scope_check(*normal, *allow, &err) != 0)
        return tool_fail_err(result, &err);
    return 0;
}

int git_ask_paths(const struct tool_context *context, const struct js *arguments,
                  const struct scope_allow *allow, struct vcs_list *paths,
                  struct tool_result *result)
{
    const struct js *given = js_get(arguments, "paths");
    size_t count = js_count(given);
    struct str *items = arena_alloc(context->arena, (count + 1) * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        struct str path = js_str(js_at(given, i));
        if (path.n == 0)
            return tool_fail(result, "\"paths\" must be an array of paths");
        if (git_ask_path(context, path, allow, &items[i], result) != 0)
            return -1;
    }
    *paths = (struct vcs_list){items, count};
    return 0;
}

bool git_ask_is_narrow(const struct tool_context *context, const struct vcs_view *view)
{
    for (size_t i = 0; i < context->read_count; i++)
        if (str_is(context->read_paths[i], "."))
            return view->prefix.n > 0;
    return true;
}

struct vcs_list git_ask_scope(const struct tool_context *context)
{
    return (struct vcs_list){context->read_paths, context->read_count};
}

int git_ask_revision(struct str text, struct tool_result *result)
{
    struct str shown = utf8_cut(text, 100);
    if (text.n == 0 || text.n > GIT_ASK_WORD_MAX || text.p[0] == '-')
        return tool_fail(result, "\"%.*s\" is not a revision", STR_FMT(shown));
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 127 || text.p[i] == ':')
            return tool_fail(result, "\"%.*s\" is not a revision; put paths into \"paths\"",
                             STR_FMT(shown));
    return 0;
}

static void show(const struct vcs_answer *answer, const char *limits, struct tool_result *result)
{
    struct buf clean;
    struct str text = buf_view(&answer->output);
    size_t room = tool_room(result);
    buf_init(&clean, 4 * ANSWER_MOST);
    utf8_clean(&clean, text, UTF8_LINES);
    struct str shown = utf8_cut(buf_view(&clean), room);
    buf_str(&result->text, shown);
    if (text.n == 0)
        buf_text(&result->text, "[nothing to show]\n");
    else if (shown.n < clean.n || memmem(text.p, text.n, " bytes left out here]\n", 22) != NULL)
        buf_printf(&result->text, "\n[truncated; for a shorter answer: %s]\n", limits);
    buf_release(&clean);
}

/* Does the text hold something that show would take out of it? It may be a part of a file's name. */
static bool has_invisible(struct str text)
{
    for (size_t at = 0; at < text.n;) {
        uint32_t code;
        at += utf8_next((struct str){text.p + at, text.n - at}, &code);
        if (code == UTF8_BAD || (!utf8_is_visible(code) && code != '\n' && code != '\t'))
            return true;
    }
    return false;
}

/* Asks, and once more with every name escaped where an answer may hold names that cannot be shown. */
static int ask(const struct tool_context *context, const struct vcs_port *vcs,
               struct vcs_question *question, struct vcs_answer *answer, struct err *err)
{
    size_t count = 0;
    if (vcs->ask(vcs->self, question, answer, err) != 0)
        return -1;
    if (!has_invisible(buf_view(&answer->output)))
        return 0;
    buf_release(&answer->output);
    buf_release(&answer->errors);
    while (question->words[count] != NULL)
        count++;
    const char **words = arena_alloc(context->arena, (count + 3) * sizeof *words);
    words[0] = "-c";
    words[1] = "core.quotePath=true";
    memcpy(words + 2, question->words, (count + 1) * sizeof *words);
    question->words = words;
    return vcs->ask(vcs->self, question, answer, err);
}

void git_ask(const struct tool_context *context, const struct vcs_port *vcs,
             const char *const *words, struct vcs_list paths, const char *limits,
             struct tool_result *result)
{
    struct err err = ERR_INIT;
    struct vcs_answer answer;
    size_t room = tool_room(result);
    struct vcs_question question = {
        .workspace = str_from(context->scope->real),
        .words = words,
        .paths = paths,
        .output_max = room < ANSWER_MOST ? room : ANSWER_MOST,
        .wall_ms = GIT_ASK_WALL_MS,
        .cancelled = context->cancelled,
    };
    if (ask(context, vcs, &question, &answer, &err) != 0) {
        tool_fail_err(result, &err);
        return;
    }
    struct str said = utf8_cut(buf_view(&answer.errors), 1500);
    if (answer.status != 0 && said.n > 0)
        tool_fail(result, "git %s: %.*s", words[0], STR_FMT(said));
    else if (answer.status != 0)
        tool_fail(result, "git %s found nothing (status %d)", words[0], answer.status);
    else
        show(&answer, limits, result);
    buf_release(&answer.output);
    buf_release(&answer.errors);
}
