"""`cadre doctor` measures model servers: small servers on loopback that answer as llama.cpp, Ollama, vLLM and LM Studio
do, and some that answer badly. Nothing here judges times: fake servers have slots, windows and words of their own."""
import contextlib
import ctypes
import http.server
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Workspace, json_lines, program, Process  # noqa: E402

REQUESTS_MAX = 20


class FakeServer:
    """An OpenAI-compatible server with `slots` answers at a time, and documents of its own under `paths`.

    window: requests past it are refused with what refuse(tokens, window) returns, (status, object); None: never.
    together: how many answers are expected side by side, of each round of requests (1, 1, 2, 4, 8): each answer waits
    for that many to have begun, so that no machine is too slow for the test."""

    ROUNDS = (1, 1, 2, 4, 8)

    def __init__(self, slots=4, together=False, paths=None, models=None, window=None, refuse=None, timings=None, usage=True, chat=None,
                 address=("127.0.0.1", 0)):
        self.slots = threading.Semaphore(slots)
        self.slot_count, self.together = slots, together
        self.lock = threading.Lock()
        self.begun = threading.Condition()
        self.begun_in = [0] * len(self.ROUNDS)
        self.paths = paths or {}
        self.window, self.refuse, self.timings, self.usage, self.chat = window, refuse, timings, usage, chat
        self.requests, self.headers = [], []
        self.models = {"object": "list", "data": models or [{"id": "qwen3:8b"}]}
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                fake.get(self)

            def do_POST(self):
                fake.post(self)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                pass

        self.server = Server(address, Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def answer(self, handler, status, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(body)

    def note(self, handler, body=None):
        with self.lock:
            self.requests.append((handler.command, handler.path, body))
            self.headers.append(dict(handler.headers))

    def get(self, handler):
        self.note(handler)
        if handler.path == "/v1/models":
            return self.answer(handler, 200, self.models)
        found = self.paths.get(handler.path)
        if callable(found):
            return found(handler)
        if found is None:
            return self.answer(handler, 404, {"error": {"message": "no such path"}})
        return self.answer(handler, 200, found)

    def post(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.note(handler, body)
        if handler.path != "/v1/chat/completions":
            found = self.paths.get(handler.path)
            return self.answer(handler, 200 if found is not None else 404, found or {})
        if self.chat is not None:
            return self.chat(handler, body)
        tokens = len(body["messages"][0]["content"].split())
        if self.window is not None and tokens + body["max_tokens"] > self.window:
            return self.answer(handler, *self.refuse(tokens, self.window))
        with self.lock:
            number = len(self.chats())
            now = next((i for i in range(len(self.ROUNDS)) if number <= sum(self.ROUNDS[:i + 1])), None)
        with self.slots:
            self.stream(handler, body, tokens, now)
            time.sleep(0.05)

    def wait_for_the_others(self, now):
        if not self.together or now is None:
            return
        with self.begun:
            self.begun_in[now] += 1
            self.begun.notify_all()
            self.begun.wait_for(lambda: self.begun_in[now] >= min(self.slot_count, self.ROUNDS[now]), 30)

    def stream(self, handler, body, tokens, now):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True

        def event(value):
            handler.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
            handler.wfile.flush()
        count = min(body["max_tokens"], 24)
        with contextlib.suppress(OSError):
            event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
            for i in range(count):
                event({"choices": [{"index": 0, "delta": {"content": f"{i} "}}]})
                time.sleep(0.01)
                if i == count // 2:
                    self.wait_for_the_others(now)
            reason = "length" if count == body["max_tokens"] else "stop"
            last = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
            if self.timings:
                last["timings"] = self.timings
            event(last)
            if self.usage:
                event({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": count}})
            handler.wfile.write(b"data: [DONE]\n\n")

    def chats(self):
        return [body for method, path, body in self.requests if path == "/v1/chat/completions"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class RawServer:
    """Answers every connection with these bytes, again and again, or with nothing."""

    def __init__(self, data=b"", times=1, hold=False):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.data, self.times, self.hold, self.kept = data, times, hold, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError):
            connection.recv(65536)
            for _ in range(self.times):
                connection.sendall(self.data)
            if self.hold:
                self.kept.append(connection)
                return
        connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.kept:
            connection.close()


def llama(**more):
    return FakeServer(slots=2, timings={"prompt_per_second": 640.5, "predicted_per_second": 32.0, "prompt_n": 400},
                      paths={"/props": {"total_slots": 2, "default_generation_settings": {"n_ctx": 16384}},
                             "/slots": [{"id": 0, "n_ctx": 8192}, {"id": 1, "n_ctx": 8192}], **more})


class DoctorTest(unittest.TestCase):
    def setUp(self):
        self.space = self.enterContext(Workspace())

    def doctor(self, *arguments, **more):
        return self.space.run(["doctor", *arguments], **more)

    def measure(self, server, *arguments, code=0, **more):
        done = self.doctor("--json", "--base-url", server.url, *arguments, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = json_lines(done.stdout)
        found = [line for line in lines if line["type"] == "measurement"]
        self.assertEqual(len(found), 1, done.stdout)
        self.assertLessEqual(found[0]["requests"], REQUESTS_MAX)
        return found[0]

    def speed_check(self, done):
        return next(line for line in json_lines(done.stdout) if line.get("name") == "speed")

    # --- what servers say of themselves

    def test_llama_cpp_tells_its_window_and_slots_by_slot(self):
        with llama() as server:
            found = self.measure(server)
        self.assertEqual(found["server"], "llama.cpp")
        self.assertEqual((found["window_tokens"]["value"], found["window_tokens"]["how"]), (8192, "n_ctx in /slots"))
        self.assertEqual((found["slots"]["value"], found["slots"]["how"]), (2, "/slots"))
        self.assertEqual(found["read_tokens_per_second"]["value"], 640.5)
        self.assertEqual(found["write_tokens_per_second"]["value"], 32.0)
        self.assertEqual(len(server.chats()), 2)

    def test_llama_cpp_without_slots_endpoint_is_believed_by_its_props(self):
        with llama(**{"/slots": None}) as server:
            found = self.measure(server)
        self.assertEqual((found["window_tokens"]["value"], found["slots"]["value"]), (16384, 2))

    def test_ollama_tells_the_window_of_the_model_that_is_loaded(self):
        with FakeServer(slots=1, models=[{"id": "qwen3:8b", "owned_by": "library"}],
                        paths={"/api/ps": {"models": [{"name": "other", "context_length": 99},
                                                      {"name": "qwen3:8b", "context_length": 4096}]},
                               "/api/show": {"model_info": {"qwen3.context_length": 40960}}}) as server:
            found = self.measure(server)
        self.assertEqual(found["server"], "Ollama")
        self.assertEqual(found["window_tokens"]["value"], 4096)
        self.assertEqual((found["slots"]["value"], found["slots"]["at_least"]), (1, False))

    def test_ollama_that_has_nothing_loaded_is_asked_for_num_ctx(self):
        with FakeServer(slots=1, models=[{"id": "qwen3:8b", "owned_by": "library"}],
                        paths={"/api/ps": {"models": []},
                               "/api/show": {"parameters": "stop  \"x\"\nnum_ctx    16384\n"}}) as server:
            found = self.measure(server)
        self.assertEqual((found["window_tokens"]["value"], found["window_tokens"]["how"]),
                         (16384, "num_ctx in /api/show"))

    def test_what_a_model_was_trained_for_is_not_taken_for_its_window(self):
        with FakeServer(slots=1, models=[{"id": "qwen3:8b", "owned_by": "library"}],
                        paths={"/api/ps": {"models": []},
                               "/api/show": {"model_info": {"qwen3.context_length": 40960}}}) as server:
            found = self.measure(server)
        self.assertIsNone(found["window_tokens"]["value"])
        self.assertIn("trained for 40960", found["window_tokens"]["how"])
        self.assertIsNone(found["proposal"]["max_context_tokens"])
        self.assertIn("# max_context_tokens: could not tell", found["yaml"])

    def test_vllm_tells_its_window_in_the_list_of_models(self):
        with FakeServer(slots=8, together=True, models=[{"id": "a/b", "owned_by": "vllm", "max_model_len": 32768}]) as server:
            found = self.measure(server)
        self.assertEqual((found["server"], found["window_tokens"]["value"]), ("vLLM", 32768))
        self.assertEqual((found["slots"]["value"], found["slots"]["at_least"]), (8, True))

    def test_lm_studio_tells_the_window_that_is_loaded_not_the_largest(self):
        with FakeServer(slots=1, models=[{"id": "m", "owned_by": "organization_owner"}],
                        paths={"/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072,
                                                            "loaded_context_length": 6144}]}}) as server:
            found = self.measure(server)
        self.assertEqual((found["server"], found["window_tokens"]["value"]), ("LM Studio", 6144))

    # --- what servers can be brought to say

    def test_an_unknown_server_is_believed_by_its_error(self):
        def refuse(tokens, window):
            return 400, {"error": {"message": f"This model's maximum context length is {window} tokens. However, you "
                                              f"requested {tokens} tokens."}}
        with FakeServer(slots=1, window=5000, refuse=refuse) as server:
            found = self.measure(server)
        self.assertEqual(found["window_tokens"]["value"], 5000)

    def test_a_server_that_only_refuses_is_bisected(self):
        with FakeServer(slots=1, window=5000, refuse=lambda *_: (400, {"error": {"message": "too long"}})) as server:
            found = self.measure(server)
        self.assertEqual((found["window_tokens"]["value"], found["window_tokens"]["at_least"]), (4096, True))
        self.assertEqual(found["slots"]["value"], 1)

    def test_a_server_that_takes_everything_is_said_to_cut_off(self):
        with FakeServer(slots=1) as server:
            found = self.measure(server)
        self.assertIsNone(found["window_tokens"]["value"])
        self.assertIn("cuts prompts off", found["window_tokens"]["how"])

    def test_slots_are_counted_by_who_answers_side_by_side(self):
        for slots in (1, 3):
            with self.subTest(slots=slots), FakeServer(
                    slots=slots, together=True,
                    models=[{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]) as server:
                found = self.measure(server)
                self.assertEqual((found["slots"]["value"], found["slots"]["at_least"]), (slots, False))
                self.assertEqual(found["proposal"]["max_concurrent"], slots)

    def test_a_server_without_usage_and_with_one_piece_leaves_open_what_cannot_be_told(self):
        def chat(handler, body):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(b'data: {"choices":[{"delta":{"content":"all at once"}}]}\n\ndata: [DONE]\n\n')
            handler.close_connection = True
        with FakeServer(chat=chat, models=[{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]) as server:
            found = self.measure(server)
        for key in ("read_tokens_per_second", "write_tokens_per_second", "slots"):
            self.assertIsNone(found[key]["value"], key)
        self.assertEqual([found["proposal"][key] for key in ("first_byte_ms", "idle_ms", "total_ms")], [None] * 3)

    # --- what is proposed

    def test_the_proposal_can_be_pasted_and_holds(self):
        with llama() as server:
            found = self.measure(server)
            path = self.space.root / "pasted.yaml"
            path.write_text(found["yaml"])
            done = self.space.run(["config", "check", str(path)])
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("max_concurrent: 2", "max_context_tokens: 8192", "price_in: 0"):
            self.assertIn(key, done.stdout)
        proposal = found["proposal"]
        # 2 slots of 8192 tokens at 640.5 a second, twice
        self.assertGreaterEqual(proposal["first_byte_ms"], 2 * 2 * 8192 / 640.5 * 1000)
        self.assertGreater(proposal["total_ms"], proposal["first_byte_ms"])
        # 16 turns of a quarter of the window and 500 tokens at 32 a second, for both slots, twice
        needed = 2 * 16 * 2 * (2048 / 640.5 + 500 / 32) * 1000
        self.assertEqual(proposal["sub_agent.max_concurrent"], 2)
        self.assertGreaterEqual(proposal["sub_agent.max_wall_ms"], needed)
        self.assertLess(proposal["sub_agent.max_wall_ms"], needed + 120000)
        self.assertIn(f"sub_agent.max_wall_ms: {proposal['sub_agent.max_wall_ms']}", done.stdout)

    def test_the_text_names_each_fact_with_its_source_and_ends_with_yaml(self):
        with llama() as server:
            done = self.doctor("--base-url", server.url)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?m)^  window +8192 \(n_ctx in /slots\)$")
        self.assertRegex(done.stdout, r"(?m)^  writing +32\.0 tokens/s \(as the server says\)$")
        self.assertRegex(done.stdout, r"  pools:\n    default: \[\{model: measured\}\]\nsub_agent:\n  max_concurrent: 2\n"
                                      r"  max_wall_ms: \d+m\n\Z")

    def test_a_model_can_be_named_and_its_name_is_quoted(self):
        with llama() as server:
            found = self.measure(server, "--model", 'we"ird:1')
        self.assertEqual(found["model"], 'we"ird:1')
        self.assertIn(r'model: "we\"ird:1"', found["yaml"])
        self.assertEqual({body["model"] for body in server.chats()}, {'we"ird:1'})

    # --- bounds and manners

    def test_prompts_and_answers_are_small_where_the_server_tells_its_window(self):
        with llama() as server:
            self.measure(server)
        for body in server.chats():
            self.assertLessEqual(body["max_tokens"], 64)
            self.assertLess(len(body["messages"][0]["content"]), 4096)

    def test_no_key_of_another_server_is_sent(self):
        with llama() as server:
            self.measure(server, env={"OPENAI_API_KEY": "sk-canary"})
        self.assertNotIn("sk-canary", json.dumps(server.headers))

    def test_a_key_that_the_server_sends_back_is_not_shown(self):
        with RawServer(b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/sk-canary/v1\r\nContent-Length: 0\r\n\r\n") as server:
            path = self.space.root / "keyed.yaml"
            path.write_text(f"llm:\n  providers: {{one: {{base_url: '{server.url}', api_key_env: ONE_KEY}}}}\n"
                            "  models: {m: {provider: one}}\n")
            done = self.doctor("--json", "--config", str(path), "--base-url", server.url, env={"ONE_KEY": "sk-canary"})
        self.assertIn("redirects to", self.speed_check(done)["text"])
        self.assertNotIn("sk-canary", done.stdout + done.stderr)

    def test_a_server_that_may_bill_is_not_measured_without_leave(self):
        done = self.doctor("--json", "--base-url", "https://api.openai.com/v1", "--model", "gpt-5-mini")
        self.assertEqual(self.speed_check(done)["verdict"], "warn")
        self.assertIn("--paid", self.speed_check(done)["text"])
        self.assertEqual(done.returncode, 0)

    def test_model_without_a_server_is_a_usage_error(self):
        done = self.doctor("--model", "m")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--base-url", done.stderr)

    # --- servers that answer badly

    def test_hostile_servers_end_in_a_message_and_exit_1(self):
        huge = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b"[" * 65536
        for name, data, times in (("closing", b"", 1), ("garbage", b"\x00\xff\x1b[2J nonsense\r\n\r\n", 1),
                                  ("huge", huge, 64), ("html", b"HTTP/1.1 200 OK\r\n\r\n<html>\x1b[31m", 1),
                                  ("error", b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 1)):
            with self.subTest(name), RawServer(data, times) as server:
                done = self.doctor("--json", "--base-url", server.url)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(self.speed_check(done)["verdict"], "fail")
                self.assertNotIn("\x1b", done.stdout)

    def test_a_silent_server_does_not_hold_doctor_up(self):
        with RawServer(hold=True) as server:
            done = self.doctor("--json", "--base-url", server.url)
        self.assertEqual(self.speed_check(done)["verdict"], "fail")

    def test_a_server_whose_answers_break_off_leaves_its_speed_open(self):
        def chat(handler, body):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(b'data: {"choices":[{"delta":{"con')
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
        with FakeServer(chat=chat, models=[{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]) as server:
            found = self.measure(server)
            check = self.speed_check(self.doctor("--json", "--base-url", server.url))
        self.assertEqual(found["window_tokens"]["value"], 4096)
        self.assertIsNone(found["first_token_ms"]["value"])
        self.assertIsNone(found["slots"]["value"])
        self.assertEqual(check["verdict"], "warn")
        self.assertIn("could not be measured", check["text"])

    def test_absurd_numbers_are_not_believed(self):
        with FakeServer(slots=1, paths={"/props": {"total_slots": -5,
                                                   "default_generation_settings": {"n_ctx": 10**15}},
                                        "/slots": []},
                        models=[{"id": "m", "max_model_len": "many", "context_length": -1}]) as server:
            found = self.measure(server)
        self.assertIsNone(found["window_tokens"]["value"])
        self.assertEqual(found["slots"]["value"], 1)

    def test_names_with_escapes_in_them_are_no_names(self):
        with FakeServer(models=[{"id": "evil\x1b[2J"}]) as server:
            done = self.doctor("--json", "--base-url", server.url)
        self.assertEqual(self.speed_check(done)["verdict"], "fail")
        self.assertIn("names no model", self.speed_check(done)["text"])
        with FakeServer(slots=1, models=[{"id": "evil\x1b[2J"}, {"id": None}, {"id": "good"}]) as server:
            self.assertEqual(self.measure(server)["model"], "good")


# --- which model a run takes: flags, config, a key in the environment, a server on port 11434, one on port 8080

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
CONFIG = """llm:
  providers: {local: {base_url: "http://127.0.0.1:7001/v1"}}
  models: {mine: {provider: local, model: from-config}}
"""


def own_network():
    """Moves this process into a network of its own, where ports 11434 and 8080 are nobody else's."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    import fcntl  # pylint: disable=import-outside-toplevel
    import struct  # pylint: disable=import-outside-toplevel
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running
    return True


def inside(order):
    """In a network of its own: servers on the ports, then one command. Prints its outcome as JSON."""
    if not own_network():
        print(json.dumps({"skipped": "no namespaces"}))
        return
    with contextlib.ExitStack() as stack:
        for port in order["ports"]:
            stack.enter_context(FakeServer(models=[{"id": f"model-{port}"}], address=("127.0.0.1", port)))
        process = Process([program("CADRE"), *order["arguments"]], order["environment"], order["directory"])
        code = process.end()
        print(json.dumps({"code": code, "out": process.text, "err": process.errors}))


class ChoiceTest(unittest.TestCase):
    """Each step of the order, with all later ones there too: the first line says which it was."""

    def choose(self, *flags, config=None, env=None, ports=(11434, 8080), command=None):
        with Workspace(config=config) as space:
            space.damaged = True  # runs that reach nobody are not what is looked at here
            arguments = command or ["run", *flags, "--timeout", "5s", "do it"]
            store = [] if arguments[0] == "demo" else ["--store", str(space.store)]  # the demo has one of its own
            order = {"ports": ports, "directory": str(space.files), "environment": {**space.environment, **(env or {})},
                     "arguments": [arguments[0], *store, *arguments[1:]]}
            process = Process([sys.executable, "-B", __file__, "--inside", json.dumps(order)], dict(os.environ),
                              space.files)
            self.assertEqual(process.end(), 0, process.errors)
            done = json.loads(process.text)
        if "skipped" in done:
            self.skipTest("this machine gives no network namespace")
        return done

    KEYS = {"OPENAI_API_KEY": "sk-one", "ANTHROPIC_API_KEY": "sk-two"}

    def test_flags_come_first(self):
        done = self.choose("--base-url", "http://127.0.0.1:8080/v1", "--model", "typed", config=CONFIG, env=self.KEYS)
        self.assertRegex(done["out"], r"\Amodel typed from flags, at most 5\.0s; .*window [0-9]+, from [a-z ]+; run ")
        self.assertEqual(done["code"], 0, done["err"])

    def test_the_config_comes_before_keys_and_servers(self):
        done = self.choose(config=CONFIG, env=self.KEYS)
        self.assertRegex(done["out"], r"\Amodel from-config from config .*cadre\.yaml, at most ")

    def test_a_key_comes_before_a_server_and_brings_a_price_and_its_cap(self):
        for name, model in (("OPENAI_API_KEY", "gpt-4.1-mini"), ("ANTHROPIC_API_KEY", "claude-sonnet-4-5")):
            with self.subTest(name):
                done = self.choose(env={name: "sk-test"})
                self.assertRegex(done["out"], rf"\Amodel {model} from {name}, at most \$1\.00(00)? and ")
                self.assertNotIn("sk-test", done["out"] + done["err"])

    def test_of_two_keys_the_first_is_openais(self):
        self.assertRegex(self.choose(env=self.KEYS)["out"], r"\Amodel gpt-4\.1-mini from OPENAI_API_KEY, ")

    def test_an_api_that_is_named_takes_its_own_key_whatever_the_config_says(self):
        done = self.choose("--api", "anthropic", config=CONFIG, env=self.KEYS)
        self.assertRegex(done["out"], r"\Amodel claude-sonnet-4-5 from ANTHROPIC_API_KEY, ")

    def test_an_api_that_is_named_without_its_key_does_not_fall_to_a_server(self):
        done = self.choose("--api", "anthropic")
        self.assertEqual(done["code"], 2)
        self.assertIn("ANTHROPIC_API_KEY", done["err"])

    def test_a_server_on_11434_comes_before_one_on_8080(self):
        done = self.choose()
        self.assertRegex(done["out"], r"\Amodel model-11434 from a server on port 11434, at most ")
        self.assertNotIn("$", done["out"].splitlines()[0])
        self.assertEqual(done["code"], 0, done["err"])

    def test_a_server_on_8080_is_found_too(self):
        self.assertRegex(self.choose(ports=(8080,))["out"], r"\Amodel model-8080 from a server on port 8080, at most ")

    def test_without_any_it_says_what_helps(self):
        done = self.choose(ports=())
        self.assertEqual(done["code"], 2)
        for word in ("--base-url", "cadre.yaml", "OPENAI_API_KEY", "11434"):
            self.assertIn(word, done["err"])

    def test_doctor_measures_nothing_where_there_is_no_server(self):
        done = self.choose(ports=(), command=["doctor", "--json"])
        (speed,) = [line for line in map(json.loads, done["out"].splitlines()) if line.get("name") == "speed"]
        self.assertEqual(speed["verdict"], "ok")
        self.assertIn("not measured", speed["text"])

    def test_doctor_measures_the_server_that_it_finds(self):
        done = self.choose(command=["doctor", "--json"], ports=(8080,))
        lines = json_lines(done["out"])
        self.assertEqual([line["model"] for line in lines if line["type"] == "measurement"], ["model-8080"])

    def test_doctor_does_not_measure_a_found_server_that_runs_would_not_use(self):
        done = self.choose(command=["doctor", "--json"], ports=(8080,), config=CONFIG)
        self.assertEqual([line for line in json_lines(done["out"]) if line["type"] == "measurement"], [])

    def test_the_demo_ends_with_the_next_command_for_each_thing_that_it_finds(self):
        with tempfile.TemporaryDirectory(prefix="cadre-path-") as programs:
            for name in ("claude", "opencode"):
                (Path(programs) / name).write_text("#!/bin/sh\n")
                (Path(programs) / name).chmod(0o755)
            (Path(programs) / "cadre").symlink_to(program("CADRE"))
            done = self.choose(command=["demo", "--json"], ports=(8080,),
                               env={"PATH": f"{programs}:/usr/bin:/bin", "OPENAI_API_KEY": "sk-secret"})
        found = [(line["command"], line["why"]) for line in json_lines(done["out"]) if line["type"] == "next"]
        self.assertEqual([command for command, _ in found], [
            'cadre run "Summarise README.md"',
            'cadre run --base-url http://127.0.0.1:8080/v1 --model model-8080 "Summarise README.md"',
            'cadre run --json "Summarise README.md"'])
        self.assertEqual(found[0][1], "asks gpt-4.1-mini, from OPENAI_API_KEY")
        self.assertIn("claude, opencode", found[2][1])
        self.assertNotIn("sk-secret", done["out"] + done["err"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(json.loads(sys.argv[2]))
    else:
        unittest.main(verbosity=2)
