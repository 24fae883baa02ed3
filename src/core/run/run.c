/* The run as an object: making, freeing, reading, and its state as text. What changes it is in apply.c. Pure. */
#include "core/run/run.h"

#include <stdlib.h>

#include "base/mark.h"
#include "core/run/plan_run.h"
#include "core/run/state.h"

const char *run_status_text(enum run_status status)
{
    static const char *const texts[] = {"new",    "running",   "completed",
                                        "failed", "cancelled", "parked"};
    return status <= RUN_PARKED ? texts[status] : "?";
}

static const char *const outcome_texts[] = {"",        "completed", "budget_exceeded",
                                            "timeout", "error",     "cancelled"};

const char *outcome_text(enum outcome outcome)
{
    return outcome <= OUTCOME_CANCELLED ? outcome_texts[outcome] : "?";
}

enum outcome outcome_parse(struct str text)
{
    for (int i = OUTCOME_COMPLETED; i <= OUTCOME_CANCELLED; i++) {
        if (str_is(text, outcome_texts[i]))
            return (enum outcome)i;
    }
    return OUTCOME_NONE;
}

void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? 8 : *capacity * 2;
    items = realloc(items, *capacity * size);
    if (items == NULL)
        abort(); /* the log is durable: a restart is safer than going on */
    return items;
}

struct run *run_new(struct str id)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        abort();
    arena_init(&run->arena);
    map_init(&run->allowed);
    map_init(&run->modifiers);
    map_init(&run->answered);
    map_init(&run->known_texts);
    map_init(&run->names);
    run->named = 1;
    run->id = arena_copy(&run->arena, id);
    run->agents = grow(NULL, 0, &run->agent_capacity, sizeof *run->agents);
    struct agent *root = calloc(1, sizeof *root);
    if (root == NULL)
        abort();
    arena_init(&root->arena);
    arena_init(&root->history);
    root->id = run->id;
    struct tree *tree = arena_alloc(&root->arena, sizeof *tree);
    *tree = (struct tree){.leaves = LEAVES_KEPT}; /* nobody merges it but the user */
    root->tree = tree;
    run->agents[run->agent_count++] = root;
    return run;
}

static void agent_free(struct agent *agent)
{
    if (agent->tree != NULL)
        free(agent->tree->children);
    arena_release(&agent->arena);
    arena_release(&agent->history);
    free(agent->messages);
    free(agent->clashes);
    free(agent->reused);
    set_release(&agent->files_read);
    set_release(&agent->files_modified);
    free(agent);
}

void run_free(struct run *run)
{
    if (run == NULL)
        return;
    for (uint32_t i = 0; i < run->agent_count; i++)
        agent_free((struct agent *)run->agents[i]);
    free(run->agents);
    free(run->slot_queue);
    free(run->budget_queue);
    free(run->outputs);
    free(run->heap);
    map_release(&run->allowed);
    map_release(&run->modifiers);
    map_release(&run->answered);
    map_release(&run->known_texts);
    map_release(&run->names);
    arena_release(&run->arena);
    free(run);
}

#define SCRATCH_KEPT 65536

void decision_init(struct decision *decision)
{
    memset(decision, 0, sizeof *decision);
    arena_init(&decision->arena);
    arena_init(&decision->passing);
    buf_init(&decision->scratch, EVENT_PAYLOAD_MAX);
}

void decision_reset(struct decision *decision)
{
    arena_reset(&decision->arena);
    arena_reset(&decision->passing);
    decision->event_count = decision->effect_count = decision->row_count = 0;
    if (decision->scratch.capacity > SCRATCH_KEPT)
        buf_release(&decision->scratch);
    decision->inbox_id = 0;
}

void decision_release(struct decision *decision)
{
    free(decision->events);
    free(decision->rows);
    buf_release(&decision->scratch);
    free(decision->effects);
    arena_release(&decision->arena);
    arena_release(&decision->passing);
    memset(decision, 0, sizeof *decision);
}

