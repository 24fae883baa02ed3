"""`cadre agents`: profiles, the registry and pins as records of the store. Every word of it, with the real program: what is
refused changes nothing, of two writers one wins and the other is told, pins count in their order, and nothing that is
stored can reach a terminal raw."""
import json
import os
import pwd
import sqlite3
import unittest

from harness import Process, Workspace, json_lines, program

WRITER = {"id": "profile:writer:v1", "provider": "local", "model": "scripted", "allowed_tools": ["read", "write"]}
EDITOR = {"id": "profile:editor:v1", "provider": "local", "model": "scripted"}
USER = pwd.getpwuid(os.getuid()).pw_name
REGISTRY = "agent-registry:default"


class Agents(unittest.TestCase):
    """A store of its own for each test."""

    def setUp(self):
        self.space = Workspace()
        self.addCleanup(self.space.close)

    def cadre(self, *words, code=0, env=None):
        """Runs `cadre agents WORDS`, with the store named behind "agents"; gives what it printed."""
        done = self.space.run(["agents", *words], env)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        self.errors = done.stderr
        return done.stdout

    def json(self, *words, code=0, env=None):
        return json_lines(self.cadre(*words, "--json", code=code, env=env))

    def file(self, value):
        path = self.space.files / "value.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    def put_profile(self, profile, *words, code=0):
        return self.cadre("profile", "put", self.file(profile), *words, code=code)

    def fill(self):
        """Two profiles, and @writer with the first."""
        self.put_profile(WRITER)
        self.put_profile(EDITOR)
        self.cadre("register", "@writer", "profile:writer:v1", "Writes docs")

    def agent(self, name="@writer"):
        return self.json("show", name)[0]["agent"]

    def record(self, record_id):
        """The record as it stands in the store, or None."""
        rows = self.space.query("SELECT * FROM records WHERE resource_id = ?", record_id)
        return rows[0] if rows else None


class Registering(Agents):
    def test_an_agent_is_registered_listed_shown_and_unregistered(self):
        self.fill()
        self.assertEqual(self.record(REGISTRY)["resource_type"], "policy")
        self.assertRegex(self.cadre("list"), r"(?m)^@writer +profile:writer:v1 +Writes docs$")
        self.assertEqual(self.cadre("list"), self.cadre())
        (line,) = self.json("show", "@writer")
        self.assertEqual(line["agent"]["description"], "Writes docs")
        self.assertEqual(line["profile"], WRITER)
        self.assertNotIn("allowedForwardSkills", line["agent"])
        self.assertEqual(line["agent"]["allowedMcpServers"], [])
        self.cadre("unregister", "@writer")
        self.assertEqual(self.json("list"), [])
        self.cadre("show", "@writer", code=2)
        self.cadre("unregister", "@writer", code=2)

    def test_registering_again_keeps_tags_and_lists_unless_they_are_given(self):
        self.fill()
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--tags", "a,b", "--forward-skills", "skill:x",
                   "--allow-forward-skills", "skill:x,skill:y", "--mcp", "mcp:docs", "--allow-mcp", "mcp:docs,mcp:web")
        before = self.agent()
        self.cadre("register", "@writer", "profile:editor:v1", "Edits")
        self.assertEqual(self.agent(), {**before, "profileId": "profile:editor:v1", "description": "Edits"})
        self.cadre("register", "@writer", "profile:editor:v1", "Edits", "--tags", "none")
        self.assertEqual(self.agent()["tags"], [])
        self.assertEqual(self.agent()["allowedMcpServers"], ["mcp:docs", "mcp:web"])

    def test_none_is_an_empty_list_and_never_unrestricted(self):
        self.fill()
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--allow-forward-skills", "none")
        self.assertEqual(self.agent()["allowedForwardSkills"], [])
        self.assertRegex(self.cadre("show", "@writer"), r"(?m)^may forward skills +none$")
        for wrong in ["a,none", "a,,b", ",", "none,"]:
            self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--allow-forward-skills", wrong, code=2)

    def test_a_default_that_is_not_allowed_is_a_mistake(self):
        self.fill()
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--mcp", "docs", code=2)
        self.assertIn("--allow-mcp", self.errors)
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--forward-skills", "x",
                   "--allow-forward-skills", "none", code=2)
        self.assertIn("--allow-forward-skills", self.errors)

    def test_a_description_holds_any_character_of_one_line(self):
        self.fill()
        for text in ["a | b || c", "--- \"quotes\" 'and' \\ $(x) {}", "ünï ☃ 👩‍💻", "x" * 300]:
            self.cadre("register", "--", "@writer", "profile:writer:v1", text)
            self.assertEqual(self.agent()["description"], text)
        for text in ["two\nlines", "bell\a", "x" * 301, "   "]:
            self.cadre("register", "@writer", "profile:writer:v1", text, code=2)
            self.assertIn("agents[0].description: must ", self.errors)

    def test_what_is_stored_reaches_a_terminal_cleaned(self):
        self.fill()
        self.cadre("register", "@writer", "profile:writer:v1", "left \u202e right")
        for words in [["list"], ["show", "@writer"]]:
            self.assertIn("left  right", self.cadre(*words))

    def test_an_unknown_profile_or_word_or_option_is_refused(self):
        self.fill()
        self.cadre("register", "@other", "profile:gone", "Writes", code=2)
        self.assertIn("agents[1].profileId: there is no profile profile:gone", self.errors)
        self.cadre("regster", "@other", code=2)
        self.assertIn("did you mean register", self.errors)
        self.cadre("list", "--tags", "a", code=2)
        self.cadre("register", "@other", "profile:writer:v1", code=2)
        self.assertIn("too few words: cadre agents register @AGENT PROFILE_ID", self.errors)


