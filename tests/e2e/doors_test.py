"""fan_out, delegate_task, the roles and the agent_* tools through the real program, and every example of docs/doors.md.

A proxy stands between cadre and the scripted model: it keeps each request, can hold one back until something has happened (so that
nothing here depends on how long anything takes), and puts the id of the last job in the place of the one that the docs show.
"""
import collections
import http.server
import json
import os
import re
import signal
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from harness import WAIT_SECONDS, ModelServer, Workspace, json_lines

DOC_ID = "3f9c1a2b4d5e"
SPAWN_ON = "tools:\n  spawn:\n    enabled: true\n"
ROLES = ["researcher", "planner", "executor", "reviewer", "tester"]


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def say(task, text=None, turn=None, calls=None, **reply):
    """What the agent with this in its task says."""
    when = {"first_user": task}
    if turn is not None:
        when["turn"] = turn
    reply = {**reply, "chunks": 1}
    if text is not None:
        reply["text"] = text
    if calls is not None:
        reply["calls"] = calls
    return {"when": when, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def most_at_once(events):
    """The largest number of children between their start and the end of their work."""
    running = most = 0
    for event in events:
        running += event["type"] == "agent.subagent_started"
        running -= event["type"] in ("agent.subagent_waiting_for_merge", "agent.subagent_failed")
        most = max(most, running)
    return most


class Proxy:
    """Between cadre and the model server; `hold` keeps requests of one agent back until an event is set."""

    def __init__(self, url):
        self.bodies = []
        self.arrived = threading.Condition()
        self._held = []
        self._job = DOC_ID
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                data = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer, kind = proxy.forward(url.removesuffix("/v1") + self.path, data)
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    self.close_connection = True  # it was killed, or the child was cancelled

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def forward(self, url, data):
        body = json.loads(data)
        task = first_user(body)
        with self.arrived:
            self.bodies.append(body)
            for message in body["messages"]:
                if message["role"] == "tool" and re.fullmatch("[0-9a-f]{12}", message["content"]):
                    self._job = message["content"]
            self.arrived.notify_all()
        for part, turn, event in self._held:
            if part in task and turn in (None, turn_of(body)):
                event.wait(WAIT_SECONDS)
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                status, text, kind = answer.status, answer.read(), answer.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            status, text, kind = error.code, error.read(), error.headers["Content-Type"]
        return status, text.replace(DOC_ID.encode(), self._job.encode()), kind

    def hold(self, part, turn=None):
        """Requests of the agent with this in its task wait (at this turn alone) until the returned event is set."""
        event = threading.Event()
        self._held.append((part, turn, event))
        return event

    def wait_for(self, predicate, what):
        """Waits for a request that the predicate accepts and returns its body."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: any(predicate(body) for body in self.bodies), WAIT_SECONDS):
                raise AssertionError(f"no request came: {what}")
            return next(body for body in self.bodies if predicate(body))

    def flags(self):
        return ["--base-url", self.url, "--model", "scripted"]

    def close(self):
        for _, _, event in self._held:
            event.set()
        self.server.shutdown()
        self.server.server_close()


def first_user(body):
    return next(message["content"] for message in body["messages"] if message["role"] == "user")


def turn_of(body):
    return sum(message["role"] == "assistant" for message in body["messages"])


def tool_results(body):
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def tools_of(body):
    return {tool["function"]["name"]: tool["function"] for tool in body.get("tools", [])}


class Case(unittest.TestCase):
    """One run: `self.start(rules)` gives a Process, `self.run_to_end(rules)` what it left behind."""

    def place(self, rules, files=None, config=None):
        server = ModelServer(script(*rules))
        self.addCleanup(server.stop)
        self.proxy = Proxy(server.url)
        self.addCleanup(self.proxy.close)
        # What a door says is told without trees: when a child gets its files is nothing that a document can know.
        self.space = Workspace(files, "isolation: {children: false}\n" + (config or ""))
        self.addCleanup(self.space.close)

    def start(self, mode="auto"):
        return self.space.start(["run", *self.proxy.flags(), "--json", "--mode", mode, "ROOT"])

    def finish(self, process):
        code = process.end()
        self.run_id = process.lines[0]["run_id"]
        self.events = self.space.events(self.run_id)
        self.children = self.space.children(self.run_id)
        self.assertEqual(code, 0, process.errors)
        return process

    def run_to_end(self, rules, files=None, config=None, mode="auto"):
        self.place(rules, files, config)
        return self.finish(self.start(mode))

    def answers(self):
        """What the root's calls were answered with, in order."""
        return [event["payload"]["text"] for event in of_type(self.events, "tool.finished")
                if event["agent_id"] == self.run_id]

    def contract(self, number):
        return json.loads(self.children[number - 1]["context_json"])

    def closed_once(self):
        closes = collections.Counter(event["agent_id"] for event in of_type(self.events, "agent.subagent_closed"))
        self.assertEqual(closes, collections.Counter(row["id"] for row in self.children))


# --- docs/doors.md -----------------------------------------------------------------------------------------------------

def examples():
    """The sections of the page: name → (call, answer), of those that have both."""
    page = (Path(os.environ["CADRE_TESTS"]).parent / "docs" / "doors.md").read_text()
    found = {}
    for section in re.split(r"^## (?=[a-z])", page, flags=re.M)[1:]:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```", section, re.M | re.S)
        if len(blocks) >= 2 and blocks[0][0] == "json":
            found[section.split("\n")[0].strip()] = (json.loads(blocks[0][1]), blocks[1])
    return found


def comparable(text):
    """Without what differs from run to run: ids, times, tokens, dollars."""
    text = re.sub(r"\b[0-9a-f]{12}\b", "ID", text)
    text = re.sub(r"\d+\.\ds\b", "TIME", text)
    return re.sub(r"\d+ tokens(, \$\d+\.\d+)?", "SPENT", text).strip()


def comparable_json(value):
    if isinstance(value, dict):
        return {key: 0 if key in ("context_size", "duration_seconds", "total_duration_seconds")
                else comparable_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [comparable_json(inner) for inner in value]
    return comparable(value) if isinstance(value, str) else value


class Docs(Case):
    AWAITED = [
        say("Name every test that touches auth.", turn=0, calls=[call("ls", path="tests")]),
        say("Name every test that touches auth.", "tests/auth_test.c has two.", turn=1),
        say("List the files of the auth middleware", "src/auth.c and src/token.c"),
        say("Summarize how tokens are checked", "token.c compares an HMAC in constant time."),
        say("Find error classes in src/core", "There are three."),
        say("Find where errors are logged", "In src/log.c."),
    ]

    def check(self, name, answer):
        kind, text = examples()[name][1]
        if kind == "json":
            self.assertEqual(comparable_json(json.loads(answer)), comparable_json(json.loads(text)))
        else:
            self.assertEqual(comparable(answer), comparable(text))

    def check_awaited(self, name):
        door = examples()[name][0]
        self.assertEqual(door["name"], name)
        self.run_to_end([say("ROOT", turn=0, calls=[door]), say("ROOT", "end", turn=1), *self.AWAITED],
                        {"tests/auth_test.c": ""})
        self.check(name, self.answers()[0])
        self.closed_once()

    def test_spawn_agent(self):
        self.check_awaited("spawn_agent")
        self.assertEqual(self.contract(1)["agent"]["role"], "researcher")
        self.assertEqual(self.contract(1)["execution"]["budget"]["tool_calls"], 5)

    def test_delegate_task(self):
        self.check_awaited("delegate_task")

    def test_fan_out(self):
        self.check_awaited("fan_out")

    def check_running(self, name):
        """The root starts a job and makes the documented call; the job's model answers when that is over."""
        door = examples()[name][0]
        self.assertEqual(door["name"], name)
        self.place([say("ROOT", turn=0, calls=[call("spawn", task="JOB")]), say("ROOT", turn=1, calls=[door]),
                    say("ROOT", turn=2, calls=[call("spawn_await", job_ids="*")]), say("ROOT", "end", turn=3),
                    say("JOB", "The job is done.", turn=0), say("JOB", "The job is done: {{last}}", turn=1)],
                   config=SPAWN_ON)
        gate = self.proxy.hold("JOB", turn=0)
        process = self.start()
        self.proxy.wait_for(lambda body: first_user(body) == "ROOT" and turn_of(body) == 2, name)
        gate.set()
        self.finish(process)
        self.check(name, self.answers()[1])
        self.closed_once()
        return self.answers()[2]

    def check_ended(self, name, config):
        """The same, when the job has ended: the root's second turn is held back until then."""
        door = examples()[name][0]
        self.assertEqual(door["name"], name)
        self.place([say("ROOT", turn=0, calls=[call("spawn", task="JOB")]), say("ROOT", turn=1, calls=[door]),
                    say("ROOT", "end", turn=2), say("JOB", "The job is done.")], config=config)
        gate = self.proxy.hold("ROOT", turn=1)
        process = self.start()
        process.wait_for_event("agent.subagent_waiting_for_merge")
        gate.set()
        self.finish(process)
        self.check(name, self.answers()[1])
        self.closed_once()

    def test_agent_status(self):
        self.assertIn("OK]\nThe job is done.", self.check_running("agent_status"))

    def test_agent_send(self):
        self.assertIn("Look at src/token.c as well.", self.check_running("agent_send"))

    def test_agent_cancel(self):
        self.assertIn("ERROR]\ncancelled by its parent", self.check_running("agent_cancel"))

    def test_agent_result(self):
        self.check_ended("agent_result", SPAWN_ON)

    def test_agent_merge(self):
        self.check_ended("agent_merge", SPAWN_ON + "sub_agent:\n  close_on_completion: false\n")
        self.assertEqual(of_type(self.events, "agent.subagent_closed")[0]["payload"]["final_status"], "completed")


# --- fan_out -------------------------------------------------------------------------------------------------------------

def fan(count, **more):
    return call("fan_out", tasks=[{"task": f"TASK{i}"} for i in range(count)], **more)


class FanOut(Case):
    TASKS = [say(f"TASK{i}", f"result {i}") for i in range(6)]

    def go(self, door, tasks=TASKS, config=None):
        self.run_to_end([say("ROOT", turn=0, calls=[door]), say("ROOT", "end", turn=1), *tasks], config=config)
        return json.loads(self.answers()[0])

    def summaries(self, answer):
        return [result["summary"] for result in answer["results"]]

    def test_no_more_than_asked_for_work_at_once_and_two_overlap(self):
        answer = self.go(fan(6, max_concurrent=2))
        self.assertEqual(most_at_once(self.events), 2)
        self.assertEqual(self.summaries(answer), [f"result {i}" for i in range(6)])
        self.closed_once()

    def test_the_configured_limit_holds_whatever_is_asked_for(self):
        self.go(fan(6, max_concurrent=50), config="sub_agent:\n  max_concurrent: 2\n")
        self.assertEqual(most_at_once(self.events), 2)

    def test_several_calls_share_the_limit_of_the_run(self):
        self.run_to_end([say("ROOT", turn=0, calls=[fan(3), fan(3)]), say("ROOT", "end", turn=1), *self.TASKS])
        self.assertEqual(most_at_once(self.events), 3)
        self.assertEqual(len(self.children), 6)

    def test_results_keep_the_order_of_the_tasks_when_the_first_ends_last(self):
        self.place([say("ROOT", turn=0, calls=[fan(3)]), say("ROOT", "end", turn=1), *self.TASKS])
        gate = self.proxy.hold("TASK0")
        process = self.start()
        process.wait_for_event("agent.subagent_closed", 2)
        gate.set()
        self.finish(process)
        last = of_type(self.events, "agent.subagent_closed")[-1]
        self.assertEqual(last["agent_id"], self.children[0]["id"])
        self.assertEqual(self.summaries(json.loads(self.answers()[0])), ["result 0", "result 1", "result 2"])

    def test_a_failing_model_is_one_failed_task(self):
        failing = [say("TASK1", status=400, error="no such luck"), *self.TASKS]
        answer = self.go(fan(3), failing)
        self.assertEqual([result["success"] for result in answer["results"]], [True, False, True])
        self.assertRegex(answer["results"][1]["summary"], r"\ATask failed: .*no such luck")
        self.assertEqual((answer["succeeded"], answer["failed"]), (2, 1))

    def test_each_result_has_the_fields_of_the_specification(self):
        answer = self.go(fan(2))
        self.assertLessEqual({"results", "total_tool_calls", "total_duration_seconds"}, answer.keys())
        for result in answer["results"]:
            self.assertLessEqual({"success", "summary", "details", "tool_calls_used", "context_size",
                                  "duration_seconds", "error"}, result.keys())

    def test_after_a_kill_it_goes_on_where_it_was(self):
        self.place([say("ROOT", turn=0, calls=[fan(4, max_concurrent=2)]), say("ROOT", "end", turn=1), *self.TASKS])
        gate = self.proxy.hold("TASK2")
        process = self.start()
        process.wait_for_event("agent.subagent_closed", 2)
        self.proxy.wait_for(lambda body: "TASK2" in first_user(body), "the third task")
        self.assertEqual(process.kill(), -signal.SIGKILL)
        gate.set()
        run_id = process.lines[0]["run_id"]
        resumed = self.space.run(["resume", run_id, "--json"])
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.run_id, self.events = run_id, self.space.events(run_id)
        self.children = self.space.children(run_id)
        self.assertEqual(self.summaries(json.loads(self.answers()[0])), [f"result {i}" for i in range(4)])
        self.assertEqual(len(self.children), 4)
        self.assertEqual(most_at_once(self.events), 2)
        self.closed_once()


# --- delegate_task -------------------------------------------------------------------------------------------------------

class DelegateTask(Case):
    def go(self, *subtasks, rules=(), config=None):
        door = call("delegate_task", plan="GOAL", subtasks=list(subtasks))
        self.run_to_end([say("ROOT", turn=0, calls=[door]), say("ROOT", "end", turn=1), *rules], config=config)
        return self.answers()[0]

    def test_one_after_the_other(self):
        text = self.go({"task": "TASK0"}, {"task": "TASK1"}, {"task": "TASK2"}, rules=FanOut.TASKS)
        self.assertEqual(most_at_once(self.events), 1)
        self.assertLess(text.index("result 0"), text.index("result 1"))
        self.assertIn("3 of 3 subtasks completed", text)

    def test_delegate_concurrency_lets_two_run(self):
        self.go({"task": "TASK0"}, {"task": "TASK1"}, {"task": "TASK2"}, rules=FanOut.TASKS,
                config="sub_agent:\n  delegate_concurrency: 2\n")
        self.assertEqual(most_at_once(self.events), 2)

    def test_a_result_reaches_the_request_of_what_depends_on_it_and_no_other(self):
        self.go({"task": "TASK0"}, {"task": "TASK1"}, {"task": "TASK2", "depends_on": 0}, rules=FanOut.TASKS)
        said = {task: next(first_user(body) for body in self.proxy.bodies if first_user(body).startswith(task))
                for task in ("TASK1", "TASK2")}
        self.assertIn("result 0", said["TASK2"])
        self.assertNotIn("result 0", said["TASK1"])

    def test_a_failure_stops_what_has_not_started(self):
        text = self.go({"task": "TASK0"}, {"task": "TASK1"}, {"task": "TASK2", "depends_on": 1},
                       rules=[say("TASK1", status=400, error="no such luck"), *FanOut.TASKS])
        self.assertEqual(len(self.children), 2)
        self.assertIn("[ERROR] Sub-agent failed: ", text)
        self.assertIn("Skipped: an earlier subtask failed.", text)
        self.assertIn("1 of 3 subtasks completed", text)

    def test_after_a_kill_the_result_is_handed_on_all_the_same(self):
        door = call("delegate_task", plan="GOAL", subtasks=[{"task": "TASK0"}, {"task": "TASK1", "depends_on": 0}])
        self.place([say("ROOT", turn=0, calls=[door]), say("ROOT", "end", turn=1), *FanOut.TASKS])
        gate = self.proxy.hold("TASK1")
        process = self.start()
        self.proxy.wait_for(lambda body: first_user(body).startswith("TASK1"), "the second subtask")
        self.assertEqual(process.kill(), -signal.SIGKILL)
        gate.set()
        run_id = process.lines[0]["run_id"]
        resumed = self.space.run(["resume", run_id, "--json"])
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.run_id, self.events = run_id, self.space.events(run_id)
        self.children = self.space.children(run_id)
        self.assertIn("2 of 2 subtasks completed", self.answers()[0])
        self.assertIn("result 0", first_user(self.proxy.bodies[-2]))
        self.assertEqual(len(self.children), 2)
        self.closed_once()


# --- depth, slots, bad input -----------------------------------------------------------------------------------------------

class Nested(Case):
    def test_with_one_slot_doors_within_doors_come_to_an_end(self):
        self.run_to_end([
            say("ROOT", turn=0, calls=[call("fan_out", tasks=[{"task": "MIDDLE a"}, {"task": "MIDDLE b"}])]),
            say("ROOT", "end", turn=1),
            say("MIDDLE", turn=0, calls=[call("delegate_task", plan="p", subtasks=[{"task": "DEEP 1"}, {"task": "DEEP 2"}])]),
            say("MIDDLE", turn=1, calls=[call("spawn_agent", task="DEEP 3"), fan(1)]),
            say("MIDDLE", turn=2, calls=[call("spawn", task="DEEP 4")]),
            say("MIDDLE", turn=3, calls=[call("spawn_await", job_ids="*")]),
            say("MIDDLE", "middle done", turn=4),
            say("DEEP", "deep done"), *FanOut.TASKS], config=SPAWN_ON + "sub_agent:\n  max_concurrent: 1\n")
        self.assertEqual(len(self.children), 12)
        self.assertEqual(json.loads(self.answers()[0])["succeeded"], 2)
        self.closed_once()

    def test_the_depth_is_bounded(self):
        self.run_to_end([
            say("ROOT", turn=0, calls=[fan(1)]), say("ROOT", "end", turn=1),
            say("TASK0", turn=0, calls=[call("spawn_agent", task="DEEP")]), say("TASK0", "middle done", turn=1),
            say("DEEP", turn=0, calls=[fan(1)]), say("DEEP", "{{last}}", turn=1)])
        self.assertEqual([self.contract(n)["agent"]["depth"] for n in (1, 2)], [1, 2])
        (denied,) = of_type(self.events, "permission.denied")
        self.assertEqual(denied["payload"]["reason"], "Maximum sub-agent depth (2) exceeded")
        self.assertEqual(denied["payload"]["depth"], 2)


class BadInput(Case):
    def test_a_model_is_told_what_was_wrong_and_goes_on(self):
        calls = [
            call("fan_out"), call("fan_out", tasks="TASK0"), call("fan_out", tasks=["TASK0"], max_concurrent=0),
            {"name": "fan_out", "arguments": '{"tasks":["TASK0"],"max_concurrent":NaN}'},
            call("delegate_task", plan="p", subtasks=[{"task": "a", "depends_on": 1}, {"task": "b", "depends_on": 0}]),
            call("delegate_task", plan="p", subtasks=[{"task": "a"}] * 6),
            call("spawn_agent", task="TASK0", role="pilot"), call("spawn_agent", task="TASK0", max_tool_calls="abc"),
            call("agent_cancel", task_id="nobody"), call("agent_send", task_id=7, message="x"),
        ]
        expected = ["tasks must be an array", "tasks must be an array", "max_concurrent must be positive",
                    "not a JSON object", "goes in a circle", "Maximum 5 subtasks", "unknown role",
                    "max_tool_calls must be a number", "no sub-agent of yours", "task_id must be a string"]
        process = self.run_to_end([say("ROOT", turn=0, calls=calls), say("ROOT", "end", turn=1)])
        for answer, part in zip(self.answers(), expected, strict=True):
            self.assertTrue(answer.startswith("Error: "), answer)
            self.assertIn(part, answer)
        self.assertEqual(self.children, [])
        self.assertEqual(process.lines[-1]["tool_calls"], len(calls))


# --- roles ----------------------------------------------------------------------------------------------------------------

class Roles(Case):
    def role_enum(self, body):
        return tools_of(body)["spawn_agent"]["parameters"]["properties"]["role"].get("enum")

    def test_who_may_start_whom_stands_in_the_tools_that_each_is_offered(self):
        self.run_to_end([
            say("ROOT", turn=0, calls=[call("spawn_agent", task="TASK0", role="executor")]), say("ROOT", "end", turn=1),
            say("TASK0", turn=0, calls=[call("spawn_agent", task="TASK1", role="reviewer")]),
            say("TASK0", "built", turn=1), say("TASK1", "fine")])
        root, executor, reviewer = self.proxy.bodies[:3]
        self.assertEqual(self.role_enum(root), ROLES)
        self.assertEqual(self.role_enum(executor), ["reviewer"])
        self.assertLessEqual({"spawn_agent", "fan_out", "delegate_task"}, tools_of(root).keys())
        self.assertFalse({"fan_out", "delegate_task", "spawn"} & tools_of(executor).keys())
        self.assertFalse([name for name in tools_of(reviewer) if name.startswith(("spawn", "agent_", "fan_", "delegate"))])
        self.assertEqual(self.contract(1)["permissions"]["spawn_roles"], ["reviewer"])

    def test_a_tester_writes_to_test_directories_only(self):
        self.run_to_end([
            say("ROOT", turn=0, calls=[call("spawn_agent", task="TASK0", role="tester")]), say("ROOT", "end", turn=1),
            say("TASK0", turn=0, calls=[call("write", path="src/a.c", content="x"),
                                        call("write", path="tests/../src/b.c", content="x"),
                                        call("write", path="bin/test", content="x"),
                                        call("write", path="tests/a_test.c", content="x"),
                                        call("write", path="src/foo/__tests__/b.c", content="x")]),
            say("TASK0", "written", turn=1)], {"src/main.c": "", "tests/old.c": "", "bin/test": "#!/bin/sh\n"})
        tree = self.space.tree()
        self.assertEqual(set(tree), {"src/main.c", "tests/old.c", "bin/test", "tests/a_test.c", "src/foo/__tests__/b.c"})
        self.assertEqual(tree["bin/test"], "#!/bin/sh\n")
        self.assertEqual(self.contract(1)["permissions"]["write_paths"], ["**/test", "**/tests", "**/spec", "**/__tests__"])

    def test_what_a_tester_runs_writes_to_test_directories_only(self):
        command = "for f in tests/a src/foo/tests/b src/c bin/test; do echo x >$f; done; true"
        self.run_to_end([
            say("ROOT", turn=0, calls=[call("spawn_agent", task="TASK0", role="tester")]), say("ROOT", "end", turn=1),
            say("TASK0", turn=0, calls=[call("shell", command=command)]),
            say("TASK0", "ran", turn=1)],
            {"tests/old": "", "src/foo/tests/old": "", "bin/test": "#!/bin/sh\n"}, mode="dangerous")
        self.assertEqual(self.space.tree(), {"tests/old": "", "tests/a": "x\n", "src/foo/tests/old": "",
                                             "src/foo/tests/b": "x\n", "bin/test": "#!/bin/sh\n"})

    def test_a_tester_cannot_go_through_a_link(self):
        self.place([
            say("ROOT", turn=0, calls=[call("spawn_agent", task="TASK0", role="tester")]), say("ROOT", "end", turn=1),
            say("TASK0", turn=0, calls=[call("write", path="tests/main.c", content="x")]),
            say("TASK0", "written", turn=1)], {"src/main.c": ""}, None)
        (self.space.files / "tests").symlink_to("src")
        self.finish(self.start("auto"))
        self.assertEqual((self.space.files / "src/main.c").read_text(), "")

    def test_a_reader_is_offered_nothing_that_writes(self):
        for role in ("researcher", "planner", "reviewer"):
            self.run_to_end([
                say("ROOT", turn=0, calls=[call("spawn_agent", task="TASK0", role=role)]), say("ROOT", "end", turn=1),
                say("TASK0", turn=0, calls=[call("write", path="a", content="x")]), say("TASK0", "no", turn=1)])
            self.assertFalse({"write", "edit", "multi_edit", "delete"} & tools_of(self.proxy.bodies[1]).keys())
            self.assertEqual(self.space.tree(), {})
            self.assertEqual(len(of_type(self.events, "permission.denied")), 1)

    def test_two_children_that_changed_one_file_are_reported(self):
        self.run_to_end([
            say("ROOT", turn=0, calls=[call("delegate_task", plan="p", subtasks=[{"task": "TASK0"}, {"task": "TASK1"}])]),
            say("ROOT", "end", turn=1),
            *[say(f"TASK{i}", turn=0, calls=[call("write", path="a.txt", content=str(i))]) for i in (0, 1)],
            *[say(f"TASK{i}", "written", turn=1) for i in (0, 1)]])
        first, second = re.split("## Subtask 2", self.answers()[0])
        self.assertNotIn("Notice", first)
        self.assertIn("Notice: a.txt was also modified by sub-agent agent-1 (", second)


if __name__ == "__main__":
    unittest.main()
