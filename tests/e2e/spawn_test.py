"""spawn and spawn_await with the real program: a job in the background, waiting for jobs, how failures look, who may wait for what,
and what becomes of jobs when the root ends, its time is up, or the program is killed."""
import json
import unittest

from harness import json_lines, wait_until
from spawning import DELEGATION, SPAWN, Spawning, call, child, offered, root, rule, tool_results

BOTH = root(0, calls=[call("spawn", task="JOB a"), call("spawn", task="JOB b")])
AWAIT_ALL = {"calls": [call("spawn_await", job_ids="*")]}
END = {"text": "the end"}


class NotBlocking(unittest.TestCase):
    def test_spawn_returns_the_jobs_id_before_the_childs_first_reply(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a")]), root(1, **AWAIT_ALL), root(2, **END),
                       child("JOB a", text="done"))
        run.run_holding("JOB", lambda process: process.wait_for_event("tool.finished"))
        self.assertEqual((run.done.returncode, run.result["response"]), (0, "the end"), run.done.stderr)
        (answer,) = run.answers("spawn")
        (created,) = run.of_type("agent.subagent_created")
        replied = [event for event in run.of_type("model.replied") if event["agent_id"] == created["agent_id"]]
        self.assertRegex(answer["payload"]["text"], r"\A[0-9a-f]{6,}\Z")
        self.assertEqual(answer["payload"]["text"], created["payload"]["task_id"])
        self.assertLess(answer["seq"], replied[0]["seq"])

    def test_two_jobs_are_asked_for_at_the_same_time(self):
        run = Spawning(self, BOTH, root(1, **AWAIT_ALL), root(2, **END), child("JOB", text="done"))
        run.run_holding("JOB", lambda _: wait_until(lambda: len(run.recorder.of("JOB")) == 2, "both jobs have asked"))
        made = {event["agent_id"] for event in run.of_type("agent.subagent_created")}
        asked = [event["seq"] for event in run.of_type("model.requested") if event["agent_id"] in made]
        replied = [event["seq"] for event in run.of_type("model.replied") if event["agent_id"] in made]
        self.assertEqual(len(made), 2)
        self.assertLess(max(asked), min(replied))

    def test_jobs_of_one_reply_are_made_in_its_order_whichever_prompt_is_read_first(self):
        """The first one's prompt has a large file to read, the others have none."""
        names = "abcdefgh"
        calls = [call("spawn", task=f"JOB {name}", **({"profile": "slow"} if name == "a" else {})) for name in names]
        run = Spawning(self, root(0, calls=calls), root(1, **AWAIT_ALL), root(2, **END), child("JOB", text="done"),
                       files={"large.md": "a line of a large file\n" * 2500},
                       config="tools: {spawn: {enabled: true, profiles: {slow: {bootstrap_files: [large.md]}}}}").run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        made = [event["payload"]["objective"] for event in run.of_type("agent.subagent_created")]
        self.assertEqual(made, [f"JOB {name}" for name in names])
        self.assertEqual(run.texts("spawn"), run.jobs)

    def test_the_parent_works_on_while_a_job_runs(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a")]), root(1, calls=[call("ls", path=".")]),
                       root(2, **AWAIT_ALL), root(3, **END), child("JOB a", text="done"))
        run.run_holding("JOB", lambda process: process.wait_for_event("tool.finished", 2))
        (listed,) = run.answers("ls")
        self.assertLess(listed["seq"], run.of_type("agent.subagent_closed")[0]["seq"])

    def test_context_reaches_the_job_with_its_task(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a", context="mind the gap")]), root(1, **AWAIT_ALL),
                       root(2, **END), child("JOB a", text="done")).run()
        (request,) = run.recorder.of("JOB a")
        self.assertIn("mind the gap", request["messages"][-1]["content"])


