"""What a database of a million memories takes, beside bare statements over the same rows, in turns.

    python tests/bench/million_rows.py [ROWS [ROUNDS]]

Each command is a process of its own, so that its memory use is measured too. The database is made once, and reused if
BENCH_FOLDER names a folder for it. An import is measured once, because it takes as long as all the others together.
purge_and_undo.py measures the purge and undo of rows with vectors.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from big_store import make_store

from zeroclaw_tui.backends.sqlite.schema import create_database

ZEROCLAW = "from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"
READ = "\nimport sqlite3\nfor row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): pass"
COPY = """
import sqlite3
target = sqlite3.connect(sys.argv[2])
target.execute("ATTACH ? AS source", (sys.argv[1],))
for table in ("agents", "memories"):
    target.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM source.{table}")
target.commit()
"""
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
    "bare: old conversations": (
        "SELECT rowid, * FROM memories WHERE category = 'conversation' AND updated_at < '2026-09-01'"
    ),
}
OURS = {
    "memory similar": (["similar", "--id", "id-0000500", "--json"], "bare: read every content"),
    "memory list --limit 5": (["list", "--limit", "5", "--json"], "bare: sort by time"),
    "memory stats": (["stats", "--json"], "bare: count and add up"),
    "memory audit": (["audit", "--json"], "bare: every column"),
    "memory hygiene as text": (["hygiene", "--dry-run"], "bare: old conversations"),
}


class Run(NamedTuple):
    """What one process took."""

    seconds: float
    processor_seconds: float
    kilobytes: int


def measure(code: str, *arguments: str) -> Run:
    """Run this code in a Python process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; {code}", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def memory(verb: list[str], database: Path) -> Run:
    """Run one of our commands on a database."""
    return measure(ZEROCLAW, "memory", *verb, "--backend", "sqlite", "--location", str(database))


def report(name: str, runs: list[Run], bare: list[Run] | None = None, bare_name: str = "") -> None:
    """Print the medians of one command, and how many times its bare statement it takes."""
    seconds = statistics.median(run.seconds for run in runs)
    processor = statistics.median(run.processor_seconds for run in runs)
    line = f"{name:26} {seconds:7.2f} s {processor:7.2f} s CPU {max(run.kilobytes for run in runs) / 1024:6.0f} MB"
    if bare:
        line += f"  {seconds / statistics.median(run.seconds for run in bare):6.1f} x {bare_name}"
    print(line, flush=True)


def measure_import(database: Path, rows: int, folder: Path) -> None:
    """Import all rows from our own JSONL into an empty store, beside one statement that copies the tables."""
    exported, copied, imported = folder / "export.jsonl", folder / "copied.db", folder / "imported.db"
    memory(["export", str(exported), "--overwrite", "--superseded", "show"], database)
    create_database(copied, "G4")
    create_database(imported, "G4")
    bare = measure(COPY, str(database), str(copied))
    ours = memory(["import", str(exported), "--yes"], imported)
    with closing(sqlite3.connect(imported)) as connection:
        assert connection.execute("SELECT count(*) FROM memories").fetchone() == (rows,)
    report("bare: copy the tables", [bare])
    report("memory import", [ours], [bare], "bare: copy the tables")


def main() -> None:
    """Print the figures of one database."""
    rows, rounds = [int(value) for value in [*sys.argv[1:], *("1000000", "3")[len(sys.argv) - 1 :]]]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        place = Path(os.environ.get("BENCH_FOLDER", folder))
        database = make_store(place / f"littered-{rows}.db", rows, littered=True)
        runs: dict[str, list[Run]] = {name: [] for name in (*BARE, *OURS)}
        for _ in range(rounds):
            for name, statement in BARE.items():
                runs[name].append(measure(READ, str(database), statement))
            for name, (verb, _) in OURS.items():
                runs[name].append(memory(verb, database))
        for name in BARE:
            report(name, runs[name])
        for name, (_, bare_name) in OURS.items():
            report(name, runs[name], runs[bare_name], bare_name)
        measure_import(database, rows, Path(folder))


if __name__ == "__main__":
    main()
