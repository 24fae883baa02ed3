/* Programs that tools run: behind the walls that the call's contract asks for, with what they print made readable for a model and
 * what they changed told. Shared by the tools that run something. Blocking. */
#ifndef CADRE_TOOL_CONFINED_H
#define CADRE_TOOL_CONFINED_H

#include "tool/changes.h"

/* The walls of a call. Views into the context and into the arena. */
void confined_walls(const struct tool_context *context, struct arena *arena,
                    struct sandbox_walls *walls);
/* -1 with an error in the result where nothing can be confined. */
NODISCARD int confined_ready(const struct tool_context *context, struct tool_result *result);
/* Milliseconds that a program may take: what is wanted, less where the agent's own time ends sooner, so that it can still tell
 * what came of it. */
int64_t confined_wall(const struct tool_context *context, int64_t wanted);

struct confined_run {
    const char *const *argv;
    int64_t wall_ms;
    struct sandbox_outcome outcome; /* its buffers hold nothing after a failure */
    struct changes *before, *after;
    enum {
        TREE_ALONE,
        TREE_SHARED
    } tree; /* SHARED: another agent's program worked in it meanwhile */
};
/* Runs it to its end and says on the way what it prints; what it read is added to the result's files. -1 with an error in the result when it was not run. Release it in either
 * case. */
NODISCARD int confined_run(const struct tool_context *context, struct confined_run *run,
                           struct tool_result *result);
void confined_release(struct confined_run *run);

/* Adds the system calls that were refused to the result, for its event. */
void confined_refused(const struct tool_context *context, const struct sandbox_outcome *outcome,
                      struct tool_result *result);
/* How it ended, in words: "exit code 2", "killed by signal 9 (Killed)", with what a model can do about it. */
void confined_end(const struct sandbox_outcome *outcome, int64_t wall_ms, struct buf *out);
/* Output as text: what a terminal would have left of it, mended, without control characters and escape sequences. */
void confined_clean(struct buf *out, struct str raw);
/* The same with its secrets masked; returns how many there were. */
size_t confined_text(const struct tool_context *context, struct buf *out, struct str raw);
/* Appends the output with its secrets masked, its first and last part where it is long, within the room that the result has and `most`. total: bytes
 * that were printed in all. */
void confined_output(const struct tool_context *context, struct tool_result *result, struct str raw,
                     uint64_t total, size_t most);
/* Adds what changed to the result's files, and a line about it to its text. */
void confined_changes(const struct tool_context *context, const struct changes *before,
                      const struct changes *after, int tree, struct tool_result *result);
/* Seconds with one decimal. */
void confined_seconds(struct buf *out, int64_t ms);

#endif
