"""docs/examples.md and its recordings: the page shows what the program prints for them today, the plans are those that were carried
out, the runs have in them what the page tells, and they can be made again. After a change or a new recording

    examples_test.py --write-docs

fills in plans and outputs; the prose, and the commands behind each `$`, are kept."""
import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

from harness import WAIT_SECONDS, Workspace, json_lines, program

TESTS = Path(__file__).resolve().parent.parent
RUNS = TESTS / "fixtures" / "runs"
PAGE = TESTS.parent / "docs" / "examples.md"
sys.path.insert(0, str(RUNS))
import examples  # noqa: E402  (it stands beside the recordings)
import recording  # noqa: E402


def read(name):
    """A recording: the run's row, and its events with their payloads as objects."""
    first, *events = [json.loads(line) for line in (RUNS / f"{name}.jsonl").read_text().splitlines()]
    return first["run"], [{**event, "payload": json.loads(event["payload"])} for event in events]


def plans(events):
    return [event["payload"]["plan"] for event in events if event["type"] == "plan.made"]


def tested(events):
    """What each call of the tool `test` showed, in order: the agent's number, and whether the tests passed."""
    asked = {event["call_id"] for event in events if event["type"] == "tool.requested" and event["payload"]["tool"] == "test"}
    return [(event["agent_no"], event["payload"]["text"].startswith("tests passed")) for event in events
            if event["type"] == "tool.finished" and event["call_id"] in asked]


def numbers(events):
    """The agents' numbers by their names; of equal names, the last."""
    return {event["payload"]["contract"]["agent"]["name"]: event["agent_no"] for event in events
            if event["type"] == "agent.subagent_created"}


def told(answer):
    """An answer without how each step was merged, which hangs on who was faster."""
    return re.sub(r" \((fast_forward|three_way|no_changes)\)", "", answer)


class Desk:
    """Where a reader sits who follows the page: a directory from which tests/ is seen, with `cadre` in the path, in UTC."""

    def __init__(self):
        self.space = Workspace()
        programs = self.space.root / "bin"
        programs.mkdir()
        (programs / "cadre").symlink_to(program("CADRE"))
        (self.space.files / "tests").symlink_to(TESTS)
        self.environment = {**self.space.environment, "PATH": f"{programs}{os.pathsep}{self.space.environment['PATH']}",
                            "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command, text=""):
        """What a line of the shell prints; lines have no blanks at their ends."""
        done = subprocess.run(["sh", "-ec", command], cwd=self.space.files, env=self.environment, input=text, text=True,
                              capture_output=True, timeout=WAIT_SECONDS)
        if done.returncode != 0 or done.stderr:
            raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())

    def fill(self, section):
        """A section of the page as it should read now."""
        named = re.search(r"runs/(v4-plan-[a-z-]+)\.jsonl", section)
        if named is None:
            return section
        plan = self.run("cadre plan show - --yaml", json.dumps(plans(read(named[1])[1])[0]))
        (self.space.files / "plan.yaml").write_text(plan)
        section = re.sub(r"(?ms)^```yaml plan\n.*?^```$", lambda _: f"```yaml plan\n{plan}```", section)
        return re.sub(r"(?ms)^```console\n(.*?)^```$", lambda block: f"```console\n{self.follow(block[1])}```", section)

    def follow(self, block):
        commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        return "\n".join(f"$ {command}\n{self.run(command)}" for command in commands)


def filled(page):
    """The page as it should read now: each section by a reader of its own."""
    made = []
    for section in re.split(r"(?m)^(?=## )", page):
        desk = Desk()
        with desk.space:
            made.append(desk.fill(section))
    return "".join(made)


class Page(unittest.TestCase):
    maxDiff = None

    def test_it_shows_what_the_program_prints_for_the_recordings(self):
        page = PAGE.read_text()
        self.assertEqual(page.splitlines(), filled(page).splitlines(), "examples_test.py --write-docs brings it up to date")

    def test_every_recorded_plan_has_its_section_and_its_goal_as_the_command(self):
        goals = {read(name)[0]["task"] for name in examples.SCENARIOS}
        commands = [shlex.split(line) for line in re.findall(r"(?m)^cadre run .*", PAGE.read_text())]
        self.assertEqual({words[-1] for words in commands}, goals)
        for name in examples.SCENARIOS:
            self.assertIn(f"tests/fixtures/runs/{name}.jsonl", PAGE.read_text())

    def test_the_plans_are_sound_and_need_no_warning(self):
        found = re.findall(r"(?ms)^```yaml plan\n(.*?)^```$", PAGE.read_text())
        self.assertEqual(len(found), len(examples.SCENARIOS))
        desk = Desk()
        with desk.space:
            for plan in found:
                self.assertIn("A plan of ", desk.run("cadre plan check -", plan))  # a warning would stand in stderr

    def test_the_config_is_one_that_cadre_takes(self):
        config = re.search(r"(?ms)^```yaml\n(.*?)^```$", PAGE.read_text())[1]
        desk = Desk()
        with desk.space:
            (desk.space.root / "config.yaml").write_text(config)
            desk.run("cadre config check --config ../config.yaml")


