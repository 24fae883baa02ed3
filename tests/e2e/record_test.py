"""Recording a run and replaying its model: the same result and the same files without a server, what differs, what is refused,
a kill in the middle; and the commands of docs/replay.md as they stand there."""
import json
import os
import re
import shutil
import stat
import unittest
from pathlib import Path

from harness import ModelServer, Process, Workspace, json_lines, program

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "replay.md"
CANARY = "canary-key-4711-0815"
TASK = "the task"
FILES = {"README.md": "# A project\n", "src/a.txt": "alpha\n", "src/b.txt": "beta\n"}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def child_rules(name):
    """A child that looks, reads, writes a file of its own, and answers; its second request fails once."""
    def rule(turn, **reply):
        return {"when": {"first_user": f"CHILD {name}", "turn": turn}, "reply": reply}
    return [
        rule(0, text="I look.", calls=[call("ls", path="src"), call("grep", pattern="a", path=f"src/{name}.txt")]),
        rule(1, status=503, error="busy", fail_times=1,
             then={"text": "", "calls": [call("read", path=f"src/{name}.txt")]}),
        rule(2, calls=[call("write", path=f"out/{name}.txt", content=f"seen {name}\n")]),
        rule(3, text=f"{name} is written"),
    ]


SCRIPT = {
    "models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
    "api_key": CANARY,
    "rules": [
        *child_rules("a"), *child_rules("b"),
        {"when": {"first_user": TASK, "turn": 0},
         "reply": {"text": "I ask two.", "calls": [call("spawn_agent", task="CHILD a"),
                                                   call("spawn_agent", task="CHILD b")]}},
        {"when": {"first_user": TASK, "turn": 1},
         "reply": {"calls": [call("edit", path="README.md", old_text="A project", new_text="Our project")]}},
        {"when": {"first_user": TASK}, "reply": {"text": "all is done"}},
        {"when": {"first_user": "Summarise", "turn": 0}, "reply": {"calls": [call("read", path="README.md")]}},
        {"when": {"first_user": "Summarise", "turn": 1},
         "reply": {"calls": [call("write", path="SUMMARY.md", content="A project.\n")]}},
        {"when": {"first_user": "Summarise"}, "reply": {"text": "SUMMARY.md holds it"}},
    ],
}


def result_of(lines):
    """What a replay must repeat: the last line without what belongs to the one run."""
    result = dict(lines[-1])
    for own in ("run_id", "task_id", "head", "duration_ms", "context_size", "type"):
        result.pop(own, None)
    return result


class Recorded(unittest.TestCase):
    """One recording of one run, made once; each test replays it in a copy of the workspace."""

    @classmethod
    def setUpClass(cls):
        cls.space = Workspace(FILES)
        cls.addClassCleanup(cls.space.close)
        cls.talk = cls.space.root / "talk.jsonl"
        with ModelServer(SCRIPT, key=CANARY) as server:
            cls.done = cls.space.run(["run", *server.flags(), "--mode", "auto", "--json", "--record", str(cls.talk), TASK],
                                     env={"OPENAI_API_KEY": CANARY})
            cls.requests = server.idle()["requests"]
        cls.lines = json_lines(cls.done.stdout)

    def copy(self, files=None, config=None):
        space = Workspace({**FILES, **(files or {})}, config)
        self.addCleanup(space.close)
        shutil.copy(self.talk, space.root / "talk.jsonl")
        return space

    def replay(self, space, *options, task=TASK):
        return space.run(["run", "--mode", "auto", "--json", *options, "--replay", str(space.root / "talk.jsonl"), task])

    @staticmethod
    def config(**options):
        written = "".join(f", {name}: {value}" for name, value in options.items())
        return (f"llm:\n  providers:\n    tape: {{api: replay, file: talk.jsonl{written}}}\n"
                "  models:\n    scripted: {provider: tape}\n")


