"""One owner at a time, whatever happens to it: a process that was stopped past its lease starts nothing more, and
the command that it had started ends."""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
from pathlib import Path

from harness import ModelServer, Workspace, program, wait_until

LEASE_SECONDS = 15


def script(*rules):
    return {"models": [{"id": "scripted", "window": 131072, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def shell(command):
    return {"name": "shell", "arguments": {"command": command}, "repeat": 1}


# Writes a line every 50 ms, for as long as it lives.
TICKS = "while :; do echo tick >> ticks; sleep 0.05; done"


class Stopped(unittest.TestCase):
    def start(self, files=None):
        self.server = ModelServer(script(rule({"calls": [shell(TICKS)]}, turn=0), rule({"text": "done"})))
        self.addCleanup(self.server.stop)
        self.space = Workspace(files)
        self.addCleanup(self.space.close)  # verifies and replays
        self.ticks = self.space.files / "ticks"
        process = self.space.start(["run", *self.server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        self.addCleanup(process.signal, signal.SIGCONT)
        return process

    def written(self):
        return self.ticks.read_text() if self.ticks.exists() else ""

    def lease_has_run_out(self, run_id):
        """As another process sees it: it may take the run over."""
        (row,) = self.space.query("SELECT epoch FROM leases")
        return row["epoch"] > 1 or self.space.run(["resume", run_id, "--json"]).returncode == 0

    def take_over(self, process):
        """Another process resumes the run to its end, as soon as it may."""
        run_id = process.lines[0]["run_id"]
        wait_until(lambda: self.lease_has_run_out(run_id), "another process resumes the run", 3 * LEASE_SECONDS)
        return run_id

    def check_that_nothing_more_happens(self, process, run_id):
        before = self.written()
        process.signal(signal.SIGCONT)
        self.assertNotEqual(process.end(), 0)
        time.sleep(0.5)  # a command that lives on would write ten lines
        self.assertEqual(self.written(), before)
        self.assertIn("has another owner now", process.errors)
        self.assertEqual(self.space.query("SELECT status FROM runs"), [{"status": "completed"}])

    def test_a_command_ends_when_the_lease_of_its_owner_does(self):
        process = self.start()
        wait_until(self.written, "the command runs")
        process.signal(signal.SIGSTOP)
        self.check_that_nothing_more_happens(process, self.take_over(process))

    def test_an_owner_that_was_stopped_before_its_command_started_does_not_start_it(self):
        # The files are looked through before a command starts: that takes some time.
        process = self.start({f"{i // 100}/{i}": "x" for i in range(5000)})
        process.wait_for_event("tool.requested")
        process.signal(signal.SIGSTOP)
        self.check_that_nothing_more_happens(process, self.take_over(process))


class Files(unittest.TestCase):
    """The store's file belongs to one name, for as long as a run uses it."""

    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)

    def start(self, *rules):
        self.server = ModelServer(script(*rules))
        self.addCleanup(self.server.stop)
        return self.space.start(["run", *self.server.flags(), "--mode", "dangerous", "--json", "ROOT"])

    def check_noticed(self, change):
        """What the model asks for after the change is not done."""
        process = self.start(rule({"calls": [shell("echo did it > done.txt")], "delay_ms": 1500}, turn=0),
                             rule({"text": "done"}))
        wait_until(lambda: self.server.stats()["in_flight"] > 0, "the model is asked")
        away = self.space.root / "away"
        away.mkdir()
        change(away)
        self.assertNotIn(process.end(), (0, None))
        self.assertIn("was removed, moved or replaced", process.errors)
        self.assertFalse((self.space.files / "done.txt").exists())
        self.space.damaged = True
        return away

    def test_a_store_that_is_moved_under_a_run_is_noticed(self):
        away = self.check_noticed(lambda away: self.space.store.rename(away / "cadre.db"))
        self.assertEqual([entry.name for entry in away.iterdir()], ["cadre.db"])
        self.assertFalse(self.space.store.exists(), "a new store was made in its place")

    def test_a_directory_that_is_moved_under_a_run_is_noticed(self):
        self.check_noticed(lambda away: self.space.store.parent.rename(away / "state"))
        self.assertFalse(self.space.store.exists())

    def test_a_store_that_is_removed_under_a_run_is_noticed(self):
        self.check_noticed(lambda away: self.space.store.unlink())

    def test_a_store_that_is_replaced_under_a_run_is_noticed(self):
        def replace(away):
            shutil.copy(self.space.store, away / "copy.db")
            (away / "copy.db").rename(self.space.store)
        self.check_noticed(replace)

    def test_a_store_with_two_names_is_refused(self):
        self.space.make_store()
        second = self.space.root / "second.db"
        os.link(self.space.store, second)
        first = self.space.store
        for self.space.store in (second, first):
            done = self.space.run(["runs"])
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("2 hard links", done.stderr)
        second.unlink()
        self.assertEqual(self.space.run(["runs"]).returncode, 0)

    def test_a_store_that_is_a_mount_of_its_own_is_refused(self):
        self.space.make_store()
        other = self.space.root / "other.db"
        other.write_bytes(b"")
        mount = f"mount --bind {self.space.store} {other} && {program('CADRE')} runs --store {other}"
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount],
                              env=self.space.environment, capture_output=True, text=True, timeout=60, check=False)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("mount its directory instead", done.stderr)

    def test_a_locked_store_names_its_holder(self):
        self.space.make_store()
        holder = subprocess.Popen(
            [sys.executable, "-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
             "db.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()", str(self.space.store)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(holder.stdout.readline(), b"locked\n")
            process = self.start(rule({"text": "done"}))
            self.assertNotEqual(process.end(), 0)
            self.assertIn(f"process {holder.pid} (python3", process.errors)
        finally:
            holder.stdin.close()
            holder.wait()
            holder.stdout.close()


class Dead(unittest.TestCase):
    """A process that is dead owns nothing, whatever it left behind."""

    def setUp(self):
        self.server = ModelServer(script(rule({"text": "never", "delay_ms": 600000, "fail_times": 1,
                                               "then": {"text": "done"}})))
        self.addCleanup(self.server.stop)
        self.space = Workspace()
        self.addCleanup(self.space.close)
        self.process = self.space.start(["run", *self.server.flags(), "--json", "ROOT"])
        self.addCleanup(self.process.kill)
        wait_until(lambda: self.server.stats()["in_flight"] > 0, "the model is asked")
        self.run_id = self.process.lines[0]["run_id"]

    def status(self):
        return self.space.query("SELECT status FROM runs")[0]["status"]

    def test_a_number_that_another_process_has_by_now_is_not_its_owner(self):
        """The socket is lost, and a process with the owner's number lives: this one."""
        self.process.kill()
        (socket,) = Path(f"{self.space.store}.wake").iterdir()
        socket.unlink()
        with sqlite3.connect(self.space.store) as store:
            store.execute("UPDATE leases SET owner = ?", (f"{os.getpid()}-1-{self.run_id}",))
        done = self.space.run(["resume", self.run_id])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_zombie_is_dead(self):
        os.kill(self.process.pid, signal.SIGKILL)  # and nobody waits for it yet
        wait_until(lambda: "\nState:\tZ" in Path(f"/proc/{self.process.pid}/status").read_text(), "it is a zombie")
        for socket in Path(f"{self.space.store}.wake").iterdir():
            socket.unlink()
        self.assertEqual(self.space.run(["resume", self.run_id]).returncode, 0)

    def test_cancel_now_right_after_a_kill_ends_the_run(self):
        os.kill(self.process.pid, signal.SIGKILL)
        done = self.space.run(["cancel", self.run_id, "--now"])
        self.assertEqual((done.returncode, self.status()), (0, "cancelled"), done.stderr)

    def test_cancel_now_waits_for_the_owner(self):
        done = self.space.run(["cancel", self.run_id, "--now", "--json"])
        self.assertEqual((done.returncode, self.status()), (0, "cancelled"), done.stderr)

    def test_cancel_now_takes_over_when_an_owner_that_was_told_dies(self):
        self.process.signal(signal.SIGSTOP)
        cancel = self.space.start(["cancel", self.run_id, "--now"])
        wait_until(lambda: self.space.query("SELECT 1 FROM inbox WHERE kind = 'cancel'"), "the owner is told")
        self.process.signal(signal.SIGKILL)
        self.assertEqual((cancel.end(), self.status()), (0, "cancelled"), cancel.errors)


if __name__ == "__main__":
    unittest.main()
