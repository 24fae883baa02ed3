"""The row of prompt caching: one parent with many children against an emulated provider cache, with marks and without.

The emulation keeps to what providers publish:
- Anthropic ("Prompt caching", Claude API docs): a request is cached in the order tools, system, messages. An entry ends at a block
  with `cache_control`, of which there are at most four; a request reads the longest entry that ends at one of its own marks or at
  most 20 blocks before it. Any change before a block makes another entry; a change of `tool_choice` leaves tools and system and
  drops the messages. A prefix below the model's minimum is not cached. Writing costs 1.25 times, reading 0.1 times as much as plain
  input. An entry can be read once the answer that wrote it has begun.
- OpenAI ("Prompt caching", API docs): a prefix of at least 1024 tokens is cached by itself, in steps of 128 tokens. Requests with the
  same `prompt_cache_key` reach the same machine; without one, those whose first 256 tokens are the same. Writing costs nothing extra.
Tokens are counted as four bytes each.
"""
import hashlib
import http.server
import json
import os
import subprocess
import threading
import time

import measure

CHILDREN = 20
TURNS = 3  # tool turns of each child, which reads this file of 3 KB
FILE, FILE_TEXT = "page.txt", ("x" * 59 + "\n") * 50
FIRST_BYTE_SECONDS = 0.2  # of an answer; until then nobody can read what its request wrote
BYTES_PER_TOKEN = 4
MARKS_MAX, LOOK_BACK = 4, 20
MINIMUMS = {"claude-sonnet-4-5": 1024, "claude-haiku-4-5": 4096, "gpt-5": 1024}
PRICES = {"claude-sonnet-4-5": (3, 0.3, 3.75, 15), "claude-haiku-4-5": (1, 0.1, 1.25, 5), "gpt-5": (1.25, 0.125, None, 10)}
# Model, depth that children may delegate to, target. Haiku's minimum is longer than most requests of this run.
ROWS = (("claude-sonnet-4-5", 2, 0.5), ("claude-sonnet-4-5", 1, 0.6), ("gpt-5", 2, 0.5), ("claude-haiku-4-5", 2, None))
CONFIG = """\
llm:
  providers:
    bench: {{api: {api}, base_url: "http://127.0.0.1:{port}/v1", api_key_env: BENCH_KEY}}
  models:
    bench: {{provider: bench, model: {model}, max_context_tokens: 200000, price_in: {prices[0]}, price_cached: {prices[1]}{write},
            price_out: {prices[3]}}}
  pools:
    default: [{{model: bench}}]
mode: auto
isolation: {{children: false}}
sub_agent: {{max_depth: {depth}}}
budget: {{cost_usd: null}}
"""


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def tokens(size):
    return size // BYTES_PER_TOKEN


class Use:
    """Tokens of one request: all input, read from the cache, written to it, output."""

    def __init__(self, input_tokens, read, written, output=50):
        self.input, self.read, self.written, self.output = input_tokens, read, written, output

    def cost(self, prices):
        plain, cached, write, out = prices
        return ((self.input - self.read - self.written) * plain + self.read * cached + self.written * (write or plain)
                + self.output * out)


