/* The delegation tools as models see them: the seeds' schemas, with the arguments that CONTRACT.md adds. Pure. */
#include "base/json.h"
#include "core/run/door.h"

/* How hard the model of a child reasons. The doors take the other efforts too, and subtasks of
 * delegate_task take an effort; these are not named because every request carries the schemas. */
#define EFFORT ",\"effort\":{\"type\":\"string\",\"enum\":[\"low\",\"medium\",\"high\"]}"

/* Where the relative paths of a child start. Subtasks of delegate_task take it too, as they take an
 * effort. */
#define DIRECTORY ",\"working_directory\":{\"type\":\"string\"}"

static const char spawn_agent_description[] =
    "Give a task to a sub-agent and wait for its result. It sees only these arguments.";
static const char spawn_agent_schema[] =
    "{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"},"
    "\"scope\":{\"type\":\"string\"},\"role\":{$ROLES\"type\":\"string\"},"
    "\"mode\":{\"type\":\"string\",\"enum\":[\"plan\",\"auto\"],\"description\":\"plan: "
    "read-only\"},\"max_tool_calls\":{\"type\":\"number\"},"
    "\"budget\":{\"type\":\"object\",\"description\":\"tokens, cost_usd, timeout_ms\"},"
    "\"allowed_tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"context\":{\"type\":\"string\"},\"context_files\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}}" DIRECTORY EFFORT "},\"required\":[\"task\"]}";

static const char spawn_description[] =
    "Start a sub-agent in the background. Returns its job id for spawn_await.";
static const char spawn_schema[] =
    "{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"},"
    "\"profile\":{$PROFILES\"type\":\"string\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Facts to pass on; it sees nothing "
    "else\"},"
    "\"system_prompt\":{\"type\":\"string\",\"description\":\"Replaces the profile's\"},"
    "\"tools\":{\"type\":\"string\",\"description\":\"Comma-separated\"}" EFFORT "},"
    "\"required\":[\"task\"]}";

static const char spawn_await_description[] = "Wait for jobs of spawn. Returns their results.";
static const char spawn_await_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"job_ids\":{\"type\":\"string\",\"description\":\"Comma-separated, or *\"}},"
    "\"required\":[\"job_ids\"]}";

static const char delegate_task_description[] =
    "Run up to 5 subtasks in order in sub-agents. Returns one report.";
static const char delegate_task_schema[] =
    "{\"type\":\"object\",\"properties\":{\"plan\":{\"type\":\"string\"},"
    "\"subtasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"task\":{\"type\":\"string\"},\"scope\":{\"type\":\"string\"},"
    "\"depends_on\":{\"type\":\"number\",\"description\":\"0-based index\"}},"
    "\"required\":[\"task\"]}}},\"required\":[\"plan\",\"subtasks\"]}";

static const char fan_out_description[] =
    "Run independent tasks in parallel in sub-agents. Returns all results.";
static const char fan_out_schema[] =
    "{\"type\":\"object\",\"properties\":{\"tasks\":{\"type\":\"array\","
    "\"items\":{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"},"
    "\"role\":{\"type\":\"string\"},\"scope\":{\"type\":\"string\"},"
    "\"context\":{\"type\":\"string\"},"
    "\"max_tool_calls\":{\"type\":\"number\"}" DIRECTORY "},\"required\":[\"task\"]}},"
    "\"max_concurrent\":{\"type\":\"number\"}},\"required\":[\"tasks\"]}";

static const char delegate_description[] =
    "Hand a task to a registered agent and wait for its result.";
static const char delegate_schema[] =
    "{\"type\":\"object\",\"properties\":{\"agent_id\":{$AGENTS\"type\":\"string\"},"
    "\"task\":{\"type\":\"string\"},"
    "\"context\":{\"type\":\"string\",\"description\":\"Facts to pass on; it sees nothing "
    "else\"},\"model_override\":{\"type\":\"string\"},\"forward_skills\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}},\"mcp_servers\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"}}},\"required\":[\"agent_id\",\"task\"]}";

static const char nothing_schema[] = "{\"type\":\"object\",\"properties\":{}}";
static const char one_child_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"task_id\":{\"type\":\"string\"}},\"required\":[\"task_id\"]}";
static const char result_schema[] =
    "{\"type\":\"object\",\"properties\":{\"task_id\":{\"type\":\"string\"},"
    "\"offset\":{\"type\":\"integer\",\"description\":\"Byte to go on from\"}},"
    "\"required\":[\"task_id\"]}";
static const char send_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"task_id\":{\"type\":\"string\",\"description\":\"From agent_status\"},"
    "\"message\":{\"type\":\"string\"}},\"required\":[\"task_id\",\"message\"]}";

static const char ask_user_description[] =
    "Ask the person at the terminal what only they can decide.";
static const char ask_user_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"question\":{\"type\":\"string\",\"description\":\"At most 4000 bytes\"},"
    "\"choices\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"},\"description\":\"At most 16\"}},"
    "\"required\":[\"question\"]}";

static const char plan_description[] =
    "Split a goal that is too large for one agent into steps, run them as sub-agents, merge "
    "and review. Returns a report.";
static const char plan_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"goal\":{\"type\":\"string\",\"description\":\"All that a planner must know\"}},"
    "\"required\":[\"goal\"]}";

const struct door_tool door_tools[] = {
    {"spawn_agent", spawn_agent_description, spawn_agent_schema, &door_spawn_agent},
    {"spawn", spawn_description, spawn_schema, &door_spawn},
    {"spawn_await", spawn_await_description, spawn_await_schema, &door_spawn_await},
    {"delegate_task", delegate_task_description, delegate_task_schema, &door_delegate_task},
    {"fan_out", fan_out_description, fan_out_schema, &door_fan_out},
    {"delegate", delegate_description, delegate_schema, &door_delegate},
    {"plan", plan_description, plan_schema, &door_plan},
    {"agent_status", "List your sub-agents: state and cost.", nothing_schema, &door_agent_status},
    {"agent_send", "Send a message to a running sub-agent. It does not answer.", send_schema,
     &door_agent_send},
    {"agent_cancel", "Stop a sub-agent.", one_child_schema, &door_agent_cancel},
    {"agent_result", "Read a sub-agent's result in full.", result_schema, &door_agent_result},
    {"agent_merge", "Merge the work of a held sub-agent and close it.", one_child_schema,
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

/* spawn_agent, delegate_task, fan_out and delegate wait until their children are closed. Only jobs of
 * spawn and held children are open while their parent takes a turn. */
bool door_is_useful(const struct door_tool *door, const struct settings *settings,
                    const struct contract *contract)
{
    bool starts = contract->permissions.can_spawn_children == SPAWN_MAY;
    bool sees_open = settings->spawn_enabled == SWITCH_ON || settings->hold_children == SWITCH_ON;
    if (door->ops == &door_agent_result)
        return starts;
    if (door->ops == &door_agent_status || door->ops == &door_agent_send ||
        door->ops == &door_agent_cancel || door->ops == &door_agent_merge)
        return starts && sees_open;
    return true;
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
