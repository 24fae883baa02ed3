"""A child of two hundred turns in a window that holds a dozen: what it is sent stays legal, what it leaves in the store stays
near the size of what was said, and a late turn costs no more than an early one.

Each tool result carries the number of its step, and the script's rule for the next step looks for it: so the conversation goes
on where it was, however much of it was masked or summarised."""
import json
import os
import random
import sqlite3
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines

TURNS = 200
WINDOW = 32768
# Bytes of the store for a byte of the transcript, by the child's bound of one request. A turn costs about two and a half kilobytes
# beside its content (five events with their hashes and summaries, and room lost in the database's pages), which weighs more
# where the bound makes results short.
GROWTH = {32768: 1.45, 8192: 2.3}

CONFIG = """llm:
  providers: {{local: {{base_url: "{url}", api: {api}, api_key_env: LONG_KEY}}}}
  models: {{long: {{provider: local, model: scripted, max_context_tokens: {window}, max_tokens: 4096}}}}
safety: {{circuit_breaker: {{hard_stop_at: 400}}}}
sub_agent: {{default_budget: {{max_tokens: {context}, timeout_ms: 10m}}, attempt_timeout_ms: 10m}}
"""


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def mark(step):
    """What a result of this step holds and no other does."""
    return f"mark-{step:03}."


def source(chance, step, size):
    """Lines as source files have them, the step's mark in the first."""
    lines, total = [f"/* {mark(step)} */"], 0
    while total < size:
        words = " ".join(chance.choice(["struct", "table", "while", "offset", "return", "index", "buffer", "int64_t"])
                         for _ in range(chance.randint(2, 12)))
        lines.append(f"    {words} = {chance.randint(0, 99999)};")
        total += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


class Plan:
    """Files and calls of every step: mostly what a coder does, and now and then a result of a nasty size."""

    def __init__(self, seed=7):
        chance = random.Random(seed)
        self.files, self.calls = {}, []
        for step in range(TURNS + 1):
            name = f"step/{mark(step)}c"
            kind = chance.choices(["read", "grep", "ls", "write", "missing", "huge", "line", "wide", "tiny"],
                                  [50, 15, 5, 15, 5, 3, 2, 3, 2])[0]
            if kind == "grep":
                self.files[name] = source(chance, step, chance.randint(500, 5000))
                self.calls.append(call("grep", pattern=f"{mark(step)}|return|index", path=name))
            elif kind == "ls":
                self.files.update({f"dir{step}/{mark(step)}{n}": "" for n in range(chance.randint(1, 60))})
                self.calls.append(call("ls", path=f"dir{step}"))
            elif kind == "write":
                self.calls.append(call("write", path=f"out/{mark(step)}c",
                                       content=source(chance, step, chance.randint(200, 5000))))
            elif kind == "missing":
                self.calls.append(call("read", path=f"gone/{mark(step)}c"))
            else:
                self.files[name] = {"read": lambda: source(chance, step, chance.choice([1000, 3000, 5000, 8000, 12000, 20000])),
                                    "huge": lambda: source(chance, step, 300_000),
                                    "line": lambda: mark(step) + "x" * 200_000,
                                    "wide": lambda: mark(step) + "読み書き、" * 4000,
                                    "tiny": lambda: mark(step)}[kind]()
                self.calls.append(call("read", path=name))

    def script(self, summary):
        """summary: the reply to a request for one. Without tools in the request the model is asked for a summary, or for its last words."""
        work = [rule({"text": THOUGHT.format(step=step + 1), "calls": [self.calls[step + 1]]},
                     first_user="CHILD", last=mark(step), last_lacks=NO_CALLS)
                for step in range(TURNS)]
        return {"models": [{"id": "scripted", "window": WINDOW, "max_output": 4096}], "rules": [
            rule({"calls": [call("spawn_agent", task="CHILD goes through all steps", max_tool_calls=TURNS)]},
                 first_user="ROOT", turn=0),
            rule({"text": "all steps are done"}, first_user="ROOT"),
            rule(summary, first_user="CHILD", last="Write a summary"),
            *work,
            rule({"text": "Where was I? At the beginning.", "calls": [self.calls[0]]}, first_user="CHILD", last_lacks=NO_CALLS),
            rule({"text": "last words"}, first_user="CHILD")]}


