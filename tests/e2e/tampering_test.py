"""What `cadre verify` and `cadre doctor` find when somebody changes the store behind the program's back, and what the database
itself refuses. The table below has one line for each tampering: what is done, and the place that verify must name."""
import contextlib
import os
import sqlite3
import unittest

from harness import ModelServer, Workspace, json_lines

ASK_THREE = {"name": "spawn_agent", "arguments": {"task": "CHILD {{index}} looks"}, "repeat": 3}
SCRIPT = {
    "models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
    "rules": [
        {"when": {"first_user": "three", "turn": 0}, "reply": {"text": "I ask three.", "calls": [ASK_THREE]}},
        {"when": {"first_user": "CHILD", "turn": 0}, "reply": {"calls": [{"name": "ls", "arguments": {"path": "."}}]}},
        {"when": {"first_user": "CHILD"}, "reply": {"text": "nothing there"}},
        {"reply": {"text": "the answer"}},
    ],
}

EVENT = "UPDATE events SET {} WHERE run_no = RUN AND seq = 12"
CALL = "UPDATE events SET {} WHERE run_no = RUN AND seq = (SELECT max(seq) FROM events WHERE run_no = RUN AND call_id NOT NULL)"
ROW = "UPDATE runs SET {} WHERE run_no = RUN"
CHILD = "UPDATE sub_agents SET {} WHERE run_no = RUN AND agent_no = 2"
HASH = "its hash does not follow"
LOG = "it is not what the log says"

