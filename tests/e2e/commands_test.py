"""Every command: its help and its example, its JSON lines, its exit codes; what verify and replay find in a changed log; and
recorded logs that must go on working."""
import json
import re
import sqlite3
import sys
import unittest
from pathlib import Path

from harness import ModelServer, Process, Workspace, json_lines, program

RUNS = Path(__file__).resolve().parent.parent / "fixtures" / "runs"
sys.path.insert(0, str(RUNS))
import recording  # noqa: E402  (it stands beside the recorded runs)

CONFIG = """store: {store}
llm:
  providers:
    local: {{base_url: {url}}}
  models:
    scripted: {{provider: local}}
"""


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


# "three" has three children, "fails" fails, everything else is answered at once.
SCRIPT = {
    "models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
    "rules": [
        {"when": {"first_user": "three", "turn": 0},
         "reply": {"text": "I ask three.", "calls": [call("spawn_agent", 3, task="CHILD {{index}} looks")]}},
        {"when": {"first_user": "CHILD", "turn": 0}, "reply": {"calls": [call("ls", path=".")]}},
        {"when": {"first_user": "CHILD"}, "reply": {"text": "nothing there"}},
        {"when": {"first_user": "fails"}, "reply": {"status": 400, "error": "I do not like this"}},
        {"reply": {"text": "the answer to {{first_user}}"}},
    ],
}


class Commands(unittest.TestCase):
    """A workspace with the runs "one", "fails" and "three", in this order, and a config that names server and store."""

    @classmethod
    def setUpClass(cls):
        cls.server = ModelServer(SCRIPT)
        cls.addClassCleanup(cls.server.close)
        cls.space = Workspace({"README.md": "# A project\n"})
        cls.addClassCleanup(cls.space.close)
        config = cls.space.root / "cadre.yaml"
        config.write_text(CONFIG.format(store=cls.space.store, url=cls.server.url))
        cls.space.environment["CADRE_CONFIG"] = str(config)
        cls.ids = {}
        for task in ["one", "fails", "three"]:
            cls.ids[task] = json_lines(cls.space.run(["run", "--json", task]).stdout)[0]["run_id"]

    def cadre(self, *arguments):
        """Runs the words as they stand; the store comes from the config."""
        process = Process([program("CADRE"), *arguments], self.space.environment, self.space.files)
        return process.end(), process.text, process.errors

    def json_of(self, *arguments, code=0):
        got, text, errors = self.cadre(*arguments, "--json")
        self.assertEqual(got, code, errors)
        self.assertTrue(text.endswith("\n"))
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            self.assertIsInstance(line["type"], str)
        return lines


class Help(Commands):
    def commands(self):
        return self.json_of("help")

    def test_the_list_of_commands_names_each_with_one_line(self):
        _, text, _ = self.cadre("--help")
        for command in self.commands():
            self.assertRegex(text, rf"(?m)^  {command['name']} +{re.escape(command['summary'])}$")

    def test_every_help_shows_usage_options_and_an_example(self):
        for command in self.commands():
            with self.subTest(command["name"]):
                code, text, errors = self.cadre(command["name"], "--help")
                self.assertEqual((code, errors), (0, ""))
                self.assertIn(f"\nUsage: cadre {command['name']}", text)
                self.assertIn("  --json ", text)
                self.assertTrue(text.endswith(f"\nExample:\n  {command['example']}\n"), text)
                self.assertEqual(self.cadre("help", command["name"])[1], text)

    def test_every_example_works_as_it_is_printed(self):
        programs = self.space.root / "bin"
        programs.mkdir()
        (programs / "cadre").symlink_to(program("CADRE"))
        environment = {**self.space.environment, "PATH": f"{programs}:{self.space.environment['PATH']}"}
        for command in self.commands():
            with self.subTest(command["example"]):
                process = Process(["sh", "-c", command["example"]], environment, self.space.files)
                # Nothing waits for an answer in a run that has ended: approving it is an error.
                ended = command["name"] == "approve"
                self.assertEqual(process.end(), 1 if ended else 0, process.errors)
                self.assertTrue(process.errors if ended else process.text)

    def test_help_on_one_command_as_json_is_one_line(self):
        (line,) = self.json_of("help", "verify")
        self.assertEqual((line["type"], line["name"]), ("command", "verify"))

    def test_every_json_output_parses_line_by_line(self):
        for arguments in [["run", "hello"], ["runs"], ["show", "last"], ["events", "last"], ["tree", "last"],
                          ["show", "last", "--report"], ["resume", "last"], ["cancel", "last"], ["apply", "last"],
                          ["gc"], ["verify", "last"], ["replay", "last"], ["doctor"], ["config", "check"], ["version"],
                          ["help"], ["demo"]]:
            with self.subTest(arguments[0]):
                self.assertTrue(self.json_of(*arguments))

    def test_an_error_in_json_is_a_line_and_a_text_on_stderr(self):
        code, text, errors = self.cadre("show", "01ZZZZZZ", "--json")
        self.assertEqual(code, 2)
        (line,) = json_lines(text)
        self.assertEqual(line["type"], "error")
        self.assertIn(line["message"], errors)


