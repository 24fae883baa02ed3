/* `cadre verify`: recomputes the hash chain of a run and checks what must hold for every log. */
#include "cli/command.h"
#include "cli/history.h"
#include "engine/verify.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"head", "HASH", "the head hash that the run printed: shows that nothing was cut off"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_verify = {
    .name = "verify",
    .summary = "check a run's log: hash chain, order, one close per child",
    .usage = "RUN [--head HASH]",
    .example = "cadre verify last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

static void print_json(struct output *output, const struct history *history,
                       const struct verify_report *report)
{
    struct buf line;
    struct jw w;
    buf_init(&line, 16384);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "verify");
    jw_ktext(&w, "run_id", history->run_id.text);
    jw_kbool(&w, "ok", report->problem[0] == '\0');
    jw_kint(&w, "events", (int64_t)report->events);
    jw_ktext(&w, "head", report->head);
    jw_kint(&w, "children", (int64_t)report->children);
    jw_kint(&w, "closes", (int64_t)report->closes);
    jw_kint(&w, "bad_seq", (int64_t)report->bad_seq);
    jw_ktext(&w, "problem", report->problem);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct verify_report report = {0};
    struct output *output = &invocation->output;
    struct err err = ERR_INIT;
    if (history_open(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = verify_run(history.store, id_str(&history.run_id),
                            arguments_value(&invocation->arguments, "head"), &report, &err);
    bool good = report.problem[0] == '\0';
    if (result == 0 && output->format == OUTPUT_JSON)
        print_json(output, &history, &report);
    else if (result == 0 && good)
        output_print(
            output, "run %s verifies: %llu events, %llu children with %llu closes, head %s\n",
            history.run_id.text, (unsigned long long)report.events,
            (unsigned long long)report.children, (unsigned long long)report.closes, report.head);
    else if (result == 0)
        output_error(output, "run %s does not verify, event %llu: %s", history.run_id.text,
                     (unsigned long long)report.bad_seq, report.problem);
    history_close(&history);
    if (result != 0)
        return command_fail(invocation, &err);
    return good ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}
