/* spawn_await over very many jobs: finding them takes one look at each, however many are named. Drives the core without the rig's
 * checks after every input, which would look at the whole run ten thousand times; the simulator makes those. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "check.h"
#include "core/run/run.h"

#define JOBS 10000
#define ROUNDS 40 /* calls of spawn_await: with a search for each job these would take minutes */

struct bench {
    struct run *run;
    struct decision decision;
    int64_t now;
};

static void decide(struct bench *b, struct input *input)
{
    struct err err = ERR_INIT;
    decision_reset(&b->decision);
    input->now = ++b->now;
    if (run_decide(b->run, input, &b->decision, &err) != 0)
        fail_msg("run_decide: %s", err.message);
}

static void start(struct bench *b)
{
    static const char *const tools[] = {"spawn", "spawn_await"};
    struct model_settings model = {.name = STR("m"),
                                   .provider = STR("p"),
                                   .model = STR("m-1"),
                                   .api = STR("openai"),
                                   .base_url = STR("http://127.0.0.1:1"),
                                   .api_key_env = STR(""),
                                   .max_tokens = 1000,
                                   .max_context_tokens = 100000000,
                                   .price_in_nano = UNLIMITED,
                                   .price_out_nano = UNLIMITED,
                                   .price_cached_nano = UNLIMITED,
                                   .price_cache_write_nano = UNLIMITED};
    struct settings settings;
    struct arena arena;
    struct buf body;
    struct jw w;
    arena_init(&arena);
    settings_init(&settings);
    settings.models = &model;
    settings.model_count = 1;
    settings.default_model = STR("m");
    settings.mode = MODE_AUTO;
    settings.spawn_enabled = SWITCH_ON;
    settings.max_concurrent = 0; /* all at once */
    settings.pause_at = settings.hard_stop_at = 100000;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        list_add(&arena, &settings.available_tools, str_from(tools[i]));
    buf_init(&body, 1 << 20);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "task", "many");
    jw_ktext(&w, "workspace_path", "/project");
    jw_ktext(&w, "asker", "nobody");
    jw_key(&w, "settings");
    settings_print(&settings, &w);
    jw_end_object(&w);
    struct input input = {
        .kind = INPUT_INBOX, .inbox_id = 1, .message_kind = STR("start"), .body = buf_view(&body)};
    decide(b, &input);
    buf_release(&body);
    arena_release(&arena);
}

static void reply(struct bench *b, uint32_t no, struct tool_call *calls, size_t count)
{
    struct model_reply said = {.text = count == 0 ? STR("seen") : STR_NONE,
                               .calls = calls,
                               .call_count = count,
                               .finish = STR("stop"),
                               .usage = USAGE_NONE,
                               .first_token_ms = -1};
    struct input input = {.kind = INPUT_REPLY,
                          .agent_no = no,
                          .call_id = run_agent(b->run, no)->request_id,
                          .reply = &said};
    decide(b, &input);
}

static void spawn_jobs(struct bench *b)
{
    struct tool_call *calls = calloc(JOBS, sizeof *calls);
    assert_non_null(calls);
    for (size_t i = 0; i < JOBS; i++)
        calls[i] = (struct tool_call){STR("x"), STR("spawn"), STR("{\"task\":\"look\"}")};
    reply(b, 0, calls, JOBS);
    free(calls);
    /* One prompt after the other, in the order of the calls. */
    for (size_t i = 0; i < JOBS; i++) {
        char id[32];
        const struct agent *root = run_agent(b->run, 0);
        snprintf(id, sizeof id, "%.*s", STR_FMT(root->calls[i].call.id));
        struct input input = {.kind = INPUT_FACTS, .agent_no = 0, .call_id = str_from(id)};
        decide(b, &input);
    }
    assert_int_equal(run_agent_count(b->run), JOBS + 1);
    assert_int_equal(run_agent(b->run, 0)->phase, PHASE_ASKING);
}

/* How many blocks of this kind the result of the root's last call has. */
static size_t blocks(const struct bench *b, const char *mark)
{
    const struct agent *root = run_agent(b->run, 0);
    struct str text = root->messages[root->message_count - 1].text;
    size_t count = 0, n = strlen(mark);
    for (size_t i = 0; i + n <= text.n; i++)
        count += memcmp(text.p + i, mark, n) == 0;
    return count;
}

static void await(struct bench *b, struct str arguments)
{
    struct tool_call call = {STR("x"), STR("spawn_await"), arguments};
    reply(b, 0, &call, 1);
}

static void ten_thousand_jobs_are_awaited_and_read_again(void **state)
{
    struct bench b = {.run = run_new(STR("01RGRGRGRGRGRGRGRGRGRGRGRG")), .now = 1700000000000};
    decision_init(&b.decision);
    start(&b);
    spawn_jobs(&b);
    await(&b, STR("{\"job_ids\":\"*\"}"));
    assert_int_equal(run_agent(b.run, 0)->calls[0].children_open, JOBS);
    for (uint32_t no = 1; no <= JOBS; no++)
        reply(&b, no, NULL, 0);
    assert_int_equal(run_agent(b.run, 0)->phase, PHASE_ASKING);
    assert_int_equal(blocks(&b, ": OK]\nseen"), JOBS);
    for (int i = 0; i < ROUNDS; i++) {
        /* No two turns alike. */
        char arguments[100];
        snprintf(arguments, sizeof arguments, "{\"job_ids\":\"%s,nobody%d\"}",
                 i % 2 == 0 ? "no-one" : "somebody", i);
        await(&b, i % 2 == 0 ? STR("{\"job_ids\":\"*\"}") : str_from(arguments));
        assert_int_equal(run_agent(b.run, 0)->phase, PHASE_ASKING);
        assert_int_equal(blocks(&b, i % 2 == 0 ? ": OK]" : ": NOT FOUND]"), i % 2 == 0 ? JOBS : 2);
    }
    decision_release(&b.decision);
    run_free(b.run);
}

static void thousands_of_names_are_found_in_their_order(void **state)
{
    enum { NAMED = 4000 };
    struct bench b = {.run = run_new(STR("01RGRGRGRGRGRGRGRGRGRGRGRG")), .now = 1700000000000};
    struct buf arguments;
    decision_init(&b.decision);
    buf_init(&arguments, 1 << 20);
    start(&b);
    spawn_jobs(&b);
    for (uint32_t no = 1; no <= JOBS; no++)
        reply(&b, no, NULL, 0);
    buf_text(&arguments, "{\"job_ids\":\"");
    for (uint32_t i = 0; i < NAMED; i++)
        buf_printf(&arguments, "%.*s,", STR_FMT(run_agent(b.run, JOBS - i)->task_id));
    buf_text(&arguments, "nobody\"}");
    await(&b, buf_view(&arguments));
    assert_int_equal(blocks(&b, ": OK]\nseen"), NAMED);
    assert_int_equal(blocks(&b, "\n\n[nobody: NOT FOUND]"), 1);
    const struct agent *root = run_agent(b.run, 0), *last = run_agent(b.run, JOBS);
    struct str text = root->messages[root->message_count - 1].text;
    assert_memory_equal(text.p + 1, last->task_id.p, last->task_id.n);
    buf_release(&arguments);
    decision_release(&b.decision);
    run_free(b.run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_jobs_are_awaited_and_read_again),
        cmocka_unit_test(thousands_of_names_are_found_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
