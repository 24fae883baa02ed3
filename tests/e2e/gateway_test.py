"""Gateways and servers by name: headers, a query, members of bodies, key helpers, presets, windows that servers tell, and
`cadre models`. Servers are small and strict; keys are checked where they arrive."""
import json
import re
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Workspace, json_lines  # noqa: E402
from vendors import VendorServer, chat_chunk, chat_say, chat_usage  # noqa: E402

CONFIG = """
llm:
  providers:
    gate:
      base_url: "{url}{query}"
{provider}
  models:
    m: {{provider: gate, model: vendor-model{model}}}
  pools:
    default: [{{model: m}}]
"""


def config(server, provider="", model="", query=""):
    lines = "\n".join("      " + line for line in provider.splitlines())
    return CONFIG.format(url=server.url, query=query, provider=lines, model=model)


def helper(space, text):
    """A key helper of the workspace; it writes a line to `runs` each time."""
    path = space.root / "helper"
    path.write_text(f"#!/bin/sh\ncd {space.root}\necho run >> runs\nn=$(wc -l < runs)\n{text}\n")
    path.chmod(0o755)
    return path


def runs(space):
    path = space.root / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


class Requests(unittest.TestCase):
    def test_headers_query_and_bodies_reach_the_server(self):
        with VendorServer(lambda r: chat_say(r, "done")) as server, Workspace() as space:
            (space.root / "cadre.yaml").write_text(config(
                server, 'headers: {HTTP-Referer: "https://example.org", X-Gate: "Bearer $GATE_TOKEN", cf-n: 7}\n'
                        "extra_body: {provider: {order: [a]}, top_k: 40}\napi_key_env: GATE_API_KEY",
                ", extra_body: {top_k: 1}", "?api-version=2026-01-01"))
            done = space.run(["run", "--config", str(space.root / "cadre.yaml"), "task"],
                             env={"GATE_TOKEN": "t-1", "GATE_API_KEY": "k-1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            one = server.requests[0]
            self.assertEqual(one.path, "/v1/chat/completions?api-version=2026-01-01")
            self.assertEqual((one.headers["HTTP-Referer"], one.headers["X-Gate"], one.headers["cf-n"]),
                             ("https://example.org", "Bearer t-1", "7"))
            self.assertEqual(one.headers["Authorization"], "Bearer k-1")
            self.assertEqual((one.body["provider"], one.body["top_k"]), ({"order": ["a"]}, 1))
            self.assertNotIn("t-1", done.stdout + done.stderr)
            self.assertNotIn(b"t-1", space.store.read_bytes())

    def test_a_header_that_carries_a_key_is_the_only_key(self):
        """Azure takes its key as `api-key` (Azure OpenAI REST API reference, "Authentication")."""
        with VendorServer(lambda r: chat_say(r, "done")) as server, Workspace(config=config(
                server, "headers: {api-key: $AZURE_KEY}\napi_key_env: OTHER_API_KEY")) as space:
            done = space.run(["run", "task"], env={"AZURE_KEY": "a-1", "OTHER_API_KEY": "k-1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.requests[0].headers["api-key"], "a-1")
            self.assertNotIn("Authorization", server.requests[0].headers)

    def test_a_header_without_its_variable_stops_the_run_before_a_request(self):
        with VendorServer(lambda r: chat_say(r, "done")) as server, Workspace(config=config(
                server, "headers: {X-Gate: $GATE_TOKEN}")) as space:
            done = space.run(["run", "task"])
            self.assertEqual(done.returncode, 1)
            self.assertIn("llm.providers.gate: the header X-Gate needs the environment variable GATE_TOKEN",
                          done.stdout + done.stderr)
            self.assertEqual(server.requests, [])

    def test_a_project_never_sets_headers_bodies_or_helpers(self):
        for key, value in (("headers", "{a: b}"), ("extra_body", "{a: 1}"), ("api_key_cmd", "[./steal]")):
            with self.subTest(key=key), Workspace(
                    {"cadre.yaml": f"llm: {{providers: {{p: {{{key}: {value}}}}}}}\n"}) as space:
                done = space.run(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "task"])
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"a project's file may not set llm.providers.p.{key}", done.stderr)
                self.assertEqual(space.run(["config", "trust"]).returncode, 2)

    def test_sampling_reaches_the_server(self):
        with VendorServer(lambda r: chat_say(r, "done")) as server, Workspace(config=config(
                server, model=", temperature: 0.25, top_p: 0.5, seed: 7, stop: [END]")) as space:
            done = space.run(["run", "--effort", "high", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            body = server.requests[0].body
            self.assertEqual((body["temperature"], body["top_p"], body["seed"], body["stop"]), (0.25, 0.5, 7, ["END"]))
            self.assertEqual(body["reasoning_effort"], "high")


def keyed(*good):
    """A server that takes only these keys."""
    def answer(request):
        if request.headers.get("Authorization", "") in [f"Bearer {key}" for key in good]:
            chat_say(request, "done")
        else:
            request.json({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401)
    return answer


class KeyHelpers(unittest.TestCase):
    def run_with(self, answer, script, more="", task=("run", "task"), seconds=60):
        with VendorServer(answer) as server, Workspace() as space:
            path = helper(space, script)
            (space.root / "cadre.yaml").write_text(
                config(server, f"api_key_cmd: [{path}]\n{more}", ", max_context_tokens: 100000"))
            done = space.run([task[0], "--config", str(space.root / "cadre.yaml"), *task[1:]], seconds=seconds)
            return done, server.requests, runs(space), space.store.read_bytes()

    def test_what_the_program_prints_is_the_key(self):
        done, requests, ran, stored = self.run_with(keyed("sk-helper"), "echo '  sk-helper  '")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ran, 1)
        self.assertNotIn(b"sk-helper", stored)
        self.assertNotIn("sk-helper", done.stdout + done.stderr)

    def test_after_a_401_it_is_run_once_more_and_the_request_sent_again(self):
        done, requests, ran, _ = self.run_with(keyed("key-2"), "echo key-$n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one.headers["Authorization"] for one in requests], ["Bearer key-1", "Bearer key-2"])
        self.assertEqual(ran, 2)

    def test_a_key_that_stays_wrong_fails_after_two_requests(self):
        done, requests, ran, _ = self.run_with(keyed("key-9"), "echo key-$n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("401", done.stdout + done.stderr)
        self.assertEqual((len(requests), ran), (2, 2))

    def test_a_key_that_expires_is_asked_for_anew(self):
        def answer(request):
            if request.number == 0:
                request.start()
                request.events(chat_chunk({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {
                    "name": "ls", "arguments": "{}"}}]}), chat_chunk(finish="tool_calls"), chat_usage(1, 1), "[DONE]")
            else:
                chat_say(request, "done")
        script = "echo \"{\\\"token\\\": \\\"key-$n\\\", \\\"expires_at\\\": $(( $(date +%s) + 10 ))}\""
        done, requests, ran, _ = self.run_with(answer, script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one.headers["Authorization"] for one in requests], ["Bearer key-1", "Bearer key-2"])

    def test_one_that_fails_is_told_with_its_words(self):
        done, requests, ran, _ = self.run_with(keyed("a"), "echo 'vault is locked' >&2; exit 4")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed with exit status 4: vault is locked", done.stdout + done.stderr)
        self.assertEqual(requests, [])

    def test_garbage_is_refused_and_not_repeated(self):
        done, requests, _, stored = self.run_with(keyed("a"), "echo 'Enter your pass-phrase: hunter2'")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bytes that are not a key", done.stdout + done.stderr)
        self.assertNotIn("hunter2", done.stdout + done.stderr)
        self.assertNotIn(b"hunter2", stored)
        self.assertEqual(requests, [])

    def test_one_that_hangs_is_killed_and_told(self):
        done, requests, _, _ = self.run_with(keyed("a"), "exec sleep 600")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end within 10 s", done.stdout + done.stderr)
        self.assertEqual(requests, [])


class Named(unittest.TestCase):
    def test_every_preset_is_one_word(self):
        for name, variable in (("openrouter", "OPENROUTER_API_KEY"), ("groq", "GROQ_API_KEY"), ("mistral", "MISTRAL_API_KEY"),
                               ("deepseek", "DEEPSEEK_API_KEY"), ("gemini", "GEMINI_API_KEY"), ("ollama", None),
                               ("lmstudio", None), ("vllm", None), ("llamacpp", None)):
            with self.subTest(preset=name), Workspace(config=f"llm: {{models: {{m: {{provider: {name}}}}}}}\n") as space:
                done = space.run(["config", "check"])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"key from {variable}" if variable else "no key", done.stdout)

    def test_azure_says_what_it_needs(self):
        with Workspace() as space:
            done = space.run(["run", "--provider", "azure", "--model", "gpt-5", "task"])
            self.assertEqual(done.returncode, 2)
            self.assertIn("llm.providers.azure.base_url, such as https://RESOURCE.openai.azure.com/openai/v1", done.stderr)

    def test_a_local_server_by_name_is_asked_for_its_model(self):
        listed = {"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}]}
        with VendorServer(lambda r: chat_say(r, "done"), lambda r: r.json(listed)) as server, Workspace(
                config=f'llm: {{providers: {{ollama: {{base_url: "{server.url}"}}}}}}\n') as space:
            done = space.run(["run", "--provider", "ollama", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.requests[0].body["model"], "qwen3:8b")


class Windows(unittest.TestCase):
    """Where the window of a model comes from that nobody described."""

    def opening(self, get, model="vendor-model"):
        with VendorServer(lambda r: chat_say(r, "done"), get) as server, Workspace() as space:
            done = space.run(["run", "--base-url", server.url, "--model", model, "--json", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            line = json_lines(done.stdout)[0]
            return line["window"], line["window_source"], [one.path for one in server.gets], server.requests[0].body

    def listed(self, entry, **paths):
        """A server with this entry in its list of models, and other paths."""
        def get(request):
            if request.path == "/v1/models":
                request.json({"object": "list", "data": [{"id": "other"}, {"id": "vendor-model", **entry}]})
            elif request.path in paths:
                request.json(paths[request.path])
            else:
                request.json({"error": "not found"}, 404)
        return get

    def test_the_list_of_models_tells_it(self):
        """vLLM: max_model_len. OpenRouter: context_length. Groq: context_window. Mistral: max_context_length."""
        for key in ("max_model_len", "context_length", "context_window", "max_context_length"):
            with self.subTest(key=key):
                window, source, paths, body = self.opening(self.listed({key: 4096}))
                self.assertEqual((window, source), (4096, "the server"))
                self.assertEqual(paths, ["/v1/models"])
                limit = body.get("max_tokens", body.get("max_completion_tokens"))
                self.assertLessEqual(limit, 2048)

    def test_llama_cpp_tells_it_in_props(self):
        """llama.cpp server README, "GET /props"."""
        window, source, paths, _ = self.opening(self.listed(
            {"owned_by": "llamacpp"}, **{"/props": {"total_slots": 1, "default_generation_settings": {"n_ctx": 8192}}}))
        self.assertEqual((window, source), (8192, "the server"))

    def test_a_server_that_lies_or_is_silent_leaves_the_default(self):
        for entry in ({"context_length": 0}, {"context_length": -5}, {"context_length": 10 ** 15},
                      {"context_length": "many"}, {"context_length": 12}, {}):
            with self.subTest(entry=entry):
                window, source, _, _ = self.opening(self.listed(entry))
                self.assertEqual((window, source), (100000, "the default"))

    def test_an_answer_without_end_leaves_the_default(self):
        def get(request):
            request.start(content_type="application/json")
            while request.write(b'{"data": [' + b'{"id": "x"},' * 4096):
                pass
        window, source, _, _ = self.opening(get)
        self.assertEqual((window, source), (100000, "the default"))

    def test_a_server_that_hangs_is_waited_for_two_seconds(self):
        over = threading.Event()
        self.addCleanup(over.set)
        window, source, _, _ = self.opening(lambda r: over.wait(60))
        self.assertEqual((window, source), (100000, "the default"))

    def test_the_first_line_says_who_told(self):
        with VendorServer(lambda r: chat_say(r, "done"), self.listed({"max_model_len": 32768})) as server, Workspace() as space:
            done = space.run(["run", "--base-url", server.url, "--model", "vendor-model", "task"])
            self.assertRegex(done.stdout, r"\Amodel vendor-model from flags.*; window 32768, from the server; run ")
            self.assertIn("no price is known for vendor-model, so no cost limit can hold", done.stdout)


class Models(unittest.TestCase):
    LIST = {"object": "list", "data": [
        {"id": "small", "context_length": 8192, "pricing": {"prompt": "0.0000001", "completion": "0.0000004"}},
        {"id": "bare", "object": "model"}, {"id": ""}, {"no": "id"}, {"id": "evil\x1b[2J"}]}

    def test_a_server_is_listed(self):
        with VendorServer(None, lambda r: r.json(self.LIST)) as server, Workspace(config=config(
                server, "headers: {X-Gate: $GATE_TOKEN}\napi_key_env: GATE_API_KEY", query="?v=1")) as space:
            env = {"GATE_TOKEN": "t", "GATE_API_KEY": "k"}
            done = space.run(["models", "gate", "--json"], env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            small, bare, evil = json_lines(done.stdout)
            self.assertEqual((small["id"], small["window"], small["price_in"], small["price_out"]), ("small", 8192, 0.1, 0.4))
            self.assertTrue(small["window_from_server"] and small["prices_from_server"])
            self.assertEqual((bare["id"], bare["window"], bare["price_in"]), ("bare", None, None))
            self.assertEqual(server.gets[0].path, "/v1/models?v=1")
            self.assertEqual((server.gets[0].headers["Authorization"], server.gets[0].headers["X-Gate"]), ("Bearer k", "t"))
            text = space.run(["models"], env=env)
            self.assertRegex(text.stdout, r"MODEL +WINDOW +\$/M IN +\$/M OUT\nsmall +8192 +0\.10 +0\.40\nbare +- +- +-\n")
            self.assertNotIn("\x1b", text.stdout)

    def test_the_key_comes_from_the_helper_too(self):
        with VendorServer(None, lambda r: r.json(self.LIST)) as server, Workspace() as space:
            (space.root / "cadre.yaml").write_text(config(server, f"api_key_cmd: [{helper(space, 'echo sk-h')}]"))
            done = space.run(["models", "gate", "--config", str(space.root / "cadre.yaml")])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(server.gets[0].headers["Authorization"], "Bearer sk-h")

    def test_anthropics_list_is_asked_for_as_its_reference_says(self):
        """Claude API reference, "List Models": x-api-key, anthropic-version, limit up to 1000."""
        listed = {"data": [{"type": "model", "id": "claude-x", "max_input_tokens": 200000}], "has_more": False}
        with VendorServer(None, lambda r: r.json(listed)) as server, Workspace() as space:
            done = space.run(["models", "--base-url", server.url, "--api", "anthropic", "--json"],
                             env={"ANTHROPIC_API_KEY": "k"})
            self.assertEqual(json_lines(done.stdout)[0]["window"], 200000, done.stderr)
            self.assertEqual(server.gets[0].path, "/v1/models?limit=1000")
            self.assertEqual((server.gets[0].headers["x-api-key"], server.gets[0].headers["anthropic-version"]),
                             ("k", "2023-06-01"))
            self.assertNotIn("Authorization", server.gets[0].headers)

    def test_errors_say_what_to_do(self):
        for answer, words in ((lambda r: r.json({}, 401), "status 401: it wants a key"),
                              (lambda r: r.json({}, 404), "status 404: it may not list its models"),
                              (lambda r: r.json({"data": []}), "names no model"),
                              (lambda r: (r.start(), r.write("<html>")), "does not answer with JSON")):
            with self.subTest(words=words), VendorServer(None, answer) as server, Workspace(config=config(server)) as space:
                done = space.run(["models", "gate"])
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
        with Workspace() as space:
            self.assertIn("did you mean 'groq'?", space.run(["models", "grok"]).stderr)
            self.assertEqual(space.run(["models", "grok"]).returncode, 2)


class Page(unittest.TestCase):
    """docs/models.md: each YAML example loads, and each command line is one that cadre takes."""
    TEXT = (Path(__file__).parent.parent.parent / "docs" / "models.md").read_text()

    def test_every_example_of_a_config_loads(self):
        examples = re.findall(r"```yaml\n(.*?)```", self.TEXT, re.S)
        self.assertGreater(len(examples), 5)
        for text in examples:
            with self.subTest(text=text), Workspace(config=text) as space:
                done = space.run(["config", "check"])
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_preset_has_its_row(self):
        source = (Path(__file__).parent.parent.parent / "src" / "config" / "presets.c").read_text()
        for name in re.findall(r'^    (?:\{|LOCAL\()"([a-z]+)"', source, re.M):
            self.assertRegex(self.TEXT, rf"\| `{name}` \|")

    def test_every_command_line_is_understood(self):
        lines = re.findall(r"^cadre (run|models) (.*)$", self.TEXT, re.M)
        self.assertGreater(len(lines), 5)
        for command, rest in lines:
            with self.subTest(line=rest), Workspace() as space:
                words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', rest)]
                done = space.run([command, *words, "--help"])
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
