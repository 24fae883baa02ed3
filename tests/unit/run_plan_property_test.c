/* Random plans carried out with random answers in a random order, with and without trees, with crashes in between: no step starts
 * before what it needs is integrated, no two owners of a place work at once, every step ends, and the same again gives the same
 * log. The rig folds after every decision, and verifies and replays each log. */
#include "core/plan/ownership.h"
#include "plan_rig.h"
#include "sim/chance.h"

#define PLANS 120
#define MOVES_MAX 2000
#define STEPS_MAX 12
#define AGENTS_MAX 256

static void random_plan(struct chance *chance, struct buf *out)
{
    static const char *const places[] = {"src",  "src/a",   "src/b/*.c",
                                         "docs", "**/x.md", "tests/unit"};
    size_t steps = 1 + (size_t)chance_below(chance, STEPS_MAX);
    for (size_t i = 0; i < steps; i++) {
        const char *opening = " <";
        buf_printf(out, "%ss%zu", i > 0 ? "; " : "", i);
        for (size_t k = 0; k < i; k++) {
            if (!chance_permille(chance, 250))
                continue;
            buf_printf(out, "%ss%zu", opening, k);
            opening = ",";
        }
        if (chance_permille(chance, 750))
            buf_printf(out, " own=%s", places[chance_below(chance, 6)]);
        if (chance_permille(chance, 166))
            buf_text(out, " approval");
        if (chance_permille(chance, 125))
            buf_text(out, " reads");
    }
}

/* --- the world that answers ---------------------------------------------------------------------------------- */

static void move_tree(struct rig *rig, struct chance *chance, const struct agent *agent)
{
    bool making = agent->tree->state == TREE_MAKING;
    bool ok = making || chance_permille(chance, 875);
    struct input input = {.kind = making ? INPUT_ISOLATED : INPUT_MERGED,
                          .agent_no = agent->no,
                          .call_id = arena_copy(&rig->arena, agent->tree->id),
                          .outcome = ok ? TOOL_OK : TOOL_ERROR,
                          .strategy = STR("worktree"),
                          .worktree_path = STR("/trees/x"),
                          .workspace = STR("/trees/x"),
                          .branch = STR("cadre/x"),
                          .base_ref = STR("abc"),
                          .merge_strategy = ok ? STR("merge") : STR("conflict"),
                          .text = ok ? STR("merged") : STR("conflict")};
    rig_input(rig, &input);
}

static bool is_out(const struct agent *agent)
{
    return agent->phase == PHASE_ASKING ||
           (agent->tree != NULL &&
            (agent->tree->state == TREE_MAKING || agent->tree->state == TREE_LEAVING));
}

/* Answers one of those that wait for something outside; false: none does. */
static bool move_agent(struct rig *rig, struct chance *chance)
{
    static const char *const verdicts[] = {"{\"findings\":[\"more\"]}", "{\"findings\":[]}",
                                           "{\"approved\":true}", "It looks good."};
    uint32_t waiting[64], count = 0;
    for (uint32_t no = 0; no < run_agent_count(rig->run) && count < 64; no++) {
        if (is_out(run_agent(rig->run, no)))
            waiting[count++] = no;
    }
    if (count == 0)
        return false;
    uint32_t no = waiting[chance_below(chance, count)];
    const struct agent *agent = run_agent(rig->run, no);
    if (agent->phase != PHASE_ASKING)
        move_tree(rig, chance, agent);
    else if (str_is(agent->contract.agent.name, "reviewer"))
        rig_say(rig, no, verdicts[chance_below(chance, 4)]);
    else if (chance_permille(chance, 125))
        rig_fail(rig, no, ERR_PROVIDER, "no such model");
    else
        rig_say(rig, no, "done");
    return true;
}

static bool move_person(struct rig *rig, struct chance *chance)
{
    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *e = rig->events[i];
        if (e->type != EVENT_PLAN_STEP || !str_is(e->kind, "blocked"))
            continue;
        const char *id = arena_copy(&rig->arena, e->name).p;
        if (plan_rig_step(rig, id) != e || !chance_permille(chance, 500))
            continue;
        plan_rig_answer(rig, id, chance_permille(chance, 750) ? "yes" : "no");
        return true;
    }
    return false;
}

/* --- what must hold -------------------------------------------------------------------------------------------- */

struct watched {
    struct plan plan;
    enum step_status status[PLAN_STEPS_MAX];
    uint32_t child[PLAN_STEPS_MAX]; /* 0: none yet, or an earlier one's result */
    enum life_state life[AGENTS_MAX];
};

