"""Fail a command at one of the system calls that need the disk, and hold what it says against what is there.

    python tests/crash/full_disk_points.py ACTION FOLDER [--points N] [--once] [--io]

The disk is full from a call on, or with --once for that one call; with --io fsync fails in place of it. Without
--points every such call is tried. Ends with code 1 where a sentence is not so.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import crash_points
from crash_points import Rows, rows_of
from support import kill_points, killing, small_store

from zeroclaw_tui.backends.sqlite import search as _search
from zeroclaw_tui.backends.sqlite import store as _store
from zeroclaw_tui.cli import main as program
from zeroclaw_tui.cli import verbs as _verbs
from zeroclaw_tui.curation import doctor as _repairing
from zeroclaw_tui.curation.transfer import plan as _copying

ROWS = 14
PURGE = ("purge", "--category", "daily", "--yes")
COPY = ("copy", "--to", "sqlite", "--to-location", "{folder}/made/other.db", "--yes")
REPAIR = ("doctor", "--repair", "keyword-index", "--yes")
ACTIONS = {
    "list": ("list",),
    "purge": PURGE,
    "forever": (*PURGE, "--forever"),
    "edit": ("edit", "key7", "--content", "another text"),
    "undo": ("undo", "--yes"),
    "empty": ("trash", "empty", "--yes"),
    "copy": COPY,
    "repair": REPAIR,
    "replace": REPAIR,
}
REPAIRS = ("repair", "replace")
PURGED_FIRST = ("undo", "empty")
UNCHANGED = ("Nothing was changed", "nothing is changed", "nothing was changed")
WAY_BACK = ("undo takes", "undo brings", "restores them", "restores it", "can be undone")
FULL = ("disk is full", "no space left", "no room")


def said_by(folder: Path, arguments: tuple[str, ...]) -> str:
    """What a command says when nothing fails, its exit code at the end."""
    command = [sys.executable, "-c", "import sys; from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"]
    given = [part.format(folder=folder) for part in arguments]
    done = subprocess.run(
        [*command, "memory", "--config-dir", str(folder), *given], capture_output=True, text=True, timeout=120
    )
    return f"{done.stdout}{done.stderr}\nexit {done.returncode}\n"


def act(folder: Path, name: str, said: Path) -> Callable[[], None]:
    """The command in this process, between two marks; what it says goes to a file."""

    def work() -> None:
        sink = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        given = [part.format(folder=folder) for part in ACTIONS[name]]
        sys.argv = ["zeroclaw", "memory", "--config-dir", str(folder), *given]
        kill_points.mark()
        try:
            code = program.zeroclaw()
        except BaseException as error:  # noqa: BLE001 - what the interpreter would do with it
            sys.excepthook(type(error), error, error.__traceback__)
            code = 70
        kill_points.mark()
        sys.stdout.flush()
        os.write(1, f"\nexit {code}\n".encode())

    return work


def made_of(folder: Path) -> Rows | None:
    """The rows of the copy, None where there is no file."""
    path = folder / "made" / "other.db"
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the copy is damaged"
        found = connection.execute("SELECT id, * FROM memories").fetchall()
    return {row[0]: row[1:] for row in found}


def check(folder: Path, name: str, said: str, before: Rows, whole: Rows) -> None:
    """Hold every sentence against the rows; `whole` are those there were before anything was purged."""
    words = " ".join(said.split())
    now = rows_there(folder, name)
    code = int(words.rsplit("exit ", 1)[1])
    assert "Internal error" not in words, "it took a full disk for a fault of its own"
    assert "Traceback" not in words, "a traceback"
    if any(sentence in words for sentence in UNCHANGED) and name != "copy":
        assert now == before, "it says that nothing was changed, and something was"
    if name == "forever":
        assert not any(sentence in words for sentence in WAY_BACK), "it promises an undo of what is deleted for good"
    if name == "copy":
        made = made_of(folder)
        assert code or (made or {}).keys() == before.keys(), "it says that it copied"
        assert "exit 0" in said_by(folder, COPY), "with room again the copy does not go on"
        again = made_of(folder)
        assert (again or {}).keys() == before.keys(), "the copy is not whole"
    elif name == "list":
        assert code or all(row[2] in words for row in before.values()), "not all is shown"
    elif name == "undo":
        said_by(folder, ("undo", "--yes"))
        assert rows_of(folder) == whole, "done again it does not bring everything back"
    elif name in ("purge", "edit"):
        undone = said_by(folder, ("undo", "--yes"))
        is_promised = code == 0 or any(sentence in words for sentence in WAY_BACK)
        if is_promised and now != before:
            assert "exit 0" in undone, f"it cannot be undone: {undone}"
        assert rows_of(folder) == before, "neither done nor not done"
    elif name in REPAIRS:
        assert now == before, "a memory is not as it was"
        assert "exit 0" in said_by(folder, REPAIR), "with room again the repair is not done"
        assert "exit 0" in said_by(folder, ("doctor",)), "the index is not whole after the repair"
    elif name == "forever":
        assert code or now != before, "it says that it was done"


def try_all(name: str, place: Path, points: int | None, lasts: bool, number: int) -> int:
    """Every call, or so many of them; the exit code."""
    base, said = place.with_name("base"), place.with_name("said")
    crash_points.make_install(place, ROWS)
    whole = rows_of(place)
    if name in PURGED_FIRST:
        said_by(place, PURGE)
    if name == "repair":
        with closing(sqlite3.connect(place / "data" / "memory" / "brain.db")) as connection:
            connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
            connection.commit()
    elif name == "replace":
        small_store.damage(place / "data" / "memory" / "brain.db", "memories_fts_data")
    before = rows_there(place, name)
    shutil.copytree(place, base)
    calls = kill_points.run(act(place, name, said), failing=kill_points.Failing(10**9, number)).calls
    if not calls:
        raise SystemExit(f"the {name} makes no such call: {said.read_text()}")
    bad = message = 0
    for point in _chosen(calls, points):
        shutil.rmtree(place)
        shutil.copytree(base, place)
        kill_points.run(act(place, name, said), failing=kill_points.Failing(point, number, lasts))
        words = said.read_text()
        message += "exit 0" not in words
        try:
            check(place, name, words, before, whole)
            # Of a disk that has room again when it is asked nobody can tell that it was full.
            if lasts and number == errno.ENOSPC and "exit 0" not in words:
                assert any(sentence in words for sentence in FULL), "it does not say that the disk is full"
                assert "exit 3" in words, "it does not end with 3"
        except (AssertionError, sqlite3.Error) as error:
            bad += 1
            print(f"{name}, call {point} of {calls}: {error}\n  {words.strip()}\n")
    print(f"{name}: {calls} calls, {message} failures reported, {bad} untrue")
    return 1 if bad else 0


def rows_there(place: Path, name: str) -> Rows:
    """What is there; an index that is out of step would fail the checks."""
    if name not in REPAIRS:
        return rows_of(place)
    with closing(sqlite3.connect(place / "data" / "memory" / "brain.db")) as connection:
        return {row[0]: row[1:] for row in connection.execute("SELECT id, rowid, * FROM memories")}


def _chosen(calls: int, points: int | None) -> list[int]:
    if points is None or points >= calls:
        return [*range(1, calls + 1)]
    # The last ones are those after the commit.
    chance = random.Random(calls)
    late = [*range(max(1, calls - points // 2 + 1), calls + 1)]
    return sorted({*late, *(chance.randint(1, calls) for _ in range(points - len(late)))})


def main() -> int:
    given = killing.arguments(ACTIONS, "--once", "--io")
    number = errno.EIO if given.io else errno.ENOSPC
    return try_all(given.action, given.folder / "copy", given.points, not given.once, number)


if __name__ == "__main__":
    assert all((_search, _store, _verbs, _repairing, _copying))
    sys.exit(main())
