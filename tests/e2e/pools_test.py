"""Pools as a user meets them: which model answers, what is said about one that does not, what is shown of an answer that broke
off, and what a wrong reference in the config costs. Each over both APIs, as lines, as JSON and on a terminal."""
import re
import unittest

from harness import ModelServer, Workspace, json_lines, program
from terminal_test import Terminal

CONFIG = """llm:
  providers:
    one: {{base_url: "{one}", api: {api}, api_key_env: KEY_ONE}}
    two: {{base_url: "{two}", api: {api}, api_key_env: KEY_TWO}}
  models:
    first: {{provider: one, model: scripted, max_context_tokens: 32768}}
    second: {{provider: two, model: scripted, max_context_tokens: 32768}}
  pools:
    default: [{{model: first}}, {{model: second}}]
"""
KEYS = {"KEY_ONE": "key-one", "KEY_TWO": "key-two"}
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


class Pool:
    """Two servers, each with a key and rules of its own, and a workspace whose default pool has both."""

    def __init__(self, test, api, first, second):
        self.servers = [ModelServer(script(*rules), key=key)
                        for rules, key in ((first, "key-one"), (second, "key-two"))]
        for server in self.servers:
            test.addCleanup(server.stop)
        self.space = Workspace({"notes.txt": "a line\n"},
                               CONFIG.format(one=self.servers[0].url, two=self.servers[1].url, api=api))
        test.addCleanup(self.space.close)
        self.space.environment.update(KEYS)

    def run(self, *flags, keys=None):
        return self.space.run(["run", "--mode", "auto", *flags, "ROOT"], env=keys)

    def events(self):
        (row,) = self.space.query("SELECT id FROM runs")
        return self.space.events(row["id"])

    def asked(self):
        """Statuses by server: what each answered, in order."""
        return [[request["status"] for request in server.requests()] for server in self.servers]


class Both(unittest.TestCase):
    """Runs a check for each API."""

    def both(self, check):
        for api in PATHS:
            with self.subTest(api):
                check(api)


