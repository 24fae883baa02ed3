/* From live agents to rows of the tree. */
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/text.h"

#define AGENTS_MAX 1000000

void view_init(struct view *view)
{
    *view = (struct view){0};
}

void view_release(struct view *view)
{
    free(view->agents);
    *view = (struct view){0};
}

/* A cleaned copy that fits. */
static void copy_clean(char *out, size_t size, struct str text)
{
    struct buf clean;
    buf_init(&clean, 8192);
    utf8_clean(&clean, utf8_cut(text, 2048), UTF8_ONE_LINE);
    struct str cut = utf8_cut(buf_view(&clean), size - 1);
    memcpy(out, cut.p, cut.n);
    out[cut.n] = '\0';
    buf_release(&clean);
}

static struct view_agent *agent_at(struct view *view, uint32_t no)
{
    if (no >= AGENTS_MAX)
        return NULL;
    if (no >= view->capacity) {
        size_t capacity = view->capacity > 0 ? view->capacity : 16;
        while (capacity <= no)
            capacity *= 2;
        struct view_agent *grown = realloc(view->agents, capacity * sizeof *grown);
        if (grown == NULL)
            return NULL;
        memset(grown + view->capacity, 0, (capacity - view->capacity) * sizeof *grown);
        view->agents = grown;
        view->capacity = capacity;
    }
    if (no >= view->count)
        view->count = (size_t)no + 1;
    return &view->agents[no];
}

static const struct call *call_in(const struct agent *agent, enum call_state state)
{
    for (size_t i = 0; i < agent->call_count; i++) {
        if (agent->calls[i].state == state)
            return &agent->calls[i];
    }
    return NULL;
}

/* A person decides whether it goes on; what runs already goes on meanwhile. */
static void describe_pause(const struct agent *agent, struct view_agent *out, struct buf *text)
{
    out->state = TREE_ASKING;
    buf_printf(text, "waiting for an answer: go on after %lld tool calls?",
               (long long)agent->account.tool_calls);
}

static void describe_plan(const struct plan_progress *plan, struct view_agent *out,
                          struct buf *text)
{
    if (plan->blocked > 0)
        out->state = TREE_ASKING;
    buf_printf(text, "plan: %zu of %zu steps done", plan->completed, plan->steps);
    if (plan->in_progress > 0)
        buf_printf(text, ", %zu at work", plan->in_progress);
    if (plan->failed > 0)
        buf_printf(text, ", %zu failed or skipped", plan->failed);
    if (plan->blocked > 0)
        buf_printf(text, ", %zu waiting for approval", plan->blocked);
}

/* What an agent does while calls are worked on; several at once are counted. */
static void describe_calls(const struct agent *agent, struct view_agent *out, struct buf *text)
{
    const struct call *asked = call_in(agent, CALL_ASKED);
    const struct call *running = call_in(agent, CALL_RUNNING);
    struct plan_progress plan;
    if (running == NULL)
        running = call_in(agent, CALL_PREPARING);
    if (asked != NULL && str_is(asked->call.name, "ask_user")) {
        out->state = TREE_ASKING;
        buf_text(text, "waiting for your answer");
    } else if (asked != NULL) {
        out->state = TREE_ASKING;
        buf_printf(text, "waiting for approval: %.*s ", STR_FMT(asked->call.name));
        text_gist(text, asked->call.arguments);
    } else if (running != NULL && call_plan_progress(running, &plan)) {
        describe_plan(&plan, out, text);
    } else if (running != NULL && running->awaits != CALL_WORKS) {
        buf_printf(text, "waiting for %zu %s", agent->children_open,
                   agent->children_open == 1 ? "child" : "children");
    } else if (running != NULL) {
        buf_printf(text, "%.*s ", STR_FMT(running->call.name));
        text_gist(text, running->call.arguments);
        if (agent->calls_open > 1)
            buf_printf(text, " and %zu more", agent->calls_open - 1);
    } else if (agent->pause == PAUSE_ASKED) {
        describe_pause(agent, out, text);
    } else {
        buf_text(text, "working on its calls");
    }
}

static void describe_end(const struct agent *agent, struct view_agent *out, struct buf *text)
{
    static const enum tree_state states[] = {
        [OUTCOME_NONE] = TREE_WORKING,           [OUTCOME_COMPLETED] = TREE_DONE,
        [OUTCOME_BUDGET_EXCEEDED] = TREE_FAILED, [OUTCOME_TIMEOUT] = TREE_FAILED,
        [OUTCOME_ERROR] = TREE_FAILED,           [OUTCOME_CANCELLED] = TREE_CANCELLED,
    };
    out->state = states[agent->outcome];
    /* A child whose budget ran out and whose work was integrated counts as completed. */
    if (agent->outcome == OUTCOME_BUDGET_EXCEEDED && agent->life == LIFE_COMPLETED)
        out->state = TREE_DONE;
    if (out->state == TREE_DONE && agent->refused.count > 0)
        out->state = TREE_REFUSED;
    if (agent->outcome == OUTCOME_COMPLETED) {
        buf_text(text, "done");
        if (agent->refused.count > 0)
            buf_printf(text, ", %lld call%s refused,", (long long)agent->refused.count,
                       agent->refused.count == 1 ? "" : "s");
    } else {
        buf_text(text, outcome_text(agent->outcome));
        if (agent->error.n > 0 && !str_is(agent->error, outcome_text(agent->outcome)))
            buf_printf(text, ": %.*s", STR_FMT(utf8_cut(agent->error, 400)));
    }
    if (agent->finished_at > 0 && agent->started_at > 0) {
        buf_text(text, " in ");
        text_duration(text, agent->finished_at - agent->started_at);
    }
}

