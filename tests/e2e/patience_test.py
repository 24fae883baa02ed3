"""A provider's trouble as a user meets it: a server that restarts, a wrong port, an outage that outlasts patience, a pool with a
dead member, errors that come again, a crash while the run waits."""
import signal
import socket
import time
import unittest

from harness import ModelServer, Workspace, json_lines, wait_until
from pools_test import Pool, call, of_type, rule, script

CONFIG = """llm:
  patience_ms: {patience}
  providers: {{here: {{base_url: "{url}"}}}}
  models: {{scripted: {{provider: here, max_context_tokens: 32768}}}}
  pools: {{default: [{{model: scripted}}]}}
"""
CHILD = [rule({"calls": [call("spawn_agent", task="CHILD", budget={"timeout_ms": 5000})]}, first_user="ROOT", turn=0),
         rule({"calls": [call("ls", path=".")]}, first_user="CHILD", turn=0)]
HANGS = [rule({"text": "never", "delay_ms": 600000}, first_user="CHILD", turn=1)]
ANSWERS = [rule({"text": "the child is done"}, first_user="CHILD", turn=1), rule({"text": "the root is done"})]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def statuses(server):
    """Of the requests to the model: a look at the list of models is not one."""
    return [request["status"] for request in server.requests() if request["method"] == "POST"]


def by_type(events, kind):
    return [event for event in events if event["type"] == kind]


