"""The row of a plan: steps with fixed delays of their model, in trees of a repository of the row's own, against the plan's critical path.

The critical path is the longest way through the plan in the model's delays alone: what nobody could be faster than, with any number of
slots. Trees, commits, merges and the log come on top of it.
"""
import json
import os
import statistics
import subprocess
import threading
import time

import measure

DELAY_MS = 300  # of each reply: a model that answers fast
FILES = 200  # of the repository
# Steps: what each needs, and how many replies its model takes. In the order of the plan, which is the order of merges.
STEPS = {
    "slow": ([], 8),  # first in the plan, and nothing but the end needs it: the chain must not wait for its merge
    "one": ([], 2), "two": (["one"], 2), "three": (["two"], 3), "four": (["three"], 2),  # a chain
    "base": ([], 2), "left": (["base"], 2), "right": (["base"], 3), "roof": (["left", "right"], 3),  # a diamond
    "alone": ([], 4),
    "look": (["one", "base"], 2),
    "ends": (["four", "roof", "slow"], 3),
}
REVIEW_REPLIES = 2
# What a power cut may take is the same as for cadre's own calls.
SETTINGS = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "-c", "core.fsync=committed,reference",
            "-c", "core.fsyncMethod=batch"]


def plan(steps):
    """Each step owns a directory of its own."""
    return {"goal": "Build it", "completion_criteria": ["It is there"],
            "steps": [{"id": name, "title": "Build " + name, "description": "BUILD-%s." % name, "depends_on": needs,
                       "ownership": [name]} for name, (needs, _) in steps.items()]}


def critical_path(steps):
    """Names on the longest way through the delays, and their sum in seconds."""
    longest = {}

    def way(name):
        if name not in longest:
            needs, replies = steps[name]
            before, names = max((way(need) for need in needs), default=(0, []))
            longest[name] = (before + replies * DELAY_MS, names + [name])
        return longest[name]

    length, names = max(way(name) for name in steps)
    return names, length / 1000


def script(steps):
    """The first reply of a step writes its file, the last one answers, those between read what is there."""
    rules = []

    def reply(first_user, turn, **said):
        rules.append({"when": {"first_user": first_user, "turn": turn}, "reply": {**said, "delay_ms": DELAY_MS}})

    for name, (_, replies) in steps.items():
        about = "# Your step\n\nBUILD-%s." % name
        path = "%s/%s.txt" % (name, name)
        reply(about, 0, calls=[{"name": "write", "arguments": {"path": path, "content": name + "\n"}}])
        for turn in range(1, replies - 1):
            reply(about, turn, calls=[{"name": "read", "arguments": {"path": "file%d.txt" % turn}}])
        reply(about, replies - 1, text="built " + name)
    about = "Review the result of a plan"
    for turn in range(REVIEW_REPLIES - 1):
        reply(about, turn, calls=[{"name": "read", "arguments": {"path": "ends/ends.txt"}}])
    reply(about, REVIEW_REPLIES - 1, text=json.dumps({"summary": "seen", "findings": []}))
    return {"models": [{"id": "bench", "window": 100000, "max_output": 8192}], "rules": rules}


def git(directory, *words):
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": directory, "LC_ALL": "C",
                   "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *SETTINGS, *words], cwd=directory, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise measure.Failed("git %s: %s" % (words[0], done.stderr.strip()))
    return done.stdout.split()


def repository(bench, name):
    directory = os.path.join(bench.directory, name)
    os.makedirs(directory)
    for i in range(FILES):
        with open(os.path.join(directory, "file%d.txt" % i), "w", encoding="ascii") as file:
            file.write("line %d\n" % i * 20)
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", ".")
    git(directory, "commit", "-qm", "files")
    return directory


def merged(directory, store):
    """Files that the store's run left on its branch."""
    run = measure.query(store, "SELECT id FROM runs")[0][0]
    return set(git(directory, "ls-tree", "-r", "--name-only", "cadre/%s/result" % run))