class Mistakes(Commands):
    def refuse(self, *arguments):
        code, text, errors = self.cadre(*arguments)
        self.assertEqual((code, text), (2, ""), errors)
        return errors

    def test_an_unknown_command_suggests_a_near_one(self):
        self.assertIn('did you mean "show"?', self.refuse("shwo", "last"))
        self.assertIn('did you mean "resume"?', self.refuse("resum", "last"))
        self.assertIn("cadre help lists the commands", self.refuse("frobnicate"))

    def test_an_unknown_option_suggests_a_near_one(self):
        self.assertIn("did you mean --workspace?", self.refuse("run", "--workspac", ".", "task"))

    def test_missing_and_extra_words_show_the_usage(self):
        self.assertIn("cadre show RUN", self.refuse("show"))
        self.assertIn("quotes", self.refuse("run", "two", "words"))

    def test_wrong_values_of_options_are_named(self):
        self.assertIn("--limit", self.refuse("runs", "--limit", "many"))
        self.assertIn("--limit", self.refuse("runs", "--limit", "0"))
        self.assertIn('"odd"', self.refuse("runs", "--status", "odd"))
        self.assertIn("needs a value", self.refuse("run", "task", "--model"))

    def test_an_agent_that_the_run_does_not_have_is_named(self):
        self.assertIn('"nobody"', self.refuse("events", "last", "--agent", "nobody"))


