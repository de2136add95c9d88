"""Clean-up: each finding names exactly its memories, and what a merge deletes is outlasted by what stays."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import small_store
from support.opened import opened_at
from support.small_store import blob

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.curation import changes, duplicates
from zeroclaw_tui.curation.clean_up import CleanUpReport, Finding, FindingKind, check_memories, merge, plan_merge
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.change import RowVersion
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.testing.tools import EVERY

PLAIN = (
    "Anna planted three apple trees behind the old barn",
    "The ferry to the island leaves at half past seven",
    "Please remember that Oskar cannot stand loud music",
    "Our second printer jams whenever the paper is damp",
    "Every Thursday the market sells fresh goat cheese",
    "Miriam wants to learn the cello before next winter",
    "A spare bicycle pump hangs next to the garage door",
    "Grandfather tells the story of the frozen lake again",
    "Windows on the north side need a new coat of paint",
    "Someone left a green umbrella in the meeting room",
    "Two litres of oil go into the engine after a change",
    "Leo prefers maps over written directions when hiking",
    "This recipe calls for saffron and far too much butter",
    "Nobody answers the phone between noon and one o'clock",
)

Opened = Callable[..., Awaitable[Library]]
STORES = ("G1", "G2", "G3", "G4", "in-memory")
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5"
AT = "2026-03-01T10:00:00.000000001+00:00"


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Open a store of a kind with these rows (columns by name, as `small_store.make` takes them)."""
    libraries: list[Library] = []

    async def open_one(kind: str, rows: Sequence[dict[str, Any]], dimensions: int = 0) -> Library:
        database = small_store.make(tmp_path / f"brain-{len(libraries)}.db", kind if kind != "in-memory" else "G4", [])
        if kind != "in-memory":
            small_store.add(database, rows)
        install = Install(None, tmp_path, database, "lone", "the path given", tmp_path / "own")
        embedding = EmbeddingConfig("local", "some-model", dimensions) if dimensions else EmbeddingConfig()
        library = await open_library(MemoryConfig(install, embedding=embedding))
        libraries.append(library)
        if kind == "in-memory":
            await library.memory.close()
            library.memory = InMemory(
                MemoryEntry(
                    id=row.get("id", f"id-{at:03d}"),
                    key=row.get("key", f"key{at}"),
                    content=row.get("content", "text"),
                    category=row.get("category", "core"),
                    timestamp=row.get("created_at", AT),
                    updated_at=row.get("updated_at", AT),
                    superseded_by=row.get("superseded_by"),
                    session_id=row.get("session_id"),
                    namespace=row.get("namespace"),
                    pinned=bool(row.get("pinned")),
                )
                for at, row in enumerate(rows)
            )
        return library

    yield open_one
    for library in libraries:
        await library.close()


ALONE: dict[FindingKind, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "assistant replies": (
        [{"key": "assistant_resp"}, {"key": "assistant_resp_4f"}, {"key": "Assistant_Resp_X"}],
        [{"key": "assistant_response_style"}, {"key": "my_assistant_resp"}, {"key": "assistant"}],
    ),
    "recall blobs": (
        [{"content": f"{PLAIN[0]} [Memory context]\n- a: b"}, {"content": f"[Memory context] {PLAIN[1]}"}],
        [{"content": f"{PLAIN[2]} memory context"}, {"content": f"[Memory] {PLAIN[3]}"}],
    ),
    "tool results": (
        [{"content": f'<tool_result name="shell">{PLAIN[0]}</tool_result>'}, {"content": f"{PLAIN[1]} <tool_result"}],
        [{"content": f"{PLAIN[2]} tool_result"}, {"content": f"{PLAIN[3]} <tool>"}],
    ),
    "heartbeat and cron": (
        [
            {"content": f"[cron:7 daily] {PLAIN[0]}"},
            {"content": f"  [Heartbeat Task | high] {PLAIN[1]}"},
            {"content": f"[distilled_memory] {PLAIN[2]}"},
            {"content": f"{PLAIN[3]} DISTILLED_index_sig:77"},
        ],
        [{"content": f"{PLAIN[4]} [cron:7]"}, {"content": f"cron: {PLAIN[5]}"}, {"content": f"heartbeat {PLAIN[6]}"}],
    ),
    "too short": (
        [{"content": text} for text in ("nineteen characters", "  ok  \u2003\n" + " " * 40, "", "é" * 19)],
        [{"content": "twenty characters it"}, {"content": "🦀" * 20}],
    ),
    "too long": (
        [{"content": "ab c" * 1000 + "x"}],
        [{"content": "ab d" * 1000}, {"content": "ä€🦀 " * 1000}],
    ),
    "hidden text": (
        [
            {"content": f"{PLAIN[0]}\U000e0041\U000e0042"},
            {"content": f"pass\u200bword of {PLAIN[1]}"},
            {"content": f"{PLAIN[2]}\u3164"},
            {"content": f"\u202e{PLAIN[3]}"},
            {"key": "na\u00adme"},
        ],
        [
            {"content": f"{PLAIN[4]} 👩‍🚀❤️"},
            {"content": "می‌خواهم کتاب‌ها را بخوانم و بنویسم"},
            {"content": f"\ufeff{PLAIN[5]}\u00a0!"},
            {"content": f"שלום\u200f! {PLAIN[6]}"},
        ],
    ),
    "empty keys": ([{"key": ""}, {"key": " \t"}], [{"key": "0"}, {"key": "_"}]),
}  # fmt: skip


