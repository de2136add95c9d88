"""`copy` to and from databases and notes: nothing is lost, and a second run adds only missing memories."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from copying_world import EVERYTHING, contents, copied, install_in, opened, planned, stored
from support.memories import Refused, UsageError
from support.small_store import blob, change

from zeroclaw_tui.curation.transfer.copy import copy_memories, open_target


def _rows(count: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "key": f"key{at}",
            "content": f"text {at}\r\nmore",
            "category": ("core", "daily", "travel notes")[at % 3],
            "session_id": f"s{at}" if at % 2 else None,
            "importance": None if at % 3 else at / 10,
            "namespace": "work" if at % 4 == 0 else "default",
            "embedding": blob(1, at, 2) if at % 2 else None,
            "superseded_by": "id-001" if at == 5 else None,
        }
        for at in range(count)
    ]


async def test_a_new_database_gets_every_value_and_a_second_copy_only_missing_rows(tmp_path):
    database = install_in(tmp_path, _rows())
    before, stamp = hashlib.sha256(database.read_bytes()).hexdigest(), database.stat().st_mtime_ns
    new = tmp_path / "far" / "away" / "new.db"
    async with opened(tmp_path) as library:
        plan = await planned(library, "sqlite", new)
        assert (plan.new, plan.same, plan.taken, plan.notes) == (12, 0, 0, ())
        assert plan.makes is not None
        assert str(new) in plan.makes
        assert not new.parent.exists(), "a plan must create nothing"
        outcome = await copied(library, "sqlite", new)
        assert (outcome.count, outcome.verified, outcome.differs, outcome.left) == (12, 12, 0, 0)
        assert stored(new) == stored(database)
        change(new, "DELETE FROM memories WHERE key IN ('key2', 'key3')")
        plan = await planned(library, "sqlite", new)
        assert (plan.new, plan.same) == (2, 10)
        outcome = await copied(library, "sqlite", new)
    assert (outcome.count, outcome.verified) == (2, 12)
    assert sorted(stored(new)) == sorted(stored(database))
    assert (hashlib.sha256(database.read_bytes()).hexdigest(), database.stat().st_mtime_ns) == (before, stamp)


async def test_missing_agents_are_added(tmp_path):
    database = install_in(tmp_path, [], "G4")
    change(database, "INSERT INTO agents VALUES ('w', 'writer', '2026-01-01')")
    owners = "SELECT agents.alias, key, content FROM memories JOIN agents ON agents.id = agent_id ORDER BY 1"
    insert = "INSERT INTO memories (id, key, content, created_at, updated_at, agent_id) VALUES (?, 'lang', ?, ?, ?, ?)"
    at = "2026-03-01T10:00:00+00:00"
    for id, agent in (("1", "00000000-0000-4000-8000-000000000001"), ("2", "w")):  # noqa: A001
        change(database, insert, (id, f"Rust, says {id}", at, at, agent))
    new = tmp_path / "new.db"
    async with opened(tmp_path) as library:
        outcome = await copied(library, "sqlite", new, profile="0.8.4")
        assert (outcome.count, outcome.verified) == (2, 2)
        older = tmp_path / "older.db"
        plan = await planned(library, "sqlite", older)
        assert (plan.new, plan.taken) == (1, 1)
        assert plan.notes == ("SQLite drops or changes: agent (1).",)
        assert (await copied(library, "sqlite", older, "rename")).count == 2
        again = await copied(library, "sqlite", older, "rename")
        assert again.left == 0
        assert (again.count, again.verified, again.differs) == (0, 2, 0)
    with closing(sqlite3.connect(new)) as connection:
        assert connection.execute(owners).fetchall() == [
            ("default", "lang", "Rust, says 1"),
            ("writer", "lang", "Rust, says 2"),
        ]
    assert contents(older) == {"lang": "Rust, says 1", "lang (imported 26d5)": "Rust, says 2"}


@pytest.mark.parametrize("backend", ["sqlite", "lucid"])
async def test_a_store_cannot_be_copied_to_itself(backend, tmp_path):
    database = install_in(tmp_path, _rows(1))
    (tmp_path / "link.db").symlink_to(database)
    async with opened(tmp_path) as library:
        places = [None, database, tmp_path / "link.db"] if backend == "sqlite" else [None]
        for place in places:
            with pytest.raises(UsageError, match="Source and target are the same store"):
                await open_target(library, backend, None if place is None else str(place), environ={})
        with pytest.raises(Refused, match="Nothing is stored"):
            await open_target(library, "none", None, environ={})


async def test_the_check_detects_a_change_by_another_program(tmp_path, monkeypatch):
    """The hashes are computed from the rows read back, not from those written."""
    install_in(tmp_path, _rows())
    new = tmp_path / "new.db"
    async with opened(tmp_path) as library:
        target = await open_target(library, "sqlite", str(new), "0.7.5", environ={})
        made = await target.make()
        apply = type(made.memory).apply

        async def disturbed(memory, *given, **named):
            done = await apply(memory, *given, **named)
            change(new, "UPDATE memories SET content = 'changed' WHERE key = 'key7'")
            return done

        monkeypatch.setattr(type(made.memory), "apply", disturbed)
        outcome = await copy_memories(library, target, EVERYTHING, "skip")
        await target.close()
    assert (outcome.count, outcome.verified, outcome.differs, outcome.differing) == (12, 11, 1, ("key7",))
    assert "1 memory in the target differs from what was copied: key7." in list(outcome.texts("there"))
    many = replace(outcome, differs=5000, differing=tuple(f"key{at}" for at in range(100)))
    assert "key8, key9 and 4,990 more." in " ".join(many.texts("there"))


# Notes


ROWS = [
    {"key": "lang", "content": "Rust\r\nand  more", "session_id": "s", "embedding": blob(1, 2)},
    {"key": "day", "content": "went out", "category": "daily", "created_at": "2026-03-04T12:00:00+00:00"},
    {"key": "trip", "content": "# packed", "category": "travel", "created_at": "2026-03-04T13:00:00+00:00"},
    {"key": "odd", "content": "no day", "category": "daily", "created_at": "some day"},
]


async def test_each_memory_becomes_a_line_in_zeroclaws_format(tmp_path):
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


async def test_keys_are_read_back_from_notes_and_the_newest_of_a_key_wins(tmp_path):
    install_in(tmp_path, [])
    notes, new = tmp_path / "notes", tmp_path / "new.db"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("# Mine\n\n- **lang**: C\n\nplain line\n- **lang**: Rust\n")
    (notes / "memory" / "2026-03-04.md").write_text("- **day**: **bold**: went out\n")
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
