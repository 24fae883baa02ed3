"""What reaches a terminal: everything that a model, a tool, a file name or a server can put into a run, looked at with every
command that shows it. Nothing of it may be obeyed by the terminal, or make text look like other text."""
import json
import os
import pty
import re
import subprocess
import threading
import unittest

from harness import WAIT_SECONDS, ModelServer, Workspace, json_lines, program

ESC = "\x1b"
# A colour, clearing, a title, a link, the clipboard, C1 controls, bidi overrides and isolates, line separators, tags.
HOSTILE = (f"{ESC}[35m{ESC}[2J{ESC}]0;owned\x07{ESC}]8;;http://evil\x07link{ESC}]8;;\x07{ESC}]52;c;ZXZpbA==\x07"
           "\x9b35m\x9d0;owned\x9c\x85\u202alr\u202drl\u202edetrevni\u202c\u2066x\u2067y\u2068z\u2069\u2028\u2029\u200b\U000e0041\x7f\x08 plain")
OWN = re.compile(r"\x1b\[(?:\?25[hl]|\?2026[hl]|[0-9;]*[mKJAGH])")  # what cadre itself sends: styles, the cursor
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


def call(name, /, **arguments):
    return {"name": name, "arguments": arguments}


def on_terminal(arguments, space):
    """Everything that `cadre ARGUMENTS` sends to a terminal, as text, and its exit code."""
    master, slave = pty.openpty()
    chunks = []

    def read():
        try:
            while chunk := os.read(master, 65536):
                chunks.append(chunk)
        except OSError:
            pass  # the other end is closed
    reader = threading.Thread(target=read)
    reader.start()
    environment = {**space.environment, "TERM": "xterm-256color"}
    command = [program("CADRE"), arguments[0], "--store", str(space.store), *arguments[1:]]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=space.files,
                               start_new_session=True)
    os.close(slave)
    code = process.wait(WAIT_SECONDS)
    reader.join(WAIT_SECONDS)
    os.close(master)
    return b"".join(chunks).decode("utf-8", "surrogateescape"), code


class Clean(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rules = [
            {"when": {"first_user": "ROOT", "turn": 0},
             "reply": {"text": HOSTILE, "calls": [call("spawn_agent", task="CHILD " + HOSTILE),
                                                  call("read", path="none/" + HOSTILE), call("tool" + HOSTILE[:20], x=HOSTILE)]}},
            {"when": {"first_user": "CHILD", "turn": 0}, "reply": {"text": HOSTILE, "calls": [call("ls"), call("read", path=HOSTILE)]}},
            {"when": {"first_user": "CHILD"}, "reply": {"status": 400, "error": "refused " + HOSTILE}},
            {"reply": {"text": "the answer\n" + HOSTILE}},
        ]
        cls.server = ModelServer({"models": [{"id": "scripted", "window": 32768, "max_output": 8192}], "rules": rules})
        cls.addClassCleanup(cls.server.stop)
        cls.space = Workspace({"a.txt": "one\n", "name\x1b[31m\x9b\u202e.txt": "x\n"})
        cls.addClassCleanup(cls.space.close)
        cls.text, cls.code = on_terminal(["run", *cls.server.flags(), "--mode", "auto", "ROOT " + HOSTILE], cls.space)

    def check(self, text, word="plain"):
        """The word shows that what is hostile was shown at all."""
        self.assertIn(word, text)
        text = OWN.sub("", text).replace("\r", "")
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, found and repr(text[max(0, found.start() - 80):found.end() + 80]))

    def test_the_run_itself(self):
        self.check(self.text)
        self.assertIn("the answer", self.text)

    def test_every_command_that_looks_at_it(self):
        for command in (["show", "last"], ["events", "last"], ["events", "last", "--full"], ["tree", "last"], ["runs"]):
            with self.subTest(" ".join(command)):
                text, code = on_terminal(command, self.space)
                self.assertEqual(code, 0, text)
                self.check(text, "agent-1" if command[0] == "tree" else "plain")

    def test_json_on_a_terminal_says_the_same_in_escapes(self):
        for command in (["events", "last", "--json"], ["show", "last", "--json"], ["tree", "last", "--json"], ["runs", "--json"]):
            with self.subTest(" ".join(command)):
                text, code = on_terminal(command, self.space)
                self.assertEqual(code, 0, text)
                self.check(text, "agent-1" if command[0] == "tree" else "plain")
                piped = self.space.run(command).stdout
                self.assertEqual(json_lines(text.replace("\r\n", "\n")), json_lines(piped))

    def test_json_for_a_program_is_left_as_it_is(self):
        piped = self.space.run(["events", "last", "--json"]).stdout
        replies = [line["payload"]["text"] for line in json_lines(piped) if line.get("event") == "model.replied"]
        self.assertIn(HOSTILE, replies)


if __name__ == "__main__":
    unittest.main()
