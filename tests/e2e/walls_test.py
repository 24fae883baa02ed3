"""The walls around commands, seen through the program: what doctor tells, and what a config may say about them."""
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import ModelServer, Workspace, json_lines, program  # noqa: E402
from repository import Repository, call, script  # noqa: E402

BARE = "sandbox: {namespaces: false}\n"


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

    def test_doctor_without_user_namespaces_names_the_remedy(self):
        # In a user namespace of one's own, one may forbid further ones.
        forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
        prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"]
        with Workspace() as space:
            if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("no user namespaces")
            done = subprocess.run([*prefix, program("CADRE"), "doctor", "--json", "--store", str(space.store)],
                                  cwd=space.files, env=space.environment, capture_output=True, text=True, check=False)
        walls = [line for line in json_lines(done.stdout) if line.get("name") == "walls"]
        self.assertEqual(walls[0]["verdict"], "fail")
        self.assertIn("Remedy: user.max_user_namespaces is 0: `sysctl -w user.max_user_namespaces=15000`", walls[0]["text"])

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

    def test_a_refused_system_call_is_told_and_recorded(self):
        with Workspace() as space:
            told = self.shell(space, "unshare --user true; exit 3")
            self.assertIn("system calls that the sandbox refused: unshare (by unshare)", told["text"])
            self.assertEqual(told["refused"], [{"call": "unshare", "program": "unshare", "times": 1}])
            told = self.shell(space, "true")
            self.assertNotIn("refused", told)

    def test_a_server_whose_socket_lies_in_the_workspace_is_not_reached(self):
        knock = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"server\")'"
        with Workspace() as space, socket.socket(socket.AF_UNIX) as server:
            server.bind(str(space.files / "server"))
            server.listen()
            self.assertIn("Connection refused", self.shell(space, knock)["text"])
            server.setblocking(False)
            self.assertRaises(BlockingIOError, server.accept)  # nobody knocked, to look either
            own = "rm -f own; python3 -c 'import socket; a = socket.socket(socket.AF_UNIX); a.bind(\"own\"); a.listen(); " \
                  "socket.socket(socket.AF_UNIX).connect(\"own\")'"
            for _ in range(2):
                self.assertIn("exit code 0", self.shell(space, own)["text"])

    def test_a_project_cannot_turn_a_wall_off(self):
        with Workspace() as space:
            (space.files / "cadre.yaml").write_text("sandbox: {namespaces: false}\n")
            done = space.run(["config", "check"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("sandbox.namespaces", done.stderr)

    def shell(self, space, command):
        """Runs it as the root agent's only call; returns what it was told of it and how the run ended."""
        rules = [{"when": {"turn": 0}, "reply": {"calls": [call("shell", command=command)]}}, {"reply": {"text": "done"}}]
        with ModelServer(script(*rules)) as server:
            done = space.run(["run", "--json", "--mode", "dangerous", *server.flags(), "ROOT"])
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = json_lines(done.stdout)
        self.result = lines[-1]
        finished = [event for event in space.events(lines[0]["run_id"]) if event["type"] == "tool.finished"]
        self.assertEqual(len(finished), 1)
        return finished[0]["payload"]

    def test_without_namespaces_a_command_works_in_the_tree_of_its_agent(self):
        with Repository(BARE, {"a.txt": "one\n"}) as space:
            told = self.shell(space, "pwd && cat a.txt && echo two >> a.txt && echo new > b.txt && chmod 700 b.txt")
            self.assertIn("exit code 0", told["text"])
            branch = self.result["branch"]
            self.assertEqual(space.git("show", f"{branch}:a.txt"), "one\ntwo")
            self.assertEqual(space.git("show", f"{branch}:b.txt"), "new")


if __name__ == "__main__":
    unittest.main()
