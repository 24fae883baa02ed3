"""What comes back from model servers: answers that are not answers, reasoning in the text, streams that break rules.
The server says byte by byte what vendors were seen to say."""
import socket
import sys
import threading
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Workspace, json_lines  # noqa: E402
from vendors import VendorServer, chat_chunk, chat_say, chat_usage  # noqa: E402



CONFIG_LARGE = """
llm:
  providers:
    vendor: {{api: responses, base_url: "{url}"}}
  models:
    large: {{provider: vendor, model: vendor-model, max_context_tokens: 4000000, max_tokens: 1000000}}
  pools:
    default: [{{model: large}}]
"""


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

    def test_a_content_filter_lets_no_call_run(self):
        def answer(request):
            request.start()
            request.events(call_chunk("bash", '{"command": "true"}'), chat_chunk(finish="content_filter"), "[DONE]")
        requests, events = self.refused(answer, "content filter stopped the answer")
        self.assertEqual(len(requests), 1)
        self.assertEqual([e for e in events if e["type"].startswith("tool.")], [])

    def test_white_space_is_asked_about_and_then_an_error(self):
        requests, _ = self.refused(lambda r: chat_say(r, " \n", "\n"), "empty or white space three times")
        self.assertEqual(len(requests), 3)

    def test_white_space_and_then_an_answer(self):
        last, done, _, _ = self.run_task(lambda r: chat_say(r, " \n" if r.number == 0 else "Here."))
        self.assertEqual(last["response"], "Here.")


def call_chunk(name, arguments="{}", call_id="call_1", index=0):
    return chat_chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function",
                                       "function": {"name": name, "arguments": arguments}}]})


class Streams(Answers):
    def completed(self, answer, response, api="openai", more=()):
        last, done, requests, events = self.run_task(answer, api, more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(last["response"], response)
        return requests, events

    def test_comments_and_data_that_is_not_json_are_skipped(self):
        """OpenRouter, "Streaming": comments such as ": OPENROUTER PROCESSING" come between chunks; proxies put them into data."""
        def answer(request):
            request.start()
            request.write(": OPENROUTER PROCESSING\n\n")
            request.events(": OPENROUTER PROCESSING", chat_chunk({"content": "It is "}), "processing…",
                           chat_chunk({"content": "four."}), chat_chunk(finish="stop"), "[DONE]")
        self.completed(answer, "It is four.")

    def test_a_stream_without_any_answer_says_what_came(self):
        def answer(request):
            request.start()
            request.events("no model is loaded", "[DONE]")
        last, done, requests, _ = self.run_task(answer)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the stream held no answer, but this: no model is loaded", last["error"])
        self.assertEqual(len(requests), 1)

    def test_a_line_of_megabytes_is_one_answer(self):
        """OpenAI API reference, Responses: response.completed repeats the whole output in one event."""
        text = "All work and no play. " * 150_000

        def answer(request):
            response = {"id": "resp_1", "object": "response", "status": "completed", "model": "vendor-model", "error": None,
                        "incomplete_details": None, "usage": {"input_tokens": 10, "output_tokens": 900_000},
                        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                                    "content": [{"type": "output_text", "text": text, "annotations": []}]}]}
            request.start()
            request.write("event: response.completed\n")
            request.events({"type": "response.completed", "response": response})
        with VendorServer(answer) as server, Workspace({}, CONFIG_LARGE.format(url=server.url)) as space:
            done = space.run(["run", "--json", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], text)
            self.assertEqual(len(server.requests), 1)

    def test_output_far_beyond_its_limit_is_cut(self):
        def answer(request):
            if request.number > 0:
                chat_say(request, "Short.")
                return
            request.start()
            while request.events(chat_chunk({"content": "for ever and ever " * 100})):
                pass
        requests, events = self.completed(answer, unittest.mock.ANY)
        replied = [e for e in events if e["type"] == "model.replied"][0]["payload"]
        self.assertEqual((replied["finish"], replied["completeness"]), ("length", "cut"))
        self.assertEqual([e for e in events if e["type"] == "run.completed"][0]["payload"]["response"], replied["text"] + "Short.")
        limit = [e for e in events if e["type"] == "model.requested"][0]["payload"]["output_limit"]
        self.assertLessEqual(len(replied["text"]), limit * 4)

    def test_a_call_without_a_name_costs_that_call_only(self):
        def answer(request):
            if request.number > 0:
                chat_say(request, "Done.")
                return
            request.start()
            request.events(call_chunk(""), call_chunk("x" * 300, call_id="call_2", index=1),
                           call_chunk("ls", call_id="call_3", index=2), chat_chunk(finish="tool_calls"), "[DONE]")
        requests, _ = self.completed(answer, "Done.")
        results = [m["content"] for m in requests[1].body["messages"] if m["role"] == "tool"]
        self.assertEqual(len(results), 3)
        self.assertIn("does not name a tool", results[0])
        self.assertIn("does not name a tool", results[1])
        self.assertNotIn("Error", results[2])

    def test_a_server_that_says_finish_and_hangs_is_not_waited_for(self):
        for api in ("openai", "anthropic"):
            with self.subTest(api=api):
                gone = threading.Event()

                def answer(request):
                    request.start()
                    if api == "openai":
                        request.events(chat_chunk({"content": "Four."}), chat_chunk(finish="stop"), chat_usage(77, 3))
                    else:
                        request.events({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
                                                                             "content": [], "model": "vendor-model",
                                                                             "usage": {"input_tokens": 77, "output_tokens": 1}}},
                                       {"type": "content_block_delta", "index": 0,
                                        "delta": {"type": "text_delta", "text": "Four."}},
                                       {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                                        "usage": {"output_tokens": 3}})
                    # Signs of life do not count: the answer is there. Without them it would be 120 s.
                    while not gone.wait(0.1) and request.write(": still here\n\n"):
                        pass
                try:
                    _, events = self.completed(answer, "Four.", api)
                finally:
                    gone.set()
                replied = [e for e in events if e["type"] == "model.replied"][0]["payload"]
                self.assertEqual((replied["input_tokens"], replied["output_tokens"]), (77, 3))


