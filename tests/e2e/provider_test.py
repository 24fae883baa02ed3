"""What llm.providers and llm.models say of a server holds: requests at once, deadlines, prices of cached input. The
server's own count and the log are the judges."""
import json
import unittest

from harness import ModelServer, Workspace, json_lines

CHILDREN = 12


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def config(url, provider="", model="", api="openai"):
    return f"""llm:
  providers: {{local: {{api: {api}, base_url: "{url}", api_key_env: SOME_KEY{provider}}}}}
  models: {{m: {{provider: local, model: scripted, max_context_tokens: 32768{model}}}}}
"""


class Bounds(unittest.TestCase):
    def start(self, text, *flags):
        with Workspace(config=text) as space:
            done = space.run(["run", "--mode", "auto", "--json", *flags, "ROOT"], env={"SOME_KEY": "sk-test"})
            lines = json_lines(done.stdout)
            self.assertEqual(lines[-1].get("type"), "result", done.stderr)
            return lines[-1], space.events(lines[0]["run_id"])

    def family(self, limit):
        """The most requests that the server had at once, of a root and its children."""
        rules = [{"when": {"first_user": "ROOT", "turn": 0},
                  "reply": {"calls": [{"name": "spawn_agent", "repeat": CHILDREN,
                                       "arguments": {"task": "CHILD {{index}}"}}]}},
                 {"when": {"first_user": "ROOT"}, "reply": {"text": "all are done"}},
                 {"when": {"first_user": "CHILD"}, "reply": {"text": "done", "delay_ms": 400}}]
        with ModelServer(script(*rules)) as server:
            provider = f", max_concurrent: {limit}" if limit else ""
            result, _ = self.start(config(server.url, provider), "--max-concurrent", str(CHILDREN))
            self.assertEqual(result["status"], "completed")
            return server.stats()["max_concurrent"]

    def test_no_more_requests_are_under_way_than_the_provider_bears(self):
        self.assertEqual(self.family(2), 2)

    def test_without_a_maximum_all_children_ask_at_once(self):
        self.assertGreater(self.family(None), 2)

    def test_a_provider_that_takes_longer_than_its_first_byte_is_given_up(self):
        slow = {"reply": {"text": "late", "delay_ms": 60000}}
        with ModelServer(script(slow)) as server:
            _, events = self.start(config(server.url, ", first_byte_ms: 1000"), "--timeout", "20s")
            failed = [event["payload"] for event in events if event["type"] == "model.failed"]
        self.assertGreaterEqual(len(failed), 1)
        self.assertRegex(json.dumps(failed[0]), r"\b1(\.0)? ?s\b")

    def cost(self, model, usage, api="openai"):
        reply = {"reply": {"text": "done", "usage": usage}}
        with ModelServer(script(reply)) as server:
            result, events = self.start(config(server.url, model=model, api=api))
        settled = [event["payload"] for event in events if event["type"] == "budget.settled"]
        reserved = [event["payload"] for event in events if event["type"] == "budget.reserved"]
        return result["cost_usd"], settled, reserved

    USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
             "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300}}
    PRICES = ", price_in: 3, price_out: 15, price_cached: 0.3, price_cache_write: 3.75"

    def test_cached_input_and_cache_writes_cost_what_their_prices_say(self):
        for api in ("openai", "anthropic"):
            with self.subTest(api):
                cost, settled, reserved = self.cost(self.PRICES, self.USAGE, api)
                self.assertAlmostEqual(cost, (600 * 0.3 + 300 * 3.75 + 100 * 3 + 10 * 15) / 1e6, 12)
                self.assertAlmostEqual(settled[0]["used_cost_nano"] / 1e9, cost, 12)
                self.assertGreaterEqual(reserved[0]["cost_nano"] / 1e9, cost)

    def test_without_prices_for_the_cache_all_input_costs_the_same(self):
        cost, _, _ = self.cost(", price_in: 3, price_out: 15", self.USAGE)
        self.assertAlmostEqual(cost, (1000 * 3 + 10 * 15) / 1e6, 12)


if __name__ == "__main__":
    unittest.main(verbosity=2)
