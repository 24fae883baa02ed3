/* The places that an agent's write rules (base/pathrule.h) come to right now, for a sandbox: that one makes existing places writable
 * and knows no rules. What comes into being later is not among them. Runs on a pool thread. */
#ifndef CADRE_TOOL_WRITABLE_H
#define CADRE_TOOL_WRITABLE_H

#include "base/err.h"
#include "port/tool.h"

#define WRITABLE_PLACES 256      /* found in all */
#define WRITABLE_LOOKED_AT 20000 /* directories looked into for one rule */

struct writable {
    struct str
        *paths; /* from the scope's root; directories, or files that a rule names; in the arena */
    size_t count;
    enum {
        WRITABLE_ALL,
        WRITABLE_CUT
    } state; /* CUT: a bound was reached, or the call was cancelled */
};

/* Nearer directories come first. Never fails: a rule that comes to nothing adds nothing. */
void writable_find(const struct tool_context *context, struct arena *arena, struct writable *out);
/* The same, but where all rules are plain paths these as they are, there or not, without a look. */
void writable_places(const struct tool_context *context, struct arena *arena, struct writable *out);

#endif
