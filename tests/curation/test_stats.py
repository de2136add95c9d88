"""Statistics of SQLite equal those of plain Python; missing figures are null."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from support.memories import MemoryEntry
from support.opened import opened_memory
from support.questions import MemoryFilter, Superseded
from support.small_store import blob, make
from support.stores import SqliteMemory

from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.matching import count_entries
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.stats import full_stats, stats_of, store_stats
from zeroclaw_tui.memory.statistics import COUNT_FIELDS, Counts
from zeroclaw_tui.testing.tools import entries_of

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).isoformat()
DATES = (
    "2026-03-01T23:59:59.999000001+00:00", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00.0000001+00:00",
    "2026-03-01T07:14:59Z", "2026-03-02T00:30:00+05:45", "2026-03-01 10:00:00", "2026-03-01", "1969-12-31T23:50:00Z",
    "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "now",
    "2461000.5", "", "yesterday \x1b[31m", "2026-03-01T10:00:00+13:59",
)  # fmt: skip


async def test_counts_of_sqlite_equal_those_of_plain_python(tmp_path):
    rows: list[dict[str, Any]] = [{"created_at": text} for text in DATES]
    sizes = (0, 1, 99, 100, 1023, 1024, 10_239, 10_240, 102_399, 102_400)
    rows += [{"content": "é" * (size // 2) + "x" * (size % 2), "category": "sizes"} for size in sizes]
    rows += [{"content": "before\0after", "category": "[/x]\x1b\u202e" + "k" * 5000, "key": "\0" * 3}]
    rows += [{"embedding": blob(*([0.5] * length)), "category": f"of {length % 2}"} for length in (3, 3, 4, 5)]
    async with opened_memory(SqliteMemory(make(tmp_path / "brain.db", "G4", rows))) as memory:
        ours = (await store_stats(memory, NOW)).counts
        plain = plain_counts(await entries_of(memory, MemoryFilter(superseded=Superseded.SHOW)))
    assert (ours.total, ours.content) == (plain.total, plain.content)
    for field in COUNT_FIELDS:
        assert dict(ours.by[field]) == dict(plain.by[field]), field
    assert ours.total == sum(ours.by["quarter"].values()) == sum(ours.by["size"].values())


def plain_counts(entries: Sequence[MemoryEntry]) -> Counts:
    """Count memories in Python."""
    return count_entries(entries, [], (), NOW, COUNT_FIELDS)


def test_days_follow_the_time_zone_in_winter_and_summer():
    moments = ("2026-01-10T03:00:00Z", "2026-07-10T03:59:00Z", "2026-07-10T04:00:00Z", "never")
    entries = [MemoryEntry(str(at), str(at), "text", "core", text) for at, text in enumerate(moments)]
    stats = stats_of(plain_counts(entries), ZoneInfo("America/New_York"))
    assert stats.days == ((date(2026, 1, 9), 1), (date(2026, 7, 9), 1), (date(2026, 7, 10), 1))
    assert stats.undated == 1


def test_an_impossible_date_counts_as_undated():
    stats = stats_of(Counts(3, {"quarter": {-(10**12): 2, 0: 1}}), UTC)
    assert (stats.days, stats.undated) == (((date(1970, 1, 1), 1),), 2)
    assert stats.busiest == (date(1970, 1, 1), 1)


async def test_figures_that_a_backend_lacks_are_null(tmp_path):
    (tmp_path / "MEMORY.md").write_text("- one\n- two\n")
    memory = MarkdownMemory(tmp_path)
    await memory.open()
    full = await full_stats(memory, NOW)
    lacking = ("embedded_by_category", "by_session", "by_agent", "embeddings")
    assert [full[name] for name in lacking] == [None] * len(lacking)
    assert full["bytes"] | {"content": 0} == {
        "content": 0, "file": None, "write_ahead_log": None, "free_pages": None,
    }  # fmt: skip
    assert len(full["biggest"]) == 2
    nothing = await full_stats(NoneMemory(), NOW)
    assert (nothing["by_day"], nothing["undated"], nothing["biggest"], nothing["total"]) == ([], 0, [], 0)


async def test_the_figures_of_the_sample_add_up(tmp_path):
    async with opened_memory(
        SqliteMemory(make_demo(tmp_path, datetime.fromisoformat(NOW)) / "data" / "memory" / "brain.db")
    ) as memory:
        full = await full_stats(memory, NOW)
    assert json.loads(json.dumps(full)) == full
    total = full["total"]
    assert total == sum(full["by_session"].values()) == sum(full["by_agent"].values()) == sum(full["by_age"].values())
    assert full["superseded"] == total - sum(full["by_category"].values()) >= 3
    embeddings = full["embeddings"]
    assert embeddings["embedded"] + embeddings["not_embedded"] == total
    assert 0 < embeddings["share"] < 1
    assert full["facts"]
