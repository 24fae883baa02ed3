"""A run against llama.cpp's server as vendors.py emulates it: its template insists on alternating roles and on ids of nine characters, its
window is told by /props, and it answers 503 while it loads."""
import json
import unittest

from harness import Workspace, json_lines
from vendors import LlamaCpp, chat_chunk, chat_say, chat_usage

FILES = {"a.txt": "one line\n", "long.txt": "a line of a long file\n" * 500}


def chat_calls(request, *calls, text=None):
    """A streamed answer that calls tools: (name, arguments) each. With this template the model writes ids of nine characters."""
    request.start()
    delta = {"content": text} if text else {}
    delta["tool_calls"] = [{"index": i, "id": f"Call{request.number:03}{i:02}", "type": "function",
                            "function": {"name": name, "arguments": json.dumps(arguments)}}
                           for i, (name, arguments) in enumerate(calls)]
    prompt = len(json.dumps(request.body, ensure_ascii=False).encode()) // 4
    request.events(chat_chunk({"role": "assistant", **delta}), chat_chunk(finish="tool_calls"),
                   chat_usage(prompt, len(json.dumps(delta)) // 4), "[DONE]")


def text_of(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def first_user(request):
    return next(text_of(message) for message in request.body["messages"] if message["role"] == "user")


def turns(request):
    return sum(message["role"] == "assistant" for message in request.body["messages"])


class Server(unittest.TestCase):
    def run_with(self, answer, *flags, config=None, overflows=0, **server):
        with LlamaCpp(answer, **server) as llama, Workspace(FILES, config) as space:
            self.done = space.run(["run", *llama.flags(), "--mode", "auto", "--json", *flags, "ROOT"])
            # That a result is not followed by a message of the user is learnt from the first refusal.
            over = [words for words in llama.refusals if "exceeds the available context size" in words]
            self.assertEqual(len(over), overflows, llama.refusals)
            self.assertIn([words for words in llama.refusals if words not in over], ([], [llama.ALTERNATE]))
            self.requests = llama.requests
        self.result = json_lines(self.done.stdout)[-1]
        self.assertEqual(self.done.returncode, 0, self.result)

    def test_calls_and_their_results(self):
        def answer(request):
            if turns(request) == 0:
                chat_calls(request, ("read", {"path": "a.txt"}), ("read", {"path": "missing.txt"}), text="Let me look.")
            else:
                chat_say(request, "It has one line.")
        self.run_with(answer)
        self.assertEqual(self.result["response"], "It has one line.")

    def test_an_empty_reply_is_asked_about(self):
        def answer(request):
            chat_say(request, "" if request.number < 1 else "done")
        self.run_with(answer)
        self.assertEqual(self.result["response"], "done")

    def test_a_child_at_the_end_of_its_budget(self):
        def answer(request):
            if first_user(request).startswith("ROOT"):
                if turns(request) == 0:
                    chat_calls(request, ("spawn_agent", {"task": "CHILD", "max_tool_calls": 5}))
                else:
                    chat_say(request, "all done")
            elif len(request.body["messages"]) < 14:
                chat_calls(request, ("read", {"path": "a.txt", "limit": turns(request) + 1}))
            else:
                chat_say(request, "what I have")
        self.run_with(answer)
        self.assertEqual(self.result["response"], "all done")

    def test_a_conversation_that_is_compacted(self):
        def answer(request):
            last = text_of(request.body["messages"][-1])
            if first_user(request).startswith("ROOT"):
                if turns(request) == 0:
                    chat_calls(request, ("spawn_agent", {"task": "CHILD"}))
                else:
                    chat_say(request, "all done")
            elif "ummar" in last and "COMPACTED" not in last:
                chat_say(request, "COMPACTED summary of the work")
            elif any("COMPACTED" in text_of(message) for message in request.body["messages"]):
                chat_say(request, "the end")
            else:
                chat_calls(request, ("read", {"path": "long.txt", "offset": 100 * turns(request) + 1, "limit": 99}),
                          text="I say much beside each call. " * 150)
        self.run_with(answer, config="sub_agent: {default_budget: {max_tokens: 8192}}\n")
        self.assertEqual(self.result["response"], "all done")
        self.assertTrue(any("COMPACTED" in json.dumps(request.body) for request in self.requests))

    def test_a_window_that_is_smaller_than_the_server_says(self):
        def answer(request):
            if turns(request) < 9 and not any("the first part" in text_of(message) for message in request.body["messages"]):
                chat_calls(request, ("read", {"path": "long.txt", "offset": 100 * turns(request) + 1, "limit": 200}))
            elif request.body["messages"][-1]["role"] == "user" and "ummar" in text_of(request.body["messages"][-1]):
                chat_say(request, "the first part was read")
            else:
                chat_say(request, "the end")
        self.run_with(answer, window=8000, told=32768, overflows=1)
        self.assertEqual(self.result["response"], "the end")

    def test_a_model_that_is_still_loading_is_waited_for(self):
        self.run_with(lambda request: chat_say(request, "loaded"), loading=2)
        self.assertEqual(self.result["response"], "loaded")


if __name__ == "__main__":
    unittest.main()
