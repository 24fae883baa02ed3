/* Children: a request becomes a contract, the contract a child; starting it, and each attempt. Every door ends here. Pure. */
#include "base/json.h"
#include "base/utf8.h"
#include "core/run/door.h"

#define GATHERED_BYTES_MAX 65536
/* The number of a line takes some bytes more than an empty line. */
#define NUMBERED_BYTES_MAX (12 * CONTEXT_BYTES_MAX)

void door_refuse(struct deciding *d, const struct agent *agent, const struct call *call,
                 const struct err *why)
{
    if (why->class == ERR_DENIED || why->class == ERR_BUDGET) {
        struct event *e = draft(d, agent->no, EVENT_PERMISSION_DENIED);
        e->call_id = keep(d, call->call.id);
        e->tool = keep(d, call->call.name);
        e->reason = keep(d, str_from(why->message));
        e->depth = agent->contract.agent.depth + 1;
        emit(d, e);
    }
    call_finish(d, agent, call, TOOL_ERROR,
                arena_printf(&d->out->arena, "Error: %s", why->message));
}

static void gather_with(struct deciding *d, const struct agent *agent, const struct call *call,
                        struct str paths, struct str tool, int64_t bytes)
{
    struct effect *effect = effect_add(d, EFFECT_GATHER, EFFECT_PURE, agent, call->call.id);
    effect->tool = tool;
    effect->arguments = keep(d, paths);
    effect->max_result = bytes;
    effect_seal(d, effect);
}

void door_gather(struct deciding *d, const struct agent *agent, const struct call *call,
                 struct str paths)
{
    gather_with(d, agent, call, paths, STR("read"), NUMBERED_BYTES_MAX);
}

void door_gather_texts(struct deciding *d, const struct agent *agent, const struct call *call,
                       struct str paths)
{
    gather_with(d, agent, call, paths, STR(""), GATHERED_BYTES_MAX);
}

/* --- making one --------------------------------------------------------------------------------------------------------- */

static void report_clamps(struct deciding *d, uint32_t agent_no, const struct contract *contract)
{
    if (contract->receipt.clamp_count == 0)
        return;
    struct buf out;
    struct jw w;
    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    contract_clamps_print(contract, &w);
    struct event *e = draft(d, agent_no, EVENT_CONTRACT_CLAMPED);
    e->clamps = keep(d, buf_view(&out));
    buf_release(&out);
    emit(d, e);
}

static struct str task_id_of(struct deciding *d, struct str agent_id)
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(agent_id);
    hash_hex(&hash, hex);
    return keep(d, (struct str){hex, 12});
}

/* A deadline that has passed and not fired yet leaves nothing; it must not read as "unlimited". */
static int64_t wall_left(const struct deciding *d, const struct agent *parent)
{
    int64_t at = agent_deadline(parent, TIMER_WALL, d->now);
    return at == 0 ? UNLIMITED : at > d->now ? at - d->now : 0;
}

/* The result of an earlier child stands for the one that was asked for. */
static void repeat(struct deciding *d, const struct agent *parent, const struct call *call,
                   const struct agent *earlier, int64_t item)
{
    struct event *e = draft(d, parent->no, EVENT_RESULT_REUSED);
    e->call_id = keep(d, call->call.id);
    e->task_id = earlier->task_id;
    e->sub_agent_id = earlier->id;
    e->item = item;
    e->earlier_no = earlier->no;
    emit(d, e);
}

/* What stands behind the task in the child's first message. */
static int64_t passed_tokens(const struct delegation *request, const struct call *call)
{
    const struct gathering *files = request->context_files.n > 0 ? call->gathering : NULL;
    int64_t tokens = budget_estimate(request->context);
    for (size_t i = 0; files != NULL && i < files->count; i++)
        tokens += budget_estimate(files->files[i].text) + budget_estimate(files->files[i].path);
    return tokens;
}

int child_make(struct deciding *d, const struct agent *parent, const struct call *call,
               const struct delegation *request, int64_t item, struct err *err)
{
    const struct run *run = d->run;
    struct id id = id_derive(d->now, parent->id, run->seq + 1);
    struct amount left = budget_left_settled(&parent->account);
    struct facts facts = {.run_id = run->id,
                          .session_id = run->session_id,
                          .parent_agent_id = parent->id,
                          .agent_id = id_str(&id),
                          .parent_task = parent->objective,
                          .workspace_path = run->workspace_path,
                          .remaining_tokens = left.tokens,
                          .remaining_cost_nano = left.cost_nano,
                          .remaining_wall_ms = wall_left(d, parent),
                          .passed_tokens = passed_tokens(request, call),
                          .ordinal = run->agent_count,
                          .asker = run->asker};
    struct contract contract;
    struct arena *passing = &d->out->passing;
    arena_reset(passing);
    if (contract_derive(passing, &parent->contract, request, &facts, &run->settings, &contract,
                        err) != 0)
        return -1;
    struct str key = reuse_key(d, request, call->gathering, &contract);
    const struct agent *earlier = reuse_find(run, parent, request->door, key);
    if (earlier != NULL) {
        repeat(d, parent, call, earlier, item);
        return CHILD_REPEATED;
    }
    uint32_t no = run->agent_count;
    struct event *e = draft(d, no, EVENT_SUBAGENT_CREATED);
    e->call_id = STR_NONE;
    e->task_id = task_id_of(d, facts.agent_id);
    e->sub_agent_id = facts.agent_id;
    e->step_idx = contract.parent.step_idx;
    e->name = contract.agent.name;
    e->objective = request->task;
    if (request->scope.n > 0)
        e->scope = request->scope;
    if (request->context.n > 0)
        e->context = request->context;
    if (request->context_files.n > 0 && call->gathering != NULL)
        e->gathered = (int64_t)call->gathering->seq;
    if (request->prompt.n > 0)
        e->prompt = request->prompt;
    e->reuse_key = key;
    e->item = item;
    e->parent_no = parent->no;
    e->parent_call = call->call.id;
    e->contract = contract.json;
    e->contract_made = &contract;
    emit(d, e);
    e->contract_made = NULL; /* it ends with this function */
    report_clamps(d, no, &contract);
    return CHILD_NEW;
}

