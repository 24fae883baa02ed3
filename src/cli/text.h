/* How values read on a screen: money, tokens, durations, times, columns, and what a tool call is
 * about. Appends to a buf; local time is the only thing that it asks the machine for. */
#ifndef CADRE_CLI_TEXT_H
#define CADRE_CLI_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

void text_money(struct buf *out, int64_t nano); /* "$0.0123"; below a tenth of a cent "$0.000123" */
void text_dollars(struct buf *out, double dollars); /* the same, from a result object */
/* What a result object says was spent: "$0.06", "$0.06, at most $0.32", "at least $0.06". False, and nothing, where it does not
 * know any cost, or there was none. */
bool text_spent(struct buf *out, const struct js *result);
void text_tokens(struct buf *out, int64_t tokens); /* "950", "12.3k", "1.2M" */
void text_duration(struct buf *out, int64_t ms);   /* "3.2s", "2m05s", "1h02m" */
void text_clock(struct buf *out, int64_t ms);      /* "12:01:02", local */
void text_date(struct buf *out, int64_t ms);       /* "2025-03-01 12:01", local */
/* One line, cleaned, at most `columns` wide ("…" or "..." at a cut), and padded to `columns` with
 * text_column. */
enum text_ellipsis { ELLIPSIS_ASCII, ELLIPSIS_UTF8 };
void text_cut(struct buf *out, struct str text, int columns, enum text_ellipsis ellipsis);
void text_column(struct buf *out, struct str text, int columns, enum text_ellipsis ellipsis);
/* The argument that says most about a call: a path, a pattern, a task; one line, cleaned, cut at
 * 200 bytes. A path is shown as base/filename.h says. arguments: text of a JSON object, from a model. */
void text_gist(struct buf *out, struct str arguments);
void text_gist_of(struct buf *out, const struct js *arguments);

#endif
