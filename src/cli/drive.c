/* One run on one loop: the engine's callbacks feed the display, signals and answers go back to the
 * engine.
 *
 * The first Ctrl-C (or SIGTERM, SIGHUP) parks the run; the second ends the process at once. Both
 * ways the log is durable, the run can be resumed, and the exit code is 75. A reader of the output
 * who went away counts as a first Ctrl-C; one who is slow holds nothing up (catchup.h), and is
 * waited for at the end. */
#include "cli/drive.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mask.h"
#include "cli/asked.h"
#include "cli/asking.h"
#include "cli/catchup.h"
#include "cli/lines.h"
#include "cli/opening.h"
#include "cli/refused.h"
#include "cli/screen.h"
#include "cli/stall.h"
#include "cli/starting.h"
#include "cli/stopping.h"
#include "cli/text.h"
#include "cli/wrapup.h"
#include "os/clock.h"
#include "os/priority.h"

#define READER_CHECK_MS 20 /* at the end: whether the reader still takes something */
#define READER_MOMENT_MS 5 /* one that keeps up needs no more */
#define LAST_WORDS_MS 200  /* for what was said before the process ends at once */

enum display { DISPLAY_TREE, DISPLAY_LINES, DISPLAY_JSON, DISPLAY_NOTHING };

struct driver {
    struct invocation *invocation;
    struct output *output;
    const struct drive *drive;
    enum display display;
    enum asker asker;
    uv_loop_t loop;
    uv_signal_t signals[STOPPING_SIGNALS];
    struct stall stall;
    struct engine *engine;
    struct id run_id;
    struct view view;
    struct screen screen;
    struct asking asking;
    struct refused refused;
    struct catchup catchup;
    uv_async_t output_changed; /* the writer of the output has news */
    uv_timer_t reader;         /* at the end */
    uint64_t reader_taken;
    int64_t reader_deadline;
    enum { OPENING_DUE, OPENING_PRINTED } opening;
    enum { STOP_NOT_ASKED, STOP_ASKED } stop;
    enum { DRIVER_RUNNING, DRIVER_ENDED } state;
    enum exit_code code; /* of the run, once it has ended */
    struct wrapup wrapup;
    struct err failure;
};

/* --- ending it
 * ---------------------------------------------------------------------------------------- */

static void say(struct driver *driver, const char *text)
{
    if (driver->display == DISPLAY_TREE)
        screen_pause(&driver->screen);
    output_error(driver->output, "%s", text);
    if (driver->display == DISPLAY_TREE)
        screen_resume(&driver->screen);
}

/* Also before the screen is there and after it is gone. */
static void on_warning(void *user, struct str text)
{
    struct driver *driver = user;
    bool drawn = driver->display == DISPLAY_TREE && driver->screen.output != NULL &&
                 !uv_is_closing((uv_handle_t *)&driver->screen.timer);
    if (drawn)
        screen_pause(&driver->screen);
    output_error(driver->output, "warning: %.*s", STR_FMT(text));
    if (drawn)
        screen_resume(&driver->screen);
}

static void ask_to_park(struct driver *driver, const char *reason)
{
    struct err err = ERR_INIT;
    struct buf body;
    struct jw w;
    driver->stop = STOP_ASKED;
    buf_init(&body, 1024);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "reason", reason);
    jw_end_object(&w);
    if (engine_send(driver->engine, id_str(&driver->run_id), STR("park"), buf_view(&body), &err) !=
        0)
        say(driver, err.message);
    buf_release(&body);
}

/* A run that has ended keeps its code, but for success: its reader does not have everything. */
static enum exit_code code_at_once(const struct driver *driver)
{
    if (driver->state != DRIVER_ENDED)
        return EXIT_CODE_PARKED;
    return driver->code != EXIT_CODE_DONE ? driver->code : EXIT_CODE_FAILED;
}

