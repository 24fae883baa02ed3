"""`cadre plan`: checking and drawing plan files, as people and programs see it; docs/plans.md says what is true."""
import json
import os
import re
import unittest
from pathlib import Path

from harness import Process, Workspace, program

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = DOCS / "plans.md"

PLAN = """goal: Add a login
completion_criteria: [it works]
steps:
  - id: look
    title: Look around
    description: Find the code
    type: research
  - id: write
    title: Write it
    description: Change it
    depends_on: [look]
    ownership: [src]
"""
WRONG = PLAN.replace("type: research", "type: cooking").replace("[look]", "[lock]").replace("title: Write", "titel: Write")


def documented():
    """The first plan of the worked examples, whose drawing the page shows."""
    return re.search(r"(?ms)^```yaml plan\n(.*?)^```$", (DOCS / "examples.md").read_text())[1]


class Plans(unittest.TestCase):
    def setUp(self):
        self.space = Workspace({"plan.yaml": PLAN, "wrong.yaml": WRONG})
        self.addCleanup(self.space.close)

    def cadre(self, *arguments, code=0, environment=None):
        """stdout and stderr of a command that ends with this code."""
        process = Process([program("CADRE"), "plan", *arguments], {**self.space.environment, **(environment or {})},
                          self.space.files)
        self.assertEqual(process.end(), code, process.errors)
        return process.text, process.errors

    def write(self, name, text):
        (self.space.files / name).write_text(text)
        return name


class Check(Plans):
    def test_a_sound_plan_is_told_with_its_longest_way(self):
        text, errors = self.cadre("check", "plan.yaml", environment={"LC_ALL": "C"})
        self.assertEqual(text, "A plan of 2 steps. Longest way: look -> write (45 calls)\n")
        self.assertEqual(errors, "")

    def test_every_mistake_is_told_with_its_line_at_once(self):
        text, errors = self.cadre("check", "wrong.yaml", code=2)
        self.assertEqual(text, "")
        for place in ["wrong.yaml:7:11: steps[0].type: must match ", "wrong.yaml:9:5: steps[1].titel: unknown key",
                      "steps[1].title: missing", "wrong.yaml:11:18: steps[1].depends_on[0]: there is no step lock"]:
            self.assertIn(place, errors)
        self.assertIn("  11 |     depends_on: [lock]\n     |                  ^~~~\n", errors)

    def test_json_says_the_same(self):
        text, _ = self.cadre("check", "wrong.yaml", "--json", code=2)
        (line,) = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((line["type"], line["ok"], line["found"]), ("plan_check", False, 4))
        self.assertIn({"path": "steps[1].depends_on[0]", "place": "wrong.yaml:11:18", "message": "there is no step lock"},
                      line["problems"])
        text, _ = self.cadre("check", "plan.yaml", "--json")
        self.assertTrue(json.loads(text)["ok"])

    def test_what_may_not_be_meant_is_a_warning_and_no_error(self):
        name = self.write("loose.yaml", PLAN.replace("    ownership: [src]\n", "") +
                          "  - {id: more, title: M, description: d}\n")
        _, errors = self.cadre("check", name)
        self.assertIn("loose.yaml:8:5: warning: steps[1].ownership: is missing", errors)

    def test_files_that_are_no_plan_are_refused(self):
        for name, text, told in [("empty.yaml", "", "empty.yaml is empty"), ("broken.yaml", "goal: [\n", "broken.yaml:"),
                                 ("list.yaml", "- a\n", "expected an object"),
                                 ("alias.yaml", "goal: &a x\nsummary: *a\n", "alias.yaml:1:7: anchors"),
                                 ("large.yaml", "goal: x\n" + "# " * (1 << 20), "more than 1048576 bytes")]:
            with self.subTest(name):
                self.assertIn(told, self.cadre("check", self.write(name, text), code=2)[1])
        self.assertIn("No such file", self.cadre("check", "gone.yaml", code=2)[1])

    def test_a_path_with_control_characters_reaches_no_terminal(self):
        name = self.write("rude.json", json.dumps({"goal": "g", "\x1b[31m": 1, "steps": []}))
        self.assertNotIn("\x1b", self.cadre("check", name, code=2)[1])


