"""Money as people read it: which model and cap are in force, what was billed and what at most, and what is missing. The server's
own count is the judge."""
import json
import re
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines

CONFIG = """llm:
  providers:
    local: {{base_url: "{url}"}}
  models:
    free: {{provider: local, model: free, max_context_tokens: {window}}}
    dear: {{provider: local, model: dear, price_in: 50, price_out: 1000}}
  pools:
    default: [{{model: {default}}}]
{more}
"""
DEAR = {"id": "profile:dear:v1", "provider": "local", "model": "dear"}
LOOK = {"name": "grep", "arguments": {"pattern": "words|turn {{turn}}", "path": "a.txt"}}
ENDLESS = {"text": "turn {{turn}} brings many more words ", "repeat": 80, "calls": [LOOK]}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def script(*rules):
    return {"models": [{"id": name, "window": 65536, "max_output": 8192} for name in ("free", "dear")], "bytes_per_token": 6,
            "rules": list(rules)}


class Money(unittest.TestCase):
    def start(self, *rules, default="free", agents=(), flags=(), more="", output="--json", files=None, window=65536):
        with ModelServer(script(*rules)) as server, Workspace(
                files or {"a.txt": "some words\n" * 20}, CONFIG.format(url=server.url, default=default, more=more, window=window)) as space:
            (space.files / "dear.json").write_text(json.dumps(DEAR))
            for words in [["profile", "put", "dear.json"], *agents] if agents else ():
                done = space.run(["agents", *words])
                self.assertEqual(done.returncode, 0, done.stderr)
            done = space.run(["run", "--mode", "auto", *([output] if output else []), *flags, "ROOT"])
            self.stats, self.requests = server.idle(), server.requests()
            if output == "--json":
                self.lines = json_lines(done.stdout)
                self.result = self.lines[-1]
                self.events = space.events(self.result["run_id"])
                self.shown = space.run(["show", self.result["run_id"]]).stdout
                self.listed = space.run(["runs"]).stdout
                (self.row,) = json_lines(space.run(["runs", "--json"]).stdout)
                (self.report,) = json_lines(space.run(["show", self.result["run_id"], "--report", "--json"]).stdout) or [None]
            return done

    def of_type(self, kind):
        return [event["payload"] for event in self.events if event["type"] == kind]

    def billed(self):
        """Dollars for what the dear model did, by the server's own count."""
        dear = [one for one in self.requests if one.get("model") == "dear"]
        return sum(one["prompt_tokens"] * 50 + one["completion_tokens"] * 1000 for one in dear) / 1e6


class Cap(Money):
    def test_the_default_cap_holds_for_a_pinned_model_where_the_configured_one_has_no_price(self):
        done = self.start(rule(ENDLESS, last_lacks=NO_CALLS), rule({"text": "last words"}), agents=[["pin", DEAR["id"], "--global"]])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual((self.lines[0]["model"], self.lines[0]["cap_usd"]), ("dear", 1))
        self.assertEqual(self.lines[0]["source"], "the pinned profile:dear:v1")
        self.assertLessEqual(self.result["cost_usd"], 1)
        self.assertGreater(self.result["cost_usd"], 0.3)

    def test_the_default_cap_holds_for_a_child_whose_root_has_no_price(self):
        self.start(rule({"calls": [{"name": "delegate", "arguments": {"task": "CHILD", "agent_id": "@dear"}}]}, first_user="ROOT", turn=0),
                   rule({"text": "done"}, first_user="ROOT"), rule(ENDLESS, first_user="CHILD", last_lacks=NO_CALLS),
                   rule({"text": "last words"}, first_user="CHILD"),
                   agents=[["register", "@dear", DEAR["id"], "Costs much"]],
                   more="sub_agent: {default_budget: {max_tool_calls: 100}}")
        self.assertEqual((self.lines[0]["model"], self.lines[0]["cap_usd"], self.lines[0]["unpriced"]), ("free", 1, ["free"]))
        (child,) = [payload["result"] for payload in self.of_type("agent.subagent_closed")]
        self.assertEqual((child["status"], child["model_requested"]), ("budget_exceeded", "dear"))
        self.assertLessEqual(child["cost_usd"], 1)
        self.assertGreater(child["cost_usd"], 0.3)

    def test_the_first_line_names_the_pinned_model_and_its_cap(self):
        done = self.start(rule({"text": "done"}), agents=[["pin", DEAR["id"], "--global"]], output=None)
        self.assertRegex(done.stdout, r"\Amodel dear from the pinned profile:dear:v1, at most \$1\.00\d* and 15m\d*s?; no price is known "
                                      r"for free, so no cost limit can hold for its answers; window")

    def test_where_no_model_has_a_price_the_first_line_says_that_no_limit_can_hold(self):
        done = self.start(rule({"text": "done"}), output=None, more="  allowed_models: [free]")
        self.assertRegex(done.stdout, r"\Amodel free from [^,]*, at most 15m\d*s?; no price is known for free, so no cost limit can hold; ")


