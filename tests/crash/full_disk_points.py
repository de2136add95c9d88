"""Fail a command at one of the system calls that need the disk, and compare its output with the resulting files.

    python tests/crash/full_disk_points.py ACTION FOLDER [--points N] [--once] [--io]

The disk is full from a call on, or with --once for that call only; with --io fsync fails instead. Without
--points every such call is tried. Exits with code 1 if a printed sentence is untrue.
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


def output_of(folder: Path, arguments: tuple[str, ...]) -> str:
    """Run a command without failures and return its output, ending with its exit code."""
    command = [sys.executable, "-c", "import sys; from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"]
    given = [part.format(folder=folder) for part in arguments]
    done = subprocess.run(
        [*command, "memory", "--config-dir", str(folder), *given], capture_output=True, text=True, timeout=120
    )
    return f"{done.stdout}{done.stderr}\nexit {done.returncode}\n"


def act(folder: Path, name: str, said: Path) -> Callable[[], None]:
    """Return a function that runs the command in this process between two marks, with its output in a file."""

    def work() -> None:
        sink = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        given = [part.format(folder=folder) for part in ACTIONS[name]]
        sys.argv = ["zeroclaw", "memory", "--config-dir", str(folder), *given]
        kill_points.mark()
        try:
            code = program.zeroclaw()
        except BaseException as error:  # noqa: BLE001 - handled as the interpreter would
            sys.excepthook(type(error), error, error.__traceback__)
            code = 70
        kill_points.mark()
        sys.stdout.flush()
        os.write(1, f"\nexit {code}\n".encode())

    return work


def copied_rows(folder: Path) -> Rows | None:
    """Return the rows of the copy, or None if there is no file."""
    path = folder / "made" / "other.db"
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the copy is damaged"
        found = connection.execute("SELECT id, * FROM memories").fetchall()
    return {row[0]: row[1:] for row in found}


def check(folder: Path, name: str, said: str, before: Rows, whole: Rows) -> None:
    """Compare every printed sentence with the rows; `whole` are the rows before the first purge."""
    words = " ".join(said.split())
    now = current_rows(folder, name)
    code = int(words.rsplit("exit ", 1)[1])
    assert "Internal error" not in words, "it reported a full disk as an internal error"
    assert "Traceback" not in words, "it printed a traceback"
    if any(sentence in words for sentence in UNCHANGED) and name != "copy":
        assert now == before, "it says that nothing was changed, but something was"
    if name == "forever":
        assert not any(sentence in words for sentence in WAY_BACK), "it promises an undo of a permanent deletion"
    if name == "copy":
        made = copied_rows(folder)
        assert code or (made or {}).keys() == before.keys(), "it says that it copied, but it did not"
        assert "exit 0" in output_of(folder, COPY), "with free space again the copy does not continue"
        again = copied_rows(folder)
        assert (again or {}).keys() == before.keys(), "the copy is incomplete"
    elif name == "list":
        assert code or all(row[2] in words for row in before.values()), "not all memories are shown"
    elif name == "undo":
        output_of(folder, ("undo", "--yes"))
        assert rows_of(folder) == whole, "a second undo does not restore everything"
    elif name in ("purge", "edit"):
        undone = output_of(folder, ("undo", "--yes"))
        is_promised = code == 0 or any(sentence in words for sentence in WAY_BACK)
        if is_promised and now != before:
            assert "exit 0" in undone, f"it cannot be undone: {undone}"
        assert rows_of(folder) == before, "the change is half done"
    elif name in REPAIRS:
        assert now == before, "a memory has changed"
        assert "exit 0" in output_of(folder, REPAIR), "with free space again the repair fails"
        assert "exit 0" in output_of(folder, ("doctor",)), "the index is incomplete after the repair"
    elif name == "forever":
        assert code or now != before, "it says that it was done, but it was not"


def try_all(name: str, place: Path, points: int | None, lasts: bool, number: int) -> int:
    """Fail every call, or this many of them, and return the exit code."""
    base, said = place.with_name("base"), place.with_name("said")
    crash_points.make_install(place, ROWS)
    whole = rows_of(place)
    if name in PURGED_FIRST:
        output_of(place, PURGE)
    if name == "repair":
        with closing(sqlite3.connect(place / "data" / "memory" / "brain.db")) as connection:
            connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
            connection.commit()
    elif name == "replace":
        small_store.damage(place / "data" / "memory" / "brain.db", "memories_fts_data")
    before = current_rows(place, name)
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
            # If the disk has free space again when it is checked, the program cannot know that it was full.
            if lasts and number == errno.ENOSPC and "exit 0" not in words:
                assert any(sentence in words for sentence in FULL), "it does not say that the disk is full"
                assert "exit 3" in words, "it does not exit with 3"
        except (AssertionError, sqlite3.Error) as error:
            bad += 1
            print(f"{name}, call {point} of {calls}: {error}\n  {words.strip()}\n")
    print(f"{name}: {calls} calls, {message} failures reported, {bad} untrue")
    return 1 if bad else 0


def current_rows(place: Path, name: str) -> Rows:
    """Return the rows, without SQLite's checks if the index is damaged on purpose."""
    if name not in REPAIRS:
        return rows_of(place)
    with closing(sqlite3.connect(place / "data" / "memory" / "brain.db")) as connection:
        return {row[0]: row[1:] for row in connection.execute("SELECT id, rowid, * FROM memories")}


def _chosen(calls: int, points: int | None) -> list[int]:
    if points is None or points >= calls:
        return [*range(1, calls + 1)]
    # The last calls are those after the commit.
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
