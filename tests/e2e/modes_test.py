"""What a mode lets an agent do, seen through the real program: which tools a model is offered, what is written, who is asked; the
circuit breaker on a terminal and without one; turns that repeat themselves."""
import json
import os
import signal
import types
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines, program
from terminal_test import Terminal

DOORS = ("spawn_agent", "fan_out", "delegate_task", "spawn", "spawn_await", "agent_status", "agent_send", "agent_cancel",
         "agent_result", "agent_merge")
# The columns of docs/modes.md that this program has tools for: reads, files, delegation.
MODES = {"safe": ("allow", "ask", "allow"), "auto": ("allow", "allow", "allow"), "dangerous": ("allow", "allow", "allow"),
         "research": ("allow", "deny", "hidden"), "plan": ("allow", "deny", "hidden"),
         "review": ("allow", "deny", "hidden"), "ci": ("allow", "deny", "hidden")}
SPAWN = "tools: {spawn: {enabled: true}}\n"


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


WRITE = call("write", path="out.txt", content="written\n")
# The root tries to write and tells what it was answered; so does its child, where it has one.
ROOT_WRITES = script(rule({"calls": [WRITE]}, turn=0), rule({"text": "{{last}}"}))
CHILD_WRITES = script(rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="ROOT", turn=0),
                      rule({"calls": [WRITE]}, first_user="CHILD", turn=0),
                      rule({"text": "child was told: {{last}}"}, first_user="CHILD"),
                      rule({"text": "{{last}}"}, first_user="ROOT"))


class Headless(unittest.TestCase):
    """Runs without a terminal."""

    def start(self, rules, flags=(), config=""):
        with ModelServer(rules) as server, Workspace({"a.txt": "one line\n"}, config) as space:
            self.done = space.run(["run", *server.flags(), "--json", *flags, "ROOT"])
            self.result = json_lines(self.done.stdout)[-1]
            self.events = space.events(self.result["run_id"])
            self.files = space.tree()
            self.children = space.children(self.result["run_id"])
        return self.done.returncode

    def offered(self, tool, mode, config=""):
        """Whether the root's first request offers the tool."""
        rules = script(rule({"text": "offered"}, has_tool=tool), rule({"text": "not offered"}))
        self.assertEqual(self.start(rules, ["--mode", mode], config), 0, self.done.stderr)
        return self.result["response"] == "offered"

    def contract(self):
        return of_type(self.events, "run.started")[0]["contract"]["permissions"]


class Table(Headless):
    def test_each_mode_offers_the_tools_that_its_row_does_not_deny_or_hide(self):
        for mode, (reads, files, _) in MODES.items():
            with self.subTest(mode=mode):
                self.assertTrue(self.offered("read", mode))
                modes = self.contract()["tool_modes"]
                self.assertEqual(modes["read"], reads)
                # What is denied is in no contract. What is asked for is, whoever is there: that is decided at the call.
                self.assertEqual(modes.get("write"), {"allow": "allow", "ask": "ask_mode"}.get(files))
                # Where nobody can be asked it would only be refused, and is not offered.
                self.assertEqual(self.offered("write", mode), files == "allow")

    def test_a_write_happens_in_the_modes_that_allow_it_and_in_no_other(self):
        for mode, (_, files, _) in MODES.items():
            with self.subTest(mode=mode):
                self.start(ROOT_WRITES, ["--mode", mode])
                self.assertEqual("out.txt" in self.files, files == "allow")
                self.assertEqual(len(of_type(self.events, "permission.denied")), files != "allow")
                self.assertEqual(self.result["response"].startswith("Error: "), files != "allow", self.result["response"])

    def test_read_only_modes_hide_every_door_and_the_others_show_them(self):
        for mode, (_, _, delegation) in MODES.items():
            rules = script(rule({"calls": [call(door) for door in DOORS]}, turn=0), rule({"text": "seen"}))
            with self.subTest(mode=mode):
                self.start(rules, ["--mode", mode], SPAWN)
                allowed = set(self.contract()["allowed_tools"])
                self.assertEqual(allowed & set(DOORS), set() if delegation == "hidden" else set(DOORS))
                self.assertEqual(len(of_type(self.events, "permission.denied")), len(DOORS) if delegation == "hidden" else 0)
                self.assertEqual(self.children, [])

    def test_a_door_that_is_hidden_is_in_no_request(self):
        for door in ("spawn_agent", "spawn", "agent_status"):
            with self.subTest(door=door):
                self.assertTrue(self.offered(door, "safe", SPAWN))
                self.assertFalse(self.offered(door, "plan", SPAWN))

    def test_normal_is_safe_and_safe_is_the_default(self):
        self.start(ROOT_WRITES, ["--mode", "normal"])
        self.assertEqual(self.contract()["mode"], "safe")
        self.start(ROOT_WRITES)
        self.assertEqual(self.contract()["mode"], "safe")

    def test_an_unknown_mode_is_a_usage_error_that_names_the_modes(self):
        with Workspace() as space:
            done = space.run(["run", "--mode", "yolo", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "ROOT"])
        self.assertEqual(done.returncode, 2)
        for mode in MODES:
            self.assertIn(mode, done.stderr)


