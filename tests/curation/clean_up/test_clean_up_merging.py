"""Merging: what stays, what goes, and that undo brings all of it back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_texts import PLAIN
from support import small_store
from support.opened import opened_at

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.clean_up import Finding, FindingKind, check_memories, merge, plan_merge
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.testing.tools import EVERY

GENERATIONS = ("G1", "G2", "G3", "G4")
STORES = (*GENERATIONS, "in-memory")
SAME = PLAIN[0]
LONG = " ".join(PLAIN[:4])


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
    finding = (await check_memories(library)).finding(kind)
    assert finding is not None
    return finding


async def _state(library: Library) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    await library.memory.scan(lambda row: rows.append((row.id, row.handle, sorted(row.values.items(), key=str))))
    return sorted(rows, key=str)


def _going(finding: Finding, **more: Any) -> set[str]:
    return {stamp.id for stamp in plan_merge([finding], **more).to_delete.stamps}


@pytest.mark.parametrize("store", STORES)
async def test_a_merge_keeps_one_of_each_group_and_undo_brings_the_others_back(opened: Any, store: str) -> None:
    library = await opened(store, ROWS)
    finding, before = await _finding(library), await _state(library)
    assert _going(finding) == {"old", "longest", "twin 1"}
    assert _going(finding, only=[1]) == {"twin 1"}
    plan = plan_merge([finding])
    assert [(stays.stamp.id, len(going)) for stays, going in plan.groups] == [("newest", 2), ("twin 2", 1)]
    outcome = await merge(library, plan)
    assert (outcome.verb, outcome.count) == ("merge", 3)
    assert outcome.action is not None
    assert outcome.action.summary == "merged away 3 memories"
    assert {stamp.id for stamp in await versions(library.memory, EVERY)} == {"newest", "other", "twin 2"}
    assert (await check_memories(library)).finding("exact duplicates") is None
    assert (await changes.undo(library)).count == 3
    assert await _state(library) == before


@pytest.mark.parametrize("store", ["G4", "in-memory"])
async def test_pinned_memories_are_never_merged_away(opened: Any, store: str) -> None:
    rows = [dict(row, pinned=int(row["id"] in ("old", "twin 1", "twin 2"))) for row in ROWS]
    finding = await _finding(await opened(store, rows))
    assert _going(finding) == {"newest", "longest"}
    assert len(plan_merge([finding]).groups) == 1


async def test_agents_are_not_merged_with_each_other(tmp_path: Path) -> None:
    other = "00000000-0000-4000-8000-000000000002"
    database = small_store.make(tmp_path / "brain.db", "G4", [])
    small_store.change(database, "INSERT INTO agents VALUES (?, 'anna', '2026-01-01')", [other])
    small_store.add(database, [{"content": SAME}, {"content": SAME, "agent_id": other}, {"content": SAME}])
    async with opened_at(database) as library:
        assert {stamp.agent for stamp in (await _finding(library)).stamps} == {"default"}


DURABLE_FIRST: tuple[dict[str, Any], ...] = (
    {"pinned": 1, "category": "conversation", "session_id": "a", **_at(1)},
    {"category": "core", **_at(1)},
    {"category": "core", "session_id": "a", **_at(9)},
    {"category": "notes", **_at(8)},
    {"category": "notes", **_at(7)},
    {"category": "daily", **_at(9)},
    {"category": "conversation", **_at(10)},
)
"""Copies of one text; of any two the first stays."""


@pytest.mark.parametrize("store", ["G4", "in-memory"])
async def test_the_most_durable_copy_stays_whatever_its_age(opened: Any, store: str) -> None:
    for number, best in enumerate(DURABLE_FIRST):
        worse = DURABLE_FIRST[number + 1 :]
        if worse:
            copies = [{"id": f"copy {at}", "content": SAME, **row} for at, row in enumerate((*worse, best))]
            plan = plan_merge([await _finding(await opened(store, copies))])
            assert plan.groups[0][0].stamp.id == f"copy {len(worse)}"


@pytest.mark.parametrize("store", ["G4", "in-memory"])
async def test_the_newest_conversation_copy_does_not_replace_a_core_memory(opened: Any, store: str) -> None:
    """The core memory lasts; hygiene deletes the conversation one after a month, and it counts only in its chat."""
    session = "discord:guild/chan#9"
    rows = [
        {"id": "core", "key": "back\\slash", "content": SAME, "category": "core", **_at(1)},
        {"id": "chat", "content": SAME, "category": "conversation", "session_id": session, **_at(9)},
    ]
    library = await opened(store, rows)
    plan = plan_merge([await _finding(library)])
    ((stays, (goes,)),) = plan.groups
    assert (stays.stamp.id, stays.session) == ("core", None)
    assert (goes.stamp.id, goes.session) == ("chat", session)
    await merge(library, plan)
    assert {stamp.id for stamp in await _stamps(library)} == {"core"}


@pytest.mark.parametrize(
    ("rows", "stay"),
    [
        ([("conversation", "a"), ("conversation", "b")], {0, 1}),
        ([("conversation", "a"), ("conversation", "a")], {1}),
        ([("conversation", "a"), ("conversation", "b"), ("conversation", None)], {2}),
        ([("conversation", "a"), ("conversation", "b"), ("daily", "b")], {0, 2}),
        ([("conversation", "a"), ("conversation", None), ("core", "b")], {1, 2}),
        ([("conversation", "a"), ("daily", None), ("core", "b")], {0, 2}),
        ([("conversation", "a"), ("core", None), ("conversation", "b")], {1}),
    ],
)
async def test_a_conversation_copy_is_merged_only_where_its_session_recalls_the_other(
    opened: Any, rows: list[tuple[str, str | None]], stay: set[int]
) -> None:
    copies = [
        {"id": str(at), "content": SAME, "category": category, "session_id": session, **_at(at + 1)}
        for at, (category, session) in enumerate(rows)
    ]
    assert _going(await _finding(await opened("G4", copies))) == {str(at) for at in range(len(rows)) if at not in stay}


@pytest.mark.parametrize("store", ["G2", "G3", "G4", "in-memory"])
async def test_copies_of_two_namespaces_are_no_duplicates(opened: Any, store: str) -> None:
    library = await opened(store, [{"content": SAME}, {"content": SAME, "namespace": "work"}])
    assert (await check_memories(library)).finding("exact duplicates") is None


@pytest.mark.parametrize("store", ["G4", "in-memory"])
async def test_a_superseded_memory_is_no_duplicate(opened: Any, store: str) -> None:
    """Recall hides it already, and its newer copy is what replaced it."""
    rows = [
        {"id": "shown", "content": SAME, "category": "conversation", **_at(1)},
        {"id": "again", "content": SAME, "category": "conversation", **_at(2)},
        {"id": "hidden", "content": SAME, "superseded_by": "other", **_at(9)},
        {"id": "nearly", "content": f"{SAME} yard", "superseded_by": "other", **_at(9)},
        {"id": "other", "content": PLAIN[1]},
    ]
    library = await opened(store, rows)
    assert {stamp.id for stamp in (await _finding(library)).stamps} == {"shown", "again"}
    assert (await check_memories(library)).finding("near duplicates") is None
    assert _going(await _finding(library)) == {"shown"}


copies_of_one_text = st.lists(
    st.fixed_dictionaries(
        {
            "category": st.sampled_from(["core", "daily", "conversation", "notes", "Core", ""]),
            "session_id": st.sampled_from([None, "discord:guild/chan#9", "cli"]),
            "pinned": st.integers(0, 1),
            "agent": st.sampled_from(["default", "anna"]),
            "namespace": st.sampled_from(["default", "work"]),
            "superseded_by": st.sampled_from([None, None, None, "key0"]),
            "updated_at": st.sampled_from([_at(day)["updated_at"] for day in range(1, 5)]),
            "content": st.sampled_from([SAME, f" {SAME}\n", PLAIN[1]]),
        }
    ),
    min_size=2,
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(copies_of_one_text)
async def test_every_deleted_copy_is_outlasted_by_one_that_is_recalled_wherever_it_was(
    opened: Any, rows: list[dict[str, Any]]
) -> None:
    """Of the same text, agent and namespace one stays that ranks higher; what cannot be replaced stays."""
    library = await opened("G4", [{"id": str(at), "key": f"key{at}", **row} for at, row in enumerate(rows)])
    finding = (await check_memories(library)).finding("exact duplicates")
    going = {int(name) for name in (_going(finding) if finding is not None else ())}
    stay = [row for at, row in enumerate(rows) if at not in going]

    def replaces(other: dict[str, Any], row: dict[str, Any]) -> bool:
        place = [(one["content"].strip(), one["agent"], one["namespace"]) for one in (other, row)]
        is_recalled = row["category"] != "conversation" or other["session_id"] in (None, row["session_id"])
        is_same_row = other is row
        return (
            place[0] == place[1]
            and other["superseded_by"] is None
            and _rank(other) >= _rank(row)
            and is_recalled
            and not is_same_row
        )

    for number in going:
        assert not rows[number]["pinned"]
        assert rows[number]["superseded_by"] is None
        assert any(replaces(other, rows[number]) for other in stay)
    for row in stay:
        if not row["pinned"] and row["superseded_by"] is None:
            higher = [other for other in stay if replaces(other, row) and _rank(other) > _rank(row)]
            assert not higher


def _rank(row: dict[str, Any]) -> tuple[int, int, bool, str]:
    order = {"conversation": 0, "daily": 1, "core": 3}
    return row["pinned"], order.get(row["category"], 2), row["session_id"] is None, row["updated_at"]


async def test_exact_and_near_duplicates_together_are_one_group(opened: Any) -> None:
    """A copy that goes is no reason for another to go."""
    rows = [
        {"id": "core", "content": LONG, "category": "core", "session_id": "a", **_at(1)},
        {"id": "chat", "content": LONG, "category": "conversation", "session_id": "a", **_at(9)},
        {"id": "near", "content": f"{LONG} indeed", "category": "core", "session_id": "b", **_at(5)},
    ]
    report = await check_memories(await opened("G4", rows))
    exact, near = report.finding("exact duplicates"), report.finding("near duplicates")
    assert exact is not None
    assert near is not None
    assert {stamp.id for stamp in near.stamps} == {"core", "near"}
    assert {stamp.id for stamp in plan_merge([exact, near]).to_delete.stamps} == {"core"}


async def test_a_memory_that_changed_since_it_was_looked_at_is_not_merged_away(opened: Any) -> None:
    library = await opened("G2", ROWS)
    plan = plan_merge([await _finding(library)])
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
    plan = plan_merge([await _finding(library)])
    _by_another(library, statement)
    outcome = await merge(library, plan)
    assert (outcome.count, set(outcome.changed)) == (1, {"old", "longest"})
    assert {"old", "longest", "twin 2"} <= {stamp.id for stamp in await _stamps(library)}


def _by_another(library: Library, statement: str) -> None:
    with closing(sqlite3.connect(library.memory.about.location)) as connection, connection:
        connection.execute(statement)


async def _stamps(library: Library) -> Sequence[RowVersion]:
    return await versions(library.memory, EVERY)


async def test_a_read_only_store_is_refused_with_its_reason(tmp_path: Path) -> None:
    database = small_store.make(tmp_path / "brain.db", "G2", ROWS)
    async with opened_at(OpenOptions(path=database, read_only=True)) as library:
        with pytest.raises(Refused):
            await merge(library, plan_merge([await _finding(library)]))
