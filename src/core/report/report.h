/* Reports: what a child was asked for, what it brought and what shows it; and a run's report that joins those of its children. From a
 * folded run, for people (Markdown) and for programs (JSON). Nothing in a report can be told apart from its text's place: texts of
 * models and files are quoted (quote.h). Pure. */
#ifndef CADRE_CORE_REPORT_REPORT_H
#define CADRE_CORE_REPORT_REPORT_H

#include "core/run/run.h"

/* Under the workspace, where reports are published. */
#define REPORT_DIRECTORY ".cadre/reports"
#define REPORT_RUN_NAME "report.md"

/* The child's number is below run_agent_count and not 0. */
void report_child_markdown(const struct run *run, uint32_t no, struct buf *out);
void report_run_markdown(const struct run *run, struct buf *out);
/* One object, with a report of each child in "children". */
void report_run_json(const struct run *run, struct buf *out);

/* Whether the child's report is published as a file of its own: it had a tree, or the run's outcome hung on it. Of others the run's
 * report tells. */
bool report_stands_alone(const struct agent *child);
/* Where it is published, from the workspace: the pattern of its contract. The text lives in the arena. */
struct str report_path(const struct run *run, const struct agent *child, struct arena *arena);
struct str report_run_path(const struct run *run, struct arena *arena);

/* Whether the run's outcome hung on the child, and it failed. */
bool report_fails_gate(const struct agent *child);
/* What became of the work in an agent's tree, in a word: merged, unchanged, kept (on a branch), in_place (of a root in the user's files),
 * refused (neither merged nor kept), open (it still works); STR_NONE where it had no tree. */
struct str report_work(const struct agent *agent);
/* What shows work that stayed on a branch: a command for the user's checkout. STR_NONE: there is no such work, or no such command. */
struct str report_command(const struct agent *agent, struct arena *arena);

#endif
