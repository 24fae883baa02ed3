"""Runs over OpenAI's Responses API: the same scripts end as they do over Chat Completions, reasoning comes back sealed and
unchanged, budgets hold, a kill loses nothing, and one agent may go from any API to any other. The model server refuses what
the real API refuses, and it must have refused nothing."""
import itertools
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines

KEY = {"ANTHROPIC_API_KEY": "sk-any", "OPENAI_API_KEY": "sk-other"}
FILES = {"notes.txt": "first line\nsecond line\n"}
LIFE = ["created", "started", "attempt", "waiting_for_merge", "completed", "closed"]
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def script(*rules, model="scripted"):
    return {"models": [{"id": model, "window": 32768, "max_output": 8192}], "rules": list(rules)}


def says(who, turn, **reply):
    return {"when": {"first_user": who, "turn": turn}, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def run(space, *flags):
    """A finished `cadre run --json` of the task ROOT: its process, its last line and its events."""
    done = space.run(["run", *flags, "--json", "--mode", "auto", "ROOT"], env=KEY)
    lines = json_lines(done.stdout)
    return done, lines[-1], space.events(lines[0]["run_id"])


def speaking(api, server, model="scripted"):
    return ["--api", api, *server.flags(model)]


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


THREAD = script(
    says("ROOT", 0, thinking="somebody \"else\"\nshould", text="I ask somebody.",
         calls=[call("spawn_agent", task="CHILD counts the lines of notes.txt")]),
    says("CHILD", 0, thinking="read it", calls=[call("read", path="notes.txt"), call("read", path="missing.txt")]),
    says("CHILD", 1, thinking="two", text="notes.txt has 2 lines"),
    says("ROOT", 1, calls=[call("write", path="answer.txt", content="2 lines\n")]),
    says("ROOT", 2, text="The answer is in answer.txt"))


class Thread(unittest.TestCase):
    """The root spawns a child, the child reads, the root writes: over Chat Completions and over Responses."""

    @classmethod
    def setUpClass(cls):
        cls.ends = {}
        for api in ("openai", "responses"):
            space = Workspace(FILES)
            cls.addClassCleanup(space.close)
            with ModelServer(THREAD) as server:
                done, result, events = run(space, *speaking(api, server))
                stats = server.idle()
                cls.ends[api] = (done, result, events, space.tree(), server.requests(), stats)

    def test_the_run_completes_and_the_root_writes_what_it_learned(self):
        done, result, _, tree, _, _ = self.ends["responses"]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["response"], "The answer is in answer.txt")
        self.assertEqual(tree["answer.txt"], "2 lines\n")

    def test_every_request_went_to_the_responses_api(self):
        requests = [request for request in self.ends["responses"][4] if request["method"] == "POST"]
        self.assertEqual([request["path"] for request in requests], ["/v1/responses"] * 5)

    def test_both_apis_leave_the_same_events(self):
        kinds = [[event["type"] for event in self.ends[api][2]] for api in ("openai", "responses")]
        self.assertEqual(kinds[0], kinds[1])

    def test_the_childs_life_is_logged_in_order_and_once(self):
        prefix = "agent.subagent_"
        life = [event["type"].removeprefix(prefix) for event in self.ends["responses"][2]
                if event["type"].startswith(prefix)]
        self.assertEqual(life, LIFE)

    def test_reasoning_is_in_the_log_for_the_host_that_sealed_it(self):
        kept = [reply["extras"] for reply in of_type(self.ends["responses"][2], "model.replied") if reply.get("extras")]
        self.assertEqual(len(kept), 3)
        self.assertEqual({entry["api"] for entry in kept}, {"responses"})
        self.assertTrue(all(entry["host"].startswith("127.0.0.1:") for entry in kept))
        self.assertEqual(kept[0]["content"][0]["summary"][0]["text"], "somebody \"else\"\nshould")
        self.assertEqual(kept[0]["content"][1:], [{"text": len("I ask somebody.")}, {"call": 1}])

    def test_what_was_spent_is_what_the_server_counted(self):
        events, stats = self.ends["responses"][2], self.ends["responses"][5]
        replies = of_type(events, "model.replied")
        self.assertEqual(sum(reply["input_tokens"] for reply in replies), stats["prompt_tokens"])
        self.assertEqual(sum(reply["output_tokens"] for reply in replies), stats["completion_tokens"])
        self.assertEqual({reply["model_effective"] for reply in replies}, {"scripted"})
        self.assertEqual({reply["finish"] for reply in replies}, {"completed"})


