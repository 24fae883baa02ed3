/* One line per tool: each is defined in the file of its name. */
#ifndef CADRE_TOOL_TABLE_H
#define CADRE_TOOL_TABLE_H

#include "port/tool.h"

/* In the order in which models see them. */
#define TOOLS(X)                                                                                   \
    X(read)                                                                                        \
    X(ls)                                                                                          \
    X(grep)                                                                                        \
    X(search)                                                                                      \
    X(code_search)                                                                                 \
    X(overview)                                                                                    \
    X(docs_coverage)                                                                               \
    X(plan_files)                                                                                  \
    X(write)                                                                                       \
    X(edit)                                                                                        \
    X(multi_edit)                                                                                  \
    X(delete)                                                                                      \
    X(shell)                                                                                       \
    X(test)                                                                                        \
    X(git)                                                                                         \
    X(git_diff)                                                                                    \
    X(git_commit)                                                                                  \
    X(web_fetch)                                                                                   \
    X(web_search)                                                                                  \
    X(skill)

#define X(name) extern const struct tool tool_##name;
TOOLS(X)
#undef X

#endif
