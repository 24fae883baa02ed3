"""A project's cadre.yaml that allows more than the user's own config: asked about once on a terminal, refused without one."""
import json
import unittest

from harness import ModelServer, Workspace, program
from terminal_test import OnATerminal, Terminal, call, rule, script

WRITES = script(rule({"calls": [call("write", path="out.txt", content="hello\n")]}, turn=0), rule({"text": "done"}))
WIDENS = "mode: auto\nsub_agent: {max_concurrent: 2}\n"


class WithoutATerminal(unittest.TestCase):
    def setUp(self):
        self.server = ModelServer(WRITES)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one\n", "cadre.yaml": WIDENS})
        self.addCleanup(self.space.close)

    def run_task(self):
        return self.space.run(["run", *self.server.flags(), "go"])

    def trust(self, *flags):
        done = self.space.run(["config", "trust", *flags])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self):
        done = self.run_task()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("files/cadre.yaml:1:7: a project's file may not set mode wider than safe (built-in)", done.stderr)
        self.assertIn("cadre config trust", done.stderr)
        self.assertFalse((self.space.files / "out.txt").exists())

    def test_the_start_stops_with_2_and_names_the_command(self):
        self.refused()

    def test_a_trusted_file_widens_until_it_changes(self):
        self.assertIn("  mode: safe (built-in) -> auto\n", self.trust())
        self.assertEqual(self.run_task().returncode, 0)
        self.assertEqual((self.space.files / "out.txt").read_text(), "hello\n")
        (self.space.files / "out.txt").unlink()
        (self.space.files / "cadre.yaml").write_text(WIDENS + "# changed\n")
        self.refused()
        (self.space.files / "cadre.yaml").write_text(WIDENS)

    def test_show_changes_nothing(self):
        self.assertIn("It is not trusted.", self.trust("--show"))
        self.refused()
        self.trust()
        self.assertIn("It is trusted as it is now", self.trust("--show"))

    def test_what_was_trusted_can_be_revoked(self):
        self.trust()
        self.assertIn("It is trusted no more.", self.trust("--revoke"))
        self.refused()

    def test_as_json_the_values_before_and_after_are_told(self):
        line = json.loads(self.trust("--show", "--json"))
        self.assertEqual((line["type"], line["state"]), ("trust", "not trusted"))
        self.assertEqual(line["widens"], [{"file": str(self.space.files / "cadre.yaml"), "key": "mode",
                                           "from": "safe (built-in)", "to": "auto"}])

    def test_a_file_that_narrows_needs_no_trust(self):
        (self.space.files / "cadre.yaml").write_text("mode: plan\n")
        self.assertIn("nothing to trust", self.trust())
        self.assertEqual(self.run_task().returncode, 0)
        self.assertEqual(list((self.space.root / "home/.local/state/cadre/trust").iterdir()), [])

    def test_commands_that_look_need_no_trust(self):
        """They leave the project's file out and say so; one that goes on with a run does not."""
        (self.space.files / "cadre.yaml").unlink()
        self.assertEqual(self.run_task().returncode, 0)
        (self.space.files / "cadre.yaml").write_text(WIDENS)
        for words in (["runs"], ["show", "last"], ["events", "last"], ["tree", "last"], ["verify", "last"],
                      ["replay", "last"], ["agents", "list"], ["doctor"]):
            with self.subTest(command=words[0]):
                done = self.space.run(words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("cadre.yaml is not trusted and was left out", done.stderr)
        done = self.space.run(["resume", "last"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("unless you trust it", done.stderr)

    def test_nothing_is_written_into_the_project(self):
        before = self.space.tree()
        self.trust()
        self.assertEqual(self.space.tree(), before)
        self.assertEqual(len(list((self.space.root / "home/.local/state/cadre/trust").iterdir())), 1)

    def test_a_tool_cannot_reach_the_place_of_trust(self):
        """Even where the user's home is the workspace."""
        state = self.space.files / ".local/state/cadre/trust"
        state.mkdir(parents=True)
        (self.space.files / "cadre.yaml").unlink()
        rules = script(rule({"calls": [call("write", path=".local/state/cadre/trust/x", content="x\n")]}, turn=0),
                       rule({"text": "{{last}}"}))
        with ModelServer(rules) as server:
            done = self.space.run(["run", *server.flags(), "--mode", "auto", "go"],
                                  env={"HOME": str(self.space.files)})
        self.assertEqual(list(state.iterdir()), [])
        self.assertIn("Error:", done.stdout)


class OnOne(OnATerminal):
    def start_run(self):
        terminal = Terminal(self.space, [program("CADRE"), "run", "--store", self.space.store, *self.server.flags(), "go"],
                            columns=160)
        self.addCleanup(terminal.close)
        return terminal

    def setUp(self):
        self.server = ModelServer(WRITES)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"cadre.yaml": WIDENS})
        self.addCleanup(self.space.close)

    def test_yes_is_remembered(self):
        terminal = self.start_run()
        text = terminal.wait_for(r"Trust it as it is now\? \[y/n\]")
        self.assertIn("  mode: safe (built-in) -> auto", text)
        self.assertNotIn("max_concurrent", text)
        terminal.keys("y", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual((self.space.files / "out.txt").read_text(), "hello\n")
        terminal.close()
        again = self.start_run()
        self.assertEqual(again.wait_for_end(), 0)
        self.assertNotIn("Trust it", again.history())

    def test_no_ends_with_2_and_asks_again_the_next_time(self):
        for _ in range(2):
            terminal = self.start_run()
            terminal.wait_for(r"Trust it as it is now\? \[y/n\]")
            terminal.keys("Enter")
            terminal.wait_for(r"(?s)\[y/n\].*\[y/n\]")  # that was no answer
            terminal.keys("n", "Enter")
            self.assertEqual(terminal.wait_for_end(), 2)
            terminal.close()
        self.assertFalse((self.space.files / "out.txt").exists())


if __name__ == "__main__":
    unittest.main()
