/* Events: the only way that a run changes. One flat struct holds the fields of every kind; a table says which
 * fields a kind has, and printing, parsing and the docs walk that table. A field that is empty is not printed.
 *
 * A fact (cause_seq 0) carries an input from outside, whole, so that replay can feed it to run_decide again.
 * Everything else is a decision, and names the fact that led to it. */
#ifndef CADRE_CORE_RUN_EVENT_H
#define CADRE_CORE_RUN_EVENT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/run/row.h"

/* The rules by which events are decided and applied. Stored with each event: a log keeps the meaning that it was written with,
 * and one that an older program began goes on with today's rules when it is resumed. What changed:
 *   2  a reply or failure settles what it used by itself, unless tokens or dollars are limited; a text that the log has already
 *      is named and not repeated (files that were read for a child, its task, its answer).
 *   3  the lines that follow.
 *      A failure says what is wrong beyond its class (trouble, window, needed).
 *      A reply of white space alone is an empty one.
 *      Deadlines stand still while an agent waits for a slot or its provider (clock.c). A pause before a retry is not moved by
 *      the time that no process owned the run. A request is tried again for as long as patience_ms says and not a number of
 *      times; then the run parks. A model that cannot be reached is left out of pools, for minutes or for the run.
 *      A request that overflows lowers the model's window for the run and books nothing.
 *      Masking takes off what the masked results were estimated to have, and not an eighth of their bytes.
 *      After masking or compaction a reply books only messages that were not booked before.
 *      The system prompt of a child holds only what siblings share. agent.message of its task has the brief
 *      (focus, directory, budget) as `text` beside `opening`.
 *      The last turn and the request for a summary are sent with the tools (`kept`). Calls in their replies are
 *      answered with tool.finished and not executed. A last turn takes the place of a summary that was asked for.
 *      A last turn, a warning and a refusal say which limit it is, and the error of an agent whose budget is used up does.
 *   4  the lines that follow.
 *      A contract holds `ask` or `ask_mode`; whether a call is asked for is decided when it is made, also for children. Deadlines
 *      stand still while a person is asked, and whoever was answered waits for a slot before it goes on.
 *      A yes to a call names the hash of what was shown, and counts only while it is the last that permission.shown has.
 *      Where tokens or dollars are limited, the output limit follows the run's own answers (output_most). A reply that such
 *      a limit cut off is booked, is not part of the conversation, and the same turn is asked again with a larger limit.
 *      What a child inherits of its parent's budget is less what was spent, and not less what is reserved at the moment. */
#define EVENT_VERSION 4

struct contract;

