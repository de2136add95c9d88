"""Cost of commands and keys, relative to a bare SQL statement and to the same program in another work tree.

    python tests/bench/ratios.py [--other TREE] [--rows 1000000] [--rounds 5] [--only WORD] [--folder FOLDER]

Everything is run alternately, so that a busy machine affects all, and the minimum of all rounds counts. A command
is a separate process from bytecode, including its start; "CPU" is its own processor time, not that of a server.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import CONFIG, make_store
from bench.first_frame import key_times
from support.postgres_place import PostgresPlace
from support.postgres_server import running_postgres

OURS = Path(__file__).parents[2]
DIMENSIONS = 768
QUERY = "ra20 lo33"
PURGED = "to purge"
COMMAND = "import sys; sys.argv[0] = 'zeroclaw'; from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"
SQLITE = "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): pass"
FILL = """
INSERT INTO memories SELECT gen_random_uuid()::text, 'key_' || n, repeat(md5(n::text) || ' ', 6),
  (ARRAY['core', 'daily', 'conversation', 'notes'])[1 + n % 4], t, t, CASE WHEN n <= 10 THEN 'to purge' END
  FROM (SELECT n, '2026-11-22'::timestamptz - n * interval '1 minute' AS t FROM generate_series(1, {rows}) n) AS made;