/* --- starting it ------------------------------------------------------------------------------------------------------------- */

void child_stamp(const struct agent *agent, struct event *e)
{
    e->task_id = agent->task_id;
    e->sub_agent_id = agent->id;
    e->step_idx = agent->contract.parent.step_idx;
}

/* Its first message. A long task stands in the log already: the event then has the brief alone. */
static void add_task(struct deciding *d, const struct agent *agent)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    contract_brief(&agent->contract, agent->scope, &text);
    struct str brief = keep(d, buf_view(&text));
    buf_release(&text);
    struct event *e = draft(d, agent->no, EVENT_AGENT_MESSAGE);
    e->role = STR("user");
    if (task_bytes(agent, brief) > brief.n + REPEATED_MAX) {
        e->opening = keep(d, utf8_cut(agent->objective, OPENING_BYTES));
        e->text = brief;
    } else {
        e->text = task_text(&d->out->arena, agent, brief);
    }
    emit(d, e);
}

void child_attempt(struct deciding *d, const struct agent *agent, int64_t attempt)
{
    struct event *e = draft(d, agent->no, EVENT_SUBAGENT_ATTEMPT);
    child_stamp(agent, e);
    e->attempt = attempt;
    emit(d, e);
    if (d->failed)
        return;
    struct buf text;
    struct delegation request = {
        .door = agent->contract.receipt.door, .task = agent->objective, .prompt = agent->prompt};
    buf_init(&text, SIZE_MAX / 4);
    contract_prompt(&agent->contract, &request, d->run->workspace_path, &text);
    if (list_has(&agent->contract.permissions.allowed_tools, STR("delegate")) &&
        d->run->control.registry.count > 0) {
        buf_char(&text, '\n');
        registry_prompt(&d->run->control.registry, &text);
    }
    message_add(d, agent, "system", NULL, keep(d, buf_view(&text)));
    buf_release(&text);
    add_task(d, agent);
    due_continue(
        d, agent); /* one that awaited children when it failed queues for a slot like anybody */
}

void child_start(struct deciding *d, const struct agent *agent)
{
    if (tree_wanted(d, agent, 0))
        return; /* it starts when the tree is there */
    struct event *e = draft(d, agent->no, EVENT_SUBAGENT_STARTED);
    child_stamp(agent, e);
    e->worktree_path = d->run->workspace_path;
    e->strategy = agent->contract.isolation.strategy;
    if (tree_is_there(agent)) {
        e->worktree_path = agent->tree->path;
        e->strategy = agent->tree->strategy;
        e->branch = agent->tree->branch;
        e->base_ref = agent->tree->base_ref;
    }
    emit(d, e);
    child_attempt(d, agent, 0);
}

/* --- looking at them -------------------------------------------------------------------------------------------------------- */

struct ending ending_of(const struct agent *child)
{
    return (struct ending){child->outcome, child->response, child->error};
}

struct str door_share(struct deciding *d, const struct agent *agent, struct str text, size_t count)
{
    int64_t share = call_result_bytes(d->run, agent) / (int64_t)count;
    if ((int64_t)text.n <= share)
        return text;
    struct str cut = utf8_cut(text, (size_t)share);
    return arena_printf(&d->out->arena, "%.*s… (cut here; agent_result has all of it)",
                        STR_FMT(cut));
}

struct str child_text(struct deciding *d, const struct agent *agent, const struct call *call,
                      const struct agent *child, const struct ending *ending)
{
    struct buf out;
    struct ending shown = *ending;
    shown.response = door_share(d, agent, ending->response, 1);
    buf_init(&out, SIZE_MAX / 4);
    buf_str(&out, result_text(d, child, &shown));
    reuse_notice(call_child_of(call, child), child, "\n", &out);
    struct str text = keep(d, buf_view(&out));
    buf_release(&out);
    return text;
}

bool ending_worked(enum outcome outcome)
{
    return outcome == OUTCOME_COMPLETED || outcome == OUTCOME_BUDGET_EXCEEDED;
}

const struct agent *child_named(const struct deciding *d, const struct agent *agent, struct str id,
                                struct err *err)
{
    const struct agent *child = run_child_named(d->live, agent, id);
    if (child != NULL)
        return child;
    err_set(err, ERR_USAGE, "no sub-agent of yours has the id \"%.*s\"; agent_status lists them",
            (int)(id.n < 64 ? id.n : 64), id.p ? id.p : "");
    return NULL;
}
