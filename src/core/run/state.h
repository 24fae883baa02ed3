/* Private to core/run: the run's own state, and the helpers that its files share. Nobody else includes this. */
#ifndef CADRE_CORE_RUN_STATE_H
#define CADRE_CORE_RUN_STATE_H

#include "base/map.h"
#include "core/contract/registry.h"
#include "core/run/run.h"

struct timer {
    int64_t at;
    uint32_t agent_no;
    enum timer_kind kind;
};

/* What is known of a model of the settings. */
struct member {
    int64_t out_until; /* left out of pools before this time; INT64_MAX: for the run */
    struct str why;
    /* Of its provider; kept with the first model of that provider. */
    bool answered;
    int64_t failing_since; /* the first failure without an answer; 0: none */
    int64_t answered_at;   /* its last whole answer; 0: none */
};

struct run {
    struct arena arena;
    struct str id, session_id, user_id, workspace_id, workspace_path, task, instructions;
    enum asker asker;
    struct settings settings;
    struct member *members; /* by place in the settings' models */
    struct control control; /* the registry, and what is pinned */
    bool directed;          /* the root does what the run was started for, and asks no model */
    enum run_status status;
    enum outcome outcome;
    uint64_t seq;
    int64_t last_ts;
    struct agent **agents;
    uint32_t agent_count;
    size_t agent_capacity;
    int64_t slots_held;
    /* Agents that want a slot, oldest first. Whoever wants none any more is skipped, and stands further behind when it wants one again. */
    struct slot_wait {
        uint32_t agent_no;
        uint64_t since; /* the event that made it wait */
    } * slot_queue;
    size_t slot_head, slot_count, slot_capacity;
    uint32_t *budget_queue; /* agents that wait until others settle */
    size_t budget_count, budget_capacity;
    struct timer
        *heap; /* by (at, agent_no, kind); entries that no longer match the agent are skipped */
    size_t heap_count, heap_capacity;
    struct str result;
    struct map
        modifiers; /* of each file that children changed: the agent that was the last to begin */
    struct map answered; /* by reuse_key: the child whose result may be used again */
    uint64_t changes; /* grows when anything may have been changed: what was read before is old */
    struct map known_texts; /* of each path that was read for a child: gathered.c's */
    enum { TIMES_UNKNOWN, TIMES_KNOWN } times; /* KNOWN: requests said how long they took */
    uint64_t effects; /* mark of all decided effects; not part of the folded state */
};

struct agent *run_agent_at(const struct run *run, uint32_t no);
void *grow(void *items, size_t count, size_t *capacity,
           size_t size); /* room for one more; aborts without memory */

/* slots.c */
bool slot_is_wanted(const struct run *run, const struct slot_wait *wait);
void slot_release(struct run *run, struct agent *agent);
void slot_take(struct run *run, struct agent *agent);
void slot_enqueue(struct run *run, struct agent *agent, uint64_t seq);
void slot_yield(struct run *run, struct agent *agent);
void budget_unqueue(struct run *run, struct agent *agent);

/* timers.c */
void timer_set(struct run *run, struct agent *agent, enum timer_kind kind,
               int64_t at); /* 0 clears */
/* A limit that begins at `from`; UNLIMITED clears. */
void deadline_set(struct run *run, struct agent *agent, enum timer_kind kind, int64_t from,
                  int64_t limit);
/* The earliest timer that is still meant, or false. */
bool timer_first(struct run *run, struct timer *timer);
void timers_shift(struct run *run, int64_t by);

/* clock.c: deadlines count only while the agent, or a child that it waits for, can work */
bool clock_stands(const struct agent *agent);
/* Moves the deadlines that the agent's clock counts, because it waited for so long without being seen to. */
void clock_shift(struct run *run, struct agent *agent, int64_t by);
void clock_update(struct run *run, struct agent *agent, int64_t now); /* for run_apply alone */

/* spent.c: an agent's time */
/* Charges the time up to this event, which is not applied yet. */
void spent_before(struct run *run, struct agent *agent, const struct event *event);
void spent_shift(struct run *run, int64_t by);
struct deciding;
/* Why an agent is stopped: a limit of time is used up, or nothing came for so long from its model
 * or (where it is named) from a tool. Each names the key that sets the limit. */
struct str spent_used_up(struct deciding *d, const struct agent *agent, enum timer_kind kind);
struct str spent_silent(struct deciding *d, const struct agent *agent, int64_t ms, struct str tool);
/* The error of an agent that a timer stopped for this reason: where the time went. */
struct str spent_explain(struct deciding *d, const struct agent *agent, struct str reason);

