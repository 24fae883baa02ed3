/* Whole runs in one process: the scripted model over HTTP, a store on SQLite, the file tools, one loop. What a run does is tested
 * elsewhere; here everything meets: threads, wake-ups, letting go, taking over, and that nothing is left behind. */
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "engine/engine.h"
#include "engine/inbox.h"
#include "engine/verify.h"
#include "model/openai.h"
#include "net/http.h"
#include "os/clock.h"
#include "os/random.h"
#include "port/preview.h"
#include "scripted/scripted.h"
#include "store/sqlite.h"

#define GUARD_MS 50000 /* a test that waits longer fails */

struct house {
    char top[200], store_path[256], workspace[256];
    struct scripted *server;
    uv_loop_t loop;
    uv_timer_t guard;
    struct engine *engine;
    struct model_port openai;
    struct settings settings;
    struct model_settings model;
    struct arena arena;
    char url[64];
    struct id run;
    enum asker asker;
    /* what was seen */
    int ends;
    enum run_status status;
    struct err failure;
    struct buf result;
    size_t events, deltas;
    /* What to do when this type of event of this agent becomes durable. */
    const char *on_type;
    uint32_t on_agent;
    char summary[64]; /* of the event of that type */
    void (*on_event)(struct house *house);
    /* a thread that sends */
    pthread_t sender;
    bool sending;
    enum inbox_delivery delivery;
    int64_t wall_set; /* how far somebody has set the wall clock before the next engine is opened */
};

/* --- ports ----------------------------------------------------------------------------------------- */

static int open_store(void *user, struct store **store, struct err *err)
{
    struct house *house = user;
    struct sqlite_store_config config = {.path = house->store_path,
                                         .busy_ms = 20000,
                                         .boot_id = clock_boot_id(),
                                         .wall_at_boot = clock_wall_at_boot() + house->wall_set};
    return sqlite_store_open(&config, store, err);
}

static struct model_port model_of(void *user, struct str api)
{
    struct house *house = user;
    if (house->openai.ops == NULL)
        house->openai = openai_open(&house->loop);
    return str_is(api, "openai") ? house->openai : (struct model_port){NULL, NULL};
}

static struct str secret_of(void *user, struct str variable)
{
    return STR("");
}

static void on_event(void *user, const struct run *run, const struct event_row *row)
{
    struct house *house = user;
    house->events++;
    if (house->on_type != NULL && str_is(row->type, house->on_type) &&
        row->agent_no == house->on_agent) {
        house->on_type = NULL;
        snprintf(house->summary, sizeof house->summary, "%.*s", STR_FMT(row->summary));
        house->on_event(house);
    }
}

static void on_delta(void *user, struct str run_id, uint32_t agent_no, struct str text)
{
    ((struct house *)user)->deltas++;
}

static void on_question(void *user, struct str run_id, uint32_t agent_no, struct str call_id,
                        struct str tool, struct str arguments)
{
    struct house *house = user;
    struct err err = ERR_INIT;
    check_str(tool, "write");
    if (engine_preview(house->engine, run_id, agent_no, call_id, &err) != 0)
        fail_msg("%s", err.message);
}

/* A yes names what was shown. */
static void on_preview(void *user, struct str run_id, uint32_t agent_no, struct str call_id,
                       const struct preview *preview, enum preview_standing standing)
{
    struct house *house = user;
    struct err err = ERR_INIT;
    const struct engine_answer yes = {.answer = ENGINE_YES, .shown = &preview->shown};
    if (engine_answer(house->engine, run_id, agent_no, call_id, &yes, &err) != 0)
        fail_msg("%s", err.message);
}

static void on_end(void *user, struct str run_id, const struct run *run, const struct err *failure)
{
    struct house *house = user;
    house->ends++;
    house->status = run != NULL ? run_state(run) : RUN_NEW;
    house->failure = failure != NULL ? *failure : ERR_INIT;
    buf_clear(&house->result);
    if (run != NULL && run_result(run).p != NULL)
        buf_str(&house->result, run_result(run));
}

