/* `cadre approve`: a yes or a no to a step of a plan that waits for approval, whichever process its run lives in. */
#include "base/json.h"
#include "cli/command.h"
#include "cli/history.h"
#include "core/plan/plan.h"
#include "engine/inbox.h"
#include "os/clock.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"deny", NULL, "say no: the step fails, and what depends on it is skipped"},
    {"all", NULL, "answer for every step that waits"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_approve = {
    .name = "approve",
    .summary = "let a step of a plan start that waits for approval",
    .usage = "RUN [STEP] [--deny]",
    .details = "Without STEP, the one step that waits; where several do, they are listed. A run "
               "that no process works on keeps\n"
               "the answer for `cadre resume`.",
    .example = "cadre approve last",
    .options = options,
    .operand_min = 1,
    .operand_max = 2,
    .run = run,
};

/* A step that waits. */
struct waiting {
    int64_t agent_no, item;
    struct str call_id, id, reason;
};

struct log {
    struct arena arena;
    struct waiting steps[PLAN_STEPS_MAX];
    size_t count;
};

static void forget(struct log *log, struct str call_id, int64_t item)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct waiting *step = &log->steps[i];
        if (!str_eq(step->call_id, call_id) || (item >= 0 && step->item != item))
            log->steps[kept++] = *step;
    }
    log->count = kept;
}

static int take_event(void *user, const struct stored_event *event)
{
    struct log *log = user;
    const struct event_row *row = &event->row;
    struct err ignored = ERR_INIT;
    if (str_is(row->type, "tool.finished"))
        forget(log, row->call_id, -1);
    if (!str_is(row->type, "plan.step") || row->payload.p == NULL)
        return 0;
    struct js *payload = js_parse(row->payload, &ignored);
    int64_t item = js_get_int(payload, "item", 0);
    forget(log, row->call_id, item);
    if (str_is(js_get_str(payload, "kind"), "blocked") && log->count < PLAN_STEPS_MAX)
        log->steps[log->count++] =
            (struct waiting){.agent_no = row->agent_no,
                             .item = item,
                             .call_id = arena_copy(&log->arena, row->call_id),
                             .id = arena_copy(&log->arena, js_get_str(payload, "name"))};
    js_free(payload);
    return 0;
}

static void say(struct invocation *invocation, const struct history *history, struct str step,
                const char *status, const char *text)
{
    struct output *output = &invocation->output;
    struct buf line;
    struct jw w;
    buf_init(&line, 4096);
    if (output->format == OUTPUT_TEXT) {
        buf_printf(&line, "run %s%s%.*s %s\n", history->run_id.text, step.n > 0 ? ", step " : "",
                   STR_FMT(step), text);
        output_clean(output, buf_view(&line), UTF8_LINES);
        buf_release(&line);
        return;
    }
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "approve");
    jw_ktext(&w, "run_id", history->run_id.text);
    if (step.n > 0)
        jw_kstr(&w, "step", step);
    jw_ktext(&w, "status", status);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static int answer(struct invocation *invocation, struct history *history,
                  const struct waiting *step, struct err *err)
{
    bool deny = arguments_has(&invocation->arguments, "deny");
    enum inbox_delivery delivery;
    struct buf body, question;
    struct jw w;
    buf_init(&body, 4096);
    buf_init(&question, 256);
    buf_printf(&question, "%.*s.%lld", STR_FMT(step->call_id), (long long)step->item);
    jw_init(&w, &body);
    jw_object(&w);
    jw_kint(&w, "agent_no", step->agent_no);
    jw_kstr(&w, "call_id", buf_view(&question));
    jw_ktext(&w, "answer", deny ? "no" : "yes");
    jw_end_object(&w);
    int result = inbox_send(history->store, wire_config(history->wire)->store_path,
                            id_str(&history->run_id), STR("approve"), buf_view(&body),
                            wire_workspace(history->wire)->user_id, clock_now_ms(), &delivery, err);
    if (result == 0 && delivery == INBOX_DELIVERED)
        say(invocation, history, step->id, deny ? "denied" : "approved",
            deny ? "is denied" : "is approved");
    else if (result == 0)
        say(invocation, history, step->id, "kept",
            "has an answer, which takes effect at `cadre resume`; of several the first counts");
    buf_release(&question);
    buf_release(&body);
    return result;
}

static int unclear(const struct log *log, struct err *err)
{
    struct buf names;
    buf_init(&names, 8192);
    for (size_t i = 0; i < log->count; i++)
        buf_printf(&names, "%s%.*s", i > 0 ? ", " : "", STR_FMT(log->steps[i].id));
    err_set(err, ERR_USAGE, "several steps wait: %.*s; name one of them, or use --all",
            STR_FMT(buf_view(&names)));
    buf_release(&names);
    return -1;
}

static int answer_steps(struct invocation *invocation, struct history *history,
                        const struct log *log, struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    struct str named = arguments->operand_count > 1 ? arguments->operands[1] : STR_NONE;
    size_t answered = 0;
    if (log->count > 1 && named.p == NULL && !arguments_has(arguments, "all"))
        return unclear(log, err);
    for (size_t i = 0; i < log->count; i++) {
        if (named.p != NULL && !str_eq(named, log->steps[i].id))
            continue;
        if (answer(invocation, history, &log->steps[i], err) != 0)
            return -1;
        answered++;
    }
    if (answered == 0 && named.p != NULL)
        return err_set(err, ERR_NOT_FOUND, "the step \"%.*s\" does not wait for approval",
                       STR_FMT(named));
    if (answered == 0)
        say(invocation, history, STR_NONE, "none", "has no step that waits for approval");
    return 0;
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct history_run row;
    struct log log = {.count = 0};
    struct err err = ERR_INIT;
    enum exit_code code = EXIT_CODE_DONE;
    arena_init(&log.arena);
    if (history_open(&history, invocation, &err) != 0) {
        arena_release(&log.arena);
        return command_fail(invocation, &err);
    }
    if (history_run(&history, &row, &err) != 0)
        code = command_fail(invocation, &err);
    else if (row.run.finished_at >= 0)
        say(invocation, &history, STR_NONE, "ended", "has already ended");
    else if (history.store->ops->read(history.store, id_str(&history.run_id), 0, 0, 0, take_event,
                                      &log, &err) != 0 ||
             answer_steps(invocation, &history, &log, &err) != 0)
        code = command_fail(invocation, &err);
    history_run_release(&row);
    history_close(&history);
    arena_release(&log.arena);
    return code;
}