def _ids(report: CleanUpReport, kind: FindingKind) -> list[str]:
    finding = report.finding(kind)
    return [] if finding is None else [sample.version.id for sample in finding.samples]


@pytest.mark.parametrize("store", STORES)
async def test_a_memory_tells_by_itself_what_it_is(opened: Any, store: str) -> None:
    cases = [
        (kind, is_guilty, row)
        for kind, both in ALONE.items()
        for is_guilty in (True, False)
        for row in both[not is_guilty]
    ]
    rows = [
        {
            "key": f"k{at}",
            "content": f"{PLAIN[at % len(PLAIN)]} {PLAIN[-1 - at % len(PLAIN)]}",
            **row,
            "id": f"{kind if is_guilty else 'no'}-{at}",
        }
        for at, (kind, is_guilty, row) in enumerate(cases)
    ]
    report = await check_memories(await opened(store, rows))
    assert report.rows == len(rows)
    assert report.size == sum(len(row["content"].encode()) for row in rows)
    for kind in ALONE:
        guilty = [row for row in rows if row["id"].startswith(f"{kind}-")]
        assert _ids(report, kind) == [row["id"] for row in guilty]
        finding = report.finding(kind)
        assert finding is not None
        assert finding.size == sum(len(row["content"].encode()) for row in guilty)
        assert finding.remark.endswith(".")


async def test_a_memory_may_be_in_several_findings_and_superseded_ones_count(opened: Any) -> None:
    rows = [{"key": "assistant_resp_1", "content": "<tool_result", "superseded_by": "x"}]
    report = await check_memories(await opened("G4", rows))
    assert {finding.kind for finding in report.findings} == {"assistant replies", "tool results", "too short"}


async def test_the_most_bytes_come_first_and_an_empty_store_has_no_findings(opened: Any) -> None:
    rows = [{"content": "short"}, {"content": f"[cron:1] {PLAIN[0]}"}, {"key": "", "content": "x y " * 3000}]
    report = await check_memories(await opened("G1", rows))
    sizes = [finding.size for finding in report.findings]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 12000
    assert (await check_memories(await opened("G3", []))).findings == ()


async def test_versions_of_findings_are_those_of_the_store(opened: Any) -> None:
    """What is found can be removed: every version has the state the store itself gives it."""
    from zeroclaw_tui.testing.tools import EVERY

    rows = [{"content": text} for text in ("short", "same text of two memories", "same text of two memories ", "ß" * 9)]
    for store in STORES:
        library = await opened(store, rows)
        expected = {version.id: version for version in await versions(library.memory, EVERY)}
        report = await check_memories(library)
        found = [version for finding in report.findings for version in finding.versions]
        assert len(found) == 4
        assert all(expected[version.id] == version for version in found)


VECTORS = {
    "good": (blob(1, 0, 0), ""),
    "good too": (blob(0, 1, -0.5), ""),
    "and this": (blob(0, 0.1, 0.9), ""),
    "none": (None, ""),
    "longer": (blob(1, 0, 0, 0), "4 numbers instead of 3"),
    "zeros": (blob(0, -0.0, 0), "all zeros"),
    "not a number": (blob(0, math.nan, 1), "invalid numbers"),
    "infinite": (blob(math.inf, 0, 1), "invalid numbers"),
    "cut": (blob(1, 0, 0)[:-1], "a truncated vector"),
    "empty": (b"", "an empty vector"),
}


def _with_vectors() -> list[dict[str, Any]]:
    return [
        {"id": name, "key": name, "content": PLAIN[at], "embedding": vector}
        for at, (name, (vector, _)) in enumerate(VECTORS.items())
    ]


