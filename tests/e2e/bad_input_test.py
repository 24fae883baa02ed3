"""What comes in wrong: calls of a model, files, configs, stores and disks. Each is answered with what is wrong and what to
do, with the right exit code, and nothing that was acknowledged is lost."""
import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
import unittest

from harness import ModelServer, Process, Workspace, json_lines, program
from repository import Repository


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def spawn(arguments):
    return {"name": "spawn_agent", "arguments": arguments}


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def tool_answers(space, run_id):
    """(arguments, outcome, text) of every call of the run, in the order of the calls."""
    rows = space.query("SELECT l.type, l.payload_json, e.agent_no, e.call_id FROM event_log l JOIN runs r ON r.id = l.run_id"
                       " JOIN events e ON e.run_no = r.run_no AND e.seq = l.seq WHERE r.id = ? AND l.category = 'tool'"
                       " ORDER BY l.seq", run_id)
    asked, answered = {}, {}
    for row in rows:
        payload, key = json.loads(row["payload_json"]), (row["agent_no"], row["call_id"])
        if row["type"] == "tool.requested":
            asked[key] = payload["arguments"]
        elif row["type"] == "tool.finished":
            answered[key] = (payload["outcome"], payload["text"])
    return [(asked.get(key), *answer) for key, answer in answered.items()]


class SpawnArguments(unittest.TestCase):
    """Every wrong call stands in one reply of one run: each is refused by itself and the run goes on."""

    WRONG = [
        ({}, "task must not be empty"),
        ({"task": ""}, "task must not be empty"),
        ({"task": " \n\t"}, "task must not be empty"),
        ({"task": 5}, "task must be a string, not a number"),
        ({"task": "CHILD", "max_tool_calls": "abc"}, "max_tool_calls must be a number, not a string"),
        ({"task": "CHILD", "max_tool_calls": True}, "max_tool_calls must be a number, not a boolean"),
        ({"task": "CHILD", "max_tool_calls": 0}, "maxToolCalls must be positive"),
        ({"task": "CHILD", "max_tool_calls": -1}, "maxToolCalls must be positive"),
        ({"task": "CHILD", "max_tool_calls": 1e300}, "max_tool_calls is out of range"),
        ({"task": "CHILD", "role": "wizard"}, 'unknown role "wizard"; this agent may start: researcher,'),
        ({"task": "CHILD", "mode": "godlike"}, 'unknown mode "godlike"; the modes are safe'),
        ({"task": "CHILD", "allowed_tools": ["read", "frobnicate"]}, 'unknown tool "frobnicate"; this agent has: read,'),
        ({"task": "CHILD", "allowed_tools": "read"}, "allowed_tools must be an array of strings, not a string"),
        ({"task": "CHILD", "budget": {"timeout_ms": 4999}}, "timeoutMs must be at least 5000"),
        ({"task": "CHILD", "budget": {"cost_usd": 1}}, "cost_usd needs a model with prices"),
        ({"task": "CHILD", "budget": "a lot"}, "budget must be an object, not a string"),
        ({"task": "CHILD", "context_files": ["missing.txt"]}, "missing.txt does not exist"),
        ('{"task": "CHI', "the arguments of this call are not a JSON object"),
        ("[1, 2]", "the arguments of this call are not a JSON object"),
    ]

    @classmethod
    def setUpClass(cls):
        cls.space = Workspace()
        cls.addClassCleanup(cls.space.close)
        rules = script(rule({"calls": [spawn(arguments) for arguments, _ in cls.WRONG]}, first_user="ROOT", turn=0),
                       rule({"text": "I understand"}, first_user="ROOT"))
        with ModelServer(rules) as server:
            done = cls.space.run(["run", *server.flags(), "--json", "ROOT"])
        cls.result = json_lines(done.stdout)[-1]
        cls.code = done.returncode
        cls.answers = tool_answers(cls.space, cls.result["run_id"])

    def test_each_is_a_readable_error_that_names_the_argument(self):
        by_call = sorted(text for _, _, text in self.answers)
        self.assertEqual(len(by_call), len(self.WRONG))
        for arguments, expected in self.WRONG:
            with self.subTest(arguments):
                if isinstance(arguments, dict):
                    texts = [text for asked, _, text in self.answers if asked == arguments]
                else:
                    texts = [text for asked, _, text in self.answers if "$unparsed" in asked]
                self.assertTrue(texts)
                self.assertTrue(all(text.startswith("Error: ") for text in texts), texts)
                self.assertTrue(any(expected in text for text in texts), texts)

    def test_each_has_the_outcome_error(self):
        self.assertEqual({outcome for _, outcome, _ in self.answers}, {"error"})

    def test_each_is_counted(self):
        self.assertEqual(self.result["tool_calls"], len(self.WRONG))

    def test_no_child_is_made(self):
        self.assertEqual(self.space.children(self.result["run_id"]), [])

    def test_the_run_goes_on(self):
        self.assertEqual((self.code, self.result["status"], self.result["response"]), (0, "completed", "I understand"))