class Order(Both):
    def test_every_call_starts_with_the_first_model_and_falls_back_for_itself(self):
        def check(api):
            read = {"calls": [call("read", path="notes.txt")]}
            pool = Pool(self, api,
                        [rule({"status": 500, "error": "a bad moment", "fail_times": 1, "then": read}, turn=0),
                         rule({"text": "first again"})],
                        [rule(read, turn=0), rule({"text": "second again"})])
            done = pool.run("--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], "first again")
            asked = [payload["name"] for payload in of_type(pool.events(), "model.requested")]
            self.assertEqual(asked, ["first", "second", "first"])
            (failed,) = of_type(pool.events(), "model.failed")
            self.assertEqual((failed["fallback"], failed["http_status"]), ("second", 500))
        self.both(check)

    def test_while_the_first_provider_has_all_wait_the_second_is_asked_at_once(self):
        def check(api):
            read = {"calls": [call("read", path="notes.txt")]}
            pool = Pool(self, api, [rule({"status": 429, "retry_after": "5", "error": "too much"})],
                        [rule(read, turn=0), rule({"calls": [call("ls", path=".")]}, turn=1), rule({"text": "the second did it"})])
            done = pool.run()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pool.asked(), [[429], [200, 200, 200]])
            failed = of_type(pool.events(), "model.failed")
            self.assertEqual([one.get("sent") for one in failed], [None, "no", "no"])
            self.assertIn("everybody waits for this provider (429)", failed[1]["error"])
        self.both(check)

    def test_each_child_falls_back_for_itself(self):
        def check(api):
            pool = Pool(self, api,
                        [rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="ROOT", turn=0),
                         rule({"status": 529, "error": "overloaded"}, first_user="CHILD"),
                         rule({"text": "the root is done"}, first_user="ROOT")],
                        [rule({"text": "the child is done"}, first_user="CHILD")])
            done = pool.run("--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], "the root is done")
            self.assertEqual(pool.asked(), [[200, 529, 200], [200]])
        self.both(check)

    def test_a_request_that_the_first_model_answers_never_reaches_the_second(self):
        def check(api):
            pool = Pool(self, api, [rule({"text": "here"})], [rule({"text": "there"})])
            self.assertEqual(pool.run().returncode, 0)
            self.assertEqual(pool.asked(), [[200], []])
        self.both(check)


class RefusedKeys(Both):
    WRONG = {"KEY_ONE": "no-key"}

    def pool(self, api):
        return Pool(self, api,
                    [rule({"text": "never"})],
                    [rule({"calls": [call("read", path="notes.txt")]}, turn=0), rule({"text": "the second answers"})])

    def check_warning(self, api, errors):
        """One warning however many calls were refused, with the server, the reason and who answers; never the key."""
        (warning,) = [line for line in errors.splitlines() if "warning:" in line]
        self.assertIn(PATHS[api] + " answered HTTP 401", warning)
        self.assertIn("check the API key", warning)
        self.assertTrue(warning.endswith("the pool goes on with second"), warning)
        self.assertNotIn("no-key", errors)

    def test_as_lines(self):
        def check(api):
            done = self.pool(api).run(keys=self.WRONG)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("the second answers", done.stdout)
            self.check_warning(api, done.stderr)
        self.both(check)

    def test_as_json(self):
        def check(api):
            pool = self.pool(api)
            done = pool.run("--json", keys=self.WRONG)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check_warning(api, done.stderr)
            failed = of_type(pool.events(), "model.failed")
            self.assertEqual([(payload["class"], payload["http_status"], payload["fallback"]) for payload in failed],
                             [("provider", 401, "second")])  # and is left out from then on
            self.assertEqual(json_lines(done.stdout)[-1]["response"], "the second answers")
        self.both(check)

    def test_on_a_terminal(self):
        def check(api):
            pool = self.pool(api)
            pool.space.environment.update(self.WRONG)
            terminal = Terminal(pool.space, [program("CADRE"), "run", "--store", pool.space.store, "ROOT"], columns=200)
            self.addCleanup(terminal.close)
            self.assertEqual(terminal.wait_for_end(), 0)
            self.check_warning(api, terminal.history())
        self.both(check)

    def test_without_another_model_it_is_the_error_of_the_run_and_no_warning(self):
        def check(api):
            pool = self.pool(api)
            done = pool.run("--model", "first", keys=self.WRONG)
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("warning", done.stderr)
            self.assertIn("answered HTTP 401", done.stderr)
        self.both(check)


class AllFail(Both):
    def test_the_last_models_error_is_the_runs(self):
        def check(api):
            pool = Pool(self, api, [rule({"status": 500, "error": "the first is broken"})],
                        [rule({"status": 400, "error": "the second will not"})])
            done = pool.run()
            self.assertEqual(done.returncode, 1)
            self.assertIn("the second will not", done.stderr)
            self.assertNotIn("the first is broken", done.stderr)
        self.both(check)

    def test_in_json_each_failure_is_an_event_and_the_last_is_the_result(self):
        def check(api):
            pool = Pool(self, api, [rule({"status": 500, "error": "the first is broken"})],
                        [rule({"status": 400, "error": "the second will not"})])
            done = pool.run("--json")
            result = json_lines(done.stdout)[-1]
            self.assertEqual((done.returncode, result["status"], result["success"]), (1, "error", False))
            self.assertIn("the second will not", result["error"])
            errors = [payload["error"] for payload in of_type(pool.events(), "model.failed")]
            self.assertEqual(len(errors), 2)
            self.assertIn("the first is broken", errors[0])
            self.assertIn("the second will not", errors[1])
        self.both(check)

    def test_a_childs_last_error_is_what_its_parent_reads(self):
        def check(api):
            pool = Pool(self, api,
                        [rule({"calls": [call("spawn_agent", task="CHILD")]}, first_user="ROOT", turn=0),
                         rule({"status": 500, "error": "the first is broken"}, first_user="CHILD"),
                         rule({"text": "so be it"}, first_user="ROOT")],
                        [rule({"status": 400, "error": "the second will not"}, first_user="CHILD")])
            done = pool.run("--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            (answer,) = of_type(pool.events(), "tool.finished")
            self.assertIn("Sub-agent failed: ", answer["text"])
            self.assertIn("the second will not", answer["text"])
            self.assertNotIn("the first is broken", answer["text"])
        self.both(check)


class BrokenOff(Both):
    """The first model's answer breaks off half-way; the second's begins with the same words."""

    HALF = "The harbour has seven cranes, and the oldest of them is painted in a red that nobody mixes any more. "
    WHOLE = HALF + "That is all."

    def pool(self, api):
        return Pool(self, api,
                    [rule({"text": self.HALF * 3, "chunks": 12, "chunk_delay_ms": 60, "drop": "mid-stream"})],
                    [rule({"text": self.WHOLE, "chunks": 4, "delay_ms": 300})])

    def test_as_lines_the_answer_is_shown_once_as_news_and_once_as_the_result(self):
        def check(api):
            done = self.pool(api).run()
            self.assertEqual(done.returncode, 0, done.stderr)
            news, result = done.stdout.split("\n\n", 1)
            self.assertEqual((news.count("seven cranes"), result.count("seven cranes")), (1, 1), done.stdout)
            self.assertIn(self.WHOLE, result)
        self.both(check)

    def test_quiet_prints_the_answer_alone(self):
        def check(api):
            done = self.pool(api).run("--quiet")
            self.assertEqual((done.returncode, done.stdout), (0, self.WHOLE + "\n"), done.stderr)
        self.both(check)

    def test_in_json_what_broke_off_is_told_apart_and_is_in_no_answer(self):
        def check(api):
            pool = self.pool(api)
            done = pool.run("--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            (failed,) = of_type(pool.events(), "model.failed")
            self.assertTrue((self.HALF * 3).startswith(failed["partial"]) and failed["partial"], failed)
            (replied,) = of_type(pool.events(), "model.replied")
            self.assertEqual(replied["text"], self.WHOLE)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], self.WHOLE)
        self.both(check)

    def test_on_a_terminal_the_half_is_gone_when_the_whole_is_there(self):
        def check(api):
            pool = self.pool(api)
            terminal = Terminal(pool.space, [program("CADRE"), "run", "--store", pool.space.store, "ROOT"], columns=160)
            self.addCleanup(terminal.close)
            terminal.wait_for("seven cranes|painted in a red")
            self.assertEqual(terminal.wait_for_end(), 0)
            shown = re.sub(r"\s+", " ", terminal.history())
            self.assertEqual(shown.count(self.WHOLE), 1, shown)
            self.assertEqual(shown.count("seven cranes"), 1, shown)
        self.both(check)

    def test_the_next_request_holds_the_whole_answer_and_nothing_of_the_half(self):
        """The conversation goes on from the second's answer: the strict server would refuse two answers in a row."""
        def check(api):
            pool = Pool(self, api,
                        [rule({"text": self.HALF * 3, "drop": "mid-stream"}, turn=0),
                         rule({"text": "turn {{turn}}"})],
                        [rule({"text": self.WHOLE, "calls": [call("read", path="notes.txt")]}, turn=0)])
            done = pool.run("--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], "turn 1")
            self.assertEqual([server.stats()["refused"] for server in pool.servers], [0, 0])
        self.both(check)


class References(unittest.TestCase):
    """What a pool names must be there: the start stops with file, line and column, and nothing was asked."""

    LINES = CONFIG.format(one="http://127.0.0.1:1/v1", two="http://127.0.0.1:1/v1", api="openai")

    def refused(self, config, needle, expected):
        """needle stands once in the config; the error must point at it."""
        self.assertEqual(config.count(needle), 1, needle)
        before = config[:config.index(needle)]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        with Workspace({}, config) as space:
            for flags in ([], ["--json"]):
                done = space.run(["run", *flags, "ROOT"], env=KEYS)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"cadre.yaml:{line}:{column}:", done.stderr)
                self.assertRegex(done.stderr, expected)
            self.assertEqual(space.query("SELECT id FROM runs"), [])

    def test_a_model_that_a_pool_names_and_nobody_defines(self):
        self.refused(self.LINES.replace("{model: second}]", "{model: sceond}]"), "sceond", "sceond")

    def test_a_provider_that_a_model_names_and_nobody_defines(self):
        self.refused(self.LINES.replace("{provider: two,", "{provider: tow,"), "tow,", "tow")

    def test_a_default_pool_that_nobody_defines(self):
        self.refused(self.LINES + "  default_pool: smart\n", "smart", "smart")

    def test_an_allowed_model_that_nobody_defines(self):
        self.refused(self.LINES + "  allowed_models: [first, thrid]\n", "thrid", "thrid")

    def test_a_pool_without_models(self):
        self.refused(self.LINES + "    empty: []\n", "[]", "at least one|empty")


if __name__ == "__main__":
    unittest.main()
