"""One governor per provider: a refusal that one agent sees slows down all, and everything is done in the end. The server's
own count is the judge."""
import socket
import unittest

from harness import ModelServer, Workspace, json_lines

CHILDREN = 20


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def family(child):
    """A root that starts children and ends after them; each child answers as told."""
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}],
            "rules": [rule({"calls": [{"name": "spawn_agent", "repeat": CHILDREN,
                                       "arguments": {"task": "CHILD {{index}}"}}]}, first_user="ROOT", turn=0),
                      rule({"text": "all are done"}, first_user="ROOT"),
                      rule(child, first_user="CHILD")]}


def of_type(events, kind):
    return [event["payload"] for event in events if event["type"] == kind]


class Refused(unittest.TestCase):
    def start(self, child, flags=()):
        with ModelServer(family(child)) as server, Workspace() as space:
            done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "--max-concurrent", str(CHILDREN),
                              *flags, "ROOT"])
            self.stats = server.idle()
            self.result = json_lines(done.stdout)[-1]
            self.events = space.events(self.result["run_id"])
            return done

    def test_a_burst_that_is_refused_is_repeated_once_and_everything_is_done(self):
        done = self.start({"status": 429, "error": "slow down", "retry_after": "1", "fail_times": CHILDREN,
                           "then": {"text": "done"}})
        self.assertEqual((done.returncode, self.result["response"]), (0, "all are done"), done.stderr)
        self.assertEqual((self.stats["failures"], self.stats["requests"]), (CHILDREN, 2 + 2 * CHILDREN))

    def test_a_provider_that_goes_on_refusing_is_asked_less_and_less(self):
        # 20, then at most 10, 5, 2, 1, 1 … a second; without a governor all would ask every second, 4 times each.
        done = self.start({"status": 429, "error": "slow down", "retry_after": "1"}, ["--timeout", "8s"])
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertLessEqual(self.stats["failures"], CHILDREN * 5 // 2)

        failed = of_type(self.events, "model.failed")
        waited = [payload for payload in failed if payload.get("sent") == "no"]
        self.assertGreater(len(waited), 0)
        self.assertEqual({payload["class"] for payload in waited}, {"cancelled"})
        self.assertEqual(len(failed) - len(waited), self.stats["failures"])


class NoServer(unittest.TestCase):
    def test_a_server_that_is_not_there_costs_nothing(self):
        with socket.socket() as reserved, Workspace() as space:
            reserved.bind(("127.0.0.1", 0))  # it does not listen
            url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
            done = space.run(["run", "--base-url", url, "--model", "m", "--json", "task"])
            result = json_lines(done.stdout)[-1]
            events = space.events(result["run_id"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual({payload.get("sent") for payload in of_type(events, "model.failed")}, {"no"})
        self.assertEqual((result["tokens"], result["cost_usd"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
