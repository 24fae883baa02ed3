"""The git tools through the real program: questions, differences, commits, and a repository that tries to run something."""
import json
import subprocess
import unittest

from harness import ModelServer, Workspace, json_lines

FILES = {"a.txt": "one\ntwo\n", "src/c.txt": "sea\n"}
ALLOWED = "permissions: {git_commit: allow}\n"


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def one_call(name, **arguments):
    """The root makes one call and answers with what it was told."""
    return script(rule({"calls": [call(name, **arguments)]}, turn=0), rule({"text": "{{last}}"}))


class Repository(Workspace):
    """A workspace that is a repository with one commit. The root works in the checkout: trees have tests of their own."""

    def __init__(self, config=None):
        super().__init__(FILES, "isolation: {root: false}\n" + (config or ""))
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Owner")
        self.git("config", "user.email", "owner@example.org")
        self.git("add", ".")
        self.git("commit", "-qm", "first commit")

    def git(self, *words):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "LC_ALL": "C",
                       "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        done = subprocess.run(["git", *words], cwd=self.files, env=environment, capture_output=True, text=True,
                              check=True)
        return done.stdout.rstrip("\n")


class Git(unittest.TestCase):
    def tell(self, space, name, flags=("--mode", "auto"), **arguments):
        """What the tool answered."""
        with ModelServer(one_call(name, **arguments)) as server:
            done = space.run(["run", *server.flags(), *flags, "--json", "task"])
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json_lines(done.stdout)[-1]
        self.events = space.events(result["run_id"])
        return result["response"]

    def finished(self):
        return [event["payload"] for event in self.events if event["type"] == "tool.finished"][0]

    def test_history_state_and_differences_are_told(self):
        with Repository() as space:
            (space.files / "a.txt").write_text("one\n2\n")
            self.assertIn("first commit", self.tell(space, "git", command="log", args=["--oneline", "-n", "3"]))
            self.assertIn(" M a.txt", self.tell(space, "git", command="status", args=["--short"]))
            self.assertIn("-two\n+2\n", self.tell(space, "git_diff"))

    def test_reading_works_in_every_mode_and_changes_nothing(self):
        with Repository() as space:
            index = (space.files / ".git" / "index").stat().st_mtime_ns
            for mode in ("safe", "plan", "ci", "research"):
                with self.subTest(mode=mode):
                    self.assertIn("main", self.tell(space, "git", ("--mode", mode), command="status"))
            self.assertEqual((space.files / ".git" / "index").stat().st_mtime_ns, index)
            self.assertEqual(space.git("status", "--porcelain"), "")

    def test_a_command_outside_the_list_is_an_error_that_names_the_list(self):
        with Repository() as space:
            answer = self.tell(space, "git", command="push")
            self.assertIn("Error: git push is not allowed here; allowed are: status, log", answer)

    def test_a_commit_needs_permission_in_every_mode(self):
        with Repository() as space:
            (space.files / "a.txt").write_text("changed\n")
            for mode in ("auto", "dangerous"):
                with self.subTest(mode=mode):
                    self.tell(space, "git_commit", ("--mode", mode), message="m", paths=["a.txt"])
                    self.assertEqual(space.git("log", "--format=%s"), "first commit")

    def test_an_allowed_commit_holds_the_named_files(self):
        with Repository(ALLOWED) as space:
            (space.files / "a.txt").write_text("changed\n")
            (space.files / "src" / "c.txt").write_text("changed\n")
            answer = self.tell(space, "git_commit", message="second\n\nwhy", paths=["a.txt"])
            self.assertIn("Committed 1 file as ", answer)
            self.assertEqual(self.finished()["files_modified"], ["a.txt"])
            self.assertEqual(space.git("show", "--format=%s|%an|%cn", "--name-only"), "second|Owner|cadre\n\na.txt")
            self.assertEqual(space.git("status", "--porcelain"), " M src/c.txt")

    def test_hooks_and_monitors_of_the_repository_do_not_run(self):
        with Repository(ALLOWED) as space:
            canary = space.root / "canary"
            program = space.root / "program"
            program.write_text(f"#!/bin/sh\ntouch {canary}\n")
            program.chmod(0o755)
            for name in ("pre-commit", "post-commit", "reference-transaction", "post-index-change"):
                (space.files / ".git" / "hooks" / name).write_text(program.read_text())
                (space.files / ".git" / "hooks" / name).chmod(0o755)
            space.git("config", "core.fsmonitor", str(program))
            space.git("config", "filter.x.clean", str(program))
            canary.unlink(missing_ok=True)
            (space.files / ".git" / "info" / "attributes").write_text("*.flt filter=x\n")
            (space.files / "x.flt").write_text("raw\n")
            space.git("add", "-N", "x.flt")
            canary.unlink(missing_ok=True)
            (space.files / "a.txt").write_text("changed\n")
            self.tell(space, "git", command="status")
            self.tell(space, "git_diff")
            self.assertIn("Committed", self.tell(space, "git_commit", message="m", paths=["a.txt"]))
            self.assertFalse(canary.exists())

    def test_a_file_that_needs_a_filter_is_not_committed_raw(self):
        with Repository(ALLOWED) as space:
            (space.files / ".git" / "info" / "attributes").write_text("*.bin filter=lfs\n")
            (space.files / "large.bin").write_text("raw\n")
            answer = self.tell(space, "git_commit", message="m", paths=["large.bin"])
            self.assertIn('Error: large.bin: its content goes through the filter "lfs"', answer)
            self.assertEqual(space.git("log", "--format=%s"), "first commit")

    def test_without_a_repository_the_tool_says_so(self):
        with Workspace(FILES) as space:
            self.assertIn("is not in a git repository", self.tell(space, "git", command="status"))

    def test_nothing_of_the_store_is_left_in_the_repository(self):
        with Repository(ALLOWED) as space:
            (space.files / "new.txt").write_text("new\n")
            self.tell(space, "git_commit", message="m", paths=["new.txt"])
            self.assertEqual(space.git("worktree", "list").count("\n"), 0)
            self.assertEqual(space.git("for-each-ref", "--format=%(refname)"), "refs/heads/main")
            self.assertEqual([path.name for path in (space.store.parent / "git").rglob("*.index")], [])
            self.assertNotIn("cadre", json.dumps(space.git("config", "--list")))


if __name__ == "__main__":
    unittest.main()