/* name, kind: S a string, I an integer (absent when INT64_MIN), J raw JSON text. */
#define EVENT_FIELDS(X)                                                                            \
    X(effects, S) /* of a fact: mark of all effects decided before it */                           \
    X(run_id, S)                                                                                   \
    X(session_id, S)                                                                               \
    X(user_id, S)                                                                                  \
    X(workspace_id, S)                                                                             \
    X(workspace_path, S)                                                                           \
    X(task, S)                                                                                     \
    X(asker, S)    /* who answers questions: terminal | inbox | nobody */                          \
    X(walls, S)    /* of commands: all | those that are off */                                     \
    X(settings, J) /* config as it was when the run started */                                     \
    X(control, J)  /* registry, profiles and pin as they were when the run started */              \
    X(contract, J)                                                                                 \
    X(owner, S)                                                                                    \
    X(epoch, I)                                                                                    \
    X(alive_at, I) /* when the last owner was last known to live */                                \
    X(inbox_id, I)                                                                                 \
    X(kind, S)                                                                                     \
    X(body, J)                                                                                     \
    X(sender, S)                                                                                   \
    X(task_id, S)                                                                                  \
    X(sub_agent_id, S)                                                                             \
    X(step_idx, I)                                                                                 \
    X(parent_no, I)                                                                                \
    X(parent_call, S) /* the parent's tool call that waits for this child */                       \
    X(name, S)                                                                                     \
    X(objective, S)                                                                                \
    X(scope, S)                                                                                    \
    X(context, S)                                                                                  \
    X(gathered, I) /* seq of the facts whose files stand behind the context */                     \
    X(worktree_path, S)                                                                            \
    X(strategy, S)                                                                                 \
    X(branch, S)                                                                                   \
    X(base_ref, S)                                                                                 \
    X(attempt, I)                                                                                  \
    X(output_path, S)                                                                              \
    X(outcome, S)                                                                                  \
    X(response, S)                                                                                 \
    X(error, S)                                                                                    \
    X(final_status, S)                                                                             \
    X(close_reason, S)                                                                             \
    X(result, J) /* the result object of CONTRACT.md */                                            \
    X(role, S)                                                                                     \
    X(note, S) /* why cadre itself said this: warn | last_turn | cut | empty | schema … */       \
    X(text, S)                                                                                     \
    X(model, S)                                                                                    \
    X(provider, S)                                                                                 \
    X(origin, S)                                                                                   \
    X(tools, S)   /* offered | kept: sent, not executed | withheld: not sent, before version 3 */  \
    X(request, S) /* mark of the conversation that was sent */                                     \
    X(estimate, I)                                                                                 \
    X(output_limit, I)                                                                             \
    X(output_most, I) /* the limit without what was learnt, where that lowered it */               \
    X(calls, J)                                                                                    \
    X(finish, S)                                                                                   \
    X(completeness, S)                                                                             \
    X(input_tokens, I)                                                                             \
    X(cached_tokens, I)                                                                            \
    X(cache_write_tokens, I)                                                                       \
    X(output_tokens, I)                                                                            \
    X(reasoning_tokens, I)                                                                         \
    X(response_id, S)                                                                              \
    X(model_effective, S)                                                                          \
    X(first_token_ms, I)                                                                           \
    X(admitted_ms, I) /* until the request left; absent: at once */                                \
    X(total_ms, I)    /* from asking to the end of the answer */                                   \
    X(extras, J)                                                                                   \
    X(class, S)                                                                                    \
    X(http_status, I)                                                                              \
    X(retry_after_ms, I)                                                                           \
    X(trouble, S) /* beyond the class: overflow | final | filtered */                              \
    X(window, I)  /* tokens, as an overflow's error names them */                                  \
    X(needed, I)                                                                                   \
    X(server_request, S) /* the server's id of the request */                                      \
    X(notice, S)         /* what the server refused and requests go without; once in a run */      \
    X(fallback, S)       /* the model of the pool that is asked instead */                         \
    X(retry_at, I)                                                                                 \
    X(waited_ms, I) /* for admission to a provider */                                              \
    X(slept_ms, I)  /* that the machine was suspended; the run's time stood still */               \
    X(idle_ms, I)   /* without a sign of life */                                                   \
    X(partial, S)                                                                                  \
    X(sent, S) /* no: the request never left, so it costs nothing */                               \
    X(tokens, I)                                                                                   \
    X(cost_nano, I)                                                                                \
    X(used_tokens, I)                                                                              \
    X(used_cost_nano, I)                                                                           \
    X(percent, I)                                                                                  \
    X(reason, S)                                                                                   \
    X(tool, S)                                                                                     \
    X(shown, S)   /* hash of what the person who answered was shown */                             \
    X(preview, J) /* what a question shows: tool, reach, parts */                                  \
    X(always, S)  /* the yes holds for what was shown: session (this run) | project */             \
    X(arguments, J)                                                                                \
    X(shortened, J) /* arguments with their long values cut: they stand whole in the reply */      \
    X(opening, S)   /* of a text that stands whole elsewhere: in a reply, or with the child */     \
    X(path, S)                                                                                     \
    X(before, S) /* hash of the file, or "absent" */                                               \
    X(after, S)                                                                                    \
    X(secrets, I) /* how many were masked in it; absent: none */                                   \
    X(files_read, J)                                                                               \
    X(files_modified, J)                                                                           \
    X(refused, J)  /* system calls that its sandbox refused: call, program, times */               \
    X(network, J)  /* hosts that commands reached or were refused: host, verdict, why, bytes */    \
    X(files, J)    /* path and text, error, or `same`: seq of the event that has the same text */  \
    X(checks, J)   /* commands that must succeed */                                                \
    X(evidence, J) /* what each check showed */                                                    \
    X(clamps, J)                                                                                   \
    X(depth, I)                                                                                    \
    X(count, I)                                                                                    \
    X(item, I)          /* the place of a task among those of its call */                          \
    X(jobs, J)          /* numbers of the agents that a call awaits */                             \
    X(prompt, S)        /* what stands before the usual system prompt */                           \
    X(reuse_key, S)     /* hash of what the child was given, where its result may be used again */ \
    X(earlier_no, I)    /* the agent whose result is used again */                                 \
    X(plan, J)          /* as core/plan prints it */                                               \
    X(workspace, S)     /* in a tree: where the agent works */                                     \
    X(merge_success, J) /* true | false */                                                         \
    X(merge_strategy, S) /* no_changes | fast_forward | three_way | conflict | kept … */         \
    X(merge_message, S)                                                                            \
    X(conflicted_files, J)                                                                         \
    X(commit, S)                                                                                   \
    X(kept,                                                                                        \
      I) /* messages that stayed as they were; of agent.masked: bytes that each new result keeps */

