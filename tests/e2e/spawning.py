"""What the tests of `spawn` share: a config that turns it on, scripts, a recorder that sees every byte of a request, a run's log."""
import http.client
import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request

from harness import WAIT_SECONDS, ModelServer, Workspace, json_lines

CONFIG = """llm:
  providers:
    local: {{base_url: "{url}", api: {api}, api_key_env: SPAWN_KEY}}
  models:
    scripted: {{provider: local, model: scripted, max_context_tokens: 32768}}
    other: {{provider: local, model: other, max_context_tokens: 32768}}
  pools:
    default: [{{model: scripted}}]
    side: [{{model: other}}]
{more}
"""
SPAWN = "tools: {spawn: {enabled: true}}"
DELEGATION = {"spawn", "spawn_await", "spawn_agent", "delegate_task", "fan_out", "delegate", "agent_status", "agent_send",
              "agent_cancel", "agent_result", "agent_merge"}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def root(turn, **reply):
    return rule({"chunks": 1, **reply}, first_user="ROOT", turn=turn)


def child(name, **reply):
    return rule(reply, first_user=name)


def script(*rules):
    return {"models": [{"id": name, "window": 32768, "max_output": 8192} for name in ("scripted", "other")],
            "rules": list(rules)}


class Recorder:
    """Passes requests on to a model server and keeps each; can hold one back until something has happened, so that no order of
    events hangs on how long anything takes. JOB_0, JOB_1 … in an answer become the ids of jobs that the conversation has seen as
    tool results, in that order: a script cannot know them."""

    def __init__(self, url):
        recorder = self
        self.bodies = []
        self._held = []  # (first user message begins so, turn or None, opened when it may go on)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                recorder.bodies.append(body)
                recorder.wait_at_gates(json.loads(body))
                names = ("Content-Type", "Authorization", "x-api-key", "anthropic-version")
                headers = {name: self.headers[name] for name in names if self.headers[name]}
                try:
                    self.pass_on(urllib.request.Request(url.removesuffix("/v1") + self.path, body, headers), body)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True  # whoever asked was killed, or the server has ended

            def pass_on(self, request, body):
                try:
                    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)
                except urllib.error.HTTPError as problem:
                    answer = problem
                with answer:
                    data = recorder.name_jobs(answer.read(), body)
                self.send_response(answer.status)
                for name in ("Content-Type", "Retry-After"):
                    if answer.headers[name]:
                        self.send_header(name, answer.headers[name])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hold(self, name, turn=None):
        """Holds this agent's requests (of this turn) back until the event that is returned is set."""
        gate = threading.Event()
        self._held.append((name, turn, gate))
        return gate

    def wait_at_gates(self, request):
        for name, turn, gate in list(self._held):
            turns = sum(message["role"] == "assistant" for message in request["messages"])
            if first_user(request).startswith(name) and turn in (None, turns):
                gate.wait(WAIT_SECONDS)

    @staticmethod
    def name_jobs(data, body):
        ids = [text.encode() for text in tool_results(json.loads(body)) if re.fullmatch("[0-9a-f]{6,}", text)]
        return re.sub(rb"JOB_(\d)", lambda match: ids[int(match[1])], data)

    @property
    def requests(self):
        return [json.loads(body) for body in self.bodies]

    def of(self, name):
        """Requests of the agent whose first user message begins so."""
        return [request for request in self.requests if first_user(request).startswith(name)]

    def close(self):
        for _, _, gate in self._held:
            gate.set()
        self.server.shutdown()
        self.server.server_close()


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def first_user(request):
    return next(text_of(message) for message in request["messages"] if message["role"] == "user")


def system(request):
    return text_of(next(message for message in request["messages"] if message["role"] in ("system", "developer")))


def tool_results(request):
    return [text_of(message) for message in request["messages"] if message["role"] == "tool"]


def offered(request):
    """The tools that a request offers, by name: their parameters."""
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in request.get("tools", [])}


class Spawning:
    """A server with these rules, a workspace with these files and config, one run of "ROOT" to its end."""

    def __init__(self, test, *rules, files=None, config=SPAWN, api="openai", project=None):
        self.server = ModelServer(script(*rules), key="key-spawn")
        test.addCleanup(self.server.stop)
        self.recorder = Recorder(self.server.url)
        test.addCleanup(self.recorder.close)
        self.space = Workspace(files, CONFIG.format(url=self.recorder.url, api=api, more=config))
        test.addCleanup(self.space.close)  # verifies and replays every run
        self.space.environment["SPAWN_KEY"] = "key-spawn"
        if project is not None:
            (self.space.files / "cadre.yaml").write_text(project)

    def run(self, *flags, mode="auto", task="ROOT"):
        self.done = self.space.run(["run", "--mode", mode, "--json", *flags, task])
        return self

    def start(self, *flags):
        return self.space.start(["run", "--mode", "auto", "--json", *flags, "ROOT"])

    def run_holding(self, name, condition, turn=None):
        """Runs to the end; this agent's requests are held back until condition(process) returns."""
        gate = self.recorder.hold(name, turn)
        process = self.start()
        condition(process)
        gate.set()
        code = process.end()
        self.done = subprocess.CompletedProcess(process.popen.args, code, process.text, process.errors)
        return self

    @property
    def result(self):
        return json_lines(self.done.stdout)[-1]

    @property
    def id(self):
        return self.space.query("SELECT id FROM runs")[0]["id"]

    @property
    def events(self):
        """The run's events, each with its call."""
        rows = self.space.query("SELECT e.seq, e.call_id FROM events e JOIN runs r ON r.run_no = e.run_no WHERE r.id = ?", self.id)
        calls = {row["seq"]: row["call_id"] for row in rows}
        return [{**event, "call_id": calls[event["seq"]]} for event in self.space.events(self.id)]

    def of_type(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def jobs(self):
        """Ids of the children, in spawn order, as the parent knows them."""
        return [event["payload"]["task_id"] for event in self.of_type("agent.subagent_created")]

    def answers(self, tool):
        """The events that finished the root's calls of this tool, in order."""
        requested = [event["call_id"] for event in self.of_type("tool.requested")
                     if event["payload"]["tool"] == tool and event["agent_id"] == self.id]
        finished = {event["call_id"]: event for event in self.of_type("tool.finished")}
        return [finished[call_id] for call_id in requested]

    def texts(self, tool):
        return [event["payload"]["text"] for event in self.answers(tool)]
