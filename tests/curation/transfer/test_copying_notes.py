"""`copy` into Markdown notes and out of them: what they keep, as ZeroClaw writes it, to the byte undone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from copying_world import contents, copied, install_in, opened, planned, stored
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_store import blob, change

from zeroclaw_tui.backends.markdown.lines import entry_text
from zeroclaw_tui.files.database import bound
from zeroclaw_tui.memory.note_lines import line_of

ROWS = [
    {"key": "lang", "content": "Rust\r\nand  more", "session_id": "s", "embedding": blob(1, 2)},
    {"key": "day", "content": "went out", "category": "daily", "created_at": "2026-03-04T12:00:00+00:00"},
    {"key": "trip", "content": "# packed", "category": "travel", "created_at": "2026-03-04T13:00:00+00:00"},
    {"key": "odd", "content": "no day", "category": "daily", "created_at": "some day"},
]


def parse(text: str) -> tuple[str, ...]:
    """The memories that the lines of a file are."""
    return tuple(entry for line in text.split("\n") if (entry := entry_text(line)) is not None)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    """Days are local ones."""
    monkeypatch.setitem(os.environ, "TZ", "UTC")


def _notes(folder: Path, core: str, day: str) -> Path:
    """Notes of an agent, with one day."""
    notes = folder / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text(core)
    (notes / "memory" / "2026-03-04.md").write_text(day)
    return notes


async def test_each_memory_becomes_a_line_as_zeroclaw_writes_it(tmp_path):
    install_in(tmp_path, ROWS)
    notes = tmp_path / "notes"
    async with opened(tmp_path) as library:
        plan = await planned(library, "markdown", notes)
        (lost,) = plan.notes
        assert lost == (
            "Markdown drops or changes: time of change (4), time of creation (4), category (1), content (1),"
            " session (1), vector (1)."
        )
        assert not notes.exists()
        outcome = await copied(library, "markdown", notes)
        assert (outcome.count, outcome.verified, outcome.differs) == (4, 4, 0)
        assert (await copied(library, "markdown", notes)).count == 0
    assert (notes / "MEMORY.md").read_text() == "# Long-Term Memory\n\n- **lang**: Rust and  more\n"
    assert (notes / "memory" / "2026-03-04.md").read_text() == (
        "# Daily Log — 2026-03-04\n\n- **day**: went out\n\n- **trip**: # packed\n"
    )
    assert (notes / "memory" / "undated.md").read_text().endswith("\n- **odd**: no day\n")


async def test_notes_give_their_keys_back_and_the_newest_of_a_key_counts(tmp_path):
    install_in(tmp_path, [])
    core = "# Mine\n\n- **lang**: C\n\nplain line\n- **lang**: Rust\n"
    notes = _notes(tmp_path, core, "- **day**: **bold**: went out\n")
    new = tmp_path / "new.db"
    async with opened(tmp_path, "markdown", notes) as library:
        plan = await planned(library, "sqlite", new)
        assert (plan.new, plan.taken) == (3, 1)
        outcome = await copied(library, "sqlite", new)
        assert (outcome.count, outcome.verified, outcome.left) == (3, 3, 1)
        again = await copied(library, "sqlite", new)
        assert (again.count, again.verified) == (0, 3)
        (notes / "memory" / "2026-03-04.md").write_text("- **day**: came back\n")
        changed = await planned(library, "sqlite", new)
        assert (changed.new, changed.same, changed.taken) == (0, 2, 2)
    assert contents(new) == {"lang": "Rust", "MEMORY:1": "plain line", "day": "**bold**: went out"}


ODD = ("a\r\nb", "nul\0end", "--- ", "# head", "- x", "**k**: v", "\u2028", "\x85", "caf\udce9", "\udcff\udc80")
HOSTILE = st.text(max_size=40) | st.sampled_from((*ODD, "x" * 10**6))
VECTORS = st.none() | st.binary(min_size=8, max_size=8)
ROW = st.tuples(HOSTILE, HOSTILE, st.sampled_from(["core", "daily", "own"]), VECTORS)


@settings(max_examples=25, deadline=None)
@given(st.lists(ROW, max_size=6, unique_by=lambda row: row[0]))
def test_hostile_texts_are_copied_to_a_database_and_to_notes(rows):
    with TemporaryDirectory() as folder:
        asyncio.run(_hostile(rows, Path(folder)))


async def _hostile(rows: list[tuple[str, str, str, bytes | None]], folder: Path) -> None:
    database = install_in(folder, [])
    for at, (key, content, category, vector) in enumerate(rows):
        moment = f"2026-03-0{at + 1}T10:00:00.123456789+00:00"
        marks, values = bound([f"id{at}", key, content, category, moment, moment, vector])
        names = "id, key, content, category, created_at, updated_at, embedding"
        change(database, f"INSERT INTO memories ({names}) VALUES ({marks})", values)
    async with opened(folder) as library:
        outcome = await copied(library, "sqlite", folder / "new.db")
        assert (outcome.verified, outcome.differs) == (len(rows), 0)
        assert stored(folder / "new.db") == stored(database)
        noted = await copied(library, "markdown", folder / "notes")
        assert (noted.verified, noted.differs, noted.count) == (len(rows), 0, len(rows))
        assert (await copied(library, "markdown", folder / "notes")).count == 0
    files = (folder / "notes").rglob("*.md")
    lines = [line for file in files for line in parse(file.read_bytes().decode("utf-8"))]
    assert sorted(lines) == sorted(line_of(key, content) for key, content, *_ in rows)
