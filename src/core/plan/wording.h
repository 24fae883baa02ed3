/* The words that planners and reviewers use: names of members, types, roles. Tables alone; internal to core/plan. */
#ifndef CADRE_CORE_PLAN_WORDING_H
#define CADRE_CORE_PLAN_WORDING_H

#include "core/plan/plan.h"

/* Parts of a plan, of a step, then of a review. */
enum part {
    PART_STEPS,
    PART_GOAL,
    PART_SUMMARY,
    PART_COMPLETION,
    PART_ID,
    PART_TITLE,
    PART_DESCRIPTION,
    PART_SUCCESS,
    PART_TYPE,
    PART_ROLE,
    PART_DEPENDS,
    PART_OWNERSHIP,
    PART_TOOLS,
    PART_CALLS,
    PART_APPROVAL,
    PART_RETRIES,
    PART_APPROVED,
    PART_FINDINGS,
    PART_FINDING_TITLE,
    PART_FINDING_TEXT,
    PART_FINDING_PLACE,
    PART_COUNT
};

/* The member by the first of its names that the object has, whatever their case and the signs between words; NULL: none. */
const struct js *wording_member(const struct js *object, enum part part);
/* The part stands there and is null. */
bool wording_left_out(const struct js *object, enum part part);
/* By the beginning of the word: "implement a thing", "Testing". False: the word says nothing. */
bool wording_type(struct str word, enum step_type *type);
/* NULL: the word says nothing. */
const struct role *wording_role(struct str word);
/* What a step of this role is about. */
enum step_type wording_type_of_role(const struct role *role);

#endif