class Await(unittest.TestCase):
    def test_a_star_waits_for_all_jobs_and_answers_in_spawn_order(self):
        run = Spawning(self, BOTH, root(1, **AWAIT_ALL), root(2, **END),
                       child("JOB a", text="a is done"), child("JOB b", text="b is done"))
        run.run_holding("JOB a", lambda process: process.wait_for_event("agent.subagent_waiting_for_merge"))
        one, two = run.jobs
        (answer,) = run.answers("spawn_await")
        self.assertEqual(answer["payload"]["text"], f"[{one}: OK]\na is done\n\n[{two}: OK]\nb is done")
        self.assertGreater(answer["seq"], max(event["seq"] for event in run.of_type("agent.subagent_closed")))

    def test_one_job_is_awaited_while_another_goes_on(self):
        run = Spawning(self, BOTH, root(1, calls=[call("spawn_await", job_ids="JOB_1")]), root(2, **END),
                       child("JOB a", text="a is done"), child("JOB b", text="b is done"))
        run.run_holding("JOB a", lambda process: process.wait_for_event("tool.finished", 3))
        (answer,) = run.answers("spawn_await")
        self.assertEqual(answer["payload"]["text"], f"[{run.jobs[1]}: OK]\nb is done")
        closed = {event["payload"]["task_id"]: event["seq"] for event in run.of_type("agent.subagent_closed")}
        self.assertLess(closed[run.jobs[1]], answer["seq"])
        self.assertLess(answer["seq"], closed[run.jobs[0]])

    def test_some_of_the_jobs_are_answered_in_the_order_that_was_asked_for(self):
        run = Spawning(self, root(0, calls=[call("spawn", task=f"JOB {name}") for name in "abc"]),
                       root(1, calls=[call("spawn_await", job_ids=" JOB_2 ,JOB_0")]), root(2, **END),
                       rule({"text": "{{match:0}} is done"}, first_user_regex=r"JOB \w+")).run()
        one, _, three = run.jobs
        self.assertEqual(run.texts("spawn_await"), [f"[{three}: OK]\nJOB c is done\n\n[{one}: OK]\nJOB a is done"])

    def test_results_are_there_a_second_time_without_asking_the_model_again(self):
        run = Spawning(self, BOTH, root(1, **AWAIT_ALL), root(2, **AWAIT_ALL),
                       root(3, calls=[call("spawn_await", job_ids="JOB_0")]), root(4, **END),
                       rule({"text": "{{match:0}} is done"}, first_user_regex=r"JOB \w+")).run()
        first, second, third = run.texts("spawn_await")
        self.assertEqual(first, second)
        self.assertEqual(third, f"[{run.jobs[0]}: OK]\nJOB a is done")
        self.assertEqual(len(run.recorder.of("JOB")), 2)

    def test_a_star_in_the_reply_that_spawns_waits_for_the_jobs_of_that_reply(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a"), call("spawn", task="JOB b"),
                                            call("spawn_await", job_ids="*")]), root(1, **END),
                       rule({"text": "{{match:0}} is done"}, first_user_regex=r"JOB \w+")).run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        one, two = run.jobs
        self.assertEqual(run.texts("spawn_await"), [f"[{one}: OK]\nJOB a is done\n\n[{two}: OK]\nJOB b is done"])

    def test_two_awaits_of_one_reply_wait_side_by_side(self):
        run = Spawning(self, BOTH, root(1, calls=[call("spawn_await", job_ids="JOB_0"), call("spawn_await", job_ids="*")]),
                       root(2, **END), rule({"text": "{{match:0}} is done"}, first_user_regex=r"JOB \w+")).run()
        one, two = run.jobs
        self.assertEqual(run.texts("spawn_await"), [f"[{one}: OK]\nJOB a is done",
                                                    f"[{one}: OK]\nJOB a is done\n\n[{two}: OK]\nJOB b is done"])

    def test_an_unknown_id_is_not_found_beside_one_that_is(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a")]),
                       root(1, calls=[call("spawn_await", job_ids="ffffff,JOB_0,nonsense")]), root(2, **END),
                       child("JOB a", text="a is done")).run()
        self.assertEqual(run.texts("spawn_await"),
                         [f"[ffffff: NOT FOUND]\n\n[{run.jobs[0]}: OK]\na is done\n\n[nonsense: NOT FOUND]"])

    def test_without_jobs_a_star_finds_none(self):
        run = Spawning(self, root(0, **AWAIT_ALL), root(1, **END)).run()
        self.assertEqual(run.texts("spawn_await"), ["No jobs found."])


