"""The reading tools through the real program: what a model is answered, that ctags runs behind real walls, and that a mode that
only reads has them all."""
import shutil
import unittest

from harness import ModelServer, Workspace, json_lines

FILES = {
    ".gitignore": "out/\n",
    "Makefile": "test:\n\ttrue\n",
    "README.md": "# Shapes\n",
    "src/area.c": "enum kind {\n    first,\n    area,\n};\nint use(void)\n{\n    return area;\n}\n",
    "src/area.h": "int use(void);\n",
    "out/area.c": "int area;\n",
    ".cadre/plans/next.md": "# What comes next\n",
}


def call(tool, **arguments):
    return {"name": tool, "arguments": arguments}


class Reading(unittest.TestCase):
    def answers(self, *calls, mode="plan"):
        """One root that makes these calls, one a turn. The payload of each answer."""
        replies = [{"calls": [each]} for each in calls] + [{"text": "done"}]
        rules = [{"when": {"first_user": "ROOT", "turn": turn}, "reply": reply} for turn, reply in enumerate(replies)]
        server = ModelServer({"models": [{"id": "scripted", "window": 131072, "max_output": 8192}], "rules": rules})
        self.addCleanup(server.stop)
        space = Workspace(FILES)
        self.addCleanup(space.close)  # verifies and replays the run
        done = space.run(["run", *server.flags(), "--mode", mode, "--json", "ROOT"])
        lines = json_lines(done.stdout)
        self.assertEqual(lines[-1]["status"], "completed", done.stderr)
        events = space.events(lines[0]["run_id"])
        finished = [event["payload"] for event in events if event["type"] == "tool.finished"]
        self.assertEqual(len(finished), len(calls))
        return finished

    def test_a_mode_that_only_reads_has_every_reading_tool(self):
        read, found, lines, glance, coverage, plans = self.answers(
            call("read", path="src/area.c", offset=-2), call("search", pattern="*.c"),
            call("grep", pattern="area", output="files"), call("overview"), call("docs_coverage"), call("plan_files"))
        self.assertEqual(read["text"], "     7\t    return area;\n     8\t}\n")
        self.assertEqual(read["files_read"], ["src/area.c"])
        self.assertEqual(found["text"], "src/area.c\n")
        self.assertEqual(lines["text"], "src/area.c\n")
        self.assertIn("tests: make test", glance["text"])
        self.assertIn("src/area.h: 1 of 1 undocumented: use:1", coverage["text"])
        self.assertIn("next.md  18 bytes  What comes next", plans["text"])

    @unittest.skipUnless(shutil.which("ctags"), "ctags is not installed")
    def test_ctags_runs_behind_the_walls(self):
        answer, = self.answers(call("code_search", name="area"))
        if "told by patterns" in answer["text"]:
            self.skipTest("no process can be confined here")
        # Patterns would not see an enumerator.
        self.assertEqual(answer["text"], "definitions: 1\nsrc/area.c:3: enumerator: area,\n"
                                         "references: 1\nsrc/area.c:7: return area;\n[definitions are told by ctags]\n")
        self.assertEqual(answer["files_read"], ["src/area.c"])


if __name__ == "__main__":
    unittest.main()