static const char *tree_leaving_text(const struct agent *agent)
{
    if (agent->tree->leaves == LEAVES_KEPT)
        return "its work is put away";
    return agent->tree->state == TREE_THERE ? "waiting to be merged" : "being merged";
}

static void describe(const struct agent *agent, struct view_agent *out)
{
    struct buf text;
    int64_t since = 0;
    char before[VIEW_TEXT];
    buf_init(&text, 8192);
    out->state = TREE_WORKING;
    switch (agent->phase) {
    case PHASE_NEW:
        since = 1;
        out->state = TREE_WAITING;
        buf_text(&text, agent->slot == SLOT_HELD ? "getting its files" : "waiting for a slot");
        break;
    case PHASE_READY:
        if (agent->pause == PAUSE_ASKED) {
            describe_pause(agent, out, &text);
            break;
        }
        since = 1;
        out->state = TREE_WAITING;
        buf_text(&text, agent->slot == SLOT_HELD ? "waiting for budget" : "waiting for a slot");
        break;
    case PHASE_ASKING:
        since = 1;
        buf_text(&text, agent->tries > 0 ? "asking the model again" : "asking the model");
        break;
    case PHASE_BACKOFF:
        since = 1;
        out->state = TREE_WAITING;
        buf_printf(&text, "waiting to ask the model again (%lld failed)", (long long)agent->tries);
        break;
    case PHASE_TOOLS:
        since = 1;
        describe_calls(agent, out, &text);
        break;
    case PHASE_JOINING:
        since = 1;
        buf_printf(&text, "has answered; waiting for %zu open %s", agent->children_open,
                   agent->children_open == 1 ? "job" : "jobs");
        break;
    case PHASE_CHECKING:
        since = 1;
        buf_text(&text, "has answered; running its checks");
        break;
    case PHASE_LEAVING:
        since = 1;
        buf_text(&text, tree_leaving_text(agent));
        break;
    case PHASE_DONE:
        describe_end(agent, out, &text);
        break;
    }
    if (agent->stopping != OUTCOME_NONE && agent->phase != PHASE_DONE)
        buf_text(&text, ", winding down");
    memcpy(before, out->activity, sizeof before);
    copy_clean(out->activity, sizeof out->activity, buf_view(&text));
    /* The clock goes on while the activity reads the same, in one turn. */
    if (since == 0)
        out->since = 0;
    else if (out->since == 0 || strcmp(before, out->activity) != 0 ||
             out->turn != agent->account.turns)
        out->since = -1;
    out->turn = agent->account.turns;
    buf_release(&text);
}

static void update_one(struct view *view, const struct run *run, uint32_t no, int64_t now)
{
    const struct agent *agent = run_agent(run, no);
    struct view_agent *out = agent != NULL ? agent_at(view, no) : NULL;
    if (out == NULL)
        return;
    const struct model_settings *model =
        settings_model(run_settings(run), agent->contract.model.name);
    out->parent_no = agent->parent_no;
    /* These never change. */
    if (out->id[0] == '\0') {
        copy_clean(out->id, sizeof out->id, agent->id);
        copy_clean(out->name, sizeof out->name, no == 0 ? STR("root") : agent->contract.agent.name);
        copy_clean(out->role, sizeof out->role, no == 0 ? STR_NONE : agent->contract.agent.role);
    }
    out->tool_calls = agent->account.tool_calls;
    out->refused = agent->refused.count;
    out->tool_limit = agent->account.limits.tool_calls;
    struct amount billed = budget_billed(&agent->account);
    bool priced = agent->account.prices == PRICES_KNOWN && model != NULL && model_is_priced(model);
    out->tokens = billed.tokens;
    out->cost_nano = priced ? billed.cost_nano : -1;
    out->cost_most_nano = priced ? agent->account.spent.cost_nano : -1;
    describe(agent, out);
    if (out->since < 0)
        out->since = now;
    if (agent->phase != PHASE_ASKING || out->since == now)
        out->tail[0] = out->waiting[0] = '\0';
}

