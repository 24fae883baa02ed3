/* The delegation tools as models see them: the seeds' schemas, with the arguments that CONTRACT.md adds. Pure. */
#include "base/json.h"
#include "core/run/door.h"

/* How hard the model of a child reasons. The doors take the other efforts too; three keep schemas small. */
#define EFFORT ",\"effort\":{\"type\":\"string\",\"enum\":[\"low\",\"medium\",\"high\"]}"

static const char spawn_agent_description[] =
    "Spawn a sub-agent to perform a focused task independently. The sub-agent has its own context "
    "window and returns a result "
    "summary. Use for: parallel investigation, focused code search, isolated analysis. Do NOT use "
    "for trivial tasks a single "
    "tool call can handle.";

static const char spawn_agent_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"task\":{\"type\":\"string\",\"description\":\"Clear task description for the sub-agent. Be "
    "specific about what files to look "
    "at and what to report back.\"},"
    "\"scope\":{\"type\":\"string\",\"description\":\"Optional: directory or file path to focus on "
    "(relative to cwd)\"},"
    "\"max_tool_calls\":{\"type\":\"number\",\"description\":\"Max tool calls the sub-agent can "
    "make (default: 15)\"},"
    "\"mode\":{\"type\":\"string\",\"enum\":[\"plan\",\"auto\"],\"description\":\"Permission mode "
    "for sub-agent. \\\"plan\\\" = "
    "read-only, \\\"auto\\\" = can edit files.\"},"
    "\"role\":{\"type\":\"string\",$ROLES\"description\":\"Optional: "
    "a specialised role with its own tools and limits\"},"
    "\"budget\":{\"type\":\"object\",\"description\":\"Optional "
    "limits\",\"properties\":{\"tool_calls\":{\"type\":\"number\"},"
    "\"tokens\":{\"type\":\"number\"},\"cost_usd\":{\"type\":\"number\"},\"timeout_ms\":{\"type\":"
    "\"number\"}}},"
    "\"allowed_tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
    "\"Optional: the only tools the sub-agent may "
    "use\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Optional: information to pass on; the "
    "sub-agent sees nothing else of this "
    "conversation\"},"
    "\"context_files\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
    "\"Optional: files whose content is passed on\"}" EFFORT "},\"required\":[\"task\"]}";

static const char spawn_description[] =
    "Start a sub-agent in the background and return its job id at once. Go on with other work, and "
    "collect results with spawn_await.";
static const char spawn_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"task\":{\"type\":\"string\",\"description\":\"The task description for the sub-agent\"},"
    "\"profile\":{\"type\":\"string\",$PROFILES\"description\":\"Named profile from config\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Additional context for the sub-agent; it "
    "sees nothing else of this conversation\"},"
    "\"system_prompt\":{\"type\":\"string\",\"description\":\"Replaces the profile's inline "
    "prompt\"},"
    "\"tools\":{\"type\":\"string\",\"description\":\"Comma-separated list of the only tools it "
    "may "
    "use; overrides the profile's\"}" EFFORT "},\"required\":[\"task\"]}";

static const char spawn_await_description[] =
    "Wait for jobs started with spawn and return their results, one block per job.";
static const char spawn_await_schema[] = "{\"type\":\"object\",\"properties\":{"
                                         "\"job_ids\":{\"type\":\"string\",\"description\":\"Comma-"
                                         "separated job ids, or \\\"*\\\" for all "
                                         "jobs\"}"
                                         "},\"required\":[\"job_ids\"]}";

static const char delegate_task_description[] =
    "Break a complex task into sub-tasks and run them sequentially. Each sub-task spawns a "
    "sub-agent. Results are aggregated into a single report. Use for multi-step investigations or "
    "when exploring multiple areas of the codebase.";
