/* One agent of a run, as state. Only run_apply changes it: everybody else has it as const, also its calls, plans and tree. Strings live
 * in the agent's arena. */
#ifndef CADRE_CORE_RUN_AGENT_H
#define CADRE_CORE_RUN_AGENT_H

#include "base/set.h"
#include "core/contract/budget.h"
#include "core/contract/contract.h"
#include "core/run/gathered.h"
#include "core/run/lifecycle.h"
#include "core/run/message.h"

enum outcome {
    OUTCOME_NONE,
    OUTCOME_COMPLETED,
    OUTCOME_BUDGET_EXCEEDED,
    OUTCOME_TIMEOUT,
    OUTCOME_ERROR,
    OUTCOME_CANCELLED
};
const char *outcome_text(enum outcome outcome);
enum outcome outcome_parse(struct str text);
bool ending_worked(enum outcome outcome); /* completed, or out of budget */

enum phase {
    PHASE_NEW, /* created, has no slot yet */
    PHASE_READY, /* may ask its model: waits for a slot or for budget, or is being advanced right now */
    PHASE_ASKING,   /* a model request is out */
    PHASE_BACKOFF,  /* waits before the request is tried again */
    PHASE_TOOLS,    /* calls of the last reply are being worked on */
    PHASE_JOINING,  /* has answered; jobs that it left open are still at work */
    PHASE_CHECKING, /* has answered; its contract's checks run */
    PHASE_LEAVING,  /* its work is done; its tree is to be merged or kept */
    PHASE_DONE,     /* outcome is known */
};

enum call_state {
    CALL_WAITING,   /* behind an earlier call that must end first */
    CALL_ASKED,     /* a person was asked */
    CALL_GATHERING, /* a delegation door reads context files */
    CALL_PREPARING,
    CALL_RUNNING, /* the tool, or the child, works */
    CALL_DONE,
    CALL_STATES
};

/* What became of one task of a delegation. */
struct call_child {
    uint32_t no; /* of the agent; 0: refused */
    enum {
        CHILD_NEW,
        CHILD_REPEATED
    } origin; /* REPEATED: of an earlier call, whose result is used again */
    enum { CHILD_OPEN, CHILD_ENDED } state; /* ENDED: the call does not wait for it any more */
    int64_t item;
    struct str error; /* why it was refused */
};

struct call {
    struct tool_call call;     /* the id is cadre's own: unique in the run */
    struct call_origin origin; /* the server's id of it */
    enum call_state state;
    enum { ANSWER_OPEN, ANSWER_YES, ANSWER_NO } answer; /* of the person who was asked */
    struct str shown;   /* hash of what that person was shown; empty: not known */
    struct str offered; /* hash of what the question shows; empty: nobody has looked yet */
    struct str path, before, after;    /* of a prepared call */
    const struct gathering *gathering; /* lives as long as the run; NULL: nothing was read for it */
    struct str result;
    enum tool_outcome outcome;
    enum { CALL_WORKS, CALL_AWAITS_CHILDREN, CALL_AWAITS_JOBS } awaits;
    const struct plan_run *plan; /* that it carries out; NULL: none (yet) */
    struct call_child *children; /* that it made, or jobs that it awaits */
    size_t child_count, child_capacity;
    size_t children_open; /* of those, not ended yet */
};

enum timer_kind {
    TIMER_WALL,
    TIMER_ATTEMPT,
    TIMER_BACKOFF,
    TIMER_APPROVAL,
    TIMER_CALLS,    /* no deadline: the rest of a reply's calls start */
    TIMER_PATIENCE, /* how long a request is tried again; not shifted: the run parks when it fires */
    TIMER_QUESTION, /* how long a question waits for `cadre approve`; the run parks when it fires */
    TIMER_COUNT
};
extern const char *const timer_names[TIMER_COUNT];

/* What an agent's time is spent on. */
enum spent_on {
    SPENT_SLOT,
    SPENT_BUDGET,
    SPENT_ADMISSION, /* a request waits until its provider may be asked */
    SPENT_FIRST_TOKEN,
    SPENT_TOKENS,
    SPENT_MODEL, /* a request of which nothing more is known */
    SPENT_BACKOFF,
    SPENT_TOOLS,
    SPENT_CHILDREN,
    SPENT_ANSWER, /* a person was asked */
    SPENT_COUNT
};

/* Where its time went. Moments are moved by the time that no process owned the run, as timers are. */
struct spent {
    int64_t since, attempt_since;
    int64_t until;                                 /* charged up to here */
    int64_t ms[SPENT_COUNT], earlier[SPENT_COUNT]; /* in all, and before this attempt */
    enum timer_kind timer;                         /* that stopped it */
};

