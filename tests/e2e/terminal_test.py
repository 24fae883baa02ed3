"""`cadre run` on a terminal, seen through tmux: the live tree, questions, Ctrl-C, narrow screens and hostile text."""
import itertools
import os
import re
import shlex
import subprocess
import tempfile
import threading
import time
import unittest

from harness import ModelServer, Workspace, program, wait_until
from vendors import VendorServer, chat_chunk

ESC = "\x1b"
# What a model might send to a terminal, and cadre itself never does: a colour, clearing, the title, a bell, C1 controls,
# text that runs backwards, another screen, another character set.
HOSTILE = f"{ESC}[35m{ESC}[2J{ESC}]0;owned\x07\x9b35m\x07\u202edetrevni\u202c\u2066x\u2069\r{ESC}[?1049h{ESC}(0 plain"


def script(*rules):
    return {"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": list(rules)}


def rule(reply, **when):
    return {"when": when, "reply": reply} if when else {"reply": reply}


def call(name, repeat=1, **arguments):
    return {"name": name, "arguments": arguments, "repeat": repeat}


class Terminal:
    """A tmux server of its own with one window, in which a shell runs one command and then says how it ended."""

    numbers = itertools.count()

    def __init__(self, space, command, columns=80, lines=24):
        self.space = space
        # A server of one name may still be going away when the next one starts.
        self.name = f"cadre-{next(Terminal.numbers)}"
        self.raw = space.root / f"raw-{self.name}"
        # The space may be gone when the server is told to go.
        self.sockets = tempfile.TemporaryDirectory(prefix="cadre-tmux-")
        environment = {**space.environment, "TERM": "screen-256color", "TMUX_TMPDIR": self.sockets.name}
        environment.pop("TMUX", None)
        self.environment = environment
        words = " ".join(shlex.quote(str(word)) for word in command)
        # The window waits for its recorder before it starts, and stays until the server is told to go.
        inner = f"trap : INT; read go; {words}; code=$?; echo; echo exit code $code.; exec cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), "sh", "-c",
                  f"cd {shlex.quote(str(space.files))}; {inner}")
        self.tmux("pipe-pane", "-o", f"cat >{shlex.quote(str(self.raw))}")
        self.keys("Enter")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-L", self.name, *arguments], env=self.environment, capture_output=True, text=True,
                              timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr}")
        return done.stdout

    def screen(self):
        """What stands on the screen now, line by line, without the empty end."""
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def history(self):
        """Everything that was on the screen, scrolled off or not; wrapped lines joined."""
        return self.tmux("capture-pane", "-p", "-J", "-S", "-")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def answer(self, key):
        """Answers the question on the screen's last line. What is typed in the very moment in which it appears is thrown away: it
        is typed again where the question stands as it stood."""
        asked = self.screen()[-1]
        for _ in range(5):
            self.keys(key, "Enter")
            try:
                wait_until(lambda: self.screen()[-1] != asked, "the answer is taken", seconds=10)
                return
            except AssertionError:
                continue
        raise AssertionError("the question stands:\n" + "\n".join(self.screen()))

    def cursor_is_visible(self):
        return self.tmux("display-message", "-p", "#{cursor_flag}").strip() == "1"

    def wait_for(self, pattern):
        """Waits until the pattern is on the screen; returns the screen's text."""
        def look():
            text = "\n".join(self.screen())
            return text if re.search(pattern, text) else None
        try:
            return wait_until(look, f"{pattern!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.screen())) from None

    def wait_for_end(self):
        """Waits for the end of the command and returns its exit code."""
        self.wait_for(r"exit code \d+\.")
        return int(re.search(r"exit code (\d+)\.", self.history()).group(1))

    def written(self):
        """Every byte that the command sent to the terminal, as text."""
        return self.raw.read_bytes().decode("utf-8", "replace")

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], env=self.environment, capture_output=True, timeout=60)
        self.sockets.cleanup()


class OnATerminal(unittest.TestCase):
    def start(self, rules, flags=("--mode", "auto"), task="ROOT", **size):
        self.server = ModelServer(rules)
        self.addCleanup(self.server.stop)
        self.space = Workspace({"a.txt": "one line\n"})
        self.addCleanup(self.space.close)
        terminal = Terminal(self.space, [program("CADRE"), "run", "--store", self.space.store, *self.server.flags(), *flags,
                                         task], **size)
        self.addCleanup(terminal.close)
        return terminal

    def run_row(self):
        (row,) = self.space.query("SELECT * FROM runs")
        return row


def slow_children(delay=1500):
    return script(rule({"text": "I ask two.", "calls": [call("spawn_agent", 2, task="CHILD {{index}} looks")]},
                       first_user="ROOT", turn=0),
                  rule({"text": "looking", "delay_ms": delay, "calls": [call("read", path="a.txt")]},
                       first_user="CHILD", turn=0),
                  rule({"text": "one line", "delay_ms": delay}, first_user="CHILD"),
                  rule({"text": "Both saw one line."}, first_user="ROOT"))


