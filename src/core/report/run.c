/* A run's report in Markdown: how it ended, what hung on its children, what was merged, what failed and where that stayed, and every
 * child in short. Pure. */
#include "base/utf8.h"
#include "core/report/parts.h"
#include "core/report/quote.h"

#define SUMMARY_CHARS 500

static void add_name(const struct agent *child, struct buf *out)
{
    quote_line(out, child->contract.agent.name, PARTS_LINE);
    buf_printf(out, " (%.*s)", STR_FMT(child->id));
}

/* Who gates the run, and with what end. */
static void add_gate(const struct run *run, struct buf *out)
{
    uint32_t gates = 0, failed = 0;
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        gates += child->contract.outputs.gate == GATE_RUN;
        failed += report_fails_gate(child);
    }
    if (gates == 0)
        buf_text(out, "- gate: no child gates the run\n");
    else if (failed == 0)
        buf_printf(out, "- gate: passed by %u children\n", gates);
    else
        buf_printf(out, "- gate: failed by %u of %u children\n", failed, gates);
}

static void add_totals(const struct run *run, struct buf *out)
{
    uint32_t counts[OUTCOME_CANCELLED + 1] = {0};
    for (uint32_t no = 1; no < run_agent_count(run); no++)
        counts[run_agent(run, no)->outcome]++;
    buf_printf(out, "- children: %u", run_agent_count(run) - 1);
    for (int outcome = OUTCOME_NONE; outcome <= OUTCOME_CANCELLED; outcome++)
        if (counts[outcome] > 0)
            buf_printf(out, ", %u %s", counts[outcome],
                       outcome == OUTCOME_NONE ? "open" : outcome_text((enum outcome)outcome));
    buf_char(out, '\n');
}

static void add_failed(const struct run *run, struct buf *out)
{
    const char *heading = "\n## Failed children\n\n";
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        if (child->phase != PHASE_DONE || ending_worked(child->outcome))
            continue;
        buf_text(out, heading);
        heading = "";
        buf_text(out, "- ");
        add_name(child, out);
        buf_printf(out, "%s: %s: ", report_fails_gate(child) ? ", gates the run" : "",
                   outcome_text(child->outcome));
        quote_line(out, child->error, SUMMARY_CHARS);
        buf_char(out, '\n');
    }
}

/* What was merged, or what was not and stayed: by parents, in the order in which their children are merged. */
static void add_work(const struct run *run, const char *heading, const char *wanted,
                     struct buf *out)
{
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct tree *tree = run_agent(run, no)->tree;
        for (size_t i = 0; tree != NULL && i < tree->child_count; i++) {
            const struct agent *child = run_agent(run, tree->children[i]);
            if (!str_is(report_work(child), wanted))
                continue;
            buf_printf(out, "%s\n", heading);
            heading = "";
            add_name(child, out);
            buf_printf(out, ", files: %zu\n\n", child->files_modified.n);
            parts_work(child, out);
        }
    }
}

static void add_children(const struct run *run, struct buf *out)
{
    struct arena arena;
    arena_init(&arena);
    buf_text(out, "\n## Children\n");
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        struct str said = child->response.n > 0 ? child->response : child->error;
        buf_text(out, "\n### ");
        quote_line(out, child->contract.step.title, PARTS_LINE);
        buf_text(out, "\n\n- agent: ");
        add_name(child, out);
        buf_printf(out, "\n- outcome: %s\n", outcome_text(child->outcome));
        parts_spent(child, out);
        parts_refused(child, out);
        struct report_input input = report_input_of(child);
        parts_input(&input, out);
        if (report_stands_alone(child)) {
            buf_text(out, "- report: ");
            quote_line(out, report_path(run, child, &arena), SIZE_MAX);
            buf_char(out, '\n');
        }
        if (said.n > 0) {
            buf_char(out, '\n');
            quote_block(out, utf8_cut_chars(said, SUMMARY_CHARS));
        }
    }
    arena_release(&arena);
}

static void add_result_place(const struct run *run, const struct agent *root, struct buf *out)
{
    struct str work = report_work(root);
    if (str_is(work, "in_place"))
        buf_text(out, "- result: in the workspace's files\n");
    if (!str_is(work, "kept"))
        return;
    buf_text(out, "- result: on branch ");
    quote_line(out, root->tree->kept, PARTS_LINE);
    buf_printf(out, "; take it over with `cadre apply %.*s`\n", STR_FMT(run_id(run)));
}

void report_run_markdown(const struct run *run, struct buf *out)
{
    const struct agent *root = run_agent(run, 0);
    buf_printf(out, "# Run %.*s\n\n", STR_FMT(run_id(run)));
    if (root == NULL)
        return;
    buf_printf(out, "- status: %s", run_status_text(run_state(run)));
    if (run_outcome(run) != OUTCOME_NONE)
        buf_printf(out, " (outcome %s)", outcome_text(run_outcome(run)));
    buf_char(out, '\n');
    add_gate(run, out);
    add_totals(run, out);
    parts_spent(root, out);
    parts_refused(root, out);
    struct report_input input = report_input_of_run(run);
    parts_input(&input, out);
    add_result_place(run, root, out);
    parts_text("## Task", root->objective, out);
    parts_text("## Result", root->response, out);
    if (run_outcome(run) != OUTCOME_COMPLETED)
        parts_text("## Error", root->error, out);
    add_failed(run, out);
    add_work(run, "\n## Kept on branches\n", "kept", out);
    add_work(run, "\n## Merged, in this order\n", "merged", out);
    parts_evidence(root, out);
    if (run_agent_count(run) > 1)
        add_children(run, out);
}