static void on_guard(uv_timer_t *timer)
{
    fail_msg("still not there after %d ms", GUARD_MS);
}

/* --- the house ------------------------------------------------------------------------------------- */

/* For how long the machine is said to have slept. */
static int64_t machine_slept;

static int64_t test_boottime(void)
{
    return clock_boottime_ms() + machine_slept;
}

static int64_t test_suspended(void)
{
    return machine_slept;
}

static struct engine *engine_open(struct house *house)
{
    struct engine *engine = NULL;
    struct err err = ERR_INIT;
    struct engine_config config = {.loop = &house->loop,
                                   .store = {open_store, house},
                                   .store_path = str_from(house->store_path),
                                   .model = model_of,
                                   .tools = &tool_port,
                                   .secret = secret_of,
                                   .user = house,
                                   .watch = {.event = on_event,
                                             .delta = on_delta,
                                             .question = on_question,
                                             .preview = on_preview,
                                             .end = on_end,
                                             .user = house,
                                             .asker = house->asker},
                                   .boottime = test_boottime,
                                   .wall_at_boot = clock_wall_at_boot() + house->wall_set,
                                   .suspended = test_suspended,
                                   .entropy = random_bytes};
    if (engine_new(&config, &engine, &err) != 0)
        fail_msg("%s", err.message);
    return engine;
}

static void serve(struct house *house, const char *rules)
{
    struct buf script;
    struct err err = ERR_INIT;
    buf_init(&script, 1 << 20);
    buf_text(&script, "{\"models\":[{\"id\":\"scripted\",\"window\":32768,\"max_output\":8192}],"
                      "\"rules\":[");
    for (const char *p = rules; *p != '\0'; p++)
        buf_char(&script, *p == '\'' ? '"' : *p);
    buf_text(&script, "]}");
    struct scripted_config config = {.script = buf_view(&script)};
    if (scripted_start(&config, &house->server, &err) != 0)
        fail_msg("%s", err.message);
    buf_release(&script);
    snprintf(house->url, sizeof house->url, "http://127.0.0.1:%u/v1", scripted_port(house->server));
    house->model.base_url = str_from(house->url);
}

static int setup(void **state)
{
    static const char *const tools[] = {"read", "ls", "write", "spawn_agent"};
    struct house *house = calloc(1, sizeof *house);
    struct err err = ERR_INIT;
    const char *top = getenv("TMPDIR");
    assert_non_null(house);
    snprintf(house->top, sizeof house->top, "%s/cadre-engine-XXXXXX", top != NULL ? top : "/tmp");
    assert_non_null(mkdtemp(house->top));
    snprintf(house->workspace, sizeof house->workspace, "%s/work", house->top);
    assert_int_equal(mkdir(house->workspace, 0777), 0);
    snprintf(house->store_path, sizeof house->store_path, "%s/state/cadre.db", house->top);
    machine_slept = 0;
    arena_init(&house->arena);
    buf_init(&house->result, 1 << 20);
    house->asker = ASKER_NOBODY;
    settings_init(&house->settings);
    house->model = (struct model_settings){.name = STR("m"),
                                           .provider = STR("local"),
                                           .model = STR("scripted"),
                                           .api = STR("openai"),
                                           .api_key_env = STR(""),
                                           .max_tokens = 2000,
                                           .max_context_tokens = 32768,
                                           .price_in_nano = UNLIMITED,
                                           .price_out_nano = UNLIMITED,
                                           .price_cached_nano = UNLIMITED,
                                           .price_cache_write_nano = UNLIMITED};
    house->settings.models = &house->model;
    house->settings.model_count = 1;
    house->settings.default_model = STR("m");
    house->settings.mode = MODE_AUTO;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        list_add(&house->arena, &house->settings.available_tools, str_from(tools[i]));
    if (http_global_init(&err) != 0)
        fail_msg("%s", err.message);
    uv_loop_init(&house->loop);
    uv_timer_init(&house->loop, &house->guard);
    uv_timer_start(&house->guard, on_guard, GUARD_MS, 0);
    uv_unref((uv_handle_t *)&house->guard);
    house->engine = engine_open(house);
    *state = house;
    return 0;
}

