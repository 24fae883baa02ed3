"""Kills of the real binary with SIGKILL at random moments, and who may work on a run.

Oracles are the lines that were printed before the kill (each is an acknowledged event), the model server's request log,
the files and the process list. CRASH_KILLS sets how many kills (40), CRASH_SEED repeats the plan of an earlier run,
CRASH_EPISODE runs one episode of it alone; where the moments fall within the program's work differs each time.
"""
import collections
import ctypes
import os
import random
import signal
import sys
import threading
import time
import unittest

from harness import ModelServer, Workspace, json_lines, processes_of, wait_until
from repository import Repository

WORKERS = 2
CHILDREN = 3
FILLING = "filling that makes this file worth more than one page. " * 400
MODEL = {"id": "scripted", "window": 32768, "max_output": 8192}


# --- what the model says ---------------------------------------------------------------------------------------------

def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def rule(who, turn, **reply):
    return {"when": {"first_user_regex": rf"episode (\w+) {who}", "turn": turn}, "reply": reply}


def append(path, token):
    """An edit that leaves what it looks for in place: done twice, it would show twice."""
    return call("edit", path=path, old_text="end of file", new_text=f"{token}\nend of file")


def child_rules(number):
    who, notes, report = f"child {number}", f"notes-{number}.txt", f"deep/report-{number}.txt"
    token = "{{match:1}}-" + str(number)
    return [
        rule(who, 0, text="I look first.", chunk_delay_ms=1,
             calls=[call("ls", path="."), call("grep", pattern="end", path=notes), call("read", path=notes)]),
        rule(who, 1, calls=[append(notes, f"first {token}")], delay_ms=number),
        rule(who, 2, calls=[call("write", path=report, content=f"report {token}\n{FILLING}\n")]),
        rule(who, 3, calls=[append(notes, f"second {token}"), call("read", path=report, limit=1)], chunk_delay_ms=1),
        rule(who, 4, text=f"child {number} of {{{{match:1}}}} is done", chunk_delay_ms=1),
    ]


def crash_script():
    rules = [one for number in range(1, CHILDREN + 1) for one in child_rules(number)]
    rules += [
        rule("root", 0, text="I hand it out.", chunk_delay_ms=1,
             calls=[call("spawn_agent", task="episode {{match:1}} child %d" % number)
                    for number in range(1, CHILDREN + 1)]),
        rule("root", 1, calls=[call("write", path="summary.txt", content="summary {{match:1}}\nend of file\n")]),
        rule("root", 2, calls=[append("summary.txt", "root {{match:1}}")], delay_ms=2),
        rule("root", 3, text="episode {{match:1}} is done", chunk_delay_ms=1),
    ]
    return {"models": [MODEL], "rules": rules}


def files_before():
    return {f"notes-{number}.txt": f"notes {number}\nend of file\n" for number in range(1, CHILDREN + 1)}


def files_after(token):
    files = {"summary.txt": f"summary {token}\nroot {token}\nend of file\n"}
    for number in range(1, CHILDREN + 1):
        files[f"notes-{number}.txt"] = (f"notes {number}\nfirst {token}-{number}\n"
                                        f"second {token}-{number}\nend of file\n")
        files[f"deep/report-{number}.txt"] = f"report {token}-{number}\n{FILLING}\n"
    return files


# --- oracles ---------------------------------------------------------------------------------------------------------

# What a crash may add to a log: everything else happens exactly as often as in a run that nobody disturbed.
MAY_REPEAT = ("model.requested", "model.failed", "run.resumed", "budget.", "agent.isolating", "agent.merging")


def history(events, token, workspace):
    """The run as a bag of things that happened, free of ids, times and names of this one run."""
    names = {event["agent_id"]: event["payload"]["objective"] for event in events
             if event["type"] == "agent.subagent_created"}
    bag = collections.Counter()
    for event in events:
        payload = event["payload"]
        if event["type"].startswith(MAY_REPEAT):
            continue
        detail = [payload.get(key) for key in ("kind", "role", "tool", "arguments", "path", "outcome", "attempt",
                                               "final_status")]
        if event["type"] in ("agent.message", "model.replied"):
            detail += [payload.get("text", payload.get("opening")), [one["name"] for one in payload.get("calls", [])]]
        text = repr((names.get(event["agent_id"], "root"), event["type"], detail))
        bag[text.replace(token, "TOKEN").replace(str(workspace.files), "FILES")] += 1
    return bag


