"""Config files and typed paths: where they are looked for, from wherever the user stands."""
import json
import subprocess
import unittest

from harness import ModelServer, Workspace, program
from repository import Repository
from spawning import Spawning, call, root, rule, system
from terminal_test import script

SAYS = script(rule({"text": '{"done": true}'}))


class TypedPaths(unittest.TestCase):
    """The workspace is one directory, the user stands in another; both hold files of the same names."""

    def setUp(self):
        self.server = ModelServer(SAYS)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"own.yaml": "mode: plan\n", "schema.json": "not a schema"})
        self.addCleanup(self.space.close)
        self.desk = self.space.root / "desk"
        self.desk.mkdir()

    def cadre(self, *words, env=None):
        """Run at the desk."""
        return subprocess.run([program("CADRE"), *words], cwd=self.desk, env={**self.space.environment, **(env or {})},
                              capture_output=True, text=True, timeout=60, check=False)

    def run_there(self, *words, env=None):
        done = self.cadre("run", "--workspace", "../files", "--store", "../state/cadre.db", *words, "go", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_a_relative_variable_names_a_file_where_the_user_stands(self):
        (self.desk / "own.yaml").write_text("mode: research\n")
        done = self.cadre("config", "check", "--workspace", "../files", "--json", env={"CADRE_CONFIG": "own.yaml"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], [str(self.desk / "own.yaml")])

    def test_every_flag_with_a_path(self):
        (self.desk / "own.yaml").write_text("mode: research\n")
        (self.desk / "schema.json").write_text('{"type": "object"}')
        self.run_there(*self.server.flags(), "--config", "own.yaml", "--output-schema", "./schema.json", "--record", "tape")
        self.assertTrue(self.space.store.exists())
        self.assertTrue((self.desk / "tape").exists())
        self.assertEqual(sorted(path.name for path in self.space.files.iterdir()), ["own.yaml", "schema.json"])
        self.run_there("--replay", "tape")

    def test_plans_are_read_and_written_where_the_user_stands(self):
        (self.desk / "plan.yaml").write_text("goal: g\nsteps: [{id: a, title: t, description: d}]\n")
        done = self.cadre("run", "--workspace", "../files", "--store", "../state/cadre.db", *self.server.flags(),
                          "--plan-file", "plan.yaml", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.space.files / "wrong.yaml").write_text("goal: g\n")
        done = self.cadre("plan", "check", "wrong.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.yaml: No such file", done.stderr)

    def test_a_helper_for_keys_lies_beside_the_file_that_names_it(self):
        """From the current directory, a project could bring a program of that name."""
        for directory, key in ((self.space.root, "right"), (self.desk, "wrong"), (self.space.files, "wrong")):
            (directory / "key.sh").write_text(f"#!/bin/sh\ntouch {directory}/{key}\necho sk-{key}\n")
            (directory / "key.sh").chmod(0o755)
        own = self.space.root / "mine.yaml"
        own.write_text(f"llm:\n  providers: {{p: {{base_url: '{self.server.url}', api_key_cmd: [./key.sh]}}}}\n"
                       "  models: {m: {provider: p, model: scripted, max_context_tokens: 100000}}\n")
        self.run_there("--config", "../mine.yaml")
        self.assertTrue((self.space.root / "right").exists())
        self.assertFalse((self.desk / "wrong").exists())
        self.assertFalse((self.space.files / "wrong").exists())


class Mistakes(unittest.TestCase):
    """config check lists every mistake; a command that needs the config stops at the first."""

    TEXT = "mode: turbo\nsub_agentt: {a: 1}\nfoo: 1\n"

    def setUp(self):
        self.space = Workspace({"wrong.yaml": self.TEXT})
        self.addCleanup(self.space.close)

    def cadre(self, *words):
        return subprocess.run([program("CADRE"), *words], cwd=self.space.files, env=self.space.environment,
                              capture_output=True, text=True, timeout=60, check=False)

    def test_all_are_listed_with_their_lines(self):
        done = self.cadre("config", "check", "wrong.yaml")
        self.assertEqual(done.returncode, 2)
        for line in (1, 2, 3):
            self.assertIn(f"wrong.yaml:{line}:", done.stderr)
        done = self.cadre("config", "check", "wrong.yaml", "--json")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["type"], answer["found"], answer["complete"]), ("error", 3, True))
        self.assertEqual(answer["message"], answer["mistakes"][0]["message"])
        self.assertIn("did you mean 'sub_agent'?", answer["mistakes"][1]["message"])
        self.assertIn("wrong.yaml:3:1: unknown key 'foo'", answer["mistakes"][2]["message"])

    def test_the_rest_of_a_long_list_is_counted(self):
        (self.space.files / "wrong.yaml").write_text("".join(f"zz{i}: 1\n" for i in range(57)))
        done = self.cadre("config", "check", "wrong.yaml")
        self.assertIn("'zz49'", done.stderr)
        self.assertNotIn("'zz50'", done.stderr)
        self.assertIn("and 7 more", done.stderr)

    def test_other_commands_stop_at_the_first(self):
        done = self.cadre("run", "--config", "wrong.yaml", "go")
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.yaml:1:7:", done.stderr)
        self.assertNotIn("wrong.yaml:2:", done.stderr)