THOUGHT = ("Step {step}. The last result shows how the table is filled and where its offsets come from, but not who reads them "
           "again. The callers should stand in the next file; if they check the index before they use it, nothing has to change "
           "there, and otherwise I will note the line. I look at it now.")
SUMMARY = "I went through many steps; each had a file, and I noted names, offsets and what is left to do. " * 8


def transcript(events):
    """Bytes of what entered conversations: prompts, replies and results, free of any provider's form."""
    total = 0
    for event in events:
        payload = event["payload"]
        total += len(payload.get("text", "").encode()) if event["type"] != "agent.compacted" else 0
        if event["type"] == "model.replied":
            for made in payload.get("calls", []):
                total += len(made["name"]) + len(json.dumps(made["arguments"], ensure_ascii=False, separators=(",", ":")).encode())
    return total


def store_size(path):
    """Bytes of the database when all of its log is in it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return os.path.getsize(path)


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


class Long:
    """A finished run of the plan; `events` are all of it."""

    def __init__(self, context, api="openai", summary=None, interrupt=None):
        plan = Plan()
        with ModelServer(plan.script(summary or {"text": SUMMARY})) as server, Workspace(plan.files) as space:
            space.make_store()
            before = store_size(space.store)
            config = space.root / "long.yaml"
            config.write_text(CONFIG.format(url=server.url, api=api, window=WINDOW, context=context))
            space.environment.update(CADRE_CONFIG=str(config), LONG_KEY="key")
            started = ["run", "--mode", "auto", "--json", "ROOT"]
            if interrupt:
                process = space.start(started)
                interrupt(process)
                process.kill()
                run_id = process.lines[0]["run_id"]
                self.done = space.run(["resume", "--json", run_id], seconds=180)
            else:
                self.done = space.run(started, seconds=180)
                run_id = json_lines(self.done.stdout)[0]["run_id"]
            self.result = json_lines(self.done.stdout)[-1]
            self.events = space.events(run_id)
            (self.child,) = space.children(run_id)
            self.work = [event for event in self.events if event["agent_id"] == self.child["id"]]
            self.growth = (store_size(space.store) - before) / transcript(self.events)
            self.stats = server.idle()
            self.checks = [space.run([command, run_id], seconds=180) for command in ("verify", "replay")]


def overhead(events):
    """Bytes that were logged beside the transcript."""
    return sum(len(event["payload_json"].encode()) + len(event["summary"].encode()) for event in events) - transcript(events)


def turns(events):
    """The events of each turn: from one request of the loop to the next."""
    parts = []
    for event in events:
        if event["type"] == "model.requested" and event["payload"]["origin"] == "loop":
            parts.append([])
        if parts:
            parts[-1].append(event)
    return parts


class LongChild:
    """Every promise, for the bound that a class below names."""

    @classmethod
    def setUpClass(cls):
        cls.run_ = Long(cls.context)

    def test_it_goes_through_all_turns_and_says_its_last_words(self):
        self.assertEqual(self.run_.done.returncode, 0, self.run_.done.stderr)
        self.assertEqual(self.run_.result["response"], "all steps are done")
        self.assertEqual(len(of_type(self.run_.work, "tool.requested")), TURNS)
        self.assertEqual(of_type(self.run_.work, "agent.subagent_closed")[0]["payload"]["result"]["response"], "last words")

    def test_the_strict_server_took_every_request(self):
        self.assertEqual((self.run_.stats["refused"], self.run_.stats["unmatched"]), (0, 0), self.run_.stats["refusals"])
        self.assertGreater(self.run_.stats["accepted"], TURNS)

    def test_old_results_are_masked_and_the_conversation_is_summarised(self):
        self.assertGreater(len(of_type(self.run_.work, "agent.masked")), 3)
        compacted = of_type(self.run_.work, "agent.compacted")
        self.assertGreater(len(compacted), 1)
        self.assertEqual({event["payload"]["outcome"] for event in compacted}, {"ok"})

    def test_no_request_was_estimated_above_the_bound(self):
        asked = [event["payload"]["estimate"] for event in of_type(self.run_.work, "model.requested")]
        self.assertLessEqual(max(asked), self.context)
        self.assertGreater(max(asked), self.context // 2)

    def test_the_store_grows_little_more_than_the_transcript(self):
        self.assertLessEqual(self.run_.growth, GROWTH[self.context])

    def test_nothing_long_stands_in_the_log_twice(self):
        """Long arguments and summaries stand in the reply alone; what follows from them shows how they begin."""
        for event in self.run_.work:
            if event["type"] in ("tool.requested", "agent.compacted"):
                self.assertLess(len(event["payload_json"]), 600, event["payload_json"])
        written = [event for event in of_type(self.run_.work, "tool.requested") if "shortened" in event["payload"]]
        self.assertTrue(written)
        for event in written:
            self.assertRegex(event["payload"]["shortened"]["path"], r"\Aout/mark-\d+\.c\Z")
            self.assertRegex(event["payload"]["shortened"]["content"], r"(?s)\A/\* mark-\d+\..{20,60}…\Z")

    def test_a_late_turn_costs_no_more_than_an_early_one(self):
        parts = turns(self.run_.work)
        early, late = parts[10:50], parts[-42:-2]
        self.assertLess(sum(map(len, late)), 2 * sum(map(len, early)))
        self.assertLess(sum(map(overhead, late)), 2 * sum(map(overhead, early)))

    def test_the_log_verifies_and_replays(self):
        for check in self.run_.checks:
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


class WholeWindow(LongChild, unittest.TestCase):
    context = 32768


class QuarterOfTheWindow(LongChild, unittest.TestCase):
    """What a child has without being told."""

    context = 8192


class FailedSummaries(unittest.TestCase):
    """The model that is asked for a summary does not give one."""

    def run_with(self, summary):
        """The rule for summaries gets this reply; returns the child's events."""
        self.run_ = Long(8192, summary=summary)
        self.assertEqual(self.run_.done.returncode, 0, self.run_.done.stderr)
        return self.run_.work

    def asked_for_summaries(self, work):
        return [event["payload"]["attempt"] for event in of_type(work, "model.requested") if event["payload"]["origin"] == "compact"]

    def test_one_that_comes_after_retries_is_used(self):
        work = self.run_with({"status": 503, "error": "busy", "retry_after": "0", "fail_times": 2, "then": {"text": SUMMARY}})
        self.assertEqual(self.asked_for_summaries(work)[:4], [0, 1, 2, 0])
        self.assertEqual({event["payload"]["outcome"] for event in of_type(work, "agent.compacted")}, {"ok"})
        self.assertEqual(len(of_type(work, "tool.requested")), TURNS)

    def test_without_one_the_conversation_goes_on_once_and_no_other_is_asked_for(self):
        work = self.run_with({"status": 500, "error": "broken"})
        self.assertEqual(self.asked_for_summaries(work), [0, 1, 2], "one request, and status 500 with one body ends it")
        (compacted,) = of_type(work, "agent.compacted")
        self.assertEqual((compacted["payload"]["outcome"], compacted["payload"]["text"]),
                         ("failed", "Your earlier work on this task no longer fits and was left out."))
        after = [event for event in work if event["seq"] > compacted["seq"]]
        self.assertEqual([event["payload"]["attempt"] for event in of_type(after, "model.requested")][0], 0,
                         "the tries of the summary are not those of the next request")
        self.assertGreater(len(of_type(after, "tool.requested")), 0)
        closed = of_type(after, "agent.subagent_closed")[0]["payload"]
        self.assertEqual(closed["result"]["status"], "error")
        self.assertRegex(closed["result"]["error"], r"needs about \d+ tokens and a request to .* may have \d+")
        self.assertEqual(self.run_.result["response"], "all steps are done")

    def test_one_that_is_refused_for_good_is_not_tried_again(self):
        work = self.run_with({"status": 400, "error": "I do not write summaries"})
        self.assertEqual(self.asked_for_summaries(work), [0])
        self.assertEqual([event["payload"]["outcome"] for event in of_type(work, "agent.compacted")], ["failed"])
        self.assertIn("all steps are done", self.run_.result["response"])


