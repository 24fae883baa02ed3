"""The demo as a person starts it who does not wait for its end."""
import os
import signal
import subprocess
import unittest

from harness import Workspace, processes_of, program, Process, wait_until


class Demo(unittest.TestCase):
    def interrupt(self, number):
        """Sends the signal as a terminal does, to the whole group, in the middle of the plan; the process when it has ended."""
        with Workspace({}) as space:
            place = space.root / "temporary"
            place.mkdir()
            process = Process([program("CADRE"), "demo"], {**space.environment, "TMPDIR": str(place)}, space.root)
            wait_until(lambda: "planner" in process.text, "the planner is at work")
            os.killpg(process.pid, number)
            code = process.end()
            self.assertEqual(processes_of(process.pid), [])
            self.assertEqual(list(place.iterdir()), [])
        return code, process

    def test_a_demo_that_is_interrupted_leaves_nothing_behind(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                code, process = self.interrupt(number)
                self.assertEqual(code, 130, process.errors)
                self.assertNotIn("BROKEN", process.text)
                self.assertNotIn("guarantee held", process.text)

    def test_a_demo_that_nobody_reads_any_more_ends_early_and_leaves_nothing_behind(self):
        with Workspace({}) as space:
            place = space.root / "temporary"
            place.mkdir()
            with open("/dev/full", "w") as full:
                done = subprocess.run([program("CADRE"), "demo"], env={**space.environment, "TMPDIR": str(place)}, cwd=space.root,
                                      stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(done.stderr.count("the output cannot be written any more: parking the run"), 1, done.stderr)
            self.assertEqual(list(place.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
