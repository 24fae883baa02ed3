/* What the tests of plans that are carried out share: a run that is started with a plan, and its children by the steps' names.
 * Plans are sketched as plan_fixture.h does: "a; b <a own=src". */
#ifndef CADRE_TESTS_UNIT_PLAN_RIG_H
#define CADRE_TESTS_UNIT_PLAN_RIG_H

#include "plan_fixture.h"
#include "run_fixture.h"

static inline void plan_rig_open(struct rig *rig)
{
    rig_open_doors(rig);
    list_add(&rig->arena, &rig->settings.available_tools, STR("plan"));
    rig->settings.plan_enabled = SWITCH_ON;
}

/* The start message's plan: the goal, and what follows it. */
static inline void plan_rig_start(struct rig *rig, const char *more)
{
    rig->plan = arena_printf(&rig->arena, "{\"goal\":\"The goal\"%s}", more).p;
    plan_rig_open(rig);
    rig_start(rig, "The goal");
    rig_skip(rig);
}

/* A run that carries out this sketch of a plan. */
static inline void plan_rig_sketch(struct rig *rig, const char *text)
{
    struct fixture f;
    arena_init(&f.arena);
    const char *more = arena_printf(&rig->arena, ",\"plan\":%s", sketch(&f, text)).p;
    arena_release(&f.arena);
    plan_rig_start(rig, more);
}

/* Before the start: the result is reviewed, and findings become steps this often. */
static inline void plan_rig_review(struct rig *rig, int64_t rounds)
{
    rig->settings.plan_review = SWITCH_ON;
    rig->settings.review_rounds = rounds;
}

/* The last child of this name; 0: there is none. */
static inline uint32_t plan_rig_find(const struct rig *rig, const char *name)
{
    for (uint32_t no = run_agent_count(rig->run); no-- > 1;) {
        if (str_is(run_agent(rig->run, no)->contract.agent.name, name))
            return no;
    }
    return 0;
}

static inline uint32_t plan_rig_child(const struct rig *rig, const char *name)
{
    uint32_t no = plan_rig_find(rig, name);
    if (no == 0)
        fail_msg("no child is called %s", name);
    return no;
}

static inline bool plan_rig_works(const struct rig *rig, const char *name)
{
    uint32_t no = plan_rig_find(rig, name);
    return no != 0 && run_agent(rig->run, no)->phase != PHASE_DONE;
}

static inline void plan_rig_say(struct rig *rig, const char *name, const char *text)
{
    rig_say(rig, plan_rig_child(rig, name), text);
}

static inline void plan_rig_fail(struct rig *rig, const char *name)
{
    rig_fail(rig, plan_rig_child(rig, name), ERR_PROVIDER, "no such model");
}

/* The last event about a step, or NULL. */
static inline const struct event *plan_rig_step(const struct rig *rig, const char *id)
{
    for (size_t i = rig->event_count; i-- > 0;) {
        if (rig->events[i]->type == EVENT_PLAN_STEP && str_is(rig->events[i]->name, id))
            return rig->events[i];
    }
    return NULL;
}

static inline void plan_rig_is(const struct rig *rig, const char *id, const char *status)
{
    const struct event *e = plan_rig_step(rig, id);
    check_str(e != NULL ? e->kind : STR("pending"), status);
}

/* A yes or a no to the question about this step. */
static inline void plan_rig_answer(struct rig *rig, const char *id, const char *answer)
{
    const struct event *asked = plan_rig_step(rig, id);
    assert_non_null(asked);
    rig_inbox(rig, "approve",
              arena_printf(&rig->arena,
                           "{\"agent_no\":0,\"call_id\":\"%.*s.%lld\",\"answer\":\"%s\"}",
                           STR_FMT(asked->call_id), (long long)asked->item, answer)
                  .p);
}

static inline size_t plan_rig_asked(const struct rig *rig)
{
    size_t n = 0;
    for (size_t i = rig->effect_mark; i < rig->effect_count; i++)
        n += rig->effects[i].kind == EFFECT_ASK;
    return n;
}

#endif
