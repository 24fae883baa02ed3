/* Private to the engine: one call of a tool, or another look at files, on a thread that may block. work.c starts it and takes what
 * came of it, on the loop; perform.c does it. */
#ifndef CADRE_ENGINE_WORK_H
#define CADRE_ENGINE_WORK_H

#include "engine/live.h"

/* What EFFECT_ISOLATE and EFFECT_MERGE need. */
struct tree_work {
    const struct vcs_port *vcs; /* NULL: there is none, for this reason: */
    struct str vcs_problem;
    struct vcs_tree tree, parent;
    struct str base, message;
    struct str path; /* where it is, if it is there */
    enum { TREE_IS_CHECKOUT, TREE_IS_COPY } copy;
    struct vcs_list ownership; /* items == NULL: it owns everything */
    enum vcs_dirty dirty;
    int64_t now_ms;
    enum { TREE_OF_ROOT, TREE_OF_CHILD } whose;
    enum { DO_ISOLATE, DO_MERGE, DO_KEEP, DO_FORGET } what; /* FORGET: a root in place */
    atomic_bool never;                                      /* for what must not be cancelled */
    struct scope *made;                                     /* by ISOLATE: the loop takes it */
};

struct work {
    struct flight flight; /* first: they are cast into each other */
    struct crew_job job;  /* on a thread */
    struct admission_ticket ticket;
    int64_t asked_at;       /* when it was to start */
    bool skipped;           /* it was aborted before it was admitted, and is not done */
    struct board_note note; /* what it says while it works */
    struct arena arena;
    enum effect_kind kind;
    enum effect_class class;
    const struct tool_port *port;
    const struct tool *tool;
    struct str call_id; /* the flight of a preview has another */
    struct str name;    /* of the tool, known or not */
    struct str shown;   /* hash of the preview that a person approved; empty: nobody was asked */
    struct str arguments;
    struct str problem;          /* why there is no workspace */
    const struct scope *resting; /* what context.scope is opened from; NULL: it is open */
    struct tool_context context;
    struct tool_prepared prepared;
    struct tree_work *tree; /* of EFFECT_ISOLATE and EFFECT_MERGE */
    atomic_bool cancelled;
    /* what came of it */
    struct input input;
    struct buf text;
    struct buf *texts;      /* of gathered files, one each */
    struct preview preview; /* of EFFECT_ASK: what a call would do */
    struct err lost;        /* why the run must be let go of; or none */
};

/* Any thread, once. */
void work_perform(struct work *work);
const struct masker *work_masker(const struct work *work); /* NULL: secrets are shown */

/* trees.c: the two effects on trees. On the loop: copies what it needs from the run. */
void tree_work_set(struct work *work, const struct live *live, const struct effect *effect);
void tree_work_perform(struct work *work); /* any thread, once */
struct str files_json(struct arena *arena, const struct str *files,
                      size_t count); /* STR_NONE where there are none */

#endif