/* How an agent's requests used their provider's prompt cache, as the answers told it. */
struct cache_use {
    int64_t input;      /* tokens of the requests of which it was told */
    int64_t read;       /* of those, from the cache */
    int64_t written;    /* of those, into the cache */
    int64_t priced;     /* of those, at known prices */
    int64_t saved_nano; /* on the priced ones: cost_saved_by_cache */
};

/* The trouble that the agent's current request has with its provider (patience.c). */
struct patience {
    int64_t since;        /* the first failure that had to be waited for; 0: none */
    int64_t waits;        /* before a retry, so far */
    struct str why;       /* the last error */
    int64_t alike;        /* answers with status 500 and the same body */
    uint64_t mark;        /* of that body */
    int64_t breaks;       /* tries of the request that broke without an answer */
    struct amount broken; /* what was booked for those */
};

/* A file that two children modified. */
struct clash {
    struct str path;
    uint32_t no; /* of the agent that did so before */
};

/* The files that an agent works in, where they are its own (trees.c). */
struct tree {
    enum {
        TREE_NONE,   /* works in its parent's; a root, in the user's files */
        TREE_MAKING, /* asked for */
        TREE_THERE,
        TREE_IN_PLACE, /* a root's: there is no repository, it works in the user's files */
        TREE_LEAVING,  /* a merge, or keeping its work, is under way */
        TREE_GONE
    } state;
    enum { LEAVES_MERGED, LEAVES_KEPT } leaves; /* what becomes of it */
    enum {
        TURN_CALLED,
        TURN_AWAITED
    } turn;        /* AWAITED: whoever waits for it named it (spawn_await, agent_merge) */
    struct str id; /* of the effect that is under way, or was last */
    struct str path, workspace, branch, base_ref, strategy;
    struct str merge; /* how it was merged, or why not: a word */
    struct str kept;  /* the branch that holds work which was not merged; empty: none does */
    uint32_t *
        children; /* agents with trees that come from this one, in the order in which they are merged */
    size_t child_count, child_capacity, first_open; /* all before first_open are closed */
    uint32_t merging; /* the child that is being merged into it; 0: none is */
};

#define REFUSED_REASONS_MAX 8
#define CALLED_MAX 20

struct agent {
    uint32_t no, parent_no;
    struct str id, task_id, parent_call;
    struct str objective, scope, context, prompt; /* what the parent asked for and passed on */
    const struct gathering *gathering; /* files whose texts follow the context; NULL: none */
    struct str reuse_key;              /* of what it was given, if its result may be used again */
    uint64_t changes_seen;             /* the run's `changes` when this attempt began */
    struct arena arena;                /* lives as long as the agent */
    struct arena history;              /* lives as long as one attempt */
    struct contract contract;
    struct account account;
    enum life_state life;
    enum phase phase;
    enum { SLOT_NONE, SLOT_QUEUED, SLOT_HELD } slot;

    struct message *messages;
    size_t message_count, message_capacity;
    uint64_t
        generation; /* grows when messages were changed in place: whoever keeps copies drops them */
    enum { SUMMARIES_WORK, SUMMARIES_FAIL } summaries; /* the last one asked for could not be had */
    size_t compact_at;     /* index of the message that asks for a summary; 0: none is asked for */
    uint64_t conversation; /* mark over all messages of this attempt */
    const struct call *calls; /* of the last reply */
    size_t call_count, calls_open;
    size_t calls_in[CALL_STATES]; /* how many are in each state */
    size_t calls_awaited;         /* running ones that wait for children */
    size_t calls_for_jobs;        /* of those, for jobs of earlier calls */
    struct list steered;          /* messages that its parent sent */
    size_t steered_told;          /* of those, told in this attempt */
    enum outcome joining;         /* how it ends when its last job has */
    struct str joining_error;
    enum { CHECKS_DUE, CHECKS_PASSED } checks;
    struct str check_id;  /* of the checks that run, or ran last */
    struct str evidence;  /* JSON: what they showed */
    int64_t context_size; /* when it ended */