class Failures(unittest.TestCase):
    def failing(self, *rules, config=SPAWN, turn=AWAIT_ALL):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a"), call("spawn", task="JOB b")]), root(1, **turn),
                       root(2, **AWAIT_ALL), root(3, **END), child("JOB b", text="b is done"), *rules, config=config).run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        return run

    def check_error(self, run, pattern):
        """The first job is an ERROR with these words, the second is OK, and no await was an error."""
        one, two = run.jobs
        text = run.texts("spawn_await")[-1]
        self.assertRegex(text, rf"\A\[{one}: ERROR\]\n[^\n]*{pattern}[^\n]*\n\n\[{two}: OK\]\nb is done\Z")
        self.assertEqual({answer["payload"]["outcome"] for answer in run.answers("spawn_await")}, {"ok"})
        (failed,) = run.result["details"]["failed_children"]
        self.assertIn(failed["status"], ("error", "timeout", "cancelled"))

    def test_a_model_that_fails_is_an_error_never_ok_with_an_error_text(self):
        self.check_error(self.failing(child("JOB a", status=500, error="out of memory", retry_after="0")), "out of memory")

    def test_a_model_that_refuses_is_an_error(self):
        self.check_error(self.failing(child("JOB a", status=400, error="no such thing")), "no such thing")

    def test_a_child_whose_time_is_up_is_an_error(self):
        self.check_error(self.failing(child("JOB a", text="late", delay_ms=50000),
                                      config=SPAWN + "\nsub_agent: {default_budget: {timeout_ms: 5000}, max_retries: 0}"),
                         "timed out")

    def test_a_child_that_was_cancelled_is_an_error(self):
        run = self.failing(child("JOB a", text="late", delay_ms=50000),
                           turn={"calls": [call("agent_cancel", task_id="JOB_0")]})
        self.check_error(run, "")
        self.assertEqual(run.result["details"]["failed_children"][0]["status"], "cancelled")

    def test_the_error_flag_of_the_api_is_spawns_alone(self):
        rules = [root(0, calls=[call("spawn", task="JOB a"), call("spawn", task="  "), call("spawn", task="x", profile="none")]),
                 root(1, calls=[call("spawn_await", job_ids="*"), call("spawn_await", job_ids="ffffff"),
                                call("spawn_await"), call("spawn_await", job_ids=7)]),
                 root(2, **END), child("JOB a", status=400, error="no such thing")]
        run = Spawning(self, *rules, api="anthropic").run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        last = [message for message in run.recorder.requests[-1]["messages"] if message["role"] == "user"][1:]
        flags = [[part.get("is_error", False) for part in message["content"] if part["type"] == "tool_result"]
                 for message in last]
        self.assertEqual(flags, [[False, True, True], [False] * 4])
        texts = run.texts("spawn_await")
        self.assertIn(": ERROR]\n", texts[0])
        self.assertEqual([text.startswith("Error: job_ids ") for text in texts], [False, False, True, True])


