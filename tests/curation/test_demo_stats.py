"""Stats: ZeroClaw's own figures, and fuller ones that add up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.stats import full_stats, memory_stats
from zeroclaw_tui.memory.entry import MemoryEntry

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


async def test_the_figures_are_zeroclaws_own_by_count_then_name() -> None:
    entries = [
        MemoryEntry(f"id{number}", f"key{number}", "text", category, "2026-11-20T00:00:00+00:00")
        for number, category in enumerate(("core", "daily", "core", "a rather long category name"))
    ]
    stats = await memory_stats(InMemory(entries), NOW.isoformat())
    assert (stats.backend, stats.health, stats.total) == ("in-memory", "healthy", 4)
    assert list(stats.by_category.items()) == [("core", 2), ("a rather long category name", 1), ("daily", 1)]


async def test_a_folder_that_went_away_is_unhealthy(tmp_path: Path) -> None:
    stats = await memory_stats(MarkdownMemory(tmp_path / "gone"), NOW.isoformat())
    assert (stats.health, stats.total) == ("unhealthy", 0)


async def test_the_full_figures_of_the_sample_add_up(tmp_path: Path) -> None:
    memory = SqliteMemory(make_demo(tmp_path, NOW) / "data" / "memory" / "brain.db")
    await memory.open()
    full = await full_stats(memory, NOW.isoformat())
    await memory.close()
    assert json.loads(json.dumps(full)) == full
    total = full["total"]
    assert total == sum(full["by_session"].values()) == sum(full["by_agent"].values()) == sum(full["by_age"].values())
    assert full["superseded"] == total - sum(full["by_category"].values()) >= 3
    embeddings = full["embeddings"]
    assert embeddings["embedded"] + embeddings["not_embedded"] == total
    assert 0 < embeddings["share"] < 1
    assert full["facts"]
