/* See world.h. One step: take the earliest thing that can happen (an answer, a commit, a deadline, a message), let the pump decide, check
 * what must always hold. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "chance.h"
#include "engine/verify.h"
#include "memory_store.h"

#define STEPS_MAX 20000
#define FILES 8

struct pending {
    int64_t at;
    uint64_t order;
    enum { PENDING_ANSWER, PENDING_COMMIT, PENDING_MESSAGE } kind;
    struct effect effect; /* of an answer; strings owned */
    char strings[1024];
    int aborted;
};

struct world {
    struct world_plan plan;
    struct world_result *result;
    struct chance chance;
    struct memory_store store;
    struct pump *pump;
    int64_t now;
    uint64_t order, epoch;
    struct pending **pending; /* owned */
    size_t pending_count, pending_capacity;
    struct batch *queue[4096];
    size_t queue_count;
    bool commit_pending;
    int64_t inbox_taken; /* highest consumed, by committed events */
    int64_t inbox_next;
    struct {
        int64_t id;
        char kind[16];
        struct str body;
    } inbox[8];
    size_t inbox_count;
    struct str start_body;
    struct arena arena;
    struct {
        char call[32];
        int64_t applied;
    } writes[4096];
    size_t write_count;
    uint64_t files[FILES]; /* content numbers */
    uint64_t acknowledged;
    int64_t flights;       /* answers still to come, of the living process */
    char status[1024][24]; /* projection: status of each child, by number */
    int64_t children_asking;
    uint32_t within_checked;
};

