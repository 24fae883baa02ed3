/* What the git tools share: who answers, which paths a call may see, and an answer as a result. */
#ifndef CADRE_TOOL_GIT_ASK_H
#define CADRE_TOOL_GIT_ASK_H

#include "base/err.h"
#include "port/tool.h"
#include "port/vcs.h"

#define GIT_ASK_PATHS_MAX 100
#define GIT_ASK_WORD_MAX 1024
#define GIT_ASK_WALL_MS 60000

/* NULL with the error in the result: there is no git, or the workspace is in no repository. */
const struct vcs_port *git_ask_port(const struct tool_context *context, struct vcs_view *view,
                                    struct tool_result *result);
/* One path of a call in normal form from the workspace, checked against the places that are allowed. */
struct scope_allow;
NODISCARD int git_ask_path(const struct tool_context *context, struct str path,
                           const struct scope_allow *allow, struct str *normal,
                           struct tool_result *result);
/* The argument "paths"; absent: none. */
NODISCARD int git_ask_paths(const struct tool_context *context, const struct js *arguments,
                            const struct scope_allow *allow, struct vcs_list *paths,
                            struct tool_result *result);
/* Does the contract hide a part of the repository? Then every command must be told which paths it may show. */
bool git_ask_is_narrow(const struct tool_context *context, const struct vcs_view *view);
/* What the contract lets the call read: for a command that was given no paths. */
struct vcs_list git_ask_scope(const struct tool_context *context);
/* A revision as a model wrote it: no option, no path, nothing that cannot be in one. */
NODISCARD int git_ask_revision(struct str text, struct tool_result *result);
/* Asks and makes the answer the result. `limits`: how to get a shorter answer. */
void git_ask(const struct tool_context *context, const struct vcs_port *vcs,
             const char *const *words, struct vcs_list paths, const char *limits,
             struct tool_result *result);

#endif
