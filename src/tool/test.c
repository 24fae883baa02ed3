/* The tool `test`: finds the project's own test command (config's first, then suites.c), runs it behind the walls of the agent's
 * contract and says what came of it: exit code, counts where the runner is known, the lines that tell of failures and the end of
 * the output. What a model asks for reaches the command as an argument, never as its text. Runs on a thread of its own. */
#include "base/path.h"
#include "tool/arguments.h"
#include "tool/confined.h"
#include "tool/contacts.h"
#include "tool/preview.h"
#include "tool/result.h"
#include "tool/suites.h"
#include "tool/table.h"
#include "tool/verdict.h"

#define FILTER_MAX 1000
#define PATH_LONGEST 4096
#define TIMEOUT_DEFAULT_MS 600000
#define TIMEOUT_MAX_MS 3600000
#define SHOWN_PASSED 2000 /* bytes of the output */
#define SHOWN_FAILED 8000

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"filter\":{\"type\":\"string\","
    "\"description\":\"Test names\"},\"path\":{\"type\":\"string\"},\"timeout_ms\":{"
    "\"type\":\"integer\"}}}";

static const struct argument arguments_known[] = {
    {"filter", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, FILTER_MAX},
    {"path", ARGUMENT_TEXT, ARGUMENT_OPTIONAL, 1, PATH_LONGEST},
    {"timeout_ms", ARGUMENT_NUMBER, ARGUMENT_OPTIONAL, 1000, TIMEOUT_MAX_MS},
};

struct plan {
    const char *script;
    const struct suite *suite; /* NULL: the config's own command */
    struct str filter, path;
    int64_t wanted_ms;
};

/* One that looks like an option could be one for the runner. */
static int check_filter(struct str filter, struct tool_result *result)
{
    if (filter.n > 0 && filter.p[0] == '-')
        return tool_fail(result, "a filter cannot start with -");
    for (size_t i = 0; i < filter.n; i++)
        if ((unsigned char)filter.p[i] < ' ')
            return tool_fail(result, "a filter is one line of text");
    return 0;
}

static int check_path(const struct tool_context *context, struct str *path,
                      struct tool_result *result)
{
    if (path->n == 0)
        return 0;
    struct str normal = path_normal(context->arena, *path);
    if (normal.p == NULL)
        return tool_fail(result, "the path must lie in the working directory");
    *path = normal.p[0] == '-' ? arena_printf(context->arena, "./%.*s", STR_FMT(normal)) : normal;
    return 0;
}

static int find_plan(const struct tool_context *context, struct plan *plan,
                     struct tool_result *result)
{
    struct str configured = context->services->test_command;
    int wanted = (plan->filter.n > 0 ? SUITE_FILTER : 0) | (plan->path.n > 0 ? SUITE_PATH : 0);
    const struct suite *suite = configured.n > 0 ? NULL : suite_find(context);
    if (configured.n == 0 && suite == NULL)
        return tool_fail(result,
                         "no test command was found in %.*s: there is no Makefile with a target "
                         "\"test\" and nothing else that is known. Run the tests with shell, or "
                         "have tools.test.command set in the config",
                         STR_FMT(context->working_directory));
    if ((wanted & ~(suite != NULL ? suite->takes : SUITE_ALL)) != 0)
        return tool_fail(result, "%s here takes no %s; run all tests, or use shell",
                         suite != NULL ? suite->name : "the configured test command",
                         plan->filter.n > 0 && (suite == NULL || (suite->takes & SUITE_FILTER) == 0)
                             ? "filter"
                             : "path");
    plan->suite = suite;
    plan->script = suite != NULL ? suite->script : arena_copy(context->arena, configured).p;
    return 0;
}

