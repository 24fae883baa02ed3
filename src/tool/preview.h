/* Building previews (port/preview.h): what the tools' own `preview` operations share, and the preview of a call of any tool. */
#ifndef CADRE_TOOL_PREVIEW_H
#define CADRE_TOOL_PREVIEW_H

#include "port/tool.h"

/* Adds a part; label and text are copied into the context's arena. Past the maximum of bytes the preview becomes TOO_LARGE. */
void preview_add(const struct tool_context *context, struct preview *preview, const char *label,
                 struct str text);
void preview_add_kind(const struct tool_context *context, struct preview *preview,
                      enum preview_kind kind, struct preview_part part);
/* Where a program would run and behind which walls. */
void preview_walls(const struct tool_context *context, struct preview *preview);
/* A file's change as a unified diff, with its path. before.p == NULL: there is no such file; after.p == NULL: it is deleted. */
void preview_change(const struct tool_context *context, struct preview *preview, struct str path,
                    struct str before, struct str after);

/* tool_port's `preview`. */
void tool_preview(const struct tool_context *context, struct str name, struct str arguments,
                  struct preview *preview);
/* tool_port's `preview_step`. */
void step_preview(const struct tool_context *context, struct str terms, struct preview *preview);
/* Sets the hash of what is shown; a preview that is too large says so instead. The last step of each of the two. */
void preview_seal(const struct tool_context *context, struct preview *preview, struct str json);

#endif
