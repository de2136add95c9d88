"""What a database of a million memories takes, beside bare statements over the same rows, in turns.

    python tests/bench/million_rows.py [ROWS [ROUNDS]]

Each is a process of its own, so that its memory is told too; the database is made once and kept in the folder that
BENCH_FOLDER names, if it does. The purge and undo of rows with vectors are measured by purge_and_undo.py.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from big_store import make_store

ZEROCLAW = "from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"
BARE = {
    "bare: read every content": "SELECT content FROM memories",
    "bare: sort by time": (
        "SELECT rowid FROM memories ORDER BY julianday(updated_at) DESC, updated_at DESC, rowid DESC LIMIT 5"
    ),
    "bare: count and add up": (
        "SELECT category, count(*), sum(length(CAST(content AS BLOB))), min(julianday(created_at)), count(embedding)"
        " FROM memories GROUP BY category"
    ),
    "bare: every column": "SELECT rowid, * FROM memories ORDER BY rowid",
}
OURS = {
    "memory similar": (["similar", "--id", "id-0005000", "--json"], "bare: read every content"),
    "memory list --limit 5": (["list", "--limit", "5", "--json"], "bare: sort by time"),
    "memory stats": (["stats", "--json"], "bare: count and add up"),
    "memory audit": (["audit", "--json"], "bare: every column"),
    "memory hygiene --dry-run": (["hygiene", "--dry-run"], "bare: every column"),
}


def taken(code: str, *arguments: str) -> tuple[float, int]:
    """Seconds, and the most kilobytes in use, of a Python process that runs this code."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", f"import sys; {code}", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return time.perf_counter() - started, used.ru_maxrss


def main() -> None:
    rows, rounds = [int(value) for value in [*sys.argv[1:], *("1000000", "3")[len(sys.argv) - 1 :]]]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        kept = Path(os.environ.get("BENCH_FOLDER", folder))
        database = str(make_store(kept / f"littered-{rows}.db", rows, littered=True))
        measured: dict[str, list[tuple[float, int]]] = {name: [] for name in (*BARE, *OURS)}
        for _ in range(rounds):
            for name, statement in BARE.items():
                code = "\nimport sqlite3\nfor row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): pass"
                measured[name].append(taken(code, database, statement))
            for name, (verb, _) in OURS.items():
                place = ("--backend", "sqlite", "--location", database)
                measured[name].append(taken(ZEROCLAW, "memory", *verb, *place))
    for name, runs in measured.items():
        seconds, most = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
        line = f"{name:26} {seconds:7.2f} s {most / 1024:6.0f} MB"
        if name in OURS:
            beside = OURS[name][1]
            bare = statistics.median(run[0] for run in measured[beside])
            line += f"  {seconds / bare:6.1f} x {beside}"
        print(line)


if __name__ == "__main__":
    main()
