/* `cadre show`: one run, as a person wants to read it. */
#include "cli/command.h"
#include "cli/ending.h"
#include "cli/history.h"
#include "cli/text.h"
#include "core/report/report.h"
#include "os/clock.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"report", NULL, "the run's report with those of its children, as Markdown"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_show = {
    .name = "show",
    .summary = "show a run: task, status, cost, children, result",
    .usage = "RUN [--report]",
    .details = "--report prints what each child was asked for, what it brought and what shows it: "
               "files, checks, costs, and what\n"
               "its contract narrowed. With --json it is one object; each child's report is in it "
               "whole.\n"
               "`input` is what was sent to models: how much of it the provider had in its prompt "
               "cache, and what that saved\n"
               "against the price of input that is not cached.",
    .example = "cadre show last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static void show_field(struct output *output, const char *name, struct str value)
{
    output_print(output, "%-10s ", name);
    output_clean(output, value, UTF8_ONE_LINE);
    output_print(output, "\n");
}

static void show_times(struct output *output, const struct stored_run *row)
{
    struct buf text;
    buf_init(&text, 256);
    text_date(&text, row->started_at);
    if (row->finished_at >= 0) {
        buf_text(&text, ", took ");
        text_duration(&text, row->finished_at - row->started_at);
    }
    show_field(output, "started", buf_view(&text));
    buf_release(&text);
}

static void show_spending(struct output *output, const struct js *result)
{
    struct buf text;
    if (js_kind(result) != JS_OBJECT)
        return;
    buf_init(&text, 256);
    if (text_spent(&text, result))
        buf_text(&text, ", ");
    text_tokens(&text, js_get_int(result, "tokens", 0));
    buf_printf(&text, " tokens, %lld tool calls of the root",
               (long long)js_get_int(result, "tool_calls", 0));
    show_field(output, "spent", buf_view(&text));
    buf_release(&text);
}

static void show_refused(struct output *output, const struct js *result)
{
    const struct js *refused = js_get(result, "refused"), *reasons = js_get(refused, "reasons");
    int64_t count = js_get_int(refused, "count", 0);
    struct buf text;
    if (count == 0)
        return;
    buf_init(&text, 65536);
    buf_printf(&text, "%lld call%s", (long long)count, count == 1 ? "" : "s");
    for (size_t i = 0; i < js_count(reasons); i++)
        buf_printf(&text, "%s%.*s", i == 0 ? ": " : "; ", STR_FMT(js_str(js_at(reasons, i))));
    show_field(output, "refused", buf_view(&text));
    buf_release(&text);
}

/* NULL where the log does not fold: the rest is shown, and `cadre verify` says what is wrong with it. */
static struct run *read_folded(struct history *history)
{
    struct run *folded = NULL;
    struct err ignored = ERR_INIT;
    return history_fold(history, &folded, &ignored) == 0 ? folded : NULL;
}

static void show_input(struct output *output, const struct run *folded)
{
    struct buf text;
    if (folded == NULL)
        return;
    struct report_input input = report_input_of_run(folded);
    if (input.tokens == 0)
        return;
    buf_init(&text, 256);
    report_input_text(&input, &text);
    show_field(output, "input", buf_view(&text));
    buf_release(&text);
}

static void show_notices(struct output *output, const struct run *folded)
{
    const struct str *notices = NULL;
    size_t count = folded != NULL ? run_notices(folded, &notices) : 0;
    for (size_t i = 0; i < count; i++)
        show_field(output, "notice", notices[i]);
}

static void add_notices(struct jw *w, const struct run *folded)
{
    const struct str *notices;
    size_t count = run_notices(folded, &notices);
    jw_key(w, "notices");
    jw_array(w);
    for (size_t i = 0; i < count; i++)
        jw_str(w, notices[i]);
    jw_end_array(w);
}

/* " 72 % cached", where that was told. */
static void add_cached(struct buf *line, const struct run *folded, size_t no)
{
    if (folded == NULL || no >= run_agent_count(folded))
        return;
    const struct cache_use *cache = &run_agent(folded, (uint32_t)no)->cache;
    if (cache->input > 0)
        buf_printf(line, "  %3lld %% cached", (long long)(cache->read * 100 / cache->input));
}

static void add_input(struct jw *w, const struct report_input *input)
{
    jw_key(w, "input");
    report_input_json(input, w);
}

