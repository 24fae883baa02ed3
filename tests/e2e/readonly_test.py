"""Commands that only read make no store, and read one where nothing may be written: on a read-only mount, while its run is at work, parked, or dead."""
import signal
import unittest

from harness import ModelServer, Process, Workspace, json_lines, program, wait_until

LATE = {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
        "rules": [{"when": {"first_user": "LATE"}, "reply": {"text": "late", "delay_ms": 50000}}, {"reply": {"text": "here it is"}}]}
READERS = (["runs"], ["show", "last"], ["show", "last", "--report"], ["events", "last", "--full"], ["verify", "last"], ["tree", "last"],
           ["replay", "last"])
# In a mount namespace of its own, where the first argument is read-only.
MOUNTED = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


class Reading(unittest.TestCase):
    def setUp(self):
        self.server = ModelServer(LATE)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(self.space.close)

    def read(self, words):
        """Runs a command where the store's directory is read-only."""
        state = str(self.space.store.parent)
        process = Process(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh", state, program("CADRE"),
                           words[0], "--store", str(self.space.store), *words[1:]], self.space.environment, self.space.files)
        code = process.end()
        self.assertEqual(code, 0, process.errors)
        return process.text

    def names(self):
        return sorted(path.name for path in self.space.store.parent.iterdir())

    def check_readers(self, status, *more):
        before = self.names()
        for words in READERS:
            with self.subTest(words):
                self.assertTrue(self.read(words))
        self.assertEqual(json_lines(self.read(["runs", "--json"]))[0]["status"], status)
        self.assertEqual(json_lines(self.read(["show", "last", "--json"]))[0]["status"], status)
        self.assertEqual(self.names(), before)

    def test_a_run_that_has_ended(self):
        self.assertEqual(self.space.run(["run", *self.server.flags(), "--mode", "auto", "ROOT"]).returncode, 0)
        self.assertNotIn("cadre.db-wal", self.names())
        self.check_readers("completed")
        self.assertIn("here it is", self.read(["show", "last"]))

    def test_a_run_that_is_at_work_parked_or_dead(self):
        process = self.space.start(["run", *self.server.flags(), "--mode", "auto", "LATE"])
        wait_until(lambda: self.server.stats()["in_flight"] == 1, "the model is asked")
        self.assertIn("cadre.db-shm", self.names())
        self.check_readers("running")
        process.signal(signal.SIGINT)
        self.assertEqual(process.end(), 75)
        self.check_readers("parked")
        process = self.space.start(["resume", "last"])
        wait_until(lambda: self.server.stats()["requests"] == 2, "the model is asked again")
        process.kill()
        self.assertIn("cadre.db-wal", self.names())
        self.check_readers("stopped")

    def test_a_command_that_writes_says_that_it_cannot(self):
        self.assertEqual(self.space.run(["run", *self.server.flags(), "--mode", "auto", "ROOT"]).returncode, 0)
        with self.assertRaisesRegex(AssertionError, "cadre.db: while .*: (it cannot be opened|it is read-only)"):
            self.read(["resume", "last"])


class Nothing(unittest.TestCase):
    def test_no_reader_makes_a_store(self):
        with Workspace({}) as space:
            for words in READERS:
                done = space.run(words)
                self.assertEqual(done.returncode, 0 if words == ["runs"] else 2, done.stderr)
                self.assertIn("cadre run \"task\"", done.stdout + done.stderr)
            self.assertEqual(space.run(["runs", "--json"]).stdout, "")
            self.assertFalse(space.store.parent.exists())


if __name__ == "__main__":
    unittest.main()
