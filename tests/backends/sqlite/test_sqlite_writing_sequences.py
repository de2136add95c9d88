"""Property test: undoing any sequence of stores, edits and removals restores the store."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from changed_stores import opened, shape
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import create_database
from support.memories import Vector
from support.store_steps import Step, steps, take
from support.whole_store import everything, hits

from zeroclaw_tui.testing.tools import JournalRecorder, undo

WORDS = ("alpha", "bravo", "naïve", "memory")
KEYS = ("a", "b", "c d", "ключ", "e\x00f", "x" * 300)
MOMENT = "2026-03-01T10:00:00.{:09d}+02:00"

texts = st.one_of(st.sampled_from(WORDS), st.text(min_size=1, max_size=40)).filter(lambda text: bool(text.strip()))
vectors = st.none() | st.binary(min_size=8, max_size=8).map(lambda data: Vector(data, "hash", "hash:2"))


SEQUENCES = steps(KEYS, texts, vectors, "writer", "новый")


def make_odd_store(path: Path, generation: str) -> None:
    """Create rows such as other programs leave: bytes as text, invalid UTF-8, NULLs, unknown columns."""
    create_database(path, generation, default_agent_id="agent-0")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE memories ADD COLUMN mood TEXT DEFAULT 'calm'")
        connection.execute('ALTER TABLE memories ADD COLUMN "odd "" name" NUMERIC DEFAULT 7')
        connection.execute("ALTER TABLE memories ADD COLUMN doubled AS (length(content) * 2)")
        connection.execute("INSERT INTO embedding_cache VALUES ('00ff', x'0102', 'then', 'now')")
        owned = generation in ("G3", "G4")
        if owned:
            connection.execute("INSERT INTO agents VALUES ('agent-1', 'writer', 'then')")
        odd: list[tuple[str, str, str]] = [
            ("'one'", "'alpha bravo'", "x'0000803f0000803f'"),
            ("'two'", "x'ff00fe'", "NULL"),
            ("CAST(x'6bff79' AS TEXT)", "CAST(x'616c706861ff' AS TEXT)", "x'01'"),
            ("x'6b6579'", "'bravo' || char(0) || 'alpha'", "x''"),
            ("'a'", "'memory naïve'", "NULL"),
        ]
        for at, (key, content, vector) in enumerate(odd):
            moment = MOMENT.format(at)
            connection.execute(
                f"INSERT INTO memories (rowid, id, key, content, embedding, created_at, updated_at, session_id, mood"
                f"{', agent_id' if owned else ''}) VALUES (?, ?, {key}, {content}, {vector}, ?, ?, ?, ?"
                f"{', ?' if owned else ''})",
                (at * 3 + 1, f"id-{at}", moment, moment, "s" if at % 2 else None, None if at % 2 else b"\x00glad",
                 *([f"agent-{at % 2}"] if owned else [])),
            )  # fmt: skip


async def do_and_undo(path: Path, sequence: list[Step], one_by_one: bool) -> None:
    async with opened(path) as memory:
        actions: list[JournalRecorder] = []
        for step in sequence:
            journal = JournalRecorder()
            await take(memory, step, journal)
            actions.append(journal)
        hits(path, WORDS)
        if not one_by_one:
            together = JournalRecorder()
            together.record([change for journal in actions for change in journal.changes])
            actions = [together]
        for journal in reversed(actions):
            back = JournalRecorder()
            reversal = await undo(memory, journal.changes[::-1], back)
            assert sorted(change.reverses or 0 for change in back.changes) == [c.number for c in journal.changes]
            assert (reversal.renamed, reversal.notes) == ({}, [])


@pytest.mark.parametrize(
    ("generation", "one_by_one"),
    [("G1", True), ("G1", False), ("G2", True), ("G3", False), ("G4", True), ("G4", False)],
)
def test_undoing_everything_restores_every_byte_and_every_hit(generation, one_by_one, tmp_path_factory):
    base = tmp_path_factory.mktemp("base") / "brain.db"
    make_odd_store(base, generation)
    before, found, made = everything(base), hits(base, WORDS), shape(base)

    @settings(suppress_health_check=list(HealthCheck))
    @given(SEQUENCES)
    def check(sequence):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "brain.db"
            shutil.copy(base, path)
            asyncio.run(do_and_undo(path, sequence, one_by_one))
            assert everything(path) == before
            assert hits(path, WORDS) == found
            assert shape(path) == made

    check()
