/* Roles of seed 004: one row each. Values are those of its _get_role_config. */
#ifndef CADRE_CORE_CONTRACT_ROLE_H
#define CADRE_CORE_CONTRACT_ROLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct role {
    const char *name;  /* researcher planner executor reviewer tester */
    const char *tools; /* comma-separated */
    int64_t tool_calls;
    int64_t context_chars;
    const char *spawn_roles; /* comma-separated; "" none */
    enum { ROLE_READS, ROLE_WRITES, ROLE_WRITES_TESTS } writes;
    const char *prompt;
};

extern const struct role role_table[];
extern const size_t role_count;
const struct role *role_find(struct str name); /* NULL: unknown */

#endif
