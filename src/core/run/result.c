/* What the caller gets: the one result object of CONTRACT.md, and its text as spawn_agent shows it. Pure. */
#include <stdio.h>

#include "base/json.h"
#include "base/utf8.h"
#include "core/contract/money.h"
#include "core/run/state.h"

#define SUMMARY_CHARS 500
#define NOTICES_MAX 16       /* files that a notice names */
#define FILES_LISTED 200     /* of each list, in the object; the report has all */
#define FILES_TOLD 20        /* in the text that a model reads */
#define FILE_BYTES 200       /* of one name in that text */
#define ERROR_BYTES 4000     /* of an error, in the text that a model reads */
#define CHILDREN_LISTED 1000 /* failed ones, in the object of a run */

/* The first of them, and how many there are where that is not all. */
static void print_files(struct jw *w, const char *key, const struct set *files)
{
    char count[32];
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < files->n && i < FILES_LISTED; i++)
        jw_str(w, files->items[i]);
    jw_end_array(w);
    snprintf(count, sizeof count, "%s_count", key);
    if (files->n > FILES_LISTED)
        jw_kint(w, count, (int64_t)files->n);
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
        size_t failed = 0;
        jw_kint(w, "children", run->agent_count - 1);
        jw_key(w, "failed_children");
        jw_array(w);
        for (uint32_t no = 1; no < run->agent_count; no++) {
            const struct agent *child = run->agents[no];
            if (ending_worked(child->outcome) || failed++ >= CHILDREN_LISTED)
                continue;
            jw_object(w);
            jw_kstr(w, "id", child->id);
            jw_kstr(w, "name", child->contract.agent.name);
            jw_ktext(w, "status", outcome_text(child->outcome));
            jw_kstr(w, "error", child->error);
            jw_end_object(w);
        }
        jw_end_array(w);
        if (failed > CHILDREN_LISTED)
            jw_kint(w, "failed_children_count", (int64_t)failed);
    }
    jw_end_object(w);
}

static void print_refused(struct jw *w, const struct agent *agent)
{
    jw_key(w, "refused");
    jw_object(w);
    jw_kint(w, "count", agent->refused.count);
    struct list reasons = agent->refused.reasons;
    reasons.state = LIST_SET;
    list_print(w, "reasons", &reasons);
    jw_end_object(w);
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
    jw_kint(&w, "tokens", budget_billed(&agent->account).tokens);
    money_spent_json(&w, &agent->account);
    print_refused(&w, agent);
    jw_kint(&w, "context_size", agent->context_known + agent->context_new);
    print_files(&w, "files_read", &agent->files_read);
    print_files(&w, "files_modified", &agent->files_modified);
    if (agent->files_read.n > FILES_LISTED || agent->files_modified.n > FILES_LISTED)
        jw_kstr(
            &w, "all_files",
            arena_printf(&d->out->arena, "cadre show %.*s --report --json", STR_FMT(d->run->id)));
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
    if (agent->refused.count == 0)
        return;
    buf_printf(out, "%s%lld call%s refused", agent->clash_count > 0 ? " " : opening,
               (long long)agent->refused.count,
               agent->refused.count == 1 ? " of this agent was" : "s of this agent were");
    for (size_t i = 0; i < agent->refused.reasons.n; i++)
        buf_printf(out, "%s%.*s", i == 0 ? ": " : "; ", STR_FMT(agent->refused.reasons.items[i]));
}

/* A model reads this, so it does not grow with the number of files. */
static void tell_modified(const struct set *files, struct buf *out)
{
    if (files->n == 0)
        return;
    buf_text(out, "; modified:");
    for (size_t i = 0; i < files->n && i < FILES_TOLD; i++) {
        struct str shown = utf8_cut(files->items[i], FILE_BYTES);
        buf_printf(out, "%s %.*s%s", i > 0 ? "," : "", STR_FMT(shown),
                   shown.n < files->items[i].n ? "…" : "");
    }
    if (files->n > FILES_TOLD)
        buf_printf(out, " and %zu more; the report lists all %zu", files->n - FILES_TOLD, files->n);
}

/* --- what a child says ------------------------------------------------------------------------------------------------------ */

/* "a3f9c1: OK" as in "[a3f9c1: OK]", or "TIMEOUT" as in "[TIMEOUT]". */
static bool is_heading(struct str inside)
{
    static const struct str ends[] = {STR(": OK"),      STR(": ERROR"), STR(": NOT FOUND"),
                                      STR(": RUNNING"), STR("ERROR"),   STR("TIMEOUT"),
                                      STR("CANCELLED"), STR("PARTIAL"), STR("BUDGET EXCEEDED")};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct str tail = {inside.p + inside.n - ends[i].n, ends[i].n};
        if (inside.n >= ends[i].n && str_eq(tail, ends[i]) && (i < 4 || inside.n == ends[i].n))
            return true;
    }
    return false;
}

static bool is_like_ours(struct str line)
{
    static const struct str starts[] = {STR("## Subtask "),   STR("## Summary"),
                                        STR("Notice: "),      STR("(ended after "),
                                        STR("(Error after "), STR("What it had written so far: ")};
    while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t')) {
        line.p++;
        line.n--;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (str_starts(line, starts[i]))
            return true;
    const char *end = line.n > 0 && line.p[0] == '[' ? memchr(line.p, ']', line.n) : NULL;
    return end != NULL && is_heading((struct str){line.p + 1, (size_t)(end - line.p) - 1});
}

struct str result_quoted(struct arena *arena, struct str text)
{
    struct buf out;
    size_t quoted = 0;
    buf_init(&out, SIZE_MAX / 4);
    for (struct str rest = text; rest.n > 0;) {
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '\n' && rest.p[n] != '\r')
            n++;
        struct str line = {rest.p, n};
        n += n < rest.n;
        if (is_like_ours(line)) {
            buf_char(&out, '\\');
            quoted++;
        }
        buf_add(&out, rest.p, n);
        rest.p += n;
        rest.n -= n;
    }
    struct str result = quoted > 0 ? arena_copy(arena, buf_view(&out)) : text;
    buf_release(&out);
    return result;
}

struct str result_said(struct deciding *d, const struct agent *agent, enum outcome outcome,
                       struct str response)
{
    struct str limit = agent->limit_reached;
    const char *colon = limit.n > 0 ? ": " : "";
    if (outcome != OUTCOME_BUDGET_EXCEEDED)
        return response;
    if (response.n == 0)
        return arena_printf(&d->out->arena, "its budget was used up before it could answer%s%.*s",
                            colon, STR_FMT(limit));
    return arena_printf(&d->out->arena, "%.*s\n\n(it stopped early: its budget was used up%s%.*s)",
                        STR_FMT(response), colon, STR_FMT(limit));
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
        struct str error = utf8_cut(ending->error, ERROR_BYTES);
        buf_str(&out, result_quoted(&d->out->arena, error));
        if (error.n < ending->error.n)
            buf_printf(&out, "… (%zu bytes; the report has all of it)", ending->error.n);
        if (ending->response.n > 0)
            buf_text(&out, "\nWhat it had written so far: ");
    }
    buf_str(&out, result_quoted(&d->out->arena,
                                result_said(d, agent, ending->outcome, ending->response)));
    buf_printf(&out, "\n\n(%s after %lld tool calls, %lld.%llds", worked ? "ended" : "Error",
               (long long)agent->account.tool_calls, (long long)(ms / 1000),
               (long long)(ms % 1000 / 100));
    tell_modified(&agent->files_modified, &out);
    buf_text(&out, ")");
    result_notice(d->run, agent, "\nNotice: ", &out);
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}