static void wrong(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(struct world *w, const char *format, ...)
{
    va_list args;
    if (w->result->problem[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(w->result->problem, sizeof w->result->problem, format, args);
    va_end(args);
}

static struct pending *pending_add(struct world *w, int kind, int64_t delay)
{
    if (w->pending_count == w->pending_capacity) {
        w->pending_capacity = w->pending_capacity * 2 + 64;
        w->pending = realloc(w->pending, w->pending_capacity * sizeof *w->pending);
        if (w->pending == NULL)
            abort();
    }
    struct pending *p = malloc(sizeof *p);
    if (p == NULL)
        abort();
    w->pending[w->pending_count++] = p;
    *p = (struct pending){.at = w->now + delay, .order = w->order++, .kind = kind};
    return p;
}

/* --- ports --------------------------------------------------------------------------------------------------------------- */

static void on_append(void *user, struct pump *pump, struct batch *batch, enum urgency urgency)
{
    struct world *w = user;
    if (w->queue_count == sizeof w->queue / sizeof w->queue[0])
        abort();
    w->queue[w->queue_count++] = batch;
    if (!w->commit_pending && urgency == APPEND_SOON) {
        w->commit_pending = true;
        pending_add(w, PENDING_COMMIT, chance_below(&w->chance, 5));
    }
}

static const char *keep_string(struct pending *p, size_t *used, struct str text)
{
    char *at = p->strings + *used;
    size_t room = sizeof p->strings - *used - 1;
    if (text.n > room)
        abort();
    if (text.n > 0)
        memcpy(at, text.p, text.n);
    at[text.n] = '\0';
    *used += text.n + 1;
    return at;
}

/* What every API demands: the system first, then a user, and each call answered right behind the message that made it. */
static void check_conversation(struct world *w, const struct agent *agent)
{
    size_t i = 0;
    while (i < agent->message_count && agent->messages[i].role == MESSAGE_SYSTEM)
        i++;
    if (i == 0 || i == agent->message_count || agent->messages[i].role != MESSAGE_USER)
        wrong(w, "the conversation of agent %u does not start with a system prompt and a task",
              agent->no);
    for (; i < agent->message_count; i++) {
        const struct message *message = &agent->messages[i];
        if (message->role == MESSAGE_SYSTEM || message->role == MESSAGE_TOOL)
            wrong(w, "message %zu of agent %u is out of place", i, agent->no);
        for (size_t k = 0; k < message->call_count; k++) {
            if (++i >= agent->message_count || agent->messages[i].role != MESSAGE_TOOL ||
                !str_eq(agent->messages[i].call_id, message->calls[k].id)) {
                wrong(w, "a call of agent %u is not answered behind message %zu", agent->no, i);
                return;
            }
        }
    }
}

static void on_start(void *user, struct pump *pump, const struct effect *effect)
{
    struct world *w = user;
    const struct agent *agent = run_agent(pump_run(pump), effect->agent_no);
    if (effect->class != EFFECT_PURE && effect->seq > w->acknowledged) {
        w->result->early_effects++;
        wrong(w, "effect %s of event %llu started when only %llu was durable",
              effect_kind_text(effect->kind), (unsigned long long)effect->seq,
              (unsigned long long)w->acknowledged);
    }
    if (effect->kind == EFFECT_ASK)
        return;
    struct pending *p = pending_add(w, PENDING_ANSWER, 1 + chance_below(&w->chance, 400));
    size_t used = 0;
    p->effect = *effect;
    p->effect.call_id = (struct str){keep_string(p, &used, effect->call_id), effect->call_id.n};
    p->effect.tool = (struct str){keep_string(p, &used, effect->tool), effect->tool.n};
    p->effect.path = effect->path.p
                         ? (struct str){keep_string(p, &used, effect->path), effect->path.n}
                         : STR_NONE;
    p->effect.before = (struct str){keep_string(p, &used, effect->before), effect->before.n};
    p->effect.after = (struct str){keep_string(p, &used, effect->after), effect->after.n};
    w->flights++;
    if (effect->kind == EFFECT_MODEL) {
        w->result->requests++;
        if (effect->agent_no != 0 && ++w->children_asking > w->plan.max_concurrent) {
            w->result->over_slots++;
            wrong(w, "%lld children ask at once, %lld may", (long long)w->children_asking,
                  (long long)w->plan.max_concurrent);
        }
        if ((effect->tools == TOOLS_WITHHELD) !=
            (agent->turns == TURNS_LAST || agent->compact_at != 0))
            wrong(w, "tools are withheld for the last turn and for a summary, and never else");
        check_conversation(w, agent);
    }
}

static void on_abort(void *user, struct pump *pump, uint32_t agent_no, struct str call_id)
{
    struct world *w = user;
    for (size_t i = 0; i < w->pending_count; i++) {
        struct pending *p = w->pending[i];
        if (p->kind == PENDING_ANSWER && p->effect.agent_no == agent_no &&
            str_eq(p->effect.call_id, call_id)) {
            p->aborted = 1;
            p->at = w->now + 1;
        }
    }
}

/* --- the fake model and tools --------------------------------------------------------------------------------------------- */

static void random_call(struct world *w, struct tool_call *call, struct arena *arena,
                        const struct agent *agent)
{
    struct chance *c = &w->chance;
    int64_t file = chance_below(c, FILES);
    call->id = chance_permille(c, 100)
                   ? STR("same")
                   : arena_printf(arena, "x%llu", (unsigned long long)chance_next(c));
    switch (chance_below(c, 10)) {
    case 0:
    case 1:
    case 2:
        call->name = STR("read");
        call->arguments = arena_printf(arena, "{\"path\": \"f%lld\"}", (long long)file);
        return;
    case 3:
    case 4:
        call->name = STR("write_file");
        call->arguments = arena_printf(arena, "{\"path\":\"f%lld\",\"content\":\"%lld\"}",
                                       (long long)file, (long long)chance_below(c, 100));
        return;
    case 5:
        call->name = chance_permille(c, 500) ? STR("no_such_tool") : STR("edit");
        call->arguments = chance_permille(c, 300)
                              ? STR("{\"$unparsed\":\"{oops\"}")
                              : STR("{\"path\":\"f1\",\"old_text\":\"a\",\"new_text\":\"b\"}");
        return;
    case 6:
        call->name = STR("spawn_agent");
        call->arguments = STR("{\"task\":\"\",\"max_tool_calls\":\"abc\"}");
        return;
    default:
        call->name = STR("spawn_agent");
        call->arguments = arena_printf(
            arena, "{\"task\":\"part %lld of %u\",\"max_tool_calls\":%lld%s%s}",
            (long long)chance_below(c, 1000), agent->no, (long long)(chance_below(c, 6) + 1),
            chance_permille(c, 300) ? ",\"role\":\"executor\"" : "",
            chance_permille(c, 200)   ? ",\"context_files\":[\"f1\",\"f2\"]"
            : chance_permille(c, 200) ? ",\"budget\":{\"tokens\":4000,\"timeout_ms\":20000}"
                                      : "");
        return;
    }
}

static void answer_model(struct world *w, const struct pending *p)
{
    struct chance *c = &w->chance;
    const struct agent *agent = run_agent(pump_run(w->pump), p->effect.agent_no);
    struct arena arena;
    struct err err = ERR_INIT;
    struct input input = {.now = w->now,
                          .agent_no = p->effect.agent_no,
                          .call_id = p->effect.call_id,
                          .admitted_ms = p->effect.agent_no % 3,
                          .total_ms = 5};
    struct model_failure failure = {
        .class = ERR_RETRY, .retry_after_ms = -1, .message = STR("broken"), .usage = USAGE_NONE};
    struct model_reply reply = {.finish = STR("stop"), .usage = USAGE_NONE, .first_token_ms = -1};
    arena_init(&arena);
    if (p->aborted || chance_permille(c, w->plan.fault_permille)) {
        static const enum err_class classes[] = {ERR_RETRY, ERR_RETRY, ERR_TIMEOUT, ERR_PROVIDER};
        input.kind = INPUT_FAILURE;
        input.failure = &failure;
        failure.class = p->aborted ? ERR_CANCELLED : classes[chance_below(c, 4)];
        failure.http_status = failure.class == ERR_PROVIDER ? 400 : 0;
        failure.partial = chance_permille(c, 300) ? STR("half a") : STR_NONE;
        if (chance_permille(c, 200))
            failure.retry_after_ms = chance_below(c, 3000);
    } else {
        input.kind = INPUT_REPLY;
        input.reply = &reply;
        int64_t turns = (int64_t)agent->message_count;
        if (chance_permille(c, 960 - turns * 25)) {
            reply.call_count = (size_t)(1 + chance_below(c, 4));
            reply.calls = arena_alloc(&arena, reply.call_count * sizeof *reply.calls);
            for (size_t i = 0; i < reply.call_count; i++)
                random_call(w, &reply.calls[i], &arena, agent);
        }
        if (chance_permille(c, 850))
            reply.text = arena_printf(&arena, "answer %lld", (long long)chance_below(c, 1000));
        if (chance_permille(c, 50))
            reply.completeness = REPLY_CUT;
        if (chance_permille(c, 800)) {
            int64_t known = agent->context_known;
            reply.usage.input = known + chance_below(c, agent->request_input - known + 1);
            reply.usage.output =
                chance_below(c, p->effect.output_limit < 200 ? p->effect.output_limit : 200);
        }
    }
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "pump: %s", err.message);
    arena_release(&arena);
}

static int64_t file_of(struct str path)
{
    return path.n == 2 && path.p[0] == 'f' && path.p[1] >= '0' && path.p[1] < '0' + FILES
               ? path.p[1] - '0'
               : 0;
}

static struct str content_text(struct arena *arena, uint64_t content)
{
    return arena_printf(arena, "%064llx", (unsigned long long)content);
}

/* The change is made in the world, whether or not the answer arrives. */
static void apply_write(struct world *w, const struct pending *p)
{
    char call[32];
    snprintf(call, sizeof call, "%u/%.*s", p->effect.agent_no, STR_FMT(p->effect.call_id));
    size_t i = 0;
    while (i < w->write_count && strcmp(w->writes[i].call, call) != 0)
        i++;
    if (i == w->write_count) {
        if (w->write_count == sizeof w->writes / sizeof w->writes[0])
            abort();
        snprintf(w->writes[w->write_count++].call, sizeof w->writes[0].call, "%s", call);
    }
    if (++w->writes[i].applied > 1) {
        w->result->double_writes++;
        wrong(w, "the change of call %s was made twice", call);
    }
    w->files[file_of(p->effect.path)] = strtoull(p->effect.after.p + 48, NULL, 16);
}

static void answer_tool(struct world *w, const struct pending *p)
{
    struct chance *c = &w->chance;
    struct arena arena;
    struct err err = ERR_INIT;
    struct input input = {.kind = INPUT_RESULT,
                          .now = w->now,
                          .agent_no = p->effect.agent_no,
                          .call_id = p->effect.call_id,
                          .text = STR("fine")};
    arena_init(&arena);
    uint64_t *file = &w->files[file_of(p->effect.path)];
    if (p->effect.kind == EFFECT_GATHER) {
        input.kind = INPUT_FACTS;
        input.files = chance_permille(c, 800)
                          ? STR("[{\"path\":\"f1\",\"text\":\"one\"}]")
                          : STR("[{\"path\":\"f1\",\"error\":\"no such file\"}]");
    } else if (p->effect.kind == EFFECT_PREPARE && chance_permille(c, 900)) {
        int64_t at = chance_below(c, FILES);
        input.kind = INPUT_PREPARED;
        input.path = arena_printf(&arena, "f%lld", (long long)at);
        input.before = content_text(&arena, w->files[at]);
        input.after = content_text(&arena, chance_next(c) >> 1);
    } else if (p->effect.path.p != NULL) {
        uint64_t before = strtoull(p->effect.before.p + 48, NULL, 16),
                 after = strtoull(p->effect.after.p + 48, NULL, 16);
        if (p->effect.kind == EFFECT_SETTLE && *file == after) {
            input.text = STR("was made");
        } else if (*file == before) {
            apply_write(w, p);
            input.files_modified = arena_printf(&arena, "[\"%.*s\"]", STR_FMT(p->effect.path));
        } else if (p->effect.kind == EFFECT_SETTLE) {
            input.kind = INPUT_LOST;
            input.text = STR("Error: outcome unknown");
        } else {
            input.outcome = TOOL_ERROR;
            input.text = STR("Error: it changed");
        }
    } else if (chance_permille(c, 200)) {
        input.outcome = TOOL_ERROR;
        input.text = STR("Error: not there");
    } else {
        input.files_read = STR("[\"f3\"]");
        size_t length = (size_t)chance_below(c, 12000);
        char *text = arena_alloc(&arena, length + 1);
        memset(text, 'x', length);
        input.text = (struct str){text, length};
    }
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "pump: %s", err.message);
    arena_release(&arena);
}

/* --- commit and crash ------------------------------------------------------------------------------------------------------- */

static void check_rows(struct world *w, const struct batch *batch)
{
    size_t row = 0;
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *event = &batch->append.events[i];
        w->result->children += str_is(event->type, "agent.subagent_created");
        w->result->closes += str_is(event->type, "agent.subagent_closed");
        w->result->fallbacks +=
            str_is(event->type, "model.failed") &&
            memmem(event->payload.p, event->payload.n, "\"fallback\"", 10) != NULL;
        w->result->masked += str_is(event->type, "agent.masked");
        w->result->compacted += str_is(event->type, "agent.compacted");
        if (!str_starts(event->type, STR("agent.subagent_")) ||
            str_is(event->type, "agent.subagent_attempt"))
            continue;
        while (row < batch->append.row_count && batch->append.rows[row].kind < ROW_AGENT_INSERT)
            row++;
        if (row == batch->append.row_count || event->agent_no >= 1024)
            continue;
        char *status = w->status[event->agent_no];
        struct str next = batch->append.rows[row++].status;
        bool legal = status[0] == '\0' && str_is(next, "created");
        for (size_t k = 0; k < lifecycle_edge_count; k++)
            legal = legal || (strcmp(lifecycle_edges[k].from, status) == 0 &&
                              str_is(next, lifecycle_edges[k].to));
        if (!legal) {
            w->result->illegal_edges++;
            wrong(w, "child %u goes from %s to %.*s", event->agent_no, status, STR_FMT(next));
        }
        snprintf(status, sizeof w->status[0], "%.*s", STR_FMT(next));
    }
}

