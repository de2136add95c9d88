"""Finding as a person does: words and patterns, lit where they are, and never a list that jumps while one types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.screens import WIDE, line, lit_in, said, screen_text, screen_words
from support.settling import press, running, settled, until
from textual.events import Paste
from textual.pilot import Pilot
from tui_samples import Inspector, SampleMemory, browser, entries_in, lit_mode, memory

from zeroclaw_tui.backends import matching
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Mode, Pace
from zeroclaw_tui.tui.widgets.detail import MemoryDetail, PlainContent
from zeroclaw_tui.tui.widgets.lines import SearchBar, StatusBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

ENDLESS = "(a|aa)+$"
TEXTS = {
    "tea_habit": "Has black tea and green TEA",
    "far": "so " * 90 + "then the saffron comes",
    "very_far": "word " * 400 + "and only here is cardamom\n" + "more\n" * 60,
    "saffron_key": "nothing of it in here",
    "hostile": "\x1b[31mred [bold]tea[/bold] \u202egnp.exe\u202c \x07 cafe\u0301 花生酱",
    "tabs": "a\ttea\t\tand\tmilk",
    "joined": "👩\u200d🚀 می\u200cخواهم\u200b",
}


class Finds(Inspector):
    """A store of memories that say more than one line shows."""

    def __init__(self, tmp_path: Path, *more: str) -> None:
        super().__init__(tmp_path)
        texts = {**TEXTS, **{f"more{at}": text for at, text in enumerate(more)}}
        self.store = SampleMemory(
            [memory(key, text, "core", at + 1.0, at + 1) for at, (key, text) in enumerate(texts.items())]
        )


@pytest.fixture
def finds(tmp_path: Path) -> Finds:
    return Finds(tmp_path)


def rows(app: InspectorApp) -> MemoryList:
    return browser(app).query_one(MemoryList)


def content(app: InspectorApp) -> PlainContent:
    return browser(app).query_one(PlainContent)


async def look_for(pilot: Pilot[Any], text: str) -> None:
    """Have another text in the bar, and wait for the list."""
    pilot.app.screen.query_one(SearchBar).input.value = text
    await settled(pilot)


async def find(pilot: Pilot[Any], mode: Mode, text: str) -> None:
    """Search in a mode, and wait for the list."""
    await pilot.press("slash")
    while browser(pilot.app).view.mode is not mode:  # type: ignore[arg-type]
        await pilot.press("tab")
    await look_for(pilot, text)


async def go_to(pilot: Pilot[Any], finds: Finds, key: str) -> None:
    """Put the cursor on the memory of a key."""
    rows(pilot.app).go_to(next(row.handle for row in entries_in(finds.store) if row.key == key))  # type: ignore[arg-type]
    await settled(pilot)


async def test_what_was_found_is_lit_in_list_and_detail(finds: Finds) -> None:
    """A text, each match of a pattern, and the key where it alone has the match."""
    async with running(finds.app(), WIDE) as (app, pilot):
        await find(pilot, Mode.CONTAINS, "GREEN TEA")
        assert lit_mode(app) == "contains"
        assert "1 found" in line(app, 2)
        assert lit_in(rows(app)) == lit_in(content(app)) == ["green TEA"]
        await look_for(pilot, "tea")
        await go_to(pilot, finds, "tabs")
        assert lit_in(content(app)) == ["tea"]
        await find(pilot, Mode.REGEX, r"\b(black|green) \w+")
        assert lit_in(rows(app)) == ["black tea", "green TEA"]
        assert lit_in(content(app)) == ["black tea", "green TEA"]
        await look_for(pilot, "^saffron")
        assert rows(app).row_count == 1
        assert lit_in(rows(app)) == ["saffron"]
        assert lit_in(content(app)) == []
        await press(pilot, "enter", "escape")
        assert rows(app).row_count == len(TEXTS)
        assert lit_in(rows(app)) == lit_in(content(app)) == []


async def test_a_match_further_on_is_shown_with_the_words_before_it(finds: Finds) -> None:
    """The detail goes there, also where the list has only the beginning of a memory."""
    async with running(finds.app(), WIDE) as (app, pilot):
        await find(pilot, Mode.CONTAINS, "saffron")
        assert rows(app).row_count == 2
        assert "then the saffron comes" in screen_text(app)
        assert lit_in(rows(app)) == ["saffron", "saffron"]
        await look_for(pilot, "cardamom")
        await until(pilot, lambda: browser(app).query_one(MemoryDetail).scroll_offset.y > 0)


async def test_hostile_text_is_lit_where_it_is_shown_and_no_sequence_is_broken(finds: Finds) -> None:
    """A joiner that a script or an emoji needs stays plain next to a match; only what hides is marked."""
    async with running(finds.app(), WIDE) as (app, pilot):
        await find(pilot, Mode.CONTAINS, "tea")
        for text in ("花生", "e\u0301", "tea", "gnp"):
            await look_for(pilot, text)
            await go_to(pilot, finds, "hostile")
            assert lit_in(content(app)) == [text]
            assert "\x1b" not in screen_text(app)
        for text, lit in (("👩", "👩\u200d🚀"), ("می", "می\u200c"), ("خواهم", "خواهم")):
            await look_for(pilot, text)
            assert lit_in(content(app)) == [lit]
            assert "👩\u200d🚀 می\u200cخواهم⟨U+200B⟩" in str(content(app).content)
        await look_for(pilot, "")
        app.post_message(Paste("\u202egnp.exe\x1b\x07"))
        await settled(pilot)
        assert browser(app).query_one(SearchBar).input.value == "gnp.exe"
        assert "1 found" in line(app, 2)


async def test_a_half_typed_pattern_leaves_the_list_as_it_is_and_deletes_nothing(finds: Finds) -> None:
    async with running(finds.app(), WIDE) as (app, pilot):
        await find(pilot, Mode.REGEX, "tea")
        before, lit = rows(app).row_count, lit_in(rows(app))
        assert before == 3
        await look_for(pilot, "tea(h")
        assert "cannot be read at its end: missing )" in line(app, 2)
        assert "found" not in line(app, 2)
        assert "the list shows the previous search" in " ".join(str(browser(app).query_one(StatusBar).render()).split())
        assert (rows(app).row_count, lit_in(rows(app))) == (before, lit)
        assert "again" not in screen_words(app).split("tea")[0]
        await look_for(pilot, "tea_(h")
        await look_for(pilot, "tea_(h)")
        assert "1 found" in line(app, 2)
        await look_for(pilot, "tea(")
        await press(pilot, "enter", "asterisk", "d")
        assert "cannot be read" in said(app)
        assert len(await finds.store.list()) == len(TEXTS)


async def test_enter_searches_for_what_was_typed_last_before_the_next_key(finds: Finds) -> None:
    """Marking all right after it marks what was asked for, and not what was on the screen."""
    async with running(finds.app(pace=Pace(debounce=3600.0, poll=None)), WIDE) as (app, pilot):
        await press(pilot, "slash", "tab", "=tea", "enter", "asterisk")
        assert browser(app).view.query == "tea"
        assert len(rows(app).marked) == 3


async def test_a_slow_pattern_is_reported_in_the_search_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "REGEX_SECONDS", 0.05)
    finds = Finds(tmp_path, "a" * 60 + "b")
    async with running(finds.app(), WIDE) as (app, pilot):
        await find(pilot, Mode.REGEX, ENDLESS)
        await until(pilot, lambda: "takes longer than 0.05 s" in line(app, 2))
        assert rows(app).row_count == len(TEXTS) + 1