def requests_by_turn(events, root_task):
    """How often each conversation asked at each turn: {(first user message, turn): count of model.requested}."""
    first = {events[0]["agent_id"]: root_task} if events else {}
    turns, asked = collections.Counter(), collections.Counter()
    for event in events:
        agent = event["agent_id"]
        if event["type"] == "agent.subagent_created":
            first[agent] = event["payload"]["objective"]
        elif event["type"] == "model.requested":
            asked[first[agent], turns[agent]] += 1
        elif event["type"] == "model.replied":
            turns[agent] += 1
    return asked


def check_intents(test, events, workspace, server, token):
    """Log before act: nothing reached the server or a file that the log does not tell."""
    asked = requests_by_turn(events, f"episode {token} root")
    seen = collections.Counter((one["first_user"].partition("\n")[0], one["turn"]) for one in server.requests()
                               if f"episode {token} " in one["first_user"])
    for key, count in seen.items():
        test.assertLessEqual(count, asked[key], f"requests that no model.requested accounts for: {key}")
    prepared = {event["payload"]["path"] for event in events if event["type"] == "tool.prepared"}
    before = files_before()
    changed = {path for path, text in workspace.tree().items()
               if before.get(path) != text and not path.rpartition("/")[2].startswith(".cadre-")}
    test.assertLessEqual(changed, prepared, "files that changed without a durable intent")
    return seen, asked


def check_log(test, events, printed):
    """Every acknowledged event stands in the log as it was printed, once; the log has no gaps and no doubles."""
    test.assertEqual([event["seq"] for event in events], list(range(1, len(events) + 1)))
    test.assertEqual(len(printed), len({line["seq"] for line in printed}), "an event was announced twice")
    for line in printed:
        test.assertLessEqual(line["seq"], len(events), f"an acknowledged event is lost: {line}")
        stored = events[line["seq"] - 1]
        for key, column in (("agent_id", "agent_id"), ("ts", "ts"), ("event", "type"), ("summary", "summary"),
                            ("payload", "payload")):
            test.assertEqual(line[key], stored[column], f"event {line['seq']} is not what was acknowledged")


def check_files(test, found, expected):
    test.assertEqual(sorted(found), sorted(expected), "files that are missing or left over")
    for path, text in expected.items():
        test.assertEqual(found[path].replace(FILLING, "FILLING"), text.replace(FILLING, "FILLING"), path)


def check_calls(test, workspace, run_id):
    rows = workspace.query(
        "SELECT e.agent_no, e.call_id, t.type, count(*) AS n FROM events e JOIN runs r ON r.run_no = e.run_no"
        " JOIN event_types t ON t.type_no = e.type_no WHERE r.id = ? AND t.type IN ('tool.requested', 'tool.finished')"
        " GROUP BY 1, 2, 3", run_id)
    test.assertEqual([row for row in rows if row["n"] != 1], [], "a tool call that began or ended twice")


def check_closes(test, workspace, run_id, events):
    closes = collections.Counter(event["agent_id"] for event in events if event["type"] == "agent.subagent_closed")
    created = [event["agent_id"] for event in events if event["type"] == "agent.subagent_created"]
    test.assertEqual(closes, {agent: 1 for agent in created}, "not exactly one close per child")
    test.assertEqual({row["id"]: row["status"] for row in workspace.children(run_id)},
                     {agent: "closed" for agent in created})


def check_proofs(test, workspace, run_id):
    for command in ("verify", "replay"):
        done = workspace.run([command, run_id])
        test.assertEqual(done.returncode, 0, f"cadre {command}: {done.stdout}{done.stderr}")


# --- one episode -----------------------------------------------------------------------------------------------------

class Moment:
    """When to kill: at a time, after a printed line, or once the files have changed; seeded, so that a plan repeats."""

    def __init__(self, chance, duration, lines):
        self.kind = chance.choice(("clock", "clock", "line", "line", "files"))
        self.seconds = chance.uniform(0, duration)
        self.line = chance.randint(1, lines)
        self.changes = chance.randint(1, 3 * CHILDREN + 2)
        self.pause = chance.choice((0, 0, chance.uniform(0, 0.004)))

    def __str__(self):
        return {"clock": f"after {self.seconds * 1000:.1f} ms",
                "line": f"{self.pause * 1000:.1f} ms after line {self.line}",
                "files": f"after change {self.changes} of the files"}[self.kind]

    def wait(self, process, workspace):
        """Returns when the moment has come, or the process has ended before it."""
        start = time.monotonic()
        state, changes = files_state(workspace), 0

        def has_come():
            nonlocal state, changes
            if self.kind == "clock":
                return time.monotonic() >= start + self.seconds
            if self.kind == "line":
                return process.text.count("\n") >= self.line
            now = files_state(workspace)
            changes, state = changes + (now != state), now
            return changes >= self.changes
        while process.popen.poll() is None and not has_come():
            if time.monotonic() > start + 60:
                raise AssertionError("the process neither ends nor gets on")
            time.sleep(0.0002)
        if self.kind == "line" and self.pause:
            time.sleep(self.pause)


