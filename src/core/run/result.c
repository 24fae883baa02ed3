/* What the caller gets: the one result object of CONTRACT.md, and its text as spawn_agent shows it. Pure. */
#include <stdio.h>

#include "base/json.h"
#include "base/utf8.h"
#include "core/run/state.h"

#define SUMMARY_CHARS 500
#define NOTICES_MAX 16 /* files that a notice names */

static void print_files(struct jw *w, const char *key, const struct list *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->n; i++)
        jw_str(w, list->items[i]);
    jw_end_array(w);
}

static void print_clamps(struct jw *w, const struct contract *contract)
{
    jw_key(w, "clamps");
    contract_clamps_print(contract, w);
}

/* attempts for a child; for a run its children, with the failed ones by name. */
static void print_details(struct jw *w, const struct run *run, const struct agent *agent)
{
    jw_key(w, "details");
    jw_object(w);
    if (agent->no != 0) {
        jw_kint(w, "attempts", agent->attempt + 1);
    } else {
        jw_kint(w, "children", run->agent_count - 1);
        jw_key(w, "failed_children");
        jw_array(w);
        for (uint32_t no = 1; no < run->agent_count; no++) {
            const struct agent *child = run->agents[no];
            if (ending_worked(child->outcome))
                continue;
            jw_object(w);
            jw_kstr(w, "id", child->id);
            jw_kstr(w, "name", child->contract.agent.name);
            jw_ktext(w, "status", outcome_text(child->outcome));
            jw_kstr(w, "error", child->error);
            jw_end_object(w);
        }
        jw_end_array(w);
    }
    jw_end_object(w);
}

/* Dollars with nine decimals are exact for nano-dollars; trailing zeros are dropped. */
static void print_cost(struct jw *w, int64_t nano)
{
    char text[40];
    int n = snprintf(text, sizeof text, "%lld.%09lld", (long long)(nano / 1000000000),
                     (long long)(nano % 1000000000));
    while (n > 0 && text[n - 1] == '0')
        n--;
    if (n > 0 && text[n - 1] == '.')
        n--;
    jw_key(w, "cost_usd");
    jw_raw(w, (struct str){text, (size_t)n});
}

static int64_t duration(const struct deciding *d, const struct agent *agent)
{
    int64_t until = agent->finished_at != 0 ? agent->finished_at : d->now;
    return until - (agent->started_at != 0 ? agent->started_at : agent->created_at);
}

struct str result_object(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    struct buf out;
    struct jw w;
    bool success = ending->outcome == OUTCOME_COMPLETED ||
                   (agent->no != 0 && ending->outcome == OUTCOME_BUDGET_EXCEEDED);
    struct str said = ending->response.n > 0 ? ending->response : ending->error;
    buf_init(&out, SIZE_MAX / 4);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kstr(&w, "task_id", agent->no == 0 ? d->run->id : agent->task_id);
    jw_ktext(&w, "status", outcome_text(ending->outcome));
    jw_kbool(&w, "success", success);
    jw_kstr(&w, "response", ending->response);
    jw_kstr(&w, "summary", utf8_cut_chars(said, SUMMARY_CHARS));
    print_details(&w, d->run, agent);
    jw_kint(&w, "tool_calls", agent->account.tool_calls);
    jw_kint(&w, "tokens", agent->account.spent.tokens);
    print_cost(&w, agent->account.spent.cost_nano);
    jw_kint(&w, "context_size", agent->context_known + agent->context_new);
    print_files(&w, "files_read", &agent->files_read);
    print_files(&w, "files_modified", &agent->files_modified);
    jw_kint(&w, "duration_ms", duration(d, agent));
    jw_key(&w, "error");
    if (ending->outcome != OUTCOME_COMPLETED && ending->error.p != NULL)
        jw_str(&w, ending->error);
    else
        jw_null(&w);
    jw_kstr(&w, "model_requested", agent->contract.model.model);
    jw_kstr(&w, "model_effective", agent->model_effective);
    print_clamps(&w, &agent->contract);
    if (agent->evidence.n > 0)
        jw_kraw(&w, "checks", agent->evidence);
    if (agent->tree != NULL && agent->tree->kept.n > 0)
        jw_kstr(&w, "branch", agent->tree->kept);
    jw_end_object(&w);
    struct str json = keep(d, buf_view(&out));
    buf_release(&out);
    return json;
}

void result_notice(const struct run *run, const struct agent *agent, const char *opening,
                   struct buf *out)
{
    for (size_t i = 0; i < agent->clash_count && i < NOTICES_MAX; i++) {
        const struct clash *clash = &agent->clashes[i];
        const struct agent *other = run->agents[clash->no];
        buf_text(out, i == 0 ? opening : "; ");
        utf8_clean(out, clash->path, UTF8_ONE_LINE);
        buf_text(out, " was also modified by sub-agent ");
        utf8_clean(out, other->contract.agent.name, UTF8_ONE_LINE);
        buf_printf(out, " (%.*s)", STR_FMT(other->task_id));
    }
    if (agent->clash_count > NOTICES_MAX)
        buf_printf(out, "; and so were %zu more files", agent->clash_count - NOTICES_MAX);
    if (agent->clash_count > 0)
        buf_text(out, ". Check that both changes are there.");
}

struct str result_said(enum outcome outcome, struct str response)
{
    return response.n == 0 && outcome == OUTCOME_BUDGET_EXCEEDED
               ? STR("its budget was used up before it could answer")
               : response;
}

struct str result_text(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    static const char *const prefixes[] = {"",
                                           "",
                                           "[BUDGET EXCEEDED] ",
                                           "[TIMEOUT] Sub-agent failed: ",
                                           "[ERROR] Sub-agent failed: ",
                                           "[CANCELLED] Sub-agent failed: "};
    struct buf out;
    int64_t ms = duration(d, agent);
    bool worked = ending_worked(ending->outcome);
    buf_init(&out, SIZE_MAX / 4);
    buf_text(&out, prefixes[ending->outcome]);
    if (!worked) {
        buf_str(&out, ending->error);
        if (ending->response.n > 0)
            buf_text(&out, "\nWhat it had written so far: ");
    }
    buf_str(&out, result_said(ending->outcome, ending->response));
    buf_printf(&out, "\n\n(%s after %lld tool calls, %lld.%llds", worked ? "ended" : "Error",
               (long long)agent->account.tool_calls, (long long)(ms / 1000),
               (long long)(ms % 1000 / 100));
    if (agent->files_modified.n > 0) {
        buf_text(&out, "; modified:");
        for (size_t i = 0; i < agent->files_modified.n; i++)
            buf_printf(&out, "%s %.*s", i > 0 ? "," : "", STR_FMT(agent->files_modified.items[i]));
    }
    buf_text(&out, ")");
    result_notice(d->run, agent, "\nNotice: ", &out);
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}
