/* What simulated models answer: text, broken calls, files, and every delegation door, with ids of their own children, of others' and of
 * nobody's. A model knows ids as a real one does: they stand in the run. */
#include "inside.h"

struct asked {
    struct chance *c;
    struct arena *arena;
    const struct run *run;
    const struct agent *agent;
    enum { ASKS_ANYTHING, ASKS_THE_SAME } wishes;
};

static int64_t below(const struct asked *a, int64_t n)
{
    return chance_below(a->c, n);
}

static bool perhaps(const struct asked *a, int64_t permille)
{
    return chance_permille(a->c, permille) != 0;
}

static bool reuses_results(const struct asked *a)
{
    return run_settings(a->run)->reuse_results == SWITCH_ON;
}

/* --- arguments ------------------------------------------------------------------------------------------------------------- */

/* Mostly one of its own children, preferably one that is open; sometimes somebody else's, sometimes nobody. */
static struct str some_id(const struct asked *a)
{
    uint32_t count = run_agent_count(a->run);
    if (count < 2 || perhaps(a, 60))
        return STR("0123456789ab");
    uint32_t at = (uint32_t)below(a, count - 1);
    struct str id = run_agent(a->run, 1 + at)->task_id;
    bool any = perhaps(a, 300);
    for (uint32_t i = 0; i < count - 1 && !perhaps(a, 20); i++) {
        const struct agent *agent = run_agent(a->run, 1 + (at + i) % (count - 1));
        if (agent->parent_no != a->agent->no)
            continue;
        id = agent->task_id;
        if (any || agent->life != LIFE_CLOSED)
            break;
    }
    return id;
}

static const char *some_role(const struct asked *a)
{
    static const char *const roles[] = {"researcher", "planner", "executor",
                                        "reviewer",   "tester",  "executor"};
    return perhaps(a, 30) ? "nobody" : roles[below(a, 6)];
}

static struct str role_argument(const struct asked *a, int64_t permille)
{
    return perhaps(a, permille) ? arena_printf(a->arena, ",\"role\":\"%s\"", some_role(a))
                                : STR("");
}

static struct str spawn_agent_arguments(const struct asked *a)
{
    if (perhaps(a, 80))
        return STR("{\"task\":\"\",\"max_tool_calls\":\"abc\"}");
    struct str role = role_argument(a, 250);
    const char *more = perhaps(a, 200)   ? ",\"context_files\":[\"f1\",\"f2\"]"
                       : perhaps(a, 200) ? ",\"budget\":{\"tokens\":4000,\"timeout_ms\":20000}"
                       : perhaps(a, 100) ? ",\"mode\":\"plan\""
                                         : "";
    return arena_printf(a->arena, "{\"task\":\"part %lld of %u\",\"max_tool_calls\":%lld%.*s%s}",
                        (long long)below(a, 1000), a->agent->no, (long long)(below(a, 6) + 1),
                        STR_FMT(role), more);
}

/* Always the same, for a child that can only read. */
static struct str look_arguments(const struct asked *a)
{
    return STR("{\"task\":\"look\",\"allowed_tools\":[\"read\"],\"max_tool_calls\":2}");
}

static struct str spawn_arguments(const struct asked *a)
{
    static const char *const more[] = {"",
                                       "",
                                       ",\"profile\":\"reader\"",
                                       ",\"profile\":\"pooled\"",
                                       ",\"profile\":\"counter\"",
                                       ",\"profile\":\"unheard of\"",
                                       ",\"tools\":\"read, write\",\"system_prompt\":\"Do.\"",
                                       ",\"context\":\"it is late\""};
    return arena_printf(a->arena, "{\"task\":\"job %lld\"%s}", (long long)below(a, 4),
                        more[below(a, 8)]);
}

static struct str await_arguments(const struct asked *a)
{
    if (perhaps(a, 350))
        return STR("{\"job_ids\":\"*\"}");
    struct str first = some_id(a), second = perhaps(a, 200) ? first : some_id(a);
    switch (below(a, 4)) {
    case 0:
        return arena_printf(a->arena, "{\"job_ids\":\"%.*s\"}", STR_FMT(first));
    case 1:
        return arena_printf(a->arena, "{\"job_ids\":[\"%.*s\",\"%.*s\"]}", STR_FMT(first),
                            STR_FMT(second));
    case 2:
        return arena_printf(a->arena, "{\"job_ids\":\"%.*s, %.*s,nobody,*\"}", STR_FMT(first),
                            STR_FMT(second));
    default:
        return perhaps(a, 200) ? STR("{\"job_ids\":\"\"}")
                               : arena_printf(a->arena, "{\"job_ids\":\"%.*s,%.*s\"}",
                                              STR_FMT(second), STR_FMT(first));
    }
}