# Statements (RUN is the run's number) → the place that is named, the words that say what is wrong there.
TAMPERINGS = [
    # The log itself: payloads and numbers, and with chain version 2 all that people read of an event.
    (EVENT.format("summary = 'all is well'"), "event 12", HASH),
    (CALL.format("call_id = 'c1_1'"), r"event \d+", HASH),
    (CALL.format("call_id = NULL"), r"event \d+", HASH),
    (EVENT.format("cause_seq = cause_seq + 1"), "event 12", HASH),
    (EVENT.format("epoch = epoch + 1"), "event 12", HASH),
    (EVENT.format("ts = ts + 1"), "event 12", HASH),
    (EVENT.format("v = 3"), "event 12", HASH),
    (EVENT.format("v = v + 65536"), "event 12", "its agent or its version"),
    (EVENT.format("agent_no = agent_no + 1"), "event 12", HASH),
    (EVENT.format("agent_prev = agent_prev + 1"), "event 12", "agent's previous one"),
    (EVENT.format("hash = zeroblob(32)"), "event 12", HASH),
    (EVENT.format("type_no = (SELECT type_no FROM event_types WHERE type = 'run.started')"), "event 12", HASH),
    ("UPDATE events SET payload_json = replace(payload_json, 'nothing there', 'a treasure')"
     " WHERE run_no = RUN AND payload_json LIKE '%nothing there%'", r"event \d+", HASH),
    ("DELETE FROM events WHERE run_no = RUN AND seq = 12", "event 12", "it is missing"),
    ("UPDATE event_types SET type = 'run.finished' WHERE type = 'run.started'", "event 2", HASH),
    ("UPDATE event_types SET category = 'tool' WHERE type = 'run.started'", "event 2", "its category is tool"),
    # Blobs.
    ("UPDATE blobs SET bytes = CAST(replace(CAST(bytes AS TEXT), 'CHILD 1', 'CHILD 7') AS BLOB)"
     " WHERE CAST(bytes AS TEXT) LIKE '%CHILD 1%'", r"event \d+", "not the one that was written"),
    ("DELETE FROM blobs", "event 1", "its payload is missing: blob [0-9a-f]{64} was deleted"),
    # Logs of a run that has ended, cut or emptied.
    ("DELETE FROM events WHERE run_no = RUN AND seq = (SELECT max(seq) FROM events WHERE run_no = RUN)",
     "table runs, column status", "it is completed, the log says running"),
    ("DELETE FROM events WHERE run_no = RUN AND seq > 20", "table runs, column status", "the log says running"),
    ("DELETE FROM events WHERE run_no = RUN", "table runs, column status", "it is completed, the log says queued"),
    # What `cadre runs` shows.
    (ROW.format("status = 'failed'"), "table runs, column status", "it is failed, the log says completed"),
    (ROW.format("error = 'it broke'"), "table runs, column error", LOG),
    (ROW.format("result_json = '{}'"), "table runs, column result_json", LOG),
    (ROW.format("finished_at = finished_at + 1"), "table runs, column finished_at", LOG),
    (ROW.format("started_at = NULL"), "table runs, column started_at", LOG),
    (ROW.format("task = 'another task'"), "table runs, column task", LOG),
    (ROW.format("model = 'a better one'"), "table runs, column model", LOG),
    (ROW.format("session_id = 'x'"), "table runs, column session_id", LOG),
    (ROW.format("user_id = 'somebody'"), "table runs, column user_id", LOG),
    (ROW.format("workspace_id = 'x'"), "table runs, column workspace_id", LOG),
    (ROW.format("workspace_path = '/'"), "table runs, column workspace_path", LOG),
    (ROW.format("parent_run = 'x'"), "table runs, column parent_run", LOG),
    (ROW.format("parent_seq = 1"), "table runs, column parent_seq", LOG),
    (ROW.format("created_at = created_at - 86400000"), "table runs, column created_at", "it is not the time at which"),
    # What `cadre tree` and reports show of children.
    (CHILD.format("status = 'failed'"), "table sub_agents, agent 2, column status", "it is failed, the log says closed"),
    (CHILD.format("error = 'it broke'"), "table sub_agents, agent 2, column error", LOG),
    (CHILD.format("name = 'x'"), "table sub_agents, agent 2, column name", LOG),
    (CHILD.format("id = 'x'"), "table sub_agents, agent 2, column id", LOG),
    (CHILD.format("run_id = 'x'"), "table sub_agents, agent 2", "its run_id"),
    (CHILD.format("parent_id = 'x'"), "table sub_agents, agent 2, column parent_id", LOG),
    (CHILD.format("step_idx = 9"), "table sub_agents, agent 2, column step_idx", LOG),
    (CHILD.format("worktree_path = '/'"), "table sub_agents, agent 2, column worktree_path", LOG),
    (CHILD.format("branch_name = 'main'"), "table sub_agents, agent 2, column branch_name", LOG),
    (CHILD.format("merge_status = 'clean'"), "table sub_agents, agent 2, column merge_status", LOG),
    (CHILD.format("started_at = started_at - 1"), "table sub_agents, agent 2, column started_at", LOG),
    (CHILD.format("finished_at = finished_at - 1"), "table sub_agents, agent 2, column finished_at", LOG),
    (CHILD.format("context_json = replace(context_json, '\"none\"', '\"full\"')"),
     "table sub_agents, agent 2, column context_json", LOG),
    ("DELETE FROM sub_agents WHERE run_no = RUN AND agent_no = 2", "table sub_agents, agent 2", "its row is missing"),
    ("INSERT INTO sub_agents (run_no, agent_no, run_id, id, status, context_json)"
     " SELECT run_no, 9, id, 'x', 'created', '{}' FROM runs WHERE run_no = RUN", "table sub_agents, agent 9", "the log has no such"),
    # What names events beside the log.
    ("UPDATE agent_tails SET seq = seq - 1 WHERE run_no = RUN AND agent_no = 2", "table agent_tails, agent 2", "the agent's last"),
    ("DELETE FROM agent_tails WHERE run_no = RUN AND agent_no = 2", "table agent_tails, agent 2", "its row is missing"),
    ("INSERT INTO agent_tails SELECT run_no, 9, 3 FROM runs WHERE run_no = RUN", "table agent_tails, agent 9", "the agent's last"),
    ("UPDATE inbox SET consumed_seq = 9999 WHERE run_no = RUN", r"table inbox, message \d+", "the log ends with event"),
    ("UPDATE inbox SET at = at + 1 WHERE run_no = RUN AND kind = 'start'", "table runs, column created_at", "inbox message"),
    # The database.
    ("INSERT INTO lifecycle_edges VALUES ('closed', 'running')", "table lifecycle_edges", "it is not what cadre made"),
    ("UPDATE events SET run_no = 99 WHERE run_no = OTHER", "store", "run number 99"),
]

# What a program that opens the file cannot do, as long as nobody drops the triggers.
REFUSED = [
    "DELETE FROM blobs", "UPDATE blobs SET bytes = x'00'", "REPLACE INTO blobs SELECT hash, x'00', 1 FROM blobs",
    "UPDATE event_types SET category = 'x'", "DELETE FROM event_types",
    "REPLACE INTO event_types (category, type) VALUES ('run', 'run.started')",
    "UPDATE runs SET task = 'x'", "UPDATE runs SET status = 'running'", "REPLACE INTO runs SELECT * FROM runs",
    "UPDATE sub_agents SET error = 'x'",
    "INSERT INTO sub_agents (run_no, agent_no, run_id, id, status, context_json) SELECT run_no, 9, id, 'x', 'created', '{}' FROM runs",
    "DELETE FROM agent_tails", "UPDATE agent_tails SET seq = seq - 1", "UPDATE events SET summary = 'x'",
]


