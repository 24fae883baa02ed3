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

/* How long the answers of a model were, to agents of one role (output_limit.c). */
struct learnt_output {
    struct str model, role; /* role: "root" for the root */
    int64_t longest;        /* tokens of the longest answer so far */
    int64_t doubled;        /* twice the last limit that cut an answer off; 0: none did */
};

struct run {
    struct arena arena;
    struct str id, session_id, user_id, workspace_id, workspace_path, task, instructions;
    enum asker asker;
    enum call_walls walls;
    struct settings settings;
    struct member *members; /* by place in the settings' models */
    struct control control; /* the registry, and what is pinned */
    bool directed;          /* the root does what the run was started for, and asks no model */
    enum run_status status;
    enum outcome outcome;
    uint64_t seq;
    int64_t last_ts;
    int64_t slept;               /* how far the present owner's time is behind wall time */
    const struct agent **agents; /* by number; apply.h has them to be changed */
    uint32_t agent_count;
    size_t agent_capacity;
    int64_t slots_held;
    /* Agents that want a slot, oldest first. Whoever wants none any more is skipped, and stands further behind when it wants one again. */
    struct slot_wait {
        uint32_t agent_no;
        uint64_t since; /* the event that made it wait */
    } * slot_queue;
    size_t slot_head, slot_count, slot_capacity;
    struct learnt_output *outputs;
    size_t output_count, output_capacity;
    uint32_t *budget_queue; /* agents that wait until others settle */
    size_t budget_count, budget_capacity;
    struct timer
        *heap; /* by (at, agent_no, kind); entries that no longer match the agent are skipped */
    size_t heap_count, heap_capacity;
    struct str result;
    struct map allowed; /* hashes of what a person allowed for always; the values mean nothing */
    struct map
        modifiers; /* of each file that children changed: the agent that was the last to begin */
    struct map answered; /* by reuse_key: the child whose result may be used again */
    uint64_t changes; /* grows when anything may have been changed: what was read before is old */
    struct map known_texts;              /* of each path that was read for a child: gathered.c's */
    struct str notices[RUN_NOTICES_MAX]; /* what a person was told once; notices.c */
    size_t notice_count;
    enum { TIMES_UNKNOWN, TIMES_KNOWN } times; /* KNOWN: requests said how long they took */
    uint64_t effects; /* mark of all decided effects; not part of the folded state */
    /* Children by task_id and by id, up to number `named`; made when one is named. Not part of the folded state either. */
    struct map names;
    uint32_t named;
};

const struct agent *run_agent_at(const struct run *run, uint32_t no);
/* The latest child of this parent with that task_id or id, or NULL. */
const struct agent *run_child_named(struct run *run, const struct agent *parent, struct str name);
void *grow(void *items, size_t count, size_t *capacity,
           size_t size); /* room for one more; aborts without memory */

/* slots.c */
bool slot_is_wanted(const struct run *run, const struct slot_wait *wait);
bool slot_is_free(const struct run *run);
void slot_release(struct run *run, struct agent *agent);
void slot_take(struct run *run, struct agent *agent);
void slot_enqueue(struct run *run, struct agent *agent, uint64_t seq);
void slot_yield(struct run *run, struct agent *agent);
/* The oldest that wants a slot, or NULL. Drops those before it that want none any more. */
const struct agent *slot_first(struct run *run);
void budget_unqueue(struct run *run, struct agent *agent);

/* timers.c */
void timer_set(struct run *run, struct agent *agent, enum timer_kind kind,
               int64_t at); /* 0 clears */
/* A limit that begins at `from`; UNLIMITED clears. */
void deadline_set(struct run *run, struct agent *agent, enum timer_kind kind, int64_t from,
                  int64_t limit);
/* The earliest timer that is still meant, or false. */
bool timer_first(struct run *run, struct timer *timer);
/* When the last owner was last alive, in the time of its events. */
int64_t run_ended_at(const struct run *run, int64_t alive_at);
void timers_shift(struct run *run, int64_t unowned); /* for a new owner; before slept is reset */

