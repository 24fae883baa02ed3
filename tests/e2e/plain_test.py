"""Commands in a directory without a repository: nothing of cadre's is put beside the user's files, whatever ends the run, and what
commands or older versions left there does not stop the next run."""
import os
import signal
import subprocess
import unittest

from harness import json_lines, wait_until
from shell_test import Shells, Sleeper, call, child, root, shell

KEPT = {".git", ".cadre", "cadre.yaml"}


class Plain(Shells):
    def names(self):
        return set(os.listdir(self.space.files))

    def begin(self, command, *more, background=False):
        """A run of ROOT whose first call is this command; returns when `ready` stands in the workspace."""
        self.server = self.serve(root(0, calls=[shell(command, background=background)]), *more)
        self.space = self.room()
        process = self.space.start(["run", *self.server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        wait_until(lambda: "ready" in self.names(), "the command runs")
        return process

    def run_again(self):
        server = self.serve(root(0, calls=[shell("echo again > again")]), root(1, text="done"))
        done = self.space.run(["run", *server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        self.assertEqual(json_lines(done.stdout)[-1]["status"], "completed", done.stderr)
        self.assertEqual((self.space.files / "again").read_text(), "again\n")


class Clean(Plain):
    def test_nothing_stands_beside_the_users_files_while_a_command_runs(self):
        for background in (False, True):
            with self.subTest(background=background):
                sleeper = Sleeper()
                process = self.begin(f"touch ready; {sleeper.command}", root(1, text="waiting", delay_ms=60000),
                                     background=background)
                self.assertEqual(self.names(), {"ready"})
                self.run_again()
                process.signal(signal.SIGINT)
                process.end()
                self.assertEqual(self.names(), {"ready", "again"})

    def test_a_killed_run_leaves_nothing_and_the_next_works(self):
        sleeper = Sleeper()
        process = self.begin(f"touch ready; {sleeper.command}", root(1, text="waiting", delay_ms=60000))
        process.kill()
        wait_until(lambda: not sleeper.alive, "the command is dead")
        self.assertEqual(self.names(), {"ready"})
        self.run_again()

    def test_a_second_interrupt_leaves_nothing_and_the_next_works(self):
        sleeper = Sleeper()
        process = self.begin(f"touch ready; {sleeper.command}", root(1, text="waiting", delay_ms=60000))
        process.signal(signal.SIGINT)
        process.signal(signal.SIGINT)
        process.end()
        wait_until(lambda: not sleeper.alive, "the command is dead")
        self.assertEqual(self.names(), {"ready"})
        self.run_again()


class Planted(Plain):
    def test_what_a_command_planted_is_moved_aside_though_the_run_was_killed(self):
        sleeper = Sleeper()
        process = self.begin("mkdir -p sub x.git && git init -q sub && git init -q --bare x.git && mkdir -p .git/hooks; "
                             f"touch ready; {sleeper.command}", root(1, text="waiting", delay_ms=60000))
        process.kill()
        wait_until(lambda: not sleeper.alive, "the command is dead")
        wait_until(lambda: (self.space.files / "x.git/HEAD-from-a-command").exists(), "the launcher has swept")
        wait_until(lambda: (self.space.files / "sub/.git-from-a-command/HEAD-from-a-command").exists(), "all of it")
        self.assertNotIn(".git", self.names())
        for place in ("sub", "sub/.git-from-a-command", "x.git", "."):
            done = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=self.space.files / place,
                                  env={**os.environ, "GIT_CEILING_DIRECTORIES": str(self.space.files.parent)},
                                  capture_output=True, check=False)
            self.assertNotEqual(done.returncode, 0, place)
        self.run_again()


class Children(Plain):
    def brought(self, command):
        """The text that the root reads of a child that ran this command, and the names in the workspace then."""
        self.run_root(root(0, calls=[call("spawn_agent", task="CHILD make it")]), root(1, text="read"),
                      child(0, calls=[shell(command)]), child(1, text="done"))
        texts = [event["payload"]["text"] for event in self.space.events(self.run_id) if event["type"] == "tool.finished"]
        return texts[-1], self.names()  # the root's call is the last to end

    def test_a_path_that_git_cannot_carry_is_named_in_the_result(self):
        text, names = self.brought("mkdir -p .git. && echo x > .git./config && echo y > fine")
        self.assertIn(".git./config: git or a file system takes a part of this path for .git", text)
        self.assertNotIn(".git.", names)

    def test_what_a_child_may_bring_is_brought(self):
        text, names = self.brought("mkdir -p .github x/objects x/refs && echo x > .github/config && echo y > x/objects/y")
        self.assertNotIn("takes a part", text)
        self.assertTrue({".github", "x"} <= names, text)


class Older(Plain):
    def left_behind(self, *names):
        self.space = self.room()
        for name in names:
            (self.space.files / name).mkdir()
            (self.space.files / name).chmod(0o1755)

    def test_what_an_older_version_left_is_ignored_and_swept_by_a_run(self):
        self.left_behind(*KEPT)
        self.run_again()
        self.assertEqual(self.names(), {"again"})

    def test_and_by_gc(self):
        self.space = self.room()
        self.run_again()
        for name in KEPT:
            (self.space.files / name).mkdir()
            (self.space.files / name).chmod(0o1755)
        elsewhere = self.space.root / "elsewhere"
        elsewhere.mkdir()
        done = subprocess.run([os.environ["CADRE"], "gc", "--store", str(self.space.store)], cwd=elsewhere, text=True,
                              env=self.space.environment, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), {"again"})

    def test_an_empty_git_is_not_a_repository_here_or_above(self):
        for name in ("dir", "file"):
            for above in (False, True):
                with self.subTest(kind=name, above=above):
                    self.space = self.room()
                    git = (self.space.files.parent if above else self.space.files) / ".git"
                    git.mkdir() if name == "dir" else git.touch()
                    self.run_again()
                    self.assertTrue(git.exists())


class Unwritable(Plain):
    @unittest.skipIf(os.geteuid() != 0, "needs a workspace of somebody else's")
    def test_a_workspace_that_the_user_cannot_write_still_runs_commands(self):
        server = self.serve(root(0, calls=[shell("cat file; touch new || echo refused")]), root(1, text="done"))
        self.space = self.room(files={"file": "content\n"})
        top = self.space.files
        while str(top.parent) not in ("/", "/tmp"):
            top.chmod(top.stat().st_mode | 0o055)
            top = top.parent
        top.chmod(0o755)
        home = self.space.files.parent / "other"
        home.mkdir()
        os.chown(home, 65534, 65534)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", os.environ["CADRE"], "run", *server.flags(),
                   "--mode", "dangerous", "--json", "--store", str(home / "store.db"), "ROOT"]
        done = subprocess.run(command, cwd=self.space.files, capture_output=True, text=True, check=False,
                              env={"HOME": str(home), "PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(home)})
        lines = json_lines(done.stdout)
        self.assertEqual(lines[-1]["status"], "completed", done.stderr)
        self.space.store = home / "store.db"
        texts = [event["payload"]["text"] for event in self.space.events(lines[0]["run_id"])
                 if event["type"] == "tool.finished"]
        self.assertIn("content\n", texts[0])
        self.assertIn("refused\n", texts[0])


if __name__ == "__main__":
    unittest.main()
