"""What the end-to-end tests share: a scripted model server, a workspace with its store, processes of the real binary.

Programs come from the environment: CADRE and CADRE_SCRIPTED (meson sets them). Every wait has a deadline. Only
processes that were started here are signalled, by their own id. Nothing here judges the time that something takes.

    with ModelServer(script) as server, Workspace({"a.txt": "one\\n"}) as space:
        done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "task"])
        lines = json_lines(done.stdout)
        events = space.events(lines[0]["run_id"])
"""
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

# In the last message of a request in which no call is executed: the last turn, and when a summary is asked for.
NO_CALLS = "Do not call tools"

WAIT_SECONDS = 60  # the longest that any one step may take; only a hang comes near it


def program(variable):
    """The path of a program under test."""
    path = os.environ.get(variable)
    if not path:
        raise RuntimeError(f"{variable} names no program; run through meson, or set it")
    return path


def json_lines(text):
    """The objects of JSON lines. A last line without its line break was cut off and does not count."""
    return [json.loads(line) for line in text.split("\n")[:-1] if line]


def wait_until(condition, what, seconds=WAIT_SECONDS):
    """Waits until condition() is true and returns its value; AssertionError naming `what` at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.005)


def processes_of(session):
    """Ids of the processes alive in this session (Process.pid is its session), zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


class Process:
    """A program in a session (and process group) of its own; its output is collected while it runs.

    `lines` are the objects of the JSON lines so far, `text` all of stdout, `errors` all of stderr.
    """

    def __init__(self, arguments, environment, directory):
        self.popen = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, env=environment, cwd=directory, start_new_session=True)
        self.pid = self.popen.pid
        self._chunks = {"out": [], "err": []}
        self._news = threading.Condition()
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                         for pair in ((self.popen.stdout, "out"), (self.popen.stderr, "err"))]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, name):
        while chunk := os.read(stream.fileno(), 65536):
            with self._news:
                self._chunks[name].append(chunk)
                self._news.notify_all()

    def _text(self, name):
        with self._news:
            return b"".join(self._chunks[name]).decode("utf-8", "replace")

    @property
    def text(self):
        return self._text("out")

    @property
    def errors(self):
        return self._text("err")

    @property
    def lines(self):
        return json_lines(self.text)

    def wait_for(self, predicate, what, seconds=WAIT_SECONDS):
        """Waits for a JSON line that the predicate accepts and returns it."""
        deadline = time.monotonic() + seconds
        seen = 0
        while True:
            lines = self.lines
            for line in lines[seen:]:
                if predicate(line):
                    return line
            seen = len(lines)
            if not any(reader.is_alive() for reader in self._readers) and len(self.lines) == seen:
                raise AssertionError(f"the process ended before: {what}\n{self.errors}")
            with self._news:
                self._news.wait(0.05)
            if time.monotonic() >= deadline:
                raise AssertionError(f"waited {seconds} s in vain: {what}\n{self.errors}")

    def wait_for_event(self, event, count=1, seconds=WAIT_SECONDS):
        """Waits for the count-th durable event of this type in --json output."""
        left = [count]

        def matches(line):
            left[0] -= line.get("event") == event
            return left[0] == 0
        return self.wait_for(matches, f"event {event} number {count}", seconds)

    def signal(self, number):
        """One signal to this process alone; none once it has ended."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def end(self, seconds=WAIT_SECONDS):
        """Waits for the end and for all of the output; returns the exit code (negative: a signal)."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.popen.args} did not end in {seconds} s\n{self.errors}") from None
        for reader in self._readers:
            reader.join(WAIT_SECONDS)
        self.popen.stdout.close()
        self.popen.stderr.close()
        return code

    def kill(self):
        """SIGKILL to this process alone; returns the exit code of whatever came first."""
        self.signal(signal.SIGKILL)
        return self.end()