class Looking(Commands):
    def test_runs_lists_the_newest_first_with_status_and_task(self):
        rows = self.json_of("runs")
        self.assertEqual([(row["run_id"], row["status"], row["task"]) for row in rows],
                         [(self.ids["three"], "completed", "three"), (self.ids["fails"], "failed", "fails"),
                          (self.ids["one"], "completed", "one")])
        self.assertEqual([row["children"] for row in rows], [3, 0, 0])
        _, text, _ = self.cadre("runs")
        for run_id in self.ids.values():
            self.assertIn(run_id, text)

    def test_runs_can_be_limited_and_chosen_by_status(self):
        self.assertEqual([row["run_id"] for row in self.json_of("runs", "--limit", "1")], [self.ids["three"]])
        self.assertEqual([row["run_id"] for row in self.json_of("runs", "--status", "failed")], [self.ids["fails"]])
        _, text, _ = self.cadre("runs", "--status", "cancelled", "--json")
        self.assertEqual(text, "")

    def test_show_tells_task_status_children_and_result(self):
        (row,) = self.json_of("show", self.ids["three"])
        self.assertEqual((row["task"], row["status"], row["result"]["response"]),
                         ("three", "completed", "the answer to three"))
        self.assertEqual([(child["status"], child["outcome"], child["summary"]) for child in row["children"]],
                         [("closed", "completed", "nothing there")] * 3)
        _, text, _ = self.cadre("show", self.ids["fails"])
        self.assertIn("I do not like this", text)

    def test_last_is_the_newest_run(self):
        self.assertEqual(self.json_of("show", "last")[0]["run_id"], self.ids["three"])

    def test_the_start_of_an_id_is_enough_and_may_be_in_lower_case(self):
        run_id = self.ids["fails"]
        start = next(run_id[:n] for n in range(1, 27)
                     if sum(other.startswith(run_id[:n]) for other in self.ids.values()) == 1)
        self.assertEqual(self.json_of("show", start)[0]["run_id"], run_id)
        self.assertEqual(self.json_of("show", start.lower())[0]["run_id"], run_id)

    def test_a_start_that_several_ids_have_is_refused(self):
        code, _, errors = self.cadre("show", "01")
        self.assertEqual(code, 2)
        self.assertIn("several runs", errors)

    def test_events_are_those_of_the_store(self):
        lines = self.json_of("events", self.ids["three"])
        stored = self.space.events(self.ids["three"])
        self.assertEqual([(line["seq"], line["event"], line["agent_id"], line["payload"]) for line in lines],
                         [(event["seq"], event["type"], event["agent_id"], event["payload"]) for event in stored])
        _, text, _ = self.cadre("events", self.ids["three"])
        self.assertEqual(len(text.splitlines()), len(stored))

    def test_events_of_one_agent_are_found_by_name_and_by_id(self):
        child = self.space.children(self.ids["three"])[1]
        wanted = [event["seq"] for event in self.space.events(self.ids["three"]) if event["agent_id"] == child["id"]]
        for name in [child["name"], child["id"]]:
            lines = self.json_of("events", self.ids["three"], "--agent", name)
            self.assertEqual([line["seq"] for line in lines], wanted)

    def test_following_a_run_that_has_ended_ends_too(self):
        self.assertEqual(self.json_of("events", "last", "--follow"), self.json_of("events", "last"))

    def test_tree_shows_every_agent_below_its_parent(self):
        agents = self.json_of("tree", self.ids["three"])
        self.assertEqual([agent["parent_id"] for agent in agents], [None] + [self.ids["three"]] * 3)
        self.assertEqual([agent["tool_calls"] for agent in agents], [3, 1, 1, 1])
        _, text, _ = self.cadre("tree", self.ids["three"])
        self.assertEqual([line.split("agent-")[0] for line in text.splitlines() if "agent-" in line],
                         ["├─ ✓ ", "├─ ✓ ", "└─ ✓ "])

    def test_output_that_is_no_terminal_has_no_escape_sequences(self):
        for arguments in [["runs"], ["show", "last"], ["events", "last", "--full"], ["tree", "last"], ["run", "hello"]]:
            self.assertNotIn("\x1b", "".join(self.cadre(*arguments)[1:]))

    def setUp(self):
        """What a test adds stays out of the others' sight: `run` above uses a store of its own."""
        self.assertEqual(len(self.space.query("SELECT 1 FROM runs")), 3)

    def cadre(self, *arguments):
        if arguments[0] == "run":
            arguments = [arguments[0], "--store", str(self.space.root / "other.db"), *arguments[1:]]
        return super().cadre(*arguments)