class Upward(unittest.TestCase):
    """A repository with a package in it; the user stands in the package."""

    FILES = {"AGENTS.md": "Top rules.\n", "CLAUDE.md": "never\n", "SOUL.md": "Top soul.\n", "ENVIRONMENT.md": "Top environment.\n",
             "pkg/CLAUDE.md": "Package rules.\n", "pkg/ENVIRONMENT.md": "Package environment.\n", "secrets.txt": "CANARY\n",
             "pkg/a.txt": "a\n"}

    def setUp(self):
        self.spawning = Spawning(
            self, root(0, calls=[call("spawn", task="JOB a"), call("spawn", task="JOB b", profile="soul")]),
            root(1, calls=[call("spawn_await", job_ids="*")]), root(2, text="the end"),
            rule({"text": "done"}, first_user="JOB"), files=self.FILES,
            config="tools: {spawn: {enabled: true, profiles: {soul: {bootstrap_files: [SOUL.md, secrets.txt, cadre.md]}}}}")
        self.space = self.spawning.space
        own = self.space.root / "home/.config/cadre"
        own.mkdir(parents=True)
        (own / "AGENTS.md").write_text("My own rules.\n")
        (own / "cadre.md").write_text("CANARY\n")
        (self.space.root / "AGENTS.md").write_text("CANARY above the top\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=Owner", "-c", "user.email=owner@example.org", *words], cwd=self.space.files,
                       env=self.space.environment, check=True, capture_output=True)

    def run_in_package(self):
        self.spawning.run("--workspace", "pkg")
        self.assertEqual(self.spawning.done.returncode, 0, self.spawning.done.stderr)
        recorder = self.spawning.recorder
        return [system(recorder.of(name)[0]) for name in ("ROOT", "JOB a", "JOB b")]

    def test_instructions_are_the_users_then_from_the_top_to_the_workspace(self):
        prompt, usual, soul = self.run_in_package()
        parts = ["My own rules.", "Top rules.", "# CLAUDE.md\n\nPackage rules.", "Top environment.", "Package environment."]
        places = [prompt.find(part) for part in parts]
        self.assertNotIn(-1, places, prompt)
        self.assertEqual(places, sorted(places))
        self.assertTrue(usual.startswith("My own rules.\n\nTop rules.\n\nPackage rules.\n\nTop environment.\n\nPackage environment.\n\n"),
                        usual)
        self.assertTrue(soul.startswith("Top soul.\n\n"), soul)
        for text in (prompt, usual, soul):
            self.assertNotIn("never", text)
            self.assertNotIn("CANARY", text)

    def test_a_config_at_the_top_counts_in_the_package(self):
        (self.space.files / "cadre.yaml").write_text("mode: plan\n")
        (self.space.files / "pkg/cadre.yaml").write_text("budget: {tokens: 100000}\n")
        done = self.space.run(["config", "check", "--workspace", "pkg", "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json.loads(done.stdout)
        self.assertEqual([name.removeprefix(str(self.space.files)) for name in line["files"][1:]],
                         ["/cadre.yaml", "/pkg/cadre.yaml"])
        self.assertEqual(line["settings"]["mode"], "plan")

    def test_what_the_top_widens_is_refused_in_the_package(self):
        (self.space.files / "cadre.yaml").write_text("mode: dangerous\n")
        done = self.space.run(["run", "--workspace", "pkg", "go"])
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.space.files}/cadre.yaml:1:7: a project's file may not set mode", done.stderr)
        self.assertEqual(self.space.run(["config", "trust", "--workspace", "pkg"]).returncode, 0)
        self.assertEqual(self.space.run(["config", "check", "--workspace", "pkg"]).returncode, 0)


class OwnFiles(unittest.TestCase):
    """No tool changes cadre.yaml or .cadre, and none of it is merged."""

    CALLS = [call("write", path="cadre.yaml", content="mode: plan\n"),
             call("edit", path="./cadre.yaml", old_text="mode", new_text="store"),
             call("multi_edit", path="CADRE.yaml", edits=[{"old_text": "mode", "new_text": "store"}]),
             call("delete", path="cadre.yaml"),
             call("write", path="src/.cadre/commands/x.md", content="x\n"),
             call("shell", command="mv cadre.yaml old.yaml"),
             call("shell", command="mv a.txt cadre.yaml"),
             call("shell", command="git show HEAD~1:cadre.yaml > cadre.yaml"),
             call("shell", command="git checkout -q HEAD~1 -- cadre.yaml"),
             call("shell", command="echo x > .cadre/commands/go.md")]

    def setUp(self):
        self.space = Repository(files={"a.txt": "one\n", "cadre.yaml": "mode: safe # old\n", ".cadre/commands/go.md": "go\n"})
        self.addCleanup(self.space.close)
        (self.space.files / "cadre.yaml").write_text("mode: safe # new\n")
        self.space.git("commit", "-qam", "second")

    def run_calls(self, *rules):
        with ModelServer(script(*rules)) as server:
            done = self.space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.run_id = self.space.query("SELECT id FROM runs")[0]["id"]
        return self.space.events(self.run_id)

    def kept(self):
        self.assertEqual((self.space.files / "cadre.yaml").read_text(), "mode: safe # new\n")
        self.assertEqual((self.space.files / ".cadre/commands/go.md").read_text(), "go\n")
        self.assertEqual(self.space.git("status", "--porcelain"), "")

    def test_by_no_tool(self):
        for made in self.CALLS:
            with self.subTest(call=made):
                self.space.close()
                self.setUp()
                events = self.run_calls(root(0, calls=[made]), root(1, text="done"))
                ends = [event["payload"] for event in events if event["type"] == "tool.finished"]
                self.assertEqual(len(ends), 1)
                self.assertEqual(ends[0]["outcome"], "error", ends[0])
                self.kept()

    def test_by_no_child(self):
        work = call("shell", command="mkdir -p src && echo 'mode: plan' > src/cadre.yaml && echo two > b.txt")
        self.run_calls(root(0, calls=[call("spawn_agent", task="CHILD works")]), root(1, text="done"),
                       rule({"calls": [work]}, first_user="CHILD", turn=0), rule({"text": "did it"}, first_user="CHILD"))
        self.kept()
        names = self.space.git("ls-tree", "-r", "--name-only", f"cadre/{self.run_id}/result").splitlines()
        self.assertNotIn("src/cadre.yaml", names)


if __name__ == "__main__":
    unittest.main()