class Workspace:
    """A temporary place: `files` (the working directory), `store`, and a home that holds nothing of the user's."""

    def __init__(self, files=None, config=None):
        self.root = Path(tempfile.mkdtemp(prefix="cadre-e2e-"))
        self.files = self.root / "files"
        self.store = self.root / "state" / "cadre.db"
        self.files.mkdir()
        for name, content in (files or {}).items():
            path = self.files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.endswith("_API_KEY") and not name.startswith(("XDG_", "CADRE_"))}
        self.environment.update(HOME=str(self.root / "home"), LC_ALL="C.UTF-8", NO_PROXY="*")
        (self.root / "home").mkdir()
        if config is not None:
            (self.root / "cadre.yaml").write_text(config)
            self.environment["CADRE_CONFIG"] = str(self.root / "cadre.yaml")
        self._started = []
        self.damaged = False  # set by a test that breaks the store on purpose

    def _command(self, arguments):
        return [program("CADRE"), arguments[0], "--store", str(self.store), *arguments[1:]]

    def run(self, arguments, env=None, seconds=WAIT_SECONDS):
        """Runs `cadre ARGUMENTS` on this store, in `files`, to its end: a CompletedProcess with text."""
        process = self.start(arguments, env)
        code = process.end(seconds)
        return subprocess.CompletedProcess(process.popen.args, code, process.text, process.errors)

    def start(self, arguments, env=None):
        """Starts `cadre ARGUMENTS` on this store, in `files`: a Process."""
        process = Process(self._command(arguments), {**self.environment, **(env or {})}, self.files)
        self._started.append(process)
        return process

    def make_store(self):
        """An empty store: the first command that may write makes it."""
        done = self.run(["agents", "list"])
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def query(self, sql, *values):
        """Rows of the store as dictionaries; an empty list while there is no store, or only a file that was to become one."""
        if not self.store.exists():
            return []
        connection = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=WAIT_SECONDS)
        try:
            connection.row_factory = sqlite3.Row
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
                return []
            return [dict(row) for row in connection.execute(sql, values)]
        finally:
            connection.close()

    def events(self, run_id):
        """The run's events in order: the columns of event_log, and `payload` parsed."""
        rows = self.query("SELECT * FROM event_log WHERE run_id = ? ORDER BY seq", run_id)
        for row in rows:
            row["payload"] = None if row["payload_json"] is None else json.loads(row["payload_json"])
        return rows

    def children(self, run_id):
        """The run's rows of sub_agents in spawn order."""
        return self.query("SELECT a.* FROM sub_agents a JOIN runs r ON r.run_no = a.run_no WHERE r.id = ?"
                          " ORDER BY a.agent_no", run_id)

    def tree(self):
        """Every file of the working directory with its content, but for git's own and published reports."""
        files = {path.relative_to(self.files): path for path in sorted(self.files.rglob("*")) if path.is_file()}
        return {str(name): path.read_text() for name, path in files.items() if name.parts[0] not in (".git", ".cadre")}

    def check_logs(self):
        """Every run of every test verifies and replays byte for byte, whatever happened to it."""
        for row in self.query("SELECT id FROM runs WHERE run_no IN (SELECT run_no FROM events)"):
            for command in ("verify", "replay"):
                done = self.run([command, row["id"]])
                if done.returncode != 0:
                    raise AssertionError(f"cadre {command} {row['id']}: {done.stdout}{done.stderr}")

    def close(self):
        """Ends what still runs, checks the logs of all runs, and removes everything."""
        try:
            for process in self._started:
                if process.popen.poll() is None:
                    process.kill()
            if not self.damaged:
                self.check_logs()
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, problem, *_):
        self.damaged = self.damaged or problem is not None  # one report is enough
        self.close()


class ModelServer:
    """cadre-scripted with a script (docs/scripted-model.md). The end of its `with` asserts that it refused nothing."""

    def __init__(self, script, key=None, port=None):
        server = program("CADRE_SCRIPTED")
        self.directory = Path(tempfile.mkdtemp(prefix="cadre-model-"))
        self.log = self.directory / "log"
        (self.directory / "script.json").write_text(json.dumps(script))
        arguments = [server, "--script", str(self.directory / "script.json"), "--log", str(self.log),
                     "--until-eof"]
        if key is not None:
            arguments += ["--key", key]
        if port is not None:
            arguments += ["--port", str(port)]
        with open(self.directory / "errors", "wb") as errors:
            self.popen = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                          start_new_session=True)
        ready, _, _ = select.select([self.popen.stdout], [], [], WAIT_SECONDS)
        first = self.popen.stdout.readline().decode() if ready else ""
        if not first.startswith("listening on "):
            self.stop()
            raise AssertionError(f"the model server did not start: {first!r}")
        self.url = first.split()[-1]
        self._requests = []
        self._read = 0

    def flags(self, model="scripted"):
        """What tells cadre to use it."""
        return ["--base-url", self.url, "--model", model]

    def requests(self):
        """The log so far: one object per request that has ended. A look at the list of models is not one."""
        if self.log.exists():
            with open(self.log, "rb") as log:
                log.seek(self._read)
                new = log.read()
            new = new[:new.rfind(b"\n") + 1]
            self._read += len(new)
            self._requests += json_lines(new.decode())
        return [one for one in self._requests if one.get("path") != "/v1/models"]

    def stats(self):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url.removesuffix("/v1") + "/_stats", timeout=WAIT_SECONDS) as answer:
            return json.load(answer)

    def idle(self):
        """Waits until no request is under way, so that the log is complete; returns the stats."""
        return wait_until(lambda: (stats := self.stats())["in_flight"] == 0 and stats, "the model server is idle")

    def stop(self):
        """Ends the server without a verdict; returns its exit code."""
        self.popen.stdin.close()
        try:
            return self.popen.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            return self.popen.wait()
        finally:
            self.popen.stdout.close()
            self.errors = (self.directory / "errors").read_text()
            shutil.rmtree(self.directory, ignore_errors=True)

    def close(self):
        """Ends the server and asserts that every request was legal, expected, and that it ended well itself."""
        stats = self.stats()
        code = self.stop()
        assert stats["refused"] == 0, f"the model server refused requests: {stats['refusals']}"
        assert stats["unmatched"] == 0, f"no rule matched {stats['unmatched']} requests: {stats}"
        assert code == 0, f"the model server ended with {code}: {self.errors}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
        else:
            self.stop()
