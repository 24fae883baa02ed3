/* How long an answer may be: the limit that is sent is learnt from the answers of the run, so that a
 * reservation is not many times what a request costs; and an answer that such a limit cut off is asked
 * for again, so that no agent fails for it. */
#include "core/contract/money.h"
#include "run_fixture.h"

#include <stdio.h>

#define MOST 8192  /* what the model may write at most */
#define LEAST 4096 /* below this nothing is learnt */
#define CHILDREN 10

/* A model of a usual price ($3 and $15 for a million tokens), and a dollar. */
static void start_priced(struct rig *rig)
{
    rig->settings.models[0].max_tokens = MOST;
    rig->settings.models[0].max_context_tokens = 200000;
    rig->settings.models[0].price_in_nano = 3000;
    rig->settings.models[0].price_out_nano = 15000;
    rig->settings.root.cost_nano = NANO_PER_DOLLAR;
    rig->settings.max_concurrent = CHILDREN;
    rig_start(rig, "do it");
}

static int64_t limit_of(const struct rig *rig, uint32_t no)
{
    return rig_last(rig, no, EVENT_MODEL_REQUESTED)->output_limit;
}

static void answer(struct rig *rig, uint32_t no, const char *text, int64_t output, bool cut)
{
    struct model_reply reply = {
        .text = str_from(text),
        .finish = cut ? STR("length") : STR("stop"),
        .completeness = cut ? REPLY_CUT : REPLY_WHOLE,
        .usage = {rig_last(rig, no, EVENT_MODEL_REQUESTED)->estimate, -1, -1, output, -1}};
    rig_reply(rig, no, &reply);
}

static void read_with(struct rig *rig, uint32_t no, int path, int64_t output)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"path\":\"%d\"}", path);
    struct tool_call calls[] = {{STR("x"), STR("read"), str_from(arguments)}};
    struct model_reply reply = {
        .calls = calls,
        .call_count = 1,
        .finish = STR("stop"),
        .usage = {rig_last(rig, no, EVENT_MODEL_REQUESTED)->estimate, -1, -1, output, -1}};
    rig_reply(rig, no, &reply);
    rig_result(rig, no, 0, "fine");
}

static void spawn_all(struct rig *rig)
{
    CALLS(rig, 0, SPAWN("0"), SPAWN("1"), SPAWN("2"), SPAWN("3"), SPAWN("4"), SPAWN("5"),
          SPAWN("6"), SPAWN("7"), SPAWN("8"), SPAWN("9"));
}

static size_t asking(const struct rig *rig)
{
    size_t count = 0;
    for (uint32_t no = 1; no <= CHILDREN; no++)
        count += rig_agent(rig, no)->phase == PHASE_ASKING;
    return count;
}

static void ten_children_work_side_by_side_while_a_dollar_is_nearly_untouched(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    spawn_all(rig);
    assert_int_equal(asking(rig), CHILDREN);
    for (uint32_t no = 1; no <= CHILDREN; no++)
        for (int turn = 0; turn < 3; turn++)
            read_with(rig, no, turn, 200);
    assert_int_equal(asking(rig), CHILDREN);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WAITING), 0);
    assert_true(rig_agent(rig, 0)->account.spent.cost_nano < NANO_PER_DOLLAR / 2);
    for (uint32_t no = 1; no <= CHILDREN; no++)
        answer(rig, no, "done", 100, false);
    answer(rig, 0, "all done", 100, false);
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
}

/* What a model may write at most does not matter for that. */
static void ten_children_work_side_by_side_however_much_the_model_may_write(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_tokens = 64000;
    rig->settings.models[0].max_context_tokens = 200000;
    rig->settings.models[0].price_in_nano = 3000;
    rig->settings.models[0].price_out_nano = 15000;
    rig->settings.root.cost_nano = NANO_PER_DOLLAR;
    rig->settings.max_concurrent = CHILDREN;
    rig_start(rig, "do it");
    spawn_all(rig);
    assert_int_equal(asking(rig), CHILDREN);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WAITING), 0);
    assert_int_equal(limit_of(rig, CHILDREN), LEAST);
}

/* Nobody is asked for an answer of a few words because others hold most of the money for a moment. */
static void a_request_is_not_squeezed_by_what_others_have_reserved(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_tokens = MOST;
    rig->settings.models[0].max_context_tokens = 200000;
    rig->settings.models[0].price_in_nano = 3000;
    rig->settings.models[0].price_out_nano = 40000;
    rig->settings.root.cost_nano = NANO_PER_DOLLAR;
    rig->settings.max_concurrent = CHILDREN;
    rig_start(rig, "do it");
    spawn_all(rig);
    assert_true(asking(rig) >= 2 && asking(rig) < CHILDREN);
    for (uint32_t no = 1; no <= CHILDREN; no++) {
        assert_int_equal(limit_of(rig, no), LEAST);
        answer(rig, no, "done", 20, false);
    }
    answer(rig, 0, "all done", 20, false);
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
}