static void commit_one(struct world *w, struct batch *batch)
{
    if (batch->append.inbox_count > 0) {
        if (batch->append.inbox_ids[0] <= w->inbox_taken) {
            w->result->twice_taken++;
            wrong(w, "message %lld was taken twice", (long long)batch->append.inbox_ids[0]);
        }
        w->inbox_taken = batch->append.inbox_ids[0];
    }
    check_rows(w, batch);
    memory_store_commit(&w->store, batch);
    w->result->events = (int64_t)batch->last_seq;
}

static void feed_inbox(struct world *w)
{
    for (size_t i = 0; i < w->inbox_count; i++) {
        struct err err = ERR_INIT;
        if (w->inbox[i].id < w->inbox_next)
            continue;
        w->inbox_next = w->inbox[i].id + 1;
        struct input input = {.kind = INPUT_INBOX,
                              .now = w->now,
                              .inbox_id = w->inbox[i].id,
                              .message_kind = str_from(w->inbox[i].kind),
                              .body = w->inbox[i].body,
                              .sender = STR("sim")};
        if (pump_input(w->pump, &input, &err) != 0)
            wrong(w, "pump: %s", err.message);
    }
}

static void crash(struct world *w)
{
    struct pump_ports ports = {on_append, on_start, on_abort, w};
    struct err err = ERR_INIT;
    struct run *run = NULL;
    w->result->crashes++;
    /* What tools did just before the end is done, though nobody was told. */
    for (size_t i = 0; i < w->pending_count; i++) {
        struct pending *p = w->pending[i];
        if (p->kind == PENDING_ANSWER && p->effect.kind == EFFECT_TOOL &&
            p->effect.path.p != NULL && !p->aborted && chance_permille(&w->chance, 500) &&
            w->files[file_of(p->effect.path)] == strtoull(p->effect.before.p + 48, NULL, 16))
            apply_write(w, p);
    }
    for (size_t i = 0; i < w->queue_count; i++) {
        if (w->plan.crash_kind == CRASH_KEEPS_QUEUE)
            commit_one(w, w->queue[i]);
        else
            batch_free(w->queue[i]);
    }
    w->queue_count = 0;
    /* Messages come from other processes: they survive. */
    size_t kept = 0;
    for (size_t i = 0; i < w->pending_count; i++) {
        if (w->pending[i]->kind == PENDING_MESSAGE)
            w->pending[kept++] = w->pending[i];
        else
            free(w->pending[i]);
    }
    w->pending_count = kept;
    w->commit_pending = false;
    w->children_asking = 0;
    w->within_checked = 0;
    w->flights = 0;
    pump_free(w->pump);
    w->now += chance_below(&w->chance, 100000);
    if (fold_run(&w->store.store, STR("01SIMULATEDSIMULATEDSIMULA"), &run, &err) != 0) {
        wrong(w, "fold after a crash: %s", err.message);
        run = run_new(STR("01SIMULATEDSIMULATEDSIMULA"));
    }
    if (run_seq(run) < w->acknowledged) {
        w->result->lost_events++;
        wrong(w, "event %llu was acknowledged; the log ends at %llu",
              (unsigned long long)w->acknowledged, (unsigned long long)run_seq(run));
    }
    w->acknowledged = run_seq(run);
    struct run *shadow = NULL;
    w->pump = pump_new(run, ++w->epoch, run_seq(run), &ports);
    if (run_seq(run) > 0 &&
        fold_run(&w->store.store, STR("01SIMULATEDSIMULATEDSIMULA"), &shadow, &err) == 0)
        pump_shadow(w->pump, shadow);
    struct input input = {
        .kind = INPUT_RESUME, .now = w->now, .owner = STR("sim"), .epoch = w->epoch};
    if (run_state(run) == RUN_RUNNING && pump_input(w->pump, &input, &err) != 0)
        wrong(w, "resume: %s", err.message);
    w->inbox_next = w->inbox_taken + 1;
    if (run_state(run) <= RUN_RUNNING)
        feed_inbox(w);
}