/* clock.c: deadlines count only while the agent, or a child that it waits for, can work */
bool clock_stands(const struct agent *agent);
/* Moves the deadlines that the agent's clock counts, because it waited for so long without being seen to. */
void clock_shift(struct run *run, struct agent *agent, int64_t by);
void clock_update(struct run *run, struct agent *agent, int64_t now); /* for run_apply alone */

/* notices.c: what a person is told once in a run */
struct deciding;
/* Those of the lines that the run has not told yet; STR_NONE: none. */
struct str notices_untold(struct deciding *d, struct str lines);
void notices_apply(struct run *run, struct str lines);

/* spent.c: an agent's time */
/* Charges the time up to this event, which is not applied yet. */
void spent_before(struct run *run, struct agent *agent, const struct event *event);
void spent_shift(struct run *run, int64_t by);
/* Why an agent is stopped: a limit of time is used up, or nothing came for so long from its model
 * or (where it is named) from a tool. Each names the key that sets the limit. */
struct str spent_used_up(struct deciding *d, const struct agent *agent, enum timer_kind kind);
struct str spent_silent(struct deciding *d, const struct agent *agent, int64_t ms, struct str tool);
/* The error of an agent that a timer stopped for this reason: where the time went. */
struct str spent_explain(struct deciding *d, const struct agent *agent, struct str reason);

/* limit.c: which limit of its budget an agent came to, for people: "15 tool calls (KEY)", where KEY says
 * what sets it. In the decision's arena. */
struct str limit_of(struct deciding *d, const struct agent *agent, enum limit_kind kind);
/* The limit may be one of an agent above. Empty where nothing limits. Behind it stands what is missing: `needed` by the next
 * request and the turn behind it, what is left, and the limit that would pay for them. */
struct str limit_of_bound(struct deciding *d, const struct agent *agent, struct budget_bound bound,
                          struct amount needed);
struct str limit_warn_at(struct deciding *d); /* where the circuit breaker warns a root */
/* What sets how long a request of the agent to the model may be. */
struct str limit_context_key(struct deciding *d, const struct agent *agent,
                             const struct model_settings *model);
/* The error of an agent that came to this limit; it may be empty. */
struct str limit_error(struct deciding *d, struct str limit);

/* How an agent ended, before that is applied. */
struct ending {
    enum outcome outcome;
    struct str response, error;
};

#define DRAFTS 4

/* What is to be done when the present step is over: an agent goes on, or the parent of one is told of its end. */
struct due {
    struct due *next;
    uint32_t agent_no;
    enum due_kind { DUE_CONTINUES, DUE_IS_TOLD } kind;
};

/* One call of run_decide. After the first error nothing more is emitted. */
struct deciding {
    const struct run *run;
    struct run *
        live; /* the same, for emit, the mark of effects, and queues that drop what is no longer meant */
    struct decision *out;
    int64_t now;
    uint64_t cause; /* the fact's seq, once it was emitted */
    struct err *err;
    bool failed;
    /* Events in the making. An event is over when it was emitted: what is needed of it later is copied before. */
    struct event drafts[DRAFTS];
    size_t next_draft;
    struct due *due, *due_last; /* the oldest first; in the decision's arena */
};

/* The log holds a text once: what a model said in model.replied, a file in facts.gathered. Events that follow from it repeat no more
 * than this many bytes. */
#define REPEATED_MAX 256
#define OPENING_BYTES 80 /* of a text that is not repeated, for people */

/* Bytes of an input as it is printed. Events that follow from it repeat it twice at most (an answer stands in run.completed and in
 * its result), so they fit the store, too. */
#define FACT_BYTES_MAX (EVENT_PAYLOAD_MAX / 8 * 3)

