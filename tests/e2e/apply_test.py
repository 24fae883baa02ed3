"""cadre apply, cadre apply --undo and cadre run --apply on real repositories: what changes in the checkout, what is refused, and what
is said then."""
import os
import pty
import random
import subprocess
import time
import unittest

from harness import ModelServer, Process, Workspace, json_lines, program
from repository import FILES, Repository, call, children, script, writer


class Apply(unittest.TestCase):
    def cadre(self, space, *words, code=0):
        done = space.run(list(words))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json_of(self, space, *words, code=0):
        return json_lines(self.cadre(space, *words, "--json", code=code).stdout)[-1]

    def test_a_run_leaves_the_checkout_alone_until_its_result_is_applied(self):
        with Repository() as space:
            first = space.git("rev-parse", "HEAD")
            result = space.work(writer())[-1]
            run = result["run_id"]
            self.assertEqual(result["branch"], f"cadre/{run}/result")
            self.assertNotIn("new.txt", space.tree())
            self.assertEqual((space.git("rev-parse", "HEAD"), space.git("status", "--porcelain")), (first, ""))
            line = self.json_of(space, "apply", run)
            end = space.git("rev-parse", f"cadre/{run}/result")
            self.assertEqual((line["type"], line["outcome"], line["from"], line["to"]),
                             ("apply", "applied", first, end))
            self.assertEqual(space.tree()["new.txt"], "made\n")
            self.assertEqual((space.git("symbolic-ref", "--short", "HEAD"), space.git("rev-parse", "HEAD"),
                              space.git("status", "--porcelain")), ("main", end, ""))

    def test_what_was_applied_is_undone_once(self):
        with Repository() as space:
            first = space.git("rev-parse", "HEAD")
            run = space.work(writer())[-1]["run_id"]
            self.cadre(space, "apply", run)
            self.assertEqual(self.json_of(space, "apply", "--undo", run)["outcome"], "undone")
            self.assertEqual((space.git("rev-parse", "HEAD"), space.git("status", "--porcelain")), (first, ""))
            self.assertNotIn("new.txt", space.tree())
            self.assertEqual(self.json_of(space, "apply", "--undo", run)["outcome"], "nothing")
            self.assertEqual(self.json_of(space, "apply", run)["outcome"], "applied")

    def test_applying_again_changes_nothing(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            self.cadre(space, "apply", run)
            end = space.git("rev-parse", "HEAD")
            self.assertEqual(self.json_of(space, "apply", "last")["outcome"], "applied_before")
            self.assertEqual(space.git("rev-parse", "HEAD"), end)

    def test_a_checkout_with_changes_gets_the_work_in_its_files_and_back(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            first = space.git("rev-parse", "HEAD")
            (space.files / "a.txt").write_text("mine\n")
            (space.files / "loose.txt").write_text("loose\n")
            line = self.json_of(space, "apply", run)
            self.assertEqual((line["outcome"], line["way"], line["files"]),
                             ("applied", "files", [{"path": "new.txt", "change": "added"}]))
            self.assertEqual(space.tree(), {"a.txt": "mine\n", "loose.txt": "loose\n", "new.txt": "made\n", "src/c.txt": "sea\n"})
            self.assertEqual(space.git("rev-parse", "HEAD"), first)
            self.assertEqual(self.json_of(space, "apply", run)["outcome"], "applied_before")
            text = self.cadre(space, "apply", "--undo", run).stdout
            self.assertIn("your own changes are as they were", text)
            self.assertEqual(space.tree(), {"a.txt": "mine\n", "loose.txt": "loose\n", "src/c.txt": "sea\n"})

    def test_a_branch_that_went_on_gets_the_work_in_its_files(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            (space.files / "b.txt").write_text("mine\n")
            space.git("add", ".")
            space.git("commit", "-qm", "meanwhile")
            end = space.git("rev-parse", "HEAD")
            self.assertEqual(self.json_of(space, "apply", run)["way"], "files")
            self.assertEqual((space.tree()["new.txt"], space.tree()["b.txt"]), ("made\n", "mine\n"))
            self.assertEqual((space.git("rev-parse", "HEAD"), space.git("status", "--porcelain")), (end, "?? new.txt"))

    def test_a_clash_names_file_and_lines_and_changes_nothing(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            (space.files / "new.txt").write_text("mine\n")
            before = space.tree()
            line = self.json_of(space, "apply", run, code=1)
            self.assertEqual((line["outcome"], [clash["path"] for clash in line["clashes"]]), ("refused", ["new.txt"]))
            text = self.cadre(space, "apply", run, code=1).stderr
            self.assertIn("not applied, and nothing was changed", text)
            self.assertIn("in the way: new.txt, your lines 1 to 1", text)
            self.assertRegex(text, r"(?s)  \| <<<<<<< .*  \| mine\n  \| =======\n  \| made\n  \| >>>>>>> ")
            self.assertEqual(space.tree(), before)
            space.git("add", ".")
            self.assertIn(f"by hand, in {space.files}: {line['command']}\n", text)
            self.assertNotEqual(subprocess.run(line["command"], shell=True, cwd=space.files, capture_output=True,
                                               check=False).returncode, 0)
            self.assertIn("<<<<<<<", space.tree()["new.txt"])  # marks to be settled by hand

    def test_what_others_will_run_is_listed(self):
        made = script({"when": {"turn": 0}, "reply": {"calls": [call("write", path="Makefile", content="all:\n"),
                                                               call("write", path=".github/workflows/x.yml", content="on: push\n"),
                                                               call("write", path="notes.txt", content="notes\n")]}},
                      {"reply": {"text": "written"}})
        with Repository() as space:
            run = space.work(made)[-1]["run_id"]
            stat = self.cadre(space, "diff", run, "--stat").stdout
            self.assertIn("Makefile  (new, run by make)", stat)
            self.assertIn("3 files, 3 lines added, 0 removed", stat)
            text = self.cadre(space, "apply", run).stdout
            self.assertIn("other programs run them:\n  .github/workflows/x.yml (CI)\n  Makefile (make)\n", text)
            self.assertNotIn("notes.txt (", text)

    def test_a_diff_in_a_pipe_is_a_patch_that_git_takes(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            patch = self.cadre(space, "diff", run).stdout
            subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=space.files, check=True)
            self.assertEqual(space.tree()["new.txt"], "made\n")
            line = self.json_of(space, "diff", run)
            self.assertEqual((line["diff"], line["files"][0]["added"]), (patch, 1))

    def test_a_diff_on_a_terminal_shows_what_a_terminal_would_obey(self):
        evil = script({"when": {"turn": 0}, "reply": {"calls": [call("write", path="new.txt", content="a\u001b[2Jb\u202ec\n")]}},
                      {"reply": {"text": "written"}})
        with Repository() as space:
            run = space.work(evil)[-1]["run_id"]
            ours, theirs = pty.openpty()
            done = subprocess.run([program("CADRE"), "diff", run, "--store", str(space.store)], stdout=theirs, cwd=space.files,
                                  env={**space.environment, "TERM": "xterm"}, check=True)
            os.close(theirs)
            seen = os.read(ours, 65536).decode()
            os.close(ours)
            self.assertEqual(done.returncode, 0)
            self.assertIn("\x1b[32m+a<U+001B>[2Jb<U+202E>c\x1b[0m", seen)

    def test_work_on_top_stays_when_the_rest_is_undone(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            self.cadre(space, "apply", run)
            (space.files / "b.txt").write_text("mine\n")
            space.git("add", ".")
            space.git("commit", "-qm", "on top")
            end = space.git("rev-parse", "HEAD")
            line = self.json_of(space, "apply", "--undo", run)
            self.assertEqual((line["outcome"], line["way"]), ("undone", "files"))
            self.assertEqual((space.git("rev-parse", "HEAD"), space.tree()["b.txt"]), (end, "mine\n"))
            self.assertNotIn("new.txt", space.tree())

    def test_an_apply_that_is_killed_is_completed_by_the_next_call(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            (space.files / "a.txt").write_text("mine\n")
            for _ in range(12):
                process = subprocess.Popen([program("CADRE"), "apply", run, "--store", str(space.store)], cwd=space.files,
                                           env=space.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.uniform(0, 0.15))
                process.kill()
                process.wait()
                self.assertEqual(space.tree()["a.txt"], "mine\n")
                self.assertIn(space.tree().get("new.txt", "made\n"), ("made\n", ""))
                self.assertIn(self.json_of(space, "apply", run)["outcome"], ("applied", "applied_before"))
                self.assertEqual(space.tree()["new.txt"], "made\n")
                self.assertEqual(self.json_of(space, "apply", "--undo", run)["outcome"], "undone")
                self.assertEqual(space.tree(), {"a.txt": "mine\n", "src/c.txt": "sea\n"})

    def test_the_end_of_a_run_tells_the_branch_and_the_command(self):
        with Repository() as space, ModelServer(writer()) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", "task"])
            run = space.query("SELECT id FROM runs")[0]["id"]
            self.assertIn(f"\n1 file changed:\n  new.txt\nresult on branch cadre/{run}/result; look at it: cadre diff {run}; "
                          f"take it over: cadre apply {run}\n", done.stdout)
            self.assertIn(f"back: cadre apply --undo {run}\n", self.cadre(space, "apply", run[:12]).stdout)

    def test_the_end_of_a_run_lists_files_and_failed_children_whole_in_a_pipe(self):
        many = [call("write", path=f"f{number:02}.txt", content="x\n") for number in range(20)]
        clash = [call("spawn_agent", task=f"CHILD {name}") for name in ("one", "two")]
        rules = script({"when": {"first_user": "ROOT", "turn": 0}, "reply": {"calls": many}},
                       {"when": {"first_user": "ROOT", "turn": 1}, "reply": {"calls": clash}},
                       *({"when": {"first_user": f"CHILD {name}", "turn": 0},
                          "reply": {"calls": [call("write", path="a.txt", content=f"{name}\n")]}} for name in ("one", "two")),
                       {"reply": {"text": "done"}})
        with Repository() as space, ModelServer(rules) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", "ROOT"])
            self.assertIn("\n21 files changed:\n", done.stdout)
            for number in range(20):
                self.assertIn(f"\n  f{number:02}.txt\n", done.stdout)
            self.assertRegex(done.stdout, r"\n1 child failed:\n  .*merge conflict in a.txt; its work is on the branch cadre/\S+: git diff ")

    def test_a_run_with_apply_takes_its_result_over(self):
        with Repository() as space:
            lines = space.work(writer(), "--apply")
            self.assertEqual([line["type"] for line in lines[-2:]], ["apply", "result"])
            self.assertEqual(lines[-2]["outcome"], "applied")
            self.assertEqual(space.tree()["new.txt"], "made\n")
            self.assertEqual(space.git("status", "--porcelain"), "")

    def test_published_reports_are_not_in_the_way(self):
        with Repository() as space:
            lines = space.work(children(call("write", path="x.txt", content="x\n")), "--apply")
            self.assertEqual(lines[-2]["outcome"], "applied")
            self.assertTrue((space.files / ".cadre" / "reports" / lines[-1]["run_id"] / "report.md").exists())
            self.assertEqual((space.tree()["x.txt"], space.git("status", "--porcelain")), ("x\n", ""))

    def test_a_run_on_unfinished_work_applies_its_own_work_alone(self):
        with Repository() as space:
            (space.files / "a.txt").write_text("mine\n")
            first = space.git("rev-parse", "HEAD")
            lines = space.work(writer(), "--apply")
            self.assertEqual((lines[-2]["outcome"], lines[-2]["way"], lines[-1]["run_status"]), ("applied", "files", "completed"))
            self.assertEqual(space.tree(), {"a.txt": "mine\n", "new.txt": "made\n", "src/c.txt": "sea\n"})
            self.assertEqual((space.git("rev-parse", "HEAD"), space.git("status", "--porcelain")),
                             (first, " M a.txt\n?? new.txt"))

    def test_a_run_whose_result_cannot_be_taken_over_ends_with_1_and_keeps_it(self):
        with Repository() as space:
            (space.files / ".gitignore").write_text("new.txt\n")
            space.git("add", ".")
            space.git("commit", "-qm", "ignored")
            (space.files / "new.txt").write_text("mine\n")
            lines = space.work(script({"when": {"turn": 0}, "reply": {"calls": [
                call("write", path=".gitignore", content=""), call("write", path="new.txt", content="made\n")]}},
                {"reply": {"text": "written"}}), "--apply", code=1)
            self.assertEqual((lines[-2]["outcome"], lines[-1]["run_status"]), ("refused", "completed"))
            self.assertEqual(space.git("show", f"cadre/{lines[-1]['run_id']}/result:new.txt"), "made")
            self.assertEqual(space.tree()["new.txt"], "mine\n")

    def test_a_failed_run_is_not_applied_by_itself(self):
        failing = script({"when": {"turn": 0}, "reply": {"calls": [call("write", path="new.txt", content="made\n")]}},
                         {"reply": {"status": 400, "error": "no"}})
        with Repository() as space, ModelServer(failing) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--apply", "task"])
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("new.txt", space.tree())
            run = space.query("SELECT id FROM runs")[0]["id"]
            self.assertIn(f"take it over: cadre apply {run}\n", done.stdout)

    def test_a_run_that_changed_nothing_has_nothing_to_apply(self):
        with Repository() as space:
            result = space.work(children(call("read", path="a.txt")))[-1]
            self.assertNotIn("branch", result)
            self.assertEqual(self.json_of(space, "apply", "last")["outcome"], "nothing")

    def test_where_there_is_no_repository_the_changes_are_there_already(self):
        with Workspace({"a.txt": "one\n"}) as space, ModelServer(writer()) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--apply", "--json", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json_lines(done.stdout)[-2]["outcome"], "in_place")
            self.assertEqual(space.tree()["new.txt"], "made\n")
            self.assertIn("what the run changed is there already", self.cadre(space, "apply", "last").stdout)
            self.assertIn("nothing to go back to", self.cadre(space, "apply", "--undo", "last", code=1).stderr)

    def test_a_run_that_is_going_on_has_no_result(self):
        slow = script({"when": {"turn": 0}, "reply": {"calls": [call("write", path="new.txt", content="made\n")]}},
                      {"reply": {"text": "written", "delay_ms": 60000}})
        with Repository() as space, ModelServer(slow) as server:
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "task"])
            process.wait_for_event("tool.finished")
            self.assertIn("has not ended", self.cadre(space, "apply", "last", code=1).stderr)
            process.kill()
            self.assertIn("has not ended", self.cadre(space, "apply", "last", code=1).stderr)
            self.assertNotIn("new.txt", space.tree())

    def test_it_is_the_runs_own_repository_that_is_changed_wherever_one_stands(self):
        with Repository() as space, Repository() as other:
            run = space.work(writer())[-1]["run_id"]
            before = other.git("rev-parse", "HEAD")
            elsewhere = Process([program("CADRE"), "apply", run, "--store", str(space.store), "--json"],
                                other.environment, other.files)
            self.assertEqual(elsewhere.end(), 0, elsewhere.errors)
            self.assertEqual(elsewhere.lines[-1]["workspace_path"], str(space.files))
            self.assertEqual(space.tree()["new.txt"], "made\n")
            self.assertEqual((other.git("rev-parse", "HEAD"), other.tree()), (before, FILES))


if __name__ == "__main__":
    unittest.main()
