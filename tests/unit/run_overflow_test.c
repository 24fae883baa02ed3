/* Conversations that are longer than the model takes: what a refused request teaches, how the
 * conversation is made to fit, where that ends, and that no token is booked twice. */
#include <stdio.h>
#include <stdlib.h>

#include "run_fixture.h"

#define FILE_BYTES 3000

static struct model_failure overflow(int64_t window, int64_t needed)
{
    return (struct model_failure){.class = ERR_PROVIDER,
                                  .http_status = 400,
                                  .retry_after_ms = -1,
                                  .message = STR("the prompt is too long"),
                                  .usage = USAGE_NONE,
                                  .trouble = TROUBLE_OVERFLOW,
                                  .window = window,
                                  .needed = needed};
}

static void refuse(struct rig *rig, uint32_t no, int64_t window, int64_t needed)
{
    struct model_failure failure = overflow(window, needed);
    rig_failure(rig, no, &failure);
}

static char *text_of(size_t bytes)
{
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    return text;
}

/* One turn of an agent: a read whose result has so many bytes. The server counts nothing. */
static void read_bytes(struct rig *rig, uint32_t no, int path, size_t bytes)
{
    char arguments[64];
    char *text = text_of(bytes);
    snprintf(arguments, sizeof arguments, "{\"path\":\"%d\"}", path);
    CALLS(rig, no, {"read", arguments});
    rig_result(rig, no, 0, text);
    free(text);
}

static int64_t estimate_of(const struct rig *rig, uint32_t no)
{
    return rig_last(rig, no, EVENT_MODEL_REQUESTED)->estimate;
}

static int64_t limit_of(const struct rig *rig, uint32_t no)
{
    return rig_last(rig, no, EVENT_MODEL_REQUESTED)->output_limit;
}

static bool asks(const struct rig *rig, uint32_t no)
{
    return rig_agent(rig, no)->phase == PHASE_ASKING;
}

static void start_wide(struct rig *rig)
{
    rig->settings.models[0].max_context_tokens = 100000;
    rig->settings.models[0].max_tokens = 8000;
    rig->settings.root.cost_nano = UNLIMITED;
    rig_start(rig, "do it");
}

static void a_window_that_the_output_limit_passes_lowers_that_limit_first(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    int64_t before = estimate_of(rig, 0);
    refuse(rig, 0, before + 4000, -1);
    assert_true(asks(rig, 0));
    assert_int_equal(estimate_of(rig, 0), before);
    assert_int_equal(limit_of(rig, 0), 4000);
    rig_say(rig, 0, "done");
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
}

/* The server counts input and output together, and our estimate was a little too low. */
static void an_overflow_by_a_little_takes_only_a_little_of_the_window(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    rig->settings.models[0].max_context_tokens = 100000;
    int64_t sent = estimate_of(rig, 0) + limit_of(rig, 0);
    refuse(rig, 0, sent, sent + sent / 100);
    assert_true(asks(rig, 0));
    assert_true(estimate_of(rig, 0) + limit_of(rig, 0) > sent * 9 / 10);
}

static void a_refused_request_books_nothing_and_is_the_same_turn(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    refuse(rig, 0, estimate_of(rig, 0) + 4000, -1);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, 0);
    assert_int_equal(rig_agent(rig, 0)->account.turns, 1);
}

static void an_overflow_masks_old_results_and_asks_again(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    for (int i = 0; i < 8; i++)
        read_bytes(rig, 0, i, FILE_BYTES);
    int64_t before = estimate_of(rig, 0);
    rig_skip(rig);
    refuse(rig, 0, before * 9 / 10, before);
    rig_expect(rig, "0 model.failed, 0 agent.masked, 0 model.requested");
    assert_true(estimate_of(rig, 0) < before);
    assert_int_equal(rig_agent(rig, 0)->account.turns, 9);
}