static void engine_close(struct house *house)
{
    engine_free(house->engine);
    house->engine = NULL;
    if (house->openai.ops != NULL)
        house->openai.ops->free(house->openai.client);
    house->openai = (struct model_port){NULL, NULL};
    uv_run(&house->loop, UV_RUN_DEFAULT);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
    return remove(path);
}

static int teardown(void **state)
{
    struct house *house = *state;
    if (house->sending)
        pthread_join(house->sender, NULL);
    if (house->engine != NULL)
        engine_close(house);
    uv_close((uv_handle_t *)&house->guard, NULL);
    uv_run(&house->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&house->loop), 0); /* no handle is left */
    scripted_stop(house->server);
    http_global_release();
    nftw(house->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    buf_release(&house->result);
    arena_release(&house->arena);
    free(house);
    return 0;
}

static void run_task(struct house *house, const char *task)
{
    struct err err = ERR_INIT;
    struct engine_start start = {.task = str_from(task),
                                 .session_id = STR("01HF7YAT000000000000SESSN1"),
                                 .user_id = STR("u"),
                                 .workspace_id = STR("w"),
                                 .workspace_path = str_from(house->workspace),
                                 .settings = &house->settings};
    if (engine_run(house->engine, &start, &house->run, &err) != 0)
        fail_msg("%s", err.message);
}

static void until_ends(struct house *house, int ends)
{
    while (house->ends < ends)
        uv_run(&house->loop, UV_RUN_ONCE);
}

