/* See run_fixture.h. */
#include "run_fixture.h"

#include <stdlib.h>

#include "engine/batch.h"
#include "engine/verify.h"

static const char *const tools[] = {"read", "grep", "write", "edit", "shell", "spawn_agent"};

static void *grown(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity * 2 + 32;
    items = realloc(items, *capacity * size);
    if (items == NULL)
        abort();
    return items;
}

int rig_setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    if (rig == NULL)
        return -1;
    arena_init(&rig->arena);
    memory_store_init(&rig->store);
    rig->run = run_new(STR(RIG_RUN));
    rig->folded = run_new(STR(RIG_RUN));
    rig->now = RIG_START;
    rig->epoch = 1;
    rig->asker = ASKER_NOBODY;
    settings_init(&rig->settings);
    rig->model = (struct model_settings){.name = STR("m"),
                                         .provider = STR("p"),
                                         .model = STR("m-1"),
                                         .api = STR("openai"),
                                         .base_url = STR("http://127.0.0.1:1"),
                                         .api_key_env = STR(""),
                                         .max_tokens = 1000,
                                         .max_context_tokens = 40000,
                                         .price_in_nano = UNLIMITED,
                                         .price_out_nano = UNLIMITED,
                                         .price_cached_nano = UNLIMITED,
                                         .price_cache_write_nano = UNLIMITED};
    rig->settings.models = &rig->model;
    rig->settings.model_count = 1;
    rig->settings.default_model = STR("m");
    rig->settings.mode = MODE_AUTO;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        list_add(&rig->arena, &rig->settings.available_tools, str_from(tools[i]));
    *state = rig;
    return 0;
}

void rig_walls(struct rig *rig)
{
    rig->settings.child_timeout_set = rig->settings.attempt_timeout_set = SWITCH_ON;
}

void rig_open_doors(struct rig *rig)
{
    static const char *const more[] = {
        "ls",           "search",      "code_search",   "web_search",
        "web_fetch",    "overview",    "docs_coverage", "plan_files",
        "test",         "git",         "git_commit",    "git_diff",
        "spawn",        "spawn_await", "fan_out",       "delegate_task",
        "agent_status", "agent_send",  "agent_cancel",  "agent_result",
        "agent_merge"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        list_add(&rig->arena, &rig->settings.available_tools, str_from(more[i]));
    rig->settings.spawn_enabled = SWITCH_ON;
}

/* What every scenario's log must stand: its chain, its fold, and deciding it again. */
static void check_log(struct rig *rig)
{
    struct verify_report report;
    struct err err = ERR_INIT;
    if (rig->store.count == 0)
        return;
    if (verify_log(&rig->store.store, STR(RIG_RUN), STR_NONE, &report, &err) != 0 ||
        report.findings[0].text[0] != '\0')
        fail_msg("verify: event %llu: %s%s", (unsigned long long)report.bad_seq,
                 report.findings[0].text, err.message);
    if (replay_run(&rig->store.store, STR(RIG_RUN), &report, &err) != 0 ||
        report.findings[0].text[0] != '\0')
        fail_msg("replay: event %llu: %s%s", (unsigned long long)report.bad_seq,
                 report.findings[0].text, err.message);
}

int rig_teardown(void **state)
{
    struct rig *rig = *state;
    check_log(rig);
    memory_store_release(&rig->store);
    run_free(rig->run);
    run_free(rig->folded);
    free(rig->events);
    free(rig->effects);
    arena_release(&rig->arena);
    free(rig);
    return 0;
}

/* --- deciding -------------------------------------------------------------------------------------- */

static void fold_batch(struct rig *rig, const struct batch *batch)
{
    struct err err = ERR_INIT;
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *row = &batch->append.events[i];
        if (fold_row(rig->folded, row, &err) != 0)
            fail_msg("event %llu does not fold: %s", (unsigned long long)row->seq, err.message);
        struct event *event = arena_alloc(&rig->arena, sizeof *event);
        assert_int_equal(event_parse(row, &rig->arena, event, &err), 0);
        rig->events =
            grown(rig->events, rig->event_count, &rig->event_capacity, sizeof *rig->events);
        rig->events[rig->event_count++] = event;
    }
}

static void compare_with_fold(struct rig *rig)
{
    struct buf live, folded;
    buf_init(&live, SIZE_MAX / 4);
    buf_init(&folded, SIZE_MAX / 4);
    run_print(rig->run, &live);
    run_print(rig->folded, &folded);
    if (!str_eq(buf_view(&live), buf_view(&folded)))
        fail_msg("the folded log differs\n--- live\n%s\n--- folded\n%s", live.p, folded.p);
    buf_release(&live);
    buf_release(&folded);
}

