/* What leaves the core for the store: one serialised event, and the rows of the projections that it changes.
 * Both are plain data; the store writes them in one transaction and interprets nothing. */
#ifndef CADRE_CORE_RUN_ROW_H
#define CADRE_CORE_RUN_ROW_H

#include <stdint.h>

#include "base/hash.h"
#include "base/id.h"
#include "base/str.h"

/* Bytes of a payload that every store takes. */
#define EVENT_PAYLOAD_MAX (64u << 20)

/* One event as it is stored. All views belong to the batch that carries the row. */
struct event_row {
    uint64_t seq;        /* dense per run, from 1 */
    uint32_t agent_no;   /* 0 is the root, children from 1 in spawn order */
    uint64_t agent_prev; /* seq of the same agent's previous event, 0 if none */
    int64_t ts;          /* milliseconds since 1970 */
    uint16_t version;    /* of the rules that decided it, and so of the payload's meaning */
    uint64_t cause_seq;  /* 0: a fact from outside; else the fact that led to this decision */
    struct str category; /* the type up to its dot */
    struct str type;     /* "model.replied" */
    struct str call_id;  /* STR_NONE where there is none */
    struct str summary;  /* one line for the condensed timeline */
    struct str payload;  /* JSON object */
};

/* The chain. Version 1: H(previous, seq, agent_no, ts, type, version, H(payload)). Version 2 adds what else people
 * read of an event: H(…, cause_seq, epoch, call_id, summary). Events of version 4 and later have version 2, all
 * older ones version 1; the event's own version is hashed, so it cannot be lowered to leave something out. The
 * first event's previous hash is chain_start(run_id), so that two runs never share a chain.
 * epoch: of the lease under which the event was appended. */
#define CHAIN_2_FROM 4 /* version of the first events whose chain has version 2 */
struct hash chain_start(struct str run_id);
struct hash chain_next(const struct hash *previous, const struct event_row *row, uint64_t epoch,
                       const struct hash *payload_hash);

enum row_kind {
    ROW_RUN_INSERT,   /* runs: everything but finished_at */
    ROW_RUN_STATUS,   /* runs: status, error, finished_at, result_json */
    ROW_AGENT_INSERT, /* sub_agents: id … context_json, status created */
    ROW_AGENT_STATUS, /* sub_agents: status (+ started_at, finished_at, error, merge_status, where set) */
};

/* One change of a projection. Unused fields are STR_NONE or -1. Views live as long as the batch. */
struct row {
    enum row_kind kind;
    struct str id;        /* agent (ROW_AGENT_*); the run's own id is in the batch */
    struct str parent_id; /* of an agent: its parent agent's id; the root's id for depth 1 */
    int64_t step_idx;
    struct str name;
    struct str status;
    struct str worktree_path;
    struct str branch_name;
    struct str merge_status;
    struct str context_json; /* the contract, immutable */
    int64_t started_at;
    int64_t finished_at;
    struct str error;
    /* ROW_RUN_INSERT */
    struct str session_id, user_id, workspace_id, workspace_path, task, model;
    struct str parent_run;
    int64_t parent_seq;
    struct str result_json; /* ROW_RUN_STATUS at the end */
};

#endif
