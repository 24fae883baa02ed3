"""Limits that hold: tokens, dollars, calls and time of a root and of its children. The server's own count is the judge."""
import json
import os
import re
import time
import unittest
from pathlib import Path

from harness import NO_CALLS, ModelServer, Workspace, json_lines, wait_until

KEYS = (Path(__file__).resolve().parents[2] / "docs/config.md").read_text()
PRICE_IN, PRICE_OUT = 1, 2  # dollars for a million tokens

CONFIG = """llm:
  providers:
    local: {{base_url: {url}}}
  models:
    priced: {{provider: local, model: scripted, max_context_tokens: 32768, price_in: {price_in}, price_out: {price_out}}}
{limits}
"""


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


# Another call at each turn: identical turns would be stopped.
LOOK = call("grep", pattern="words|turn {{turn}}", path="a.txt")


def script(*rules):
    """Usage is reported a little below what cadre estimates from bytes, so that estimates never fall short."""
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "bytes_per_token": 6,
            "rules": list(rules)}


def endless(children):
    """A root that starts children and then goes on for ever, as the children do up to eight calls, which is before anything
    is masked. Without tools each says its last words."""
    words = {"text": "turn {{turn}} brings many more words ", "repeat": 80, "calls": [LOOK]}
    return script(
        rule({"calls": [call("spawn_agent", children, task="CHILD {{index}}", max_tool_calls=8)]}, first_user="ROOT", turn=0,
             last_lacks=NO_CALLS),
        rule(words, first_user="ROOT", last_lacks=NO_CALLS),
        rule({"text": "last words of the root"}, first_user="ROOT"),
        rule(words, first_user="CHILD", last_lacks=NO_CALLS),
        rule({"text": "last words of a child"}, first_user="CHILD"))


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


class Limited(unittest.TestCase):
    server_is_slow = False  # answers may still be on their way when the run has ended

    def start(self, rules, limits="", flags=(), mode="auto"):
        """A run of a priced model under these limits; keeps what the server counted."""
        with ModelServer(rules) as server, Workspace({"a.txt": "some words\n" * 20}) as space:
            config = space.root / "limits.yaml"
            config.write_text(CONFIG.format(url=server.url, price_in=PRICE_IN, price_out=PRICE_OUT, limits=limits))
            done = space.run(["run", "--config", str(config), "--mode", mode, "--json", *flags, "ROOT"])
            self.stats = server.stats() if self.server_is_slow else server.idle()
            self.requests = server.requests()
            self.result = json_lines(done.stdout)[-1]
            self.events = space.events(self.result["run_id"])
            self.children = space.children(self.result["run_id"])
            return done

    def billed(self):
        """Nano-dollars by the server's own count."""
        return 1000 * (self.stats["prompt_tokens"] * PRICE_IN + self.stats["completion_tokens"] * PRICE_OUT)

    def most_committed(self):
        """(tokens, nano-dollars): the most that was spent and promised together at any moment."""
        self.assertTrue(of_type(self.events, "budget.reserved"))
        spent, promised, most = [0, 0], [0, 0], [0, 0]
        for event in self.events:
            payload = event["payload"]
            if event["type"] == "budget.reserved":
                promised = [promised[0] + payload["tokens"], promised[1] + payload["cost_nano"]]
            elif event["type"] == "budget.settled":
                promised = [promised[0] - payload["tokens"], promised[1] - payload["cost_nano"]]
                spent = [spent[0] + payload["used_tokens"], spent[1] + payload["used_cost_nano"]]
            most = [max(most[i], spent[i] + promised[i]) for i in (0, 1)]
        return most


    def names(self, error, limit):
        """The error names the limit; where it is one of tokens or dollars, also what is needed and what is left."""
        amount = r"(\d+ tokens?|\$\d+(\.\d+)?)"
        missing = rf"; another request and a last answer need {amount}, {amount} (is|are) left(: {amount} would pay for them)?"
        self.assertRegex(error, r"\Athe budget is used up: " + re.escape(limit) +
                         (missing if "tokens" in limit or "$" in limit else "") + r"\Z")

    def keys_exist(self, error):
        """What an error names must be a key that docs/config.md has."""
        keys = re.findall(r"[a-z_]+(?:\.[a-z_]+)+", error)
        for key in keys:
            self.assertIn(f"| `{key}` |", KEYS)
        return keys