static const char delegate_task_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"plan\":{\"type\":\"string\",\"description\":\"High-level description of the overall goal\"},"
    "\"subtasks\":{\"type\":\"array\",\"description\":\"Ordered list of sub-tasks to execute, at "
    "most "
    "5\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"task\":{\"type\":\"string\",\"description\":\"Task description\"},"
    "\"scope\":{\"type\":\"string\",\"description\":\"Focus directory/file\"},"
    "\"depends_on\":{\"type\":\"number\",\"description\":\"Index of prerequisite sub-task "
    "(0-based)\"}" EFFORT "},\"required\":[\"task\"]}}"
    "},\"required\":[\"plan\",\"subtasks\"]}";

static const char fan_out_description[] =
    "Run several independent tasks at the same time, each in a sub-agent of its own, and return "
    "all "
    "results in the order of the tasks. One failure does not stop the others.";
static const char fan_out_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"role\":{\"type\":\"string\",$ROLES\"description\":\"A specialised role with its own tools "
    "and "
    "limits\"},"
    "\"task\":{\"type\":\"string\",\"description\":\"Clear task description\"},"
    "\"scope\":{\"type\":\"string\",\"description\":\"Directory or file to focus on\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Information to pass on\"},"
    "\"max_tool_calls\":{\"type\":\"number\"}" EFFORT "},\"required\":[\"task\"]}},"
    "\"max_concurrent\":{\"type\":\"number\",\"description\":\"Most sub-agents at the same time; "
    "can "
    "only lower the configured limit\"}"
    "},\"required\":[\"tasks\"]}";

static const char delegate_description[] = "Hand a task to one of the registered agents. It works "
                                           "with the model, tools and instructions of "
                                           "its own profile and returns a result summary.";
static const char delegate_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"agent_id\":{\"type\":\"string\",$AGENTS\"description\":\"Which agent, as your instructions "
    "list them\"},"
    "\"task\":{\"type\":\"string\",\"description\":\"Clear task description\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Information to pass on; the agent sees "
    "nothing else of this conversation\"},"
    "\"model_override\":{\"type\":\"string\",\"description\":\"Another model, where the agent's "
    "profile allows it\"},"
    "\"forward_skills\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"mcp_servers\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
    "},\"required\":[\"agent_id\",\"task\"]}";

#define ONE_CHILD                                                                                  \
    "\"task_id\":{\"type\":\"string\",\"description\":\"Id of one of your sub-agents, as "         \
    "agent_status "                                                                                \
    "lists it\"}"
static const char nothing_schema[] = "{\"type\":\"object\",\"properties\":{}}";
static const char one_child_schema[] =
    "{\"type\":\"object\",\"properties\":{" ONE_CHILD "},\"required\":[\"task_id\"]}";
static const char result_schema[] =
    "{\"type\":\"object\",\"properties\":{" ONE_CHILD
    ",\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Byte of the answer to begin "
    "with; 0 by default\"}},\"required\":[\"task_id\"]}";
static const char send_schema[] =
    "{\"type\":\"object\",\"properties\":{" ONE_CHILD
    ",\"message\":{\"type\":\"string\",\"description\":\"What the sub-agent should know or do "
    "now\"}},\"required\":[\"task_id\",\"message\"]}";

static const char ask_user_description[] =
    "Ask the person at the terminal a question and wait for the answer. Use it where only they can "
    "decide; do not ask for what the files can tell you.";
static const char ask_user_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"question\":{\"type\":\"string\",\"description\":\"The question, at most 4000 bytes\"},"
    "\"choices\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Optional: "
    "up to 16 answers to choose from, each at most 400 bytes; the person may also answer "
    "something else\"}"
    "},\"required\":[\"question\"]}";

static const char plan_description[] =
    "Make a plan for a goal that takes several steps and carry it out: steps become sub-agents "
    "that "
    "work side by side where they can, their work is merged and reviewed, and you get one report. "
    "Use it for work that is too large for one agent.";