static struct str fan_out_arguments(const struct asked *a)
{
    struct buf out;
    int64_t count = below(a, 5);
    buf_init(&out, 1 << 16);
    buf_text(&out, "{\"tasks\":[");
    for (int64_t i = 0; i < count; i++) {
        struct str role = role_argument(a, 400);
        buf_text(&out, i > 0 ? "," : "");
        if (perhaps(a, 60))
            buf_text(&out, perhaps(a, 500) ? "7" : "{\"task\":\"\"}");
        else if (perhaps(a, 100))
            buf_text(&out, "\"in few words\"");
        else if (reuses_results(a) && perhaps(a, 400))
            buf_text(&out, "{\"task\":\"look\",\"role\":\"planner\",\"max_tool_calls\":2}");
        else
            buf_printf(&out, "{\"task\":\"branch %lld\",\"max_tool_calls\":%lld%.*s}", (long long)i,
                       (long long)(1 + below(a, 4)), STR_FMT(role));
    }
    buf_text(&out, "]");
    if (perhaps(a, 500))
        buf_printf(&out, ",\"max_concurrent\":%lld", (long long)below(a, 4));
    buf_text(&out, "}");
    struct str text = arena_copy(a->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

static struct str delegate_task_arguments(const struct asked *a)
{
    struct buf out;
    int64_t count = perhaps(a, 50) ? 6 : 1 + below(a, 4);
    buf_init(&out, 1 << 16);
    buf_text(&out, "{\"plan\":\"a goal\",\"subtasks\":[");
    for (int64_t i = 0; i < count; i++) {
        buf_printf(&out, "%s{\"task\":\"step %lld\"", i > 0 ? "," : "", (long long)i);
        if (i > 0 && perhaps(a, 400))
            buf_printf(&out, ",\"depends_on\":%lld", (long long)below(a, i));
        else if (perhaps(a, 100))
            buf_printf(&out, ",\"depends_on\":%lld", (long long)below(a, count + 1));
        buf_text(&out, "}");
    }
    buf_text(&out, "]}");
    struct str text = arena_copy(a->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

/* Where results are used again, the same goal comes more than once, and often nothing is changed in between. */
static struct str plan_arguments(const struct asked *a)
{
    bool reuses = reuses_results(a);
    if (a->wishes == ASKS_ANYTHING && !perhaps(a, reuses ? 800 : 200))
        return plan_at_random(a->c, a->arena);
    return reuses && perhaps(a, 800) ? STR("{\"goal\":\"all of it\",\"plan_only\":true}")
                                     : STR("{\"goal\":\"all of it\"}");
}

static struct str delegate_arguments(const struct asked *a)
{
    static const char *const agents[] = {"@reader", "@reader", "@maker", "@nobody"};
    static const char *const models[] = {"", "", ",\"model_override\":\"n\"",
                                         ",\"model_override\":\"large\""};
    return arena_printf(a->arena, "{\"agent_id\":\"%s\",\"task\":\"errand %lld\"%s}",
                        agents[below(a, 4)], (long long)below(a, 3), models[below(a, 4)]);
}

static struct str child_arguments(const struct asked *a)
{
    struct str id = some_id(a);
    return perhaps(a, 30) ? STR("{\"task_id\":5}")
                          : arena_printf(a->arena, "{\"task_id\":\"%.*s\"}", STR_FMT(id));
}

static struct str send_arguments(const struct asked *a)
{
    struct str id = some_id(a);
    return arena_printf(a->arena, "{\"task_id\":\"%.*s\",\"message\":\"%s\"}", STR_FMT(id),
                        perhaps(a, 50) ? "" : "look at f5 too");
}

static struct str nothing_arguments(const struct asked *a)
{
    return STR("{}");
}

static struct str path_arguments(const struct asked *a)
{
    return arena_printf(a->arena, "{\"path\": \"f%lld\"}", (long long)below(a, FILES));
}

static struct str write_arguments(const struct asked *a)
{
    return arena_printf(a->arena, "{\"path\":\"f%lld\",\"content\":\"%lld\"}",
                        (long long)below(a, FILES), (long long)below(a, 100));
}

static struct str edit_arguments(const struct asked *a)
{
    return perhaps(a, 300) ? STR("{\"$unparsed\":\"{oops\"}")
                           : STR("{\"path\":\"f1\",\"old_text\":\"a\",\"new_text\":\"b\"}");
}

/* --- calls ------------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *tool;
    int64_t weight;
    enum { MAKES_CHILDREN, MAKES_CHANGES, MAKES_NONE } makes;
    struct str (*arguments)(const struct asked *a);
} menu[] = {
    {"read", 20, MAKES_NONE, path_arguments},
    {"write_file", 12, MAKES_CHANGES, write_arguments},
    {"edit", 4, MAKES_CHANGES, edit_arguments},
    {"no_such_tool", 3, MAKES_CHANGES, nothing_arguments},
    {"spawn_agent", 16, MAKES_CHILDREN, spawn_agent_arguments},
    {"spawn_agent", 12, MAKES_CHILDREN, look_arguments},
    {"spawn", 16, MAKES_CHILDREN, spawn_arguments},
    {"spawn_await", 10, MAKES_NONE, await_arguments},
    {"fan_out", 6, MAKES_CHILDREN, fan_out_arguments},
    {"delegate_task", 6, MAKES_CHILDREN, delegate_task_arguments},
    {"delegate", 8, MAKES_CHILDREN, delegate_arguments},
    {"plan", 6, MAKES_CHILDREN, plan_arguments},
    {"agent_status", 2, MAKES_NONE, nothing_arguments},
    {"agent_send", 6, MAKES_NONE, send_arguments},
    {"agent_cancel", 4, MAKES_NONE, child_arguments},
    {"agent_result", 3, MAKES_NONE, child_arguments},
    {"agent_merge", 8, MAKES_NONE, child_arguments},
};

/* In the menu: what is asked for more than once. */
#define LOOK 5
#define FAN_OUT 8
#define PLAN 11

static void random_call(const struct asked *a, struct tool_call *call)
{
    static const size_t same[] = {0, LOOK, LOOK, FAN_OUT, PLAN, PLAN, PLAN};
    size_t count = sizeof menu / sizeof menu[0], at = 0;
    int64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += menu[i].weight;
    for (int64_t left = below(a, all); left >= menu[at].weight; at++)
        left -= menu[at].weight;
    if (a->wishes == ASKS_THE_SAME)
        at = same[below(a, (int64_t)(sizeof same / sizeof same[0]))];
    /* Where results are used again, little is changed, and the same is asked for more than once. */
    bool reuses = reuses_results(a);
    if (reuses && menu[at].makes == MAKES_CHANGES && perhaps(a, 850))
        at = 0;
    if (reuses && menu[at].makes == MAKES_CHILDREN && perhaps(a, 600))
        at = perhaps(a, 500) ? LOOK : perhaps(a, 500) ? FAN_OUT : PLAN;
    /* Whoever has files of its own changes some, so that there is something to merge. */
    if (menu[at].arguments == path_arguments && a->agent->no != 0 && a->agent->tree != NULL &&
        perhaps(a, 600))
        at = 1;
    /* Deep down and late there are enough of them. */
    if (menu[at].makes == MAKES_CHILDREN && (run_agent_count(a->run) > CHILDREN_ENOUGH ||
                                             perhaps(a, 250 * a->agent->contract.agent.depth)))
        at = 0;
    call->id = perhaps(a, 100)
                   ? STR("same")
                   : arena_printf(a->arena, "x%llu", (unsigned long long)chance_next(a->c));
    call->name = str_from(menu[at].tool);
    call->arguments = menu[at].arguments(a);
}

static void random_reply(const struct asked *a, const struct effect *effect,
                         struct model_reply *reply)
{
    const struct agent *agent = a->agent;
    /* Some never find an end. */
    bool stubborn = agent->no % 11 == 7 && agent->message_count > 4;
    /* And some tasks are small. */
    bool small = agent->no != 0 && (str_is(agent->objective, "look") ||
                                    str_is(agent->contract.agent.role, "planner"));
    bool many = !stubborn && perhaps(a, 8);
    if (stubborn || perhaps(a, small ? 200 : 960 - (int64_t)agent->message_count * 18)) {
        reply->call_count = stubborn ? 1 : (size_t)(1 + below(a, many ? CALLS_MANY - 1 : 4));
        reply->calls = arena_alloc(a->arena, reply->call_count * sizeof *reply->calls);
        for (size_t i = 0; i < reply->call_count; i++) {
            reply->calls[i] = (struct tool_call){STR("x"), STR("ls"), STR("{}")};
            if (!many || i % 64 == 0)
                random_call(a, &reply->calls[i]);
        }
        if (stubborn)
            reply->calls[0] = (struct tool_call){STR("x"), STR("ls"), STR("{}")};
    }
    if (perhaps(a, 850))
        reply->text = arena_printf(a->arena, "answer %lld", (long long)below(a, 1000));
    if (agent->contract.outputs.schema.p != NULL && reply->call_count == 0 &&
        perhaps(a, small ? 800 : 500))
        reply->text = perhaps(a, 300)   ? STR("{\"n\":1,\"findings\":[\"more\"]}")
                      : perhaps(a, 500) ? STR("{\"n\":1}")
                                        : STR("```json\n{\"n\":2}\n```");
    if (perhaps(a, 50))
        reply->completeness = REPLY_CUT;
    /* An estimate for many calls is above what the model was allowed to write: it says what it wrote. */
    if (many || perhaps(a, 800)) {
        int64_t known = agent->context_known;
        reply->usage.input = known + below(a, agent->request_input - known + 1);
        reply->usage.output = below(a, effect->output_limit < 200 ? effect->output_limit : 200);
    }
}

/* The server takes less than the settings say. It tells its window, or something else, or nothing. */
static bool overflows(struct world *w, const struct asked *a, const struct effect *effect,
                      struct model_failure *failure)
{
    static const int64_t lies[] = {0, -1, 1, 1000000, 4000};
    int64_t window = w->plan.true_window;
    if (window == 0 || a->agent->request_input + effect->output_limit <= window)
        return false;
    failure->class = ERR_PROVIDER;
    failure->http_status = 400;
    failure->trouble = TROUBLE_OVERFLOW;
    failure->window = perhaps(a, 700) ? window : lies[below(a, 5)];
    failure->needed = perhaps(a, 300) ? a->agent->request_input * 2 : -1;
    w->result->seen[SEEN_OVERFLOW]++;
    return true;
}

/* Outages begin when a request is answered, and some outlast patience. */
static bool is_down(struct world *w)
{
    if (w->plan.outages == OUTAGES_NEVER)
        return false;
    if (w->now >= w->down_until && chance_permille(&w->chance, 20)) {
        w->down_until = w->now + chance_below(&w->chance, 40000);
        w->result->seen[SEEN_OUTAGE]++;
    }
    return w->now < w->down_until;
}

void answer_model(struct world *w, const struct pending *p)
{
    static const enum err_class classes[] = {ERR_RETRY, ERR_RETRY, ERR_TIMEOUT, ERR_PROVIDER};
    struct arena arena;
    struct err err = ERR_INIT;
    const struct run *run = pump_run(w->pump);
    struct asked a = {&w->chance, &arena, run, run_agent(run, p->effect.agent_no),
                      w->plan.results == RESULTS_REPEATED ? ASKS_THE_SAME : ASKS_ANYTHING};
    struct input input = {.now = w->now,
                          .agent_no = p->effect.agent_no,
                          .call_id = p->effect.call_id,
                          .admitted_ms = p->effect.agent_no % 3,
                          .total_ms = 5};
    struct model_failure failure = {
        .class = ERR_RETRY, .retry_after_ms = -1, .message = STR("broken"), .usage = USAGE_NONE};
    struct model_reply reply = {.finish = STR("stop"), .usage = USAGE_NONE, .first_token_ms = -1};
    arena_init(&arena);
    if (!p->aborted && overflows(w, &a, &p->effect, &failure)) {
        input.kind = INPUT_FAILURE;
        input.failure = &failure;
    } else if (!p->aborted && is_down(w)) {
        input.kind = INPUT_FAILURE;
        input.failure = &failure;
        failure.message = STR("the host name cannot be resolved");
        failure.sent = input.sent = REQUEST_UNSENT;
    } else if (p->aborted || perhaps(&a, w->plan.fault_permille)) {
        static const int refusals[] = {400, 401, 422}, statuses[] = {0, 429, 500, 503};
        input.kind = INPUT_FAILURE;
        input.failure = &failure;
        failure.class = p->aborted ? ERR_CANCELLED : classes[below(&a, 4)];
        if (failure.class == ERR_PROVIDER)
            failure.http_status = refusals[below(&a, 3)];
        else if (failure.class == ERR_RETRY)
            failure.http_status = statuses[below(&a, 4)];
        failure.partial = perhaps(&a, 300) ? STR("half a") : STR_NONE;
        if (perhaps(&a, 200))
            failure.retry_after_ms = below(&a, 3000);
    } else {
        input.kind = INPUT_REPLY;
        input.reply = &reply;
        random_reply(&a, &p->effect, &reply);
    }
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "pump: %s", err.message);
    arena_release(&arena);
}