static void check_waits(const struct rig *rig)
{
    struct buf who;
    buf_init(&who, 4096);
    if (run_waits_for_nobody(rig->run, &who))
        fail_msg("the run cannot end: %.*s", STR_FMT(buf_view(&who)));
    buf_release(&who);
}

static void take_effect(struct rig *rig, const struct effect *effect)
{
    rig->effects =
        grown(rig->effects, rig->effect_count, &rig->effect_capacity, sizeof *rig->effects);
    struct effect *copy = &rig->effects[rig->effect_count++];
    *copy = *effect;
    struct str *const views[] = {&copy->call_id, &copy->tool,   &copy->arguments,
                                 &copy->path,    &copy->before, &copy->after};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        *views[i] = arena_copy(&rig->arena, *views[i]);
}

void rig_input(struct rig *rig, struct input *input)
{
    struct decision decision;
    struct err err = ERR_INIT;
    decision_init(&decision);
    input->now = rig->now;
    if (run_decide(rig->run, input, &decision, &err) != 0)
        fail_msg("run_decide: %s", err.message);
    if (decision.event_count > 0) {
        struct batch *batch = batch_new(rig->run, &decision, rig->epoch);
        memory_store_commit(&rig->store, batch);
        fold_batch(rig, batch);
        compare_with_fold(rig);
        check_waits(rig);
    }
    for (size_t i = 0; i < decision.effect_count; i++)
        take_effect(rig, &decision.effects[i]);
    decision_release(&decision);
}

void rig_inbox(struct rig *rig, const char *kind, const char *body)
{
    struct input input = {.kind = INPUT_INBOX,
                          .inbox_id = ++rig->inbox_id,
                          .message_kind = str_from(kind),
                          .body = str_from(body),
                          .sender = STR("rig")};
    rig_input(rig, &input);
}

void rig_start(struct rig *rig, const char *task)
{
    struct buf body;
    struct jw w;
    buf_init(&body, 1 << 20);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "session_id", "s");
    jw_ktext(&w, "user_id", "u");
    jw_ktext(&w, "workspace_id", "w");
    jw_ktext(&w, "workspace_path", "/project");
    jw_ktext(&w, "task", task);
    jw_ktext(&w, "asker", asker_text(rig->asker));
    if (rig->walls != NULL)
        jw_ktext(&w, "walls", rig->walls);
    jw_key(&w, "settings");
    settings_print(&rig->settings, &w);
    if (rig->plan != NULL)
        jw_kraw(&w, "plan", str_from(rig->plan));
    jw_end_object(&w);
    rig_inbox(rig, "start", body.p);
    buf_release(&body);
}

/* --- answers --------------------------------------------------------------------------------------- */

const struct effect *rig_effect(const struct rig *rig, uint32_t agent_no, enum effect_kind kind)
{
    for (size_t i = rig->effect_count; i-- > 0;) {
        const struct effect *effect = &rig->effects[i];
        if (effect->agent_no == agent_no && effect->kind == kind)
            return effect;
    }
    fail_msg("agent %u never had an effect of kind %s", agent_no, effect_kind_text(kind));
    return NULL;
}

void rig_reply(struct rig *rig, uint32_t agent_no, const struct model_reply *reply)
{
    struct input input = {.kind = INPUT_REPLY,
                          .agent_no = agent_no,
                          .call_id = rig_effect(rig, agent_no, EFFECT_MODEL)->call_id,
                          .reply = reply};
    rig_input(rig, &input);
}

void rig_say(struct rig *rig, uint32_t agent_no, const char *text)
{
    struct model_reply reply = {.text = str_from(text),
                                .finish = STR("stop"),
                                .usage = USAGE_NONE,
                                .model = STR("m-1-0815"),
                                .first_token_ms = -1};
    rig_reply(rig, agent_no, &reply);
}

void rig_calls(struct rig *rig, uint32_t agent_no, const struct rig_call *calls, size_t count)
{
    struct tool_call *made = arena_alloc(&rig->arena, count * sizeof *made);
    struct model_reply reply = {.calls = made,
                                .call_count = count,
                                .finish = STR("tool_calls"),
                                .usage = USAGE_NONE,
                                .first_token_ms = -1};
    for (size_t i = 0; i < count; i++)
        made[i] = (struct tool_call){STR("theirs"), str_from(calls[i].name),
                                     str_from(calls[i].arguments)};
    rig_reply(rig, agent_no, &reply);
}

