"""Ctrl-C, SIGTERM and SIGHUP park a run wherever it is: nothing of it has ended, the exit code is 75, and `cadre resume` goes on."""
import os
import re
import signal
import socket
import sqlite3
import unittest
from pathlib import Path

from harness import ModelServer, Process, Workspace, json_lines, program, wait_until
from repository import Repository, children
from shell_test import Sleeper
from terminal_test import Terminal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PARKED, CANCELLED = 75, 130


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


# Never comes in time.
LATE = {"text": "late", "delay_ms": 50000}


def sleep_of(sleeper):
    """The id of the process that the sleeper waits for; None: there is none yet."""
    try:
        for pid in sleeper.alive:
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if Path(f"/proc/{child}/comm").read_text() == "sleep\n":
                    return int(child)
    except OSError:
        pass  # one of them has just ended
    return None


class Parking(unittest.TestCase):
    def serve(self, rules):
        server = ModelServer(rules)
        self.addCleanup(lambda: server.popen.poll() is None and server.stop())
        return server

    def serve_instead(self, server, rules):
        """Another script at the same address."""
        server.stop()
        other = ModelServer(rules, port=int(server.url.rsplit(":", 1)[1].split("/")[0]))
        self.addCleanup(other.stop)
        return other

    def room(self):
        space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(space.close)  # verifies and replays every run
        return space

    def status(self, space, run_id):
        """The run's status as `runs` and `show` tell it, as text and as JSON: they must agree."""
        told = {json_lines(space.run(["show", run_id, "--json"]).stdout)[0]["status"]}
        told |= {row["status"] for row in json_lines(space.run(["runs", "--json"]).stdout) if row["run_id"] == run_id}
        told |= set(re.findall(r"(?m)^status +(\w+)$", space.run(["show", run_id]).stdout))
        told |= set(re.findall(rf"(?m)^{run_id} +(\w+)", space.run(["runs"]).stdout))
        told |= {row["status"] for status in ("running", "stopped", "parked", "completed")
                 for row in json_lines(space.run(["runs", "--json", "--status", status]).stdout)
                 if row["run_id"] == run_id and row["status"] == status}
        self.assertEqual(len(told), 1, told)
        return told.pop()

    def check_parked(self, space, run_id, errors):
        self.assertIn("the run is parked, nothing is lost: ", errors)
        self.assertIn(f"cadre resume {run_id}", errors)
        self.assertIn(f"cadre cancel {run_id} --now", errors)
        self.assertEqual(self.status(space, run_id), "parked")
        self.assertEqual([event["type"] for event in space.events(run_id)].count("run.parked"), 1)