class MarkedCache:
    """Anthropic's: entries end at marked blocks."""

    def __init__(self, minimum):
        self.minimum, self.entries = minimum, set()

    @staticmethod
    def blocks(body):
        """(bytes, marked) of each block, in the order in which they are cached."""
        def block(value, before=b""):
            mark = value.pop("cache_control", None) if isinstance(value, dict) else None
            return before + compact(value), mark is not None

        def texts(content):
            return [{"type": "text", "text": content}] if isinstance(content, str) else content

        found = [block(dict(tool)) for tool in body.get("tools", [])]
        found += [block(dict(part)) for part in texts(body.get("system", []))]
        before = compact(body.get("tool_choice"))
        for message in body["messages"]:
            for part in texts(message["content"]):
                found.append(block(dict(part), before + message["role"].encode()))
                before = b""
        return found

    def ask(self, body):
        """What the request uses, and the entries that its answer makes."""
        chain, size, ends = hashlib.sha256(), 0, []
        blocks = self.blocks(body)
        for data, marked in blocks:
            chain.update(b"%d:" % len(data) + data)
            size += len(data)
            ends.append((chain.hexdigest(), tokens(size), marked))
        marks = [i for i, (_, _, marked) in enumerate(ends) if marked]
        if len(marks) > MARKS_MAX:
            raise ValueError("%d marks; at most %d are allowed" % (len(marks), MARKS_MAX))
        read = max((ends[i][1] for mark in marks for i in range(max(0, mark - LOOK_BACK), mark + 1)
                    if ends[i][0] in self.entries), default=0)
        made = [(ends[i][0], ends[i][1]) for i in marks if ends[i][1] >= self.minimum]
        written = max([size for _, size in made], default=0)
        return Use(ends[-1][1], read, max(0, written - read)), [key for key, _ in made]

    def begin(self, made):
        self.entries.update(made)


class PrefixCache:
    """OpenAI's: any prefix, in steps."""
    STEP = 128

    def __init__(self, minimum):
        self.minimum, self.texts = minimum, {}

    def ask(self, body):
        text = compact(body.get("tools", [])) + compact(body.get("tool_choice")) + b"".join(map(compact, body["messages"]))
        machine = body.get("prompt_cache_key") or hashlib.sha256(text[:256 * BYTES_PER_TOKEN]).hexdigest()
        common = max((len(os.path.commonprefix([text, known])) for known in self.texts.get(machine, ())), default=0)
        read = tokens(common) // self.STEP * self.STEP
        return Use(tokens(len(text)), read if read >= self.minimum else 0, 0), (machine, text)

    def begin(self, made):
        machine, text = made
        self.texts.setdefault(machine, []).append(text)


class NoCache:
    """A server that ignores marks."""

    def __init__(self, real):
        self.real = real

    def ask(self, body):
        use, _ = self.real.ask(body)
        return Use(use.input, 0, 0), None

    def begin(self, made):
        pass


def first_user(body):
    message = next(message for message in body["messages"] if message["role"] == "user")
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


def reply_to(body, waves):
    """(text, calls): the root starts its children in these waves; a child reads TURNS files and answers."""
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    if first_user(body).startswith("root"):
        done = sum(waves[:turn])
        return ("done", []) if turn >= len(waves) else (
            "", [("spawn_agent", {"task": "leaf %d looks" % (done + i)}) for i in range(waves[turn])])
    return ("seen", []) if turn >= TURNS else ("", [("read", {"path": "./" * turn + FILE})])


