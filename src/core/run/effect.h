/* Effects: what the core asks the shell to do. Each names the event that announced it; costly and outward ones may
 * start only when that event is durable. An effect is data: (agent, call), never a pointer into a run. */
#ifndef CADRE_CORE_RUN_EFFECT_H
#define CADRE_CORE_RUN_EFFECT_H

#include "base/str.h"
#include "core/contract/tools.h"

enum effect_kind {
    EFFECT_MODEL,   /* ask the model with the agent's conversation → REPLY | FAILURE */
    EFFECT_TOOL,    /* run a tool → RESULT | LOST */
    EFFECT_PREPARE, /* look at what a writing tool will change → PREPARED | RESULT (an error) */
    EFFECT_SETTLE,  /* after a crash: was the prepared change made? → RESULT | LOST */
    EFFECT_GATHER,  /* read files for a child's prompt → FACTS */
    EFFECT_ASK, /* put a question to the person at the terminal → an approve message in the inbox. No tool: may the
                   agent go on? `arguments` has its tool_calls and hard_stop_at. Tool ask_user: the question itself →
                   an answer message */
    EFFECT_ABORT, /* end the call's running effect; it still answers, with FAILURE (cancelled), LOST or RESULT */
    EFFECT_CHECK,   /* run the contract's checks, `arguments` has them → CHECKED */
    EFFECT_ISOLATE, /* make the agent's tree → ISOLATED */
    EFFECT_MERGE, /* merge the agent's tree into its parent's, `arguments` has its checks; tool keep: leave its work on its branch.
                     Either way its files go afterwards → MERGED */
};

struct effect {
    enum effect_kind kind;
    enum effect_class class;
    uint64_t seq; /* of the announcing event */
    uint32_t agent_no;
    struct str call_id;
    struct str tool;
    struct str arguments;           /* JSON object; GATHER: JSON array of paths */
    struct str path, before, after; /* TOOL of a prepared call, SETTLE */
    struct str
        shown; /* TOOL, PREPARE: hash of the preview that a person approved; empty: nobody was asked */
    int64_t output_limit;  /* MODEL */
    int64_t max_result;    /* TOOL: bytes of text that fit into the conversation */
    uint64_t conversation; /* MODEL: mark of what is sent */
};

uint64_t effect_mark(uint64_t before, const struct effect *effect);
const char *effect_kind_text(enum effect_kind kind);

#endif