class Reasoning(unittest.TestCase):
    """The server counts each byte of a prompt as a token, sealed reasoning too: so it is known whether that came back."""

    def prompts(self, model, **thinking):
        rules = [says("ROOT", 0, calls=[call("read", path="notes.txt")], **thinking), says("ROOT", 1, text="so")]
        served = {"models": [{"id": model, "window": 1000000, "max_output": 8192}], "bytes_per_token": 1, "rules": rules}
        with ModelServer(served) as server, Workspace(FILES) as space:
            done, result, events = run(space, *speaking("responses", server, model))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["response"], "so")
        return [reply["input_tokens"] for reply in of_type(events, "model.replied")]

    def test_a_model_that_reasons_gets_its_reasoning_back(self):
        with_it, without = self.prompts("gpt-5-mini", thinking="thoughts"), self.prompts("gpt-5-mini")
        self.assertEqual(with_it[0], without[0])
        self.assertEqual(with_it[1], without[1] + 38)

    def test_a_model_that_does_not_reason_is_not_asked_to(self):
        self.assertEqual(self.prompts("gpt-4.1-mini", thinking="thoughts"), self.prompts("gpt-4.1-mini"))


class Trouble(unittest.TestCase):
    def end(self, *rules, flags=()):
        with Workspace(FILES) as space, ModelServer(script(*rules)) as server:
            done, result, events = run(space, *speaking("responses", server), *flags)
            self.tree = space.tree()
        self.assertEqual(done.returncode, 0, done.stderr)
        return result, events

    def test_a_busy_server_is_asked_again(self):
        result, events = self.end(says("ROOT", 0, status=429, retry_after="0", fail_times=1, then={"text": "now"}))
        self.assertEqual(result["response"], "now")
        self.assertEqual(len(of_type(events, "model.failed")), 1)

    def test_a_stream_that_breaks_off_is_asked_again(self):
        result, _ = self.end(says("ROOT", 0, text="a long enough text", drop="mid-stream", fail_times=1,
                                  then={"text": "whole"}))
        self.assertEqual(result["response"], "whole")

    def test_a_stream_without_an_end_is_asked_again(self):
        raw = ('data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call",'
               '"call_id":"c","name":"write","arguments":"{\\"path\\":\\"x\\",\\"content\\":\\"y\\"}"}}\n\n')
        result, _ = self.end(says("ROOT", 0, raw=raw, fail_times=1, then={"text": "whole"}))
        self.assertEqual(result["response"], "whole")
        self.assertNotIn("x", self.tree)

    def test_a_call_that_the_output_limit_cut_is_never_made(self):
        cut = {"name": "write", "arguments": "{\"path\":\"x\",\"content\":\"y\"}"}
        result, events = self.end(says("ROOT", 0, text="Now.", calls=[cut], finish="length"),
                                  says("ROOT", 1, text="so be it"))
        self.assertEqual(result["response"], "Now.so be it")  # what was said before the cut is a part of the answer
        self.assertNotIn("x", self.tree)
        self.assertEqual(of_type(events, "model.replied")[0]["completeness"], "cut")
        self.assertEqual(of_type(events, "tool.requested"), [])

    def test_a_child_at_its_limit_has_its_last_turn(self):
        result, events = self.end(
            says("ROOT", 0, calls=[call("spawn_agent", task="CHILD reads on", max_tool_calls=1)]),
            says("CHILD", 0, thinking="on", calls=[call("read", path="notes.txt")]),
            says("CHILD", 1, text="I have read 2 lines"),
            says("ROOT", 1, text="done"))
        self.assertEqual(result["response"], "done")
        self.assertIn("I have read 2 lines", of_type(events, "tool.finished")[-1]["text"])

    def test_arguments_that_need_no_guess_are_repaired_and_others_are_explained(self):
        result, events = self.end(
            says("ROOT", 0, calls=[{"name": "read", "arguments": "{'path': 'notes.txt', }"},
                                   {"name": "read", "arguments": "{\"path\": \"notes"}]),
            says("ROOT", 1, text="so"))
        self.assertEqual(result["response"], "so")
        answers = sorted(answer["text"] for answer in of_type(events, "tool.finished"))
        self.assertIn("second line", answers[0])
        self.assertIn("not a JSON object", answers[1])


PRICED = """
llm:
  providers:
    local: {{api: responses, base_url: "{url}"}}
  models:
    priced: {{provider: local, model: scripted, max_context_tokens: 32768, price_in: 1, price_out: 2}}
budget:
  cost_usd: 0.02
"""


class Budget(unittest.TestCase):
    def test_money_is_counted_as_the_server_counts_and_its_limit_holds(self):
        look = call("grep", pattern="line|turn {{turn}}", path="notes.txt")
        rules = [{"when": {"first_user": "ROOT", "turn": 0, "last_lacks": NO_CALLS},
                  "reply": {"calls": [{"name": "spawn_agent", "arguments": {"task": "CHILD {{index}}"}, "repeat": 2}]}},
                 {"when": {"last_lacks": NO_CALLS}, "reply": {"thinking": "more", "text": "turn {{turn}} brings more ",
                                                          "repeat": 60, "calls": [look]}},
                 {"reply": {"text": "last words"}}]
        with ModelServer({**script(*rules), "bytes_per_token": 6}) as server, \
                Workspace(FILES, PRICED.format(url=server.url)) as space:
            _, result, events = run(space)
            stats = server.idle()
        billed = stats["prompt_tokens"] * 1 + stats["completion_tokens"] * 2
        self.assertLessEqual(billed, 20000)
        self.assertAlmostEqual(result["cost_usd"], billed / 1e6, places=9)
        self.assertTrue(of_type(events, "budget.settled"))