class Rest(Commands):
    def test_resuming_a_run_that_has_ended_shows_its_end_and_its_code(self):
        code, text, _ = self.cadre("resume", self.ids["one"])
        self.assertEqual(code, 0)
        self.assertIn("has already ended: completed", text)
        self.assertIn("the answer to one", text)
        code, _, errors = self.cadre("resume", self.ids["fails"])
        self.assertEqual(code, 1)
        self.assertIn("I do not like this", errors)

    def test_cancelling_a_run_that_has_ended_changes_nothing(self):
        before = self.space.events(self.ids["one"])
        self.assertEqual(self.json_of("cancel", self.ids["one"])[0]["status"], "ended")
        self.assertEqual(self.space.events(self.ids["one"]), before)

    def test_quiet_prints_the_answer_and_nothing_else(self):
        self.assertEqual(self.cadre("run", "--quiet", "silence"), (0, "the answer to silence\n", ""))

    def test_the_first_line_says_which_model_from_where_and_the_cap(self):
        _, text, _ = self.cadre("run", "hello")
        self.assertRegex(text, r"\Amodel scripted from .*cadre\.yaml, at most 15m00s; .*window 100000, from the default; run [0-9A-Z]{26}\n")

    def test_the_end_prints_the_head_that_verify_accepts(self):
        _, text, _ = self.cadre("run", "hello")
        run_id, head = re.search(r"run (\w{26})  head ([0-9a-f]{64})\n", text).groups()
        self.assertEqual(self.cadre("verify", run_id, "--head", head)[0], 0)

    def test_doctor_checks_store_disk_tools_and_model(self):
        checks = {line["name"]: line["verdict"] for line in self.json_of("doctor")}
        for name in ["config", "store", "disk", "openat2", "model"]:
            self.assertEqual(checks[name], "ok", name)

    def test_doctor_fails_when_the_model_server_is_gone_and_says_so(self):
        with Workspace(config=CONFIG.format(store="s.db", url="http://127.0.0.1:9/v1")) as space:
            done = space.run(["doctor"])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^fail  model .*http://127\.0\.0\.1:9/v1.*start the server")

    def test_config_check_prints_what_counts_and_where_it_comes_from(self):
        code, text, _ = self.cadre("config", "check")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"(?m)^sub_agent\.max_concurrent: 3 +# built-in$")
        self.assertRegex(text, rf"(?m)^store: {re.escape(str(self.space.store))} +# .*cadre\.yaml")

    def test_config_check_of_a_wrong_file_is_exit_code_2(self):
        wrong = self.space.root / "wrong.yaml"
        wrong.write_text("mode: turbo\n")
        code, _, errors = self.cadre("config", "check", str(wrong))
        self.assertEqual(code, 2)
        self.assertIn(f"{wrong}:1:7: ", errors)

    def test_version_names_the_program_and_its_libraries(self):
        (line,) = self.json_of("version")
        self.assertRegex(line["version"], r"\A\d+\.\d+\.\d+")
        self.assertLessEqual({"sqlite", "libuv", "libcurl"}, line["libraries"].keys())
        self.assertEqual(self.cadre("--version"), self.cadre("version"))


class Changed(Commands):
    """Copies of the store whose log was changed behind the program's back."""

    def changed(self, *statements):
        """A workspace with a copy of the store, its guards dropped and the statements run on it."""
        space = Workspace()
        space.damaged = True
        self.addCleanup(space.close)
        space.store.parent.mkdir()
        source, target = sqlite3.connect(self.space.store), sqlite3.connect(space.store)
        source.backup(target)
        source.close()
        for (name,) in target.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            target.execute(f"DROP TRIGGER {name}")
        run_number = f"(SELECT run_no FROM runs WHERE id = '{self.ids['three']}')"
        for statement in statements:
            changed = target.execute(statement.replace("RUN", run_number)).rowcount
            self.assertGreaterEqual(changed, 1, statement)
        target.commit()
        target.close()
        return space

    def find(self, space, command, expected, *flags):
        """The command finds it, exits with 1 and says which event it is."""
        done = space.run([command, self.ids["three"], *flags])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, expected)
        (line,) = json_lines(space.run([command, self.ids["three"], *flags, "--json"]).stdout)
        self.assertFalse(line["ok"])
        self.assertGreater(line["bad_seq"], 0)

    def test_the_store_itself_refuses_to_change_or_delete_an_event(self):
        store = sqlite3.connect(self.space.store)
        self.addCleanup(store.close)
        for statement in ["UPDATE events SET ts = 0", "DELETE FROM events", "UPDATE sub_agents SET context_json = '{}'",
                          "UPDATE sub_agents SET status = 'running'"]:
            with self.subTest(statement), self.assertRaises(sqlite3.IntegrityError):
                store.execute(statement)

    def test_an_unchanged_log_verifies_and_replays(self):
        events = self.space.events(self.ids["three"])
        (verified,) = self.json_of("verify", self.ids["three"])
        self.assertEqual((verified["ok"], verified["events"], verified["head"]), (True, len(events), events[-1]["hash"]))
        self.assertEqual((verified["children"], verified["closes"]), (3, 3))
        (replayed,) = self.json_of("replay", self.ids["three"])
        self.assertEqual((replayed["ok"], replayed["events"]), (True, len(events)))

    def test_a_flipped_byte_in_a_payload_is_found_by_verify(self):
        space = self.changed("UPDATE events SET payload_json = replace(payload_json, 'nothing there', 'nothing thers')"
                             " WHERE run_no = RUN AND payload_json LIKE '%nothing there%'")
        self.find(space, "verify", "payload|hash")

    def test_a_flipped_byte_in_a_large_payload_is_found_by_verify(self):
        space = self.changed("UPDATE blobs SET bytes = CAST(replace(CAST(bytes AS TEXT), 'CHILD 1', 'CHILD 7') AS BLOB)"
                             " WHERE CAST(bytes AS TEXT) LIKE '%CHILD 1%'")
        done = space.run(["verify", self.ids["three"]])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"event \d+: its payload is not the one that was written; restore")

    def test_a_changed_time_type_or_agent_is_found_by_verify(self):
        for change in ["ts = ts + 1", "type_no = (SELECT type_no FROM event_types WHERE type = 'run.cancelled')",
                       "agent_no = 2"]:
            with self.subTest(change):
                space = self.changed("INSERT OR IGNORE INTO event_types (category, type) VALUES ('run', 'run.cancelled')",
                                     f"UPDATE events SET {change} WHERE run_no = RUN AND seq = 7")
                self.find(space, "verify", "event 7: ")

    def test_a_missing_event_is_found_by_verify(self):
        self.find(self.changed("DELETE FROM events WHERE run_no = RUN AND seq = 9"), "verify", "event 9: it is missing")

    def test_a_tail_that_was_cut_off_is_found_with_the_head_that_the_run_printed(self):
        events = self.space.events(self.ids["three"])
        space = self.changed(f"DELETE FROM events WHERE run_no = RUN AND seq > {len(events) - 5}")
        self.find(space, "verify", "missing at the end", "--head", events[-1]["hash"])

    def test_a_changed_payload_is_found_by_replay(self):
        space = self.changed("UPDATE events SET payload_json = replace(payload_json, 'nothing there', 'gold')"
                             " WHERE run_no = RUN AND payload_json LIKE '%\"response\":\"nothing there%'")
        self.find(space, "replay", "differ")

    def test_a_changed_answer_of_the_model_is_found_by_replay(self):
        space = self.changed("UPDATE events SET payload_json = replace(payload_json, 'the answer to', 'a lie about')"
                             " WHERE run_no = RUN AND payload_json LIKE '%\"finish\":\"stop\"%'"
                             " AND payload_json LIKE '%the answer to%'")
        self.find(space, "replay", "differ")

    def test_a_changed_summary_is_found_by_replay(self):
        space = self.changed("UPDATE events SET summary = 'all is well' WHERE run_no = RUN AND seq = 12")
        self.find(space, "replay", "event 12: its summary differs")

    def test_replay_asks_no_model(self):
        before = self.server.stats()["requests"]
        self.assertEqual(self.cadre("replay", self.ids["three"])[0], 0)
        self.assertEqual(self.server.stats()["requests"], before)