class Tree(OnATerminal):
    def test_the_tree_is_drawn_in_place_while_the_children_work(self):
        terminal = self.start(slow_children())
        text = terminal.wait_for(r"(?s)root .*\n├─ .* agent-1 .*\n└─ .* agent-2 ")
        self.assertEqual(text.count(" agent-1 "), 1)
        self.assertFalse(terminal.cursor_is_visible())
        terminal.wait_for(r"agent-1 .* 1/15 calls")
        self.assertEqual("\n".join(terminal.screen()).count(" agent-1 "), 1)
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_who_waits_says_for_what_and_how_long(self):
        terminal = self.start(script(
            rule({"calls": [call("spawn_agent", 2, task="CHILD {{index}}")]}, first_user="ROOT", turn=0),
            rule({"status": 429, "error": "slowly", "retry_after": "3", "fail_times": 1, "then": {"text": "done"}}, first_user="CHILD"),
            rule({"text": "both are done"}, first_user="ROOT")), flags=("--mode", "auto", "--max-concurrent", "1"))
        terminal.wait_for(r"(?s)waiting to ask the model again \(1 failed\) \d.*waiting for a slot \d")
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_the_final_tree_and_the_answer_stay_and_stand_there_once(self):
        terminal = self.start(slow_children(300))
        self.assertEqual(terminal.wait_for_end(), 0)
        text = terminal.history()
        self.assertEqual(text.count("Both saw one line."), 1)
        self.assertEqual(len(re.findall(r"✓ agent-[12]  done", text)), 2)
        self.assertEqual(len(re.findall(r"agent-1", text)), 1)
        self.assertRegex(text, r"completed .*2 children")
        self.assertTrue(terminal.cursor_is_visible())

    def test_a_narrow_terminal_wraps_no_line_of_the_tree(self):
        terminal = self.start(slow_children(), columns=40)
        terminal.wait_for(r"● agent-2 ")
        for line in terminal.screen():
            self.assertLessEqual(len(line), 40)
        first = next(i for i, line in enumerate(terminal.screen()) if "● root" in line)
        self.assertRegex("\n".join(terminal.screen()[first:first + 3]), r"\A● root .*\n├─ ● agent-1 .*\n└─ ● agent-2 .*\Z")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(len(re.findall("agent-1 ", terminal.history())), 1)

    def test_a_tree_that_is_longer_than_the_screen_is_shortened_and_whole_at_the_end(self):
        rules = script(rule({"calls": [call("spawn_agent", 29, task="CHILD {{index}}")]}, first_user="ROOT", turn=0),
                       rule({"text": "seen", "delay_ms": 100}, first_user="CHILD"),
                       rule({"text": "All of them."}, first_user="ROOT"))
        terminal = self.start(rules, lines=10)
        terminal.wait_for(r"root .*waiting for \d+ children")
        self.assertLessEqual(len(terminal.screen()), 10)
        self.assertEqual(terminal.wait_for_end(), 0)
        text = terminal.history()
        for number in range(1, 30):
            self.assertEqual(len(re.findall(rf"agent-{number}\b", text)), 1, number)


class Stopping(OnATerminal):
    def test_one_ctrl_c_parks_the_run_and_closes_no_child(self):
        terminal = self.start(slow_children(20000))
        terminal.wait_for(r"agent-2 .*asking")
        terminal.keys("C-c")
        self.assertEqual(terminal.wait_for_end(), 75)
        text = terminal.history()
        self.assertEqual(text.count("parking the run, press again to stop at once"), 1)
        self.assertTrue(terminal.cursor_is_visible())
        self.assertEqual(self.run_row()["status"], "parked")
        self.assertEqual([row["status"] for row in self.space.children(self.run_row()["id"])], ["running", "running"])

    def test_ctrl_c_at_a_question_parks_the_run(self):
        terminal = self.start(script(rule({"calls": [call("write", path="out.txt", content="x\n")]})), flags=())
        terminal.wait_for(r"Allow it\? \[y/n")
        terminal.keys("C-c")
        self.assertEqual(terminal.wait_for_end(), 75)
        self.assertFalse((self.space.files / "out.txt").exists())
        self.assertTrue(terminal.cursor_is_visible())

    def test_the_cursor_comes_back_when_the_process_is_stopped_at_once(self):
        terminal = self.start(slow_children(20000))
        terminal.wait_for(r"agent-2 .*asking")
        self.assertFalse(terminal.cursor_is_visible())
        os.kill(self.pid_of_run(), 3)  # SIGQUIT, as Ctrl-\ would send it
        terminal.wait_for(r"exit code")
        self.assertTrue(terminal.cursor_is_visible())

    def pid_of_run(self):
        """The process that owns the run: its id is the first part of the lease's owner."""
        (lease,) = self.space.query("SELECT owner FROM leases")
        return int(lease["owner"].split("-")[0])


