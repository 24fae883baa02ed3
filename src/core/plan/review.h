/* What a review says: whether the result is approved, and what must still be changed. It is asked for as one JSON object (see
 * plan_review_task); what models make of that is read as far as it can be understood, so that no finding is lost to its shape: a list
 * alone, one text in place of a list, other names, another object around it, an answer that was cut.
 *
 * A "no" without a finding is a finding itself: its summary. Findings count whatever is said beside them. Of several verdicts the first
 * counts, but no yes hides a no: a file that is reviewed may hold one, and be quoted.
 *
 * Pure; any thread. All views belong to the arena given. */
#ifndef CADRE_CORE_PLAN_REVIEW_H
#define CADRE_CORE_PLAN_REVIEW_H

#include "base/arena.h"
#include "base/str.h"

#define REVIEW_FINDINGS_MAX 8

/* Both have words in them. */
struct finding {
    struct str title; /* one line */
    struct str description;
};

struct review {
    enum {
        REVIEW_NONE, /* the review is prose, or nothing */
        REVIEW_APPROVED,
        REVIEW_OPEN, /* not approved, or something was found */
    } is;
    struct str summary; /* empty: none */
    struct finding findings[REVIEW_FINDINGS_MAX];
    size_t count; /* that have words; of more than there is room for, the first */
};

void review_read(struct arena *arena, struct str review, struct review *out);

#endif