class RootLimits(Limited):
    def test_tokens_are_never_promised_or_spent_beyond_the_limit(self):
        for children in (1, 3, 6):
            for limit in (5000, 9000, 20000):
                with self.subTest(children=children, tokens=limit):
                    done = self.start(endless(children), f"budget: {{tokens: {limit}}}")
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertLessEqual(self.most_committed()[0], limit)
                    self.assertLessEqual(self.result["tokens"], limit)
                    self.assertLessEqual(self.stats["completion_tokens"], limit)
                    self.assertLessEqual(max(request["max_tokens"] for request in self.requests), limit)
                    self.assertEqual(self.stats["without_limit"], 0)

    def test_dollars_are_never_promised_or_spent_beyond_the_limit(self):
        for children in (1, 3, 6):
            for limit in ("0.006", "0.02", "0.05"):
                with self.subTest(children=children, dollars=limit):
                    done = self.start(endless(children), f"budget: {{cost_usd: {limit}}}")
                    nano = round(float(limit) * 1e9)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertLessEqual(self.most_committed()[1], nano)
                    self.assertLessEqual(self.billed(), nano)

    def test_the_cost_of_a_run_is_what_the_server_billed(self):
        self.start(endless(3), "budget: {cost_usd: 0.03}")
        self.assertEqual(round(self.result["cost_usd"] * 1e9), self.billed())
        self.assertEqual(sum(payload["used_cost_nano"] for payload in of_type(self.events, "budget.settled")), self.billed())

    def test_max_cost_on_the_command_line_is_a_limit_too(self):
        done = self.start(endless(2), flags=["--max-cost", "0.01"])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertLessEqual(self.billed(), 10_000_000)

    def test_at_its_limit_the_root_gets_one_last_turn_and_its_text_is_kept(self):
        rules = script(rule({"text": "turn {{turn}} ", "repeat": 100, "calls": [LOOK]}, last_lacks=NO_CALLS),
                       rule({"text": "what I know so far"}))
        done = self.start(rules, "budget: {tokens: 6000}")
        self.assertEqual((done.returncode, self.result["status"]), (3, "budget_exceeded"))
        self.assertEqual(self.result["response"], "what I know so far")
        asked = of_type(self.events, "model.requested")
        self.assertEqual([request["tools"] for request in asked][-2:], ["offered", "kept"])
        self.assertEqual(sum(request["tools"] == "kept" for request in asked), 1)

    def test_children_leave_the_root_enough_for_its_last_turn(self):
        done = self.start(endless(3), "budget: {tokens: 9000}")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.result["response"], "last words of the root")

    def test_a_root_that_nobody_watches_stops_where_the_circuit_breaker_pauses(self):
        done = self.start(endless(1), "safety: {circuit_breaker: {warn_at: 2, pause_at: 3}}")
        self.assertEqual((done.returncode, self.result["status"]), (3, "budget_exceeded"))
        self.assertEqual(self.result["tool_calls"], 3)
        self.assertEqual(self.result["response"], "last words of the root")

    def test_a_run_within_its_limits_is_not_touched_by_them(self):
        done = self.start(script(rule({"text": "short"})), "budget: {tokens: 9000, cost_usd: 0.05}")
        self.assertEqual((done.returncode, self.result["response"]), (0, "short"))

    def test_the_result_says_that_the_budget_is_used_up(self):
        with ModelServer(endless(1)) as server, Workspace({"a.txt": "x\n"}) as space:
            (space.root / "c.yaml").write_text(CONFIG.format(url=server.url, price_in=1, price_out=2,
                                                             limits="budget: {tokens: 5000}"))
            done = space.run(["run", "--config", str(space.root / "c.yaml"), "ROOT"])
        self.assertEqual(done.returncode, 3)
        self.assertIn("cadre: the run did not complete: the budget is used up: 5000 tokens (budget.tokens)", done.stderr)

    def test_the_error_of_a_root_names_the_limit_and_the_key_that_sets_it(self):
        for limits, flags, named in [
                ("safety: {circuit_breaker: {warn_at: 2, pause_at: 3}}", [], "3 tool calls (safety.circuit_breaker.pause_at)"),
                ("safety: {circuit_breaker: {warn_at: 2, pause_at: 4, hard_stop_at: 4}}", [],
                 "4 tool calls (safety.circuit_breaker.hard_stop_at)"),
                ("budget: {tokens: 6000}", [], "6000 tokens (budget.tokens)"),
                ("", ["--max-cost", "0.01"], "$0.01 (budget.cost_usd, or --max-cost)")]:
            with self.subTest(named=named):
                self.start(endless(1), limits, flags)
                self.names(self.result["error"], named)
                self.assertEqual(len(self.keys_exist(named)), 1)