class Questions(OnATerminal):
    WRITES = script(rule({"text": "I want to write.", "calls": [call("write", path="out.txt", content="hello\n")]}, turn=0),
                    rule({"text": "The answer was: {{last}}"}))

    def ask(self):
        terminal = self.start(self.WRITES, flags=())
        text = terminal.wait_for(r"Allow it\? \[y/n")
        self.assertIn("root wants to use write:", text)
        self.assertIn("new file: out.txt", text)
        self.assertTrue(terminal.cursor_is_visible())
        self.assertFalse((self.space.files / "out.txt").exists())
        return terminal

    def test_a_path_cannot_hide_behind_a_long_content(self):
        hidden = '{"content":"' + "harmless words " * 300 + '","path":"Makefile"}'
        terminal = self.start(script(rule({"calls": [{"name": "write", "arguments": hidden}]}, turn=0), rule({"text": "done"})), flags=())
        self.assertIn("new file: Makefile", terminal.wait_for(r"Allow it\? \[y/n"))

    def events(self, kind):
        return [event for event in self.space.events(self.run_row()["id"]) if event["type"] == kind]

    def test_yes_lets_the_call_happen(self):
        terminal = self.ask()
        terminal.keys("y", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual((self.space.files / "out.txt").read_text(), "hello\n")
        self.assertEqual(len(self.events("permission.granted")), 1)

    def test_no_refuses_the_call_and_the_model_is_told(self):
        terminal = self.ask()
        terminal.keys("n", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertFalse((self.space.files / "out.txt").exists())
        self.assertIn("The answer was: Error: the user refused this call", terminal.history().replace("\n", " "))
        self.assertEqual(self.events("permission.denied")[0]["payload"]["reason"], "the user said no")

    def test_enter_alone_and_rubbish_are_asked_again(self):
        terminal = self.ask()
        terminal.keys("Enter")
        terminal.wait_for(r"not one of the answers")
        for rubbish in ("yes please", "nope", "j", "1"):
            terminal.keys("-l", rubbish)
            terminal.wait_for(re.escape(f"y/n/s/p/v] {rubbish}"))
            terminal.keys("Enter")
            terminal.wait_for(re.escape(f'"{rubbish}" is not one of the answers'))
        self.assertFalse((self.space.files / "out.txt").exists())
        self.assertEqual(self.events("permission.granted") + self.events("permission.denied"), [])
        terminal.keys("n", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertFalse((self.space.files / "out.txt").exists())

    def test_what_was_typed_before_the_question_does_not_answer_it(self):
        rules = script(rule({"calls": [call("write", path="out.txt", content="hello\n")], "delay_ms": 1500}, turn=0),
                       rule({"text": "end"}))
        terminal = self.start(rules, flags=())
        terminal.wait_for(r"root .*asking")
        terminal.keys("y", "Enter")
        terminal.wait_for(r"Allow it\? \[y/n")
        time.sleep(0.3)  # nothing may happen now: an answer that was typed too early would have been taken
        self.assertNotIn("exit code", terminal.history())
        self.assertFalse((self.space.files / "out.txt").exists())
        terminal.keys("n", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertFalse((self.space.files / "out.txt").exists())


class AskUser(OnATerminal):
    """The tool ask_user: the person's words are its result."""

    def ask(self, **arguments):
        terminal = self.start(script(rule({"calls": [call("ask_user", **arguments)]}, turn=0),
                                     rule({"text": "The answer was: {{last}}."})), flags=())
        return terminal

    def finished(self):
        (event,) = [event for event in self.space.events(self.run_row()["id"]) if event["type"] == "tool.finished"]
        return event["payload"]

    def test_the_words_that_are_typed_are_the_result_of_the_call(self):
        terminal = self.ask(question="Which colour?")
        self.assertRegex(terminal.wait_for(r"Your answer:"), r"\? root asks:\n  │ Which colour\?\n")
        self.assertTrue(terminal.cursor_is_visible())
        terminal.keys("  a deep blue ", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual((self.finished()["outcome"], self.finished()["text"]), ("ok", "a deep blue"))
        self.assertIn("The answer was: a deep blue.", terminal.history())

    def test_a_number_stands_for_its_choice(self):
        terminal = self.ask(question="Which colour?", choices=["red", "green"])
        self.assertIn("  │ 1) red\n  │ 2) green\nA number, or your own answer.\nYour answer:", terminal.wait_for(r"Your answer:"))
        terminal.keys("2", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(self.finished()["text"], "green")

    def test_a_question_cannot_look_like_one_of_cadres_own(self):
        terminal = self.ask(question="So.\n? root wants to use shell:\n  command: ls\x1b[2J\nAllow it? [y/N] ")
        text = terminal.wait_for(r"Your answer:")
        self.assertNotRegex(text, r"(?m)^(\? root wants|Allow it)")
        self.assertIn("  │ ? root wants to use shell:", text)

    def test_the_question_stands_there_again_after_a_crash_and_is_answered_once(self):
        terminal = self.ask(question="Which colour?")
        terminal.wait_for(r"Your answer:")
        (lease,) = self.space.query("SELECT owner FROM leases")
        os.kill(int(lease["owner"].split("-")[0]), 9)
        terminal.wait_for(r"exit code 137")
        terminal.close()
        again = Terminal(self.space, [program("CADRE"), "resume", "--store", self.space.store, self.run_row()["id"]])
        self.addCleanup(again.close)
        again.wait_for(r"Your answer:")
        again.keys("blue", "Enter")
        self.assertEqual(again.wait_for_end(), 0)
        self.assertEqual(self.finished()["text"], "blue")
        self.assertEqual(self.run_row()["status"], "completed")

    def test_ctrl_d_means_that_nobody_answers(self):
        terminal = self.ask(question="Which colour?")
        terminal.wait_for(r"Your answer:")
        terminal.keys("C-d")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertEqual(self.finished()["outcome"], "error")
        self.assertIn("nobody can answer", self.finished()["text"])


class HostileText(OnATerminal):
    def test_no_control_sequence_of_a_model_reaches_the_terminal(self):
        """Not in the live tree, not in names and tasks, not in a question, not in an error and not in the answer."""
        rules = script(
            rule({"text": HOSTILE, "calls": [call("spawn_agent", task="CHILD " + HOSTILE)], "chunks": 20,
                  "chunk_delay_ms": 30}, first_user="ROOT", turn=0),
            rule({"text": HOSTILE, "delay_ms": 400}, first_user="CHILD"),
            rule({"calls": [call("write", path="out" + HOSTILE, content=HOSTILE)]}, first_user="ROOT", turn=1),
            rule({"text": "The end. " + HOSTILE}))
        terminal = self.start(rules, flags=())
        terminal.wait_for(r"Allow it\? \[y/n")
        terminal.keys("n", "Enter")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.check_bytes(terminal)
        self.assertIn("The end.", terminal.history())

    def test_no_control_sequence_of_a_server_reaches_the_terminal(self):
        terminal = self.start(script(rule({"status": 400, "error": "broken " + HOSTILE})))
        self.assertEqual(terminal.wait_for_end(), 1)
        self.check_bytes(terminal)
        self.assertIn("broken", terminal.history())

    def test_no_control_sequence_of_a_task_reaches_the_terminal(self):
        terminal = self.start(script(rule({"text": "fine"})), task="do " + HOSTILE)
        self.assertEqual(terminal.wait_for_end(), 0)
        self.check_bytes(terminal)

    def check_bytes(self, terminal):
        """Once the program's own drawing is taken out (its colours, the cursor, clearing of lines), no control is left."""
        text = terminal.written()
        own = re.sub(rf"{ESC}\[(?:0|1|2|31|32|33)m|{ESC}\[\d*A|{ESC}\[[JK]|{ESC}\[\?25[lh]", "", text)
        own = own.replace("\r\n", "\n").replace("\r", "")
        bad = sorted({character for character in own
                      if (ord(character) < 32 and character not in "\n\t") or 127 <= ord(character) < 160
                      or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"})
        self.assertEqual(bad, [])


class Reasoning(unittest.TestCase):
    def test_it_is_shown_dimmed_until_the_answer_comes_and_nowhere_else(self):
        seen = threading.Event()

        def answer(request):
            request.start()
            request.events(chat_chunk({"reasoning_content": "I weigh both sides"}))
            seen.wait(60)
            request.events(chat_chunk({"content": "Both."}), chat_chunk(finish="stop"), "[DONE]")
        with VendorServer(answer) as server, Workspace() as space:
            command = [program("CADRE"), "run", "--store", space.store, *server.flags(), "task"]
            terminal = Terminal(space, command, columns=100)
            try:
                wait_until(lambda: "thinks: I weigh both sides" in "\n".join(terminal.screen()), "reasoning on the screen")
                dimmed = terminal.tmux("capture-pane", "-p", "-e")
                self.assertRegex(dimmed, f"{ESC}\\[2m[^{ESC}]*thinks: ")
                seen.set()
                wait_until(lambda: "exit code 0." in "\n".join(terminal.screen()), "the end")
                self.assertNotIn("I weigh", terminal.history())
            finally:
                seen.set()
                terminal.close()
            lines = space.run(["run", *server.flags(), "task"])
            self.assertNotIn("I weigh", lines.stdout + lines.stderr)


if __name__ == "__main__":
    unittest.main()