class CircuitBreaker(unittest.TestCase):
    """safety.circuit_breaker.warn_at: a root that makes many calls is told to wrap up, once."""

    def events_of(self, warn_at, calls, *rules):
        look = [rule({"calls": [call("ls", path="." + "/." * turn)]}, first_user="ROOT", turn=turn, last_lacks=NO_CALLS)
                for turn in range(calls)]
        script = {"models": [{"id": "scripted", "window": WINDOW, "max_output": 8192}], "rules": [
            *rules, *look, rule({"text": "done"}, first_user="ROOT")]}
        with ModelServer(script) as server, Workspace({"a.txt": "a line\n"}) as space:
            config = space.root / "breaker.yaml"
            config.write_text(f"safety: {{circuit_breaker: {{warn_at: {warn_at}}}}}\n")
            done = space.run(["run", "--config", str(config), *server.flags(), "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.response = json_lines(done.stdout)[-1]["response"]
            return space.events(json_lines(done.stdout)[0]["run_id"])

    @staticmethod
    def calls_before(events, seq):
        return sum(event["seq"] < seq for event in of_type(events, "tool.requested"))

    def test_it_is_told_after_that_many_calls_and_only_once(self):
        events = self.events_of(3, 6)
        (warned,) = of_type(events, "budget.warned")
        self.assertEqual(self.calls_before(events, warned["seq"]), 3)
        (told,) = [event["payload"] for event in of_type(events, "agent.message") if event["payload"].get("note") == "warn"]
        self.assertIn("3 of 30 tool calls made", told["text"])
        self.assertIn("Wrap up", told["text"])
        self.assertEqual(len(of_type(events, "tool.requested")), 6, "a warning is no stop")

    def test_the_model_reads_it_in_the_next_request(self):
        self.events_of(3, 6, rule({"text": "I wrap up"}, first_user="ROOT", last="Wrap up"))
        self.assertEqual(self.response, "I wrap up")

    def test_below_it_nothing_is_said(self):
        self.assertEqual(of_type(self.events_of(7, 6), "budget.warned"), [])

    def test_it_is_not_for_children(self):
        child = [rule({"calls": [call("ls", path="." + "/." * turn)]}, first_user="CHILD", turn=turn) for turn in range(5)]
        events = self.events_of(3, 0, rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="ROOT", turn=0),
                                *child, rule({"text": "five looks"}, first_user="CHILD"))
        self.assertEqual(of_type(events, "budget.warned"), [])
        self.assertEqual(len(of_type(events, "tool.requested")), 6)


class Interrupted(unittest.TestCase):
    def check(self, api, event, count):
        run = Long(8192, api, interrupt=lambda process: process.wait_for_event(event, count))
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(run.result["response"], "all steps are done")
        self.assertEqual(len(of_type(run.work, "agent.subagent_closed")), 1)
        self.assertEqual(len(of_type(run.events, "run.resumed")), 1)
        self.assertGreater(len(of_type(run.work, "agent.compacted")), 1)
        self.assertGreaterEqual(len(of_type(run.work, "tool.requested")), TURNS)
        self.assertEqual((run.stats["refused"], run.stats["unmatched"]), (0, 0), run.stats["refusals"])
        for check in run.checks:
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_killed_half_way_it_goes_on_to_its_end(self):
        self.check("openai", "tool.finished", 100)

    def test_killed_after_a_summary_it_goes_on_from_the_summary(self):
        self.check("openai", "agent.compacted", 5)

    def test_killed_half_way_over_the_other_api_it_goes_on_to_its_end(self):
        self.check("anthropic", "tool.finished", 100)


if __name__ == "__main__":
    unittest.main()