class Trouble(Answers):
    def test_an_overflow_is_logged_with_its_numbers(self):
        """GitHub, ggml-org/llama.cpp#15780."""
        error = {"error": {"code": 400, "message": "request (8708 tokens) exceeds the available context size (8192 tokens), try "
                           "increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 8708, "n_ctx": 8192}}
        _, _, _, events = self.run_task(lambda r: r.json(error, 400))
        failed = [e for e in events if e["type"] == "model.failed"][0]["payload"]
        self.assertEqual((failed["trouble"], failed["window"], failed["needed"]), ("overflow", 8192, 8708))

    def test_the_servers_request_id_is_stored_and_shown(self):
        """OpenAI: x-request-id, "Debugging requests"; Anthropic: request-id, "Request id"."""
        error = {"error": {"message": "no such model", "type": "invalid_request_error"}}
        last, done, _, events = self.run_task(lambda r: r.json(error, 400, {"x-request-id": "req_ab\tc-1"}))
        self.assertEqual([e for e in events if e["type"] == "model.failed"][0]["payload"]["server_request"], "req_abc-1")
        self.assertIn("(request id req_abc-1)", last["error"])

        def answer(request):
            request.start(headers={"request-id": "r" * 1000})
            request.events(chat_chunk({"content": "Four."}), chat_chunk(finish="stop"), "[DONE]")
        _, _, _, events = self.run_task(answer)
        self.assertEqual([e for e in events if e["type"] == "model.replied"][0]["payload"]["server_request"], "r" * 128)

    def test_mistrals_request_id_counts_before_that_of_its_network(self):
        """Mistral answers with mistral-correlation-id, and with Cloudflare's cf-ray."""
        headers = {"cf-ray": "9a-FRA", "mistral-correlation-id": "0199-ab"}
        _, _, _, events = self.run_task(lambda r: r.json({"message": "no such model"}, 400, headers))
        self.assertEqual([e for e in events if e["type"] == "model.failed"][0]["payload"]["server_request"], "0199-ab")

    def test_zero_usage_is_not_believed(self):
        last, _, _, events = self.run_task(lambda r: chat_say(r, "It is four.", usage=(0, 0)))
        replied = [e for e in events if e["type"] == "model.replied"][0]["payload"]
        self.assertNotIn("input_tokens", replied)
        self.assertGreater(last["tokens"], 100)

    def test_a_key_is_sent_without_white_space_around_it(self):
        config = """
llm:
  providers: {{vendor: {{base_url: "{url}", api_key_env: VENDOR_KEY}}}}
  models: {{only: {{provider: vendor, model: vendor-model}}}}
"""
        with VendorServer(lambda r: chat_say(r, "Hi.")) as server, Workspace({}, config.format(url=server.url)) as space:
            done = space.run(["run", "--json", "task"], env={"VENDOR_KEY": " sk-1234\r\n"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.requests[0].headers["Authorization"], "Bearer sk-1234")

    def test_a_proxy_that_is_down_is_named(self):
        with socket.socket() as closed, Workspace({}) as space:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
            process = space.start(["run", "--base-url", "http://models.example/v1", "--model", "m", "--json", "task"],
                                  env={"http_proxy": f"http://me:pass-word@127.0.0.1:{port}", "no_proxy": "none.example", "NO_PROXY": ""})
            failed = process.wait_for_event("model.failed")
            self.assertIn(f"the proxy http://127.0.0.1:{port} (from http_proxy)", failed["payload"]["error"])
            self.assertNotIn("pass-word", process.text + process.errors)
            process.kill()

    def test_a_wrong_key_is_final(self):
        error = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}}
        _, done, requests, events = self.run_task(lambda r: r.json(error, 401))
        self.assertEqual(len(requests), 1)
        self.assertEqual([e for e in events if e["type"] == "model.failed"][0]["payload"]["trouble"], "final")


if __name__ == "__main__":
    unittest.main()
