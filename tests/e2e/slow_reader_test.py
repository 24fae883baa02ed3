"""A reader of `cadre run` that stands still, is slow or goes away: the run goes on, and no event is lost or shown twice."""
import fcntl
import os
import pty
import signal
import sqlite3
import subprocess
import termios
import threading
import time
import unittest

from harness import WAIT_SECONDS, ModelServer, Workspace, json_lines, program, wait_until

F_SETPIPE_SZ = 1031
LEASE_SECONDS = 15
QUEUED = 1 << 20  # what cadre keeps in memory before it leaves events to the store
BIG = "All work and no play makes a long line. " * 25


# Room for all that a talkative child says.
LIMITS = "sub_agent: {default_budget: {max_tokens: 60000}}\n"


def script(*rules):
    return {"models": [{"id": "scripted", "window": 100000, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def talkative(children):
    """Events of about 60 KB per child."""
    return script(rule({"calls": [call("spawn_agent", children, task="CHILD {{index}}")]}, first_user="ROOT", turn=0),
                  rule({"text": BIG, "repeat": 28, "calls": [call("read", path="a.txt")]}, first_user="CHILD", turn=0),
                  rule({"text": BIG, "repeat": 28, "calls": [call("ls", path=".")]}, first_user="CHILD", turn=1),
                  rule({"text": "seen"}, first_user="CHILD"),
                  rule({"text": "All of them."}, first_user="ROOT"))


def read_terminal(end):
    """The next bytes of a pseudo-terminal, none once all its users are gone."""
    try:
        return os.read(end, 65536)
    except OSError:
        return b""


class Reader:
    """A cadre whose stdout is read only when the test says so."""

    def __init__(self, space, arguments, errors="apart"):
        self.end, theirs = os.pipe()
        fcntl.fcntl(theirs, F_SETPIPE_SZ, 4096)
        self.popen = subprocess.Popen([program("CADRE"), arguments[0], "--store", str(space.store), *arguments[1:]],
                                      stdin=subprocess.DEVNULL, stdout=theirs,
                                      stderr=theirs if errors == "same" else subprocess.PIPE,
                                      env=space.environment, cwd=space.files, start_new_session=True)
        os.close(theirs)
        self.chunks = []
        self.thread = None

    def read_some(self):
        """One small piece, so that the next one finds the pipe full again."""
        self.chunks.append(os.read(self.end, 512))

    def _read(self):
        while chunk := os.read(self.end, 65536):
            self.chunks.append(chunk)

    def go_on(self):
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def go_away(self):
        os.close(self.end)
        self.end = None

    @property
    def text(self):
        return b"".join(self.chunks).decode()

    def close(self):
        """Reads to the end; returns the exit code."""
        try:
            if self.end is not None and self.thread is None:
                self.go_on()
            code = self.popen.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError("cadre did not end") from None
        if self.thread is not None:
            self.thread.join(WAIT_SECONDS)
        if self.end is not None:
            os.close(self.end)
            self.end = None
        self.errors = ""
        if self.popen.stderr is not None:
            self.errors = self.popen.stderr.read().decode()
            self.popen.stderr.close()
        return code

    def kill(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        if self.end is not None or (self.popen.stderr is not None and not self.popen.stderr.closed):
            self.close()


class SlowReader(unittest.TestCase):
    def start(self, rules, *flags, errors="apart"):
        self.server = ModelServer(rules)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(self.space.close)
        limits = self.space.root / "limits.yaml"
        limits.write_text(LIMITS)
        self.reader = Reader(self.space, ["run", "--config", str(limits), *self.server.flags(), "--mode", "auto", *flags, "ROOT"],
                             errors)
        self.addCleanup(self.reader.kill)
        return self.reader

    def query(self, sql, *values):
        """Rows of a store that is perhaps only being made."""
        try:
            return self.space.query(sql, *values)
        except sqlite3.OperationalError:
            return []

    def run_row(self):
        rows = self.query("SELECT * FROM runs")
        return rows[0] if rows else None

    def wait_for_status(self, status):
        return wait_until(lambda: (row := self.run_row()) and row["status"] == status and row, f"the run is {status}")

    def wait_for_event(self, event):
        wait_until(lambda: self.query("SELECT 1 FROM event_log WHERE type = ?", event), f"event {event}")

    def check_lines(self, text):
        """Every event that is in the store, once, in order, between the first line and the result."""
        lines = json_lines(text)
        stored = self.space.events(lines[0]["run_id"])
        self.assertEqual(lines[0]["type"], "run")
        self.assertEqual([line["type"] for line in lines[1:-1]], ["event"] * len(stored))
        self.assertEqual([line["seq"] for line in lines[1:-1]], list(range(1, len(stored) + 1)))
        for line, event in zip(lines[1:-1], stored):
            self.assertEqual((line["event"], line["agent_id"], line["ts"], line["summary"], line["payload"]),
                             (event["type"], event["agent_id"], event["ts"], event["summary"], event["payload"]))
        self.assertEqual(lines[-1]["type"], "result")
        return lines


class Stopped(SlowReader):
    def test_the_lease_is_kept_for_longer_than_it_lasts(self):
        reader = self.start(script(rule({"text": "late", "delay_ms": (LEASE_SECONDS + 4) * 1000})), "--json")
        self.wait_for_event("model.requested")
        run_id = self.run_row()["id"]
        time.sleep(LEASE_SECONDS + 1)
        taken = self.space.run(["resume", run_id])
        self.assertNotEqual(taken.returncode, 0)
        self.assertIn("owned by a living process", taken.stderr)
        self.wait_for_status("completed")
        self.assertEqual(reader.close(), 0)
        lines = self.check_lines(reader.text)
        self.assertEqual([line for line in lines if line.get("event") == "run.resumed"], [])

    def test_a_cancel_from_another_terminal_takes_effect(self):
        for errors in ("apart", "same"):
            with self.subTest(errors=errors):
                reader = self.start(script(rule({"text": "late", "delay_ms": 50000})), "--json", errors=errors)
                self.wait_for_event("model.requested")
                self.assertEqual(self.space.run(["cancel", self.run_row()["id"]]).returncode, 0)
                self.wait_for_status("cancelled")
                self.assertIsNone(reader.popen.poll())
                self.assertEqual(reader.close(), 130)
                self.check_lines(reader.text)

    def test_a_deadline_fires(self):
        reader = self.start(script(rule({"text": "late", "delay_ms": 50000})), "--json", "--timeout", "5s")
        self.wait_for_status("failed")
        self.assertEqual(reader.close(), 4)
        self.assertEqual(self.check_lines(reader.text)[-1]["status"], "timeout")

    def test_ctrl_c_parks_and_a_second_one_ends_at_once(self):
        reader = self.start(script(rule({"text": "late", "delay_ms": 50000})), "--json")
        self.wait_for_event("model.requested")
        reader.popen.send_signal(signal.SIGINT)
        self.wait_for_status("parked")
        reader.popen.send_signal(signal.SIGINT)
        self.assertEqual(reader.popen.wait(WAIT_SECONDS), 75)

    def test_a_run_comes_to_its_end_and_the_reader_then_gets_every_event_once(self):
        reader = self.start(talkative(28), "--json")
        self.wait_for_status("completed")
        self.assertEqual(reader.close(), 0)
        self.assertGreater(len(reader.text), QUEUED * 3 // 2)
        self.check_lines(reader.text)

    def test_a_reader_that_falls_behind_again_and_again_gets_every_event_once(self):
        reader = self.start(talkative(28), "--json")
        while self.run_row() is None or self.run_row()["status"] == "running":
            for _ in range(40):
                reader.read_some()
        self.assertEqual(reader.close(), 0)
        self.check_lines(reader.text)

    def test_plain_lines_are_all_there_too(self):
        reader = self.start(talkative(28))
        self.wait_for_status("completed")
        self.assertEqual(reader.close(), 0)
        self.assertEqual(reader.text.count(" closed "), 28)
        self.assertEqual(reader.text.count("All of them."), 2)  # as it was said, and as the answer
        self.assertTrue(any("completed" in line for line in reader.text.splitlines()[-5:]), reader.text[-1000:])

    def test_a_terminal_that_takes_nothing_holds_nothing_up(self):
        server = ModelServer(talkative(5))
        self.addCleanup(server.stop)
        self.space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(self.space.close)
        ours, theirs = pty.openpty()
        termios.tcflow(theirs, termios.TCOOFF)
        popen = subprocess.Popen([program("CADRE"), "run", "--store", str(self.space.store), *server.flags(), "--mode",
                                  "auto", "ROOT"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.space.files,
                                 env={**self.space.environment, "TERM": "xterm"}, start_new_session=True)
        self.addCleanup(lambda: popen.poll() is None and (popen.kill(), popen.wait()))
        self.wait_for_status("completed")
        self.assertIsNone(popen.poll())
        termios.tcflow(theirs, termios.TCOON)
        os.close(theirs)
        shown = b""
        while piece := read_terminal(ours):
            shown += piece
        os.close(ours)
        self.assertEqual(popen.wait(WAIT_SECONDS), 0)
        self.assertEqual(shown.count(b"All of them."), 1)
        self.assertGreater(shown.rfind(b"\x1b[?25h"), shown.rfind(b"\x1b[?25l"))


class Gone(SlowReader):
    def test_a_reader_that_goes_away_parks_the_run(self):
        reader = self.start(script(rule({"text": "late", "delay_ms": 50000})), "--json")
        self.wait_for_event("model.requested")
        reader.go_away()
        self.wait_for_status("parked")
        self.assertEqual(reader.close(), 75)
        self.assertIn("cadre: the output cannot be written any more: parking the run", reader.errors)


if __name__ == "__main__":
    unittest.main()