/* A reservation is of the moment, a child's cap is for its life. */
static void a_child_inherits_what_is_not_spent_whatever_is_reserved(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    start_priced(rig);
    CALLS(rig, 0, {"spawn", "{\"task\":\"one\"}"});
    rig_facts(rig, 0, 0, "[]");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    CALLS(rig, 0, {"spawn", "{\"task\":\"two\"}"});
    rig_facts(rig, 0, 0, "[]");
    assert_int_equal(rig_agent(rig, 2)->contract.execution.budget.cost_nano,
                     NANO_PER_DOLLAR - rig_agent(rig, 0)->account.spent.cost_nano);
    assert_true(rig_agent(rig, 0)->account.spent.cost_nano > 0);
}

static void the_limit_is_doubled_until_it_is_the_models_own(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_tokens = 8 * LEAST;
    rig->settings.models[0].max_context_tokens = 200000;
    rig->settings.root.tokens = 1000000;
    rig_start(rig, "do it");
    assert_int_equal(limit_of(rig, 0), 4 * LEAST);
    read_with(rig, 0, 0, 10);
    for (int64_t limit = LEAST; limit < 8 * LEAST; limit *= 2) {
        assert_int_equal(limit_of(rig, 0), limit);
        answer(rig, 0, "part", limit, true);
    }
    assert_int_equal(limit_of(rig, 0), 8 * LEAST);
    answer(rig, 0, "the whole", 5 * LEAST, false);
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "the whole");
}

static void without_a_limit_on_tokens_or_dollars_the_whole_limit_is_sent(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_tokens = MOST;
    rig_start(rig, "do it");
    assert_int_equal(limit_of(rig, 0), MOST);
}

static void what_is_reserved_is_what_the_sent_limit_costs(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    const struct event *asked = rig_last(rig, 0, EVENT_MODEL_REQUESTED);
    assert_int_equal(asked->output_limit, LEAST);
    assert_int_equal(asked->output_most, MOST);
    assert_int_equal(rig_last(rig, 0, EVENT_BUDGET_RESERVED)->cost_nano,
                     asked->estimate * 3000 + (int64_t)LEAST * 15000);
}

static void a_long_answer_gives_the_next_ones_of_its_model_and_role_more_room(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    read_with(rig, 1, 0, 1500);
    assert_int_equal(limit_of(rig, 1), 6000);
    read_with(rig, 2, 0, 10);
    assert_int_equal(limit_of(rig, 2), 6000);
    answer(rig, 1, "done", 10, false);
    answer(rig, 2, "done", 10, false);
    assert_int_equal(limit_of(rig, 0), LEAST);
}

static void
an_answer_that_a_learnt_limit_cut_off_is_asked_for_again_with_twice_as_much(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    int64_t asked = rig_last(rig, 0, EVENT_MODEL_REQUESTED)->estimate;
    struct str conversation = rig_last(rig, 0, EVENT_MODEL_REQUESTED)->request;
    rig_skip(rig);
    answer(rig, 0, "the first half", LEAST, true);
    rig_expect(rig, "0 model.replied, 0 budget.settled, 0 model.requested, 0 budget.reserved");
    assert_int_equal(limit_of(rig, 0), 2 * LEAST);
    assert_true(str_eq(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->request, conversation));
    /* The input is booked once, and the turn counted once. */
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, asked + LEAST);
    assert_int_equal(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tokens, 2 * LEAST);
    assert_int_equal(rig_agent(rig, 0)->account.turns, 1);
    answer(rig, 0, "the whole answer", LEAST + 100, false);
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "the whole answer");
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, asked + 2 * LEAST + 100);
}

static void calls_of_a_reply_that_was_cut_off_early_wait_for_the_whole_reply(void **state)
{
    struct rig *rig = *state;
    struct tool_call calls[] = {{STR("x"), STR("read"), STR("{\"path\":\"a\"}")}};
    struct model_reply reply = {.calls = calls,
                                .call_count = 1,
                                .finish = STR("length"),
                                .completeness = REPLY_CUT,
                                .usage = {1000, -1, -1, LEAST, -1}};
    start_priced(rig);
    rig_skip(rig);
    rig_reply(rig, 0, &reply);
    rig_expect(rig, "0 model.replied, 0 budget.settled, 0 model.requested, 0 budget.reserved");
    rig_expect_effects(rig, "0 model");
}

static void at_the_models_own_limit_a_cut_answer_is_told_as_ever(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    answer(rig, 0, "one", LEAST, true);
    assert_int_equal(limit_of(rig, 0), MOST);
    rig_skip(rig);
    answer(rig, 0, "two", MOST, true);
    rig_expect(rig, "0 model.replied, 0 budget.settled, 0 agent.message, 0 model.requested, "
                    "0 budget.reserved");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "cut");
}

/* The window was full, or the server has a limit of its own: a larger limit of ours would change nothing. */
static void an_answer_that_something_else_cut_off_is_not_asked_for_again(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    answer(rig, 0, "short", LEAST / 2, true);
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "cut");
}

