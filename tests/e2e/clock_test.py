"""The wall clock is for showing: whoever sets it ends no run early, and lets none hang."""
import os
import struct
import unittest

from harness import ModelServer, Workspace, program, wait_until

DAY = 24 * 3600
HOUR = 3600


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


class Clock(unittest.TestCase):
    def start(self, *rules, flags=()):
        self.server = ModelServer(script(*rules))
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(self.space.close)  # verifies and replays
        self.offset = self.space.root / "clock"
        self.offset.write_bytes(struct.pack("=q", 0))
        options = os.environ.get("ASAN_OPTIONS", "")
        self.faked = {"LD_PRELOAD": program("CADRE_FAKE_CLOCK"), "FAKE_CLOCK": str(self.offset),
                      "ASAN_OPTIONS": options + ":verify_asan_link_order=0"}
        process = self.space.start(["run", *self.server.flags(), "--json", *flags, "ROOT"], env=self.faked)
        return process

    def set_clock(self, seconds):
        """The file is mapped by the program: it is written in place."""
        with open(self.offset, "r+b") as file:
            file.write(struct.pack("=q", seconds * 1000))

    def answer_is_awaited(self):
        wait_until(lambda: self.server.stats()["in_flight"] > 0, "the model is asked")

    def times(self, run_id):
        return [event["ts"] for event in self.space.events(run_id)]

    def test_a_clock_that_is_set_a_day_ahead_does_not_end_a_run(self):
        process = self.start(rule({"calls": [{"name": "read", "arguments": {"path": "a.txt"}, "repeat": 1}], "delay_ms": 1500}, turn=0),
                             rule({"text": "done", "delay_ms": 500}), flags=("--timeout", "60s"))
        self.answer_is_awaited()
        self.set_clock(DAY)
        self.assertEqual(process.end(), 0, process.errors)
        times = self.times(process.lines[0]["run_id"])
        self.assertLess(times[-1] - times[0], HOUR * 1000)

    def test_a_clock_that_is_set_back_an_hour_does_not_put_a_timeout_off(self):
        process = self.start(rule({"text": "late", "delay_ms": 600000}), flags=("--timeout", "8s"))
        self.answer_is_awaited()
        self.set_clock(-HOUR)
        self.assertEqual(process.end(), 4, process.errors)

    def test_the_program_sees_the_clock_that_is_set(self):
        """Or the tests above would test nothing."""
        process = self.start(rule({"text": "done"}))
        self.assertEqual(process.end(), 0, process.errors)
        self.set_clock(DAY)
        again = self.space.run(["run", *self.server.flags(), "--json", "ROOT"], env=self.faked)
        self.assertEqual(again.returncode, 0, again.stderr)
        first, second = [row["started_at"] for row in self.space.query("SELECT started_at FROM runs ORDER BY run_no")]
        self.assertGreater(second - first, (DAY - 60) * 1000)

    def test_a_run_goes_on_when_the_clock_was_set_between_two_owners(self):
        for seconds in (DAY, -DAY):
            with self.subTest(seconds=seconds):
                process = self.start(rule({"text": "never", "delay_ms": 600000, "fail_times": 1,
                                           "then": {"text": "done"}}), flags=("--timeout", "60s"))
                self.answer_is_awaited()
                process.kill()
                self.set_clock(seconds)
                run_id = self.space.query("SELECT id FROM runs ORDER BY run_no DESC LIMIT 1")[0]["id"]
                done = self.space.run(["resume", run_id], env=self.faked)
                self.assertEqual(done.returncode, 0, done.stderr)
                times = self.times(run_id)
                self.assertEqual(times, sorted(times))


if __name__ == "__main__":
    unittest.main()
