"""What commands reach: nothing, one socket of the operator's, or what the machine does, by the config's word and the contracts'."""
import json
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from harness import ModelServer, Workspace, json_lines

# Says what a server on this port of the loopback answers, or "unreached".
ASK = ("perl -e 'use Socket; socket(S, 2, 1, 0); connect(S, pack_sockaddr_in({port}, INADDR_LOOPBACK)) or "
       "print(\"unreached\\n\"), exit; print <S>'")
RELAY_PORT = 8234


class Greeter:
    """Sends one line to whoever connects."""

    def __init__(self, family, address):
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind(address)
        self.listener.listen(8)
        self.address = self.listener.getsockname()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with connection:
                connection.sendall(b"reached\n")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def rule(who, turn, **reply):
    return {"when": {"first_user": who, "turn": turn}, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


class NetworkTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="cadre-relay-")
        self.addCleanup(place.cleanup)
        self.machine = Greeter(socket.AF_INET, ("127.0.0.1", 0))
        self.addCleanup(self.machine.close)
        self.path = str(Path(place.name) / "socket")
        self.behind = Greeter(socket.AF_UNIX, self.path)
        self.addCleanup(self.behind.close)

    def run_root(self, *rules, config=""):
        models = [{"id": "scripted", "window": 131072, "max_output": 8192}]
        config += f"sandbox: {{relay: {{socket: {self.path}, port: {RELAY_PORT}}}}}\n"
        with ModelServer({"models": models, "rules": list(rules)}) as server, Workspace(config=config) as space:
            self.done = space.run(["run", "--json", "--mode", "dangerous", *server.flags(), "ROOT"])
            self.assertEqual(self.done.returncode, 0, self.done.stderr)
            run_id = json_lines(self.done.stdout)[0]["run_id"]
            self.events = space.events(run_id)
            self.contracts = space.query("select json_extract(context_json, '$.permissions.network') as network from sub_agents"
                                         " where run_id = ? order by rowid", run_id)

    def answers(self):
        """The lines that commands printed, by agent."""
        return [event["payload"]["text"].splitlines()[1] for event in self.events
                if event["type"] == "tool.finished" and event["payload"]["text"].startswith("exit code")]

    def both(self):
        port = self.machine.address[1]
        return f"{{ {ASK.format(port=port)}; {ASK.format(port=RELAY_PORT)}; }} | tr '\\n' ' '"

    def child_reaches(self, config):
        self.run_root(rule("ROOT", 0, calls=[call("spawn_agent", task="CHILD")]), rule("ROOT", 1, text="done"),
                      rule("CHILD", 0, calls=[call("shell", command=self.both())]), rule("CHILD", 1, text="done"),
                      config=config)
        return self.answers()

    def test_without_a_word_a_child_reaches_nothing(self):
        self.assertEqual(self.child_reaches(""), ["unreached unreached "])

    def test_relay_leads_to_one_socket_and_nowhere_else(self):
        self.assertEqual(self.child_reaches("access: {network: relay}\n"), ["unreached reached "])

    def test_full_is_what_the_machine_reaches(self):
        self.assertEqual(self.child_reaches("access: {network: full}\n"), ["reached unreached "])

    def test_tests_and_checks_have_the_same_network(self):
        ask = ASK.format(port=RELAY_PORT)
        config = (f"access: {{network: relay}}\ntools: {{test: {{command: {json.dumps(ask)}}}}}\n"
                  f"sub_agent: {{outputs: {{checks: [{json.dumps(ask + ' | grep -q ^reached')}]}}}}\n")
        self.run_root(rule("ROOT", 0, calls=[call("spawn_agent", task="CHILD")]), rule("ROOT", 1, text="done"),
                      rule("CHILD", 0, calls=[call("test")]), rule("CHILD", 1, text="done"), config=config)
        tested = [event["payload"]["text"] for event in self.events if event["type"] == "tool.finished"]
        self.assertIn("\nreached\n", tested[0])
        self.assertEqual([event["payload"]["outcome"] for event in self.events if event["type"] == "agent.checked"], ["ok"])

    def test_a_grandchild_never_has_more_than_its_parent(self):
        """A role narrows the child; what the child starts has a role that narrows nothing."""
        self.run_root(
            rule("ROOT", 0, calls=[call("spawn_agent", task="CHILD", role="executor")]), rule("ROOT", 1, text="done"),
            rule("CHILD", 0, calls=[call("spawn_agent", task="GRAND", role="reviewer"),
                                    call("shell", command=self.both())]), rule("CHILD", 1, text="done"),
            rule("GRAND", 0, calls=[call("shell", command=self.both())]), rule("GRAND", 1, text="done"),
            config="access: {network: full}\nroles: {executor: {network: relay}, reviewer: {network: full}}\n")
        self.assertEqual(self.answers(), ["unreached reached ", "unreached reached "])
        self.assertEqual([row["network"] for row in self.contracts], ["relay", "relay"])

    def test_a_profile_narrows(self):
        self.run_root(
            rule("ROOT", 0, calls=[call("spawn", task="CHILD", profile="offline")]),
            rule("ROOT", 1, calls=[call("spawn_await", job_ids=["*"])]), rule("ROOT", 2, text="done"),
            rule("CHILD", 0, calls=[call("shell", command=self.both())]), rule("CHILD", 1, text="done"),
            config="access: {network: full}\ntools: {spawn: {enabled: true, profiles: {offline: {network: none}}}}\n")
        self.assertEqual(self.answers(), ["unreached unreached "])

    def test_explain_says_what_a_role_has_and_where_it_comes_from(self):
        config = "access: {network: full}\nroles: {tester: {network: none}}\n"
        with Workspace(config=config) as space, Workspace() as plain:
            def explain(where, role):
                done = where.run(["agents", "explain", role, "--json", "--base-url", "http://127.0.0.1:9/v1",
                                  "--model", "any"])
                self.assertEqual(done.returncode, 0, done.stderr)
                line = {line["field"]: line for line in json_lines(done.stdout)}["permissions.network"]
                return line["value"], line["from"]
            self.assertEqual(explain(space, "executor"), ("full", "config"))
            self.assertEqual(explain(space, "tester"), ("none", "role"))
            self.assertEqual(explain(plain, "tester"), ("none", "built-in"))

    def test_a_project_cannot_open_the_network(self):
        with Workspace({"cadre.yaml": "access: {network: full}\n"}) as space:
            done = space.run(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", "go"])
            self.assertEqual(done.returncode, 2)
            self.assertIn("may not set access.network wider than none (built-in)", done.stderr)


if __name__ == "__main__":
    unittest.main()
