/* What must hold between the parts of a plan whose fields are right one by one. Internal to core/plan. */
#ifndef CADRE_CORE_PLAN_CHECK_H
#define CADRE_CORE_PLAN_CHECK_H

#include "core/plan/plan.h"

/* steps: the document's list, for the places of mistakes. Sets needs, and ownership in normal form. */
void plan_check(struct arena *arena, const struct js *steps, struct plan *plan,
                struct problems *problems);

#endif