void rig_break(struct rig *rig, uint32_t agent_no, const char *message)
{
    rig_fail(rig, agent_no, ERR_CANCELLED, message);
}

void rig_failure(struct rig *rig, uint32_t agent_no, const struct model_failure *failure)
{
    struct input input = {.kind = INPUT_FAILURE,
                          .agent_no = agent_no,
                          .call_id = rig_effect(rig, agent_no, EFFECT_MODEL)->call_id,
                          .failure = failure};
    rig_input(rig, &input);
}

void rig_fail(struct rig *rig, uint32_t agent_no, enum err_class class, const char *message)
{
    struct model_failure failure = {.class = class,
                                    .http_status = class == ERR_PROVIDER ? 400 : 0,
                                    .retry_after_ms = -1,
                                    .message = str_from(message),
                                    .usage = USAGE_NONE};
    rig_failure(rig, agent_no, &failure);
}

const struct agent *rig_agent(const struct rig *rig, uint32_t agent_no)
{
    const struct agent *agent = run_agent(rig->run, agent_no);
    assert_non_null(agent);
    return agent;
}

struct str rig_call_id(const struct rig *rig, uint32_t agent_no, size_t call)
{
    const struct agent *agent = rig_agent(rig, agent_no);
    assert_true(call < agent->call_count);
    return agent->calls[call].call.id;
}

void rig_result(struct rig *rig, uint32_t agent_no, size_t call, const char *text)
{
    struct input input = {.kind = INPUT_RESULT,
                          .agent_no = agent_no,
                          .call_id = rig_call_id(rig, agent_no, call),
                          .text = str_from(text)};
    rig_input(rig, &input);
}

void rig_prepared(struct rig *rig, uint32_t agent_no, size_t call, const char *path)
{
    struct input input = {.kind = INPUT_PREPARED,
                          .agent_no = agent_no,
                          .call_id = rig_call_id(rig, agent_no, call),
                          .path = str_from(path),
                          .before = STR("absent"),
                          .after = STR("00ff")};
    rig_input(rig, &input);
}

void rig_facts(struct rig *rig, uint32_t agent_no, size_t call, const char *files)
{
    struct err err = ERR_INIT;
    struct input input = {
        .kind = INPUT_FACTS, .agent_no = agent_no, .call_id = rig_call_id(rig, agent_no, call)};
    assert_int_equal(gathering_parse(&rig->arena, str_from(files), &input.gathering, &err), 0);
    rig_input(rig, &input);
}

static void answer_isolate(struct rig *rig, uint32_t agent_no, struct input *input)
{
    input->kind = INPUT_ISOLATED;
    input->agent_no = agent_no;
    input->call_id = rig_effect(rig, agent_no, EFFECT_ISOLATE)->call_id;
    rig_input(rig, input);
}

void rig_made(struct rig *rig, uint32_t agent_no)
{
    struct input input = {.strategy = STR("worktree"),
                          .worktree_path = arena_printf(&rig->arena, "/trees/%u", agent_no),
                          .workspace = arena_printf(&rig->arena, "/trees/%u/sub", agent_no),
                          .branch = arena_printf(&rig->arena, "cadre/run/%u", agent_no),
                          .base_ref = STR("abc")};
    answer_isolate(rig, agent_no, &input);
}

void rig_unmade(struct rig *rig, uint32_t agent_no, const char *why)
{
    struct input input = {.outcome = TOOL_ERROR, .text = str_from(why)};
    answer_isolate(rig, agent_no, &input);
}

void rig_left(struct rig *rig, uint32_t agent_no, const char *how)
{
    static const char *const good[] = {"no_changes", "fast_forward", "three_way", "kept"};
    struct input input = {.kind = INPUT_MERGED,
                          .agent_no = agent_no,
                          .call_id = rig_effect(rig, agent_no, EFFECT_MERGE)->call_id,
                          .outcome = TOOL_ERROR,
                          .merge_strategy = str_from(how),
                          .text = str_from(how)};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (strcmp(how, good[i]) == 0)
            input.outcome = TOOL_OK;
    if (strcmp(how, "conflict") == 0)
        input.conflicted_files = STR("[\"a\"]");
    if (input.outcome == TOOL_ERROR || strcmp(how, "kept") == 0)
        input.branch = arena_printf(&rig->arena, "cadre/run/%u", agent_no);
    rig_input(rig, &input);
}

