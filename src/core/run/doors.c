/* Schemas of the delegation tools; seed 002's for spawn_agent with the arguments that CONTRACT.md adds. Pure. */
#include "core/run/doors.h"

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
    "\"role\":{\"type\":\"string\",\"enum\":[\"researcher\",\"planner\",\"executor\",\"reviewer\","
    "\"tester\"],\"description\":\"Optional: "
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
    "\"Optional: files whose content is passed on\"}"
    "},\"required\":[\"task\"]}";

const struct door_tool door_tools[] = {
    {"spawn_agent", spawn_agent_description, spawn_agent_schema},
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