static void commit(struct world *w)
{
    size_t count = w->queue_count;
    uint64_t last = 0;
    w->commit_pending = false;
    for (size_t i = 0; i < count; i++) {
        last = w->queue[i]->last_seq;
        commit_one(w, w->queue[i]);
    }
    w->queue_count = 0;
    w->result->commits++;
    bool dies = w->result->commits == w->plan.crash_after ||
                (w->plan.crash_every > 0 && chance_permille(&w->chance, w->plan.crash_every));
    if (dies && chance_permille(&w->chance, 500)) {
        crash(w); /* committed, but the process never learned it */
        return;
    }
    w->acknowledged = last;
    pump_durable(w->pump, last);
    if (dies)
        crash(w);
}

/* --- the loop ------------------------------------------------------------------------------------------------------------------ */

static void start_body(struct world *w)
{
    struct settings settings;
    struct buf out;
    struct jw j;
    struct model_settings models[2] = {{.name = STR("m"),
                                        .provider = STR("p"),
                                        .model = STR("m"),
                                        .api = STR("openai"),
                                        .base_url = STR("http://x"),
                                        .api_key_env = STR(""),
                                        .max_tokens = 1000,
                                        .max_context_tokens = w->plan.window,
                                        .price_in_nano = -1,
                                        .price_out_nano = -1,
                                        .price_cached_nano = -1,
                                        .price_cache_write_nano = -1}};
    struct pool pool = {.name = STR("both")};
    models[1] = models[0];
    models[1].name = STR("n");
    models[1].max_tokens = 500;
    list_add(&w->arena, &pool.models, STR("m"));
    list_add(&w->arena, &pool.models, STR("n"));
    static const char *const tools[] = {"read", "ls",     "grep",       "write",
                                        "edit", "delete", "spawn_agent"};
    settings_init(&settings);
    settings.models = models;
    settings.model_count = 2;
    settings.pools = &pool;
    settings.pool_count = 1;
    if (w->plan.seed % 3 == 1)
        settings.default_pool = pool.name;
    settings.default_model = STR("m");
    settings.max_concurrent = w->plan.max_concurrent;
    settings.max_depth = w->plan.depth;
    settings.mode = MODE_AUTO;
    settings.root.tokens = w->plan.token_limit;
    settings.root.cost_nano = UNLIMITED;
    settings.root.wall_ms = 600000;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        list_add(&w->arena, &settings.available_tools, str_from(tools[i]));
    buf_init(&out, 1 << 20);
    jw_init(&j, &out);
    jw_object(&j);
    jw_ktext(&j, "session_id", "s");
    jw_ktext(&j, "user_id", "u");
    jw_ktext(&j, "workspace_id", "w");
    jw_ktext(&j, "workspace_path", "/w");
    jw_ktext(&j, "task", "simulate");
    jw_ktext(&j, "asker", "nobody");
    jw_key(&j, "settings");
    settings_print(&settings, &j);
    jw_end_object(&j);
    w->start_body = arena_copy(&w->arena, buf_view(&out));
    buf_release(&out);
}

