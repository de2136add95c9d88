"""Markdown memory is read as ZeroClaw reads it, and bad files never stop the reading."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.opened import opened_at
from support.questions import EXCERPTS, MemoryFilter, Query, Sort
from support.recalls import recalled
from support.stores import count_facets, entries_with_key, sentences, whole_entry

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.curation.hygiene import plan_hygiene
from zeroclaw_tui.testing.tools import handles_of

DATA = Path(__file__).parents[2] / "data" / "markdown"
GOLDEN = json.loads((DATA / "runs.json").read_text("utf-8"))


async def opened(root: Path, **options: Any) -> MarkdownMemory:
    memory = MarkdownMemory(root, **options)
    await memory.open()
    return memory


def write(root: Path, **files: str | bytes) -> Path:
    """Write files by name, with `__` for a folder: MEMORY, memory__2026_01_02 and so on."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/').replace('_', '-')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


async def hits(memory: MarkdownMemory, version: str, query: str, limit: int, **rest: Any) -> list[tuple[str, Any]]:
    found = await recalled(memory, query, version, limit=limit, **rest)
    assert [scored.rank for scored in found.entries] == list(range(1, len(found.entries) + 1))
    return [(scored.entry.key, scored.score) for scored in found.entries]


@pytest.mark.parametrize("version", sorted(GOLDEN["runs"]))
async def test_recall_equals_that_of_zeroclaw(version):
    memory = await opened(DATA)
    for query, limit, session, results in GOLDEN["runs"][version]:
        found = await hits(memory, version, query, limit, session_id=session)
        assert found == [(key, score) for key, score in results], query


async def test_list_get_and_count_equal_those_of_zeroclaw():
    memory = await opened(DATA)
    listed = [[entry.id, entry.category, entry.timestamp, entry.content] for entry in await memory.list()]
    assert listed == GOLDEN["list"]
    assert await memory.count() == GOLDEN["count"]
    for key, found in GOLDEN["get"].items():
        entry = await memory.get(key)
        assert (entry and entry.id) == found


async def test_windows_line_endings_and_odd_blanks_are_trimmed_as_in_rust(tmp_path):
    memory = await opened(write(tmp_path, MEMORY="- one\r\n\u3000- two\u00a0\r\n\u2003\r\n\x1c three\r\n"))
    assert [entry.content for entry in await memory.list()] == ["one", "two", "\x1c three"]


async def test_files_of_any_name_are_read_newest_first_without_subfolders(tmp_path):
    days = {"memory__2026_01_02": "old", "memory__2026_03_04": "new", "memory__archive__2025_01_01": "gone"}
    write(tmp_path, MEMORY="core", memory__notes="named", **days)
    (tmp_path / "memory" / "upper.MD").write_text("not read")
    (tmp_path / "memory" / ".md").write_text("not read")
    memory = await opened(tmp_path)
    assert [entry.content for entry in await memory.list()] == ["named", "core", "new", "old"]
    stored = await handles_of(memory, MemoryFilter(), Sort())
    assert list(stored) == ["notes:0", "MEMORY:0", "2026-03-04:0", "2026-01-02:0"]
    categories = [row.category for row in await memory.rows(Query(EXCERPTS, handles=stored))]
    assert categories == ["daily", "core", "daily", "daily"]


DAYS = {
    "2026-03-07": "2026-03-07", "2026-03-07-fixing-the-roof": "2026-03-07", "2026-03-07_x": "2026-03-07",
    "2026-03-07-1442": "2026-03-07", "2026-3-8": "2026-03-08", "20260307": "", "2026-13-07": "", "plan": "",
}  # fmt: skip


