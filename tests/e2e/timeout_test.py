"""A timeout says where its seconds went: real requests, real delays, real tools."""
import re
import unittest

from harness import ModelServer, Workspace, json_lines


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


class Timeout(unittest.TestCase):
    def run_task(self, rules, *flags, config=None):
        self.server = ModelServer(rules)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"}, config)
        self.addCleanup(self.space.close)  # verifies and replays
        done = self.space.run(["run", *self.server.flags(), "--mode", "auto", "--json", *flags, "ROOT"])
        self.done = done
        return json_lines(done.stdout)

    def parts(self, error):
        """Seconds by what they were spent on, and their sum."""
        match = re.fullmatch(r"timed out after (\d+\.\d) s: (.*) \((.*) of (\d+) ms is used up: [^()]+\)", error)
        self.assertIsNotNone(match, error)
        parts = dict(reversed(part.split(" s ")) for part in match[2].split(", "))
        parts = {name: float(seconds) for name, seconds in parts.items()}
        self.assertAlmostEqual(sum(parts.values()), float(match[1]), delta=0.1 * len(parts) + 0.05)
        self.assertGreaterEqual(float(match[1]) + 0.1, int(match[4]) / 1000)
        return parts

    def test_a_root_that_waits_for_the_first_token_says_so(self):
        lines = self.run_task(script(rule({"text": "late", "delay_ms": 50000})), "--timeout", "5s")
        self.assertEqual(self.done.returncode, 4)
        self.assertGreaterEqual(self.parts(lines[-1]["error"])["for the first token"], 4.5)
        self.assertIn("cadre: the run did not complete: timed out after", self.space.run(["resume", "last"]).stderr)
        (failed,) = [line["payload"] for line in lines if line.get("event") == "model.failed"]
        self.assertGreaterEqual(failed["total_ms"], 4500)
        self.assertNotIn("first_token_ms", failed)

    def test_a_root_that_is_being_answered_says_how_long_tokens_took(self):
        lines = self.run_task(script(rule({"text": "slowly " * 30, "delay_ms": 1000, "chunks": 30, "chunk_delay_ms": 1000})),
                              "--timeout", "5s")
        parts = self.parts(lines[-1]["error"])
        self.assertGreaterEqual(parts["for the first token"], 0.9)
        self.assertGreaterEqual(parts["for tokens"], 2.0)
        self.assertIn("slowly", lines[-1]["response"])

    def test_a_child_says_it_to_its_parent_and_the_parent_that_it_waited(self):
        lines = self.run_task(script(rule({"calls": [call("spawn_agent", task="CHILD", budget={"timeout_ms": 5000})]},
                                          first_user="ROOT", turn=0),
                                     rule({"calls": [call("read", path="a.txt")], "delay_ms": 1000},
                                          first_user="CHILD", turn=0),
                                     rule({"text": "late", "delay_ms": 50000}, first_user="CHILD"),
                                     rule({"text": "It took too long."}, first_user="ROOT")))
        self.assertEqual(self.done.returncode, 0)
        (failed,) = [line["payload"] for line in lines if line.get("event") == "agent.subagent_failed"]
        self.assertGreaterEqual(self.parts(failed["error"])["for the first token"], 4.0)
        (told,) = [line["payload"]["text"] for line in lines if line.get("event") == "tool.finished"
                   and line["agent_id"] == lines[0]["run_id"]]
        self.assertIn("[TIMEOUT] Sub-agent failed: timed out after 5.", told)

    def test_waiting_for_the_provider_is_told_apart_and_does_not_count(self):
        rules = script(rule({"status": 429, "retry_after": "6", "error": "slow down", "fail_times": 1,
                             "then": {"text": "late", "delay_ms": 50000}}))
        lines = self.run_task(rules, "--timeout", "5s")
        parts = self.parts(lines[-1]["error"])
        self.assertGreaterEqual(parts.get("waiting for admission", 0) + parts.get("before asking again", 0), 5.5)
        self.assertGreaterEqual(parts["for the first token"], 4.0)


if __name__ == "__main__":
    unittest.main()