static void post(struct world *w, const char *kind, struct str body)
{
    w->inbox[w->inbox_count].id = (int64_t)w->inbox_count + 1;
    snprintf(w->inbox[w->inbox_count].kind, sizeof w->inbox[0].kind, "%s", kind);
    w->inbox[w->inbox_count].body = body;
    w->inbox_count++;
}

static struct pending *take_earliest(struct world *w)
{
    size_t best = 0;
    if (w->pending_count == 0)
        return NULL;
    for (size_t i = 1; i < w->pending_count; i++) {
        const struct pending *a = w->pending[i], *b = w->pending[best];
        if (a->at < b->at || (a->at == b->at && a->order < b->order))
            best = i;
    }
    struct pending *p = w->pending[best];
    w->pending[best] = w->pending[--w->pending_count];
    return p;
}

static int64_t earliest(const struct world *w)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < w->pending_count; i++)
        at = w->pending[i]->at < at ? w->pending[i]->at : at;
    return at;
}

static void step(struct world *w)
{
    int64_t deadline = run_deadline(pump_run(w->pump));
    struct err err = ERR_INIT;
    if (deadline <= earliest(w)) {
        w->now = deadline > w->now ? deadline : w->now;
        struct input input = {.kind = INPUT_TICK, .now = w->now};
        if (pump_input(w->pump, &input, &err) != 0)
            wrong(w, "tick: %s", err.message);
        return;
    }
    struct pending *p = take_earliest(w);
    w->now = p->at > w->now ? p->at : w->now;
    if (p->kind == PENDING_COMMIT) {
        commit(w);
    } else if (p->kind == PENDING_MESSAGE) {
        post(w, "cancel", STR("{\"reason\":\"enough\"}"));
        feed_inbox(w);
    } else {
        w->flights--;
        if (p->effect.kind == EFFECT_MODEL) {
            w->children_asking -= p->effect.agent_no != 0;
            answer_model(w, p);
        } else {
            answer_tool(w, p);
        }
    }
    free(p);
}