class Recordings(unittest.TestCase):
    def statuses(self, events, kind):
        """Places in the log where steps got this status, by their names."""
        return {event["payload"]["name"]: event["seq"] for event in events
                if event["type"] == "plan.step" and event["payload"]["kind"] == kind}

    def test_every_step_is_completed_and_nothing_was_refused(self):
        for name in examples.SCENARIOS:
            with self.subTest(name):
                _, events = read(name)
                self.assertEqual(set(self.statuses(events, "completed")),
                                 {step["id"] for step in plans(events)[-1]["steps"]})
                self.assertEqual([event["seq"] for event in events if event["type"] == "permission.denied"], [])

    def test_a_finding_becomes_a_step_and_the_result_is_reviewed_again(self):
        run, events = read("v4-plan-research-implement")
        first, second = plans(events)
        self.assertEqual([step["id"] for step in second["steps"][len(first["steps"]):]], ["review-1-1"])
        reviewers = [event["seq"] for event in events if event["type"] == "agent.subagent_created"
                     and event["payload"]["contract"]["agent"]["role"] == "reviewer"]
        mended = self.statuses(events, "completed")["review-1-1"]
        self.assertEqual([seq > mended for seq in reviewers], [False, True])
        self.assertIn("Review: approved.", json.loads(run["result_json"])["response"])

    def test_what_a_step_waits_for_is_merged_before_its_turn(self):
        _, events = read("v4-plan-research-implement")
        begun, done = self.statuses(events, "in_progress"), self.statuses(events, "completed")
        order = [step["id"] for step in plans(events)[0]["steps"]]
        self.assertLess(order.index("guide"), order.index("tokens"))
        self.assertLess(begun["api"], done["guide"])

    def test_checks_are_run_before_each_merge(self):
        _, events = read("v4-plan-research-implement")
        merged = {event["agent_no"]: event["seq"] for event in events if event["type"] == "agent.worktree_merged"
                  and event["payload"]["merge_strategy"] in ("fast_forward", "three_way")}
        checked = {event["agent_no"]: event for event in events if event["type"] == "agent.checked"}
        self.assertEqual(len(merged), 5)
        for number, seq in merged.items():
            self.assertLess(checked[number]["seq"], seq)
            self.assertEqual([shown["passed"] for shown in checked[number]["payload"]["evidence"]], [True])

    def test_three_researchers_are_at_work_at_once_and_one_brings_it_together(self):
        _, events = read("v4-plan-parallel-research")
        begun, done = self.statuses(events, "in_progress"), self.statuses(events, "completed")
        researchers = ["patterns", "classes", "logging"]
        self.assertLess(max(begun[name] for name in researchers), min(done[name] for name in researchers))
        self.assertGreater(begun["report"], max(done[name] for name in researchers))

    def test_the_tests_fail_first_then_the_code_passes_them_and_a_third_sees_it(self):
        _, events = read("v4-plan-tests-first")
        who = numbers(events)
        self.assertEqual(tested(events), [(who["tests"], False), (who["code"], True), (who["run"], True), (who["reviewer"], True)])

    def test_they_name_no_user_and_no_place_of_a_machine(self):
        for name in examples.SCENARIOS:
            with self.subTest(name):
                run, text = read(name)[0], re.sub(r"\\+[nrt]", " ", (RUNS / f"{name}.jsonl").read_text())
                self.assertEqual(run["user_id"], "root")
                self.assertTrue(run["workspace_path"].startswith("/tmp/cadre-e2e-"), run["workspace_path"])
                places = set(re.findall(r"(?<![\w.<:/-])/(?!tmp/cadre-e2e-|usr/lib/python3)[a-z]+/[\w./-]+", text))
                self.assertEqual(places, set())
                self.assertLess(len(text), 300_000)

    def test_made_again_they_tell_the_same(self):
        for name, example in examples.SCENARIOS.items():
            with self.subTest(name), examples.recorded(name, example) as (store, run_id):
                lines = list(recording.dump(store, run_id))
                again = json.loads(json.loads(lines[0])["run"]["result_json"])
                self.assertEqual(told(again["response"]), told(json.loads(read(name)[0]["result_json"])["response"]))

    def test_what_is_loaded_has_its_children_again(self):
        desk = Desk()
        with desk.space:
            desk.run("python3 tests/fixtures/runs/recording.py load tests/fixtures/runs/v4-plan-tests-first.jsonl a.db")
            (run,) = json_lines(desk.run("cadre runs --json --store a.db"))
            lines = list(recording.dump(desk.space.files / "a.db", run["run_id"]))
        self.assertEqual(lines, (RUNS / "v4-plan-tests-first.jsonl").read_text().splitlines())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-docs"]:
        PAGE.write_text(filled(PAGE.read_text()))
    else:
        unittest.main()
