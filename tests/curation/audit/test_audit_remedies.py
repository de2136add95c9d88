"""Merging and re-categorising: what stays, what goes, and that undo brings all of it back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audit_rows import PLAIN
from support import small_store
from support.opened import opened_at

from zeroclaw_tui.backends import revert
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.audit import audit
from zeroclaw_tui.curation.audit.audit import Finding, FindingKind, audit_memories, merge, plan_merge, recategorise
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Stamp, StoredRow
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.testing.tools import EVERY

GENERATIONS = ("G1", "G2", "G3", "G4")
STORES = (*GENERATIONS, "in-memory")
SAME = PLAIN[0]


def _at(day: int) -> dict[str, str]:
    moment = f"2026-03-{day:02d}T10:00:00.123456789+00:00"
    return {"created_at": "2026-01-01T10:00:00+00:00", "updated_at": moment}


ROWS: tuple[dict[str, Any], ...] = (
    {"id": "old", "content": SAME, **_at(1)},
    {"id": "other", "content": PLAIN[1], **_at(2)},
    {"id": "newest", "content": SAME, **_at(9)},
    {"id": "longest", "content": f"  {SAME}  \n", **_at(5)},
    {"id": "twin 1", "content": PLAIN[2], **_at(3)},
    {"id": "twin 2", "content": PLAIN[2], **_at(3)},
)


async def _finding(library: Library, kind: FindingKind = "exact duplicates") -> Finding:
    finding = (await audit_memories(library)).finding(kind)
    assert finding is not None
    return finding


async def _state(library: Library) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    await library.memory.each_row(lambda row: rows.append((row.id, row.handle, sorted(row.values.items(), key=str))))
    return sorted(rows, key=str)


def _going(finding: Finding, keeps: audit.Keeps, **more: Any) -> set[str]:
    return {stamp.id for stamp in plan_merge(finding, keeps, **more).going.stamps}


@pytest.mark.parametrize("store", STORES)
async def test_a_merge_keeps_one_of_each_group_and_undo_brings_the_others_back(opened: Any, store: str) -> None:
    library = await opened(store, ROWS)
    finding, before = await _finding(library), await _state(library)
    assert _going(finding, "newest") == {"old", "longest", "twin 1"}
    assert _going(finding, "longest") == {"old", "newest", "twin 1"}
    assert _going(finding, "newest", only=[1]) == {"twin 1"}
    plan = plan_merge(finding, "newest")
    assert [(stays.stamp.id, len(going)) for stays, going in plan.groups] == [("newest", 2), ("twin 2", 1)]
    outcome = await merge(library, plan)
    assert (outcome.verb, outcome.count) == ("merge", 3)
    assert outcome.action is not None
    assert outcome.action.summary == "merged away 3 memories"
    assert {stamp.id for stamp in await library.memory.stamps(EVERY)} == {"newest", "other", "twin 2"}
    assert (await audit_memories(library)).finding("exact duplicates") is None
    assert (await changes.undo(library)).count == 3
    assert await _state(library) == before


@pytest.mark.parametrize("store", ["G4", "in-memory"])
async def test_pinned_memories_are_never_merged_away(opened: Any, store: str) -> None:
    rows = [dict(row, pinned=int(row["id"] in ("old", "twin 1", "twin 2"))) for row in ROWS]
    finding = await _finding(await opened(store, rows))
    assert _going(finding, "newest") == {"newest", "longest"}
    assert len(plan_merge(finding, "newest").groups) == 1


async def test_agents_are_not_merged_with_each_other(tmp_path: Path) -> None:
    other = "00000000-0000-4000-8000-000000000002"
    database = small_store.make(tmp_path / "brain.db", "G4", [])
    small_store.change(database, "INSERT INTO agents VALUES (?, 'anna', '2026-01-01')", [other])
    small_store.add(database, [{"content": SAME}, {"content": SAME, "agent_id": other}, {"content": SAME}])
    async with opened_at(database) as library:
        assert {stamp.agent for stamp in (await _finding(library)).stamps} == {"default"}


async def test_a_memory_that_changed_since_it_was_looked_at_is_not_merged_away(opened: Any) -> None:
    library = await opened("G2", ROWS)
    plan = plan_merge(await _finding(library), "newest")
    _by_another(library, "UPDATE memories SET content = 'new', updated_at = '2026-04-01' WHERE id = 'old'")
    outcome = await merge(library, plan)
    assert (outcome.count, outcome.changed) == (2, ("old",))


@pytest.mark.parametrize(
    "statement",
    ["UPDATE memories SET content = 'new', updated_at = '2026-04-01' WHERE id = 'newest'",
     "DELETE FROM memories WHERE id = 'newest'"],
)  # fmt: skip
async def test_where_the_one_that_stays_changed_or_went_its_group_is_left_alone(opened: Any, statement: str) -> None:
    library = await opened("G4", ROWS)
    plan = plan_merge(await _finding(library), "newest")
    _by_another(library, statement)
    outcome = await merge(library, plan)
    assert (outcome.count, set(outcome.changed)) == (1, {"old", "longest"})
    assert {"old", "longest", "twin 2"} <= {stamp.id for stamp in await _stamps(library)}


def _by_another(library: Library, statement: str) -> None:
    with closing(sqlite3.connect(library.memory.location)) as connection, connection:
        connection.execute(statement)


async def _stamps(library: Library) -> Sequence[Stamp]:
    return await library.memory.stamps(EVERY)


@pytest.mark.parametrize("store", STORES)
async def test_another_category_changes_only_that_and_the_time(opened: Any, store: str) -> None:
    library = await opened(store, ROWS)
    before, rows = await _state(library), {row.id: row for row in await _rows(library)}
    outcome = await recategorise(library, await _stamps(library), "  Daily ")
    assert (outcome.verb, outcome.count, outcome.changed, outcome.gone) == ("recategorise", len(ROWS), (), ())
    for row in await _rows(library):
        was = rows[row.id].values
        assert row.values["category"] == "daily"
        assert str(row.values["updated_at"]) > str(was["updated_at"])
        others = was.keys() - {"category", "updated_at"}
        assert {name: row.values[name] for name in others} == {name: was[name] for name in others}
    again = await recategorise(library, await _stamps(library), "daily")
    assert (again.count, again.action) == (0, None)
    assert (await changes.undo(library)).count == len(ROWS)
    assert await _state(library) == before


async def _rows(library: Library) -> list[StoredRow]:
    rows: list[StoredRow] = []
    await library.memory.each_row(rows.append)
    return rows


@pytest.mark.parametrize("at_once", [1, 2, 200])
async def test_rows_that_changed_or_went_are_left_alone_and_told(
    opened: Any, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(audit, "_GIVEN_AT_ONCE", at_once)
    library = await opened("G4", ROWS)
    stamps = await _stamps(library)
    _by_another(library, "UPDATE memories SET content = 'theirs', updated_at = '2026-04-01' WHERE id = 'other'")
    _by_another(library, "DELETE FROM memories WHERE id = 'twin 1'")
    outcome = await recategorise(library, stamps, "noise")
    assert (outcome.count, outcome.changed, outcome.gone) == (4, ("other",), ("twin 1",))
    kept = {row.id: row.values["category"] for row in await _rows(library)}
    assert kept["other"] == "core"
    assert set(kept.values()) == {"core", "noise"}


async def test_a_row_that_changes_between_the_look_and_the_write_is_left_to_whoever_wrote_it(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = await opened("G2", ROWS)
    stamps = await _stamps(library)
    given: Callable[..., Any] = audit.InCategory._change
    written: list[str] = []

    def change(self: Any, stamp: Stamp, row: StoredRow | None) -> Any:
        found = given(self, stamp, row)
        if stamp.id == "newest" and not written:
            written.append(stamp.id)
            _by_another(
                library, "UPDATE memories SET content = 'theirs', updated_at = '2026-04-01' WHERE id = 'newest'"
            )
        return found

    monkeypatch.setattr(audit.InCategory, "_change", change)
    outcome = await recategorise(library, stamps, "noise")
    assert outcome.changed == ("newest",)
    assert outcome.count == len(ROWS) - 1
    rows = {row.id: row.values for row in await _rows(library)}
    assert (rows["newest"]["content"], rows["newest"]["category"]) == ("theirs", "core")


async def test_large_rows_are_read_a_few_at_a_time(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revert, "MOST_BYTES", 2000)
    library = await opened("G4", [{"content": "x " * 600} for _ in range(7)])
    asked: list[int] = []
    whole = library.memory.stored_of

    async def stored_of(handles: Sequence[Any]) -> Any:
        asked.append(len(handles))
        return await whole(handles)

    monkeypatch.setattr(library.memory, "stored_of", stored_of)
    assert (await recategorise(library, await _stamps(library), "noise")).count == 7
    assert max(asked) == 1


async def test_an_empty_category_and_a_store_without_one_are_refused(tmp_path: Path, opened: Any) -> None:
    library = await opened("G4", ROWS)
    with pytest.raises(UsageError):
        await recategorise(library, await _stamps(library), "  ")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- ok\n")
    async with opened_at(OpenOptions(path=notes, backend="markdown")) as markdown:
        with pytest.raises(Refused) as refused:
            await recategorise(markdown, await _stamps(markdown), "noise")
        assert refused.value.message == markdown.memory.capabilities.why_not["category"]
    assert (notes / "MEMORY.md").read_text() == "- ok\n"


async def test_a_read_only_store_is_refused_with_its_reason(tmp_path: Path) -> None:
    database = small_store.make(tmp_path / "brain.db", "G2", ROWS)
    async with opened_at(OpenOptions(path=database, read_only=True)) as library:
        with pytest.raises(Refused):
            await recategorise(library, await _stamps(library), "noise")
        with pytest.raises(Refused):
            await merge(library, plan_merge(await _finding(library), "newest"))
