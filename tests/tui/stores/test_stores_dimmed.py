"""What a store cannot do is dimmed, and its key says why; what it can do works."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_samples import (
    NO_VECTORS,
    Fusing,
    Known,
    Lucid,
    TraitOnly,
    none,
    notes,
    said,
    sqlite,
)
from support.settling import settled
from textual.widgets import Static
from tui_samples import NARROW, WIDE, browser, line, screen_text, screen_words, until

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.view import Mode
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

STORES = {
    "sqlite": sqlite,
    "markdown": notes,
    "none": none,
    "lucid": Lucid,
    "postgres": Fusing,
    "in-memory": InMemory,
    "plain": TraitOnly,
}
DIMMED = {
    "sqlite": {"talk"},
    "markdown": {"re-embed", "snapshot", "show.again", "talk"},
    "lucid": {"talk"},
    "postgres": {"snapshot", "talk"},
    "in-memory": {"re-embed", "snapshot", "talk"},
}


@pytest.mark.parametrize("name", list(STORES))
async def test_every_command_is_there_or_says_in_a_sentence_why_not(tmp_path: Path, name: str) -> None:
    app = Known(tmp_path, {name: STORES[name]()}).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        reasons = {one.id: why for one in BROWSER_COMMANDS if (why := browser(app).why_dimmed(one.action)) is not None}
        assert all(why.endswith(".") and " " in why for why in reasons.values())
        if name in DIMMED:
            assert set(reasons) == DIMMED[name]
        for command in BROWSER_COMMANDS:
            is_dimmed = command.id in reasons
            base, _, rest = command.action.partition("(")
            parameters = (rest.strip("')"),) if rest else ()
            if base not in ("app.quit", "choose_install", "toggle_blocks"):
                assert (browser(app).check_action(base, parameters) is None) == is_dimmed


@pytest.mark.parametrize(
    ("key", "id"),
    [
        ("slash", "search"),
        ("F", "filter"),
        ("e", "edit"),
        ("d", "delete"),
        ("n", "new"),
        ("u", "undo"),
        ("A", "audit"),
        ("S", "snapshot"),
        ("I", "stats"),
        ("o", "order"),
        ("y", "copy"),
        ("ctrl+f", "search.mode"),
    ],
)
async def test_where_nothing_is_stored_each_key_says_so(tmp_path: Path, key: str, id: str) -> None:
    app = Known(tmp_path, {"none": none()}).app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await settled(pilot)
        assert said(pilot) == ['Nothing is stored, because memory.backend is "none".']
        assert "Nothing is remembered here." in screen_text(app)


async def test_the_trait_alone_is_browsed_searched_and_says_what_it_lacks(tmp_path: Path) -> None:
    app = Known(tmp_path, {"plain": TraitOnly()}).app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "The only memory." in screen_text(app)
        await pilot.press("R")
        await until(pilot, lambda: said(pilot) == ["This store keeps no vectors."])
        await pilot.press("slash", *"only")
        await settled(pilot)
        recalled = browser(app).panes.recalled
        assert recalled is not None
        assert len(recalled.results) == 1
        assert "no score" in screen_text(app)


async def test_markdown_fields_that_a_line_cannot_hold_say_so_and_the_content_can_be_edited(tmp_path: Path) -> None:
    app = Known(tmp_path, {"markdown": notes()}, embeds=False).app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("R")
        await until(pilot, lambda: said(pilot) == [NO_VECTORS])
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditorScreen))
        await pilot.pause()
        assert screen_text(app).count("Only the content of a line can be changed.") >= 4


async def test_the_filters_say_what_the_store_does_not_know(tmp_path: Path) -> None:
    app = Known(tmp_path, {"markdown": notes()}).app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("F")
        await pilot.pause()
        assert "Markdown keeps no session." in screen_text(app)
        assert "These notes are one agent's." in screen_text(app)


async def test_b_capital_groups_lines_into_blocks_and_back(tmp_path: Path) -> None:
    """Blocks are counted as such, shown raw, deleted as a whole and edited line by line."""
    app = Known(tmp_path, {"markdown": notes()}).app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "4 memories" in line(app, 1)
        await pilot.press("B")
        await settled(pilot)
        assert "2 blocks" in line(app, 1)
        assert browser(app).query_one(MemoryList).row_count == 2
        await until(pilot, lambda: "- Timezone is EST." in screen_text(app))
        await pilot.press("e")
        await until(pilot, lambda: said(pilot) == ["A block is edited line by line: B shows its lines."])
        await pilot.press("B")
        await settled(pilot)
        assert "4 memories" in line(app, 1)


async def test_hybrid_is_a_search_of_ours_and_only_where_the_store_can(tmp_path: Path) -> None:
    store = Fusing(sqlite()._by_key.values())
    app = Known(tmp_path, {"postgres": store}).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ramen")
        await settled(pilot)
        assert not store.requests[-1].own_fusion
        while browser(app).view.mode is not Mode.HYBRID:
            await pilot.press("ctrl+f")
        await settled(pilot)
        assert "❯ hybrid" in line(app, 1)
        assert "ours, not the agent's" in line(app, 1)
        assert store.requests[-1].own_fusion
        shown = screen_words(app)
        assert "our own ranking: the agent does not do this" in shown
        assert "injected" not in shown
        assert "threshold" not in shown
        await pilot.press("ctrl+f")
        await settled(pilot)
        assert "❯ recall" in line(app, 1)
        assert "as the agent" in line(app, 1)


async def test_without_an_own_fusion_there_is_no_mode_for_it(tmp_path: Path) -> None:
    app = Known(tmp_path, {"sqlite": sqlite()}).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        modes = []
        while not modes or browser(app).view.mode is not Mode.RECALL:
            await pilot.press("ctrl+f")
            modes.append(browser(app).view.mode)
        assert modes == [Mode.CONTAINS, Mode.WORDS, Mode.REGEX, Mode.SIMILAR, Mode.RECALL]
        assert "❯ recall" in line(app, 1)
        assert "as the agent" in line(app, 1)


async def test_the_scale_of_another_ranking_is_named(tmp_path: Path) -> None:
    app = Known(tmp_path, {"markdown": notes()}).app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ramen")
        await settled(pilot)
        assert "score: matched words / words" in screen_words(app)
        assert "█" not in screen_text(app)


async def test_rows_of_lucid_are_marked_and_cannot_be_changed(tmp_path: Path) -> None:
    store = Lucid(sqlite()._by_key.values())
    app = Known(tmp_path, {"lucid": store}).app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"eat", "enter")
        await settled(pilot)
        assert screen_text(app).count("◇ lucid") == 2
        await pilot.press("G")
        await settled(pilot)
        assert "from the lucid program; it cannot be changed here" in detail_words(app)
        for key in ("e", "d", "R"):
            await pilot.press(key)
            await settled(pilot)
        assert said(pilot) == ["It comes from the lucid program and cannot be changed here."]
        await pilot.press("g", "d")
        await until(pilot, lambda: "Delete" in screen_text(app))


async def test_what_passes_by_itself_is_shown_until_it_is_over(tmp_path: Path) -> None:
    store = Lucid(sqlite()._by_key.values())
    app = Known(tmp_path, {"lucid": store}).app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        store.resting = "lucid rests for 12 s"
        await pilot.press("r")
        await settled(pilot)
        assert "◌ lucid rests for 12 s" in line(app, 0)
        store.resting = None
        await pilot.press("r")
        await settled(pilot)
        assert "rests" not in screen_text(app)


async def test_the_help_tells_every_reason(tmp_path: Path) -> None:
    app = Known(tmp_path, {"markdown": notes()}).app()
    async with app.run_test(size=(140, 90)) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await settled(pilot)
        await pilot.press(*"re-embed")
        await until(pilot, lambda: NO_VECTORS in screen_words(app))
        await pilot.press("escape", *"snapshot")
        await until(pilot, lambda: "ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for" in screen_words(app))


def detail_words(app: InspectorApp) -> str:
    """What stands at the foot of the detail."""
    return str(app.screen.query_one("#detail-score", Static).content)
