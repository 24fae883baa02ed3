"""Runs programs and measures them: wall time, CPU time, memory. Knows the server and the bare clients, not the rows."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request

PROGRAMS = ("server", "curl", "epoll", "journal", "verify", "sandbox", "git", "often")
SAMPLE_SECONDS = 0.02
EARLY_SECONDS, EARLY_FOR = 0.002, 0.1  # a run may be over after 0.02 s: so often as long as it is this young
CONFIG = """\
llm:
  providers:
    bench: {{base_url: "http://127.0.0.1:{port}/v1"{provider}}}
  models:
    bench: {{provider: bench, max_tokens: 8192, max_context_tokens: 100000000}}
  pools:
    default: [{{model: bench}}]
mode: auto
isolation: {{children: {isolation}}}
sub_agent:
  max_depth: {depth}
  attempt_timeout_ms: 60m
  default_budget: {{timeout_ms: 60m, max_tool_calls: 1000}}
safety:
  circuit_breaker: {{warn_at: 100000, pause_at: 100000, hard_stop_at: 100000}}
budget: {{cost_usd: null, wall_ms: 60m}}
"""


class Failed(Exception):
    """A program of the benchmark did not do its part."""


class OutOfTime(Exception):
    """The whole benchmark has used up its time."""


def check(command, directory):
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit("%s failed:\n%s" % (" ".join(command), done.stdout[-4000:]))


def memory_kb(pid, field):
    """VmRSS or VmHWM of a process; 0 when it is gone. (ru_maxrss counts the program that was there before exec.)"""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Sample:
    """What one process took."""

    def __init__(self, wall, cpu, peak_kb):
        self.wall, self.cpu, self.peak_kb = wall, cpu, peak_kb


class Process:
    """A program that is measured while it runs. `started` is CLOCK_MONOTONIC in nanoseconds, as the server's times."""

    def __init__(self, command, directory, environment, seconds):
        self.command, self.peak_kb = command, 0
        self.errors = open(os.path.join(directory, "..", "errors.txt"), "w+", encoding="utf-8", errors="replace")
        self.deadline = time.monotonic() + seconds
        self.started = time.monotonic_ns()
        self.child = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=self.errors)
        self.ended = threading.Event()
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def sample(self):
        young = time.monotonic() + EARLY_FOR
        while True:
            self.peak_kb = max(self.peak_kb, memory_kb(self.child.pid, "VmHWM"))
            now = time.monotonic()
            if self.ended.wait(EARLY_SECONDS if now < young else SAMPLE_SECONDS):
                return
            if now > self.deadline:
                self.child.kill()
                return

    def is_gone(self):
        """Has ended; nobody has taken its status yet."""
        with open("/proc/%d/stat" % self.child.pid, encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"

    def resident_kb(self):
        return memory_kb(self.child.pid, "VmRSS")

    def reap(self):
        _, status, usage = os.wait4(self.child.pid, 0)
        wall = (time.monotonic_ns() - self.started) / 1e9
        self.ended.set()
        self.sampler.join()
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.errors.seek(0)
        text = self.errors.read(2000).strip()
        self.errors.close()
        return self.child.returncode, text, Sample(wall, usage.ru_utime + usage.ru_stime, self.peak_kb)

    def finish(self):
        """Waits for a good end."""
        code, text, sample = self.reap()
        if time.monotonic() > self.deadline:
            raise OutOfTime()
        if code != 0:
            raise Failed("%s ended with %d: %s" % (os.path.basename(self.command[0]), code, text or "no message"))
        return sample

    def kill(self):
        self.child.kill()
        return self.reap()[2]


class Server:
    """The fast server, with one shape; ends with the `with` block."""

    def __init__(self, bench, *options):
        self.start([bench.program("server"), *map(str, options)])

    def start(self, command):
        """The first line of such a server ends with its port."""
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = re.search(r"(\d+)(/v1)?$", self.child.stdout.readline())
        if not port:
            raise Failed("the server did not start")
        self.port = int(port[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def get(self, path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open("http://127.0.0.1:%d/%s" % (self.port, path), timeout=60) as answer:
            return answer.read()

    def stats(self):
        return json.loads(self.get("stats"))

    def reset(self):
        self.get("reset")

    def wait(self, process, condition):
        """Until the statistics fulfil the condition; ends the process when they never do."""
        while not condition(self.stats()):
            if process.is_gone() or time.monotonic() > process.deadline:
                process.kill()
                raise Failed("%s ended before it had asked for all" % os.path.basename(process.command[0]))
            time.sleep(0.05)


class ScriptedServer(Server):
    """The strict server, with a script (docs/scripted-model.md): for rows in which the model's own time counts."""

    def __init__(self, bench, script):
        path = os.path.join(bench.directory, "script.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(script, file)
        self.start([bench.program("scripted"), "--script", path, "--until-eof"])

    def stats(self):
        return json.loads(self.get("_stats"))


class Bench:
    """Where things are, and how much time is left."""

    def __init__(self, build, directory, seconds, descriptors):
        self.build, self.directory, self.descriptors = build, directory, descriptors
        self.end = time.monotonic() + seconds
        self.seconds, self.began = seconds, time.monotonic()
        self.workspace = os.path.join(directory, "workspace")
        os.makedirs(self.workspace)
        for name, text in (("one.txt", "one\n"), ("two.txt", "two\n"), ("context.txt", ("x" * 99 + "\n") * 240)):
            with open(os.path.join(self.workspace, name), "w", encoding="ascii") as file:
                file.write(text)
        self.environment = {"HOME": directory, "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}
        self.stores = 0

    def program(self, name):
        return os.path.join(self.build, {"cadre": "cadre", "scripted": "cadre-scripted"}.get(name, "tests/bench-" + name))

    def left(self):
        left = self.end - time.monotonic()
        if left < 1:
            raise OutOfTime()
        return left

    def new_store(self):
        self.stores += 1
        return os.path.join(self.directory, "store-%d.db" % self.stores)

    def forget_store(self, store):
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(store + ending):
                os.unlink(store + ending)

    def cadre(self, server, store, *words, depth=1, isolation="false", more="", variables=None, workspace=None,
              provider=", max_concurrent: 10000", program="cadre"):
        config = os.path.join(self.directory, "cadre.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(port=server.port, depth=depth, isolation=isolation, provider=provider) + more)
        return Process([self.program(program), *words, "--quiet", "--config", config, "--store", store],
                       workspace or self.workspace, {**self.environment, **(variables or {})}, self.left())

    def cadre_run(self, server, store, concurrent=100000, depth=1, program="cadre"):
        return self.cadre(server, store, "run", "root", "--max-concurrent", str(concurrent), depth=depth, program=program)

    def bare(self, name, server, plan):
        path = os.path.join(self.directory, "plan.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write(plan)
        return Process([self.program(name), str(server.port), path], self.workspace, self.environment, self.left())

    def alone(self, name, *arguments):
        """A program of this folder that measures by itself, in a directory of its own; what it printed."""
        place = os.path.join(self.directory, "%s-%d" % (name, self.stores))
        self.stores += 1
        os.makedirs(place)
        done = subprocess.run([self.program(name), place, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=self.left())
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return json.loads(done.stdout)

    def lines(self, name, *arguments):
        """The same for one that wants a directory that is not there yet, and prints lines."""
        place = os.path.join(self.directory, "%s-%d" % (name, self.stores))
        self.stores += 1
        done = subprocess.run([self.program(name), place, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=self.left())
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return done.stdout.splitlines()


def query(store, sql, *values):
    connection = sqlite3.connect("file:%s?mode=ro" % store, uri=True)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def count_events(store):
    return query(store, "SELECT count(*) FROM events")[0][0]


def count_completed(store):
    """Children that worked to a good end."""
    return query(store, "SELECT count(*) FROM event_log WHERE type = 'agent.subagent_closed'"
                        " AND json_extract(payload_json, '$.final_status') = 'completed'")[0][0]


def count_failed_calls(store):
    return query(store, "SELECT count(*) FROM event_log WHERE type = 'tool.finished'"
                        " AND json_extract(payload_json, '$.outcome') <> 'ok'")[0][0]


def spans(store, begins, ends):
    """Milliseconds from each event of the first type to the next one of the second type of the same agent."""
    begun, found = {}, []
    for agent, kind, at in query(store, "SELECT agent_id, type, ts FROM event_log WHERE type IN (?, ?) ORDER BY seq", begins, ends):
        if kind == begins:
            begun[agent] = at
        elif agent in begun:
            found.append(at - begun.pop(agent))
    return found


# Sleeps for a millisecond at a time until its input ends, and prints the delay that 99 of 100 moments do not exceed.
SLEEPER = """
import select, sys, time
late, last = [], time.monotonic()
while not select.select([sys.stdin], [], [], 0.001)[0]:
    now = time.monotonic()
    delay, last = max(0, (now - last) * 1000 - 1), now
    while delay > 0:
        late.append(delay)
        delay -= 1
    late.append(0)
late.sort()
print(late[int(len(late) * 0.99)])
"""


class Sleeper:
    """A process that does nothing beside what is measured: how late the machine itself lets it be. `p99_ms` at the end."""

    def __enter__(self):
        self.child = subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.p99_ms = float(self.child.communicate("")[0])
