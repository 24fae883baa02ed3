"""Stores that earlier versions wrote: tests/fixtures/stores/vN.sql is a real one of schema version N, as text. Opening it brings it
to this version, and every run in it goes on verifying."""
import contextlib
import os
import sqlite3
import unittest
from pathlib import Path

from harness import ModelServer, Workspace, json_lines

STORES = Path(os.environ["CADRE_TESTS"]) / "fixtures" / "stores"
SCRIPT = {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": [{"reply": {"text": "done"}}]}


def schema(store):
    """All that the database knows to refuse and to show: triggers and views, by name."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall())


class Migration(unittest.TestCase):
    @contextlib.contextmanager
    def older(self, path, *statements):
        """A workspace with the store of the file, on which the statements were run."""
        with Workspace() as space:
            space.damaged = True  # in the eyes of the harness: not all of it has today's rules
            space.store.parent.mkdir()
            with contextlib.closing(sqlite3.connect(space.store)) as connection:
                connection.executescript(path.read_text())
                for statement in statements:
                    connection.execute(statement)
                connection.commit()
            yield space

    def stores(self):
        found = sorted(STORES.glob("v*.sql"))
        self.assertTrue(found)
        return found

    def test_a_store_of_every_earlier_version_is_migrated_and_its_runs_verify(self):
        with Workspace() as fresh:
            fresh.make_store()
            expected = schema(fresh.store)
            (today,) = fresh.query("SELECT version FROM meta")
        for path in self.stores():
            with self.subTest(path.name), self.older(path) as space:
                runs = json_lines(space.run(["runs", "--json"]).stdout)
                self.assertGreaterEqual(len(runs), 2)
                self.assertEqual(space.query("SELECT version FROM meta"), [today])
                self.assertEqual(schema(space.store), expected)
                for run in runs:
                    done = space.run(["verify", run["run_id"]])
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(space.run(["doctor"]).stdout, r"(?m)^ok    store ")

    def test_a_migrated_store_takes_new_runs(self):
        for path in self.stores():
            with self.subTest(path.name), ModelServer(SCRIPT) as server, self.older(path) as space:
                self.assertEqual(space.run(["run", *server.flags(), "task"]).returncode, 0)
                done = space.run(["verify", "last"])
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_several_processes_migrate_it_once(self):
        for path in self.stores():
            with self.subTest(path.name), self.older(path) as space:
                processes = [space.start(["runs"]) for _ in range(6)]
                self.assertEqual([process.end() for process in processes], [0] * 6)
                self.assertRegex(space.run(["doctor"]).stdout, r"(?m)^ok    store ")

    def test_what_version_1_did_not_refuse_is_found_after_the_migration(self):
        with self.older(STORES / "v1.sql", "UPDATE runs SET task = 'another' WHERE task = 'three'") as space:
            (run,) = space.query("SELECT id FROM runs WHERE task = 'another'")
            done = space.run(["verify", run["id"]])
        self.assertEqual(done.returncode, 1)
        self.assertIn("table runs, column task: it is not what the log says", done.stderr)

    def test_a_version_that_no_cadre_wrote_is_refused(self):
        with self.older(STORES / "v1.sql", "UPDATE meta SET version = 0") as space:
            done = space.run(["runs"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("restore the store from a backup", done.stderr)


if __name__ == "__main__":
    unittest.main()