class Everywhere(Parking):
    def test_each_signal_parks_while_a_model_is_asked(self):
        for number in SIGNALS:
            with self.subTest(number):
                server, space = self.serve(script(rule(LATE, first_user="ROOT"))), self.room()
                process = space.start(["run", *server.flags(), "--mode", "auto", "ROOT"])
                wait_until(lambda: server.stats()["in_flight"] == 1, "the model is asked")
                (row,) = space.query("SELECT id FROM runs")
                self.assertEqual(self.status(space, row["id"]), "running")
                process.signal(number)
                self.assertEqual(process.end(), PARKED, process.errors)
                self.assertIn("parking the run, press again to stop at once", process.errors)
                self.check_parked(space, row["id"], process.errors)
                (parked,) = [event["payload"] for event in space.events(row["id"]) if event["type"] == "run.parked"]
                self.assertIn(signal.Signals(number).name, parked["reason"])

    def test_a_resume_asks_again_and_comes_to_the_end(self):
        space = self.room()
        first = self.serve(script(rule(LATE, first_user="ROOT")))
        process = space.start(["run", *first.flags(), "--mode", "auto", "--json", "ROOT"])
        wait_until(lambda: first.stats()["in_flight"] == 1, "the model is asked")
        process.signal(signal.SIGINT)
        self.assertEqual(process.end(), PARKED, process.errors)
        result = process.lines[-1]
        self.assertEqual((result["type"], result["run_status"]), ("result", "parked"))
        self.serve_instead(first, script(rule({"text": "here it is"}, first_user="ROOT")))
        done = space.run(["resume", result["run_id"], "--json"])
        self.assertEqual((done.returncode, json_lines(done.stdout)[-1]["response"]), (0, "here it is"), done.stderr)
        self.assertEqual(self.status(space, result["run_id"]), "completed")

    def test_a_parked_run_is_given_up_by_cancel_and_stays_ended(self):
        server, space = self.serve(script(rule(LATE, first_user="ROOT"))), self.room()
        process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
        wait_until(lambda: server.stats()["in_flight"] == 1, "the model is asked")
        process.signal(signal.SIGTERM)
        self.assertEqual(process.end(), PARKED, process.errors)
        run_id = process.lines[0]["run_id"]
        self.assertEqual(space.run(["cancel", run_id, "--now"]).returncode, 0)
        self.assertEqual(self.status(space, run_id), "cancelled")
        self.assertEqual(space.run(["resume", run_id]).returncode, CANCELLED)

    def test_a_command_is_killed_and_reported_as_interrupted(self):
        sleeper = Sleeper()
        server = self.serve(script(rule({"calls": [call("shell", command=sleeper.command)]}, first_user="ROOT", turn=0),
                                   rule({"text": "I was told: {{last}}"}, first_user="ROOT")))
        space = self.room()
        process = space.start(["run", *server.flags(), "--mode", "dangerous", "--json", "ROOT"])
        wait_until(lambda: sleeper.alive, "the command runs")
        process.signal(signal.SIGTERM)
        self.assertEqual(process.end(), PARKED, process.errors)
        self.assertEqual(sleeper.alive, [])
        done = space.run(["resume", process.lines[0]["run_id"], "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(json_lines(done.stdout)[-1]["response"], "I was told: .*interrupted")

    def test_a_merge_is_made_again(self):
        # The check of the second merge sleeps until the test ends that sleep; then it passes.
        space = Repository("sub_agent: {outputs: {checks: [\"sh check.sh\"]}}\n")
        self.addCleanup(space.close)
        gate = Sleeper()
        (space.files / "check.sh").write_text(f"[ -e b.txt ] && [ -e c.txt ] || exit 0\n{gate.command}\n")
        space.git("add", ".")
        space.git("commit", "-qm", "a check")
        server = self.serve(children(call("write", path="b.txt", content="b\n"), call("write", path="c.txt", content="c\n")))
        process = space.start(["run", *server.flags(), "--mode", "auto", "--json", "--apply", "START"])
        wait_until(lambda: gate.alive, "the second merge is checked")
        process.signal(signal.SIGINT)
        self.assertEqual(process.end(), PARKED, process.errors)
        self.assertEqual(gate.alive, [])
        run_id = process.lines[0]["run_id"]
        self.assertEqual([event["type"] for event in space.events(run_id)].count("agent.subagent_closed"), 1)
        resumed = space.start(["resume", run_id, "--json"])
        os.kill(wait_until(lambda: sleep_of(gate), "the merge is checked again"), signal.SIGKILL)
        self.assertEqual(resumed.end(), 0, resumed.errors)
        self.assertEqual([event["type"] for event in space.events(run_id)].count("agent.subagent_failed"), 0)
        self.assertEqual(space.run(["apply", run_id]).returncode, 0)
        self.assertEqual({name: space.tree()[name] for name in ("b.txt", "c.txt")}, {"b.txt": "b\n", "c.txt": "c\n"})

    def test_plan_parks_and_resume_makes_the_plan(self):
        space = self.room()
        first = self.serve(script(rule(LATE)))
        process = space.start(["plan", *first.flags(), "--json", "Build it"])
        wait_until(lambda: first.stats()["in_flight"] == 1, "the planner is asked")
        process.signal(signal.SIGINT)
        self.assertEqual(process.end(), PARKED, process.errors)
        self.serve_instead(first, script(rule({"text": "I would just do it."})))
        done = space.run(["resume", process.lines[0]["run_id"], "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_resume_parks_again(self):
        server, space = self.serve(script(rule(LATE, first_user="ROOT"))), self.room()
        words = ["run", *server.flags(), "--mode", "auto", "--json", "ROOT"]
        for count in range(1, 4):
            process = space.start(words)
            wait_until(lambda: server.stats()["requests"] == count, "the model is asked")
            process.signal(signal.SIGHUP)
            self.assertEqual(process.end(), PARKED, process.errors)
            words = ["resume", process.lines[0]["run_id"], "--json"]

    def test_a_run_under_nohup_goes_on(self):
        server, space = self.serve(script(rule({"text": "late", "delay_ms": 1000}, first_user="ROOT"))), self.room()
        words = ["nohup", program("CADRE"), "run", "--store", str(space.store), *server.flags(), "--mode", "auto", "ROOT"]
        process = Process(words, space.environment, space.files)
        wait_until(lambda: server.stats()["in_flight"] == 1, "the model is asked")
        process.signal(signal.SIGHUP)
        self.assertEqual(process.end(), 0, process.errors)


class Early(Parking):
    def test_before_the_run_exists_nothing_is_stored(self):
        space = self.room()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
            for number in SIGNALS:
                with self.subTest(number):
                    process = space.start(["run", "--base-url", url, "--model", "m", "ROOT"])
                    connection, _ = silent.accept()  # the server is asked for its window
                    process.signal(number)
                    self.assertEqual(process.end(), CANCELLED, process.errors)
                    connection.close()
                    self.assertIn("stopped before the run began; nothing was stored", process.errors)
        # Whether the store is there yet or not, it has no run.
        self.assertIn("No runs yet", space.run(["runs"]).stdout)


class OnATerminal(Parking):
    def test_a_question_is_put_again(self):
        server = self.serve(script(rule({"calls": [call("write", path="out.txt", content="x\n")]}, first_user="ROOT", turn=0),
                                   rule({"text": "done"}, first_user="ROOT")))
        space = self.room()
        terminal = Terminal(space, [program("CADRE"), "run", "--store", space.store, *server.flags(), "ROOT"])
        self.addCleanup(terminal.close)
        terminal.wait_for(r"Allow it\? \[y/n")
        terminal.keys("C-c")
        self.assertEqual(terminal.wait_for_end(), PARKED)
        self.assertTrue(terminal.cursor_is_visible())
        (row,) = space.query("SELECT id FROM runs")
        self.check_parked(space, row["id"], terminal.history())
        self.assertFalse((space.files / "out.txt").exists())
        again = Terminal(space, [program("CADRE"), "resume", "--store", space.store, row["id"]])
        self.addCleanup(again.close)
        again.wait_for(r"Allow it\? \[y/n")
        again.keys("y", "Enter")
        self.assertEqual(again.wait_for_end(), 0)
        self.assertEqual((space.files / "out.txt").read_text(), "x\n")

    def test_a_second_ctrl_c_ends_at_once(self):
        server, space = self.serve(script(rule(LATE, first_user="ROOT"))), self.room()
        terminal = Terminal(space, [program("CADRE"), "run", "--store", space.store, *server.flags(), "ROOT"])
        self.addCleanup(terminal.close)
        wait_until(lambda: server.stats()["in_flight"] == 1, "the model is asked")
        (row,) = space.query("SELECT id FROM runs")
        # The writer waits for the store, so that the run cannot park in between.
        with Lock(space):
            terminal.keys("C-c")
            terminal.wait_for("press again to stop at once")
            terminal.keys("C-c")
            self.assertEqual(terminal.wait_for_end(), PARKED)
        self.assertTrue(terminal.cursor_is_visible())
        self.assertIn("stopped at once; go on with: cadre resume", terminal.history())
        self.assertIn(f"cadre cancel {row['id']} --now", terminal.history().replace("\n", ""))
        self.assertEqual(self.status(space, row["id"]), "stopped")


class Lock:
    """Holds the store's write lock."""

    def __init__(self, space):
        self.path = space.store

    def __enter__(self):
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_):
        self.connection.execute("ROLLBACK")
        self.connection.close()


if __name__ == "__main__":
    unittest.main()