static void check_start(const struct watched *w, size_t step)
{
    const struct plan_step *one = &w->plan.steps[step];
    for (size_t k = 0; k < one->depends_on.n; k++) {
        uint32_t child = w->child[one->needs[k]];
        assert_int_equal(w->status[one->needs[k]], STEP_COMPLETED);
        assert_true(child == 0 || w->life[child] == LIFE_CLOSED);
    }
    for (size_t other = 0; other < w->plan.count; other++)
        assert_false(other != step && w->status[other] == STEP_IN_PROGRESS &&
                     ownership_overlaps(one, &w->plan.steps[other]));
}

static void check_skip(const struct watched *w, size_t step)
{
    const struct plan_step *one = &w->plan.steps[step];
    bool lost = false;
    for (size_t k = 0; k < one->depends_on.n; k++)
        lost |= w->status[one->needs[k]] == STEP_FAILED || w->status[one->needs[k]] == STEP_SKIPPED;
    assert_true(lost);
}

static void read_plan(struct rig *rig, struct str text, struct plan *plan)
{
    struct problems problems;
    struct err err = ERR_INIT;
    struct js *doc = js_parse(text, &err);
    problems_init(&problems, &rig->arena);
    assert_int_equal(plan_parse(&rig->arena, doc, plan, &problems), 0);
    js_free(doc);
}

static void check_events(struct rig *rig)
{
    struct watched w = {.plan = {.count = 0}};
    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *e = rig->events[i];
        if (e->type == EVENT_PLAN_MADE)
            read_plan(rig, e->plan, &w.plan);
        assert_true(e->agent_no < AGENTS_MAX);
        if (e->type == EVENT_SUBAGENT_CREATED && e->item < PLAN_STEPS_MAX)
            w.child[e->item] = e->agent_no;
        if (e->type == EVENT_SUBAGENT_CLOSED)
            w.life[e->agent_no] = LIFE_CLOSED;
        if (e->type != EVENT_PLAN_STEP)
            continue;
        size_t step = (size_t)e->item;
        enum step_status status = STEP_PENDING;
        assert_true(step < w.plan.count);
        assert_true(str_is(e->kind, "approved") || step_status_parse(e->kind, &status));
        if (status == STEP_IN_PROGRESS)
            check_start(&w, step);
        if (status == STEP_SKIPPED)
            check_skip(&w, step);
        w.status[step] = status;
    }
    for (size_t i = 0; i < w.plan.count; i++)
        assert_true(w.status[i] == STEP_COMPLETED || w.status[i] == STEP_FAILED ||
                    w.status[i] == STEP_SKIPPED);
}

static struct str log_of(struct rig *rig)
{
    struct buf log;
    buf_init(&log, (size_t)64 << 20);
    for (size_t i = 0; i < rig->event_count; i++)
        event_print(rig->events[i], &log);
    struct str text = arena_copy(&rig->arena, buf_view(&log));
    buf_release(&log);
    return text;
}

static void play(struct rig *rig, uint64_t seed)
{
    struct chance chance = {seed};
    struct buf text;
    buf_init(&text, 65536);
    random_plan(&chance, &text);
    rig->settings.max_concurrent = chance_below(&chance, 4);
    rig->settings.plan_review = chance_permille(&chance, 500) ? SWITCH_ON : SWITCH_OFF;
    rig->settings.review_rounds = 1;
    rig->settings.isolate_children = rig->settings.isolate_root =
        chance_permille(&chance, 500) ? SWITCH_ON : SWITCH_OFF;
    plan_rig_sketch(rig, text.p);
    buf_release(&text);
    for (int moves = 0; run_state(rig->run) == RUN_RUNNING; moves++) {
        assert_true(moves < MOVES_MAX);
        rig->now += 10;
        if (chance_permille(&chance, 33))
            rig_crash(rig, 5000);
        else if (!chance_permille(&chance, 333) || !move_person(rig, &chance))
            move_agent(rig, &chance);
    }
    check_events(rig);
}

static void random_plans_are_carried_out_by_their_rules_and_the_same_way_twice(void **state)
{
    for (uint64_t seed = 1; seed <= PLANS; seed++) {
        void *first, *second;
        assert_int_equal(rig_setup(&first), 0);
        assert_int_equal(rig_setup(&second), 0);
        play(first, seed);
        play(second, seed);
        assert_true(str_eq(log_of(first), log_of(second)));
        rig_teardown(&first);
        rig_teardown(&second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_are_carried_out_by_their_rules_and_the_same_way_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
