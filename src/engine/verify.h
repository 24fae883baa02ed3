/* Checks on a stored run: the log, what other tables say of it, and the replay of every decision. Blocking: for commands, not
 * for the loop. Memory grows with the run's agents, not with the length of its log. */
#ifndef CADRE_ENGINE_VERIFY_H
#define CADRE_ENGINE_VERIFY_H

#include "port/store.h"

#define VERIFY_FINDINGS_MAX 8 /* that are kept; all are counted */

struct verify_finding {
    char place[96]; /* "event 7", "table runs, column status", "trigger events_update" */
    char text[512]; /* what is wrong there, for a person */
};

struct verify_report {
    uint64_t events;
    char head[HASH_HEX + 1];
    uint64_t bad_seq; /* first event that does not verify, or 0 */
    struct verify_finding findings[VERIFY_FINDINGS_MAX];
    size_t finding_count; /* 0: the run verifies */
    uint64_t children, closes, inputs;
    /* Of a replay: events that other rules decided, which were folded and not compared; the last one's rules. */
    uint64_t not_compared;
    uint16_t other_rules;
};

/* Recomputes the chain from the stored rows, checks dense numbers, payloads, causes, agent chains, one close per child of an
 * ended run, and that the log folds. expected_head (hex, may be a prefix of at least 8 digits) or STR_NONE. Returns 0 when
 * the run could be read (problems are in the report), -1 otherwise. */
int verify_log(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err);

/* The same, and: runs and sub_agents say what the log says, agent_tails and the inbox name events that are there, the
 * database refuses what it must, and its pages are whole. All of one moment of the store. */
int verify_run(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err);

/* Feeds each logged fact to run_decide and compares events and effects byte for byte; nothing runs. What was decided by other
 * rules than EVENT_VERSION cannot be decided again: it is folded, and counted. */
int replay_run(struct store *store, struct str run_id, struct verify_report *report,
               struct err *err);

#endif