class Versions(Agents):
    def registry(self, description="Writes"):
        return {"version": 1, "agents": [{"agentId": "@writer", "profileId": "profile:writer:v1",
                                          "description": description}]}

    def test_of_two_writers_with_one_version_one_wins_and_the_other_is_told(self):
        self.fill()
        version = self.json("registry", "get")[0]["version"]
        processes = []
        for number in range(8):
            path = self.space.files / f"{number}.json"
            path.write_text(json.dumps(self.registry(f"writer {number}")))
            processes.append(self.space.start(["agents", "registry", "put", str(path), "--if-version", str(version),
                                               "--json"]))
        codes = [process.end() for process in processes]
        self.assertEqual(sorted(codes), [0] + [1] * 7, [process.errors for process in processes])
        winner = codes.index(0)
        self.assertEqual(self.agent()["description"], f"writer {winner}")
        self.assertEqual(processes[winner].lines[-1]["version"], version + 1)
        for number, process in enumerate(processes):
            if number != winner:
                self.assertIn(f"has version {version + 1}, written by {USER}; expected version {version}",
                              process.errors)
                self.assertEqual(process.lines[-1]["class"], "retry")
        self.assertEqual(len(self.space.query("SELECT * FROM records_history WHERE resource_id = ?", REGISTRY)), 2)

    def test_an_invalid_write_tells_everything_and_changes_nothing(self):
        self.fill()
        before = self.record(REGISTRY)
        bad = {"version": 1, "more": 1, "agents": [
            {"agentId": "@Writer", "profileId": "profile:gone", "description": "x" * 301},
            {"agentId": "@ok", "profileId": "profile:writer:v1", "description": "d", "tags": "a"}]}
        (line,) = self.json("registry", "put", self.file(bad), "--if-version", "1", code=2)
        self.assertEqual({problem["path"] for problem in line["problems"]},
                         {"more", "agents[0].agentId", "agents[0].profileId", "agents[0].description",
                          "agents[1].tags"})
        for problem in line["problems"]:
            self.assertIn(f"{problem['path']}: {problem['message']}", self.errors)
        for text in ["", "{", "[]", "null", "{\"version\":1}{}", "\xff", "[" * 100000]:
            self.cadre("registry", "put", self.file(text), "--if-version", "1", code=2)
        self.assertEqual(self.record(REGISTRY), before)
        self.assertEqual(len(self.space.query("SELECT * FROM records_history WHERE resource_id = ?", REGISTRY)), 1)

    def test_the_registry_is_edited_as_a_document(self):
        self.fill()
        document = json.loads(self.cadre("registry", "get"))
        self.assertIn("version 1", self.errors)
        document["agents"].append({"agentId": "@editor", "profileId": "profile:editor:v1", "description": "Edits"})
        self.cadre("registry", "put", self.file(document), code=2)
        self.assertIn("--if-version N; the present one is 1", self.errors)
        self.cadre("registry", "put", self.file(document), "--if-version", "1")
        self.assertEqual([line["agent"]["agentId"] for line in self.json("list")], ["@writer", "@editor"])
        self.cadre("registry", "put", self.file(document), "--if-version", "0", code=1)
        self.cadre("registry", "put", self.file(document), "--if-version", "-1", code=2)

    def test_every_write_can_name_the_version_that_it_saw(self):
        self.fill()
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--if-version", "7", code=1)
        self.cadre("unregister", "@writer", "--if-version", "7", code=1)
        self.cadre("pin", "@writer", "--user", "--if-version", "7", code=1)
        self.cadre("profile", "remove", "profile:editor:v1", "--if-version", "7", code=1)
        self.assertEqual(self.agent()["description"], "Writes docs")
        self.cadre("register", "@writer", "profile:writer:v1", "Writes", "--if-version", "1")

    def test_history_tells_who_did_what(self):
        self.fill()
        self.cadre("pin", "@writer", "--global")
        self.cadre("unpin", "--global")
        lines = self.json("history")
        self.assertEqual([(line["resource_id"], line["version"], line["removed"]) for line in lines],
                         [("profile-pin:global", 2, True), ("profile-pin:global", 1, False), (REGISTRY, 1, False),
                          ("profile:editor:v1", 1, False), ("profile:writer:v1", 1, False)])
        self.assertEqual({line["who"] for line in lines}, {USER})
        self.assertEqual(lines[1]["value"], {"profileId": "profile:writer:v1"})
        self.assertEqual(self.json("history", "registry"), [lines[2]])
        self.assertEqual(self.json("history", "--limit", "1"), lines[:1])
        self.assertRegex(self.cadre("history", "profile-pin:global"), rf"(?m){USER} +2 +removed  profile-pin:global$")
        self.cadre("history", "llm:keys", code=2)


