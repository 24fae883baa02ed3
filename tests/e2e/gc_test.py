"""cadre gc: what it removes of runs that were killed, that ended, that the store does not know and whose workspace is gone; and what it
leaves."""
import shutil
import unittest

from harness import ModelServer, json_lines
from repository import Repository, call, children, writer

SLOW = children(call("write", path="x.txt", content="x\n"), delay_ms=60000)


class Collect(unittest.TestCase):
    def gc(self, space, *flags, code=0):
        """The lines about checkouts, and the last line."""
        done = space.run(["gc", *flags, "--json"])
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = json_lines(done.stdout)
        return lines[:-1], lines[-1]

    def kill_one(self, space, server, *flags):
        """A run that was killed while its child worked in a checkout; its id."""
        process = space.start(["run", *server.flags(), "--mode", "auto", *flags, "--json", "START"])
        process.wait_for_event("tool.finished")
        process.kill()
        self.assertTrue(space.checkouts())
        return process.lines[0]["run_id"]

    def test_after_a_run_there_is_nothing_to_remove(self):
        with Repository() as space:
            space.work(writer())
            self.assertEqual(space.checkouts(), [])
            lines, end = self.gc(space)
            self.assertEqual((lines, end["checkouts_removed"], end["sockets_removed"]), ([], 0, 0))

    def test_a_run_that_can_go_on_keeps_its_checkouts_and_the_command_is_told(self):
        with Repository() as space, ModelServer(SLOW) as server:
            run = self.kill_one(space, server)
            before = space.checkouts()
            lines, end = self.gc(space)
            self.assertEqual({line["action"] for line in lines}, {"kept"})
            self.assertIn(f"cadre resume {run}", lines[0]["reason"])
            self.assertEqual((space.checkouts(), end["checkouts_kept"]), (before, len(before)))

    def test_abandoned_runs_lose_their_checkouts_but_neither_events_nor_branches(self):
        with Repository() as space, ModelServer(SLOW) as server:
            run = self.kill_one(space, server)
            events, branches = space.events(run), space.git("branch", "--list", "cadre/*")
            self.assertTrue(branches)
            lines, _ = self.gc(space, "--abandoned", "--dry-run")
            self.assertEqual({line["action"] for line in lines}, {"would remove"})
            self.assertTrue(space.checkouts())
            lines, end = self.gc(space, "--abandoned")
            self.assertEqual({line["action"] for line in lines}, {"removed"})
            self.assertEqual(space.checkouts(), [])
            self.assertEqual((space.events(run), space.git("branch", "--list", "cadre/*")), (events, branches))
            self.assertEqual(end["checkouts_removed"], len(lines))

    def test_an_abandoned_run_that_is_resumed_all_the_same_fails_in_order(self):
        with Repository() as space, ModelServer(children(call("write", path="x.txt", content="x\n"),
                                                         delay_ms=3000)) as server:
            run = self.kill_one(space, server)
            self.gc(space, "--abandoned")
            done = space.run(["resume", run])
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("is gone: what was not committed in it is lost", done.stderr)
            self.assertEqual([child["status"] for child in space.children(run)], ["closed"])
            self.assertEqual(space.checkouts(), [])

    def test_a_run_that_is_at_work_keeps_everything(self):
        with Repository() as space, ModelServer(SLOW) as server:
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "START"])
            process.wait_for_event("tool.finished")
            before = space.checkouts()
            lines, end = self.gc(space, "--abandoned", "--older-than", "0")
            self.assertEqual({line["reason"] for line in lines}, {"a process works on the run"})
            self.assertEqual((space.checkouts(), end["sockets_removed"]), (before, 0))
            process.kill()

    def test_what_an_ended_run_left_is_removed(self):
        with Repository() as space, ModelServer(SLOW) as server:
            run = self.kill_one(space, server)
            (repository,) = space.state.iterdir()
            kept = space.root / "kept"
            for name in ("trees", "worktrees"):
                shutil.copytree(repository / name, kept / name, symlinks=True)
            self.assertEqual(space.run(["cancel", run, "--now"]).returncode, 0)
            self.assertEqual(space.checkouts(), [])
            for name in ("trees", "worktrees"):
                shutil.copytree(kept / name, repository / name, symlinks=True, dirs_exist_ok=True)
            lines, _ = self.gc(space)
            self.assertEqual({(line["action"], line["reason"]) for line in lines}, {("removed", "the run has ended")})
            self.assertEqual(space.checkouts(), [])

    def test_what_the_store_does_not_know_is_removed(self):
        with Repository() as space, ModelServer(SLOW) as server:
            self.kill_one(space, server)
            for path in space.store.parent.glob("cadre.db*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            lines, _ = self.gc(space)
            self.assertEqual({line["reason"] for line in lines}, {"the store knows no such run"})
            self.assertEqual(space.checkouts(), [])

    def test_what_may_be_of_another_store_in_the_same_directory_stays(self):
        with Repository() as space, ModelServer(SLOW) as server:
            self.kill_one(space, server)
            before = space.checkouts()
            space.store = space.store.with_name("other.db")
            lines, _ = self.gc(space, "--abandoned")
            self.assertEqual({line["action"] for line in lines}, {"kept"})
            self.assertIn("--store", lines[0]["reason"])
            self.assertEqual(space.checkouts(), before)
            space.store = space.store.with_name("cadre.db")

    def test_a_workspace_that_is_gone_keeps_nothing(self):
        with Repository() as space, ModelServer(SLOW) as server:
            moved = space.root / "elsewhere"
            shutil.copytree(space.files, moved)
            self.kill_one(space, server, "--workspace", str(moved))
            shutil.rmtree(moved)
            lines, _ = self.gc(space)
            self.assertEqual({line["reason"] for line in lines}, {"its workspace is gone"})
            self.assertEqual(space.checkouts(), [])

    def test_sockets_of_dead_processes_are_removed(self):
        with Repository() as space, ModelServer(SLOW) as server:
            self.kill_one(space, server)
            sockets = space.store.with_name("cadre.db.wake")
            self.assertEqual(len(list(sockets.iterdir())), 1)
            self.assertEqual(self.gc(space, "--dry-run")[1]["sockets_removed"], 1)
            self.assertEqual(len(list(sockets.iterdir())), 1)
            self.assertEqual(self.gc(space)[1]["sockets_removed"], 1)
            self.assertEqual(list(sockets.iterdir()), [])

    def test_private_refs_go_when_a_run_ended_long_ago_and_branches_stay(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            refs = space.git("for-each-ref", "--format=%(refname)", "refs/cadre/")
            self.assertIn(f"refs/cadre/{run}/base", refs)
            self.assertEqual(self.gc(space)[1]["runs_forgotten"], 0)
            self.assertEqual(self.gc(space, "--older-than", "0", "--dry-run")[1]["runs_forgotten"], 1)
            self.assertEqual(space.git("for-each-ref", "--format=%(refname)", "refs/cadre/"), refs)
            self.assertEqual(self.gc(space, "--older-than", "0")[1]["runs_forgotten"], 1)
            self.assertEqual(space.git("for-each-ref", "--format=%(refname)", "refs/cadre/"), "")
            self.assertEqual(space.git("show", f"cadre/{run}/result:new.txt"), "made")

    def test_people_read_what_was_done_and_why(self):
        with Repository() as space, ModelServer(SLOW) as server:
            run = self.kill_one(space, server)
            done = space.run(["gc"])
            self.assertIn(f"the run can go on: cadre resume {run}", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^removed: 0 checkouts, private refs of 0 runs, 1 sockets; \d checkouts kept$")
            self.assertIn("older-than", space.run(["gc", "--older-than", "soon"]).stderr)


if __name__ == "__main__":
    unittest.main()
