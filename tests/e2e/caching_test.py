"""Prompt caching: providers reuse the beginning of a request (tools, system prompt, messages) where it has the same bytes as
before. The raw requests of siblings, and of one agent from turn to turn, must begin alike; `show` and the reports say what the
cache saved."""
import json
import re
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines
from spawning import Recorder

APIS = ("openai", "responses", "anthropic")
KEY = {"ANTHROPIC_API_KEY": "sk-any", "OPENAI_API_KEY": "sk-other"}
MARK = re.compile(rb',"cache_control":\{[^}]*\}')  # moves on with each request and is not part of the prefix
WINDOW = 14000
CONFIG = """
llm:
  providers:
    local: {{api: {api}, base_url: "{url}", api_key_env: OPENAI_API_KEY}}
  models:
    small: {{provider: local, model: scripted, max_context_tokens: {window}{more}}}
"""


class Tap(Recorder):
    """Keeps the bytes of each request; answers pass unchanged."""

    @staticmethod
    def name_jobs(data, body):
        return data


def rule(reply, **when):
    return {"when": when, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def member(body, key):
    """The bytes of a member of the request, None where it has none. Quotes within texts are escaped, so only members match."""
    at = body.find(b'"%s":' % key.encode())
    if at < 0:
        return None
    start = at + len(key) + 3
    _, end = json.JSONDecoder().raw_decode(body[start:].decode())
    return body[start:start + len(body[start:].decode()[:end].encode())]


def shared(body):
    """What an agent's requests share, as bytes: tools, tool_choice and system prompt."""
    system = member(body, "system") or member(body, "instructions")
    if system is None:
        system = json.dumps([message for message in json.loads(body)["messages"] if message["role"] == "system"]).encode()
    return member(body, "tools"), member(body, "tool_choice"), system


def conversation(body):
    """The messages, without the list's end and without marks: a request that goes on from another one begins so."""
    return MARK.sub(b"", member(body, "messages") or member(body, "input"))[:-1]


class Prefixes(unittest.TestCase):
    def run_with(self, api, *rules, config=None):
        """One run over this API: its result, its events, the bytes of its requests, its files."""
        script = {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}
        with ModelServer(script) as server, Workspace({"notes.txt": "a line\n" * 900}) as space:
            tap = Tap(server.url)
            self.addCleanup(tap.close)
            flags = ["--api", api, "--base-url", tap.url, "--model", "scripted"]
            if config is not None:
                path = space.root / "small.yaml"
                path.write_text(CONFIG.format(api=api, url=tap.url, window=WINDOW, more=""))
                flags = ["--config", str(path)]
            done = space.run(["run", *flags, "--json", "--mode", "auto", "ROOT"], env=KEY)
            result = json_lines(done.stdout)[-1]
            self.assertIn("run_id", result, done.stderr)
            self.assertEqual(server.idle()["refused"], 0, server.stats())
            return result, space.events(result["run_id"]), tap.bodies, space.tree()

    @staticmethod
    def of(bodies, task):
        """The requests of the agent with this task."""
        return [body for body in bodies if re.search(rb'"(?:content|text)":"' + task.encode(), body)]

    def test_siblings_share_tools_and_system_prompt_byte_for_byte(self):
        for api in APIS:
            with self.subTest(api):
                _, _, bodies, _ = self.run_with(
                    api,
                    rule({"calls": [call("spawn_agent", task="ONE looks", scope="notes.txt", max_tool_calls=3),
                                    call("spawn_agent", task="TWO looks elsewhere", max_tool_calls=9, context="And a hint.")]},
                         first_user="ROOT", turn=0),
                    rule({"text": "done"}))
                (one,), (two,) = self.of(bodies, "ONE"), self.of(bodies, "TWO")
                self.assertEqual(shared(one), shared(two))
                self.assertIsNotNone(shared(one)[0])
                self.assertIn(b"You are a sub-agent", shared(one)[2])
                self.assertNotIn(b"looks", shared(one)[2])
                self.assertIn(b"3 tool calls", conversation(one))
                self.assertIn(b"9 tool calls", conversation(two))

    def goes_on(self, before, after):
        """The later request of the same agent has the earlier one as its beginning."""
        self.assertEqual(shared(before), shared(after))
        self.assertTrue(conversation(after).startswith(conversation(before)))

    def test_the_last_turn_keeps_tools_and_prefix(self):
        for api in APIS:
            with self.subTest(api):
                _, _, bodies, _ = self.run_with(
                    api,
                    rule({"calls": [call("spawn_agent", task="CHILD reads", max_tool_calls=1)]}, first_user="ROOT", turn=0),
                    rule({"text": "done"}, first_user="ROOT"),
                    rule({"text": "last words"}, first_user="CHILD", last=NO_CALLS),
                    rule({"calls": [call("ls", path=".")]}, first_user="CHILD"))
                first, last = self.of(bodies, "CHILD")
                self.assertIn(NO_CALLS.encode(), last)
                self.goes_on(first, last)

    def test_a_call_of_the_last_turn_is_logged_as_not_executed_and_the_text_counts(self):
        for api in APIS:
            with self.subTest(api):
                result, events, _, tree = self.run_with(
                    api,
                    rule({"calls": [call("spawn_agent", task="CHILD reads", max_tool_calls=1)]}, first_user="ROOT", turn=0),
                    rule({"text": "I was told: {{last}}"}, first_user="ROOT"),
                    rule({"text": "last words", "calls": [call("write", path="late.txt", content="x")]}, first_user="CHILD",
                         last=NO_CALLS),
                    rule({"calls": [call("ls", path=".")]}, first_user="CHILD"))
                self.assertIn("[BUDGET EXCEEDED] last words", result["response"])
                self.assertNotIn("late.txt", tree)
                finished = [event["payload"] for event in events if event["type"] == "tool.finished"]
                self.assertTrue(any("not executed" in one["text"] for one in finished))
                self.assertFalse(any(event["type"] == "tool.requested" and event["payload"]["tool"] == "write" for event in events))

    def summary(self, api, *rules):
        """A root that talks until it is asked for a summary; results are too short to be masked before. Its requests, its
        events, and the index of the first request for a summary."""
        talks = [rule({"text": "I think about it. ", "repeat": 200, "calls": [call("ls", path="./" * turn + ".")]}, turn=turn)
                 for turn in range(20)]
        ended = rule({"text": "all was said"}, last="Summary of your work")
        _, events, bodies, _ = self.run_with(api, *rules, ended, *talks, config=True)
        asked = [event["payload"]["origin"] for event in events if event["type"] == "model.requested"]
        self.assertIn("compact", asked)
        return bodies, events, asked.index("compact")

    def test_the_request_for_a_summary_keeps_tools_and_prefix(self):
        for api in APIS:
            with self.subTest(api):
                bodies, _, at = self.summary(api, rule({"text": "I read much."}, last=NO_CALLS))
                self.goes_on(bodies[at - 1], bodies[at])
                self.assertEqual(shared(bodies[at]), shared(bodies[at + 1]))
                self.assertIn(b"Write a summary", bodies[at])

    def test_a_call_in_place_of_a_summary_is_corrected_once(self):
        for api in APIS:
            with self.subTest(api):
                bodies, events, at = self.summary(
                    api, rule({"text": "I read much."}, last="this call was not executed"),
                    rule({"calls": [call("write", path="late.txt", content="x")]}, last="Write a summary"))
                self.goes_on(bodies[at], bodies[at + 1])
                self.assertIn(b"this call was not executed", bodies[at + 1])
                (compacted,) = [event["payload"] for event in events if event["type"] == "agent.compacted"][:1]
                self.assertEqual((compacted["outcome"], compacted["text"]), ("ok", "Summary of your work so far:\nI read much."))


class Shown(unittest.TestCase):
    USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
             "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300}}

    def test_show_and_the_report_tell_the_hit_rate_and_what_was_saved(self):
        spawns = rule({"calls": [call("spawn_agent", task="CHILD")], "usage": self.USAGE}, first_user="ROOT", turn=0)
        script = {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
                  "rules": [spawns, {"reply": {"text": "done", "usage": self.USAGE}}]}
        prices = ", price_in: 3, price_out: 15, price_cached: 0.3, price_cache_write: 3.75"
        with ModelServer(script) as server, Workspace({}) as space:
            config = space.root / "prices.yaml"
            config.write_text(CONFIG.format(api="openai", url=server.url, window=32768, more=prices))
            done = space.run(["run", "--config", str(config), "ROOT"], env=KEY)
            run_id = "last"
            text = space.run(["show", run_id]).stdout
            shown = json_lines(space.run(["show", run_id, "--json"]).stdout)[0]
            report = space.run(["show", run_id, "--report"]).stdout
        # Three requests, each saves 600 * 2.7 - 300 * 0.75 dollars per million tokens.
        saved = 3 * (600 * 2.7 - 300 * 0.75) / 1e6
        self.assertRegex(text, r"(?m)^input +3000 tokens, 1800 \(60 %\) from the cache, saved \$0\.004185$")
        self.assertIn(" 60 % cached", text)
        self.assertIn("  60 % of input cached  1 child  ", done.stdout)
        self.assertEqual({key: shown["input"][key] for key in ("input_tokens", "cached_tokens", "cache_write_tokens", "hit_rate")},
                         {"input_tokens": 3000, "cached_tokens": 1800, "cache_write_tokens": 900, "hit_rate": 0.6})
        self.assertAlmostEqual(shown["input"]["saved_usd"], saved, 12)
        self.assertEqual(shown["children"][0]["input"]["cached_tokens"], 600)
        self.assertIn("- input: 1000 tokens, 600 (60 %) from the cache, saved $0.001395\n", report)


if __name__ == "__main__":
    unittest.main(verbosity=2)
