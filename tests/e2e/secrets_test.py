"""Secrets in files and in what programs print: no model, no event and no screen has them; masks cannot be written back."""
import random
import string
import unittest

from harness import ModelServer, Workspace, json_lines
from shell_test import call, child, root, script, shell
from spawning import Recorder, tool_results

LETTERS = string.ascii_letters + string.digits


def made(prefix, n, letters=LETTERS, seed=1):
    """A key that no vendor gave out."""
    return prefix + "".join(random.Random(seed).choices(letters, k=n))


GITHUB = made("ghp_", 36)
ANTHROPIC = made("sk-ant-api03-", 90, seed=2)
OWN = "correct-horse-battery-staple"
PEM = ("-----BEGIN RSA PRIVATE KEY-----\n" + "".join(made("", 64, seed=n) + "\n" for n in range(10))
       + "-----END RSA PRIVATE KEY-----\n")
ENV = f"NAME=shop\nGITHUB_TOKEN={GITHUB}\nANTHROPIC={ANTHROPIC}\nOWN={OWN}\nPORT=80\n"
SECRETS = [GITHUB, ANTHROPIC, OWN, PEM.splitlines()[3]]


class Masked(unittest.TestCase):
    def serve(self, *rules):
        server = ModelServer(script(*rules))
        self.addCleanup(server.stop)
        self.recorder = Recorder(server.url)
        self.addCleanup(self.recorder.close)
        return ["--base-url", self.recorder.url, "--model", "scripted"]

    def run_root(self, *rules, config=None, files=None, json=True, project=None):
        flags = self.serve(*rules)
        self.space = Workspace({".env": ENV, "key.pem": PEM, **(files or {})}, config)
        self.addCleanup(self.space.close)  # verifies and replays every run
        if project is not None:
            (self.space.files / "cadre.yaml").write_text(project)
        self.done = self.space.run(["run", *flags, "--mode", "dangerous", *(["--json"] if json else []), "ROOT"],
                                   env={"OPENAI_API_KEY": OWN})
        if json:
            self.run_id = json_lines(self.done.stdout)[0]["run_id"]

    def results(self):
        return tool_results(self.recorder.of("ROOT")[-1])

    def finished(self):
        return [event["payload"] for event in self.space.events(self.run_id) if event["type"] == "tool.finished"]

    def everything(self):
        """All that was sent, stored and shown."""
        store = "".join(path.read_bytes().decode("latin-1") for path in self.space.store.parent.iterdir() if path.is_file())
        events = repr(self.space.events(self.run_id)) if hasattr(self, "run_id") else ""
        return [b"".join(self.recorder.bodies).decode(), store, events, self.done.stdout, self.done.stderr]

    def assert_no_secret(self, secrets=None):
        for place in self.everything():
            for secret in secrets or SECRETS:
                self.assertNotIn(secret, place)

    def test_nobody_sees_keys_of_a_file(self):
        self.run_root(root(0, calls=[call("read", path=".env"), call("read", path="key.pem"), call("grep", pattern="TOKEN")]),
                      root(1, text="done"))
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        env, pem, grep = self.results()
        self.assertRegex(env, r"NAME=shop\n.*GITHUB_TOKEN=\[masked:github-token:[0-9a-f]{4}\]\n.*ANTHROPIC=\[masked:anthropic-key:"
                              r"[0-9a-f]{4}\]\n.*OWN=\[masked:config:[0-9a-f]{4}\]\n.*PORT=80\n\[3 secrets masked\]\n$")
        self.assertRegex(pem, r"^ +1\t\[masked:private-key:[0-9a-f]{4}\]\n\[1 secret masked\]\n$")
        mask = env.split("GITHUB_TOKEN=")[1].split("\n")[0]
        self.assertIn(mask, grep)  # equal secrets have equal masks
        self.assertEqual(sorted(payload.get("secrets") for payload in self.finished()), [1, 1, 3])  # they run side by side
        self.assert_no_secret()

    def test_what_programs_print_is_masked_also_in_pieces(self):
        half = len(GITHUB) // 2
        self.run_root(
            root(0, calls=[shell(f"cat .env; printf 'token {GITHUB[:half]}'; sleep 0.3; printf '{GITHUB[half:]}\\n'; sleep 0.3")]),
            root(1, calls=[shell(f"printf 'job {GITHUB[:half]}'; while [ ! -e go ]; do sleep 0.02; done; printf '{GITHUB[half:]}\\n'",
                                 background=True)]),
            root(2, calls=[call("shell", job=1, wait_ms=300)]),
            root(3, calls=[shell("touch go")]),
            root(4, calls=[call("shell", job=1, wait_ms=20000)]),
            root(5, text="done"), json=True)
        results = self.results()
        self.assertIn("[4 secrets masked]", results[0])
        self.assertIn("[1 secret masked]", results[4])
        for result in results:
            self.assertNotIn(GITHUB[:half], result)
            self.assertNotIn(GITHUB[half:], result)
        progress = "".join(line for line in self.done.stdout.splitlines() if '"progress"' in line)
        self.assertNotIn(GITHUB[:half], progress)

    def test_children_and_their_files_are_masked_too(self):
        self.run_root(root(0, calls=[call("spawn_agent", task="CHILD look", context_files=[".env"])]), root(1, text="done"),
                      child(0, calls=[call("read", path="key.pem")]), child(1, text="seen"))
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assert_no_secret()

    def test_a_person_sees_no_key_either(self):
        self.run_root(root(0, calls=[call("read", path="missing-" + GITHUB), shell("cat .env key.pem; sleep 0.4")]),
                      root(1, text="done"), json=False)
        for secret in SECRETS[1:]:
            self.assertNotIn(secret, self.done.stdout + self.done.stderr)

    def test_a_mask_is_never_written(self):
        mask = "[masked:github-token:3f2a]"
        refused = [call("write", path=".env", content=f"GITHUB_TOKEN={mask}\n"),
                   call("edit", path=".env", old_text="PORT=80", new_text=f"KEY={mask}"),
                   call("edit", path=".env", old_text=f"GITHUB_TOKEN={mask}", new_text="x"),
                   call("multi_edit", path=".env", edits=[{"old_text": "NAME=shop", "new_text": "NAME=a"},
                                                          {"old_text": "PORT=80", "new_text": mask}]),
                   shell(f"echo {mask} > .env")]
        self.run_root(root(0, calls=refused), root(1, calls=[call("edit", path=".env", old_text="PORT=80", new_text="PORT=81")]),
                      root(2, text="done"))
        results = self.results()
        for result in results[:5]:
            self.assertRegex(result, r"^Error: .*\[masked:github-token:3f2a\], which only stands for a secret")
        self.assertIn("edit 2 of 2", results[3])
        self.assertIn("Edited .env", results[5])
        self.assertEqual((self.space.files / ".env").read_text(), ENV.replace("PORT=80", "PORT=81"))
        self.assert_no_secret()

    INSTRUCTIONS = {"AGENTS.md": f"Use {GITHUB} here.\n", "ENVIRONMENT.md": f"and {ANTHROPIC} there.\n",
                    "prompts/SIDE.md": f"Side {GITHUB} prompt.\n", "notes": f"context {ANTHROPIC}\n"}
    SPAWNS = [root(0, calls=[call("spawn_agent", task="CHILD reads", context_files=["notes"]),
                             call("spawn", task="CHILD works", profile="side")]), root(1, text="done"), child(0, text="read")]
    PROFILE = "tools: {spawn: {enabled: true, profiles: {side: {system_prompt_file: prompts/SIDE.md}}}}\n"

    def test_instructions_prompt_files_and_context_files_are_masked_before_a_model_or_the_log_has_them(self):
        self.run_root(*self.SPAWNS, config=self.PROFILE, files=self.INSTRUCTIONS)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        sent = b"".join(self.recorder.bodies).decode()
        for text in ("Use [masked:github-token:", "and [masked:anthropic-key:", "Side [masked:github-token:",
                     "context [masked:anthropic-key:"):
            self.assertIn(text, sent)
        self.assertEqual(self.done.stderr.count("the instruction files hold 2 secrets, masked"), 1, self.done.stderr)
        self.assert_no_secret()

    def test_claude_md_is_masked_as_agents_md_is(self):
        self.run_root(root(0, text="done"), files={"CLAUDE.md": f"Use {GITHUB} here.\n"})
        self.assertIn("Use [masked:github-token:", self.recorder.bodies[0].decode())
        self.assertIn("the instruction files hold 1 secret, masked", self.done.stderr)
        self.assert_no_secret()

    def test_instructions_are_as_they_are_where_masking_is_off(self):
        self.run_root(root(0, text="done"), files=self.INSTRUCTIONS, config="secrets: {mask: false}\n")
        self.assertIn(f"Use {GITHUB} here.", self.recorder.bodies[0].decode())
        self.assertNotIn("masked", self.done.stderr)

    def test_masking_is_off_where_the_user_says_so(self):
        self.run_root(root(0, calls=[call("read", path=".env"), call("write", path="doc", content="[masked:github-token:3f2a]")]),
                      root(1, text="done"), config="secrets: {mask: false}\n")
        self.assertIn(GITHUB, self.results()[0])
        self.assertEqual((self.space.files / "doc").read_text(), "[masked:github-token:3f2a]")
        self.assertNotIn("secrets", self.finished()[0])

    def test_a_project_cannot_switch_it_off(self):
        self.run_root(root(0, calls=[call("read", path=".env")]), root(1, text="done"), json=False, project="secrets: {mask: false}\n")
        self.assertNotEqual(self.done.returncode, 0)
        self.assertIn("secrets.mask", self.done.stderr)
        self.assertEqual(self.recorder.bodies, [])

    def test_headers_and_helpers_are_known(self):
        token, printed = "header-value-of-mine", "printed-by-a-helper"
        config = ("llm:\n  providers:\n    one: {{base_url: '{0}', api: openai, headers: {{X-Team: 'team $TEAM_TOKEN'}},"
                  " api_key_cmd: [printf, " + printed + "]}}\n  models:\n    m: {{provider: one, model: scripted}}\n"
                  "  pools:\n    default: [{{model: m}}]\n")
        self.serve(root(0, calls=[call("read", path="notes")]), root(1, text="done"))
        self.space = Workspace({"notes": f"a {token} b {printed} c\n"}, config.format(self.recorder.url))
        self.addCleanup(self.space.close)
        self.done = self.space.run(["run", "--mode", "dangerous", "--json", "ROOT"], env={"TEAM_TOKEN": token})
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.run_id = json_lines(self.done.stdout)[0]["run_id"]
        self.assertRegex(self.results()[0], r"a \[masked:config:....\] b \[masked:config:....\] c\n\[2 secrets masked\]")
        self.assertNotIn(token, repr(self.space.events(self.run_id)))


if __name__ == "__main__":
    unittest.main()
