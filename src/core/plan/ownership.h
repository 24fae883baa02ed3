/* What a step of a plan may change: globs (base/path.h, path_glob) from the workspace. A path without a pattern in it is that
 * file or directory and everything beneath. Whether two steps may change the same place is answered carefully: what may overlap
 * does. A step without ownership owns everything, one whose role cannot write owns nothing.
 *
 * Pure; any thread. */
#ifndef CADRE_CORE_PLAN_OWNERSHIP_H
#define CADRE_CORE_PLAN_OWNERSHIP_H

#include "core/plan/plan.h"

#define OWNERSHIP_COMPONENTS_MAX 32 /* of one glob */
#define OWNERSHIP_STARS_MAX 4       /* `**` in one glob */

/* The normal form of a glob; STR_NONE and *why (a constant text) where it can own nothing or cannot be understood. */
struct str ownership_normal(struct arena *arena, struct str glob, const char **why);
/* Two globs in normal form. */
bool ownership_globs_overlap(struct str a, struct str b);
bool ownership_overlaps(const struct plan_step *a, const struct plan_step *b);
/* What a contract says: isolation.ownership, globs that hold what the step's do ("src/a" is "src/a" with `**` beneath). Absent where
 * the step owns everything, empty where it owns nothing. */
struct list ownership_globs(struct arena *arena, const struct plan_step *step);
/* permissions.write_paths: path rules (base/pathrule.h) that hold every file of these globs, and more where a rule cannot say as much
 * as a glob; absent where the step owns everything. */
struct list ownership_write_paths(struct arena *arena, const struct plan_step *step);

#endif
