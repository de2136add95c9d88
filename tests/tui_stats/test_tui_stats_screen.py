"""The page of statistics as a person uses it: reading, counting again, copying, leaving."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stats_samples import NARROW, NOW, WIDE, Counted, StatsApp, app_of, entry, library_of, screen_words, settled, usual
from support.small_store import blob, make
from textual.timer import Timer

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.stats import full_stats
from zeroclaw_tui.memory.errors import Locked
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.tui.screens.stats import StatsScreen


async def test_the_title_tells_how_much_and_since_when(tmp_path: Path) -> None:
    app = app_of([entry(1, "a", "core", 40, 1000), entry(2, "b", "core", 1, 24)], tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        shown = screen_words(app)
        assert shown.startswith("2 memories, 1.0 KB of text · 2026-10-11 to 2026-11-19 Stored per day")
        assert "Stored per day most on one day: 1 on 2026-10-11" in shown


async def test_a_narrow_page_draws_a_coarser_curve(tmp_path: Path) -> None:
    app = app_of(usual(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "Stored per week" in screen_words(app)
        await pilot.resize_terminal(170, 40)
        await settled(pilot)
        assert "Stored per day" in screen_words(app)


async def test_a_real_store_tells_its_vectors_and_its_file(tmp_path: Path) -> None:
    rows = [{"embedding": blob(1, 2, 3)}, {}, {"category": "notes", "session_id": "tg"}]
    memory = SqliteMemory(make(tmp_path / "brain.db", "G4", rows))
    await memory.open()
    app = StatsApp(library_of(memory, tmp_path))
    async with app.run_test(size=(140, 60)) as pilot:
        await settled(pilot)
        shown = screen_words(app)
        assert "All 3 were stored on 2026-03-01: one day draws no growth." in shown
        assert "Vectors: 1 with 3 numbers" in shown
        assert "embedding cache 0 vectors" in shown
        assert "4 B key0 core" in shown
    await memory.close()


async def test_r_counts_again_and_esc_gives_that_nothing_changed(tmp_path: Path) -> None:
    memory = InMemory([entry(1, "a", "core", 40, 1000)])
    app = StatsApp(library_of(memory, tmp_path))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await memory.store("b", "more", "daily")
        await pilot.press("r")
        await settled(pilot)
        assert screen_words(app).startswith("2 memories")
        await pilot.press("escape")
        assert app.given == [False]


async def test_a_timer_that_goes_off_as_the_counting_ends_leaves_the_title_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(usual(), tmp_path)
    waiting: list[Callable[[], None]] = []

    def never_by_itself(screen: StatsScreen, seconds: float, late: Callable[[], None]) -> Timer:
        waiting.append(late)
        return Timer(screen, seconds)

    monkeypatch.setattr(StatsScreen, "set_timer", never_by_itself)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        shown = screen_words(app)
        waiting[0]()
        await settled(pilot)
        assert screen_words(app) == shown
        assert "Counting" not in shown


async def test_y_copies_what_the_command_prints(tmp_path: Path) -> None:
    memory = Counted(usual())
    app = StatsApp(library_of(memory, tmp_path))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        assert json.loads(app.clipboard) == json.loads(json.dumps(await full_stats(memory, NOW.isoformat())))


async def test_a_store_that_cannot_be_read_says_so_and_r_tries_again(tmp_path: Path) -> None:
    class Failing(InMemory):
        is_locked = True

        async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
            if self.is_locked:
                raise Locked("brain.db is locked by another program.", hint="Try again.")
            return await super().statistics(filter)

    memory = Failing([entry(1, "a", "core", 40, 1000)])
    app = StatsApp(library_of(memory, tmp_path))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "✗ brain.db is locked by another program. Try again. r tries again" in screen_words(app)
        memory.is_locked = False
        await pilot.press("r")
        await settled(pilot)
        assert screen_words(app).startswith("1 memory, 1.0 KB of text · all of 2026-10-11")
        assert "locked" not in screen_words(app)


async def test_keys_scroll_the_page(tmp_path: Path) -> None:
    app = app_of(usual(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "response cache" not in screen_words(app)
        await pilot.press("G")
        await settled(pilot)
        assert "response cache 12 answers, 3.4 KB, used 31 times" in screen_words(app)
        await pilot.press("g")
        await settled(pilot)
        assert "Stored per" in screen_words(app)
