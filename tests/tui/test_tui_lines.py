"""The words of header, fact line, facets and panels at any width."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support.screens import WIDE, line, screen_text, screen_words
from support.settling import click_text, press, running, settled, until
from tui_samples import NOW, Inspector, SampleMemory, browser, memory, sample_config, sample_library

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.matching import age_group, matches
from zeroclaw_tui.curation.library import ProfileChoice
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.query import AGE_GROUPS, NO_DATE
from zeroclaw_tui.tui.format import shorten_path
from zeroclaw_tui.tui.view import AGES, ORDERS, View, order_words
from zeroclaw_tui.tui.widgets.header import scoring_words


@given(st.text(max_size=60), st.integers(0, 70))
def test_a_shortened_path_fits_and_keeps_its_end(path: str, cells: int) -> None:
    shown = shorten_path(path, cells)
    assert cell_len(shown) <= max(cells, 0) or shown == path
    if shown != path and len(shown) > 1:
        assert path.endswith(shown[1:])


def test_the_header_says_how_recall_scores_and_takes_no_assumed_version_for_a_fact(tmp_path: Path) -> None:
    library = sample_library(SampleMemory(), sample_config(tmp_path))
    assert scoring_words(library) == "sqlite · scoring 0.6.2 (assumed) · hybrid 0.7 / 0.3"
    library.profile = ProfileChoice.from_version("0.8.5", "saved")
    assert scoring_words(library).startswith("sqlite · 0.8.5 scored as 0.8.4 (saved")
    for mode, words in (("bm25", "keyword only"), ("embedding", "vectors only")):
        library.settings = library.settings._replace(search_mode=mode)
        assert f"{words}: search_mode is {mode}" in scoring_words(library)
    own = sample_library(InMemory(), sample_config(tmp_path, backend="in-memory", zeroclaw_backend="markdown"))
    assert scoring_words(own) == "in-memory (ZeroClaw would use markdown) · its own ranking"


@pytest.mark.parametrize("days", [0.2, 0.99, 1.01, 6.9, 7.1, 29.9, 30.1, 400])
def test_an_age_filter_leaves_what_its_facet_counts(days: float) -> None:
    entry = memory("key", "content", "core", days, 0)
    created = moment(entry.timestamp)
    leaving = [name for name in AGES if matches(entry, View(age=name).listing_filter(NOW))]
    assert leaving == [age_group(created, NOW)]
    assert set(AGES) == {*AGE_GROUPS} - {NO_DATE}


def test_what_an_agent_may_read_besides_its_own_is_recalled_too(tmp_path: Path) -> None:
    config = sample_config(tmp_path, agents={"alice": ("bob",)})
    view = View(query="x").toggled("agent", "alice")
    assert view.request(NOW, config).agents == ("alice", "bob")
    assert View(query="x").request(NOW, config).agents is None


def test_rows_without_a_session_are_no_session_to_recall_by(tmp_path: Path) -> None:
    view = View(query="x").toggled("session", "")
    assert view.request(NOW, sample_config(tmp_path)).session_id is None
    assert [chip.words for chip in view.ignored] == ["no session"]


async def test_many_values_of_a_facet_are_counted_and_all_on_the_panel(tmp_path: Path) -> None:
    entries = [memory(f"k{number}", "x", "core", 1, number, session_id=f"chat_{number:02}") for number in range(40)]
    async with running(Inspector(tmp_path, SampleMemory(entries)).app(), (140, 60)) as (app, pilot):
        assert "28 more in F" in screen_words(app)
        assert "chat_39" not in line(app, 30)
        await press(pilot, "F", "=chat_39")
        await until(pilot, lambda: "chat_39" in screen_text(app))
        await press(pilot, "enter")
        assert browser(app).view.filter.session == ("chat_39",)
        # A value that narrows is always among those shown, however rare.
        assert "● chat_39 1" in screen_words(app)


async def test_a_hostile_facet_and_chip_are_only_text(tmp_path: Path) -> None:
    entries = [memory("k", "x", "[/red]\x1b[31m", 1, 1, session_id="[bold]" + "s" * 90)]
    async with running(Inspector(tmp_path, SampleMemory(entries)).app(), WIDE) as (app, pilot):
        await click_text(pilot, "[/red]␛[31m", "#facets")
        assert "[/red]␛[31m ✕" in line(app, 2)
        await click_text(pilot, "[bold]sss", "#facets")
        assert "[bold]sssssssssssssssss… ✕" in line(app, 2)


FOOTERS = {
    40: "/ search x explain ? keys",
    60: "/ search x explain w what-if e edit d delete ? keys",
    80: "/ search x explain w what-if e edit d delete u undo ? keys",
    120: "/ search x explain w what-if e edit d delete u undo ? keys",
}


async def test_any_width_keeps_every_line_within_it_and_the_footer_whole(inspector: Inspector) -> None:
    """A narrow list gives up the size for the memory, and a terminal that grows shows the facets."""
    async with running(inspector.app(), (20, 24)) as (app, pilot):
        for width in (20, 40, 60, 80, 99, 100, 119, 120, 200):
            await pilot.resize_terminal(width, 24)
            await settled(pilot)
            assert browser(app).query_one("#facets").display == (width >= 100)
            assert ("conversation 180" in screen_words(app)) == (width >= 100)
            assert "1 Memories" in line(app, 0)
            if width in FOOTERS:
                footer = " ".join(line(app, 23).split())
                assert footer == FOOTERS[width]
                assert "memory" in screen_text(app)
                assert ("size" in screen_text(app)) == (width >= 140)
        await press(pilot, "slash", "=eat")
        for width in (20, 40, 60, 99, 200):
            await pilot.resize_terminal(width, 24)
            await settled(pilot)
            assert "eat" in line(app, 2)


def test_every_order_has_its_words_and_those_of_the_same_turned_round() -> None:
    for sort, *words in ORDERS:
        once = View().sorted_by(sort.field)
        assert {order_words(once.sort), order_words(once.sorted_by(sort.field).sort)} == set(words)
