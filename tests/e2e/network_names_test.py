"""Hosts by name: what commands reach through cadre's own proxy, with curl, git and npm against servers on the loopback, what they are
refused, what is told about it, and keys that commands never hold."""
import http.server
import json
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from authority import Authority
from harness import ModelServer, Workspace, json_lines

KEY = "Bearer correct-horse-battery"


class Server(http.server.ThreadingHTTPServer):
    """Serves a directory on the loopback; with a certificate and its key over TLS. Remembers requests."""

    def __init__(self, directory, certificate=None):
        self.asked = []
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(directory))

            def log_message(self, *_):
                pass

            def do_GET(self):
                server.asked.append((self.path, dict(self.headers)))
                super().do_GET()

        super().__init__(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class NamesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        hosts = ["registry.test", "keyed.test", "evil.test", "deep.names.test"]
        cls.certificate = cls.authority.certificate("server", ",".join(f"DNS:{host}" for host in hosts))

    def setUp(self):
        self.files = Path(tempfile.mkdtemp(prefix="cadre-served-"))
        self.addCleanup(shutil.rmtree, self.files)
        (self.files / "greeting").write_text("hello from the server\n")
        self.tls = Server(self.files, self.certificate)
        self.addCleanup(self.tls.close)
        self.plain = Server(self.files)
        self.addCleanup(self.plain.close)

    def config(self, allow, more=""):
        addresses = ", ".join(f"{host}: \"127.0.0.1:{port}\"" for host, port in
                              [("registry.test", self.tls.port), ("keyed.test", self.tls.port),
                               ("evil.test", self.tls.port), ("deep.names.test", self.tls.port),
                               ("plain.test", self.plain.port)])
        return f"access:\n  network: {{allow: {json.dumps(allow)}}}\n  addresses: {{{addresses}}}\n{more}"

    def commands(self, *commands, allow=("registry.test", "plain.test", "keyed.test"), more="", env=None):
        """Runs these in one agent, one after the other; their results' texts."""
        rules = [{"when": {"turn": i}, "reply": {"calls": [{"name": "shell", "arguments": {"command": command}}]}}
                 for i, command in enumerate(commands)]
        rules.append({"when": {"turn": len(commands)}, "reply": {"text": "done"}})
        models = [{"id": "scripted", "window": 131072, "max_output": 8192}]
        with ModelServer({"models": models, "rules": rules}) as server, \
                Workspace(config=self.config(list(allow), more)) as space:
            shutil.copy(self.authority.file, space.files / "ca.pem")
            done = space.run(["run", "--json", "--mode", "dangerous", *server.flags(), "go"], env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.log = done.stdout
            events = space.events(json_lines(done.stdout)[0]["run_id"])
            self.finished = [event["payload"] for event in events if event["type"] == "tool.finished"]
            contracts = [event["payload"]["contract"] for event in events if event["type"] == "run.started"]
            self.network = contracts[0]["permissions"]["network"]
        return [payload["text"] for payload in self.finished]

    def contacts(self, i=0):
        return [(c["host"], c["port"], c["verdict"]) for c in self.finished[i].get("network", [])]

    def test_curl_reaches_an_allowed_host_over_tls_and_plainly(self):
        tls, plain = self.commands("curl -sS --cacert ca.pem https://registry.test/greeting",
                                   "curl -sS http://plain.test/greeting")
        self.assertIn("hello from the server", tls)
        self.assertIn("hello from the server", plain)
        self.assertEqual(self.network, "allow keyed.test plain.test registry.test")
        self.assertEqual(self.contacts(0), [("registry.test", 443, "reached")])
        self.assertEqual(self.contacts(1), [("plain.test", 80, "reached")])
        self.assertGreater(self.finished[0]["network"][0]["received"], 500)

    def test_what_is_not_allowed_is_refused_and_told(self):
        texts = self.commands("curl -sS --cacert ca.pem https://evil.test/greeting; curl -sS https://evil.test/greeting",
                              "curl -sS http://evil.test/greeting",
                              "curl -sS https://127.0.0.1/ --noproxy ''; curl -sS http://[::1]/ --noproxy ''",
                              "curl -sS https://registry.test:8443/; curl -sS http://plain.test:8080/",
                              f"curl -sS --noproxy '*' http://127.0.0.1:{self.plain.port}/greeting",
                              f"curl -sS --noproxy '*' --resolve plain.test:80:127.0.0.1 http://plain.test/greeting")
        for text in texts:
            self.assertNotIn("hello from the server", text)
        self.assertIn("[network: refused evil.test:443 (evil.test is not among the hosts", texts[0])
        self.assertIn(" 2 times]", texts[0])
        self.assertIn("cadre: evil.test is not among the hosts that this agent may reach", texts[1])
        self.assertEqual({verdict for _, _, verdict in self.contacts(2)}, {"refused"})
        self.assertIn("by name, not by address", texts[2])
        self.assertEqual(self.contacts(3), [("registry.test", 8443, "refused"), ("plain.test", 8080, "refused")])
        self.assertEqual(self.contacts(4), [])
        self.assertEqual(self.tls.asked + self.plain.asked, [])

    def test_tls_must_ask_for_the_host_that_was_allowed(self):
        """curl asks for evil.test in a tunnel to registry.test; then for nothing; then it does not speak TLS at all."""
        texts = self.commands(
            "curl -sS --cacert ca.pem --connect-to evil.test:443:registry.test:443 https://evil.test/greeting",
            "curl -sSk --connect-to 10.1.2.3:443:registry.test:443 https://10.1.2.3/greeting",
            "curl -sSp -x $http_proxy --connect-to plain.test:80:registry.test:443 http://plain.test/greeting")
        self.assertIn("TLS asked for evil.test in a connection to registry.test", texts[0])
        self.assertIn("TLS asked for no server name", texts[1])
        self.assertIn("port 443 is for TLS", texts[2])
        for i in range(3):
            self.assertEqual(self.contacts(i), [("registry.test", 443, "refused")])
        self.assertEqual(self.tls.asked, [])

    def test_a_name_that_leads_to_this_machine_is_refused_unless_it_is_named_as_private(self):
        command = "curl -sS --noproxy '' http://localhost/greeting"
        refused = self.commands(command, allow=["localhost"])[0]
        self.assertIn("a loopback address", refused)
        allowed = self.commands(command, allow=["localhost"], more="  private_hosts: [localhost]\n")[0]
        self.assertNotIn("a loopback address", allowed)

    def test_a_star_allows_what_is_beneath(self):
        texts = self.commands("curl -sS --cacert ca.pem https://deep.names.test/greeting", allow=["*.names.test"])
        self.assertIn("hello from the server", texts[0])

    def test_git_clones_over_https(self):
        source = self.files / "source"
        for arguments in (["init", "-q", "-b", "main", str(source)], ["-C", str(source), "commit", "-q", "--allow-empty", "-m", "first"],
                          ["clone", "-q", "--bare", str(source), str(self.files / "repo.git")],
                          ["-C", str(self.files / "repo.git"), "update-server-info"]):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t.test", *arguments], check=True, capture_output=True)
        text = self.commands("git -c http.sslCAInfo=$PWD/ca.pem clone -q https://registry.test/repo.git /tmp/copy"
                             " && git -C /tmp/copy log --format=%s")[0]
        self.assertIn("\nfirst\n", text)

    @unittest.skipUnless(shutil.which("npm", path="/usr/bin:/usr/local/bin"), "there is no npm")
    def test_npm_asks_a_registry(self):
        (self.files / "demo").write_text(json.dumps({
            "name": "demo", "dist-tags": {"latest": "4.5.6"},
            "versions": {"4.5.6": {"name": "demo", "version": "4.5.6", "dist": {"tarball": "https://registry.test/demo.tgz"}}}}))
        text = self.commands("npm view demo version --registry=https://registry.test/ --cafile=ca.pem")[0]
        self.assertIn("4.5.6", text)

    def test_a_key_is_added_outside_and_never_seen_inside(self):
        more = "  credentials: {keyed.test: {Authorization: Bearer $REGISTRY_KEY}}\n"
        env = {"REGISTRY_KEY": KEY.removeprefix("Bearer "), "SSL_CERT_FILE": str(self.authority.file)}
        texts = self.commands("curl -sS -H 'Authorization: Bearer wrong' http://keyed.test/greeting",
                              "env; cat /proc/*/environ | tr '\\0' '\\n'", more=more, env=env)
        self.assertIn("hello from the server", texts[0])
        self.assertEqual([headers["Authorization"] for _, headers in self.tls.asked], [KEY])
        self.assertIn("https_proxy=http://127.0.0.1:", texts[1])
        self.assertNotIn(env["REGISTRY_KEY"], "".join(texts) + self.log)

    def test_a_key_goes_to_no_server_without_its_certificate(self):
        more = "  credentials: {keyed.test: {Authorization: Bearer $REGISTRY_KEY}}\n"
        env = {"REGISTRY_KEY": "secret", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}
        text = self.commands("curl -sS http://keyed.test/greeting", more=more, env=env)[0]
        self.assertIn("[network: failed keyed.test:80", text)
        self.assertEqual(self.tls.asked, [])

    def test_a_key_that_is_not_there_is_said(self):
        more = "  credentials: {keyed.test: {Authorization: Bearer $REGISTRY_KEY}}\n"
        text = self.commands("curl -sS http://keyed.test/greeting", more=more)[0]
        self.assertIn("needs the environment variable REGISTRY_KEY, which is not set", text)

    def test_a_job_in_the_background_is_told_of_once(self):
        models = [{"id": "scripted", "window": 131072, "max_output": 8192}]
        calls = [{"command": "curl -sS http://evil.test/; true", "background": True},
                 {"job": 1, "wait_ms": 60000}, {"job": 1}]
        rules = [{"when": {"turn": i}, "reply": {"calls": [{"name": "shell", "arguments": arguments}]}}
                 for i, arguments in enumerate(calls)] + [{"when": {"turn": 3}, "reply": {"text": "done"}}]
        with ModelServer({"models": models, "rules": rules}) as server, \
                Workspace(config=self.config(["plain.test"])) as space:
            done = space.run(["run", "--json", "--mode", "dangerous", *server.flags(), "go"])
            self.assertEqual(done.returncode, 0, done.stderr)
            events = space.events(json_lines(done.stdout)[0]["run_id"])
            found = [len(e["payload"].get("network", [])) for e in events if e["type"] == "tool.finished"]
        self.assertEqual(found, [0, 1, 0])


class ConfigTest(unittest.TestCase):
    def check(self, user, project=None):
        files = {"cadre.yaml": project} if project else {}
        with Workspace(files, config=user) as space:
            return space.run(["config", "check"])

    def test_a_project_may_only_narrow_the_names(self):
        user = "access: {network: {allow: [a.test, \"*.b.test\"]}}\n"
        for project in ("none", "{allow: [a.test]}", "{allow: [x.b.test, a.test]}"):
            done = self.check(user, f"access: {{network: {project}}}\n")
            self.assertEqual(done.returncode, 0, done.stderr)
        for project in ("full", "relay", "{allow: [c.test]}", "{allow: [b.test]}", "{allow: [\"*\"]}"):
            done = self.check(user, f"access: {{network: {project}}}\n")
            self.assertEqual(done.returncode, 2, project)
            self.assertIn("access.network", done.stderr)
        for key in ("private_hosts: [a.test]", "addresses: {a.test: 10.0.0.1}", "credentials: {a.test: {X: y}}"):
            done = self.check(user, f"access: {{{key}}}\n")
            self.assertEqual(done.returncode, 2, key)
            self.assertIn("a project's file may not set access.", done.stderr)

    def test_check_shows_the_names_and_no_key(self):
        done = self.check("access:\n  network: {allow: [a.test, \"*.b.test\"]}\n"
                          "  credentials: {a.test: {Authorization: open-sesame}}\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{allow: ["*.b.test", a.test]}', done.stdout)
        self.assertNotIn("open-sesame", done.stdout)


if __name__ == "__main__":
    unittest.main()