VACUUM ANALYZE memories"""


class Run(NamedTuple):
    """The cost of one process."""

    seconds: float
    processor: float
    megabytes: float = 0.0


Way = Callable[[Path], Run]
"""Runs a command with the program of a work tree."""


class Case(NamedTuple):
    """A command, and a bare SQL statement that does the same."""

    name: str
    way: Way
    bare: Way | None = None


def run_process(tree: Path, *arguments: str) -> Run:
    """Run Python with the package of this tree and a separate trash."""
    trash = f"{os.environ['XDG_DATA_HOME']}{tree}"
    environment = os.environ | {"PYTHONPATH": str(tree), "XDG_DATA_HOME": trash}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    process = subprocess.Popen(
        # Python looks for packages in the working directory first.
        [sys.executable, "-c", *arguments],
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return Run(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def python(code: str, *arguments: str) -> Way:
    """Return a way to run Python code."""
    return lambda tree: run_process(tree, code, *arguments)


def memory(*arguments: str) -> Way:
    """Return a way to run `zeroclaw memory`."""
    return python(COMMAND, "memory", *arguments)


def restored(way: Way, undo: Way) -> Way:
    """Return a way that runs a command and undoes it without measuring the undo."""

    def run(tree: Path) -> Run:
        found = way(tree)
        undo(tree)
        return found

    return run


def added(*ways: Way) -> Way:
    """Return a way that runs commands in sequence and adds up their costs."""

    def run(tree: Path) -> Run:
        seconds, processor, megabytes = zip(*(way(tree) for way in ways), strict=True)
        return Run(sum(seconds), sum(processor), max(megabytes))

    return run


def warm_recall(folder: Path) -> Way:
    """Return the average cost of 204 recalls in a process that has made six before."""
    questions = [{"query": query, "limit": 5} for query in ("ra20 lo33", "mi7", "tan1 ver40 sol9")] * 70
    counts = (6, len(questions))
    files = [folder / f"questions-{count}.jsonl" for count in counts]
    for file, count in zip(files, counts, strict=True):
        file.write_text("".join(f"{json.dumps(question)}\n" for question in questions[:count]), encoding="utf-8")

    def run(tree: Path) -> Run:
        os.environ["ZEROCLAW_CONFIG_DIR"] = str(folder)
        few, many = (memory("recall", "--batch", str(file))(tree) for file in files)
        count = counts[1] - counts[0]
        return Run((many.seconds - few.seconds) / count, (many.processor - few.processor) / count, many.megabytes)

    return run


def cold_recall(folder: Path) -> Way:
    """Return a way that runs one `memory recall` in a separate process."""

    def run(tree: Path) -> Run:
        os.environ["ZEROCLAW_CONFIG_DIR"] = str(folder)
        return memory("recall", QUERY, "--json")(tree)

    return run


def key_to_screen(database: Path, keys: str, before: str = "") -> Way:
    """Return a way that measures the median time from a key to the first byte of its answer."""

    def run(tree: Path) -> Run:
        argv = ["env", "-C", str(tree), f"PYTHONPATH={tree}", sys.executable, "-m", "zeroclaw_tui", str(database)]
        times, megabytes = key_times(argv, b"memory_0", keys, before)
        wall, processor = (sorted(each)[len(times) // 2] / 1000 for each in zip(*times, strict=True))
        return Run(wall, processor, megabytes)

    return run


def sqlite_cases(database: Path) -> Iterator[Case]:
    """Return commands on many rows, ten thousand of which are in one session."""
    place = ("--backend", "sqlite", "--location", str(database), "--yes")
    undo = memory("undo", *place)
    bare = lambda statement: python(SQLITE, str(database), statement)  # noqa: E731
    yield Case(
        "sqlite: list",
        memory("list", "--limit", "5", "--json", *place[:4]),
        bare("SELECT rowid FROM memories ORDER BY julianday(updated_at) DESC, updated_at DESC, rowid DESC LIMIT 5"),
    )
    yield Case(
        "sqlite: list --contains",
        memory("list", "--contains", "no such text", "--json", *place[:4]),
        bare("SELECT rowid FROM memories WHERE content LIKE '%no such text%' OR key LIKE '%no such text%'"),
    )
    yield Case(
        "sqlite: stats",
        memory("stats", "--json", *place[:4]),
        bare(
            "SELECT category, count(*), sum(length(CAST(content AS BLOB))), min(julianday(created_at)), "
            "count(embedding) FROM memories GROUP BY category"
        ),
    )
    yield Case("sqlite: forget", restored(memory("forget", "memory_0000777", *place), undo))
    yield Case("sqlite: purge, undo", added(memory("purge", "--session", PURGED, *place), undo))


def postgres_cases(place: PostgresPlace) -> Iterator[Case]:
    """Return the same commands on a server."""
    where = ("--backend", "postgres", "--location", place.url, "--yes")
    undo = memory("undo", *where)
    yield Case("postgres: list", memory("list", "--limit", "5", "--json", *where[:4]))
    yield Case("postgres: list --contains", memory("list", "--contains", "no such text", "--json", *where[:4]))
    yield Case("postgres: stats", memory("stats", "--json", *where[:4]))
    yield Case("postgres: forget", restored(memory("forget", "key_777", *where), undo))
    yield Case("postgres: purge of ten", restored(memory("purge", "--session", PURGED, *where), undo))


def make_install(folder: Path, rows: int) -> Path:
    """Create a config directory with a store of memories and vectors."""
    database = folder / "data" / "memory" / "brain.db"
    if not database.exists():
        database.parent.mkdir(parents=True)
        make_store(database, rows, DIMENSIONS)
        (folder / "config.toml").write_text(CONFIG.format(DIMENSIONS), encoding="utf-8")
    return folder


def make_big_store(folder: Path, rows: int) -> Path:
    """Create a database of many memories, ten thousand of them in one session."""
    database = folder / f"rows-{rows}.db"
    if not database.exists():
        make_store(database, rows, littered=True)
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("UPDATE memories SET session_id = ? WHERE rowid <= 10000", [PURGED])
    return database


@contextmanager
def all_cases(folder: Path, rows: int) -> Iterator[list[Case]]:
    """Yield all cases, while the server that they need is running."""
    small, big = make_install(folder / "vectors-10000", 10_000), make_install(folder / "vectors-100000", 100_000)
    database = make_big_store(folder, rows)
    small_store = ("--backend", "sqlite", "--location", str(make_store(folder / "rows-1000.db", 1000)))
    bare_start = python("pass")
    with running_postgres(is_small=False) as server:
        place = PostgresPlace(server, "bench")
        place.make_table("key")
        for statement in FILL.format(rows=rows).split(";"):
            place.run_as_superuser(statement)
        yield [
            Case("start: --help", python(COMMAND, "--help"), bare_start),
            Case("start: memory list", memory("list", *small_store), bare_start),
            Case("start: memory get", memory("get", "memory_0000007", *small_store), bare_start),
            Case("start: memory recall", memory("recall", "memory", *small_store), bare_start),
            Case("recall: cold, 10,000 vectors", cold_recall(small)),
            Case("recall: cold, 100,000 vectors", cold_recall(big)),
            Case("recall: warm, 10,000 vectors", warm_recall(small)),
            Case("recall: warm, 100,000 vectors", warm_recall(big)),
            Case("key to screen: j", key_to_screen(database, "j" * 20)),
            Case("key to screen: letter of a search", key_to_screen(database, "memory mem", "/")),
            *sqlite_cases(database),
            *postgres_cases(place),
        ]


def report(case: Case, runs: dict[str, list[Run]]) -> None:
    """Print one line of the table."""
    best = {name: [min(each) for each in zip(*found, strict=True)] for name, found in runs.items()}
    seconds, processor, megabytes = best["ours"]
    line = f"{case.name:34} {seconds * 1000:8.0f} ms {processor * 1000:7.0f} ms CPU {megabytes:5.0f} MB"
    for name in ("bare", "other"):
        if name in best:
            line += f"   {seconds / best[name][0]:5.2f} ({processor / best[name][1]:.2f} CPU) x {name}"
    print(line, flush=True)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--other", type=Path, help="another work tree, which is measured too")
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", default="", help="cases that have this in their name")
    options.add_argument("--folder", type=Path, help="where databases are made once and left")
    args = options.parse_args()
    trees = {"ours": OURS} | ({"other": args.other.resolve()} if args.other else {})
    # Compiled as by an installer, so that nothing is compiled during the measurement.
    for tree in trees.values():
        compileall.compile_dir(tree / "zeroclaw_tui", quiet=1)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_DATA_HOME"] = home
        with all_cases(args.folder or Path(home), args.rows) as cases:
            for case in cases:
                if args.only in case.name:
                    measure(case, trees, args.rounds)


def measure(case: Case, trees: dict[str, Path], rounds: int) -> None:
    """Run one case alternately, with one extra round that does not count."""
    ways = {name: (case.way, tree) for name, tree in trees.items()}
    if case.bare is not None:
        ways["bare"] = (case.bare, OURS)
    runs: dict[str, list[Run]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, (way, tree) in ways.items():
            found = way(tree)
            if number:
                runs[name].append(found)
    report(case, runs)


if __name__ == "__main__":
    main()
