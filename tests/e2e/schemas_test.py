"""The tools as models see them: their size in every request, what they must still say, and that none is offered which is useless to its
agent. Sizes are bounded in bytes here; tests/peers/schemas.mjs counts tokens."""
import json
import unittest

from spawning import Spawning, call, child, offered, root, rule

# o200k takes 4.28 bytes of these schemas for a token. The limits are 2,500 tokens for a root, 1,500 for a default child of
# spawn_agent, 300 for spawn_agent and delegate_task together.
BYTES_PER_TOKEN = 4.28
# A root of `cadre run` has these only where a person or the config allows them.
ALLOWED = "permissions: {write: allow, edit: allow, multi_edit: allow, delete: allow, shell: allow, test: allow, git_commit: allow}"
AGENT_TOOLS = {"agent_status", "agent_send", "agent_cancel", "agent_merge"}
# What the specifications of the doors name as arguments.
SEED_ARGUMENTS = {
    "spawn": {"task", "profile", "context", "system_prompt", "tools"},
    "spawn_await": {"job_ids"},
    "spawn_agent": {"task", "scope", "max_tool_calls", "mode", "role", "budget", "allowed_tools", "context", "context_files"},
    "delegate_task": {"plan", "subtasks"},
    "fan_out": {"tasks", "max_concurrent"},
}
SKILL = {".agents/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: How to tidy up.\n---\nPut things away.\n"}
SEARCH = "tools: {web_search: {kind: searxng, url: http://127.0.0.1:9/search}}"


def size(tools):
    return len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())


def properties(schema):
    """Every argument of a schema, with those inside arrays and objects: (name, its schema)."""
    for name, value in schema.get("properties", {}).items():
        yield name, value
        yield from properties(value)
        yield from properties(value.get("items", {}))


class Offered(unittest.TestCase):
    def requests(self, config="", files=None, mode="safe", **arguments):
        """The first request of a root and the first of its child."""
        run = Spawning(self, root(0, calls=[call("spawn_agent", task="CHILD", **arguments)]), root(1, text="done"),
                       child("CHILD", text="done"), config=config, files=files).run(mode=mode)
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        return run.recorder.of("ROOT")[0], run.recorder.of("CHILD")[0]


class Size(Offered):
    def assertTokens(self, tools, most):
        self.assertLessEqual(size(tools), most * BYTES_PER_TOKEN)

    def test_a_root_with_every_default_tool(self):
        request, _ = self.requests(ALLOWED)
        self.assertLessEqual({"read", "write", "shell", "git_commit", "fan_out"}, set(offered(request)))
        self.assertTokens(request["tools"], 2500)

    def test_a_default_child(self):
        _, request = self.requests()
        self.assertLessEqual({"read", "grep", "git", "spawn_agent", "delegate_task", "agent_result"}, set(offered(request)))
        self.assertTokens(request["tools"], 1500)

    def test_a_child_that_may_write_and_run_commands_as_on_a_terminal_and_in_mode_auto(self):
        _, request = self.requests(ALLOWED)
        self.assertLessEqual({"read", "write", "edit", "delete", "shell", "test", "git_commit", "spawn_agent"}, set(offered(request)))
        self.assertTokens(request["tools"], 1500)

    def test_spawn_agent_and_delegate_task(self):
        request, _ = self.requests()
        doors = [tool for tool in request["tools"] if tool["function"]["name"] in ("spawn_agent", "delegate_task")]
        self.assertEqual(len(doors), 2)
        self.assertTokens(doors, 300)


class Content(Offered):
    def setUp(self):
        config = "\n".join((ALLOWED, "plan: {enabled: true}", SEARCH.replace("tools: {", "tools: {spawn: {enabled: true}, ")))
        self.tools = self.requests(config, SKILL)[0]["tools"]

    def test_each_tool_says_what_it_is_for_and_each_argument_has_a_type(self):
        for tool in self.tools:
            function = tool["function"]
            with self.subTest(function["name"]):
                self.assertRegex(function["description"], r"^[A-Z].{10,}\.$")
                self.assertEqual(function["parameters"]["type"], "object")
                for name, schema in properties(function["parameters"]):
                    self.assertIn(schema.get("type"), ("string", "integer", "number", "boolean", "array", "object"), name)
                    self.assertEqual("items" in schema, schema["type"] == "array", name)

    def test_required_arguments_exist(self):
        for tool in self.tools:
            parameters = tool["function"]["parameters"]
            self.assertLessEqual(set(parameters.get("required", [])), set(parameters["properties"]), tool)

    def test_the_arguments_of_the_specifications_are_there(self):
        by_name = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in self.tools}
        for name, arguments in SEED_ARGUMENTS.items():
            self.assertLessEqual(arguments, set(by_name[name]), name)
        self.assertEqual(set(by_name["delegate_task"]["subtasks"]["items"]["properties"]) & {"task", "scope", "depends_on"},
                         {"task", "scope", "depends_on"})


class Useful(Offered):
    SPECIAL = {"overview", "docs_coverage", "plan_files", "multi_edit", "fan_out"}

    def test_tools_that_are_seldom_needed_are_shown_to_a_root_and_not_to_its_default_child(self):
        first, second = self.requests(ALLOWED)
        self.assertLessEqual(self.SPECIAL, set(offered(first)))
        self.assertFalse(self.SPECIAL & set(offered(second)))

    def test_a_role_or_a_call_that_names_them_brings_them(self):
        self.assertLessEqual({"overview", "docs_coverage"}, set(offered(self.requests(role="researcher")[1])))
        self.assertEqual(set(offered(self.requests(allowed_tools=["read", "overview"])[1])), {"read", "overview"})

    def test_a_child_may_call_one_that_it_was_not_shown(self):
        run = Spawning(self, root(0, calls=[call("spawn_agent", task="CHILD")]), root(1, text="done"),
                       rule({"calls": [call("overview")]}, first_user="CHILD", turn=0),
                       rule({"text": "done"}, first_user="CHILD", turn=1), files={"main.py": "print(1)\n"}).run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        result = run.recorder.of("CHILD")[1]["messages"][-1]
        self.assertEqual(result["role"], "tool")
        self.assertIn("Python", result["content"])

    def test_no_tool_for_open_children_where_every_door_waits_for_its_children(self):
        for request in self.requests():
            self.assertFalse(AGENT_TOOLS & set(offered(request)))
            self.assertIn("agent_result", offered(request))

    def test_background_jobs_bring_the_tools_for_open_children(self):
        self.assertLessEqual(AGENT_TOOLS, set(offered(self.requests("tools: {spawn: {enabled: true}}")[0])))

    def test_held_children_bring_them_too(self):
        self.assertLessEqual(AGENT_TOOLS, set(offered(self.requests("sub_agent: {close_on_completion: false}")[0])))

    def test_a_child_that_cannot_start_children_has_none_of_them(self):
        _, request = self.requests("tools: {spawn: {enabled: true}}", allowed_tools=["read", "agent_status", "agent_result"])
        self.assertEqual(set(offered(request)), {"read"})

    def test_skill_comes_with_skills(self):
        self.assertNotIn("skill", offered(self.requests()[0]))
        self.assertIn("skill", offered(self.requests(files=SKILL)[0]))

    def test_web_search_comes_with_a_search_service(self):
        self.assertNotIn("web_search", offered(self.requests()[0]))
        self.assertIn("web_search", offered(self.requests(SEARCH)[0]))


if __name__ == "__main__":
    unittest.main()
