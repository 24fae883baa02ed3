"""Plans that are carried out by the real program in a real repository: made by a planner or read from a file, steps side by side in
trees, merged and reviewed, failures, approvals, a crash in the middle, and what a dry run says."""
import json
import unittest

from harness import ModelServer, Workspace, json_lines, program, wait_until
from terminal_test import Terminal
from trees_test import Repository, call, rule, script, writes


PRICED = """plan: {review: false}
llm:
  providers: {local: {base_url: "http://127.0.0.1:1/v1"}}
  models:
    cheap: {provider: local, price_in: 1, price_out: 4}
    dear: {provider: local, price_in: 3, price_out: 15}
  pools: {one: [{model: cheap}], both: [{model: cheap}, {model: dear}]}
"""


def step(name, **more):
    return {"id": name, "title": f"Title of {name}", "description": f"DO-{name}", **more}


def plan(*steps, **more):
    return {"goal": "Build it", "steps": list(steps), **more}


DIAMOND = plan(step("base", ownership=["base"]),
               step("left", depends_on=["base"], ownership=["left"]),
               step("right", depends_on=["base"], ownership=["right"]),
               step("roof", depends_on=["left", "right"], ownership=["roof"]),
               summary="From the ground up.", completion_criteria=["There is a roof"])


def does(name, *calls, text=None, **more):
    """The child of a step: these calls in one reply, and an answer."""
    about = f"# Your step\n\nDO-{name}"
    return [rule(about, 0, calls=list(calls)), rule(about, 1, text=text or f"did {name}", **more)]


def builds(name, **more):
    return does(name, writes(f"{name}/{name}.txt", f"{name}\n"), **more)


def planner(answer):
    return rule("Create a plan to", 0, text=answer if isinstance(answer, str) else json.dumps(answer))


def reviews(*findings, summary="seen"):
    return rule("Review the result of a plan", 0, text=json.dumps({"summary": summary, "findings": list(findings)}))


