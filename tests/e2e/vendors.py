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
