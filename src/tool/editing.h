/* Exact replacements in one file, all or none: what `edit` and `multi_edit` share. prepare makes the new content and hashes both;
 * run makes it again from the file as it is then, and writes only when both hashes are still the same. */
#ifndef CADRE_TOOL_EDITING_H
#define CADRE_TOOL_EDITING_H

#include "port/tool.h"
#include "tool/replace.h"

#define EDITING_STEPS_MAX 100

struct edit_step {
    struct str old, new;
    enum replace_mode mode;
};

struct editing {
    struct edit_step steps[EDITING_STEPS_MAX]; /* each works on what the one before it left */
    size_t count;
};

/* The content after all steps. -1 with the error in the result, and out as it may be: nothing of it is to be used. */
NODISCARD int editing_apply(const struct editing *editing, struct str path, struct str content,
                            struct buf *out, size_t *replaced, struct tool_result *result);

/* The file is the argument "path". */
NODISCARD int editing_prepare(const struct tool_context *context, const struct js *arguments,
                              const struct editing *editing, struct tool_prepared *prepared,
                              struct tool_result *result);
NODISCARD int editing_preview(const struct tool_context *context, const struct js *arguments,
                              const struct editing *editing, struct preview *preview,
                              struct tool_result *result);
void editing_run(const struct tool_context *context, const struct editing *editing,
                 const struct tool_prepared *prepared, struct tool_result *result);

#endif