static void put_file(const struct house *house, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", house->workspace, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_file(const struct house *house, const char *name, const char *text)
{
    char path[512], found[256] = "";
    snprintf(path, sizeof path, "%s/%s", house->workspace, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s does not exist", name);
    size_t n = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    found[n] = '\0';
    assert_string_equal(found, text);
}

static void contains(const struct house *house, const char *part)
{
    if (house->result.n == 0 || strstr(house->result.p, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", house->result.n > 0 ? house->result.p : "",
                 part);
}

/* The stored log holds, and every decision can be made again. */
static void check_log(struct house *house, uint64_t children)
{
    struct store *store = NULL;
    struct verify_report report;
    struct err err = ERR_INIT;
    assert_int_equal(open_store(house, &store, &err), 0);
    assert_int_equal(verify_run(store, id_str(&house->run), STR_NONE, &report, &err), 0);
    assert_string_equal(report.findings[0].text, "");
    assert_int_equal(report.children, children);
    assert_int_equal(report.closes, children);
    assert_int_equal(replay_run(store, id_str(&house->run), &report, &err), 0);
    assert_string_equal(report.findings[0].text, "");
    store->ops->close(store);
}

static void check_server(struct house *house)
{
    struct scripted_stats stats;
    scripted_stats(house->server, &stats);
    assert_int_equal(stats.refused, 0);
    assert_int_equal(stats.unmatched, 0);
}

/* A child that reads and a child whose answer never comes. */
#define PARENT                                                                                     \
    "{'when':{'first_user':'whole','turn':0},'reply':{'calls':[{'name':'spawn_agent','arguments':" \
    "{'task':'part'}}]}},"                                                                         \
    "{'when':{'first_user':'whole'},'reply':{'text':'all is done'}},"
#define CHILD_READS                                                                                \
    "{'when':{'first_user':'part','turn':0},'reply':{'calls':[{'name':'read','arguments':{'path':" \
    "'a.txt'}}]}},"                                                                                \
    "{'when':{'first_user':'part','turn':1},'reply':{'calls':[{'name':'write','arguments':"        \
    "{'path':'b.txt','content':'made'}}]}},"                                                       \
    "{'when':{'first_user':'part'},'reply':{'text':'read it'}}"
#define CHILD_HANGS_ONCE                                                                           \
    "{'when':{'first_user':'part'},'reply':{'text':'never seen','delay_ms':600000,"                \
    "'fail_times':1,'then':{'text':'fine now'}}}"

/* --- tests ----------------------------------------------------------------------------------------- */

static void a_parent_and_its_child_work_to_the_end(void **state)
{
    struct house *house = *state;
    serve(house, PARENT CHILD_READS);
    put_file(house, "a.txt", "hello\n");
    run_task(house, "whole");
    until_ends(house, 1);
    assert_int_equal(house->failure.class, ERR_NONE);
    assert_int_equal(house->status, RUN_COMPLETED);
    contains(house, "all is done");
    check_file(house, "b.txt", "made");
    assert_true(house->events > 20);
    assert_true(house->deltas > 0);
    assert_int_equal(engine_active(house->engine), 0);
    check_log(house, 1);
    check_server(house);
}

static void many_runs_share_an_engine(void **state)
{
    struct house *house = *state;
    serve(house, PARENT CHILD_READS);
    put_file(house, "a.txt", "hello\n");
    for (int i = 0; i < 12; i++)
        run_task(house, "whole");
    until_ends(house, 12);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
    check_server(house);
}

static void *send_cancel(void *user)
{
    struct house *house = user;
    struct store *store = NULL;
    struct err err = ERR_INIT;
    if (open_store(house, &store, &err) != 0 ||
        inbox_send(store, str_from(house->store_path), id_str(&house->run), STR("cancel"),
                   STR("{\"reason\":\"enough\"}"), STR("somebody"), clock_now_ms(),
                   clock_boottime_ms(), &house->delivery, &err) != 0)
        house->delivery = INBOX_KEPT;
    if (store != NULL)
        store->ops->close(store);
    return NULL;
}

static void start_sender(struct house *house)
{
    house->sending = pthread_create(&house->sender, NULL, send_cancel, house) == 0;
}

static void a_cancel_from_elsewhere_ends_the_run_and_its_child(void **state)
{
    struct house *house = *state;
    serve(house, PARENT CHILD_HANGS_ONCE);
    house->on_type = "model.requested";
    house->on_agent = 1;
    house->on_event = start_sender;
    run_task(house, "whole");
    until_ends(house, 1);
    assert_int_equal(house->status, RUN_CANCELLED);
    contains(house, "\"error\":\"enough\"");
    pthread_join(house->sender, NULL);
    house->sending = false;
    assert_int_equal(house->delivery, INBOX_DELIVERED);
    check_log(house, 1);
}

static void stop_loop(struct house *house)
{
    uv_stop(&house->loop);
}

/* Two requests: the parent's, and its child's, which is not answered. */
static void until_the_child_asks(struct house *house)
{
    struct scripted_stats stats = {0};
    while (stats.requests < 2) {
        uv_run(&house->loop, UV_RUN_ONCE);
        scripted_stats(house->server, &stats);
    }
}

/* Runs until the child's request is out, then lets go of everything. */
static void let_go_in_the_middle(struct house *house)
{
    house->on_type = "model.requested";
    house->on_agent = 1;
    house->on_event = stop_loop;
    run_task(house, "whole");
    while (house->on_type != NULL)
        uv_run(&house->loop, UV_RUN_ONCE);
    uv_run(&house->loop, UV_RUN_NOWAIT); /* lets the request leave */
    engine_close(house);
    assert_int_equal(house->ends, 1);
    assert_int_equal(house->failure.class, ERR_CANCELLED);
}

static void an_engine_that_ends_leaves_a_run_that_can_be_resumed(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    serve(house, PARENT CHILD_HANGS_ONCE);
    let_go_in_the_middle(house);
    struct scripted_stats stats;
    scripted_stats(house->server, &stats);
    house->engine = engine_open(house);
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), 0);
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), -1); /* once */
    until_ends(house, 2);
    assert_int_equal(house->failure.class, ERR_NONE);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
}

static void a_run_that_is_let_go_before_it_began_can_be_resumed(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    serve(house, PARENT CHILD_READS);
    run_task(house, "whole");
    engine_close(house);
    assert_int_equal(house->ends, 1);
    house->engine = engine_open(house);
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), 0);
    until_ends(house, 2);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
}

