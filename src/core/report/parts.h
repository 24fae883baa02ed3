/* Private to core/report: parts that a child's and a run's report in Markdown share. Each ends with a newline. Pure. */
#ifndef CADRE_CORE_REPORT_PARTS_H
#define CADRE_CORE_REPORT_PARTS_H

#include "core/report/report.h"

#define PARTS_LINE 200 /* characters of a text from outside that stands within a line */

/* "- spent: …": calls, tokens, dollars, time. */
void parts_spent(const struct agent *agent, struct buf *out);
/* Calls of it and of agents below it that were refused, and why; nothing where there are none. */
void parts_refused(const struct agent *agent, struct buf *out);
/* "- input: …": how much was sent, what of it came from the cache, what that saved. */
void parts_input(const struct report_input *input, struct buf *out);
/* "- work: …": what became of its files, with the command for what was kept; nothing where it had no tree. */
void parts_work(const struct agent *agent, struct buf *out);
/* A heading and the text in a block; nothing where there is no text. */
void parts_text(const char *heading, struct str text, struct buf *out);
/* "## Evidence": files and checks, under headings of their own; nothing where there are none. */
void parts_evidence(const struct agent *agent, struct buf *out);
int64_t parts_duration(const struct agent *agent);

#endif
