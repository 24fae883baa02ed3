"""`delegate` and pins through the real program: the registry is in the root's prompt, the profile of an agent rules the call, a model
override is clamped with a notice and an event, and a pinned profile rules the root. The model server sees every request."""
import json
import unittest

from harness import ModelServer, Workspace, json_lines
from spawning import Recorder

CONFIG = """
llm:
  providers:
    local: {{base_url: "{url}"}}
  models:
    plain: {{provider: local, model: scripted}}
    other: {{provider: local, model: other}}
    third: {{provider: local, model: third}}
  pools:
    default: [{{model: plain}}]
"""
WRITER = {"id": "profile:writer:v1", "provider": "local", "model": "other", "allowed_models": ["third"],
          "allowed_tools": ["read", "ls"], "system_prompt": "You write like a poet."}


def script(*rules):
    models = [{"id": name, "window": 65536, "max_output": 8192} for name in ("scripted", "other", "third")]
    return {"models": models, "rules": list(rules)}


def rule(user, turn, **reply):
    return {"when": {"first_user": user, "turn": turn}, "reply": reply}


def delegates(**arguments):
    return rule("ROOT", 0, calls=[{"name": "delegate", "arguments": {"task": "CHILD", **arguments}}])


class Delegation(unittest.TestCase):
    profile = WRITER

    def run_root(self, *rules, before=(), code=0, register=True):
        with ModelServer(script(*rules)) as server:
            recorder = Recorder(server.url)
            self.addCleanup(recorder.close)
            return self.run_with(server, recorder, before, code, register)

    def run_with(self, server, recorder, before, code, register):
        with Workspace({"a.txt": "a\n", "docs/inner.txt": "inside\n"}, CONFIG.format(url=recorder.url)) as space:
            (space.files / "writer.json").write_text(json.dumps(self.profile))
            words = [["profile", "put", "writer.json"]]
            if register:
                words.append(["register", "@writer", WRITER["id"], "Writes docs <b>", "--tags", "docs"])
            for line in words + list(before):
                done = space.run(["agents", *line])
                self.assertEqual(done.returncode, 0, done.stderr)
            done = space.run(["run", "--json", "--mode", "auto", "ROOT"])
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            server.idle()
            lines = json_lines(done.stdout)
            self.events = space.events(lines[0]["run_id"]) if lines and "run_id" in lines[0] else []
            self.children = space.children(lines[0]["run_id"]) if self.events else []
            self.requests = [json.loads(body) for body in recorder.bodies]
            self.errors = done.stderr
            return lines[-1]

    def of(self, task):
        return [body for body in self.requests
                if any(m["role"] == "user" and m["content"].startswith(task) for m in body["messages"])]

    @staticmethod
    def system(body):
        return "\n".join(m["content"] for m in body["messages"] if m["role"] == "system")

    @staticmethod
    def tools(body):
        return {tool["function"]["name"]: tool["function"] for tool in body.get("tools", [])}

    def answer(self):
        return [m["content"] for m in self.of("ROOT")[-1]["messages"] if m["role"] == "tool"][0]

    def test_the_profile_rules_the_call(self):
        result = self.run_root(delegates(agent_id="@writer", context="CONTEXT"), rule("CHILD", 0, text="a poem"),
                               rule("ROOT", 1, text="done"))
        self.assertEqual(result["status"], "completed")
        child = self.of("CHILD")[0]
        self.assertEqual(child["model"], "other")
        self.assertIn("You write like a poet.", self.system(child))
        self.assertIn("CONTEXT", child["messages"][-1]["content"])
        self.assertEqual(sorted(self.tools(child)), ["ls", "read"])
        self.assertEqual(self.of("ROOT")[1]["model"], "scripted", "the pin holds for the call only")
        self.assertIn("a poem", self.answer())
        contract = json.loads(self.children[0]["context_json"])
        self.assertEqual(contract["agent"]["agent_id"], "@writer")
        self.assertEqual(contract["agent"]["profile_id"], WRITER["id"])
        self.assertEqual(contract["receipt"]["door"], "delegate")

    def test_the_child_works_in_the_directory_of_its_profile(self):
        self.profile = {**WRITER, "working_directory": "docs"}
        self.run_root(delegates(agent_id="@writer"),
                      rule("CHILD", 0, calls=[{"name": "read", "arguments": {"path": "inner.txt"}}]),
                      rule("CHILD", 1, text="read"), rule("ROOT", 1, text="done"))
        contract = json.loads(self.children[0]["context_json"])
        self.assertEqual(contract["execution"]["working_directory"], "docs")
        self.assertIn("inside", self.of("CHILD")[-1]["messages"][-1]["content"])

    def test_the_root_knows_the_agents_and_nothing_else_of_them(self):
        self.run_root(rule("ROOT", 0, text="done"))
        root = self.of("ROOT")[0]
        self.assertIn("@writer", self.system(root))
        self.assertIn("docs", self.system(root))
        self.assertNotIn("profile:writer", json.dumps(root))
        self.assertNotIn("poet", json.dumps(root))
        self.assertEqual(self.tools(root)["delegate"]["parameters"]["properties"]["agent_id"]["enum"], ["@writer"])

    def test_without_a_registry_there_is_no_door(self):
        self.run_root(rule("ROOT", 0, text="done"), register=False)
        self.assertNotIn("delegate", self.tools(self.of("ROOT")[0]))

    def test_an_override_that_the_profile_allows_is_taken(self):
        self.run_root(delegates(agent_id="@writer", model_override="third"), rule("CHILD", 0, text="x"),
                      rule("ROOT", 1, text="done"))
        self.assertEqual(self.of("CHILD")[0]["model"], "third")
        self.assertNotIn("Notice", self.answer())

    def test_another_override_is_clamped_with_a_notice_and_an_event(self):
        self.run_root(delegates(agent_id="@writer", model_override="scripted"), rule("CHILD", 0, text="x"),
                      rule("ROOT", 1, text="done"))
        self.assertEqual(self.of("CHILD")[0]["model"], "other")
        self.assertIn("Notice: the model \"scripted\" is not allowed for @writer; it used \"other\"", self.answer())
        clamped = [e["payload"]["clamps"] for e in self.events if e["type"] == "contract.clamped"]
        self.assertIn({"field": "model.model", "asked": "scripted", "got": "other", "by": "profile"},
                      [clamp for clamps in clamped for clamp in clamps])

    def test_bad_calls_are_answered_and_cost_nothing_more(self):
        for arguments, text in (({"agent_id": "@nobody"}, "no agent is registered"), ({}, "no agent is registered"),
                                ({"agent_id": 7}, "agent_id must be a string"),
                                ({"agent_id": "@writer", "task": ""}, "task must not be empty"),
                                ({"agent_id": "@writer", "colour": "red"}, "unknown argument")):
            with self.subTest(arguments=arguments):
                self.run_root(delegates(**arguments), rule("ROOT", 1, text="done"))
                self.assertIn("Error: ", self.answer())
                self.assertIn(text, self.answer())
                self.assertEqual(self.children, [])

    def test_explain_shows_the_contract_and_where_its_values_come_from(self):
        with Workspace({}, CONFIG.format(url="http://127.0.0.1:9/v1")) as space:
            (space.files / "writer.json").write_text(json.dumps(WRITER))
            for line in (["profile", "put", "writer.json"], ["register", "@writer", WRITER["id"], "Writes"]):
                self.assertEqual(space.run(["agents", *line]).returncode, 0)

            def explain(name):
                done = space.run(["agents", "explain", name, "--json"])
                self.assertEqual(done.returncode, 0, done.stderr)
                return {line["field"]: line for line in json_lines(done.stdout)}

            writer, tester = explain("@writer"), explain("tester")
            self.assertEqual((writer["model.model"]["value"], writer["model.model"]["from"]), ("other", "profile"))
            self.assertEqual(writer["permissions.allowed_tools"]["value"], ["read", "ls"])
            self.assertEqual(writer["execution.budget.tool_calls"]["from"], "built-in")
            self.assertEqual((tester["execution.budget.tool_calls"]["value"],
                              tester["execution.budget.tool_calls"]["from"]), (20, "role"))
            self.assertEqual(tester["permissions.spawn_roles"]["value"], ["reviewer"])
            self.assertEqual(space.run(["agents", "explain", "nobody"]).returncode, 2)
            hard = {line["field"]: line
                    for line in json_lines(space.run(["agents", "explain", "tester", "--effort", "high", "--json"]).stdout)}
            self.assertEqual((hard["model.params.effort"]["value"], hard["model.params.effort"]["from"]),
                             ("high", "parent, from llm"))
            self.assertEqual((tester["model.params.effort"]["value"], tester["model.params.effort"]["from"]),
                             (None, "not set"))

    def test_a_pinned_profile_rules_the_root(self):
        self.run_root(rule("ROOT", 0, text="done"), before=[["pin", "@writer", "--global"]])
        root = self.of("ROOT")[0]
        self.assertEqual(root["model"], "other")
        self.assertIn("You write like a poet.", self.system(root))
        self.assertEqual(sorted(self.tools(root)), ["ls", "read"])

    def test_a_pinned_profile_that_is_gone_is_an_error(self):
        self.run_root(rule("ROOT", 0, text="done"), register=False, code=2,
                      before=[["pin", WRITER["id"], "--global"], ["profile", "remove", WRITER["id"]]])
        self.assertIn("profile-pin:global", self.errors)
        self.assertEqual(self.requests, [])


if __name__ == "__main__":
    unittest.main()