static void an_overflow_asks_for_a_summary_where_masking_does_not_suffice(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    for (int i = 0; i < 4; i++)
        read_bytes(rig, 0, i, FILE_BYTES);
    rig_skip(rig);
    refuse(rig, 0, estimate_of(rig, 0) * 11 / 10, -1);
    rig_expect(rig, "0 model.failed, 0 agent.message, 0 model.requested");
    assert_true(str_is(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "compact"));
    rig_say(rig, 0, "a summary");
    rig_expect(rig, "0 model.replied, 0 agent.compacted, 0 model.requested");
    assert_int_equal(rig_agent(rig, 0)->account.turns, 5);
}

static void what_is_too_long_even_for_a_summary_is_left_out(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    for (int i = 0; i < 4; i++)
        read_bytes(rig, 0, i, 12000);
    rig_skip(rig);
    refuse(rig, 0, 12000, -1);
    rig_expect(rig, "0 model.failed, 0 agent.message, 0 agent.compacted, 0 model.requested");
    assert_true(estimate_of(rig, 0) < 12000);
}

static void all_agents_that_use_the_model_keep_to_the_window_that_one_of_them_learned(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    refuse(rig, 1, 5000, -1);
    rig_say(rig, 1, "done");
    rig_say(rig, 2, "done");
    assert_int_equal(limit_of(rig, 0), 5000 - estimate_of(rig, 0));
}

static void a_window_that_does_not_explain_the_refusal_is_not_believed(void **state)
{
    static const int64_t lies[] = {1000000000, 0, -5, 1, INT64_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        void *inner = NULL;
        rig_setup(&inner);
        struct rig *rig = inner;
        start_wide(rig);
        for (int k = 0; k < 12; k++)
            read_bytes(rig, 0, k, FILE_BYTES);
        int64_t before = estimate_of(rig, 0);
        refuse(rig, 0, lies[i], lies[i]);
        assert_true(asks(rig, 0));
        assert_true(estimate_of(rig, 0) < before);
        rig_teardown(&inner);
    }
}

static void a_server_that_refuses_every_length_is_not_asked_for_ever(void **state)
{
    struct rig *rig = *state;
    /* Few tools, so that there is something left to leave out at every refusal. */
    rig->settings.mode = MODE_PLAN;
    start_wide(rig);
    for (int i = 0; i < 12; i++)
        read_bytes(rig, 0, i, FILE_BYTES);
    int refusals = 0;
    while (asks(rig, 0)) {
        assert_true(++refusals <= 4);
        refuse(rig, 0, 1000000, -1);
    }
    assert_int_equal(run_outcome(rig->run), OUTCOME_ERROR);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "tokens, and a request may now have");
}

static void a_window_that_shrinks_with_every_refusal_is_tried_three_times(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    int refusals = 0;
    while (asks(rig, 0)) {
        assert_true(++refusals <= 4);
        refuse(rig, 0, estimate_of(rig, 0) + limit_of(rig, 0) - 1, -1);
    }
    assert_int_equal(refusals, 4);
    assert_int_equal(run_outcome(rig->run), OUTCOME_ERROR);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
                 "refused the conversation as too long 4");
}

static void an_answer_in_between_gives_the_next_turn_its_own_rounds(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 3; i++)
            refuse(rig, 0, estimate_of(rig, 0) + limit_of(rig, 0) - 1, -1);
        assert_true(asks(rig, 0));
        read_bytes(rig, 0, turn, 100);
    }
    rig_say(rig, 0, "done");
    assert_int_equal(run_outcome(rig->run), OUTCOME_COMPLETED);
    assert_int_equal(rig_agent(rig, 0)->account.turns, 4);
}

static void what_cannot_fit_is_an_error_that_names_both_sizes(void **state)
{
    struct rig *rig = *state;
    char *task = text_of(30000);
    rig->settings.models[0].max_context_tokens = 100000;
    rig->settings.root.cost_nano = UNLIMITED;
    rig_start(rig, task);
    free(task);
    char sizes[128];
    snprintf(sizes, sizeof sizes, "needs about %lld tokens and a request to",
             (long long)(estimate_of(rig, 0) + OUTPUT_MIN));
    refuse(rig, 0, 4096, -1);
    assert_int_equal(run_outcome(rig->run), OUTCOME_ERROR);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, sizes);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
                 "may have 4096 (the model's window: llm.models.");
}