/* What must be true of every agent at any moment. */
static void check_agents(struct world *w)
{
    const struct run *run = pump_run(w->pump);
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct agent *agent = run_agent(run, no);
        const struct account *account = &agent->account;
        struct str dimension;
        if (account->limits.tokens >= 0 && account->spent.tokens > account->limits.tokens) {
            w->result->over_budget++;
            wrong(w, "agent %u spent %lld of %lld tokens", no, (long long)account->spent.tokens,
                  (long long)account->limits.tokens);
        }
        /* Contracts never change: each is looked at once. */
        if (no <= w->within_checked)
            continue;
        w->within_checked = no;
        if (contract_within(&agent->contract, &run_agent(run, agent->parent_no)->contract,
                            &dimension) != 1) {
            w->result->not_within++;
            wrong(w, "agent %u has more than its parent: %.*s", no, STR_FMT(dimension));
        }
    }
}

static void check_log(struct world *w)
{
    struct verify_report report;
    struct err err = ERR_INIT;
    if (replay_run(&w->store.store, STR("01SIMULATEDSIMULATEDSIMULA"), &report, &err) != 0 ||
        report.problem[0] != '\0')
        wrong(w, "replay: event %llu: %s%s", (unsigned long long)report.bad_seq, report.problem,
              err.message);
    w->result->replayed = (int64_t)report.events;
    if (verify_run(&w->store.store, STR("01SIMULATEDSIMULATEDSIMULA"), STR_NONE, &report, &err) !=
            0 ||
        report.problem[0] != '\0')
        wrong(w, "verify: event %llu: %s%s", (unsigned long long)report.bad_seq, report.problem,
              err.message);
}

