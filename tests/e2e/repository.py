"""What the end-to-end tests on trees share: a workspace that is a git repository, and runs whose agents write files."""
import subprocess

from harness import ModelServer, Workspace, json_lines

FILES = {"a.txt": "one\ntwo\n", "src/c.txt": "sea\n"}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def writer(path="new.txt", content="made\n"):
    """The root writes one file and answers."""
    return script({"when": {"turn": 0}, "reply": {"calls": [call("write", path=path, content=content)]}},
                  {"reply": {"text": "written"}})


def children(*calls, after="done", delay_ms=0, **arguments):
    """The root starts one child for each call; each makes its call and answers. arguments: more for spawn_agent."""
    spawned = [call("spawn_agent", task=f"CHILD {index} works", **arguments) for index in range(len(calls))]
    rules = [{"when": {"first_user": "START", "turn": 0}, "reply": {"text": "I ask them.", "calls": spawned}},
             {"when": {"first_user": "START"}, "reply": {"text": after}}]
    for index, made in enumerate(calls):
        rules.append({"when": {"first_user": f"CHILD {index}", "turn": 0}, "reply": {"calls": [made]}})
        rules.append({"when": {"first_user": f"CHILD {index}"},
                      "reply": {"text": f"child {index} is done", "delay_ms": delay_ms}})
    return script(*rules)


class Repository(Workspace):
    """A workspace that is a repository with one commit; `state` is what git keeps beside the store."""

    def __init__(self, config=None, files=None):
        super().__init__(files or FILES, config)
        self.state = self.store.parent / "git" / "repositories"
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Owner")
        self.git("config", "user.email", "owner@example.org")
        self.git("add", ".")
        self.git("commit", "-qm", "first commit")

    def git(self, *words):
        return self.shell(["git", *words]).rstrip("\n")

    def shell(self, words):
        """Runs a program, or a line of the shell, in the checkout as its user would."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "LC_ALL": "C",
                       "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        if isinstance(words, str):
            words = ["sh", "-ec", words]
        return subprocess.run(words, cwd=self.files, env=environment, capture_output=True, text=True,
                              check=True).stdout

    def work(self, model_script, *flags, task="START", code=0):
        """Drives one run to its end; the lines of its output, the result last."""
        with ModelServer(model_script) as server:
            done = self.run(["run", *server.flags(), "--mode", "auto", *flags, "--json", task])
        if done.returncode != code:
            raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
        return json_lines(done.stdout)

    def checkouts(self):
        """Paths of the checkouts that are on disk."""
        return sorted(path for path in self.state.glob("*/trees/*/*"))
