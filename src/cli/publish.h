/* Publishing reports: a run with children leaves its report, and those of children that had a tree or gate it, under .cadre/reports of its
 * workspace. Rendered while the run is in memory, written when the loop has ended. Nothing outside .cadre/reports is written, wherever
 * the workspace's links lead. */
#ifndef CADRE_CLI_PUBLISH_H
#define CADRE_CLI_PUBLISH_H

#include "core/report/report.h"

struct publication_file {
    struct str path, text;
    struct publication_file *next;
};

struct publication {
    struct arena arena;
    struct str workspace, run_id;
    struct publication_file *first; /* NULL: nothing is published. The run's report comes first */
};

/* Of a run that has ended. */
void publication_prepare(struct publication *publication, const struct run *run);
int publication_write(const struct publication *publication, struct err *err) NODISCARD;
void publication_release(struct publication *publication);

#endif
