/* `cadre events`: a run's timeline, whole or as it grows. */
#include <poll.h>

#include "cli/command.h"
#include "cli/history.h"
#include "cli/lines.h"

#define FOLLOW_MS 200

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"agent", "NAME", "only this agent: its name, id, or \"root\""},
    {"full", NULL, "with the payload of each event"},
    {"follow", NULL, "go on with new events until the run ends"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_events = {
    .name = "events",
    .summary = "list the events of a run",
    .usage = "RUN [--agent NAME] [--full] [--follow]",
    .example = "cadre events last",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

struct timeline {
    struct invocation *invocation;
    struct history *history;
    struct history_agents agents;
    uint32_t agent_no;
    uint64_t seq; /* of the last event that was seen */
    enum { PAYLOAD_HIDDEN, PAYLOAD_SHOWN } payload;
    enum { RUN_GOES_ON, RUN_ENDED } state;
};

static int print_event(void *user, const struct stored_event *event)
{
    struct timeline *timeline = user;
    struct output *output = &timeline->invocation->output;
    const struct event_row *row = &event->row;
    struct buf line;
    buf_init(&line, SIZE_MAX / 4);
    timeline->seq = row->seq;
    if (output->format == OUTPUT_JSON) {
        lines_json(row, id_str(&timeline->history->run_id),
                   history_agent_id(&timeline->agents, row->agent_no), &line);
        output_json(output, &line);
    } else {
        lines_timeline(row, history_agent_name(&timeline->agents, row->agent_no), &line);
        output_print(output, "%.*s", STR_FMT(buf_view(&line)));
        if (timeline->payload == PAYLOAD_SHOWN) {
            output_print(output, "        ");
            output_clean(output, row->payload.p != NULL ? row->payload : STR("(purged)"),
                         UTF8_ONE_LINE);
            output_print(output, "\n");
        }
    }
    buf_release(&line);
    return ferror(output->out) ? 1 : 0;
}

/* Agents that were born since are named too. */
static int read_agents(struct timeline *timeline, struct err *err)
{
    history_agents_release(&timeline->agents);
    return history_agents(timeline->history, &timeline->agents, err);
}

static int find_agent(struct timeline *timeline, struct str typed, struct err *err)
{
    timeline->agent_no = STORE_ALL_AGENTS;
    if (typed.p == NULL)
        return 0;
    for (uint32_t no = 0; no < timeline->agents.count; no++) {
        if (str_eq(typed, timeline->agents.agents[no].name) ||
            str_eq(typed, timeline->agents.agents[no].id)) {
            timeline->agent_no = no;
            return 0;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "the run has no agent \"%.*s\"; cadre tree %s shows them",
                   STR_FMT(typed), timeline->history->run_id.text);
}

static int read_state(struct timeline *timeline, struct err *err)
{
    struct history_run row;
    int result = history_run(timeline->history, &row, err);
    if (result == 0 && row.run.finished_at >= 0)
        timeline->state = RUN_ENDED;
    history_run_release(&row);
    return result;
}

/* Everything after timeline->seq. The state is read first: a run that ended before the reading is
 * read whole. */
static int read_on(struct timeline *timeline, struct err *err)
{
    struct store *store = timeline->history->store;
    if (read_state(timeline, err) != 0 || read_agents(timeline, err) != 0)
        return -1;
    return store->ops->read(store, id_str(&timeline->history->run_id), timeline->seq,
                            timeline->agent_no, 0, print_event, timeline, err);
}

static enum exit_code run(struct invocation *invocation)
{
    struct history history;
    struct timeline timeline = {.invocation = invocation, .history = &history};
    const struct arguments *arguments = &invocation->arguments;
    struct err err = ERR_INIT;
    if (history_open_reading(&history, invocation, &err) != 0)
        return command_fail(invocation, &err);
    if (arguments_has(arguments, "full"))
        timeline.payload = PAYLOAD_SHOWN;
    int result = read_agents(&timeline, &err);
    if (result == 0)
        result = find_agent(&timeline, arguments_value(arguments, "agent"), &err);
    if (result == 0)
        result = read_on(&timeline, &err);
    while (result == 0 && arguments_has(arguments, "follow") && timeline.state == RUN_GOES_ON &&
           !ferror(invocation->output.out)) {
        fflush(invocation->output.out);
        poll(NULL, 0, FOLLOW_MS);
        result = read_on(&timeline, &err);
    }
    history_agents_release(&timeline.agents);
    history_close(&history);
    return result == 0 ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
