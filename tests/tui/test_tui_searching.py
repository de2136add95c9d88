"""Searching: as the agent recalls, as a person finds, and never the answer to an old question."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from support.screens import WIDE, line, lit_in, screen_text, screen_words
from support.settling import burst, click_text, press, running, settled, until
from textual.events import Paste
from tui_samples import Inspector, SampleMemory, browser, lit_mode, paced, sample_memories

from zeroclaw_tui.backends.about import OwnRule
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.statistics import CountField, Counts
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.widgets.lines import SearchBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


class LoadedMemory(SampleMemory):
    """Answers a search only when the test lets it, and keeps which ones were called off."""

    def __init__(self) -> None:
        super().__init__(sample_memories())
        self.may_answer: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.called_off: list[str] = []

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        request = trial.request
        self.requests.append(request)
        # Like a driver whose thread goes on after the await was cancelled: an old answer still comes.
        waiting = asyncio.ensure_future(self.may_answer[request.query].wait())
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.called_off.append(request.query)
            await waiting
        return await super().search(trial, vector)


def rows(app: InspectorApp) -> MemoryList:
    return browser(app).query_one(MemoryList)


async def test_what_the_agent_would_recall_is_ranked_with_its_numbers_and_escape_steps_out(
    inspector: Inspector,
) -> None:
    """Enter or down goes to the results."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=what to eat")
        assert browser(app).query_one(SearchBar).input.value == "what to eat"
        assert "limit 5 as the agent threshold 0.40 18 ms" in " ".join(line(app, 2).split())
        assert "1 lunch_2026_11" in screen_words(app)
        assert "final vector keyword" in screen_words(app)
        assert "4 shown of 245 · 2 injected" in screen_text(app)
        assert rows(app).row_count == 4
        await press(pilot, "down", "j")
        assert rows(app).has_focus
        assert rows(app).cursor == 1
        await press(pilot, "slash", "=ramen", "enter")
        assert rows(app).has_focus
        assert rows(app).row_count == 2
        await press(pilot, "slash")
        assert browser(app).query_one(SearchBar).input.has_focus
        await press(pilot, "escape")
        assert rows(app).has_focus
        assert rows(app).row_count == 2
        await press(pilot, "escape")
        assert rows(app).row_count == 245
        assert "245 memories" in line(app, 2)
        await press(pilot, "escape", "escape")
        assert app.is_running


async def test_every_search_begins_as_a_recall(inspector: Inspector) -> None:
    """Also after a search by a pattern, whose text is selected so that a message replaces it."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "tab", "tab", "=rame", "enter")
        assert lit_mode(app) == "regex"
        await press(pilot, "slash")
        assert lit_mode(app) == "recall"
        await press(pilot, "=what to eat", "enter")
        assert "1 lunch_2026_11" in screen_words(app)
        await press(pilot, "slash", "tab", "escape", "escape", "escape", "slash")
        assert lit_mode(app) == "recall"


async def test_what_is_typed_right_behind_the_slash_goes_into_the_bar(inspector: Inspector) -> None:
    """A fast typist, or a paste: every key is there before the first one was answered, and none acts on the list."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        burst(app, "/what?")
        await until(pilot, lambda: browser(app).query_one(SearchBar).input.value == "what?")
        app.post_message(Paste("\nno meat\r\nno fish\n"))
        await until(pilot, lambda: browser(app).query_one(SearchBar).input.value == "what?no meat no fish")
        assert app.screen is browser(app)


async def test_a_superseded_search_is_called_off_and_never_paints(tmp_path: Path) -> None:
    store = LoadedMemory()
    async with running(Inspector(tmp_path, store).app(), WIDE) as (app, pilot):
        await pilot.press("slash", *"ra")
        await until(pilot, lambda: [request.query for request in store.requests] == ["r", "ra"])
        assert store.called_off == ["r"]
        store.may_answer["ra"].set()
        await until(pilot, lambda: browser(app).panes.page.recall is not None)
        shown = browser(app).panes.page.recall
        assert shown is not None
        assert shown.request.query == "ra"
        store.may_answer["r"].set()
        await settled(pilot)
        assert browser(app).panes.page.recall is shown


