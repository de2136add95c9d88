"""From the key that saves an edit to the new text in the list, in a real pty, against the bare SQL of the same edit.

Leaving the editor without a change is measured in turn: so much of it is closing a screen and painting the one below.

    python tests/bench/edit_to_repaint.py [--rows 10000] [--edits 25]
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pexpect

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import make_store

FRAME = 1000 / 60
SAVE, RAPID = "\x13", 0.2
ESCAPE = "\x1b[27u"
"""As terminals with the Kitty protocol send it: a bare one is waited on for 100 ms."""
_STYLE = re.compile(rb"\x1b\[[0-9;:?]*[A-Za-z]")


def bare_edits(database: Path, count: int) -> list[float]:
    """Milliseconds of one UPDATE and its commit, triggers and all, as durable as the inspector's."""
    taken = []
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        for number in range(count):
            began = time.perf_counter()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "UPDATE memories SET content = ?, embedding = NULL, updated_at = ? WHERE id = ?",
                (f"bare edit {number}", f"2026-12-01T00:00:{number % 60:02d}.000000001+00:00", "id-0000001"),
            )
            connection.execute("COMMIT")
            taken.append((time.perf_counter() - began) * 1000)
    return taken


def inspector_edits(database: Path, count: int, data_home: str) -> tuple[list[float], list[float]]:
    """Milliseconds from ctrl+s until the list shows what was typed, and from leaving until the list is back."""
    env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "XDG_DATA_HOME": data_home}
    argv = [sys.executable, "-m", "zeroclaw_tui", str(database)]
    child = pexpect.spawn(argv[0], argv[1:], dimensions=(24, 80), env=env, timeout=30, maxread=65536)
    child.delaybeforesend = None
    child.expect_exact(b"memory_0")
    _read_until_quiet(child, 1.5)
    saved, left = [], []
    for number in range(count):
        text = f"edit{number:04d}"
        child.send("e")
        _read_until_quiet(child, RAPID)
        left.append(_until(child, ESCAPE, b"memory_0"))
        child.send("e")
        _read_until_quiet(child, RAPID)
        child.send(text)
        _read_until_quiet(child, RAPID)
        saved.append(_until(child, SAVE, text.encode()))
    child.close(force=True)
    return saved, left


def _until(child: pexpect.spawn, key: str, text: bytes) -> float:
    """Milliseconds from a key until a text was painted; what was painted before was read away."""
    began, seen = time.perf_counter(), b""
    child.send(key)
    while text not in _STYLE.sub(b"", seen):
        seen += child.read_nonblocking(65536, timeout=15)
    taken = (time.perf_counter() - began) * 1000
    _read_until_quiet(child, RAPID)
    return taken


def _read_until_quiet(child: pexpect.spawn, quiet: float) -> None:
    for _ in itertools.count():
        try:
            child.read_nonblocking(65536, timeout=quiet)
        except pexpect.TIMEOUT:
            return


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--edits", type=int, default=25)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = make_store(Path(folder) / "brain.db", given.rows, 768)
        bare = bare_edits(database, given.edits)
        saved, left = inspector_edits(database, given.edits, folder)
        bare += bare_edits(database, given.edits)
    sql, key, close = (statistics.median(times) for times in (bare, saved, left))
    print(f"bare SQL {sql:.1f} ms, saving key to list {key:.1f} ms, leaving key to list {close:.1f} ms")
    print(f"saving is {key - close:.1f} ms over leaving, {key - sql:.1f} ms over the bare SQL (one frame: {FRAME:.1f})")


if __name__ == "__main__":
    main()
