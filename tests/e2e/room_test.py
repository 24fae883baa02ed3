"""Room for work: a default child reads ten files on a small window and is hardly ever compacted, and a server whose window is
smaller than config says does not end a run."""
import json
import unittest

from harness import NO_CALLS, ModelServer, Workspace, json_lines
from vendors import VendorServer, chat_say, chat_call

WINDOW = 32768
FILES = 10


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def mark(number):
    return f"mark-{number:03}."


def source(number, size=3072):
    """A file of 3 KB with its mark in the first line."""
    lines = [f"/* {mark(number)} */"]
    while sum(len(line) + 1 for line in lines) < size:
        lines.append(f"    table[{len(lines)}].offset = read_offset(buffer, {len(lines) * 7});")
    return "\n".join(lines) + "\n"


class Room(unittest.TestCase):
    def test_a_default_child_that_reads_ten_files_is_compacted_at_most_once(self):
        files = {f"file{n}.c": source(n) for n in range(FILES)}
        rules = [rule({"calls": [call("spawn_agent", task="CHILD reads ten files")]}, first_user="ROOT", turn=0),
                 rule({"text": "done"}, first_user="ROOT"),
                 rule({"text": "I read some files and noted what they hold."}, first_user="CHILD", last="Write a summary"),
                 *[rule({"text": f"File {n} fills a table. I look at the next one.", "calls": [call("read", path=f"file{n + 1}.c")]},
                        first_user="CHILD", last=mark(n), last_lacks=NO_CALLS) for n in range(FILES - 1)],
                 rule({"text": "All ten are read."}, first_user="CHILD", last=mark(FILES - 1)),
                 rule({"calls": [call("read", path="file0.c")]}, first_user="CHILD", last_lacks=NO_CALLS),
                 rule({"text": "last words"}, first_user="CHILD")]
        script = {"models": [{"id": "scripted", "window": WINDOW, "max_output": 4096}], "rules": rules}
        config = f"""llm:
  models: {{small: {{provider: local, model: scripted, max_context_tokens: {WINDOW}, max_tokens: 4096}}}}
"""
        with ModelServer(script) as server, Workspace(files) as space:
            path = space.root / "user.yaml"
            path.write_text(config.replace("llm:\n", 'llm:\n  providers: {local: {base_url: "%s"}}\n' % server.url))
            space.environment["CADRE_CONFIG"] = str(path)
            done = space.run(["run", "--mode", "auto", "--json", "ROOT"])
            lines = json_lines(done.stdout)
            compacted = [line for line in lines if line.get("event") == "agent.compacted"]
            (result,) = [line["payload"]["result"] for line in lines if line.get("event") == "agent.subagent_closed"]
            self.assertEqual(result["response"], "All ten are read.")
            self.assertLessEqual(len(compacted), 1)


class Estimate(unittest.TestCase):
    def test_the_first_estimate_of_an_agent_counts_the_tools_that_it_is_offered(self):
        """A token for three bytes of prompt and schemas, for a root and for a child; whatever becomes of the schemas later."""
        bodies = []

        def answer(request):
            bodies.append(request.body)
            if len(bodies) == 1:
                chat_call(request, "spawn_agent", {"task": "CHILD"})
            else:
                chat_say(request, "done")

        with VendorServer(answer) as server, Workspace({}) as space:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(done.returncode, 0, done.stderr)
            asked = [line["payload"]["estimate"] for line in json_lines(done.stdout) if line.get("event") == "model.requested"]
        for body, estimate in list(zip(bodies, asked))[:2]:
            size = len(json.dumps(body["tools"], separators=(",", ":"), ensure_ascii=False).encode())
            size += sum(len(message["content"].encode()) for message in body["messages"])
            self.assertAlmostEqual(estimate, size / 3, delta=size / 3 * 0.05)


class Overflow(unittest.TestCase):
    """A server with the window of a small local model, and a config that believes in a large one."""

    def run_against(self, window, told, reads=12):
        """A child-less run of so many reads. The server counts a token for four bytes of the request and refuses what is longer
        than its window, as llama.cpp's server does (GitHub, ggml-org/llama.cpp, tools/server/README.md, exceed_context_size_error)."""
        state = {"file": 0, "refused": 0}

        def answer(request):
            tokens = len(json.dumps(request.body["messages"]).encode()) // 4 + len(json.dumps(request.body.get("tools", []))) // 4
            if tokens > window:
                state["refused"] += 1
                request.json({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": told,
                                        "message": f"request ({tokens} tokens) exceeds the available context size ({told} tokens)"}},
                             400)
            elif "Write a summary" in json.dumps(request.body["messages"][-1]):
                chat_say(request, "I read some files.", usage=(tokens, 10))
            elif state["file"] < reads:
                state["file"] += 1
                chat_call(request, "read", {"path": f"file{state['file']}.c"}, usage=(tokens, 20))
            else:
                chat_say(request, "All files are read.", usage=(tokens, 10))

        files = {f"file{n}.c": source(n, 9000) for n in range(1, reads + 1)}
        with VendorServer(answer) as server, Workspace(files) as space:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
            return done, json_lines(done.stdout), state

    def test_a_window_that_config_does_not_know_is_learned_from_the_refusal(self):
        done, lines, state = self.run_against(12000, 12000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(lines[-1]["response"], "All files are read.")
        self.assertGreaterEqual(state["refused"], 1)
        self.assertLessEqual(state["refused"], 4)

    def test_a_server_that_lies_about_its_window_does_not_cause_a_loop(self):
        for told in (0, 10 ** 12, -7):
            with self.subTest(told=told):
                done, lines, state = self.run_against(12000, told)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertLessEqual(state["refused"], 12)

    def test_what_cannot_fit_ends_with_both_sizes(self):
        done, lines, state = self.run_against(1000, 1000)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(lines[-1]["status"], "error")
        self.assertRegex(lines[-1]["error"], r"needs about \d+ tokens and a request to .* may have 1000")
        self.assertLessEqual(state["refused"], 4)


if __name__ == "__main__":
    unittest.main()