class Plans(unittest.TestCase):
    def go(self, space, rules, *words, code=0, mode="auto"):
        """Runs `cadre run WORDS`; result and events stand in self."""
        with ModelServer(script(*rules)) as server:
            done = space.run(["run", *server.flags(), "--mode", mode, "--json", *words])
            server.idle()
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.take(space, json_lines(done.stdout))

    def take(self, space, lines):
        self.run_id, self.result = lines[0]["run_id"], lines[-1]
        self.events = space.events(self.run_id)

    def plan_file(self, space, written):
        path = space.root / "plan.yaml"
        path.write_text(json.dumps(written))
        return str(path)

    def steps(self):
        """How each step ended."""
        return {event["payload"]["name"]: event["payload"]["kind"] for event in self.events
                if event["type"] == "plan.step"}

    def place(self, kind, name):
        """Where in the log a step got this status."""
        return next(event["seq"] for event in self.events if event["type"] == "plan.step"
                    and event["payload"]["name"] == name and event["payload"]["kind"] == kind)

    def shows(self, space, path):
        return space.git("show", f"cadre/{self.run_id}/result:{path}")

    # --- the whole way -------------------------------------------------------------------------------------

    def test_a_goal_is_planned_built_side_by_side_merged_and_reviewed(self):
        with Repository() as space:
            rules = [planner("Here:\n```json\n" + json.dumps(DIAMOND) + "\n```"), *builds("base"),
                     *builds("left", delay_ms=200), *builds("right", delay_ms=200),
                     *does("roof", call("read", path="left/left.txt"), call("read", path="right/right.txt"),
                           writes("roof/roof.txt", "roof\n")), reviews()]
            self.go(space, rules, "--plan", "Build it")
            self.assertEqual(set(self.steps().values()), {"completed"})
            self.assertGreater(self.place("in_progress", "roof"), self.place("completed", "left"))
            self.assertGreater(self.place("in_progress", "roof"), self.place("completed", "right"))
            self.assertLess(self.place("in_progress", "right"), self.place("completed", "left"))
            for name in self.steps():
                self.assertEqual(self.shows(space, f"{name}/{name}.txt"), name)
            self.assertEqual(space.git("status", "--porcelain"), "")
            merged = [event["payload"]["step_idx"] for event in self.events
                      if event["type"] == "agent.worktree_merged" and event["payload"].get("step_idx", 9) < 4]
            self.assertEqual(merged, [0, 1, 2, 3])
            answer = self.result["response"]
            self.assertIn("Planning: From the ground up.", answer)
            self.assertIn("Execution: 4 of 4 steps completed", answer)
            self.assertIn("Review: approved. seen", answer)
            self.assertIn("Total tool calls: 6", answer)

    def test_a_finding_of_the_review_is_mended_and_reviewed_again(self):
        with Repository() as space:
            finding = {"title": "Paint it", "description": "DO-paint"}
            second = {"when": {"first_user_regex": "(?s)Review the result.*Paint it"},
                      "reply": {"text": json.dumps({"summary": "good now", "findings": []})}}
            rules = [*builds("base"), second, reviews(finding), *builds("paint")]
            self.go(space, rules, "--plan-file", self.plan_file(space, plan(step("base", ownership=["base"]))))
            self.assertEqual(self.steps(), {"base": "completed", "review-1-1": "completed"})
            self.assertEqual(self.shows(space, "paint/paint.txt"), "paint")
            self.assertIn("Review: approved. good now", self.result["response"])

    # --- what goes wrong -------------------------------------------------------------------------------------

    def test_a_step_that_fails_skips_what_needs_it_and_the_rest_is_delivered(self):
        with Repository("plan: {review: false}\n") as space:
            broken = rule("# Your step\n\nDO-left", 0, status=400, error="no such thing")
            self.go(space, [*builds("base"), broken, *builds("right")],
                    "--plan-file", self.plan_file(space, DIAMOND), code=1)
            self.assertEqual(self.steps(), {"base": "completed", "left": "failed", "right": "completed",
                                            "roof": "skipped"})
            self.assertEqual(self.shows(space, "right/right.txt"), "right")
            self.assertEqual(self.result["error"], "not all steps of the plan were done")
            self.assertIn("[skipped] Title of roof", self.result["response"])

    def test_the_lines_say_what_became_of_each_step(self):
        with Repository("plan: {review: false}\n") as space:
            broken = rule("# Your step\n\nDO-left", 0, status=400, error="no such thing")
            with ModelServer(script(*builds("base"), broken, *builds("right"))) as server:
                done = space.run(["run", *server.flags(), "--mode", "auto", "--plan-file", self.plan_file(space, DIAMOND)])
                server.idle()
            self.assertEqual(done.returncode, 1)
            for line in (r"root +plan +4 steps\n", r"root +step +base completed\n", r"root +step +left failed: .*no such thing",
                         r"root +step +roof skipped: it needs left, which was not done\n"):
                self.assertRegex(done.stdout, line)

    def test_work_outside_of_what_a_step_owns_is_not_merged(self):
        with Repository("plan: {review: false}\n") as space:
            strays = plan(step("narrow", ownership=["src/*.txt"]), step("after", depends_on=["narrow"]))
            self.go(space, does("narrow", call("shell", command="echo x > src/note.md")), "--plan-file",
                    self.plan_file(space, strays), code=1, mode="dangerous")
            self.assertEqual(self.steps(), {"narrow": "failed", "after": "skipped"})

    def test_a_step_that_clashes_with_its_users_edit_fails_and_skips_what_needs_it(self):
        with Repository("plan: {review: false}\nisolation: {root: false}\n") as space:
            clashes = plan(step("mine", ownership=["a.txt"]), step("after", depends_on=["mine"]), step("right", ownership=["right"]))
            rules = [*does("mine", writes("a.txt", "one\nTWO\nthree\n"), delay_ms=1500), *builds("right")]
            with ModelServer(script(*rules)) as server:
                process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file",
                                       self.plan_file(space, clashes)])
                process.wait_for(lambda line: line.get("event") == "tool.finished" and line.get("agent") != 0, "the write")
                (space.files / "a.txt").write_text("one\nzwei\nthree\n")
                self.assertEqual(process.end(), 1)
                server.idle()
            self.take(space, process.lines)
            self.assertEqual(self.steps(), {"mine": "failed", "after": "skipped", "right": "completed"})
            self.assertRegex(self.result["response"], r"\[failed\] Title of mine \(conflict\): merge conflict in a.txt")
            self.assertEqual((space.files / "a.txt").read_text(), "one\nzwei\nthree\n")

    def test_a_plan_without_money_is_not_done(self):
        with Repository(PRICED + "  default_pool: one\n") as space:
            done = space.run(["run", "--mode", "auto", "--json", "--max-cost", "0.0001", "--plan-file",
                              self.plan_file(space, plan(step("base"), step("roof", depends_on=["base"])))])
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.take(space, json_lines(done.stdout))
            self.assertEqual(self.steps(), {"base": "failed", "roof": "skipped"})
            self.assertIn("[failed] Title of base (no_changes): the budget is used up", self.result["response"])

    def test_a_plan_that_is_cancelled_says_what_was_not_done(self):
        with Repository("plan: {review: false}\n") as space:
            with ModelServer(script(*builds("base"), *builds("left", delay_ms=30000), *builds("right"))) as server:
                process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file",
                                       self.plan_file(space, DIAMOND)])
                process.wait_for(lambda line: line.get("event") == "plan.step" and line["payload"]["name"] == "left",
                                 "the step left starts")
                self.assertEqual(space.run(["cancel", process.lines[0]["run_id"]]).returncode, 0)
                self.assertEqual(process.end(), 130)
                server.idle()
            answer = process.lines[-1]["response"]
            self.assertIn("[completed] Title of base", answer)
            self.assertIn("[failed] Title of left", answer)
            self.assertIn("[pending] Title of roof: not started", answer)

    def test_two_calls_with_one_goal_both_get_the_plan(self):
        """The second one's planner is the first one's, whose answer is there already."""
        with Repository("plan: {enabled: true}\n") as space:
            asks = call("plan", goal="Build it", plan_only=True)
            rules = [planner(plan(step("base"))), rule("ROOT", 0, calls=[asks]), rule("ROOT", 1, calls=[asks]),
                     rule("ROOT", 2, text="both are there")]
            self.go(space, rules, "ROOT")
            self.assertEqual(self.result["response"], "both are there")
            answers = [event["payload"]["text"] for event in self.events if event["type"] == "tool.finished"]
            self.assertEqual(len(answers), 2)
            self.assertEqual(answers[0], answers[1])
            self.assertEqual([event["type"] for event in self.events].count("agent.result_reused"), 1)

    def test_a_planner_that_fails_ends_the_run(self):
        with Repository() as space:
            self.go(space, [rule("Create a plan to", 0, status=400, error="no")], "--plan", "Build it", code=1)
            self.assertTrue(self.result["error"].startswith("Planning failed: "), self.result["error"])

    def test_a_planner_without_a_plan_gives_one_step(self):
        with Repository("plan: {review: false}\n") as space:
            self.go(space, [planner("I would just do it."), rule("# Your step", 0, text="done")], "--plan", "Build it")
            self.assertEqual(len(self.steps()), 1)
            self.assertRegex(self.result["response"], r"^Planning: Build it\nWarning: the planner's answer has no steps that can be used")

    def test_a_plan_that_is_not_made_takes_only_its_own_file_away(self):
        with Repository() as space, ModelServer(script(rule("Create a plan to", 0, status=400, error="no"))) as server:
            made, link = space.root / "made.yaml", space.root / "link.yaml"
            link.symlink_to("/dev/null")
            for path in (made, link):
                done = space.run(["plan", *server.flags(), "--force", "Build it", "-o", str(path)])
                self.assertEqual(done.returncode, 1, done.stderr)
            self.assertFalse(made.exists())
            self.assertTrue(link.is_symlink())

    def test_a_plan_that_is_made_of_garbage_is_warned_of_however_little_is_printed(self):
        with Repository() as space, ModelServer(script(planner("I would just do it."))) as server:
            done = space.run(["plan", *server.flags(), "--quiet", "Build it"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "cadre: warning: the planner's answer has no steps that can be used: the goal is one step\n")

    # --- approvals ---------------------------------------------------------------------------------------------

    def approval(self, space, words, code):
        """A plan whose first step needs approval, answered from another process."""
        asks = plan(step("base", ownership=["base"], requires_approval=True),
                    step("roof", depends_on=["base"], ownership=["roof"]))
        with ModelServer(script(*builds("base"), *builds("roof"))) as server:
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file",
                                   self.plan_file(space, asks)])
            process.wait_for_event("plan.step")
            wait_until(lambda: "waits for approval: cadre approve" in process.errors, "the hint")
            run_id = process.lines[0]["run_id"]
            done = space.run(["approve", run_id, *words])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(process.end(), code, process.errors)
            server.idle()
        self.take(space, process.lines)

    def test_a_step_is_approved_from_another_terminal(self):
        with Repository("plan: {review: false}\n") as space:
            self.approval(space, ["base"], 0)
            self.assertEqual(self.steps(), {"base": "completed", "roof": "completed"})

    def test_a_denied_step_fails_and_skips_what_needs_it(self):
        with Repository("plan: {review: false}\n") as space:
            self.approval(space, ["--deny"], 1)
            self.assertEqual(self.steps(), {"base": "failed", "roof": "skipped"})
            self.assertIn("denied: the user said no", self.result["response"])

    def test_nobody_who_answers_is_a_no(self):
        with Repository("plan: {review: false, approval_timeout_ms: 1000}\n") as space:
            self.go(space, [], "--plan-file",
                    self.plan_file(space, plan(step("base", requires_approval=True))), code=1)
            self.assertIn("nobody approved it in time", self.result["response"])

    def on_a_terminal(self, space, server):
        asks = plan(step("base", ownership=["base"], requires_approval=True))
        terminal = Terminal(space, [program("CADRE"), "run", "--store", space.store, *server.flags(), "--mode", "auto",
                                    "--plan-file", self.plan_file(space, asks)])
        self.addCleanup(terminal.close)
        text = terminal.wait_for(r"Start it\? \[y/n/v\]")
        self.assertRegex(text, r"\? root wants to start a step that needs your approval:\n  step: base\n  title: Title of base\n"
                               r"  task: DO-base\n")
        return terminal

    def test_a_terminal_is_asked_and_its_yes_starts_the_step(self):
        with Repository("plan: {review: false}\n") as space, ModelServer(script(*builds("base", delay_ms=1000))) as server:
            terminal = self.on_a_terminal(space, server)
            terminal.keys("y", "Enter")
            terminal.wait_for(r"root .*plan: 0 of 1 steps done, 1 at work")
            self.assertEqual(terminal.wait_for_end(), 0)
            self.assertIn("Execution: 1 of 1 steps completed", terminal.history())

    def test_a_terminals_question_goes_away_when_it_is_answered_elsewhere(self):
        with Repository("plan: {review: false}\n") as space, ModelServer(script(*builds("base"))) as server:
            terminal = self.on_a_terminal(space, server)
            self.assertEqual(space.run(["approve", "last"]).returncode, 0)
            terminal.wait_for(r"no answer is needed any more")
            self.assertEqual(terminal.wait_for_end(), 0)

    # --- a crash -----------------------------------------------------------------------------------------------

    def test_after_a_kill_the_plan_goes_on_where_it_was(self):
        with Repository("plan: {review: false}\n") as space:
            rules = [*builds("base"), *builds("left"), *builds("right", delay_ms=400), *builds("roof")]
            with ModelServer(script(*rules)) as server:
                process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file",
                                       self.plan_file(space, DIAMOND)])
                process.wait_for(lambda line: line.get("event") == "plan.step" and line["payload"]["name"] == "right",
                                 "the step right starts")
                process.kill()
                done = space.run(["resume", "--json", process.lines[0]["run_id"]])
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                server.idle()
            self.take(space, json_lines(done.stdout))
            self.assertEqual(set(self.steps().values()), {"completed"})
            started = [event for event in self.events if event["type"] == "agent.subagent_created"]
            self.assertEqual(len(started), 4)
            self.assertEqual(self.shows(space, "roof/roof.txt"), "roof")

    # --- before anything is spent ------------------------------------------------------------------------------

    def test_a_dry_run_shows_every_contract_and_starts_nothing(self):
        with Repository() as space, ModelServer(script()) as server:
            words = ["run", *server.flags(), "--mode", "auto", "--plan-file", self.plan_file(space, DIAMOND), "--dry-run"]
            done = space.run(words)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("base (executor", "left (executor", "review (reviewer", "In all at most", "Nothing was started"):
                self.assertIn(name, done.stdout)
            line = json_lines(space.run([*words, "--json"]).stdout)[-1]
            self.assertEqual([child["id"] for child in line["children"]], ["base", "left", "right", "roof", "review"])
            self.assertEqual(line["children"][1]["contract"]["isolation"]["ownership"], ["left/**"])
            self.assertEqual(line["most"]["calls"], sum(child["most"]["calls"] for child in line["children"]))
            self.assertEqual(space.query("SELECT * FROM runs"), [])
            self.assertEqual(server.stats()["requests"], 0)

    def dry(self, space, written, *words):
        """What a dry run with a price says, and its children by their ids."""
        done = space.run(["run", "--mode", "auto", "--dry-run", "--json", "--plan-file", self.plan_file(space, written), *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json_lines(done.stdout)[-1]
        return line, {child["id"]: child for child in line["children"]}

    def test_the_most_of_a_step_holds_whatever_its_share_is_to_begin_with(self):
        with Repository(PRICED + "  default_pool: one\n") as space:
            uneven = plan(step("a", ownership=["a"], estimated_calls=1000), step("b", depends_on=["a"], estimated_calls=1))
            line, children = self.dry(space, uneven, "--max-cost", "9")
            self.assertLess(children["b"]["contract"]["execution"]["budget"]["cost_usd"], 0.01)
            self.assertEqual(children["b"]["most"], children["a"]["most"])
            self.assertEqual(line["most"]["cost_usd"], 2 * children["a"]["most"]["cost_usd"])
            self.assertEqual(line["limit"], {"tokens": None, "cost_usd": 9})
            self.assertEqual(self.dry(space, uneven, "--max-cost", "0.5")[0]["most"]["cost_usd"], 0.5)

    def test_the_shares_to_begin_with_are_the_limit_with_that_of_the_review(self):
        with Repository(PRICED.replace("review: false", "review: true") + "  default_pool: one\n") as space:
            children = self.dry(space, plan(step("a", estimated_calls=30), step("b", estimated_calls=10)), "--max-cost", "1")[1]
            shares = {name: child["contract"]["execution"]["budget"]["cost_usd"] for name, child in children.items()}
            self.assertEqual(shares, {"a": 0.6, "b": 0.2, "review": 0.2})

    def test_the_most_is_that_of_the_dearest_model_that_may_stand_in(self):
        with Repository(PRICED + "  default_pool: both\n") as space:
            most = self.dry(space, plan(step("a")), "--max-cost", "99")[0]["most"]["cost_usd"]
            alone = self.dry(space, plan(step("a")), "--max-cost", "99", "--model", "dear")[0]["most"]["cost_usd"]
            self.assertEqual(most, alone)

    def test_a_dry_run_counts_only_steps_that_would_start(self):
        with Repository(PRICED + "  default_pool: one\n") as space:
            half = plan(step("a", status="completed", estimated_calls=1000), step("b", depends_on=["a"], estimated_calls=1))
            children = self.dry(space, half, "--max-cost", "2")[1]
            self.assertEqual(list(children), ["b"])
            self.assertEqual(children["b"]["contract"]["execution"]["budget"]["cost_usd"], 2)

    def test_a_goal_that_is_typed_stands_in_place_of_the_files(self):
        with Repository("plan: {review: false}\n") as space:
            self.go(space, [rule("Goal of the whole plan\n\nSomething else", 0, text="done")], "--plan-file",
                    self.plan_file(space, plan(step("base"))), "Something else")
            self.assertIn("Planning: Something else", self.result["response"])

    def test_a_mode_in_which_no_step_can_change_files_is_told(self):
        with Repository("plan: {review: false}\n") as space, ModelServer(script()) as server:
            for written, mode, told in ((DIAMOND, "safe", True), (DIAMOND, "auto", False),
                                        (plan(step("look", type="research")), "safe", False),
                                        (plan(step("run", type="testing", allowed_tools=["read", "test"])), "safe", False)):
                done = space.run(["run", *server.flags(), "--mode", mode, "--plan-file", self.plan_file(space, written),
                                  "--dry-run"])
                self.assertEqual(f"in mode {mode} no step can change a file" in done.stderr, told, done.stderr)

    def test_where_nobody_can_be_asked_it_is_told_that_no_step_can_run_a_test(self):
        look = plan(step("look", type="research"))
        with ModelServer(script()) as server:
            asks = "sandbox: {seccomp: false}\n"  # a command that leaves the walls is asked for
            for config, written, told in ((asks, DIAMOND, True), (asks, look, False), ("", DIAMOND, False),
                                          (asks, plan(step("base", allowed_tools=["read", "write"])), False),
                                          (asks + "permissions: {shell: allow, test: allow}\n", DIAMOND, False)):
                with Repository("plan: {review: false}\n" + config) as space:
                    done = space.run(["run", *server.flags(), "--mode", "auto", "--plan-file", self.plan_file(space, written),
                                      "--dry-run"])
                    self.assertEqual("no step can run a command or a test" in done.stderr, told, done.stderr)

    def test_a_goal_that_is_too_long_for_a_plan_starts_nothing(self):
        with Repository() as space, ModelServer(script()) as server:
            for words in (["--plan"], ["--plan-file", self.plan_file(space, DIAMOND)]):
                done = space.run(["run", *server.flags(), *words, "word " * 14000])
                self.assertEqual(done.returncode, 2)
                self.assertIn("at most 65536 bytes", done.stderr)
            self.assertEqual(space.query("SELECT * FROM runs"), [])

    def test_a_wrong_plan_file_is_told_with_its_lines_and_starts_nothing(self):
        with Workspace() as space:
            path = space.root / "bad.yaml"
            path.write_text("goal: Build it\nsteps:\n  - id: a\n    title: A\n    description: Do\n    role: king\n"
                            "    depends_on: [b]\n")
            done = space.run(["run", "--base-url", "http://127.0.0.1:1", "--model", "m", "--plan-file", str(path)])
            self.assertEqual(done.returncode, 2)
            self.assertIn("bad.yaml:6:", done.stderr)
            self.assertIn("bad.yaml:7:", done.stderr)
            self.assertEqual(space.query("SELECT * FROM runs"), [])

    def test_a_plan_is_made_written_and_can_be_carried_out(self):
        with Repository("plan: {review: false}\n") as space:
            path = space.root / "made.yaml"
            path.touch()  # as a run that was killed leaves the file that it claimed
            rules = [planner(DIAMOND), *builds("base"), *builds("left"), *builds("right"), *builds("roof")]
            with ModelServer(script(*rules)) as server:
                words = ["plan", *server.flags(), "Build it", "-o", str(path)]
                done = space.run(words)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("cadre run --plan-file", done.stdout)
                text = path.read_text()
                again = space.run(words)
                self.assertEqual(again.returncode, 2)
                self.assertIn("--force", again.stderr)
                self.assertEqual(path.read_text(), text)
            self.go(space, rules[1:], "--plan-file", str(path))
            self.assertEqual(set(self.steps().values()), {"completed"})


if __name__ == "__main__":
    unittest.main()
