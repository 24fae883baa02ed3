/* See request.h. Pure; any thread. */
#include "core/plan/request.h"

#include "core/plan/ownership.h"

void plan_step_request(struct arena *arena, const struct plan *plan, size_t step, struct str task,
                       struct delegation *out)
{
    const struct plan_step *wanted = &plan->steps[step];
    delegation_init(out, DOOR_PLAN);
    out->task = task;
    out->name = wanted->id;
    out->title = wanted->title;
    out->success_criteria = wanted->success_criteria;
    out->role = str_from(wanted->role->name);
    if (wanted->working_directory.n > 0)
        out->working_directory = wanted->working_directory;
    out->allowed_tools = wanted->allowed_tools;
    out->ownership = ownership_globs(arena, wanted);
    out->step_idx = (int64_t)step;
    if (wanted->max_retries != UNLIMITED)
        out->max_retries = wanted->max_retries;
}

void plan_planner_request(struct str task, struct delegation *out)
{
    delegation_init(out, DOOR_PLAN);
    out->task = task;
    out->name = STR("planner");
    out->title = STR("Make a plan");
    out->role = STR("planner");
}

void plan_reviewer_request(const struct plan *plan, struct str task, struct delegation *out)
{
    delegation_init(out, DOOR_PLAN);
    out->task = task;
    out->name = STR("reviewer");
    out->title = STR("Review the result");
    out->success_criteria = plan->completion_criteria;
    out->role = STR("reviewer");
}
