/* A run's report as one JSON object, with the whole report of each child. Texts are as they are in the log: JSON needs no quotes but its
 * own. Pure. */
#include "core/contract/money.h"
#include "core/report/parts.h"

static void add_strings(struct jw *w, const char *key, struct list list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list.n; i++)
        jw_str(w, list.items[i]);
    jw_end_array(w);
}

static void add_text(struct jw *w, const char *key, struct str text)
{
    if (text.n > 0)
        jw_kstr(w, key, text);
}

static void add_evidence(struct jw *w, const struct agent *agent)
{
    jw_key(w, "evidence");
    jw_object(w);
    add_strings(w, "files_modified", files_list(&agent->files_modified));
    add_strings(w, "files_read", files_list(&agent->files_read));
    jw_kraw(w, "checks", agent->evidence.n > 0 ? agent->evidence : STR("[]"));
    jw_kint(w, "tool_calls", agent->account.tool_calls);
    jw_key(w, "refused");
    jw_object(w);
    jw_kint(w, "count", agent->refused.count);
    add_strings(w, "reasons", agent->refused.reasons);
    jw_end_object(w);
    jw_kint(w, "tokens", budget_billed(&agent->account).tokens);
    money_spent_json(w, &agent->account);
    struct report_input input = report_input_of(agent);
    jw_key(w, "input");
    report_input_json(&input, w);
    jw_kint(w, "duration_ms", parts_duration(agent));
    jw_kint(w, "attempts", agent->attempt + 1);
    jw_kstr(w, "model_requested", agent->contract.model.model);
    jw_kstr(w, "model_effective", agent->model_effective);
    jw_end_object(w);
}

/* What became of its files; nothing where it had none of its own. */
static void add_work(struct jw *w, const struct agent *agent)
{
    struct arena arena;
    struct str work = report_work(agent);
    if (work.n == 0)
        return;
    arena_init(&arena);
    jw_key(w, "work");
    jw_object(w);
    jw_kstr(w, "state", work);
    add_text(w, "strategy", agent->tree->strategy);
    add_text(w, "base_ref", agent->tree->base_ref);
    add_text(w, "merge_strategy", agent->tree->merge);
    add_text(w, "branch", agent->tree->kept);
    add_text(w, "command", report_command(agent, &arena));
    jw_end_object(w);
    arena_release(&arena);
}

static void add_receipt(struct jw *w, const struct contract *contract)
{
    jw_key(w, "receipt");
    jw_object(w);
    jw_ktext(w, "door", door_text(contract->receipt.door));
    jw_kstr(w, "prompt_hash", contract->receipt.prompt_hash);
    jw_key(w, "clamps");
    contract_clamps_print(contract, w);
    jw_end_object(w);
}

static void add_child(struct jw *w, const struct run *run, const struct agent *child)
{
    const struct contract *contract = &child->contract;
    struct arena arena;
    arena_init(&arena);
    jw_object(w);
    jw_kstr(w, "id", child->id);
    jw_kstr(w, "parent_id", run_agent(run, child->parent_no)->id);
    jw_kstr(w, "name", contract->agent.name);
    jw_kstr(w, "role", contract->agent.role);
    jw_kint(w, "step_idx", contract->parent.step_idx);
    jw_kstr(w, "title", contract->step.title);
    jw_kstr(w, "description", contract->step.description);
    add_strings(w, "success_criteria", contract->step.success_criteria);
    jw_ktext(w, "status", life_text(child->life));
    jw_ktext(w, "outcome", outcome_text(child->outcome));
    jw_ktext(w, "gate", contract->outputs.gate == GATE_RUN ? "run" : "parent");
    jw_kstr(w, "result", child->response);
    if (child->outcome != OUTCOME_COMPLETED)
        add_text(w, "error", child->error);
    add_evidence(w, child);
    add_work(w, child);
    add_receipt(w, contract);
    if (report_stands_alone(child))
        jw_kstr(w, "report_path", report_path(run, child, &arena));
    jw_end_object(w);
    arena_release(&arena);
}

static void add_gate(struct jw *w, const struct run *run)
{
    uint32_t failed = 0;
    jw_key(w, "gate");
    jw_object(w);
    jw_key(w, "failed_by");
    jw_array(w);
    for (uint32_t no = 1; no < run_agent_count(run); no++) {
        const struct agent *child = run_agent(run, no);
        if (!report_fails_gate(child))
            continue;
        jw_str(w, child->id);
        failed++;
    }
    jw_end_array(w);
    jw_kbool(w, "passed", failed == 0);
    jw_end_object(w);
}

void report_run_json(const struct run *run, struct buf *out)
{
    const struct agent *root = run_agent(run, 0);
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "type", "report");
    jw_kstr(&w, "run_id", run_id(run));
    jw_ktext(&w, "status", run_status_text(run_state(run)));
    if (root != NULL) {
        jw_ktext(&w, "outcome", outcome_text(run_outcome(run)));
        jw_kstr(&w, "task", root->objective);
        jw_kstr(&w, "result", root->response);
        if (run_outcome(run) != OUTCOME_COMPLETED)
            add_text(&w, "error", root->error);
        struct report_input input = report_input_of_run(run);
        jw_key(&w, "input");
        report_input_json(&input, &w);
        add_gate(&w, run);
        add_evidence(&w, root);
        add_work(&w, root);
        jw_key(&w, "children");
        jw_array(&w);
        for (uint32_t no = 1; no < run_agent_count(run); no++)
            add_child(&w, run, run_agent(run, no));
        jw_end_array(&w);
    }
    jw_end_object(&w);
}
