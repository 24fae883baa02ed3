"""Trees of their own through the real program and real git: the root's result on its branch, children merged in spawn order, clashes,
work that is kept, directories without git, uncommitted changes, and nothing left behind."""
import json
import subprocess
import unittest
from pathlib import Path

from harness import ModelServer, Workspace, json_lines, program
from repository import call, script
import repository

FILES = {"a.txt": "one\ntwo\nthree\n", "src/c.txt": "sea\n", ".gitignore": "build/\n"}


def rule(user, turn, **reply):
    return {"when": {"first_user": user, "turn": turn}, "reply": reply}


def writes(path, content):
    return call("write", path=path, content=content)


def child(name, *calls, text="done"):
    """A child whose task begins with `name`: it makes these calls in one reply and ends."""
    return [rule(name, 0, calls=list(calls)), rule(name, 1, text=text)]


def root(*calls, text="all done"):
    return [rule("ROOT", 0, calls=list(calls)), rule("ROOT", 1, text=text)]


def fan_out(*tasks):
    return call("fan_out", tasks=[{"task": task} for task in tasks])


class Repository(repository.Repository):
    def __init__(self, config=None):
        super().__init__(config, FILES)

    def branches(self):
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n")


class Trees(unittest.TestCase):
    def go(self, space, *rules, code=0, flags=("--mode", "auto")):
        """Runs the script; result, events and children stand in self."""
        with ModelServer(script(*rules)) as server:
            done = space.run(["run", *server.flags(), *flags, "--json", "ROOT"])
            server.idle()
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = json_lines(done.stdout)
        self.run_id = lines[0]["run_id"]
        self.result = lines[-1]
        self.events = space.events(self.run_id)
        self.children = space.children(self.run_id)
        self.nothing_is_left(space)

    def nothing_is_left(self, space):
        """No checkout and no lock, whatever became of the run."""
        trees = space.store.parent / "git"
        left = [str(path) for path in trees.rglob("*") if path.is_file() and "trees" in path.parts]
        self.assertEqual(left, [])
        self.assertEqual([str(path) for path in space.files.rglob("*.lock")], [])

    def of_type(self, name):
        return [event for event in self.events if event["type"] == name]

    def branch(self, name="result"):
        return f"cadre/{self.run_id}/{name}"

    # --- the root ------------------------------------------------------------------------------------

    def test_the_result_is_on_its_branch_and_the_checkout_is_untouched(self):
        with Repository() as space:
            head = space.git("rev-parse", "HEAD")
            self.go(space, *root(writes("new.txt", "made\n")))
            self.assertEqual(space.git("rev-parse", "HEAD"), head)
            self.assertEqual(space.git("status", "--porcelain"), "")
            self.assertEqual(self.result["branch"], self.branch())
            self.assertEqual(space.git("show", f"{self.branch()}:new.txt"), "made")
            self.assertEqual(space.git("diff", "--name-only", "main", self.branch()), "new.txt")

    def test_a_root_that_only_talks_has_no_tree(self):
        with Repository() as space:
            self.go(space, rule("ROOT", 0, text="hello"))
            self.assertEqual(self.of_type("agent.worktree_created"), [])
            self.assertEqual(space.branches(), ["main"])

    def test_a_run_that_changes_nothing_leaves_no_branch(self):
        with Repository() as space:
            self.go(space, *root(call("read", path="a.txt")))
            self.assertEqual(space.branches(), ["main"])
            self.assertNotIn("branch", self.result)

    def test_uncommitted_changes_are_part_of_what_a_run_starts_from(self):
        with Repository() as space:
            (space.files / "a.txt").write_text("one\n2\nthree\n")
            (space.files / "untracked.txt").write_text("mine\n")
            self.go(space, *root(call("edit", path="a.txt", old_text="2", new_text="zwei")))
            self.assertEqual((space.files / "a.txt").read_text(), "one\n2\nthree\n")
            self.assertEqual(space.git("show", f"{self.branch()}:a.txt"), "one\nzwei\nthree")
            self.assertEqual(space.git("show", f"{self.branch()}:untracked.txt"), "mine")

    def test_uncommitted_changes_can_be_refused(self):
        with Repository("isolation: {snapshot: false}\n") as space:
            (space.files / "a.txt").write_text("changed\n")
            with ModelServer(script(rule("ROOT", 0, calls=[writes("x.txt", "x")]))) as server:
                done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn("uncommitted changes", done.stderr)
            self.assertEqual(space.query("SELECT id FROM runs"), [])

    def test_the_root_can_work_in_the_checkout(self):
        with Repository("isolation: {root: false}\n") as space:
            self.go(space, *root(writes("new.txt", "made\n"), fan_out("ALPHA")), *child("ALPHA", writes("b.txt", "b\n")))
            self.assertEqual((space.files / "new.txt").read_text(), "made\n")
            self.assertEqual((space.files / "b.txt").read_text(), "b\n")
            self.assertEqual(space.branches(), ["main"])
            self.assertEqual(space.git("status", "--porcelain"), "?? b.txt\n?? new.txt")

    def test_files_of_a_root_that_no_commit_may_hold_stay_where_they_are(self):
        with Repository() as space:
            with ModelServer(script(*root(writes(".gitmodules", "[submodule]\n"), writes("work.txt", "mine\n")))) as server:
                done = space.run(["run", *server.flags(), "--mode", "auto", "--json", "ROOT"])
            self.assertEqual(done.returncode, 1, done.stderr)
            error = json_lines(done.stdout)[-1]["error"]
            self.assertIn("its files cannot be committed", error)
            self.assertEqual((Path(error.rsplit("they are in ", 1)[1]) / "work.txt").read_text(), "mine\n")

    # --- children --------------------------------------------------------------------------------------

    def test_children_are_merged_in_spawn_order_and_the_root_sees_their_work(self):
        with Repository() as space:
            self.go(space, rule("ROOT", 0, calls=[fan_out("ALPHA", "BETA", "GAMMA")]),
                    rule("ROOT", 1, calls=[call("read", path="b.txt")]), rule("ROOT", 2, text="read: {{last}}"),
                    rule("ALPHA", 0, calls=[writes("a.txt", "alpha\n")], delay_ms=600), rule("ALPHA", 1, text="a"),
                    *child("BETA", writes("b.txt", "beta\n")), *child("GAMMA", writes("g.txt", "gamma\n")))
            merged = [event["payload"] for event in self.of_type("agent.worktree_merged")]
            self.assertEqual([payload["merge_strategy"] for payload in merged],
                             ["fast_forward", "three_way", "three_way", "kept"])
            self.assertEqual([payload["files_modified"] for payload in merged[:3]], [["a.txt"], ["b.txt"], ["g.txt"]])
            self.assertIn("beta", self.result["response"])
            self.assertEqual(space.git("ls-tree", "--name-only", self.branch()).split("\n"),
                             [".gitignore", "a.txt", "b.txt", "g.txt", "src"])
            self.assertEqual(space.branches(), [self.branch(), "main"])
            self.assertEqual([row["merge_status"] for row in self.children],
                             ["fast_forward", "three_way", "three_way"])

    def test_a_clash_fails_the_child_and_keeps_its_work(self):
        with Repository() as space:
            self.go(space, *root(fan_out("ALPHA", "BETA", "GAMMA")),
                    *child("ALPHA", writes("a.txt", "alpha\n")), *child("BETA", writes("a.txt", "beta\n")),
                    *child("GAMMA", writes("g.txt", "gamma\n")))
            self.assertEqual([row["status"] for row in self.children], ["closed"] * 3)
            failed = self.of_type("agent.subagent_failed")
            self.assertEqual(len(failed), 1)
            error = failed[0]["payload"]["error"]
            clash = [event["payload"] for event in self.of_type("agent.worktree_merged")][1]
            self.assertEqual(clash["conflicted_files"], ["a.txt"])
            self.assertIs(clash["merge_success"], False)
            self.assertIn(f"merge conflict in a.txt; its work is on the branch {clash['branch']}: git diff ", error)
            command = error.split(": ")[-1].split()
            self.assertIn("+beta", space.git(*command[1:]))
            self.assertEqual(space.git("show", f"{self.branch()}:a.txt"), "alpha")
            self.assertEqual(space.git("show", f"{self.branch()}:g.txt"), "gamma")
            self.assertEqual(len(self.of_type("agent.subagent_closed")), 3)

    def test_a_child_sees_what_its_parent_did_before_it_was_started(self):
        with Repository() as space:
            self.go(space, rule("ROOT", 0, calls=[writes("note.txt", "from the root\n"), fan_out("ALPHA")]),
                    rule("ROOT", 1, text="ok"), rule("ALPHA", 0, calls=[call("read", path="note.txt"), writes("b.txt", "b")]),
                    rule("ALPHA", 1, text="{{last}}"))
            self.assertEqual(space.git("show", f"{self.branch()}:note.txt"), "from the root")
            reads = [event["payload"]["text"] for event in self.of_type("tool.finished")]
            self.assertTrue(any("from the root" in text for text in reads), reads)

    def test_a_failed_childs_work_is_kept_on_its_branch(self):
        with Repository("sub_agent: {max_retries: 0}\n") as space:
            self.go(space, *root(fan_out("ALPHA")), rule("ALPHA", 0, calls=[writes("b.txt", "half\n")]),
                    rule("ALPHA", 1, status=400, error="no"))
            kept = self.of_type("agent.worktree_merged")[0]["payload"]
            self.assertEqual(kept["merge_strategy"], "kept")
            self.assertEqual(space.git("show", f"{kept['branch']}:b.txt"), "half")
            self.assertEqual(space.branches(), sorted([kept["branch"], "main"]))

    def test_readers_have_no_tree(self):
        with Repository("isolation: {root: false}\n") as space:
            self.go(space, *root(call("spawn_agent", task="LOOK", role="researcher")),
                    *child("LOOK", call("read", path="a.txt")))
            self.assertEqual(self.of_type("agent.isolating"), [])
            self.assertEqual(self.of_type("agent.subagent_started")[0]["payload"]["strategy"], "shared")

    def test_a_child_that_brings_a_submodule_file_is_not_merged(self):
        with Repository() as space:
            self.go(space, *root(fan_out("ALPHA")),
                    *child("ALPHA", writes(".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = file:///\n')))
            merged = self.of_type("agent.worktree_merged")[0]["payload"]
            self.assertEqual(merged["merge_strategy"], "denied")
            self.assertEqual(space.branches(), ["main"])

    # --- without git ------------------------------------------------------------------------------------

    def test_without_a_repository_children_work_in_copies_that_are_merged_into_the_files(self):
        with Workspace({"a.txt": "one\n", "old.txt": "old\n"}) as space:
            self.go(space, *root(writes("root.txt", "root\n"), fan_out("ALPHA", "BETA")),
                    *child("ALPHA", writes("a.txt", "alpha\n"), call("delete", path="old.txt")),
                    *child("BETA", writes("b.txt", "beta\n")))
            self.assertEqual(space.tree(), {"a.txt": "alpha\n", "b.txt": "beta\n", "root.txt": "root\n"})
            self.assertEqual([event["payload"]["strategy"] for event in self.of_type("agent.subagent_started")],
                             ["copy", "copy"])
            self.assertFalse((space.files / ".git").exists())

    def test_without_git_writers_are_refused_with_what_to_do_and_the_root_works_in_place(self):
        hide = 'for g in /usr/bin/git /usr/local/bin/git /bin/git; do [ ! -e $g ] || mount --bind /dev/null $g; done; exec "$@"'
        rules = [*root(writes("r.txt", "r\n"), fan_out("ALPHA")), *child("ALPHA", writes("b.txt", "b\n"))]
        with Repository() as space, ModelServer(script(*rules[:2])) as server:
            words = [program("CADRE"), "run", "--store", str(space.store), *server.flags(), "--mode", "auto", "--json", "ROOT"]
            done = subprocess.run(["unshare", "-rm", "sh", "-c", hide, "sh", *words], cwd=space.files,
                                  env=space.environment, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            events = space.events(json_lines(done.stdout)[0]["run_id"])
            failed = [event["payload"]["error"] for event in events if event["type"] == "agent.subagent_failed"]
            self.assertEqual(failed, ["its tree could not be made: git is not installed on this machine; install git, or let "
                                      "children share files (isolation.children: false)"])
            self.assertEqual((space.files / "r.txt").read_text(), "r\n")

    def test_git_in_a_command_looks_at_the_tree_and_changes_nothing(self):
        look = ("echo more >> a.txt; git status --porcelain; git log --format=%s; git config --get http.extraheader || echo no header; "
                "git commit -qam x || echo no commit; git branch other || echo no branch")
        with Repository() as space:
            space.git("config", "http.extraheader", "Authorization: secret")
            self.go(space, *root(call("shell", command=look), fan_out("ALPHA")), *child("ALPHA", call("shell", command=look)),
                    flags=("--mode", "dangerous"))
            for text in [one["payload"]["text"] for one in self.of_type("tool.finished") if "exit code" in one["payload"]["text"]]:
                for part in (" M a.txt\n", "first commit\n", "no header\n", "no commit\n", "no branch\n", "Read-only file system"):
                    self.assertIn(part, text)
                self.assertNotIn("secret", text)
            self.assertEqual(space.branches(), [self.branch(), "main"])
            self.assertEqual(space.git("show", f"{self.branch()}:a.txt"), "one\ntwo\nthree\nmore\nmore")

    def test_in_a_copy_too(self):
        with Workspace({"a.txt": "one\n"}) as space:
            self.go(space, *root(fan_out("ALPHA")), *child("ALPHA", call("shell", command="echo two >> a.txt; git diff")),
                    flags=("--mode", "dangerous"))
            self.assertIn("+two\n", self.of_type("tool.finished")[0]["payload"]["text"])
            self.assertEqual(space.tree(), {"a.txt": "one\ntwo\n"})

    def test_commands_see_the_tree_at_the_workspaces_own_path(self):
        with Repository() as space:
            self.go(space, *root(call("shell", command="pwd; echo made > made.txt")), flags=("--mode", "dangerous"))
            text = self.of_type("tool.finished")[0]["payload"]["text"]
            self.assertIn(str(space.files), text)
            self.assertFalse((space.files / "made.txt").exists())
            self.assertEqual(space.git("show", f"{self.branch()}:made.txt"), "made")
            self.assertEqual(json.loads(json.dumps(self.result["files_modified"])), ["made.txt"])


if __name__ == "__main__":
    unittest.main()
