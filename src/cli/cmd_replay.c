/* `cadre replay`: feeds every logged input to the core again and compares what it decides; nothing
 * runs. */
#include "cli/command.h"
#include "cli/history.h"
#include "core/run/event.h"
#include "engine/verify.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_replay = {
    .name = "replay",
    .summary = "decide a run again from its log and compare byte for byte; nothing is executed",
    .usage = "RUN",
    .details = "Exits with 0 when all of it is alike, with 1 when something differs, and with 2 "
               "when nothing differs but a part was "
               "decided by the rules of another version, which can be folded and not compared.",
    .example = "cadre replay last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

/* Exit codes: 0 all was decided again and is alike, 1 something differs, 2 other rules decided at least a part of it. */
static enum exit_code code_of(const struct verify_report *report)
{
    if (report->finding_count > 0)
        return EXIT_CODE_FAILED;
    return report->not_compared > 0 ? EXIT_CODE_USAGE : EXIT_CODE_DONE;
}

static void print_json(struct output *output, const struct history *history,
                       const struct verify_report *report)
{
    struct buf line;
    struct jw w;
    buf_init(&line, 16384);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "replay");
    jw_ktext(&w, "run_id", history->run_id.text);
    jw_kbool(&w, "ok", code_of(report) == EXIT_CODE_DONE);
    jw_kint(&w, "events", (int64_t)report->events);
    jw_kint(&w, "inputs", (int64_t)report->inputs);
    jw_kint(&w, "not_compared", (int64_t)report->not_compared);
    jw_kint(&w, "bad_seq", (int64_t)report->bad_seq);
    jw_ktext(&w, "problem", report->findings[0].text);
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
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = replay_run(history.store, id_str(&history.run_id), &report, &err);
    enum exit_code code = code_of(&report);
    if (result == 0 && output->format == OUTPUT_JSON)
        print_json(output, &history, &report);
    else if (result == 0 && code == EXIT_CODE_DONE)
        output_print(output, "run %s replays: %llu inputs decided again, %llu events alike\n",
                     history.run_id.text, (unsigned long long)report.inputs,
                     (unsigned long long)report.events);
    else if (result == 0 && code == EXIT_CODE_USAGE)
        output_error(output,
                     "run %s: %llu of its %llu events were decided by rules %u and this program "
                     "has rules %u. "
                     "All of them fold; those decisions were not compared. A cadre with rules %u "
                     "can compare them.",
                     history.run_id.text, (unsigned long long)report.not_compared,
                     (unsigned long long)report.events, (unsigned)report.other_rules,
                     (unsigned)EVENT_VERSION, (unsigned)report.other_rules);
    else if (result == 0)
        output_error(output, "run %s replays differently at event %llu: %s", history.run_id.text,
                     (unsigned long long)report.bad_seq, report.findings[0].text);
    history_close(&history);
    if (result != 0)
        return command_fail(invocation, &err);
    return code;
}
