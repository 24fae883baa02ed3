/* Any bytes as a goal, a line, and a planner's answer: always a plan, and one that is valid: what is printed of it reads without a
 * problem and prints the same. What follows from a valid plan can be worked out: order, critical path, drawing, words. The same bytes
 * as a review: each finding can be a step. */
#include <stdlib.h>

#include "base/utf8.h"
#include "core/plan/answer.h"
#include "core/plan/graph.h"
#include "core/plan/prompt.h"
#include "core/plan/review.h"

enum { TEXT_MAX = 64 * 1024 * 1024, COLUMNS = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void print(const struct plan *plan, struct buf *out)
{
    struct jw w;
    buf_clear(out);
    jw_init(&w, out);
    plan_print(plan, &w);
    require(!out->failed);
}

static void work_out(struct arena *arena, const struct plan *plan, struct buf *out)
{
    struct schedule schedule;
    struct step_state states[PLAN_STEPS_MAX];
    size_t path[PLAN_STEPS_MAX];
    int64_t calls;
    schedule_init(&schedule, arena, plan);
    schedule_states(plan, states);
    require(schedule_ready(&schedule, states, 1, path) + schedule_to_ask(&schedule, states, path) >
            0);
    require(schedule_critical_path(&schedule, path, &calls) > 0);
    buf_clear(out);
    graph_render(&schedule, states, &(struct graph_style){COLUMNS, GRAPH_BOXES}, out);
    for (size_t at = 0; at < out->n;) {
        const char *end = memchr(out->p + at, '\n', out->n - at);
        require(end != NULL);
        struct str line = {out->p + at, (size_t)(end - out->p) - at};
        require(utf8_valid(line) == line.n && utf8_width(line) <= COLUMNS);
        at += line.n + 1;
    }
    buf_clear(out);
    plan_prompt_step(plan, plan->count - 1, out);
    require(!out->failed && utf8_valid(buf_view(out)) == out->n);
}

static void read_as_a_review(struct arena *arena, struct str text, struct buf *out)
{
    struct review review;
    review_read(arena, text, &review);
    require(review.count <= REVIEW_FINDINGS_MAX);
    require(review.count == 0 || review.is == REVIEW_OPEN);
    for (size_t i = 0; i < review.count; i++) {
        struct err err = ERR_INIT;
        struct problems problems;
        struct plan_step step = {.id = STR("a"),
                                 .title = review.findings[i].title,
                                 .description = review.findings[i].description,
                                 .role = step_type_role(STEP_IMPLEMENTATION),
                                 .type = STEP_IMPLEMENTATION,
                                 .estimated_calls = UNLIMITED,
                                 .max_retries = UNLIMITED};
        struct plan plan = {.goal = STR("x"),
                            .completion_criteria = {LIST_SET, NULL, 0},
                            .steps = &step,
                            .count = 1},
                    again;
        print(&plan, out);
        struct js *value = js_parse(buf_view(out), &err);
        problems_init(&problems, arena);
        require(value != NULL && plan_parse(arena, value, &again, &problems) == 0);
        js_free(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - data) : 0;
    struct str goal = {(const char *)data, n};
    struct str text = {(const char *)data + n, size - n};
    struct arena arena;
    struct err err = ERR_INIT;
    struct plan first, second;
    struct problems problems;
    struct buf once, twice;
    arena_init(&arena);
    problems_init(&problems, &arena);
    buf_init(&once, TEXT_MAX);
    buf_init(&twice, TEXT_MAX);
    answer_read(&arena, text, goal, &first, &problems);
    print(&first, &once);
    require(once.n <= PLAN_BYTES_MAX);
    struct js *value = js_parse(buf_view(&once), &err);
    problems_init(&problems, &arena);
    require(value != NULL && plan_parse(&arena, value, &second, &problems) == 0);
    js_free(value);
    print(&second, &twice);
    require(str_eq(buf_view(&once), buf_view(&twice)));
    work_out(&arena, &first, &twice);
    read_as_a_review(&arena, text, &twice);
    buf_release(&once);
    buf_release(&twice);
    arena_release(&arena);
    return 0;
}