struct event *draft(struct deciding *d, uint32_t agent_no, enum event_type type);
struct str keep(struct deciding *d, struct str text); /* copies into the decision's arena */
void emit(struct deciding *d, struct event *event);   /* numbers, applies, adds */
struct effect *effect_add(struct deciding *d, enum effect_kind kind, enum effect_class class,
                          const struct agent *agent, struct str call_id);
void effect_abort(struct deciding *d, const struct agent *agent, struct str call_id);
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
/* What was booked for tries that broke without an answer leaves too little for the agent's request. */
void run_park_broken(struct deciding *d, const struct agent *agent);
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
/* Tries that broke before anything told what they used are booked in full. Where it was not one or two, that is remembered until the request is answered
 * or given up: it must not end the run, which parks before that. A person who resumes it may say that they count no longer. */
bool request_is_billed(const struct event *e); /* of model.failed: what it used is known */
void broken_add(struct agent *agent, const struct event *e, struct amount used);
void broken_keep(struct agent *agent);
void broken_forgive(struct run *run);

/* continue.c: how agents go on */
/* The agent does what follows from its state, or nothing where something else must come first. */
void agent_continue(struct deciding *d, const struct agent *agent);
/* The same, when the present step is over. */
void due_continue(struct deciding *d, const struct agent *agent);
/* The child has ended, or its work is done: its parent hears of that when the present step is over. */
void due_tell(struct deciding *d, const struct agent *child);
void due_settle(struct deciding *d); /* a step is over */
void schedule(struct deciding *d);   /* gives free slots and settled budget to those who wait */

/* output_limit.c: how long an answer may be */
/* The limit to send to the model, at most `most`. */
int64_t output_learnt(const struct run *run, const struct agent *agent, struct str model,
                      int64_t most);
/* For apply alone. Whether a learnt limit cut the reply off: it is asked for again with a larger one. */
bool output_cut_early(const struct agent *agent, const struct event *e);
void output_learn(struct run *run, const struct agent *agent, const struct event *e,
                  int64_t tokens); /* tokens: of the answer */
void outputs_print(const struct run *run, struct buf *out);

/* turn.c: an agent's loop */
void turn_replied(struct deciding *d, const struct agent *agent, const struct model_reply *reply);
void turn_failed(struct deciding *d, const struct agent *agent, const struct model_failure *failure,
                 const struct verdict *verdict);
void turn_settle(
    struct deciding *d,
    const struct agent
        *agent); /* books what the request used, where that is not done with its answer */
void turn_interrupted(struct deciding *d,
                      const struct agent *agent); /* its request was lost in a crash */
/* What is kept back for the agent's last turn; nothing in the last turn itself. */
struct amount turn_reserve(const struct agent *agent, const struct model_settings *model,
                           int64_t input);
/* Whether a request that overflowed the window is made to fit and asked again, this once more. */
bool turn_refits(const struct agent *agent);
/* Whether the agent stops where the circuit breaker pauses: a root that nobody watches, or whose user said no. */
bool turn_stops_at_pause(const struct run *run, const struct agent *agent);
/* How many calls the agent may make in all: its budget, or up to where it stops; UNLIMITED. */
int64_t turn_call_limit(const struct run *run, const struct agent *agent);
/* The circuit breaker: true while a person decides whether the agent goes on. Asks when that is due. */
bool turn_pauses(struct deciding *d, const struct agent *agent);
void turn_ask_again(struct deciding *d, const struct agent *agent); /* after a crash */
void message_add(struct deciding *d, const struct agent *agent, const char *role, const char *note,
                 struct str text);

/* context.c: the conversation within its bounds */
void message_push(struct agent *agent, const struct message *message);
/* Adds paths that a tool reported, as a JSON array. */
void files_add(struct agent *agent, struct set *files, struct str json);
void context_mask(struct agent *agent, uint16_t version); /* of the event's rules */
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
bool context_reduce(struct deciding *d, const struct agent *agent, int64_t bound);
/* The last turn is not affordable as it is: cuts results that were not sent yet so that `tokens` new ones remain. */
bool context_fit(struct deciding *d, const struct agent *agent, int64_t tokens);
/* The summary came (or none did): the conversation goes on from it. */
void context_compacted(struct deciding *d, const struct agent *agent, struct str summary,
                       int64_t bound);

