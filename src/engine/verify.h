/* Checks on a stored run: the hash chain, and the replay of every decision. Blocking: for commands, not for the loop. */
#ifndef CADRE_ENGINE_VERIFY_H
#define CADRE_ENGINE_VERIFY_H

#include "port/store.h"

struct verify_report {
    uint64_t events;
    char head[HASH_HEX + 1];
    uint64_t bad_seq;  /* first event that does not verify, or 0 */
    char problem[512]; /* what is wrong with it, for a person */
    uint64_t children, closes, inputs;
    /* Of a replay: events that other rules decided, which were folded and not compared; the last one's rules. */
    uint64_t not_compared;
    uint16_t other_rules;
};

/* Recomputes the chain from the stored rows, checks dense numbers, payload hashes, agent chains, one close per child of an
 * ended run, and that the log folds. expected_head (hex, may be a prefix of at least 8 digits) or STR_NONE. Returns 0 when
 * the run could be read (problems are in the report), -1 otherwise. */
int verify_run(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err);

/* Feeds each logged fact to run_decide and compares events and effects byte for byte; nothing runs. What was decided by other
 * rules than EVENT_VERSION cannot be decided again: it is folded, and counted. */
int replay_run(struct store *store, struct str run_id, struct verify_report *report,
               struct err *err);

#endif
