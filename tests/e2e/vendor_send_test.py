"""What vendors' servers are sent: names of parameters, ids of calls, roles that alternate, effort, schemas, headers. The servers are
strict: cadre-scripted (docs/scripted-model.md) and one that answers with the vendors' own errors."""
import json
import threading
import unittest

from harness import ModelServer, Workspace, json_lines
from vendors import VendorServer, chat_chunk, chat_say, chat_usage

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def script(*rules, model="scripted", **more):
    return {"models": [{"id": model, "window": 65536, "max_output": 32768}], "rules": list(rules), **more}


def call(name="read", path="a.txt", **more):
    return {"name": name, "arguments": {"path": path}, **more}


def chat_call(request, call_id, name="read", arguments='{"path": "a.txt"}'):
    """A streamed answer with one call (OpenAI API reference, "The chat completion chunk object")."""
    request.start()
    request.events(chat_chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function",
                                               "function": {"name": name, "arguments": arguments}}]}),
                   chat_chunk(finish="tool_calls"), chat_usage(100, 10), "[DONE]")


def unsupported(name, words="", status=400):
    """OpenAI's error for a parameter that a model does not take."""
    return {"error": {"message": f"Unsupported parameter: '{name}' is not supported with this model.{words}",
                      "type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}}, status


class Case(unittest.TestCase):
    maxDiff = None

    def drive(self, space, arguments, env=None):
        """Runs a task to its end: its result and events."""
        done = space.run(["run", "--mode", "auto", "--json", *arguments, "ROOT"], env=env)
        lines = json_lines(done.stdout)
        self.assertEqual(lines[-1].get("type"), "result", done.stderr)
        return lines[-1], space.events(lines[0]["run_id"])

    def of(self, events, kind):
        return [event["payload"] for event in events if event["type"] == kind]


class Families(Case):
    def test_newer_families_of_openai_are_asked_in_their_own_words(self):
        for model in ("gpt-5-mini", "gpt-6", "o4-mini"):
            with self.subTest(model), ModelServer(script({"reply": {"text": "done"}}, model=model)) as server, \
                    Workspace(config="llm: {temperature: 0.3, top_p: 0.5}\n") as space:
                result, _ = self.drive(space, [*server.flags(model), "--effort", "xhigh"])
                self.assertEqual(result["status"], "completed")
                self.assertEqual(server.stats()["without_limit"], 0)

    def test_claude_thinks_with_a_budget_or_as_much_as_it_sees_fit(self):
        rules = ({"when": {"turn": 0}, "reply": {"thinking": "hm", "calls": [call()]}}, {"reply": {"text": "done"}})
        for model in ("claude-sonnet-4-5", "claude-opus-4-7", "claude-3-5-haiku-20241022"):
            for effort in ("none", "minimal", "xhigh", "max"):
                with self.subTest(model=model, effort=effort), ModelServer(script(*rules, model=model)) as server, \
                        Workspace({"a.txt": "a"}, "llm: {temperature: 0.3}\n") as space:
                    result, _ = self.drive(space, [*server.flags(model), "--api", "anthropic", "--effort", effort],
                                           env={"ANTHROPIC_API_KEY": "key"})
                    self.assertEqual(result["status"], "completed")


class Learning(Case):
    def strict(self, refusals, answer=chat_say):
        """A server that refuses each named parameter as long as it is sent."""
        def serve(request):
            for name, error in refusals.items():
                if name in request.body:
                    request.json(*error)
                    return
            if answer is chat_say:
                chat_say(request, "done")
            else:
                answer(request)
        return VendorServer(serve)

    def test_a_request_goes_again_as_the_error_asks_and_the_server_is_remembered(self):
        refusals = {"max_tokens": unsupported("max_tokens", " Use 'max_completion_tokens' instead."),
                    "temperature": unsupported("temperature"),
                    "seed": ({"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"],
                                          "msg": "Extra inputs are not permitted"}]}, 422),
                    "stream_options": ({"error": {"message": "Unrecognized request argument supplied: stream_options",
                                                  "type": "invalid_request_error", "param": None, "code": None}}, 400)}

        def answer(request):
            if not any(message["role"] == "tool" for message in request.body["messages"]):
                chat_call(request, "theirs-1")
            else:
                chat_say(request, "done")
        with self.strict(refusals, answer) as server, \
                Workspace({"a.txt": "a"}, "llm: {temperature: 0.3, seed: 7}\n") as space:
            result, events = self.drive(space, server.flags())
            self.assertEqual(result["status"], "completed")
            # Four refusals once, and two turns.
            self.assertEqual(len(server.requests), 6)
            self.assertEqual(self.of(events, "model.failed"), [])
            self.assertEqual(len(self.of(events, "model.requested")), 2)
            for request in server.requests:
                limits = [name for name in ("max_tokens", "max_completion_tokens") if name in request.body]
                self.assertEqual(len(limits), 1, request.body.keys())
            last = server.requests[-1].body
            self.assertFalse(last.keys() & refusals.keys())
            self.assertGreater(last["max_completion_tokens"], 0)

    def test_a_server_that_refuses_whatever_is_sent_is_not_asked_for_ever(self):
        def answer(request):
            name = next((name for name in ("temperature", "top_p", "seed", "stop", "reasoning_effort", "stream_options")
                         if name in request.body), "max_tokens" if "max_tokens" in request.body else
                        "max_completion_tokens")
            request.json(*unsupported(name))
        config = "llm: {temperature: 0.3, top_p: 0.5, seed: 7, stop: [END], effort: high}\n"
        with VendorServer(answer) as server, Workspace(config=config) as space:
            result, events = self.drive(space, server.flags())
            self.assertEqual(result["status"], "error")
            self.assertLess(len(server.requests), 20)
            for request in server.requests:
                self.assertTrue({"max_tokens", "max_completion_tokens"} & request.body.keys())

    def test_a_server_that_changes_its_mind_costs_one_try(self):
        def answer(request):  # a router in front of several models
            if request.number == 0:
                chat_call(request, "c1")
            elif "temperature" in request.body:
                request.json(*unsupported("temperature"))
            else:
                chat_say(request, "done")
        with VendorServer(answer) as server, Workspace({"a.txt": "a"}, "llm: {temperature: 0.3}\n") as space:
            result, events = self.drive(space, server.flags())
            self.assertEqual(result["status"], "completed")
            self.assertEqual(["temperature" in request.body for request in server.requests], [True, True, False])
            self.assertEqual([failed["class"] for failed in self.of(events, "model.failed")], ["retry"])

    def test_a_request_that_was_sent_again_can_be_aborted(self):
        def answer(request):
            if "temperature" in request.body:
                request.json(*unsupported("temperature"))
                return
            request.start()
            while request.write(": still here\n\n"):
                gone.wait(0.1)
        gone = threading.Event()
        with VendorServer(answer) as server, Workspace(config="llm: {temperature: 0.3}\n") as space:
            self.addCleanup(gone.set)
            result, _ = self.drive(space, [*server.flags(), "--timeout", "5s"])
            self.assertEqual(result["status"], "timeout")
            self.assertEqual(["temperature" in request.body for request in server.requests[:2]], [True, False])

    def test_what_a_user_set_in_vain_is_not_paid_for(self):
        refusals = {"temperature": unsupported("temperature")}
        config = "llm: {temperature: 0.3, models: {m: {provider: p, model: v, price_in: 1, price_out: 1}}, " \
                 "providers: {p: {base_url: \"%s\"}}}\n"
        with self.strict(refusals) as server, Workspace(config=config % server.url) as space:
            result, events = self.drive(space, ["--max-cost", "1"])
            self.assertEqual(result["status"], "completed")
            self.assertEqual(len(server.requests), 2)
            self.assertAlmostEqual(result["cost_usd"], 110e-6)

    # Groq: 'messages.2' : for 'role:assistant' the following must be satisfied[(…)]
    def test_reasoning_that_a_server_does_not_take_back_is_refused_once(self):
        words = "'messages.%d' : for 'role:assistant' the following must be satisfied[('messages.%d' : property " \
                "'reasoning_content' is unsupported)]"

        def echoed(request):
            return [i for i, message in enumerate(request.body["messages"]) if "reasoning_content" in message]

        def answer(request):
            if echoed(request):
                i = echoed(request)[0]
                request.json({"error": {"message": words % (i, i), "type": "invalid_request_error"}}, 400)
            elif sum(message["role"] == "tool" for message in request.body["messages"]) < 2:
                request.start()
                request.events(chat_chunk({"reasoning_content": "hm"}),
                               chat_chunk({"tool_calls": [{"index": 0, "id": f"c{request.number}", "type": "function",
                                                           "function": {"name": "read", "arguments": '{"path": "a.txt"}'}}]}),
                               chat_chunk(finish="tool_calls"), chat_usage(100, 10), "[DONE]")
            else:
                chat_say(request, "done")
        with VendorServer(answer) as server, Workspace({"a.txt": "a"}) as space:
            result, events = self.drive(space, server.flags())
            self.assertEqual(result["status"], "completed")
            self.assertEqual([len(echoed(request)) for request in server.requests], [0, 1, 0, 0])
            self.assertEqual(self.of(events, "model.failed"), [])

    # Anthropic-compatible gateways that do not know the member refuse it empty as well.
    def test_a_member_that_was_emptied_goes_with_its_last_parameter(self):
        refused = ({"type": "error", "error": {"type": "invalid_request_error",
                                               "message": "output_config: Extra inputs are not permitted"}}, 400)

        def answer(request):
            request.json({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
                          "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
                          "usage": {"input_tokens": 10, "output_tokens": 5}})
        config = "llm: {effort: high, models: {m: {provider: p, model: claude-opus-4-6}}, " \
                 "providers: {p: {api: anthropic, base_url: \"%s\"}}}\n"
        with self.strict({"output_config": refused}, answer) as server, Workspace(config=config % server.url) as space:
            result, _ = self.drive(space, [])
            self.assertEqual(result["status"], "completed")
            self.assertEqual([request.body.get("output_config") for request in server.requests], [{"effort": "high"}, None])

    # OpenAI API: "Unsupported value: 'temperature' does not support 0.3 with this model. …"
    def test_what_a_user_set_in_vain_is_told_once(self):
        said = "Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is supported"
        refusals = {"temperature": ({"error": {"message": said + ".", "type": "invalid_request_error",
                                               "param": "temperature", "code": "unsupported_value"}}, 400),
                    "stream_options": unsupported("stream_options")}  # nobody asked for this one

        def answer(request):
            if any(message["role"] == "tool" for message in request.body["messages"]):
                chat_say(request, "done")
            else:
                chat_call(request, "c1")
        config = "llm: {temperature: 0.3, models: {m: {provider: p, model: v}}, providers: {p: {base_url: \"%s\"}}}\n"
        with self.strict(refusals, answer) as server, Workspace({"a.txt": "a"}, config % server.url) as space:
            done = space.run(["run", "--mode", "auto", "--json", "ROOT"])
            lines = json_lines(done.stdout)
            self.assertEqual(lines[-1]["status"], "completed")
            replies = self.of(space.events(lines[0]["run_id"]), "model.replied")
            self.assertEqual(len(replies), 2)
            notices = [reply["notice"] for reply in replies if "notice" in reply]
            self.assertEqual(notices, [f"provider p, model v: requests go without temperature, because the server refused it "
                                       f"({said}); change or remove this setting"])
            self.assertEqual([line for line in done.stderr.splitlines() if "warning" in line], ["cadre: warning: " + notices[0]])
            self.assertIn(f"notice     {notices[0]}\n", space.run(["show", "last"]).stdout)
            self.assertEqual(json_lines(space.run(["show", "last", "--json"]).stdout)[0]["notices"], notices)

    def test_what_the_table_leaves_out_is_told_once(self):
        for model, name in (("gpt-4.1", "effort"), ("gpt-5", "temperature")):
            def answer(request):
                if any(message["role"] == "tool" for message in request.body["messages"]):
                    chat_say(request, "done")
                else:
                    chat_call(request, "c1")
            config = "llm: {temperature: 0.3, effort: high, models: {m: {provider: p, model: %s}}, " \
                     "providers: {p: {base_url: \"%s\"}}}\n"
            with self.subTest(model), VendorServer(answer) as server, \
                    Workspace({"a.txt": "a"}, config % (model, server.url)) as space:
                done = space.run(["run", "--mode", "auto", "--json", "ROOT"])
                self.assertEqual(json_lines(done.stdout)[-1]["status"], "completed")
                self.assertEqual(len(server.requests), 2)
                self.assertEqual([line for line in done.stderr.splitlines() if "warning" in line],
                                 [f"cadre: warning: provider p, model {model}: requests go without {name}, because this model "
                                  "does not take it, as far as cadre knows; change or remove this setting"])

    # extra_body is sent as it is, whatever the table says.
    def test_what_extra_body_sends_is_not_told_as_left_out(self):
        config = "llm: {temperature: 0.3, models: {m: {provider: p, model: gpt-5}}, " \
                 "providers: {p: {base_url: \"%s\", extra_body: {temperature: 0.3}}}}\n"
        with VendorServer(lambda request: chat_say(request, "done")) as server, \
                Workspace(config=config % server.url) as space:
            done = space.run(["run", "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(server.requests[0].body["temperature"], 0.3)
            self.assertNotIn("requests go without", done.stderr)

    # OpenAI API: "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you
    # provided 8192."
    def test_an_output_limit_that_is_too_high_is_lowered_once(self):
        def answer(request):
            asked = request.body["max_tokens"]
            if asked > 4096:
                request.json({"error": {"message": f"max_tokens is too large: {asked}. This model supports at most 4096 "
                                                   f"completion tokens, whereas you provided {asked}.",
                                        "param": "max_tokens"}}, 400)
            elif len(server.requests) < 3:
                chat_call(request, "c1")
            else:
                chat_say(request, "done")
        with VendorServer(answer) as server, Workspace({"a.txt": "a"}) as space:
            result, events = self.drive(space, server.flags())
            self.assertEqual(result["status"], "completed")
            self.assertEqual([request.body["max_tokens"] for request in server.requests], [8192, 4096, 4096])
            self.assertEqual(self.of(events, "model.failed"), [])

    def test_an_error_about_something_else_is_not_asked_again(self):
        errors = ({"error": {"message": "messages: roles must alternate", "type": "invalid_request_error"}},
                  {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}})
        for error in errors:
            with self.subTest(error), VendorServer(lambda request, e=error: request.json(e, 400)) as server, \
                    Workspace() as space:
                result, _ = self.drive(space, server.flags())
                self.assertEqual(result["status"], "error")
                self.assertEqual(len(server.requests), 1)


class Conversation(Case):
    # Mistral API: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9."
    def test_ids_fit_a_server_that_takes_nine_characters(self):
        rules = ({"when": {"turn": 0}, "reply": {"calls": [call(), call(path="b.txt")]}},
                 {"when": {"turn": 1}, "reply": {"calls": [call()]}}, {"reply": {"text": "done"}})
        with ModelServer(script(*rules, ids="mistral", template="alternating")) as server, \
                Workspace({"a.txt": "a", "b.txt": "b"}) as space:
            result, _ = self.drive(space, server.flags())
            self.assertEqual((result["status"], result["tool_calls"]), ("completed", 3))

    def test_a_provider_gets_its_ids_back_and_another_one_gets_nine_characters(self):
        def first(request):  # Kimi's shape of ids; then out of order
            if request.number == 0:
                chat_call(request, "functions.read:0")
            elif request.number == 1:
                chat_call(request, "functions.read:1")
            else:
                request.json({"error": {"message": "no such model"}}, 404)
        with VendorServer(first) as one, \
                ModelServer(script({"reply": {"text": "done"}}, ids="mistral", template="alternating")) as two:
            config = f"""llm:
  providers: {{one: {{base_url: "{one.url}"}}, two: {{base_url: "{two.url}"}}}}
  models: {{a: {{provider: one, model: v}}, b: {{provider: two, model: scripted}}}}
  pools: {{default: [{{model: a}}, {{model: b}}]}}
"""
            with Workspace({"a.txt": "a"}, config) as space:
                result, _ = self.drive(space, [])
                self.assertEqual(result["status"], "completed")
        messages = one.requests[2].body["messages"]
        self.assertEqual([c["id"] for m in messages for c in m.get("tool_calls", [])],
                         ["functions.read:0", "functions.read:1"])
        self.assertEqual([m["tool_call_id"] for m in messages if m["role"] == "tool"],
                         ["functions.read:0", "functions.read:1"])

    def test_an_id_that_a_server_repeats_does_not_come_back_twice(self):
        for api in ("openai", "anthropic", "responses"):
            rules = ({"when": {"turn": 0}, "reply": {"calls": [call(id="call_0")]}},
                     {"when": {"turn": 1}, "reply": {"calls": [call(id="call_0")]}}, {"reply": {"text": "done"}})
            with self.subTest(api), ModelServer(script(*rules)) as server, Workspace({"a.txt": "a"}) as space:
                result, _ = self.drive(space, [*server.flags(), "--api", api],
                                       env={"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key"})
                self.assertEqual((result["status"], result["tool_calls"]), ("completed", 2))

    def test_neighbours_are_joined_where_roles_must_alternate(self):
        rules = ({"when": {"last": "answer"}, "reply": {"text": "done"}}, {"reply": {"text": ""}})
        with ModelServer(script(*rules, template="alternating")) as server, Workspace() as space:
            self.drive(space, server.flags())
            self.assertGreater(server.stats()["accepted"], 1)


    # mistral-common, validator.py: "Unexpected role 'user' after role 'tool'"; chat templates count turns in the same way.
    def test_a_notice_behind_results_does_not_break_the_order_of_roles(self):
        rules = ({"when": {"first_user": "PART"}, "reply": {"calls": [call()], "text": "let me see"}},
                 {"when": {"first_user": "ROOT", "turn": 0},
                  "reply": {"calls": [{"name": "spawn_agent", "arguments": {"task": "PART", "max_tool_calls": 2}}]}},
                 {"reply": {"text": "done"}})
        for provider, refused in (("mistral", 0), ("local", 1)):
            server = ModelServer(script(*rules, template="alternating"))
            self.addCleanup(server.stop)
            config = f"""llm:
  providers: {{{provider}: {{base_url: "{server.url}"}}}}
  models: {{m: {{provider: {provider}, model: scripted}}}}
"""
            with self.subTest(provider), Workspace({"a.txt": "a"}, config) as space:
                result, events = self.drive(space, [])
                self.assertEqual(result["status"], "completed")
                self.assertEqual(self.of(events, "model.failed"), [])
                self.assertTrue([note for note in self.of(events, "agent.message")
                                 if (note.get("note") or "").startswith("last_turn")])
                self.assertEqual(server.stats()["refused"], refused)


class Requests(Case):
    def test_all_tries_of_a_request_have_one_client_id_and_each_request_its_own(self):
        def answer(request):
            if request.number == 0:
                request.json({"error": {"message": "busy"}}, 503, {"Retry-After": "0"})
            elif request.number == 1:
                chat_call(request, "c1")
            else:
                chat_say(request, "done")
        with VendorServer(answer) as server, Workspace({"a.txt": "a"}) as space:
            result, _ = self.drive(space, server.flags())
            self.assertEqual(result["status"], "completed")
            ids = [request.headers["X-Client-Request-Id"] for request in server.requests]
        self.assertEqual(len(ids), 3)
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[1], ids[2])

    # Azure OpenAI REST API reference, "Chat completions": the deployment in the path, api-version in the query, api-key.
    def test_azure_has_its_own_path_query_and_key_header(self):
        with VendorServer(lambda request: chat_say(request, "done")) as server:
            base = server.url.removesuffix("/v1") + "/openai/deployments/mine?api-version=2024-10-21"
            config = f"""llm:
  providers: {{azure: {{base_url: "{base}", api_key_env: AZURE_KEY}}}}
  models: {{m: {{provider: azure, model: gpt-4o}}}}
"""
            with Workspace(config=config) as space:
                result, _ = self.drive(space, [], env={"AZURE_KEY": "secret-key"})
                self.assertEqual(result["status"], "completed")
        request = server.requests[0]
        self.assertEqual(request.path, "/openai/deployments/mine/chat/completions?api-version=2024-10-21")
        self.assertEqual(request.headers.get("api-key"), "secret-key")
        self.assertNotIn("Authorization", request.headers)
        self.assertIn("max_completion_tokens", request.body)

    # OpenRouter API reference, "Provider routing" and "App attribution".
    def test_headers_and_members_of_the_config_reach_the_server(self):
        with VendorServer(lambda request: chat_say(request, "done")) as server:
            config = f"""llm:
  temperature: 0.25
  providers:
    gate: {{base_url: "{server.url}", headers: {{X-Title: mine, X-Tenant: "$TENANT"}},
           extra_body: {{provider: {{order: [a]}}, temperature: null, stream_options: {{include_usage: true, x: 1}}}}}}
  models: {{m: {{provider: gate, model: v}}}}
"""
            with Workspace(config=config) as space:
                result, _ = self.drive(space, [], env={"TENANT": "tenant-secret"})
                self.assertEqual(result["status"], "completed")
                self.assertNotIn(b"tenant-secret", space.store.read_bytes())
        request = server.requests[0]
        self.assertEqual((request.headers["X-Title"], request.headers["X-Tenant"]), ("mine", "tenant-secret"))
        self.assertEqual(request.body["provider"], {"order": ["a"]})
        self.assertEqual(request.body["stream_options"], {"include_usage": True, "x": 1})
        self.assertNotIn("temperature", request.body)

    def test_effort_and_sampling_reach_the_server(self):
        config = "llm: {temperature: 0.25, top_p: 0.5, seed: 7, stop: [END, STOP]}\n"
        with VendorServer(lambda request: chat_say(request, "done")) as server, Workspace(config=config) as space:
            self.drive(space, [*server.flags(), "--effort", "low"])
        body = server.requests[0].body
        self.assertEqual({name: body.get(name) for name in ("temperature", "top_p", "seed", "stop", "reasoning_effort")},
                         {"temperature": 0.25, "top_p": 0.5, "seed": 7, "stop": ["END", "STOP"], "reasoning_effort": "low"})


