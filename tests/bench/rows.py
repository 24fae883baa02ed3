"""The rows of the benchmark: what each one runs, what it is held against, and its target."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

import caching
import files
import measure
import planned

LEADS_MAX = 128
WAVE = 1000  # children that the root starts with one reply
FANS = (1, 10, 100, 1000, 10000)
TOOL_TURNS = 3
GROUP = 64


class Row:
    """One line of the table. Numbers that a row does not have stay None."""

    def __init__(self, name):
        self.name, self.problem = name, None
        self.wall = self.cpu_turn = self.peak_mb = self.bytes_request = self.events_turn = None
        self.curl_wall = self.curl_cpu_turn = self.epoll_wall = self.epoll_cpu_turn = None
        self.wall_curl = self.cpu_curl = self.wall_epoll = self.curl_peak_mb = None
        self.rounds, self.target, self.met, self.note = 1, "", None, ""

    def judge(self, target, *conditions):
        """Each condition: (what, number, most)."""
        self.target = target
        self.met = all(number <= most for _, number, most in conditions)
        missed = ["%s %.2f" % (what, number) for what, number, most in conditions if number > most]
        if missed:
            self.note = (self.note + "; " if self.note else "") + "missed: " + ", ".join(missed)


def plan_of(stats, wave=WAVE):
    """The requests of a cadre run as a plan for the bare clients: same number, sizes and concurrency."""
    def size(kind, turn):
        count, total = stats[kind][turn]
        return total // count

    lines = []
    leaf = " ".join(str(size("leaf", turn)) for turn in range(len(stats["leaf"])))
    left = stats["leaf"][0][0] if stats["leaf"] else 0
    leads = stats["lead"][0][0] if stats["lead"] else 0
    for turn in range(len(stats["root"])):
        lines.append("root 1 %d %d" % (turn, size("root", turn)))
        now = left if leads else min(left, wave)
        if turn == 0 and leads:
            lines.append("lead %d 0 %d" % (leads, size("lead", 0)))
        if now:
            lines.append("leaf %d 0 %s" % (now, leaf))
            left -= now
        if turn == 0 and leads:
            lines.append("lead %d 1 %d" % (leads, size("lead", 1)))
    return "\n".join(lines) + "\n"


def expected_requests(children, leads, turns, wave):
    roots = 2 if leads else (children + wave - 1) // wave + 1
    return roots + 2 * leads + children * (turns + 1)


def compare(bench, row, server, children, rounds=1, turns=TOOL_TURNS, wave=WAVE):
    """Runs cadre and both clients `rounds` times, in turn, and fills the row with medians."""
    seen = {"cadre": [], "curl": [], "epoll": []}
    for _ in range(rounds):
        store = bench.new_store()
        server.reset()
        seen["cadre"].append(bench.cadre_run(server, store).finish())
        stats = server.stats()
        if stats["requests"] != expected_requests(children, 0, turns, wave) or stats["bad"]:
            raise measure.Failed("cadre sent %d requests, %d of them wrong, and %d were expected" % (
                stats["requests"], stats["bad"], expected_requests(children, 0, turns, wave)))
        row.events_turn = measure.count_events(store) / stats["requests"]
        row.bytes_request = stats["request_bytes"] / stats["requests"]
        bench.forget_store(store)
        for name in ("curl", "epoll"):
            server.reset()
            seen[name].append(bench.bare(name, server, plan_of(stats, wave)).finish())
            again = server.stats()
            if again["requests"] != stats["requests"] or again["bad"]:
                raise measure.Failed("bench-%s sent %d requests, cadre %d" % (name, again["requests"], stats["requests"]))
    median = statistics.median

    def ratio(what, other):
        return median(getattr(a, what) / max(getattr(b, what), 1e-6) for a, b in zip(seen["cadre"], seen[other]))

    requests = stats["requests"]
    row.rounds = rounds
    row.wall = median(s.wall for s in seen["cadre"])
    row.cpu_turn = median(s.cpu for s in seen["cadre"]) / requests
    row.peak_mb = median(s.peak_kb for s in seen["cadre"]) / 1024
    row.curl_peak_mb = median(s.peak_kb for s in seen["curl"]) / 1024
    row.curl_wall = median(s.wall for s in seen["curl"])
    row.curl_cpu_turn = median(s.cpu for s in seen["curl"]) / requests
    row.epoll_wall = median(s.wall for s in seen["epoll"])
    row.epoll_cpu_turn = median(s.cpu for s in seen["epoll"]) / requests
    row.wall_curl, row.cpu_curl = ratio("wall", "curl"), ratio("cpu", "curl")
    row.wall_epoll = ratio("wall", "epoll")
    return stats


# --- rows --------------------------------------------------------------------------------------------------------


def fan(bench, row, children, thousand, context):
    options = ["--children", children, "--turns", TOOL_TURNS, "--wave", WAVE] + (["--context-file", "context.txt"] if context else [])
    with measure.Server(bench, *options) as server:
        compare(bench, row, server, children, rounds=5 if children <= 1000 else 3)
    if children == 1000:
        row.judge("wall ≤ 2.5x curl, CPU/turn ≤ 3x", ("wall", row.wall_curl, 2.5), ("CPU", row.cpu_curl, 3))
    if children == 10000 and thousand is not None and thousand.wall:
        # The root sends its growing history again with every wave, whoever the client is: bare growth counts as linear.
        growth, bare = row.wall / thousand.wall / 10, row.curl_wall / thousand.curl_wall / 10
        row.note = "%.2fx the time per child of K=1000, bare libcurl %.2fx" % (growth, bare)
        row.judge("no worse than linear from 1,000", ("growth", growth, 1.1 * max(1, bare)))


def alive(bench, row, children, delay_ms, idle_mb):
    if bench.descriptors < children + 500:
        raise measure.Failed("needs %d open files, and %d are allowed" % (children + 500, bench.descriptors))
    with measure.Server(bench, "--children", children, "--turns", 0, "--wave", children,
                        "--delay-ms", delay_ms) as server:
        stats = compare(bench, row, server, children, rounds=3, turns=0, wave=children)
    each = (row.peak_mb - (idle_mb or idle_memory(bench)[0])) * 1024 / children
    row.note = "%d requests open at once; %.1f KB each, bare libcurl %.1f in all" % (
        stats["in_flight_max"], each, row.curl_peak_mb * 1024 / children)
    row.judge("≤ 1.5x epoll, ≤ 32 KB each", ("wall", row.wall_epoll, 1.5), ("KB each", each, 32))


def faults(bench, row, children, permille):
    """The same run with and without faults, and nothing set for the provider: cadre finds out by itself what the server takes."""
    walls, requests = [], []
    for share in (0, permille):
        with measure.Server(bench, "--children", children, "--turns", TOOL_TURNS, "--wave", children,
                            "--faults", share) as server:
            store = bench.new_store()
            process = bench.cadre(server, store, "run", "root", "--max-concurrent", "100000", provider="")
            sample = process.finish()
            stats = server.stats()
            ended = measure.count_completed(store)
            bench.forget_store(store)
        if ended != children:
            raise measure.Failed("%d of %d children completed" % (ended, children))
        walls.append(sample.wall)
        requests.append(stats["requests"])
    row.wall, row.peak_mb = sample.wall, sample.peak_kb / 1024
    row.note = "%d faults; %.0f requests/s with them, %.0f without; all children completed" % (
        stats["faults"], requests[1] / walls[1], requests[0] / walls[0])
    # A request that hangs takes three seconds, and the unluckiest child meets several faults. All are started with one reply: in
    # waves each wave would wait for its unluckiest child.
    row.judge("≤ 2x the time without faults + 15 s", ("s", walls[1], 2 * walls[0] + 15))


def cold(bench, row, rounds):
    times = {"cadre": [], "curl": [], "epoll": []}
    with measure.Server(bench, "--children", 0) as server:
        store = bench.new_store()
        bench.cadre_run(server, store).finish()
        for _ in range(rounds):
            for name, each in times.items():
                server.reset()
                process = bench.cadre_run(server, store) if name == "cadre" else bench.bare(
                    name, server, plan_of(stats))
                process.finish()
                stats = server.stats()
                each.append((stats["first_at"] - process.started) / 1e9)
        bench.forget_store(store)
    row.rounds = rounds
    row.wall, row.curl_wall, row.epoll_wall = (statistics.median(times[name]) for name in ("cadre", "curl", "epoll"))
    row.wall_curl = statistics.median(a / b for a, b in zip(times["cadre"], times["curl"]))
    row.wall_epoll = statistics.median(a / b for a, b in zip(times["cadre"], times["epoll"]))
    row.note = "until the first request arrives"
    row.judge("≤ 2x curl", ("wall", row.wall_curl, 2))


ASKS_MORE = 1000  # of asks_often.c


def owned(bench, row, children, rounds):
    """What it costs to ask before each request whether the run is still ours: cadre, and a program that asks a thousand times more, in
    turn. A thousandth of the CPU that the second takes more is the cost. With and without cannot be told apart: two runs of one and
    the same program differ by more than that. Every other round begins with the other one, so that a machine that gets slower
    favours neither."""
    seen = {"cadre": [], "often": []}
    with measure.Server(bench, "--children", children, "--turns", 0, "--wave", WAVE) as server:
        for turn in range(rounds):
            for name in sorted(seen, reverse=turn % 2 == 1):
                store = bench.new_store()
                server.reset()
                seen[name].append(bench.cadre_run(server, store, program=name).finish())
                stats = server.stats()
                bench.forget_store(store)
                if stats["requests"] != expected_requests(children, 0, 0, WAVE) or stats["bad"]:
                    raise measure.Failed("%s sent %d requests, %d of them wrong" % (name, stats["requests"], stats["bad"]))
    costs = sorted((often.cpu / once.cpu - 1) / ASKS_MORE * 100 for once, often in zip(seen["cadre"], seen["often"]))
    row.rounds = rounds
    row.wall = statistics.median(s.wall for s in seen["cadre"])
    row.cpu_turn = statistics.median(s.cpu for s in seen["cadre"]) / stats["requests"]
    row.note = "%.3f %% of its CPU, rounds from %.3f to %.3f; asked %d times more and divided" % (
        statistics.median(costs), costs[0], costs[-1], ASKS_MORE)
    row.judge("≤ 3 % CPU", ("%", statistics.median(costs), 3))


def idle_memory(bench):
    """MB of cadre and of the bare libcurl client while they wait for the first reply."""
    found = []
    plan = None
    for name in ("cadre", "curl"):
        with measure.Server(bench, "--children", 0, "--hold-last") as server:
            store = bench.new_store()
            process = bench.cadre_run(server, store) if name == "cadre" else bench.bare(name, server, plan)
            server.wait(process, lambda stats: stats["held"])
            time.sleep(0.5)
            found.append(process.resident_kb() / 1024)
            plan = plan_of(server.stats())
            process.kill()
            bench.forget_store(store)
    return found


def idle(bench, row):
    row.peak_mb, bare_mb = idle_memory(bench)
    row.note = "waiting for a reply; bare libcurl %.1f MB" % bare_mb
    row.judge("≤ 16 MB", ("MB", row.peak_mb, 16))


def journal(bench, row, events):
    seen = bench.alone("journal", events, GROUP)
    bench.synchronous = seen["synchronous"]
    row.note = "%d events/s, bare SQLite %d; %.0f %% of it" % (
        seen["store_per_second"], seen["bare_per_second"], seen["ratio"] * 100)
    row.judge("≥ 40 % of bare SQLite", ("bare ÷ store", 1 / seen["ratio"], 2.5))


def confined(bench, row, rounds):
    """`true` behind the walls, by the sandbox and by bubblewrap with the same walls, in turn."""
    seen = bench.alone("sandbox", rounds, 1024)
    row.wall, row.rounds = seen["ours_us"] / 1e6, rounds
    row.note = "%.1f ms, bubblewrap %.1f ms; %.1f ms in a process that holds 1 GB" % (
        seen["ours_us"] / 1e3, seen["bubblewrap_us"] / 1e3, seen["large_us"] / 1e3)
    row.judge("≤ bubblewrap, whatever the size", ("÷ bubblewrap", seen["ratio"], 1),
              ("large ÷ small", seen["large_us"] / seen["ours_us"], 1.5))


def writers(bench, row, count, files):
    """Trees for that many writers on a repository of so many files, and merges of their work, against bare git, in turn."""
    seen = {}
    for line in bench.lines("git", count, files):
        found = re.match(r"(.*?) +([0-9.]+) s +bare git +([0-9.]+) s +ratio ([0-9.]+)$", line)
        if found:
            seen[found[1]] = [float(found[i]) for i in (2, 3, 4)]
    row.wall = seen["checkouts"][0] + seen["merges"][0]
    row.note = "checkouts %.2f s, bare git %.2f s; merges %.2f s, bare git %.2f s" % (
        *seen["checkouts"][:2], *seen["merges"][:2])
    row.judge("checkouts ≤ 1.3x git, merges ≤ 2x", ("checkouts", seen["checkouts"][2], 1.3), ("merges", seen["merges"][2], 2))


def stall(bench, row, children, turns):
    """How late a timer of a millisecond fires on the loop while that many agents run shells and git all the time."""
    found = os.path.join(bench.directory, "stall.json")
    with measure.Server(bench, "--children", children, "--turns", turns, "--wave", children, "--programs") as server:
        store = bench.new_store()
        with measure.Sleeper() as sleeper:
            sample = bench.cadre(server, store, "run", "root", "--max-concurrent", str(children),
                                 more="permissions: {shell: allow}\n", variables={"CADRE_STALL_FILE": found}).finish()
        if server.stats()["requests"] != expected_requests(children, 0, turns, children):
            raise measure.Failed("cadre sent %d requests" % server.stats()["requests"])
        failed = measure.count_failed_calls(store)
        bench.forget_store(store)
    if failed:
        raise measure.Failed("%d commands failed" % failed)
    with open(found, encoding="ascii") as file:
        seen = json.load(file)
    row.wall, row.peak_mb = sample.wall, sample.peak_kb / 1024
    row.note = ("late: p50 %.1f, p99 %.1f, p99.9 %.1f, longest %.1f ms; without the wait for a core: p99 %.1f, longest %.1f ms; "
                "%.0f commands/s; p99 of a process that only sleeps: %.1f ms") % (
        seen["p50_ms"], seen["p99_ms"], seen["p999_ms"], seen["longest_ms"], seen["blocked_p99_ms"], seen["blocked_longest_ms"],
        children * turns / sample.wall, sleeper.p99_ms)
    # Judged by how late it is, whatever the reason; the other numbers say what the reason was.
    row.judge("p99 ≤ 5 ms", ("p99 ms", seen["p99_ms"], 5))


def resume(bench, row, events):
    """A log of so many events whose process was killed; a leaf with thirteen tool turns has 65 of them."""
    turns = 13
    children = events // 65 + 1
    leads = min(LEADS_MAX, children // 16 + 1)
    with measure.Server(bench, "--children", children, "--leads", leads, "--turns", turns, "--hold-last") as server:
        store = bench.new_store()
        process = bench.cadre_run(server, store, concurrent=500, depth=2)
        server.wait(process, lambda stats: stats["held"])
        process.kill()
        count = measure.count_events(store)
        server.get("release")
        server.reset()
        process = bench.cadre(server, store, "resume", "last", depth=2)
        sample = process.finish()
        row.wall = (server.stats()["first_at"] - process.started) / 1e9
        row.peak_mb = sample.peak_kb / 1024
        bench.forget_store(store)
    row.note = "%d events; until the first request arrives, %.1f s to the end" % (count, sample.wall)
    if events >= 1000000:
        row.judge("≤ 10 s", ("s", row.wall, 10))


def verify(bench, row, events):
    """Checking a log of so many events, against folding it. The run was killed: it is like that of the row above."""
    turns, rounds = 13, 3
    children = events // 65 + 1
    leads = min(LEADS_MAX, children // 16 + 1)
    with measure.Server(bench, "--children", children, "--leads", leads, "--turns", turns, "--hold-last") as server:
        store = bench.new_store()
        process = bench.cadre_run(server, store, concurrent=500, depth=2)
        server.wait(process, lambda stats: stats["held"])
        process.kill()
    seen = bench.alone("verify", store, rounds)
    bench.forget_store(store)
    row.wall, row.rounds = seen["verify_s"], rounds
    row.note = "%d events; fold %.2f s, %.2fx" % (seen["events"], seen["fold_s"], seen["ratio"])
    row.judge("≤ 2x the fold", ("÷ fold", seen["ratio"], 2))


def run_all(bench, quick, only):
    results, thousand = [], {}

    def add(name, measure_row, *arguments):
        row = Row(name)
        if only and only not in name:
            return row
        results.append(row)
        sys.stderr.write("%6.1f s  %s\n" % (time.monotonic() - bench.began, name))
        try:
            measure_row(bench, row, *arguments)
        except measure.OutOfTime:
            row.problem = "out of time"
        except subprocess.TimeoutExpired:
            row.problem = "out of time"
        except (measure.Failed, OSError) as failure:
            row.problem = str(failure)
        return row

    add("cold start", cold, 5 if quick else 21)
    idle_row = add("idle memory", idle)
    add("journal alone, groups of %d" % GROUP, journal, 16000 if quick else 160000)
    add("confined true", confined, 50 if quick else 300)
    add("loop stall, 8 agents with shells and git", stall, 8, 9 if quick else 60)
    add("%d writers, 2000 files" % (10 if quick else 100), writers, 10 if quick else 100, 2000)
    count = 5000 if quick else 50000
    add("a child that makes %d files" % count, files.measure_files, count)
    for review in (False,) if quick else (False, True):
        add("plan of %d steps in trees, %s" % (len(planned.STEPS), "reviewed" if review else "no review"), planned.measure_plan,
            review, 1 if quick else 3)
    for model, depth, most in caching.ROWS[:1 if quick else None]:
        add("prompt cache, %d children, %s%s" % (caching.CHILDREN, model, "" if depth > 1 else ", tools unlike the parent's"),
            caching.measure_caching, model, depth, most)
    for context in (False, True):
        for children in FANS[:3 if quick and context else 4 if quick else 5]:
            name = "K=%d, %d tool turns%s" % (children, TOOL_TURNS, ", 30 KB requests" if context else "")
            row = add(name, fan, children, thousand.get(context), context)
            if children == 1000:
                thousand[context] = row
    children = 500 if quick else 10000
    add("K=%d, ownership checked before each request" % children, owned, children, 5)
    children, delay_ms = (500, 500) if quick else (10000, 2000)
    add("%d alive at once, first token after %.1f s" % (children, delay_ms / 1000), alive, children, delay_ms,
        idle_row.peak_mb)
    children = 500 if quick else 10000
    add("K=%d at once, %d tool turns, 5 %% faults, default limits" % (children, TOOL_TURNS), faults, children, 50)
    events = 50000 if quick else 1000000
    add("resume of %d events" % events, resume, events)
    add("verify of %d events" % events, verify, events)
    return results
