"""The row of many files: a child makes them with one command in a tree of its own, they are merged, and its parent hears of it.

Each file stands in the child's result, in the parent's and in the report. Memory and the loop's delays must follow the number of
files, not its square, and what the parent's model reads must not follow it at all.
"""
import json
import os

import measure
import planned

DIRECTORIES = 100  # that the files lie in
COMMAND = ("awk 'BEGIN { for (i = 0; i < %d; i++) { if (i < %d) system(\"mkdir -p made/\" i);"
           " f = sprintf(\"made/%%d/file-%%06d.txt\", i %% %d, i); print i > f; close(f) } }'")
READ_MAX = 16 << 10  # bytes of the parent's request beyond its first one


def script(count):
    return {"models": [{"id": "bench", "window": 100000, "max_output": 8192}], "rules": [
        {"when": {"first_user": "root", "turn": 0},
         "reply": {"calls": [{"name": "spawn_agent", "arguments": {"task": "CHILD makes files", "budget": {"timeout_ms": 300000}}}]}},
        {"when": {"first_user": "root", "turn": 1}, "reply": {"text": "made"}},
        {"when": {"first_user": "CHILD", "turn": 0}, "reply": {"calls": [
            {"name": "shell", "arguments": {"command": COMMAND % (count, DIRECTORIES, DIRECTORIES), "timeout_ms": 200000}}]}},
        {"when": {"first_user": "CHILD", "turn": 1}, "reply": {"text": "all made"}}]}


def measure_files(bench, row, count):
    workspace = planned.repository(bench, "files-%d" % count)
    found = os.path.join(bench.directory, "stall.json")
    store = bench.new_store()
    with measure.ScriptedServer(bench, script(count)) as server:
        sample = bench.cadre(server, store, "run", "root", workspace=workspace, isolation="true",
                             more="permissions: {shell: allow}\n", variables={"CADRE_STALL_FILE": found}).finish()
        stats = server.stats()
    if stats["requests"] != 4 or stats["refused"] or stats["unmatched"]:
        raise measure.Failed("cadre sent %d requests, %d of them wrong, and 4 were expected" % (
            stats["requests"], stats["refused"] + stats["unmatched"]))
    left = planned.merged(workspace, store)
    if len(left) != count + planned.FILES:
        raise measure.Failed("%d files were merged, and %d were made" % (len(left) - planned.FILES, count))
    read = measure.query(store, "SELECT max(length(json_extract(payload_json, '$.text'))) FROM event_log"
                                " WHERE type = 'tool.finished' AND agent_id = run_id")[0][0]
    bench.forget_store(store)
    with open(found, encoding="ascii") as file:
        seen = json.load(file)
    row.wall, row.peak_mb = sample.wall, sample.peak_kb / 1024
    row.note = "the parent's model reads %d bytes of it; loop late: p99 %.1f, longest %.1f ms; without the wait for a core: %.1f ms" % (
        read, seen["p99_ms"], seen["longest_ms"], seen["blocked_longest_ms"])
    row.judge("≤ 128 MB, p99 ≤ 5 ms, ≤ 16 KB read", ("MB", row.peak_mb, 128), ("p99 ms", seen["p99_ms"], 5),
              ("KB read", read / 1024, READ_MAX / 1024))
