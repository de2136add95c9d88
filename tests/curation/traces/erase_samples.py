"""Installs with a text in every place, by layout and generation, and a byte scan independent of the program.

A layout sets the spelling of the text, the state of SQLite, the other files next to the store, and its generation.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from support import left_texts, small_store
from support.installs import Install

TEXT = "Zebediah Quill-Strauß"
OTHERS = tuple(f"Memory {at} about the harbour, its cranes and the tide" for at in range(40))
STAYING = {"security log", "schedule"}
"""The kinds of places that are reported but not erased."""
GENERATIONS = ("G1", "G2", "G3", "G4", "G5")
"""The generations of ZeroClaw 0.1.7, 0.7.5, 0.8.0, 0.8.3 and 0.8.4; the last two have the same tables."""

_SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper": str.upper,
    "lower": str.lower,
    "folded": str.casefold,
    "decomposed": lambda text: unicodedata.normalize("NFD", text.title()),
}
_STATES = ("folded in", "in the log", "deleted by hand", "long", "no log")


@dataclass(frozen=True)
class Layout:
    """The spelling of the text, the state of SQLite, the generation, and whether no other file is next to the store."""

    spelled: str = "as it is"
    state: str = "folded in"
    generation: str = "G4"
    is_alone: bool = False

    @property
    def text(self) -> str:
        return _SPELLED[self.spelled](TEXT)

    def __str__(self) -> str:
        return f"{self.spelled}, {self.state}, {self.generation}"


LAYOUTS = tuple(map(Layout, _SPELLED, _STATES, GENERATIONS))
"""One layout for each spelling, state and generation."""


class Planted(Install):
    """An install and the contents of the memories that must stay."""

    def contents(self) -> list[str]:
        """Return the content of every memory in order."""
        return rows(self.database, "SELECT content FROM memories ORDER BY rowid")


def rows(path: Path, query: str) -> list[str]:
    """Return the first column of a query, after SQLite's own checks."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [value for (value, *_) in connection.execute(query)]


def plant(config_dir: Path, layout: Layout) -> Planted:
    """Plant the text in every place below a new config dir."""
    config_dir.mkdir(parents=True)
    folder = "workspace" if layout.generation in ("G1", "G2") else "data"
    (config_dir / "config.toml").write_text(left_texts.config_of(folder))
    root = config_dir / folder
    if not layout.is_alone:
        before, left_texts.TEXT = left_texts.TEXT, f'{layout.text} wrote:\n"so it is"'
        try:
            left_texts.plant(config_dir, folder)
        finally:
            left_texts.TEXT = before
        _plant_more(config_dir, root, layout.text)
    database = root / "memory" / "brain.db"
    database.parent.mkdir(parents=True, exist_ok=True)
    _plant_store(database, layout)
    return Planted(config_dir, root)


def _plant_store(database: Path, layout: Layout) -> None:
    long = "and so on, as told before. " * 400 if layout.state == "long" else ""
    stored = f"{long}I met {layout.text} at the pier. {long}"
    memories = [{"content": content} for content in OTHERS]
    memories[10:10] = [{"key": "met", "content": stored}, {"key": layout.text.replace(" ", " "), "content": "a key"}]
    small_store.make(database, "G4" if layout.generation == "G5" else layout.generation, memories)
    left_texts.cache(database, stored, OTHERS[0])
    if layout.state == "deleted by hand":
        small_store.change(database, "DELETE FROM memories WHERE key = 'met'")
    elif layout.state == "in the log":
        _leave_in_log(database, layout.text)
    elif layout.state == "no log":
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")


def _leave_in_log(database: Path, text: str) -> None:
    """Write only to the log, as a killed program leaves it."""
    files = [database, database.with_name("brain.db-wal")]
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE memories SET content = content || ?", (f" {text}",))
        connection.execute("UPDATE memories SET content = substr(content, 1, length(content) - ?)", (len(text) + 1,))
        connection.execute("UPDATE memories SET content = ? WHERE key = 'met'", (f"later: {text}",))
        connection.commit()
        stored = [file.read_bytes() for file in files]
    for file, data in zip(files, stored, strict=True):
        file.write_bytes(data)


def _plant_more(config_dir: Path, root: Path, text: str) -> None:
    """Plant the text in further places, beyond those of `left_texts`."""
    path = root / "MEMORY_SNAPSHOT.md"
    path.write_text(left_texts.snapshot(("met", f"I met {text}"), ("stays", OTHERS[0])))
    small_store.make(root / "memory" / "brain.db.backup-20260801T000000", "G2", [
        {"content": OTHERS[0]}, {"content": f"old: {text}"},
    ])  # fmt: skip
    own = config_dir / "zeroclaw-tui" / "backups"
    own.mkdir(parents=True)
    (own / "config.2026-01-01T00:00:00Z.toml").write_text(f'[memory]\nbackend = "sqlite"\n# for {text}\n')
    small_store.make(own / "brain.db.20260101T000000.000000Z.db", "G2", [{"content": text}, {"content": OTHERS[0]}])
    (root / "sessions" / "new.jsonl").write_text(json.dumps({"role": "user", "content": f"hello {text}"}) + "\n")


def bytes_left(*folders: Path, text: str = TEXT) -> list[str]:
    """Return the file name and form of every occurrence of the text in any spelling."""
    return [
        f"{path.relative_to(folder)}: {form}"
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for form, found in _forms(path.read_bytes(), text)
        if found
    ]


def words_left(folder: Path) -> list[str]:
    """Return the files that contain its first word, as keyword indexes store it."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and b"zebediah" in path.read_bytes().lower()]


def _forms(data: bytes, text: str) -> Iterator[tuple[str, bool]]:
    """Decode, unescape, case-fold and compose the whole file, by brute force."""
    wanted = _plain(text)
    yield "UTF-8", wanted in _plain(data.decode("utf-8", "replace"))
    escaped = data.decode("latin-1").replace("\\", "")
    yield "JSON", any(form.lower() in escaped.lower() for form in _in_json(text))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


def _in_json(text: str) -> Iterator[str]:
    for form in (text, text.upper(), text.casefold(), unicodedata.normalize("NFD", text)):
        yield json.dumps(form)[1:-1].replace("\\", "")