const struct agent *run_agent_at(const struct run *run, uint32_t no)
{
    return no < run->agent_count ? run->agents[no] : NULL;
}

/* task_id is a part of a hash, so two agents may have the same one: then the earlier ones are looked at, too. */
const struct agent *run_child_named(struct run *run, const struct agent *parent, struct str name)
{
    for (; run->named < run->agent_count; run->named++) {
        struct agent *agent = (struct agent *)run->agents[run->named];
        map_set(&run->names, agent->task_id, agent);
        map_set(&run->names, agent->id, agent);
    }
    const struct agent *latest = map_get(&run->names, name);
    for (uint32_t no = latest != NULL ? latest->no : 0; no > 0; no--) {
        const struct agent *child = run->agents[no];
        if (child->parent_no == parent->no &&
            (str_eq(child->task_id, name) || str_eq(child->id, name)))
            return child;
    }
    return NULL;
}

struct str run_id(const struct run *run)
{
    return run->id;
}

enum run_status run_state(const struct run *run)
{
    return run->status;
}

bool run_ended(const struct run *run)
{
    return run->status >= RUN_COMPLETED && run->status <= RUN_CANCELLED;
}

int64_t run_time_ahead(const struct run *run, int64_t alive_at, int64_t now)
{
    int64_t ended = run_ended_at(run, alive_at);
    return ended > now ? ended - now : 0;
}

uint64_t run_seq(const struct run *run)
{
    return run->seq;
}

int64_t run_deadline(const struct run *run)
{
    struct timer timer;
    /* Looking only drops entries that are no longer meant: the state that counts stays as it is. */
    return run->status == RUN_RUNNING && timer_first((struct run *)run, &timer) ? timer.at
                                                                                : INT64_MAX;
}

uint32_t run_agent_count(const struct run *run)
{
    return run->agent_count;
}

const struct agent *run_agent(const struct run *run, uint32_t no)
{
    return run_agent_at(run, no);
}

const struct settings *run_settings(const struct run *run)
{
    return &run->settings;
}

struct str run_workspace(const struct run *run)
{
    return run->workspace_path;
}

struct str run_result(const struct run *run)
{
    return run->result;
}

size_t run_notices(const struct run *run, const struct str **notices)
{
    *notices = run->notices;
    return run->notice_count;
}

enum outcome run_outcome(const struct run *run)
{
    return run->outcome;
}

struct str run_report_path(const struct run *run, const struct agent *child, struct arena *arena)
{
    struct str pattern = child->contract.outputs.report_path_pattern;
    struct buf out;
    buf_init(&out, 65536);
    for (size_t i = 0; i < pattern.n;) {
        struct str rest = {pattern.p + i, pattern.n - i};
        if (str_starts(rest, STR("<run>"))) {
            buf_str(&out, run->id);
            i += 5;
        } else if (str_starts(rest, STR("<agent>"))) {
            buf_str(&out, child->id);
            i += 7;
        } else if (str_starts(rest, STR("<idx>"))) {
            buf_int(&out, child->contract.parent.step_idx);
            i += 5;
        } else {
            buf_char(&out, pattern.p[i++]);
        }
    }
    struct str path = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return path;
}

bool agent_busy(const struct agent *agent)
{
    if (agent->phase == PHASE_ASKING || agent->phase == PHASE_CHECKING || tree_busy(agent))
        return true;
    const size_t *in = agent->calls_in;
    return agent->phase == PHASE_TOOLS &&
           in[CALL_RUNNING] + in[CALL_PREPARING] + in[CALL_GATHERING] > 0;
}

void call_move(struct agent *agent, struct call *call, enum call_state to)
{
    int change = (to == CALL_RUNNING) - (call->state == CALL_RUNNING);
    agent->calls_in[call->state]--;
    call->state = to;
    agent->calls_in[to]++;
    if (call->awaits != CALL_WORKS)
        agent->calls_awaited += (size_t)change;
    if (call->awaits == CALL_AWAITS_JOBS)
        agent->calls_for_jobs += (size_t)change;
}

