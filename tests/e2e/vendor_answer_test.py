"""What comes back from model servers: answers that are not answers, reasoning in the text, streams that break rules.
The server says byte by byte what vendors were seen to say."""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Workspace, json_lines  # noqa: E402
from vendors import VendorServer, chat_chunk, chat_say, chat_usage  # noqa: E402



class Answers(unittest.TestCase):
    def run_task(self, answer, api="openai", more=(), env=None):
        """The run's last JSON line, the completed process, the requests, and the run's events by type."""
        with VendorServer(answer) as server, Workspace({}) as space:
            done = space.run(["run", *server.flags(api), *more, "--json", "task"], env=env)
            lines = json_lines(done.stdout)
            events = space.events(lines[0]["run_id"]) if lines else []
            return lines[-1] if lines else {}, done, server.requests, events


class Reasoning(Answers):
    def test_think_at_the_start_is_not_the_answer(self):
        last, done, requests, _ = self.run_task(
            lambda r: chat_say(r, "<th", "ink>\nTwo and two…\n</thi", "nk>\n\nIt is ", "four."))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(last["response"], "It is four.")
        self.assertEqual(len(requests), 1)

    def test_a_closing_tag_without_its_opening_one(self):
        """Qwen3-Thinking's and DeepSeek-R1's templates write <think> into the prompt (their model cards)."""
        last, done, _, _ = self.run_task(lambda r: chat_say(r, "Two and two…\n</think>\n\nIt is four."))
        self.assertEqual(last["response"], "It is four.")


class NotAnAnswer(Answers):
    def refused(self, answer, words, api="openai"):
        last, done, requests, events = self.run_task(answer, api)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(last["status"], "error")
        self.assertIn(words, last["error"])
        return requests, events

    def test_an_openai_refusal_is_an_error_with_its_words(self):
        """OpenAI API reference, chat completion chunk: delta.refusal."""
        def answer(request):
            request.start()
            request.events(chat_chunk({"refusal": "I cannot help with that."}), chat_chunk(finish="stop"), "[DONE]")
        requests, events = self.refused(answer, "the model refused to answer: I cannot help with that")
        self.assertEqual(len(requests), 1)
        failed = [e for e in events if e["type"] == "model.failed"][0]
        self.assertEqual(failed["payload"]["trouble"], "filtered")

    def test_an_anthropic_refusal_is_an_error_with_its_words(self):
        """Anthropic API, "Handling stop reasons": refusal comes with HTTP 200."""
        def answer(request):
            request.json({"id": "msg_1", "type": "message", "role": "assistant", "model": "vendor-model",
                          "content": [{"type": "text", "text": "I will not do this."}], "stop_reason": "refusal",
                          "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}})
        requests, _ = self.refused(answer, "the model refused to answer: I will not do this", "anthropic")
        self.assertEqual(len(requests), 1)

    def test_a_content_filter_is_named(self):
        requests, _ = self.refused(lambda r: chat_say(r, "Well", finish="content_filter"), "content filter stopped the answer")
        self.assertEqual(len(requests), 1)

    def test_white_space_is_asked_about_and_then_an_error(self):
        requests, _ = self.refused(lambda r: chat_say(r, " \n", "\n"), "empty or white space three times")
        self.assertEqual(len(requests), 3)

    def test_white_space_and_then_an_answer(self):
        last, done, _, _ = self.run_task(lambda r: chat_say(r, " \n" if r.number == 0 else "Here."))
        self.assertEqual(last["response"], "Here.")


class Trouble(Answers):
    def test_an_overflow_is_logged_with_its_numbers(self):
        """GitHub, ggml-org/llama.cpp#15780."""
        error = {"error": {"code": 400, "message": "request (8708 tokens) exceeds the available context size (8192 tokens), try "
                           "increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 8708, "n_ctx": 8192}}
        _, _, _, events = self.run_task(lambda r: r.json(error, 400))
        failed = [e for e in events if e["type"] == "model.failed"][0]["payload"]
        self.assertEqual((failed["trouble"], failed["window"], failed["needed"]), ("overflow", 8192, 8708))

    def test_a_wrong_key_is_final(self):
        error = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}
        _, done, requests, events = self.run_task(lambda r: r.json(error, 401))
        self.assertEqual(len(requests), 1)
        self.assertEqual([e for e in events if e["type"] == "model.failed"][0]["payload"]["trouble"], "final")


if __name__ == "__main__":
    unittest.main()
