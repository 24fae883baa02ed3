/* How a project runs its tests: one table, from what lies in its directory to a command. Reads files, runs nothing. */
#ifndef CADRE_TOOL_SUITES_H
#define CADRE_TOOL_SUITES_H

#include "port/tool.h"

enum suite_takes { SUITE_ALL = 0, SUITE_FILTER = 1, SUITE_PATH = 2 };

struct suite {
    const char *name;
    const char *marker; /* that lies in the working directory; * in its last component */
    /* Whether the marker's text means that there are tests; NULL: that it is there is enough. */
    bool (*means)(struct str text);
    const char *also; /* another marker that must be there, or NULL */
    /* For sh: $1 is the filter, $2 the path; both empty where nothing was asked for. */
    const char *script;
    int takes; /* of suite_takes, together */
};

extern const struct suite suites[];
extern const size_t suite_count;

/* The first suite of the table that fits the call's working directory, or NULL. */
const struct suite *suite_find(const struct tool_context *context);
/* Adds which file defines the command, as it is now, and what it says where that is short to tell. */
void suite_preview(const struct tool_context *context, const struct suite *suite,
                   struct preview *preview);

#endif
