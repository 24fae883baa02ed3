"""A root hands work to children and goes on with what they found: what is logged, what each side sees, and what happens
when the model fails or a tool is not permitted."""
import http.server
import json
import os
import socket
import subprocess
import threading
import unittest
import urllib.request
from pathlib import Path

from harness import ModelServer, Workspace, json_lines

SECTIONS = ["parent", "step", "permissions", "execution", "outputs"]
LIFE = ["created", "started", "attempt", "waiting_for_merge", "completed", "closed"]
RESULT_FIELDS = {"task_id", "status", "success", "response", "summary", "details", "tool_calls", "tokens", "cost_usd",
                 "context_size", "files_read", "files_modified", "duration_ms", "error", "model_requested",
                 "model_effective", "clamps"}


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def root(turn, **reply):
    return rule(reply, first_user="ROOT", turn=turn)


def child(turn, **reply):
    return rule(reply, first_user="CHILD", turn=turn)


def life(events, agent_id):
    """The lifecycle of one child, without the events' common prefix."""
    prefix = "agent.subagent_"
    return [event["type"].removeprefix(prefix) for event in events
            if event["agent_id"] == agent_id and event["type"].startswith(prefix)]


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def most_at_once(events):
    """The largest number of children between their start and the end of their work; one that waits to be merged holds no slot."""
    running = most = 0
    for event in events:
        running += event["type"] == "agent.subagent_started"
        running -= event["type"] in ("agent.subagent_waiting_for_merge", "agent.subagent_failed")
        most = max(most, running)
    return most


class Run:
    """A finished `cadre run --json` and what it left behind."""

    def __init__(self, server, space, task="ROOT", flags=("--mode", "auto")):
        self.done = space.run(["run", *server.flags(), "--json", *flags, task])
        self.lines = json_lines(self.done.stdout)
        self.id = self.lines[0]["run_id"]
        self.result = self.lines[-1]
        self.events = space.events(self.id)
        self.children = space.children(self.id)


