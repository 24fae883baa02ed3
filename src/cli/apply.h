/* Taking the result of a run over into the checkout where it was made, and back: for `cadre apply` and for `cadre run --apply`. Blocks
 * while git works. */
#ifndef CADRE_CLI_APPLY_H
#define CADRE_CLI_APPLY_H

#include "cli/exit.h"
#include "cli/output.h"
#include "cli/wire.h"
#include "port/vcs.h"

enum apply_direction { APPLY_FORWARD, APPLY_BACK };

struct apply {
    struct wire *wire;
    struct store *store;
    struct id run_id;
    enum apply_direction direction;
};

/* IN_PLACE: the run worked in the checkout itself, so what it changed is there. */
enum apply_kind { APPLY_FROM_BRANCH, APPLY_IN_PLACE };

/* Where the result of a run is; texts live in the arena that was given. */
struct apply_source {
    enum apply_kind kind;
    struct vcs_apply_request request;
};

/* What came of it; texts live in the arena that was given. */
struct apply_outcome {
    struct str workspace; /* the user's, where the run was made */
    enum apply_kind kind;
    struct vcs_applied applied; /* FROM_BRANCH */
};

/* Finds the result of a run that ended; the direction does not matter. DENIED: it has not ended. NOT_FOUND: no such run. */
int apply_find(const struct apply *apply, struct arena *arena, struct apply_source *source,
               struct err *err) NODISCARD;
/* DENIED: the run has not ended; or it is to be undone, and has worked in the checkout itself. NOT_FOUND: no such run, no repository any
 * more, no git. */
int apply_run(const struct apply *apply, struct arena *arena, struct apply_outcome *outcome,
              struct err *err) NODISCARD;
/* Says it: a JSON line, or text, with the command to use where it was refused. Only the refusal is said where quiet. A refusal is a
 * failure. */
enum apply_volume { APPLY_SHOWN, APPLY_QUIET };
enum exit_code apply_print(struct output *output, const struct apply *apply,
                           const struct apply_outcome *outcome, enum apply_volume volume);

#endif