class Refused(unittest.TestCase):
    """Bad arguments: an error that the model can act on, and no child."""

    PROFILES = "tools: {spawn: {enabled: true, profiles: {writer: {}, reader: {}}}}"

    def test_each_wrong_call_is_an_error_and_makes_no_child(self):
        table = [
            ({}, "Error: task must not be empty"),
            ({"task": ""}, "Error: task must not be empty"),
            ({"task": " \n\t"}, "Error: task must not be empty"),
            ({"task": 7}, "Error: task must be a string, not a number"),
            ({"task": "x", "profile": "wirter"}, 'Error: unknown profile "wirter"; the profiles are: writer, reader'),
            ({"task": "x", "profile": ["writer"]}, "Error: profile must be a string, not an array"),
            ({"task": "x", "tools": "read,fly"}, 'Error: unknown tool "fly"; this agent has: '),
            ({"task": "x", "tools": 3}, "Error: tools must be a string, not a number"),
            ({"task": "x", "system_prompt": {}}, "Error: system_prompt must be a string, not an object"),
            ({"task": "x", "model": "big"}, 'Error: unknown argument "model"; spawn takes: '),
            ("{\"task\": \"x", "Error: "),
        ]
        calls = [{"name": "spawn", "arguments": arguments} for arguments, _ in table]
        run = Spawning(self, root(0, calls=calls), root(1, **END), config=self.PROFILES).run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(run.jobs, [])
        finished = [event["payload"] for event in run.of_type("tool.finished")]
        self.assertEqual([one["outcome"] for one in finished], ["error"] * len(table))
        results = tool_results(run.recorder.requests[-1])
        for (arguments, wanted), text in zip(table, results, strict=True):
            self.assertTrue(text.startswith(wanted), (arguments, text))
        self.assertEqual(run.result["tool_calls"], len(table))


class Walls(unittest.TestCase):
    def test_no_delegation_tool_is_ever_in_a_childs_request(self):
        calls = [call("spawn", task="JOB plain"), call("spawn", task="JOB asks", tools="spawn, spawn_await, spawn_agent, read"),
                 call("spawn", task="JOB profile", profile="boss"), call("spawn", task="JOB both", profile="boss", tools="fan_out")]
        run = Spawning(self, root(0, calls=calls), root(1, **AWAIT_ALL), root(2, **END),
                       rule({"calls": [call("spawn", task="deeper")]}, first_user="JOB plain", turn=0),
                       rule({"text": "done"}, first_user="JOB"),
                       config="tools: {spawn: {enabled: true, profiles: {boss: {tools: [read, spawn, delegate_task]}}}}").run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertTrue({"spawn", "spawn_await", "spawn_agent"} <= set(offered(run.recorder.of("ROOT")[0])))
        tools = {name: set(offered(run.recorder.of(f"JOB {name}")[0])) for name in ("plain", "asks", "profile", "both")}
        self.assertEqual({name: found & DELEGATION for name, found in tools.items()}, dict.fromkeys(tools, set()))
        self.assertIn("write", tools["plain"])
        self.assertEqual((tools["asks"], tools["profile"], tools["both"]), ({"read"}, {"read"}, set()))
        self.assertEqual(len(run.jobs), 4)  # the call that was not offered made none
        for row in run.space.children(run.id):
            permissions = json.loads(row["context_json"])["permissions"]
            self.assertEqual((permissions["can_spawn_children"], permissions["max_delegation_depth"]), (False, 0))

    def test_no_byte_of_the_parents_history_reaches_a_job(self):
        """The canary stands in the root's task, in its text, in a file that it read and in what a first job said."""
        run = Spawning(self, root(0, text="I know CANARY.", calls=[call("read", path="secret.txt")]),
                       root(1, calls=[call("spawn", task="JOB one")]), root(2, **AWAIT_ALL),
                       root(3, calls=[call("spawn", task="JOB two", system_prompt="Be brief.", context="look")]),
                       root(4, **AWAIT_ALL), root(5, **END),
                       child("JOB one", text="CANARY again"), child("JOB two", text="seen nothing"),
                       files={"secret.txt": "CANARY\n", "AGENTS.md": "Be kind.\n"}).run(task="ROOT CANARY")
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        of_jobs = [body for body in run.recorder.bodies if b"JOB" in body and b"ROOT" not in body]
        self.assertEqual(len(of_jobs), 2)
        for body in of_jobs:
            self.assertNotIn(b"CANARY", body)
        self.assertIn(b"CANARY", run.recorder.bodies[0])

    def test_jobs_of_another_agent_cannot_be_awaited(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a")]),
                       root(1, calls=[call("spawn_agent", task="OTHER JOB_0")]), root(2, **AWAIT_ALL), root(3, **END),
                       rule({"calls": [call("spawn_await", job_ids="{{match:1}}"), call("spawn_await", job_ids="*")]},
                            first_user_regex="OTHER (\\w+)", turn=0),
                       rule({"text": "they are not mine"}, first_user="OTHER"),
                       child("JOB a", text="a is done")).run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(tool_results(run.recorder.of("OTHER")[-1]), [f"[{run.jobs[0]}: NOT FOUND]", "No jobs found."])
        self.assertEqual(run.texts("spawn_await"), [f"[{run.jobs[0]}: OK]\na is done"])

    def test_the_tools_are_there_only_where_config_turns_them_on_and_the_mode_lets_them(self):
        for config, mode, expected in (("", "auto", False), ("tools: {spawn: {enabled: false}}", "auto", False),
                                       (SPAWN, "auto", True), (SPAWN, "safe", True), (SPAWN, "plan", False),
                                       (SPAWN + "\nsub_agent: {enabled: false}", "auto", True)):
            with self.subTest(config=config, mode=mode):
                run = Spawning(self, root(0, **END), config=config).run(mode=mode)
                tools = offered(run.recorder.requests[0])
                self.assertEqual(("spawn" in tools, "spawn_await" in tools), (expected, expected))


