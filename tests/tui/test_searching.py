"""Searching: recalls like the agent's, text searches, and never the results of an old query."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.inspector import Screen, running
from support.screens import WIDE, highlighted_in
from support.settling import burst
from support.stores import OwnRule
from textual.events import Paste
from tui.samples import Inspector, SampleMemory, entries_in, memory, paced

from zeroclaw_tui.backends import matching
from zeroclaw_tui.tui.widgets.detail import MemoryDetail


async def test_a_recall_is_ranked_with_its_scores_and_escape_leaves_it(
    inspector: Inspector,
) -> None:
    """Enter or down moves to the results."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "=what to eat")
        assert screen.search_bar.value == "what to eat"
        assert "limit 5 as the agent threshold 0.40 18 ms" in " ".join(screen.line(2).split())
        screen.shows("1 lunch_2026_11", "final vector keyword", "4 shown of 245 · 2 injected")
        assert screen.rows.row_count == 4
        await screen.press("down", "j")
        assert screen.rows.has_focus
        assert screen.rows.cursor == 1
        await screen.press("slash", "=ramen", "enter")
        assert screen.rows.has_focus
        assert screen.rows.row_count == 2
        await screen.press("slash")
        assert screen.search_bar.has_focus
        await screen.press("escape")
        assert screen.rows.has_focus
        assert screen.rows.row_count == 2
        await screen.press("escape")
        assert screen.rows.row_count == 245
        assert "245 memories" in screen.line(2)
        await screen.press("escape", "escape")
        assert screen.app.is_running


