"""What is wrong with a run is told before anything is stored or asked; what is odd is a warning. And small promises of the command line."""
import json
import os
import subprocess
import unittest

from harness import ModelServer, Workspace, json_lines, program
from repository import Repository, writer


def script(*rules, window=32768):
    return {"models": [{"id": "scripted", "window": window, "max_output": 8192}], "rules": list(rules)}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


SAYS_OK = script({"reply": {"text": "all is well"}})
CONFIG = """llm:
  providers: {{local: {{api: openai, base_url: "{url}"}}}}
  models: {{one: {{provider: local, model: scripted, max_context_tokens: {window}}}, two: {{provider: local, model: other}}}}
  pools: {{first: [{{model: one}}]}}
  default_pool: first
"""


class Start(unittest.TestCase):
    def serve(self, rules=SAYS_OK):
        server = ModelServer(rules)
        self.addCleanup(server.stop)
        return server

    def check_nothing_stored(self, space, server):
        self.assertEqual(space.query("SELECT id FROM runs"), [])
        self.assertEqual(server.requests(), [])

    def run_with_input(self, space, words, text):
        return subprocess.run([program("CADRE"), words[0], "--store", str(space.store), *words[1:]], env=space.environment,
                              cwd=space.files, input=text, capture_output=True, text=True, timeout=100, check=False)

    def test_a_task_may_have_a_megabyte(self):
        server = self.serve(script({"reply": {"text": "all is well"}}, window=4000000))
        with Workspace({}, CONFIG.format(url=server.url, window=4000000)) as space:
            task = "\\\"" + "x" * ((1 << 20) - 2)
            done = self.run_with_input(space, ["run", "--quiet", "-"], task)
            self.assertEqual((done.returncode, done.stdout), (0, "all is well\n"), done.stderr)
            self.assertEqual(space.query("SELECT length(task) AS n FROM runs"), [{"n": 1 << 20}])
            done = self.run_with_input(space, ["run", "--quiet", "-"], task + "x")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(space.query("SELECT id FROM runs")), 1)

    def test_without_a_snapshot_a_dirty_checkout_is_refused_at_the_start(self):
        server = self.serve(writer())
        with Repository("isolation: {snapshot: false}\n") as space:
            (space.files / "dirty.txt").write_text("not committed\n")
            done = space.run(["run", *server.flags(), "--mode", "auto", "START"])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("isolation.snapshot is false; commit or stash them first", done.stderr)
            self.check_nothing_stored(space, server)
            (space.files / "dirty.txt").unlink()
            self.assertEqual(space.run(["run", *server.flags(), "--mode", "auto", "START"]).returncode, 0)

    def test_pins_that_cannot_hold_share_a_code_and_name_the_allowed_models(self):
        server = self.serve()
        config = CONFIG.format(url=server.url, window=32768).replace("  pools", "  allowed_models: [one]\n  pools")
        for model, told in (("other", "two is not in llm.allowed_models; the allowed models are: one"),
                            ("none", "is not in llm.models; there is: local/one;")):
            with self.subTest(model), Workspace({}, config) as space:
                profile = space.root / "profile.json"
                profile.write_text(json.dumps({"id": "profile:p:v1", "provider": "local", "model": model, "description": "d",
                                               "system_prompt": "s"}))
                self.assertEqual(space.run(["agents", "profile", "put", str(profile)]).returncode, 0)
                self.assertEqual(space.run(["agents", "pin", "profile:p:v1", "--user"]).returncode, 0)
                done = space.run(["run", "ROOT"])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(told, done.stderr)
                self.check_nothing_stored(space, server)

    def test_instructions_that_cannot_be_read_are_a_warning_for_root_and_children(self):
        server = self.serve(script(
            {"when": {"first_user": "ROOT", "turn": 0}, "reply": {"calls": [call("spawn", task="CHILD")]}},
            {"when": {"first_user": "ROOT", "turn": 1}, "reply": {"calls": [call("spawn_await", job_ids="*")]}},
            {"when": {"first_user": "CHILD"}, "reply": {"text": "seen"}}, {"reply": {"text": "{{last}}"}}))
        for content in (b"\x7fELF\0\1", b"x" * 300000, None):
            with self.subTest(content and content[:4]), Workspace({}, "tools: {spawn: {enabled: true}}\n") as space:
                path = space.files / "AGENTS.md"
                path.mkdir() if content is None else path.write_bytes(content)
                done = space.run(["run", *server.flags(), "--mode", "auto", "--quiet", "ROOT"])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, r"\Acadre: warning: .*AGENTS.md.*\n\Z")
                self.assertIn("OK]\nseen", done.stdout)


class Small(unittest.TestCase):
    def test_a_profile_with_an_unknown_tool_is_refused(self):
        with Workspace({}) as space:
            profile = space.root / "profile.json"
            document = {"id": "profile:p:v1", "provider": "local", "model": "m", "description": "d", "system_prompt": "s",
                        "allowed_tools": ["read", "raed"]}
            profile.write_text(json.dumps(document))
            done = space.run(["agents", "profile", "put", str(profile)])
            self.assertEqual(done.returncode, 2)
            self.assertIn('allowed_tools[1]: there is no tool "raed"; the tools are: ', done.stderr)
            self.assertIn("No profiles", space.run(["agents", "profile", "list"]).stdout)
            profile.write_text(json.dumps({**document, "allowed_tools": ["read", "edit"]}))
            self.assertEqual(space.run(["agents", "profile", "put", str(profile)]).returncode, 0)

    def test_a_result_is_applied_to_a_repository_without_a_commit_and_taken_back(self):
        with ModelServer(writer("new.txt", "made\n")) as server, Workspace({"a.txt": "one\n"}) as space:
            subprocess.run(["git", "init", "-q"], cwd=space.files, check=True)
            done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "--apply", "START"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(space.tree(), {"a.txt": "one\n", "new.txt": "made\n"})
            head = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], cwd=space.files, capture_output=True, check=False)
            self.assertNotEqual(head.returncode, 0, "nothing was committed for the user")
            self.assertEqual(space.run(["apply", "--undo", "last"]).returncode, 0)
            self.assertEqual(space.tree(), {"a.txt": "one\n"})

    def test_deltas_are_lines_on_request(self):
        with ModelServer(script({"reply": {"text": "all is well", "chunk_delay_ms": 20}})) as server, Workspace({}) as space:
            done = space.run(["run", *server.flags(), "--json", "--deltas", "ROOT"])
            deltas = [line for line in json_lines(done.stdout) if line["type"] == "delta"]
            self.assertGreater(len(deltas), 0)
            self.assertEqual({line["kind"] for line in deltas}, {"text"})
            self.assertIn("".join(line["text"] for line in deltas)[:3], "all is well")
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertNotIn("delta", [line["type"] for line in json_lines(done.stdout)])

    def test_a_reader_that_leaves_is_an_error_and_no_signal(self):
        with Workspace({}) as space:
            for words in (["help", "--markdown"], ["version"], ["runs"], ["config", "check"]):
                done = subprocess.run(["sh", "-c", '"$@"; echo $? >&2', "sh", program("CADRE"), *words], env=space.environment,
                                      cwd=space.files, stdout=self.closed_pipe(), stderr=subprocess.PIPE, text=True, timeout=60,
                                      check=False)
                self.assertEqual(done.stderr.splitlines()[-1], "1", (words, done.stderr))

    def closed_pipe(self):
        ours, theirs = os.pipe()
        os.close(ours)
        self.addCleanup(os.close, theirs)
        return theirs


if __name__ == "__main__":
    unittest.main()