class Profiles(Agents):
    def test_a_profile_is_stored_listed_shown_and_removed(self):
        self.put_profile(WRITER)
        (line,) = self.json("profile", "list")
        self.assertEqual((line["profile"], line["version"], line["who"]), (WRITER, 1, USER))
        self.assertEqual(json.loads(self.cadre("profile", "show", "profile:writer:v1")), WRITER)
        self.assertIn("profile:writer:v1", self.cadre("profile"))
        self.cadre("profile", "remove", "profile:writer:v1")
        self.cadre("profile", "show", "profile:writer:v1", code=2)
        self.cadre("profile", "remove", "profile:writer:v1", code=2)
        self.assertIsNone(self.record("profile:writer:v1"))

    def test_a_profile_is_replaced_only_over_the_version_that_was_seen(self):
        self.put_profile(WRITER)
        self.put_profile({**WRITER, "model": "other"}, code=2)
        self.assertIn("--if-version 1 replaces it", self.errors)
        self.put_profile({**WRITER, "model": "other"}, "--if-version", "1")
        self.put_profile(WRITER, "--if-version", "1", code=1)
        self.assertEqual(self.json("profile", "show", "profile:writer:v1")[0]["profile"]["model"], "other")

    def test_an_invalid_profile_is_refused_whole(self):
        for bad in [{}, {**WRITER, "id": "writer"}, {**WRITER, "api_key": "x"}, {**WRITER, "allowed_tools": "all"},
                    {**WRITER, "context_window": 10**30}, "nonsense", "\x00"]:
            self.put_profile(bad, code=2)
        self.assertEqual(self.json("profile", "list"), [])
        self.cadre("profile", "put", str(self.space.files / "missing.json"), code=2)

    def test_a_profile_that_an_agent_has_stays(self):
        self.fill()
        self.cadre("profile", "remove", "profile:writer:v1", code=2)
        self.assertIn("is the profile of @writer", self.errors)
        self.assertIsNotNone(self.record("profile:writer:v1"))


