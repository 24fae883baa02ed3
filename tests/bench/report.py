"""The table of the benchmark, and the page that is made of it."""
import os
import platform
import time

import measure
import rows

SYNCHRONOUS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
COLUMNS = (
    ("row", lambda r: r.name),
    ("wall s", lambda r: number(r.wall, "%.3f")),
    ("CPU/turn µs", lambda r: number(r.cpu_turn, "%.0f", 1e6)),
    ("RSS MB", lambda r: number(r.peak_mb, "%.1f")),
    ("bytes/request", lambda r: number(r.bytes_request, "%.0f")),
    ("events/turn", lambda r: number(r.events_turn, "%.1f")),
    ("curl wall s", lambda r: number(r.curl_wall, "%.3f")),
    ("curl CPU/turn µs", lambda r: number(r.curl_cpu_turn, "%.0f", 1e6)),
    ("epoll wall s", lambda r: number(r.epoll_wall, "%.3f")),
    ("epoll CPU/turn µs", lambda r: number(r.epoll_cpu_turn, "%.0f", 1e6)),
    ("wall ÷ curl", lambda r: number(r.wall_curl, "%.2f")),
    ("CPU ÷ curl", lambda r: number(r.cpu_curl, "%.2f")),
    ("wall ÷ epoll", lambda r: number(r.wall_epoll, "%.2f")),
    ("target", lambda r: r.target),
    ("met", lambda r: "not measured" if r.problem else {True: "yes", False: "NO", None: ""}[r.met]),
    ("note", lambda r: " ".join((r.problem or r.note).split())[:200].replace("|", "/")),
)


def number(value, form, scale=1):
    return "" if value is None else form % (value * scale)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def table(bench, results, quick):
    cells = [[name for name, _ in COLUMNS]] + [[show(row) for _, show in COLUMNS] for row in results]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    synchronous = getattr(bench, "synchronous", None)
    head = [
        "%s, %d cores, Linux %s; load %.1f at the end; %s, %.0f s." % (
            processor(), os.cpu_count(), platform.release().split("-")[0], os.getloadavg()[0],
            "quick" if quick else "full", time.monotonic() - bench.began),
        "PRAGMA synchronous of the store's live handle: %s." % (
            "not asked" if synchronous is None else "%d (%s)" % (synchronous, SYNCHRONOUS.get(synchronous, "?"))),
        "The root starts at most %d children with one reply, all 10,000 where they live at once; the bare clients send "
        "in the same waves." % rows.WAVE,
        "RSS is the peak of cadre's process as it was at most %.0f ms before its end, %.0f ms in runs of over %.1f s." % (
            measure.EARLY_SECONDS * 1000, measure.SAMPLE_SECONDS * 1000, measure.EARLY_FOR),
        "Rows with up to 1,000 children are medians of 5 rounds, with 10,000 of 3.",
    ]
    return "\n".join(head) + "\n\n" + "\n".join(lines)


def page(text):
    return ("# The benchmark\n\n<!-- Written by `tests/bench/run --write`; not by hand. -->\n\n"
            "`make bench` prints this table; what the rows are stands in `tests/bench/rows.py`. Ratios are within one run.\n\n"
            + text + "\n")