class Overrides(Headless):
    def test_permissions_open_a_cell(self):
        self.start(ROOT_WRITES, ["--mode", "safe"], "mode: safe\npermissions: {write: allow}\n")
        self.assertEqual(self.files["out.txt"], "written\n")

    def test_permissions_close_a_cell(self):
        self.start(ROOT_WRITES, ["--mode", "auto"], "mode: auto\npermissions: {write: deny}\n")
        self.assertNotIn("out.txt", self.files)
        self.assertEqual(self.contract()["tool_modes"]["edit"], "allow")

    def test_an_alias_names_the_same_cell(self):
        self.start(ROOT_WRITES, ["--mode", "auto"], "mode: auto\npermissions: {write_file: deny}\n")
        self.assertNotIn("out.txt", self.files)

    def test_a_denied_tool_is_not_offered_and_its_neighbours_are(self):
        self.assertFalse(self.offered("grep", "auto", "mode: auto\npermissions: {grep: deny}\n"))
        self.assertTrue(self.offered("read", "auto", "mode: auto\npermissions: {grep: deny}\n"))

    def test_a_door_can_be_closed_alone(self):
        config = "mode: auto\npermissions: {spawn_agent: deny}\n"
        self.assertFalse(self.offered("spawn_agent", "auto", config))
        self.assertTrue(self.offered("fan_out", "auto", config))

    def test_an_override_that_closes_a_cell_holds_for_children_too(self):
        self.start(CHILD_WRITES, ["--mode", "auto"], "mode: auto\npermissions: {write: deny}\n")
        self.assertNotIn("out.txt", self.files)

    def test_ask_is_no_for_a_root_that_nobody_watches_and_its_children_have_no_more_than_it_has(self):
        for rules in (ROOT_WRITES, CHILD_WRITES):
            self.start(rules, ["--mode", "auto"], "mode: auto\npermissions: {write: ask}\n")
            self.assertNotIn("out.txt", self.files)
            self.assertEqual(of_type(self.events, "permission.asked"), [])


class Children(Headless):
    def test_a_child_writes_under_auto_and_dangerous_and_not_under_safe(self):
        for mode, writes in (("safe", False), ("auto", True), ("dangerous", True)):
            with self.subTest(mode=mode):
                self.start(CHILD_WRITES, ["--mode", mode])
                self.assertEqual("out.txt" in self.files, writes)
                self.assertEqual(of_type(self.events, "permission.asked"), [])
                self.assertIn("child was told: ", self.result["response"])

    def test_a_child_in_plan_mode_cannot_write_and_has_no_doors(self):
        rules = script(rule({"calls": [call("spawn_agent", task="CHILD", mode="plan")]}, first_user="ROOT", turn=0),
                       rule({"calls": [WRITE, call("spawn_agent", task="GRANDCHILD")]}, first_user="CHILD", turn=0),
                       rule({"text": "told"}))
        self.start(rules, ["--mode", "auto"])
        self.assertNotIn("out.txt", self.files)
        self.assertEqual(len(self.children), 1)
        self.assertEqual(len(of_type(self.events, "permission.denied")), 2)
        modes = json.loads(self.children[0]["context_json"])["permissions"]
        self.assertEqual((modes["mode"], modes["can_spawn_children"]), ("plan", False))

    def test_a_child_that_asks_for_auto_under_a_safe_parent_stays_safe_with_a_record(self):
        rules = script(rule({"calls": [call("spawn_agent", task="CHILD", mode="auto")]}, first_user="ROOT", turn=0),
                       rule({"calls": [WRITE]}, first_user="CHILD", turn=0), rule({"text": "told"}))
        self.start(rules, ["--mode", "safe"])
        contract = json.loads(self.children[0]["context_json"])
        self.assertEqual(contract["permissions"]["mode"], "safe")
        self.assertIn("permissions.mode", [clamp["field"] for clamp in contract["receipt"]["clamps"]])
        self.assertNotIn("out.txt", self.files)