SEVERAL = """
llm:
  providers:
    first: {{base_url: "{url}", api_key_env: OPENAI_API_KEY}}
    second: {{api: anthropic, base_url: "{url}", api_key_env: ANTHROPIC_API_KEY}}
    third: {{api: responses, base_url: "{url}", api_key_env: OPENAI_API_KEY}}
  models:
    chat: {{provider: first, model: scripted, max_context_tokens: 32768}}
    messages: {{provider: second, model: scripted, max_context_tokens: 32768}}
    responses: {{provider: third, model: scripted, max_context_tokens: 32768}}
  pools:
    default: [{pool}]
"""


class Switching(unittest.TestCase):
    """One run, one agent: a model answers, the next request fails as often as it takes, and the pool goes on elsewhere."""

    def asked(self, pool, *rules):
        members = ", ".join(f"{{model: {name}}}" for name in pool)
        with ModelServer(script(*rules)) as server, \
                Workspace(FILES, SEVERAL.format(url=server.url, pool=members)) as space:
            done, result, _ = run(space)
            server.idle()
            paths = [request["path"] for request in server.requests()]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["response"], "The end.")
        names = {path: name for name, path in PATHS.items()}
        return [names[path] for path in paths]

    def test_from_each_api_to_each_other(self):
        rules = [says("ROOT", 0, thinking="begin", text="First.", calls=[call("read", path="notes.txt")]),
                 says("ROOT", 1, status=403, error="no more", fail_times=1,
                      then={"thinking": "go on", "text": "Second.", "calls": [call("read", path="missing.txt")]}),
                 says("ROOT", 2, thinking="still", text="Third.", calls=[call("read", path="notes.txt")]),
                 says("ROOT", 3, text="The end.")]
        for pool in itertools.permutations(PATHS, 2):
            with self.subTest(pool=pool):
                asked = self.asked(pool, *rules)
                self.assertEqual(asked[:3], [pool[0], pool[0], pool[1]])
                self.assertEqual(set(asked), set(pool))

    def test_chat_then_responses_then_messages_in_one_conversation(self):
        fails = {"status": 403, "error": "no more"}
        rules = [says("ROOT", 0, thinking="one", text="First.", calls=[call("read", path="notes.txt")]),
                 says("ROOT", 1, **fails, fail_times=1,
                      then={"thinking": "two", "text": "Second.", "calls": [call("read", path="missing.txt")]}),
                 says("ROOT", 2, **fails, fail_times=1,
                      then={"thinking": "three", "text": "Third.", "calls": [call("ls", path=".")]}),
                 says("ROOT", 3, text="The end.")]
        asked = self.asked(("chat", "responses", "messages"), *rules)
        # A member that refused with 403 is left out for the rest of the run.
        self.assertEqual(asked[:5], ["chat", "chat", "responses", "responses", "messages"])


class Kill(unittest.TestCase):
    def test_a_run_that_was_killed_goes_on_and_its_reasoning_comes_back_sealed(self):
        rules = [says("ROOT", 0, thinking="hand over", text="I ask.", calls=[call("spawn_agent", task="CHILD works")]),
                 says("CHILD", 0, thinking="look", calls=[call("read", path="notes.txt")]),
                 says("CHILD", 1, thinking="write", calls=[call("write", path="deep/report.txt", content="2\n")]),
                 says("CHILD", 2, text="written", chunk_delay_ms=200, chunks=50),
                 says("ROOT", 1, text="all done")]
        for event, count in (("model.replied", 1), ("tool.finished", 1), ("model.requested", 3), ("tool.finished", 2)):
            with self.subTest(event=event, count=count), ModelServer(script(*rules)) as server, \
                    Workspace(FILES) as space:
                process = space.start(["run", *speaking("responses", server), "--mode", "auto", "--json", "ROOT"],
                                      env=KEY)
                process.wait_for_event(event, count)
                run_id = process.lines[0]["run_id"]
                self.assertEqual(process.kill(), -9)
                done = space.run(["resume", run_id, "--json"], env=KEY)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json_lines(done.stdout)[-1]["response"], "all done")
                self.assertEqual(space.tree()["deep/report.txt"], "2\n")
                events = space.events(run_id)
                self.assertEqual([row["type"] for row in events].count("agent.subagent_closed"), 1)
                self.assertEqual([row["type"] for row in events].count("run.resumed"), 1)
                server.idle()


if __name__ == "__main__":
    unittest.main()