class SpawnLimits(unittest.TestCase):
    def start(self, *rules, flags=(), config=None, files=None):
        server = ModelServer(script(*rules))
        self.addCleanup(server.stop)
        space = Workspace(files, config)
        self.addCleanup(space.close)
        done = space.run(["run", *server.flags(), "--json", *flags, "ROOT"])
        self.result = json_lines(done.stdout)[-1]
        self.assertEqual((done.returncode, self.result["status"]), (0, "completed"), done.stderr)
        self.assertEqual((server.stats()["refused"], server.stats()["unmatched"]), (0, 0))
        self.events = space.events(self.result["run_id"])
        return space

    def contract_of(self, arguments, flags=()):
        space = self.start(rule({"calls": [spawn(arguments)]}, first_user="ROOT", turn=0),
                           rule({"text": "done"}), flags=flags)
        (row,) = space.children(self.result["run_id"])
        return json.loads(row["context_json"])

    def test_arguments_nested_too_deep_are_an_error_for_the_model_and_never_break_the_log(self):
        for levels in (20, 40, 61, 62, 63, 64, 200):
            with self.subTest(levels=levels):
                nested = '{"path":' + "[" * levels + "]" * levels + "}"
                self.start(rule({"calls": [{"name": "read", "arguments": nested}]}, first_user="ROOT", turn=0),
                           rule({"text": "done"}))
                (answer,) = [event["payload"] for event in self.events if event["type"] == "tool.finished"]
                self.assertEqual(answer["outcome"], "error")

    def test_context_files_that_are_too_large_are_an_error_for_the_model_and_never_break_the_log(self):
        names = [f"f{i}.txt" for i in range(8)]
        self.start(rule({"calls": [spawn({"task": "CHILD", "context_files": names})]}, first_user="ROOT", turn=0),
                   rule({"text": "done"}), files={name: "words and more words\n" * 7000 for name in names})
        (answer,) = [event["payload"] for event in self.events if event["type"] == "tool.finished"]
        self.assertEqual(answer["outcome"], "error")
        self.assertRegex(answer["text"], "at most|too large")

    def test_a_focus_that_is_too_long_is_an_error_for_the_model(self):
        self.start(rule({"calls": [spawn({"task": "CHILD", "scope": "d" * 5_000})]}, first_user="ROOT", turn=0),
                   rule({"text": "done"}))
        (answer,) = [event["payload"] for event in self.events if event["type"] == "tool.finished"]
        self.assertIn("scope may have at most 4096 bytes", answer["text"])

    def test_a_mode_above_the_parents_is_clamped_and_logged(self):
        contract = self.contract_of({"task": "CHILD", "mode": "auto"})
        self.assertEqual(contract["permissions"]["mode"], "safe")
        (clamped,) = [event["payload"] for event in self.events if event["type"] == "contract.clamped"]
        self.assertEqual(clamped["clamps"],
                         [{"field": "permissions.mode", "asked": "auto", "got": "safe", "by": "parent"}])
        self.assertEqual(contract["receipt"]["clamps"], clamped["clamps"])

    def test_a_huge_number_of_calls_is_clamped_to_the_hard_stop(self):
        contract = self.contract_of({"task": "CHILD", "max_tool_calls": 1000000000})
        self.assertEqual(contract["execution"]["budget"]["tool_calls"], 100)

    def test_an_empty_list_of_tools_means_none(self):
        contract = self.contract_of({"task": "CHILD", "allowed_tools": []}, ["--mode", "auto"])
        self.assertEqual(contract["permissions"]["allowed_tools"], [])

    def test_three_calls_with_two_left_run_two(self):
        space = self.start(
            rule({"calls": [spawn({"task": "CHILD", "max_tool_calls": 2})]}, first_user="ROOT", turn=0),
            rule({"calls": [call("read", path=name) for name in ["a.txt", "b.txt", "c.txt"]]}, first_user="CHILD", turn=0),
            rule({"text": "I saw two"}, first_user="CHILD"),
            rule({"text": "end"}, first_user="ROOT"),
            files={"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
        of_child = [answer for answer in tool_answers(space, self.result["run_id"])
                    if answer[0] is None or "path" in answer[0]]
        self.assertEqual(sorted(outcome for _, outcome, _ in of_child), ["error", "ok", "ok"])
        self.assertEqual([text for _, outcome, text in of_child if outcome == "error"],
                         ["Error: the budget of 2 tool calls is used up; this call was not made."])
        (closed,) = [event["payload"]["result"] for event in self.events if event["type"] == "agent.subagent_closed"]
        self.assertEqual((closed["status"], closed["tool_calls"], closed["response"]), ("budget_exceeded", 2, "I saw two"))
        self.assertCountEqual(closed["files_read"], ["a.txt", "b.txt"])  # side by side: either may end first

    NESTED = [rule({"calls": [spawn({"task": "SECOND"})]}, first_user="ROOT", turn=0),
              rule({"calls": [spawn({"task": "THIRD"})]}, first_user="SECOND", turn=0),
              rule({"calls": [spawn({"task": "FOURTH"})]}, first_user="THIRD", turn=0),
              rule({"text": "end"})]

    def test_a_child_of_depth_two_starts_nobody_and_the_refusal_is_logged_with_its_depth(self):
        space = self.start(*self.NESTED)
        depths = [json.loads(row["context_json"])["agent"]["depth"] for row in space.children(self.result["run_id"])]
        self.assertEqual(depths, [1, 2])
        (answer,) = [answer for answer in tool_answers(space, self.result["run_id"]) if answer[0] == {"task": "FOURTH"}]
        self.assertEqual(answer[1], "error")
        (denied,) = [event["payload"] for event in self.events if event["type"] == "permission.denied"]
        self.assertEqual(denied["tool"], "spawn_agent")
        self.assertGreaterEqual(denied["depth"], 2)

    def test_too_much_depth_is_refused_in_the_words_of_the_contract(self):
        space = self.start(*self.NESTED)
        self.assertIn("Error: Maximum sub-agent depth (2) exceeded",
                      [text for _, _, text in tool_answers(space, self.result["run_id"])])


class Files(unittest.TestCase):
    def read(self, name, content):
        with ModelServer(script(rule({"calls": [call("read", path=name)]}, turn=0), rule({"text": "end"}))) as server, \
                Workspace() as space:
            content(space.files / name)
            done = space.run(["run", *server.flags(), "--json", "task"])
            self.assertEqual(done.returncode, 0, done.stderr)
            ((_, outcome, text),) = tool_answers(space, json_lines(done.stdout)[0]["run_id"])
            return outcome, text

    def test_a_binary_file_is_an_error_that_says_so(self):
        outcome, text = self.read("tool.bin", lambda path: path.write_bytes(b"\x7fELF\x02\x01\x00\x00" * 8))
        self.assertEqual(outcome, "error")
        self.assertEqual(text, "Error: tool.bin is a binary file (64 bytes, ELF program or library) and cannot be shown as text")

    def test_a_file_of_100_mb_comes_as_its_first_page(self):
        def fill(path):
            with path.open("wb") as file:
                for _ in range(100):
                    file.write(b"0123456789abcde\n" * 65536)
        outcome, text = self.read("big.txt", fill)
        self.assertEqual(outcome, "ok")
        self.assertTrue(text.startswith("     1\t0123456789abcde\n     2\t"), text[:60])
        self.assertRegex(text, r"\[truncated: ask for offset=\d+ to read on\]\n\Z")
        self.assertLess(len(text), 100000)

    def test_bytes_that_are_not_utf_8_are_read_as_latin_1_and_the_model_is_told(self):
        outcome, text = self.read("latin.txt", lambda path: path.write_bytes(b"caf\xe9 \xff\xfe\n"))
        self.assertEqual(outcome, "ok")
        self.assertIn("caf\u00e9 ", text)
        self.assertIn("not UTF-8", text)
        self.assertIn("Latin-1", text)

    def test_a_path_outside_the_workspace_is_refused(self):
        outcome, text = self.read("../../../../etc/passwd", lambda path: None)
        self.assertEqual(outcome, "error")
        self.assertIn("outside the workspace", text)

    def test_a_pipe_is_refused_and_nobody_waits_for_it(self):
        outcome, text = self.read("pipe", os.mkfifo)
        self.assertEqual(outcome, "error")
        self.assertIn("pipe", text)


class Usage(unittest.TestCase):
    def refuse(self, arguments, *expected, config=None, store=False):
        """Exit code 2, every text on stderr, nothing on stdout, and no store made. store: there is one, and it is empty."""
        with Workspace(config=config) as space:
            if store:
                space.make_store()
            done = space.run(arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            for text in expected:
                self.assertIn(text, done.stderr)
            self.assertTrue(done.stderr.startswith("cadre: "), done.stderr)
            return space

    def test_a_wrong_key_in_the_config_is_shown_with_file_line_and_column(self):
        space = self.refuse(["run", "task"], "unknown key 'max_concurent'", "did you mean 'max_concurrent'?",
                            config="mode: auto\nsub_agent:\n  max_concurent: 4\n")
        self.refuse(["run", "task"], "cadre.yaml:3:3: ", config="mode: auto\nsub_agent:\n  max_concurent: 4\n")
        self.assertFalse(space.store.exists())

    def test_a_wrong_type_in_the_config_is_shown_with_file_line_and_column(self):
        self.refuse(["run", "task"], "cadre.yaml:2:19: ", config="sub_agent:\n  max_concurrent: many\n")

    def test_a_missing_config_file_is_named(self):
        self.refuse(["run", "--config", "/nonexistent/cadre.yaml", "task"], "/nonexistent/cadre.yaml")

    def test_a_cost_limit_without_prices_is_a_config_error(self):
        self.refuse(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", "--max-cost", "1", "task"],
                    "price_in", "price_out")

    def test_a_timeout_below_five_seconds_is_refused(self):
        self.refuse(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", "--timeout", "4s", "task"], "5")

    def test_a_task_that_is_not_utf_8_is_refused(self):
        self.refuse(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", b"caf\xe9"],
                    "not UTF-8 from byte 4", "ASCII")

    def test_an_empty_task_is_refused(self):
        self.refuse(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", "  "], "the task is empty")

    def test_an_unknown_run_is_refused_by_every_command_that_takes_one(self):
        for command in ["show", "events", "tree", "resume", "cancel", "verify", "replay"]:
            with self.subTest(command):
                self.refuse([command, "01ZZZZZZ"], "01ZZZZZZ", "cadre runs", store=True)

    def test_a_workspace_that_does_not_exist_is_named(self):
        self.refuse(["run", "--base-url", "http://127.0.0.1:9/v1", "--model", "any", "--workspace", "/nonexistent", "t"],
                    "/nonexistent")


class Stores(unittest.TestCase):
    """One finished run, then copies of its store, each broken in another way."""

    @classmethod
    def setUpClass(cls):
        cls.server = ModelServer(script(rule({"text": "fine"})))
        cls.addClassCleanup(cls.server.stop)
        cls.space = Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.space.run(["run", *cls.server.flags(), "task"])

    def copy(self):
        space = Workspace()
        space.damaged = True
        self.addCleanup(space.close)
        space.store.parent.mkdir()
        with sqlite3.connect(self.space.store) as source, sqlite3.connect(space.store) as target:
            source.backup(target)
        source.close()
        target.close()
        return space

    def refuse(self, space, code, *expected):
        """Reading and starting both end with this code and these texts, and no claim about an intact log."""
        for arguments in [["runs"], ["run", *self.server.flags(), "task"]]:
            with self.subTest(arguments[0]):
                done = space.run(arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                for text in [str(space.store), *expected]:
                    self.assertIn(text, done.stderr)
                self.assertNotIn("intact", done.stderr)

    def overwrite(self, path, offset, count):
        data = bytearray(path.read_bytes())
        data[offset:offset + count] = bytes(byte ^ 0xFF for byte in data[offset:offset + count])
        path.write_bytes(data)

    def test_a_file_that_is_no_database_is_not_a_store(self):
        space = self.copy()
        space.store.write_text("some text\n" * 1000)
        self.refuse(space, 2, "not a cadre store", "--store")
        self.assertEqual(space.store.read_text(), "some text\n" * 1000)

    def test_the_database_of_another_program_is_left_alone(self):
        space = self.copy()
        space.store.unlink()
        with sqlite3.connect(space.store) as other:
            other.execute("CREATE TABLE notes (text)")
        other.close()
        self.refuse(space, 2, "another program", "--store")

    def test_a_store_of_a_newer_version_is_refused(self):
        space = self.copy()
        with sqlite3.connect(space.store) as newer:
            newer.execute("UPDATE meta SET version = version + 1")
        newer.close()
        self.refuse(space, 2, "newer cadre", "--store")

    def test_a_damaged_header_is_reported_as_damage(self):
        space = self.copy()
        self.overwrite(space.store, 20, 60)
        self.refuse(space, 1, "damaged", "backup", ".recover")

    def test_a_store_cut_in_half_is_reported_as_damage(self):
        space = self.copy()
        os.truncate(space.store, space.store.stat().st_size // 2 // 4096 * 4096)
        self.refuse(space, 1, "damaged", "backup", ".recover")

    def test_damage_in_the_middle_is_found_by_verify_and_by_doctor(self):
        with sqlite3.connect(self.space.store) as store:
            (page,) = store.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
        store.close()
        space = self.copy()
        self.overwrite(space.store, (page - 1) * 4096, 4096)
        verified = space.run(["verify", "last"])
        self.assertEqual(verified.returncode, 1)
        self.assertIn("damaged", verified.stderr)
        doctor = space.run(["doctor"])
        self.assertEqual(doctor.returncode, 1)
        self.assertRegex(doctor.stdout, r"(?m)^fail  store .*damaged")

    def test_a_run_on_a_damaged_store_does_not_say_that_the_log_is_intact(self):
        with sqlite3.connect(self.space.store) as store:
            (page,) = store.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'blobs'").fetchone()
        store.close()
        space = self.copy()
        self.overwrite(space.store, (page - 1) * 4096, 4096)
        done = space.run(["run", *self.server.flags(), "task"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("damaged", done.stderr)
        self.assertNotIn("intact", done.stderr)

    def test_a_store_below_a_file_or_in_a_place_without_room_for_files_cannot_be_made(self):
        with Workspace({"file": ""}) as space:
            for path, code in [(space.files / "file" / "cadre.db", 1), ("/proc/cadre/cadre.db", 1), (space.files, 2),
                               ("/dev/null", 2)]:
                with self.subTest(str(path)):
                    done = Process([program("CADRE"), "run", "--store", str(path), *self.server.flags(), "task"],
                                   space.environment, space.files)
                    self.assertEqual(done.end(), code, done.errors)
                    self.assertIn(str(path), done.errors)
                    self.assertIn("--store", done.errors)


def namespaces():
    """A command prefix for a mount namespace of one's own, or None where the system allows none."""
    prefix = ["unshare", "--user", "--map-root-user", "--mount"]
    probe = subprocess.run([*prefix, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True)
    return prefix if probe.returncode == 0 else None


class Disks(unittest.TestCase):
    RULES = script(rule({"calls": [call("write", path="one.txt", content="1\n")]}, turn=0),
                   rule({"calls": [call("write", path="two.txt", content="2\n")], "delay_ms": 2000}, turn=1),
                   rule({"text": "both are written"}))

    def check_after(self, space, acknowledged, resumed_code, resumed_text):
        """Everything that was printed is in the store, and the run ended as if nothing had happened."""
        run_id = acknowledged[0]["run_id"]
        stored = {event["seq"]: (event["type"], event["payload"]) for event in space.events(run_id)}
        printed = [line for line in acknowledged if line["type"] == "event"]
        self.assertGreater(len(printed), 5)
        for line in printed:
            self.assertEqual(stored[line["seq"]], (line["event"], line["payload"]))
        self.assertEqual((resumed_code, resumed_text.strip()), (0, "both are written"))
        self.assertEqual(space.tree(), {"one.txt": "1\n", "two.txt": "2\n"})
        self.assertEqual(space.run(["verify", run_id]).returncode, 0)
        self.assertEqual(space.run(["replay", run_id]).returncode, 0)

    def test_a_store_that_cannot_grow_ends_the_run_and_resume_goes_on_when_it_can(self):
        with ModelServer(self.RULES) as server, Workspace() as space:
            run = Process(["sh", "-c", 'trap "" XFSZ; exec "$0" "$@"', program("CADRE"), "run", "--store", str(space.store),
                           *server.flags(), "--mode", "auto", "--json", "task"], space.environment, space.files)
            run.wait_for_event("model.requested", 2)
            log = space.store.with_name("cadre.db-wal")
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, resource.RLIM_INFINITY))
            self.assertEqual(run.end(), 1)
            self.assertIn("the disk reported an error; check the disk", run.errors)
            self.assertIn("the log is intact; go on with: cadre resume " + run.lines[0]["run_id"], run.errors)
            self.assertFalse((space.files / "two.txt").exists())
            resumed = space.run(["resume", "--quiet", run.lines[0]["run_id"]])
            self.check_after(space, run.lines, resumed.returncode, resumed.stdout)

    # In a namespace of its own: a small disk that is filled behind the run's back, then emptied again.
    FULL_DISK = """
        mount -t tmpfs -o size=8m tmpfs "$STATE" || exit 99
        "$CADRE" run --store "$STATE/cadre.db" $FLAGS --mode auto --json task >"$OUT/run" 2>"$OUT/errors" &
        until [ "$(grep -c '"event":"model.requested"' "$OUT/run")" -ge 2 ]; do kill -0 $! || exit 98; sleep 0.02; done
        dd if=/dev/zero of="$STATE/filler" bs=4k 2>/dev/null
        wait $!; echo $? >"$OUT/code"
        rm "$STATE/filler"
        "$CADRE" resume --store "$STATE/cadre.db" --quiet last >"$OUT/answer"; echo $? >"$OUT/resumed"
        mkdir "$OUT/state" && cp "$STATE/cadre.db" "$OUT/state"
    """

    def test_a_full_disk_ends_the_run_and_resume_goes_on_when_there_is_space(self):
        prefix = namespaces()
        if prefix is None:
            self.test_a_store_that_cannot_grow_ends_the_run_and_resume_goes_on_when_it_can()
            return
        with ModelServer(self.RULES) as server, Workspace() as space:
            out, state = space.root / "out", space.root / "small"
            out.mkdir()
            state.mkdir()
            (out / "run").touch()
            environment = {**space.environment, "CADRE": program("CADRE"), "STATE": str(state), "OUT": str(out),
                           "FLAGS": " ".join(server.flags())}
            shell = Process([*prefix, "sh", "-c", self.FULL_DISK], environment, space.files)
            self.assertEqual(shell.end(), 0, shell.errors)
            errors = (out / "errors").read_text()
            self.assertEqual((out / "code").read_text().strip(), "1", errors)
            self.assertIn("the disk is full; free some space", errors)
            self.assertEqual((errors.count("again"), errors.count("cadre resume ")), (0, 1), errors)  # one advice
            shutil.move(out / "state", space.store.parent)
            self.check_after(space, json_lines((out / "run").read_text()), int((out / "resumed").read_text()),
                             (out / "answer").read_text())

    # The store's disk has room for the log, and not for the tree that the root works in.
    SMALL_DISK = """
        mount -t tmpfs -o size=1500k tmpfs "$STATE" || exit 99
        "$CADRE" run --store "$STATE/cadre.db" $FLAGS --mode auto --quiet task
    """

    def test_a_tree_that_does_not_fit_names_the_full_disk(self):
        prefix = namespaces()
        if prefix is None:
            self.skipTest("no user namespaces")
        with ModelServer(self.RULES) as server, Repository(files={"big.bin": "y" * 3_000_000}) as space:
            space.damaged = True  # the store went with its disk
            state = space.root / "small"
            state.mkdir()
            environment = {**space.environment, "CADRE": program("CADRE"), "STATE": str(state),
                           "FLAGS": " ".join(server.flags())}
            shell = Process([*prefix, "sh", "-c", self.SMALL_DISK], environment, space.files)
            self.assertEqual(shell.end(), 1, shell.errors)
            self.assertRegex(shell.errors, rf"its tree could not be made: the disk of {state}/\S+ is full; free some space there "
                                           r"\(git read-tree: .*big\.bin")

    def test_a_read_only_directory_is_explained(self):
        """For root a read-only mount, because permissions do not bind it; for everybody else permissions."""
        with ModelServer(script(rule({"text": "never"}))) as server, Workspace() as space:
            place = space.root / "locked"
            place.mkdir()
            command = [program("CADRE"), "run", "--store", str(place / "cadre.db"), *server.flags(), "task"]
            prefix = namespaces()
            if os.geteuid() == 0 and prefix is not None:
                lock = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
                command = [*prefix, "sh", "-c", lock, str(place), *command]
            elif os.geteuid() == 0:
                subprocess.run(["chattr", "+i", str(place)], check=True)
                self.addCleanup(subprocess.run, ["chattr", "-i", str(place)], check=True)
            else:
                place.chmod(0o555)
            done = Process(command, space.environment, space.files)
            self.assertEqual(done.end(), 1, done.errors)
            self.assertIn(str(place), done.errors)
            self.assertIn("--store", done.errors)
            self.assertNotIn("intact", done.errors)
            self.assertEqual(server.requests(), [])


class Servers(unittest.TestCase):
    def test_a_server_that_talks_nonsense_is_reported_and_the_run_fails(self):
        for raw in ["not json at all", '{"choices": "many"}', "data: {}\n\n"]:
            with self.subTest(raw), ModelServer(script(rule({"raw": raw}))) as server, Workspace() as space:
                done = space.run(["run", *server.flags(), "task"])
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("cadre: the run did not complete: ", done.stderr)

    def test_a_server_that_never_says_who_it_is_costs_no_run(self):
        """Something listens that is no model server: the run ends with exit code 1 and says where it asked."""
        with socket.create_server(("127.0.0.1", 0)) as listener, Workspace() as space:
            listener.settimeout(0.05)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            process = space.start(["run", "--base-url", url, "--model", "any", "--quiet", "task"])
            while process.popen.poll() is None:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                connection.recv(65536)
                connection.sendall(b"220 smtp.example.org ESMTP\r\n")
                connection.close()
            self.assertEqual(process.end(), 1)
            self.assertIn(url, process.errors)


if __name__ == "__main__":
    unittest.main()
