/* A child's report in Markdown: title, description, result, evidence and the receipt of its contract. Pure. */
#include "core/report/parts.h"
#include "core/report/quote.h"

static void add_line(const char *name, struct str text, struct buf *out)
{
    if (text.n == 0)
        return;
    buf_printf(out, "- %s: ", name);
    quote_line(out, text, PARTS_LINE);
    buf_char(out, '\n');
}

static void add_facts(const struct run *run, const struct agent *child, struct buf *out)
{
    const struct contract *contract = &child->contract;
    const struct agent *parent = run_agent(run, child->parent_no);
    add_line("agent", contract->agent.name, out);
    add_line("id", child->id, out);
    add_line("role", contract->agent.role, out);
    add_line("parent", parent->no == 0 ? STR("root") : parent->contract.agent.name, out);
    add_line("run", run_id(run), out);
    buf_printf(out, "- step: %lld\n", (long long)contract->parent.step_idx);
    buf_printf(out, "- outcome: %s (%s)\n", outcome_text(child->outcome), life_text(child->life));
    buf_printf(out, "- gate: %s\n", contract->outputs.gate == GATE_RUN ? "run" : "parent");
    add_line("model asked", contract->model.model, out);
    add_line("model that answered", child->model_effective, out);
    parts_spent(child, out);
    parts_refused(child, out);
    struct report_input input = report_input_of(child);
    parts_input(&input, out);
    parts_work(child, out);
}

static void add_criteria(const struct list *criteria, struct buf *out)
{
    if (criteria->n > 0)
        buf_text(out, "\n## Success criteria\n\n");
    for (size_t i = 0; i < criteria->n; i++) {
        buf_text(out, "- ");
        quote_line(out, criteria->items[i], SIZE_MAX);
        buf_char(out, '\n');
    }
}

static void add_receipt(const struct contract *contract, struct buf *out)
{
    buf_printf(out, "\n## Receipt\n\n- door: %s\n", door_text(contract->receipt.door));
    add_line("prompt", contract->receipt.prompt_hash, out);
    for (size_t i = 0; i < contract->receipt.clamp_count; i++) {
        const struct clamp *clamp = &contract->receipt.clamps[i];
        buf_text(out, "- narrowed: ");
        quote_line(out, clamp->field, PARTS_LINE);
        buf_text(out, " asked ");
        quote_line(out, clamp->asked, PARTS_LINE);
        buf_text(out, " got ");
        quote_line(out, clamp->got, PARTS_LINE);
        buf_text(out, " by ");
        quote_line(out, clamp->by, PARTS_LINE);
        buf_char(out, '\n');
    }
}

void report_child_markdown(const struct run *run, uint32_t no, struct buf *out)
{
    const struct agent *child = run_agent(run, no);
    const struct contract *contract = &child->contract;
    buf_text(out, "# ");
    quote_line(out, contract->step.title, PARTS_LINE);
    buf_text(out, "\n\n");
    add_facts(run, child, out);
    parts_text("## Description", contract->step.description, out);
    add_criteria(&contract->step.success_criteria, out);
    parts_text("## Result", child->response, out);
    if (child->outcome != OUTCOME_COMPLETED)
        parts_text("## Error", child->error, out);
    parts_evidence(child, out);
    add_receipt(contract, out);
}