class Recording(Recorded):
    def test_every_exchange_is_a_line_and_the_run_is_as_without(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        exchanges = [json.loads(line) for line in self.talk.read_text().splitlines()]
        self.assertEqual(len(exchanges), self.requests)
        self.assertEqual({(line["agent"], line["turn"]) for line in exchanges},
                         {(0, 1), (0, 2), (0, 3)} | {(child, turn) for child in (1, 2) for turn in (1, 2, 3, 4)})
        failures = [line["failure"] for line in exchanges if "failure" in line]
        self.assertEqual([(one["class"], one["http_status"]) for one in failures], [("retry", 503)] * 2)
        self.assertEqual(stat.S_IMODE(self.talk.stat().st_mode), 0o600)

    def test_requests_have_the_same_keys_whatever_the_api_and_the_copy_of_the_workspace(self):
        space = self.copy()
        talk = space.root / "anthropic.jsonl"
        with ModelServer(SCRIPT, key=CANARY) as server:
            done = space.run(["run", "--api", "anthropic", *server.flags(), "--mode", "auto", "--json", "--record", str(talk), TASK],
                             env={"ANTHROPIC_API_KEY": CANARY})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        keys = [sorted((line["agent"], line["turn"], line["key"]) for line in map(json.loads, path.read_text().splitlines()))
                for path in (self.talk, talk)]
        self.assertEqual(*keys)

    def test_the_key_is_not_in_the_file(self):
        self.assertNotIn(CANARY, self.talk.read_text())

    def test_a_file_that_exists_is_refused_and_kept(self):
        before = self.talk.read_text()
        done = self.space.run(["run", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--record", str(self.talk), "x"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(self.talk.read_text(), before)

    def test_a_recording_in_the_workspace_is_made_with_a_warning(self):
        space = self.copy()
        done = self.replay(space, "--record", "again.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: the recording lies in the workspace", done.stderr)
        self.assertEqual(len((space.files / "again.jsonl").read_text().splitlines()), self.requests)

    def test_a_run_that_cannot_start_leaves_no_file(self):
        space = self.copy()
        space.store.parent.mkdir()
        space.store.write_text("this is no database, and it is long enough to be looked at as one\n" * 20)
        space.damaged = True
        done = self.replay(space, "--record", str(space.root / "again.jsonl"))
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((space.root / "again.jsonl").exists())


class Replaying(Recorded):
    def assert_like_the_recorded_one(self, space, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = json_lines(done.stdout)
        self.assertEqual(result_of(lines), result_of(self.lines))
        self.assertEqual(space.tree(), self.space.tree())
        ours, theirs = space.events(lines[0]["run_id"]), self.space.events(self.lines[0]["run_id"])
        agents = {event["agent_id"] for event in theirs}
        self.assertEqual(len({event["agent_id"] for event in ours}), len(agents))
        self.assertEqual(sorted(event["type"] for event in ours), sorted(event["type"] for event in theirs))

    def test_the_same_task_in_a_copy_ends_the_same_without_a_server(self):
        space = self.copy()
        done = self.replay(space)
        self.assertEqual(done.stderr, "")
        self.assert_like_the_recorded_one(space, done)  # the log is verified and replayed when the space is closed

    def test_a_strict_provider_of_the_config_replays_it_too(self):
        space = self.copy(config=self.config(strict="true"))
        done = space.run(["run", "--mode", "auto", "--json", TASK])
        self.assertEqual(done.stderr, "")
        self.assert_like_the_recorded_one(space, done)

    def test_at_recorded_speed_it_ends_the_same(self):
        space = self.copy(config=self.config(speed="recorded"))
        self.assert_like_the_recorded_one(space, space.run(["run", "--mode", "auto", "--json", TASK]))

    def test_a_replay_can_be_recorded_and_replayed_again(self):
        space = self.copy()
        self.assertEqual(self.replay(space, "--record", str(space.root / "again.jsonl")).returncode, 0)
        third = self.copy()
        shutil.copy(space.root / "again.jsonl", third.root / "talk.jsonl")
        done = self.replay(third)
        self.assertEqual(done.stderr, "")
        self.assert_like_the_recorded_one(third, done)

    def test_prices_of_the_config_count_for_recorded_usage(self):
        space = self.copy(config="llm:\n  providers: {tape: {api: replay, file: talk.jsonl}}\n  models:\n"
                                 "    scripted: {provider: tape, price_in: 1000, price_out: 1000}\nbudget: {cost_usd: 1000}\n")
        done = space.run(["run", "--mode", "auto", "--json", TASK])
        self.assertEqual(done.returncode, 0, done.stderr)
        usages = [json.loads(line).get("reply", {}).get("usage", {}) for line in self.talk.read_text().splitlines()]
        tokens = sum(usage.get("input", 0) + usage.get("output", 0) for usage in usages)
        self.assertAlmostEqual(json_lines(done.stdout)[-1]["cost_usd"], tokens / 1000, places=6)


class Differing(Recorded):
    CHANGED = {"src/b.txt": "bats\n"}  # of the same size: what ls shows to both children is as it was

    def test_a_changed_workspace_is_warned_of_and_the_recorded_answers_are_used(self):
        space = self.copy(self.CHANGED)
        done = self.replay(space)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), [
            "cadre: warning: request 2 of agent 2 differs from the recording: message 5 (a tool result); the recorded answer is used"])
        self.assertEqual(space.tree()["out/b.txt"], "seen b\n")

    def test_a_strict_recording_fails_there_and_asks_no_second_time(self):
        space = self.copy(self.CHANGED, config=self.config(strict="true"))
        done = space.run(["run", "--mode", "auto", "--json", TASK])
        events = space.events(json_lines(done.stdout)[0]["run_id"])
        failed = [event["payload"] for event in events if event["type"] == "model.failed" and event["payload"]["class"] == "provider"]
        self.assertIn("request 2 of agent 2 differs from the recording: message 5 (a tool result)", failed[0]["error"])
        self.assertNotIn("out/b.txt", space.tree())
        self.assertEqual(space.tree()["out/a.txt"], "seen a\n")
        self.assertEqual(sum("of agent 2" in one["error"] for one in failed), 1)

    def test_another_task_differs_at_once(self):
        space = self.copy()
        done = self.replay(space, task="another task")
        self.assertIn("request 1 of the root agent differs from the recording: message 2 (a user message)", done.stderr)

    def test_a_recording_that_ends_too_early_fails_the_run(self):
        space = self.copy()
        exchanges = self.talk.read_text().splitlines(keepends=True)
        (space.root / "talk.jsonl").write_text("".join(line for line in exchanges if '"agent":0,"turn":3' not in line))
        done = self.replay(space)
        self.assertEqual(done.returncode, 1)
        self.assertIn("request 3 of the root agent has no answer in the recording", done.stderr + done.stdout)
        self.assertIn("it ends with request 2 of this agent", done.stderr + done.stdout)

    def test_a_wrong_line_stops_the_start_and_is_named(self):
        for number, line in [(3, "{]\n"), (2, '{"v":1}\n'), (1, "[" * 5000 + "\n")]:
            with self.subTest(line[:10]):
                space = self.copy()
                exchanges = self.talk.read_text().splitlines(keepends=True)
                exchanges[number - 1] = line
                (space.root / "talk.jsonl").write_text("".join(exchanges))
                done = self.replay(space)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"talk.jsonl:{number}: ", done.stderr)
                self.assertEqual(space.query("SELECT id FROM runs"), [])

    def test_a_recording_that_is_not_there_stops_the_start(self):
        space = Workspace(FILES, self.config())
        self.addCleanup(space.close)
        done = space.run(["run", TASK])
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"the recording {space.root}/talk.jsonl cannot be opened", done.stderr)

    def test_a_projects_file_may_not_name_a_recording(self):
        space = self.copy({"cadre.yaml": self.config()})
        done = space.run(["run", TASK])
        self.assertEqual(done.returncode, 2)
        self.assertIn("a project's file may not set llm.providers", done.stderr)

    def test_the_api_flag_leads_to_the_right_one(self):
        space = self.copy()
        done = space.run(["run", "--api", "replay", "--model", "m", TASK])
        self.assertEqual(done.returncode, 2)
        self.assertIn("use --replay FILE", done.stderr)