static void a_budget_that_does_not_pay_twice_is_sent_whole(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_tokens = MOST;
    rig->settings.root.tokens = 14000;
    rig_start(rig, "do it");
    int64_t estimate = rig_last(rig, 0, EVENT_MODEL_REQUESTED)->estimate;
    assert_true(estimate + MOST < 14000 * 4 / 5 && estimate + MOST + LEAST > 14000 * 4 / 5);
    assert_int_equal(limit_of(rig, 0), MOST);
    assert_int_equal(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->output_most, EVENT_ABSENT);
}

static void reasoning_has_room(void **state)
{
    static const struct {
        const char *effort;
        int64_t limit;
    } rows[] = {{"low", 8192}, {"medium", 16384}, {"high", 32768}, {"max", 32768}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *inner = NULL;
        rig_setup(&inner);
        struct rig *rig = inner;
        rig->settings.models[0].effort_tokens = 32768;
        rig->settings.params.effort = str_from(rows[i].effort);
        rig->settings.models[0].price_in_nano = rig->settings.models[0].price_out_nano = 100;
        rig->settings.models[0].max_tokens = MOST; /* of agents without an effort */
        rig->settings.models[0].max_context_tokens = 200000;
        rig->settings.root.cost_nano = NANO_PER_DOLLAR;
        rig_start(rig, "do it");
        read_with(rig, 0, 0, 100);
        assert_int_equal(limit_of(rig, 0), rows[i].limit);
        rig_teardown(&inner);
    }
}

/* The doubled limit is there once the others have settled: a smaller one would cut the answer off again. */
static void who_asks_again_waits_for_the_doubled_limit(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    spawn_all(rig);
    assert_int_equal(asking(rig), CHILDREN);
    answer(rig, 1, "half", LEAST, true);
    answer(rig, 2, "half", LEAST, true);
    answer(rig, 3, "half", LEAST, true);
    assert_true(rig_count(rig, EVENT_BUDGET_WAITING) > 0);
    for (uint32_t no = 4; no <= CHILDREN; no++)
        answer(rig, no, "done", 100, false);
    for (uint32_t no = 1; no <= 3; no++) {
        assert_int_equal(limit_of(rig, no), MOST);
        answer(rig, no, "the whole", LEAST + 1, false);
        check_str(rig_agent(rig, no)->response, "the whole");
    }
    answer(rig, 0, "all done", 100, false);
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
}

static void what_was_learnt_survives_a_crash(void **state)
{
    struct rig *rig = *state;
    start_priced(rig);
    read_with(rig, 0, 0, 1700);
    rig_crash(rig, 1000);
    assert_int_equal(limit_of(rig, 0), 6800);
    answer(rig, 0, "half", 6800, true);
    rig_crash(rig, 1000);
    assert_int_equal(limit_of(rig, 0), MOST);
    answer(rig, 0, "done", 100, false);
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
}

static void a_last_turn_that_was_cut_off_early_is_asked_for_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 1;
    start_priced(rig);
    read_with(rig, 0, 0, 10);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    answer(rig, 0, "half", LEAST, true);
    assert_int_equal(limit_of(rig, 0), MOST);
    answer(rig, 0, "the whole", LEAST + 1, false);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "the whole");
}

/* Replies of an older log that were cut off stay in its conversation. */
static void an_older_log_learns_nothing(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    struct run *run = run_new(STR(RIG_RUN));
    start_priced(rig);
    answer(rig, 0, "half", LEAST, true);
    for (size_t i = 0; i < rig->event_count; i++) {
        struct event event = *rig->events[i];
        event.version = 3;
        assert_int_equal(run_apply(run, &event, &err), 0);
    }
    assert_int_equal(run_agent(run, 0)->message_count, rig_agent(rig, 0)->message_count + 1);
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(ten_children_work_side_by_side_while_a_dollar_is_nearly_untouched),
        RIG_TEST(ten_children_work_side_by_side_however_much_the_model_may_write),
        RIG_TEST(a_request_is_not_squeezed_by_what_others_have_reserved),
        RIG_TEST(a_child_inherits_what_is_not_spent_whatever_is_reserved),
        RIG_TEST(the_limit_is_doubled_until_it_is_the_models_own),
        RIG_TEST(without_a_limit_on_tokens_or_dollars_the_whole_limit_is_sent),
        RIG_TEST(what_is_reserved_is_what_the_sent_limit_costs),
        RIG_TEST(a_long_answer_gives_the_next_ones_of_its_model_and_role_more_room),
        RIG_TEST(an_answer_that_a_learnt_limit_cut_off_is_asked_for_again_with_twice_as_much),
        RIG_TEST(calls_of_a_reply_that_was_cut_off_early_wait_for_the_whole_reply),
        RIG_TEST(at_the_models_own_limit_a_cut_answer_is_told_as_ever),
        RIG_TEST(an_answer_that_something_else_cut_off_is_not_asked_for_again),
        RIG_TEST(a_budget_that_does_not_pay_twice_is_sent_whole),
        cmocka_unit_test(reasoning_has_room),
        RIG_TEST(who_asks_again_waits_for_the_doubled_limit),
        RIG_TEST(what_was_learnt_survives_a_crash),
        RIG_TEST(a_last_turn_that_was_cut_off_early_is_asked_for_again),
        RIG_TEST(an_older_log_learns_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
