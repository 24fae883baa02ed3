/* `cadre tree`: the agents of a stored run. The log is folded, so the tree shows what the run itself would know. */
#include "cli/command.h"
#include "cli/history.h"
#include "cli/view.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_tree = {
    .name = "tree",
    .summary = "show the agents of a run as a tree",
    .usage = "RUN",
    .example = "cadre tree last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static const char *const state_words[TREE_STATE_COUNT] = {
    [TREE_WAITING] = "waiting",     [TREE_WORKING] = "working", [TREE_ASKING] = "asking",
    [TREE_DONE] = "done",           [TREE_REFUSED] = "done",    [TREE_FAILED] = "failed",
    [TREE_CANCELLED] = "cancelled",
};

static void print_json(struct output *output, const struct view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct view_agent *agent = &view->agents[i];
        struct buf line;
        struct jw w;
        buf_init(&line, 65536);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "agent");
        jw_kint(&w, "no", (int64_t)i);
        jw_ktext(&w, "id", agent->id);
        jw_key(&w, "parent_id");
        if (i > 0)
            jw_str(&w, view_id(view, agent->parent_no));
        else
            jw_null(&w);
        jw_ktext(&w, "name", agent->name);
        jw_ktext(&w, "role", agent->role);
        jw_ktext(&w, "state", state_words[agent->state]);
        jw_ktext(&w, "activity", agent->activity);
        jw_kint(&w, "tool_calls", agent->tool_calls);
        jw_kint(&w, "refused", agent->refused);
        jw_key(&w, "tool_limit");
        if (agent->tool_limit >= 0)
            jw_int(&w, agent->tool_limit);
        else
            jw_null(&w);
        jw_kint(&w, "tokens", agent->tokens);
        jw_key(&w, "cost_usd");
        if (agent->cost_nano >= 0)
            jw_real(&w, (double)agent->cost_nano / 1e9);
        else
            jw_null(&w);
        if (agent->cost_most_nano > agent->cost_nano) {
            jw_key(&w, "at_most");
            jw_object(&w);
            jw_key(&w, "cost_usd");
            jw_real(&w, (double)agent->cost_most_nano / 1e9);
            jw_end_object(&w);
        }
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
    }
}

static void print_tree(struct output *output, const struct view *view)
{
    struct buf text;
    int columns, lines;
    output_size(output, &columns, &lines);
    struct tree_style style = {columns, 0, output->colour, output->glyphs};
    buf_init(&text, SIZE_MAX / 4);
    view_render(view, 0, &style, &text);
    output_print(output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct view view;
    struct run *folded = NULL;
    struct err err = ERR_INIT;
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    view_init(&view);
    int result = history_fold(&history, &folded, &err);
    if (result == 0) {
        /* No clock: how long something takes is known only while it is watched. */
        view_update_all(&view, folded, 0);
        if (invocation->output.format == OUTPUT_JSON)
            print_json(&invocation->output, &view);
        else
            print_tree(&invocation->output, &view);
        run_free(folded);
    }
    view_release(&view);
    history_close(&history);
    return result == 0 ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