void call_adopt(struct agent *agent, struct call *call, uint32_t child_no, int64_t item)
{
    if (call->child_count == call->child_capacity) {
        size_t capacity = call->child_capacity == 0 ? 1 : call->child_capacity * 2;
        struct call_child *children = arena_alloc(&agent->history, capacity * sizeof *children);
        for (size_t i = 0; i < call->child_count; i++)
            children[i] = call->children[i];
        call->children = children;
        call->child_capacity = capacity;
    }
    call->children[call->child_count++] = (struct call_child){.no = child_no, .item = item};
}

void calls_forget(struct agent *agent)
{
    agent->calls = NULL;
    agent->call_count = agent->calls_open = agent->calls_awaited = agent->calls_for_jobs = 0;
    memset(agent->calls_in, 0, sizeof agent->calls_in);
}

const struct call *call_find(const struct agent *agent, struct str call_id)
{
    /* Our ids end in the call's place: c12_3. */
    size_t i = 0, at = call_id.n;
    while (at > 0 && call_id.p[at - 1] != '_')
        at--;
    for (size_t k = at; k < call_id.n && i < agent->call_count; k++)
        i = i * 10 + (size_t)(unsigned char)(call_id.p[k] - '0');
    return i < agent->call_count && str_eq(agent->calls[i].call.id, call_id) ? &agent->calls[i]
                                                                             : NULL;
}

const struct call *agent_call(const struct agent *agent, struct str call_id)
{
    return call_find(agent, call_id);
}

static void print_names(struct buf *out, const char *name, const struct str *items, size_t count)
{
    buf_printf(out, " %s=", name);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s%.*s", i > 0 ? "," : "", STR_FMT(items[i]));
}

static void print_plan(struct buf *out, const struct plan_run *plan)
{
    if (plan == NULL)
        return;
    buf_printf(out, "  plan version=%lld warnings=%.*s", (long long)plan->version,
               STR_FMT(plan->warnings));
    for (size_t i = 0; i < plan->plan.count; i++)
        buf_printf(out, " %.*s=%d/%d:%.*s:%.*s", STR_FMT(plan->plan.steps[i].id),
                   (int)plan->states[i].status, (int)plan->states[i].approval,
                   STR_FMT(plan->reasons[i]), STR_FMT(plan->offered[i]));
    buf_char(out, '\n');
}

static void print_calls(struct buf *out, const struct agent *a)
{
    for (size_t i = 0; i < a->call_count; i++) {
        const struct call *c = &a->calls[i];
        buf_printf(out,
                   "  call %.*s %.*s state=%d answer=%d awaits=%d children=%zu/%zu outcome=%d "
                   "shown=%.*s offered=%.*s prepared=%.*s:%.*s:%.*s args=%.*s result=%.*s\n",
                   STR_FMT(c->call.id), STR_FMT(c->call.name), c->state, c->answer, c->awaits,
                   c->children_open, c->child_count, c->outcome, STR_FMT(c->shown),
                   STR_FMT(c->offered), STR_FMT(c->path), STR_FMT(c->before), STR_FMT(c->after),
                   STR_FMT(c->call.arguments), STR_FMT(c->result));
        print_plan(out, c->plan);
    }
}

static void print_tree(struct buf *out, const struct agent *a)
{
    const struct tree *t = a->tree;
    if (t == NULL)
        return;
    buf_printf(out,
               "  tree state=%d leaves=%d turn=%d merging=%u id=%.*s path=%.*s:%.*s branch=%.*s "
               "base=%.*s by=%.*s merge=%.*s kept=%.*s first=%zu children",
               (int)t->state, (int)t->leaves, (int)t->turn, t->merging, STR_FMT(t->id),
               STR_FMT(t->path), STR_FMT(t->workspace), STR_FMT(t->branch), STR_FMT(t->base_ref),
               STR_FMT(t->strategy), STR_FMT(t->merge), STR_FMT(t->kept), t->first_open);
    for (size_t i = 0; i < t->child_count; i++)
        buf_printf(out, " %u", t->children[i]);
    buf_char(out, '\n');
}

