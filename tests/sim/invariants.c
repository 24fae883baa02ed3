/* What must be true of a run after every step, seen from its state: counters agree with what they count, slots and limits hold, nobody
 * waits for nobody, and nothing is owed when it has ended. */
#include <stdlib.h>

#include "base/json.h"
#include "core/contract/schema.h"
#include "core/run/state.h"
#include "inside.h"

/* --- one agent ------------------------------------------------------------------------------------------------------------- */

/* What every API demands: the system first, then a user, and each call answered right behind the message that made it. */
void check_conversation(struct world *w, const struct agent *agent)
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

static void check_budget(struct world *w, const struct agent *agent)
{
    const struct account *account = &agent->account;
    if (account->limits.tokens >= 0 && account->spent.tokens > account->limits.tokens)
        wrong(w, "agent %u spent %lld of %lld tokens", agent->no, (long long)account->spent.tokens,
              (long long)account->limits.tokens);
}

/* Contracts never change: each is looked at once. */
static void check_contract(struct world *w, const struct run *run, const struct agent *agent)
{
    struct str dimension;
    int64_t depth = agent->contract.agent.depth;
    if (agent->no <= w->within_checked)
        return;
    w->within_checked = agent->no;
    w->result->deepest = depth > w->result->deepest ? depth : w->result->deepest;
    if (depth > w->plan.depth)
        wrong(w, "agent %u is at level %lld of %lld", agent->no, (long long)depth,
              (long long)w->plan.depth);
    if (contract_within(&agent->contract, &run_agent(run, agent->parent_no)->contract,
                        &dimension) != 1)
        wrong(w, "agent %u has more than its parent: %.*s", agent->no, STR_FMT(dimension));
}

/* Who works holds a slot; who may go on holds one or waits in the queue; who has ended or only awaits others has none. */
static void check_slot(struct world *w, const struct agent *agent)
{
    bool working = agent->phase == PHASE_ASKING || agent->phase == PHASE_BACKOFF;
    bool making = agent->tree != NULL && agent->tree->state == TREE_MAKING;
    bool ready = agent->phase == PHASE_READY || (agent->phase == PHASE_NEW && !making);
    bool over = agent->phase == PHASE_DONE || agent->phase == PHASE_JOINING ||
                agent->phase == PHASE_LEAVING;
    if (agent->no == 0 || agent->stopping != OUTCOME_NONE)
        return;
    if ((working && agent->slot != SLOT_HELD) || (ready && agent->slot == SLOT_NONE) ||
        (over && agent->slot != SLOT_NONE))
        wrong(w, "agent %u in phase %d has slot %d", agent->no, (int)agent->phase,
              (int)agent->slot);
    const size_t *in = agent->calls_in;
    bool busy = in[CALL_GATHERING] + in[CALL_PREPARING] + in[CALL_RUNNING] > agent->calls_awaited;
    if (agent->phase == PHASE_TOOLS && in[CALL_ASKED] > 0 && !busy && agent->slot == SLOT_HELD)
        wrong(w, "agent %u holds a slot while it awaits an answer", agent->no);
}

/* Whoever has a schema ends with JSON that matches it, or not as one who worked; and is corrected twice at most. */
static void check_answer(struct world *w, const struct agent *agent)
{
    struct err err = ERR_INIT;
    struct buf problems;
    if (agent->contract.outputs.schema.p == NULL)
        return;
    if (agent->corrections > 2)
        wrong(w, "agent %u was corrected %lld times", agent->no, (long long)agent->corrections);
    if (agent->phase != PHASE_DONE ||
        (agent->outcome != OUTCOME_COMPLETED && agent->outcome != OUTCOME_BUDGET_EXCEEDED))
        return;
    buf_init(&problems, 1 << 16);
    struct js *schema = js_parse(agent->contract.outputs.schema, &err);
    struct js *value = js_parse(agent->response, &err);
    if (value == NULL || schema_problems(schema, value, &problems) != 0)
        wrong(w, "agent %u ended as one who worked with %.*s", agent->no, STR_FMT(agent->response));
    js_free(value);
    js_free(schema);
    buf_release(&problems);
}