/* How each child ended, by agent number: from the events that closed them. */
struct ends {
    struct arena arena;
    struct end {
        struct str status, summary;
        int64_t tokens, tool_calls, refused;
    } * of;
    size_t count;
};

static int take_end(void *user, const struct stored_event *event)
{
    struct ends *ends = user;
    struct err ignored = ERR_INIT;
    if (!str_is(event->row.type, "agent.subagent_closed") || event->row.payload.p == NULL ||
        event->row.agent_no >= ends->count)
        return 0;
    struct js *payload = js_parse(event->row.payload, &ignored);
    const struct js *result = js_get(payload, "result");
    ends->of[event->row.agent_no] = (struct end){
        .status = arena_copy(&ends->arena, js_get_str(result, "status")),
        .summary = arena_copy(&ends->arena, js_get_str(result, "summary")),
        .tokens = js_get_int(result, "tokens", 0),
        .tool_calls = js_get_int(result, "tool_calls", 0),
        .refused = js_get_int(js_get(result, "refused"), "count", 0),
    };
    js_free(payload);
    return 0;
}

static int read_ends(struct history *history, size_t agent_count, struct ends *ends,
                     struct err *err)
{
    arena_init(&ends->arena);
    ends->count = agent_count;
    ends->of = arena_alloc(&ends->arena, agent_count * sizeof *ends->of);
    return history->store->ops->read(history->store, id_str(&history->run_id), 0, STORE_ALL_AGENTS,
                                     0, take_end, ends, err);
}

static void show_children(struct output *output, const struct history_agents *agents,
                          const struct ends *ends, const struct run *folded)
{
    if (agents->count <= 1)
        return;
    output_print(output, "children\n");
    for (size_t i = 1; i < agents->count; i++) {
        const struct stored_agent *agent = &agents->agents[i];
        const struct end *end = &ends->of[i];
        struct buf line;
        buf_init(&line, 65536);
        buf_text(&line, "  ");
        text_column(&line, agent->name, 20, ELLIPSIS_UTF8);
        buf_text(&line, "  ");
        text_column(&line, end->status.n > 0 ? end->status : agent->status, 17, ELLIPSIS_UTF8);
        if (end->status.n > 0) {
            buf_printf(&line, " %3lld calls  ", (long long)end->tool_calls);
            text_tokens(&line, end->tokens);
            buf_text(&line, " tokens");
            if (end->refused > 0)
                buf_printf(&line, "  %lld refused", (long long)end->refused);
            add_cached(&line, folded, i);
        }
        struct str text = agent->error.n > 0 ? agent->error : end->summary;
        if (text.n > 0) {
            buf_text(&line, "  ");
            text_cut(&line, text, 80, ELLIPSIS_UTF8);
        }
        output_print(output, "%.*s\n", STR_FMT(buf_view(&line)));
        buf_release(&line);
    }
}

static void show_text(struct output *output, const struct stored_run *row, const struct js *result,
                      const struct history_agents *agents, const struct ends *ends,
                      const struct run *folded, const char *head)
{
    struct str response = js_get_str(result, "response");
    struct str outcome = js_get_str(result, "status");
    show_field(output, "run", row->run_id);
    show_field(output, "task", row->task);
    show_field(output, "status", row->status);
    if (outcome.n > 0 && !str_eq(outcome, row->status))
        show_field(output, "outcome", outcome);
    if (row->error.n > 0)
        show_field(output, "error", row->error);
    show_field(output, "model", row->model);
    show_field(output, "workspace", row->workspace_path);
    if (js_get_str(result, "branch").n > 0)
        show_field(output, "branch", js_get_str(result, "branch"));
    show_times(output, row);
    show_spending(output, result);
    show_refused(output, result);
    show_input(output, folded);
    show_notices(output, folded);
    output_print(output, "%-10s %llu, head %s\n", "events", (unsigned long long)row->last_seq,
                 head);
    show_children(output, agents, ends, folded);
    if (response.n > 0) {
        output_print(output, "\n");
        output_clean(output, response, UTF8_LINES);
    }
    if (str_is(row->status, "running")) {
        output_print(output, "\nIt is at work in another process (");
        output_clean(output, row->owner, UTF8_ONE_LINE);
        output_print(output, "). Follow it: cadre events %.*s --follow\n", STR_FMT(row->run_id));
    } else if (str_is(row->status, "stopped") || str_is(row->status, "parked")) {
        output_print(output, "\nNo process works on it; " ENDING_CHOICES "\n", STR_FMT(row->run_id),
                     STR_FMT(row->run_id));
    } else {
        bool can_be_applied =
            js_get_str(result, "branch").n > 0 && str_is(row->status, "completed");
        output_print(output, "\nnext: cadre %s %.*s\n", can_be_applied ? "apply" : "events",
                     STR_FMT(row->run_id));
    }
}