def files_state(workspace):
    state = []
    for folder in (workspace.files, workspace.files / "deep"):
        try:
            with os.scandir(folder) as entries:
                state += sorted((entry.name, entry.inode()) for entry in entries)
        except FileNotFoundError:
            continue
    return state


class Reference:
    """An undisturbed run: how long it takes, how many lines it prints, what happens in it."""

    def __init__(self, test, server):
        with test.place(test.config, files_before()) as workspace:
            start = time.monotonic()
            done = workspace.run(["run", *server.flags(), "--mode", "auto", "--json", "episode ref root"])
            self.seconds = time.monotonic() - start
            test.assertEqual(done.returncode, 0, done.stderr)
            lines = json_lines(done.stdout)
            self.lines = len(lines)
            self.history = history(workspace.events(lines[0]["run_id"]), "ref", workspace)
            check_files(test, workspace.tree(), files_after("ref"))


class Episode:
    """One run, killed once to four times, then resumed until it completes, or else cancelled, and checked."""

    def __init__(self, test, server, reference, seed, number):
        self.test, self.server, self.reference = test, server, reference
        self.chance = random.Random(f"{seed}/{number}")
        self.token = f"e{number}x{seed}"
        self.counts = collections.Counter(kills=0, unborn=0, again=0, settled=0, cancelled=0)
        self.printed = []
        self.story = []

    def play(self):
        with self.test.place(self.test.config, files_before()) as workspace:
            self.workspace = workspace
            arguments = ["run", *self.server.flags(), "--mode", "auto", "--json", f"episode {self.token} root"]
            for _ in range(self.chance.choice((1, 1, 2, 3, 4))):
                killed = self.launch(arguments, Moment(self.chance, self.reference.seconds, self.reference.lines))
                if not killed:
                    break
                run_id = self.find_run()
                if run_id is None:
                    return
                arguments = ["resume", run_id, "--json"]
            if self.chance.random() < 0.2:
                self.cancel()
            else:
                self.finish()

    def launch(self, arguments, moment):
        """Starts a process and kills it when the moment has come; True when it was killed, False when it ended."""
        process = self.workspace.start(arguments, self.environment())
        moment.wait(process, self.workspace)
        code = process.kill()
        self.story.append(f"{arguments[0]}, killed {moment}: {code}, {len(process.lines)} lines")
        self.take_lines(process, code)
        if code != -signal.SIGKILL:
            self.test.assertEqual(code, 0, f"{process.text[-600:]}\n{process.errors}")
            return False
        self.counts["kills"] += 1
        self.after_kill()
        if self.chance.random() < 0.5:
            self.look_at_the_wreck()
        return True

    def environment(self):
        """What a process that is going to be killed gets in addition."""
        return None

    def after_kill(self):
        """What happens to the machine, besides the process."""

    def take_lines(self, process, code):
        # A git that is under way comes to its end: it holds its tree's lock meanwhile, and leaves none of its own.
        wait_until(lambda: not processes_of(process.pid), f"processes are left after exit {code}")
        self.test.assertNotIn("Sanitizer", process.errors)
        self.printed += [line for line in process.lines if line["type"] == "event"]
        self.run_id = next((line["run_id"] for line in process.lines), getattr(self, "run_id", None))

    def look_at_the_wreck(self):
        """Only sometimes: whoever opens a store after a crash also repairs it, and that is resume's work."""
        self.server.idle()
        if self.run_id is not None:
            events = self.workspace.events(self.run_id)
            check_log(self.test, events, self.printed)
            check_intents(self.test, events, self.workspace, self.server, self.token)

    def find_run(self):
        """The run's id, or None: a run that never came into being has done nothing."""
        done = self.workspace.run(["runs", "--json"])
        self.test.assertEqual(done.returncode, 0, done.stderr)
        runs = [line["run_id"] for line in json_lines(done.stdout)]
        if runs:
            self.test.assertEqual(len(runs), 1)
            self.test.assertIn(self.run_id, (None, runs[0]))
            return runs[0]
        self.counts["unborn"] = 1
        self.server.idle()
        self.test.assertEqual(self.printed, [], "events of a run that is not in the store")
        check_files(self.test, self.workspace.tree(), files_before())
        self.test.assertEqual([one for one in self.server.requests() if self.token in one["first_user"]], [])
        return None

    def last_process(self, arguments):
        """Drives the run to its end undisturbed; returns its events."""
        process = self.workspace.start([*arguments, "--json"])
        code = process.end()
        self.story.append(f"{arguments[0]}: {code}")
        self.take_lines(process, code)
        self.test.assertEqual(code, 0, f"{process.text[-600:]}\n{process.errors}")
        self.server.idle()
        events = self.workspace.events(arguments[1])
        check_log(self.test, events, self.printed)
        check_calls(self.test, self.workspace, arguments[1])
        check_closes(self.test, self.workspace, arguments[1], events)
        return events

    def cancel(self):
        run_id = self.find_run()
        events = self.last_process(["cancel", run_id, "--now"])
        self.test.assertIn(events[-1]["type"], ("run.cancelled", "run.completed"))
        check_intents(self.test, events, self.workspace, self.server, self.token)
        expected = files_after(self.token)
        for path, text in self.workspace.tree().items():
            self.test.assertIn(path, expected, "a file that nobody asked for")
            rest = iter(expected[path].splitlines())
            self.test.assertTrue(all(line in rest for line in text.splitlines()), f"{path}: {text[:300]}")
        check_proofs(self.test, self.workspace, run_id)
        self.counts["cancelled"] = 1

    def finish(self):
        test, workspace, run_id = self.test, self.workspace, self.find_run()
        events = self.last_process(["resume", run_id])
        test.assertEqual(events[-1]["type"], "run.completed")
        requests = self.server.stats()["requests"]
        happened = history(events, self.token, workspace)
        errors = [event["payload"]["error"] for event in events if event["type"] == "agent.subagent_failed"]
        test.assertEqual((happened - self.reference.history, self.reference.history - happened), ({}, {}), errors)
        check_files(test, workspace.tree(), files_after(self.token))
        seen, asked = check_intents(test, events, workspace, self.server, self.token)
        test.assertEqual(set(seen), set(asked))
        last = max(one["time"] for one in self.server.requests() if self.token in one["first_user"])
        test.assertLessEqual(last, events[-1]["ts"], "a request after the run's end")
        check_proofs(test, workspace, run_id)
        self.counts["again"] = sum(asked.values()) - len(asked)
        self.counts["settled"] = sum("checked after a restart" in event["payload_json"] for event in events
                                     if event["type"] == "tool.finished")
        test.assertEqual(self.server.stats()["requests"], requests, "verify or replay asked the model")