class Recorded(unittest.TestCase):
    """Logs of finished runs, kept as text: they fold in every later version, and replay where the rules are the same."""

    def test_there_are_recordings_of_all_rules(self):
        for rules in ("v1", "v2", "v3"):
            self.assertGreaterEqual(len(list(RUNS.glob(rules + "-*.jsonl"))), 2)

    def test_every_recorded_run_verifies_up_to_its_head(self):
        for path in sorted(RUNS.glob("v*.jsonl")):
            with self.subTest(path.name), Workspace() as space:
                space.make_store()
                run_id, head = recording.load(path, space.store)
                space.damaged = True  # in the eyes of the harness: not all of them have today's rules
                for arguments in [["verify", run_id, "--head", head], ["events", run_id]]:
                    done = space.run(arguments)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_run_that_was_recorded_with_these_rules_replays(self):
        for path in sorted(RUNS.glob("v4-*.jsonl")):
            with self.subTest(path.name), Workspace() as space:
                space.make_store()
                run_id, _ = recording.load(path, space.store)
                done = space.run(["replay", run_id, "--json"])
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertEqual(json_lines(done.stdout)[0]["not_compared"], 0)

    def test_replay_says_of_other_rules_that_it_could_not_compare(self):
        path = RUNS / "v1-trouble.jsonl"
        with Workspace() as space:
            space.make_store()
            run_id, _ = recording.load(path, space.store)
            space.damaged = True  # in the eyes of the harness: it replays everything
            done, machine = space.run(["replay", run_id]), space.run(["replay", run_id, "--json"])
        events = len(path.read_text().splitlines()) - 1
        self.assertEqual((done.returncode, machine.returncode), (2, 2))
        self.assertIn(f"{events} of its {events} events were decided by rules 1", done.stderr)
        self.assertIn("not compared", done.stderr)
        answer = json_lines(machine.stdout)[0]
        self.assertEqual((answer["ok"], answer["not_compared"], answer["problem"]), (False, events, ""))

    def test_a_run_that_the_first_rules_began_goes_on_with_todays(self):
        first, *events = (RUNS / "v1-thread.jsonl").read_text().splitlines()
        run = json.loads(first)
        run["run"].update(status="running", finished_at=None, result_json=None)
        begun = events[:[json.loads(event)["type"] for event in events].index("budget.reserved") + 1]
        with Workspace() as space:
            space.make_store()
            path = space.root / "begun.jsonl"
            path.write_text("\n".join([json.dumps(run), *begun]) + "\n")
            run_id, _ = recording.load(path, space.store)
            space.damaged = True  # in the eyes of the harness: not all of it has today's rules
            space.run(["resume", run_id])  # its model's server is long gone
            self.assertEqual(space.run(["verify", run_id]).returncode, 0)
            (answer,) = json_lines(space.run(["replay", run_id, "--json"]).stdout)
            (status,) = [row["status"] for row in space.query("SELECT status FROM runs")]
        self.assertEqual((status, answer["not_compared"], answer["problem"]), ("failed", len(begun), ""))
        self.assertGreater(answer["events"], len(begun))

    def left_open(self, name):
        """Goes on with the open run of the recording and cancels it. Returns the contracts of its children."""
        first, *events = (RUNS / name).read_text().splitlines()
        run, kinds = json.loads(first), [json.loads(event)["type"] for event in events]
        begun = events[:max(i for i, kind in enumerate(kinds) if kind == "agent.subagent_attempt") + 1]
        run["run"].update(status="running", finished_at=None, result_json=None)
        run.pop("children", None)  # all of them closed: the events of the middle say which rows there were
        with Workspace() as space:
            space.make_store()
            path = space.root / "begun.jsonl"
            path.write_text("\n".join([json.dumps(run), *begun]) + "\n")
            run_id, _ = recording.load(path, space.store)
            space.damaged = True  # in the eyes of the harness: not all of it has today's rules
            process = space.start(["resume", "--json", run_id])  # its model's server is long gone
            process.wait_for(lambda line: line.get("event") == "model.failed" and line["agent_id"] != run_id, "a child's request")
            space.run(["cancel", run_id])
            process.end()
            verified = space.run(["verify", run_id])
            self.assertEqual(verified.returncode, 0, verified.stderr)
            (answer,) = json_lines(space.run(["replay", run_id, "--json"]).stdout)
            closed = [event for event in space.events(run_id) if event["type"] == "agent.subagent_closed"]
            contracts = [json.loads(row["context_json"]) for row in space.query("SELECT context_json FROM sub_agents")]
        self.assertEqual((answer["not_compared"], answer["problem"]), (len(begun), ""))
        self.assertEqual(len(closed), 2)
        return contracts

    def test_children_that_the_second_rules_left_open_go_on_under_their_contracts(self):
        """Their contracts have version 1: 60 seconds are a wall, 90 seconds one of each attempt, and nothing is silent."""
        for contract in self.left_open("v2-open.jsonl"):
            self.assertEqual((contract["contract_version"], contract["execution"]["attempt_timeout_ms"],
                              contract["execution"]["budget"]["wall_ms"]), (1, 90000, 60000))
            self.assertNotIn("idle_timeout_ms", contract["execution"])

    def test_children_that_the_third_rules_left_open_go_on_under_their_contracts(self):
        for contract in self.left_open("v3-open.jsonl"):
            self.assertEqual((contract["contract_version"], contract["execution"]["idle_timeout_ms"]), (2, 60000))

    def test_a_recording_survives_being_loaded_and_written_again(self):
        path = RUNS / "v4-thread.jsonl"
        with Workspace() as space:
            space.make_store()
            run_id, _ = recording.load(path, space.store)
            self.assertEqual("".join(line + "\n" for line in recording.dump(space.store, run_id)), path.read_text())


if __name__ == "__main__":
    unittest.main()