    struct str request_id; /* of the model request that is out */
    struct str
        model_now; /* the model of the pool that the current call fell back to; empty: the contract's */
    struct str model_asked; /* which model the request that is out, or the last one, went to */
    struct amount quoted;   /* the most that the request that is out may use */
    struct amount reserved; /* the same, where something limits it */
    struct amount used;     /* by the last request that ended */
    int64_t request_input;  /* estimate that was sent with it */
    int64_t request_output; /* output limit that was sent with it */
    int64_t request_most;   /* the limit without what was learnt; 0: nothing lowered it */
    enum {
        CUT_NOT,
        CUT_EARLY
    } cut; /* EARLY: a learnt limit cut the last reply off; the request is made again */
    int64_t context_known; /* tokens of the conversation as last reported, with the reply */
    int64_t context_new;   /* estimate for what was added since */
    /* REBUILT: messages were changed or left out since the last reply, so context_known does not
     * tell which tokens are new: those of the messages behind `booked` are. */
    enum { CONTEXT_GROWS, CONTEXT_REBUILT } context_state;
    size_t booked;     /* messages, from the first, whose tokens were booked */
    int64_t overflows; /* how often this turn's request was longer than the window */
    int64_t tries;     /* failed tries of the current request */
    struct patience patience;
    int64_t attempt;     /* of the agent, 0-based */
    int64_t turns_alike; /* identical turns in a row */
    int64_t nudges;      /* cut or empty replies in a row */
    /* CUT: the last reply is the first part of an answer, which goes on in the next one. */
    enum { PARTIAL_NOT, PARTIAL_CUT } partial;
    int64_t corrections; /* wrong answers and failed checks that it was told of */
    uint64_t last_turn;  /* mark of its calls */
    enum {
        TURNS_FREE,
        TURNS_WARNED,
        TURNS_LAST
    } turns;                    /* told to wrap up; told that this is the last turn */
    enum outcome limit_outcome; /* why the last turn was given */
    struct str limit_reached; /* which limit that was, for people; empty in logs that do not tell */
    /* Limits that nobody set for this agent: they are all that its parent had left. */
    struct {
        bool tokens, cost;
    } inherited;
    /* The circuit breaker of a root whose user can be asked: not reached, asked, and what was answered. */
    enum { PAUSE_AHEAD, PAUSE_ASKED, PAUSE_GO_ON, PAUSE_STOP } pause;
    struct str pause_id; /* names the question */

    enum outcome stopping; /* being wound down to this outcome */
    struct str stop_reason;
    enum outcome outcome;
    struct str response, error, model_effective;
    struct set files_read, files_modified; /* paths as they are shown (base/filename.h) */
    /* Calls of this agent, and of all below it, that were refused. */
    struct {
        int64_t count;
        struct list reasons; /* each names its tool and stands once; at most REFUSED_REASONS_MAX */
    } refused;
    uint32_t *reused; /* agents of others whose results its calls were given; their numbers */
    size_t reused_count, reused_capacity;
    struct str *called; /* the first calls of a child of fan_out, as its parent reads them */
    size_t called_count;
    struct clash *clashes; /* of the files modified, those that another child had modified before */
    size_t clash_count, clash_capacity;
    int64_t input_tokens, output_tokens;
    struct cache_use cache;
    int64_t created_at, started_at, finished_at;
    int64_t timers[TIMER_COUNT]; /* absolute; 0: not set, or its clock stands still */
    struct {
        bool stands;
        bool counted;       /* among the parent's children_standing */
        bool for_answers;   /* it stands while a person is asked: the rules since version 4 */
        bool steps_blocked; /* by the same rules: steps of its plan wait for approval */
        int64_t left[TIMER_COUNT]; /* of deadlines that stand still; 0: none */
    } clock;                       /* clock.c */
    size_t children_standing;      /* open children whose clocks stand still */
    enum {
        HELD_NEVER,
        HELD_NOW,
        HELD_EARLIER
    } held; /* whether the request that is out waits, or was said to wait, for admission */
    struct spent spent;
    const struct tree *tree; /* NULL: it works in its parent's, and so do its children */
    uint64_t last_seq;       /* of this agent's events */
    uint64_t ready_seq;      /* when it queued for a slot */
    size_t children_open;
    bool waits_for_budget; /* is in the run's queue */
    size_t plans_made; /* by its calls; most agents make none, and nothing is looked up for them */
};

/* When the timer fires, absolute; 0: it is not set. For a deadline that stands still: when it would if the clock went on now. */
int64_t agent_deadline(const struct agent *agent, enum timer_kind kind, int64_t now);
/* Whether the agent works right now on something outside the core. */
bool agent_busy(const struct agent *agent);
/* The same paths as a list. */
struct list files_list(const struct set *files);
const struct call *agent_call(const struct agent *agent, struct str call_id);

#endif
