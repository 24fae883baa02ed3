"""TLS and HTTP/2 with a real peer: nghttpx in front of the scripted model, certificates of an authority made for the test, and
small servers that do what a good one never does."""
import gzip
import http.server
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from authority import Authority
from harness import ModelServer, Workspace, json_lines, wait_until

PROXY = shutil.which("nghttpx") or "/usr/sbin/nghttpx"
STREAM = [("Content-Type", "text/event-stream"), ("Connection", "close")]
CHILDREN = 28  # a root stops at thirty calls
CONFIG = """isolation: {{children: false}}
llm:
  providers: {{local: {{base_url: "{url}", api: {api}, api_key_env: HTTP_KEY{more}}}}}
  models: {{only: {{provider: local, model: scripted, {model}}}}}
sub_agent: {{max_concurrent: {concurrent}, default_budget: {{timeout_ms: 5m}}}}
"""

# An output limit that answers of some megabytes are within: far beyond it they would be cut.
LONG_ANSWERS = "max_context_tokens: 4000000, max_tokens: 1000000"


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def fan(children, **child):
    """A root that starts children at once, each of which reads and then answers."""
    return script(rule({"calls": [call("spawn_agent", children, task="CHILD {{index}}")]}, first_user="ROOT", turn=0),
                  rule({"text": "all answered"}, first_user="ROOT"),
                  rule({"calls": [call("ls", path=".")], **child}, first_user="CHILD", turn=0),
                  rule({"text": "seen by {{match:0}}", **child}, first_user_regex=r"CHILD \d+"))


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Proxy:
    """nghttpx with TLS before a model server; `log` holds protocol, status and client port of each request that ended."""

    def __init__(self, server, certificate, *options, port=None):
        self.place = Path(tempfile.mkdtemp(prefix="cadre-proxy-"))
        self.backend = server.url.removeprefix("http://").removesuffix("/v1").replace(":", ",")
        self.certificate, self.options = certificate, options
        for _ in range(5):  # another process may take the port first
            self.port = port or free_port()
            if self._start():
                break
        else:
            raise AssertionError("nghttpx does not start: " + (self.place / "errors").read_text())
        self.url = f"https://127.0.0.1:{self.port}/v1"

    def _start(self):
        command = [PROXY, "--conf=/dev/null", "--workers=1", "--no-ocsp", f"--frontend=127.0.0.1,{self.port}",
                   f"--backend={self.backend}", f"--accesslog-file={self.place}/log",
                   "--accesslog-format=$alpn $status $remote_port $request", f"--errorlog-file={self.place}/errors",
                   *self.options, str(self.certificate[1]), str(self.certificate[0])]
        with open(self.place / "errors", "ab") as errors:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True)

        def answers():
            return self.popen.poll() is not None or self.listens()
        wait_until(answers, "nghttpx listens")
        return self.popen.poll() is None

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self):
        path = self.place / "log"
        return [line.split(" ", 3) for line in path.read_text().splitlines()] if path.exists() else []

    def connections(self):
        return {line[2] for line in self.log()}

    def protocols(self):
        return {line[0] for line in self.log()}

    def signal(self, number):
        """SIGKILL goes to its worker too, which would outlive it."""
        if self.popen.poll() is None:
            (os.killpg if number == signal.SIGKILL else os.kill)(self.popen.pid, number)

    def close(self):
        self.signal(signal.SIGKILL)
        self.popen.wait(60)
        shutil.rmtree(self.place, ignore_errors=True)


class WithTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.good = cls.authority.certificate("good")

    def space(self, url, api="openai", concurrent=3, more="", model="max_context_tokens: 32768"):
        space = Workspace({"a.txt": "a line\n"})
        self.addCleanup(space.close)
        config = space.root / "http.yaml"
        config.write_text(CONFIG.format(url=url, api=api, concurrent=concurrent, more=more, model=model))
        space.environment.update(CADRE_CONFIG=str(config), HTTP_KEY="the-secret-key", SSL_CERT_FILE=str(self.authority.file))
        return space

    def proxy(self, server, *options, certificate=None, port=None):
        proxy = Proxy(server, certificate or self.good, *options, port=port)
        self.addCleanup(proxy.close)
        return proxy

    def ends_well(self, space, flags=()):
        done = space.run(["run", "--mode", "auto", "--json", *flags, "ROOT"], seconds=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.result = json_lines(done.stdout)[-1]
        self.events = space.events(self.result["run_id"])
        return done


class Multiplexed(WithTls):
    def test_many_children_share_few_connections_over_both_apis(self):
        for api in ("openai", "anthropic"):
            with self.subTest(api), ModelServer(fan(CHILDREN, delay_ms=150)) as server:
                proxy = self.proxy(server)
                self.ends_well(self.space(proxy.url, api, concurrent=CHILDREN))
                self.assertEqual(proxy.protocols(), {"h2"})
                self.assertEqual(len(proxy.log()), 2 * CHILDREN + 2)
                self.assertLessEqual(len(proxy.connections()), 2)
                self.assertGreater(server.idle()["max_concurrent"], 10)
                self.assertEqual(of_type(self.events, "model.failed"), [])

    def test_the_servers_limit_of_streams_is_kept(self):
        """nghttpx resets streams above its limit; with eight on a connection, all children need several and none fails."""
        with ModelServer(fan(CHILDREN, delay_ms=150)) as server:
            proxy = self.proxy(server, "--frontend-http2-max-concurrent-streams=8")
            self.ends_well(self.space(proxy.url, concurrent=CHILDREN))
            self.assertEqual(proxy.protocols(), {"h2"})
            self.assertGreater(len(proxy.connections()), 1)
            self.assertEqual(of_type(self.events, "model.failed"), [])
            self.assertEqual({line[1] for line in proxy.log()}, {"200"})

    def test_requests_that_leave_together_share_a_connection_that_is_still_being_made(self):
        """A resumed run asks for all of its children at once, and no connection is there yet."""
        with ModelServer(fan(CHILDREN, delay_ms=1500)) as server:
            proxy = self.proxy(server)
            space = self.space(proxy.url, concurrent=CHILDREN)
            process = space.start(["run", "--mode", "auto", "--json", "ROOT"])
            wait_until(lambda: server.stats()["in_flight"] >= CHILDREN, "all children have asked")
            process.kill()
            server.idle()
            before = proxy.connections()
            done = space.run(["resume", "--json", process.lines[0]["run_id"]], seconds=180)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(len(proxy.connections() - before), 2)

    def test_where_only_http_1_is_offered_a_connection_is_used_again(self):
        turns = [rule({"calls": [call("ls", path=f"./{'/.' * turn}")]}, turn=turn) for turn in range(8)]
        with ModelServer(script(*turns, rule({"text": "done"}))) as server:
            proxy = self.proxy(server, "--npn-list=http/1.1")
            self.ends_well(self.space(proxy.url))
            self.assertEqual(proxy.protocols(), {"http/1.1"})
            self.assertEqual((len(proxy.log()), len(proxy.connections())), (9, 1))


class Lost(WithTls):
    """The connection goes away under several answers at once."""

    STORY = "The lamp was lit at six, and nobody asked who had done it. "

    def slow(self):
        return fan(5, text=self.STORY * 4, chunks=40, chunk_delay_ms=40)

    def half_way(self, number):
        """Children in the middle of their answers; the proxy gets this signal; another one takes its port."""
        with ModelServer(self.slow()) as server:
            proxy = self.proxy(server)
            space = self.space(proxy.url, concurrent=5)
            process = space.start(["run", "--mode", "auto", "--json", "ROOT"])
            wait_until(lambda: server.stats()["in_flight"] >= 5, "all children are being answered")
            proxy.signal(number)
            wait_until(lambda: not proxy.listens(), "nghttpx takes no more connections")
            second = self.proxy(server, port=proxy.port)
            self.assertEqual(process.end(180), 0, process.errors)
            self.assertEqual(second.protocols(), {"h2"})
            self.result = process.lines[-1]
            self.events = space.events(self.result["run_id"])
            self.children = space.children(self.result["run_id"])
            server.idle()

    def check_answers(self):
        self.assertEqual(self.result["response"], "all answered")
        self.assertEqual(len(self.children), 5)
        for payload in of_type(self.events, "model.replied"):
            self.assertIn(payload.get("text", ""), ("", "all answered", self.STORY * 4))
        answers = [payload for payload in of_type(self.events, "tool.finished") if self.STORY in payload["text"]]
        self.assertEqual(len(answers), 5)
        for payload in answers:
            self.assertEqual(payload["text"].count(self.STORY), 4)

    def test_answers_that_broke_off_are_asked_for_again_and_nothing_of_them_is_kept(self):
        self.half_way(signal.SIGKILL)
        self.check_answers()
        failed = of_type(self.events, "model.failed")
        self.assertGreaterEqual(len(failed), 5)
        self.assertEqual({payload["class"] for payload in failed}, {"retry"})

    def test_a_server_that_says_goodbye_first_may_finish_its_answers(self):
        """SIGQUIT: nghttpx sends GOAWAY and ends when the streams that it has are answered. They are not asked for again."""
        self.half_way(signal.SIGQUIT)
        self.check_answers()
        broken = [payload for payload in of_type(self.events, "model.failed") if payload.get("partial")]
        self.assertEqual(broken, [])


class Deadlines(WithTls):
    def test_a_server_that_sends_nothing_meets_the_first_byte_deadline(self):
        with ModelServer(script(rule({"text": "late", "delay_ms": 6000, "fail_times": 1, "then": {"text": "at once"}}))) as server:
            proxy = self.proxy(server)
            self.ends_well(self.space(proxy.url, more=", first_byte_ms: 2000"))
            self.assertEqual(self.result["response"], "at once")
            (failed,) = of_type(self.events, "model.failed")
            self.assertIn("sent nothing within 2 s", failed["error"])
            server.idle()

    def test_a_stream_that_falls_silent_meets_the_idle_deadline(self):
        words = "some words of an answer " * 4
        with ModelServer(script(rule({"text": words, "chunks": 4, "chunk_delay_ms": 4000, "fail_times": 1,
                                      "then": {"text": "at once"}}))) as server:
            proxy = self.proxy(server)
            self.ends_well(self.space(proxy.url, more=", idle_ms: 2000"))
            self.assertEqual(self.result["response"], "at once")
            (failed,) = of_type(self.events, "model.failed")
            self.assertIn("fell silent for 2 s", failed["error"])
            server.idle()


class Certificates(WithTls):
    """What is wrong is said, nothing is sent, and nothing is tried again: the next try would meet the same certificate."""

    def refused(self, certificate, expected, environment=None):
        with ModelServer(script(rule({"text": "never"}))) as server:
            proxy = self.proxy(server, certificate=certificate)
            space = self.space(proxy.url)
            space.environment.update(environment or {})
            done = space.run(["run", "ROOT"])
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, expected)
            self.assertNotIn("the-secret-key", done.stdout + done.stderr)
            self.assertEqual((server.requests(), proxy.log()), ([], []))
            (row,) = space.query("SELECT id FROM runs")
            self.assertEqual(len(of_type(space.events(row["id"]), "model.requested")), 1)
            return done

    def test_one_that_signed_itself(self):
        self.refused(self.authority.certificate("own", signed=False), "not trusted .*SSL_CERT_FILE.*self.signed")

    def test_one_of_an_authority_that_the_system_does_not_know(self):
        self.refused(self.good, "not trusted .*SSL_CERT_FILE", {"SSL_CERT_FILE": ""})

    def test_one_for_another_host(self):
        self.refused(self.authority.certificate("other", hosts="DNS:example.org"), "not trusted .*127.0.0.1")

    def test_one_that_has_expired(self):
        self.refused(self.authority.certificate("old", until="20210101000000Z"), "not trusted .*expired")

    def test_a_list_of_authorities_that_cannot_be_read(self):
        self.refused(self.good, "SSL_CERT_FILE", {"SSL_CERT_FILE": "/nowhere/authorities.pem"})