/* symbol, type text, its fields in order */
#define EVENT_TYPES(X)                                                                             \
    X(INBOX_TAKEN, "inbox.taken", (effects, inbox_id, kind, sender, body))                         \
    X(RUN_STARTED, "run.started",                                                                  \
      (run_id, session_id, user_id, workspace_id, workspace_path, task, asker, walls, settings,    \
       control, contract))                                                                         \
    X(RUN_RESUMED, "run.resumed", (effects, owner, epoch, alive_at, asker, walls, kind))           \
    X(RUN_PARKED, "run.parked", (provider, reason, kind))                                          \
    X(RUN_SLEPT, "run.slept", (effects, slept_ms))                                                 \
    X(RUN_COMPLETED, "run.completed", (outcome, response, result))                                 \
    X(RUN_FAILED, "run.failed", (outcome, error, response, result))                                \
    X(RUN_CANCELLED, "run.cancelled", (outcome, error, response, result))                          \
    X(SUBAGENT_CREATED, "agent.subagent_created",                                                  \
      (task_id, sub_agent_id, step_idx, name, objective, scope, context, gathered, prompt,         \
       reuse_key, item, parent_no, parent_call, contract))                                         \
    X(SUBAGENT_STARTED, "agent.subagent_started",                                                  \
      (task_id, sub_agent_id, step_idx, worktree_path, strategy, branch, base_ref))                \
    X(SUBAGENT_ATTEMPT, "agent.subagent_attempt", (task_id, sub_agent_id, step_idx, attempt))      \
    X(SUBAGENT_WAITING, "agent.subagent_waiting_for_merge",                                        \
      (task_id, sub_agent_id, step_idx, outcome, output_path, error, response, opening))           \
    X(SUBAGENT_FAILED, "agent.subagent_failed",                                                    \
      (task_id, sub_agent_id, step_idx, outcome, error, response, opening))                        \
    X(SUBAGENT_COMPLETED, "agent.subagent_completed", (task_id, sub_agent_id, step_idx))           \
    X(SUBAGENT_CLOSED, "agent.subagent_closed",                                                    \
      (task_id, sub_agent_id, step_idx, final_status, close_reason, result))                       \
    X(ITEM_REFUSED, "agent.item_refused", (item, depth, error))                                    \
    X(RESULT_REUSED, "agent.result_reused", (task_id, sub_agent_id, item, earlier_no))             \
    X(AGENT_AWAITING, "agent.awaiting", (jobs))                                                    \
    X(CALLS_HELD, "agent.calls_held", (count))                                                     \
    X(AGENT_STEERED, "agent.steered", (text))                                                      \
    X(RUN_JOINING, "run.joining", (outcome, error))                                                \
    X(RUN_DIRECTED, "run.directed", (calls))                                                       \
    X(PLAN_MADE, "plan.made", (count, reason, plan))                                               \
    X(PLAN_STEP, "plan.step", (item, name, kind, reason, shown))                                   \
    X(AGENT_ISOLATING, "agent.isolating", (attempt, base_ref))                                     \
    X(WORKTREE_CREATED, "agent.worktree_created",                                                  \
      (effects, outcome, strategy, worktree_path, workspace, branch, base_ref, error))             \
    X(AGENT_MERGING, "agent.merging", (kind, outcome, error, parent_no))                           \
    X(WORKTREE_MERGED, "agent.worktree_merged",                                                    \
      (effects, task_id, sub_agent_id, step_idx, merge_success, merge_strategy, merge_message,     \
       conflicted_files, branch, commit, secrets, files_modified, evidence))                       \
    X(AGENT_CHECKING, "agent.checking", (outcome, error, checks))                                  \
    X(AGENT_CHECKED, "agent.checked",                                                              \
      (effects, outcome, text, secrets, evidence, files_modified, network))                        \
    X(RUN_PAUSED, "run.paused", (count))                                                           \
    X(RUN_UNPAUSED, "run.unpaused", (outcome))                                                     \
    X(AGENT_MESSAGE, "agent.message", (role, note, text, opening, reason))                         \
    X(AGENT_MASKED, "agent.masked", (count, tokens, kept))                                         \
    X(AGENT_COMPACTED, "agent.compacted", (outcome, text, opening, kept))                          \
    X(AGENT_STOPPING, "agent.stopping", (outcome, reason))                                         \
    X(MODEL_REQUESTED, "model.requested",                                                          \
      (name, model, provider, origin, attempt, tools, estimate, output_limit, output_most, tokens, \
       cost_nano, request))                                                                        \
    X(MODEL_REPLIED, "model.replied",                                                              \
      (effects, text, calls, finish, completeness, input_tokens, cached_tokens,                    \
       cache_write_tokens, output_tokens, reasoning_tokens, response_id, model_effective,          \
       first_token_ms, admitted_ms, total_ms, server_request, notice, extras))                     \
    X(MODEL_FAILED, "model.failed",                                                                \
      (effects, class, http_status, trouble, window, needed, server_request, retry_after_ms,       \
       retry_at, fallback, error, partial, sent, input_tokens, output_tokens, first_token_ms,      \
       admitted_ms, total_ms))                                                                     \
    X(MODEL_HELD, "model.held", (effects, reason, waited_ms))                                      \
    X(MODEL_ADMITTED, "model.admitted", (effects))                                                 \
    X(TOOL_REQUESTED, "tool.requested", (tool, arguments, shortened))                              \
    X(TOOL_PREPARED, "tool.prepared", (effects, path, before, after))                              \
    X(TOOL_FINISHED, "tool.finished",                                                              \
      (effects, outcome, text, reason, secrets, files_read, files_modified, refused, network))     \
    X(TOOL_INTERRUPTED, "tool.interrupted", (effects, text))                                       \
    X(FACTS_GATHERED, "facts.gathered", (effects, secrets, files))                                 \
    X(PERMISSION_ASKED, "permission.asked", (tool, asker, arguments, shortened))                   \
    X(PERMISSION_SHOWN, "permission.shown", (effects, item, shown, secrets, preview))              \
    X(PERMISSION_GRANTED, "permission.granted", (tool, reason, shown, always))                     \
    X(PERMISSION_DENIED, "permission.denied", (tool, reason, depth, shown))                        \
    X(CONTRACT_CLAMPED, "contract.clamped", (clamps))                                              \
    X(BUDGET_RESERVED, "budget.reserved", (tokens, cost_nano))                                     \
    X(BUDGET_WAITING, "budget.waiting", (tokens, cost_nano))                                       \
    X(BUDGET_SETTLED, "budget.settled", (tokens, cost_nano, used_tokens, used_cost_nano))          \
    X(BUDGET_REFUSED, "budget.refused", (reason))                                                  \
    X(BUDGET_WARNED, "budget.warned", (percent, reason))                                           \
    X(TIMER_FIRED, "timer.fired", (effects, kind))                                                 \
    X(AGENT_IDLE, "agent.idle", (effects, kind, tool, idle_ms))

