"""Markdown's ids are places in a file: the trash must never take one line for another that stood there before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.marks import plan_of_marked
from support.opened import opened
from support.racing import after_keeping

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import edit_memory, remove_memories
from zeroclaw_tui.curation.copies.copies import find_copies, texts_of
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Conflict, Edit

LINES = ["alpha one", "bravo two", "charlie three", "delta four"]


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Long-Term Memory\n\n" + "".join(f"- {line}\n" for line in LINES))
    async with opened({"HOME": str(tmp_path)}, backend="markdown", location=str(notes)) as library:
        yield library


async def _forget(library: Library, id: str, *, forever: bool = False) -> int | None:
    outcome = await remove_memories(library, await plan_of_marked(library, [id]), "forget", forever=forever)
    return outcome.action.number if outcome.action else None


async def _in_trash(library: Library) -> list[str]:
    rows, _ = await library.trash.listing()
    return [row.row.entry().content for row in rows]


async def test_letting_go_of_one_line_keeps_another_that_had_its_number(library: Library) -> None:
    await _forget(library, "MEMORY:1")
    await _forget(library, "MEMORY:1")
    assert await _in_trash(library) == ["charlie three", "bravo two"]
    newest, _ = await library.trash.listing(limit=1)
    assert await library.trash.empty([newest[0].number]) == 1
    assert await _in_trash(library) == ["bravo two"]


async def test_deleting_one_line_for_ever_keeps_another_that_had_its_number(library: Library) -> None:
    """What grew into that very line goes with it."""
    await _forget(library, "MEMORY:1")
    row = await row_with_id(library.memory, "MEMORY:1")
    assert row is not None
    await edit_memory(library, "MEMORY:1", Edit({"content": "charlie edited"}), row.fingerprint)
    await _forget(library, "MEMORY:1", forever=True)
    assert await _in_trash(library) == ["bravo two"]
    data = library.trash.file.read_bytes()
    assert b"charlie" not in data
    assert b"bravo two" in data


async def test_the_history_and_the_copies_of_a_line_are_its_own(library: Library) -> None:
    await _forget(library, "MEMORY:1")
    action = await _forget(library, "MEMORY:1")
    assert action is not None
    versions = await library.trash.history("MEMORY:1")
    assert [version.before.entry().content for version in versions if version.before] == ["charlie three"]
    copies = await find_copies(library, await texts_of(library, action))
    assert [copy.kind for copy in copies if copy.kind == "trash"] == []


async def test_an_edit_that_met_a_conflict_leaves_nothing_to_undo(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent rewrites the line after it was kept and before it is written."""
    row = await row_with_id(library.memory, "MEMORY:0")
    assert row is not None
    notes = Path(library.memory.about.location) / "MEMORY.md"
    rewritten = notes.read_text().replace("alpha one", "alpha rewritten")
    after_keeping(monkeypatch, lambda: notes.write_text(rewritten))
    with pytest.raises(Conflict):
        await edit_memory(library, "MEMORY:0", Edit({"content": "mine"}), row.fingerprint)
    assert "alpha rewritten" in notes.read_text()
    assert await library.trash.last() is None