class ChildLimits(Limited):
    def answer(self):
        """What the root was told about its one child."""
        return of_type([event for event in self.events if event["agent_id"] == self.result["run_id"]], "tool.finished")[0]

    def one_child(self, *rules, **spawn):
        return script(rule({"calls": [call("spawn_agent", task="CHILD", **spawn)]}, first_user="ROOT", turn=0),
                      *rules, rule({"text": "I go on"}, first_user="ROOT"))

    GREEDY = (rule({"text": "turn {{turn}} brings words ", "repeat": 80, "calls": [LOOK]}, first_user="CHILD",
                   last_lacks=NO_CALLS),
              rule({"text": "last words of a child"}, first_user="CHILD"))

    def spent(self):
        (result,) = [payload["result"] for payload in of_type(self.events, "agent.subagent_closed")]
        return result

    def test_a_childs_own_token_limit_ends_it_with_its_last_words_and_the_run_goes_on(self):
        done = self.start(self.one_child(*self.GREEDY, budget={"tokens": 5000}))
        self.assertEqual((done.returncode, self.result["response"]), (0, "I go on"))
        self.assertTrue(self.answer()["text"].startswith("[BUDGET EXCEEDED] last words of a child\n"), self.answer())
        self.assertEqual(self.answer()["outcome"], "ok")
        self.assertLessEqual(self.spent()["tokens"], 5000)
        self.assertEqual(self.spent()["status"], "budget_exceeded")

    def test_the_error_of_a_child_names_the_limit_and_what_sets_it(self):
        config = "sub_agent: {default_budget: {max_tool_calls: 3}}"
        for spawn, named in [
                ({}, "3 tool calls (sub_agent.default_budget.max_tool_calls, or max_tool_calls of the call)"),
                ({"max_tool_calls": 2}, "2 tool calls (max_tool_calls of its call)"),
                ({"max_tool_calls": 40, "budget": {"tokens": 5000}}, "5000 tokens (budget.tokens of its call)"),
                ({"max_tool_calls": 40, "budget": {"cost_usd": 0.012}}, "$0.012 (budget.cost_usd of its call)")]:
            with self.subTest(named=named):
                self.start(self.one_child(*self.GREEDY, **spawn), config)
                self.names(self.spent()["error"], named)
                self.keys_exist(named)

    def test_a_child_that_the_limit_of_the_run_stops_says_so(self):
        self.start(self.one_child(*self.GREEDY, max_tool_calls=40), "budget: {tokens: 9000}")
        self.names(self.spent()["error"], "9000 tokens of the run (budget.tokens)")

    def test_a_childs_own_dollar_limit_holds(self):
        self.start(self.one_child(*self.GREEDY, budget={"cost_usd": 0.012}))
        self.assertTrue(self.answer()["text"].startswith("[BUDGET EXCEEDED] last words of a child\n"), self.answer())
        self.assertLessEqual(self.spent()["cost_usd"], 0.012)

    def test_a_child_is_told_to_wrap_up_at_80_percent_once(self):
        self.start(self.one_child(
            rule({"text": "looking", "calls": [LOOK]}, first_user="CHILD", last_lacks=NO_CALLS),
            rule({"text": "wrapped up"}, first_user="CHILD"), max_tool_calls=5))
        self.assertEqual([payload["percent"] for payload in of_type(self.events, "budget.warned")], [80])
        (told,) = [payload["text"] for payload in of_type(self.events, "agent.message") if payload.get("note") == "warn"]
        self.assertIn("Wrap up", told)
        self.assertEqual(self.spent()["tool_calls"], 5)

    def test_a_child_asks_for_more_than_its_parent_has_left_and_gets_what_is_left(self):
        self.start(self.one_child(*self.GREEDY, budget={"tokens": 1000000}), "budget: {tokens: 9000}")
        contract = json.loads(self.children[0]["context_json"])
        settled = of_type(self.events, "budget.settled")[0]
        self.assertEqual(contract["execution"]["budget"]["tokens"], 9000 - settled["used_tokens"])
        clamps = [clamp for clamp in contract["receipt"]["clamps"] if clamp["field"] == "execution.budget.tokens"]
        self.assertEqual((clamps[0]["asked"], clamps[-1]["got"]), (1000000, 9000 - settled["used_tokens"]))

    def test_a_timed_out_child_is_told_apart_and_keeps_what_it_had_said(self):
        self.server_is_slow = True
        done = self.start(self.one_child(
            rule({"text": "an early finding", "calls": [call("read", path="a.txt")]}, first_user="CHILD", turn=0),
            rule({"text": "too late", "delay_ms": 20000}, first_user="CHILD"), budget={"timeout_ms": 5000}))
        self.assertEqual((done.returncode, self.result["response"]), (0, "I go on"))
        text = self.answer()["text"]
        self.assertRegex(text, r"\A\[TIMEOUT\] Sub-agent failed: ")
        self.assertIn("an early finding", text)
        self.assertIn("after 1 tool calls", text)
        self.assertEqual((self.spent()["status"], self.spent()["tool_calls"]), ("timeout", 1))


