"""The demo as a person starts it who does not wait for its end."""
import os
import signal
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


if __name__ == "__main__":
    unittest.main()
