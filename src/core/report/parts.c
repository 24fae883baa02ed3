/* See parts.h. Lists are cut where nobody would read on; the JSON has all of them. Pure. */
#include "core/report/parts.h"

#include "core/contract/money.h"
#include "core/report/quote.h"

#define FILES_SHOWN 200

int64_t parts_duration(const struct agent *agent)
{
    int64_t since = agent->started_at != 0 ? agent->started_at : agent->created_at;
    return agent->finished_at > since ? agent->finished_at - since : 0;
}

void parts_spent(const struct agent *agent, struct buf *out)
{
    int64_t ms = parts_duration(agent);
    buf_printf(out, "- spent: %lld tool calls, %lld tokens, ", (long long)agent->account.tool_calls,
               (long long)budget_billed(&agent->account).tokens);
    if (money_spent_text(out, &agent->account))
        buf_text(out, ", ");
    buf_printf(out, "%lld.%lld s, %lld attempt%s\n", (long long)(ms / 1000),
               (long long)(ms % 1000 / 100), (long long)agent->attempt + 1,
               agent->attempt > 0 ? "s" : "");
}

void parts_refused(const struct agent *agent, struct buf *out)
{
    if (agent->refused.count == 0)
        return;
    buf_printf(out, "- refused: %lld call%s\n", (long long)agent->refused.count,
               agent->refused.count == 1 ? "" : "s");
    for (size_t i = 0; i < agent->refused.reasons.n; i++) {
        buf_text(out, "  - ");
        quote_line(out, agent->refused.reasons.items[i], 400);
        buf_char(out, '\n');
    }
}

void parts_input(const struct report_input *input, struct buf *out)
{
    buf_text(out, "- input: ");
    report_input_text(input, out);
    buf_char(out, '\n');
}

void parts_work(const struct agent *agent, struct buf *out)
{
    struct arena arena;
    struct str work = report_work(agent);
    if (work.n == 0)
        return;
    arena_init(&arena);
    struct str command = report_command(agent, &arena);
    buf_printf(out, "- work: %.*s", STR_FMT(work));
    if (str_is(work, "merged"))
        buf_printf(out, " (%.*s)", STR_FMT(agent->tree->merge));
    if (agent->tree->kept.n > 0) {
        buf_text(out, " on branch ");
        quote_line(out, agent->tree->kept, PARTS_LINE);
    }
    buf_char(out, '\n');
    if (command.n > 0) {
        buf_text(out, "- look at it: ");
        quote_line(out, command, SIZE_MAX);
        buf_char(out, '\n');
    }
    arena_release(&arena);
}

void parts_text(const char *heading, struct str text, struct buf *out)
{
    if (text.n == 0)
        return;
    buf_printf(out, "\n%s\n\n", heading);
    quote_block(out, text);
}

static void add_files(const char *heading, const struct set *files, struct buf *out)
{
    if (files->n == 0)
        return;
    buf_printf(out, "\n%s\n\n", heading);
    for (size_t i = 0; i < files->n && i < FILES_SHOWN; i++) {
        buf_text(out, "- ");
        quote_line(out, files->items[i], SIZE_MAX);
        buf_char(out, '\n');
    }
    if (files->n > FILES_SHOWN)
        buf_printf(out, "- and %zu more; `cadre show RUN --report --json` lists all %zu\n",
                   files->n - FILES_SHOWN, files->n);
}

static void add_checks(struct str evidence, struct buf *out)
{
    struct err ignored = ERR_INIT;
    struct js *checks = evidence.n > 0 ? js_parse(evidence, &ignored) : NULL;
    if (js_count(checks) > 0)
        buf_text(out, "\n### Checks\n");
    for (size_t i = 0; i < js_count(checks); i++) {
        const struct js *check = js_at(checks, i);
        struct str output = js_get_str(check, "output");
        buf_printf(out, "\n- %s: ", js_get_bool(check, "passed", false) ? "passed" : "failed");
        quote_line(out, js_get_str(check, "check"), PARTS_LINE);
        buf_text(out, ", ");
        quote_line(out, js_get_str(check, "end"), PARTS_LINE);
        buf_char(out, '\n');
        if (output.n > 0) {
            buf_char(out, '\n');
            quote_block(out, output);
        }
    }
    js_free(checks);
}

void parts_evidence(const struct agent *agent, struct buf *out)
{
    if (agent->files_modified.n + agent->files_read.n + agent->evidence.n > 0)
        buf_text(out, "\n## Evidence\n");
    add_files("### Files modified", &agent->files_modified, out);
    add_files("### Files read", &agent->files_read, out);
    add_checks(agent->evidence, out);
}