class Schemas(Case):
    """OpenAI's guide "Structured outputs": response_format; servers that do not know it are asked without."""

    def answer(self, refused):
        def serve(request):
            if refused and "response_format" in request.body:  # DeepSeek's words
                request.json({"error": {"message": "This response_format type is unavailable now",
                                        "type": "invalid_request_error", "param": None}}, 400)
            else:
                chat_say(request, '{"n": 3}')
        return serve

    def ask(self, provider, refused):
        """The bodies of the requests, and the run's events."""
        with VendorServer(self.answer(refused)) as server:
            config = f"""llm:
  providers: {{{provider}: {{base_url: "{server.url}"}}}}
  models: {{m: {{provider: {provider}, model: v}}}}
"""
            with Workspace({"schema.json": json.dumps(SCHEMA)}, config) as space:
                result, events = self.drive(space, ["--output-schema", "schema.json"])
                self.assertEqual(result["status"], "completed")
                return [request.body for request in server.requests], events

    def test_the_schema_of_an_answer_is_sent_beside_tools_where_the_vendor_allows_it(self):
        bodies, _ = self.ask("azure", refused=False)
        self.assertEqual(len(bodies), 1)
        self.assertEqual(bodies[0]["response_format"],
                         {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}})

    def test_where_it_is_refused_the_prompt_alone_asks_for_the_schema(self):
        bodies, events = self.ask("azure", refused=True)
        self.assertEqual(["response_format" in body for body in bodies], [True, False])
        self.assertEqual(self.of(events, "model.failed"), [])

    # vLLM and llama.cpp hold a grammar against calls: beside tools it is not sent to a server that is not known.
    def test_it_is_not_sent_beside_tools_to_a_server_that_is_not_known(self):
        bodies, _ = self.ask("some", refused=False)
        self.assertIn("tools", bodies[0])
        self.assertNotIn("response_format", bodies[0])


if __name__ == "__main__":
    unittest.main()