/* How an agent ended, before that is applied. */
struct ending {
    enum outcome outcome;
    struct str response, error;
};

#define DRAFTS 4

/* One call of run_decide. After the first error nothing more is emitted. */
struct deciding {
    struct run *run;
    struct decision *out;
    int64_t now;
    uint64_t cause; /* the fact's seq, once it was emitted */
    struct err *err;
    bool failed;
    /* Events in the making. An event is over when it was emitted: what is needed of it later is copied before. */
    struct event drafts[DRAFTS];
    size_t next_draft;
};

/* The log holds a text once: what a model said in model.replied, a file in facts.gathered. Events that follow from it repeat no more
 * than this many bytes. */
#define REPEATED_MAX 256
#define OPENING_BYTES 80 /* of a text that is not repeated, for people */

struct event *draft(struct deciding *d, uint32_t agent_no, enum event_type type);
struct str keep(struct deciding *d, struct str text); /* copies into the decision's arena */
void emit(struct deciding *d, struct event *event);   /* numbers, applies, adds */
struct effect *effect_add(struct deciding *d, enum effect_kind kind, enum effect_class class,
                          const struct agent *agent, struct str call_id);
void effect_seal(struct deciding *d,
                 const struct effect *effect); /* when filled in: takes it into the run's mark */

/* patience.c: a provider's trouble */
/* What follows from a failed request. NEXT: text names the model that is asked instead. REFIT: it is asked again when it fits the
 * window. WAIT: it is tried again at `at`. PARK: the run parks. END: for the agent it is an error, which text tells. */
struct verdict {
    enum { VERDICT_END, VERDICT_NEXT, VERDICT_REFIT, VERDICT_WAIT, VERDICT_PARK } kind;
    struct str text;
    int64_t at;
};
struct verdict patience_verdict(struct deciding *d, const struct agent *agent,
                                const struct model_failure *failure);
void patience_over(struct deciding *d, const struct agent *agent); /* its timer has fired */
void patience_held(struct deciding *d, const struct agent *agent); /* its request is held back */
/* Nothing ends, nobody works on the run any more, and a resume goes on. Emits the decision's last event. model: whose provider
 * is in trouble, or STR_NONE. */
void run_park(struct deciding *d, struct str model, struct str why);
/* The model to ask: the first of the agent's pool that is not left out. STR_NONE: all of them are, for the run. */
struct str pool_pick(const struct run *run, const struct agent *agent, int64_t now);
/* Why that is so, for each model. last: the error of the model that was asked last, not yet applied; or STR_NONE. */
struct str pool_error(struct deciding *d, const struct agent *agent, struct str last);
/* For apply alone. */
void members_open(struct run *run);
void members_print(const struct run *run, struct buf *out);
void member_answered(struct run *run, const struct agent *agent, int64_t now);
int64_t patience_rest(const struct run *run, const struct agent *agent);
void member_failed(struct run *run, const struct agent *agent, const struct event *event);
void patience_failed(struct run *run, struct agent *agent, const struct event *event);
void patience_forget(struct run *run, struct agent *agent);
void patience_anew(struct run *run); /* the run is resumed */

/* turn.c: an agent's loop */
void turn_advance(struct deciding *d, struct agent *agent);
void turn_replied(struct deciding *d, struct agent *agent, const struct model_reply *reply);
void turn_failed(struct deciding *d, struct agent *agent, const struct model_failure *failure,
                 const struct verdict *verdict);
void turn_interrupted(struct deciding *d,
                      struct agent *agent); /* its request was lost in a crash */
/* What is kept back for the agent's last turn; nothing in the last turn itself. */
struct amount turn_reserve(const struct agent *agent, const struct model_settings *model,
                           int64_t input);
/* Whether a request that overflowed the window is made to fit and asked again, this once more. */
bool turn_refits(const struct agent *agent);
/* The next model of the agent's pool behind the one that is asked now, or STR_NONE. */
int64_t turn_call_limit(const struct run *run,
                        const struct agent *agent); /* UNLIMITED, or how many calls in all */
/* The circuit breaker: true while a person decides whether the agent goes on. Asks when that is due. */
bool turn_pauses(struct deciding *d, struct agent *agent);
void turn_ask_again(struct deciding *d, const struct agent *agent); /* after a crash */
void message_add(struct deciding *d, struct agent *agent, const char *role, const char *note,
                 struct str text);
void schedule(struct deciding *d); /* gives free slots and settled budget to those who wait */

