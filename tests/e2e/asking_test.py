"""Who is asked, seen through the real program: in a repository and in a plain directory, on a terminal and without one, for the root
and for children; questions that wait in the inbox; refusals that are counted and told; what is said beforehand."""
import json
import os
import re
import subprocess
import unittest

from harness import ModelServer, Workspace, json_lines, program, wait_until
from modes_test import OnATerminal, call, of_type, rule, script
from plan_run_test import builds, plan, step
from repository import Repository
from secrets_test import made

SHELL = call("shell", command="echo made >made.txt")
WRITE = call("write", path="out.txt", content="written\n")


def root_calls(made):
    return script(rule({"calls": [made]}, turn=0), rule({"text": "{{last}}"}))


def child_calls(*made):
    """The root starts a child for each call, which makes it and tells what it was answered."""
    rules = [rule({"calls": [call("spawn_agent", task=f"CHILD{i} works") for i in range(len(made))]}, first_user="ROOT", turn=0)]
    for i, one in enumerate(made):
        rules += [rule({"calls": [one]}, first_user=f"CHILD{i}", turn=0),
                  rule({"text": "told: {{last}}"}, first_user=f"CHILD{i}")]
    return script(*rules, rule({"text": "the root is done"}, first_user="ROOT"))


class Headless(unittest.TestCase):
    def go(self, space, rules, *flags):
        with ModelServer(rules) as server:
            self.done = space.run(["run", *server.flags(), "--json", *flags, "ROOT"])
        self.result = json_lines(self.done.stdout)[-1]
        self.events = space.events(self.result["run_id"])
        return self.result

    def met(self):
        """What the one call met: allowed, asked or refused."""
        refused = [denied for denied in of_type(self.events, "permission.denied") if "nobody can be asked" in denied["reason"]]
        self.assertEqual(of_type(self.events, "permission.asked"), [])
        self.assertEqual(self.result["refused"]["count"], len(refused))
        return "refused" if refused else "allowed"

    def check(self, config, mode, rules, expected, where=Repository):
        with where(config=config) as space:
            self.go(space, rules, "--mode", mode)
            self.assertEqual(self.met(), expected, (mode, config, where, self.result))

    # --- the table, without a person ---------------------------------------------------------------------------

    def test_a_command_in_a_tree_behind_all_walls_is_made_in_auto_and_refused_in_safe(self):
        for rules in (root_calls(SHELL), child_calls(SHELL)):
            self.check(None, "auto", rules, "allowed")
            self.check(None, "safe", rules, "refused")

    def test_in_a_plain_directory_the_roots_command_is_refused_and_a_childs_runs_in_its_copy(self):
        self.check(None, "auto", root_calls(SHELL), "refused", Workspace)
        self.check(None, "auto", child_calls(SHELL), "allowed", Workspace)

    def test_a_wall_that_is_off_or_network_makes_every_command_a_question(self):
        for config in ("sandbox: {seccomp: false}\n", "access: {network: full}\n"):
            for rules in (root_calls(SHELL), child_calls(SHELL)):
                self.check(config, "auto", rules, "refused")

    def test_the_roots_commit_is_a_question_in_auto_and_a_childs_is_not(self):
        commit = call("git_commit", message="m", paths=["a.txt"])
        self.check(None, "auto", root_calls(commit), "refused")
        self.check(None, "auto", child_calls(commit), "allowed")

    def test_an_ask_by_name_is_a_question_for_children_in_every_mode(self):
        for mode in ("auto", "dangerous"):
            self.check("permissions: {shell: ask}\n", mode, child_calls(SHELL), "refused")

    def test_without_trees_a_childs_command_would_run_in_the_users_files_and_is_refused(self):
        self.check("isolation: {children: false, root: false}\n", "auto", child_calls(SHELL), "refused")

    def test_shell_deny_denies_test_which_is_a_command_unless_test_is_named(self):
        with Repository("permissions: {shell: deny}\ntools: {test: {command: \"true\"}}\n") as space:
            self.go(space, root_calls(call("test")), "--mode", "dangerous")
            self.assertNotIn("test", of_type(self.events, "run.started")[0]["contract"]["permissions"]["tool_modes"])
            self.assertEqual(self.result["refused"]["count"], 1)
        with Repository("permissions: {shell: deny, test: allow}\ntools: {test: {command: \"true\"}}\n") as space:
            self.go(space, root_calls(call("test")), "--mode", "dangerous")
            self.assertEqual(self.result["refused"]["count"], 0)

    # --- refusals are told -------------------------------------------------------------------------------------

    def test_four_writes_of_children_that_are_refused_in_safe_are_not_passed_over(self):
        writes = [call("write", path=f"{i}.txt", content="x\n") for i in range(4)]
        with Repository() as space, ModelServer(child_calls(*writes)) as server:
            done = space.run(["run", *server.flags(), "ROOT"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("4 calls were refused:", done.stderr)
            for remedy in ("--mode auto", "permissions: {write: allow}", "a terminal", "approvals: {via: inbox}"):
                self.assertIn(remedy, done.stderr)
            (row,) = space.query("SELECT * FROM runs")
            self.assertEqual(json.loads(row["result_json"])["refused"]["count"], 4)
            for child in of_type(space.events(row["id"]), "agent.subagent_closed"):
                self.assertEqual(child["result"]["refused"]["count"], 1)
                self.assertEqual(len(child["result"]["refused"]["reasons"]), 1)
            tree = space.run(["tree", "last"]).stdout
            self.assertNotIn("✓", tree)
            self.assertEqual(tree.count("1 call refused"), 4, tree)
            self.assertIn("4 calls refused", tree)
            shown = space.run(["show", "last"]).stdout
            self.assertEqual(shown.count("1 refused"), 4, shown)
            self.assertIn("4 calls: ", shown)
            report = space.run(["show", "last", "--report"]).stdout
            self.assertIn("- refused: 4 calls", report)
            quiet = space.run(["run", *server.flags(), "--quiet", "ROOT"])
            self.assertIn("4 calls were refused:", quiet.stderr)

    def test_a_parent_is_told_what_its_child_was_refused(self):
        for door in ("spawn_agent", "fan_out", "delegate_task"):
            arguments = {"spawn_agent": {"task": "CHILD0 works"}, "fan_out": {"tasks": [{"task": "CHILD0 works"}]},
                         "delegate_task": {"plan": "p", "subtasks": [{"task": "CHILD0 works"}]}}[door]
            rules = script(rule({"calls": [call(door, **arguments)]}, first_user="ROOT", turn=0),
                           rule({"calls": [WRITE]}, first_user="CHILD0", turn=0), rule({"text": "well"}, first_user="CHILD0"),
                           rule({"text": "{{last}}"}, first_user="ROOT"))
            with Repository() as space:
                self.assertIn("1 call of this agent was refused", self.go(space, rules)["response"], door)

    # --- the inbox ---------------------------------------------------------------------------------------------

    INBOX = "approvals: {via: inbox, timeout_ms: 600000}\n"

    def begin(self, space, server, *flags):
        process = space.start(["run", *server.flags(), "--json", *flags, "ROOT"])
        process.wait_for_event("permission.asked")
        wait_until(lambda: "waits for an answer before it may call" in process.errors, "the hint")
        return process

    def test_a_question_waits_in_the_inbox_is_shown_whole_and_answered_by_its_id(self):
        with Repository(self.INBOX) as space, ModelServer(child_calls(WRITE)) as server:
            process = self.begin(space, server)
            listed = space.run(["approve", "last"])
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertRegex(listed.stdout, r"\? agent-1 wants to use write:\n  new file: out.txt\n  change:\n")
            self.assertIn("+written\n", listed.stdout)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual((question["agent"], question["tool"]), ("agent-1", "write"))
            self.assertEqual(question["preview"]["parts"][0], {"kind": "text", "label": "new file", "text": "out.txt"})
            self.assertIn(f"cadre approve {question['run_id']} {question['call']} --shown {question['shown']}", listed.stdout)
            self.assertEqual(space.run(["approve", "last", "nothing"]).returncode, 2)
            done = self.approve(space, question)
            self.assertEqual((done.returncode, "is approved" in done.stdout), (0, True), done.stderr)
            self.assertEqual(process.end(), 0, process.errors)
            again = space.run(["approve", "last", question["call"]])
            self.assertEqual(again.returncode, 1)
            self.assertIn("has ended", again.stderr)
            (asked,) = of_type(space.events(question["run_id"]), "permission.asked")
            self.assertEqual(asked["asker"], "inbox")
            (granted,) = of_type(space.events(question["run_id"]), "permission.granted")
            self.assertEqual(granted["shown"], question["shown"])

    @staticmethod
    def approve(space, question, *words):
        return space.run(["approve", question["run_id"], question["call"], "--shown", question["shown"], *words])

    def test_nobody_says_yes_to_a_call_without_the_hash_of_what_was_shown(self):
        with Repository(self.INBOX) as space, ModelServer(root_calls(WRITE)) as server:
            process = self.begin(space, server)
            (question,) = json_lines(space.run(["approve", "last", "--show", "--json"]).stdout)
            unread = space.run(["approve", "last", question["call"]])
            self.assertEqual((unread.returncode, f"--shown {question['shown']}" in unread.stderr), (2, True), unread.stderr)
            self.assertIn("+written", unread.stdout)
            other = space.run(["approve", "last", question["call"], "--shown", "0" * 64])
            self.assertEqual((other.returncode, "would do something else" in other.stderr), (1, True), other.stderr)
            self.assertEqual(of_type(space.events(question["run_id"]), "permission.granted"), [])
            self.assertEqual(self.approve(space, question).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)

    def test_a_call_that_would_do_something_else_by_then_is_not_made(self):
        with Repository(self.INBOX + "isolation: {root: false}\n", {"out.txt": "old\n"}) as space, \
                ModelServer(root_calls(WRITE)) as server:
            process = self.begin(space, server)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            (space.files / "out.txt").write_text("somebody else's\n")
            done = self.approve(space, question)
            self.assertEqual((done.returncode, "has changed since it was shown" in done.stderr), (1, True), done.stderr)
            self.assertEqual(process.end(), 0, process.errors)
            self.assertEqual((space.files / "out.txt").read_text(), "somebody else's\n")
            self.assertIn("has changed since the user approved it", process.lines[-1]["response"])
            self.assertEqual(process.lines[-1]["refused"]["count"], 1)

    def test_the_inbox_shows_line_breaks_marks_and_whole_texts(self):
        command = "ls # " + "x" * 500 + "\nrm \u202eb\x1b[2J"
        with Repository(self.INBOX) as space, ModelServer(root_calls(call("shell", command=command))) as server:
            process = self.begin(space, server, "--mode", "safe")
            listed = space.run(["approve", "last"]).stdout
            self.assertNotIn("\x1b", listed)
            self.assertIn("rm <U+202E>b<U+001B>[2J", listed)
            self.assertIn("x" * 300, listed)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual(question["preview"]["parts"][0]["text"], command)
            self.assertEqual(space.run(["approve", "last", question["call"], "--deny"]).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)

    def test_a_secret_that_only_a_file_has_is_not_logged(self):
        secret = made("ghp_", 36)
        edit = call("edit", path="a.env", old_text="mode=1", new_text="mode=2")
        with Repository(self.INBOX + "isolation: {root: false}\n", {"a.env": f"KEY={secret}\nmode=1\n"}) as space, \
                ModelServer(script(rule({"calls": [call("read", path="a.env")]}, turn=0), rule({"calls": [edit]}, turn=1),
                                   rule({"text": "{{last}}"}))) as server:
            process = self.begin(space, server)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual(question["secrets"], 1, question)
            self.assertNotIn(secret, json.dumps(space.events(question["run_id"])))
            self.assertIn("1 secret of a file is masked here", space.run(["approve", "last"]).stdout)
            self.assertEqual(self.approve(space, question).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)
            self.assertEqual((space.files / "a.env").read_text(), f"KEY={secret}\nmode=2\n")

    def test_a_no_from_the_inbox_refuses_the_call(self):
        with Repository(self.INBOX) as space, ModelServer(root_calls(WRITE)) as server:
            process = self.begin(space, server)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual(space.run(["approve", "last", question["call"], "--deny"]).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)
            self.assertEqual(process.lines[-1]["refused"]["count"], 1)

    def test_a_no_without_a_name_refuses_the_one_call_that_waits(self):
        with Repository(self.INBOX) as space, ModelServer(root_calls(WRITE)) as server:
            process = self.begin(space, server)
            done = space.run(["approve", "last", "--deny"])
            self.assertEqual((done.returncode, "is denied" in done.stdout), (0, True), done.stdout + done.stderr)
            self.assertNotIn("wants to use", done.stdout)
            self.assertEqual(process.end(), 0, process.errors)
            self.assertEqual(process.lines[-1]["refused"]["count"], 1)

    def test_a_no_without_a_name_to_several_calls_needs_all(self):
        writes = [call("write", path=f"{i}.txt", content="x\n") for i in range(2)]
        with Repository(self.INBOX) as space, ModelServer(child_calls(*writes)) as server:
            process = self.begin(space, server)
            process.wait_for_event("permission.asked", 2)
            names = [line["call"] for line in json_lines(space.run(["approve", "last", "--json"]).stdout)]
            unclear = space.run(["approve", "last", "--deny"])
            self.assertEqual(unclear.returncode, 2, unclear.stdout)
            self.assertIn(f"several calls wait: {', '.join(names)}; name one of them, or use --all", unclear.stderr)
            self.assertEqual(space.run(["approve", "last", "--all", "--deny"]).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)
            self.assertEqual(process.lines[-1]["refused"]["count"], 2)

    def test_nobody_who_answers_parks_the_run_and_a_resume_puts_the_question_again(self):
        with Repository("approvals: {via: inbox, timeout_ms: 1000}\n") as space, ModelServer(root_calls(WRITE)) as server:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stderr)
            run_id = json_lines(done.stdout)[-1]["run_id"]
            self.assertIn("approvals.timeout_ms", json_lines(done.stdout)[-1]["reason"])
            (question,) = json_lines(space.run(["approve", run_id, "--json"]).stdout)
            kept = self.approve(space, question)
            self.assertEqual((kept.returncode, "takes effect at `cadre resume`" in kept.stdout), (0, True), kept.stderr)
            second = space.run(["approve", run_id, question["call"], "--deny"])
            self.assertEqual((second.returncode, "was approved already" in second.stderr), (1, True), second.stderr)
            done = space.run(["resume", "--json", run_id])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(len(of_type(space.events(run_id), "permission.granted")), 1)
            self.assertEqual(len(of_type(space.events(run_id), "permission.asked")), 2)

    def test_a_resume_without_a_terminal_and_without_an_inbox_refuses_what_was_asked(self):
        with Repository("approvals: {via: inbox, timeout_ms: 1000}\n") as space, ModelServer(root_calls(WRITE)) as server:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stderr)
            (space.root / "cadre.yaml").write_text("")
            done = space.run(["resume", "--json", json_lines(done.stdout)[-1]["run_id"]])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["refused"]["count"], 1)

    def test_an_answer_that_was_kept_is_heard_by_a_resume_where_nobody_is_there(self):
        with Repository("approvals: {via: inbox, timeout_ms: 1000}\n") as space, ModelServer(root_calls(WRITE)) as server:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stderr)
            (space.root / "cadre.yaml").write_text("")
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual(self.approve(space, question).returncode, 0)
            done = space.run(["resume", "--json", question["run_id"]])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["refused"]["count"], 0)

    def test_a_kept_answer_to_something_else_is_not_a_yes(self):
        with Repository("approvals: {via: inbox, timeout_ms: 1000}\nisolation: {root: false}\n", {"out.txt": "old\n"}) as space, \
                ModelServer(root_calls(WRITE)) as server:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stderr)
            (question,) = json_lines(space.run(["approve", "last", "--json"]).stdout)
            self.assertEqual(self.approve(space, question).returncode, 0)
            (space.files / "out.txt").write_text("somebody else's\n")
            done = space.run(["resume", "--json", question["run_id"]])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["refused"]["count"], 1)
            self.assertEqual((space.files / "out.txt").read_text(), "somebody else's\n")

    # --- approvals of steps ------------------------------------------------------------------------------------

    def test_a_step_shows_its_checks_its_files_and_what_test_would_run(self):
        asks = plan(step("base", ownership=["base"], requires_approval=True))
        config = "plan: {review: false}\nroles: {executor: {outputs: {checks: ['test -d base']}}}\n"
        with Repository(config, {"Makefile": "test:\n\ttrue\n"}) as space, ModelServer(script(*builds("base"))) as server:
            file = space.root / "plan.json"
            file.write_text(json.dumps(asks))
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file", str(file)])
            wait_until(lambda: "step base waits for approval: cadre approve" in process.errors, "the hint")
            shown = space.run(["approve", "last", "--show"]).stdout
            for line in ("? root wants to start a step that needs your approval:\n", "  step: base\n", "  role: executor\n", "  check 1 of 1: test -d base\n",
                         f"  checks are set by: roles.executor.outputs.checks, {space.root}/cadre.yaml:2:",
                         "  test, command: make test\n", "  test, set by: Makefile of the project"):
                self.assertIn(line, shown)
            self.assertRegex(shown, r"files that it owns: (\(\d lines\)\n.*)?base")
            (question,) = json_lines(space.run(["approve", "last", "--show", "--json"]).stdout)
            self.assertEqual(question["step"], "base")
            wrong = space.run(["approve", "last", "base", "--shown", "0" * 64])
            self.assertEqual(wrong.returncode, 1, wrong.stdout)
            self.assertEqual(space.run(["approve", "last", "base", "--shown", question["shown"]]).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)
            approved = [row for row in of_type(space.events(question["run_id"]), "plan.step") if row["kind"] == "approved"]
            self.assertEqual([row["shown"] for row in approved], [question["shown"]])

    def test_a_step_that_was_approved_cannot_be_denied_and_an_ended_run_has_no_steps(self):
        asks = plan(step("base", ownership=["base"], requires_approval=True),
                    step("roof", depends_on=["base"], ownership=["roof"], requires_approval=True))
        with Repository("plan: {review: false}\n") as space, ModelServer(script(*builds("base"), *builds("roof"))) as server:
            file = space.root / "plan.json"
            file.write_text(json.dumps(asks))
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--plan-file", str(file)])
            wait_until(lambda: "step base waits for approval: cadre approve" in process.errors, "the hint")
            run_id = process.lines[0]["run_id"]
            self.assertEqual(space.run(["approve", run_id, "base"]).returncode, 0)
            late = space.run(["approve", run_id, "base", "--deny"])
            self.assertEqual((late.returncode, "was approved already" in late.stderr), (1, True), late.stderr)
            wait_until(lambda: "step roof waits for approval: cadre approve" in process.errors, "the other hint")
            self.assertEqual(space.run(["approve", run_id, "roof"]).returncode, 0)
            self.assertEqual(process.end(), 0, process.errors)
            for words in ([], ["base"], ["base", "--deny"]):
                ended = space.run(["approve", run_id, *words])
                self.assertEqual((ended.returncode, "has ended" in ended.stderr), (1, True), ended.stderr)

    # --- said beforehand ---------------------------------------------------------------------------------------

    def test_explain_and_config_check_say_what_a_run_meets(self):
        for where in (Repository, Workspace):
            for mode in ("safe", "auto"):
                for config in ("", "sandbox: {landlock: false}\n", "permissions: {shell: ask}\n"):
                    with where(config=f"mode: {mode}\n{config}") as space:
                        flags = ["--base-url", "http://127.0.0.1:9/v1", "--model", "any"]
                        told = json_lines(space.run(["agents", "explain", "executor", "--json", *flags]).stdout)
                        values = {line["field"]: line["value"] for line in told}
                        self.assertIn("outputs.checks", values)
                        self.assertIn("outputs.schema", values)
                        for who, rules in (("root", root_calls(SHELL)), ("child", child_calls(SHELL))):
                            self.go(space, rules)
                            with self.subTest(where=where.__name__, mode=mode, config=config, who=who):
                                met = self.met()
                                self.assertEqual(met, self.checked(space)[who])
                                if who == "child":
                                    self.assertEqual(met, values["calls.shell"])
                                    contract = json.loads(space.children(self.result["run_id"])[0]["context_json"])
                                    self.assertEqual(contract["permissions"]["tool_modes"]["shell"],
                                                     values["permissions.tool_modes"]["shell"])

    def test_before_the_first_run_config_check_and_explain_know_the_tree(self):
        def told(words):
            """In a home where the default directory of the store is not there yet, what is said, and what is made there."""
            with Repository("mode: auto\nisolation: {children: false}\n") as space:
                done = subprocess.run([program("CADRE"), *words, "--json"], cwd=space.files, text=True, check=False,
                                      capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True,
                                      env={**space.environment, "OPENAI_API_KEY": "any"})
                self.assertEqual(done.returncode, 0, done.stderr)
                return json_lines(done.stdout), list((space.root / "home").iterdir())
        (checked,), made = told(["config", "check"])
        self.assertTrue(checked["calls"]["root_in_tree"])
        self.assertEqual(checked["calls"]["tools"]["shell"]["root"], "allowed")
        self.assertEqual(made, [])
        explained, _ = told(["agents", "explain", "executor", "--base-url", "http://127.0.0.1:9/v1", "--model", "any"])
        self.assertEqual({line["field"]: line["value"] for line in explained}["calls.shell"], "allowed")

    @unittest.skipUnless(os.geteuid() == 0, "needs a repository of somebody else's")
    def test_a_repository_that_the_user_may_not_write_to_counts_as_none_for_trees(self):
        made = [call("git", command="log", args=["--oneline"]), WRITE]
        rules = [rule({"calls": [made[i]]}, first_user="ROOT", turn=i) for i in range(2)]
        rules += [rule({"calls": [call("spawn_agent", task="CHILD works")]}, first_user="ROOT", turn=2),
                  rule({"calls": [call("write", path="child.txt", content="child\n")]}, first_user="CHILD", turn=0),
                  rule({"text": "told: {{last}}"}, first_user="CHILD"), rule({"text": "done"}, first_user="ROOT")]
        with Repository("mode: auto\n") as space, ModelServer(script(*rules)) as server:
            space.shell("chown 65534:65534 . a.txt src src/c.txt ../home")
            os.chmod(space.root, 0o755)
            space.store = space.root / "home" / "store.db"

            def other(*words):
                return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program("CADRE"), *words,
                                       "--store", str(space.store), "--json"], cwd=space.files, text=True, check=False,
                                      capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True,
                                      env={**space.environment, "OPENAI_API_KEY": "any"})
            (told,) = json_lines(other("config", "check").stdout)
            self.assertFalse(told["calls"]["root_in_tree"])
            done = other("run", *server.flags(), "ROOT")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            events = space.events(json_lines(done.stdout)[0]["run_id"])
            self.assertEqual([tree["strategy"] for tree in of_type(events, "agent.worktree_created")], ["shared", "copy"])
            self.assertIn("first commit", of_type(events, "tool.finished")[0]["text"])
            self.assertEqual(space.tree()["out.txt"], "written\n")
            self.assertEqual(space.tree()["child.txt"], "child\n")
            refs = space.files / ".git" / "refs"
            self.assertEqual([str(path.relative_to(refs)) for path in refs.rglob("*") if path.is_file()], ["heads/main"])

    def checked(self, space):
        done = space.run(["config", "check", "--json"], env={"OPENAI_API_KEY": "any"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json_lines(done.stdout)[0]["calls"]["tools"]["shell"]


class Asked(OnATerminal):
    def test_questions_of_children_queue_up_and_name_the_child(self):
        terminal = self.start(child_calls(*[call("write", path=f"{i}.txt", content="x\n") for i in range(3)]), flags=())
        waiting = {"1", "2", "3"}
        for answered in range(3):
            # The next one: what is typed before it stands there is thrown away.
            shown = terminal.wait_for(rf"(?s)agent-[{''.join(waiting)}] wants to use write.*Allow it\? \[y/n")
            waiting.discard(re.findall(rf"agent-([{''.join(waiting)}]) wants to use write", shown)[-1])
            terminal.keys("y", "Enter")
            wait_until(lambda count=answered + 1: len(self.events("permission.granted")) == count, "an answer")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(len(self.events("permission.granted")), 3)
        for number in (1, 2, 3):
            self.assertIn(f"agent-{number} wants to use write", terminal.history())

    def test_a_run_that_was_parked_without_a_terminal_asks_when_it_is_resumed_on_one(self):
        self.space = Repository("approvals: {via: inbox, timeout_ms: 1000}\n")
        self.addCleanup(self.space.close)
        self.server = ModelServer(root_calls(WRITE))
        self.addCleanup(self.server.stop)
        done = self.space.run(["run", *self.server.flags(), "--json", "ROOT"])
        self.assertEqual(done.returncode, 75, done.stderr)
        terminal = self.open("resume", json_lines(done.stdout)[-1]["run_id"])
        terminal.wait_for(r"root wants to use write")
        terminal.keys("y", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual([resumed["asker"] for resumed in self.events("run.resumed")], ["terminal"])
        self.assertEqual([asked["asker"] for asked in self.events("permission.asked")], ["inbox", "terminal"])


if __name__ == "__main__":
    unittest.main()
