"""`cadre run -`, which takes its task from standard input, and `cadre runs --status`."""
import signal
import subprocess
import unittest

from harness import WAIT_SECONDS, ModelServer, Workspace, json_lines, program

ANSWER = {"models": [{"id": "scripted", "window": 2000000, "max_output": 8192}],
          "rules": [{"when": {"first_user": "SLOW"}, "reply": {"text": "late", "delay_ms": 50000}},
                    {"reply": {"text": "You said: {{first_user}}"}}]}


class TaskOnStdin(unittest.TestCase):
    def setUp(self):
        self.server = ModelServer(ANSWER)
        self.addCleanup(self.server.stop)
        self.space = Workspace()
        self.addCleanup(self.space.close)

    def run_with(self, task):
        return subprocess.run([program("CADRE"), "run", "--store", str(self.space.store), *self.server.flags(), "--mode",
                               "auto", "--quiet", "-"], input=task, capture_output=True, env=self.space.environment,
                              cwd=self.space.files, timeout=WAIT_SECONDS)

    def refused(self, task):
        done = self.run_with(task)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(self.space.query("SELECT 1 FROM runs") if self.space.store.exists() else [], [])
        return done.stderr.decode()

    def test_the_task_is_what_stands_on_standard_input(self):
        done = self.run_with("count the lines\nof ‘a.txt’\n".encode())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout.decode(), "You said: count the lines\nof ‘a.txt’\n")
        (row,) = self.space.query("SELECT task FROM runs")
        self.assertEqual(row["task"], "count the lines\nof ‘a.txt’")

    def test_a_task_of_one_megabyte_is_taken_and_a_longer_one_refused(self):
        text = b"x" * (1 << 20)
        self.run_with(text)  # more than the model's window takes, and stored
        (row,) = self.space.query("SELECT length(task) AS length FROM runs")
        self.assertEqual(row["length"], 1 << 20)
        done = self.run_with(text + b"x")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"longer than 1048576 bytes", done.stderr)

    def test_an_empty_task_is_refused(self):
        for task in (b"", b"\n \n"):
            self.assertIn("the task is empty", self.refused(task))

    def test_bytes_that_are_no_text_are_refused(self):
        self.assertIn("not UTF-8 from byte 6 on", self.refused(b"count\xff"))
        self.assertIn("zero byte", self.refused(b"count\0it"))


class RunsByStatus(unittest.TestCase):
    def test_runs_are_found_by_every_status_that_is_shown(self):
        with ModelServer(ANSWER) as server, Workspace() as space:
            def ids(status):
                return [row["run_id"] for row in json_lines(space.run(["runs", "--status", status, "--json"]).stdout)]
            flags = ["run", *server.flags(), "--mode", "auto", "--json"]
            completed = json_lines(space.run([*flags, "quick"]).stdout)[0]["run_id"]
            process = space.start([*flags, "SLOW"])
            slow = process.wait_for_event("model.requested")["run_id"]
            self.assertEqual((ids("running"), ids("stopped"), ids("completed")), ([slow], [], [completed]))
            process.signal(signal.SIGKILL)
            process.end()
            self.assertEqual((ids("running"), ids("stopped"), ids("failed")), ([], [slow], []))
            self.assertRegex(space.run(["runs", "--status", "stopped"]).stdout, rf"(?m)^{slow}  stopped ")
            self.assertEqual(space.run(["runs", "--status", "failed"]).stdout, "No run is failed.\n")
            self.assertEqual(space.run(["cancel", slow, "--now"]).returncode, 0)
            self.assertEqual((ids("stopped"), ids("cancelled")), ([], [slow]))


if __name__ == "__main__":
    unittest.main()
