/* `cadre verify`: checks the log of a run, what other tables say of it, and the database that holds them. */
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
    .summary = "check a run's log, the tables that follow from it, and the store",
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
    buf_init(&line, 65536);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "verify");
    jw_ktext(&w, "run_id", history->run_id.text);
    jw_kbool(&w, "ok", report->finding_count == 0);
    jw_kint(&w, "events", (int64_t)report->events);
    jw_ktext(&w, "head", report->head);
    jw_kint(&w, "children", (int64_t)report->children);
    jw_kint(&w, "closes", (int64_t)report->closes);
    jw_kint(&w, "bad_seq", (int64_t)report->bad_seq);
    jw_ktext(&w, "place", report->findings[0].place);
    jw_ktext(&w, "problem", report->findings[0].text);
    jw_key(&w, "findings");
    jw_array(&w);
    for (size_t i = 0; i < report->finding_count && i < VERIFY_FINDINGS_MAX; i++) {
        jw_object(&w);
        jw_ktext(&w, "place", report->findings[i].place);
        jw_ktext(&w, "problem", report->findings[i].text);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_kint(&w, "finding_count", (int64_t)report->finding_count);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static void print_findings(struct output *output, const struct history *history,
                           const struct verify_report *report)
{
    for (size_t i = 0; i < report->finding_count && i < VERIFY_FINDINGS_MAX; i++)
        output_error(output, "run %s does not verify, %s: %s", history->run_id.text,
                     report->findings[i].place, report->findings[i].text);
    if (report->finding_count > VERIFY_FINDINGS_MAX)
        output_error(output, "and %zu more", report->finding_count - VERIFY_FINDINGS_MAX);
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct verify_report report = {0};
    struct output *output = &invocation->output;
    struct err err = ERR_INIT;
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = verify_run(history.store, id_str(&history.run_id),
                            arguments_value(&invocation->arguments, "head"), &report, &err);
    bool good = report.finding_count == 0;
    if (result == 0 && output->format == OUTPUT_JSON)
        print_json(output, &history, &report);
    else if (result == 0 && good)
        output_print(
            output, "run %s verifies: %llu events, %llu children with %llu closes, head %s\n",
            history.run_id.text, (unsigned long long)report.events,
            (unsigned long long)report.children, (unsigned long long)report.closes, report.head);
    else if (result == 0)
        print_findings(output, &history, &report);
    history_close(&history);
    if (result != 0)
        return command_fail(invocation, &err);
    return good ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}