static void show_json(struct output *output, const struct stored_run *row,
                      const struct history_agents *agents, const struct ends *ends,
                      const struct run *folded, const char *head)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "run");
    jw_kstr(&w, "run_id", row->run_id);
    jw_kstr(&w, "status", row->status);
    jw_kstr(&w, "task", row->task);
    jw_kstr(&w, "model", row->model);
    jw_kstr(&w, "workspace_path", row->workspace_path);
    jw_kstr(&w, "session_id", row->session_id);
    jw_kstr(&w, "user_id", row->user_id);
    jw_kint(&w, "started_at", row->started_at);
    jw_kint(&w, "finished_at", row->finished_at);
    jw_kint(&w, "events", (int64_t)row->last_seq);
    jw_ktext(&w, "head", head);
    jw_kstr(&w, "error", row->error);
    jw_kstr(&w, "owner", row->owner);
    jw_key(&w, "children");
    jw_array(&w);
    for (size_t i = 1; i < agents->count; i++) {
        const struct stored_agent *agent = &agents->agents[i];
        jw_object(&w);
        jw_kstr(&w, "id", agent->id);
        jw_kstr(&w, "parent_id", agent->parent_id);
        jw_kstr(&w, "name", agent->name);
        jw_kstr(&w, "status", agent->status);
        jw_kstr(&w, "outcome", ends->of[i].status);
        jw_kstr(&w, "summary", ends->of[i].summary);
        jw_kstr(&w, "error", agent->error);
        if (folded != NULL && i < run_agent_count(folded)) {
            struct report_input input = report_input_of(run_agent(folded, (uint32_t)i));
            add_input(&w, &input);
        }
        jw_end_object(&w);
    }
    jw_end_array(&w);
    if (folded != NULL) {
        struct report_input input = report_input_of_run(folded);
        add_input(&w, &input);
        add_notices(&w, folded);
    }
    jw_kraw(&w, "result", row->result_json.n > 0 ? row->result_json : STR("null"));
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static enum exit_code show_report(struct invocation *invocation, struct history *history)
{
    struct run *folded = NULL;
    struct err err = ERR_INIT;
    struct buf text;
    if (history_fold(history, &folded, &err) != 0)
        return command_fail(invocation, &err);
    buf_init(&text, SIZE_MAX / 4);
    if (invocation->output.format == OUTPUT_JSON) {
        report_run_json(folded, &text);
        output_json(&invocation->output, &text);
    } else {
        report_run_markdown(folded, &text);
        output_clean(&invocation->output, buf_view(&text), UTF8_LINES);
    }
    buf_release(&text);
    run_free(folded);
    return EXIT_CODE_DONE;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct history_run row = {0};
    struct history_agents agents = {0};
    struct ends ends = {0};
    struct hash hash;
    uint64_t seq;
    char head[HASH_HEX + 1];
    struct err err = ERR_INIT;
    struct js *result = NULL;
    enum exit_code code = EXIT_CODE_DONE;
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    if (arguments_has(&invocation->arguments, "report")) {
        code = show_report(invocation, &history);
        history_close(&history);
        return code;
    }
    if (history_run(&history, &row, &err) != 0 || history_agents(&history, &agents, &err) != 0 ||
        read_ends(&history, agents.count, &ends, &err) != 0 ||
        history.store->ops->head(history.store, id_str(&history.run_id), &seq, &hash, &err) != 0) {
        code = command_fail(invocation, &err);
        goto out;
    }
    hash_hex(&hash, head);
    if (row.run.result_json.n > 0)
        result = js_parse(row.run.result_json, &err);
    struct run *folded = read_folded(&history);
    if (invocation->output.format == OUTPUT_JSON)
        show_json(&invocation->output, &row.run, &agents, &ends, folded, head);
    else
        show_text(&invocation->output, &row.run, result, &agents, &ends, folded, head);
    if (folded != NULL)
        run_free(folded);
    js_free(result);
out:
    arena_release(&ends.arena);
    history_agents_release(&agents);
    history_run_release(&row);
    history_close(&history);
    return code;
}