class Stagnation(Headless):
    SAME = {"calls": [call("read", path="a.txt")]}

    def test_a_root_that_repeats_itself_is_stopped_at_the_fourth_time_and_says_why(self):
        code = self.start(script(rule(self.SAME)), ["--mode", "auto"])
        self.assertEqual((code, self.result["status"]), (1, "error"))
        self.assertIn("four identical turns", self.result["error"])
        self.assertEqual(len(of_type(self.events, "model.replied")), 4)
        self.assertEqual(self.result["tool_calls"], 3)

    def test_other_arguments_are_another_turn(self):
        rules = script(rule({"calls": [call("read", path="a.txt", offset="{{turn}}")]}, turn=9),
                       rule({"text": "end"}, turn=10),
                       rule({"calls": [call("grep", pattern="x{{turn}}", path="a.txt")]}))
        self.assertEqual(self.start(rules, ["--mode", "auto"]), 0, self.done.stderr)

    def test_a_child_that_repeats_itself_is_an_error_for_its_parent_which_goes_on(self):
        rules = script(rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="ROOT", turn=0),
                       rule(self.SAME, first_user="CHILD"), rule({"text": "I go on"}, first_user="ROOT"))
        code = self.start(rules, ["--mode", "auto"], "sub_agent: {max_retries: 0}\n")
        self.assertEqual((code, self.result["response"]), (0, "I go on"))
        answer = of_type([event for event in self.events if event["agent_id"] == self.result["run_id"]], "tool.finished")[0]
        self.assertRegex(answer["text"], r"\A\[ERROR\] Sub-agent failed: stopped: four identical turns in a row")
        self.assertEqual(answer["outcome"], "error")
        (closed,) = of_type(self.events, "agent.subagent_closed")
        self.assertEqual((closed["final_status"], closed["result"]["tool_calls"]), ("failed", 3))


BREAKER = "safety: {circuit_breaker: {warn_at: 2, pause_at: 3, hard_stop_at: 6}}\n"
# Another call at each turn, for ever; without tools its last words.
BUSY = script(rule({"calls": [call("grep", pattern="x{{turn}}", path="a.txt")]}, last_lacks=NO_CALLS),
              rule({"text": "last words"}))


class BreakerHeadless(Headless):
    def test_a_root_that_nobody_watches_is_warned_and_stops_where_it_would_pause(self):
        code = self.start(BUSY, ["--mode", "auto"], BREAKER)
        self.assertEqual((code, self.result["status"], self.result["tool_calls"]), (3, "budget_exceeded", 3))
        self.assertEqual(self.result["response"], "last words")
        self.assertEqual(len(of_type(self.events, "budget.warned")), 1)
        self.assertEqual(of_type(self.events, "run.paused"), [])

    def test_children_have_no_breaker_and_go_to_their_own_budget(self):
        rules = script(rule({"calls": [call("spawn_agent", task="CHILD", max_tool_calls=5)]}, first_user="ROOT", turn=0),
                       rule({"calls": [call("grep", pattern="x{{turn}}", path="a.txt")]}, first_user="CHILD", last_lacks=NO_CALLS),
                       rule({"text": "last words of a child"}, first_user="CHILD"), rule({"text": "end"}))
        self.assertEqual(self.start(rules, ["--mode", "auto"], BREAKER), 0, self.done.stderr)
        (closed,) = of_type(self.events, "agent.subagent_closed")
        self.assertEqual((closed["result"]["tool_calls"], closed["result"]["status"]), (5, "budget_exceeded"))


class OnATerminal(unittest.TestCase):
    def start(self, rules, config="", flags=("--mode", "auto")):
        self.server = ModelServer(rules)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"}, config)
        self.addCleanup(self.space.close)
        return self.open("run", *self.server.flags(), *flags, "ROOT")

    def open(self, command, *arguments):
        # A place of its own for each: a tmux server that is still ending must not be the next one's.
        place = types.SimpleNamespace(root=self.space.root / f"tmux-{command}", environment=self.space.environment,
                                      files=self.space.files)
        place.root.mkdir()
        terminal = Terminal(place, [program("CADRE"), command, "--store", self.space.store, *arguments])
        self.addCleanup(terminal.close)
        return terminal

    def row(self):
        (row,) = self.space.query("SELECT * FROM runs")
        return row

    def events(self, kind):
        return of_type(self.space.events(self.row()["id"]), kind)

    def result(self):
        return json.loads(self.row()["result_json"])

    def kill(self):
        """SIGKILL to the process that owns the run, by the id that its lease names."""
        (lease,) = self.space.query("SELECT owner FROM leases")
        os.kill(int(lease["owner"].split("-")[0]), signal.SIGKILL)