static void a_run_that_ended_is_not_run_again(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    serve(house, "{'reply':{'text':'done'}}");
    run_task(house, "short");
    until_ends(house, 1);
    size_t events = house->events;
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), 0);
    until_ends(house, 2);
    assert_int_equal(house->failure.class, ERR_NONE);
    assert_int_equal(house->status, RUN_COMPLETED);
    assert_int_equal(house->events, events);
}

static void a_run_has_one_owner(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    serve(house, PARENT CHILD_HANGS_ONCE);
    house->on_type = "model.requested";
    house->on_agent = 1;
    house->on_event = stop_loop;
    run_task(house, "whole");
    while (house->on_type != NULL)
        uv_run(&house->loop, UV_RUN_ONCE);
    struct engine *second = engine_open(house);
    assert_int_equal(engine_resume(second, id_str(&house->run), &err), 0);
    until_ends(house, 1);
    assert_int_equal(house->failure.class, ERR_RETRY);
    assert_non_null(strstr(house->failure.message, "owned by a living process"));
    engine_free(second);
    assert_int_equal(engine_active(house->engine), 1);
}

static void sleep_for_an_hour(struct house *house)
{
    machine_slept += 3600000;
}

static void a_machine_that_sleeps_does_not_use_up_the_time_of_a_run(void **state)
{
    struct house *house = *state;
    serve(house, PARENT CHILD_READS);
    house->on_type = "agent.subagent_started";
    house->on_agent = 1;
    house->on_event = sleep_for_an_hour;
    run_task(house, "whole");
    until_ends(house, 1);
    assert_null(house->on_type);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
}

static void until_told_of_an_hour(struct house *house)
{
    house->on_type = "run.slept";
    house->on_agent = 0;
    house->on_event = stop_loop;
    while (house->on_type != NULL)
        uv_run(&house->loop, UV_RUN_ONCE);
    assert_string_equal(house->summary, "the machine slept for 1 h 0 m");
}

static void a_sleep_before_the_program_ends_does_not_use_up_the_time_of_a_run(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    serve(house, PARENT CHILD_HANGS_ONCE);
    house->on_type = "model.requested";
    house->on_agent = 1;
    house->on_event = stop_loop;
    run_task(house, "whole");
    while (house->on_type != NULL)
        uv_run(&house->loop, UV_RUN_ONCE);
    until_the_child_asks(house);
    /* The run only waits for an answer. It is told of each sleep once, and before its lease is renewed with the time after it. */
    sleep_for_an_hour(house);
    until_told_of_an_hour(house);
    sleep_for_an_hour(house);
    until_told_of_an_hour(house);
    engine_close(house);
    house->engine = engine_open(house);
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), 0);
    until_ends(house, 2);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
}

/* The child waits for an answer that never comes; its next owner gets one. */
static void resume_with_another_clock(struct house *house, int64_t wall_set)
{
    struct err err = ERR_INIT;
    serve(house, PARENT CHILD_HANGS_ONCE);
    run_task(house, "whole");
    until_the_child_asks(house);
    engine_close(house);
    house->wall_set = wall_set;
    house->engine = engine_open(house);
    assert_int_equal(engine_resume(house->engine, id_str(&house->run), &err), 0);
    until_ends(house, 2);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_log(house, 1);
}

static void a_clock_that_was_set_back_between_two_owners_does_not_matter(void **state)
{
    resume_with_another_clock(*state, -(int64_t)3600000);
}

static void a_clock_that_was_set_ahead_between_two_owners_does_not_matter(void **state)
{
    resume_with_another_clock(*state, (int64_t)24 * 3600000);
}

