/* A regular expression for one line at a time (PCRE2, compiled once, JIT). A hostile pattern
 * cannot run for long: every match has a limit on its steps, and reaching it is an error of the
 * pattern. One thread at a time. */
#ifndef CADRE_TOOL_PATTERN_H
#define CADRE_TOOL_PATTERN_H

#include "base/err.h"
#include "base/str.h"

#define PATTERN_MAX 4096 /* bytes */

struct pattern;

enum pattern_case { PATTERN_EXACT_CASE, PATTERN_ANY_CASE };

/* USAGE with PCRE2's words and the place in the pattern. Free with pattern_free. */
NODISCARD int pattern_compile(struct str text, enum pattern_case cases, struct pattern **pattern,
                              struct err *err);
void pattern_free(struct pattern *pattern);
/* 1 when the line matches, 0 when not, -1 with err when the match took too many steps. */
NODISCARD int pattern_match(struct pattern *pattern, struct str line, struct err *err);
/* The same, and what the pattern's first group matched: a view of the line, empty without one. */
NODISCARD int pattern_find(struct pattern *pattern, struct str line, struct str *group,
                           struct err *err);
/* Where the first line that can match starts, at or behind `from` in text; text.n when none. For
 * patterns that are plain text this skips quickly; for others it answers the line at `from`. */
size_t pattern_skip(const struct pattern *pattern, struct str text, size_t from);

#endif