class Peer:
    """A server that answers each POST with what it is told to, all behind the first with `later`; keeps what it was sent."""

    def __init__(self, test, status, headers, body, later=None):
        peer = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                peer.requests.append(dict(self.headers))
                try:
                    self.send_response(status)
                    for name, value in headers:
                        self.send_header(name, value)
                    self.end_headers()
                    for piece in body if later is None or len(peer.requests) == 1 else later:
                        self.wfile.write(piece)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client had enough

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)


class Hostile(WithTls):
    def fails(self, peer, expected):
        for api in ("openai", "anthropic"):
            with self.subTest(api):
                done = self.space(peer.url, api).run(["run", "ROOT"])
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, expected)
                self.assertNotIn("the-secret-key", done.stdout + done.stderr)

    def test_a_small_body_that_unpacks_to_a_huge_one_is_cut_at_the_bound(self):
        bomb = gzip.compress(b" " * (256 << 20), 9)
        self.assertLess(len(bomb), 1 << 20)
        peer = Peer(self, 200, [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"),
                                ("Content-Length", str(len(bomb)))], [bomb])
        self.fails(peer, "more than|too (long|large)")
        self.assertEqual(len(peer.requests), 2, "it is not asked again")

    @staticmethod
    def answer(text, pieces):
        """A stream whose answer is this JSON text, a hundred thousand times in each piece."""
        head, tail = b'data: {"choices":[{"index":0,"delta":{"content":"', b'"}}]}\n\n'
        end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        return [head + text * 100_000 + tail] * pieces + [end]

    def test_a_reply_of_control_characters_is_kept_whole(self):
        """Each takes six bytes where it is written as JSON: in the answer, and again in the log."""
        peer = Peer(self, 200, STREAM, self.answer(rb"\u0001", 10))
        done = self.space(peer.url, model=LONG_ANSWERS).run(["run", "--json", "ROOT"], seconds=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["response"], "\x01" * 1_000_000)

    def test_a_reply_too_large_for_the_log_is_an_error_of_its_request(self):
        peer = Peer(self, 200, STREAM, self.answer(rb"\u0001", 60))
        space = self.space(peer.url, model=LONG_ANSWERS)
        done = space.run(["run", "--json", "ROOT"], seconds=180)
        self.assertEqual(done.returncode, 1, done.stderr[:2000])
        ended = json_lines(done.stdout)[-1]
        self.assertEqual(ended["status"], "error")
        self.assertRegex(ended["error"], r"the model's answer has \d+ bytes, and a log entry has at most \d+; ask for less")

    def test_headers_without_end_are_cut_at_the_bound(self):
        peer = Peer(self, 200, [(f"X-Filler-{n}", "y" * 1000) for n in range(90)], [b"data: [DONE]\n\n"])
        self.fails(peer, "more than 64 KB of headers")

    def test_a_redirect_to_another_host_is_explained_and_the_key_stays_here(self):
        for status in (301, 302, 307, 308):
            thief = Peer(self, 200, [], [])
            peer = Peer(self, status, [("Location", thief.url.replace("127.0.0.1", "localhost") + "/chat/completions"),
                                       ("Content-Length", "0")], [])
            self.fails(peer, rf"redirects to http://localhost:\d+/v1/chat/completions \(HTTP {status}\)")
            self.assertEqual(thief.requests, [])
            self.assertEqual(len(peer.requests), 2)

    def test_a_redirect_that_has_the_key_in_its_address_is_explained_without_it(self):
        peer = Peer(self, 302, [("Location", "http://localhost/the-secret-key/v1"), ("Content-Length", "0")], [])
        self.fails(peer, r"redirects to http://localhost/\*\*\*/v1 \(HTTP 302\)")


if __name__ == "__main__":
    unittest.main()