class Restarting(unittest.TestCase):
    """A run whose child's second request meets a server that goes away."""

    def begin(self, patience, *flags):
        self.port = free_port()
        self.server = ModelServer(script(*CHILD, *HANGS), port=self.port)
        self.space = Workspace({"notes.txt": "a line\n"}, CONFIG.format(patience=patience, url=self.server.url))
        self.addCleanup(self.space.close)
        process = self.space.start(["run", "--mode", "auto", "--json", *flags, "ROOT"])
        process.wait_for_event("model.requested", 3)
        wait_until(lambda: self.server.stats()["in_flight"] == 1, "the third request is out")
        self.server.popen.kill()
        self.server.popen.wait()
        self.addCleanup(self.server.stop)
        return process

    def back(self):
        server = ModelServer(script(*CHILD, *ANSWERS), port=self.port)
        self.addCleanup(server.stop)
        return server

    def test_a_server_that_is_back_after_seconds_costs_the_run_only_seconds(self):
        process = self.begin(600000)
        process.wait_for_event("model.failed")
        time.sleep(6)  # longer than the child may work
        self.back()
        self.assertEqual(process.end(), 0, process.errors)
        self.assertEqual(process.lines[-1]["response"], "the root is done")
        events = self.space.events(process.lines[0]["run_id"])
        (closed,) = of_type(events, "agent.subagent_closed")
        self.assertEqual(closed["final_status"], "completed")
        self.assertEqual(len(by_type(events, "agent.subagent_attempt")), 1)

    def test_an_outage_that_outlasts_patience_parks_the_run_and_resume_goes_on(self):
        process = self.begin(2000)
        self.assertEqual(process.end(), 75, process.errors)
        run = process.lines[0]["run_id"]
        self.assertEqual(process.lines[-1]["run_status"], "parked")
        self.assertIn("did not recover within 2 s", process.lines[-1]["reason"])
        (row,) = self.space.query("SELECT status, finished_at FROM runs")
        self.assertEqual((row["status"], row["finished_at"]), ("parked", None))
        self.assertNotIn("agent.subagent_closed", [event["type"] for event in self.space.events(run)])
        self.assertIn("parked", self.space.run(["runs"]).stdout)
        self.assertIn(f"cadre resume {run}", self.space.run(["show", run]).stdout)
        self.assertEqual(self.space.run(["verify", run]).returncode, 0)
        again = self.space.run(["resume", run])
        self.assertEqual(again.returncode, 75, again.stderr)  # still down, and patience began anew
        self.assertIn(f"go on with: cadre resume {run}", again.stderr)
        self.back()
        done = self.space.run(["resume", run, "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["response"], "the root is done")
        events = self.space.events(run)
        self.assertEqual(len(by_type(events, "run.parked")), 2)
        self.assertEqual(len(by_type(events, "agent.subagent_closed")), 1)
        self.assertEqual(self.space.query("SELECT status, error FROM runs"), [{"status": "completed", "error": None}])

    def test_a_process_that_dies_while_it_waits_leaves_a_run_that_goes_on(self):
        process = self.begin(600000)
        process.wait_for_event("model.failed", 2)
        process.kill()
        self.back()
        done = self.space.run(["resume", "last", "--json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json_lines(done.stdout)[-1]["response"], "the root is done")


class RateLimit(unittest.TestCase):
    def test_a_pause_that_outlasts_patience_parks_the_run(self):
        rules = script(rule({"status": 429, "error": "later", "retry_after": "3600"}))
        with ModelServer(rules) as server, Workspace({}, CONFIG.format(patience=2000, url=server.url)) as space:
            done = space.run(["run", "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stderr)
            lines = json_lines(done.stdout)
            self.assertEqual(lines[-1]["run_status"], "parked")
            # Long before the governor would have asked again, a minute later.
            (parked,) = by_type(space.events(lines[0]["run_id"]), "run.parked")
            failed, aborted = by_type(space.events(lines[0]["run_id"]), "model.failed")
            self.assertEqual(aborted["payload"]["sent"], "no")  # it only waited
            self.assertLess(parked["ts"] - failed["ts"], 30000)


PRICED = CONFIG.replace("max_context_tokens: 32768", "max_context_tokens: 32768, max_tokens: 2000, "
                        "price_in: 3, price_out: 15")


class Money(unittest.TestCase):
    def test_tries_that_break_park_the_run_before_they_use_up_its_budget(self):
        breaks = rule({"drop": "before-headers", "fail_times": 8, "then": {"text": "fine"}}, turn=1)
        rules = script(rule({"calls": [call("ls", path=".")]}, turn=0), breaks)
        with ModelServer(rules) as server, Workspace({}, PRICED.format(patience=600000, url=server.url)) as space:
            done = space.run(["run", "--max-cost", "0.2", "--json", "ROOT"])
            self.assertEqual(done.returncode, 75, done.stdout + done.stderr)
            last = json_lines(done.stdout)[-1]
            self.assertIn("broke without an answer may have cost up to", last["reason"])
            self.assertEqual(space.run(["resume", "last"]).returncode, 75)  # nobody said that they count no longer
            self.assertIn("--forgive-broken", space.run(["show", "last"]).stdout)
            while done.returncode == 75:
                done = space.run(["resume", "last", "--json", "--forgive-broken"])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json_lines(done.stdout)[-1]["response"], "fine")
            self.assertEqual(space.run(["verify", last["run_id"]]).returncode, 0)


class Parking(unittest.TestCase):
    """What was out, or waited for its turn, when the run parked."""

    def test_every_request_has_told_what_it_cost(self):
        tasks = [{"task": f"CHILD {n}"} for n in range(3)]
        rules = [rule({"calls": [call("fan_out", tasks=tasks)]}, first_user="ROOT", turn=0),
                 rule({"text": "never", "delay_ms": 600000}, first_user="CHILD")]
        port = free_port()
        server = ModelServer(script(*rules), port=port)
        self.addCleanup(server.stop)
        with Workspace({}, CONFIG.format(patience=3000, url=server.url)) as space:
            process = space.start(["run", "--mode", "auto", "--json", "ROOT"])
            process.wait_for_event("model.requested", 4)
            wait_until(lambda: server.stats()["in_flight"] == 3, "three requests are out")
            server.popen.kill()
            server.popen.wait()
            self.assertEqual(process.end(), 75, process.errors)
            events = space.events(process.lines[0]["run_id"])
            open_requests = space.query("SELECT count(*) AS n, e.call_id FROM events e JOIN event_types t USING (type_no) WHERE"
                                        " t.type IN ('model.requested', 'model.replied', 'model.failed') GROUP BY 2 HAVING n = 1")
            self.assertEqual(open_requests, [])
            kinds = [one["type"] for one in events]
            self.assertNotIn("run.resumed", kinds)
            late = [one for one in events[kinds.index("run.parked"):] if one["type"] == "model.failed"]
            for one in late:
                self.assertEqual(one["payload"]["sent"], "no")


class Final(unittest.TestCase):
    def test_a_wrong_port_is_told_after_seconds(self):
        with Workspace() as space:
            done = space.run(["run", "--base-url", f"http://127.0.0.1:{free_port()}/v1", "--model", "m", "--json", "ROOT"])
            self.assertEqual(done.returncode, 1, done.stderr)
            lines = json_lines(done.stdout)
            self.assertIn("no server answers at", lines[-1]["error"])
            failed = by_type(space.events(lines[0]["run_id"]), "model.failed")
            self.assertGreaterEqual(failed[-1]["ts"] - failed[0]["ts"], 15000)
            self.assertGreater(len(failed), 3)

    def test_status_500_with_the_same_body_three_times_is_final(self):
        with ModelServer(script(rule({"status": 500, "error": "cannot render the template"}))) as server, Workspace() as space:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("cannot render the template", json_lines(done.stdout)[-1]["error"])
            self.assertEqual(statuses(server), [500, 500, 500])

    def test_errors_that_differ_are_tried_again(self):
        rules = [rule({"status": 500, "error": f"moment {n}", "fail_times": 2}) for n in range(2)]
        with ModelServer(script(*rules, rule({"text": "fine"}))) as server, Workspace() as space:
            done = space.run(["run", *server.flags(), "--json", "ROOT"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(statuses(server), [500] * 4 + [200])


class Members(unittest.TestCase):
    TURNS = [rule({"calls": [call("ls", path=f"{n}")]}, turn=n) for n in range(5)] + [rule({"text": "done"})]

    def test_a_member_with_a_wrong_key_is_asked_once_in_a_run(self):
        pool = Pool(self, "openai", [rule({"text": "never"})], self.TURNS)
        done = pool.run("--json", keys={"KEY_ONE": "wrong"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(pool.asked(), [[401], [200] * 6])
        self.assertEqual([one["name"] for one in of_type(pool.events(), "model.requested")], ["first"] + ["second"] * 6)

    def test_a_member_that_cannot_be_reached_is_left_out_for_minutes(self):
        pool = Pool(self, "openai", [rule({"text": "never"})], self.TURNS)
        pool.servers[0].popen.kill()
        pool.servers[0].popen.wait()
        done = pool.run("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one["name"] for one in of_type(pool.events(), "model.requested")], ["first"] + ["second"] * 6)

    def test_when_no_member_is_left_the_error_names_each(self):
        pool = Pool(self, "openai", [rule({"text": "never"})], [rule({"text": "never"})])
        done = pool.run("--json", keys={"KEY_ONE": "wrong", "KEY_TWO": "wrong-too"})
        self.assertEqual(done.returncode, 1, done.stderr)
        error = json_lines(done.stdout)[-1]["error"]
        self.assertRegex(error, r'no model of the pool "default" can be asked again in this run: first: .*401.*; second: .*401')
        self.assertEqual(pool.asked(), [[401], [401]])


class Waiting(unittest.TestCase):
    def test_a_resume_waits_only_the_rest_of_what_the_server_asked_for(self):
        busy = {"status": 429, "retry_after": "12", "error": "too much", "fail_times": 1, "then": {"text": "fine"}}
        with ModelServer(script(rule(busy))) as server, Workspace() as space:
            process = space.start(["run", *server.flags(), "--json", "ROOT"])
            failed = process.wait_for_event("model.failed")
            process.signal(signal.SIGKILL)
            process.end()
            due = failed["payload"]["retry_at"] if "payload" in failed else None
            if due is None:
                (due,) = [one["retry_at"] for one in of_type(space.events(process.lines[0]["run_id"]), "model.failed")]
            wait_until(lambda: time.time() * 1000 > due, "the server's time is over")
            done = space.run(["resume", "last", "--json"])
            self.assertEqual(done.returncode, 0, done.stderr)
            events = space.events(process.lines[0]["run_id"])
            (resumed,) = by_type(events, "run.resumed")
            asked = by_type(events, "model.requested")[-1]
            self.assertLess(asked["ts"] - resumed["ts"], 8000)


if __name__ == "__main__":
    unittest.main()
