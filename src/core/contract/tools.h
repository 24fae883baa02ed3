/* Every tool that a contract can name: its group (a column of the mode table), its effect class
 * and its aliases. One table; names are normalised here before any list is intersected. */
#ifndef CADRE_CORE_CONTRACT_TOOLS_H
#define CADRE_CORE_CONTRACT_TOOLS_H

#include "core/contract/list.h"

enum tool_group {
    GROUP_READ,
    GROUP_WRITE,
    GROUP_SHELL,
    GROUP_COMMIT,
    GROUP_DELEGATE,
    GROUP_ASK,
    GROUP_OTHER,
    GROUP_COUNT
};

/* When an effect may start: PURE at once; COSTLY and OUTWARD only after their intent is durable. */
enum effect_class { EFFECT_PURE, EFFECT_COSTLY, EFFECT_OUTWARD };

struct tool_info {
    const char *name;
    enum tool_group group;
    enum effect_class class;
    enum {
        TOOL_ADAPTER,
        TOOL_PREPARED,
        TOOL_CORE,
        TOOL_QUESTION
    } kind; /* PREPARED: logs before/after hashes first; CORE: a delegation door; QUESTION: a person's
               answer is its result */
    /* SPECIAL: agents seldom need it. A child for which nobody chose tools may call it, but is not
     * told of it (contract_shows_special_tools): every request carries the schemas. */
    enum { TOOL_COMMON, TOOL_SPECIAL } use;
    const char *aliases[3];
};

extern const struct tool_info tool_infos[];
extern const size_t tool_info_count;

/* By name or alias; NULL for an unknown tool (group OTHER, outward). */
const struct tool_info *tool_info_find(struct str name);
/* "read_file" → "read"; an unknown name is itself. */
struct str tool_normal_name(struct str name);
bool tool_is_special(struct str name);
struct list tool_normal_list(struct arena *arena, const struct list *names);

#endif
