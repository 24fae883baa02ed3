/* Scheduling over thousands of random plans: children of random speed that succeed or fail, people who approve or deny, few slots.
 * Every rule of schedule.h is checked after each start by code that is written here and shares none with it: who owns a place is
 * found by trying all paths of a small tree. PLAN_ROUNDS says how many plans (4000), PLAN_SEED where to start. */
#include "core/plan/schedule.h"

#include "base/path.h"
#include "core/plan/ownership.h"
#include "plan_fixture.h"

enum { ROUNDS = 4000, MOST_STEPS = 24 };

static const char *const paths[] = {"a",   "a/a",   "a/b",   "a/b/c", "b",
                                    "b/a", "b/a.c", "c/d/e", "c/d"};
static const char *const globs[] = {"a",       "a/**", "a/*",   "a/b", "b", "b/*.c",
                                    "**/a/**", "c",    "c/d/e", "**",  "*"};
enum { PATHS = sizeof paths / sizeof paths[0], GLOBS = sizeof globs / sizeof globs[0] };

struct world {
    struct fixture *f;
    uint64_t seed, mark; /* mark: of everything that was decided */
    struct schedule schedule;
    struct step_state states[MOST_STEPS];
    bool owns[MOST_STEPS][PATHS];
    size_t slots, running;
    size_t started, together, denied, skipped;
};

