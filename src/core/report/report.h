/* Reports: what a child was asked for, what it brought and what shows it; and a run's report that joins those of its children. From a
 * folded run, for people (Markdown) and for programs (JSON). Nothing in a report can be told apart from its text's place: texts of
 * models and files are quoted (quote.h). Pure. */
#ifndef CADRE_CORE_REPORT_REPORT_H
#define CADRE_CORE_REPORT_REPORT_H

#include "base/json.h"
#include "core/run/run.h"

/* Under the workspace, where reports are published. */
#define REPORT_DIRECTORY ".cadre/reports"
#define REPORT_RUN_NAME "report.md"

/* The child's number is below run_agent_count and not 0. */
void report_child_markdown(const struct run *run, uint32_t no, struct buf *out);
void report_run_markdown(const struct run *run, struct buf *out);
/* One object, with a report of each child in "children". */
void report_run_json(const struct run *run, struct buf *out);

/* The input of requests, and what of it came from the provider's prompt cache. */
struct report_input {
    int64_t tokens; /* all of it, told or estimated */
    struct cache_use cache;
};
struct report_input report_input_of(const struct agent *agent); /* its own requests */
struct report_input report_input_of_run(const struct run *run); /* those of all agents */
/* "12345 tokens, 9000 (72 %) from the cache, saved $0.0123"; what is not known is left out. */
void report_input_text(const struct report_input *input, struct buf *out);
/* input_tokens, cached_tokens, cache_write_tokens, hit_rate, saved_usd; null where not known. */
void report_input_json(const struct report_input *input, struct jw *w);

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
