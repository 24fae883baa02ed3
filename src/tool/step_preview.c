/* What a person who is asked about a step of a plan is shown: the step, who does it with which tools and files, and every command that
 * runs without another question: the checks of the contract, and what `test` would run in the files as they are now. Blocks on files:
 * any thread but the loop's. */
#include "core/contract/settings.h"
#include "tool/preview.h"
#include "tool/result.h"

#define ERROR_MAX 4000
#define CHECKS_SHOWN 16 /* each in a part of its own */

static struct str joined(const struct tool_context *context, const struct js *list)
{
    struct buf out;
    buf_init(&out, PREVIEW_BYTES_MAX);
    for (size_t i = 0; i < js_count(list); i++)
        buf_printf(&out, "%s%.*s", i > 0 ? "\n" : "", STR_FMT(js_str(js_at(list, i))));
    struct str text = arena_copy(context->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

static void add_words(const struct tool_context *context, struct preview *preview,
                      const char *label, const struct js *list)
{
    struct buf out;
    buf_init(&out, PREVIEW_BYTES_MAX);
    for (size_t i = 0; i < js_count(list); i++)
        buf_printf(&out, "%s%.*s", i > 0 ? ", " : "", STR_FMT(js_str(js_at(list, i))));
    preview_add(context, preview, label, buf_view(&out));
    buf_release(&out);
}

static bool are_the_same(const struct list *list, const struct js *checks)
{
    bool same = list->n == js_count(checks);
    for (size_t i = 0; same && i < list->n; i++)
        same = str_eq(list->items[i], js_str(js_at(checks, i)));
    return same;
}

/* The file that sets them, where this process's config still has the same. */
static struct str origin_of(const struct tool_services *services, struct str key,
                            const struct js *checks)
{
    for (size_t i = 0; services != NULL && i < services->checks_origin_count; i++)
        if (str_eq(services->checks_origins[i].key, key) &&
            are_the_same(&services->checks_origins[i].checks, checks))
            return services->checks_origins[i].origin;
    return STR("in the config that the run was started with");
}

static void add_checks(const struct tool_context *context, const struct js *terms,
                       struct preview *preview)
{
    const struct js *checks = js_get(terms, "checks");
    size_t count = js_count(checks);
    if (count == 0) {
        preview_add(context, preview, "checks", STR("none"));
        return;
    }
    for (size_t i = 0; i < count && count <= CHECKS_SHOWN; i++) {
        struct str label = arena_printf(context->arena, "check %zu of %zu", i + 1, count);
        preview_add_kind(context, preview, PREVIEW_TEXT,
                         (struct preview_part){.label = label, .text = js_str(js_at(checks, i))});
    }
    if (count > CHECKS_SHOWN)
        preview_add(context, preview, "checks", joined(context, checks));
    struct str key = js_get_str(terms, "checks_from");
    preview_add(context, preview, "checks are set by",
                arena_printf(context->arena, "%.*s, %.*s", STR_FMT(key),
                             STR_FMT(origin_of(context->services, key, checks))));
}

static bool has_tool(const struct js *terms, const char *name)
{
    const struct js *tools = js_get(terms, "tools");
    for (size_t i = 0; i < js_count(tools); i++)
        if (str_is(js_str(js_at(tools, i)), name))
            return true;
    return false;
}

/* What `test` would run; the parts of its own preview, named as such. */
static void add_test(const struct tool_context *context, struct preview *preview)
{
    struct err ignored = ERR_INIT;
    struct tool_result result = {.kind = RESULT_OK};
    struct preview *own = arena_alloc(context->arena, sizeof *own);
    const struct tool *tool = tool_find(STR("test"));
    struct js *nothing = js_parse(STR("{}"), &ignored);
    *own = (struct preview){.tool = STR("test")};
    tool_result_start(context, &result);
    if (tool->preview(context, nothing, own, &result) != 0)
        preview_add(context, preview, "test would run", buf_view(&result.text));
    else
        for (size_t i = 0; i < own->count; i++)
            preview_add_kind(
                context, preview, own->parts[i].kind,
                (struct preview_part){.label = arena_printf(context->arena, "test, %.*s",
                                                            STR_FMT(own->parts[i].label)),
                                      .text = own->parts[i].text});
    js_free(nothing);
    buf_release(&result.text);
}

void step_preview(const struct tool_context *of_question, struct str json, struct preview *preview)
{
    /* An error is the same text whenever the preview is made. */
    struct tool_context own = *of_question;
    const struct tool_context *context = &own;
    struct err err = ERR_INIT;
    own.max_result = ERROR_MAX;
    struct js *terms = js_parse(json, &err);
    const struct js *owns = js_get(terms, "owns"), *criteria = js_get(terms, "success_criteria");
    *preview = (struct preview){.tool = STR("plan"), .reach = PREVIEW_OUTSIDE};
    preview_add(context, preview, "step", js_get_str(terms, "step"));
    preview_add(context, preview, "title", js_get_str(terms, "title"));
    preview_add(context, preview, "task", js_get_str(terms, "description"));
    if (js_count(criteria) > 0)
        preview_add(context, preview, "done when", joined(context, criteria));
    preview_add(context, preview, "role", js_get_str(terms, "role"));
    if (js_get(terms, "problem") != NULL)
        preview_add_kind(
            context, preview, PREVIEW_PROBLEM,
            (struct preview_part){.label = STR("problem"), .text = js_get_str(terms, "problem")});
    else
        preview_add(context, preview, "files that it owns",
                    owns == NULL         ? STR("all")
                    : js_count(owns) > 0 ? joined(context, owns)
                                         : STR("none"));
    add_words(context, preview, "tools", js_get(terms, "tools"));
    if (!str_is(js_get_str(terms, "network"), "none") && js_get_str(terms, "network").n > 0)
        preview_add(context, preview, "network of its commands", js_get_str(terms, "network"));
    add_checks(context, terms, preview);
    if (has_tool(terms, "test") && context->scope != NULL)
        add_test(context, preview);
    preview_seal(context, preview, json);
    js_free(terms);
}