class Pins(Agents):
    SESSION = {"CADRE_SESSION": "talk-1"}

    def effective(self, env=None):
        """Scope and profile of the pin that counts, or None."""
        found = [line for line in self.json("pins", env=env) if line["effective"]]
        self.assertLessEqual(len(found), 1)
        return (found[0]["scope"], found[0]["profileId"]) if found else None

    def test_pins_count_in_the_order_session_user_workspace_global(self):
        self.fill()
        scopes = [["--global"], ["--workspace"], ["--user"], ["--session", "talk-1"]]
        names = ["global", "workspace", "user", "session"]
        self.assertIsNone(self.effective(self.SESSION))
        for i, scope in enumerate(scopes):
            profile = ["profile:writer:v1", "profile:editor:v1"][i % 2]
            self.cadre("pin", profile, *scope)
            self.assertEqual(self.effective(self.SESSION), (names[i], profile))
        self.assertEqual(self.effective()[0], "user")
        for i in reversed(range(4)):
            self.assertEqual(self.effective(self.SESSION)[0], names[i])
            self.cadre("unpin", *scopes[i])
        self.assertIsNone(self.effective(self.SESSION))
        self.assertIn("Nothing is pinned", self.cadre("pins"))

    def test_unpin_leaves_no_record(self):
        self.fill()
        self.cadre("pin", "@writer", "--user")
        self.assertEqual(json.loads(self.record(f"profile-pin:user:{USER}")["value_json"]),
                         {"profileId": "profile:writer:v1"})
        self.cadre("unpin", "--user")
        self.assertIsNone(self.record(f"profile-pin:user:{USER}"))
        self.cadre("unpin", "--user", code=2)

    def test_an_agent_is_pinned_as_the_profile_that_it_has_now(self):
        self.fill()
        self.cadre("pin", "@writer", "--global")
        self.cadre("register", "@writer", "profile:editor:v1", "Edits")
        self.assertEqual(self.effective(), ("global", "profile:writer:v1"))
        self.cadre("pin", "@nobody", "--global", code=2)
        self.cadre("pin", "profile:gone", "--global", code=2)
        self.assertEqual(self.effective(), ("global", "profile:writer:v1"))

    def test_without_a_scope_it_is_the_named_session_or_an_error(self):
        self.fill()
        self.cadre("pin", "@writer", code=2)
        self.assertIn("CADRE_SESSION", self.errors)
        self.cadre("pin", "@writer", env=self.SESSION)
        self.assertIsNotNone(self.record("profile-pin:session:talk-1"))
        self.assertEqual(self.effective(self.SESSION), ("session", "profile:writer:v1"))
        self.assertEqual([line["effective"] for line in self.json("pins", "--session", "talk-1")][0], True)
        self.cadre("unpin", env=self.SESSION)
        self.assertIsNone(self.record("profile-pin:session:talk-1"))

    def test_an_unknown_or_second_scope_writes_nothing(self):
        self.fill()
        for words in [["--team"], ["--usr"], ["--user", "--global"], ["--session", "a\nb"], ["--session", "x" * 200]]:
            self.cadre("pin", "@writer", *words, code=2, env=self.SESSION)
        self.assertEqual(self.space.query("SELECT * FROM records WHERE resource_id LIKE 'profile-pin%'"), [])

    def test_a_pinned_profile_that_is_gone_is_an_error_that_names_the_pin(self):
        self.fill()
        self.cadre("pin", "profile:editor:v1", "--workspace")
        self.cadre("pin", "@writer", "--global")
        pin = self.space.query("SELECT resource_id FROM records WHERE resource_id LIKE 'profile-pin:workspace:%'")
        self.cadre("profile", "remove", "profile:editor:v1")
        self.assertIn(f"{pin[0]['resource_id']} still pins it", self.errors)
        self.cadre("pins", code=2)
        self.assertIn(f"{pin[0]['resource_id']} pins profile:editor:v1, which is not there any more", self.errors)
        self.cadre("unpin", "--workspace")
        self.assertEqual(self.effective(), ("global", "profile:writer:v1"))