/* --- its calls --------------------------------------------------------------------------------------------------------------- */

static bool has_worked(const struct agent *agent)
{
    return agent->phase == PHASE_DONE &&
           (agent->outcome == OUTCOME_COMPLETED || agent->outcome == OUTCOME_BUDGET_EXCEEDED);
}

static void check_awaited(struct world *w, const struct run *run, const struct agent *agent,
                          const struct call *call)
{
    size_t open = 0;
    for (size_t i = 0; i < call->child_count; i++) {
        if (call->children[i].no == 0 || call->children[i].origin == CHILD_REPEATED)
            continue;
        const struct agent *child = run_agent(run, call->children[i].no);
        bool waits = call->children[i].state == CHILD_OPEN;
        open += waits;
        if (waits && child->phase == PHASE_DONE)
            wrong(w, "call %.*s of agent %u waits for agent %u, which has ended",
                  STR_FMT(call->call.id), agent->no, child->no);
        if (child->parent_no != agent->no)
            wrong(w, "agent %u awaits agent %u, which is not its child", agent->no, child->no);
        if (call->awaits == CALL_AWAITS_JOBS && child->contract.receipt.door != DOOR_SPAWN &&
            !str_is(call->call.name, "agent_merge"))
            wrong(w, "agent %u awaits agent %u, which is no job", agent->no, child->no);
    }
    if (open != call->children_open)
        wrong(w, "call %.*s of agent %u: %zu children are open, it counts %zu",
              STR_FMT(call->call.id), agent->no, open, call->children_open);
}

static void check_fan_out(struct world *w, const struct agent *agent, const struct call *call,
                          const struct js *arguments)
{
    int64_t asked =
        js_get_int(js_kind(arguments) == JS_OBJECT ? arguments : NULL, "max_concurrent", INT64_MAX);
    if ((int64_t)call->children_open > asked ||
        (w->plan.max_concurrent > 0 && (int64_t)call->children_open > w->plan.max_concurrent))
        wrong(w, "fan_out of agent %u has %zu children at once", agent->no, call->children_open);
}

/* A subtask starts when what it depends on has worked, and none starts after a failure. */
static void check_delegate_task(struct world *w, const struct run *run, const struct agent *agent,
                                const struct call *call, const struct js *arguments)
{
    const struct js *subtasks = js_get(arguments, "subtasks");
    if ((int64_t)call->children_open > w->plan.delegate_concurrency)
        wrong(w, "delegate_task of agent %u has %zu children at once", agent->no,
              call->children_open);
    for (size_t i = 0; i < call->child_count; i++) {
        const struct call_child *child = &call->children[i];
        if (child->no == 0 || child->origin == CHILD_REPEATED)
            continue;
        const struct agent *made = run_agent(run, child->no);
        int64_t needs = js_get_int(js_at(subtasks, (size_t)child->item), "depends_on", -1);
        bool met = needs < 0;
        for (size_t k = 0; k < i; k++) {
            const struct agent *before = run_agent(run, call->children[k].no);
            bool failed =
                call->children[k].no == 0 || (before->phase == PHASE_DONE && !has_worked(before) &&
                                              before->finished_at < made->created_at);
            met = met || (call->children[k].item == needs && call->children[k].no != 0 &&
                          (call->children[k].state == CHILD_ENDED ||
                           call->children[k].origin == CHILD_REPEATED));
            if (failed && w->plan.holding == CHILDREN_CLOSED)
                wrong(w, "agent %u was made after subtask %lld had failed", made->no,
                      (long long)call->children[k].item);
            if (call->children[k].item == child->item)
                wrong(w, "subtask %lld of agent %u was made twice", (long long)child->item,
                      agent->no);
        }
        if (!met)
            wrong(w, "agent %u was made before subtask %lld had ended", made->no, (long long)needs);
    }
}