@pytest.mark.parametrize("generation", ["G1", "G4"])
async def test_vectors_that_fit_no_query_are_found(opened: Any, generation: str) -> None:
    """Without an embedder the length that most have is the right one."""
    report = await check_memories(await opened(generation, _with_vectors()))
    finding = report.finding("stale vectors")
    assert finding is not None
    told = {sample.version.id: sample.remark for sample in finding.samples}
    assert told == {name: remark for name, (_, remark) in VECTORS.items() if remark}


async def test_the_configured_length_counts_where_there_is_an_embedder(opened: Any) -> None:
    library = await opened("G4", _with_vectors(), dimensions=4)
    assert library.embedder is not None
    told = _ids(await check_memories(library), "stale vectors")
    assert "longer" not in told
    assert {"good", "good too", "and this"} <= set(told)


async def test_progress_rises_to_all_rows_and_a_no_ends_it(opened: Any) -> None:
    library = await opened("G4", [{"content": f"memory number {at} of many"} for at in range(900)])
    told: list[int] = []

    def going(done: int) -> bool:
        told.append(done)
        return True

    await check_memories(library, going)
    assert told == sorted(told)
    assert told[-1] == 900
    assert len(told) > 3

    def enough(done: int) -> bool:
        return done < 400

    with pytest.raises(SearchInterrupted):
        await check_memories(library, enough)


async def test_cancelling_ends_the_pass(opened: Any) -> None:
    library = await opened("G2", [{"content": f"memory number {at} of many"} for at in range(2000)])
    seen: list[int] = []
    looking: asyncio.Task[CleanUpReport]
    loop = asyncio.get_running_loop()

    def cancelled(done: int) -> bool:
        seen.append(done)
        if len(seen) == 1:
            loop.call_soon_threadsafe(looking.cancel)
            while not looking.cancelling():
                pass
        return True

    looking = asyncio.ensure_future(check_memories(library, cancelled))
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert max(seen) < 2000


