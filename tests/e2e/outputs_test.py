"""Answers that must match a schema, results that are used again, children from which nothing comes: with the real program, its real
config, a model server that streams, and SIGKILL."""
import json
import signal
import unittest

from harness import ModelServer, Workspace, json_lines

SCHEMA = {"type": "object", "required": ["n"], "additionalProperties": False, "properties": {"n": {"type": "integer", "minimum": 1}}}
REVIEWERS = "roles: {reviewer: {outputs: {schema: " + json.dumps(SCHEMA) + "}}}\n"
FENCED = "```json\n{\"n\": 3}\n```"


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def root(turn, *calls, text=None):
    return rule({"text": text} if text else {"calls": list(calls)}, first_user="ROOT", turn=turn)


class One(unittest.TestCase):
    def begin(self, *rules, config=None, files=None):
        self.server = ModelServer(script(*rules))
        self.addCleanup(self.server.stop)
        self.space = Workspace(files or {"a.txt": "one\n"}, config)
        self.addCleanup(self.space.close)  # verifies and replays

    def command(self, *flags):
        return ["run", *self.server.flags(), "--mode", "auto", "--json", *flags, "ROOT"]

    def run_task(self, *rules, flags=(), config=None, files=None):
        self.begin(*rules, config=config, files=files)
        self.done = self.space.run(self.command(*flags))
        self.lines = json_lines(self.done.stdout)
        return self.lines[-1] if self.lines else None

    def of(self, event):
        return [line["payload"] for line in self.lines if line.get("event") == event]


