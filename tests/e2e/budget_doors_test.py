"""Limits that hold through every door: random trees of children under token and dollar limits, with replies in parallel, requests that
fail, break off and are tried again, and SIGKILL with a resume at random moments. The judge is the server's own log, which counts the
whole of every reply, taken or not: what a provider could bill.

BUDGET_SEED repeats an earlier plan, BUDGET_RUNS sets how many runs (24); the moments of the kills fall differently each time.
"""
import json
import os
import random
import sys
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines

PRICE_IN, PRICE_OUT = 1, 2  # dollars for a million tokens: so many nano-dollars for a thousandth of a token
SEED = int(os.environ.get("BUDGET_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
RUNS = int(os.environ.get("BUDGET_RUNS", "24"))
KILLS = 3  # of one run, at most
DOORS = ("spawn_agent", "fan_out", "delegate_task", "spawn")

CONFIG = """llm:
  providers:
    local: {{base_url: {url}}}
  models:
    priced: {{provider: local, model: scripted, max_context_tokens: 32768, price_in: {price_in}, price_out: {price_out}}}
tools: {{spawn: {{enabled: true}}}}
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
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "bytes_per_token": 6, "rules": list(rules)}


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


def nano(prompt_tokens, completion_tokens):
    return 1000 * (prompt_tokens * PRICE_IN + completion_tokens * PRICE_OUT)


# --- random trees ----------------------------------------------------------------------------------------------------------

class Plan:
    """Who calls which door with which tasks. A task's name, NODE-<path>., is its place in the tree and what the server's rules go by."""

    def __init__(self, chance):
        self.chance = chance
        self.rules = []
        self.add("1", depth=0)
        self.rules.append(rule({"text": "last words"}))

    def door(self, path, depth):
        """A call of a random door, and the plans of the children that it starts."""
        chance, door = self.chance, self.chance.choice(DOORS if depth == 0 else DOORS[:3])
        names = [f"NODE-{path}{chr(ord('a') + self.children + i)}." for i in range(1 if door in ("spawn_agent", "spawn") else
                                                                               chance.randint(1, 3))]
        self.children += len(names)
        self.started += [name[5:-1] for name in names]
        if door == "spawn_agent":
            limits = {"tokens": chance.randint(1200, 9000)} if chance.random() < 0.4 else {}
            if chance.random() < 0.3:
                limits["cost_usd"] = chance.randint(2, 20) / 1000
            return call(door, task=names[0], budget=limits)
        if door == "fan_out":
            return call(door, tasks=[{"task": name, "max_tool_calls": chance.randint(1, 6)} for name in names])
        if door == "delegate_task":
            subtasks = [{"task": name} for name in names]
            for i in range(1, len(names)):
                if chance.random() < 0.5:
                    subtasks[i]["depends_on"] = chance.randrange(i)
            return call(door, plan="the whole", subtasks=subtasks)
        return call(door, task=names[0])

    def words(self, calls):
        """A reply with these calls, which may fail, break off or dawdle."""
        chance = self.chance
        reply = {"text": "turn {{turn}} brings more words ", "repeat": chance.randint(1, 120), "calls": calls}
        if chance.random() < 0.3:
            reply["delay_ms"] = chance.randint(1, 40)
        if chance.random() < 0.2:
            reply["chunk_delay_ms"] = 2
        trouble = chance.choice([None] * 6 + [{"status": 500}, {"status": 429, "retry_after": "0"}, {"drop": "mid-stream"},
                                              {"drop": "before-headers"}])
        if trouble == {"drop": "mid-stream"}:
            return {**reply, **trouble, "fail_times": 1, "then": reply}
        return {**trouble, "fail_times": 1, "then": reply} if trouble else reply

    def add(self, path, depth):
        """The rules of one agent: some turns with doors and looks, then words for as long as there are tools."""
        chance, name = self.chance, f"NODE-{path}."
        self.children, self.started = 0, []
        for turn in range(chance.randint(1, 3)):
            calls = [LOOK] * chance.randint(0, 1)
            if depth < 2:
                calls += [self.door(path, depth) for _ in range(chance.randint(1 if turn == 0 else 0, 2))]
            self.rules.append(rule(self.words(calls or [LOOK]), first_user=name, turn=turn, last_lacks=NO_CALLS))
        if depth == 0:
            self.rules.append(rule({"calls": [call("spawn_await", job_ids="*")]}, first_user=name, turn=4, last_lacks=NO_CALLS))
        self.rules.append(rule(self.words([LOOK]), first_user=name, last_lacks=NO_CALLS))
        for child in list(self.started):
            self.add(child, depth + 1)


def limits_of(chance):
    """(config text, tokens or None, nano-dollars or None)"""
    tokens = chance.choice([None, 3000, 6000, 12000, 30000])
    cost = chance.choice([3, 8, 20, 60]) if tokens is None or chance.random() < 0.4 else None
    lines = ([] if tokens is None else [f"  tokens: {tokens}"]) + ([] if cost is None else [f"  cost_usd: {cost / 1000}"])
    text = "budget:\n" + "\n".join(lines) + f"""
sub_agent:
  max_concurrent: {chance.randint(1, 4)}
  delegate_concurrency: {chance.randint(1, 3)}
  max_retries: {chance.randint(0, 1)}
  default_budget: {{max_tool_calls: {chance.randint(2, 8)}}}
safety: {{circuit_breaker: {{pause_at: {chance.randint(6, 30)}}}}}
"""
    return text, tokens, None if cost is None else cost * 1_000_000


# --- oracles -----------------------------------------------------------------------------------------------------------------

class Accounts:
    """Spent and promised by agent and by all its ancestors, followed through the log."""

    def __init__(self, events, tokens, cost):
        self.parents, self.limits = {}, {}
        self.spent, self.promised, self.open = {}, {}, {}
        self.most = {}
        root = events[0]["agent_id"]
        self.begin(root, None, (tokens, cost))
        for event in events:
            payload, agent = event["payload"], event["agent_id"]
            if event["type"] == "agent.subagent_created":
                budget = payload["contract"]["execution"]["budget"]
                dollars = budget["cost_usd"]
                parent = payload["contract"]["parent"]["agent_id"] or root
                self.begin(agent, parent, (budget["tokens"], None if dollars is None else round(dollars * 1e9)))
            elif event["type"] == "budget.reserved":
                self.open[agent] = (payload["tokens"], payload["cost_nano"])
                self.add(self.promised, agent, self.open[agent], 1)
            elif event["type"] == "budget.settled":
                self.add(self.promised, agent, self.open.pop(agent, (0, 0)), -1)
                self.add(self.spent, agent, (payload["used_tokens"], payload["used_cost_nano"]), 1)

    def begin(self, agent, parent, limits):
        self.parents[agent], self.limits[agent] = parent, limits
        for table in (self.spent, self.promised, self.most):
            table[agent] = [0, 0]

    def add(self, table, agent, amount, sign):
        while agent is not None:
            for i in (0, 1):
                table[agent][i] += sign * amount[i]
                self.most[agent][i] = max(self.most[agent][i], self.spent[agent][i] + self.promised[agent][i])
            agent = self.parents[agent]


class RandomTrees(unittest.TestCase):
    """All limits, all doors, all at once."""

    def start(self, plan_seed, kills):
        chance = random.Random(plan_seed)
        self.limit_text, self.tokens, self.cost = limits_of(chance)
        plan = Plan(chance)
        with ModelServer(script(*plan.rules)) as server, Workspace({"a.txt": "some words\n" * 20}) as space:
            config = space.root / "limits.yaml"
            config.write_text(CONFIG.format(url=server.url, price_in=PRICE_IN, price_out=PRICE_OUT, limits=self.limit_text))
            process = space.start(["run", "--config", str(config), "--mode", "auto", "--json", "NODE-1."])
            self.killed = 0
            for _ in range(kills):
                run_id = process.wait_for(lambda line: "run_id" in line, "the run's id")["run_id"]
                events = chance.randint(1, 60)
                process.wait_for(ended_or_printed(events), f"{events} events")
                if process.kill() >= 0:
                    break
                self.killed += 1
                process = space.start(["resume", "--config", str(config), "--json", run_id])
            self.code = process.end()
            self.stats, self.requests = server.idle(), server.requests()
            self.result = process.lines[-1]
            self.assertEqual(self.result.get("type"), "result", process.errors)
            self.events = space.events(self.result["run_id"])
            self.children = space.children(self.result["run_id"])

    def check(self):
        billed = sum(nano(one["prompt_tokens"], one["completion_tokens"]) for one in self.requests if "first_user" in one)
        written = sum(one["completion_tokens"] for one in self.requests if "first_user" in one)
        self.assertEqual(self.stats["without_limit"], 0)
        accounts = Accounts(self.events, self.tokens, self.cost)
        root = self.events[0]["agent_id"]
        if self.cost is not None:
            self.assertLessEqual(billed, self.cost, "the server could bill more than the run may cost")
        if self.tokens is not None:
            self.assertLessEqual(written, self.tokens, "the server wrote more tokens than the run may use")
        for agent, (tokens, cost) in accounts.limits.items():
            if tokens is not None:
                self.assertLessEqual(accounts.most[agent][0], tokens, f"tokens of {agent}")
            if cost is not None:
                self.assertLessEqual(accounts.most[agent][1], cost, f"dollars of {agent}")
        # What was booked is never less than what the server could bill.
        self.assertGreaterEqual(accounts.spent[root][1], billed)
        self.assertEqual(accounts.promised[root], [0, 0], "a reservation was never given back")
        self.check_endings(root)
        return billed

    def check_endings(self, root):
        """Every child is closed once, and one that ran out of money says so, with a receipt or a limit on its calls."""
        self.assertEqual([row["status"] for row in self.children], ["closed"] * len(self.children))
        closed = [event for event in self.events if event["type"] == "agent.subagent_closed"]
        self.assertEqual(len(closed), len(self.children))
        refused = {event["agent_id"] for event in self.events if event["type"] == "budget.refused"}
        last = {event["agent_id"] for event in self.events if event["type"] == "agent.message"
                and event["payload"].get("note", "").startswith("last_turn")}
        for event in closed:
            result = event["payload"]["result"]
            if result["status"] == "budget_exceeded":
                self.assertTrue(event["agent_id"] in refused | last, result)
                self.assertTrue(result["summary"], result)
        last_turns = [event["agent_id"] for event in self.events if event["type"] == "model.requested"
                    and event["payload"]["tools"] == "kept" and event["payload"]["origin"] == "loop"]
        self.assertLessEqual(set(last_turns), last)
        self.assertIn(self.result["status"], ("completed", "budget_exceeded", "error"))
        self.assertEqual(self.code, {"completed": 0, "budget_exceeded": 3, "error": 1}[self.result["status"]])

    def test_no_schedule_spends_more_than_the_budget(self):
        chance = random.Random(SEED)
        print(f"BUDGET_SEED={SEED}", file=sys.stderr)
        seen = {"killed": 0, "refused": 0, "failed": 0, "children": 0}
        doors = set()
        for number in range(RUNS):
            plan_seed, kills = chance.randrange(1 << 31), chance.randint(0, KILLS)
            with self.subTest(number=number, seed=SEED, plan=plan_seed):
                self.start(plan_seed, kills)
                self.check()
                seen["killed"] += self.killed
                seen["refused"] += len(of_type(self.events, "budget.refused"))
                seen["failed"] += len(of_type(self.events, "model.failed"))
                seen["children"] += len(self.children)
                doors |= {json.loads(row["context_json"])["receipt"]["door"] for row in self.children}
        print(f"{seen}", file=sys.stderr)
        if RUNS >= 20:
            self.assertLessEqual(doors, set(DOORS))
            self.assertTrue(all(seen.values()), seen)


class Receipts(unittest.TestCase):
    """What a child that cannot be paid leaves behind, through each door."""

    # One greedy child behind each door; the root then says what it was told.
    GREEDY = (rule({"text": "turn {{turn}} brings words ", "repeat": 80, "calls": [LOOK]}, first_user="CHILD", last_lacks=NO_CALLS),
              rule({"text": "last words of a child"}, first_user="CHILD"))

    @staticmethod
    def call_of(door, task):
        tasks = task if isinstance(task, list) else [task]
        return {"spawn_agent": call("spawn_agent", task=task), "fan_out": call("fan_out", tasks=[{"task": one} for one in tasks]),
                "delegate_task": call("delegate_task", plan="all", subtasks=[{"task": task}]),
                "spawn": call("spawn", task=task)}[door]

    def start(self, door, limits, greedy=GREEDY, task="CHILD"):
        rules = [rule({"calls": [self.call_of(door, task)]}, first_user="ROOT", turn=0)]
        if door == "spawn":
            rules.append(rule({"calls": [call("spawn_await", job_ids="*")]}, first_user="ROOT", turn=1, last_lacks=NO_CALLS))
        with (ModelServer(script(*rules, *greedy, rule({"text": "I go on"}, first_user="ROOT"))) as server,
              Workspace({"a.txt": "some words\n" * 20}) as space):
            config = space.root / "limits.yaml"
            config.write_text(CONFIG.format(url=server.url, price_in=PRICE_IN, price_out=PRICE_OUT, limits=limits))
            done = space.run(["run", "--config", str(config), "--mode", "auto", "--json", "ROOT"])
            self.result = json_lines(done.stdout)[-1]
            self.events = space.events(self.result["run_id"])
            self.children = space.children(self.result["run_id"])
            self.requests = server.requests()
        root = self.result["run_id"]
        self.told = of_type([event for event in self.events if event["agent_id"] == root], "tool.finished")[-1]
        self.of_child = [event for event in self.events if event["agent_id"] != root]

    def test_a_child_at_the_limit_is_refused_with_an_event_and_its_last_words_are_kept(self):
        for door in DOORS:
            for limits in ("budget: {tokens: 14000}", "budget: {cost_usd: 0.02}"):
                with self.subTest(door=door, limits=limits):
                    self.start(door, limits + "\nsub_agent: {default_budget: {max_tool_calls: 100}}")
                    refused = of_type(self.of_child, "budget.refused")
                    self.assertTrue(refused)
                    self.assertIn("does not pay for another request: ", refused[0]["reason"])
                    self.assertIn("(budget.tokens)" if "tokens" in limits else "(budget.cost_usd, or --max-cost)",
                                  refused[0]["reason"])
                    self.assertIn("last words of a child", self.told["text"])
                    self.assertEqual(self.told["outcome"], "ok")
                    asked = [one["tools"] for one in of_type(self.of_child, "model.requested") if one["origin"] == "loop"]
                    self.assertEqual((asked.count("kept"), asked[-1]), (1, "kept"))
                    self.assertEqual(of_type(self.of_child, "agent.subagent_closed")[0]["result"]["status"], "budget_exceeded")

    def test_each_door_says_in_its_own_words_that_the_budget_was_the_end(self):
        marks = {"spawn_agent": "[BUDGET EXCEEDED] last words", "fan_out": '"status":"budget_exceeded"',
                 "delegate_task": "[BUDGET EXCEEDED] last words", "spawn": ": OK]\n[BUDGET EXCEEDED] last words"}
        for door, mark in marks.items():
            with self.subTest(door=door):
                self.start(door, "budget: {tokens: 14000}\nsub_agent: {default_budget: {max_tool_calls: 100}}")
                self.assertIn(mark, self.told["text"])

    def test_a_child_that_cannot_ask_even_once_is_told_apart_and_asks_nothing(self):
        for door in DOORS:
            with self.subTest(door=door):
                self.start(door, "budget: {tokens: 7000}", task="CHILD " + "of many words " * 700)
                self.assertEqual(of_type(self.of_child, "model.requested"), [])
                self.assertTrue(of_type(self.of_child, "budget.refused"))
                self.assertIn("its budget was used up before it could answer", self.told["text"])
                self.assertEqual([row["status"] for row in self.children], ["closed"])

    def test_80_percent_of_tokens_or_dollars_are_told_once(self):
        greedy = (rule({"text": "turn {{turn}} brings words ", "repeat": 600, "calls": [LOOK]}, first_user="CHILD", last_lacks=NO_CALLS),
                  self.GREEDY[1])
        for door, limits in zip(DOORS, ("tokens: 60000", "cost_usd: 0.2", "tokens: 60000", "cost_usd: 0.2")):
            with self.subTest(door=door, limits=limits):
                self.start(door, f"budget: {{{limits}}}\nsub_agent: {{default_budget: {{max_tool_calls: 100}}}}", greedy)
                (warned,) = of_type(self.of_child, "budget.warned")
                self.assertIn(warned["percent"], range(80, 100))
                (told,) = [one["text"] for one in of_type(self.of_child, "agent.message") if one.get("note") == "warn"]
                self.assertIn("Wrap up", told)

    def test_what_a_child_had_written_when_it_broke_off_for_good_is_kept(self):
        greedy = (rule({"text": "an early finding ", "repeat": 40, "chunks": 8, "drop": "mid-stream", "fail_times": 1,
                        "then": {"status": 400, "error": "no more"}}, first_user="CHILD"),)
        for door in DOORS[:1]:
            with self.subTest(door=door):
                self.start(door, "budget: {tokens: 60000}\nsub_agent: {max_retries: 0}", greedy)
                self.assertIn("an early finding", self.told["text"])


    def test_a_request_that_fits_once_others_have_settled_waits_for_them_and_is_made(self):
        modest = (rule({"text": "a short answer", "delay_ms": 50}, first_user="CHILD"),)
        for limits in ("tokens: 20000", "cost_usd: 0.04"):
            with self.subTest(limits=limits):
                self.start("fan_out", f"budget: {{{limits}}}\nsub_agent: {{max_concurrent: 4}}", modest,
                           [f"CHILD {number}" for number in range(4)])
                waited = [event["agent_id"] for event in self.events if event["type"] == "budget.waiting"]
                self.assertEqual((len(waited), len(set(waited))), (3, 3), "the first takes what is there; each says once that it waits")
                self.assertEqual(of_type(self.events, "budget.refused"), [])
                closed = of_type(self.events, "agent.subagent_closed")
                self.assertEqual([one["result"]["status"] for one in closed], ["completed"] * 4)


class Sent(unittest.TestCase):
    def test_a_request_that_a_kept_connection_swallowed_is_booked_in_full_before_it_is_sent_again(self):
        """HTTP libraries send such a request once more by themselves; the server may have worked on both."""
        rules = script(rule({"calls": [LOOK]}, turn=0),
                       rule({"drop": "before-headers", "fail_times": 1, "then": {"text": "end"}}, turn=1))
        with ModelServer(rules) as server, Workspace({"a.txt": "some words\n"}) as space:
            config = space.root / "limits.yaml"
            config.write_text(CONFIG.format(url=server.url, price_in=PRICE_IN, price_out=PRICE_OUT, limits="budget: {cost_usd: 0.2}"))
            done = space.run(["run", "--config", str(config), "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(done.returncode, 0, done.stderr)
            events = space.events(json_lines(done.stdout)[-1]["run_id"])
            self.assertEqual(len([one for one in server.requests() if one.get("turn") == 1]), 2)
        asked, settled = of_type(events, "model.requested"), of_type(events, "budget.settled")
        self.assertEqual((len(asked), len(settled)), (3, 3))
        self.assertEqual(settled[1]["used_cost_nano"], asked[1]["cost_nano"])


def ended_or_printed(count):
    """Accepts the line with the count-th event, or the last one."""
    left = [count]

    def matches(line):
        left[0] -= "event" in line
        return left[0] <= 0 or line.get("type") == "result"
    return matches


if __name__ == "__main__":
    unittest.main()