def chat_answer(text, calls, use):
    def chunk(delta, finish=None, **more):
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    yield chunk({"role": "assistant", "content": text or None})
    for i, (name, arguments) in enumerate(calls):
        yield chunk({"tool_calls": [{"index": i, "id": "call_%d" % i, "type": "function",
                                     "function": {"name": name, "arguments": json.dumps(arguments)}}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [],
           "usage": {"prompt_tokens": use.input, "completion_tokens": use.output, "total_tokens": use.input + use.output,
                     "prompt_tokens_details": {"cached_tokens": use.read}}}
    yield "[DONE]"


def messages_answer(text, calls, use):
    yield {"type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "model": "bench", "content": [], "stop_reason": None,
        "usage": {"input_tokens": use.input - use.read - use.written, "cache_read_input_tokens": use.read,
                  "cache_creation_input_tokens": use.written, "output_tokens": 1}}}
    blocks = ([({"type": "text", "text": ""}, {"type": "text_delta", "text": text})] if text else []) + [
        ({"type": "tool_use", "id": "toolu_%d" % i, "name": name, "input": {}},
         {"type": "input_json_delta", "partial_json": json.dumps(arguments)}) for i, (name, arguments) in enumerate(calls)]
    for i, (start, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": i, "content_block": start}
        yield {"type": "content_block_delta", "index": i, "delta": delta}
        yield {"type": "content_block_stop", "index": i}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"},
           "usage": {"output_tokens": use.output}}
    yield {"type": "message_stop"}


class CacheServer:
    """Answers both APIs; `uses` has what each request used."""

    def __init__(self, cache, waves):
        self.cache, self.waves, self.uses, self.lock = cache, waves, [], threading.Lock()
        own = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with own.lock:
                    use, made = own.cache.ask(body)
                    own.uses.append(use)
                time.sleep(FIRST_BYTE_SECONDS)
                with own.lock:
                    own.cache.begin(made)
                events = messages_answer if self.path.startswith("/v1/messages") else chat_answer
                data = b""
                for event in events(*reply_to(body, own.waves), use):
                    kind = b"event: %s\n" % event["type"].encode() if isinstance(event, dict) and "type" in event else b""
                    data += kind + b"data: " + (event.encode() if isinstance(event, str) else compact(event)) + b"\n\n"
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def run_once(bench, model, cache, waves, depth=2):
    """One run; what its requests used, and how long it took."""
    api = "anthropic" if model.startswith("claude") else "openai"
    prices = PRICES[model]
    with CacheServer(cache, waves) as server:
        config = os.path.join(bench.directory, "caching.yaml")
        write = ", price_cache_write: %s" % prices[2] if prices[2] else ""
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(api=api, port=server.port, model=model, prices=prices, write=write, depth=depth))
        store = bench.new_store()
        sample = measure.Process([bench.program("cadre"), "run", "root", "--quiet", "--max-concurrent", str(CHILDREN),
                                  "--config", config, "--store", store],
                                 bench.workspace, {**bench.environment, "BENCH_KEY": "sk-bench"}, bench.left()).finish()
        expected = len(waves) + 1 + sum(waves) * (TURNS + 1)
        if len(server.uses) != expected:
            raise measure.Failed("cadre sent %d requests and %d were expected" % (len(server.uses), expected))
        check_shown(bench, store, server.uses)
        bench.forget_store(store)
        return server.uses, sample.wall


def check_shown(bench, store, uses):
    """`cadre show` tells what the server counted."""
    done = subprocess.run([bench.program("cadre"), "show", "last", "--json", "--store", store], cwd=bench.workspace,
                          env=bench.environment, stdout=subprocess.PIPE, text=True, timeout=bench.left())
    shown = json.loads(done.stdout)["input"]
    counted = {"input_tokens": sum(use.input for use in uses), "cached_tokens": sum(use.read for use in uses),
               "cache_write_tokens": sum(use.written for use in uses)}
    if {key: shown[key] for key in counted} != counted:
        raise measure.Failed("cadre show tells %s, and the server counted %s" % (shown, counted))


def cache_of(model):
    return (MarkedCache if model.startswith("claude") else PrefixCache)(MINIMUMS[model])


def hit_rate(uses):
    return sum(use.read for use in uses) / sum(use.input for use in uses)


def cost(uses, model):
    return sum(use.cost(PRICES[model]) for use in uses)


def measure_caching(bench, row, model, depth, most):
    """The same run with a cache, with a server that ignores marks, and with one child ahead of its siblings, which is what holding
    their first requests back could bring. depth 1: the children have fewer tools than their parent, and share nothing with it."""
    with open(os.path.join(bench.workspace, FILE), "w", encoding="ascii") as file:
        file.write(FILE_TEXT)
    on, row.wall = run_once(bench, model, cache_of(model), [CHILDREN], depth)
    off, _ = run_once(bench, model, NoCache(cache_of(model)), [CHILDREN], depth)
    ahead, _ = run_once(bench, model, cache_of(model), [1, CHILDREN - 1], depth)
    ratio, held = cost(on, model) / cost(off, model), cost(ahead, model) / cost(off, model)
    row.bytes_request = sum(use.input for use in on) * BYTES_PER_TOKEN / len(on)
    row.note = ("%.0f %% of input from the cache, %.2fx the cost of a server that ignores marks. Siblings that wait for the first "
                "one's answer: %.2fx; they do not") % (hit_rate(on) * 100, ratio, held)
    if most is not None:
        row.judge("cost ≤ %.1fx" % most, ("cost", ratio, most))