class OneChild(unittest.TestCase):
    """One run, looked at from many sides: the root spawns a child, the child reads, the root writes."""

    @classmethod
    def setUpClass(cls):
        cls.space = Workspace({"notes.txt": "first line\nsecond line\n"})
        cls.addClassCleanup(cls.space.close)
        with ModelServer(script(
                root(0, text="I ask somebody.", calls=[call("spawn_agent", task="CHILD counts the lines of notes.txt")]),
                child(0, calls=[call("read", path="notes.txt")]),
                child(1, text="notes.txt has 2 lines"),
                root(1, calls=[call("write", path="answer.txt", content="2 lines\n")]),
                root(2, text="The answer is in answer.txt"))) as server:
            cls.run_ = Run(server, cls.space)
            cls.requests = server.requests()

    def payload(self, kind):
        return of_type(self.run_.events, kind)[0]["payload"]

    def test_the_run_completes_with_the_roots_last_text(self):
        self.assertEqual(self.run_.done.returncode, 0, self.run_.done.stderr)
        self.assertEqual(self.run_.result["response"], "The answer is in answer.txt")

    def test_the_root_gets_the_childs_text_with_its_calls_and_seconds(self):
        answers = [event["payload"]["text"] for event in of_type(self.run_.events, "tool.finished")
                   if event["agent_id"] == self.run_.id]
        self.assertRegex(answers[0], r"\Anotes\.txt has 2 lines\n\n\(ended after 1 tool calls, \d+\.\ds\)\Z")

    def test_the_root_writes_what_it_learned(self):
        self.assertEqual((self.space.files / "answer.txt").read_text(), "2 lines\n")

    def test_the_childs_life_is_logged_in_order_and_once(self):
        self.assertEqual(life(self.run_.events, self.run_.children[0]["id"]), LIFE)

    def test_the_sub_agents_row_is_closed_and_names_its_parent(self):
        (row,) = self.run_.children
        self.assertEqual((row["status"], row["run_id"], row["parent_id"]), ("closed", self.run_.id, self.run_.id))
        self.assertIsNone(row["error"])
        self.assertLessEqual(row["started_at"], row["finished_at"])

    def test_context_json_is_a_contract_with_all_five_sections(self):
        contract = json.loads(self.run_.children[0]["context_json"])
        for section in SECTIONS:
            self.assertIsInstance(contract[section], dict, section)
        self.assertEqual(contract["parent"]["run_id"], self.run_.id)
        self.assertEqual(contract["parent"]["task_prompt"], "ROOT")
        self.assertEqual(contract["step"]["title"], "CHILD counts the lines of notes.txt")
        self.assertEqual(contract["permissions"]["mode"], "auto")
        self.assertEqual(contract["execution"]["budget"]["tool_calls"], 15)
        self.assertEqual(contract["outputs"]["gate"], "parent")

    def test_the_contract_of_the_row_is_the_one_that_was_logged(self):
        self.assertEqual(json.loads(self.run_.children[0]["context_json"]),
                         self.payload("agent.subagent_created")["contract"])

    def test_the_runs_row_tells_the_end(self):
        (row,) = self.space.query("SELECT * FROM runs")
        self.assertEqual((row["id"], row["status"], row["task"]), (self.run_.id, "completed", "ROOT"))
        self.assertEqual(row["workspace_path"], str(self.space.files))
        self.assertEqual(json.loads(row["result_json"])["response"], "The answer is in answer.txt")

    def test_the_sessions_row_is_the_runs_session(self):
        (session,) = self.space.query("SELECT * FROM sessions")
        (row,) = self.space.query("SELECT session_id, user_id, workspace_id FROM runs")
        self.assertEqual(session["id"], row["session_id"])
        self.assertEqual((session["user_id"], session["workspace_id"]), (row["user_id"], row["workspace_id"]))

    def test_every_event_of_the_childs_life_names_task_agent_and_step(self):
        (row,) = self.run_.children
        lives = [event for event in self.run_.events if event["type"].startswith("agent.subagent_")]
        self.assertEqual(len({event["payload"]["task_id"] for event in lives}), 1)
        for event in lives:
            self.assertEqual(event["payload"]["sub_agent_id"], row["id"], event["type"])
            self.assertEqual(event["payload"]["step_idx"], row["step_idx"], event["type"])

    def test_each_event_of_the_childs_life_carries_its_own_fields(self):
        self.assertEqual(self.payload("agent.subagent_created")["name"], self.run_.children[0]["name"])
        self.assertEqual(self.payload("agent.subagent_created")["objective"], "CHILD counts the lines of notes.txt")
        started = self.payload("agent.subagent_started")
        self.assertEqual(started["strategy"], "copy")  # it can write, and there is no git
        self.assertTrue(Path(started["worktree_path"]).is_relative_to(self.space.store.parent), started)
        self.assertEqual(started["branch"], f"cadre/{self.run_.id}/{started['sub_agent_id']}")
        self.assertRegex(started["base_ref"], "^[0-9a-f]{40}$")
        self.assertEqual(self.payload("agent.subagent_attempt")["attempt"], 0)
        self.assertEqual(self.payload("agent.subagent_closed")["final_status"], "completed")
        self.assertTrue(self.payload("agent.subagent_closed")["close_reason"])

    def test_model_events_tell_who_was_asked_and_what_it_used(self):
        asked, replied = self.payload("model.requested"), self.payload("model.replied")
        self.assertEqual((asked["model"], asked["provider"], asked["origin"]), ("scripted", "flags", "loop"))
        self.assertEqual(replied["model_effective"], "scripted")
        self.assertEqual(replied["finish"], "tool_calls")
        self.assertTrue(replied["response_id"])
        for field in ["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "first_token_ms"]:
            self.assertIsInstance(replied[field], int, field)

    def test_json_output_starts_with_the_run_id_and_ends_with_the_result_object(self):
        self.assertEqual(self.run_.lines[0]["type"], "run")
        self.assertEqual(self.run_.result["type"], "result")
        self.assertLessEqual(RESULT_FIELDS, self.run_.result.keys())
        self.assertEqual((self.run_.result["status"], self.run_.result["success"]), ("completed", True))
        self.assertEqual(self.run_.result["files_modified"], ["answer.txt"])
        self.assertEqual(self.run_.result["tool_calls"], 2)

    def test_json_output_prints_every_stored_event_once_and_in_order(self):
        printed = [(line["seq"], line["event"], line["agent_id"], line["payload"])
                   for line in self.run_.lines if line["type"] == "event"]
        stored = [(event["seq"], event["type"], event["agent_id"], event["payload"]) for event in self.run_.events]
        self.assertEqual(printed, stored)

    def test_events_have_dense_numbers_from_one(self):
        self.assertEqual([event["seq"] for event in self.run_.events], list(range(1, len(self.run_.events) + 1)))

    def test_every_request_of_the_server_was_logged_before_it_left(self):
        self.assertEqual(len(self.requests), 5)
        self.assertEqual([request["max_tokens"] for request in self.requests],
                         [event["payload"]["output_limit"] for event in of_type(self.run_.events, "model.requested")])


class Several(unittest.TestCase):
    def fan(self, count, flags=()):
        rules = script(root(0, calls=[call("spawn_agent", count, task="CHILD {{index}}")]),
                       child(0, calls=[call("ls", path=".")]),
                       child(1, text="seen", delay_ms=50),
                       root(1, text="all of them answered"))
        with ModelServer(rules) as server, Workspace() as space:
            run = Run(server, space, flags=("--mode", "auto", *flags))
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
            self.assertEqual(len(run.children), count)
            for row in run.children:
                self.assertEqual(life(run.events, row["id"]), LIFE)
            return run, server.stats()

    def test_three_children_of_one_reply_run_side_by_side(self):
        run, _ = self.fan(3)
        self.assertEqual(most_at_once(run.events), 3)

    def test_no_more_than_three_run_at_once_unless_told_otherwise(self):
        run, stats = self.fan(7)
        self.assertEqual(most_at_once(run.events), 3)
        self.assertLessEqual(stats["max_concurrent"], 3)

    def test_max_concurrent_limits_the_children(self):
        run, stats = self.fan(5, ["--max-concurrent", "2"])
        self.assertEqual(most_at_once(run.events), 2)
        self.assertLessEqual(stats["max_concurrent"], 2)

    def test_children_are_numbered_in_the_order_of_their_calls(self):
        run, _ = self.fan(4)
        self.assertEqual([row["step_idx"] for row in run.children], [1, 2, 3, 4])
        self.assertEqual([event["payload"]["objective"] for event in of_type(run.events, "agent.subagent_created")],
                         [f"CHILD {index}" for index in range(4)])

    def test_a_waiting_parent_holds_no_slot(self):
        """With one slot a child can still start a grandchild: whoever waits for children gives its slot back."""
        rules = script(root(0, calls=[call("spawn_agent", task="CHILD")]),
                       child(0, calls=[call("spawn_agent", task="GRANDSON")]),
                       rule({"text": "deep down"}, first_user="GRANDSON"),
                       child(1, text="up again"),
                       root(1, text="there"))
        with ModelServer(rules) as server, Workspace() as space:
            run = Run(server, space, flags=("--max-concurrent", "1"))
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
            self.assertEqual([row["parent_id"] for row in run.children], [run.id, run.children[0]["id"]])
            self.assertEqual([json.loads(row["context_json"])["agent"]["depth"] for row in run.children], [1, 2])


class Recorder:
    """Passes requests on to a model server and keeps the bytes of each."""

    def __init__(self, url):
        recorder = self
        self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                recorder.bodies.append(body)
                request = urllib.request.Request(url.removesuffix("/v1") + self.path, body,
                                                 {"Content-Type": "application/json"})
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                    data, kind = answer.read(), answer.headers["Content-Type"]
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def flags(self):
        return ["--base-url", self.url, "--model", "scripted"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Isolation(unittest.TestCase):
    def test_no_byte_of_the_parents_history_reaches_a_child(self):
        """The canary stands in the root's task, in its text, in a file that it read and in what a first child said."""
        rules = script(root(0, text="I know CANARY.", calls=[call("read", path="secret.txt")]),
                       root(1, calls=[call("spawn_agent", task="CHILD one")]),
                       root(2, calls=[call("spawn_agent", task="CHILD two")]),
                       rule({"text": "CANARY again"}, first_user="CHILD one"),
                       rule({"text": "seen nothing"}, first_user="CHILD two"),
                       root(3, text="end"))
        with ModelServer(rules) as server, Workspace({"secret.txt": "CANARY\n", "AGENTS.md": "CANARY\n"}) as space:
            recorder = Recorder(server.url)
            self.addCleanup(recorder.close)
            run = Run(recorder, space, "ROOT CANARY")
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
        of_children = [body for body in recorder.bodies if b"CHILD" in body and b"ROOT" not in body]
        self.assertEqual(len(of_children), 2)
        for body in of_children:
            self.assertNotIn(b"CANARY", body)
        self.assertIn(b"CANARY", recorder.bodies[0])


class ModelFailures(unittest.TestCase):
    def run_child(self, *replies):
        """A root with one child that gets these replies; returns the run and the root's tool answer."""
        rules = script(root(0, calls=[call("spawn_agent", task="CHILD")]), *replies, root(1, text="I go on"))
        with ModelServer(rules) as server, Workspace() as space:
            run = Run(server, space)
            self.requests = [request for request in server.requests() if request["first_user"].startswith("CHILD\n")]
        (answer,) = [event["payload"] for event in of_type(run.events, "tool.finished") if event["agent_id"] == run.id]
        return run, answer

    def test_a_child_whose_model_keeps_failing_is_an_error_for_the_parent_and_the_run_goes_on(self):
        run, answer = self.run_child(child(0, status=500, error="out of memory", retry_after="0"))
        self.assertEqual(answer["outcome"], "error")
        self.assertRegex(answer["text"], r"\A\[ERROR\] Sub-agent failed: .*out of memory.*\n\n"
                                         r"\(Error after 0 tool calls, \d+\.\ds\)\Z")
        self.assertEqual((run.done.returncode, run.result["response"]), (0, "I go on"))
        (failed,) = run.result["details"]["failed_children"]
        self.assertEqual((failed["id"], failed["status"]), (run.children[0]["id"], "error"))

    def test_a_child_whose_model_gives_the_same_error_three_times_is_closed_once_and_says_why(self):
        run, _ = self.run_child(child(0, status=500, error="out of memory", retry_after="0"))
        self.assertEqual(life(run.events, run.children[0]["id"]),
                         ["created", "started", "attempt", "failed", "closed"])
        self.assertEqual([request["status"] for request in self.requests], [500, 500, 500])
        closed = of_type(run.events, "agent.subagent_closed")[0]["payload"]
        self.assertEqual(closed["final_status"], "failed")
        self.assertIn("out of memory", of_type(run.events, "agent.subagent_failed")[0]["payload"]["error"])
        self.assertIn("out of memory", run.children[0]["error"])

    def test_a_request_that_fails_is_asked_again_within_the_attempt(self):
        run, answer = self.run_child(child(0, status=503, error="busy", retry_after="0", fail_times=2,
                                           then={"text": "at last"}))
        self.assertTrue(answer["text"].startswith("at last\n"))
        self.assertEqual([request["status"] for request in self.requests], [503, 503, 200])
        self.assertEqual(life(run.events, run.children[0]["id"]), LIFE)
        self.assertEqual(len(of_type(run.events, "model.failed")), 2)

    def test_a_second_attempt_starts_with_a_fresh_history(self):
        run, answer = self.run_child(child(0, calls=[call("ls", path=".")]),
                                     child(1, text="", fail_times=3, then={"text": "second time"}))
        self.assertTrue(answer["text"].startswith("second time\n"), answer)
        self.assertEqual(life(run.events, run.children[0]["id"]), LIFE[:3] + LIFE[2:])
        self.assertEqual([request["turn"] for request in self.requests], [0, 1, 1, 1, 0, 1])

    def test_an_answer_that_breaks_off_is_asked_for_again_and_kept_once(self):
        run, answer = self.run_child(child(0, text="a whole sentence", drop="mid-stream", fail_times=1,
                                           then={"text": "a whole sentence"}))
        self.assertEqual(answer["text"].count("a whole sentence"), 1)
        self.assertEqual(life(run.events, run.children[0]["id"]), LIFE)

    def test_a_missing_key_is_explained_and_not_tried_again(self):
        server = ModelServer(script(rule({"text": "never"})), key="the-key")
        self.addCleanup(server.stop)
        with Workspace() as space:
            done = space.run(["run", *server.flags(), "ROOT"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("401", done.stderr)
        self.assertIn("check the API key", done.stderr)
        self.assertNotIn("the-key", done.stdout + done.stderr)
        self.assertEqual(len(server.requests()), 1)

    def test_a_key_comes_from_the_environment_and_is_in_no_log(self):
        with ModelServer(script(rule({"text": "welcome"})), key="the-secret-key") as server, Workspace() as space:
            done = space.run(["run", *server.flags(), "--json", "ROOT"], env={"OPENAI_API_KEY": "the-secret-key"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("the-secret-key", done.stdout + done.stderr)
            for path in space.store.parent.iterdir():
                if path.is_file():
                    self.assertNotIn(b"the-secret-key", path.read_bytes(), path.name)

    def test_nobody_listening_is_explained_with_exit_code_1(self):
        with socket.socket() as unused, Workspace() as space:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
            done = space.run(["run", "--base-url", url, "--model", "any", "ROOT"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"no server answers at {url}", done.stderr)
        self.assertIn("is it running?", done.stderr)


class Permissions(unittest.TestCase):
    WRITES = script(rule({"calls": [call("write", path="out.txt", content="hello\n")]}, turn=0),
                    rule({"text": "I tried"}))

    def write_in(self, flags):
        with ModelServer(self.WRITES) as server, Workspace() as space:
            run = Run(server, space, flags=flags)
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
            return run, space.tree(), of_type(run.events, "tool.finished")[0]["payload"]

    def test_safe_is_the_default_and_denies_a_write_that_nobody_can_be_asked_about(self):
        run, files, answer = self.write_in([])
        self.assertEqual(files, {})
        self.assertEqual(answer["outcome"], "error")
        self.assertIn("nobody can be asked", answer["text"])
        self.assertIn("mode safe", answer["text"])
        (denied,) = of_type(run.events, "permission.denied")
        self.assertEqual((denied["payload"]["tool"], denied["payload"]["depth"]), ("write", 0))

    def test_auto_allows_a_write(self):
        _, files, answer = self.write_in(["--mode", "auto"])
        self.assertEqual(files, {"out.txt": "hello\n"})
        self.assertEqual(answer["outcome"], "ok")

    def test_read_only_modes_deny_a_write_and_say_which_mode(self):
        for mode in ["research", "plan", "review", "ci"]:
            with self.subTest(mode):
                _, files, answer = self.write_in(["--mode", mode])
                self.assertEqual(files, {})
                self.assertIn(f"mode {mode}", answer["text"])

    def test_read_only_modes_hide_spawn_agent(self):
        rules = script(rule({"text": "shown"}, has_tool="spawn_agent"), rule({"text": "hidden"}))
        shown = {}
        with ModelServer(rules) as server, Workspace() as space:
            for mode in ["safe", "auto", "dangerous", "research", "plan", "review", "ci"]:
                shown[mode] = space.run(["run", *server.flags(), "--mode", mode, "--quiet", "task"]).stdout.strip()
        self.assertEqual([mode for mode in shown if shown[mode] == "shown"], ["safe", "auto", "dangerous"])

    def test_a_call_to_a_hidden_spawn_agent_is_denied(self):
        rules = script(root(0, calls=[call("spawn_agent", task="CHILD")]), root(1, text="so be it"))
        with ModelServer(rules) as server, Workspace() as space:
            run = Run(server, space, flags=["--mode", "plan"])
        self.assertEqual((run.done.returncode, run.children), (0, []))
        self.assertIn("mode plan", of_type(run.events, "permission.denied")[0]["payload"]["reason"])

    def test_a_child_never_has_more_than_its_parent(self):
        """A child of a safe root that asks for auto writes nothing either."""
        rules = script(root(0, calls=[call("spawn_agent", task="CHILD", mode="auto", allowed_tools=["read", "write"])]),
                       child(0, calls=[call("write", path="out.txt", content="x")]),
                       child(1, text="denied"),
                       root(1, text="so be it"))
        with ModelServer(rules) as server, Workspace() as space:
            run = Run(server, space, flags=[])
            self.assertEqual(space.tree(), {})
        permissions = json.loads(run.children[0]["context_json"])["permissions"]
        self.assertEqual((permissions["mode"], permissions["tool_modes"]["write"]), ("safe", "ask_mode"))
        self.assertEqual(len(of_type(run.events, "permission.denied")), 1)
        (clamped,) = of_type(run.events, "contract.clamped")
        self.assertIn("permissions.mode", {clamp["field"] for clamp in clamped["payload"]["clamps"]})


class Surroundings(unittest.TestCase):
    """What the process finds around it, or not."""

    def test_closed_standard_descriptors_do_no_harm(self):
        for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed), ModelServer(script(rule({"text": "done"}))) as server, Workspace() as space:
                command = " ".join(["exec", os.environ["CADRE"], "run", "--store", str(space.store), *server.flags(), "ROOT", closed])
                done = subprocess.run(["sh", "-c", command], cwd=space.files, env=space.environment, timeout=60, check=False,
                                      stdin=subprocess.DEVNULL, capture_output=True)
                self.assertIn(done.returncode, (0, 75))
                self.assertEqual(len(space.query("SELECT id FROM runs")), 1)

    def test_a_workspace_whose_path_is_swapped_for_a_link_is_still_the_same_directory(self):
        words = [rule({"calls": [call("write", path=f"f{turn}.txt", content="x")], "delay_ms": 150}, turn=turn) for turn in range(8)]
        with ModelServer(script(*words, rule({"text": "done"}))) as server, Workspace() as space:
            outside = space.root / "outside"
            outside.mkdir()
            process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
            process.wait_for_event("tool.finished")
            space.files.rename(space.root / "moved")
            space.files.symlink_to(outside)
            process.end()
            space.files.unlink()
            (space.root / "moved").rename(space.files)
            self.assertEqual(list(outside.iterdir()), [])
            self.assertEqual(len(space.tree()), 8)


if __name__ == "__main__":
    unittest.main()