enum event_type {
#define X(symbol, text, fields) EVENT_##symbol,
    EVENT_TYPES(X)
#undef X
        EVENT_TYPE_COUNT
};

#define EVENT_ABSENT INT64_MIN

struct event {
    uint64_t seq;
    uint64_t cause_seq;
    uint64_t agent_prev;
    uint32_t agent_no;
    uint16_t version; /* of the rules: EVENT_VERSION, or lower in an older log */
    enum event_type type;
    int64_t ts;
    struct str call_id;
    /* Of agent.subagent_created, only while it is applied for the first time: `contract` as a struct. */
    const struct contract *contract_made;
#define S struct str
#define J struct str
#define I int64_t
#define X(name, kind) kind name;
    EVENT_FIELDS(X)
#undef X
#undef S
#undef J
#undef I
};

/* Empty strings and absent integers; today's version. */
void event_init(struct event *event, enum event_type type);
const char *event_type_text(enum event_type type);
/* Replaces bytes that are not UTF-8 in its texts, as printing would: what is applied must be what reads back. New texts
 * live in the arena. */
void event_mend(struct event *event, struct arena *arena);
/* Appends the payload object. */
void event_print(const struct event *event, struct buf *out);
/* Appends the one line of the condensed timeline. */
void event_summary(const struct event *event, struct buf *out);
/* From a stored row; strings live in the arena. CORRUPT for an unknown type, a newer version or a wrong shape. */
int event_parse(const struct event_row *row, struct arena *arena, struct event *event,
                struct err *err);
/* Appends the names of the type's fields, in order, for the docs. */
void event_fields_print(enum event_type type, struct buf *out);

#endif
