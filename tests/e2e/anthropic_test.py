"""Runs over Anthropic's Messages API: the same scripts end as they do over Chat Completions, thoughts come back unchanged,
and one run may use both APIs. The model server refuses what the real API refuses, and it must have refused nothing."""
import unittest

from harness import ModelServer, Workspace, json_lines

KEY = {"ANTHROPIC_API_KEY": "sk-any", "OPENAI_API_KEY": "sk-other"}
FILES = {"notes.txt": "first line\nsecond line\n"}
LIFE = ["created", "started", "attempt", "waiting_for_merge", "completed", "closed"]


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def says(who, turn, **reply):
    return {"when": {"first_user": who, "turn": turn}, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def run(server, space, *flags):
    """A finished `cadre run --json` of the task ROOT: its process, its last line and its events."""
    done = space.run(["run", *flags, "--json", "--mode", "auto", "ROOT"], env=KEY)
    lines = json_lines(done.stdout)
    return done, lines[-1], space.events(lines[0]["run_id"])


def speaking(api, server):
    return ["--api", api, *server.flags()]


THREAD = script(
    says("ROOT", 0, thinking="somebody \"else\"\nshould", text="I ask somebody.",
         calls=[call("spawn_agent", task="CHILD counts the lines of notes.txt")]),
    says("CHILD", 0, thinking="read it", calls=[call("read", path="notes.txt"), call("read", path="missing.txt")]),
    says("CHILD", 1, thinking="two", text="notes.txt has 2 lines"),
    says("ROOT", 1, calls=[call("write", path="answer.txt", content="2 lines\n")]),
    says("ROOT", 2, text="The answer is in answer.txt"))


class Thread(unittest.TestCase):
    """The root spawns a child, the child reads, the root writes: over both APIs."""

    @classmethod
    def setUpClass(cls):
        cls.ends = {}
        for api in ("openai", "anthropic"):
            space = Workspace(FILES)
            cls.addClassCleanup(space.close)
            with ModelServer(THREAD) as server:
                done, result, events = run(server, space, *speaking(api, server))
                server.idle()
                cls.ends[api] = (done, result, events, space.tree(), server.requests())

    def test_the_run_completes_and_the_root_writes_what_it_learned(self):
        done, result, _, tree, _ = self.ends["anthropic"]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["response"], "The answer is in answer.txt")
        self.assertEqual(tree["answer.txt"], "2 lines\n")

    def test_every_request_went_to_the_messages_api(self):
        requests = [request for request in self.ends["anthropic"][4] if request["method"] == "POST"]
        self.assertEqual([request["path"] for request in requests], ["/v1/messages"] * 5)

    def test_both_apis_leave_the_same_events(self):
        kinds = [[event["type"] for event in self.ends[api][2]] for api in ("openai", "anthropic")]
        self.assertEqual(kinds[0], kinds[1])

    def test_the_childs_life_is_logged_in_order_and_once(self):
        prefix = "agent.subagent_"
        life = [event["type"].removeprefix(prefix) for event in self.ends["anthropic"][2]
                if event["type"].startswith(prefix)]
        self.assertEqual(life, LIFE)

    def test_thoughts_are_in_the_log_for_the_api_that_had_them(self):
        extras = [event["payload"].get("extras") for event in self.ends["anthropic"][2]
                  if event["type"] == "model.replied"]
        kept = [entry for entry in extras if entry]
        self.assertEqual({entry["api"] for entry in kept}, {"anthropic"})
        self.assertEqual(kept[0]["content"][0]["thinking"], "somebody \"else\"\nshould")

    def test_the_server_counted_what_was_spent(self):
        replies = [event["payload"] for event in self.ends["anthropic"][2] if event["type"] == "model.replied"]
        self.assertTrue(all(reply["input_tokens"] > 0 and reply["output_tokens"] > 0 for reply in replies))
        self.assertEqual({reply["model_effective"] for reply in replies}, {"scripted"})


class Trouble(unittest.TestCase):
    def end(self, *rules, flags=()):
        with Workspace(FILES) as space, ModelServer(script(*rules)) as server:
            done, result, events = run(server, space, *speaking("anthropic", server), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return result, events

    def test_an_overloaded_server_is_asked_again(self):
        result, events = self.end(says("ROOT", 0, status=529, error="Overloaded", retry_after="0", fail_times=1,
                                       then={"text": "now"}))
        self.assertEqual(result["response"], "now")
        self.assertEqual([event["type"] for event in events].count("model.failed"), 1)

    def test_a_stream_that_breaks_off_is_asked_again(self):
        result, _ = self.end(says("ROOT", 0, text="a long enough text", drop="mid-stream", fail_times=1,
                                  then={"text": "whole"}))
        self.assertEqual(result["response"], "whole")

    def test_a_child_at_its_limit_has_its_last_turn(self):
        result, events = self.end(
            says("ROOT", 0, calls=[call("spawn_agent", task="CHILD reads on", max_tool_calls=1)]),
            says("CHILD", 0, calls=[call("read", path="notes.txt")]),
            says("CHILD", 1, text="I have read 2 lines"),
            says("ROOT", 1, text="done"))
        self.assertEqual(result["response"], "done")
        answers = [event["payload"]["text"] for event in events if event["type"] == "tool.finished"]
        self.assertIn("I have read 2 lines", answers[-1])

    def test_arguments_that_need_no_guess_are_repaired_and_others_are_explained(self):
        result, events = self.end(
            says("ROOT", 0, calls=[{"name": "read", "arguments": "{'path': 'notes.txt', }"},
                                   {"name": "read", "arguments": "{\"path\": \"notes"}]),
            says("ROOT", 1, text="so"))
        self.assertEqual(result["response"], "so")
        answers = sorted(event["payload"]["text"] for event in events if event["type"] == "tool.finished")
        self.assertIn("second line", answers[0])
        self.assertIn("not a JSON object", answers[1])


BOTH = """
llm:
  providers:
    first: {{base_url: "{url}", api_key_env: OPENAI_API_KEY}}
    second: {{api: anthropic, base_url: "{url}", api_key_env: ANTHROPIC_API_KEY}}
  models:
    chat: {{provider: first, model: scripted, max_context_tokens: 32768}}
    messages: {{provider: second, model: scripted, max_context_tokens: 32768}}
  pools:
    default: [{pool}]
"""


class BothApis(unittest.TestCase):
    """One run, one agent: its first model answers, then fails, and the pool's next one goes on over the other API."""

    def check(self, pool, paths):
        rules = [says("ROOT", 0, thinking="begin", text="First.", calls=[call("read", path="notes.txt")]),
                 says("ROOT", 1, status=403, error="no more", fail_times=1,
                      then={"thinking": "go on", "text": "Second.", "calls": [call("read", path="missing.txt")]}),
                 says("ROOT", 2, text="Third.")]
        with ModelServer(script(*rules)) as server, \
                Workspace(FILES, BOTH.format(url=server.url, pool=pool)) as space:
            done, result, _ = run(server, space)
            server.idle()
            asked = [request["path"] for request in server.requests()]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(result["response"], "Third.")
        self.assertEqual(asked[:3], paths)
        self.assertEqual(set(asked), {"/v1/messages", "/v1/chat/completions"})

    def test_from_chat_completions_to_messages(self):
        self.check("{model: chat}, {model: messages}", ["/v1/chat/completions", "/v1/chat/completions", "/v1/messages"])

    def test_from_messages_to_chat_completions(self):
        self.check("{model: messages}, {model: chat}", ["/v1/messages", "/v1/messages", "/v1/chat/completions"])


if __name__ == "__main__":
    unittest.main()
