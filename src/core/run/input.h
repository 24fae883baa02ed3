/* Inputs: everything that can happen to a run from outside. Adapters build them; nobody else changes a run.
 * Views live until run_decide returns. An answer to a call that the run no longer waits for is dropped. */
#ifndef CADRE_CORE_RUN_INPUT_H
#define CADRE_CORE_RUN_INPUT_H

#include "core/run/event.h"
#include "core/run/gathered.h"
#include "core/run/message.h"

enum input_kind {
    INPUT_INBOX,    /* start, cancel, send, approve: a row of the inbox */
    INPUT_RESUME,   /* a new owner took the run over after a crash or a stop */
    INPUT_TICK,     /* the earliest deadline has passed */
    INPUT_REPLY,    /* a model answered */
    INPUT_FAILURE,  /* a model call failed */
    INPUT_PREPARED, /* a tool says what it will change */
    INPUT_RESULT,   /* a tool ended */
    INPUT_LOST,     /* a tool's outcome cannot be known (after a crash, or aborted half-way) */
    INPUT_FACTS,    /* what a GATHER effect read */
    INPUT_CHECKED,  /* the contract's checks were run */
    INPUT_ISOLATED, /* an agent has a tree, or cannot have one */
    INPUT_MERGED,   /* a tree was merged, or kept, or neither could be done */
    INPUT_SILENT,   /* an effect has shown no sign of life for a while */
    INPUT_HELD,     /* a model request waits for admission to its provider, `text` says why */
    INPUT_ADMITTED, /* it waits no longer; said only after HELD */
    INPUT_SHOWN,    /* what a question shows by now, for whoever answers it in another process */
    INPUT_SLEPT,    /* the machine was suspended, and `now` left that out */
};

/* Tries that broke without an answer count in full, unless a person who resumes the run says that they do no longer. */
enum broken_tries { BROKEN_COUNTS, BROKEN_FORGIVEN };

struct input {
    enum input_kind kind;
    int64_t now;
    uint32_t agent_no;
    struct str call_id; /* of the model request or the tool call that this answers */
    /* INPUT_INBOX */
    int64_t inbox_id;
    struct str message_kind, body, sender;
    /* INPUT_RESUME */
    struct str owner;
    uint64_t epoch;
    int64_t alive_at;        /* the last owner's last sign of life; 0: not known */
    struct str asker, walls; /* as in run.started, for the new owner; STR_NONE: as they were */
    enum broken_tries broken;
    /* INPUT_REPLY, INPUT_FAILURE */
    const struct model_reply *reply;
    const struct model_failure *failure;
    enum request_sent sent;
    int64_t admitted_ms;    /* until the request left, if it had to wait; 0: it did not */
    int64_t first_token_ms; /* INPUT_FAILURE: from there to the first text; 0: none came */
    int64_t total_ms;       /* all of it; 0: not known */
    /* INPUT_PREPARED */
    struct str path, before, after; /* hashes in hex, or "absent" */
    /* INPUT_RESULT, INPUT_LOST */
    struct str text;
    /* INPUT_RESULT: why a call that was approved was not made after all; STR_NONE: it was made */
    struct str reason;
    enum tool_outcome outcome;
    struct str files_read, files_modified; /* JSON arrays of paths, or STR_NONE */
    struct str refused;                    /* JSON array of system calls, or STR_NONE */
    struct str network; /* of INPUT_CHECKED too: a JSON array of contacts by name, or STR_NONE */
    int64_t secrets;    /* masked in what a tool found, of these and the next three as well */
    /* INPUT_FACTS */
    struct gathering gathering;
    /* INPUT_CHECKED, with text and files_modified */
    enum checked { CHECKED_OK, CHECKED_FAILED, CHECKED_NOT_RUN } checked;
    struct str evidence; /* JSON array of what each check showed, or STR_NONE */
    /* INPUT_ISOLATED, with outcome, and text: why not. strategy "shared": there is no repository, the agent works in place */
    struct str strategy, worktree_path, workspace, base_ref;
    struct str branch; /* INPUT_MERGED: where the work is that was not merged; empty: nowhere */
    /* INPUT_MERGED, with outcome, text: one line about it, files_modified, evidence. Whatever came of it,
     * the tree is gone. */
    struct str merge_strategy, commit;
    struct str conflicted_files; /* JSON array, or STR_NONE */
    /* INPUT_SILENT */
    int64_t idle_ms; /* since its last sign of life */
    /* INPUT_HELD */
    int64_t waited_ms; /* so far */
    /* INPUT_SHOWN, with secrets: masked in the preview, not in what has the hash */
    struct str shown;   /* hash, hex */
    struct str preview; /* JSON object */
    /* INPUT_SLEPT */
    int64_t slept_ms; /* since the run was last told */
};

const char *model_trouble_text(enum model_trouble trouble); /* "" for none */
enum model_trouble model_trouble_parse(struct str text);    /* a text that is not known is none */

const char *checked_text(enum checked checked);
enum checked checked_parse(struct str text); /* what is not known was not run */

/* The id of the question about a step of a plan: the call's, a dot and the step's place. A call's own id has no dot. */
struct str question_of_step(struct arena *arena, struct str call_id, int64_t step);
bool question_is_of_step(struct str id);

/* Rebuilds the input that a logged fact carries, for replay. reply and failure storage is the caller's; strings live in
 * the arena or in the event. CORRUPT when the event is no fact. */
struct input_storage {
    struct model_reply reply;
    struct model_failure failure;
};
int input_from_event(const struct event *fact, struct arena *arena, struct input_storage *storage,
                     struct input *input, struct err *err);

#endif
