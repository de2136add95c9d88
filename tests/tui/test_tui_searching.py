"""Searching: as the agent recalls, as a person finds, and never the answer to an old question."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.settling import settled
from textual.events import Key
from textual.keys import _character_to_key
from tui_samples import (
    NARROW,
    WIDE,
    Inspector,
    SampleMemory,
    browser,
    click_text,
    line,
    lit_in,
    paced,
    sample_memories,
    screen_text,
    screen_words,
    until,
)

from zeroclaw_tui.backends.health import StoreRecall
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.lines import SearchBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


class HeldMemory(SampleMemory):
    """Answers a search only when the test lets it, and keeps which ones were called off."""

    def __init__(self) -> None:
        super().__init__(sample_memories())
        self.may_answer: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.called_off: list[str] = []

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        self.requests.append(request)
        # Like a driver whose thread goes on after the await was cancelled: an old answer still comes.
        waiting = asyncio.ensure_future(self.may_answer[request.query].wait())
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.called_off.append(request.query)
            await waiting
        return await super().search(request, profile, settings, query_vector)


def rows(app: InspectorApp) -> MemoryList:
    return browser(app).query_one(MemoryList)


async def test_typing_shows_what_the_agent_would_recall_ranked_with_its_numbers(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"what to eat")
        await settled(pilot)
        assert browser(app).query_one(SearchBar).input.value == "what to eat"
        assert "limit 5 as the agent threshold 0.40 18 ms" in " ".join(line(app, 1).split())
        assert "1 lunch_2026_11" in screen_words(app)
        assert "final vector keyword" in screen_words(app)
        assert "4 shown of 245 · 2 injected" in screen_text(app)
        assert rows(app).row_count == 4


async def test_what_is_typed_right_behind_the_slash_goes_into_the_bar(inspector: Inspector) -> None:
    """A fast typist, or a paste: every key is there before the first one was answered, and none acts on the list."""
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        for character in "/what?":
            app.post_message(Key(_character_to_key(character), character))
        await until(pilot, lambda: browser(app).query_one(SearchBar).input.value == "what?")
        assert app.screen is browser(app)


async def test_enter_goes_to_the_results_and_escape_steps_out_one_by_one(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ramen", "enter")
        await settled(pilot)
        assert rows(app).has_focus
        assert rows(app).row_count == 2
        await pilot.press("slash")
        assert browser(app).query_one(SearchBar).input.has_focus
        await pilot.press("escape")
        await settled(pilot)
        assert rows(app).has_focus
        assert rows(app).row_count == 2
        await pilot.press("escape")
        await settled(pilot)
        assert rows(app).row_count == 245
        assert "245 memories" in line(app, 1)
        await pilot.press("escape", "escape")
        assert app.is_running


async def test_down_leaves_the_bar_for_the_list(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ramen", "down", "j")
        await settled(pilot)
        assert rows(app).has_focus
        assert rows(app).cursor == 1


async def test_a_superseded_search_is_called_off_and_never_paints(tmp_path: Path) -> None:
    store = HeldMemory()
    app = Inspector(tmp_path, store).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ra")
        await until(pilot, lambda: [request.query for request in store.requests] == ["r", "ra"])
        assert store.called_off == ["r"]
        store.may_answer["ra"].set()
        await until(pilot, lambda: browser(app).panes.recalled is not None)
        shown = browser(app).panes.recalled
        assert shown is not None
        assert shown.request.query == "ra"
        store.may_answer["r"].set()
        await settled(pilot)
        assert browser(app).panes.recalled is shown


async def test_clearing_the_search_while_it_runs_leaves_the_listing(tmp_path: Path) -> None:
    store = HeldMemory()
    app = Inspector(tmp_path, store).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", "r")
        await until(pilot, lambda: len(store.requests) == 1)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: rows(app).row_count == 245)
        store.may_answer["r"].set()
        await settled(pilot)
        assert rows(app).row_count == 245
        assert browser(app).panes.recalled is None


async def test_contains_finds_chinese_and_lights_it_up(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", "ctrl+f")
        browser(app).query_one(SearchBar).input.value = "深色"
        await settled(pilot)
        assert "1 found" in line(app, 1)
        assert "语言" in screen_text(app)
        assert rows(app).row_count == 1
        assert lit_in(rows(app)) == ["深色"]


async def test_ctrl_f_changes_the_mode_for_the_same_text(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"rame")
        await settled(pilot)
        assert "The agent recalls nothing for “rame”." in screen_text(app)
        assert "2 memories contain it, letter for letter." in screen_text(app)
        assert "ctrl+f search with contains" in screen_words(app)
        await pilot.press("ctrl+f")
        await settled(pilot)
        assert "2 found" in line(app, 1)
        assert rows(app).row_count == 2
        for mode in ("words", "regex"):
            await pilot.press("ctrl+f")
            await settled(pilot)
            assert mode in line(app, 1)
        while browser(app).view.mode is not Mode.RECALL:
            await pilot.press("ctrl+f")
        await settled(pilot)
        assert "❯ recall" in line(app, 1)


async def test_a_recall_says_how_many_memories_contain_the_text(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"topic")
        await settled(pilot)
        assert "contains finds 237 (ctrl+f)" in screen_text(app)


async def test_what_nothing_contains_says_so_and_how_to_leave(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+f", "ctrl+f", *"zzz")
        await settled(pilot)
        assert "Nothing contains “zzz”." in screen_text(app)
        assert "esc leave the search" in screen_words(app)
        await pilot.press("escape")
        await settled(pilot)
        assert rows(app).row_count == 245


async def test_recall_takes_session_and_agent_and_tells_what_it_does_not_take(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await click_text(pilot, "telegram_12345", "#facets")
        await click_text(pilot, "core", "#facets")
        await settled(pilot)
        await pilot.press("slash", *"eat")
        await settled(pilot)
        assert isinstance(inspector.store, SampleMemory)
        assert inspector.store.requests[-1].session_id == "telegram_12345"
        assert "telegram_12345" in line(app, 1)
        assert "ecall ignores the filter core" in screen_words(app)


async def test_a_recall_that_ignores_a_filter_says_so_and_counts_nothing_by_it(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"topic", "enter")
        await settled(pilot)
        assert "shown of 245" in screen_words(app)
        browser(app).panes.look(browser(app).view.toggled("category", "core"))
        await settled(pilot)
        assert "recall ignores the filter core" in screen_words(app)
        assert "shown of" not in screen_words(app)


async def test_a_recall_of_nothing_tells_the_filters_it_ignores(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        browser(app).panes.look(browser(app).view.toggled("category", "core").toggled("age", "older"))
        await settled(pilot)
        await pilot.press("slash", *"rame")
        await settled(pilot)
        assert "among those that pass the filters" in screen_words(app)
        assert "Recall ignores the filters core, older than 30 d." in screen_words(app)


async def test_the_order_chosen_in_a_recall_is_said_to_be_the_lists(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("o")
        await until(pilot, lambda: "In which order?" in screen_text(app))
        await pilot.press("escape", "slash", *"eat", "enter")
        await settled(pilot)
        await pilot.press("o")
        await until(pilot, lambda: "Recall keeps its ranks. In which order the list?" in screen_text(app))


async def test_keyword_only_says_so_and_how_to_turn_embeddings_on(tmp_path: Path) -> None:
    app = Inspector(tmp_path, embeds=False).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "keyword only: no embeddings configured" in line(app, 0)
        await pilot.press("slash", *"ramen")
        await settled(pilot)
        assert "config.toml turns them on" in screen_words(app)
        assert "vector" not in screen_text(app).splitlines()[3]


@pytest.mark.parametrize("text", ["[/foo]", "[bold]", "%s {0}", "\\", "'; --", "“”", "a" * 200])
async def test_any_text_can_be_searched_for(inspector: Inspector, text: str) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        browser(app).query_one(SearchBar).input.value = text
        await settled(pilot)
        assert "The agent recalls nothing for" in screen_text(app)
        await pilot.press("ctrl+f")
        await settled(pilot)
        assert "Nothing contains" in screen_text(app)


async def test_resting_fingers_start_the_search_once(inspector: Inspector) -> None:
    app = inspector.app(pace=paced(debounce=0.05))
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        browser(app).query_one(SearchBar).input.value = "ram"
        browser(app).query_one(SearchBar).input.value = "ramen"
        await until(pilot, lambda: browser(app).panes.recalled is not None)
        assert isinstance(inspector.store, SampleMemory)
        asked: list[Any] = [request.query for request in inspector.store.requests]
        assert asked == ["ramen"]


async def test_a_text_typed_in_the_mode_similar_is_compared(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        while browser(app).view.mode is not Mode.SIMILAR:
            await pilot.press("ctrl+f")
        await pilot.press(*"chopsticks or a wok", "enter")
        await settled(pilot)
        assert "cutlery" in line(app, 3)