static void check_call(struct world *w, const struct run *run, const struct agent *agent,
                       const struct call *call)
{
    struct err err = ERR_INIT;
    if (call->state != CALL_RUNNING || call->awaits == CALL_WORKS)
        return;
    check_awaited(w, run, agent, call);
    struct js *arguments = js_parse(call->call.arguments, &err);
    if (str_is(call->call.name, "fan_out"))
        check_fan_out(w, agent, call, arguments);
    else if (str_is(call->call.name, "delegate_task"))
        check_delegate_task(w, run, agent, call, arguments);
    else if (str_is(call->call.name, "plan"))
        check_plan(w, run, agent, call);
    js_free(arguments);
}

static void check_calls(struct world *w, const struct run *run, const struct agent *agent)
{
    size_t in[CALL_STATES] = {0}, awaited = 0, for_jobs = 0;
    if (agent->phase != PHASE_TOOLS)
        return;
    for (size_t i = 0; i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        in[call->state]++;
        awaited += call->state == CALL_RUNNING && call->awaits != CALL_WORKS;
        for_jobs += call->state == CALL_RUNNING && call->awaits == CALL_AWAITS_JOBS;
        check_call(w, run, agent, call);
    }
    for (size_t i = 0; i < CALL_STATES; i++) {
        if (in[i] != agent->calls_in[i])
            wrong(w, "agent %u has %zu calls in state %zu and counts %zu", agent->no, in[i], i,
                  agent->calls_in[i]);
    }
    if (awaited != agent->calls_awaited || for_jobs != agent->calls_for_jobs)
        wrong(w, "agent %u awaits with %zu calls, %zu for jobs, and counts %zu, %zu", agent->no,
              awaited, for_jobs, agent->calls_awaited, agent->calls_for_jobs);
    if (agent->calls_open != agent->call_count - in[CALL_DONE])
        wrong(w, "agent %u counts %zu open calls of %zu with %zu done", agent->no,
              agent->calls_open, agent->call_count, in[CALL_DONE]);
}

/* --- parents and children ------------------------------------------------------------------------------------------------------ */

struct recount {
    size_t open, held, standing;
    struct amount reserved; /* its own and its descendants' */
};

static void check_family(struct world *w, const struct run *run, const struct agent *agent,
                         const struct recount *recount)
{
    const struct agent *parent = run_agent(run, agent->parent_no);
    const struct amount *reserved = &agent->account.reserved;
    if (agent->children_open != recount->open)
        wrong(w, "agent %u has %zu open children and counts %zu", agent->no, recount->open,
              agent->children_open);
    if (agent->children_standing != recount->standing)
        wrong(w, "the clocks of %zu children of agent %u stand still, and it counts %zu",
              recount->standing, agent->no, agent->children_standing);
    if (agent->clock.stands != clock_stands(agent))
        wrong(w, "the clock of agent %u was not set", agent->no);
    if (agent->clock.stands && (agent->timers[TIMER_WALL] > 0 || agent->timers[TIMER_ATTEMPT] > 0))
        wrong(w, "the clock of agent %u stands still and its deadlines do not", agent->no);
    w->result->seen[SEEN_CLOCK_STANDS] += agent->no == 0 && agent->clock.stands;
    if (agent->phase == PHASE_DONE && recount->open > 0)
        wrong(w, "agent %u has ended with %zu open children", agent->no, recount->open);
    if (agent->phase == PHASE_JOINING && recount->open == recount->held)
        wrong(w, "agent %u waits for jobs that have ended", agent->no);
    if (agent->phase == PHASE_JOINING && recount->held > 0)
        wrong(w, "agent %u has answered and still holds children that nobody can merge", agent->no);
    bool kept = agent->phase == PHASE_LEAVING && agent->tree->leaves == LEAVES_KEPT;
    if (agent->no != 0 && agent->phase != PHASE_DONE && parent->stopping != OUTCOME_NONE &&
        agent->stopping == OUTCOME_NONE && !kept)
        wrong(w, "agent %u goes on and its parent is being stopped", agent->no);
    if (reserved->tokens != recount->reserved.tokens ||
        reserved->cost_nano != recount->reserved.cost_nano)
        wrong(w, "agent %u has %lld tokens reserved; its requests and those below hold %lld",
              agent->no, (long long)reserved->tokens, (long long)recount->reserved.tokens);
}