void rig_pass(struct rig *rig, int64_t ms)
{
    rig->now += ms;
    for (int fired = 0; run_deadline(rig->run) <= rig->now; fired++) {
        struct input input = {.kind = INPUT_TICK};
        assert_true(fired < 100);
        rig_input(rig, &input);
    }
}

void rig_sleep(struct rig *rig, int64_t ms)
{
    struct input input = {.kind = INPUT_SLEPT, .slept_ms = ms};
    rig->slept += ms;
    rig_input(rig, &input);
}

/* alive_at is wall time, and so is the time of the next owner. */
static void crash(struct rig *rig, int64_t alive_at, int64_t downtime_ms)
{
    struct err err = ERR_INIT;
    run_free(rig->run);
    run_free(rig->folded);
    assert_int_equal(fold_run(&rig->store.store, STR(RIG_RUN), &rig->run, &err), 0);
    assert_int_equal(fold_run(&rig->store.store, STR(RIG_RUN), &rig->folded, &err), 0);
    rig->now += rig->slept + downtime_ms;
    rig->slept = 0;
    struct input input = {.kind = INPUT_RESUME,
                          .owner = STR("next"),
                          .epoch = ++rig->epoch,
                          .alive_at = alive_at,
                          .broken = rig->broken,
                          .asker = str_from(asker_text(rig->asker))};
    rig_input(rig, &input);
}

void rig_crash(struct rig *rig, int64_t downtime_ms)
{
    crash(rig, 0, downtime_ms);
}

void rig_crash_later(struct rig *rig, int64_t alive_ms, int64_t downtime_ms)
{
    rig->now += alive_ms;
    crash(rig, rig->now + rig->slept, downtime_ms);
}

/* --- what was decided ------------------------------------------------------------------------------ */

static void same_text(const char *what, const struct buf *got, const char *expected)
{
    if (!str_is(buf_view(got), expected))
        fail_msg("%s\n     got: %s\nexpected: %s", what, got->n > 0 ? got->p : "", expected);
}

void rig_expect(struct rig *rig, const char *events)
{
    struct buf got;
    buf_init(&got, 1 << 20);
    for (size_t i = rig->event_mark; i < rig->event_count; i++)
        buf_printf(&got, "%s%u %s", got.n > 0 ? ", " : "", rig->events[i]->agent_no,
                   event_type_text(rig->events[i]->type));
    rig->event_mark = rig->event_count;
    same_text("events", &got, events);
    buf_release(&got);
}

void rig_expect_effects(struct rig *rig, const char *effects)
{
    struct buf got;
    buf_init(&got, 1 << 20);
    for (size_t i = rig->effect_mark; i < rig->effect_count; i++) {
        const struct effect *effect = &rig->effects[i];
        buf_printf(&got, "%s%u %s%s%.*s", got.n > 0 ? ", " : "", effect->agent_no,
                   effect_kind_text(effect->kind), effect->tool.n > 0 ? " " : "",
                   STR_FMT(effect->tool));
    }
    rig->effect_mark = rig->effect_count;
    same_text("effects", &got, effects);
    buf_release(&got);
}

void rig_expect_nothing(struct rig *rig)
{
    rig_expect(rig, "");
    rig_expect_effects(rig, "");
}

void rig_skip(struct rig *rig)
{
    rig->event_mark = rig->event_count;
    rig->effect_mark = rig->effect_count;
}

const struct event *rig_last(const struct rig *rig, uint32_t agent_no, enum event_type type)
{
    for (size_t i = rig->event_count; i-- > 0;) {
        if (rig->events[i]->agent_no == agent_no && rig->events[i]->type == type)
            return rig->events[i];
    }
    fail_msg("agent %u never had a %s", agent_no, event_type_text(type));
    return NULL;
}

size_t rig_count(const struct rig *rig, enum event_type type)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->event_count; i++)
        n += rig->events[i]->type == type;
    return n;
}

size_t rig_count_of(const struct rig *rig, uint32_t agent_no, enum event_type type)
{
    size_t n = 0;
    for (size_t i = 0; i < rig->event_count; i++)
        n += rig->events[i]->type == type && rig->events[i]->agent_no == agent_no;
    return n;
}

void rig_contains(struct str text, const char *part)
{
    if (text.p == NULL || memmem(text.p, text.n, part, strlen(part)) == NULL)
        fail_msg("\"%.*s\" does not contain \"%s\"", STR_FMT(text), part);
}
