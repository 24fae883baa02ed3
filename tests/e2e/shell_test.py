"""Agents run programs: real commands behind real walls, their time, their jobs in the background, and that nothing of them is
left when a call, an agent, a run or the runtime itself has ended."""
import os
import signal
import tempfile
import unittest
import uuid
from pathlib import Path

from harness import ModelServer, Workspace, json_lines, wait_until
from spawning import Recorder, tool_results
from terminal_test import Terminal


def script(*rules):
    return {"models": [{"id": "scripted", "window": 131072, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def root(turn, **reply):
    return rule(reply, first_user="ROOT", turn=turn)


def child(turn, **reply):
    return rule(reply, first_user="CHILD", turn=turn)


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


def shell(command, **more):
    return call("shell", command=command, **more)


def processes_with(word):
    """Ids of the processes that have this word in their command line, in whatever namespace they live."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Sleeper:
    """A command that sleeps for long and can be found by a word of its own."""

    def __init__(self):
        self.word = f"sleeper{uuid.uuid4().hex}"
        self.command = f"exec sh -c 'sleep 1000; : {self.word}'"

    @property
    def alive(self):
        return processes_with(self.word)


class Shells(unittest.TestCase):
    def serve(self, *rules):
        server = ModelServer(script(*rules))
        self.addCleanup(server.stop)
        return server

    def room(self, files=None, config=None):
        space = Workspace(files, config)
        self.addCleanup(space.close)  # verifies and replays every run
        return space

    def run_root(self, *rules, files=None, config=None, mode="dangerous"):
        """One run of ROOT to its end."""
        server = self.serve(*rules)
        self.space = self.room(files, config)
        self.done = self.space.run(["run", *server.flags(), "--mode", mode, "--json", "ROOT"])
        self.lines = json_lines(self.done.stdout)
        self.run_id = self.lines[0]["run_id"]
        return self.lines[-1]

    def finished(self, tool="shell"):
        """Payloads of the events that ended calls of this tool."""
        events = self.space.events(self.run_id)
        calls = {event["seq"]: event["payload"]["tool"] for event in events if event["type"] == "tool.requested"}
        self.assertIn(tool, calls.values())
        return [event["payload"] for event in events if event["type"] == "tool.finished"]


class Commands(Shells):
    def test_a_child_runs_real_commands_and_its_result_names_what_they_changed(self):
        result = self.run_root(
            root(0, calls=[call("spawn_agent", task="CHILD build")]), root(1, text="built"),
            child(0, calls=[shell("cat in.txt; cp in.txt out.txt; rm gone.txt; uname -s; id -u >/dev/null; exit 3")]),
            child(1, text="done"), files={"in.txt": "hello\n", "gone.txt": "x\n"})
        self.assertEqual(result["status"], "completed", self.done.stderr)
        payload = self.finished()[0]
        self.assertEqual(payload["outcome"], "error")
        self.assertRegex(payload["text"], r"^Error: exit code 3 after [\d.]+ s\nhello\nLinux\n")
        self.assertEqual(payload["files_modified"], ["gone.txt", "out.txt"])
        self.assertEqual(self.space.tree(), {"in.txt": "hello\n", "out.txt": "hello\n"})
        closed = [event["payload"] for event in self.space.events(self.run_id)
                  if event["type"] == "agent.subagent_closed"]
        self.assertEqual(closed[0]["result"]["files_modified"], ["gone.txt", "out.txt"])

    def test_a_command_cannot_leave_the_workspace(self):
        with tempfile.TemporaryDirectory(prefix="cadre-outside-") as outside:
            (Path(outside) / "secret").write_text("outside-secret\n")
            self.run_root(root(0, calls=[shell(f"cat {outside}/secret; echo x > {outside}/planted; echo y > inside.txt")]),
                          root(1, text="done"))
            self.assertEqual([path.name for path in Path(outside).iterdir()], ["secret"])
        self.assertNotIn("outside-secret", self.finished()[0]["text"])
        self.assertEqual(self.space.tree(), {"inside.txt": "y\n"})

    def test_the_store_cannot_be_seen(self):
        self.run_root(root(0, calls=[shell("ls -la .. ../state; cat ../state/cadre.db; ls ../state | wc -l")]),
                      root(1, text="done"))
        self.assertNotIn("SQLite", self.finished()[0]["text"])
        self.assertNotIn("cadre.db\n", self.finished()[0]["text"].replace("cat: ../state/cadre.db", ""))

    def test_output_is_clean_in_json_lines(self):
        self.run_root(root(0, calls=[shell(r"printf 'one\033[31mred\033[0m\n\033]0;owned\007two\r\nthree\033[2J\n'; sleep 0.3")]),
                      root(1, text="done"))
        self.assertIn("\nonered\ntwo\nthree\n", self.finished()[0]["text"])
        printed = "\n".join(line for line in self.done.stdout.splitlines() if '"model.replied"' not in line
                            and '"tool.requested"' not in line)
        for hostile in ("\x1b", "\\u001b", "owned"):
            self.assertNotIn(hostile, printed)

    def test_progress_comes_as_lines_of_its_own(self):
        self.run_root(root(0, calls=[shell("for i in 1 2 3; do echo step $i; sleep 0.2; done")]), root(1, text="done"))
        progress = [line for line in self.lines if line["type"] == "progress"]
        self.assertTrue(progress, self.done.stdout)
        self.assertEqual({line["run_id"] for line in progress}, {self.run_id})
        self.assertTrue(all(line["text"].startswith("step ") for line in progress), progress)
        logged = [event["type"] for event in self.space.events(self.run_id)]
        self.assertFalse([name for name in logged if "progress" in name])

    def test_what_children_write_counts_in_sum_over_their_trees(self):
        """Each writes less than the limit. They stay until the files have been looked at in any case."""
        self.run_root(
            root(0, calls=[call("spawn_agent", 2, task="CHILD {{index}} writes")]), root(1, text="done"),
            child(0, calls=[shell("head -c 30000000 /dev/urandom > big; sleep 50")]), child(1, text="done"),
            config="sandbox: {disk_mb: 48}\n")
        made = [event for event in self.space.events(self.run_id) if event["type"] == "agent.worktree_created"]
        self.assertEqual(len(made), 3)  # the root's, and one for each child
        texts = [payload["text"] for payload in self.finished() if "killed by signal" in payload["text"]]
        self.assertEqual(len(texts), 2, self.finished())
        for text in texts:
            self.assertIn("commands of this run wrote more to the disk than they may (sandbox.disk_mb)", text)

    def test_the_project_is_tested(self):
        self.run_root(root(0, calls=[call("test")]), root(1, text="done"),
                      files={"Makefile": "test:\n\t@echo 'ok 1 - fine'; echo 'not ok 2 - broken'; exit 1\n"})
        text = self.finished("test")[0]["text"]
        self.assertIn("Error: tests failed: exit code 2", text)
        self.assertIn("1 passed, 1 failed", text)
        self.assertIn("command: make test", text)


class Time(Shells):
    def test_a_command_past_its_time_is_killed_with_everything_it_started(self):
        sleeper = Sleeper()
        daemon = f"setsid {sleeper.command.removeprefix('exec ')} >/dev/null 2>&1 & {sleeper.command}"
        self.run_root(root(0, calls=[shell(daemon, timeout_ms=700)]), root(1, text="done"))
        self.assertIn("stopped when its time of 0.7 s was over", self.finished()[0]["text"])
        self.assertEqual(sleeper.alive, [])

    def test_a_daemon_does_not_outlive_its_command(self):
        sleeper = Sleeper()
        self.run_root(root(0, calls=[shell(f"setsid {sleeper.command.removeprefix('exec ')} >/dev/null 2>&1 & echo left")]),
                      root(1, text="done"))
        self.assertIn("left", self.finished()[0]["text"])
        self.assertEqual(sleeper.alive, [])


class Jobs(Shells):
    def test_a_job_is_started_looked_at_and_stopped(self):
        sleeper = Sleeper()
        self.run_root(
            root(0, calls=[shell(f"echo begun; {sleeper.command}", background=True)]),
            root(1, calls=[call("shell", job=1, wait_ms=300)]),
            root(2, calls=[call("shell", job=1, stop=True)]), root(3, text="done"))
        texts = [payload["text"] for payload in self.finished()]
        self.assertIn("job 1 started", texts[0])
        self.assertIn("job 1: running\nbegun\n", texts[1])
        self.assertIn("job 1: stopped", texts[2])
        self.assertEqual(sleeper.alive, [])

    def test_a_job_is_dead_before_its_agents_result_is_read(self):
        sleeper = Sleeper()
        seen = []

        class Witness(Recorder):
            def wait_at_gates(self, request):
                if any("CHILD" not in text for text in tool_results(request)) and "spawn_agent" in str(request["messages"]):
                    seen.append(sleeper.alive)
        server = self.serve(
            root(0, calls=[call("spawn_agent", task="CHILD leave a job behind")]), root(1, text="read"),
            child(0, calls=[shell(sleeper.command, background=True)]),
            child(1, calls=[call("shell", job=1, wait_ms=200)]), child(2, text="done"))
        recorder = Witness(server.url)
        self.addCleanup(recorder.close)
        space = self.room()
        done = space.run(["run", "--base-url", recorder.url, "--model", "scripted", "--mode", "dangerous", "--json", "ROOT"])
        self.assertEqual(json_lines(done.stdout)[-1]["status"], "completed", done.stderr)
        self.assertEqual(seen, [[]])

    def test_a_job_ends_with_the_run(self):
        sleeper = Sleeper()
        result = self.run_root(root(0, calls=[shell(sleeper.command, background=True)]), root(1, text="done"))
        self.assertEqual(result["status"], "completed")
        self.assertEqual(sleeper.alive, [])


class Ends(Shells):
    def start(self, sleeper, *more, background=False):
        self.server = self.serve(root(0, calls=[shell(sleeper.command, background=background)]), *more)
        self.space = self.room()
        process = self.space.start(["run", *self.server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        wait_until(lambda: sleeper.alive, "the command runs")
        return process

    def test_cancelling_a_run_kills_its_command(self):
        sleeper = Sleeper()
        process = self.start(sleeper, root(1, text="stopped"))
        self.assertEqual(self.space.run(["cancel", "last"]).returncode, 0)
        self.assertEqual(process.end(), 130)
        self.assertEqual(sleeper.alive, [])

    def test_killing_the_runtime_kills_commands_and_jobs(self):
        for background in (False, True):
            with self.subTest(background=background):
                sleeper = Sleeper()
                process = self.start(sleeper, root(1, text="waiting", delay_ms=20000), background=background)
                process.kill()
                wait_until(lambda: not sleeper.alive, "the command is dead")

    def test_a_resumed_run_is_told_that_its_command_was_interrupted(self):
        sleeper = Sleeper()
        process = self.start(sleeper, root(1, text="I look first"))
        run_id = process.wait_for_event("tool.requested")["run_id"]
        process.kill()
        done = self.space.run(["resume", "--json", run_id])
        self.assertEqual(json_lines(done.stdout)[-1]["response"], "I look first", done.stderr)
        interrupted = [event["payload"]["text"] for event in self.space.events(run_id)
                       if event["type"] == "tool.interrupted"]
        self.assertEqual(len(interrupted), 1)
        self.assertIn("interrupted, outcome unknown", interrupted[0])
        self.assertEqual(sleeper.alive, [])


class Permission(Shells):
    def test_a_root_that_nobody_can_be_asked_for_may_not_run_commands(self):
        for mode in ("safe", "auto"):
            with self.subTest(mode=mode):
                self.run_root(root(0, calls=[shell("echo x > made")]), root(1, text="done"), mode=mode)
                denied = [event for event in self.space.events(self.run_id) if event["type"] == "permission.denied"]
                self.assertEqual(len(denied), 1)
                self.assertEqual(self.space.tree(), {})

    def test_nor_may_its_children_in_safe_and_in_auto_they_do_in_files_of_their_own(self):
        for mode, made in (("safe", {}), ("auto", {"made": "x\n"})):
            with self.subTest(mode=mode):
                self.run_root(root(0, calls=[call("spawn_agent", task="CHILD")]), root(1, text="done"),
                              child(0, calls=[shell("echo x > made")]), child(1, text="done"), mode=mode)
                self.assertEqual(self.space.tree(), made)

    def run_on_a_terminal(self, *rules):
        server = self.serve(*rules)
        space = self.room()
        terminal = Terminal(space, [os.environ["CADRE"], "run", "--store", space.store, *server.flags(), "--mode", "auto", "ROOT"])
        self.addCleanup(terminal.close)
        return space, terminal

    def test_a_child_of_a_root_that_could_be_asked_runs_commands_unasked_in_auto(self):
        space, terminal = self.run_on_a_terminal(
            root(0, calls=[call("spawn_agent", task="CHILD")]), root(1, text="done"),
            child(0, calls=[shell("echo x > made")]), child(1, text="done"))
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(space.tree(), {"made": "x\n"})

    def test_a_command_has_no_terminal_though_its_user_sits_at_one(self):
        space, terminal = self.run_on_a_terminal(
            root(0, calls=[call("spawn_agent", task="CHILD")]), root(1, text="done"),
            child(0, calls=[shell("if (: <>/dev/tty) 2>why; then echo yes; else echo none; fi >has")]), child(1, text="done"))
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(space.tree()["has"], "none\n")
        self.assertIn("No such device or address", space.tree()["why"])

    def test_on_a_terminal_a_person_is_asked_and_the_output_is_clean(self):
        space, terminal = self.run_on_a_terminal(
            root(0, calls=[shell(r"printf 'before \033[5mblink\033]0;owned\007\n'; until [ -e go ]; do sleep 0.05; done; echo x > made")]),
            root(1, text="done"))
        terminal.wait_for(r"Allow it\?")
        self.assertEqual(space.tree(), {})
        terminal.keys("y", "Enter")
        terminal.wait_for("blink")  # what it prints stands in the tree while it runs
        (space.files / "go").touch()
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertIn("made", space.tree())
        self.assertNotIn("\x1b[5m", terminal.written())
        self.assertNotIn("\x1b]0;", terminal.written())


class Checks(Shells):
    CONFIG = """
sub_agent: {outputs: {checks: ["test -e built", "echo checked >> log"]}}
"""
    TASK = call("spawn_agent", task="CHILD")

    def checked(self):
        return [event["payload"] for event in self.space.events(self.run_id) if event["type"] == "agent.checked"]

    def test_a_child_is_told_which_check_failed_and_counts_when_all_pass(self):
        self.run_root(root(0, calls=[self.TASK]), root(1, text="the end"), child(0, text="done"),
                      child(1, calls=[call("write", path="built", content="x")]), child(2, text="really done"),
                      config=self.CONFIG)
        self.assertEqual([payload["outcome"] for payload in self.checked()], ["failed", "ok"])
        self.assertIn('Error: the check "test -e built" failed: exit code 1', self.checked()[0]["text"])
        events = self.space.events(self.run_id)
        (closed,) = [event["payload"] for event in events if event["type"] == "agent.subagent_closed"]
        result = closed["result"]
        self.assertEqual((result["status"], result["response"]), ("completed", "really done"))
        self.assertEqual([(check["check"], check["passed"]) for check in result["checks"]],
                         [("test -e built", True), ("echo checked >> log", True)])
        self.assertEqual(sorted(result["files_modified"]), ["built", "log"])
        self.assertEqual(self.space.tree()["log"], "checked\n")

    def test_a_child_whose_work_never_passes_fails(self):
        self.run_root(root(0, calls=[self.TASK]), root(1, text="the end"),
                      *[child(turn, text=f"done {turn}") for turn in range(3)], config=self.CONFIG)
        self.assertEqual([payload["outcome"] for payload in self.checked()], ["failed"] * 3)
        (failed,) = [event["payload"] for event in self.space.events(self.run_id)
                     if event["type"] == "agent.subagent_failed"]
        self.assertIn("its work does not pass its checks", failed["error"])
        self.assertEqual(failed["response"], "done 2")

    def test_checks_run_again_after_a_crash(self):
        sleeper = Sleeper()
        config = "isolation: {children: false}\nsub_agent: {outputs: {checks: ['if [ -e once ]; then exit 0; fi; touch once; " + \
            sleeper.command.replace("'", "''") + "']}}\n"
        server = self.serve(root(0, calls=[self.TASK]), root(1, text="the end"), child(0, text="done"))
        self.space = self.room(config=config)
        process = self.space.start(["run", *server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        wait_until((self.space.files / "once").exists, "the check runs")
        self.run_id = process.wait_for_event("agent.checking")["run_id"]
        process.kill()
        wait_until(lambda: not sleeper.alive, "the check is dead")
        done = self.space.run(["resume", "--json", self.run_id])
        self.assertEqual(json_lines(done.stdout)[-1]["response"], "the end", done.stderr)
        self.assertEqual([payload["outcome"] for payload in self.checked()], ["ok"])


class Leftovers(Shells):
    CONFIG = """
sub_agent: {max_concurrent: 8, default_budget: {max_tool_calls: 200, max_tokens: 90000, timeout_ms: 20m}, attempt_timeout_ms: 20m}
safety: {circuit_breaker: {warn_at: 1000, pause_at: 1000, hard_stop_at: 1000}}
budget: {wall_ms: 30m}
"""

    @staticmethod
    def mounts():
        return Path("/proc/self/mountinfo").read_text()

    def test_a_thousand_commands_of_eight_agents_leave_nothing_behind(self):
        word = f"leftover{uuid.uuid4().hex}"
        command = f": {word}; echo {{{{turn}}}} {{{{index}}}} > $(mktemp); (setsid sleep 1000 &) ; true"
        server = self.serve(
            root(0, calls=[call("spawn_agent", repeat=8, task="CHILD number {{index}}")]),
            root(1, calls=[shell("true")]), root(2, text="all done"),
            *[child(turn, calls=[call("shell", repeat=25, command=command)]) for turn in range(5)],
            rule({"text": "done"}, first_user="CHILD"))
        recorder = Recorder(server.url)
        self.addCleanup(recorder.close)
        gates = [recorder.hold("ROOT", 0), recorder.hold("ROOT", 2)]
        space = self.room(config=self.CONFIG)
        mounts = self.mounts()
        with tempfile.TemporaryDirectory(prefix="cadre-tmp-") as temporary:
            process = space.start(["run", "--base-url", recorder.url, "--model", "scripted", "--mode", "dangerous", "--json",
                                   "ROOT"], {"TMPDIR": temporary})
            self.addCleanup(process.kill)
            wait_until(lambda: recorder.of("ROOT"), "the first request")
            gates[0].set()
            wait_until(lambda: any(len(tool_results(request)) > 8 for request in recorder.of("ROOT")), "all commands ran",
                       seconds=200)
            descriptors = os.listdir(f"/proc/{process.pid}/fd")
            self.assertEqual(self.mounts(), mounts)
            self.assertEqual(os.listdir(temporary), [])
            self.assertEqual(processes_with(word), [])
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            self.assertEqual(children, "")
            gates[1].set()
            self.assertEqual(process.end(), 0, process.errors)
        # A store, a loop, a model connection for each agent and some files: nothing that grows with the calls.
        self.assertLess(len(descriptors), 60, descriptors)
        self.assertEqual(space.tree(), {})
        finished = [event for event in space.events(process.lines[0]["run_id"]) if event["type"] == "tool.finished"]
        self.assertEqual(sum(event["payload"]["text"].startswith("exit code 0") for event in finished), 1001)


if __name__ == "__main__":
    unittest.main()