/* context.c: the conversation within its bounds */
void message_push(struct agent *agent, const struct message *message);
void files_add(struct agent *agent, struct list *list, struct str json);
void context_mask(struct agent *agent);
void context_cut(struct agent *agent, size_t bytes);
void context_compact(struct agent *agent, struct str summary, size_t kept);
/* What the last reply, which was asked for a summary, becomes in the conversation; STR_NONE where there is no such reply. */
struct str context_summary(struct agent *agent);
/* Estimate for the messages whose tokens were not booked yet. */
int64_t context_unbooked(const struct agent *agent);
/* Whether the model has called tools instead of writing the summary, and was told not to, before its last
 * reply. */
bool context_summary_corrected(const struct agent *agent);
/* Makes the conversation shorter or asks for a summary; false: nothing more can be done. */
bool context_reduce(struct deciding *d, struct agent *agent, int64_t bound);
/* The last turn is not affordable as it is: cuts results that were not sent yet so that `tokens` new ones remain. */
bool context_fit(struct deciding *d, struct agent *agent, int64_t tokens);
/* The summary came (or none did): the conversation goes on from it. */
void context_compacted(struct deciding *d, struct agent *agent, struct str summary, int64_t bound);

/* calls.c: the calls of one reply */
void calls_advance(struct deciding *d, struct agent *agent);
void call_finish(struct deciding *d, struct agent *agent, struct call *call,
                 enum tool_outcome outcome, struct str text);
/* Ends all calls of a reply of which none was started: none is executed. */
void calls_decline(struct deciding *d, struct agent *agent, struct str why);
void call_perform(struct deciding *d, struct agent *agent,
                  struct call *call); /* the prepared change may be made */
void call_resume(struct deciding *d, struct agent *agent, struct call *call);
void call_move(struct agent *agent, struct call *call, enum call_state to); /* for apply alone */
void call_ask(struct deciding *d, const struct agent *agent,
              const struct call *call); /* puts the question that the call waits for */
void calls_forget(struct agent *agent);
/* Bytes of a result that still fit: half of what is left of the context, shared by the calls of this turn. */
int64_t call_result_bytes(const struct run *run, const struct agent *agent);
void call_adopt(struct agent *agent, struct call *call, uint32_t child_no, int64_t item);
struct call *call_find(struct agent *agent, struct str call_id);

/* delegate.c: the doors */
void delegate_call(struct deciding *d, struct agent *agent, struct call *call);
void delegate_gathered(struct deciding *d, struct agent *agent, struct call *call);
/* A child that the call made or awaits has ended. */
void delegate_ended(struct deciding *d, struct agent *agent, struct call *call,
                    const struct agent *child);
void child_start(struct deciding *d, struct agent *agent);
void child_attempt(struct deciding *d, struct agent *agent, int64_t attempt);

/* gathered.c: files that were read for children */
/* As the event has them: texts that the log has already are named by their event. */
struct str gathered_log(struct deciding *d, const struct gathering *gathering);
/* What the context of a child takes with these files. */
size_t gathered_bytes(struct str context, const struct gathering *gathering);
/* The first message of a child: its objective, its brief (contract_brief), its context and the files. */
size_t task_bytes(const struct agent *agent, struct str brief);
struct str task_text(struct arena *arena, const struct agent *agent, struct str brief);

/* answers.c: what models and tools say; decide.c: everything else that happens */
void answer_take(struct deciding *d, const struct input *input);
struct event *fact(struct deciding *d, uint32_t agent_no,
                   enum event_type type); /* with the mark of all effects decided before it */
/* JSON text from an adapter, or `otherwise`: what does not parse must never get into a log. */
/* The words of a failure, with the server's id of the request, by which its support finds it. */
struct str failure_shown(struct deciding *d, struct str text, const struct model_failure *failure);
struct str sound_json(struct str json, struct str otherwise);

/* trees.c: agents that work in files of their own */
bool tree_isolates(const struct agent *agent); /* its contract says so */
bool tree_busy(const struct agent *agent);     /* an effect on its tree is under way */
bool tree_is_there(const struct agent *agent); /* it has files of its own */
/* Asks for the tree where the agent is to have one and has none yet; false: it can work at once. */
bool tree_wanted(struct deciding *d, struct agent *agent, int64_t attempt);
void tree_again(struct deciding *d, struct agent *agent, int64_t attempt); /* as new, at its base */
void tree_answer(struct deciding *d, struct agent *agent, const struct input *input);
/* The work of a child is done: its tree is merged when its turn comes, or its work kept. */
void tree_leave(struct deciding *d, struct agent *child);
/* The same for a root, which ends like this afterwards; false: there is nothing to leave. */
bool tree_root_leaves(struct deciding *d, struct agent *root, const struct ending *ending);
void tree_resume(struct deciding *d, struct agent *agent); /* its effect was lost in a crash */
void trees_advance(struct deciding *d,
                   struct agent *parent); /* begins the merge whose turn it is */

