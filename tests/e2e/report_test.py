"""Reports through the real program: what cadre show --report prints, what a run publishes in its workspace, and a workspace that wants
them elsewhere."""
import os
import re
import unittest

from harness import ModelServer, Workspace, json_lines
from repository import Repository, call, children, script

CLASH = (call("write", path="a.txt", content="first\n"), call("write", path="a.txt", content="second\n"))


class Reports(unittest.TestCase):
    def published(self, space, run):
        directory = space.files / ".cadre" / "reports" / run
        return {path.name: path.read_text() for path in sorted(directory.glob("*"))}

    def report(self, space, run, *flags):
        done = space.run(["show", run, "--report", *flags])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def run_plain(self, space, model_script, task="START"):
        with ModelServer(model_script) as server:
            done = space.run(["run", *server.flags(), "--mode", "auto", task])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, space.query("SELECT id FROM runs ORDER BY run_no DESC")[0]["id"]

    def test_a_run_of_readers_publishes_one_file(self):
        with Workspace({"a.txt": "one\n"}) as space:
            done, run = self.run_plain(space, children(*[call("read", path="a.txt")] * 5, allowed_tools=["read"]))
            files = self.published(space, run)
            self.assertEqual(list(files), ["report.md"])
            self.assertIn("- children: 5, 5 completed\n", files["report.md"])
            self.assertIn(f"\nreport .cadre/reports/{run}/report.md\n", done.stdout)
            self.assertEqual(self.report(space, run), files["report.md"])

    def test_a_run_without_children_publishes_nothing(self):
        with Workspace({"a.txt": "one\n"}) as space:
            done, _ = self.run_plain(space, script({"reply": {"text": "yes"}}))
            self.assertFalse((space.files / ".cadre").exists())
            self.assertNotIn("report ", done.stdout)

    def test_writers_have_reports_of_their_own_and_git_sees_none_of_them(self):
        with Repository() as space:
            run = space.work(children(call("write", path="x.txt", content="x\n"), call("read", path="a.txt")))[-1]["run_id"]
            files = self.published(space, run)
            ids = [child["id"] for child in space.children(run)]
            self.assertEqual(set(files), {"report.md"} | {f"{one}-step-{index + 1}-result.md"
                                                          for index, one in enumerate(ids)})
            own = files[f"{ids[0]}-step-1-result.md"]
            self.assertIn("# ` CHILD 0 works `\n", own)
            self.assertIn("### Files modified\n\n- ` x.txt `\n", own)
            self.assertIn("- work: merged (", own)
            self.assertIn("## Result\n\n```text\nchild 0 is done\n```\n", own)
            self.assertIn(f"take it over with `cadre apply {run}`", files["report.md"])
            self.assertEqual(space.git("status", "--porcelain", "--untracked-files=all"), "")
            self.assertNotIn(".cadre", space.git("ls-tree", "-r", "--name-only", f"cadre/{run}/result"))

    def test_a_clash_is_reported_with_a_command_that_shows_the_work(self):
        with Repository() as space:
            run = space.work(children(*CLASH))[-1]["run_id"]
            text = self.published(space, run)["report.md"]
            command = re.search(r"- look at it: ` (git diff .*) `\n", text.split("## Kept on branches")[1])[1]
            self.assertIn("+second\n", space.shell(command))
            self.assertIn("- work: merged (", text.split("## Merged, in this order")[1])
            line = json_lines(self.report(space, run, "--json"))[0]
            self.assertEqual([child["work"]["state"] for child in line["children"]], ["merged", "kept"])
            self.assertEqual(line["children"][1]["work"]["command"], command)

    def test_a_link_in_the_workspace_leads_no_report_out(self):
        with Workspace({"a.txt": "one\n"}) as space:
            outside = space.root / "outside"
            outside.mkdir()
            os.symlink(outside, space.files / ".cadre")
            with ModelServer(children(call("read", path="a.txt"))) as server:
                done = space.run(["run", *server.flags(), "--mode", "auto", "START"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("warning: the report is not in the workspace", done.stderr)
            self.assertEqual(list(outside.iterdir()), [])
            self.assertIn("child 0 is done", self.report(space, "last"))

    def test_what_ignores_reports_already_is_left_as_it_is(self):
        with Workspace({"a.txt": "one\n", ".cadre/.gitignore": "reports\n"}) as space:
            _, run = self.run_plain(space, children(call("read", path="a.txt")))
            self.assertEqual((space.files / ".cadre" / ".gitignore").read_text(), "reports\n")
            self.assertIn("report.md", self.published(space, run))

    def test_an_answer_stays_in_its_section(self):
        forged = "```\n\n## Failed children\n\n- forged\n\x1b[31m<script>"
        with Workspace({"a.txt": "one\n"}) as space:
            _, run = self.run_plain(space, children(call("read", path="a.txt"), after=forged))
            text = self.published(space, run)["report.md"]
            self.assertIn("## Result\n\n````text\n```\n\n## Failed children\n\n- forged\n<script>\n````\n", text)
            self.assertEqual(self.report(space, run), text)

    def test_a_resumed_run_publishes_its_report(self):
        slow = children(call("read", path="a.txt"))
        slow["rules"][1]["reply"]["delay_ms"] = 2000
        with Workspace({"a.txt": "one\n"}) as space, ModelServer(slow) as server:
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "START"])
            process.wait_for_event("agent.subagent_closed")
            process.kill()
            run = process.lines[0]["run_id"]
            self.assertFalse((space.files / ".cadre").exists())
            done = space.run(["resume", run])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("- status: completed", self.published(space, run)["report.md"])


if __name__ == "__main__":
    unittest.main()
