/* What waits in a run for a person's answer: steps of a plan and calls, from the log and the inbox. Blocking. */
#ifndef CADRE_CLI_WAITING_H
#define CADRE_CLI_WAITING_H

#include "cli/history.h"

#define WAITING_MAX 1024

/* CHANGED: it was approved, and would do something else by then. */
enum waiting_answer { WAITING_OPEN, WAITING_YES, WAITING_NO, WAITING_CHANGED };

struct waiting {
    enum { WAITING_STEP, WAITING_CALL } kind;
    struct str id;       /* what a person calls it: the step's id, or the call's */
    struct str question; /* what the answer names */
    int64_t agent_no;
    struct str agent, tool, arguments; /* of a call; the arguments whole */
    struct str shown; /* hash of what the question shows, hex; empty: its run has not looked yet */
    uint64_t shown_seq; /* of the event that has it */
    /* What somebody said, in the log or in the inbox; an item that is OPEN waits. */
    enum waiting_answer answer;
};

/* Steps that were ever asked about, calls that are asked about now. Texts live in the arena. */
struct waiting_list {
    struct arena arena;
    struct waiting items[WAITING_MAX];
    size_t count;
};

int waiting_read(struct history *history, struct waiting_list *list, struct err *err) NODISCARD;
void waiting_release(struct waiting_list *list);
/* What the question shows, as JSON (engine/shown.h), and how many secrets are masked in it. NOT_FOUND: its run has not looked yet. */
int waiting_preview(struct history *history, const struct waiting *item, struct arena *arena,
                    struct str *json, int64_t *secrets, struct err *err) NODISCARD;
/* What the run made of the answer, as soon as its log tells it; WAITING_OPEN: it does not within some seconds. */
int waiting_outcome(struct history *history, const struct waiting *item,
                    enum waiting_answer *answer, struct err *err) NODISCARD;

#endif