/* calls.c: the calls of one reply */
void call_finish(struct deciding *d, const struct agent *agent, const struct call *call,
                 enum tool_outcome outcome, struct str text);
/* Ends all calls of a reply of which none was started: none is executed. */
void calls_decline(struct deciding *d, const struct agent *agent, struct str why);
void call_perform(struct deciding *d, const struct agent *agent,
                  const struct call *call); /* the prepared change may be made */
void call_resume(struct deciding *d, const struct agent *agent, const struct call *call);
void call_move(struct agent *agent, struct call *call, enum call_state to); /* for apply alone */
void call_ask(struct deciding *d, const struct agent *agent,
              const struct call *call); /* puts the question that the call waits for */
/* Asks whether the call may be made, and logs who is asked. */
void call_ask_permission(struct deciding *d, const struct agent *agent, const struct call *call);
void calls_forget(struct agent *agent);
/* Bytes of a result that still fit: half of what is left of the context, shared by the calls of this turn. */
int64_t call_result_bytes(const struct run *run, const struct agent *agent);
void call_adopt(struct agent *agent, struct call *call, uint32_t child_no, int64_t item);
const struct call *call_find(const struct agent *agent, struct str call_id);

/* delegate.c: the doors */
void delegate_call(struct deciding *d, const struct agent *agent, const struct call *call);
void delegate_gathered(struct deciding *d, const struct agent *agent, const struct call *call);
/* A child that the call made or awaits has ended. NULL: something else changed that it waits for. */
void delegate_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                    const struct agent *child);
/* The agent is being stopped: ends its calls that wait for children of which none is open. */
void delegate_stop(struct deciding *d, const struct agent *agent);
/* After a crash: an older program may have left the call waiting for a result that was there already. */
void delegate_resume(struct deciding *d, const struct agent *agent, const struct call *call);
bool delegate_gathers(const struct call *call); /* its door asks for files */
void child_start(struct deciding *d, const struct agent *agent);
void child_attempt(struct deciding *d, const struct agent *agent, int64_t attempt);

/* gathered.c: files that were read for children */
/* As the event has them: texts that the log has already are named by their event. */
struct str gathered_log(struct deciding *d, const struct gathering *gathering);
/* Bytes of the context and of these files, without the numbers of their lines. */
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
bool tree_wanted(struct deciding *d, const struct agent *agent, int64_t attempt);
void tree_again(struct deciding *d, const struct agent *agent,
                int64_t attempt); /* as new, at its base */
void tree_answer(struct deciding *d, const struct agent *agent, const struct input *input);
/* The work of a child is done: its tree is merged when its turn comes, or its work kept. */
void tree_leave(struct deciding *d, const struct agent *child);
/* The same for a root, which ends like this afterwards; false: there is nothing to leave. */
bool tree_root_leaves(struct deciding *d, const struct agent *root, const struct ending *ending);
void tree_resume(struct deciding *d,
                 const struct agent *agent); /* its effect was lost in a crash */
void trees_advance(struct deciding *d,
                   const struct agent *parent); /* begins the merge whose turn it is */
/* A child whose work is done, and that somebody else comes before, or that its parent does not await yet. */
bool tree_waits(const struct run *run, const struct agent *child);

/* finish.c: how agents end */
void agent_finish(struct deciding *d, const struct agent *agent, enum outcome outcome,
                  struct str error);
/* The same, unless its contract allows another attempt. */
void agent_give_up(struct deciding *d, const struct agent *agent, enum outcome outcome,
                   struct str error);
void agent_stop(struct deciding *d, const struct agent *agent, enum outcome outcome,
                struct str reason);