class Ending(unittest.TestCase):
    def test_a_root_that_ends_with_open_jobs_is_done_when_they_are(self):
        run = Spawning(self, BOTH, root(1, **END), child("JOB", text="done"))
        run.run_holding("JOB", lambda process: process.wait_for_event("run.joining"))
        self.assertEqual((run.done.returncode, run.result["response"], run.result["status"]), (0, "the end", "completed"),
                         run.done.stderr)
        kinds = [event["type"] for event in run.events]
        self.assertEqual(kinds.count("agent.subagent_closed"), 2)
        self.assertLess(kinds.index("run.joining"), kinds.index("agent.subagent_closed"))
        self.assertEqual(kinds[-1], "run.completed")
        self.assertEqual([event["payload"]["final_status"] for event in run.of_type("agent.subagent_closed")],
                         ["completed"] * 2)

    def test_jobs_that_are_open_at_the_deadline_are_cancelled(self):
        run = Spawning(self, BOTH, root(1, **END), child("JOB a", text="done"),
                       child("JOB b", text="late", delay_ms=50000),
                       config=SPAWN + "\nsub_agent: {default_budget: {timeout_ms: 60s}}").run("--timeout", "5s")
        kinds = [event["type"] for event in run.events]
        self.assertIn("run.joining", kinds)
        self.assertEqual(kinds.count("agent.subagent_closed"), 2)
        closed = {event["payload"]["task_id"]: event["payload"]["final_status"]
                  for event in run.of_type("agent.subagent_closed")}
        self.assertEqual([closed[job] for job in run.jobs], ["completed", "failed"])
        (failed,) = run.of_type("agent.subagent_failed")
        self.assertIn(failed["payload"]["outcome"], ("cancelled", "timeout"))
        self.assertEqual((run.done.returncode, run.result["response"], kinds[-1]), (0, "the end", "run.completed"))
        self.assertEqual([one["status"] for one in run.result["details"]["failed_children"]], [failed["payload"]["outcome"]])

    def test_a_cancelled_run_takes_its_jobs_with_it(self):
        run = Spawning(self, BOTH, root(1, **AWAIT_ALL), root(2, **END), child("JOB", text="late", delay_ms=50000))
        process = run.start()
        process.wait_for_event("agent.awaiting")
        self.assertEqual(run.space.run(["cancel", run.id]).returncode, 0)
        self.assertEqual(process.end(), 130)
        self.assertEqual({event["payload"]["outcome"] for event in run.of_type("agent.subagent_failed")}, {"cancelled"})
        self.assertEqual(len(run.of_type("agent.subagent_closed")), 2)

    def test_a_child_that_is_held_has_a_result_and_closes_when_it_is_merged(self):
        run = Spawning(self, root(0, calls=[call("spawn", task="JOB a")]), root(1, **AWAIT_ALL),
                       root(2, calls=[call("agent_merge", task_id="JOB_0")]), root(3, **AWAIT_ALL), root(4, **END),
                       child("JOB a", text="a is done"), config=SPAWN + "\nsub_agent: {close_on_completion: false}").run()
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        first, second = run.answers("spawn_await")
        self.assertEqual(first["payload"]["text"], f"[{run.jobs[0]}: OK]\na is done")
        (closed,) = run.of_type("agent.subagent_closed")
        self.assertLess(first["seq"], closed["seq"])
        self.assertLess(closed["seq"], second["seq"])
        self.assertEqual(closed["payload"]["final_status"], "completed")
        self.assertEqual(second["payload"]["text"], first["payload"]["text"])