async def test_the_date_in_a_file_name_sets_the_age_of_its_lines(tmp_path):
    """Ages, filters and hygiene use that day; the timestamp is still the name, by which ZeroClaw recalls."""
    (tmp_path / "memory").mkdir()
    for stem in DAYS:
        (tmp_path / "memory" / f"{stem}.md").write_text("- **k**: tea\n")
    (tmp_path / "MEMORY.md").write_text("- tea\n")
    memory = await opened(tmp_path)
    entries = {entry.timestamp: entry.when for entry in await memory.list()}
    assert entries == {**DAYS, "MEMORY": ""}
    async with opened_at(tmp_path, "0.8.4") as library:
        plan = await plan_hygiene(library, datetime(2027, 1, 1, tzinfo=UTC))
    by_hygiene = {item.name.removeprefix("memory/").removesuffix(".md"): item.date for item in plan.items}
    assert by_hygiene == {stem: day for stem, day in entries.items() if day}
    facets = await count_facets(memory, MemoryFilter(), "2026-03-20T12:00:00+00:00")
    assert facets.by["age"] == {"today": 0, "this week": 0, "this month": 5, "older": 0, "no date": 4}
    assert sum(facets.by["age"].values()) == facets.total
    for wanted, count in (
        (MemoryFilter(older_than="2026-03-08"), 4),
        (MemoryFilter(newer_than="2026-03-07T12:00:00Z"), 1),
    ):
        assert len(await handles_of(memory, wanted, Sort())) == count
    late = await hits(memory, "0.8.4", "tea", 20, since="2026-04-01T00:00:00Z")
    assert {key.rpartition(":")[0] for key, _ in late} == {*entries} - {"2026-03-07", "2026-3-8"}


async def test_a_file_that_is_not_utf_8_is_read_and_reported(tmp_path):
    write(tmp_path, MEMORY="- good\n", memory__2026_01_02=b"- caf\xe9\n- fine\n")
    memory = await opened(tmp_path)
    contents = [entry.content for entry in await memory.list()]
    assert contents == ["good", "caf\udce9", "fine"]
    assert "2026-01-02.md is not UTF-8" in sentences(memory.about.notices)[0]
    health = await memory.health()
    assert not health.ok
    assert health.findings == sentences(memory.about.notices)
    assert json.dumps((await whole_entry(memory, "2026-01-02:0")).as_json())
    assert await hits(memory, "0.8.4", "caf", 5) == [("2026-01-02:0", 1.0)]


async def test_time_bounds_compare_days_from_0_8_0_and_are_ignored_before(tmp_path):
    days = dict.fromkeys(("memory__2026_01_02", "memory__2026_01_05", "memory__2026_01_05_trip"), "- tea")
    memory = await opened(write(tmp_path, MEMORY="- tea", **days))
    window = {"since": "2026-01-03T00:00:00+00:00", "until": "2026-01-05T01:00:00+00:00"}
    newer = [key for key, _ in await hits(memory, "0.8.0", "tea", 9, **window)]
    assert newer == ["MEMORY:0", "2026-01-05-trip:0", "2026-01-05:0"]
    for version in ("0.5.4", "0.7.5"):
        assert len(await hits(memory, version, "tea", 9, **window)) == 4
    late = {"since": "2026-01-05T23:30:00-05:00"}
    assert "2026-01-05:0" in [key for key, _ in await hits(memory, "0.8.4", "tea", 9, **late)]


async def test_agents_of_0_8_recall_their_own_lines_before_those_of_peers(tmp_path):
    root = write(tmp_path / "data", MEMORY="- install tea")
    ada = write(tmp_path / "agents" / "ada" / "workspace", MEMORY="- green tea")
    bob = write(
        tmp_path / "agents" / "bob" / "workspace", MEMORY="- black tea\n- tea tea", memory__2026_01_02="- coffee"
    )
    memory = await opened(root, agents={"ada": ada, "bob": bob})
    assert "agents" not in memory.why_not
    assert await memory.count() == 5
    assert (await count_facets(memory, MemoryFilter(), "2026-11-21T12:00:00Z")).by["agent"] == {"bob": 3, "ada": 1}
    keys = [key for key, _ in await hits(memory, "0.8.3", "tea", 2, agents=("bob", "ada"))]
    assert keys == ["[bob] MEMORY:0", "[bob] MEMORY:1"]
    keys = [key for key, _ in await hits(memory, "0.8.3", "green tea", 9, agents=("bob", "ada"))]
    assert keys == ["[bob] MEMORY:0", "[bob] MEMORY:1", "[ada] MEMORY:0"]
    assert [entry.agent for entry in await entries_with_key(memory, "MEMORY:0", agent="ada")] == ["ada"]
    assert [entry.agent for entry in await entries_with_key(memory, "MEMORY:0")] == [None, "ada", "bob"]
    only_bob = await handles_of(memory, MemoryFilter(agent=("bob",)), Sort())
    assert list(only_bob) == ["bob/MEMORY:0", "bob/MEMORY:1", "bob/2026-01-02:0"]