class Tampering(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ModelServer(SCRIPT)
        cls.addClassCleanup(cls.server.close)
        cls.space = Workspace({"README.md": "# A project\n"})
        cls.addClassCleanup(cls.space.close)
        cls.ids = [json_lines(cls.space.run(["run", "--json", *cls.server.flags(), task]).stdout)[0]["run_id"]
                   for task in ["three", "other"]]

    @contextlib.contextmanager
    def copy(self):
        """A workspace with a copy of the store, and a connection to it."""
        space = Workspace()
        space.damaged = True
        space.store.parent.mkdir()
        try:
            with contextlib.closing(sqlite3.connect(self.space.store)) as source, \
                    contextlib.closing(sqlite3.connect(space.store)) as target:
                source.backup(target)
                yield space, target
        finally:
            space.close()

    def tamper(self, store, statement):
        """Runs the statement with the triggers out of the way, and puts them back."""
        triggers = store.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            store.execute(f"DROP TRIGGER {name}")
        for word, run_id in zip(["RUN", "OTHER"], self.ids):
            statement = statement.replace(word, f"(SELECT run_no FROM runs WHERE id = '{run_id}')")
        self.assertGreaterEqual(store.execute(statement).rowcount, 1, statement)
        for _, sql in triggers:
            store.execute(sql)
        store.commit()

    def find(self, space, place, words):
        """verify exits with 1, names the place and says what is wrong, for people and for programs."""
        done = space.run(["verify", self.ids[0]])
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, rf"run {self.ids[0]} does not verify, {place}: .*{words}")
        done = space.run(["verify", self.ids[0], "--json"])
        self.assertEqual(done.returncode, 1)
        (line,) = json_lines(done.stdout)
        self.assertFalse(line["ok"])
        self.assertEqual(min(line["finding_count"], 8), len(line["findings"]))
        self.assertRegex("\n".join(finding["place"] for finding in line["findings"]), rf"(?m)^{place}$")
        self.assertEqual(line["bad_seq"] > 0, place.startswith("event"))

    def test_an_unchanged_store_verifies(self):
        with self.copy() as (space, _):
            for run_id in self.ids:
                done = space.run(["verify", run_id])
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_tampering_is_found_and_its_place_is_named(self):
        for statement, place, words in TAMPERINGS:
            with self.subTest(statement), self.copy() as (space, store):
                self.tamper(store, statement)
                self.find(space, place, words)

    def test_a_dropped_trigger_is_found_by_verify_and_by_doctor(self):
        for trigger in ["events_update", "blobs_delete", "types_update", "runs_ended", "sub_agents_closed"]:
            with self.subTest(trigger), self.copy() as (space, store):
                store.execute(f"DROP TRIGGER {trigger}")
                store.commit()
                self.find(space, f"trigger {trigger}", "it is missing")
                self.assertRegex(space.run(["doctor"]).stdout, rf"(?m)^fail  store .*does not refuse changes.*trigger {trigger}")

    def test_a_trigger_or_view_that_was_exchanged_is_found(self):
        with self.copy() as (space, store):
            store.execute("DROP TRIGGER events_delete")
            store.execute("CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN SELECT 1; END")
            store.commit()
            self.find(space, "trigger events_delete", "it is not what cadre made")
        with self.copy() as (space, store):
            store.execute("DROP VIEW event_log")
            store.execute("CREATE VIEW event_log AS SELECT 'all is well' AS summary")
            store.commit()
            self.find(space, "view event_log", "it is not what cadre made")

    def test_an_added_trigger_is_found_by_verify_and_by_doctor(self):
        with self.copy() as (space, store):
            store.execute("CREATE TRIGGER evil AFTER INSERT ON events BEGIN UPDATE leases SET owner = 'me'; END")
            store.commit()
            self.find(space, "trigger evil", "it was not made by cadre")
            self.assertRegex(space.run(["doctor"]).stdout, r"(?m)^fail  store .*triggers that cadre did not make \(trigger evil")
            store.execute("DROP TRIGGER blobs_delete")
            store.commit()
            self.assertRegex(space.run(["doctor"]).stdout,
                             r"(?m)^fail  store .*does not refuse changes.*blobs_delete, trigger evil \(not made by cadre\)")

    def test_a_damaged_page_is_found_wherever_it_is(self):
        for table in ["events", "sub_agents", "records_history", "sqlite_autoindex_events_1", "sqlite_autoindex_blobs_1"]:
            with self.subTest(table), self.copy() as (space, store):
                (page,) = store.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()
                store.close()
                with open(space.store, "r+b") as file:
                    file.seek((page - 1) * 4096)
                    file.write(os.urandom(4096))
                done = space.run(["verify", self.ids[0]])
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stderr, "does not verify, .*damaged")
                self.assertRegex(space.run(["doctor"]).stdout, r"(?m)^fail  store .*damaged")

    def test_the_database_refuses_it_to_other_programs(self):
        with self.copy() as (space, store):
            for statement in REFUSED:
                with self.subTest(statement), self.assertRaises(sqlite3.IntegrityError):
                    store.execute(statement)
            self.assertEqual(space.run(["verify", self.ids[0]]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
