"""Limits of time that nobody set measure silence. One run in real time: its children work side by side for longer than the built-in
60 seconds, and only the one whose model stops half way is ended."""
import unittest

from harness import ModelServer, Workspace, json_lines

SECONDS = 65
PERMISSIONS = "permissions: {shell: allow}\nsub_agent: {max_concurrent: 4, max_retries: 0}\n"


def rule(reply, **when):
    return {"when": when, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


class Silence(unittest.TestCase):
    def test_only_an_answer_that_stops_half_way_is_ended(self):
        rules = [rule({"calls": [call("spawn_agent", task=name) for name in ("STREAMS", "THINKS", "RUNS", "STOPS")]},
                      first_user="ROOT", turn=0),
                 rule({"text": "done"}, first_user="ROOT"),
                 # An answer that comes a piece every second, for longer than the limit.
                 rule({"text": "word " * 80, "chunks": SECONDS, "chunk_delay_ms": 1000}, first_user="STREAMS"),
                 # A first byte that comes later than the limit.
                 rule({"text": "thought for long", "delay_ms": SECONDS * 1000}, first_user="THINKS"),
                 # A command that runs for longer than the limit and prints nothing.
                 rule({"calls": [call("shell", command=f"sleep {SECONDS}", timeout_ms=120000)]}, first_user="RUNS", turn=0),
                 rule({"text": "ran for long"}, first_user="RUNS"),
                 rule({"text": "half of an answer", "chunks": 2, "chunk_delay_ms": 110000}, first_user="STOPS")]
        with ModelServer({"models": [{"id": "scripted", "window": 32768}], "rules": rules}) as server, \
                Workspace({"a.txt": "a\n"}, PERMISSIONS) as space:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"], seconds=180)
            lines = json_lines(done.stdout)
        names = {line["agent_id"]: line["payload"]["objective"] for line in lines if line.get("event") == "agent.subagent_created"}
        results = {names[line["agent_id"]]: line["payload"]["result"] for line in lines
                   if line.get("event") == "agent.subagent_closed"}
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("STREAMS", "THINKS", "RUNS"):
            with self.subTest(name):
                self.assertEqual(results[name]["status"], "completed", results[name]["error"])
                self.assertGreaterEqual(results[name]["duration_ms"], 60000)
        self.assertEqual(results["STOPS"]["status"], "timeout")
        self.assertRegex(results["STOPS"]["error"],
                         r"no sign of life for \d+\.\d s from its model: sub_agent\.default_budget\.timeout_ms")
        self.assertLess(results["STOPS"]["duration_ms"], 100000)


if __name__ == "__main__":
    unittest.main()