/* Stops all children that are not closed. */
void children_stop(struct deciding *d, const struct agent *agent, struct str reason);
/* A child that is held: its work is taken; or it is given up. */
#define CHILD_UNMERGED "held, and its parent ended without merging it"
void child_integrate(struct deciding *d, const struct agent *child);
void child_drop(struct deciding *d, const struct agent *child, struct str why);
/* Its tree was merged, or kept, or could not be: it is closed. */
void child_left(struct deciding *d, const struct agent *child, enum tool_outcome outcome,
                struct str message);

/* result.c */
/* answer.c: agents whose contract has a schema */
/* The answer that the agent has just given does not match, and it was told why: it is to answer again. */
bool answer_corrected(struct deciding *d, const struct agent *agent);
/* An ending that counts as work has an answer that matches, or becomes an error. Response: the JSON alone. */
void answer_settle(struct deciding *d, const struct agent *agent, struct ending *ending);

/* checks.c: agents whose contract has checks */
#define CORRECTIONS_MAX 2 /* of an answer or of work, in one attempt */
/* Runs the checks where this ending counts as work and they have not passed; false: none are due. */
bool checks_begin(struct deciding *d, const struct agent *agent, const struct ending *ending);
void checks_ended(struct deciding *d, const struct agent *agent, enum checked checked,
                  struct str text);
void checks_resume(struct deciding *d, const struct agent *agent); /* they were lost in a crash */
struct str checks_json(struct deciding *d, const struct list *checks);

/* The result object of CONTRACT.md as JSON, in the decision's arena. */
struct str result_object(struct deciding *d, const struct agent *agent,
                         const struct ending *ending);
/* What the caller reads of a child that worked: its answer, or that its budget was too small for one. */
struct str result_said(struct deciding *d, const struct agent *agent, enum outcome outcome,
                       struct str response);
/* The text, with a backslash before each line that looks like one of cadre's own in a result: the parent can tell who said it. */
struct str result_quoted(struct arena *arena, struct str text);
/* As spawn_agent shows it to the parent. */
struct str result_text(struct deciding *d, const struct agent *agent, const struct ending *ending);
/* Appends which of the files that it changed another child had changed before, and what was refused, behind `opening`; nothing
 * where there is neither. */
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

/* asking.c: whether a call is made, asked for or refused */
/* What decides about a call of this tool, as things are now. */
struct call_facts call_facts(const struct run *run, const struct agent *agent, struct str tool);
/* PERMIT_ALLOW, PERMIT_ASK, or PERMIT_DENY with the reason in err. */
enum permission call_judge(const struct run *run, const struct agent *agent, struct str tool,
                           struct err *err);
/* The question of a call, for another owner of the run: put again, and refused a moment later where nobody is there
 * any more and no answer lies in the inbox. */
void call_ask_again(struct deciding *d, const struct agent *agent, const struct call *call);
/* Nobody answered in time: the run parks. Where nobody can be asked, the call is refused. */
void question_overdue(struct deciding *d, const struct agent *agent);
/* For apply alone: a call was refused; every agent above knows it too. */
void refused_add(struct run *run, struct agent *agent, struct str tool, struct str why);
/* For apply alone: how long the agent's question may wait. */
void question_clock(struct run *run, struct agent *agent, const struct event *e);

/* consent.c: what a question shows, and the answer to an asked call, as a message in the inbox has it. Refusing ends the call; so
 * does a yes to anything but what the question shows. */
void consent_shown(struct deciding *d, const struct agent *agent, const struct input *input);
struct str consent_hash(struct deciding *d, const struct js *body); /* STR_NONE: it has none */
void consent_grant(struct deciding *d, const struct agent *agent, const struct call *call,
                   const struct js *body);
void consent_refuse(struct deciding *d, const struct agent *agent, const struct call *call,
                    const struct js *body);

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
/* kind, limit: which limit it came to (limit.c). */
struct str prompt_last_turn(struct deciding *d, const struct agent *agent, enum limit_kind kind,
                            struct str limit);
struct str prompt_warning(struct deciding *d, const struct agent *agent, int percent,
                          enum limit_kind kind, struct str limit);

#endif