static void print_batch(const struct batch *batch, const char *where)
{
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *row = &batch->append.events[i];
        fprintf(stderr, "%s %4llu agent %u %.*s %.*s: %.*s\n", where, (unsigned long long)row->seq,
                row->agent_no, STR_FMT(row->type), STR_FMT(row->call_id), STR_FMT(row->summary));
    }
}

/* SIM_TRACE=1 shows the log of a run that went wrong. */
static void trace(const struct world *w)
{
    for (size_t i = 0; i < w->store.count; i++)
        print_batch(w->store.committed[i], "committed");
    for (size_t i = 0; i < w->queue_count; i++)
        print_batch(w->queue[i], "queued   ");
}

void world_run(const struct world_plan *plan, struct world_result *result)
{
    struct world *w = calloc(1, sizeof *w);
    if (w == NULL)
        abort();
    *result = (struct world_result){.how = WORLD_ENDED};
    *w = (struct world){.plan = *plan,
                        .result = result,
                        .chance = {plan->seed},
                        .now = 1700000000000,
                        .epoch = 1,
                        .inbox_next = 1};
    arena_init(&w->arena);
    memory_store_init(&w->store);
    struct pump_ports ports = {on_append, on_start, on_abort, w};
    w->pump = pump_new(run_new(STR("01SIMULATEDSIMULATEDSIMULA")), w->epoch, 0, &ports);
    start_body(w);
    post(w, "start", w->start_body);
    if (chance_permille(&w->chance, plan->cancel_permille))
        pending_add(w, PENDING_MESSAGE, chance_below(&w->chance, 3000));
    feed_inbox(w);
    int steps = 0;
    while (result->problem[0] == '\0' &&
           (run_state(pump_run(w->pump)) <= RUN_RUNNING || w->queue_count > 0)) {
        if (++steps > STEPS_MAX) {
            result->how = WORLD_TOO_LONG;
            wrong(w, "not done after %d steps", STEPS_MAX);
        } else if (w->pending_count == 0 && run_deadline(pump_run(w->pump)) == INT64_MAX) {
            result->how = WORLD_STUCK;
            wrong(w, "nothing can happen any more and the run has not ended");
        } else {
            step(w);
            check_agents(w);
        }
    }
    result->status = run_state(pump_run(w->pump));
    result->open_flights = w->flights;
    if (w->flights > 0)
        wrong(w, "%lld effects were under way when the run had ended", (long long)w->flights);
    if (result->problem[0] == '\0')
        check_log(w);
    if (result->closes != result->children)
        wrong(w, "%lld children, %lld closes", (long long)result->children,
              (long long)result->closes);
    if (result->problem[0] != '\0' && getenv("SIM_TRACE") != NULL)
        trace(w);
    for (size_t i = 0; i < w->pending_count; i++)
        free(w->pending[i]);
    for (size_t i = 0; i < w->queue_count; i++)
        batch_free(w->queue[i]);
    free(w->pending);
    pump_free(w->pump);
    memory_store_release(&w->store);
    arena_release(&w->arena);
    free(w);
}