async def test_every_search_begins_as_a_recall_of_the_text_after_the_slash(inspector: Inspector) -> None:
    """Also after a pattern search, whose text is selected so that a message replaces it."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "tab", "tab", "=rame", "enter")
        assert screen.mode == "regex"
        await screen.press("slash")
        assert screen.mode == "recall"
        await screen.press("=what to eat", "enter", shows="1 lunch_2026_11")
        await screen.press("slash", "tab", "escape", "escape", "escape")
        # As from a fast typist or a paste, all keys arrive before the first is handled, and none acts on the list.
        burst(screen.app, "/what?")
        await screen.until(lambda: screen.search_bar.value == "what?")
        screen.app.post_message(Paste("\nno meat\r\nno fish\n"))
        await screen.until(lambda: screen.search_bar.value == "what?no meat no fish")
        assert (screen.top, screen.mode) == (screen.browser, "recall")


async def test_an_outdated_search_is_cancelled_and_never_painted(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, search = inspector.store, inspector.store.search
    may_answer: dict[str, asyncio.Event] = {"r": asyncio.Event(), "ra": asyncio.Event()}
    asked: list[str] = []
    called_off: list[str] = []

    async def slowly(trial: Any, *more: Any, **named: Any) -> Any:
        query = trial.request.query
        asked.append(query)
        # Like a driver whose thread continues after the await was cancelled: an old result still arrives.
        waiting = asyncio.ensure_future(may_answer[query].wait())
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            called_off.append(query)
            await waiting
        return await search(trial, *more, **named)

    monkeypatch.setattr(store, "search", slowly)
    async with running(inspector.app(), WIDE) as screen:
        await screen.pilot.press("slash", *"ra")
        await screen.until(lambda: asked == ["r", "ra"])
        assert called_off == ["r"]
        may_answer["ra"].set()
        await screen.until(lambda: screen.browser.page.recall is not None)
        shown = screen.browser.page.recall
        assert shown.request.query == "ra"
        may_answer["r"].set()
        await screen.settle()
        assert screen.browser.page.recall is shown


async def test_tab_changes_the_mode_for_the_same_text(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "=topic", shows="contains finds 237 (/ tab)")
        await screen.press("ctrl+u", "=rame")
        screen.shows("The agent recalls nothing for “rame”.", "Contains finds 2.", "tab search in another way")
        await screen.press("tab")
        assert "2 found" in screen.line(2)
        assert screen.rows.row_count == 2
        screen.search_bar.value = "深色"
        await screen.settle()
        assert "1 found" in screen.line(2)
        screen.shows("语言")
        assert screen.rows.row_count == 1
        assert highlighted_in(screen.rows) == ["深色"]
        for mode in ("regex", "similar"):
            await screen.press("tab")
            assert screen.mode == mode
        await screen.press("ctrl+u", "=chopsticks or a wok")
        assert "cutlery" in screen.line(5)
        # Any text can be searched.
        await screen.press("tab")
        assert screen.mode == "recall"
        for words in ("The agent recalls nothing for", "Nothing contains"):
            for text in ("[/foo]", "[bold]", "%s {0}", "\\", "'; --", "“”", "a" * 200):
                await look_for(screen, text)
                screen.shows(words)
            await screen.press("tab")


async def test_recall_takes_the_session_and_reports_which_filters_it_ignores(inspector: Inspector) -> None:
    """A filter that it ignores does not affect counts."""
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "=eat", "enter", shows="shown of 245")
        await screen.press("escape")
        await screen.click("telegram_12345", "#facets")
        await screen.click("core", "#facets")
        await screen.press("slash", "=eat")
        assert inspector.store.requests[-1].session_id == "telegram_12345"
        screen.shows("telegram_12345", "ecall ignores the filter core")
        assert "core" not in screen.line(2)
        await screen.press("tab")
        assert "core" in screen.line(2)
        await screen.press("enter", "slash", hides="shown of")
        screen.browser.show_view(screen.browser.view.toggled("age", "older"))
        await screen.press("slash", "=rame")
        screen.shows("Contains finds ", "Recall ignores the filters core, older than 30 d.")


async def test_with_very_many_memories_a_recall_starts_only_with_enter(inspector: Inspector) -> None:
    """Other search modes run while the user types."""
    store = inspector.store
    store.about = store.about._replace(rule=OwnRule("keyword only"), slow_recall_above=200)
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "=ramen")
        assert store.requests == []
        assert "enter to recall" in screen.line(2)
        await screen.press("enter")
        assert [request.query for request in store.requests] == ["ramen"]
        assert "enter to recall" not in screen.line(2)
        await screen.press("slash", "=tea")
        assert "enter to recall" in screen.line(2)
        await screen.press("tab")
        assert screen.mode == "contains"
        assert screen.browser.view.query == "tea"
        assert len(store.requests) == 1


TEXTS = {
    "tea_habit": "Has black tea and green TEA",
    "far": "so " * 90 + "then the saffron comes",
    "very_far": "word " * 400 + "and only here is cardamom\n" + "more\n" * 60,
    "saffron_key": "nothing of it in here",
    "hostile": "\x1b[31mred [bold]tea[/bold] \u202egnp.exe\u202c \x07 cafe\u0301 花生酱",
    "tabs": "a\ttea\t\tand\tmilk",
    "endless": "a" * 60 + "b",
    "joined": "👩\u200d🚀 می\u200cخواهم\u200b",
}


@pytest.fixture
def finds(tmp_path: Path) -> Inspector:
    """A store of memories longer than a line."""
    entries = [memory(key, text, "core", at + 1.0, at + 1) for at, (key, text) in enumerate(TEXTS.items())]
    return Inspector(tmp_path, SampleMemory(entries))


def content(screen: Screen) -> Any:
    """Return the text of the memory under the cursor."""
    return screen.browser.query_one("#detail-content")


async def look_for(screen: Screen, text: str) -> None:
    """Set the text of the search bar and wait for the list."""
    screen.search_bar.value = text
    await screen.settle()


async def find(screen: Screen, mode: str, text: str) -> None:
    """Search in a mode and wait for the list."""
    await screen.press("slash")
    while screen.mode != mode:
        await screen.press("tab")
    await look_for(screen, text)


async def go_to(screen: Screen, finds: Inspector, key: str) -> None:
    """Move the cursor to the memory of a key."""
    screen.rows.go_to(next(row.handle for row in entries_in(finds.store) if row.key == key))
    await screen.settle()


async def test_matches_are_highlighted_in_list_and_detail(finds: Inspector) -> None:
    """A text, each match of a pattern, and the key if only it matches."""
    async with running(finds.app(), WIDE) as screen:
        await find(screen, "contains", "GREEN TEA")
        assert screen.mode == "contains"
        assert "1 found" in screen.line(2)
        assert highlighted_in(screen.rows) == highlighted_in(content(screen)) == ["green TEA"]
        await look_for(screen, "tea")
        await go_to(screen, finds, "tabs")
        assert highlighted_in(content(screen)) == ["tea"]
        # A later match is shown with the words before it, and the detail scrolls to it.
        await look_for(screen, "saffron")
        assert screen.rows.row_count == 2
        screen.shows("then the saffron comes")
        assert highlighted_in(screen.rows) == ["saffron", "saffron"]
        await look_for(screen, "cardamom")
        await screen.until(lambda: screen.browser.query_one(MemoryDetail).scroll_offset.y > 0)
        await find(screen, "regex", r"\b(black|green) \w+")
        assert highlighted_in(screen.rows) == ["black tea", "green TEA"]
        assert highlighted_in(content(screen)) == ["black tea", "green TEA"]
        await look_for(screen, "^saffron")
        assert screen.rows.row_count == 1
        assert highlighted_in(screen.rows) == ["saffron"]
        assert highlighted_in(content(screen)) == []
        await screen.press("enter", "escape")
        assert screen.rows.row_count == len(TEXTS)
        assert highlighted_in(screen.rows) == highlighted_in(content(screen)) == []


async def test_matches_in_hostile_text_are_highlighted_without_splitting_sequences(finds: Inspector) -> None:
    """A joiner needed by a script or an emoji stays unmarked next to a match; only hidden text is marked."""
    lit = {text: text for text in ("花生", "e\u0301", "tea", "gnp", "خواهم")} | {"👩": "👩\u200d🚀", "می": "می\u200c"}
    async with running(finds.app(), WIDE) as screen:
        await find(screen, "contains", "tea")
        for text, shown in lit.items():
            await look_for(screen, text)
            if text in TEXTS["hostile"]:
                await go_to(screen, finds, "hostile")
            else:
                assert "👩\u200d🚀 می\u200cخواهم⟨U+200B⟩" in str(content(screen).content)
            assert highlighted_in(content(screen)) == [shown]
            screen.hides("\x1b")
        await look_for(screen, "")
        screen.app.post_message(Paste("\u202egnp.exe\x1b\x07"))
        await screen.settle()
        assert screen.search_bar.value == "gnp.exe"
        assert "1 found" in screen.line(2)


async def test_an_incomplete_or_slow_pattern_keeps_the_list_and_deletes_nothing(
    finds: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(finds.app(), WIDE) as screen:
        await find(screen, "regex", "tea")
        before, lit = screen.rows.row_count, highlighted_in(screen.rows)
        assert before == 3
        await look_for(screen, "tea(h")
        assert "cannot be read at its end: missing )" in screen.line(2)
        assert "found" not in screen.line(2)
        screen.shows("the list shows the previous search")
        assert (screen.rows.row_count, highlighted_in(screen.rows)) == (before, lit)
        assert "again" not in screen.words.split("tea")[0]
        await look_for(screen, "tea_(h")
        await look_for(screen, "tea_(h)")
        assert "1 found" in screen.line(2)
        await look_for(screen, "tea(")
        await screen.press("enter", "asterisk", "d", says="cannot be read")
        monkeypatch.setattr(matching, "REGEX_SECONDS", 0.05)
        await find(screen, "regex", "tea")
        await look_for(screen, "(a|aa)+$")
        await screen.until(lambda: "takes longer than 0.05 s" in screen.line(2))
        assert screen.rows.row_count == before
        assert len(await finds.store.list()) == len(TEXTS)


async def test_enter_searches_for_the_last_text_before_the_next_key(finds: Inspector) -> None:
    """Marking all right after it marks the new results; a pause in typing starts one search, for the last text."""
    async with running(finds.app(pace=paced(debounce=3600.0)), WIDE) as screen:
        await screen.press("slash", "tab", "=tea", "enter", "asterisk")
        assert screen.browser.view.query == "tea"
        assert len(screen.rows.marked) == 3
    async with running(finds.app(pace=paced(debounce=0.05)), WIDE) as screen:
        await screen.pilot.press("slash")
        for text in ("milk", "saffron"):
            screen.search_bar.value = text
        await screen.until(lambda: screen.browser.page.recall is not None)
        assert [request.query for request in finds.store.requests] == ["saffron"]