/* finish.c: how agents end */
void agent_finish(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error);
/* The same, unless its contract allows another attempt. */
void agent_give_up(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error);
void agent_stop(struct deciding *d, struct agent *agent, enum outcome outcome, struct str reason);
/* Stops all children that are not closed. */
void children_stop(struct deciding *d, struct agent *agent, struct str reason);
/* A child that is held: its work is taken; or it is given up. */
void child_integrate(struct deciding *d, struct agent *child);
void child_drop(struct deciding *d, struct agent *child, struct str why);
/* Its tree was merged, or kept, or could not be: it is closed. */
void child_left(struct deciding *d, struct agent *child, enum tool_outcome outcome,
                struct str message);
void agent_settle_stop(struct deciding *d,
                       struct agent *agent); /* ends it when nothing of it is under way */

/* result.c */
/* answer.c: agents whose contract has a schema */
/* The answer that the agent has just given does not match, and it was told why: it is to answer again. */
bool answer_corrected(struct deciding *d, struct agent *agent);
/* An ending that counts as work has an answer that matches, or becomes an error. Response: the JSON alone. */
void answer_settle(struct deciding *d, const struct agent *agent, struct ending *ending);

/* checks.c: agents whose contract has checks */
#define CORRECTIONS_MAX 2 /* of an answer or of work, in one attempt */
/* Runs the checks where this ending counts as work and they have not passed; false: none are due. */
bool checks_begin(struct deciding *d, struct agent *agent, const struct ending *ending);
void checks_ended(struct deciding *d, struct agent *agent, enum checked checked, struct str text);
void checks_resume(struct deciding *d, struct agent *agent); /* they were lost in a crash */
struct str checks_json(struct deciding *d, const struct list *checks);

/* The result object of CONTRACT.md as JSON, in the decision's arena. */
struct str result_object(struct deciding *d, const struct agent *agent,
                         const struct ending *ending);
/* What the caller reads of a child that worked: its answer, or that its budget was too small for one. */
struct str result_said(enum outcome outcome, struct str response);
/* As spawn_agent shows it to the parent. */
struct str result_text(struct deciding *d, const struct agent *agent, const struct ending *ending);
/* Appends which of the files that it changed another child had changed before, behind `opening`; nothing where there is none. */
void result_notice(const struct run *run, const struct agent *agent, const char *opening,
                   struct buf *out);
void child_stamp(const struct agent *agent,
                 struct event *event); /* task_id, sub_agent_id, step_idx */

/* reuse.c: results that are used again */
/* For what a child would be given; STR_NONE: its result is for nobody else. */
struct str reuse_key(struct deciding *d, const struct delegation *request,
                     const struct gathering *gathering, const struct contract *contract);
/* The child whose result stands for that, or NULL. */
const struct agent *reuse_find(const struct run *run, const struct agent *parent, enum door door,
                               struct str key);
void reuse_learn(struct run *run, struct agent *child); /* for apply alone: it is closed now */
/* For apply alone: what was read before may be old now. The call's state is still the one before. */
void reuse_call_ended(struct run *run, const struct call *call, const struct event *event);
/* What the call knows of this child, or NULL. */
const struct call_child *call_child_of(const struct call *call, const struct agent *child);
/* Appends that the result is a repeated one, behind `opening`; nothing where it is not. */
void reuse_notice(const struct call_child *child, const struct agent *agent, const char *opening,
                  struct buf *out);

/* retry.c */
int64_t retry_delay(const struct run *run, const struct agent *agent,
                    const struct model_failure *failure);

/* ask_user.c: questions to the person at the terminal */
bool call_is_question(const struct call *call);
void inbox_answer(struct deciding *d, const struct js *body);

/* start.c: how a run begins */
void inbox_start(struct deciding *d, const struct js *body);
/* The settings know the agents of the registry. */
void control_settings(struct arena *arena, const struct control *control,
                      struct settings *settings);

/* prompt.c */
struct str prompt_root(struct deciding *d);
struct str prompt_last_turn(struct deciding *d, const struct agent *agent, enum outcome why);
struct str prompt_warning(struct deciding *d, const struct agent *agent, int percent);

#endif