class Killed(unittest.TestCase):
    """SIGKILL while jobs run; then `cadre resume`. What the jobs' models would say is held back until the kill."""

    RULES = (BOTH, root(1, calls=[call("ls", path=".")]), root(2, **AWAIT_ALL), root(3, **AWAIT_ALL), root(4, **END),
             rule({"calls": [call("read", path="a.txt")]}, first_user="JOB", turn=0),
             rule({"text": "a is done"}, first_user="JOB a"), rule({"text": "b is done"}, first_user="JOB b"))

    def check(self, event, count=1, held="JOB", turn=None):
        run = Spawning(self, *self.RULES, files={"a.txt": "one\n"})
        gate = run.recorder.hold(held, turn)
        process = run.start()
        process.wait_for_event(event, count)
        self.assertEqual(process.kill(), -9)
        gate.set()
        done = run.space.run(["resume", run.id, "--json"])
        self.assertEqual((done.returncode, json_lines(done.stdout)[-1]["response"]), (0, "the end"), done.stderr)
        one, two = run.jobs
        self.assertEqual(sorted(event["payload"]["task_id"] for event in run.of_type("agent.subagent_closed")),
                         sorted([one, two]))
        self.assertEqual(len(run.space.children(run.id)), 2)
        self.assertEqual(run.texts("spawn_await"), [f"[{one}: OK]\na is done\n\n[{two}: OK]\nb is done"] * 2)
        self.assertEqual([event["payload"]["final_status"] for event in run.of_type("agent.subagent_closed")],
                         ["completed"] * 2)

    def test_right_after_the_jobs_were_made(self):
        self.check("agent.subagent_created", 2)

    def test_while_the_files_of_a_prompt_are_read(self):
        self.check("tool.requested")

    def test_while_the_root_awaits_them(self):
        self.check("agent.awaiting", turn=1)

    def test_between_the_end_of_one_and_of_the_other(self):
        self.check("agent.subagent_closed", held="JOB b", turn=1)

    def test_while_a_root_that_has_ended_joins_them(self):
        run = Spawning(self, BOTH, root(1, **END), child("JOB", text="done"))
        gate = run.recorder.hold("JOB")
        process = run.start()
        process.wait_for_event("run.joining")
        process.kill()
        gate.set()
        done = run.space.run(["resume", run.id, "--json"])
        self.assertEqual((done.returncode, json_lines(done.stdout)[-1]["response"]), (0, "the end"), done.stderr)
        self.assertEqual(sorted(event["payload"]["task_id"] for event in run.of_type("agent.subagent_closed")),
                         sorted(run.jobs))
        self.assertEqual(len(run.jobs), 2)


if __name__ == "__main__":
    unittest.main()