class Crashing(Recorded):
    def slow_copy(self):
        """Answers take a second each, so that a kill comes in the middle."""
        space = self.copy(config=self.config(speed="recorded", strict="true"))
        talk = space.root / "talk.jsonl"
        talk.write_text(re.sub(r'"ms":\d+', '"ms":1000', talk.read_text()))
        return space

    def test_a_killed_replay_goes_on_when_it_is_resumed(self):
        for event, count in [("model.requested", 1), ("model.replied", 2), ("tool.finished", 4), ("model.requested", 8)]:
            with self.subTest(f"{event} {count}"):
                space = self.slow_copy()
                process = space.start(["run", "--mode", "auto", "--json", TASK])
                process.wait_for_event(event, count)
                process.kill()
                run_id = process.lines[0]["run_id"]
                # What is left is answered at once: a resumed run reads the recording where it was, as it is now.
                talk = space.root / "talk.jsonl"
                talk.write_text(talk.read_text().replace('"ms":1000', '"ms":0'))
                done = space.run(["resume", run_id, "--json"])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(space.tree(), self.space.tree())
                self.assertEqual(json_lines(done.stdout)[-1]["response"], "all is done")

    def test_a_resume_without_the_recording_fails_and_says_why(self):
        space = self.slow_copy()
        process = space.start(["run", "--mode", "auto", "--json", TASK])
        process.wait_for_event("model.requested")
        process.kill()
        os.unlink(space.root / "talk.jsonl")
        done = space.run(["resume", process.lines[0]["run_id"], "--json"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("talk.jsonl cannot be opened", done.stdout)

    def test_a_killed_recording_is_usable_up_to_its_last_whole_line(self):
        space = self.slow_copy()
        again = space.root / "again.jsonl"
        process = space.start(["run", "--mode", "auto", "--json", "--record", str(again), TASK])
        process.wait_for_event("model.replied", 3)
        process.kill()
        for line in again.read_text().splitlines(keepends=True)[:2]:
            self.assertTrue(line.endswith("\n"))
            self.assertEqual(json.loads(line)["v"], 1)


class Documented(unittest.TestCase):
    """docs/replay.md: its shell blocks in order, its config in the file that the text names."""

    def test_the_example_works_as_it_is_printed(self):
        text = DOCUMENT.read_text()
        shells, (config,) = re.findall(r"```sh\n(.*?)```", text, re.S), re.findall(r"```yaml\n(.*?)```", text, re.S)
        self.assertEqual(len(shells), 3)
        server = ModelServer(SCRIPT, key=CANARY)
        space = Workspace({"README.md": "# A project\n"})
        self.addCleanup(space.close)
        (space.root / "bin").mkdir()
        (space.root / "bin" / "cadre").symlink_to(program("CADRE"))
        (space.root / "replay.yaml").write_text(f"store: {space.store}\n" + config)
        (space.root / "own.yaml").write_text(
            f"store: {space.store}\nllm:\n  providers: {{p: {{base_url: {server.url}, api_key_env: OPENAI_API_KEY}}}}\n"
            "  models: {scripted: {provider: p}}\n")
        environment = {**space.environment, "PATH": f"{space.root}/bin:{space.environment['PATH']}",
                       "CADRE_CONFIG": str(space.root / "own.yaml"), "OPENAI_API_KEY": CANARY}
        for number, shell in enumerate(shells):
            process = Process(["sh", "-e", "-c", shell], environment, space.files)
            self.assertEqual((process.end(), process.errors), (0, ""), shell)
            self.assertEqual((space.files / "SUMMARY.md").read_text(), "A project.\n")
            if number == 0:
                server.close()  # from here on there is no model


if __name__ == "__main__":
    unittest.main()