static void a_result_that_was_never_sent_is_cut_where_nothing_else_can_go(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    read_bytes(rig, 0, 0, 60000);
    rig_skip(rig);
    refuse(rig, 0, 12000, -1);
    rig_expect(rig, "0 model.failed, 0 agent.masked, 0 model.requested");
    assert_true(estimate_of(rig, 0) < 12000);
}

static void a_pool_moves_on_only_when_the_rounds_of_one_model_are_used_up(void **state)
{
    struct rig *rig = *state;
    struct model_settings *models = arena_alloc(&rig->arena, 2 * sizeof *models);
    struct pool *pool = arena_alloc(&rig->arena, sizeof *pool);
    models[0] = models[1] = rig->settings.models[0];
    models[1].name = STR("other");
    models[0].max_context_tokens = models[1].max_context_tokens = 100000;
    *pool = (struct pool){.name = STR("both")};
    list_add(&rig->arena, &pool->models, models[0].name);
    list_add(&rig->arena, &pool->models, models[1].name);
    rig->settings.models = models;
    rig->settings.model_count = 2;
    rig->settings.pools = pool;
    rig->settings.pool_count = 1;
    rig->settings.default_pool = pool->name;
    rig->settings.root.cost_nano = UNLIMITED;
    rig_start(rig, "do it");
    for (int i = 0; i < 4; i++) {
        assert_true(str_eq(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->name, models[0].name));
        refuse(rig, 0, estimate_of(rig, 0) + limit_of(rig, 0) - 1, -1);
    }
    assert_true(str_eq(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->name, models[1].name));
    assert_int_equal(limit_of(rig, 0), 1000);
}

/* --- booking ------------------------------------------------------------------------------------ */

/* A reply of a server that counts a token for three bytes of conversation, as estimates do. */
static void answer_counted(struct rig *rig, uint32_t no, const char *call, int64_t input,
                           int64_t output)
{
    struct tool_call calls[] = {{STR("x"), STR("read"), str_from(call != NULL ? call : "{}")}};
    struct model_reply reply = {.text = call != NULL ? STR_NONE : STR("a summary"),
                                .calls = calls,
                                .call_count = call != NULL,
                                .finish = STR("stop"),
                                .usage = {input, -1, -1, output, -1}};
    rig_reply(rig, no, &reply);
}

static void a_compacted_context_books_no_token_twice(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_context_tokens = 12000;
    rig->settings.root.cost_nano = UNLIMITED;
    rig_start(rig, "do it");
    char *file = text_of(9000);
    int64_t entered = 0, booked_at_compaction = -1;
    for (int i = 0; i < 12 && booked_at_compaction < 0; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "{\"path\":\"%d\"}", i);
        if (str_is(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->origin, "compact")) {
            int64_t before = rig_agent(rig, 0)->account.spent.tokens;
            int64_t asked = estimate_of(rig, 0);
            answer_counted(rig, 0, NULL, asked, 50);
            int64_t compacted = rig_agent(rig, 0)->account.spent.tokens;
            assert_true(compacted - before < asked / 2);
            /* System prompt, task, summary and last turns were all booked before. */
            answer_counted(rig, 0, arguments, estimate_of(rig, 0), 20);
            booked_at_compaction = rig_agent(rig, 0)->account.spent.tokens - compacted;
        } else {
            entered = estimate_of(rig, 0);
            answer_counted(rig, 0, arguments, entered, 20);
            rig_result(rig, 0, 0, file);
        }
    }
    free(file);
    assert_int_equal(booked_at_compaction, 20);
}