class Spent(Money):
    DELEGATES = {"calls": [{"name": "delegate", "arguments": {"task": "CHILD", "agent_id": "@dear"}}]}
    BROKEN = rule({"text": "half of it ", "repeat": 10, "chunks": 4, "drop": "mid-stream", "fail_times": 1, "then": {"text": "done"}})

    def test_what_is_shown_as_spent_is_what_was_billed_and_the_rest_stands_apart(self):
        """The first request breaks off without a bill, the second is answered."""
        self.start(self.BROKEN, default="dear")
        failed, answered = self.of_type("budget.settled")
        billed = round(answered["used_cost_nano"] / 1e9, 9)
        most = round(billed + failed["used_cost_nano"] / 1e9, 9)
        self.assertGreater(most, billed)
        self.assertEqual(self.result["cost_usd"], billed)
        self.assertEqual(self.result["tokens"], answered["used_tokens"])
        self.assertEqual(self.result["at_most"], {"tokens": answered["used_tokens"] + failed["used_tokens"], "cost_usd": most})
        self.assertEqual(self.row["cost_usd"], billed)
        self.assertEqual((self.report["evidence"]["cost_usd"], self.report["evidence"]["at_most"]["cost_usd"]), (billed, most))
        self.assertRegex(self.shown, rf"(?m)^spent +\${billed:.4f}, at most \${most:.4f}, ")

    def test_the_last_line_tells_both(self):
        done = self.start(self.BROKEN, default="dear", output=None)
        self.assertRegex(done.stdout, r"(?m)^\S.*  \$0\.\d{4}, at most \$0\.\d{4}  ")

    def test_a_run_without_broken_requests_has_one_number(self):
        self.start(rule({"text": "done"}), default="dear")
        self.assertGreater(self.result["cost_usd"], 0)
        self.assertNotIn("at_most", self.result)
        self.assertNotIn("at most", self.shown)

    def test_a_cost_that_nobody_knows_is_null_everywhere(self):
        self.start(rule({"text": "done"}))
        self.assertGreater(self.result["tokens"], 0)
        self.assertIsNone(self.result["cost_usd"])
        self.assertIsNone(self.row["cost_usd"])
        self.assertIsNone(self.report["evidence"]["cost_usd"])
        self.assertNotIn("$", self.shown + self.listed)

    def test_a_cost_of_which_a_part_is_not_known_is_null_with_what_it_is_at_least(self):
        self.start(rule(self.DELEGATES, first_user="ROOT", turn=0), rule({"text": "done"}),
                   agents=[["register", "@dear", DEAR["id"], "Costs much"]])
        (child,) = [payload["result"] for payload in self.of_type("agent.subagent_closed")]
        self.assertGreater(child["cost_usd"], 0)
        self.assertIsNone(self.result["cost_usd"])
        self.assertEqual(self.result["at_least"], {"cost_usd": child["cost_usd"]})
        self.assertRegex(self.shown, r"(?m)^spent +at least \$0\.\d{4}, ")


class Passed(Money):
    """context_files: 64 KB are documented."""
    FILES = {"a.txt": "words\n", **{f"long{i}.txt": ("0123456789 abcde\n" * 4096)[:16000] for i in range(4)}}

    def delegate(self, window):
        self.start(rule({"calls": [{"name": "spawn_agent", "arguments": {
                       "task": "CHILD", "context_files": [f"long{i}.txt" for i in range(4)]}}]}, first_user="ROOT", turn=0),
                   rule({"calls": [LOOK]}, first_user="CHILD", turn=0), rule({"text": "found it"}, first_user="CHILD"),
                   rule({"text": "done"}), files=self.FILES, window=window)
        return [event["payload"] for event in self.events
                if event["type"] == "tool.finished" and event["agent_id"] == self.result["run_id"]][-1]

    def test_64_kb_fit_a_default_child(self):
        answer = self.delegate(65536)
        self.assertEqual(answer["outcome"], "ok", answer)
        self.assertTrue(answer["text"].startswith("found it"), answer["text"])

    def test_what_does_not_fit_the_window_is_refused_at_the_call_with_both_sizes(self):
        answer = self.delegate(20000)
        self.assertEqual(answer["outcome"], "error")
        self.assertRegex(answer["text"], r"\AError: context and context_files take about [23]\d{4} tokens, .* may have 20000: ")
        self.assertEqual(self.of_type("agent.subagent_created"), [])


if __name__ == "__main__":
    unittest.main()