class Broken(Agents):
    def test_a_record_that_was_broken_by_hand_is_told_and_can_be_replaced(self):
        self.fill()
        connection = sqlite3.connect(self.space.store)
        connection.execute("UPDATE records SET value_json = '{\"version\":9}' WHERE resource_id = ?", (REGISTRY,))
        connection.commit()
        connection.close()
        self.assertEqual(self.json("list"), [])
        self.assertIn(f"{REGISTRY}: version: must be 1", self.errors)
        self.cadre("register", "@other", "profile:writer:v1", "Writes", code=1)
        self.assertIn("registry put FILE --if-version 1", self.errors)
        self.cadre("registry", "put", self.file({"version": 1, "agents": []}), "--if-version", "1")
        self.cadre("register", "@other", "profile:writer:v1", "Writes")


class Help(Agents):
    PARTS = ["list", "show", "register", "unregister", "profile", "profile put", "profile list", "profile show",
             "profile remove", "registry", "registry get", "registry put", "pin", "unpin", "pins", "history"]

    def test_every_part_has_help_with_an_example_that_works(self):
        programs = self.space.root / "bin"
        programs.mkdir()
        (programs / "cadre").symlink_to(program("CADRE"))
        for part in self.PARTS:
            with self.subTest(part), Workspace() as space:
                def run(*words):
                    return space.run(["agents", *words])
                text = run(*part.split(), "--help").stdout
                self.assertTrue(text.startswith(f"cadre agents {part}: "), text)
                self.assertIn(f"\nUsage: cadre agents {part}", text)
                self.assertIn("  --json ", text)
                example = text.split("\nExample:\n  ")[1].strip()
                self.assertIn(f"cadre agents {part.split()[0]}", example)
                if part != "registry put":
                    for profile in [WRITER, EDITOR][:1 if part == "profile put" else 2]:
                        path = space.root / "profile.json"
                        path.write_text(json.dumps(profile))
                        self.assertEqual(run("profile", "put", str(path)).returncode, 0)
                    self.assertEqual(run("register", "@writer", "profile:writer:v1", "Writes").returncode, 0)
                    self.assertEqual(run("pin", "@writer", "--user").returncode, 0)
                (space.root / "cadre.yaml").write_text(f"store: {space.store}\n")
                environment = {**space.environment, "PATH": f"{programs}:{space.environment['PATH']}",
                               "CADRE_CONFIG": str(space.root / "cadre.yaml")}
                process = Process(["sh", "-c", example], environment, space.files)
                self.assertEqual(process.end(), 0, process.errors)
                self.assertTrue(process.text)

    def test_the_help_of_agents_lists_every_part(self):
        text = self.cadre("--help")
        for part in self.PARTS:
            if " " not in part:
                self.assertRegex(text, rf"(?m)^  agents {part} +\w")


if __name__ == "__main__":
    unittest.main()