static void exit_at_once(struct driver *driver)
{
    enum exit_code code = code_at_once(driver);
    if (driver->state == DRIVER_RUNNING) {
        struct buf line;
        buf_init(&line, 1024);
        buf_printf(&line, "stopped at once; " ENDING_CHOICES, STR_FMT(id_str(&driver->run_id)),
                   STR_FMT(id_str(&driver->run_id)));
        say(driver, line.p);
        buf_release(&line);
    }
    output_drain(driver->output, LAST_WORDS_MS);
    keys_restore();
    if (driver->display == DISPLAY_TREE)
        screen_restore_cursor();
    _exit(code);
}

static void park_for(struct driver *driver, int number)
{
    say(driver, "parking the run, press again to stop at once");
    for (size_t i = 0; i < STOPPING_SIGNALS; i++) {
        if (stopping_signals[i].number == number)
            ask_to_park(driver, stopping_signals[i].reason);
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct driver *driver = handle->data;
    bool stops = driver->stop == STOP_ASKED || driver->state == DRIVER_ENDED;
    /* A terminal that is closed sends SIGHUP more than once: the kernel does, and the shell. Nobody is impatient. */
    if (stops && number == SIGHUP)
        return;
    if (stops)
        exit_at_once(driver);
    park_for(driver, number);
}

/* A terminal can be seen to be gone before its signal comes. Under nohup the run goes on without the person. */
static enum question_hangup on_hangup(void *user)
{
    struct driver *driver = user;
    if (stopping_is_ignored(SIGHUP))
        return HANGUP_IGNORED;
    if (driver->stop == STOP_NOT_ASKED && driver->state == DRIVER_RUNNING)
        park_for(driver, SIGHUP);
    return HANGUP_PARKS;
}

/* Nothing that is printed can reach the reader whole any more. */
static bool is_output_lost(struct driver *driver)
{
    return output_state(driver->output) == OUTPIPE_BROKEN ||
           driver->catchup.state == CATCHUP_FAILED;
}

static void check_reader(struct driver *driver)
{
    if (driver->stop != STOP_NOT_ASKED || driver->state != DRIVER_RUNNING ||
        !is_output_lost(driver))
        return;
    if (driver->catchup.state == CATCHUP_FAILED)
        output_error(driver->output, "events could not be read back from the store: %s",
                     driver->catchup.err.message);
    output_error(driver->output, "the output cannot be written any more: parking the run");
    ask_to_park(driver, "the output could not be written any more");
}

/* --- what the engine says
 * ----------------------------------------------------------------------------- */

/* One event for the reader, as it becomes durable or when it is read back. */
static void print_event(void *user, const struct event_row *row)
{
    struct driver *driver = user;
    struct buf line;
    buf_init(&line, SIZE_MAX / 4);
    if (driver->display == DISPLAY_JSON) {
        lines_json(row, id_str(&driver->run_id), view_id(&driver->view, row->agent_no), &line);
        output_json(driver->output, &line);
    } else {
        lines_event(row, view_name(&driver->view, row->agent_no), &line);
        output_print(driver->output, "%.*s", STR_FMT(buf_view(&line)));
        fflush(driver->output->out);
    }
    buf_release(&line);
}

static void warn_of_refused(struct driver *driver, const struct event_row *row)
{
    struct buf warning;
    buf_init(&warning, REFUSED_WARNING_MAX);
    refused_warning(&driver->refused, row, &warning);
    if (warning.n > 0)
        say(driver, warning.p);
    buf_release(&warning);
}

/* Whether nobody needs to be asked any more about the event's call. */
static bool is_answered_by(const struct event_row *row)
{
    static const char *const types[] = {"tool.finished", "tool.interrupted", "permission.granted",
                                        "permission.denied", "run.unpaused"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (str_is(row->type, types[i]))
            return true;
    }
    return false;
}

/* A step was approved or given up, here or from elsewhere: its question goes away. */
static void drop_question_of_step(struct driver *driver, const struct event_row *row)
{
    struct err ignored = ERR_INIT;
    struct js *payload = js_parse(row->payload, &ignored);
    struct buf id;
    buf_init(&id, 256);
    buf_printf(&id, "%.*s.%lld", STR_FMT(row->call_id), (long long)js_get_int(payload, "item", -1));
    if (!str_is(js_get_str(payload, "kind"), "blocked"))
        questions_drop(&driver->asking.questions, buf_view(&id));
    buf_release(&id);
    js_free(payload);
}

/* The first line. Which model and cap are in force is known when the run has begun, or was read back. */
static void open_display(struct driver *driver, const struct run *run)
{
    driver->opening = OPENING_PRINTED;
    if (driver->display == DISPLAY_TREE)
        screen_pause(&driver->screen);
    if (driver->display == DISPLAY_JSON)
        opening_json(driver->output, driver->drive, run);
    else if (driver->display != DISPLAY_NOTHING)
        opening_line(driver->output, driver->drive, run);
    if (driver->display == DISPLAY_TREE)
        screen_resume(&driver->screen);
}

static void on_event(void *user, const struct run *run, const struct event_row *row)
{
    struct driver *driver = user;
    if (driver->opening == OPENING_DUE && run_agent(run, 0) != NULL)
        open_display(driver, run);
    /* The first event of a resumed run comes when its state is already there, whole. */
    if (driver->view.count == 0)
        view_update_all(&driver->view, run, clock_steady_ms());
    else if (driver->display == DISPLAY_TREE || !view_knows(&driver->view, row->agent_no))
        view_update(&driver->view, run, row->agent_no, clock_steady_ms());
    asking_workspace(&driver->asking, run_workspace(run));
    if (row->call_id.n > 0 && is_answered_by(row))
        questions_drop(&driver->asking.questions, row->call_id);
    if (driver->asking.questions.count > 0 && str_is(row->type, "plan.step"))
        drop_question_of_step(driver, row);
    if (driver->display == DISPLAY_JSON || driver->display == DISPLAY_LINES)
        catchup_event(&driver->catchup, row);
    warn_of_refused(driver, row);
    check_reader(driver);
}

/* Of use for a moment only, as progress is: a reader who lags behind misses it, and has the whole text with its event. */
static bool takes_moments(struct driver *driver)
{
    return driver->display == DISPLAY_JSON && driver->catchup.state == CATCHUP_LIVE &&
           output_state(driver->output) == OUTPIPE_IDLE;
}

static void print_delta(struct driver *driver, uint32_t agent_no, const char *kind, struct str text)
{
    struct buf line;
    if (driver->drive->lines != DRIVE_DELTAS || !takes_moments(driver))
        return;
    buf_init(&line, SIZE_MAX / 4);
    lines_delta(id_str(&driver->run_id), view_id(&driver->view, agent_no), kind, text, &line);
    output_json(driver->output, &line);
    buf_release(&line);
}

static void on_delta(void *user, struct str run_id_text, uint32_t agent_no, struct str text)
{
    struct driver *driver = user;
    if (driver->display == DISPLAY_TREE)
        view_delta(&driver->view, agent_no, text);
    print_delta(driver, agent_no, "text", text);
}

static void on_reasoning(void *user, struct str run_id_text, uint32_t agent_no, struct str text)
{
    struct driver *driver = user;
    if (driver->display == DISPLAY_TREE)
        view_reasoning(&driver->view, agent_no, text);
    print_delta(driver, agent_no, "reasoning", text);
}

static void on_progress(void *user, struct str run_id_text, uint32_t agent_no, struct str call_id,
                        struct str text)
{
    struct driver *driver = user;
    if (driver->display == DISPLAY_TREE)
        view_progress(&driver->view, agent_no, text);
    if (!takes_moments(driver))
        return;
    struct buf line;
    buf_init(&line, SIZE_MAX / 4);
    lines_progress(id_str(&driver->run_id), view_id(&driver->view, agent_no), call_id, text, &line);
    output_json(driver->output, &line);
    buf_release(&line);
}

static void on_waiting(void *user, struct str run_id_text, uint32_t agent_no, struct str reason)
{
    struct driver *driver = user;
    if (driver->display == DISPLAY_TREE)
        view_waiting(&driver->view, agent_no, reason, clock_steady_ms());
}

/* Nobody sits here: whoever may decide does so from elsewhere. */
static void tell_step_waits(struct driver *driver, struct str arguments)
{
    struct err ignored = ERR_INIT;
    struct js *asked = js_parse(arguments, &ignored);
    struct buf line;
    buf_init(&line, 4096);
    buf_printf(&line, "the step %.*s waits for approval: cadre approve %s %.*s",
               STR_FMT(js_get_str(asked, "step")), driver->run_id.text,
               STR_FMT(js_get_str(asked, "step")));
    say(driver, line.p);
    buf_release(&line);
    js_free(asked);
}

/* The same for a call, where approvals.via is inbox. */
static void tell_call_waits(struct driver *driver, uint32_t agent_no, struct str call_id,
                            struct str tool)
{
    struct buf line;
    buf_init(&line, 4096);
    buf_printf(&line, "%.*s waits for an answer before it may call %.*s: cadre approve %s %.*s",
               STR_FMT(view_name(&driver->view, agent_no)), STR_FMT(tool), driver->run_id.text,
               STR_FMT(call_id));
    say(driver, line.p);
    buf_release(&line);
}

static void on_question(void *user, struct str run_id_text, uint32_t agent_no, struct str call_id,
                        struct str tool, struct str arguments)
{
    struct driver *driver = user;
    if (question_is_of_step(call_id) && driver->asker != ASKER_TERMINAL) {
        tell_step_waits(driver, arguments);
        return;
    }
    if (driver->asker != ASKER_TERMINAL) {
        tell_call_waits(driver, agent_no, call_id, tool);
        return;
    }
    questions_put(&driver->asking.questions, agent_no, view_name(&driver->view, agent_no), call_id,
                  tool, arguments);
}

static void on_preview(void *user, struct str run_id_text, uint32_t agent_no, struct str call_id,
                       const struct preview *preview, enum preview_standing standing)
{
    struct driver *driver = user;
    asking_preview(&driver->asking, agent_no, call_id, preview, standing);
}

static void on_end(void *user, struct str run_id_text, const struct run *run,
                   const struct err *failure)
{
    struct driver *driver = user;
    driver->state = DRIVER_ENDED;
    if (failure != NULL) {
        driver->failure = *failure;
        driver->code = exit_of_error(failure->class);
    } else if (run != NULL) {
        wrapup_note(&driver->wrapup, run);
        driver->code = exit_of_run(str_from(run_status_text(run_state(run))),
                                   str_from(outcome_text(run_outcome(run))));
    }
    uv_stop(&driver->loop);
}

/* --- the reader
 * --------------------------------------------------------------------------------------- */

/* On the writer's thread. */
static void wake_loop(void *user)
{
    struct driver *driver = user;
    uv_async_send(&driver->output_changed);
}

static void on_output_changed(uv_async_t *handle)
{
    struct driver *driver = handle->data;
    catchup_go_on(&driver->catchup);
    check_reader(driver);
}

static int open_reader(struct driver *driver, struct err *err)
{
    int result = uv_async_init(&driver->loop, &driver->output_changed, on_output_changed);
    if (result == 0)
        result = uv_timer_init(&driver->loop, &driver->reader);
    if (result != 0)
        return err_set(err, ERR_IO, "the output cannot be watched: %s", uv_strerror(result));
    driver->output_changed.data = driver->reader.data = driver;
    uv_unref((uv_handle_t *)&driver->output_changed);
    if (output_detach(driver->output, err) != 0)
        return -1;
    output_listen(driver->output, wake_loop, driver);
    return 0;
}

static void close_reader(struct driver *driver)
{
    output_listen(driver->output, NULL, NULL);
    while (driver->catchup.state == CATCHUP_READING)
        uv_run(&driver->loop, UV_RUN_ONCE);
    catchup_close(&driver->catchup);
    if (driver->output_changed.data != NULL)
        uv_close((uv_handle_t *)&driver->output_changed, NULL);
    if (driver->reader.data != NULL)
        uv_close((uv_handle_t *)&driver->reader, NULL);
}

static void on_reader_check(uv_timer_t *timer)
{
    struct driver *driver = timer->data;
    uint64_t taken = outpipe_taken(driver->output->out_pipe);
    if (taken != driver->reader_taken)
        driver->reader_deadline = clock_monotonic_ms() + driver->output->standstill_ms;
    driver->reader_taken = taken;
    catchup_go_on(&driver->catchup);
}

/* The run has ended and its lease is released: nobody waits for this process but its reader. */
static void show_the_rest(struct driver *driver)
{
    const struct catchup *catchup = &driver->catchup;
    driver->reader_deadline = clock_monotonic_ms() + driver->output->standstill_ms;
    uv_timer_start(&driver->reader, on_reader_check, READER_CHECK_MS, READER_CHECK_MS);
    while (catchup->printed != catchup->latest && !is_output_lost(driver) &&
           clock_monotonic_ms() < driver->reader_deadline)
        uv_run(&driver->loop, UV_RUN_ONCE);
    uv_timer_stop(&driver->reader);
    if (catchup->printed == catchup->latest)
        return;
    output_error(driver->output,
                 "the events from %llu on were not shown; read them with: cadre events %s",
                 (unsigned long long)catchup->printed + 1, driver->run_id.text);
    driver->output->standstill_ms = 0; /* waited for long enough */
}

/* Everything is printed: waits until it is read, and listens to signals meanwhile. */
static void wait_for_reader(struct driver *driver)
{
    output_drain(driver->output, READER_MOMENT_MS);
    if (driver->output->out_pipe == NULL)
        return;
    driver->reader_deadline = clock_monotonic_ms() + driver->output->standstill_ms;
    uv_timer_start(&driver->reader, on_reader_check, READER_CHECK_MS, READER_CHECK_MS);
    while ((output_state(driver->output) == OUTPIPE_BUSY ||
            output_state(driver->output) == OUTPIPE_FULL) &&
           clock_monotonic_ms() < driver->reader_deadline)
        uv_run(&driver->loop, UV_RUN_ONCE);
    uv_timer_stop(&driver->reader);
    driver->output->standstill_ms = 0;
}

/* --- one run
 * ------------------------------------------------------------------------------------------ */

/* Whoever wrote a key into AGENTS.md did not mean models and the log to have it. Children's files pass the engine's masks. */
static void mask_instructions(struct driver *driver, struct arena *arena, struct str *text)
{
    struct buf masked;
    if (text->n == 0)
        return;
    buf_init(&masked, text->n + 64);
    buf_str(&masked, *text);
    size_t count = masker_apply(wire_masker(driver->drive->wire), &masked);
    if (count > 0) {
        masked.max += 64;
        buf_printf(&masked, "[%zu %s masked]\n", count, count == 1 ? "secret" : "secrets");
        *text = arena_copy(arena, buf_view(&masked));
        output_error(driver->output,
                     "the instruction files hold %zu %s, masked for models and the log "
                     "(secrets.mask)",
                     count, count == 1 ? "secret" : "secrets");
    }
    buf_release(&masked);
}

static int begin(struct driver *driver, struct err *err)
{
    const struct drive *drive = driver->drive;
    if (drive->kind == DRIVE_RESUME) {
        driver->run_id = drive->run_id;
        return engine_resume(driver->engine, id_str(&driver->run_id), err);
    }
    struct workspace *workspace = wire_workspace(drive->wire);
    if (starting_checkout(drive->wire, err) != 0)
        return -1;
    struct engine_start start = {
        .task = drive->task,
        .session_id = workspace->session_id,
        .user_id = workspace->user_id,
        .workspace_id = workspace->workspace_id,
        .workspace_path = workspace->path,
        .settings = &wire_config(drive->wire)->settings,
        .output_schema = drive->output_schema,
        .plan = drive->plan,
    };
    const struct workspace_warning warning = {on_warning, driver};
    start.instructions =
        workspace_instructions(workspace, &wire_config(drive->wire)->above, &warning);
    mask_instructions(driver, &workspace->arena, &start.instructions);
    return engine_run(driver->engine, &start, &driver->run_id, err);
}

static int start_display(struct driver *driver, struct err *err)
{
    if (driver->display != DISPLAY_TREE)
        return 0;
    if (screen_start(&driver->screen, &driver->loop, driver->output, &driver->view, clock_steady_ms,
                     err) == 0) {
        driver->asking.questions.screen = &driver->screen;
        return 0;
    }
    driver->display = DISPLAY_LINES;
    return -1;
}

static int start_signals(struct driver *driver, struct err *err)
{
    for (size_t i = 0; i < STOPPING_SIGNALS; i++) {
        uv_signal_t *handle = &driver->signals[i];
        handle->data = driver;
        if (uv_signal_init(&driver->loop, handle) != 0 ||
            (!stopping_is_ignored(stopping_signals[i].number) &&
             uv_signal_start(handle, on_signal, stopping_signals[i].number) != 0))
            return err_set(err, ERR_IO, "signals cannot be caught");
        uv_unref((uv_handle_t *)handle);
    }
    return 0;
}

/* The last things that are open: signals are listened to until the reader has everything. */
static void close_all(struct driver *driver)
{
    close_reader(driver);
    for (size_t i = 0; i < STOPPING_SIGNALS; i++) {
        if (driver->signals[i].loop != NULL && !uv_is_closing((uv_handle_t *)&driver->signals[i]))
            uv_close((uv_handle_t *)&driver->signals[i], NULL);
    }
}

static int watch(struct driver *driver, struct err *err)
{
    const struct engine_watch callbacks = {.broken = driver->drive->broken,
                                           .event = on_event,
                                           .delta = on_delta,
                                           .reasoning = on_reasoning,
                                           .progress = on_progress,
                                           .waiting = on_waiting,
                                           .question = on_question,
                                           .preview = on_preview,
                                           .end = on_end,
                                           .user = driver,
                                           .asker = driver->asker};
    struct engine *engine = NULL;
    int result = -1;
    if (open_reader(driver, err) != 0)
        goto out;
    if (driver->asker == ASKER_TERMINAL &&
        questions_start(&driver->asking.questions, &driver->loop, err) != 0)
        goto out;
    wire_listen(driver->drive->wire, on_warning, driver);
    if (wire_engine(driver->drive->wire, &driver->loop, &callbacks, &engine, err) != 0)
        goto out;
    driver->engine = driver->asking.engine = engine;
    /* Until now a signal ended the process (stopping.h); from now on there is a run to park. */
    if (start_signals(driver, err) != 0 || begin(driver, err) != 0)
        goto out;
    driver->catchup.run_id = driver->asking.run_id = driver->run_id;
    if (start_display(driver, err) != 0)
        goto out;
    priority_prompt();
    stall_start(&driver->stall, &driver->loop);
    while (driver->state == DRIVER_RUNNING && uv_run(&driver->loop, UV_RUN_DEFAULT) != 0)
        continue;
    stall_stop(&driver->stall);
    show_the_rest(driver);
    result = 0;
    if (driver->state == DRIVER_RUNNING)
        result = err_set(err, ERR_BUG, "the engine has nothing to do, but the run has not ended");
out:
    driver->state = DRIVER_ENDED;
    questions_stop(&driver->asking.questions);
    driver->asking.questions.screen = NULL;
    if (driver->screen.output != NULL)
        screen_stop(&driver->screen);
    if (engine != NULL)
        wire_engine_free(driver->drive->wire, engine);
    wire_listen(driver->drive->wire, NULL, NULL);
    uv_run(&driver->loop, UV_RUN_DEFAULT);
    return result;
}

/* Whether the failed run is in the store, so that it is true to say that it can be resumed. */
static bool can_go_on(struct driver *driver)
{
    struct store *store = NULL;
    struct err ignored = ERR_INIT;
    struct id found;
    if (driver->failure.class == ERR_CORRUPT || driver->failure.class == ERR_NOT_FOUND ||
        wire_store(driver->drive->wire, &store, &ignored) != 0)
        return false;
    bool there = store->ops->run_find(store, id_str(&driver->run_id), &found, &ignored) == 0;
    store->ops->close(store);
    return there;
}

static enum exit_code finish(struct driver *driver)
{
    struct invocation *invocation = driver->invocation;
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_FAILED;
    if (driver->failure.class != ERR_NONE) {
        code = command_fail(invocation, &driver->failure);
        if (can_go_on(driver))
            output_error(driver->output, "the log is intact; go on with: cadre resume %s",
                         driver->run_id.text);
        return code;
    }
    driver->wrapup.wire = driver->drive->wire;
    driver->wrapup.run_id = driver->run_id;
    driver->wrapup.result = driver->drive->result == DRIVE_APPLIES ? WRAPUP_APPLIES : WRAPUP_LEAVES;
    if (wrapup_print(&driver->wrapup, driver->output,
                     driver->display == DISPLAY_NOTHING ? ENDING_ANSWER : ENDING_ALL, &code,
                     &err) != 0)
        code = command_fail(invocation, &err);
    if (code == EXIT_CODE_DONE && driver->catchup.printed != driver->catchup.latest)
        code = EXIT_CODE_FAILED;
    return code;
}

static int open_store(void *user, struct store **store, struct err *err)
{
    return wire_store(user, store, err);
}

static enum display display_of(const struct output *output, const struct drive *drive)
{
    if (output->format == OUTPUT_JSON)
        return DISPLAY_JSON;
    if (drive->volume == DRIVE_QUIET)
        return DISPLAY_NOTHING;
    return output->target == OUTPUT_TERMINAL ? DISPLAY_TREE : DISPLAY_LINES;
}

enum exit_code drive_run(struct invocation *invocation, const struct drive *drive)
{
    struct err err = ERR_INIT;
    struct driver *driver = calloc(1, sizeof *driver);
    enum exit_code code;
    if (driver == NULL || uv_loop_init(&driver->loop) != 0)
        abort();
    driver->invocation = invocation;
    driver->output = &invocation->output;
    driver->drive = drive;
    driver->display = display_of(driver->output, drive);
    driver->asker = asked_by(driver->output, wire_config(drive->wire));
    asking_init(&driver->asking, driver->output, &driver->loop, wire_config(drive->wire));
    driver->asking.hangup = on_hangup;
    driver->asking.user = driver;
    driver->catchup = (struct catchup){.loop = &driver->loop,
                                       .output = driver->output,
                                       .opener = {open_store, drive->wire},
                                       .print = print_event,
                                       .user = driver};
    view_init(&driver->view);
    if (watch(driver, &err) == 0)
        code = finish(driver);
    else
        code = command_fail(invocation, &err);
    driver->code = code;
    if (code == EXIT_CODE_DONE && drive->then != NULL)
        code = drive->then(drive->user, &driver->run_id);
    wait_for_reader(driver);
    close_all(driver);
    uv_run(&driver->loop, UV_RUN_DEFAULT);
    view_release(&driver->view);
    asking_release(&driver->asking);
    wrapup_release(&driver->wrapup);
    if (uv_loop_close(&driver->loop) != 0)
        output_error(driver->output, "bug: the loop still has open handles");
    free(driver);
    return code;
}
