"""What servers of Chat Completions do beside OpenAI's own: calls written as text, reasoning that wants to come back, filters,
errors inside of a stream. The model server refuses what the real API refuses, and it must have refused nothing."""
import json
import unittest

from harness import ModelServer, Workspace, json_lines

FILES = {"notes.txt": "first line\nsecond line\n"}
CONFIG = """
llm:
  providers:
    here: {{base_url: "{url}"}}
  models:
    first: {{provider: here, model: scripted, max_context_tokens: 32768{first}}}
    second: {{provider: here, model: other, max_context_tokens: 32768}}
  pools:
    default: [{pool}]
"""
ONE, BOTH = "{model: first}", "{model: first}, {model: second}"


def script(*rules):
    models = [{"id": name, "window": 32768, "max_output": 8192} for name in ("scripted", "other")]
    return {"models": models, "rules": list(rules)}


def says(turn, expects=None, **reply):
    rule = {"when": {"first_user": "ROOT", "turn": turn}, "reply": reply}
    return rule if expects is None else {**rule, "expects": expects}


def call(name, extra=None, **arguments):
    made = {"name": name, "arguments": arguments}
    return made if extra is None else {**made, "extra_content": extra}


class ChatTest(unittest.TestCase):
    def end(self, *rules, first="", pool=ONE, code=0):
        """The result and the events of a run of the task ROOT, and how many requests it took."""
        with ModelServer(script(*rules)) as server, \
                Workspace(FILES, CONFIG.format(url=server.url, first=first, pool=pool)) as space:
            done = space.run(["run", "--json", "--mode", "auto", "ROOT"])
            server.idle()
            lines = json_lines(done.stdout)
            self.assertEqual(done.returncode, code, done.stderr)
            return lines[-1], space.events(lines[0]["run_id"]), len(server.requests())


class TextCalls(ChatTest):
    """The model writes its calls into its text."""

    WRITTEN = ("I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"notes.txt\"}}\n</tool_call>\n"
               "<function=ls>\n<parameter=path>\n.\n</parameter>\n</function>")

    def test_they_run_where_the_model_is_said_to_do_so(self):
        result, events, _ = self.end(says(0, text=self.WRITTEN), says(1, text="There are two lines."),
                                     first=", text_tool_calls: true")
        self.assertEqual(result["response"], "There are two lines.")
        answers = [event["payload"]["text"] for event in events if event["type"] == "tool.finished"]
        self.assertEqual(len(answers), 2)
        self.assertIn("second line", "".join(answers))
        replied = [event["payload"] for event in events if event["type"] == "model.replied"]
        self.assertEqual(replied[0]["text"], "I look.")
        self.assertEqual([made["name"] for made in replied[0]["calls"]], ["read", "ls"])

    def test_elsewhere_they_are_text(self):
        result, events, _ = self.end(says(0, text=self.WRITTEN))
        self.assertEqual(result["response"], self.WRITTEN)
        self.assertNotIn("tool.finished", [event["type"] for event in events])

    def test_a_tool_that_was_not_offered_is_not_called(self):
        text = "<tool_call>{\"name\": \"launch\", \"arguments\": {}}</tool_call>"
        result, _, _ = self.end(says(0, text=text), first=", text_tool_calls: true")
        self.assertEqual(result["response"], text)


class Echo(ChatTest):
    """What came with a reply comes back with the message, unchanged; the server checks it."""

    DETAILS = [{"type": "reasoning.text", "text": "a \"b\"\nc", "signature": "s1", "index": 0},
               {"type": "reasoning.encrypted", "data": "AbC+/=", "id": "r1", "format": None, "index": 1}]

    def check(self, reasoning, extras):
        calls = [call("read", extras[0], path="notes.txt"), call("ls", extras[1], path=".")]
        expected = dict(reasoning)
        if any(extras):
            expected["extra_content"] = extras
        result, events, _ = self.end(says(0, reasoning=reasoning, text="I look.", calls=calls),
                                     says(1, expects=expected, text="Done."))
        self.assertEqual(result["response"], "Done.")
        return [event["payload"].get("extras") for event in events if event["type"] == "model.replied"]

    def test_reasoning_content(self):
        kept = self.check({"reasoning_content": "Somebody \"else\"\nshould \u00e4."}, [None, None])
        self.assertEqual(kept[0]["message"], {"reasoning_content": "Somebody \"else\"\nshould \u00e4."})
        self.assertIsNone(kept[1])

    def test_reasoning_and_its_details(self):
        self.check({"reasoning": "a b c", "reasoning_details": self.DETAILS}, [None, None])

    def test_signatures_of_calls(self):
        self.check({}, [{"google": {"thought_signature": "Cg=="}}, None])

    def test_an_answer_without_calls_brings_nothing_back(self):
        result, _, _ = self.end(says(0, reasoning={"reasoning_content": "hm"}, text="So far", finish="length"),
                                says(1, expects={}, text="Whole."))
        self.assertEqual(result["response"], "So farWhole.")  # the parts of an answer that was cut are joined


class Filter(ChatTest):
    """The provider's content filter stops an answer."""

    STOPPED = says(0, text="Well", finish="content_filter", fail_times=1, then={"text": "From the other."})

    def test_the_next_model_of_the_pool_is_asked(self):
        result, events, asked = self.end(self.STOPPED, pool=BOTH)
        self.assertEqual(result["response"], "From the other.")
        self.assertEqual(asked, 2)
        failed = [event["payload"] for event in events if event["type"] == "model.failed"]
        self.assertEqual([event["class"] for event in failed], ["provider"])

    def test_without_another_model_the_run_fails_and_says_why(self):
        result, _, asked = self.end(self.STOPPED, code=1)
        self.assertIn("content filter", json.dumps(result))
        self.assertEqual(asked, 1)


class Overload(ChatTest):
    """An error that tells of load inside of an answer that began well."""

    def test_it_is_asked_again_and_what_came_counts_as_spent(self):
        chunk = {"choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": None}]}
        error = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
        raw = "".join(f"data: {json.dumps(part)}\n\n" for part in (chunk, error))
        result, events, asked = self.end(says(0, raw=raw, fail_times=1, then={"text": "Whole."}))
        self.assertEqual(result["response"], "Whole.")
        self.assertEqual(asked, 2)
        failed = [event["payload"] for event in events if event["type"] == "model.failed"]
        self.assertEqual([(event["class"], event["http_status"], event["partial"]) for event in failed],
                         [("retry", 200, "Half")])


if __name__ == "__main__":
    unittest.main()