class Time(Limited):
    server_is_slow = True

    def test_the_roots_own_timeout_is_exit_code_4_and_waiting_costs_no_processor(self):
        with ModelServer(script(rule({"text": "too late", "delay_ms": 20000}))) as server, Workspace() as space:
            process = space.start(["run", *server.flags(), "--timeout", "5s", "--json", "task"])
            process.wait_for_event("model.requested")

            def used():
                fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            before, began = used(), time.monotonic()
            wait_until(lambda: time.monotonic() - began > 2, "two seconds")
            self.assertLess(used() - before, 0.5)
            self.assertEqual(process.end(), 4)
            result = process.lines[-1]
            self.assertEqual((result["status"], result["run_status"]), ("timeout", "failed"))
            self.assertIn("5000 ms", result["error"])

    def test_a_timeout_of_the_root_closes_every_child(self):
        rules = script(rule({"calls": [call("spawn_agent", 2, task="CHILD {{index}}")]}, first_user="ROOT", turn=0),
                       rule({"text": "too late", "delay_ms": 20000}, first_user="CHILD"))
        done = self.start(rules, flags=["--timeout", "5s"])
        self.assertEqual(done.returncode, 4)
        self.assertEqual([row["status"] for row in self.children], ["closed", "closed"])
        self.assertEqual([payload["final_status"] for payload in of_type(self.events, "agent.subagent_closed")],
                         ["failed", "failed"])


if __name__ == "__main__":
    unittest.main()