static void check_families(struct world *w, const struct run *run)
{
    uint32_t count = run_agent_count(run);
    struct recount *recounts = calloc(count, sizeof *recounts);
    if (recounts == NULL)
        abort();
    for (uint32_t no = count; no-- > 0;) {
        const struct agent *agent = run_agent(run, no);
        struct recount *own = &recounts[no], *above = &recounts[agent->parent_no];
        own->reserved.tokens += agent->reserved.tokens;
        own->reserved.cost_nano += agent->reserved.cost_nano;
        if (no == 0)
            continue;
        above->open += agent->life != LIFE_CLOSED;
        above->standing += agent->life != LIFE_CLOSED && clock_stands(agent);
        above->held += agent->life == LIFE_WAITING_FOR_MERGE && agent->phase == PHASE_DONE;
        above->reserved.tokens += own->reserved.tokens;
        above->reserved.cost_nano += own->reserved.cost_nano;
    }
    for (uint32_t no = 0; no < count; no++)
        check_family(w, run, run_agent(run, no), &recounts[no]);
    free(recounts);
}

/* --- the whole run --------------------------------------------------------------------------------------------------------------- */

/* Something is under way, the store is asked who owns the run, a person is asked, or something is due for another reason than that time is up. */
static void check_moving(struct world *w, const struct run *run)
{
    struct buf who;
    buf_init(&who, 4096);
    if (run_waits_for_nobody(run, &who))
        wrong(w, "%.*s", STR_FMT(buf_view(&who)));
    buf_release(&who);
    bool moves = w->commit_pending || w->flights > 0 || w->stop.asked ||
                 run_state(run) != RUN_RUNNING || run_agent(run, 0)->pause == PAUSE_ASKED ||
                 run_agent(run, 0)->timers[TIMER_APPROVAL] > 0;
    for (uint32_t no = 0; no < run_agent_count(run) && !moves; no++)
        moves = run_agent(run, no)->phase == PHASE_BACKOFF ||
                run_agent(run, no)->calls_in[CALL_ASKED] > 0;
    if (!moves)
        wrong(w, "deadlock: nothing is under way, and only a deadline could end the run");
}

void check_step(struct world *w)
{
    const struct run *run = pump_run(w->pump);
    int64_t slots = 0, asking = 0, limit = w->plan.max_concurrent;
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct agent *agent = run_agent(run, no);
        slots += agent->slot == SLOT_HELD;
        asking += no != 0 && agent->phase == PHASE_ASKING;
        check_budget(w, agent);
        check_contract(w, run, agent);
        check_slot(w, agent);
        check_answer(w, agent);
        check_calls(w, run, agent);
    }
    if (limit > 0 && (slots > limit || asking > limit))
        wrong(w, "%lld slots are held and %lld children ask, %lld may", (long long)slots,
              (long long)asking, (long long)limit);
    check_families(w, run);
    check_moving(w, run);
}

void check_end(struct world *w)
{
    const struct run *run = pump_run(w->pump);
    if (w->flights > 0)
        wrong(w, "%lld effects were under way when the run had ended", (long long)w->flights);
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct agent *agent = run_agent(run, no);
        if (no != 0 && agent->life != LIFE_CLOSED)
            wrong(w, "child %u is %s and the run has ended", no, life_text(agent->life));
        if (agent->account.reserved.tokens != 0 || agent->account.reserved.cost_nano != 0)
            wrong(w, "agent %u has %lld tokens reserved and the run has ended", no,
                  (long long)agent->account.reserved.tokens);
    }
}