async def test_markdown_notes_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    lines = ["ok", PLAIN[0], PLAIN[0], f"[cron:1] {PLAIN[1]}", "password=hunter2hunter2 is the one"]
    (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n" + "".join(f"- {line}\n" for line in lines))
    async with opened_at(OpenOptions(path=tmp_path, backend="markdown")) as library:
        report = await check_memories(library)
    counts = {finding.kind: finding.count for finding in report.findings}
    assert counts == {"too short": 1, "exact duplicates": 2, "heartbeat and cron": 1, "secrets": 1}


LONGS = [" ".join(PLAIN[at : at + 3]) for at in range(0, 12, 3)]


async def test_the_report_names_groups_by_their_places(opened: Any) -> None:
    one, two, *_ = LONGS
    rows = [{"content": text} for text in (one, two, f"{one} indeed", two, LONGS[2], f"{two}\n")]
    for store in ("G1", "G2", "G3", "G4", "in-memory"):
        report = await check_memories(await opened(store, rows))
        exact, near = report.finding("exact duplicates"), report.finding("near duplicates")
        assert isinstance(exact, Finding)
        assert isinstance(near, Finding)
        assert [sample.version.id for sample in exact.samples] == ["id-001", "id-003", "id-005"]
        assert exact.groups == ((0, 1, 2),)
        assert [sample.version.id for sample in near.samples] == ["id-000", "id-002"]
        assert near.groups == ((0, 1),)
        assert near.samples[0].remark == near.samples[1].remark == "96 % alike"
        assert near.is_whole


async def test_what_is_left_out_is_told_in_the_finding(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_VECTORS", 2)
    rows = [{"content": PLAIN[at], "embedding": blob(1, 0)} for at in range(3)]
    near = (await check_memories(await opened("G2", rows))).finding("near duplicates")
    assert near is not None
    assert not near.is_whole
    assert "1 vector" in near.remark


async def test_the_finding_shows_what_it_is_and_never_the_secret(opened: Any) -> None:
    secret = f"ghp_{MIXED}"
    rows = [
        {"content": f"token for CI: {secret} and password=hunter2"},
        {"content": f"token for CI: {secret} and password=hunter2 "},
        {"content": "Anna keeps her passwords in a book"},
    ]
    report = await check_memories(await opened("G4", rows))
    finding = report.finding("secrets")
    assert finding is not None
    assert [sample.remark for sample in finding.samples] == ["a GitHub token, a password"] * 2
    shown = [sample.excerpt for other in report.findings for sample in other.samples]
    assert not any(secret in excerpt or "hunter2" in excerpt for excerpt in shown)


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


def _deleted(finding: Finding, **more: Any) -> set[str]:
    return {version.id for version in plan_merge([finding], **more).to_delete.stamps}


@pytest.mark.parametrize("store", STORES)
async def test_a_merge_keeps_one_of_each_group_and_undo_brings_the_others_back(opened: Any, store: str) -> None:
    library = await opened(store, ROWS)
    finding, before = await _finding(library), await _state(library)
    assert _deleted(finding) == {"old", "longest", "twin 1"}
    assert _deleted(finding, only=[1]) == {"twin 1"}
    plan = plan_merge([finding])
    assert [(stays.version.id, len(going)) for stays, going in plan.groups] == [("newest", 2), ("twin 2", 1)]
    outcome = await merge(library, plan)
    assert (outcome.verb, outcome.count) == ("merge", 3)
    assert outcome.action is not None
    assert outcome.action.summary == "merged away 3 memories"
    assert {version.id for version in await versions(library.memory, EVERY)} == {"newest", "other", "twin 2"}
    assert (await check_memories(library)).finding("exact duplicates") is None
    assert (await changes.undo(library)).count == 3
    assert await _state(library) == before


async def test_agents_are_not_merged_with_each_other(tmp_path: Path) -> None:
    other = "00000000-0000-4000-8000-000000000002"
    database = small_store.make(tmp_path / "brain.db", "G4", [])
    small_store.change(database, "INSERT INTO agents VALUES (?, 'anna', '2026-01-01')", [other])
    small_store.add(database, [{"content": SAME}, {"content": SAME, "agent_id": other}, {"content": SAME}])
    async with opened_at(database) as library:
        assert {version.agent for version in (await _finding(library)).versions} == {"default"}


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
            assert plan.groups[0][0].version.id == f"copy {len(worse)}"


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
    assert _deleted(await _finding(await opened("G4", copies))) == {
        str(at) for at in range(len(rows)) if at not in stay
    }


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
    assert {version.id for version in (await _finding(library)).versions} == {"shown", "again"}
    assert (await check_memories(library)).finding("near duplicates") is None
    assert _deleted(await _finding(library)) == {"shown"}


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
    going = {int(name) for name in (_deleted(finding) if finding is not None else ())}
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
    assert {version.id for version in near.versions} == {"chat", "near"}
    assert {version.id for version in plan_merge([exact, near]).to_delete.stamps} == {"core"}


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
    assert {"old", "longest", "twin 2"} <= {version.id for version in await _versions(library)}


def _by_another(library: Library, statement: str) -> None:
    with closing(sqlite3.connect(library.memory.about.location)) as connection, connection:
        connection.execute(statement)


async def _versions(library: Library) -> Sequence[RowVersion]:
    return await versions(library.memory, EVERY)


async def test_a_read_only_store_is_refused_with_its_reason(tmp_path: Path) -> None:
    database = small_store.make(tmp_path / "brain.db", "G2", ROWS)
    async with opened_at(OpenOptions(path=database, read_only=True)) as library:
        with pytest.raises(Refused):
            await merge(library, plan_merge([await _finding(library)]))


MEGABYTE = 1_000_000

SCRIPT = """
import asyncio, re, sys
from pathlib import Path
from zeroclaw_tui.curation.clean_up import check_memories
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for

async def looked_at():
    library = await open_library(configs_for(OpenOptions(path=Path(sys.argv[1])))[0])
    report = await check_memories(library)
    await library.close()
    return report

report = asyncio.run(looked_at())
found = {finding.kind: finding.count for finding in report.findings}
print(report.rows, report.size, found["recall blobs"], found["exact duplicates"])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1))
"""


@pytest.mark.parametrize(
    ("rows", "megabytes", "most", "line"),
    [
        (6, 8, 160, "[Memory context] 🦀 recalled again and again, each time with what was recalled before\n"),
        pytest.param(21, 18, 300, "[Memory context] recalled with what came before it\n", marks=pytest.mark.slow),
        pytest.param(21, 18, 300, "[Memory context] 🦀 recalled\n", marks=pytest.mark.slow),
    ],
)
def test_rows_of_many_megabytes_are_held_one_at_a_time(
    tmp_path: Path, rows: int, megabytes: int, most: int, line: str
) -> None:
    """All but the first are the same, which is found by their hash; peak of the whole process, below what all take.

    Linux counts the peak of the process that started it into `ru_maxrss`, so that is not asked.
    """
    database = small_store.make(tmp_path / "brain.db", "G2", [])
    small_store.change(database, "DROP TRIGGER memories_ai")
    text = line * (megabytes * MEGABYTE // len(line.encode()))
    small_store.add(database, ({"content": "first" * (at == 0) + text} for at in range(rows)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(database)],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    told, peak = done.stdout.splitlines()
    assert told == f"{rows} {5 + rows * len(text.encode())} {rows} {rows - 1}"
    assert int(peak) < most * 1024, peak
    database.unlink()