class Show(Plans):
    def test_a_plan_is_drawn(self):
        for locale, drawing in [("C.UTF-8", "○ look  Look around · researcher · 15 calls\n"
                                            "○ write  Write it · executor · 30 calls ← look\n"),
                                ("C", "o look  Look around, researcher, 15 calls\n"
                                      "o write  Write it, executor, 30 calls <- look\n")]:
            with self.subTest(locale):
                text, _ = self.cadre("show", "plan.yaml", environment={"LC_ALL": locale})
                self.assertTrue(text.startswith("Add a login\n\n"), text)
                self.assertIn(drawing, text)
                self.assertIn("\nDone when:\n  - it works\n", text)

    def test_json_and_yaml_are_the_plan(self):
        first = json.loads(self.cadre("show", "plan.yaml", "--json")[0])
        self.assertEqual((first["type"], first["critical_path"], first["critical_calls"]),
                         ("plan", ["look", "write"], 45))
        self.assertEqual(first["plan"]["steps"][1]["role"], "executor")
        name = self.write("again.yaml", self.cadre("show", "plan.yaml", "--yaml")[0])
        self.assertEqual(json.loads(self.cadre("show", name, "--json")[0]), first)
        name = self.write("again.json", json.dumps(first["plan"]))
        self.assertEqual(json.loads(self.cadre("show", name, "--json")[0]), first)

    def test_a_plan_that_is_wrong_is_not_drawn(self):
        text, errors = self.cadre("show", "wrong.yaml", code=2)
        self.assertEqual(text, "")
        self.assertIn("wrong.yaml:7:11: steps[0].type", errors)


class Help(Plans):
    def test_every_part_has_help_with_an_example_that_works(self):
        programs = self.space.root / "bin"
        programs.mkdir()
        (programs / "cadre").symlink_to(program("CADRE"))
        environment = {**self.space.environment, "PATH": f"{programs}{os.pathsep}{self.space.environment['PATH']}"}
        for part in ["check", "show"]:
            with self.subTest(part):
                text, _ = self.cadre(part, "--help")
                self.assertIn(f"\nUsage: cadre plan {part} ", text)
                example = text.split("\nExample:\n  ")[1].strip()
                self.assertIn(f"cadre plan {part}", example)
                process = Process(["sh", "-c", example], environment, self.space.files)
                self.assertEqual(process.end(), 0, process.errors)
                self.assertTrue(process.text)

    def test_plan_alone_says_what_it_needs(self):
        self.assertIn("check FILE | show FILE", self.cadre(code=2)[1])


class Page(Plans):
    def test_its_drawing_is_that_of_the_first_worked_example(self):
        text, _ = self.cadre("show", self.write("example.yaml", documented()), environment={"LC_ALL": "C.UTF-8"})
        self.assertIn("```\n" + text.split("\nDone when")[0] + "```\n", PAGE.read_text())

    def test_the_page_names_every_key_and_no_other(self):
        plan = {**json.loads(self.cadre("show", self.write("example.yaml", documented()), "--json")[0])["plan"],
                "id": ""}
        for section, more in [("A plan", plan), ("A step", {**plan["steps"][1], "status": "", "max_retries": 1,
                                                           "allowed_tools": [], "requires_approval": True,
                                                           "working_directory": ""})]:
            with self.subTest(section):
                table = PAGE.read_text().split(f"## {section}\n")[1].split("\n## ")[0]
                self.assertEqual(sorted(re.findall(r"(?m)^\| `(\w+)`", table)), sorted(more))


if __name__ == "__main__":
    unittest.main()