async def test_tab_changes_the_mode_for_the_same_text(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=topic")
        assert "contains finds 237 (/ tab)" in screen_text(app)
        await press(pilot, "ctrl+u", "=rame")
        assert "The agent recalls nothing for “rame”." in screen_text(app)
        assert "Contains finds 2." in screen_text(app)
        assert "tab search in another way" in screen_words(app)
        await press(pilot, "tab")
        assert "2 found" in line(app, 2)
        assert rows(app).row_count == 2
        browser(app).query_one(SearchBar).input.value = "深色"
        await settled(pilot)
        assert "1 found" in line(app, 2)
        assert "语言" in screen_text(app)
        assert rows(app).row_count == 1
        assert lit_in(rows(app)) == ["深色"]
        for mode in ("regex", "similar"):
            await press(pilot, "tab")
            assert lit_mode(app) == mode
        await press(pilot, "ctrl+u", "=chopsticks or a wok")
        assert "cutlery" in line(app, 5)
        await press(pilot, "tab")
        assert lit_mode(app) == "recall"


async def test_recall_takes_the_session_and_reports_which_filters_it_ignores(inspector: Inspector) -> None:
    """Nothing is counted by a filter that it ignores."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=eat", "enter")
        assert "shown of 245" in screen_words(app)
        await press(pilot, "escape")
        await click_text(pilot, "telegram_12345", "#facets")
        await click_text(pilot, "core", "#facets")
        await press(pilot, "slash", "=eat")
        assert isinstance(inspector.store, SampleMemory)
        assert inspector.store.requests[-1].session_id == "telegram_12345"
        assert "telegram_12345" in screen_text(app)
        assert "ecall ignores the filter core" in screen_words(app)
        assert "core" not in line(app, 2)
        await press(pilot, "tab")
        assert "core" in line(app, 2)
        await press(pilot, "enter", "slash")
        assert "shown of" not in screen_words(app)
        browser(app).panes.look(browser(app).view.toggled("age", "older"))
        await press(pilot, "slash", "=rame")
        assert "Contains finds " in screen_words(app)
        assert "Recall ignores the filters core, older than 30 d." in screen_words(app)


async def test_any_text_can_be_searched_for(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "slash")
        for words in ("The agent recalls nothing for", "Nothing contains"):
            for text in ("[/foo]", "[bold]", "%s {0}", "\\", "'; --", "“”", "a" * 200):
                browser(app).query_one(SearchBar).input.value = text
                await settled(pilot)
                assert words in screen_text(app)
            await press(pilot, "tab")


async def test_resting_fingers_start_the_search_once(inspector: Inspector) -> None:
    async with running(inspector.app(pace=paced(debounce=0.05)), WIDE) as (app, pilot):
        await pilot.press("slash")
        browser(app).query_one(SearchBar).input.value = "ram"
        browser(app).query_one(SearchBar).input.value = "ramen"
        await until(pilot, lambda: browser(app).panes.page.recall is not None)
        assert isinstance(inspector.store, SampleMemory)
        asked: list[Any] = [request.query for request in inspector.store.requests]
        assert asked == ["ramen"]


class BigMemory(SampleMemory):
    """Holds so many memories that recall takes seconds."""

    about = replace(SampleMemory.about, rule=OwnRule("keyword only"), slow_recall_above=50_000)

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        return replace(await super().count_up(filter, now, by), total=60_000)


async def test_among_very_many_memories_recall_starts_with_enter(tmp_path: Path) -> None:
    """Other ways to search answer while it is typed."""
    store = BigMemory(sample_memories())
    async with running(Inspector(tmp_path, store).app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=ramen")
        assert store.requests == []
        assert "enter to recall" in line(app, 2)
        await press(pilot, "enter")
        assert [request.query for request in store.requests] == ["ramen"]
        assert "enter to recall" not in line(app, 2)
        await press(pilot, "slash", "=tea")
        assert "enter to recall" in line(app, 2)
        await press(pilot, "tab")
        assert lit_mode(app) == "contains"
        assert browser(app).view.query == "tea"
        assert len(store.requests) == 1