class Schema(One):
    def review(self, *answers):
        """A child with the role reviewer that gives these answers in its turns."""
        return self.run_task(root(0, call("spawn_agent", task="CHILD", role="reviewer")), root(1, text="the end"),
                             *(rule({"text": text}, first_user="CHILD", turn=turn) for turn, text in enumerate(answers)),
                             config=REVIEWERS)

    def test_a_child_is_told_the_schema_and_corrected_by_path(self):
        self.review("It is three.", '{"n": 0, "m": 1}', FENCED)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        messages = [payload["text"] for payload in self.of("agent.message")]
        self.assertTrue(any('"additionalProperties":false' in text for text in messages))
        corrections = [payload["text"] for payload in self.of("agent.message") if payload.get("note") == "schema"]
        self.assertIn("- $: the message is not one JSON value", corrections[0])
        self.assertIn("- $.m: is not allowed here\n- $.n: must be at least 1", corrections[1])
        (finished,) = self.of("tool.finished")
        self.assertTrue(finished["text"].startswith('{"n": 3}\n'), finished["text"])
        self.assertEqual(len(self.server.requests()), 5)

    def test_after_two_corrections_it_is_an_error_and_the_text_is_kept(self):
        self.review("one", "two", "three", "four")
        (failed,) = self.of("agent.subagent_failed")
        self.assertEqual((failed["outcome"], failed["response"]), ("error", "three"))
        self.assertIn("does not match outputs.schema", failed["error"])
        self.assertIn("[ERROR] Sub-agent failed: the answer does not match", self.of("tool.finished")[0]["text"])
        self.assertEqual(self.done.returncode, 0)  # its parent decides

    def test_a_crash_between_corrections_changes_nothing(self):
        self.begin(root(0, call("spawn_agent", task="CHILD", role="reviewer")), root(1, text="the end"),
                   rule({"text": "one"}, first_user="CHILD", turn=0),
                   rule({"text": "never", "delay_ms": 50000, "fail_times": 1, "then": {"text": "two"}}, first_user="CHILD", turn=1),
                   rule({"text": "three"}, first_user="CHILD", turn=2), config=REVIEWERS)
        process = self.space.start(self.command())
        process.wait_for_event("model.requested", 3)
        process.signal(signal.SIGKILL)
        process.end()
        done = self.space.run(["resume", "--json", "last"])
        self.lines = json_lines(done.stdout)
        self.assertEqual(self.of("agent.subagent_failed")[0]["response"], "three")
        self.assertGreater(self.of("run.resumed")[0]["alive_at"], 0)

    def test_the_root_answers_with_json_alone(self):
        self.begin(rule({"text": "Done."}, turn=0), rule({"text": FENCED}, turn=1))
        (self.space.files / "schema.json").write_text(json.dumps(SCHEMA))
        done = self.space.run(["run", *self.server.flags(), "--quiet", "--output-schema", "schema.json", "ROOT"])
        self.assertEqual((done.returncode, done.stdout), (0, '{"n": 3}\n'), done.stderr)

    def test_a_root_that_never_matches_fails(self):
        self.begin(rule({"text": "Done."}))
        (self.space.files / "schema.json").write_text(json.dumps(SCHEMA))
        done = self.space.run(self.command("--output-schema", "schema.json"))
        result = json_lines(done.stdout)[-1]
        self.assertEqual((done.returncode, result["status"], result["response"]), (1, "error", "Done."))
        self.assertEqual(len(self.server.requests()), 3)

    def test_a_schema_that_is_not_enforced_stops_the_start(self):
        self.begin(rule({"text": "Done."}))
        for text, said in (('{"properties": {"a": {"pattern": "^x"}}}', "/properties/a/pattern: the keyword \"pattern\""),
                           ("{", "line 1"), ("[]", "expected a schema")):
            (self.space.files / "schema.json").write_text(text)
            done = self.space.run(self.command("--output-schema", "schema.json"))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
        done = self.space.run(self.command("--output-schema", "missing.json"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--output-schema missing.json", done.stderr)
        self.assertEqual(self.space.query("SELECT id FROM runs"), [])

    def test_a_schema_in_a_config_is_refused_with_its_line(self):
        self.run_task(rule({"text": "Done."}), config="roles:\n  tester:\n    outputs:\n      schema:\n        type: object\n"
                                                      "        patternProperties: {}\n")
        self.assertEqual(self.done.returncode, 2)
        self.assertIn("cadre.yaml:6:9: the keyword \"patternProperties\" is not enforced", self.done.stderr)


LOOK = call("spawn_agent", task="LOOK", allowed_tools=["read", "grep"])
LOOKS = rule({"text": "it says one"}, first_user="LOOK")


class Reuse(One):
    def test_the_same_task_is_not_done_twice(self):
        self.run_task(root(0, LOOK), root(1, LOOK), root(2, text="the end"), LOOKS)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(len(self.of("agent.subagent_created")), 1)
        first, second = (payload["text"] for payload in self.of("tool.finished"))
        self.assertTrue(second.startswith(first))
        self.assertIn("This is a repeated result", second)
        (reused,) = self.of("agent.result_reused")
        self.assertEqual(reused["sub_agent_id"], self.of("agent.subagent_created")[0]["sub_agent_id"])
        self.assertEqual(len(self.server.requests()), 4)

    def test_a_write_makes_the_result_old(self):
        self.run_task(root(0, LOOK), root(1, call("write", path="a.txt", content="two\n")), root(2, LOOK), root(3, text="the end"), LOOKS)
        self.assertEqual(len(self.of("agent.subagent_created")), 2)
        self.assertEqual(self.of("agent.result_reused"), [])

    def test_it_can_be_turned_off(self):
        self.run_task(root(0, LOOK), root(1, LOOK), root(2, text="the end"), LOOKS, config="sub_agent: {cache: false}\n")
        self.assertEqual(len(self.of("agent.subagent_created")), 2)


class Registered(One):
    def test_a_registered_profile_brings_its_schema_and_its_results_are_used_again(self):
        errand = call("delegate", agent_id="@counter", task="COUNT")
        self.begin(root(0, errand), root(1, errand), root(2, text="the end"), rule({"text": "three"}, first_user="COUNT", turn=0),
                   rule({"text": FENCED}, first_user="COUNT", turn=1))
        profile = {"id": "profile:counter", "provider": "local", "model": "scripted", "allowed_tools": ["read"], "output_schema": SCHEMA}
        (self.space.files / "counter.json").write_text(json.dumps(profile))
        (self.space.root / "cadre.yaml").write_text(
            f'llm: {{providers: {{local: {{base_url: "{self.server.url}"}}}}, models: {{scripted: {{provider: local}}}}}}\n')
        self.space.environment["CADRE_CONFIG"] = str(self.space.root / "cadre.yaml")
        for words in (["profile", "put", "counter.json"], ["register", "@counter", "profile:counter", "Counts"]):
            done = self.space.run(["agents", *words])
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.space.run(["run", "--mode", "auto", "--json", "ROOT"])
        self.lines = json_lines(done.stdout)
        self.assertEqual(len(self.of("agent.subagent_created")), 1, done.stderr)
        first, second = (payload["text"] for payload in self.of("tool.finished"))
        self.assertTrue(first.startswith('{"n": 3}\n'), first)
        self.assertTrue(second.startswith(first) and "This is a repeated result" in second, second)


class Idle(One):
    def child(self, reply, config):
        return self.run_task(root(0, call("spawn_agent", task="CHILD")), root(1, text="the end"), rule(reply, first_user="CHILD"),
                             config=config)

    def test_an_attempt_that_stands_still_is_tried_again(self):
        self.child({"text": "never", "delay_ms": 50000, "fail_times": 1, "then": {"text": "now"}},
                   "sub_agent: {idle_timeout_ms: 3s}\n")
        (idle,) = self.of("agent.idle")
        self.assertEqual(idle["kind"], "model")
        self.assertGreaterEqual(idle["idle_ms"], 3000)
        self.assertEqual([payload["attempt"] for payload in self.of("agent.subagent_attempt")], [0, 1])
        self.assertTrue(self.of("tool.finished")[0]["text"].startswith("now"))

    def test_without_another_attempt_it_says_what_stood_still(self):
        self.child({"text": "half of it, then nothing", "chunks": 2, "chunk_delay_ms": 50000},
                   "sub_agent: {idle_timeout_ms: 1s, max_retries: 0}\n")
        (failed,) = self.of("agent.subagent_failed")
        self.assertEqual(failed["outcome"], "timeout")
        self.assertRegex(failed["error"], r"no sign of life for \d+\.\d s from its model: sub_agent\.idle_timeout_ms")

    def test_one_that_goes_on_slowly_is_not_idle(self):
        """Of reasoning, too: it is no text, and a sign of life."""
        self.child({"text": "slowly but surely, piece by piece", "reasoning": {"reasoning_content": "a long thought " * 4},
                    "chunks": 8, "chunk_delay_ms": 1000}, "sub_agent: {idle_timeout_ms: 6s}\n")
        self.assertEqual(self.of("agent.idle"), [])
        self.assertEqual(len(self.of("agent.subagent_attempt")), 1)
        self.assertTrue(self.of("tool.finished")[0]["text"].startswith("slowly but surely"))

    def test_who_awaits_a_child_is_not_idle(self):
        self.run_task(root(0, call("spawn_agent", task="PARENT")), root(1, text="the end"),
                      rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="PARENT", turn=0),
                      rule({"text": "parent is done"}, first_user="PARENT", turn=1),
                      rule({"text": "slowly but surely, piece by piece", "chunks": 8, "chunk_delay_ms": 1000}, first_user="CHILD"),
                      config="sub_agent: {idle_timeout_ms: 6s}\n")
        self.assertEqual(self.of("agent.idle"), [])
        self.assertIn("parent is done", self.of("tool.finished")[-1]["text"])


if __name__ == "__main__":
    unittest.main()