static uint64_t next_random(struct world *w)
{
    uint64_t z = (w->seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t pick(struct world *w, size_t below)
{
    return (size_t)(next_random(w) % below);
}

/* Edges lead from steps to others that stand before them in a random order, which is not the plan's. */
static void random_plan(struct world *w, struct buf *text)
{
    size_t count = 1 + pick(w, MOST_STEPS), place[MOST_STEPS], density = 2 + pick(w, 8);
    for (size_t i = 0; i < count; i++)
        place[i] = i;
    for (size_t i = count; i-- > 1;) {
        size_t other = pick(w, i + 1), kept = place[i];
        place[i] = place[other];
        place[other] = kept;
    }
    buf_text(text, "{\"goal\":\"g\",\"steps\":[");
    for (size_t i = 0; i < count; i++) {
        const char *comma = "";
        buf_printf(text,
                   "%s{\"id\":\"s%zu\",\"title\":\"t\",\"description\":\"d\",\"depends_on\":[",
                   i > 0 ? "," : "", i);
        for (size_t k = 0; k < count; k++)
            if (place[k] < place[i] && pick(w, density) == 0) {
                buf_printf(text, "%s\"s%zu\"", comma, k);
                comma = ",";
            }
        buf_printf(text, "],\"estimated_calls\":%zu,\"requires_approval\":%s", 1 + pick(w, 9),
                   pick(w, 6) == 0 ? "true" : "false");
        if (pick(w, 3) == 0)
            buf_text(text, ",\"type\":\"research\"");
        if (pick(w, 8) > 0)
            buf_printf(text, ",\"ownership\":[\"%s\",\"%s\"]", globs[pick(w, GLOBS)],
                       globs[pick(w, GLOBS)]);
        buf_text(text, "}");
    }
    buf_text(text, "]}");
}

/* Which paths each step can change, from the globs that its contract would have. */
static void find_owners(struct world *w)
{
    const struct plan *plan = w->schedule.plan;
    memset(w->owns, 0, sizeof w->owns);
    for (size_t i = 0; i < plan->count; i++) {
        struct list said = ownership_globs(&w->f->arena, &plan->steps[i]);
        for (size_t p = 0; p < PATHS; p++) {
            w->owns[i][p] = said.state == LIST_ABSENT;
            for (size_t k = 0; k < said.n; k++)
                w->owns[i][p] = w->owns[i][p] || path_glob(said.items[k], str_from(paths[p]));
        }
    }
}

static bool depends(const struct plan *plan, size_t i, size_t on)
{
    for (size_t k = 0; k < plan->steps[i].depends_on.n; k++)
        if (plan->steps[i].needs[k] == on || depends(plan, plan->steps[i].needs[k], on))
            return true;
    return false;
}

static void check_start(struct world *w, size_t i)
{
    const struct plan *plan = w->schedule.plan;
    assert_int_equal(w->states[i].status, STEP_PENDING);
    for (size_t other = 0; other < plan->count; other++) {
        if (depends(plan, i, other))
            assert_int_equal(w->states[other].status, STEP_COMPLETED);
        if (other == i || w->states[other].status != STEP_IN_PROGRESS)
            continue;
        w->together++;
        for (size_t p = 0; p < PATHS; p++)
            if (w->owns[i][p] && w->owns[other][p])
                fail_msg("s%zu and s%zu own %s", i, other, paths[p]);
    }
    if (plan->steps[i].approval == APPROVAL_NEEDED)
        assert_int_equal(w->states[i].approval, APPROVAL_GRANTED);
    assert_true(w->running < w->slots);
}

static void note(struct world *w, size_t what, size_t step)
{
    w->mark = (w->mark ^ (what * 1000 + step + 1)) * UINT64_C(0x100000001b3);
}

static void start_steps(struct world *w)
{
    size_t out[MOST_STEPS], count;
    count = schedule_to_skip(&w->schedule, w->states, out);
    for (size_t k = 0; k < count; k++, w->skipped++) {
        w->states[out[k]].status = STEP_SKIPPED;
        note(w, 1, out[k]);
    }
    count = schedule_ready(&w->schedule, w->states, w->slots - w->running, out);
    for (size_t k = 0; k < count; k++, w->running++, w->started++) {
        check_start(w, out[k]);
        w->states[out[k]].status = STEP_IN_PROGRESS;
        note(w, 3, out[k]);
    }
    count = schedule_to_ask(&w->schedule, w->states, out);
    for (size_t k = 0; k < count; k++) {
        w->states[out[k]].status = STEP_BLOCKED;
        note(w, 2, out[k]);
    }
}

/* Something happens to one step that is in progress or waits for a person. */
static void something_happens(struct world *w)
{
    size_t waiting[MOST_STEPS], count = 0;
    for (size_t i = 0; i < w->schedule.plan->count; i++)
        if (w->states[i].status == STEP_IN_PROGRESS || w->states[i].status == STEP_BLOCKED)
            waiting[count++] = i;
    if (count == 0)
        fail_msg("nothing is under way, and the plan is not over");
    size_t i = waiting[pick(w, count)];
    struct step_state *one = &w->states[i];
    if (one->status == STEP_IN_PROGRESS) {
        one->status = pick(w, 8) == 0 ? STEP_FAILED : STEP_COMPLETED;
        w->running--;
    } else if (pick(w, 4) == 0) {
        one->status = STEP_FAILED;
        w->denied++;
    } else {
        one->status = STEP_PENDING;
        one->approval = APPROVAL_GRANTED;
    }
    note(w, 4 + (size_t)one->status, i);
}

static void check_end(const struct world *w)
{
    const struct plan *plan = w->schedule.plan;
    for (size_t i = 0; i < plan->count; i++) {
        bool lost = false;
        for (size_t other = 0; other < plan->count; other++)
            lost = lost || (w->states[other].status == STEP_FAILED && depends(plan, i, other));
        assert_int_equal(w->states[i].status == STEP_SKIPPED, lost);
        assert_true(lost || w->states[i].status == STEP_COMPLETED ||
                    w->states[i].status == STEP_FAILED);
    }
}

static int64_t longest_from(const struct plan *plan, size_t i)
{
    int64_t longest = 0;
    for (size_t k = 0; k < plan->count; k++)
        for (size_t n = 0; n < plan->steps[k].depends_on.n; n++)
            if (plan->steps[k].needs[n] == i) {
                int64_t length = longest_from(plan, k);
                longest = length > longest ? length : longest;
            }
    return longest + plan->steps[i].estimated_calls;
}

static void check_order_and_path(const struct world *w)
{
    const struct plan *plan = w->schedule.plan;
    size_t path[MOST_STEPS];
    int64_t calls, longest = 0, sum = 0;
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = 0; k < plan->steps[i].depends_on.n; k++)
            assert_true(w->schedule.rank[plan->steps[i].needs[k]] < w->schedule.rank[i]);
    size_t length = schedule_critical_path(&w->schedule, path, &calls);
    for (size_t i = 0; i < length; i++) {
        sum += plan->steps[path[i]].estimated_calls;
        assert_true(i == 0 || depends(plan, path[i], path[i - 1]));
    }
    if (plan->count <= 12) /* trying every way takes long */
        for (size_t i = 0; i < plan->count; i++) {
            int64_t from = longest_from(plan, i);
            assert_int_equal(w->schedule.remains[i], from);
            longest = from > longest ? from : longest;
        }
    assert_int_equal(sum, calls);
    assert_true(plan->count > 12 || longest == calls);
}

/* The mark of all that was decided. */
static uint64_t run_once(struct world *w, uint64_t seed)
{
    struct buf text;
    w->seed = seed;
    w->mark = 0;
    w->running = 0;
    buf_init(&text, 1 << 20);
    random_plan(w, &text);
    schedule_init(&w->schedule, &w->f->arena, plan_of(w->f, text.p));
    schedule_states(&w->f->plan, w->states);
    find_owners(w);
    check_order_and_path(w);
    w->slots = 1 + pick(w, 6);
    for (start_steps(w); !schedule_is_over(&w->schedule, w->states); start_steps(w))
        something_happens(w);
    check_end(w);
    assert_int_equal(w->running, 0);
    buf_release(&text);
    arena_reset(&w->f->arena);
    return w->mark;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void every_rule_holds_for_every_plan(void **state)
{
    struct world w = {.f = *state};
    uint64_t rounds = number_of("PLAN_ROUNDS", ROUNDS), seed = number_of("PLAN_SEED", 1);
    for (uint64_t i = 0; i < rounds; i++)
        run_once(&w, (seed + i) * 7919);
    /* The plans were not all of one kind. */
    assert_true(w.started > rounds && w.together > rounds && w.denied > rounds / 20 &&
                w.skipped > rounds / 2);
}

static void the_same_plan_and_answers_decide_the_same(void **state)
{
    struct world w = {.f = *state};
    for (uint64_t i = 1; i <= 300; i++)
        assert_true(run_once(&w, i * 104729) == run_once(&w, i * 104729));
}

static void printing_and_reading_gives_the_same_plan(void **state)
{
    struct world w = {.f = *state, .seed = 5};
    for (int i = 0; i < 500; i++) {
        struct buf text;
        buf_init(&text, 1 << 20);
        random_plan(&w, &text);
        struct str first = printed(w.f, plan_of(w.f, text.p));
        struct str second = printed(w.f, plan_of(w.f, first.p));
        assert_true(str_eq(first, second));
        buf_release(&text);
        arena_reset(&w.f->arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_rule_holds_for_every_plan),
        TEST(the_same_plan_and_answers_decide_the_same),
        TEST(printing_and_reading_gives_the_same_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
