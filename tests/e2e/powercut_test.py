"""The power fails: what was not synced may be lost. The same episodes as crash_test.py, with a disk that forgets.

A preloaded recorder (powercut/recorder.c) writes down what the program hands to the file system. After the kill, the
store and the files are replaced by what a disk could hold: everything that was synced, and of the rest a random part.
Directory changes are kept in order, as journalling file systems do; unsynced bytes come through or not, block by block.
POWERCUT_KILLS sets how many cuts (10), POWERCUT_SEED repeats a plan, POWERCUT_EPISODE runs one episode alone.
"""
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import crash_test

WRITE, TRUNCATE, SYNC, RENAME, UNLINK = 1, 2, 3, 4, 5
HEAD = struct.Struct("=IIIIQ")
BLOCK = 512


def records(log):
    """(kind, path, target, offset, data) of each record; one that the kill cut off is left out."""
    at = 0
    while at + HEAD.size <= len(log):
        kind, path, target, data, offset = HEAD.unpack_from(log, at)
        end = at + HEAD.size + path + target + data
        if end > len(log):
            return
        at += HEAD.size
        yield (kind, log[at:at + path].decode(), log[at + path:at + path + target].decode(), offset,
               log[at + path + target:end])
        at = end


class File:
    """Bytes that are safe, and changes since then."""

    def __init__(self, content=b""):
        self.safe, self.changes = content, []

    @staticmethod
    def changed(content, change):
        offset, data = change
        if data is None:
            return content[:offset].ljust(offset, b"\0")
        return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data):]

    def sync(self):
        for change in self.changes:
            self.safe = self.changed(self.safe, change)
        self.changes = []

    def after_cut(self, chance, share):
        """What the disk holds: each block of each unsynced change with this probability."""
        content = self.safe
        for offset, data in self.changes:
            if data is None:
                content = self.changed(content, (offset, None)) if chance.random() < share else content
                continue
            for at in range(0, len(data), BLOCK):
                if chance.random() < share:
                    content = self.changed(content, (offset + at, data[at:at + BLOCK]))
        return content


class Disk:
    """Replays a log over what was there before, and tells what may be left of it."""

    def __init__(self, files):
        self.before = {path: File(content) for path, content in files.items()}
        self.live = dict(self.before)
        self.entries = []  # changes of directories in order: (path, file or None for gone)
        self.kept = 0      # this many of them are safe

    def replay(self, log):
        for kind, path, target, offset, data in records(log):
            if kind == SYNC:
                self.sync(path)
            elif kind == RENAME:
                if path in self.live:
                    file = self.live.pop(path)
                    self.live[target] = file
                    self.entries.append(((path, None), (target, file)))
            elif kind == UNLINK:
                self.live.pop(path, None)
                self.entries.append(((path, None),))
            elif not path.endswith(" (deleted)"):
                if path not in self.live:
                    self.live[path] = File()
                    self.entries.append(((path, self.live[path]),))
                self.live[path].changes.append((offset, data if kind == WRITE else None))

    def sync(self, path):
        """A file with its name, or the names in a directory; all directory changes before them come along."""
        file = self.live.get(path)
        if file is not None:
            file.sync()
        for i in range(len(self.entries) - 1, self.kept - 1, -1):
            if any(file is not None and one is file or os.path.dirname(name) == path for name, one in self.entries[i]):
                self.kept = i + 1
                break

    def after_cut(self, chance):
        share = chance.choice((0, 0, 0.5, 0.9, 1))
        names = dict(self.before)
        for change in self.entries[:chance.randint(self.kept, len(self.entries))]:
            for path, file in change:
                if file is None:
                    names.pop(path, None)
                else:
                    names[path] = file
        return {path: file.after_cut(chance, share) for path, file in names.items()}


def read_all(root):
    return {str(path): path.read_bytes() for folder in ("state", "files") for path in sorted((root / folder).rglob("*"))
            if path.is_file() and not path.name.endswith("-shm")}


class CutEpisode(crash_test.Episode):
    recorder = None

    def environment(self):
        root = self.workspace.root
        self.disk = Disk(read_all(root))
        (root / "recorded").unlink(missing_ok=True)
        # A sanitizer wants to be loaded first, and need not be.
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {"LD_PRELOAD": str(self.recorder), "POWERCUT_LOG": str(root / "recorded"), "POWERCUT_ROOT": str(root),
                "ASAN_OPTIONS": options}

    def after_kill(self):
        """The machine comes up again with what the disk kept."""
        root = self.workspace.root
        if (root / "recorded").exists():
            self.disk.replay((root / "recorded").read_bytes())
        left = self.disk.after_cut(self.chance)
        for folder in ("state", "files"):
            shutil.rmtree(root / folder, ignore_errors=True)
        (root / "files").mkdir()
        for path, content in left.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)


class Cuts(crash_test.Campaign, unittest.TestCase):
    prefix, kills_wanted, episode = "POWERCUT", 10, CutEpisode
    config = "isolation: {children: false}\n"  # the recorder sees what this program writes; git syncs for itself

    def setUp(self):
        super().setUp()
        folder = tempfile.mkdtemp(prefix="cadre-powercut-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        CutEpisode.recorder = Path(folder, "recorder.so")
        source = Path(__file__).resolve().parent / "powercut" / "recorder.c"
        subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o",
                        str(CutEpisode.recorder), str(source)], check=True, timeout=60)

    def test_what_was_acknowledged_survives_a_power_cut(self):
        self.run_campaign()


class TheDiskItself(unittest.TestCase):
    """The simulation must be able to lose what it should lose, or the test above could not fail."""

    class Always:
        """Chance that keeps as little as is allowed."""

        def choice(self, options):
            return options[0]

        def randint(self, low, high):
            return low

        def random(self):
            return 0.5

    @staticmethod
    def log(*entries):
        return b"".join(HEAD.pack(kind, len(path), len(target), len(data), offset) + path + target + data
                        for kind, path, target, offset, data in entries)

    def left(self, before, *entries):
        disk = Disk(before)
        disk.replay(self.log(*entries))
        return disk.after_cut(self.Always())

    def test_it_forgets_a_write_that_was_not_synced(self):
        self.assertEqual(self.left({"/d/a": b"old"}, (WRITE, b"/d/a", b"", 0, b"new")), {"/d/a": b"old"})

    def test_it_keeps_a_write_that_was_synced(self):
        self.assertEqual(self.left({"/d/a": b"old"}, (WRITE, b"/d/a", b"", 1, b"new"), (SYNC, b"/d/a", b"", 0, b"")),
                         {"/d/a": b"onew"})

    def test_it_forgets_a_rename_until_the_directory_is_synced(self):
        changes = [(WRITE, b"/d/t", b"", 0, b"new"), (SYNC, b"/d/t", b"", 0, b""), (RENAME, b"/d/t", b"/d/a", 0, b"")]
        self.assertEqual(self.left({"/d/a": b"old"}, *changes), {"/d/a": b"old", "/d/t": b"new"})
        self.assertEqual(self.left({"/d/a": b"old"}, *changes, (SYNC, b"/d", b"", 0, b"")), {"/d/a": b"new"})

    def test_a_rename_without_a_sync_of_the_file_loses_its_bytes(self):
        self.assertEqual(self.left({"/d/a": b"old"}, (WRITE, b"/d/t", b"", 0, b"new"),
                                   (RENAME, b"/d/t", b"/d/a", 0, b""), (SYNC, b"/d", b"", 0, b"")), {"/d/a": b""})


if __name__ == "__main__":
    unittest.main()