static void tell(const struct tool_context *context, const struct confined_run *run,
                 const struct plan *plan, struct tool_result *result)
{
    const struct sandbox_outcome *outcome = &run->outcome;
    struct buf *out = &result->text;
    struct verdict verdict;
    struct buf clean;
    bool passed = outcome->end == SANDBOX_EXITED && outcome->code == 0;
    buf_init(&clean, 3 * outcome->output.n + 64);
    confined_text(context, &clean, buf_view(&outcome->output));
    verdict_read(buf_view(&clean), &verdict);
    if (!passed)
        result->kind = RESULT_ERROR;
    buf_text(out, passed ? "tests passed: " : "Error: tests failed: ");
    confined_end(outcome, run->wall_ms, out);
    if (verdict.format != NULL)
        buf_printf(out, "; %lld passed, %lld failed (as %s counts)", (long long)verdict.passed,
                   (long long)verdict.failed, verdict.format);
    buf_printf(out, "\ncommand: %s\n", plan->script);
    if (plan->filter.n > 0 || plan->path.n > 0)
        buf_printf(out, "arguments: \"%.*s\" \"%.*s\"\n", STR_FMT(plan->filter),
                   STR_FMT(plan->path));
    contacts_tell(context, &outcome->contacts, result);
    if (!passed && verdict.line_count > 0)
        buf_text(out, "lines that tell of failures:\n");
    for (size_t i = 0; !passed && i < verdict.line_count; i++)
        if (verdict.lines[i].n + 8 < tool_room(result))
            buf_printf(out, "  %.*s\n", STR_FMT(verdict.lines[i]));
    buf_text(out, outcome->output_bytes > 0 ? "output:\n" : "no output\n");
    confined_output(context, result, buf_view(&outcome->output), outcome->output_bytes,
                    passed ? SHOWN_PASSED : SHOWN_FAILED);
    confined_changes(context, run->before, run->after, run->tree, result);
    buf_release(&clean);
}

/* -1 with the error in the result. */
static int plan_of(const struct tool_context *context, const struct js *arguments,
                   struct plan *plan, struct tool_result *result)
{
    *plan =
        (struct plan){.filter = js_get_str(arguments, "filter"),
                      .path = js_get_str(arguments, "path"),
                      .wanted_ms = arguments_whole(arguments, "timeout_ms", TIMEOUT_DEFAULT_MS)};
    if (arguments_check(arguments, arguments_known,
                        sizeof arguments_known / sizeof arguments_known[0], result) != 0 ||
        confined_ready(context, result) != 0 || check_filter(plan->filter, result) != 0 ||
        check_path(context, &plan->path, result) != 0 || find_plan(context, plan, result) != 0)
        return -1;
    return 0;
}

static void test_run(const struct tool_context *context, const struct js *arguments,
                     const struct tool_prepared *prepared, struct tool_result *result)
{
    (void)prepared;
    struct plan plan;
    tool_result_start(context, result);
    if (plan_of(context, arguments, &plan, result) != 0)
        return;
    plan.filter = arena_copy(context->arena, plan.filter);
    plan.path = arena_copy(context->arena, plan.path);
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                plan.script,
                                "test",
                                plan.filter.p != NULL ? plan.filter.p : "",
                                plan.path.p != NULL ? plan.path.p : "",
                                NULL};
    struct confined_run run = {.argv = argv, .wall_ms = confined_wall(context, plan.wanted_ms)};
    if (confined_run(context, &run, result) == 0)
        tell(context, &run, &plan, result);
    confined_release(&run);
}

static int test_preview(const struct tool_context *context, const struct js *arguments,
                        struct preview *preview, struct tool_result *result)
{
    struct plan plan;
    if (plan_of(context, arguments, &plan, result) != 0)
        return -1;
    preview_add(context, preview, "command", str_from(plan.script));
    if (plan.filter.n > 0)
        preview_add(context, preview, "$1 (filter)", plan.filter);
    if (plan.path.n > 0)
        preview_add(context, preview, "$2 (path)", plan.path);
    if (plan.suite != NULL)
        suite_preview(context, plan.suite, preview);
    else
        preview_add(context, preview, "set by", context->services->test_origin);
    preview_walls(context, preview);
    return 0;
}

const struct tool tool_test = {
    .name = "test",
    .description = "Run the project's tests. Returns counts and failures.",
    .schema = schema,
    .pace = TOOL_LONG,
    .prepare = NULL,
    .run = test_run,
    .preview = test_preview,
};