static const char plan_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"goal\":{\"type\":\"string\",\"description\":\"What is to be reached, with everything that a "
    "planner must know\"}"
    "},\"required\":[\"goal\"]}";

const struct door_tool door_tools[] = {
    {"spawn_agent", spawn_agent_description, spawn_agent_schema, &door_spawn_agent},
    {"spawn", spawn_description, spawn_schema, &door_spawn},
    {"spawn_await", spawn_await_description, spawn_await_schema, &door_spawn_await},
    {"delegate_task", delegate_task_description, delegate_task_schema, &door_delegate_task},
    {"fan_out", fan_out_description, fan_out_schema, &door_fan_out},
    {"delegate", delegate_description, delegate_schema, &door_delegate},
    {"plan", plan_description, plan_schema, &door_plan},
    {"agent_status", "List the sub-agents that you started, with their state and what they spent.",
     nothing_schema, &door_agent_status},
    {"agent_send",
     "Send a message to a running sub-agent; it sees the message at its next turn. It does not "
     "answer: its result does.",
     send_schema, &door_agent_send},
    {"agent_cancel", "Stop one sub-agent; the others go on.", one_child_schema, &door_agent_cancel},
    {"agent_result",
     "Read the result of a sub-agent that has ended again. A long answer comes in parts: each says "
     "where the next begins.",
     result_schema, &door_agent_result},
    {"agent_merge", "Merge the work of a sub-agent that is held, and close it.", one_child_schema,
     &door_agent_merge},
    {"ask_user", ask_user_description, ask_user_schema, &door_ask_user},
};
const size_t door_tool_count = sizeof door_tools / sizeof door_tools[0];

const struct door_tool *door_tool_find(struct str name)
{
    for (size_t i = 0; i < door_tool_count; i++) {
        if (str_is(name, door_tools[i].name))
            return &door_tools[i];
    }
    return NULL;
}

/* "enum":[…], or nothing where any string may stand. */
static void add_enum(struct buf *out, const struct list *names)
{
    struct jw w;
    if (names->n == 0)
        return;
    buf_text(out, "\"enum\":");
    jw_init(&w, out);
    list_print(&w, NULL, names);
    buf_char(out, ',');
}

static void add_roles(const struct contract *contract, struct buf *out)
{
    struct str names[16];
    struct list list = {LIST_SET, names, 0};
    for (size_t i = 0; i < role_count && list.n < sizeof names / sizeof names[0]; i++) {
        if (list_has(&contract->permissions.spawn_roles, str_from(role_table[i].name)))
            names[list.n++] = str_from(role_table[i].name);
    }
    add_enum(out, &list);
}

static void add_profiles(const struct settings *settings, struct buf *out)
{
    struct arena arena;
    arena_init(&arena);
    struct list list = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < settings->profile_count; i++)
        list_add(&arena, &list, settings->profiles[i].name);
    add_enum(out, &list);
    arena_release(&arena);
}

void door_schema_print(const struct door_tool *door, const struct settings *settings,
                       const struct contract *contract, struct buf *out)
{
    struct str rest = str_from(door->schema);
    while (rest.n > 0) {
        const char *mark = memchr(rest.p, '$', rest.n);
        size_t n = mark != NULL ? (size_t)(mark - rest.p) : rest.n;
        buf_add(out, rest.p, n);
        rest.p += n;
        rest.n -= n;
        if (str_starts(rest, STR("$ROLES"))) {
            add_roles(contract, out);
            n = sizeof "$ROLES" - 1;
        } else if (str_starts(rest, STR("$PROFILES"))) {
            add_profiles(settings, out);
            n = sizeof "$PROFILES" - 1;
        } else if (str_starts(rest, STR("$AGENTS"))) {
            add_enum(out, &settings->agent_ids);
            n = sizeof "$AGENTS" - 1;
        } else {
            break;
        }
        rest.p += n;
        rest.n -= n;
    }
}
