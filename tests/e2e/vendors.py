"""A model server whose answers a test writes byte by byte: for what vendors send and cadre-scripted does not.

    with VendorServer(answer) as server, Workspace({}) as space:
        space.run(["run", *server.flags(), "task"])

`answer(request)` gets a Request and writes to it. Every request is kept in `server.requests`. `get(request)` answers GET
requests, which are kept in `server.gets`; without it they are not found."""
import contextlib
import http.server
import json
import threading


class Request:
    """One request; `body` is its JSON. Write an answer with one of the methods."""

    def __init__(self, handler, body, number):
        self.handler, self.body, self.number = handler, body, number
        self.path, self.headers = handler.path, dict(handler.headers)

    def start(self, status=200, content_type="text/event-stream", headers=()):
        """Status and headers of an answer that ends with the connection."""
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", content_type)
        self.handler.send_header("Connection", "close")
        for name, value in dict(headers).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.close_connection = True

    def write(self, data):
        """Bytes of the answer; False when the client is gone."""
        try:
            self.handler.wfile.write(data if isinstance(data, bytes) else data.encode())
            self.handler.wfile.flush()
            return True
        except OSError:
            return False

    def events(self, *chunks):
        """Each chunk as an event: an object as JSON, a text as it is."""
        return all(self.write("data: " + (chunk if isinstance(chunk, str) else json.dumps(chunk)) + "\n\n")
                   for chunk in chunks)

    def json(self, value, status=200, headers=()):
        self.start(status, "application/json", headers)
        self.write(json.dumps(value))


def chat_chunk(delta=None, finish=None, **more):
    """A chunk of Chat Completions (OpenAI API reference, "The chat completion chunk object")."""
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "vendor-model",
            "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def chat_usage(prompt, completion):
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "vendor-model", "choices": [],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}}


def chat_say(request, *texts, finish="stop", usage=(100, 10)):
    """A whole streamed answer."""
    request.start()
    request.events(*[chat_chunk({"content": text}) for text in texts], chat_chunk(finish=finish), chat_usage(*usage), "[DONE]")


def chat_call(request, name, arguments, usage=(100, 10)):
    """A whole streamed answer that calls one tool."""
    made = {"index": 0, "id": f"call_{request.number}", "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)}}
    request.start()
    request.events(chat_chunk({"tool_calls": [made]}), chat_chunk(finish="tool_calls"), chat_usage(*usage), "[DONE]")


class VendorServer:
    def __init__(self, answer, get=None):
        self.requests, self.gets, self.lock = [], [], threading.Lock()
        own = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                with own.lock:
                    request = Request(self, None, len(own.gets))
                    own.gets.append(request)
                with contextlib.suppress(OSError):
                    (get or (lambda one: one.json({"error": "not found"}, 404)))(request)

            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length))
                with own.lock:
                    request = Request(self, body, len(own.requests))
                    own.requests.append(request)
                with contextlib.suppress(OSError):
                    answer(request)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def flags(self, api="openai"):
        return ["--base-url", self.url, "--model", "vendor-model", "--api", api]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join(10)
        self.server.server_close()


class LlamaCpp(VendorServer):
    """llama.cpp's llama-server with the chat template of Mistral Nemo, which is among the strictest of those that come with it. What it
    refuses and its words are those of the repository ggml-org/llama.cpp in August 2026: tools/server/server-common.cpp
    (oaicompat_chat_params_parse, format_error_response), server-context.cpp (get_res_props, get_res_models, exceed_context_size_error),
    server-http.cpp (keys, loading) and models/templates/mistralai-Mistral-Nemo-Instruct-2407.jinja. `answer(request)` answers what was
    accepted; `refusals` holds the words of every refusal. A text has one token for four bytes. `told` is a window that is not true."""
    ALTERNATE = "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
    CALL_ID = "Tool call IDs should be alphanumeric strings with length 9!"
    ROLES = "Only user and assistant roles are supported, with the exception of an initial optional system message!"

    def __init__(self, answer, window=32768, loading=0, told=None):
        self.refusals, self.window, self.loading = [], window, loading
        self.accepted = answer
        model = {"id": "vendor-model", "aliases": [], "tags": [], "object": "model", "created": 1, "owned_by": "llamacpp",
                 "meta": {"vocab_type": 2, "n_vocab": 131072, "n_ctx": told or window, "n_ctx_train": 1024000, "n_embd": 5120,
                          "n_params": 12247782400, "size": 7470000000, "ftype": "Q4_K - Medium"}}
        self.pages = {
            "/props": {"default_generation_settings": {"params": {}, "n_ctx": told or window}, "total_slots": 1, "model_alias": "vendor-model",
                       "model_path": "model.gguf", "modalities": {"vision": False, "audio": False}, "chat_template": "…",
                       "build_info": "b1-0000000", "is_sleeping": False},
            "/v1/models": {"models": [], "object": "list", "data": [model]},
            "/health": {"status": "ok"},
        }
        super().__init__(self.judge, self.show)

    def show(self, request):
        found = self.pages.get(request.path)
        missing = {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}
        request.json(found or missing, 200 if found else 404)

    def refuse(self, request, status, kind, message, **more):
        self.refusals.append(message)
        request.json({"error": {"code": status, "message": message, "type": kind, **more}}, status)

    def judge(self, request):
        if self.loading > 0:
            self.loading -= 1
            request.json({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, 503)
            return
        messages = request.body["messages"]
        wrong = self.malformed(messages)
        if wrong:
            self.refuse(request, 400, "invalid_request_error", wrong)
            return
        wrong = self.template(messages)
        if wrong:  # an exception of the template is no invalid_argument: status 500 (server.cpp, ex_wrapper)
            self.refuse(request, 500, "server_error", wrong)
            return
        tokens = len(json.dumps([messages, request.body.get("tools")], ensure_ascii=False).encode()) // 4
        if tokens >= self.window:
            self.refuse(request, 400, "exceed_context_size_error",
                        f"request ({tokens} tokens) exceeds the available context size ({self.window} tokens), try increasing it",
                        n_prompt_tokens=tokens, n_ctx=self.window)
            return
        self.accepted(request)

    @staticmethod
    def malformed(messages):
        for message in messages:
            if message["role"] != "assistant" and "content" not in message:
                return "All non-assistant messages must contain 'content'"
            if "content" not in message and "tool_calls" not in message:
                return "Assistant message must contain either 'content' or 'tool_calls'!"
        if len(messages) > 1 and messages[-1]["role"] == messages[-2]["role"] == "assistant":
            return "Cannot have 2 or more assistant messages at the end of the list."
        return None

    def template(self, messages):
        """What the template raises, or None."""
        rest = messages[1:] if messages[0]["role"] == "system" else messages
        turns = [message["role"] for message in rest if message["role"] != "tool" and not message.get("tool_calls")]
        if any((role == "user") != (i % 2 == 0) for i, role in enumerate(turns)):
            return self.ALTERNATE
        for message in rest:
            if message["role"] not in ("user", "assistant", "tool"):
                return self.ROLES
            ids = [call.get("id") for call in message.get("tool_calls") or []]
            ids += [message.get("tool_call_id")] if message["role"] == "tool" else []
            if any(len(call_id or "") != 9 for call_id in ids):
                return self.CALL_ID
        return None
