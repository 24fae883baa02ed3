/* Path rules: which places an agent may write to, as text that a contract shows. A rule is one of
 *
 *   DIR             that path, a file or a directory, and everything beneath it; "." is everything
 *   DIR, **         everything beneath that directory, but nothing in its own place
 *   DIR, **, NAME   every directory of that name beneath DIR, at any depth: everything beneath it
 *
 * with a slash between the parts; DIR may be missing before `**`. `**` has no other meaning. Rules are in normal form (path.h). A
 * rule says where a place may be, never what is there: walls are the scope's (os/scope.h). */
#ifndef CADRE_BASE_PATHRULE_H
#define CADRE_BASE_PATHRULE_H

#include "base/arena.h"
#include "base/str.h"

/* Taken apart. */
struct pathrule {
    enum { REACH_SELF, REACH_BENEATH, REACH_NAMED } reach;
    struct str directory; /* "." where the rule starts with `**` */
    struct str name;      /* of REACH_NAMED */
};

/* False: `**` stands where it has no meaning. */
bool pathrule_read(struct str rule, struct pathrule *out);
/* May a file be at this path (normal form)? */
bool pathrule_holds(struct str rule, struct str path);
/* Is all that `a` holds held by `b` too? */
bool pathrule_within(struct str a, struct str b);
/* What both hold, as one rule; STR_NONE where that is nothing or cannot be said in one rule: never more than either. */
struct str pathrule_meet(struct arena *arena, struct str a, struct str b);
/* What the rule holds of directories with this name. */
struct str pathrule_named(struct arena *arena, struct str rule, struct str name);

#endif