class Campaign:
    """Plays episodes on two workers until there were enough kills; part of a test case."""

    prefix, kills_wanted, episode = "CRASH", 40, Episode
    maxDiff = None

    @staticmethod
    def place(config, files):
        return Workspace(files, config)

    config = None  # children that write have trees of their own

    def setUp(self):
        self.wanted = int(os.environ.get(f"{self.prefix}_KILLS", self.kills_wanted))
        self.seed = int(os.environ.get(f"{self.prefix}_SEED", random.SystemRandom().randrange(1 << 32)))
        self.only = os.environ.get(f"{self.prefix}_EPISODE")
        self.lock = threading.Lock()
        self.next = 0
        self.counts = collections.Counter()
        self.failure = None

    def take_episode(self):
        with self.lock:
            if self.failure is not None or self.counts["kills"] >= self.wanted:
                return None
            number, self.next = self.next, self.next + 1
            if self.only is not None:
                return int(self.only) if number == 0 else None
            return number

    def play(self, server, reference, number):
        episode = self.episode(self, server, reference, self.seed, number)
        try:
            episode.play()
        except BaseException as error:
            error.add_note(f"{self.prefix}_SEED={self.seed} {self.prefix}_EPISODE={number}: "
                           + "; ".join(episode.story))
            raise
        with self.lock:
            self.counts.update(episode.counts, episodes=1, events=len(episode.printed))

    def work(self):
        try:
            with ModelServer(crash_script()) as server:
                reference = Reference(self, server)
                while (number := self.take_episode()) is not None:
                    self.play(server, reference, number)
        except BaseException as error:
            with self.lock:
                self.failure = self.failure or error

    def run_campaign(self):
        print(f"{self.prefix}_SEED={self.seed}", file=sys.stderr, flush=True)
        workers = [threading.Thread(target=self.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print("{kills} kills in {episodes} runs, {events} acknowledged events; {unborn} runs killed before they began,"
              " {cancelled} cancelled; {again} model requests repeated, {settled} writes found done"
              .format_map(self.counts), file=sys.stderr, flush=True)
        if self.failure is not None:
            raise self.failure
        if self.only is None:
            self.assertGreaterEqual(self.counts["kills"], self.wanted)


class Kills(Campaign, unittest.TestCase):
    def test_no_acknowledged_event_is_lost_or_doubled_and_each_child_is_closed_once(self):
        self.run_campaign()


class ResultOfARun(Repository):
    """A repository whose files are those of the run's result, and in which nothing is left when all is over."""

    def tree(self):
        branches = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads/cadre/*/result").split()
        if not branches:
            return super().tree()
        names = self.git("ls-tree", "-r", "--name-only", branches[0]).split("\n")
        return {name: self.shell(["git", "show", f"{branches[0]}:{name}"]) for name in names}

    def close(self):
        if not self.damaged:
            left = [str(path) for path in self.state.rglob("*") if "trees" in path.parts and path.is_file()]
            unfinished = self.query("SELECT id FROM runs WHERE status = 'running'")
            assert unfinished or left == [], left
            self.git("fsck", "--strict", "--no-dangling")
            assert self.git("status", "--porcelain") == "", "the user's checkout was changed"
        super().close()


class KillsInARepository(Campaign, unittest.TestCase):
    """The root has a tree of its own; its children's are merged into it, each once, whatever is killed when."""

    prefix, kills_wanted = "REPOSITORY_CRASH", 20
    place = ResultOfARun

    def test_the_result_holds_the_work_of_every_child_once_and_nothing_is_left(self):
        self.run_campaign()


# --- who may work on a run -------------------------------------------------------------------------------------------

def waiting_script():
    """Two children: one gets done, one asks a model that does not answer in any time that matters."""
    return {"models": [MODEL], "rules": [
        rule("child 1", 0, calls=[append("notes-1.txt", "first {{match:1}}-1")]),
        rule("child 1", 1, text="child 1 is done"),
        rule("child 2", 0, text="too late", delay_ms=600000),
        rule("root", 0, calls=[call("spawn_agent", task="episode {{match:1}} child 1"),
                               call("spawn_agent", task="episode {{match:1}} child 2")]),
        rule("root", 1, text="the children are gone"),
    ]}


class Ownership(unittest.TestCase):
    def setUp(self):
        self.server = ModelServer(waiting_script())
        self.addCleanup(self.close_server)
        self.workspace = Workspace(files_before())
        self.addCleanup(self.workspace.close)

    def close_server(self):
        self.server.close()

    def start_waiting_run(self):
        """A run whose first child is closed and whose second one waits for its model."""
        process = self.workspace.start(["run", *self.server.flags(), "--mode", "auto", "--json", "episode own root"])
        process.wait_for_event("agent.subagent_closed")
        run_id = process.lines[0]["run_id"]
        wait_until(lambda: self.server.stats()["in_flight"] == 1, "the second child asks its model")
        return process, run_id

    def assert_wound_down(self, run_id, status="cancelled"):
        events = self.workspace.events(run_id)
        self.assertEqual(events[-1]["type"], f"run.{status}")
        check_closes(self, self.workspace, run_id, events)
        check_proofs(self, self.workspace, run_id)
        self.assertEqual(self.workspace.query("SELECT status FROM runs"), [{"status": status}])
        self.assertIn("first own-1", self.workspace.tree()["notes-1.txt"])
        closed = [event["payload"]["final_status"] for event in events if event["type"] == "agent.subagent_closed"]
        self.assertEqual(sorted(closed), ["completed", "failed"])

    def test_resume_is_refused_while_the_owner_lives_and_names_it(self):
        owner, run_id = self.start_waiting_run()
        before = self.workspace.events(run_id)
        done = self.workspace.run(["resume", run_id, "--json"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"owned by .*\b{owner.pid}-")
        self.assertIsNone(owner.popen.poll(), "the owner was disturbed")
        self.assertEqual(self.workspace.events(run_id), before)
        owner.kill()

    def test_resume_is_refused_while_the_owner_lives_whatever_name_the_store_has(self):
        owner, run_id = self.start_waiting_run()
        other = self.workspace.root / "other"
        other.mkdir()
        (other / "linked.db").symlink_to(self.workspace.store)
        store, self.workspace.store = self.workspace.store, other / "linked.db"
        done = self.workspace.run(["resume", run_id, "--json"])
        self.workspace.store = store
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIsNone(owner.popen.poll(), "the owner was disturbed")
        owner.kill()

    def test_of_two_that_resume_at_once_exactly_one_gets_the_run(self):
        process, run_id = self.start_waiting_run()
        process.kill()
        for _ in range(8):
            pair = [self.workspace.start(["resume", run_id, "--json"]) for _ in range(2)]
            wait_until(lambda: any(one.popen.poll() is not None for one in pair), "one of the two gives up")
            loser, winner = sorted(pair, key=lambda one: one.popen.poll() is None)
            self.assertEqual(loser.end(), 1, loser.text + loser.errors)
            self.assertRegex(loser.errors, rf"owned by .*\b{winner.pid}-")
            resumed = winner.wait_for_event("run.resumed")
            self.assertTrue(resumed["payload"]["owner"].startswith(f"{winner.pid}-"))
            winner.kill()
        self.assertEqual(self.workspace.run(["cancel", run_id, "--now", "--json"]).returncode, 0)
        self.assert_wound_down(run_id)
        resumes = [event for event in self.workspace.events(run_id) if event["type"] == "run.resumed"]
        self.assertEqual(len(resumes), 9, "each winner and the cancel, and nobody else")

    def test_cancel_from_another_process_ends_the_run_with_130_and_closes_every_child(self):
        process, run_id = self.start_waiting_run()
        done = self.workspace.run(["cancel", run_id, "--json"])
        self.assertEqual((done.returncode, json_lines(done.stdout)[0]["status"]), (0, "sent"))
        self.assertEqual(process.end(), 130, process.errors)
        self.assertEqual(process.lines[-1]["run_status"], "cancelled")
        self.assert_wound_down(run_id)

    def test_a_crashed_run_keeps_a_cancel_until_resume_which_winds_it_down(self):
        process, run_id = self.start_waiting_run()
        process.kill()
        done = self.workspace.run(["cancel", run_id, "--json"])
        self.assertEqual((done.returncode, json_lines(done.stdout)[0]["status"]), (0, "kept"))
        self.assertEqual(self.workspace.run(["resume", run_id]).returncode, 130)
        self.assert_wound_down(run_id)

    def test_cancel_now_winds_a_crashed_run_down(self):
        process, run_id = self.start_waiting_run()
        process.kill()
        done = self.workspace.run(["cancel", run_id, "--now", "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_wound_down(run_id)

    def test_the_first_interrupt_parks_the_run_and_closes_no_child(self):
        process, run_id = self.start_waiting_run()
        process.signal(signal.SIGINT)
        self.assertEqual(process.end(), 75, process.errors)
        self.assertIn("parking the run", process.errors)
        self.assertEqual(process.lines[-1]["run_status"], "parked")
        events = [event["type"] for event in self.workspace.events(run_id)]
        self.assertEqual((events.count("run.parked"), events.count("agent.subagent_closed")), (1, 1))
        self.assertEqual(self.workspace.run(["cancel", run_id, "--now"]).returncode, 0)
        self.assert_wound_down(run_id)

    def test_the_second_interrupt_ends_the_process_at_once_and_the_run_can_be_resumed(self):
        process, run_id = self.start_waiting_run()
        # Both wait while the process is stopped, so that no parking comes between them; and both are for its first
        # thread: one for the process may be taken by any thread, which on a busy machine runs when it is all over.
        process.signal(signal.SIGSTOP)
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(ctypes.CDLL(None).tgkill(process.pid, process.pid, number), 0)
        process.signal(signal.SIGCONT)
        self.assertEqual(process.end(), 75, process.errors)
        self.assertIn(f"go on with: cadre resume {run_id}; or give it up with: cadre cancel {run_id} --now", process.errors)
        self.assertNotIn("result", [line["type"] for line in process.lines])
        self.assertEqual(self.workspace.query("SELECT status FROM runs"), [{"status": "running"}])
        self.assertEqual(self.workspace.run(["cancel", run_id, "--now"]).returncode, 0)
        self.assert_wound_down(run_id)

    def test_no_process_is_left_when_the_owner_is_killed(self):
        process, _ = self.start_waiting_run()
        self.assertEqual(processes_of(process.pid), [process.pid])
        process.kill()
        self.assertEqual(processes_of(process.pid), [])


if __name__ == "__main__":
    unittest.main()