static void an_unknown_run_cannot_be_resumed(void **state)
{
    struct house *house = *state;
    struct err err = ERR_INIT;
    assert_int_equal(engine_resume(house->engine, STR("nonsense"), &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    assert_int_equal(engine_resume(house->engine, STR("01HF7YAT000000000000000000"), &err), 0);
    until_ends(house, 1);
    assert_int_equal(house->failure.class, ERR_NOT_FOUND);
    assert_int_equal(engine_active(house->engine), 0);
}

static void a_person_is_asked_and_the_answer_lets_the_call_run(void **state)
{
    struct house *house = *state;
    serve(house, "{'when':{'turn':0},'reply':{'calls':[{'name':'write','arguments':"
                 "{'path':'c.txt','content':'yes'}}]}},{'reply':{'text':'written'}}");
    house->settings.mode = MODE_SAFE;
    house->asker = ASKER_TERMINAL;
    engine_free(house->engine);
    house->engine = engine_open(house);
    run_task(house, "write it");
    until_ends(house, 1);
    assert_int_equal(house->status, RUN_COMPLETED);
    check_file(house, "c.txt", "yes");
    check_log(house, 0);
}

static void a_workspace_that_is_gone_is_an_error_and_not_a_hang(void **state)
{
    struct house *house = *state;
    serve(house, "{'when':{'turn':0},'reply':{'calls':[{'name':'spawn_agent','arguments':{'task':"
                 "'x','context_files':['a.txt']}},{'name':'read','arguments':{'path':'a.txt'}}]}},"
                 "{'reply':{'text':'gave up'}}");
    assert_int_equal(rmdir(house->workspace), 0);
    run_task(house, "read it");
    until_ends(house, 1);
    assert_int_equal(house->status, RUN_COMPLETED);
    contains(house, "gave up");
    check_log(house, 0);
}

static void a_model_api_that_is_not_built_in_fails_the_run_with_its_name(void **state)
{
    struct house *house = *state;
    house->model.api = STR("telepathy");
    house->model.base_url = STR("http://127.0.0.1:1/v1");
    run_task(house, "whole");
    until_ends(house, 1);
    assert_int_equal(house->status, RUN_FAILED);
    contains(house, "telepathy");
}

static void a_server_that_never_answers_fails_the_run_after_seconds(void **state)
{
    struct house *house = *state;
    house->model.base_url = STR("http://127.0.0.1:1/v1");
    run_task(house, "whole");
    until_ends(house, 1);
    assert_int_equal(house->status, RUN_FAILED);
    check_log(house, 0);
}

static int refuse_open(void *user, struct store **store, struct err *err)
{
    return err_set(err, ERR_CONFIG, "this is not a store");
}

static void an_engine_without_a_store_is_not_made(void **state)
{
    struct house *house = *state;
    struct engine *engine = NULL;
    struct err err = ERR_INIT;
    struct engine_config config = {.loop = &house->loop,
                                   .store = {refuse_open, NULL},
                                   .store_path = str_from(house->store_path),
                                   .boottime = clock_boottime_ms,
                                   .wall_at_boot = clock_wall_at_boot(),
                                   .entropy = random_bytes};
    assert_int_equal(engine_new(&config, &engine, &err), -1);
    assert_string_equal(err.message, "this is not a store");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_parent_and_its_child_work_to_the_end),
        TEST(many_runs_share_an_engine),
        TEST(a_cancel_from_elsewhere_ends_the_run_and_its_child),
        TEST(an_engine_that_ends_leaves_a_run_that_can_be_resumed),
        TEST(a_run_that_is_let_go_before_it_began_can_be_resumed),
        TEST(a_run_that_ended_is_not_run_again),
        TEST(a_run_has_one_owner),
        TEST(a_machine_that_sleeps_does_not_use_up_the_time_of_a_run),
        TEST(a_sleep_before_the_program_ends_does_not_use_up_the_time_of_a_run),
        TEST(a_clock_that_was_set_back_between_two_owners_does_not_matter),
        TEST(a_clock_that_was_set_ahead_between_two_owners_does_not_matter),
        TEST(an_unknown_run_cannot_be_resumed),
        TEST(a_person_is_asked_and_the_answer_lets_the_call_run),
        TEST(a_workspace_that_is_gone_is_an_error_and_not_a_hang),
        TEST(a_model_api_that_is_not_built_in_fails_the_run_with_its_name),
        TEST(a_server_that_never_answers_fails_the_run_after_seconds),
        TEST(an_engine_without_a_store_is_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