def carry_out(bench, steps, workspace, review):
    """One run of the plan: its sample, and the milliseconds that trees and merges took, one list each."""
    path = os.path.join(bench.directory, "plan.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump(plan(steps), file)
    store = bench.new_store()
    with measure.ScriptedServer(bench, script(steps)) as server:
        sample = bench.cadre(server, store, "run", "--plan-file", path, "--max-concurrent", str(len(steps)), workspace=workspace,
                             isolation="true", more="plan: {review: %s}\n" % str(review).lower()).finish()
        stats = server.stats()
    expected = sum(replies for _, replies in steps.values()) + (REVIEW_REPLIES if review else 0)
    if stats["requests"] != expected or stats["refused"] or stats["unmatched"]:
        raise measure.Failed("cadre sent %d requests, %d of them wrong, and %d were expected" % (
            stats["requests"], stats["refused"] + stats["unmatched"], expected))
    missing = {"%s/%s.txt" % (name, name) for name in steps} - merged(workspace, store)
    if missing:
        raise measure.Failed("not merged: " + " ".join(sorted(missing)))
    trees = measure.spans(store, "agent.isolating", "agent.worktree_created")
    merges = measure.spans(store, "agent.merging", "agent.worktree_merged")
    bench.forget_store(store)
    return sample, trees, merges


def by_hand(directory, steps, review):
    """The same plan without cadre, and without its log, order and locks that outlive a crash: a thread for each step, sleeps in place
    of the model, git's own worktrees, commits and merges. Its wall time."""
    place = directory + "-by-hand"
    ended = {name: threading.Event() for name in steps}
    problems, one = [], threading.Lock()  # git's worktrees are not made for two at a time

    def work(name):
        needs, replies = steps[name]
        tree = os.path.join(place, name)
        try:
            for need in needs:
                ended[need].wait()
            with one:
                git(result, "worktree", "add", "-q", "-b", "by-hand-" + name, tree)
            time.sleep(replies * DELAY_MS / 1000)
            os.makedirs(os.path.join(tree, name))
            with open(os.path.join(tree, name, name + ".txt"), "w", encoding="ascii") as file:
                file.write(name + "\n")
            git(tree, "add", ".")
            git(tree, "commit", "-qm", name)
            with one:
                git(result, "merge", "-q", "--no-edit", "by-hand-" + name)
                git(result, "worktree", "remove", tree)
        except (measure.Failed, OSError) as failure:
            problems.append(failure)
        ended[name].set()

    began = time.monotonic()
    result = os.path.join(place, "result")
    git(directory, "worktree", "add", "-q", "-b", "by-hand", result)
    threads = [threading.Thread(target=work, args=(name,)) for name in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(REVIEW_REPLIES * DELAY_MS / 1000 if review else 0)
    wall = time.monotonic() - began
    if problems:
        raise measure.Failed("by hand: %s" % problems[0])
    git(directory, "worktree", "remove", "--force", result)
    for branch in ["by-hand"] + ["by-hand-" + name for name in steps]:
        git(directory, "branch", "-qD", branch)
    return wall


def measure_plan(bench, row, review, rounds):
    workspace = repository(bench, "plan-%s" % ("reviewed" if review else "alone"))
    names, critical = critical_path(STEPS)
    critical += REVIEW_REPLIES * DELAY_MS / 1000 if review else 0
    samples, hands, trees, merges = [], [], [], []
    for _ in range(rounds):
        sample, made, left = carry_out(bench, STEPS, workspace, review)
        samples.append(sample)
        trees += made
        merges += left
        hands.append(by_hand(workspace, STEPS, review))
    row.rounds = rounds
    row.wall = statistics.median(sample.wall for sample in samples)
    row.peak_mb = statistics.median(sample.peak_kb for sample in samples) / 1024
    ratio, bare = row.wall / critical, statistics.median(hands) / critical
    row.note = "%.2fx the critical path of %.2f s (%s%s), git by hand %.2fx; each tree %.0f ms, each merge %.0f ms" % (
        ratio, critical, " → ".join(names), " → review" if review else "", bare, statistics.median(trees),
        statistics.median(merges))
    # Where others use the machine up, every program that git is takes as long as they let it.
    row.judge("≤ 1.5x critical path, or 1.25x git by hand", ("÷ critical path", ratio, max(1.5, 1.25 * bare)))