static void a_masked_context_books_what_is_new_and_no_more(void **state)
{
    struct rig *rig = *state;
    rig->settings.models[0].max_context_tokens = 12000;
    rig->settings.root.cost_nano = UNLIMITED;
    rig_start(rig, "do it");
    char *file = text_of(3000);
    for (int i = 0; i < 12 && rig_count(rig, EVENT_AGENT_MASKED) == 0; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "{\"path\":\"%d\"}", i);
        answer_counted(rig, 0, arguments, estimate_of(rig, 0), 20);
        rig_result(rig, 0, 0, file);
    }
    free(file);
    assert_int_equal(rig_count(rig, EVENT_AGENT_MASKED), 1);
    int64_t before = rig_agent(rig, 0)->account.spent.tokens;
    /* The server reports less than before: what was masked is not sent again. */
    answer_counted(rig, 0, "{\"path\":\"y\"}", estimate_of(rig, 0) * 3 / 4, 20);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens - before, 3000 / 3 + 20);
}

#define MESSAGES 64

struct shrunk {
    int64_t tokens;  /* by how much the root's known context shrank */
    int64_t eighths; /* an eighth of the bytes of each result that was left out */
};

/* Folds the log up to the first agent.masked, and that one as an event of this version. */
static struct shrunk folded_mask(const struct rig *rig, uint16_t version)
{
    struct err err = ERR_INIT;
    struct run *run = run_new(STR(RIG_RUN));
    struct shrunk shrunk = {0};
    size_t i = 0, lengths[MESSAGES] = {0};
    for (; rig->events[i]->type != EVENT_AGENT_MASKED; i++)
        assert_int_equal(run_apply(run, rig->events[i], &err), 0);
    const struct agent *root = run_agent(run, 0);
    assert_true(root->message_count <= MESSAGES);
    for (size_t k = 0; k < root->message_count; k++)
        lengths[k] = root->messages[k].text.n;
    int64_t before = root->context_known;
    struct event event = *rig->events[i];
    event.version = version;
    assert_int_equal(run_apply(run, &event, &err), 0);
    shrunk.tokens = before - root->context_known;
    for (size_t k = 0; k < root->booked; k++)
        shrunk.eighths += (int64_t)(lengths[k] - root->messages[k].text.n) / 8;
    run_free(run);
    return shrunk;
}

static void a_masking_in_an_older_log_takes_off_what_its_rules_took_off(void **state)
{
    struct rig *rig = *state;
    start_wide(rig);
    for (int i = 0; i < 8; i++)
        read_bytes(rig, 0, i, FILE_BYTES);
    int64_t sent = estimate_of(rig, 0);
    refuse(rig, 0, sent * 9 / 10, sent);
    struct shrunk now = folded_mask(rig, 3), older = folded_mask(rig, 2);
    assert_true(older.eighths > 0);
    assert_int_equal(older.tokens, older.eighths);
    assert_true(now.tokens > older.tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_window_that_the_output_limit_passes_lowers_that_limit_first),
        RIG_TEST(an_overflow_by_a_little_takes_only_a_little_of_the_window),
        RIG_TEST(a_refused_request_books_nothing_and_is_the_same_turn),
        RIG_TEST(an_overflow_masks_old_results_and_asks_again),
        RIG_TEST(an_overflow_asks_for_a_summary_where_masking_does_not_suffice),
        RIG_TEST(what_is_too_long_even_for_a_summary_is_left_out),
        RIG_TEST(all_agents_that_use_the_model_keep_to_the_window_that_one_of_them_learned),
        cmocka_unit_test(a_window_that_does_not_explain_the_refusal_is_not_believed),
        RIG_TEST(a_server_that_refuses_every_length_is_not_asked_for_ever),
        RIG_TEST(a_window_that_shrinks_with_every_refusal_is_tried_three_times),
        RIG_TEST(an_answer_in_between_gives_the_next_turn_its_own_rounds),
        RIG_TEST(what_cannot_fit_is_an_error_that_names_both_sizes),
        RIG_TEST(a_result_that_was_never_sent_is_cut_where_nothing_else_can_go),
        RIG_TEST(a_pool_moves_on_only_when_the_rounds_of_one_model_are_used_up),
        RIG_TEST(a_compacted_context_books_no_token_twice),
        RIG_TEST(a_masked_context_books_what_is_new_and_no_more),
        RIG_TEST(a_masking_in_an_older_log_takes_off_what_its_rules_took_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