class Asking(OnATerminal):
    def test_safe_asks_before_it_writes(self):
        terminal = self.start(ROOT_WRITES, flags=())
        terminal.wait_for(r"root wants to use write")
        terminal.answer("y")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(len(self.events("permission.asked")), 1)

    def test_auto_writes_without_a_question(self):
        terminal = self.start(ROOT_WRITES)
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(self.events("permission.asked"), [])
        self.assertIn("out.txt", self.space.tree())

    def test_a_childs_ask_by_name_is_a_question_in_auto_too(self):
        terminal = self.start(CHILD_WRITES, "mode: auto\npermissions: {write: ask}\n")
        terminal.wait_for(r"agent-1 wants to use write")
        terminal.answer("y")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual([asked["asker"] for asked in self.events("permission.asked")], ["terminal"])
        self.assertIn("out.txt", self.space.tree())

    def test_the_roots_own_ask_in_auto_is_a_question(self):
        terminal = self.start(ROOT_WRITES, "mode: auto\npermissions: {write: ask}\n")
        terminal.wait_for(r"root wants to use write")
        terminal.answer("n")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertNotIn("out.txt", self.space.tree())

    def test_a_child_in_safe_is_asked_for_like_its_parent(self):
        terminal = self.start(CHILD_WRITES, flags=())
        terminal.wait_for(r"agent-1 wants to use write")
        terminal.answer("n")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(len(self.events("permission.asked")), 1)
        self.assertNotIn("out.txt", self.space.tree())

    def test_with_sub_agent_ask_deny_nobody_is_asked_for_a_child(self):
        terminal = self.start(CHILD_WRITES, "sub_agent: {ask: deny}\n", flags=())
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(self.events("permission.asked"), [])
        self.assertEqual(len(self.events("permission.denied")), 1)
        self.assertNotIn("out.txt", self.space.tree())


class Breaker(OnATerminal):
    QUESTION = r"root has made 3 tool calls; it stops at 6 at the latest\.\s+Let it go on\? \[y/n\]"

    def pause(self, rules=BUSY):
        terminal = self.start(rules, BREAKER)
        terminal.wait_for(self.QUESTION)
        self.assertTrue(terminal.cursor_is_visible())
        self.assertEqual(self.events("run.paused"), [{"count": 3}])
        self.assertEqual(len(self.events("model.requested")), 3)
        return terminal

    def test_yes_goes_on_to_the_hard_stop_without_another_question(self):
        terminal = self.pause()
        terminal.answer("y")
        self.assertEqual(terminal.wait_for_end(), 3)
        self.assertEqual(self.result()["tool_calls"], 6)
        self.assertEqual(self.result()["response"], "last words")
        self.assertEqual(self.events("run.unpaused"), [{"outcome": "go_on"}])
        self.assertEqual(len(self.events("run.paused")), 1)

    def test_no_gives_it_one_last_turn(self):
        terminal = self.pause()
        terminal.answer("n")
        self.assertEqual(terminal.wait_for_end(), 3)
        self.assertEqual((self.result()["tool_calls"], self.result()["response"]), (3, "last words"))
        self.assertEqual(self.events("run.unpaused"), [{"outcome": "stop"}])
        self.assertEqual([asked["tools"] for asked in self.events("model.requested")][-1], "kept")

    def test_calls_of_one_reply_beyond_the_pause_wait_for_the_answer(self):
        rules = script(rule({"calls": [call("grep", 5, pattern="x{{index}}", path="a.txt")]}, turn=0), rule({"text": "end"}))
        terminal = self.start(rules, BREAKER)
        terminal.wait_for(self.QUESTION)
        self.assertEqual(len(self.events("tool.requested")), 3)
        terminal.answer("y")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(self.result()["tool_calls"], 5)

    def test_ctrl_c_at_the_question_parks_the_run(self):
        terminal = self.pause()
        terminal.keys("C-c")
        self.assertEqual(terminal.wait_for_end(), 75)
        self.assertEqual(self.row()["status"], "parked")

    def test_killed_at_the_question_it_is_asked_again_by_resume(self):
        terminal = self.pause()
        self.kill()
        terminal.wait_for(r"exit code 137\.")
        terminal.close()
        again = self.open("resume", self.row()["id"])
        again.wait_for(self.QUESTION)
        again.keys("y", "Enter")
        self.assertEqual(again.wait_for_end(), 3)
        self.assertEqual((self.result()["tool_calls"], self.result()["response"]), (6, "last words"))
        self.assertEqual(len(self.events("run.paused")), 1)

    def test_resumed_without_a_terminal_the_answer_is_no(self):
        terminal = self.pause()
        self.kill()
        terminal.wait_for(r"exit code 137\.")
        done = self.space.run(["resume", "--json", self.row()["id"]])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.events("run.unpaused"), [{"outcome": "stop"}])
        self.assertEqual((self.result()["tool_calls"], self.result()["response"]), (3, "last words"))


if __name__ == "__main__":
    unittest.main()