void view_update(struct view *view, const struct run *run, uint32_t agent_no, int64_t now)
{
    const struct agent *agent;
    for (uint32_t no = agent_no; (agent = run_agent(run, no)) != NULL; no = agent->parent_no) {
        update_one(view, run, no, now);
        if (no == 0 || agent->parent_no >= no)
            break;
    }
}

void view_update_all(struct view *view, const struct run *run, int64_t now)
{
    for (uint32_t no = 0; no < run_agent_count(run); no++)
        update_one(view, run, no, now);
}

static void add_to_tail(struct view_agent *agent, struct str text)
{
    struct buf joined, clean;
    buf_init(&joined, 8192);
    buf_init(&clean, 8192);
    /* Only the end is ever seen. */
    if (text.n > 1024) {
        text.p += text.n - 1024;
        text.n = 1024;
    }
    buf_text(&joined, agent->tail);
    buf_str(&joined, text);
    utf8_clean(&clean, buf_view(&joined), UTF8_ONE_LINE);
    struct str tail = buf_view(&clean);
    while (tail.n > VIEW_TEXT - 1) {
        uint32_t code;
        size_t n = utf8_next(tail, &code);
        tail = (struct str){tail.p + n, tail.n - n};
    }
    memcpy(agent->tail, tail.p, tail.n);
    agent->tail[tail.n] = '\0';
    buf_release(&joined);
    buf_release(&clean);
}

static void stream(struct view *view, uint32_t agent_no, struct str text, bool reasons)
{
    if (agent_no >= view->count)
        return;
    struct view_agent *agent = &view->agents[agent_no];
    if (agent->reasons != reasons)
        agent->tail[0] = '\0';
    agent->reasons = reasons;
    add_to_tail(agent, text);
}

void view_delta(struct view *view, uint32_t agent_no, struct str text)
{
    stream(view, agent_no, text, false);
}

void view_reasoning(struct view *view, uint32_t agent_no, struct str text)
{
    stream(view, agent_no, text, true);
}

void view_progress(struct view *view, uint32_t agent_no, struct str text)
{
    if (agent_no >= view->count)
        return;
    view->agents[agent_no].reasons = false;
    copy_clean(view->agents[agent_no].tail, sizeof view->agents[agent_no].tail, text);
}

void view_waiting(struct view *view, uint32_t agent_no, struct str reason, int64_t now)
{
    if (agent_no >= view->count)
        return;
    struct view_agent *agent = &view->agents[agent_no];
    /* The clock goes on when only the reason changes. */
    if (agent->waiting[0] == '\0')
        agent->waiting_since = now;
    copy_clean(agent->waiting, sizeof agent->waiting, reason);
}

bool view_knows(const struct view *view, uint32_t agent_no)
{
    return agent_no < view->count && view->agents[agent_no].id[0] != '\0';
}

struct str view_name(const struct view *view, uint32_t agent_no)
{
    return agent_no < view->count ? str_from(view->agents[agent_no].name) : STR("?");
}

struct str view_id(const struct view *view, uint32_t agent_no)
{
    return agent_no < view->count ? str_from(view->agents[agent_no].id) : STR("?");
}

static void describe_now(const struct view_agent *agent, int64_t now, struct buf *out)
{
    if (agent->waiting[0] != '\0') {
        buf_printf(out, "waiting for the provider (%s, ", agent->waiting);
        text_duration(out, now - agent->waiting_since);
        buf_char(out, ')');
        return;
    }
    buf_text(out, agent->activity);
    if (agent->since > 0) {
        buf_char(out, ' ');
        text_duration(out, now - agent->since);
    }
}

void view_render(const struct view *view, int64_t now, const struct tree_style *style,
                 struct buf *out)
{
    struct tree_row *rows = view->count > 0 ? calloc(view->count, sizeof *rows) : NULL;
    struct buf activities;
    if (rows == NULL)
        return;
    buf_init(&activities, SIZE_MAX / 4);
    /* Room for all of them at once: the rows point into it. */
    if (buf_reserve(&activities, view->count * (VIEW_TEXT + 32)) == NULL) {
        free(rows);
        return;
    }
    for (size_t i = 0; i < view->count; i++) {
        const struct view_agent *agent = &view->agents[i];
        size_t from = activities.n;
        describe_now(agent, now, &activities);
        rows[i] = (struct tree_row){
            .parent = agent->parent_no,
            .state = agent->waiting[0] != '\0' ? TREE_WAITING : agent->state,
            .name = str_from(agent->name),
            .role = str_from(agent->role),
            .activity = {activities.p + from, activities.n - from},
            .tool_calls = agent->tool_calls,
            .tool_limit = agent->tool_limit,
            .tokens = agent->tokens,
            .cost_nano = agent->cost_nano,
            .cost_most_nano = agent->cost_most_nano,
            .tail = str_from(agent->tail),
            .tail_is = agent->reasons ? TAIL_REASONING : TAIL_TEXT,
        };
    }
    tree_render(rows, view->count, style, out);
    buf_release(&activities);
    free(rows);
}
