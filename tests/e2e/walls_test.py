"""The walls around commands, seen through the program: what doctor tells, and what a config may say about them."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import ModelServer, Workspace, json_lines  # noqa: E402


class WallsTest(unittest.TestCase):
    def checks(self, *arguments, config=None):
        with Workspace(config=config) as space:
            done = space.run(["doctor", "--json", *arguments])
        return [line for line in json_lines(done.stdout) if line["type"] == "check"]

    def test_doctor_tries_one_attack_on_each_wall(self):
        walls = [line for line in self.checks() if line["name"] == "walls"]
        self.assertEqual([line["verdict"] for line in walls], ["ok"], walls)
        self.assertIn("files, landlock, processes, privileges, seccomp, network, limits: ", walls[0]["text"])

    def test_doctor_tries_every_attack_when_asked(self):
        lines = self.checks("--walls")
        attacks = [line for line in lines if line["name"] == "wall"]
        self.assertGreater(len(attacks), 30)
        self.assertEqual([line["text"] for line in attacks if line["verdict"] == "fail"], [])
        self.assertIn(f"{len(attacks)} attacks failed", [line for line in lines if line["name"] == "walls"][0]["text"])

    def test_a_wall_that_was_turned_off_is_named(self):
        walls = [line for line in self.checks(config="sandbox: {seccomp: false}\n") if line["name"] == "walls"]
        self.assertEqual(walls[0]["verdict"], "warn")
        self.assertIn('turned off the wall "seccomp"', walls[0]["text"])

    def test_a_result_tells_which_walls_were_off(self):
        rules = [{"when": {"turn": 0}, "reply": {"calls": [{"name": "shell", "arguments": {"command": "echo hi"}}]}},
                 {"reply": {"text": "done"}}]
        models = [{"id": "scripted", "window": 131072, "max_output": 8192}]
        with ModelServer({"models": models, "rules": rules}) as server, \
                Workspace(config="sandbox: {seccomp: false}\n") as space:
            done = space.run(["run", "--json", "--mode", "dangerous", *server.flags(), "do it"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("the config turned off seccomp", done.stderr)
            events = space.events(json_lines(done.stdout)[0]["run_id"])
            texts = [event["payload"]["text"] for event in events if event["type"] == "tool.finished"]
            self.assertRegex(texts[0], "exit code 0 .*the operator turned off: seccomp")

    def test_a_project_cannot_turn_a_wall_off(self):
        with Workspace() as space:
            (space.files / "cadre.yaml").write_text("sandbox: {namespaces: false}\n")
            done = space.run(["config", "check"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("sandbox.namespaces", done.stderr)


if __name__ == "__main__":
    unittest.main()
