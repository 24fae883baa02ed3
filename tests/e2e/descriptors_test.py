"""Few descriptors make children wait: with a limit of 64 none of them fails. The limit is hard, so cadre cannot raise it."""
import subprocess
import unittest

from harness import ModelServer, Workspace, json_lines
from repository import Repository, call, script

LIMIT = 64


def fan_out(name, count, role, made):
    """The root asks `count` children of this role, all at once. A call is made by each child, with its number in it."""
    tasks = [{"role": role, "task": f"{name} {index:02d} works"} for index in range(count)]
    rules = [{"when": {"first_user": "START", "turn": 0}, "reply": {"calls": [call("fan_out", tasks=tasks, max_concurrent=count)]}},
             {"when": {"first_user": "START"}, "reply": {"text": "done"}}]
    for index in range(count):
        rules.append({"when": {"first_user": f"{name} {index:02d}", "turn": 0}, "reply": {"calls": [made(index)]}})
    # Long enough that all of them would be at work at the same time.
    return script(*rules, {"reply": {"text": "child is done", "delay_ms": 200}})


def start_limited(space, arguments, limit=LIMIT, seconds=200):
    """cadre with this limit, hard and soft, on the space's store; to its end."""
    return subprocess.run(["prlimit", f"--nofile={limit}:{limit}", *space._command(arguments)], cwd=space.files, text=True,
                          env=space.environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False)


class Descriptors(unittest.TestCase):
    def run_limited(self, space, rules, count):
        """Runs with the limit: every child completes and none of its calls fails. Returns the lines."""
        with ModelServer(rules) as server:
            done = start_limited(space, ["run", *server.flags(), "--mode", "auto", "--json", "START"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Too many open files", done.stdout + done.stderr)
        lines = json_lines(done.stdout)
        closed = [line["payload"]["result"] for line in lines if line.get("event") == "agent.subagent_closed"]
        self.assertEqual(len(closed), count)
        for result in closed:
            self.assertEqual(result["status"], "completed", result["error"])
        finished = [line["payload"] for line in lines if line.get("event") == "tool.finished" and line["agent_id"]]
        for payload in finished:
            self.assertFalse((payload.get("text") or "").startswith("Error"), payload)
        return lines

    def config(self, count):
        return f"permissions: {{shell: allow}}\nsub_agent: {{max_concurrent: {count}, max_retries: 0}}\n"

    def test_children_that_read(self):
        with Workspace({"a.txt": "one\n"}, self.config(20)) as space:
            self.run_limited(space, fan_out("READER", 20, "researcher", lambda index: call("read", path="a.txt")), 20)

    def test_children_that_write_in_a_repository(self):
        with Repository(self.config(20)) as space:
            lines = self.run_limited(space, fan_out("WRITER", 20, "executor", lambda index: call(
                "write", path=f"new-{index:02d}.txt", content="made\n")), 20)
            merged = [line for line in lines if line.get("event") == "agent.worktree_merged"
                      and line["payload"]["merge_strategy"] != "kept" and line["payload"]["merge_success"]]
            self.assertEqual(len(merged), 20)

    def test_children_that_write_in_a_plain_directory(self):
        with Workspace({"a.txt": "one\n"}, self.config(10)) as space:
            self.run_limited(space, fan_out("WRITER", 10, "executor", lambda index: call(
                "write", path=f"new-{index:02d}.txt", content="made\n")), 10)
            self.assertEqual(sorted(path.name for path in space.files.glob("new-*")), [f"new-{index:02d}.txt" for index in range(10)])

    def test_children_that_run_a_command(self):
        with Repository(self.config(10)) as space:
            self.run_limited(space, fan_out("RUNNER", 10, "executor", lambda index: call(
                "shell", command=f"echo made >by-{index:02d}.txt")), 10)

    def test_a_call_that_waits_for_descriptors_is_not_silent(self):
        """One command at a time fits; each prints all the while, for longer than a child may be silent."""
        prints = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done"
        config = self.config(4).replace("max_retries: 0", "max_retries: 0, idle_timeout_ms: 2s")
        with Repository(config) as space:
            lines = self.run_limited(space, fan_out("RUNNER", 4, "executor", lambda index: call("shell", command=prints)), 4)
        self.assertEqual([line for line in lines if line.get("event") == "agent.idle"], [])

    def test_a_call_that_waits_for_descriptors_can_be_stopped(self):
        """The second command waits for the first; its agent's time ends before the first command does."""
        spawned = [call("spawn_agent", task="FIRST"), call("spawn_agent", task="SECOND", budget={"timeout_ms": 5000})]
        rules = script(
            {"when": {"first_user": "START", "turn": 0}, "reply": {"calls": spawned}},
            {"when": {"first_user": "FIRST", "turn": 0}, "reply": {"calls": [call("shell", command="sleep 9; echo slept")]}},
            # Its tree and its request need their turn before the first command begins.
            {"when": {"first_user": "SECOND", "turn": 0}, "reply": {"delay_ms": 1500, "calls": [call("shell", command="echo ran")]}},
            {"reply": {"text": "done"}})
        with Repository(self.config(2)) as space, ModelServer(rules) as server:
            done = start_limited(space, ["run", *server.flags(), "--mode", "auto", "--json", "START"])
        self.assertEqual(done.returncode, 0, done.stderr)
        texts = [line["payload"].get("text") or "" for line in json_lines(done.stdout) if line.get("event") == "tool.finished"]
        (stopped,) = [index for index, text in enumerate(texts) if "stopped before it started" in text]
        (slept,) = [index for index, text in enumerate(texts) if "\nslept\n" in text and text.startswith("exit code")]
        self.assertLess(stopped, slept)
        self.assertFalse(any("\nran\n" in text for text in texts))

    def test_too_few_are_told_in_one_sentence(self):
        with Workspace() as space, ModelServer(script({"reply": {"text": "done"}})) as server:
            for limit in (5, 6, 7, 8, 9, 12, 16, 20, 26):
                with self.subTest(limit):
                    done = start_limited(space, ["run", *server.flags(), "START"], limit)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertRegex(done.stderr, rf"^cadre: only {limit} files may be open at a time .*`ulimit -n 1024`")
            done = start_limited(space, ["run", *server.flags(), "START"], 27)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
