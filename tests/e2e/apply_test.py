"""cadre apply, cadre apply --undo and cadre run --apply on real repositories: what changes in the checkout, what is refused, and what
is said then."""
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

    def test_a_checkout_with_changes_is_refused_and_the_command_that_is_told_works(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            (space.files / "a.txt").write_text("mine\n")
            line = self.json_of(space, "apply", run, code=1)
            self.assertEqual((line["outcome"], line["reason"]), ("refused", "the checkout has uncommitted changes"))
            self.assertNotIn("new.txt", space.tree())
            text = self.cadre(space, "apply", run, code=1).stderr
            self.assertIn(f"cadre: by hand, in {space.files}: {line['command']}\n", text)
            space.shell(line["command"])
            self.assertEqual((space.tree()["new.txt"], space.tree()["a.txt"]), ("made\n", "mine\n"))

    def test_a_branch_that_went_on_is_refused_and_the_command_that_is_told_works(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            (space.files / "b.txt").write_text("mine\n")
            space.git("add", ".")
            space.git("commit", "-qm", "meanwhile")
            line = self.json_of(space, "apply", run, code=1)
            self.assertEqual((line["outcome"], line["reason"]), ("refused", "your branch has other commits by now"))
            self.assertNotIn("new.txt", space.tree())
            space.shell(line["command"] + " --no-edit")
            self.assertEqual((space.tree()["new.txt"], space.tree()["b.txt"]), ("made\n", "mine\n"))

    def test_work_on_top_is_never_undone(self):
        with Repository() as space:
            run = space.work(writer())[-1]["run_id"]
            self.cadre(space, "apply", run)
            (space.files / "b.txt").write_text("mine\n")
            space.git("add", ".")
            space.git("commit", "-qm", "on top")
            end = space.git("rev-parse", "HEAD")
            self.assertEqual(self.json_of(space, "apply", "--undo", run, code=1)["outcome"], "refused")
            self.assertEqual(space.git("rev-parse", "HEAD"), end)

    def test_the_end_of_a_run_tells_the_branch_and_the_command(self):
        with Repository() as space, ModelServer(writer()) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", "task"])
            run = space.query("SELECT id FROM runs")[0]["id"]
            self.assertIn(f"\nresult on branch cadre/{run}/result; take it over: cadre apply {run}\n", done.stdout)
            self.assertIn(f"back: cadre apply --undo {run}\n", self.cadre(space, "apply", run[:12]).stdout)

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

    def test_a_run_whose_result_cannot_be_taken_over_ends_with_1_and_keeps_it(self):
        with Repository() as space:
            (space.files / "a.txt").write_text("mine\n")
            lines = space.work(writer(), "--apply", code=1)
            self.assertEqual((lines[-2]["outcome"], lines[-1]["run_status"]), ("refused", "completed"))
            self.assertEqual(space.git("show", f"cadre/{lines[-1]['run_id']}/result:new.txt"), "made")
            self.assertEqual(space.tree(), {"a.txt": "mine\n", "src/c.txt": "sea\n"})

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