static void print_agent(struct buf *out, const struct agent *a)
{
    char hex[MARK_HEX + 1], turn[MARK_HEX + 1];
    mark_hex(a->conversation, hex);
    mark_hex(a->last_turn, turn);
    buf_printf(out, "agent %u parent=%u id=%.*s task=%.*s for=%.*s life=%s phase=%d slot=%d\n",
               a->no, a->parent_no, STR_FMT(a->id), STR_FMT(a->task_id), STR_FMT(a->parent_call),
               life_text(a->life), a->phase, a->slot);
    buf_printf(out,
               "  messages=%zu conversation=%s open=%zu request=%.*s reserved=%lld/%lld input=%lld "
               "known=%lld new=%lld\n",
               a->message_count, hex, a->calls_open, STR_FMT(a->request_id),
               (long long)a->reserved.tokens, (long long)a->reserved.cost_nano,
               (long long)a->request_input, (long long)a->context_known, (long long)a->context_new);
    buf_printf(
        out,
        "  generation=%llu compact=%zu summaries=%d model=%.*s quoted=%lld/%lld used=%lld/%lld\n",
        (unsigned long long)a->generation, a->compact_at, (int)a->summaries, STR_FMT(a->model_now),
        (long long)a->quoted.tokens, (long long)a->quoted.cost_nano, (long long)a->used.tokens,
        (long long)a->used.cost_nano);
    buf_printf(out, "  overflows=%lld rebuilt=%d booked=%zu output=%lld/%lld cut=%d\n",
               (long long)a->overflows, (int)a->context_state, a->booked,
               (long long)a->request_output, (long long)a->request_most, (int)a->cut);
    buf_printf(
        out,
        "  tries=%lld attempt=%lld alike=%lld nudges=%lld:%d corrections=%lld turn=%s turns=%d "
        "limit=%d:%.*s inherited=%d%d "
        "stopping=%d:%.*s\n",
        (long long)a->tries, (long long)a->attempt, (long long)a->turns_alike, (long long)a->nudges,
        a->partial, (long long)a->corrections, turn, a->turns, a->limit_outcome,
        STR_FMT(a->limit_reached), a->inherited.tokens, a->inherited.cost, a->stopping,
        STR_FMT(a->stop_reason));
    buf_printf(out, "  outcome=%s response=%.*s error=%.*s model=%.*s", outcome_text(a->outcome),
               STR_FMT(a->response), STR_FMT(a->error), STR_FMT(a->model_effective));
    buf_printf(out, " pause=%d:%.*s", (int)a->pause, STR_FMT(a->pause_id));
    print_names(out, "steered", a->steered.items, a->steered.n);
    buf_printf(out, " told=%zu", a->steered_told);
    buf_printf(out, " joining=%s:%.*s", outcome_text(a->joining), STR_FMT(a->joining_error));
    buf_printf(out, " checks=%d:%.*s:%.*s", (int)a->checks, STR_FMT(a->check_id),
               STR_FMT(a->evidence));
    print_names(out, "read", a->files_read.items, a->files_read.n);
    print_names(out, "modified", a->files_modified.items, a->files_modified.n);
    print_names(out, "refused", a->refused.reasons.items, a->refused.reasons.n);
    buf_printf(out, " refused=%lld clashes=%zu reused=%zu", (long long)a->refused.count,
               a->clash_count, a->reused_count);
    print_names(out, "called", a->called, a->called_count);
    buf_printf(out,
               "\n  in=%lld out=%lld cache=%lld,%lld,%lld,%lld,%lld at=%lld,%lld,%lld last=%llu "
               "ready=%llu children=%zu timers",
               (long long)a->input_tokens, (long long)a->output_tokens, (long long)a->cache.input,
               (long long)a->cache.read, (long long)a->cache.written, (long long)a->cache.priced,
               (long long)a->cache.saved_nano, (long long)a->created_at, (long long)a->started_at,
               (long long)a->finished_at, (unsigned long long)a->last_seq,
               (unsigned long long)a->ready_seq, a->children_open);
    for (int i = 0; i < TIMER_COUNT; i++)
        buf_printf(out, " %lld/%lld", (long long)a->timers[i], (long long)a->clock.left[i]);
    buf_printf(out, " patience=%lld/%lld/%lld", (long long)a->patience.since,
               (long long)a->patience.waits, (long long)a->patience.alike);
    buf_printf(out, " standing=%d:%zu asked=%d%d held=%d\n", (int)a->clock.stands,
               a->children_standing, (int)a->clock.for_answers, (int)a->clock.steps_blocked,
               (int)a->held);
    print_tree(out, a);
    buf_printf(out, "  reuse=%.*s seen=%llu", STR_FMT(a->reuse_key),
               (unsigned long long)a->changes_seen);
    buf_printf(out, "  kept_back=%lld/%lld\n", (long long)a->account.kept_back.tokens,
               (long long)a->account.kept_back.cost_nano);
    buf_printf(out, "  broken=%lld:%lld/%lld of=%lld/%lld\n", (long long)a->patience.breaks,
               (long long)a->patience.broken.tokens, (long long)a->patience.broken.cost_nano,
               (long long)a->account.broken.tokens, (long long)a->account.broken.cost_nano);
    buf_printf(out, "  unbilled=%lld/%lld prices=%d", (long long)a->account.unbilled.tokens,
               (long long)a->account.unbilled.cost_nano, (int)a->account.prices);
    buf_printf(out, "  account reserved=%lld/%lld spent=%lld/%lld calls=%lld turns=%lld\n",
               (long long)a->account.reserved.tokens, (long long)a->account.reserved.cost_nano,
               (long long)a->account.spent.tokens, (long long)a->account.spent.cost_nano,
               (long long)a->account.tool_calls, (long long)a->account.turns);
    buf_printf(out, "  time since=%lld,%lld until=%lld timer=%d spent", (long long)a->spent.since,
               (long long)a->spent.attempt_since, (long long)a->spent.until, (int)a->spent.timer);
    for (int i = 0; i < SPENT_COUNT; i++)
        buf_printf(out, " %lld/%lld", (long long)a->spent.ms[i], (long long)a->spent.earlier[i]);
    buf_char(out, '\n');
    print_calls(out, a);
}

void run_print(const struct run *run, struct buf *out)
{
    buf_printf(out, "run %.*s status=%s outcome=%s seq=%llu ts=%lld slots=%lld result=%.*s\n",
               STR_FMT(run->id), run_status_text(run->status), outcome_text(run->outcome),
               (unsigned long long)run->seq, (long long)run->last_ts, (long long)run->slots_held,
               STR_FMT(run->result));
    buf_printf(out, "asker=%s walls=%d ", asker_text(run->asker), (int)run->walls);
    buf_printf(out, "changes=%llu answered=%zu slept=%lld\n", (unsigned long long)run->changes,
               run->answered.count, (long long)run->slept);
    for (size_t i = 0; i < run->settings.model_count; i++)
        buf_printf(out, "window=%lld\n", (long long)run->settings.models[i].max_context_tokens);
    for (size_t i = 0; i < run->notice_count; i++)
        buf_printf(out, "notice=%.*s\n", STR_FMT(run->notices[i]));
    members_print(run, out);
    outputs_print(run, out);
    buf_text(out, "queue");
    for (size_t i = 0; i < run->slot_count; i++) {
        const struct slot_wait *wait = &run->slot_queue[run->slot_head + i];
        if (slot_is_wanted(run, wait))
            buf_printf(out, " %u", wait->agent_no);
    }
    buf_text(out, "\nbudget");
    for (size_t i = 0; i < run->budget_count; i++)
        buf_printf(out, " %u", run->budget_queue[i]);
    buf_char(out, '\n');
    for (uint32_t i = 0; i < run->agent_count; i++)
        print_agent(out, run->agents[i]);
}

bool run_allows(const struct run *run, struct str shown)
{
    return map_get(&run->allowed, shown) != NULL;
}
